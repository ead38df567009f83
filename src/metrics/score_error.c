/* The error of a score against the exact one of a mixture, overall and by region.
 *
 * x_i are n draws of u(.,tau), e_i = |s(x_i) - grad ln u(x_i)|^2, sorted by ln u(x_i). The mean of
 * all e_i estimates E e; the mean of the first fifth estimates E[e | the lowest 20 % of probability
 * mass], the mean of the others the rest. The border between the two is a quantile of the same
 * draws, so with p the fraction of a region and b = E[e | at the border]
 *     variance of a region's mean = ( Var(e | region) + (1-p)(E[e | region] - b)^2 ) / (n p),
 * as for trimmed means; b is the mean over the 2.5 % of the draws on both sides of the border.
 * grid: the mean of e over the points with u > 1e-4 of a lattice, all alike: it looks also where
 * hardly any draw falls.
 * A number to reproduce: for the score 0 of N(0, I) in the plane, e = |x|^2: all 2, low 2 (1 + ln
 * 5) = 5.2189, high 1.1953. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/sized.h"
#include "data/mixture.h"

#include <heatball/metrics.h>
#include <math.h>
#include <stdlib.h>

enum { LATTICE = 161, BATCH = 16384, LEAST_DRAWS = 50 };
static const double LOW_SHARE = 0.2, BORDER_SHARE = 0.025, LEAST_DENSITY = 1e-4, REACH = 6;

typedef struct score_point {
    double log_density, error;
} score_point;

typedef struct score_run {
    hb_context *context;
    const hb_mixture *truth;
    hb_process process;
    double tau;
    hb_score_callback score;
    void *user;
    hb_workspace work;
    double *x, *exact, *given; // (BATCH, dim)
    double *log_density;       // (BATCH)
    score_point *draws;        // (n)
} score_run;

static hb_status score_ask(const score_run *j, size_t n)
{
    const size_t d = (size_t)hb_mixture_dim(j->truth);
    HB_CHECK(j->context, j->score(j->user, n, j->x, j->tau, j->given) == 0, HB_ERROR_CALLBACK,
             "the score to be evaluated reported an error");
    for (size_t i = 0; i < n * d; i++)
        HB_CHECK(
            j->context, isfinite(j->given[i]), HB_ERROR_NUMERICAL,
            "component %zu of the score to be evaluated is %g at a point with x1 = %g, tau = %g",
            i % d + 1, j->given[i], j->x[i / d * d], j->tau);
    return HB_OK;
}

/* Errors at the first n points of j->x. */
static hb_status score_batch(const score_run *j, size_t n, score_point *out)
{
    const size_t d = (size_t)hb_mixture_dim(j->truth);
    HB_TRY(hb_mixture_score(j->context, j->truth, j->process, n, j->x, j->tau, j->log_density,
                            j->exact));
    HB_TRY(score_ask(j, n));
    for (size_t i = 0; i < n; i++)
        out[i] =
            (score_point){j->log_density[i], hb_distance2(d, j->given + i * d, j->exact + i * d)};
    return HB_OK;
}

static hb_status score_draws(const score_run *j, uint64_t seed, size_t n)
{
    for (size_t first = 0; first < n; first += BATCH) {
        const size_t count = n - first < BATCH ? n - first : BATCH;
        HB_TRY(hb_mixture_draw(j->context, j->truth, HB_DRAW_JUDGE, j->process, j->tau, seed, first,
                               count, j->x, NULL));
        HB_TRY(score_batch(j, count, j->draws + first));
    }
    return HB_OK;
}

/* ---- regions ---- */

static int score_by_density(const void *a, const void *b)
{
    const score_point *x = a, *y = b;
    if (x->log_density != y->log_density) return x->log_density > y->log_density ? 1 : -1;
    return (x->error > y->error) - (x->error < y->error);
}

static void score_moments(const score_point *draws, size_t first, size_t last, double *mean,
                          double *variance)
{
    const double n = (double)(last - first);
    double sum = 0, squares = 0;
    for (size_t i = first; i < last; i++) sum += draws[i].error;
    *mean = sum / n;
    for (size_t i = first; i < last; i++) {
        const double away = draws[i].error - *mean;
        squares += away * away;
    }
    *variance = squares / (n - 1);
}

