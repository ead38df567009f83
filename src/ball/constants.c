/* Every constant of the heat ball in closed form, to full precision from D = 1 to D = 2,000,000.
 *
 * With n = D/2 (D = dim + lift) the gamma functions and powers of the defining integrals cancel to
 *     C1          = (1 + 1/n)^-(n+2) / pi
 *     |E_1|       = (1 + 1/n)^-n / (4 pi (n+1))
 *     c_g         = (1 + 1/D)^-((D+3)/2) Gamma(n+1/2)/Gamma(n) / sqrt(pi)
 *     |S|         = f(n)/(4 pi),     |S|/|E_1| = (n+1) (1 + 1/n)^n f(n),
 *     1 + chi^2   = (n+1) (1 - 1/n)^-(n+3) f(n),      f(n) = (n/e)^n / Gamma(n+1)
 * Powers of 1 +- 1/n go through log1p. The two gamma quotients that remain are evaluated by Binet's
 * remainder delta(x) = ln Gamma(x+1) - (x+1/2) ln x + x - ln(2 pi)/2, so that no large logarithms
 * are subtracted:
 *     f(x)                  = exp(-delta(x)) / sqrt(2 pi x)
 *     Gamma(x+1/2)/Gamma(x) = sqrt(x) exp(x ln(1 - 1/(2x)) + 1/2 + delta(x-1/2) - delta(x))
 * Derivation: docs/explanation/heat-ball.md.
 * Numbers to reproduce: D = 8 has C1 = 0.0834430268037636 and 1 + chi^2 = 7.31799244146980. */
#include "ball/check.h"
#include "base/context.h"
#include "base/sized.h"

#include <math.h>

/* Below, tgamma is as good as the series; above, five terms of the series leave under 2e-16. */
#define BINET_FROM 16.5

static double binet_remainder(double x)
{
    const double y = 1 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y * (1.0 / 1680 - y / 1188)))) / x;
}

/* (x/e)^x / Gamma(x+1) */
static double power_over_factorial(double x)
{
    if (x < BINET_FROM) return pow(x, x) * exp(-x) / tgamma(x + 1);
    return exp(-binet_remainder(x)) / sqrt(2 * M_PI * x);
}

/* Gamma(x+1/2)/Gamma(x) */
static double half_step_of_gamma(double x)
{
    if (x < BINET_FROM) return tgamma(x + 0.5) / tgamma(x);
    return sqrt(x) * exp(x * log1p(-0.5 / x) + 0.5 + binet_remainder(x - 0.5) - binet_remainder(x));
}

hb_status hb_ball_constants_get(hb_context *context, int dim, int lift, size_t size,
                                hb_ball_constants *out)
{
    HB_TRY(hb_ball_check(context, dim, lift, 1));
    HB_SIZED_CHECK(context, hb_ball_constants, size, out);
    const double D = (double)dim + lift, n = D / 2;
    const double f = power_over_factorial(n);
    hb_ball_constants c = {.dim = dim, .lift = lift};
    c.C1 = exp(-(n + 2) * log1p(1 / n)) / M_PI;
    c.C2 = 2 * D * c.C1;
    c.C3 = c.C1 / 2;
    c.c_g = exp(-0.5 * (D + 3) * log1p(1 / D)) * half_step_of_gamma(n) / sqrt(M_PI);
    c.volume = exp(-n * log1p(1 / n)) / (4 * M_PI * (n + 1));
    c.sigma_star = 1 / (4 * M_PI * M_E);
    c.r_max = sqrt(2 * D * c.sigma_star);
    c.mean_sigma = c.C1 / 4;
    c.source_mass = c.C1 / (2 * D);
    c.gradient_mass = c.c_g / D;
    c.cylinder_volume = f / (4 * M_PI);
    c.cylinder_ratio = (n + 1) * exp(n * log1p(1 / n)) * f;
    c.one_plus_chi2 = n > 1 ? (n + 1) * exp(-(n + 3) * log1p(-1 / n)) * f : INFINITY;
    c.C_d = half_step_of_gamma(0.5 * dim);
    c.C_sharp = 1 / sqrt(M_PI);
    HB_SIZED_WRITE(c, size, out);
    return HB_OK;
}
