/* ln u and grad ln u of a Gaussian mixture at LANES points at a time; compiled once per instruction
 * set.
 *
 * With y_k = A_k (x - m_k) and e_k = c_k - |y_k|^2/2:
 *     ln u = M + ln sum_k exp(e_k - M),  M = max_k e_k,
 *     grad ln u = -sum_k p_k A_k^T y_k,  p_k = exp(e_k - M)/sum.
 * A first pass keeps all e_k (they fit in the first cache for hundreds of components) and finds M;
 * a second one takes the exponentials. Terms below e^-60 of the largest count as 0, lane by lane,
 * so that components that are far from all lanes are passed over without a change of a bit. The
 * plane has loops of its own, in registers. A number to reproduce: N(0, 1) at x = 2 has ln u =
 * -2.9189385332046727, gradient -2. */
#include "data/mixture_kernels.h"
#include "random/vector.h"

#include <float.h>

static const double NEGLIGIBLE = 60;

INLINE vd larger(vd a, vd b)
{
    return vd_select(vd_bits(vd_sub(a, b)), a, b);
}

/* exp(e - M), and 0 where that is negligible. */
INLINE vd relative_weight(vd e, vd largest)
{
    const vd below = vd_sub(e, largest);
    return vd_select(vd_bits(vd_add(below, vd_set(NEGLIGIBLE))), vd_exp(below), vd_set(0));
}

/* ---- any dimension ---- */

/* y = A (x - m) in scratch, and |y|^2; away and y are (d, LANES). */
INLINE vd deviations(size_t d, const double *component, size_t n, const double *x, double *away,
                     double *y)
{
    const double *mean = component + 1, *A = component + 1 + d;
    vd squares = vd_set(0);
    for (size_t j = 0; j < d; j++)
        vd_store(away + j * LANES, vd_sub(vd_load(x + j * n), vd_set(mean[j])));
    for (size_t r = 0; r < d; r++) {
        vd sum = vd_mul(vd_set(A[r * d]), vd_load(away));
        for (size_t j = 1; j < d; j++)
            sum = vd_fma(vd_set(A[r * d + j]), vd_load(away + j * LANES), sum);
        vd_store(y + r * LANES, sum);
        squares = vd_fma(sum, sum, squares);
    }
    return squares;
}

static int all_zero(const double *lanes)
{
    for (size_t i = 0; i < LANES; i++)
        if (lanes[i] != 0) return 0;
    return 1;
}

/* gradient -= weight A^T y */
INLINE void subtract_pull(size_t d, const double *A, vd weight, const double *y, size_t n,
                          double *gradient)
{
    for (size_t r = 0; r < d; r++) {
        const vd pull = vd_sub(vd_set(0), vd_mul(weight, vd_load(y + r * LANES)));
        for (size_t j = 0; j < d; j++)
            vd_store(gradient + j * n,
                     vd_fma(vd_set(A[r * d + j]), pull, vd_load(gradient + j * n)));
    }
}

static void general(const hb_packed_mixture *mixture, size_t n, const double *x, double *scratch,
                    double *largest, double *sum, double *gradient)
{
    const size_t d = mixture->dim, count = mixture->count, size = hb_packed_size(d);
    double *e = scratch, *away = e + count * LANES, *y = away + d * LANES;
    vd most = vd_set(-DBL_MAX), total = vd_set(0);
    for (size_t k = 0; k < count; k++) {
        const double *component = mixture->components + k * size;
        const vd squares = deviations(d, component, n, x, away, y);
        const vd exponent = vd_fma(vd_set(-0.5), squares, vd_set(component[0]));
        vd_store(e + k * LANES, exponent);
        most = larger(most, exponent);
    }
    for (size_t j = 0; gradient && j < d; j++) vd_store(gradient + j * n, vd_set(0));
    for (size_t k = 0; k < count; k++) {
        const vd weight = relative_weight(vd_load(e + k * LANES), most);
        const double *component = mixture->components + k * size;
        total = vd_add(total, weight);
        vd_store(e + k * LANES, weight);
        if (!gradient || all_zero(e + k * LANES)) continue;
        deviations(d, component, n, x, away, y);
        subtract_pull(d, component + 1 + d, weight, y, n, gradient);
    }
    for (size_t j = 0; gradient && j < d; j++)
        vd_store(gradient + j * n, vd_div(vd_load(gradient + j * n), total));
    vd_store(largest, most);
    vd_store(sum, total);
}

/* ---- two dimensions: a component is c, m_1, m_2, A_11, A_12, A_21, A_22 ---- */

typedef struct planar_deviation {
    vd y1, y2;
} planar_deviation;

INLINE planar_deviation planar_deviations(const double *c, vd x1, vd x2)
{
    const vd away1 = vd_sub(x1, vd_set(c[1])), away2 = vd_sub(x2, vd_set(c[2]));
    return (planar_deviation){vd_fma(vd_set(c[4]), away2, vd_mul(vd_set(c[3]), away1)),
                              vd_fma(vd_set(c[6]), away2, vd_mul(vd_set(c[5]), away1))};
}

static void planar(const hb_packed_mixture *mixture, size_t n, const double *x, double *scratch,
                   double *largest, double *sum, double *gradient)
{
    const size_t count = mixture->count, size = hb_packed_size(2);
    const vd x1 = vd_load(x), x2 = vd_load(x + n);
    const double *c = mixture->components;
    vd most = vd_set(-DBL_MAX), total = vd_set(0), g1 = total, g2 = total;
    for (size_t k = 0; k < count; k++, c += size) {
        const planar_deviation y = planar_deviations(c, x1, x2);
        const vd squares = vd_fma(y.y2, y.y2, vd_mul(y.y1, y.y1));
        const vd exponent = vd_fma(vd_set(-0.5), squares, vd_set(c[0]));
        vd_store(scratch + k * LANES, exponent);
        most = larger(most, exponent);
    }
    c = mixture->components;
    for (size_t k = 0; k < count; k++, c += size) {
        const vd weight = relative_weight(vd_load(scratch + k * LANES), most);
        const planar_deviation y = planar_deviations(c, x1, x2);
        const vd pull1 = vd_mul(weight, y.y1), pull2 = vd_mul(weight, y.y2);
        total = vd_add(total, weight);
        g1 = vd_fma(vd_set(c[5]), pull2, vd_fma(vd_set(c[3]), pull1, g1));
        g2 = vd_fma(vd_set(c[6]), pull2, vd_fma(vd_set(c[4]), pull1, g2));
    }
    vd_store(largest, most);
    vd_store(sum, total);
    if (!gradient) return;
    const vd factor = vd_div(vd_set(-1), total);
    vd_store(gradient, vd_mul(g1, factor));
    vd_store(gradient + n, vd_mul(g2, factor));
}

static void mixture_kernel(const hb_packed_mixture *mixture, size_t n, const double *x,
                           double *scratch, double *largest, double *sum, double *gradient)
{
    for (size_t i = 0; i < n; i += LANES)
        (mixture->dim == 2 ? planar : general)(mixture, n, x + i, scratch, largest + i, sum + i,
                                               gradient ? gradient + i : NULL);
}

const hb_mixture_kernel ISA_NAME(hb_mixture_kernel) = mixture_kernel;
