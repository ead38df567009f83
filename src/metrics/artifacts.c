/* Salt-and-pepper artifacts of images, counted.
 *
 * A pixel that has nothing to do with those around it is a speck. Its strength, from the nine
 * pixels of its 3 x 3 neighbourhood (an image goes on beyond its edge as in a mirror, a b c | b a),
 * is
 *     median:    |p - median of the nine|
 *     isolated:  max(p - highest of the other eight, lowest of them - p, 0)
 * and an image is affected when at least m of its pixels have a strength above theta. Real images
 * have specks too: the end of a thin stroke is one. So theta is the smallest number for which at
 * most a given fraction of real images is affected: with v_i the m-th largest strength in real
 * image i, sorted downward, the value of rank floor(share n) from 0.
 * A number to reproduce: a white pixel on black has strength 1, of either kind. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "metrics/neighbours.h"

#include <heatball/metrics.h>
#include <math.h>

enum { BLOCK = 16, AROUND = 9, MIDDLE = 4, MAX_SIDE = 65536 };

typedef struct speck_run {
    size_t height, width, n;
    const double *x; // (n, height, width)
    hb_speck kind;
    double theta;
    size_t least;
    size_t *specks;    // (n)
    double *strengths; // (blocks, height, width), for `largest`
    double *largest;   // (n): the strength of rank `least` from the top
} speck_run;

/* ---- one pixel ---- */

/* Of neighbours -1, 0, 1 the step k of 0, 1, 2, speck_mirrored at the ends of 0 .. side-1. */
static size_t speck_mirrored(size_t at, size_t k, size_t side)
{
    if (at == 0 && k == 0) return 1;
    return at + k <= side ? at + k - 1 : side - 2;
}

static void speck_take_nine(const speck_run *run, const double *image, size_t row, size_t column,
                            double *nine)
{
    for (size_t k = 0; k < AROUND; k++)
        nine[k] = image[speck_mirrored(row, k / 3, run->height) * run->width +
                        speck_mirrored(column, k % 3, run->width)];
}

static double speck_from_median(const double *nine)
{
    double sorted[AROUND];
    for (size_t k = 0; k < AROUND; k++) {
        size_t place = k;
        for (; place > 0 && sorted[place - 1] > nine[k]; place--) sorted[place] = sorted[place - 1];
        sorted[place] = nine[k];
    }
    return fabs(nine[MIDDLE] - sorted[MIDDLE]);
}

static double speck_isolation(const double *nine)
{
    double low = nine[0], high = nine[0];
    for (size_t k = 1; k < AROUND; k++) {
        if (k == MIDDLE) continue;
        low = fmin(low, nine[k]);
        high = fmax(high, nine[k]);
    }
    return fmax(0, fmax(nine[MIDDLE] - high, low - nine[MIDDLE]));
}

static double speck_strength(const speck_run *run, const double *image, size_t pixel)
{
    double nine[AROUND];
    speck_take_nine(run, image, pixel / run->width, pixel % run->width, nine);
    return run->kind == HB_SPECK_MEDIAN ? speck_from_median(nine) : speck_isolation(nine);
}

/* ---- images ---- */

static hb_status speck_count_block(void *user, size_t index, int thread)
{
    (void)thread;
    const speck_run *run = user;
    const size_t size = run->height * run->width, first = index * BLOCK;
    for (size_t i = first; i < run->n && i < first + BLOCK; i++) {
        run->specks[i] = 0;
        for (size_t p = 0; p < size; p++)
            run->specks[i] += speck_strength(run, run->x + i * size, p) > run->theta;
    }
    return HB_OK;
}

static hb_status speck_rank_block(void *user, size_t index, int thread)
{
    const speck_run *run = user;
    const size_t size = run->height * run->width, first = index * BLOCK;
    double *all = run->strengths + (size_t)thread * size; // (size)
    for (size_t i = first; i < run->n && i < first + BLOCK; i++) {
        for (size_t p = 0; p < size; p++) all[p] = speck_strength(run, run->x + i * size, p);
        hb_sort(size, all);
        run->largest[i] = run->least <= size ? all[size - run->least] : 0;
    }
    return HB_OK;
}

/* Images into a run, if they are some. */
static hb_status speck_take_images(hb_context *context, speck_run *run, hb_speck kind, int height,
                                   int width, int least, size_t n, const double *x)
{
    HB_CHECK(context, height >= 3 && height <= MAX_SIDE && width >= 3 && width <= MAX_SIDE,
             HB_ERROR_ARGUMENT, "images are %d by %d pixels; sides must be 3 to %d", height, width,
             MAX_SIDE);
    HB_CHECK(context, height <= INT32_MAX / width, HB_ERROR_ARGUMENT,
             "images are %d by %d pixels; they must have less than 2^31", height, width);
    HB_CHECK(context, kind == HB_SPECK_MEDIAN || kind == HB_SPECK_ISOLATED, HB_ERROR_ARGUMENT,
             "kind is %d; it must be %d or %d", (int)kind, HB_SPECK_MEDIAN, HB_SPECK_ISOLATED);
    HB_CHECK(context, least >= 1, HB_ERROR_ARGUMENT, "least is %d; it must be 1 or more", least);
    run->height = (size_t)height;
    run->width = (size_t)width;
    run->n = n;
    run->x = x;
    run->kind = kind;
    return hb_judge_check_rows(context, "x", 1, n, height * width, x);
}

hb_status hb_judge_artifacts(hb_context *context, hb_speck kind, int height, int width, int least,
                             size_t n, double theta, const double *x, size_t *specks,
                             size_t *affected)
{
    speck_run run = {.theta = theta};
    HB_TRY(speck_take_images(context, &run, kind, height, width, least, n, x));
    HB_CHECK(context, theta >= 0, HB_ERROR_ARGUMENT, "theta is %g; it must be 0 or more", theta);
    HB_TRY(HB_NEW(context, run.specks, n));
    const hb_status status =
        hb_parallel_for(context, "artifacts", (n + BLOCK - 1) / BLOCK, speck_count_block, &run);
    size_t found = 0;
    for (size_t i = 0; status == HB_OK && i < n; i++) {
        found += run.specks[i] >= (size_t)least;
        if (specks) specks[i] = run.specks[i];
    }
    if (affected) *affected = found;
    hb_release(context, run.specks);
    return status;
}

hb_status hb_judge_artifacts_threshold(hb_context *context, hb_speck kind, int height, int width,
                                       int least, size_t n, double fraction, const double *x,
                                       double *theta)
{
    speck_run run = {.least = (size_t)least};
    HB_TRY(speck_take_images(context, &run, kind, height, width, least, n, x));
    HB_CHECK(context, fraction >= 0 && fraction < 1, HB_ERROR_ARGUMENT,
             "fraction is %g; it must be at least 0 and below 1", fraction);
    hb_workspace work;
    const size_t size = run.height * run.width, threads = (size_t)context->threads;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(run.largest, n),
                        HB_ARRAY(run.strengths, threads * size)));
    const hb_status status =
        hb_parallel_for(context, "artifacts", (n + BLOCK - 1) / BLOCK, speck_rank_block, &run);
    if (status == HB_OK) {
        hb_sort(n, run.largest);
        *theta = run.largest[n - 1 - (size_t)(fraction * (double)n)];
    }
    hb_workspace_destroy(&work);
    return status;
}
