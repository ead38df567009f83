/* Where a row is: in words, and by its distance to the others and the density around it.
 *
 * At a Gaussian level the rows themselves are an estimate of the density at tau, (1/n) sum_j p(x |
 * x_j), without any smoothing beyond the process's own; a row's own term is left out. */
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>
#include <stdio.h>

void hb_certify_where(const hb_certify_run *run, const double *x, size_t size, char *out)
{
    const size_t d = run->dim;
    if (d <= 3) {
        size_t at = (size_t)snprintf(out, size, "near (");
        double here[3];
        hb_certify_units(run, 1, x, here);
        for (size_t j = 0; j < d && at < size; j++)
            at += (size_t)snprintf(out + at, size - at, "%s%.2f%s", j ? ", " : "", here[j],
                                   j + 1 == d ? ")" : "");
        return;
    }
    double away = 0;
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t i = 0; i < run->n; i++) mean += run->x[i * d + j] / (double)run->n;
        away += (x[j] - mean) * (x[j] - mean);
    }
    snprintf(out, size, "at the distance %.3g of the mean of the rows", sqrt(away));
}

void hb_certify_where_most(const hb_certify_run *run, const hb_certify_rows *rows, size_t n,
                           const double *values, size_t size, char *out)
{
    size_t most = 0;
    for (size_t i = 1; i < n; i++)
        if (values[i] > values[most]) most = i;
    hb_certify_where(run, rows->x[0] + most * run->dim, size, out);
}

hb_status hb_certify_place(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim;
    hb_certify_map *map = rows->map;
    for (size_t i = 0; i < n; i++) map->distance[i] = map->density[i] = NAN;
    if (!rows->level->gaussian) return HB_OK;
    /* the whitened rows and noised rows take the place of scores that are read no more */
    double *y = rows->target[0], *centre = rows->target[1], *mean = rows->divergence[0];
    if (d > n) return HB_OK; /* mean has n places */
    for (size_t i = 0; i < n; i++) {
        hb_certify_centre(rows->level, d, run->x + i * d, mean);
        hb_certify_whiten(rows->level, d, mean, centre + i * d);
        hb_certify_whiten(rows->level, d, rows->x[0] + i * d, y + i * d);
        HB_TRY(hb_certify_listen(run->context));
    }
    for (size_t i = 0; i < n; i++) {
        HB_TRY(hb_certify_listen(run->context));
        double least = INFINITY, sum = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == i) continue;
            const double square = hb_distance2(d, y + i * d, centre + j * d);
            if (square < least) {
                sum = isinf(least) ? 1 : sum * exp((square - least) / 2) + 1;
                least = square;
            } else {
                sum += exp((least - square) / 2);
            }
        }
        map->distance[i] = sqrt(least);
        map->density[i] = log(sum) - least / 2;
    }
    return HB_OK;
}
