/* Rules in time for the particle kernels (docs/explanation/particles.md).
 *
 * Fixed lag T: u = E[q(X at lag T)] + int_0^T g(s) ds. Near a kink g is smooth in r = sqrt(s/T)
 * only:
 *     int_0^T g ds = T sum_j w_j g(T r_j^2),   Gauss's rule of Beta(2,1)   (ROOT).
 * In more dimensions the variance at lag s grows as s^(1-d/2), and the known limit g(0) takes the
 * place of short lags: with s = T t^p, p = 2 (ROOT_LIMIT) or 1 (PLAIN_LIMIT), t of Beta(p+1,1), the
 * Gauss-Radau rule
 *     int_0^T g ds = w_0 g(0) + sum_j w_j g(T t_j^p),   w_j = T p/(p+1) p_j/t_j.
 * Each rule comes with a coarser one, whose difference shows the error in time. Given lags
 * (trajectories of the user): those nearest to the nodes, with weights exact for polynomials in r.
 * Ball that spans T: t = s/T has
 *     rho(t) = (D/2)^(D/2+2)/Gamma(D/2+2) (-ln t)^(D/2+1) t^(D/2-1),     D = dim + lift,
 * by Stieltjes' procedure; the nodes of its correction are those of Beta(2, D/2+2), with 0 added.
 * Must reproduce: one ROOT node is at r = 2/3, s = 4T/9, with weight T. */
#include "particle/particle_rule.h"
#include "ball/quadrature.h"
#include "base/context.h"

#include <lapacke.h>
#include <math.h>

enum { FINE = 96 };

/* which = 0: a node of the rule; 1: of the coarser one. */
static void put_node(hb_particle_rule *rule, int which, double s, double weight)
{
    rule->s[rule->n] = s;
    *(which ? rule->coarse + rule->n : rule->weight + rule->n) = weight;
    rule->n++;
}

/* The kernel itself, which both rules share. */
static void put_main(hb_particle_rule *rule)
{
    put_node(rule, 0, rule->lag, 1);
    rule->coarse[0] = 1;
    rule->n_main = 1;
}

static hb_status put_roots(hb_context *context, int which, int m, hb_rule_kind kind,
                           hb_particle_rule *out)
{
    double t[HB_RULE_NODES], p[HB_RULE_NODES];
    const double lag = out->lag, power = kind == HB_RULE_PLAIN_LIMIT ? 1 : 2;
    const int from_limit = kind != HB_RULE_ROOT;
    HB_TRY(hb_quadrature_beta(context, power + from_limit, 1, m, t, p));
    out->at_zero[which] = from_limit ? lag : 0;
    for (int j = 0; j < m; j++) {
        const double weight = from_limit ? lag * power / (power + 1) * p[j] / t[j] : lag * p[j];
        put_node(out, which, lag * pow(t[j], power), weight);
        if (from_limit) out->at_zero[which] -= weight;
    }
    return HB_OK;
}

hb_status hb_rule_lag(hb_context *context, double lag, const int m[2], hb_rule_kind kind,
                      hb_particle_rule *out)
{
    *out = (hb_particle_rule){.lag = lag};
    put_main(out);
    for (int which = 0; which < 2 && m[0] > 0; which++)
        HB_TRY(put_roots(context, which, m[which], kind, out));
    return HB_OK;
}

/* ---- given lags ---- */

static size_t rule_nearest(size_t n, const double *s, double wanted)
{
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(s[k] - wanted) < fabs(s[best] - wanted)) best = k;
    return best;
}

