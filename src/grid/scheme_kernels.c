/* The loops of the fitted scheme over one strand; compiled once per instruction set.
 *
 * Along a line, J has the rows  (J x)_k = upper_k (x_{k+1} - x_k) - lower_{k-1} (x_k - x_{k-1}). The
 * elimination of I - gamma J, an M-matrix with rows that sum to 1, needs no pivoting:
 *     1/p_k = 1 + gamma upper_k + gamma lower_{k-1} (1 - gamma upper_{k-1} p_{k-1})
 *     x_k   = (x_k + gamma lower_{k-1} x_{k-1}) p_k             upward
 *     x_k  += gamma upper_k p_k x_{k+1}                          downward
 * written without the products that would cancel: all terms are positive. The lines of a strand stand
 * side by side in the vectors; a single line (pad = 1) is one chain, and only its exponentials are
 * vectors. No contraction and SLEEF's exponential: two classes of bits (random/vector.h). */
#include "grid/scheme_kernels.h"
#include "random/vector.h"

static void edges(size_t n, size_t pad, const double *v, const double *gain_up,
                  const double *gain_down, double *upper, double *lower)
{
    for (size_t i = 0; i < (n - 1) * pad; i += LANES) {
        const vd e = vd_exp(vd_sub(vd_load(v + i + pad), vd_load(v + i)));
        vd_store(upper + i, vd_mul(vd_load(gain_up + i), e));
        vd_store(lower + i, vd_div(vd_load(gain_down + i), e));
    }
}

static void line_pivots(size_t n, double gamma, const double *upper, const double *lower,
                        double *pivot)
{
    double before = 1 / (1 + gamma * upper[0]);
    pivot[0] = before;
    for (size_t k = 1; k < n; k++) {
        const double bound = gamma * lower[k - 1] * (1 - gamma * upper[k - 1] * before);
        before = 1 / (1 + gamma * upper[k] + bound);
        pivot[k] = before;
    }
}

static void pivots(size_t n, size_t pad, double gamma, const double *upper, const double *lower,
                   double *pivot)
{
    if (pad == 1) {
        line_pivots(n, gamma, upper, lower, pivot);
        return;
    }
    const vd g = vd_set(gamma), one = vd_set(1);
    for (size_t i = 0; i < pad; i += LANES)
        vd_store(pivot + i, vd_div(one, vd_add(one, vd_mul(g, vd_load(upper + i)))));
    for (size_t i = pad; i < n * pad; i += LANES) {
        const vd free = vd_add(one, vd_mul(g, vd_load(upper + i)));
        const vd down = vd_mul(vd_mul(g, vd_load(upper + i - pad)), vd_load(pivot + i - pad));
        const vd bound = vd_mul(vd_mul(g, vd_load(lower + i - pad)), vd_sub(one, down));
        vd_store(pivot + i, vd_div(one, vd_add(free, bound)));
    }
}

static void line_solve(size_t n, double gamma, const double *upper, const double *lower,
                       const double *pivot, double *x)
{
    x[0] *= pivot[0];
    for (size_t k = 1; k < n; k++) x[k] = (x[k] + gamma * lower[k - 1] * x[k - 1]) * pivot[k];
    for (size_t k = n - 1; k-- > 0;) x[k] += gamma * upper[k] * pivot[k] * x[k + 1];
}

static void solve(size_t n, size_t pad, double gamma, const double *upper, const double *lower,
                  const double *pivot, double *x)
{
    if (pad == 1) {
        line_solve(n, gamma, upper, lower, pivot, x);
        return;
    }
    const vd g = vd_set(gamma);
    for (size_t i = 0; i < pad; i += LANES)
        vd_store(x + i, vd_mul(vd_load(x + i), vd_load(pivot + i)));
    for (size_t i = pad; i < n * pad; i += LANES) {
        const vd from = vd_mul(vd_mul(g, vd_load(lower + i - pad)), vd_load(x + i - pad));
        vd_store(x + i, vd_mul(vd_add(vd_load(x + i), from), vd_load(pivot + i)));
    }
    for (size_t i = (n - 1) * pad; i > 0; i -= LANES) {
        const size_t j = i - LANES;
        const vd factor = vd_mul(vd_mul(g, vd_load(upper + j)), vd_load(pivot + j));
        vd_store(x + j, vd_add(vd_load(x + j), vd_mul(factor, vd_load(x + j + pad))));
    }
}

const hb_scheme_kernels ISA_NAME(hb_scheme_kernels) = {
    .edges = edges, .pivots = pivots, .solve = solve};
