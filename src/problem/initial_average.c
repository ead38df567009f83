/* The mean of an initial density under a Gaussian: the last step of a backward walk without a draw.
 *
 * A Gaussian convolved with a Gaussian is a Gaussian:
 *     E_{x ~ N(m,C)}[ sum_k w_k N(x; mu_k, S_k) ] = sum_k w_k N(m; mu_k, S_k + C)
 * and for the uniform density on a box, with C diagonal, c_j its roots,
 *     E = prod_j [ P((high_j - m_j)/c_j) - P((low_j - m_j)/c_j) ]/(high_j - low_j),     P the
 *         normal law,
 * written with erfc on the side where both arguments have one sign, so that no digits are lost far
 * from the box. Gradients are by m. S_k + C is diagonal when both are; else it is factored for each
 * k (once when all S_k are equal). Terms are added as in gaussians.c, relative to the largest so
 * far. A box that is narrow against c is averaged by Gauss's rule: a difference of two values of erfc would
 * lose the digits.
 * Forward, a sum of Gaussians after x -> G x + p + N(0, D) is sum_k w_k N(x; G mu_k + p, G S_k G' + D).
 * A number to reproduce: N(0,1) under N(0,1) is N(0; 0, 2) = 0.28209479177387814. */
#include "problem/initial_average.h"
#include "problem/problem_parts.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

static const double NEGLIGIBLE = 60;
static const double NARROW = 0.5; /* a box, in deviations */

int hb_initial_average_is_closed(const hb_problem *problem, int diagonal)
{
    const hb_initial *initial = &problem->initial;
    return initial->gaussians.count > 0 || (initial->kind == HB_INITIAL_UNIFORM && diagonal);
}

size_t hb_initial_average_work(const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim;
    return d * d + d;
}

/* ---- sums of Gaussians ---------------------------------------------------------------------- */

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
static double log_share(const hb_gaussians *g, size_t k)
{
    return log(g->cumulative[k] - (k > 0 ? g->cumulative[k - 1] : 0));
}

static void diagonal_average(const hb_gaussians *g, size_t d, const hb_bell *bell, double *work,
                             log_sum *total, double *slope)
{
    for (size_t k = 0; k < g->count; k++) {
        const double *mean = g->mean + k * d, *sd = g->sd + (g->shared_sd ? 0 : k * d);
        double squares = 0, volume = 1, log_volume = 0;
        for (size_t j = 0; j < d; j++) {
            const double variance = bell->variance[j] + sd[j] * sd[j],
                         gap = mean[j] - bell->mean[j];
            work[j] = gap / variance;
            squares += gap * work[j];
            volume *= 2 * M_PI * variance;
            if (volume > 1e100 || volume < 1e-100 || j + 1 == d) {
                log_volume += log(volume);
                volume = 1;
            }
        }
        const double weight =
            next_weight(total, log_share(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * work[j];
    }
}

/* S_k + C, lower triangle, and its Cholesky factor in its place; 0 when it is not positive
 * definite. */
static int factor_sum(const hb_gaussians *g, size_t d, size_t k, const hb_bell *bell, double *sum)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double entry = bell->covariance ? bell->covariance[i * d + j]
                           : i == j         ? bell->variance[i]
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
        if (!isfinite(sum[i]) && i % d <= i / d) return 0;
    const lapack_int n = (lapack_int)d;
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, sum, n) == 0;
}

