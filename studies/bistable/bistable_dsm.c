/* Denoising score matching from 10^4 trajectories, as the paper's table has it.
 *
 * The ends x_i of the trajectories get noise, y_i = x_i + sigma g_i. Tweedie's formula gives the
 * score of the noisy density from the expected clean value,
 *
 *     s(y) = (E[x | y] - y)/sigma^2,
 *
 * and E[x | y] comes from kernel regression (Nadaraya 1964, Watson 1964): the mean of the x_i
 * weighted with exp(-(y - y_i)^2/(2 h^2)). The paper does not give h; we take the normal-reference
 * rule h = 1.06 sd(y) n^(-1/5), and also its multiples 1/4, 1/2 and 2. Weights are formed relative
 * to the nearest sample, so that the formula stays defined beyond the last one: there it returns
 * that sample's x. Weights below e^-30 of the largest are left out.
 *
 * With infinitely many trajectories the estimate is the score of p * N(0, sigma^2), by quadrature
 * here: its distance to the score of p is what no number of samples removes.
 *
 * Must reproduce: that distance for the stationary start at sigma = 0.15 is 56.84 on [-3, 3]. */
#include "bistable.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOISE_STREAM(start) ((uint64_t)(start) << 8 | 12)
#define LOG_NEGLIGIBLE 30.0

const double hb_bistable_noises[BISTABLE_NOISES] = {0.05, 0.08, 0.1, 0.12, BISTABLE_NOISE,
                                                    0.2,  0.3,  0.4, 0.5};
const double hb_bistable_widths[BISTABLE_WIDTHS] = {0.25, 0.5, 1, 2};
enum { PAPER_NOISE = 4 }; /* the index of 0.15 */

typedef struct noisy_sample {
    double y, x;
} noisy_sample;

typedef struct dsm_work {
    double *x, *g;         // (BISTABLE_PATHS): ends, standard normal noise
    noisy_sample *samples; // (BISTABLE_PATHS), sorted by y
    double *curves;        // (runs, BISTABLE_NOISES, BISTABLE_WIDTHS, BISTABLE_POINTS)
    hb_bistable_tally mse[BISTABLE_NOISES][BISTABLE_WIDTHS]; /* overall, to the exact score */
} dsm_work;

/* The normal-reference rule. */
static double rule_bandwidth(const noisy_sample *samples)
{
    const int n = BISTABLE_PATHS;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) sum += samples[i].y;
    for (int i = 0; i < n; i++) squares += (samples[i].y - sum / n) * (samples[i].y - sum / n);
    return 1.06 * sqrt(squares / (n - 1)) * pow(n, -0.2);
}

