/* Sums of Gaussians: ln p(x) = ln sum_k w_k N(x; m_k, C_k) and its gradient.
 *
 * The terms e_k = ln w_k - |L_k^-1 (x - m_k)|^2/2 - ln det L_k - (d/2) ln 2 pi are added in one
 * pass that keeps the largest so far and rescales when a larger one comes (log-sum-exp), so that p
 * may be far below the smallest double. The gradient is the mean of C_k^-1 (m_k - x) under the
 * weights e^{e_k}. Terms below e^-60 of the largest are left out. C_k is diagonal, or full
 * (Cholesky L, row by row) when there is one. Draw i takes the component that number i of one
 * stream chooses, and d normals of another.
 * Numbers to reproduce: all but 1e-12 of the mass of N(0, s^2) is within 7.13 s; N(0, 1) at x =
 * 2 has ln p = -2.9189385332046727, gradient -2. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"
#include "random/choose.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

static const double NEGLIGIBLE = 60;

/* ---- made and destroyed --------------------------------------------------------------------- */

hb_status hb_gaussians_create(hb_context *context, hb_problem *problem, size_t count, int shared,
                              hb_gaussians **out)
{
    const size_t d = (size_t)problem->dim;
    HB_TRY(hb_initial_data(context, problem, sizeof **out, out));
    (*out)->count = count;
    (*out)->shared_sd = shared;
    HB_TRY(HB_NEW(context, (*out)->mean, count * d));
    return HB_NEW(context, (*out)->sd, shared ? d : count * d);
}

void hb_gaussians_destroy(hb_context *context, void *data)
{
    hb_gaussians *g = data;
    hb_release(context, g->log_weight);
    hb_release(context, g->mean);
    hb_release(context, g->sd);
    hb_release(context, g->cholesky);
    hb_release(context, g);
}

hb_status hb_gaussians_prepare(hb_context *context, int dim, const double *weights,
                               hb_gaussians *gaussians)
{
    const size_t d = (size_t)dim, n = gaussians->count;
    HB_TRY(HB_NEW(context, gaussians->log_weight, 2 * n));
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

double hb_gaussians_narrowest(const hb_problem *problem, int axis)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim, a = (size_t)axis;
    double least = INFINITY;
    for (size_t k = 0; k < g->count && !g->cholesky; k++) {
        const double weight = g->cumulative[k] - (k ? g->cumulative[k - 1] : 0);
        if (weight > 1e-14) least = fmin(least, g->sd[(g->shared_sd ? 0 : k * d) + a]);
    }
    return least;
}

/* The one with a full matrix: y = L^-1 (x - m), gradient = -L^-T y; y is kept in gradient. */
static void full_log_density(const hb_gaussians *g, size_t d, const double *x, double *log_density,
                             double *gradient)
{
    const double *L = g->cholesky;
    double *y = gradient;
    for (size_t i = 0; i < d; i++) y[i] = x[i] - g->mean[i];
    hb_solve_lower(d, L, 1, y);
    *log_density = g->log_weight[0] - 0.5 * hb_dot(d, y, y);
    hb_solve_upper(d, L, 1, y);
    for (size_t i = 0; i < d; i++) gradient[i] = -y[i];
}

static double gaussians_exponent(const hb_gaussians *g, size_t d, size_t k, const double *x)
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

void hb_gaussians_at(const hb_problem *problem, const double *x, double *log_density,
                     double *gradient)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    if (g->cholesky) {
        full_log_density(g, d, x, log_density, gradient);
        return;
    }
    double largest = gaussians_exponent(g, d, 0, x), sum = 0;
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t k = 0; k < g->count; k++) {
        const double e = gaussians_exponent(g, d, k, x);
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

/* ---- box and draws -------------------------------------------------------------------------- */

void hb_gaussians_box(const hb_problem *problem, double *low, double *high)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    const double reach = sqrt(53 + 2 * log((double)d)); // 7.28 on a line; all axes share 1e-12
    for (size_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
        double variance = 0; // of axis j under a full matrix
        for (size_t i = 0; g->cholesky && i <= j; i++)
            variance += g->cholesky[j * d + i] * g->cholesky[j * d + i];
        for (size_t k = 0; k < g->count; k++) {
            const double sd = g->cholesky ? sqrt(variance) : g->sd[(g->shared_sd ? 0 : k * d) + j];
            low[j] = fmin(low[j], g->mean[k * d + j] - reach * sd);
            high[j] = fmax(high[j], g->mean[k * d + j] + reach * sd);
        }
    }
}

hb_status hb_gaussians_choose(hb_context *context, const hb_gaussians *g, uint64_t seed,
                              uint64_t first, size_t n, size_t *component)
{
    double u[HB_CHOICE_BLOCK];
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_CHOICE, first, n, u));
    for (size_t i = 0; i < n; i++) component[i] = hb_random_choose(g->count, g->cumulative, u[i]);
    return HB_OK;
}

/* From normals z to mean + L z, in place: row i needs only z_0 .. z_i. */
static void gaussians_place(const hb_gaussians *g, size_t d, size_t k, double *z)
{
    const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
    for (size_t i = d; i-- > 0;) {
        double sum = 0;
        for (size_t j = 0; g->cholesky && j <= i; j++) sum += g->cholesky[i * d + j] * z[j];
        z[i] = mean[i] + (g->cholesky ? sum : sd[i] * z[i]);
    }
}

hb_status hb_gaussians_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                            uint64_t first, size_t n, double *x)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    size_t component[HB_CHOICE_BLOCK];
    HB_TRY(hb_random_normal(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t start = 0; start < n; start += HB_CHOICE_BLOCK) {
        const size_t count = n - start < HB_CHOICE_BLOCK ? n - start : HB_CHOICE_BLOCK;
        HB_TRY(hb_gaussians_choose(context, g, seed, first + start, count, component));
        for (size_t i = 0; i < count; i++) gaussians_place(g, d, component[i], x + (start + i) * d);
    }
    return HB_OK;
}