static int full_average(const hb_gaussians *g, size_t d, const hb_bell *bell, double *work,
                        log_sum *total, double *slope)
{
    double *L = work, *y = work + d * d, log_volume = 0; // (d, d), (d)
    const int shared = g->cholesky || g->shared_sd;
    const lapack_int n = (lapack_int)d;
    for (size_t k = 0; k < g->count; k++) {
        if (k == 0 || !shared) {
            if (!factor_sum(g, d, k, bell, L)) return 0;
            log_volume = (double)d * log(2 * M_PI);
            for (size_t j = 0; j < d; j++) log_volume += 2 * log(L[j * d + j]);
        }
        double squares = 0;
        for (size_t j = 0; j < d; j++) y[j] = g->mean[k * d + j] - bell->mean[j];
        LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'U', n, 1, L, n, y, n);
        for (size_t j = 0; j < d; j++) squares += y[j] * (g->mean[k * d + j] - bell->mean[j]);
        const double weight =
            next_weight(total, log_share(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * y[j];
    }
    return 1;
}

static void gaussians_average(const hb_gaussians *g, size_t d, const hb_bell *bell, double *work,
                              double *log_value, double *gradient)
{
    log_sum total = {-INFINITY, 0};
    int fine = 1;
    memset(gradient, 0, d * sizeof *gradient);
    if (bell->variance && !g->cholesky)
        diagonal_average(g, d, bell, work, &total, gradient);
    else
        fine = full_average(g, d, bell, work, &total, gradient);
    *log_value = fine ? total.largest + log(total.sum) : NAN;
    for (size_t j = 0; j < d; j++) gradient[j] /= total.sum;
}

/* ---- the same, moved forward ---------------------------------------------------------------- */

int hb_initial_moves(const hb_problem *problem)
{
    return problem->initial.gaussians.count > 0;
}

size_t hb_initial_moved_work(const hb_problem *problem)
{
    const size_t d = (size_t)problem->dim;
    return 2 * d * d + 2 * d;
}

/* The lower triangle of G S_k G' + D, factored; 0 when it is not positive definite. root: (d, d). */
static int factor_moved(const hb_gaussians *g, size_t d, size_t k, const double *G, const double *D,
                        double *root, double *sum)
{
    for (size_t i = 0; i < d; i++) // G times the root of S_k
        for (size_t j = 0; j < d; j++) {
            double entry = 0;
            if (!g->cholesky) entry = G[i * d + j] * g->sd[(g->shared_sd ? 0 : k * d) + j];
            for (size_t l = j; g->cholesky && l < d; l++)
                entry += G[i * d + l] * g->cholesky[l * d + j];
            root[i * d + j] = entry;
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double entry = D[i * d + j];
            for (size_t l = 0; l < d; l++) entry += root[i * d + l] * root[j * d + l];
            if (!isfinite(entry)) return 0;
            sum[i * d + j] = entry;
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
            next_weight(total, log_share(g, k) - 0.5 * (squares + log_volume), d, slope);
        for (size_t j = 0; weight > 0 && j < d; j++) slope[j] += weight * y[j];
    }
    return 1;
}

void hb_initial_moved(const hb_problem *problem, const double *G, const double *shift,
                      const double *D, const double *x, double *work, double *log_value,
                      double *gradient)
{
    const size_t d = (size_t)problem->dim;
    log_sum total = {-INFINITY, 0};
    memset(gradient, 0, d * sizeof *gradient);
    const int fine =
        moved_sum(&problem->initial.gaussians, d, G, shift, D, x, work, &total, gradient);
    *log_value = fine ? total.largest + log(total.sum) : NAN;
    for (size_t j = 0; j < d; j++) gradient[j] /= total.sum;
}

/* ---- uniform -------------------------------------------------------------------------------- */

/* The same by Gauss's rule with eight nodes, for narrow intervals: e^{-m^2/2}, m the middle,
 * is taken out, and the width comes from the caller, since b - a has lost it. */
static double log_narrow(double a, double b, double width, double *slope)
{
    static const double node[4] = {0.18343464249564981, 0.52553240991632899, 0.79666647741362674,
                                   0.96028985649753623},
                        weight[4] = {0.36268378337836198, 0.31370664587788729, 0.22238103445337447,
                                     0.10122853629037626};
    const double middle = 0.5 * (a + b), half = 0.5 * width;
    double sum = 0, first = 0;
    for (int k = 0; k < 8; k++) {
        const double y = (k % 2 ? -half : half) * node[k / 2];
        const double term = 0.5 * weight[k / 2] * exp(-y * (middle + 0.5 * y));
        sum += term;
        first += term * y;
    }
    *slope = middle + first / sum;
    return log(2 * half * sum) - 0.5 * (middle * middle + log(2 * M_PI));
}

/* ln[P(b) - P(a)] for a < b, and its derivatives by a common shift -1 of both: phi(a) - phi(b) over
 * it. */
static double log_interval(double a, double b, double width, double *slope)
{
    if (width * fmax(1, fmax(fabs(a), fabs(b))) < NARROW) return log_narrow(a, b, width, slope);
    if (a + b < 0) { // the mirror image: on the right erfc is small and exact
        const double mirrored = log_interval(-b, -a, width, slope);
        *slope = -*slope;
        return mirrored;
    }
    const double root = sqrt(0.5), mass = 0.5 * (erfc(a * root) - erfc(b * root));
    const double density = sqrt(0.5 / M_PI);
    *slope = mass > 0 ? density * (exp(-0.5 * a * a) - exp(-0.5 * b * b)) / mass : 0;
    return log(mass);
}

static void uniform_average(const hb_initial *initial, size_t d, const hb_bell *bell,
                            double *log_value, double *gradient)
{
    *log_value = 0;
    for (size_t j = 0; j < d; j++) {
        const double sd = sqrt(bell->variance[j]), low = initial->low[j], high = initial->high[j];
        *log_value += log_interval((low - bell->mean[j]) / sd, (high - bell->mean[j]) / sd,
                                   (high - low) / sd, gradient + j) -
                      log(high - low);
        gradient[j] /= sd;
    }
    if (*log_value == -INFINITY) memset(gradient, 0, d * sizeof *gradient);
}

void hb_initial_average(const hb_problem *problem, const hb_bell *bell, double *work,
                        double *log_value, double *gradient)
{
    const size_t d = (size_t)problem->dim;
    if (problem->initial.gaussians.count > 0)
        gaussians_average(&problem->initial.gaussians, d, bell, work, log_value, gradient);
    else
        uniform_average(&problem->initial, d, bell, log_value, gradient);
}