/* Index of the first sample with y >= at. */
static int first_at_least(const noisy_sample *samples, double at)
{
    int low = 0, high = BISTABLE_PATHS;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (samples[middle].y < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* E[x | y = at] by Nadaraya-Watson regression. */
static double regression(const noisy_sample *samples, double bandwidth, double at)
{
    const double scale = 1 / (2 * bandwidth * bandwidth);
    const int next = first_at_least(samples, at);
    double nearest = INFINITY;
    if (next < BISTABLE_PATHS) nearest = samples[next].y - at;
    if (next > 0) nearest = fmin(nearest, at - samples[next - 1].y);
    const double reach = sqrt(nearest * nearest + LOG_NEGLIGIBLE / scale);
    double weights = 0, sum = 0;
    for (int i = first_at_least(samples, at - reach);
         i < BISTABLE_PATHS && samples[i].y <= at + reach; i++) {
        const double distance = samples[i].y - at;
        const double weight = exp((nearest * nearest - distance * distance) * scale);
        weights += weight;
        sum += weight * samples[i].x;
    }
    return sum / weights;
}

static double *curve_of(const dsm_work *work, int run, int noise, int width)
{
    const int index = (run * BISTABLE_NOISES + noise) * BISTABLE_WIDTHS + width;
    return work->curves + (size_t)index * BISTABLE_POINTS;
}

/* All bandwidths at one noise; returns the rule's. */
static double regress_noise(const hb_bistable_result *result, const hb_bistable_case *c, int run,
                            int noise, dsm_work *work)
{
    const double sigma = hb_bistable_noises[noise];
    for (int i = 0; i < BISTABLE_PATHS; i++)
        work->samples[i] = (noisy_sample){work->x[i] + sigma * work->g[i], work->x[i]};
    qsort(work->samples, BISTABLE_PATHS, sizeof *work->samples, hb_study_by_value);
    const double rule = rule_bandwidth(work->samples);
    for (int width = 0; width < BISTABLE_WIDTHS; width++) {
        double *score = curve_of(work, run, noise, width);
        for (int i = 0; i < BISTABLE_POINTS; i++) {
            const double at = result->x[i];
            const double clean = regression(work->samples, rule * hb_bistable_widths[width], at);
            score[i] = (clean - at) / (sigma * sigma);
        }
        hb_bistable_add(&work->mse[noise][width], hb_bistable_mse(BISTABLE_OVERALL, BISTABLE_POINTS,
                                                                  result->x, score, c->exact));
    }
    return rule;
}

static double largest_absolute(const double *x, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
    return most;
}

static hb_status run_once(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                          hb_bistable_result *result, int run, dsm_work *work)
{
    hb_bistable_case *c = &result->cases[start];
    const uint64_t seed = result->size.seed;
    HB_TRY(hb_bistable_paths(context, problem, start, seed, run, work->x));
    HB_TRY(hb_random_normal(context, seed, NOISE_STREAM(start), (uint64_t)run * BISTABLE_PATHS,
                            BISTABLE_PATHS, work->g));
    c->farthest += largest_absolute(work->x, BISTABLE_PATHS) / result->size.runs;
    for (int noise = 0; noise < BISTABLE_NOISES; noise++) {
        const double rule = regress_noise(result, c, run, noise, work);
        if (noise == PAPER_NOISE) c->bandwidth += rule / result->size.runs;
    }
    return HB_OK;
}

/* ---- infinitely many trajectories ---- */

/* The score of p * N(0, sigma^2) at y: exact Tweedie with E[x | y] by the trapezoidal rule, which
 * is spectrally accurate for these smooth integrands (spacing far below sigma). */
static double smoothed_score(const hb_bistable_density *p, double sigma, double y)
{
    const double scale = 1 / (2 * sigma * sigma);
    double most = -INFINITY, weights = 0, sum = 0;
    for (size_t i = 0; i < p->n; i++)
        most = fmax(most, p->log_density[i] - (y - p->x[i]) * (y - p->x[i]) * scale);
    for (size_t i = 0; i < p->n; i++) {
        const double distance = y - p->x[i];
        const double weight = exp(p->log_density[i] - distance * distance * scale - most);
        weights += weight;
        sum += weight * -distance;
    }
    return sum / weights / (sigma * sigma);
}

static hb_status find_limits(hb_context *context, const hb_bistable_density *p,
                             hb_bistable_result *result, hb_bistable_case *c)
{
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_DSM_LIMIT, 1, 0));
    for (int noise = 0; noise < BISTABLE_NOISES; noise++) {
        double score[BISTABLE_POINTS];
        for (int i = 0; i < BISTABLE_POINTS; i++)
            score[i] = smoothed_score(p, hb_bistable_noises[noise], result->x[i]);
        c->noise[noise].limit =
            hb_bistable_mse(BISTABLE_OVERALL, BISTABLE_POINTS, result->x, score, c->exact);
        if (noise == PAPER_NOISE) memcpy(c->curves[BISTABLE_DSM_LIMIT].score, score, sizeof score);
    }
    return HB_OK;
}

/* ---- what the runs say together ---- */

