/* Backward walks: u, its logarithm, its score at single points, in any dimension, without a time
 * step's error.
 *
 * docs/explanation/walks.md has the derivation. walk_plan.c says which plans there are, walk_pilot.c chooses
 * one for each point, walk_flags.c says what walks may not see; here they are counted. A round is
 * HB_WALKS_PER_ROUND walks per wanted point. A task is one block of one point; the accumulators of
 * the blocks are merged in the order of their index.
 * A number to reproduce: F = -x, u0 = N(1, 0.5), tau = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "walk/walk_estimator.h"
#include "base/checksum.h"
#include "base/team_tasks.h"
#include "walk/walk_constants.h"
#include "walk/walk_parts.h"

#include <string.h>

static const uint64_t PILOT_SALT = UINT64_C(0x9e3779b97f4a7c15);

/* ---- one block ------------------------------------------------------------------------------ */

/* A seed of the point's own: seed, salt and coordinates by FNV-1a on words, mixed. */
static uint64_t point_seed(uint64_t seed, uint64_t salt, size_t d, const double *x)
{
    uint64_t hash = HB_CHECKSUM_START ^ seed;
    for (size_t k = 0; k < d + 1; k++) {
        uint64_t bits = salt;
        const double coordinate = k < d ? x[k] + 0.0 : 0; // -0 is 0
        if (k < d) memcpy(&bits, &coordinate, sizeof bits);
        hash = (hash ^ bits) * HB_CHECKSUM_FACTOR;
        hash ^= hash >> 29;
    }
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 32;
}

uint64_t hb_walks_pilot_seed(const hb_walks *w, size_t i)
{
    return point_seed(w->seed, PILOT_SALT, w->shared.d, w->points + i * w->shared.d);
}

/* The ends of a plan may be another process's. */
hb_status hb_walks_run(const hb_walks *w, int thread, size_t i, const hb_walk_plan *plan, int pilot,
                       uint64_t first, size_t n, double *steps)
{
    const size_t d = w->shared.d;
    const double *x0 = w->points + i * d;
    hb_walk_plan own = *plan;
    own.ends = w->ends + i * 2 * d;
    return hb_walk_block_run(w->blocks[thread], &own, x0,
                             point_seed(w->seed, pilot ? PILOT_SALT : 0, d, x0), first, n, steps);
}

