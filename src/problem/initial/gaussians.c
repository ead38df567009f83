/* Sums of Gaussians: ln p(x) = ln sum_k w_k N(x; m_k, S_k), its gradient, and means under
 * Gaussians.
 *
 * The terms e_k = ln w_k - |L_k^-1 (x - m_k)|^2/2 - ln det L_k - (d/2) ln 2 pi are added in one
 * pass that rescales when a larger one comes (log-sum-exp), so that p may be far below the smallest
 * double. The gradient is the mean of S_k^-1 (m_k - x) under the weights e^{e_k}; terms below e^-60
 * are left out. S_k is diagonal, or full (Cholesky L, row by row) when there is one. Closed forms:
 *     E_{x ~ N(m,C)} p(x) = sum_k w_k N(m; m_k, S_k + C);   gradients are by m
 *     after x -> G x + c + N(0, D):  sum_k w_k N(x; G m_k + c, G S_k G' + D)
 * Draw i takes the component that number i of one stream chooses, and d normals of another.
 * Numbers to reproduce: N(0, 1) at x = 2 has ln p = -2.9189385332046727, gradient -2; N(0, 1)
 * under N(0, 1) is N(0; 0, 2) = 0.28209479177387814. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"
#include "random/choose.h"

#include <heatball/random.h>
#include <lapacke.h>
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

/* ln of the sum so far is largest + ln sum; the slope is a sum under the same weights. */
typedef struct log_sum {
    double largest, sum;
} log_sum;

/* The weight of a term e^exponent relative to the largest, which may change; 0: negligible. */
static double next_weight(log_sum *total, double exponent, size_t d, double *slope)
{
    if (exponent < total->largest - NEGLIGIBLE) return 0;
    if (exponent > total->largest) {
        const double shrink = exp(total->largest - exponent);
        total->sum *= shrink;
        for (size_t j = 0; j < d; j++) slope[j] *= shrink;
        total->largest = exponent;
    }
    const double weight = exp(exponent - total->largest);
    total->sum += weight;
    return weight;
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
    log_sum total = {-INFINITY, 0};
    memset(gradient, 0, d * sizeof *gradient);
    for (size_t k = 0; k < g->count; k++) {
        const double weight = next_weight(&total, gaussians_exponent(g, d, k, x), d, gradient);
        if (weight > 0) add_slope(g, d, k, x, weight, gradient);
    }
    *log_density = total.largest + log(total.sum);
    for (size_t j = 0; j < d; j++) gradient[j] /= total.sum;
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

/* ---- under a Gaussian, and moved forward ---- */

/* ln w_k: hb_gaussians keeps it with the volume of S_k, which is taken off here. */
static double gaussians_log_weight(const hb_gaussians *g, size_t k)
{
    return log(g->cumulative[k] - (k > 0 ? g->cumulative[k - 1] : 0));
}

static void diagonal_average(const hb_gaussians *g, size_t d, const hb_gaussian *gaussian,
                             double *work, log_sum *total, double *slope)
{
    for (size_t k = 0; k < g->count; k++) {
        const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
        double squares = 0, volume = 1, log_volume = 0;
        for (size_t j = 0; j < d; j++) {
            const double variance = gaussian->variance[j] + sd[j] * sd[j],
                         gap = mean[j] - gaussian->mean[j];
            work[j] = gap / variance;
            squares += gap * work[j];
            volume *= 2 * M_PI * variance;
            if (volume > 1e100 || volume < 1e-100 || j + 1 == d) {
                log_volume += log(volume);
                volume = 1;
            }
        }
        const double weight =
            next_weight(total, gaussians_log_weight(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * work[j];
    }
}

/* S_k + C, factored in its lower triangle; 0 when it is not positive definite. */
static int factor_sum(const hb_gaussians *g, size_t d, size_t k, const hb_gaussian *gaussian,
                      double *sum)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double entry = gaussian->covariance ? gaussian->covariance[i * d + j]
                           : i == j             ? gaussian->variance[i]
                                                : 0;
            for (size_t l = 0; g->cholesky && l <= j; l++)
                entry += g->cholesky[i * d + l] * g->cholesky[j * d + l];
            if (!g->cholesky && i == j) {
                const double sd = g->sd[(g->shared_sd ? 0 : k * d) + j];
                entry += sd * sd;
            }
            sum[i * d + j] = entry;
        }
    for (size_t i = 0; i < d * d; i++)
        if (i % d <= i / d && !isfinite(sum[i])) return 0;
    const lapack_int n = (lapack_int)d;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, sum, n) == 0;
}

