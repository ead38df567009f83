/* The mean-value identity once more, written for this study alone and for closed-form fields, so
 * that terms of a source can be left out: a check that cannot fail shows nothing.
 *
 *     scaled residual = 4/(C1 r^2) (F - E_kappa[F(x0 + r z, tau0 - r^2 sigma)])
 *                       - E_source[h_F(x0 + rho z, tau0 - rho^2 sigma)],      rho = r sqrt(U).
 * With g = grad v, b = F.g and c = div F the sources are
 *     h_u = -u (b + c),   h_v = |g|^2 - b - c,   h_w = -u ((1 + v)(b + c) + |g|^2) .
 * The averages over the ball are cubature rules; that over U is a Gauss rule on (0,1): averaged
 * over z and -z, the integrand is a smooth function of rho^2 = r^2 U.
 *
 * Must reproduce: N(0, I) under F = -x has the source h_v = d, so with no term of h_v the scaled
 * residual of v is d. */
#include "identities.h"

#include <math.h>
#include <stdlib.h>

enum { RHO_NODES = 7 };

typedef struct ball_rule {
    size_t n;
    double *z, *sigma, *weight; // (n, dim), (n), (n)
} ball_rule;

struct hb_identity_ball {
    int dim;
    double C1;
    ball_rule kappa, source;
    double rho2[RHO_NODES], share[RHO_NODES]; /* Gauss-Legendre on (0,1) */
};

/* Roots of the Legendre polynomial by Newton's method from Chebyshev points. */
static void gauss_legendre(int n, double *x, double *weight)
{
    for (int i = 0; i < n; i++) {
        double t = cos(M_PI * (i + 0.75) / (n + 0.5)), slope = 1;
        for (int step = 0; step < 20; step++) {
            double p = 1, before = 0;
            for (int k = 1; k <= n; k++) {
                const double next = ((2 * k - 1) * t * p - (k - 1) * before) / k;
                before = p;
                p = next;
            }
            slope = n * (t * p - before) / (t * t - 1);
            t -= p / slope;
        }
        x[i] = 0.5 * (1 + t);
        weight[i] = 1 / ((1 - t * t) * slope * slope);
    }
}

static hb_status make_rule(hb_context *context, hb_measure measure, int dim, int degree,
                           ball_rule *out)
{
    hb_cubature *rule;
    void *memory = NULL;
    HB_TRY(hb_cubature_exact(context, measure, dim, 0, degree, &rule));
    const size_t n = hb_cubature_size(rule), d = (size_t)dim;
    hb_status status = hb_study_allocate(context, n * (d + 2), sizeof(double), &memory);
    if (status == HB_OK) {
        *out = (ball_rule){n, memory, (double *)memory + n * d, (double *)memory + n * (d + 1)};
        status = hb_cubature_nodes(context, rule, 0, 0, 0, out->z, out->sigma, out->weight);
    }
    hb_cubature_destroy(rule);
    return status;
}

hb_status hb_identities_ball_create(hb_context *context, int dim, int degree,
                                    hb_identity_ball **out)
{
    hb_ball_constants constants;
    *out = NULL;
    HB_TRY(hb_ball_constants_get(context, dim, 0, sizeof constants, &constants));
    hb_identity_ball *ball;
    HB_TRY(HB_STUDY_NEW(context, ball, 1));
    ball->dim = dim;
    ball->C1 = constants.C1;
    gauss_legendre(RHO_NODES, ball->rho2, ball->share);
    hb_status status = make_rule(context, HB_MEASURE_KAPPA, dim, degree, &ball->kappa);
    if (status == HB_OK) status = make_rule(context, HB_MEASURE_SOURCE, dim, degree, &ball->source);
    if (status == HB_OK)
        *out = ball;
    else
        hb_identities_ball_destroy(ball);
    return status;
}

void hb_identities_ball_destroy(hb_identity_ball *ball)
{
    if (!ball) return;
    free(ball->kappa.z);
    free(ball->source.z);
    free(ball);
}

/* Node i of a rule, with the radius, from the anchor. */
static double node_at(const hb_identity_ball *ball, const ball_rule *rule, size_t i, double radius,
                      const double *x, double tau, double *at)
{
    for (int k = 0; k < ball->dim; k++)
        at[k] = x[k] + radius * rule->z[i * (size_t)ball->dim + (size_t)k];
    return tau - radius * radius * rule->sigma[i];
}

