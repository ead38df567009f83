/* The draws of one dimension: M runs of N from kappa, and M runs of N from the uniform proposal.
 *
 * Direct: draws 0 .. MN-1 of hb_ball_sample (run k is draws kN .. kN+N-1), the same as `heatball
 * sample --measure kappa --dim D --seed S -n 160000`. Uniform on the cylinder {|z| <= R_max} x (0,
 * 1/(4 pi)): the first d coordinates of a uniform point of the sphere in d+2 dimensions are uniform
 * in the ball (Archimedes), so z = R_max g[1..d]/|g| with d+2 normals, and sigma = U/(4 pi).
 *
 * Only |z|^2 and sigma enter the statistics; coordinates are held CHUNK doubles at a time. */
#include "sampler.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 21 };

/* Streams of the uniform proposal, one pair per dimension. */
#define NORMAL_STREAM(dim) ((uint64_t)(dim) << 8 | 1)
#define UNIFORM_STREAM(dim) ((uint64_t)(dim) << 8 | 2)

typedef struct sampler_draws {
    double *z2, *sigma; // (SAMPLER_DRAWS): |z|^2 and sigma
    double *rows;       // (CHUNK / (dim+2), dim+2) at most
    size_t chunk_rows;
} sampler_draws;

static double sum_of_squares(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

static hb_status draw_direct(hb_context *context, int dim, uint64_t seed, sampler_draws *draws)
{
    for (size_t first = 0; first < SAMPLER_DRAWS; first += draws->chunk_rows) {
        const size_t left = SAMPLER_DRAWS - first;
        const size_t n = left < draws->chunk_rows ? left : draws->chunk_rows;
        HB_TRY(hb_ball_sample(context, HB_MEASURE_KAPPA, dim, 0, seed, first, n, 1.0, draws->rows,
                              draws->sigma + first));
        for (size_t i = 0; i < n; i++)
            draws->z2[first + i] = sum_of_squares(draws->rows + i * (size_t)dim, dim);
    }
    return HB_OK;
}

static hb_status draw_uniform(hb_context *context, const hb_ball_constants *ball, uint64_t seed,
                              sampler_draws *draws)
{
    const int dim = ball->dim;
    const size_t width = (size_t)dim + 2;
    HB_TRY(hb_random_uniform(context, seed, UNIFORM_STREAM(dim), 0, SAMPLER_DRAWS, draws->sigma));
    for (size_t i = 0; i < SAMPLER_DRAWS; i++) draws->sigma[i] /= 4 * M_PI;
    for (size_t first = 0; first < SAMPLER_DRAWS; first += draws->chunk_rows) {
        const size_t left = SAMPLER_DRAWS - first;
        const size_t n = left < draws->chunk_rows ? left : draws->chunk_rows;
        HB_TRY(hb_random_normal(context, seed, NORMAL_STREAM(dim), first * width, n * width,
                                draws->rows));
        for (size_t i = 0; i < n; i++) {
            const double *g = draws->rows + i * width;
            const double inner = sum_of_squares(g, dim);
            const double total = inner + g[dim] * g[dim] + g[dim + 1] * g[dim + 1];
            draws->z2[first + i] = ball->r_max * ball->r_max * inner / total;
        }
    }
    return HB_OK;
}

/* ---- statistics over the runs ---- */

static double variance_of(const double *x, int n)
{
    const double mean = hb_study_mean((size_t)n, x);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum / (n - 1);
}

/* Standard error of variance_of by leaving each value out in turn. */
static double jackknife_of_variance(const double *x, int n)
{
    double rest[SAMPLER_M], without[SAMPLER_M];
    for (int i = 0; i < n; i++) {
        for (int j = 0, k = 0; j < n; j++)
            if (j != i) rest[k++] = x[j];
        without[i] = variance_of(rest, n - 1);
    }
    return sqrt((n - 1.0) * (n - 1.0) / n * variance_of(without, n));
}

/* A measured variance over the M runs against the exact one: its standard error is
 * variance sqrt(2/(M-1) + excess/M), excess = excess kurtosis of a run mean. Where that excess is
 * above 1 the error is far from normal, and no z is given. */
static double variance_z(double measured, double exact, double excess)
{
    if (!(excess <= 1)) return NAN;
    return (measured / exact - 1) / sqrt(2.0 / (SAMPLER_M - 1) + excess / SAMPLER_M);
}

static void measure_direct(const sampler_draws *draws, hb_sampler_row *row)
{
    const double d = row->dim, exact = 2 * (d + 2) / SAMPLER_N;
    double means[SAMPLER_M], f[SAMPLER_N];
    for (int run = 0; run < SAMPLER_M; run++) {
        const size_t first = (size_t)run * SAMPLER_N;
        for (int i = 0; i < SAMPLER_N; i++)
            f[i] = draws->z2[first + (size_t)i] / (2 * draws->sigma[first + (size_t)i]);
        means[run] = hb_study_mean(SAMPLER_N, f);
    }
    row->direct_mean = hb_study_mean(SAMPLER_M, means);
    row->direct_mean_z = (row->direct_mean - (d + 2)) / sqrt(exact / SAMPLER_M);
    row->direct_variance = variance_of(means, SAMPLER_M);
    row->direct_variance_se = jackknife_of_variance(means, SAMPLER_M);
    row->direct_variance_exact = exact;
    row->direct_variance_z = variance_z(row->direct_variance, exact,
                                        12 / (d + 2) / SAMPLER_N); /* chi^2(d+2): 12/(d+2) */
    row->direct_ess = SAMPLER_N;
}

typedef struct uniform_runs {
    double means[SAMPLER_M], ess[SAMPLER_M];
    int inside;
} uniform_runs;

/* One run of the weighted estimator: w = |S| |z|^2/(4 sigma^2) inside the ball, 0 outside. */
static void weigh_run(const hb_ball_constants *ball, const double *z2, const double *sigma, int run,
                      uniform_runs *out)
{
    double weighted = 0, sum = 0, squares = 0;
    for (int i = 0; i < SAMPLER_N; i++) {
        if (!hb_ball_contains(ball->dim, 1.0, z2[i], sigma[i])) continue;
        const double w = ball->cylinder_volume * z2[i] / (4 * sigma[i] * sigma[i]);
        weighted += w * z2[i] / (2 * sigma[i]);
        sum += w;
        squares += w * w;
        out->inside++;
    }
    out->means[run] = weighted / SAMPLER_N;
    out->ess[run] = squares > 0 ? sum * sum / squares : 0;
}

static void measure_uniform(const hb_ball_constants *ball, const sampler_draws *draws,
                            hb_sampler_row *row)
{
    uniform_runs runs = {.inside = 0};
    for (int run = 0; run < SAMPLER_M; run++) {
        const size_t first = (size_t)run * SAMPLER_N;
        weigh_run(ball, draws->z2 + first, draws->sigma + first, run, &runs);
    }
    const double exact = hb_sampler_uniform_variance(ball) / SAMPLER_N;
    const double excess = hb_sampler_uniform_excess(ball) / SAMPLER_N;
    row->uniform_mean = hb_study_mean(SAMPLER_M, runs.means);
    row->uniform_mean_z = (row->uniform_mean - (row->dim + 2)) / sqrt(exact / SAMPLER_M);
    row->uniform_variance = variance_of(runs.means, SAMPLER_M);
    row->uniform_variance_se = jackknife_of_variance(runs.means, SAMPLER_M);
    row->uniform_variance_exact = exact;
    row->uniform_variance_z = variance_z(row->uniform_variance, exact, excess);
    row->one_plus_chi2 = ball->one_plus_chi2;
    row->uniform_ess = hb_study_mean(SAMPLER_M, runs.ess);
    row->uniform_ess_se = sqrt(variance_of(runs.ess, SAMPLER_M) / SAMPLER_M);
    row->uniform_ess_exact = SAMPLER_N / ball->one_plus_chi2;
    row->uniform_ess_expected =
        excess <= 1 ? row->uniform_ess_exact * (1 + hb_sampler_ess_bias(ball, SAMPLER_N)) : NAN;
    row->uniform_ess_z = (row->uniform_ess - row->uniform_ess_expected) / row->uniform_ess_se;
    row->cylinder_ratio = ball->cylinder_ratio;
    row->cylinder_growth = ball->cylinder_ratio / (M_E / (2 * sqrt(M_PI)) * sqrt(row->dim));
    const double p = 1 / ball->cylinder_ratio;
    row->inside = (double)runs.inside / SAMPLER_DRAWS;
    row->inside_exact = p;
    row->inside_z = (row->inside - p) / sqrt(p * (1 - p) / SAMPLER_DRAWS);
}

/* ---- concentration ---- */

/* Kolmogorov distances of the sorted sample x to the exact law and to the limit law. */
static void kolmogorov(const hb_sampler_law *law, int dim, const double *x, double *to_exact,
                       double *to_limit)
{
    *to_exact = *to_limit = 0;
    for (int i = 0; i < SAMPLER_DRAWS; i++) {
        const double below = (double)i / SAMPLER_DRAWS, up_to = (i + 1.0) / SAMPLER_DRAWS;
        const double exact = law->exact_cdf(dim, x[i]), limit = law->limit_cdf(x[i]);
        *to_exact = fmax(*to_exact, fmax(exact - below, up_to - exact));
        *to_limit = fmax(*to_limit, fmax(limit - below, up_to - limit));
    }
}

static void count_bins(const hb_sampler_law *law, const double *x, double *counts)
{
    const double scale = SAMPLER_BINS / (law->high - law->low);
    for (int i = 0; i < SAMPLER_DRAWS; i++) {
        const double bin = floor((x[i] - law->low) * scale);
        if (bin >= 0 && bin < SAMPLER_BINS) counts[(int)bin]++;
    }
}

/* x (SAMPLER_DRAWS) is scratch. */
static void measure_concentration(const sampler_draws *draws, double *x, hb_sampler_row *row)
{
    const int dim = (int)row->dim;
    const double sigma_star = 1 / (4 * M_PI * M_E);
    for (int i = 0; i < SAMPLER_DRAWS; i++)
        x[i] = dim * (1 - draws->z2[i] / hb_ball_radius_squared(dim, 1.0, draws->sigma[i]));
    const hb_sampler_law *law = &hb_sampler_laws[SAMPLER_RADIAL];
    count_bins(law, x, row->counts[SAMPLER_RADIAL]);
    qsort(x, SAMPLER_DRAWS, sizeof *x, hb_study_by_value);
    kolmogorov(law, dim, x, &row->radial_ks_exact, &row->radial_ks_limit);
    row->radial_limit_distance = hb_sampler_law_distance(law, dim);
    for (int i = 0; i < SAMPLER_DRAWS; i++) x[i] = sqrt(dim) * (draws->sigma[i] - sigma_star);
    law = &hb_sampler_laws[SAMPLER_TEMPORAL];
    count_bins(law, x, row->counts[SAMPLER_TEMPORAL]);
    row->temporal_variance = variance_of(x, SAMPLER_DRAWS);
    qsort(x, SAMPLER_DRAWS, sizeof *x, hb_study_by_value);
    kolmogorov(law, dim, x, &row->temporal_ks_exact, &row->temporal_ks_limit);
    row->temporal_limit_distance = hb_sampler_law_distance(law, dim);
}

hb_status hb_sampler_measure(hb_context *context, int dim, uint64_t seed, hb_sampler_row *row)
{
    hb_ball_constants ball;
    HB_TRY(hb_ball_constants_get(context, dim, 0, sizeof ball, &ball));
    const size_t chunk_rows = CHUNK / ((size_t)dim + 2);
    const size_t most = chunk_rows < SAMPLER_DRAWS ? chunk_rows : SAMPLER_DRAWS;
    double *scratch;
    HB_TRY(HB_STUDY_NEW(context, scratch, 3 * (size_t)SAMPLER_DRAWS + most * ((size_t)dim + 2)));
    sampler_draws draws = {.z2 = scratch + SAMPLER_DRAWS,
                           .sigma = scratch + 2 * (size_t)SAMPLER_DRAWS,
                           .rows = scratch + 3 * (size_t)SAMPLER_DRAWS,
                           .chunk_rows = most};
    memset(row, 0, sizeof *row);
    row->dim = dim;
    hb_status status = draw_direct(context, dim, seed, &draws);
    if (status == HB_OK) {
        measure_direct(&draws, row);
        measure_concentration(&draws, scratch, row);
        status = draw_uniform(context, &ball, seed, &draws);
    }
    if (status == HB_OK) measure_uniform(&ball, &draws, row);
    free(scratch);
    return status;
}
