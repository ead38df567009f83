/* Vectors and small matrices; functions of a matrix by series and doubling.
 *
 * For dX = (b + A(X - x0)) dtau + sqrt(2) dW, seen backward over a lag s, three matrices are
 * needed:
 *     E = e^(-As),  K = int_0^s e^(-Av) dv,  C = 2 int_0^s e^(-Av) e^(-A'v) dv   (A' transposed)
 * They obey E' = -A E, K' = I - A K, C' = 2I - A C - C A', which gives their Taylor series at s =
 * 0, and
 *     E(2h) = E(h)^2,   K(2h) = K(h) + E(h) K(h),   C(2h) = C(h) + E(h) C(h) E(h)'
 * so: the series on h = s/2^k with |A| h <= 1/4, where 14 terms are enough for double, then k
 * doublings. The sums for C have no cancellation, and C stays symmetric and positive. With a noise
 * of covariance Q per unit of time in the place of 2I, C = int_0^s e^(-Av) Q e^(-A'v) dv, C' = Q -
 * A C - C A'. A number to reproduce: A = -1, s = 0.5 has E = 1.6487213, K = 0.6487213, C = e - 1 =
 * 1.7182818. */
#include "base/linear_algebra.h"
#include "base/context.h"

#include <math.h>
#include <stdlib.h>

enum { TERMS = 14 };

#define INLINE static inline __attribute__((always_inline))

/* Where d is a number that the compiler knows it has neither loops nor calls; the zeros that are
 * not skipped change no sum. */
INLINE void multiply(size_t d, double factor, const double *restrict a, const double *restrict b,
                     double *restrict out)
{
    const int small = __builtin_constant_p(d);
    for (size_t k = 0; k < d * d; k++) out[k] = 0;
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++) {
            const double entry = factor * a[i * d + k];
            if (!small && entry == 0) continue; // diagonals and chains cost less
            for (size_t j = 0; j < d; j++) out[i * d + j] += entry * b[k * d + j];
        }
}

void hb_matrix_multiply(size_t d, double factor, const double *a, const double *b, double *out)
{
    multiply(d, factor, a, b, out);
}

INLINE hb_status product(hb_context *context, size_t d, double factor, const double *restrict a,
                         const double *restrict b, double *restrict out)
{
    multiply(d, factor, a, b, out);
    return context ? hb_progress(context, "matrices", 0, 1) : HB_OK;
}

hb_status hb_matrix_product(hb_context *context, size_t d, double factor, const double *a,
                            const double *b, double *out)
{
    return product(context, d, factor, a, b, out);
}

INLINE void diagonal(size_t d, double value, double *out)
{
    for (size_t k = 0; k < d * d; k++) out[k] = 0;
    for (size_t i = 0; i < d; i++) out[i * d + i] = value;
}

void hb_matrix_diagonal(size_t d, double value, double *out)
{
    diagonal(d, value, out);
}

double hb_matrix_norm(size_t d, const double *a)
{
    double norm = 0;
    for (size_t i = 0; i < d; i++) {
        double row = 0;
        for (size_t j = 0; j < d; j++) row += fabs(a[i * d + j]);
        norm = fmax(norm, row);
    }
    return norm;
}

int hb_cholesky(size_t d, double *C)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = C[i * d + j];
            for (size_t k = 0; k < j; k++) sum -= C[i * d + k] * C[j * d + k];
            if (i == j && !(sum > 0 && isfinite(sum))) return 0;
            C[i * d + j] = i == j ? sqrt(sum) : sum / C[j * d + j];
        }
    return 1;
}

/* A pivot that is 0 but for rounding has a column of zeros. */
int hb_cholesky_semidefinite(size_t d, double *C)
{
    const double slack = 1e-14 * (double)d;
    for (size_t j = 0; j < d; j++) {
        const double size = C[j * d + j];
        double pivot = size;
        for (size_t k = 0; k < j; k++) pivot -= C[j * d + k] * C[j * d + k];
        if (!isfinite(pivot) || pivot < -slack * size) return 0;
        const int none = pivot <= slack * size;
        const double root = none ? 0 : sqrt(pivot);
        for (size_t i = j + 1; i < d; i++) {
            double sum = C[i * d + j];
            for (size_t k = 0; k < j; k++) sum -= C[i * d + k] * C[j * d + k];
            C[i * d + j] = none ? 0 : sum / root;
        }
        C[j * d + j] = root;
    }
    return 1;
}

int hb_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void hb_sort(size_t n, double *values)
{
    qsort(values, n, sizeof *values, hb_by_value);
}

