/* The kernels of the mean-value representation as functions on E_r.
 *
 * With psi = ln(r^d Phi) (geometry.c) each is a power of r times a function of psi and of y, s:
 *     heat      Phi        = exp(psi) at r = 1, for every s > 0
 *     Watson    |y|^2/(4 s^2) r^-d
 *     source    psi
 *     gradient  |y|/(2s)
 *     Green     G_r        = r^-d (e^psi - 1 - psi)      (= Phi - r^-d (1 + psi))
 *     drift     Phi - r^-d = r^-d (e^psi - 1)
 * r^-d and e^psi alone leave the range of double long before their product does, so products are
 * sums of logarithms, with one exp at the end. Near the boundary psi -> 0 and G_r ~ r^-d psi^2/2:
 * the subtraction is replaced by expm1 and, below psi = 1/2, by the Taylor series. A number to
 * reproduce: the integral of G_r over E_r is C1 r^2/4, 0.0190809 for d = 2, r = 1.385. */
#include "ball/check.h"
#include "base/context.h"
#include "base/linear_algebra.h"

#include <math.h>

/* ln(e^x - 1), x > 0 */
static double log_expm1(double x)
{
    return x + log(-expm1(-x));
}

/* ln(e^x - 1 - x), x > 0. Below 1/2: x^2/2 (1 + x/3 (1 + x/4 (1 + ...))), 14 terms to 1e-18. */
static double log_expm1_tail(double x)
{
    if (x >= 0.5) return x + log(-expm1(-x) - x * exp(-x));
    double sum = 1;
    for (int k = 16; k >= 3; k--) sum = 1 + sum * x / k;
    return 2 * log(x) - M_LN2 + log(sum);
}

static double kernel_inside(hb_kernel kernel, double log_volume, double psi, double y2, double s)
{
    switch (kernel) {
    case HB_KERNEL_HEAT: return exp(psi);
    case HB_KERNEL_WATSON: return exp(log(y2 / 4) - 2 * log(s) - log_volume);
    case HB_KERNEL_SOURCE: return psi;
    case HB_KERNEL_GRADIENT: return sqrt(y2) / (2 * s);
    case HB_KERNEL_GREEN: return exp(log_expm1_tail(psi) - log_volume);
    case HB_KERNEL_DRIFT: return exp(log_expm1(psi) - log_volume);
    }
    return NAN;
}

hb_status hb_ball_kernel(hb_context *context, hb_kernel kernel, int dim, size_t n, double radius,
                         const double *y, const double *s, double *out)
{
    HB_TRY(hb_ball_check(context, dim, 0, radius));
    HB_CHECK(context, kernel >= HB_KERNEL_HEAT && kernel <= HB_KERNEL_DRIFT, HB_ERROR_ARGUMENT,
             "kernel is %d; it must be HB_KERNEL_HEAT (0) to HB_KERNEL_DRIFT (5)", (int)kernel);
    HB_CHECK(context, n == 0 || (y && s && out), HB_ERROR_ARGUMENT,
             "y, s or out is NULL; each must hold %zu points", n);
    const int everywhere = kernel == HB_KERNEL_HEAT;
    const double level = everywhere ? 1 : radius; // psi is ln Phi for the heat kernel
    const double log_volume = dim * log(radius);  // ln r^d
    for (size_t i = 0; i < n; i++) {
        const double y2 = hb_dot((size_t)dim, y + i * (size_t)dim, y + i * (size_t)dim);
        const double psi = hb_ball_psi(dim, level, y2, s[i]);
        const int outside = s[i] <= 0 || (!everywhere && psi < 0);
        out[i] = outside ? 0 : kernel_inside(kernel, log_volume, psi, y2, s[i]);
    }
    return HB_OK;
}
