/* Quadratic statistics of rows, tested by random signs.
 *
 * U = sum_{i != j} K_ij with K_ij = h_i.h_j, features of independent rows that have mean 0 when
 * nothing is wrong. Then e_i e_j K_ij with random signs e_i has nearly the distribution of U (the
 * wild bootstrap of a degenerate U-statistic: Dehling and Mikosch, 1994; Chwialkowski, Strathmann
 * and Gretton, ICML 2016). With K a kernel of two samples, the first and the second half of the
 * rows, and signs that are a random half +1, it is the permutation test of the maximum mean
 * discrepancy, which is exact (Gretton et al., 2012).
 *
 * FLIPS sets of signs give p by rank, (1 + #{>= U})/(1 + FLIPS). Where fewer than FEW of them reach
 * U, the rank says little, and p is the tail of Pearson's type III distribution, a shifted gamma
 * distribution of their mean, variance and skewness: sums of many squares with different weights
 * are near to it.
 *
 * LANES sets of signs go over the matrix together. A number to reproduce: K = 1 for all of n rows
 * has U = n (n - 1), the largest value that any signs have, so that p is its least. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "certify/certify_run.h"

#include <heatball/random.h>
#include <math.h>

enum { LANES = 8, BLOCKS = 125, FLIPS = LANES * BLOCKS, FEW = 10 };

typedef struct sign_run {
    hb_context *context;
    int halves;
    uint64_t seed, stream;
    size_t n;
    const double *K; // (n, n)
    double *values;  // (FLIPS)
    double *signs;   // (threads, n, LANES)
} sign_run;

/* A random half of the rows by a shuffle with n words. */
static void signs_shuffle_halves(size_t n, const uint32_t *words, double *signs)
{
    for (size_t i = 0; i < n; i++) signs[i * LANES] = i < n / 2 ? 1 : -1;
    for (size_t i = n - 1; i > 0; i--) {
        const size_t j = (size_t)(((uint64_t)words[i] * (i + 1)) >> 32);
        const double kept = signs[i * LANES];
        signs[i * LANES] = signs[j * LANES];
        signs[j * LANES] = kept;
    }
}

static hb_status signs_draw(const sign_run *run, hb_context *context, size_t block, double *signs)
{
    uint32_t *words;
    HB_TRY(HB_NEW(context, words, run->n));
    hb_status status = HB_OK;
    for (size_t l = 0; l < LANES && status == HB_OK; l++) {
        status = hb_random_words(context, run->seed, run->stream, (block * LANES + l) * run->n,
                                 run->n, words);
        if (status != HB_OK) break;
        if (run->halves)
            signs_shuffle_halves(run->n, words, signs + l);
        else
            for (size_t i = 0; i < run->n; i++) signs[i * LANES + l] = words[i] >> 31 ? 1 : -1;
    }
    hb_release(context, words);
    return status;
}

static hb_status signs_flip(void *user, size_t block, int thread)
{
    const sign_run *run = user;
    hb_context own = hb_context_child(run->context, 1);
    double *e = run->signs + (size_t)thread * run->n * LANES; // (n, LANES)
    HB_TRY(hb_context_adopt(run->context, &own, signs_draw(run, &own, block, e)));
    if (thread == 0) HB_TRY(hb_certify_listen(run->context));
    double total[LANES] = {0};
    for (size_t i = 1; i < run->n; i++) {
        const double *row = run->K + i * run->n;
        double sum[LANES] = {0};
        for (size_t j = 0; j < i; j++)
            for (size_t l = 0; l < LANES; l++) sum[l] += row[j] * e[j * LANES + l];
        for (size_t l = 0; l < LANES; l++) total[l] += 2 * sum[l] * e[i * LANES + l];
    }
    for (size_t l = 0; l < LANES; l++) run->values[block * LANES + l] = total[l];
    return HB_OK;
}

static double signs_statistic(int halves, size_t n, const double *K)
{
    double U = 0;
    for (size_t i = 1; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < i; j++)
            sum += halves && (i < n / 2) != (j < n / 2) ? -K[i * n + j] : K[i * n + j];
        U += 2 * sum;
    }
    return U;
}

/* Pearson's type III distribution of the mean, the deviation and the skewness of the signs'
 * values. */
static double signs_fitted_tail(const double *values, double mean, double deviation, double U)
{
    double skew = 0;
    for (size_t k = 0; k < FLIPS; k++) skew += pow((values[k] - mean) / deviation, 3) / FLIPS;
    const double z = (U - mean) / deviation;
    if (skew < 0.05) return hb_normal_tail(z);
    const double shape = 4 / (skew * skew);
    return hb_gamma_tail(shape, shape + z * sqrt(shape));
}

static void signs_conclude(double *values, double shift, hb_signs *out)
{
    double mean = 0, variance = 0;
    size_t reached = 0;
    const double U = out->U - shift;
    for (size_t k = 0; k < FLIPS; k++) {
        mean += values[k] / FLIPS;
        reached += values[k] >= U;
    }
    for (size_t k = 0; k < FLIPS; k++) variance += (values[k] - mean) * (values[k] - mean) / FLIPS;
    out->deviation = sqrt(variance);
    out->p_value = (1 + (double)reached) / (1 + (double)FLIPS);
    if (reached < FEW && out->deviation > 0)
        out->p_value = fmin(out->p_value * FEW, signs_fitted_tail(values, mean, out->deviation, U));
    hb_sort(FLIPS, values);
    out->upper = values[FLIPS * 95 / 100];
}

hb_status hb_signs_test(hb_context *context, int halves, uint64_t seed, uint64_t stream, size_t n,
                        const double *K, double shift, hb_signs *out)
{
    hb_workspace work;
    sign_run run = {
        .context = context, .halves = halves, .seed = seed, .stream = stream, .n = n, .K = K};
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(run.values, FLIPS),
                        HB_ARRAY(run.signs, (size_t)hb_context_threads(context) * n * LANES)));
    out->U = signs_statistic(halves, n, K);
    const hb_status status = hb_parallel_for(context, NULL, BLOCKS, signs_flip, &run);
    if (status == HB_OK) signs_conclude(run.values, shift, out);
    hb_workspace_destroy(&work);
    return status;
}
