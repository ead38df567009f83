/* The shape of the heat ball, and the checks on its parameters.
 *
 *     Phi(y,s) = (4 pi s)^(-D/2) exp(-|y|^2/(4s)),      E_r = {(y,s): s > 0, Phi(y,s) >= r^-D}
 *     psi(y,s) = ln(r^D Phi) = -(D/2) ln q - |y|^2/(4s),   q = 4 pi s/r^2
 * psi >= 0 inside, so at backward time s the ball is |y|^2 <= R(s)^2 = -2 D s ln q, for 0 < q < 1.
 * D is the number of dimensions of the ball, lift included. Derivation: docs/explanation/heat-ball.md.
 *
 * A number to reproduce: R(sigma*)^2 = 2D/(4 pi e) at sigma* = 1/(4 pi e), the widest place of E_1;
 * 0.117099663048638 for D = 2. */
#include "ball/check.h"
#include "base/context.h"

#include <math.h>

hb_status hb_ball_check(hb_context *context, int dim, int lift, double radius)
{
    HB_CHECK(context, dim >= 1 && dim <= HB_MAX_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", dim, HB_MAX_DIM);
    HB_CHECK(context, lift >= 0 && lift <= HB_MAX_DIM, HB_ERROR_ARGUMENT,
             "lift is %d; it must be 0 to %d", lift, HB_MAX_DIM);
    HB_CHECK(context, isfinite(radius) && radius > 0, HB_ERROR_ARGUMENT,
             "radius is %g; it must be positive and finite", radius);
    return HB_OK;
}

hb_status hb_ball_check_measure(hb_context *context, hb_measure measure)
{
    HB_CHECK(context,
             measure == HB_MEASURE_KAPPA || measure == HB_MEASURE_SOURCE ||
                 measure == HB_MEASURE_GRADIENT,
             HB_ERROR_ARGUMENT,
             "measure is %d; it must be HB_MEASURE_KAPPA (0), HB_MEASURE_SOURCE (1) or "
             "HB_MEASURE_GRADIENT (2)",
             (int)measure);
    return HB_OK;
}

/* q = 4 pi s/r^2, without r^2, which may leave the range of double. */
static double time_fraction(double radius, double s)
{
    return 4 * M_PI * (s / radius / radius);
}

double hb_ball_psi(int dim, double radius, double y2, double s)
{
    if (s <= 0) return -INFINITY;
    return -0.5 * dim * log(time_fraction(radius, s)) - y2 / (4 * s);
}

double hb_ball_radius_squared(int dim, double radius, double s)
{
    if (s <= 0) return 0;
    const double q = time_fraction(radius, s);
    return q < 1 ? -2.0 * dim * s * log(q) : 0;
}

int hb_ball_contains(int dim, double radius, double y2, double s)
{
    return hb_ball_psi(dim, radius, y2, s) >= 0;
}
