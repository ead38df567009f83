/* The residual of the heat-ball identity of the score (docs/mean-value.md, the score line): at an anchor (x0, tau0)
 *     R = S(x0,tau0) - E_kappa[S] - c_g r E_gradient[ghat h],     h = |S|^2 - F.S - div F,
 * with both averages over random nodes from the exact measures. For the score of a solution E[R] = 0 at every anchor, with
 * any number of nodes. Two halves of the nodes, independent of each other, give R1 and R2, and likewise N1 and N2 of the
 * nonlinear term N = c_g r E_gradient[ghat |S|^2], which is what the others must balance. Over the anchors, one for
 * each row,
 *     residual        e = -E[R1.N2 + R2.N1]/2 E[N1.N2], two-sided. A score (1 + e) S of a solution S has R = -e N but for
 *                     e^2, so e reads as its scale error; and it is linear in R: the sharper of the two tests
 *     residual size   E[R1.R2]/E[N1.N2], the mean square of R over that of N, one-sided; its root is shown
 * where both means have the weights 1/(1 + |S|^2/q)^2 of the anchors, q the median of |S|^2: in the tails of a law R and N
 * grow fast, and a few rows would be all that counts.
 * Without a gradient the first has the rotation of S in it too. For dim 1: ghat is a sign, and all holds.
 * A number to reproduce: S = -1.05 x under F = -x has e = 0.05 at every tau (1.05^2 - 1.05 = 0.05 times 1.05). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_nodes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 1 << 15 }; /* of a block */

typedef struct half {
    double *R, *N; // (n, dim)
} half;

typedef struct residual_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    hb_certify_nodes nodes;
    double radius, c_g;
    half half[2];
    double *weight;                 // (n): of the anchors
    double *linear, *size, *square; // (n): R.N, N1.N2, R1.R2, times the weight
    hb_workspace work;
} residual_run;

/* R += S0 - E_kappa[S] */
static hb_status add_average(residual_run *r, int which, size_t first, size_t count)
{
    const hb_certify_rows *rows = r->rows;
    hb_certify_nodes *nodes = &r->nodes;
    const size_t d = r->run->dim, pairs = nodes->pairs, n = count * pairs;
    HB_TRY(hb_certify_nodes_place(r->run, nodes, HB_MEASURE_KAPPA, rows->level->index, 2 * which,
                                  first, count, rows->x[0] + first * d, rows->level->tau, r->radius,
                                  0));
    HB_TRY(hb_certify_nodes_score(r->run, nodes, count));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = i * pairs; k < (i + 1) * pairs; k++)
                sum += nodes->score[k * d + j] + nodes->score[(n + k) * d + j];
            r->half[which].R[(first + i) * d + j] +=
                rows->score[0][(first + i) * d + j] - sum / (2 * (double)pairs);
        }
    return HB_OK;
}

/* N = c_g r E_gradient[ghat |S|^2], and R -= c_g r E_gradient[ghat h]. */
static hb_status add_source(residual_run *r, int which, size_t first, size_t count)
{
    const hb_certify_rows *rows = r->rows;
    hb_certify_nodes *nodes = &r->nodes;
    const size_t d = r->run->dim, pairs = nodes->pairs, n = count * pairs;
    HB_TRY(hb_certify_nodes_place(r->run, nodes, HB_MEASURE_GRADIENT, rows->level->index,
                                  2 * which + 1, first, count, rows->x[0] + first * d,
                                  rows->level->tau, r->radius, 1));
    HB_TRY(hb_certify_nodes_score(r->run, nodes, count));
    HB_TRY(hb_certify_nodes_drift(r->run, nodes, count));
    for (size_t k = 0; k < n; k++) {
        const double *s = nodes->score + k * d, *t = nodes->score + (n + k) * d;
        const double *z = nodes->z + k * d;
        const double square = hb_dot(d, s, s) - hb_dot(d, t, t);
        const double other = hb_dot(d, nodes->F + (n + k) * d, t) - hb_dot(d, nodes->F + k * d, s) +
                             nodes->divergence[n + k] - nodes->divergence[k];
        const double factor = r->c_g * r->radius / (2 * (double)pairs * hb_norm(d, z));
        const size_t i = first + k / pairs;
        hb_axpy(d, factor * square, z, r->half[which].N + i * d);
        hb_axpy(d, -factor * (square + other), z, r->half[which].R + i * d);
    }
    return HB_OK;
}

static hb_status fill_halves(residual_run *r)
{
    const size_t n = r->rows->n, d = r->run->dim, block = r->nodes.anchors;
    for (int which = 0; which < 2; which++) {
        memset(r->half[which].R, 0, n * d * sizeof(double));
        memset(r->half[which].N, 0, n * d * sizeof(double));
        for (size_t first = 0; first < n; first += block) {
            const size_t count = n - first < block ? n - first : block;
            HB_TRY(add_average(r, which, first, count));
            HB_TRY(add_source(r, which, first, count));
        }
    }
    return HB_OK;
}

