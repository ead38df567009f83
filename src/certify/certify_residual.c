/* The residual of the heat-ball identity of the score (docs/explanation/mean-value.md, the score line): at an
 * anchor (x0, tau0)
 *     R = S(x0,tau0) - E_kappa[S] - c_g r E_gradient[ghat h],     h = |S|^2 - F.S - div F,
 * with both averages over random nodes from the exact measures. For the score of a solution E[R] =
 * 0 at every anchor, with any number of nodes. Two halves of the nodes, independent of each other,
 * give R1 and R2, and likewise N1 and N2 of the nonlinear term N = c_g r E_gradient[ghat |S|^2],
 * which is what the others must balance. Over the anchors, one for each row,
 *     residual        e = -E[R1.N2 + R2.N1]/2 E[N1.N2], two-sided. A score (1 + e) S of a solution
 *                     S has R = -e N but for e^2, so e reads as its scale error; it is linear in R
 *     residual size   E[R1.R2]/E[N1.N2], one-sided; its root is shown
 * where both means have the weights 1/(1 + |S|^2/q)^2 of the anchors, q the median of |S|^2: in the
 * tails of a distribution R and N grow fast, and a few rows would be all that counts.
 * Without a gradient the first has the rotation of S in it too. For dim 1: ghat is a sign, and all
 * holds. A number to reproduce: S = -1.05 x under F = -x has e = 0.05 at every tau (1.05^2 - 1.05 =
 * 0.05 times 1.05). */
#include "base/linear_algebra.h"
#include "certify/certify_nodes.h"

#include <math.h>
#include <string.h>

typedef struct residual_run {
    const hb_certify_run *run;
    const hb_certify_rows *rows;
    hb_certify_nodes nodes;
    double *R[2], *N[2];            // (n, dim): of the two halves of the nodes
    double *weight;                 // (n): of the anchors
    double *linear, *size, *square; // (n): R.N, N1.N2, R1.R2, times the weight
    hb_workspace work;
} residual_run;

/* R += S0 - E_kappa[S] */
static hb_status residual_add_average(residual_run *r, int half, size_t first, size_t count)
{
    hb_certify_nodes *nodes = &r->nodes;
    const size_t d = r->run->dim, pairs = nodes->pairs, n = count * pairs;
    const double *S0 = r->rows->score[0] + first * d;
    HB_TRY(hb_certify_nodes_place(nodes, HB_MEASURE_KAPPA, 2 * half, 0, first, count));
    HB_TRY(hb_certify_nodes_evaluate(nodes, 0, count));
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < d; j++) {
            double sum = 0;
            for (size_t k = i * pairs; k < (i + 1) * pairs; k++)
                sum += nodes->score[k * d + j] + nodes->score[(n + k) * d + j];
            r->R[half][(first + i) * d + j] += S0[i * d + j] - sum / (2 * (double)pairs);
        }
    return HB_OK;
}

/* N = c_g r E_gradient[ghat |S|^2], and R -= c_g r E_gradient[ghat h]. */
static hb_status residual_add_source(residual_run *r, int half, size_t first, size_t count)
{
    hb_certify_nodes *nodes = &r->nodes;
    const size_t d = r->run->dim, pairs = nodes->pairs, n = count * pairs;
    HB_TRY(hb_certify_nodes_place(nodes, HB_MEASURE_GRADIENT, 2 * half + 1, 1, first, count));
    HB_TRY(hb_certify_nodes_evaluate(nodes, 1, count));
    for (size_t k = 0; k < n; k++) {
        const double *s = nodes->score + k * d, *t = nodes->score + (n + k) * d;
        const double *z = nodes->z + k * d;
        const double square = hb_dot(d, s, s) - hb_dot(d, t, t);
        const double other = hb_dot(d, nodes->F + (n + k) * d, t) - hb_dot(d, nodes->F + k * d, s) +
                             nodes->divergence[n + k] - nodes->divergence[k];
        const double factor =
            nodes->constants.c_g * nodes->radius / (2 * (double)pairs * hb_norm(d, z));
        const size_t i = first + k / pairs;
        hb_axpy(d, factor * square, z, r->N[half] + i * d);
        hb_axpy(d, -factor * (square + other), z, r->R[half] + i * d);
    }
    return HB_OK;
}

