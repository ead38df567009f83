/* base/linear_algebra.h: vectors and small matrices, row by row, and the functions of a matrix that
 * a linear drift leads to. Sums run from the first entry to the last, so that their bits are
 * known. */
#pragma once

#include <heatball/base.h>
#include <math.h>
#include <stddef.h>

static inline double hb_dot(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* |a - b|^2 */
static inline double hb_distance2(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static inline double hb_norm(size_t n, const double *a)
{
    return sqrt(hb_dot(n, a, a));
}

/* sum += factor a */
static inline void hb_axpy(size_t n, double factor, const double *a, double *sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += factor * a[i];
}

static inline int hb_all_finite(size_t n, const double *a)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a[i])) return 0;
    return 1;
}

/* The sum of the diagonal of a (d, d). */
static inline double hb_trace(size_t d, const double *a)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += a[i * d + i];
    return sum;
}

/* From the smallest to the largest; no NaN among them. */
void hb_sort(size_t n, double *values);
/* How many of values[n], in that order, are at most `at`: the index of the next one. */
int hb_sorted_until(int n, const double *values, double at);
int hb_by_value(const void *a, const void *b); /* its order, for bsearch */

/* out = factor a b, all (d, d); out is neither a nor b. */
void hb_matrix_multiply(size_t d, double factor, const double *a, const double *b, double *out);
/* The same, and then HB_ERROR_INTERRUPTED after a stop; context NULL: never. */
hb_status hb_matrix_product(hb_context *context, size_t d, double factor, const double *a,
                            const double *b, double *out);

void hb_matrix_transpose(size_t d, const double *a, double *out);
void hb_matrix_diagonal(size_t d, double value, double *out); /* value times the identity */

/* The largest sum of |a_ij| over a row of a (d, d). */
double hb_matrix_norm(size_t d, const double *a);

/* L^-1 B in the place of B (d, n), L (d, d) lower triangular, from the first row down. */
static inline void hb_solve_lower(size_t d, const double *L, size_t n, double *B)
{
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < n; k++) {
            for (size_t j = 0; j < i; j++) B[i * n + k] -= L[i * d + j] * B[j * n + k];
            B[i * n + k] /= L[i * d + i];
        }
}

/* L'^-1 B in the place of B, from the last row up. */
static inline void hb_solve_upper(size_t d, const double *L, size_t n, double *B)
{
    for (size_t i = d; i-- > 0;)
        for (size_t k = 0; k < n; k++) {
            for (size_t j = i + 1; j < d; j++) B[i * n + k] -= L[j * d + i] * B[j * n + k];
            B[i * n + k] /= L[i * d + i];
        }
}

/* out = L v */
static inline void hb_lower_multiply(size_t d, const double *L, const double *v, double *out)
{
    for (size_t i = 0; i < d; i++) out[i] = hb_dot(i + 1, L + i * d, v);
}

/* L' v in the place of v: row i needs v_i .. v_d. */
static inline void hb_lower_transposed_multiply(size_t d, const double *L, double *v)
{
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        for (size_t j = i; j < d; j++) sum += L[j * d + i] * v[j];
        v[i] = sum;
    }
}

/* A L in the place of A (d, d): column k needs the columns from k on. */
static inline void hb_multiply_lower(size_t d, const double *L, double *A)
{
    for (size_t i = 0; i < d; i++)
        for (size_t k = 0; k < d; k++) {
            double sum = 0;
            for (size_t j = k; j < d; j++) sum += A[i * d + j] * L[j * d + k];
            A[i * d + k] = sum;
        }
}

/* C = L L': L in the lower triangle of C's place; 0 when C (d, d) is not positive definite. */
int hb_cholesky(size_t d, double *C);
/* The same for a C that is positive or, but for rounding, semidefinite. */
int hb_cholesky_semidefinite(size_t d, double *C);

/* Doubles of work that hb_linear_functions needs. */
#define HB_LINEAR_WORK(d) (4 * (d) * (d))

/* E = e^(-As), K = int_0^s e^(-Av) dv, C = 2 int_0^s e^(-Av) e^(-A'v) dv; A, E, K, C are (d, d).
 * With s < 0 left out: pass -A for the functions of the forward flow. */
void hb_linear_functions(size_t d, const double *A, double s, double *E, double *K, double *C,
                         double *work);
/* The same with C = int_0^s e^(-Av) Q e^(-A'v) dv, Q (d, d) symmetric and of any rank; NULL: 2I. A
 * context hears a stop between products of more than 3 rows; NULL: none. */
hb_status hb_noise_functions(hb_context *context, size_t d, const double *A, const double *Q,
                             double s, double *E, double *K, double *C, double *work);