/* G S_k G' + D, factored in its lower triangle; 0: not positive definite. root: (d, d). */
static int factor_moved(const hb_gaussians *g, size_t d, size_t k, const double *G, const double *D,
                        double *root, double *sum)
{
    for (size_t i = 0; i < d; i++) { // G times the root of S_k, column by column
        double *row = sum;
        memset(row, 0, d * sizeof *row);
        for (size_t j = 0; !g->cholesky && j < d; j++)
            row[j] = G[i * d + j] * g->sd[(g->shared_sd ? 0 : k * d) + j];
        for (size_t l = 0; g->cholesky && l < d; l++)
            hb_axpy(l + 1, G[i * d + l], g->cholesky + l * d, row);
        for (size_t j = 0; j < d; j++) root[j * d + i] = row[j];
    }
    for (size_t i = 0; i < d; i++) {
        memcpy(sum + i * d, D + i * d, (i + 1) * sizeof *sum);
        for (size_t l = 0; l < d; l++) hb_axpy(i + 1, root[l * d + i], root + l * d, sum + i * d);
        if (!hb_all_finite(i + 1, sum + i * d)) return 0;
    }
    const lapack_int n = (lapack_int)d;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, sum, n) == 0;
}

/* What is asked for: the mean under a Gaussian, or, with G, the density at x after G x + shift +
 * N(0, D). */
typedef struct convolution {
    const hb_gaussian *gaussian;
    const double *G, *shift, *D, *x;
} convolution;

/* work: (3 d + 1, d), and (d, d) more with G. 0: a covariance is not positive definite. */
static int convolve(const hb_gaussians *g, size_t d, const convolution *c, double *work,
                    log_sum *total, double *slope)
{
    double *L = work, *gap = L + d * d, *y = gap + d, *root = y + d, log_volume = 0;
    const int shared = g->cholesky || g->shared_sd;
    const lapack_int n = (lapack_int)d;
    for (size_t k = 0; k < g->count; k++) {
        const double *mean = g->mean + k * d;
        if (k == 0 || !shared) {
            if (!(c->G ? factor_moved(g, d, k, c->G, c->D, root, L)
                       : factor_sum(g, d, k, c->gaussian, L)))
                return 0;
            log_volume = (double)d * log(2 * M_PI);
            for (size_t j = 0; j < d; j++) log_volume += 2 * log(L[j * d + j]);
        }
        for (size_t i = 0; i < d; i++) {
            gap[i] = c->G ? c->shift[i] - c->x[i] : mean[i] - c->gaussian->mean[i];
            for (size_t j = 0; c->G && j < d; j++) gap[i] += c->G[i * d + j] * mean[j];
            y[i] = gap[i];
        }
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, L, n, y, n);
        const double exponent = gaussians_log_weight(g, k) - 0.5 * (hb_dot(d, y, gap) + log_volume);
        const double weight = next_weight(total, exponent, d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * y[j];
    }
    return 1;
}

static void finish_sum(size_t d, int fine, const log_sum *total, double *log_value,
                       double *gradient)
{
    *log_value = fine ? total->largest + log(total->sum) : NAN;
    for (size_t j = 0; j < d; j++) gradient[j] /= total->sum;
}

void hb_gaussians_average(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                          double *log_value, double *gradient)
{
    const hb_gaussians *g = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    log_sum total = {-INFINITY, 0};
    int fine = 1;
    memset(gradient, 0, d * sizeof *gradient);
    if (gaussian->variance && !g->cholesky)
        diagonal_average(g, d, gaussian, work, &total, gradient);
    else
        fine = convolve(g, d, &(convolution){.gaussian = gaussian}, work, &total, gradient);
    finish_sum(d, fine, &total, log_value, gradient);
}

void hb_gaussians_moved(const hb_problem *problem, const double *G, const double *shift,
                        const double *D, const double *x, double *work, double *log_value,
                        double *gradient)
{
    const size_t d = (size_t)problem->dim;
    const convolution moved = {.G = G, .shift = shift, .D = D, .x = x};
    log_sum total = {-INFINITY, 0};
    memset(gradient, 0, d * sizeof *gradient);
    const int fine = convolve(problem->initial.data, d, &moved, work, &total, gradient);
    finish_sum(d, fine, &total, log_value, gradient);
}
