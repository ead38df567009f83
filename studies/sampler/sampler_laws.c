/* The exact laws behind the sampler study.
 *
 * Under kappa, Q = |z|^2/(2 sigma) ~ chi^2(d+2) and E = ln Phi ~ Exp(1) are independent, and
 * sigma = exp(-(2E + Q)/d)/(4 pi). The uniform proposal on the cylinder S has the weight
 * w = |S| |z|^2/(4 sigma^2) = |S| Q/(2 sigma) = 2 pi |S| Q exp((2E + Q)/d), so with f = Q
 *
 *     E_q[w^k f^p] = E_kappa[w^(k-1) f^p]
 *                  = (2 pi |S|)^(k-1) d/(d - 2(k-1)) E[Q^(k-1+p) e^{(k-1)Q/d}],
 *     E[Q^m e^{cQ}] = 2^-a (1/2 - c)^-(a+m) Gamma(a+m)/Gamma(a),   a = d/2 + 1,
 *
 * evaluated in logarithms. It is finite only for d > 2(k-1): at d = 4 the variance (k = 2) of the
 * uniform estimator exists, but the error of a measured variance (k = 4) does not.
 *
 * Concentration: t = |z|^2/R^2 ~ Beta(d/2+1, 1), so P(d(1-t) <= x) = 1 - (1 - x/d)^(d/2+1); and
 * L = -ln(4 pi sigma) ~ Gamma(d/2+2, rate d/2), for even d a Poisson sum.
 *
 * Must reproduce: E_q[w^2] = 25.98 at d = 4, 5.458 at d = 16, 12.70 at d = 256. */
#include "sampler.h"

#include <math.h>

double hb_sampler_moment(const hb_ball_constants *ball, int k, int p)
{
    const double d = ball->dim, a = d / 2 + 1, c = (k - 1) / d, m = k - 1 + p;
    if (2 * (k - 1) >= ball->dim) return INFINITY;
    return exp((k - 1) * log(2 * M_PI * ball->cylinder_volume) - log1p(-2 * c) - a * M_LN2 -
               (a + m) * log(0.5 - c) + lgamma(a + m) - lgamma(a));
}

double hb_sampler_uniform_variance(const hb_ball_constants *ball)
{
    const double mean = ball->dim + 2;
    return hb_sampler_moment(ball, 2, 2) - mean * mean;
}

double hb_sampler_uniform_excess(const hb_ball_constants *ball)
{
    const double m1 = ball->dim + 2, m2 = hb_sampler_moment(ball, 2, 2);
    const double m3 = hb_sampler_moment(ball, 3, 3), m4 = hb_sampler_moment(ball, 4, 4);
    const double variance = m2 - m1 * m1;
    if (isinf(m4)) return INFINITY;
    return (m4 - 4 * m3 * m1 + 6 * m2 * m1 * m1 - 3 * m1 * m1 * m1 * m1) / (variance * variance) -
           3;
}

/* Second-order Taylor expansion of (mean of w)^2/(mean of w^2) about (1, m2). */
double hb_sampler_ess_bias(const hb_ball_constants *ball, int n)
{
    const double m2 = hb_sampler_moment(ball, 2, 0), m3 = hb_sampler_moment(ball, 3, 0);
    const double m4 = hb_sampler_moment(ball, 4, 0);
    if (isinf(m4)) return INFINITY;
    return ((m2 - 1) - 2 * (m3 - m2) / m2 + (m4 - m2 * m2) / (m2 * m2)) / n;
}

/* ---- radial: x = d(1-t) ---- */

static double radial_cdf(int dim, double x)
{
    if (x <= 0) return 0;
    if (x >= dim) return 1;
    return -expm1((0.5 * dim + 1) * log1p(-x / dim));
}

static double radial_density(int dim, double x)
{
    return x < 0 || x > dim ? 0 : (0.5 + 1.0 / dim) * pow(1 - x / dim, 0.5 * dim);
}

static double chi2_2_cdf(double x)
{
    return x <= 0 ? 0 : -expm1(-x / 2);
}

static double chi2_2_density(double x)
{
    return x < 0 ? 0 : 0.5 * exp(-x / 2);
}

/* ---- temporal: x = sqrt(d)(sigma - sigma_star) ---- */

static const double SIGMA_STAR = 1 / (4 * M_PI * M_E);

/* P(L >= l) for L ~ Gamma(d/2+2, rate d/2), even d: the chance that a Poisson variable of mean
 * l d/2 is at most d/2+1. */
static double gamma_tail(int dim, double l)
{
    const double mean = 0.5 * dim * l;
    if (mean > 700) return 0; /* e^-700: below every distance here; and exp stays normal */
    double term = exp(-mean), sum = term;
    for (int j = 1; j <= dim / 2 + 1; j++) {
        term *= mean / j;
        sum += term;
    }
    return fmin(sum, 1);
}

static double temporal_cdf(int dim, double x)
{
    const double sigma = SIGMA_STAR + x / sqrt(dim);
    if (sigma <= 0) return 0;
    if (4 * M_PI * sigma >= 1) return 1;
    return gamma_tail(dim, -log(4 * M_PI * sigma));
}

static double temporal_density(int dim, double x)
{
    const double sigma = SIGMA_STAR + x / sqrt(dim), shape = 0.5 * dim + 2, rate = 0.5 * dim;
    if (sigma <= 0 || 4 * M_PI * sigma >= 1) return 0;
    const double l = -log(4 * M_PI * sigma);
    return exp(shape * log(rate) + (shape - 1) * log(l) - rate * l - lgamma(shape)) /
           (sigma * sqrt(dim));
}

static const double LIMIT_SD = M_SQRT2 / (4 * M_PI * M_E);

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / (LIMIT_SD * M_SQRT2));
}

static double normal_density(double x)
{
    return exp(-0.5 * (x / LIMIT_SD) * (x / LIMIT_SD)) / (LIMIT_SD * sqrt(2 * M_PI));
}

const hb_sampler_law hb_sampler_laws[SAMPLER_LAWS] = {
    {"radial", radial_cdf, chi2_2_cdf, radial_density, chi2_2_density, 0, 10},
    {"temporal", temporal_cdf, normal_cdf, temporal_density, normal_density, -0.16, 0.16}};

double hb_sampler_law_distance(const hb_sampler_law *law, int dim)
{
    enum { POINTS = 20000 };
    const double middle = 0.5 * (law->low + law->high), half = law->high - law->low;
    double distance = 0;
    for (int i = 0; i <= POINTS; i++) {
        const double x = middle + half * (2.0 * i / POINTS - 1);
        distance = fmax(distance, fabs(law->exact_cdf(dim, x) - law->limit_cdf(x)));
    }
    return distance;
}
