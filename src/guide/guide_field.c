/* v, its derivatives, and how far it is from solving the Fokker-Planck equation, at columns of
 * points.
 *
 *     B = 2 D grad v - F,
 *     epsilon = sum_i D_i (v_ii + v_i^2) - F.grad v - div F - dv/dtau      (0 for v = ln u)
 * and what walks need for gradients: J_B' mu and grad epsilon. Where q saturates,
 * q = z/sqrt(1 + (z/R)^2). A number to reproduce: F = -y, D = 1, v of N(0, 1) has epsilon = 0. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "guide/guide.h"
#include "problem/drift_facts.h"

#include <string.h>

hb_status hb_guide_view_create(const hb_guide *g, hb_context *context, size_t n, hb_guide_view *v)
{
    const size_t d = g->d, all = d * n, J = g->basis.n_terms;
    *v = (hb_guide_view){.n = n};
    return HB_WORKSPACE(context, &v->work, HB_ARRAY(v->m, d), HB_ARRAY(v->s2, d),
                        HB_ARRAY(v->theta, J), HB_ARRAY(v->z, all), HB_ARRAY(v->q, all),
                        HB_ARRAY(v->q1, all), HB_ARRAY(v->q2, all), HB_ARRAY(v->q3, all),
                        HB_ARRAY(v->slope, all), HB_ARRAY(v->curvature, all), HB_ARRAY(v->value, n),
                        HB_ARRAY(v->gradient, all), HB_ARRAY(v->F, all), HB_ARRAY(v->divergence, n),
                        HB_ARRAY(v->scratch, all), HB_ARRAY(v->scratch2, all),
                        HB_ARRAY(v->scratch3, all), HB_ARRAY(v->tilt, J), HB_ARRAY(v->rows, all),
                        HB_ARRAY(v->turned, all), HB_ARRAY(v->times, n), HB_ARRAY(v->sums, n));
}

size_t hb_guide_segment(const hb_guide *g, double tau)
{
    size_t k = 0;
    while (k + 2 < g->n_nodes && tau > g->node[k + 1]) k++;
    return k;
}

/* ---- coordinates ---- */

void hb_guide_to_rows(const hb_guide *g, size_t n, const double *y, double *rows)
{
    const size_t d = g->d;
    for (size_t i = 0; !g->axes && i < d; i++)
        for (size_t k = 0; k < n; k++) rows[k * d + i] = y[i * n + k];
    if (!g->axes) return;
    memset(rows, 0, n * d * sizeof *rows);
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < d; j++) rows[k * d + j] += g->axes[i * d + j] * y[i * n + k];
}

void hb_guide_to_columns(const hb_guide *g, size_t n, const double *rows, double *y)
{
    const size_t d = g->d;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++)
            y[i * n + k] = g->axes ? hb_dot(d, g->axes + i * d, rows + k * d) : rows[k * d + i];
}

/* ---- v ---- */

static void saturate(hb_guide_view *v, double R, size_t from, size_t to)
{
    const double c = isfinite(R) ? 1 / (R * R) : 0;
    for (size_t k = from; k < to; k++) {
        const double z = v->z[k], e = 1 / (1 + c * z * z), root = sqrt(e);
        v->q[k] = z * root;
        v->q1[k] = e * root;
        v->q2[k] = -3 * c * z * (e * e * root);
        v->q3[k] = (-3 * c + 15 * c * c * z * z * e) * (e * e * root);
    }
}

hb_status hb_guide_look(const hb_guide *g, hb_guide_view *v, double tau, const double *y)
{
    const size_t d = g->d, n = v->n, J = g->basis.n_terms, k = hb_guide_segment(g, tau);
    const double part = (tau - g->node[k]) / (g->node[k + 1] - g->node[k]), rest = 1 - part;
    v->tau = tau;
    for (size_t i = 0; i < d; i++) {
        v->m[i] = rest * g->mean[k * d + i] + part * g->mean[(k + 1) * d + i];
        v->s2[i] = rest * g->variance[k * d + i] + part * g->variance[(k + 1) * d + i];
        const double unit = 1 / sqrt(v->s2[i]);
        for (size_t j = 0; j < n; j++) v->z[i * n + j] = (y[i * n + j] - v->m[i]) * unit;
    }
    for (size_t j = 0; j < J; j++)
        v->theta[j] = rest * g->theta[k * J + j] + part * g->theta[(k + 1) * J + j];
    for (size_t i = 0; i < d; i++) saturate(v, g->reach[i], i * n, (i + 1) * n);
    hb_guide_kernel_of(g->context->isa)
        ->value(&g->basis, v->theta, n, v->q, v->value, v->slope, v->curvature);
    for (size_t i = 0; i < d; i++) {
        const double unit = 1 / sqrt(v->s2[i]);
        for (size_t j = i * n; j < (i + 1) * n; j++)
            v->gradient[j] = unit * (v->q1[j] * v->slope[j] - v->z[j]);
    }
    return HB_OK;
}