/* ---- lines ---- */

static void write_balance(const residual_run *r)
{
    const size_t n = r->rows->n;
    const hb_certify_settings *s = &r->run->settings;
    const hb_estimate e = hb_estimate_ratio(n, r->linear, r->size);
    hb_line *line = hb_certificate_add(r->run->out, "residual", r->rows->level->tau);
    line->value = e.value;
    line->error = e.error;
    line->p_value = hb_estimate_p(e, n, s->tolerance);
    snprintf(line->good, sizeof line->good, "the terms of the equation balance to (%.2g ± %.2g) %%",
             100 * e.value, 100 * e.error);
    snprintf(line->bad, sizeof line->bad,
             "the score does not solve its equation: |s|^2 is too %s for the other terms by (%.3g "
             "± %.2g) %%",
             e.value > 0 ? "large" : "small", 100 * fabs(e.value), 100 * e.error);
}

static void write_size(const residual_run *r, double size)
{
    const size_t n = r->rows->n;
    const hb_certify_settings *s = &r->run->settings;
    const hb_estimate e = hb_estimate_mean(n, r->square);
    size_t worst = 0;
    char where[120];
    for (size_t i = 1; i < n; i++)
        if (r->square[i] > r->square[worst]) worst = i;
    hb_certify_where(r->run, r->rows->x[0] + worst * r->run->dim, sizeof where, where);
    hb_line *line = hb_certificate_add(r->run->out, "residual size", r->rows->level->tau);
    const double mean = e.value / size, error = e.error / size;
    line->value = isnan(mean) ? NAN : sqrt(fmax(mean, 0));
    line->error = sqrt(fmax(mean, 0) + error) - line->value;
    line->p_value = hb_estimate_p_above(e, n, s->tolerance * s->tolerance * size);
    snprintf(line->good, sizeof line->good,
             "no residual seen; one of %.2g %% of the nonlinear term would be",
             100 * sqrt(1.65 * fmax(error, 0)));
    snprintf(line->bad, sizeof line->bad,
             "the two sides of the heat-ball identity differ by %.3g %% (root mean square), most "
             "%s",
             100 * line->value, where);
}

static void fill_weights(const residual_run *r)
{
    const size_t n = r->rows->n, d = r->run->dim;
    for (size_t i = 0; i < n; i++)
        r->weight[i] = r->size[i] = hb_dot(d, r->rows->score[0] + i * d, r->rows->score[0] + i * d);
    hb_sort(n, r->size);
    const double median = r->size[n / 2];
    for (size_t i = 0; i < n; i++) {
        const double root = median > 0 ? 1 / (1 + r->weight[i] / median) : 1;
        r->weight[i] = root * root;
    }
}

static void write_lines(residual_run *r)
{
    fill_weights(r);
    const size_t n = r->rows->n, d = r->run->dim;
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        const double *R1 = r->half[0].R + i * d, *R2 = r->half[1].R + i * d;
        const double *N1 = r->half[0].N + i * d, *N2 = r->half[1].N + i * d;
        r->linear[i] = -0.5 * r->weight[i] * (hb_dot(d, R1, N2) + hb_dot(d, R2, N1));
        r->size[i] = r->weight[i] * hb_dot(d, N1, N2);
        r->square[i] = r->weight[i] * hb_dot(d, R1, R2);
        size += r->size[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) r->rows->map->residual[i] = r->square[i] / size;
    write_balance(r);
    write_size(r, size);
}

hb_status hb_certify_residual(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim, pairs = (size_t)run->settings.pairs;
    const size_t fits = NODES / pairs, anchors = fits < 1 ? 1 : fits < n ? fits : n;
    residual_run r = {.run = run, .rows = rows, .radius = hb_certify_radius(run, rows->level->tau)};
    hb_ball_constants constants;
    if (r.radius == 0) {
        hb_certificate_skip(run->out, "residual", rows->level->tau,
                            "tau is tau_min: there is no time behind it");
        return HB_OK;
    }
    HB_TRY(hb_ball_constants_get(run->context, (int)d, 0, sizeof constants, &constants));
    r.c_g = constants.c_g;
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.half[0].R, n * d),
                        HB_ARRAY(r.half[1].R, n * d), HB_ARRAY(r.half[0].N, n * d),
                        HB_ARRAY(r.half[1].N, n * d), HB_ARRAY(r.weight, n), HB_ARRAY(r.linear, n),
                        HB_ARRAY(r.size, n), HB_ARRAY(r.square, n)));
    hb_status status = hb_certify_nodes_create(run, anchors, pairs, &r.nodes);
    if (status == HB_OK) status = fill_halves(&r);
    if (status == HB_OK) write_lines(&r);
    hb_certify_nodes_destroy(&r.nodes);
    hb_workspace_destroy(&r.work);
    return status;
}