static void find_best(const dsm_work *work, hb_bistable_case *c)
{
    double best = INFINITY;
    for (int noise = 0; noise < BISTABLE_NOISES; noise++)
        for (int width = 0; width < BISTABLE_WIDTHS; width++) {
            const hb_bistable_tally *tally = &work->mse[noise][width];
            c->noise[noise].mse[width] = tally->mean;
            c->noise[noise].se[width] = hb_bistable_standard_error(tally);
            if (tally->mean >= best) continue;
            best = tally->mean;
            c->best_noise = noise;
            c->best_width = width;
        }
}

static hb_status keep_curves(hb_context *context, int runs, const dsm_work *work,
                             hb_bistable_case *c)
{
    const size_t bytes = BISTABLE_POINTS * sizeof(double);
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_DSM, runs, 0));
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_DSM_BEST, runs, 0));
    for (int run = 0; run < runs; run++) {
        const size_t at = (size_t)run * BISTABLE_POINTS;
        memcpy(c->curves[BISTABLE_DSM].score + at,
               curve_of(work, run, PAPER_NOISE, BISTABLE_RULE_WIDTH), bytes);
        memcpy(c->curves[BISTABLE_DSM_BEST].score + at,
               curve_of(work, run, c->best_noise, c->best_width), bytes);
    }
    return HB_OK;
}

/* Splits the error of BISTABLE_DSM near the saddle: at each point, mean squared error = bias^2 +
 * variance over the runs; the square of the mean error overstates bias^2 by variance/runs, which is
 * taken off. */
static void split_saddle(const hb_bistable_result *result, hb_bistable_case *c)
{
    const int runs = result->size.runs;
    const double *limit = c->curves[BISTABLE_DSM_LIMIT].score;
    hb_bistable_saddle *s = &c->saddle;
    int n = 0;
    *s = (hb_bistable_saddle){0};
    for (int i = 0; i < BISTABLE_POINTS; i++) {
        if (fabs(result->x[i]) > BISTABLE_SADDLE) continue;
        double mean = 0, squares = 0;
        for (int run = 0; run < runs; run++) {
            const double error =
                c->curves[BISTABLE_DSM].score[run * BISTABLE_POINTS + i] - c->exact[i];
            mean += error / runs;
            squares += error * error / runs;
        }
        const double variance = runs > 1 ? (squares - mean * mean) * runs / (runs - 1) : NAN;
        s->mse += squares;
        s->variance += variance;
        s->bias2 += mean * mean - variance / runs;
        s->limit_bias2 += (limit[i] - c->exact[i]) * (limit[i] - c->exact[i]);
        n++;
    }
    s->mse /= n, s->variance /= n, s->bias2 /= n, s->limit_bias2 /= n;
}

hb_status hb_bistable_dsm(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                          const hb_bistable_density *density, hb_bistable_result *result)
{
    hb_bistable_case *c = &result->cases[start];
    const int runs = result->size.runs;
    const size_t n_curves = (size_t)runs * BISTABLE_NOISES * BISTABLE_WIDTHS;
    dsm_work work = {0};
    HB_TRY(HB_STUDY_NEW(context, work.x, 4 * BISTABLE_PATHS + n_curves * BISTABLE_POINTS));
    work.g = work.x + BISTABLE_PATHS;
    work.samples = (noisy_sample *)(work.g + BISTABLE_PATHS);
    work.curves = work.g + 3 * BISTABLE_PATHS;
    hb_status status = find_limits(context, density, result, c);
    for (int run = 0; run < runs && status == HB_OK; run++) {
        status = run_once(context, problem, start, result, run, &work);
        if (status == HB_OK) status = hb_bistable_progress(context, result, BISTABLE_POINTS);
    }
    if (status == HB_OK) {
        find_best(&work, c);
        status = keep_curves(context, runs, &work, c);
    }
    if (status == HB_OK) split_saddle(result, c);
    free(work.x);
    return status;
}