void hb_guide_log(const hb_guide *g, const hb_guide_view *v, double *out)
{
    const size_t n = v->n;
    memcpy(out, v->value, n * sizeof *out);
    for (size_t i = 0; i < g->d; i++) {
        const double half = 0.5 * log(v->s2[i]);
        for (size_t k = 0; k < n; k++) out[k] -= 0.5 * v->z[i * n + k] * v->z[i * n + k] + half;
    }
}

/* ---- epsilon ---- */

hb_status hb_guide_drift(const hb_guide *g, hb_context *context, hb_guide_view *v, const double *y,
                         int divergence)
{
    const size_t n = v->n;
    hb_guide_to_rows(g, n, y, v->rows);
    for (size_t k = 0; k < n; k++) v->times[k] = v->tau;
    HB_TRY(hb_problem_drift_each(context, g->problem, n, v->rows, v->times, v->turned,
                                 divergence ? v->divergence : NULL, NULL, NULL));
    hb_guide_to_columns(g, n, v->turned, v->F);
    return HB_OK;
}

void hb_guide_residual(const hb_guide *g, const hb_guide_view *v, double *epsilon)
{
    const size_t n = v->n;
    for (size_t k = 0; k < n; k++) epsilon[k] = -v->divergence[k];
    for (size_t i = 0; i < g->d; i++) {
        const double D = g->diffusion[i], w = D / v->s2[i];
        for (size_t k = 0, j = i * n; k < n; k++, j++) {
            const double bend = v->q1[j] * v->q1[j] * v->curvature[j] + v->q2[j] * v->slope[j] - 1;
            epsilon[k] += w * bend + v->gradient[j] * (D * v->gradient[j] - v->F[j]);
        }
    }
}

static double motion_of(const double *nodes, size_t k, size_t width, size_t i, double gap)
{
    return (nodes[(k + 1) * width + i] - nodes[k * width + i]) / gap;
}

void hb_guide_add_change(const hb_guide *g, hb_guide_view *v, size_t segment, double factor,
                         double *sum)
{
    const size_t d = g->d, n = v->n, J = g->basis.n_terms;
    const double gap = g->node[segment + 1] - g->node[segment];
    for (size_t j = 0; j < J; j++) v->tilt[j] = motion_of(g->theta, segment, J, j, gap);
    hb_guide_kernel_of(g->context->isa)->value(&g->basis, v->tilt, n, v->q, v->sums, NULL, NULL);
    for (size_t k = 0; k < n; k++) sum[k] += factor * v->sums[k];
    for (size_t i = 0; i < d; i++) {
        const double shift = motion_of(g->mean, segment, d, i, gap),
                     swell = motion_of(g->variance, segment, d, i, gap) / (2 * v->s2[i]),
                     root = sqrt(v->s2[i]);
        for (size_t k = 0, j = i * n; k < n; k++, j++) /* s v_y dz/dtau, less d ln s/dtau */
            sum[k] -= factor * (v->gradient[j] * (shift + v->z[j] * swell * root) + swell);
    }
}

/* ---- gradients ---- */