void hb_walks_count(const hb_walks *w, int thread, size_t n, double scale, double *sums)
{
    const size_t d = w->shared.d;
    double *a = w->counted + (size_t)thread * HB_WALK_BLOCK * (1 + d), *b = a + n;
    double lost = 0, outliers = 0;
    for (size_t i = 0; i < n; i++) {
        const hb_walk_result result = hb_walk_block_result(w->blocks[thread], i);
        a[i] = result.sign * exp(fmin(result.size - scale, LARGEST));
        for (size_t k = 0; k < d; k++) b[i * d + k] = a[i] == 0 ? 0 : a[i] * result.slope[k];
        lost += result.lost;
        if (result.outlier) outliers += fabs(a[i]);
    }
    hb_accumulator_add((int)d, sums, n, a, b);
    hb_accumulator_lose(sums, lost);
    hb_accumulator_outlier(sums, outliers);
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* Where the time is limited: a round takes no more than a part of what is left. */
static hb_status choose_round(hb_walks *w, double max_time)
{
    double seconds = 0;
    w->walks = HB_WALKS_PER_ROUND;
    if (!w->context->deadline || w->closed) return HB_OK;
    for (size_t i = 0; i < w->n; i++) seconds += w->unserved[i] ? 0 : w->seconds[i];
    const double left = fmax(*w->deadline - hb_seconds(), 0) + REST * max_time;
    const double workers = w->n_threads * (double)hb_context_ranks(w->context);
    while (w->walks > HB_LEAST_ROUND && seconds * (double)w->walks / workers > ROUND_PART * left)
        w->walks /= 2;
    return hb_context_agree(w->context, sizeof w->walks, &w->walks);
}

static int walks_resize(void *self, uint64_t walks)
{
    hb_walks *w = self;
    if (w->closed) return walks == 1;
    if (walks < HB_LEAST_ROUND || walks > HB_WALKS_PER_ROUND || (walks & (walks - 1))) return 0;
    w->walks = (size_t)walks;
    return 1;
}

/* Blocks of a round, and walks of a block. */
static size_t blocks_of(const hb_walks *w)
{
    return w->walks > HB_WALK_BLOCK ? w->walks / HB_WALK_BLOCK : 1;
}

static hb_status walks_block_task(void *user, size_t index, int thread)
{
    const hb_walks *w = user;
    const size_t blocks = blocks_of(w), n = w->walks / blocks, i = index / blocks;
    const int dim = (int)w->shared.d;
    double *sums = w->parts + index * hb_accumulator_size(dim), steps;
    if (!w->wanted[i]) return HB_OK;
    hb_accumulator_clear(dim, sums);
    if (w->unserved[i]) return HB_OK; /* no plan ended in its time */
    const hb_status status = hb_walks_run(w, thread, i, w->plans + i, 0,
                                          w->round * w->walks + index % blocks * n, n, &steps);
    if (status == HB_OK) hb_walks_count(w, thread, n, w->log_scale[i], sums);
    return hb_context_adopt(w->context, w->alone + thread, status);
}

static hb_status add_round(void *self, uint64_t k, const unsigned char *wanted,
                           double *accumulators)
{
    hb_walks *w = self;
    const int dim = (int)w->shared.d;
    const size_t size = hb_accumulator_size(dim);
    w->round = k;
    w->wanted = wanted;
    const size_t blocks = blocks_of(w);
    const hb_left left = {w->parts, size * sizeof *w->parts, 0};
    HB_TRY(hb_team_for(w->context, "walks", w->n * blocks, walks_block_task, w, 1, &left));
    for (size_t i = 0; i < w->n; i++)
        for (size_t block = 0; wanted[i] && block < blocks; block++)
            hb_accumulator_merge(dim, accumulators + i * size,
                                 w->parts + (i * blocks + block) * size);
    return HB_OK;
}

/* As many walks as a round: a quarter of them misses tails that the averaged ones are off by. */
static hb_status walks_diagnostic_round(void *self, uint64_t k, const unsigned char *wanted,
                                        double *accumulators)
{
    return add_round(self, HB_DIAGNOSTIC_FIRST + k, wanted, accumulators);
}

/* All walks are the same: a block of them stands for any number. */
static hb_status add_closed(void *self, uint64_t k, const unsigned char *wanted,
                            double *accumulators)
{
    hb_walks *w = self;
    const size_t d = w->shared.d, size = hb_accumulator_size((int)d);
    double *a = w->counted, *b = a + HB_WALK_BLOCK;
    (void)k;
    for (size_t i = 0; i < w->n; i++) {
        if (!wanted[i]) continue;
        const double *value = w->values + i * (1 + d);
        for (size_t j = 0; j < HB_WALK_BLOCK; j++) {
            a[j] = isfinite(value[0]);
            for (size_t m = 0; m < d; m++) b[j * d + m] = a[j] > 0 ? value[1 + m] : 0;
        }
        hb_accumulator_add((int)d, accumulators + i * size, HB_WALK_BLOCK, a, b);
        if (isnan(value[0])) hb_accumulator_lose(accumulators + i * size, HB_WALK_BLOCK);
    }
    return hb_team_progress(w->context, "walks", 1, 1);
}

/* ---- creation ------------------------------------------------------------------------------- */

static void walks_destroy(void *self)
{
    hb_walks *w = self;
    if (!w) return;
    for (int t = 0; w->blocks && t < w->n_threads; t++) hb_walk_block_destroy(w->blocks[t]);
    hb_workspace_destroy(&w->work);
    hb_walk_linear_clear(w->context, &w->linear);
    hb_gauge_formula_destroy(w->gauge);
    hb_release(w->context, w);
}

static hb_status walks_create_arrays(hb_walks *w)
{
    const size_t d = w->shared.d, n = w->n, threads = (size_t)hb_context_threads(w->context);
    HB_TRY(HB_WORKSPACE(
        w->context, &w->work, HB_ARRAY(w->log_scale, n), HB_ARRAY(w->plans, n),
        HB_ARRAY(w->values, n * (1 + d)), HB_ARRAY(w->errors, n * (1 + d)), HB_ARRAY(w->seconds, n),
        HB_ARRAY(w->unserved, n), HB_ARRAY(w->stiff, n), HB_ARRAY(w->hidden, n),
        HB_ARRAY(w->ends, n * 2 * d),
        HB_ARRAY_IF(!w->closed, w->parts, n * HB_ROUND_BLOCKS * hb_accumulator_size((int)d)),
        HB_ARRAY(w->counted, threads * HB_WALK_BLOCK * (1 + d)), HB_ARRAY(w->alone, threads),
        HB_ARRAY(w->blocks, threads)));
    memset(w->work.memory, 0, w->work.size);
    w->n_threads = (int)threads;
    for (size_t t = 0; t < threads && !w->closed; t++) {
        w->alone[t] = hb_context_child(w->context, 1);
        HB_TRY(hb_context_adopt(w->context, w->alone + t,
                                hb_walk_block_create(w->alone + t, &w->shared, w->blocks + t)));
    }
    return HB_OK;
}

static void walks_write_note(const hb_walks *w, hb_estimator *out)
{
    const size_t size = sizeof out->note;
    size_t count[] = {[HB_WALK_PARAMETRIX] = 0,
                      [HB_WALK_GAUGE] = 0,
                      [HB_WALK_BALL] = 0,
                      [HB_WALK_REVERSED] = 0,
                      [HB_WALK_BRIDGE] = 0};
    for (size_t i = 0; i < w->n; i++) count[w->plans[i].kind] += !w->unserved[i];
    const int all = count[HB_WALK_BRIDGE] == w->n && w->n > 0; // no steps
    hb_note_append(out->note, size, "%s",
                   all                ? "no drift but a potential"
                   : w->shared.linear ? "the drift is linear: one exact step"
                   : w->shared.full_frame || w->shared.d == 1
                       ? "parametrix in linear coordinates"
                       : "parametrix in diagonal coordinates");
    const struct {
        size_t n;
        const char *name;
    } used[] = {{count[HB_WALK_REVERSED], "reversed"},
                {count[HB_WALK_GAUGE] + count[HB_WALK_BALL], "gauge"},
                {count[HB_WALK_BRIDGE], "Brownian bridges"}};
    for (size_t k = 0; k < sizeof used / sizeof *used; k++)
        if (used[k].n > 0)
            hb_note_append(out->note, size, ", %s at %zu of %zu points", used[k].name, used[k].n,
                           w->n);
    const int closed = w->closed || w->shared.closed_form;
    if (!all)
        hb_note_append(out->note, size, "; the last step %s", closed ? "in closed form" : "drawn");
}

static hb_status walks_create(hb_walks *w, const hb_problem *problem, double tau, double max_time)
{
    HB_TRY(hb_walks_describe(w, problem, tau));
    HB_TRY(walks_create_arrays(w));
    HB_TRY(hb_walks_look(w));
    HB_TRY(hb_walks_pilot(w));
    HB_TRY(choose_round(w, max_time));
    return hb_walks_flag(w);
}

hb_status hb_walk_estimator(hb_context *context, const hb_problem *problem, double tau,
                            const hb_sampling_settings *settings, size_t n, const double *points,
                            hb_estimator *out)
{
    HB_CHECK(context, tau > 0 && isfinite(tau), HB_ERROR_ARGUMENT,
             "tau is %g; walks need it above 0", tau);
    hb_walks *w;
    HB_TRY(HB_NEW(context, w, 1));
    *w = (hb_walks){.context = context, .seed = settings->seed, .n = n, .points = points};
    const hb_status status = walks_create(w, problem, tau, settings->max_time);
    if (status != HB_OK) {
        walks_destroy(w);
        return status;
    }
    *out =
        (hb_estimator){.self = w,
                       .name = "walk",
                       .unit = "walks",
                       .samples_per_round = w->closed ? 1 : w->walks,
                       .rounds = w->closed ? 1 : UINT64_MAX / HB_WALKS_PER_ROUND / w->shared.d / 2,
                       .unserved = w->unserved,
                       .resize = walks_resize,
                       .exact = w->closed,
                       .log_scale = w->log_scale,
                       .known_error = w->closed || w->breaks || w->far ? w->errors : NULL,
                       .round = w->closed ? add_closed : add_round,
                       .diagnostic = w->closed ? NULL : walks_diagnostic_round,
                       .diagnostic_parts = 1,
                       .destroy = walks_destroy};
    walks_write_note(w, out);
    return HB_OK;
}