int hb_sorted_until(int n, const double *values, double at)
{
    int low = 0;
    while (low < n) {
        const int middle = low + (n - low) / 2;
        *(values[middle] <= at ? &low : &n) = values[middle] <= at ? middle + 1 : middle;
    }
    return low;
}

/* sum = sum_k scale h^k/k! (-A)^(k-1), from k = 1 on: K for scale 1. term: (d, d), twice. */
INLINE hb_status integral_series(hb_context *context, size_t d, const double *restrict A, double h,
                                 double *restrict sum, double *restrict term)
{
    double *next = term + d * d;
    diagonal(d, h, term);
    for (size_t i = 0; i < d * d; i++) sum[i] = term[i];
    for (int k = 2; k <= TERMS; k++) {
        HB_TRY(product(context, d, -h / k, A, term, next));
        for (size_t i = 0; i < d * d; i++) term[i] = next[i];
        hb_axpy(d * d, 1, term, sum);
    }
    return HB_OK;
}

/* C = sum_k c_k with c_1 = h Q, c_k = -(h/k) (A c_{k-1} + its transpose); Q NULL: 2 I. */
INLINE hb_status covariance_series(hb_context *context, size_t d, const double *restrict A,
                                   const double *Q, double h, double *restrict C,
                                   double *restrict term)
{
    double *next = term + d * d;
    diagonal(d, 2 * h, term);
    for (size_t k = 0; Q && k < d * d; k++) term[k] = h * Q[k];
    for (size_t i = 0; i < d * d; i++) C[i] = term[i];
    for (int k = 2; k <= TERMS; k++) {
        HB_TRY(product(context, d, -h / k, A, term, next));
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++) term[i * d + j] = next[i * d + j] + next[j * d + i];
        hb_axpy(d * d, 1, term, C);
    }
    return HB_OK;
}

INLINE double norm(size_t d, const double *A)
{
    double largest = 0;
    for (size_t i = 0; i < d; i++) {
        double row = 0, column = 0;
        for (size_t j = 0; j < d; j++) {
            row += fabs(A[i * d + j]);
            column += fabs(A[j * d + i]);
        }
        largest = fmax(largest, fmax(row, column));
    }
    return largest;
}

INLINE void transpose(size_t d, const double *a, double *out)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) out[j * d + i] = a[i * d + j];
}

void hb_matrix_transpose(size_t d, const double *a, double *out)
{
    transpose(d, a, out);
}

/* E, K, C at h become those at 2h. */
INLINE hb_status double_lag(hb_context *context, size_t d, double *E, double *K, double *C,
                            double *work)
{
    double *transposed = work + d * d, *moved = work + 2 * d * d;
    HB_TRY(product(context, d, 1, E, K, work));
    hb_axpy(d * d, 1, work, K);
    transpose(d, E, transposed);
    HB_TRY(product(context, d, 1, E, C, work));
    HB_TRY(product(context, d, 1, work, transposed, moved));
    hb_axpy(d * d, 1, moved, C);
    HB_TRY(product(context, d, 1, E, E, work));
    for (size_t i = 0; i < d * d; i++) E[i] = work[i];
    return HB_OK;
}

void hb_linear_functions(size_t d, const double *A, double s, double *E, double *K, double *C,
                         double *work)
{
    hb_noise_functions(NULL, d, A, NULL, s, E, K, C, work);
}

INLINE hb_status noise_functions(hb_context *context, size_t d, const double *A, const double *Q,
                                 double s, double *E, double *K, double *C, double *work)
{
    const double size = norm(d, A) * s;
    const int doublings = size > 0.25 && isfinite(size) ? ilogb(4 * size) + 1 : 0;
    const double h = ldexp(s, -doublings);
    HB_TRY(integral_series(context, d, A, h, K, work));
    HB_TRY(covariance_series(context, d, A, Q, h, C, work));
    HB_TRY(product(context, d, -1, A, K, E));
    for (size_t i = 0; i < d; i++) E[i * d + i] += 1;
    for (int k = 0; k < doublings; k++) HB_TRY(double_lag(context, d, E, K, C, work));
    return HB_OK;
}

/* Walks ask in two and three dimensions for every step. */
hb_status hb_noise_functions(hb_context *context, size_t d, const double *A, const double *Q,
                             double s, double *E, double *K, double *C, double *work)
{
    double own[HB_LINEAR_WORK(3)]; /* which may stay in registers */
    switch (d) {
    case 2: return noise_functions(NULL, 2, A, Q, s, E, K, C, own);
    case 3: return noise_functions(NULL, 3, A, Q, s, E, K, C, own);
    default: return noise_functions(context, d, A, Q, s, E, K, C, work);
    }
}
