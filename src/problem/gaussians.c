/* Sums of Gaussians: ln p(x) = ln sum_k w_k N(x; m_k, C_k) and its gradient.
 *
 * The terms e_k = ln w_k - |L_k^-1 (x - m_k)|^2/2 - ln det L_k - (d/2) ln 2 pi are added in one pass that
 * keeps the largest so far and rescales when a larger one comes (log-sum-exp), so that p may be far below
 * the smallest double. The gradient is the mean of C_k^-1 (m_k - x) under the weights e^{e_k}. Terms below
 * e^-60 of the largest are left out. C_k is diagonal, or full (Cholesky L, row by row) when there is one.
 * A number to reproduce: N(0, 1) at x = 2 has ln p = -2.9189385332046727, gradient -2. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

static const double NEGLIGIBLE = 60;

hb_status hb_gaussians_prepare(hb_context *context, int dim, const double *weights,
                               hb_gaussians *gaussians)
{
    const size_t d = (size_t)dim, n = gaussians->count;
    void *memory;
    HB_TRY(hb_allocate(context, 2 * n, sizeof(double), &memory));
    gaussians->log_weight = memory;
    gaussians->cumulative = gaussians->log_weight + n;
    double sum = 0;
    for (size_t k = 0; k < n; k++) gaussians->cumulative[k] = sum += weights ? weights[k] : 1;
    for (size_t k = 0; k < n; k++) {
        double log_volume = 0.5 * (double)d * log(2 * M_PI);
        for (size_t j = 0; j < d; j++)
            log_volume +=
                log(gaussians->cholesky ? gaussians->cholesky[j * d + j]
                                        : gaussians->sd[(gaussians->shared_sd ? 0 : k * d) + j]);
        gaussians->cumulative[k] /= sum;
        gaussians->log_weight[k] = log((weights ? weights[k] : 1) / sum) - log_volume;
    }
    return HB_OK;
}

/* The one with a full matrix: y = L^-1 (x - m), gradient = -L^-T y; y is kept in gradient. */
static void full_log_density(const hb_gaussians *g, size_t d, const double *x, double *log_density,
                             double *gradient)
{
    const double *L = g->cholesky;
    double *y = gradient, squares = 0;
    for (size_t i = 0; i < d; i++) {
        double rest = x[i] - g->mean[i];
        for (size_t j = 0; j < i; j++) rest -= L[i * d + j] * y[j];
        y[i] = rest / L[i * d + i];
        squares += y[i] * y[i];
    }
    *log_density = g->log_weight[0] - 0.5 * squares;
    for (size_t i = d; i-- > 0;) { // z = L^-T y, from the last row up, in place
        double rest = y[i];
        for (size_t j = i + 1; j < d; j++) rest -= L[j * d + i] * y[j];
        y[i] = rest / L[i * d + i];
    }
    for (size_t i = 0; i < d; i++) gradient[i] = -y[i];
}

static double exponent(const hb_gaussians *g, size_t d, size_t k, const double *x)
{
    const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
    double squares = 0;
    for (size_t j = 0; j < d; j++) {
        const double y = (x[j] - mean[j]) / sd[j];
        squares += y * y;
    }
    return g->log_weight[k] - 0.5 * squares;
}

static void add_slope(const hb_gaussians *g, size_t d, size_t k, const double *x, double weight,
                      double *gradient)
{
    const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
    for (size_t j = 0; j < d; j++) gradient[j] += weight * (mean[j] - x[j]) / (sd[j] * sd[j]);
}

void hb_gaussians_log_density(const hb_gaussians *g, int dim, const double *x, double *log_density,
                              double *gradient)
{
    const size_t d = (size_t)dim;
    if (g->cholesky) {
        full_log_density(g, d, x, log_density, gradient);
        return;
    }
    double largest = exponent(g, d, 0, x), sum = 0;
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t k = 0; k < g->count; k++) {
        const double e = exponent(g, d, k, x);
        if (e < largest - NEGLIGIBLE) continue;
        if (e > largest) {
            const double shrink = exp(largest - e);
            sum *= shrink;
            for (size_t j = 0; j < d; j++) gradient[j] *= shrink;
            largest = e;
        }
        const double weight = exp(e - largest);
        sum += weight;
        add_slope(g, d, k, x, weight, gradient);
    }
    *log_density = largest + log(sum);
    for (size_t j = 0; j < d; j++) gradient[j] /= sum;
}