/* F - F(anchor), divided by u(anchor) for u and w. */
static double value_from(hb_quantity quantity, double v, double v0)
{
    const double rise = expm1(v - v0);
    if (quantity == HB_QUANTITY_U) return rise;
    return quantity == HB_QUANTITY_V ? v - v0 : v0 * rise + (1 + rise) * (v - v0);
}

/* h_F with the chosen terms, divided by u(anchor) for u and w. */
static double source_of(const hb_identity_field *f, hb_quantity quantity, int terms,
                        const double *x, double tau, double v0)
{
    double g[IDENTITIES_DIM] = {0}, slope2 = 0, along = 0;
    const double v = hb_identities_log_density(f, x, tau, g, NULL);
    for (int i = 0; i < f->dim; i++) {
        slope2 += g[i] * g[i];
        along -= f->rate * x[i] * g[i];
    }
    if (f->omega != 0) along += f->omega * (x[0] * g[1] - x[1] * g[0]);
    const double a = -(terms & TERM_DRIFT ? along : 0) +
                     (terms & TERM_DIVERGENCE ? f->rate * f->dim : 0); /* div F = -rate d */
    if (!(terms & TERM_SLOPE)) slope2 = 0;
    if (quantity == HB_QUANTITY_V) return slope2 + a;
    return exp(v - v0) * (quantity == HB_QUANTITY_U ? a : (1 + v) * a - slope2);
}

double hb_identities_residual(const hb_identity_ball *ball, const hb_identity_field *field,
                              hb_quantity quantity, int terms, double radius, const double *x,
                              double tau)
{
    const double v0 = hb_identities_log_density(field, x, tau, NULL, NULL);
    double at[IDENTITIES_DIM] = {0}, mean = 0, source = 0;
    for (size_t i = 0; i < ball->kappa.n; i++) {
        const double then = node_at(ball, &ball->kappa, i, radius, x, tau, at);
        const double v = hb_identities_log_density(field, at, then, NULL, NULL);
        mean += ball->kappa.weight[i] * value_from(quantity, v, v0);
    }
    for (int k = 0; k < RHO_NODES; k++)
        for (size_t i = 0; i < ball->source.n; i++) {
            const double rho = radius * sqrt(ball->rho2[k]);
            const double then = node_at(ball, &ball->source, i, rho, x, tau, at);
            source += ball->share[k] * ball->source.weight[i] *
                      source_of(field, quantity, terms, at, then, v0);
        }
    return -4 / (ball->C1 * radius * radius) * mean - source;
}

/* d h_v/dx_axis. */
static double source_slope(const hb_identity_field *f, int axis, const double *x, double tau)
{
    const double h = 1e-4; /* the error of order h^2 and the rounding are both near 1e-9 */
    double at[IDENTITIES_DIM] = {0};
    for (int i = 0; i < f->dim; i++) at[i] = x[i];
    at[axis] = x[axis] + h;
    const double above = source_of(f, HB_QUANTITY_V, TERMS_ALL, at, tau, 0);
    at[axis] = x[axis] - h;
    return (above - source_of(f, HB_QUANTITY_V, TERMS_ALL, at, tau, 0)) / (2 * h);
}

void hb_identities_score(const hb_identity_ball *ball, const hb_identity_field *field,
                         double radius, const double *x, double tau, double *out)
{
    const double scale = ball->C1 * radius * radius / 4;
    double at[IDENTITIES_DIM] = {0}, g[IDENTITIES_DIM] = {0};
    for (int a = 0; a < ball->dim; a++) out[a] = 0;
    for (size_t i = 0; i < ball->kappa.n; i++) {
        const double then = node_at(ball, &ball->kappa, i, radius, x, tau, at);
        hb_identities_log_density(field, at, then, g, NULL);
        for (int a = 0; a < ball->dim; a++) out[a] += ball->kappa.weight[i] * g[a];
    }
    for (int k = 0; k < RHO_NODES; k++)
        for (size_t i = 0; i < ball->source.n; i++) {
            const double then =
                node_at(ball, &ball->source, i, radius * sqrt(ball->rho2[k]), x, tau, at);
            const double weight = scale * ball->share[k] * ball->source.weight[i];
            for (int a = 0; a < ball->dim; a++) out[a] += weight * source_slope(field, a, at, then);
        }
}