/* w[0..m] of the nodes 0, r[0..m-1] in (0, 1]: sum_j w_j r_j^k = 2/(k+2), k = 0 .. m. */
static hb_status moment_weights(hb_context *context, int m, const double *r, double *w)
{
    double powers[HB_RULE_NODES * HB_RULE_NODES];
    lapack_int pivot[HB_RULE_NODES];
    const int size = m + 1;
    for (int k = 0; k < size; k++) {
        w[k] = 2.0 / (k + 2);
        for (int j = 0; j < size; j++) powers[k * size + j] = pow(j == 0 ? 0 : r[j - 1], k);
    }
    const lapack_int info = LAPACKE_dgesv(LAPACK_ROW_MAJOR, size, 1, powers, size, pivot, w, 1);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL,
             "the times of the trajectories give no rule with %d nodes", m);
    return HB_OK;
}

static hb_status put_given(hb_context *context, int which, size_t n, const double *s, int m,
                           hb_particle_rule *out)
{
    double r[HB_RULE_NODES], w[HB_RULE_NODES];
    const double lag = out->lag;
    size_t before = n;
    int count = 0;
    HB_TRY(hb_quadrature_beta(context, 3, 1, m, r, w));
    for (int j = 0; j < m; j++) {
        const size_t k = rule_nearest(n, s, lag * r[j] * r[j]);
        if (k == before) continue;
        r[count++] = sqrt(s[k] / lag);
        before = k;
    }
    HB_TRY(moment_weights(context, count, r, w));
    out->at_zero[which] = lag * w[0];
    for (int j = 0; j < count; j++) put_node(out, which, lag * r[j] * r[j], lag * w[j + 1]);
    return HB_OK;
}

hb_status hb_rule_lag_given(hb_context *context, const double *s, size_t last, const int m[2],
                            hb_particle_rule *out)
{
    *out = (hb_particle_rule){.lag = s[last]};
    put_main(out);
    for (int which = 0; which < 2 && m[0] > 0; which++)
        HB_TRY(put_given(context, which, last + 1, s, m[which], out));
    return HB_OK;
}

/* ---- the ball ---- */

/* The m-point Gauss rule of the discrete distribution (x, p)[FINE], by Stieltjes' procedure. */
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

static hb_status kappa_nodes(hb_context *context, int which, double half, double span, int m,
                             hb_particle_rule *out)
{
    double L[FINE], p[FINE], t[HB_RULE_NODES], w[HB_RULE_NODES];
    HB_TRY(hb_quadrature_gamma(context, half + 2, half, FINE, L, p));
    for (int i = 0; i < FINE; i++) L[i] = exp(-L[i]);
    HB_TRY(gauss_of_law(context, L, p, m, t, w));
    const double log_factor = (half + 2) * log(half) - lgamma(half + 2);
    for (int j = 0; j < m; j++) {
        const double rho = exp(log_factor + (half + 1) * log(-log(t[j])) + (half - 1) * log(t[j]));
        put_node(out, which, span * t[j], span * w[j] / rho);
    }
    return HB_OK;
}

static hb_status ball_correction(hb_context *context, int which, double power, double span, int m,
                                 hb_particle_rule *out)
{
    double t[HB_RULE_NODES], w[HB_RULE_NODES];
    HB_TRY(hb_quadrature_beta(context, 2, power + 1, m, t, w));
    const double mass = span / ((power + 1) * (power + 2)); // of t (1-t)^power
    out->at_zero[which] = span / (power + 1);
    for (int j = 0; j < m; j++) {
        const double fall = pow(1 - t[j], power), weight = mass * w[j] / (t[j] * fall);
        put_node(out, which, span * t[j], weight);
        out->at_zero[which] -= weight * fall;
    }
    return HB_OK;
}

hb_status hb_rule_ball(hb_context *context, int dim, int lift, double span, const int m[2],
                       hb_particle_rule *out)
{
    const double half = 0.5 * (dim + lift);
    *out = (hb_particle_rule){.lift = lift, .lag = span};
    for (int which = 0; which < 2; which++)
        HB_TRY(kappa_nodes(context, which, half, span, m[which], out));
    out->n_main = out->n;
    for (int which = 0; which < 2; which++)
        HB_TRY(ball_correction(context, which, half + 1, span, m[which], out));
    return HB_OK;
}