/* Mean of a region [first, last) of n sorted draws; border NaN: the region is everything. */
static void score_region(const score_point *draws, size_t n, size_t first, size_t last,
                         double border, double *mean, double *error)
{
    double variance;
    score_moments(draws, first, last, mean, &variance);
    const double share = (double)(last - first) / (double)n, away = *mean - border;
    if (last - first < n) variance += (1 - share) * away * away;
    *error = sqrt(variance / (double)(last - first));
}

static void score_regions(score_point *draws, size_t n, hb_score_error *out)
{
    const size_t low = (size_t)(LOW_SHARE * (double)n), half = (size_t)(BORDER_SHARE * (double)n);
    double border, unused;
    qsort(draws, n, sizeof *draws, score_by_density);
    score_moments(draws, low - half, low + half, &border, &unused);
    score_region(draws, n, 0, n, NAN, &out->all, &out->all_se);
    score_region(draws, n, 0, low, border, &out->low, &out->low_se);
    score_region(draws, n, low, n, border, &out->high, &out->high_se);
}

/* ---- the lattice ---- */

/* Points of the lattice from number *next on with u > LEAST_DENSITY, up to BATCH; their count. */
static hb_status score_take_lattice(const score_run *j, const double *low, const double *high,
                                    size_t *next, size_t *taken)
{
    size_t n = 0;
    for (; *next < LATTICE * LATTICE && n < BATCH; ++*next, n++) {
        const double i[2] = {(double)(*next % LATTICE), (double)(*next / LATTICE)};
        for (int axis = 0; axis < 2; axis++)
            j->x[2 * n + (size_t)axis] =
                low[axis] + (high[axis] - low[axis]) * i[axis] / (LATTICE - 1);
    }
    HB_TRY(
        hb_mixture_score(j->context, j->truth, j->process, n, j->x, j->tau, j->log_density, NULL));
    *taken = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(j->log_density[i] > log(LEAST_DENSITY))) continue;
        j->x[2 * *taken] = j->x[2 * i];
        j->x[2 * *taken + 1] = j->x[2 * i + 1];
        ++*taken;
    }
    return HB_OK;
}

static hb_status score_lattice(const score_run *j, double *out)
{
    double low[2], high[2], sum = 0;
    hb_transition transition;
    size_t next = 0, count = 0;
    HB_TRY(hb_transition_of(j->context, j->process, j->tau, &transition));
    hb_mixture_box(j->truth, &transition, REACH, low, high);
    score_point *points; // (BATCH)
    HB_TRY(HB_NEW(j->context, points, BATCH));
    hb_status status = HB_OK;
    while (status == HB_OK && next < LATTICE * LATTICE) {
        size_t taken = 0;
        status = score_take_lattice(j, low, high, &next, &taken);
        if (status == HB_OK && taken > 0) status = score_batch(j, taken, points);
        for (size_t i = 0; status == HB_OK && i < taken; i++) sum += points[i].error;
        count += taken;
    }
    hb_release(j->context, points);
    *out = count ? sum / (double)count : NAN;
    return status;
}

hb_status hb_judge_score(hb_context *context, const hb_mixture *truth, hb_process process,
                         uint64_t seed, size_t n, double tau, hb_score_callback score, void *user,
                         size_t size, hb_score_error *out)
{
    HB_SIZED_CHECK(context, hb_score_error, size, out);
    HB_CHECK(context, truth && score, HB_ERROR_ARGUMENT, "truth or score is NULL");
    HB_CHECK(context, n >= LEAST_DRAWS, HB_ERROR_ARGUMENT,
             "n is %zu; the regions need at least %d draws", n, LEAST_DRAWS);
    score_run j = {.context = context,
                   .truth = truth,
                   .process = process,
                   .tau = tau,
                   .score = score,
                   .user = user};
    const size_t d = (size_t)hb_mixture_dim(truth);
    HB_TRY(HB_WORKSPACE(context, &j.work, HB_ARRAY(j.x, BATCH * d), HB_ARRAY(j.exact, BATCH * d),
                        HB_ARRAY(j.given, BATCH * d), HB_ARRAY(j.log_density, BATCH),
                        HB_ARRAY(j.draws, n)));
    hb_status status = score_draws(&j, seed, n);
    hb_score_error error = {.tau = tau, .grid = NAN};
    if (status == HB_OK) score_regions(j.draws, n, &error);
    if (status == HB_OK && d == 2) status = score_lattice(&j, &error.grid);
    HB_SIZED_WRITE(error, size, out);
    hb_workspace_destroy(&j.work);
    return status;
}