static hb_status residual_fill(residual_run *r)
{
    const size_t n = r->rows->n, d = r->run->dim, block = r->nodes.anchors;
    for (int half = 0; half < 2; half++) {
        memset(r->R[half], 0, n * d * sizeof(double));
        memset(r->N[half], 0, n * d * sizeof(double));
        for (size_t first = 0; first < n; first += block) {
            const size_t count = n - first < block ? n - first : block;
            HB_TRY(residual_add_average(r, half, first, count));
            HB_TRY(residual_add_source(r, half, first, count));
        }
    }
    return HB_OK;
}

/* ---- lines ---- */

static void residual_write_balance(const residual_run *r)
{
    const size_t n = r->rows->n;
    const hb_certify_settings *s = &r->run->settings;
    const hb_estimate e = hb_estimate_ratio(n, r->linear, r->size);
    hb_line *line = hb_certificate_add(r->run->out, "residual", r->rows->level->tau, e.value,
                                       e.error, hb_estimate_p(e, n, s->tolerance));
    hb_line_say(line->good, "the terms of the equation balance to (%.2g ± %.2g) %%", 100 * e.value,
                100 * e.error);
    hb_line_say(
        line->bad,
        "the score does not solve its equation: |s|^2 is too %s for the other terms by (%.3g "
        "± %.2g) %%",
        e.value > 0 ? "large" : "small", 100 * fabs(e.value), 100 * e.error);
}

static void residual_write_size(const residual_run *r, double size)
{
    const size_t n = r->rows->n;
    const double tolerance = r->run->settings.tolerance;
    const hb_estimate e = hb_estimate_mean(n, r->square);
    char where[120];
    hb_certify_where_most(r->run, r->rows, n, r->square, sizeof where, where);
    const double mean = e.value / size, error = e.error / size;
    const double value = isnan(mean) ? NAN : sqrt(fmax(mean, 0));
    hb_line *line = hb_certificate_add(r->run->out, "residual size", r->rows->level->tau, value,
                                       sqrt(fmax(mean, 0) + error) - value,
                                       hb_estimate_p_above(e, n, tolerance * tolerance * size));
    hb_line_say(line->good,
                "no residual is seen; one of %.2g %% of the nonlinear term would be detected",
                100 * sqrt(1.65 * fmax(error, 0)));
    hb_line_say(
        line->bad,
        "the two sides of the heat-ball identity differ by %.3g %% (root mean square), most %s",
        100 * value, where);
}

static void residual_fill_weights(const residual_run *r)
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

static void residual_write_lines(residual_run *r)
{
    residual_fill_weights(r);
    const size_t n = r->rows->n, d = r->run->dim;
    double size = 0;
    for (size_t i = 0; i < n; i++) {
        const double *R1 = r->R[0] + i * d, *R2 = r->R[1] + i * d;
        const double *N1 = r->N[0] + i * d, *N2 = r->N[1] + i * d;
        r->linear[i] = -0.5 * r->weight[i] * (hb_dot(d, R1, N2) + hb_dot(d, R2, N1));
        r->size[i] = r->weight[i] * hb_dot(d, N1, N2);
        r->square[i] = r->weight[i] * hb_dot(d, R1, R2);
        size += r->size[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) r->rows->map->residual[i] = r->square[i] / size;
    residual_write_balance(r);
    residual_write_size(r, size);
}

hb_status hb_certify_residual(const hb_certify_run *run, const hb_certify_rows *rows)
{
    const size_t n = rows->n, d = run->dim;
    residual_run r = {.run = run, .rows = rows};
    if (hb_certify_radius(run, rows->level->tau) == 0) {
        hb_certificate_skip(run->out, "residual", rows->level->tau,
                            "tau is tau_min: there is no time behind it");
        return HB_OK;
    }
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.R[0], n * d), HB_ARRAY(r.R[1], n * d),
                        HB_ARRAY(r.N[0], n * d), HB_ARRAY(r.N[1], n * d), HB_ARRAY(r.weight, n),
                        HB_ARRAY(r.linear, n), HB_ARRAY(r.size, n), HB_ARRAY(r.square, n)));
    hb_status status = hb_certify_nodes_create(run, rows, &r.nodes);
    if (status == HB_OK) status = residual_fill(&r);
    if (status == HB_OK) residual_write_lines(&r);
    hb_workspace_destroy(&r.nodes.work);
    hb_workspace_destroy(&r.work);
    return status;
}
