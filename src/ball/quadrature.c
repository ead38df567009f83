/* Gauss rules for the Gamma and Beta distributions.
 *
 * The polynomials p_k orthonormal under a distribution obey x p_k = b_{k+1} p_{k+1} + a_k p_k + b_k
 * p_{k-1}. The nodes of the n-point Gauss rule are the eigenvalues of the symmetric tridiagonal
 * matrix with diagonal a_0 .. a_{n-1} and off-diagonal b_1 .. b_{n-1}; the weights are the squares
 * of the first components of its normalised eigenvectors (G. H. Golub, J. H. Welsch, Calculation of
 * Gauss quadrature rules, Math. Comp. 23, 1969). LAPACK's dsteqr finds both.
 *     Gamma(shape, 1):  a_k = 2k + shape,  b_k^2 = k (k - 1 + shape)             (Laguerre)
 *     Beta(a, b):       Jacobi's with alpha = b-1, beta = a-1, carried from [-1,1] to [0,1]
 * A number to reproduce: the 2-point rule of Gamma(1, 1) has nodes 2 -+ sqrt(2), weights
 * (2 +- sqrt(2))/4. */
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/memory.h"

#include <lapacke.h>
#include <math.h>

/* From the matrix (diagonal in nodes, off-diagonal) to nodes and weights. */
static hb_status golub_welsch(hb_context *context, int n, double *nodes, double *off,
                              double *weights)
{
    double *vectors; // (n, n), one eigenvector a column
    HB_TRY(HB_NEW(context, vectors, (size_t)n * (size_t)n));
    const lapack_int info = LAPACKE_dsteqr(LAPACK_COL_MAJOR, 'I', n, nodes, off, vectors, n);
    double sum = 0; // 1 but for rounding
    for (int j = 0; j < n && info == 0; j++) {
        const double first = vectors[(size_t)j * (size_t)n];
        sum += weights[j] = first * first;
    }
    for (int j = 0; j < n && info == 0; j++) weights[j] /= sum;
    hb_release(context, vectors);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL,
             "the %d nodes of a Gauss rule were not found (LAPACK dsteqr returned %d)", n,
             (int)info);
    return HB_OK;
}

static hb_status check_count(hb_context *context, int n)
{
    HB_CHECK(context, n >= 1 && n <= HB_QUADRATURE_MAX, HB_ERROR_ARGUMENT,
             "a Gauss rule of %d nodes is wanted; it must be 1 to %d", n, HB_QUADRATURE_MAX);
    return HB_OK;
}

hb_status hb_quadrature_gamma(hb_context *context, double shape, double rate, int n, double *nodes,
                              double *weights)
{
    HB_TRY(check_count(context, n));
    double off[HB_QUADRATURE_MAX]; // (n-1)
    for (int k = 0; k < n; k++) {
        nodes[k] = 2 * k + shape;
        off[k] = sqrt((k + 1) * (k + shape));
    }
    HB_TRY(golub_welsch(context, n, nodes, off, weights));
    for (int k = 0; k < n; k++) nodes[k] /= rate;
    return HB_OK;
}

/* b_k^2 of Jacobi's polynomials on [-1,1], sum = alpha + beta; k = 1 apart, where sum = -1 is 0/0.
 */
static double jacobi_off_squared(int k, double alpha, double beta)
{
    const double sum = alpha + beta, m = 2 * k + sum;
    if (k == 1) return 4 * (1 + alpha) * (1 + beta) / ((2 + sum) * (2 + sum) * (3 + sum));
    return 4 * k * (k + alpha) * (k + beta) * (k + sum) / (m * m * (m + 1) * (m - 1));
}

hb_status hb_quadrature_beta(hb_context *context, double a, double b, int n, double *nodes,
                             double *weights)
{
    HB_TRY(check_count(context, n));
    double off[HB_QUADRATURE_MAX]; // (n-1)
    for (int k = 0; k < n; k++) {
        /* (1 + a_k)/2, with a_k = (beta^2 - alpha^2)/(m (m+2)), free of cancellation */
        const double m = 2 * k + a + b - 2;
        nodes[k] =
            k == 0 ? a / (a + b) : (2 * k * (k + a + b - 1) + a * (a + b - 2)) / (m * (m + 2));
        off[k] = 0.5 * sqrt(jacobi_off_squared(k + 1, b - 1, a - 1));
    }
    return golub_welsch(context, n, nodes, off, weights);
}

void hb_collocation(int n, const double *node, const double *weight, int ahead, double *out)
{
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            const double from = ahead ? node[j] : 0, length = ahead ? 1 - node[j] : node[j];
            double sum = 0;
            for (int q = 0; q < n; q++) {
                double value = length * weight[q];
                const double at = from + length * node[q];
                for (int l = 0; l < n; l++)
                    if (l != k) value *= (at - node[l]) / (node[k] - node[l]);
                sum += value;
            }
            out[j * n + k] = sum;
        }
}
