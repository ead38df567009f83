/* A sum of Gaussians under a Gaussian: the last step of a backward walk without a draw.
 *
 * A Gaussian convolved with a Gaussian is a Gaussian:
 *     E_{x ~ N(m,C)}[ sum_k w_k N(x; mu_k, S_k) ] = sum_k w_k N(m; mu_k, S_k + C)
 * Gradients are by m. S_k + C is diagonal when both are; else it is factored for each k (once when
 * all S_k are equal). Terms are added as in gaussians.c, relative to the largest so far. Forward, a
 * sum of Gaussians after x -> G x + p + N(0, D) is sum_k w_k N(x; G mu_k + p, G S_k G' + D).
 * A number to reproduce: N(0,1) under N(0,1) is N(0; 0, 2) = 0.28209479177387814. */
#include "base/linear_algebra.h"
#include "problem/initial/initial_ops.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

static const double NEGLIGIBLE = 60;

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

static int full_average(const hb_gaussians *g, size_t d, const hb_gaussian *gaussian, double *work,
                        log_sum *total, double *slope)
{
    double *L = work, *y = work + d * d, log_volume = 0; // (d, d), (d)
    const int shared = g->cholesky || g->shared_sd;
    const lapack_int n = (lapack_int)d;
    for (size_t k = 0; k < g->count; k++) {
        if (k == 0 || !shared) {
            if (!factor_sum(g, d, k, gaussian, L)) return 0;
            log_volume = (double)d * log(2 * M_PI);
            for (size_t j = 0; j < d; j++) log_volume += 2 * log(L[j * d + j]);
        }
        double squares = 0;
        for (size_t j = 0; j < d; j++) y[j] = g->mean[k * d + j] - gaussian->mean[j];
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, L, n, y, n);
        for (size_t j = 0; j < d; j++) squares += y[j] * (g->mean[k * d + j] - gaussian->mean[j]);
        const double weight =
            next_weight(total, gaussians_log_weight(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * y[j];
    }
    return 1;
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
        fine = full_average(g, d, gaussian, work, &total, gradient);
    *log_value = fine ? total.largest + log(total.sum) : NAN;
    for (size_t j = 0; j < d; j++) gradient[j] /= total.sum;
}

/* ---- the same, moved forward ---------------------------------------------------------------- */

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

static int moved_sum(const hb_gaussians *g, size_t d, const double *G, const double *shift,
                     const double *D, const double *x, double *work, log_sum *total, double *slope)
{
    double *L = work, *root = L + d * d, *gap = root + d * d, *y = gap + d, log_volume = 0;
    const int shared = g->cholesky || g->shared_sd;
    const lapack_int n = (lapack_int)d;
    for (size_t k = 0; k < g->count; k++) {
        if (k == 0 || !shared) {
            if (!factor_moved(g, d, k, G, D, root, L)) return 0;
            log_volume = (double)d * log(2 * M_PI);
            for (size_t j = 0; j < d; j++) log_volume += 2 * log(L[j * d + j]);
        }
        double squares = 0;
        for (size_t i = 0; i < d; i++) {
            gap[i] = shift[i] - x[i];
            for (size_t j = 0; j < d; j++) gap[i] += G[i * d + j] * g->mean[k * d + j];
            y[i] = gap[i];
        }
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, L, n, y, n);
        for (size_t j = 0; j < d; j++) squares += y[j] * gap[j];
        const double weight =
            next_weight(total, gaussians_log_weight(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * y[j];
    }
    return 1;
}

void hb_gaussians_moved(const hb_problem *problem, const double *G, const double *shift,
                        const double *D, const double *x, double *work, double *log_value,
                        double *gradient)
{
    const size_t d = (size_t)problem->dim;
    log_sum total = {-INFINITY, 0};
    memset(gradient, 0, d * sizeof *gradient);
    const int fine = moved_sum(problem->initial.data, d, G, shift, D, x, work, &total, gradient);
    *log_value = fine ? total.largest + log(total.sum) : NAN;
    for (size_t j = 0; j < d; j++) gradient[j] /= total.sum;
}
