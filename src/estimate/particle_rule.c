/* Rules in time for the particle kernels (docs/particles.md).
 *
 * Fixed lag T: u = E[q(X at lag T)] + int_0^T g(s) ds. The integrand g, a mean over all trajectories, is
 * a smooth function of s with g(0) = 0, and the limit of its gradient is known as well. So Gauss-Radau:
 *     int_0^T g ds = w_0 g(0) + sum_j w_j g(s_j),   s_j/T the nodes of the Beta(2,1) law,
 * which is exact for polynomials of degree 2m and keeps its nodes away from 0, where kernels are narrow
 * and noisy: no cut-off is needed, in any dimension. One node is at 2T/3 with weight 3T/4.
 * Given lags (trajectories of the user): the lags nearest to those nodes, and weights that make the rule
 * exact for polynomials of degree m.
 * Ball that spans T, D = dim + lift: the part of kappa at t = s/T has the density of t = e^-L,
 *     L ~ Gamma(D/2+2, rate D/2):    rho(t) = (D/2)^(D/2+2)/Gamma(D/2+2) (-ln t)^(D/2+1) t^(D/2-1),
 * whose Gauss rule in t is found by Stieltjes' procedure on a fine Gauss-Laguerre rule; the correction
 * falls to 0 at t = 1 as (1-t)^(D/2+1), and its nodes are those of Beta(2, D/2+2), with 0 added. */
#include "estimate/particle_rule.h"
#include "ball/quadrature.h"
#include "base/context.h"

#include <lapacke.h>
#include <math.h>

enum { FINE = 96 };

static void start_rule(int lift, double lag, hb_particle_rule *out)
{
    *out = (hb_particle_rule){.lift = lift, .lag = lag};
}

static void put_node(hb_particle_rule *rule, double s, double weight)
{
    rule->s[rule->n] = s;
    rule->weight[rule->n++] = weight;
}

hb_status hb_rule_lag(hb_context *context, double lag, int m, hb_particle_rule *out)
{
    double t[HB_RULE_NODES], w[HB_RULE_NODES];
    start_rule(0, lag, out);
    put_node(out, lag, 1);
    out->n_main = 1;
    if (m == 0) return HB_OK;
    HB_TRY(hb_quadrature_beta(context, 2, 1, m, t, w));
    out->at_zero = lag;
    for (int j = 0; j < m; j++) {
        put_node(out, lag * t[j], lag * 0.5 * w[j] / t[j]);
        out->at_zero -= out->weight[out->n - 1];
    }
    return HB_OK;
}

/* ---- given lags ---------------------------------------------------------------------------------- */

static size_t nearest(size_t n, const double *s, double wanted)
{
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(s[k] - wanted) < fabs(s[best] - wanted)) best = k;
    return best;
}

/* w[0..m] of the nodes 0, t[0..m-1] in (0, 1]: sum_j w_j t_j^k = 1/(k+1), k = 0 .. m. */
static hb_status moment_weights(hb_context *context, int m, const double *t, double *w)
{
    double powers[HB_RULE_NODES * HB_RULE_NODES];
    lapack_int pivot[HB_RULE_NODES];
    const int size = m + 1;
    for (int k = 0; k < size; k++) {
        w[k] = 1.0 / (k + 1);
        for (int j = 0; j < size; j++) powers[k * size + j] = pow(j == 0 ? 0 : t[j - 1], k);
    }
    const lapack_int info = LAPACKE_dgesv(LAPACK_ROW_MAJOR, size, 1, powers, size, pivot, w, 1);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL,
             "the times of the trajectories give no rule with %d nodes", m);
    return HB_OK;
}

hb_status hb_rule_lag_given(hb_context *context, size_t n, const double *s, size_t last, int m,
                            hb_particle_rule *out)
{
    double t[HB_RULE_NODES], w[HB_RULE_NODES];
    const double lag = s[last];
    size_t before = n;
    int count = 0;
    start_rule(0, lag, out);
    put_node(out, lag, 1);
    out->n_main = 1;
    if (m == 0) return HB_OK;
    HB_TRY(hb_quadrature_beta(context, 2, 1, m, t, w));
    for (int j = 0; j < m; j++) {
        const size_t k = nearest(last + 1, s, lag * t[j]);
        if (k == before) continue;
        t[count++] = s[k] / lag;
        before = k;
    }
    HB_TRY(moment_weights(context, count, t, w));
    out->at_zero = lag * w[0];
    for (int j = 0; j < count; j++) put_node(out, lag * t[j], lag * w[j + 1]);
    return HB_OK;
}

/* ---- the ball ------------------------------------------------------------------------------------ */

/* The m-point Gauss rule of the discrete law (x, p)[FINE], by Stieltjes' procedure. */
static hb_status gauss_of_law(hb_context *context, const double *x, const double *p, int m,
                              double *nodes, double *weights)
{
    double value[FINE], before[FINE] = {0}, off[HB_RULE_NODES] = {0};
    double vectors[HB_RULE_NODES * HB_RULE_NODES], b = 0;
    for (int i = 0; i < FINE; i++) value[i] = 1;
    for (int k = 0; k < m; k++) {
        double a = 0, next2 = 0;
        for (int i = 0; i < FINE; i++) a += p[i] * x[i] * value[i] * value[i];
        for (int i = 0; i < FINE; i++) {
            const double next = (x[i] - a) * value[i] - b * before[i];
            before[i] = value[i];
            value[i] = next;
            next2 += p[i] * next * next;
        }
        nodes[k] = a;
        off[k] = b = sqrt(next2);
        for (int i = 0; i < FINE; i++) value[i] /= b;
    }
    const lapack_int info = LAPACKE_dsteqr(LAPACK_ROW_MAJOR, 'I', m, nodes, off, vectors, m);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL, "the rule of a heat ball was not found");
    for (int k = 0; k < m; k++) weights[k] = vectors[k] * vectors[k];
    return HB_OK;
}

static hb_status kappa_nodes(hb_context *context, double half, double span, int m,
                             hb_particle_rule *out)
{
    double L[FINE], p[FINE], t[HB_RULE_NODES], w[HB_RULE_NODES];
    HB_TRY(hb_quadrature_gamma(context, half + 2, half, FINE, L, p));
    for (int i = 0; i < FINE; i++) L[i] = exp(-L[i]);
    HB_TRY(gauss_of_law(context, L, p, m, t, w));
    const double log_factor = (half + 2) * log(half) - lgamma(half + 2);
    for (int j = 0; j < m; j++) {
        const double rho = exp(log_factor + (half + 1) * log(-log(t[j])) + (half - 1) * log(t[j]));
        put_node(out, span * t[j], span * w[j] / rho);
    }
    return HB_OK;
}

hb_status hb_rule_ball(hb_context *context, int dim, int lift, double span, int m,
                       hb_particle_rule *out)
{
    double t[HB_RULE_NODES], w[HB_RULE_NODES];
    const double half = 0.5 * (dim + lift), power = half + 1;
    start_rule(lift, span, out);
    HB_TRY(kappa_nodes(context, half, span, m, out));
    out->n_main = out->n;
    HB_TRY(hb_quadrature_beta(context, 2, power + 1, m, t, w));
    const double mass = span / ((power + 1) * (power + 2)); // of t (1-t)^power
    out->at_zero = span / (power + 1);
    for (int j = 0; j < m; j++) {
        const double fall = pow(1 - t[j], power), weight = mass * w[j] / (t[j] * fall);
        put_node(out, span * t[j], weight);
        out->at_zero -= weight * fall;
    }
    return HB_OK;
}
