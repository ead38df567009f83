/* Stein's identity for all fields of a kernel: faults in one place.
 *
 * For a field phi the value of a row is u.phi + (1 - c) div phi with u = s - c t (certify_mean.c),
 * whose mean is E[(s - s*).phi]. Of all phi in the space of the kernel k(x,y) = exp(-|x -
 * y|^2/2h^2) the largest such mean has the square E K(x,x'), with
 *     K = k [ u.u' + (1 - c) (u - u').(x - x')/h^2 + (1 - c)^2 (dim/h^2 - |x - x'|^2/h^4) ],
 * Stein's kernel (Liu, Lee and Jordan; Chwialkowski, Strathmann and Gretton, ICML 2016), which for
 * c = 1 is that of a moment of denoising. K is summed over h = 1/4, 1/2 and 1 times the median
 * distance of rows, and the sum over pairs is tested by random signs (certify_signs.c). Its size
 * relative to the sum of k |s||s'| is the square of a relative error of s, smoothed by the kernel.
 * One row's sum over its column's deviation says where. A number to reproduce: s = s* makes E K =
 * 0. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>

enum { WIDTHS = 3, MEDIAN_ROWS = 300 };
static const double widths[WIDTHS] = {0.25, 0.5, 1};

double hb_certify_median(hb_context *context, size_t n, size_t d, const double *x)
{
    const size_t few = n < MEDIAN_ROWS ? n : MEDIAN_ROWS, pairs = few * (few - 1) / 2;
    void *memory;
    if (hb_allocate(context, pairs, sizeof(double), &memory) != HB_OK) return NAN;
    double *squares = memory; // (pairs)
    for (size_t i = 0, k = 0; i < few; i++)
        for (size_t j = 0; j < i; j++, k++) squares[k] = hb_distance2(d, x + i * d, x + j * d);
    hb_sort(pairs, squares);
    const double median = sqrt(squares[pairs / 2]);
    hb_release(context, memory);
    return median;
}

typedef struct local_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    double c, median;
    double *u, *K; // (n, dim), (n, n)
    hb_workspace work;
} local_run;

/* K_ij, and k |s||s'| of the same pair. */
static double local_kernel(const local_run *r, size_t i, size_t j, double *size)
{
    const size_t d = r->run->dim;
    const double *x = r->rows->x[0] + i * d, *y = r->rows->x[0] + j * d;
    const double *u = r->u + i * d, *v = r->u + j * d, w = 1 - r->c;
    double square = 0, product = 0, across = 0, sum = 0;
    *size = 0;
    for (size_t l = 0; l < d; l++) {
        const double away = x[l] - y[l];
        square += away * away;
        product += u[l] * v[l];
        across += (u[l] - v[l]) * away;
    }
    for (int m = 0; m < WIDTHS; m++) {
        const double h2 = r->median * r->median * widths[m] * widths[m];
        const double k = exp(-square / (2 * h2));
        sum += k * (product + w * across / h2 + w * w * ((double)d - square / h2) / h2);
        *size += k;
    }
    return sum;
}

static hb_status local_fill_kernel(const local_run *r, double *total)
{
    const size_t n = r->rows->n, d = r->run->dim;
    *total = 0;
    for (size_t i = 0; i < n * d; i++)
        r->u[i] = r->rows->score[0][i] - (r->c > 0 ? r->c * r->rows->target[0][i] : 0);
    for (size_t i = 0; i < n; i++) {
        const double norm = hb_norm(d, r->rows->score[0] + i * d);
        r->K[i * n + i] = 0;
        HB_TRY(hb_certify_listen(r->run->context));
        for (size_t j = 0; j < i; j++) {
            double size;
            r->K[i * n + j] = r->K[j * n + i] = local_kernel(r, i, j, &size);
            *total += 2 * size * norm * hb_norm(d, r->rows->score[0] + j * d);
        }
    }
    return HB_OK;
}

/* What each row sees around it, in standard deviations. */
static void local_fill_map(const local_run *r)
{
    const size_t n = r->rows->n;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, squares = 0;
        for (size_t j = 0; j < n; j++) {
            sum += r->K[i * n + j];
            squares += r->K[i * n + j] * r->K[i * n + j];
        }
        r->rows->map->local[i] = squares > 0 ? sum / sqrt(squares) : 0;
    }
}

static void local_write_line(const local_run *r, double total, const hb_signs *found)
{
    char where[120];
    local_fill_map(r);
    hb_certify_where_most(r->run, r->rows, r->rows->n, r->rows->map->local, sizeof where, where);
    const double value = sqrt(fmax(found->U, 0) / total);
    hb_line *line = hb_certificate_add(r->run->out, "stein local", r->rows->level->tau, value,
                                       sqrt((fmax(found->U, 0) + found->deviation) / total) - value,
                                       found->p_value);
    hb_line_say(line->good,
                "no local error of the score is seen; one of %.2g %% over the width of the kernel "
                "would be detected",
                100 * sqrt(fmax(found->upper, 0) / total));
    hb_line_say(line->bad,
                "the score has local errors of %.3g %% over the width of the kernel, largest %s",
                100 * value, where);
}

hb_status hb_certify_local(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim;
    const double tolerance = run->settings.tolerance;
    local_run r = {.run = run, .rows = rows, .c = hb_certify_mix(run, rows)};
    r.median = hb_certify_median(run->context, n, d, rows->x[0]);
    HB_CHECK(run->context, r.median > 0, HB_ERROR_NUMERICAL,
             "half of the rows are the same at tau = %g", rows->level->tau);
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.u, n * d), HB_ARRAY(r.K, n * n)));
    double total;
    hb_signs found;
    hb_status status = local_fill_kernel(&r, &total);
    if (status == HB_OK)
        status = hb_signs_test(run->context, 0, run->settings.seed,
                               hb_certify_stream(rows->level->index, HB_USE_SIGNS), n, r.K,
                               tolerance * tolerance * total, &found);
    if (status == HB_OK) local_write_line(&r, total, &found);
    hb_workspace_destroy(&r.work);
    return status;
}
