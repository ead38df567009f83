/* The Mueller-Brown potential at kT = 23 (K. Mueller, L. D. Brown, Theor. Chim. Acta 53 (1979) 75).
 *
 *     V(x,y) = sum_k A_k exp(a_k (x-x_k)^2 + b_k (x-x_k)(y-y_k) + c_k (y-y_k)^2)
 *     p(z) = exp(-V/kT - ln_z),   z = (x - centre)/scale: mean 0 and mean variance 1
 * centre, scale and ln_z by quadrature over the box, which has all of the mass but 1e-9; the test
 * repeats it. Draws by rejection from a uniform point of the box, accepted with p over its largest
 * value, that at V = -146.7. At tau, with n ~ N(0, I),
 *     u(z,tau) = a^-2 E[p((z - sqrt(b) n)/a)],   a = e^-tau,   b = 1 - a^2,
 * by the trapezoidal rule in n, which converges faster than any power for smooth p; its gradient is
 * -E[n p]/(sqrt(b) E[p]). Uniforms of stream (6 << 32), noise of stream (5 << 32), + 1 for held-out
 * draws. Must reproduce: minima V = -146.70 at (-0.558, 1.442), -108.17 at (0.623, 0.028), -80.77
 * at (-0.050, 0.467); saddles -40.66 at (-0.822, 0.624), -72.25 at (0.212, 0.293). */
#include "density.h"

#include <heatball/random.h>

#include <math.h>

enum { TRIES = 4096 };
#define KT 23.0
const double hb_density_centre[2] = {-0.402276062082893, 1.100654343045684},
             hb_density_scale = 0.5223714824714105;
static const double LN_Z = 5.947873138852467, LOWEST = -146.7, LOW[2] = {-3.6, -2.2}, SIDE = 6;

static double log_p(double x, double y) /* -V/kT */
{
    static const double A[] = {-200, -100, -170, 15}, a[] = {-1, -1, -6.5, 0.7},
                        b[] = {0, 0, 11, 0.6}, c[] = {-10, -10, -6.5, 0.7}, x0[] = {1, 0, -0.5, -1},
                        y0[] = {0, 0.5, 1.5, 1};
    double v = 0;
    for (int k = 0; k < 4; k++) {
        const double dx = x - x0[k], dy = y - y0[k];
        v += A[k] * exp(fmin(50, a[k] * dx * dx + b[k] * dx * dy + c[k] * dy * dy));
    }
    return -v / KT;
}

hb_status hb_density_muller_draw(hb_context *context, uint64_t seed, uint64_t first, size_t n,
                                 double tau, double *x)
{
    const double a = exp(-tau), root = sqrt(-expm1(-2 * tau));
    const uint64_t stream = first != 0;
    double u[3 * TRIES], e[2];
    size_t made = 0;
    for (uint64_t batch = 0; made < n; batch++) {
        HB_TRY(hb_random_uniform(context, seed, (UINT64_C(6) << 32) + stream, 3 * TRIES * batch,
                                 (size_t)3 * TRIES, u));
        for (size_t k = 0; k < 3 * TRIES && made < n; k += 3) {
            for (int c = 0; c < 2; c++) u[k + (size_t)c] = LOW[c] + SIDE * u[k + (size_t)c];
            if (log(u[k + 2]) > log_p(u[k], u[k + 1]) + LOWEST / KT) continue;
            HB_TRY(hb_random_normal(context, seed, (UINT64_C(5) << 32) + stream, 2 * made, 2, e));
            for (size_t c = 0; c < 2; c++)
                x[2 * made + c] =
                    a * (u[k + c] - hb_density_centre[c]) / hb_density_scale + root * e[c];
            made++;
        }
    }
    return HB_OK;
}

void hb_density_muller_exact(const double *z, double tau, double *v, double *score)
{
    const double a = exp(-tau), root = sqrt(-expm1(-2 * tau)), h = 0.75 * fmin(1, 0.15 / root);
    const int side = (int)ceil(6 / h);
    double top = -INFINITY, sum[3] = {0};
    for (int i = -side; i <= side; i++)
        for (int j = -side; j <= side; j++) {
            const double n[2] = {h * i, h * j}, of = hb_density_scale / a;
            const double term = log_p(hb_density_centre[0] + of * (z[0] - root * n[0]),
                                      hb_density_centre[1] + of * (z[1] - root * n[1])) -
                                0.5 * (n[0] * n[0] + n[1] * n[1]);
            const double less = exp(fmin(0, top - term)), e = exp(fmin(0, term - top));
            top = fmax(top, term);
            sum[0] = sum[0] * less + e;
            for (int c = 0; c < 2; c++) sum[1 + c] = sum[1 + c] * less + e * n[c];
        }
    *v = top + log(sum[0] * h * h / (2 * M_PI)) + 2 * tau - LN_Z;
    for (int c = 0; c < 2 && score; c++) score[c] = -sum[1 + c] / (root * sum[0]);
}