/* dz/dtau (d, n) and grad_q of theta'.P, weighted over the segments, are added. */
static void turn_add_motion(const hb_guide *g, hb_guide_view *v, const hb_guide_weights *weights,
                            double *alpha, double *out)
{
    const size_t d = g->d, n = v->n, J = g->basis.n_terms;
    memset(v->tilt, 0, J * sizeof *v->tilt);
    for (int s = 0; s < 2; s++) {
        const size_t k = weights->segment[s];
        const double c = weights->part[s], gap = g->node[k + 1] - g->node[k];
        if (c == 0) continue;
        for (size_t j = 0; j < J; j++) v->tilt[j] += c * motion_of(g->theta, k, J, j, gap);
        for (size_t i = 0; i < d; i++) {
            const double root = sqrt(v->s2[i]), shift = c * motion_of(g->mean, k, d, i, gap) / root,
                         swell = c * motion_of(g->variance, k, d, i, gap) / (2 * v->s2[i]);
            for (size_t j = i * n; j < (i + 1) * n; j++) {
                alpha[j] += shift + v->z[j] * swell;
                out[j] += swell * root * v->gradient[j]; /* by z; over s at the end */
            }
        }
    }
    hb_guide_kernel_of(g->context->isa)
        ->value(&g->basis, v->tilt, n, v->q, v->sums, v->scratch2, v->scratch3);
    for (size_t j = 0; j < d * n; j++) out[j] -= v->q1[j] * v->scratch2[j];
}

/* -J_F'(mu + c grad v) - c grad div F, into out, over which s is not yet divided. */
static hb_status turn_add_drift(const hb_guide *g, hb_context *context, hb_guide_view *v,
                                const double *y, const double *mu, double c, double *out)
{
    const size_t d = g->d, n = v->n;
    double *b = v->scratch2, *rows = v->scratch3;
    for (size_t j = 0; j < d * n; j++) v->scratch2[j] = mu[j] + c * v->gradient[j];
    hb_guide_to_rows(g, n, b, rows);
    hb_guide_to_rows(g, n, y, v->rows);
    for (size_t k = 0; k < n; k++) v->times[k] = v->tau;
    HB_TRY(hb_problem_drift_turned(context, g->problem, n, v->rows, v->times, rows, v->turned));
    if (c != 0) {
        HB_TRY(
            hb_problem_drift_each(context, g->problem, n, v->rows, v->times, NULL, NULL, b, NULL));
        for (size_t j = 0; j < d * n; j++) v->turned[j] += c * b[j];
    }
    hb_guide_to_columns(g, n, v->turned, rows);
    for (size_t j = 0; j < d * n; j++) out[j] -= rows[j];
    return HB_OK;
}

hb_status hb_guide_turn(const hb_guide *g, hb_context *context, hb_guide_view *v, const double *y,
                        const double *mu, const hb_guide_weights *weights, double *out)
{
    const size_t d = g->d, n = v->n;
    const double c = weights ? weights->whole : 0;
    double *alpha = v->scratch; /* what the Hessian by z is multiplied by */
    memset(out, 0, d * n * sizeof *out);
    for (size_t i = 0; i < d; i++) {
        const double unit = 1 / sqrt(v->s2[i]), D = g->diffusion[i];
        for (size_t j = i * n; j < (i + 1) * n; j++)
            alpha[j] =
                unit * (2 * D * mu[j] + (c != 0 ? c * (2 * D * v->gradient[j] - v->F[j]) : 0));
    }
    if (c != 0) turn_add_motion(g, v, weights, alpha, out);
    for (size_t i = 0; i < d; i++) { /* Hessian by z: q1 H q1 - 1 + q2 slope */
        const double w = c * g->diffusion[i] / v->s2[i];
        for (size_t j = i * n; j < (i + 1) * n; j++) {
            const double q1 = v->q1[j], q2 = v->q2[j], a = alpha[j];
            out[j] += (q2 * v->slope[j] - 1) * a +
                      w * (2 * q1 * q2 * v->curvature[j] + v->q3[j] * v->slope[j]);
            alpha[j] = q1 * a + w * q2;
            v->scratch2[j] = w * q1 * q1;
        }
    }
    hb_guide_kernel_of(g->context->isa)
        ->turn(&g->basis, v->theta, n, v->q, alpha, v->scratch2, v->scratch3, v->rows);
    for (size_t i = 0; i < d; i++) {
        const double unit = 1 / sqrt(v->s2[i]);
        for (size_t j = i * n; j < (i + 1) * n; j++)
            out[j] = unit * (out[j] + v->q1[j] * (v->scratch3[j] + v->rows[j]));
    }
    return turn_add_drift(g, context, v, y, mu, c, out);
}
