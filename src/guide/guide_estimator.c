/* Guided walks as an estimator that adds rounds to accumulators.
 *
 * The guide is fitted once for all points, from trajectories of a seed of its own, so that it does
 * not depend on the user's. At each point a pilot run chooses the number of steps: those of the
 * guide, times 1, 2, 4 or 8, by variance x steps; its walks are not counted. A round is ROUND_BLOCKS
 * blocks at each wanted point, a task is one block; the same bits on any number of threads and
 * ranks.
 * A number to reproduce: F = -x, u0 = N(1, 0.5), tau = 0.5, x = 0.7 has u = 0.4392625993. */
#include "base/checksum.h"
#include "base/context.h"
#include "base/team_tasks.h"
#include "guide/guide.h"
#include "random/streams.h"

#include <math.h>
#include <string.h>

enum { ROUND_BLOCKS = 2, ROUND = ROUND_BLOCKS * HB_GUIDE_BLOCK, MOST_MULTIPLE = 8 };
enum { COUNTED, PILOT, DIAGNOSTIC_ROUND = 1 << 27 }; /* streams; rounds beyond those counted */
static const double BETTER = 0.9;                    /* cost of twice the steps, to be worth them */

typedef struct guided {
    hb_context *context;
    hb_guide *guide;
    int owned; /* the guide */
    uint64_t seed, round;
    size_t n;
    const double *points; // (n, d)
    double *log_scale;    // (n)
    int *multiple;        // (n)
    double *parts;        // (n, ROUND_BLOCKS, accumulator)
    double *a, *b;        // (threads, BLOCK), (threads, BLOCK, d)
    hb_context *alone;    // (threads)
    hb_guide_walker **walkers;
    size_t threads;
    const unsigned char *wanted;
    hb_workspace work;
} guided;

/* A seed of the point's own, so that a point does not depend on the others. */
static uint64_t guided_seed(const guided *g, size_t i)
{
    const size_t d = g->guide->d;
    uint64_t hash = HB_CHECKSUM_START ^ g->seed;
    for (size_t k = 0; k < d; k++) {
        const double coordinate = g->points[i * d + k] + 0.0; // -0 is 0
        uint64_t bits;
        memcpy(&bits, &coordinate, sizeof bits);
        hash = (hash ^ bits) * HB_CHECKSUM_FACTOR;
        hash ^= hash >> 29;
    }
    hash *= UINT64_C(0x94d049bb133111eb);
    return hash ^ hash >> 31;
}

static hb_status guided_block(guided *g, int thread, size_t i, int use, uint64_t number,
                              int multiple, double *log_scale, double *sums)
{
    const size_t d = g->guide->d;
    hb_guide_run run = {.x = g->points + i * d,
                        .seed = guided_seed(g, i),
                        .stream = HB_STREAM_GUIDE + (uint64_t)use,
                        .number = number,
                        .multiple = multiple,
                        .log_scale = *log_scale,
                        .a = g->a + (size_t)thread * HB_GUIDE_BLOCK,
                        .b = g->b + (size_t)thread * HB_GUIDE_BLOCK * d};
    HB_TRY(hb_guide_walk(g->walkers[thread], &run));
    *log_scale = run.log_scale;
    hb_accumulator_add((int)d, sums, HB_GUIDE_BLOCK, run.a, run.b);
    hb_accumulator_lose(sums, run.lost);
    return HB_OK;
}

/* ---- the pilot run ---- */

static hb_status pilot_point(guided *g, int thread, size_t i)
{
    const int dim = (int)g->guide->d;
    double *sums = g->parts + i * ROUND_BLOCKS * hb_accumulator_size(dim);
    double *score = sums + hb_accumulator_size(dim), best = INFINITY;
    g->log_scale[i] = 0;
    g->multiple[i] = 1;
    for (int multiple = 1; multiple <= MOST_MULTIPLE; multiple *= 2) {
        hb_answer answer;
        double scale = NAN;
        hb_accumulator_clear(dim, sums);
        HB_TRY(guided_block(g, thread, i, PILOT, 0, multiple, &scale, sums));
        hb_accumulator_answer(dim, sums, scale, &answer, score, score + dim);
        const int flagged = answer.flag != HB_FLAG_NONE;
        const double cost = flagged ? INFINITY : answer.relative * answer.relative * multiple;
        if (!(cost < BETTER * best) && isfinite(best)) break;
        g->multiple[i] = multiple;
        g->log_scale[i] = scale;
        best = cost;
    }
    return HB_OK;
}

static hb_status pilot_task(void *user, size_t i, int thread)
{
    guided *g = user;
    return hb_context_adopt(g->context, g->alone + thread, pilot_point(g, thread, i));
}

/* ---- rounds ---- */

static hb_status guided_task(void *user, size_t index, int thread)
{
    guided *g = user;
    const size_t i = index / ROUND_BLOCKS;
    const int dim = (int)g->guide->d;
    double *sums = g->parts + index * hb_accumulator_size(dim);
    double scale = g->log_scale[i];
    if (!g->wanted[i]) return HB_OK;
    hb_accumulator_clear(dim, sums);
    const hb_status status =
        guided_block(g, thread, i, COUNTED, g->round * ROUND_BLOCKS + index % ROUND_BLOCKS,
                     g->multiple[i], &scale, sums);
    return hb_context_adopt(g->context, g->alone + thread, status);
}

static hb_status guided_round(void *self, uint64_t k, const unsigned char *wanted,
                              double *accumulators)
{
    guided *g = self;
    const int dim = (int)g->guide->d;
    const size_t size = hb_accumulator_size(dim);
    const hb_left left = {g->parts, size * sizeof *g->parts, 0};
    g->round = k;
    g->wanted = wanted;
    HB_TRY(hb_team_for(g->context, "walks", g->n * ROUND_BLOCKS, guided_task, g, 1, &left));
    for (size_t i = 0; i < g->n * ROUND_BLOCKS; i++)
        if (wanted[i / ROUND_BLOCKS])
            hb_accumulator_merge(dim, accumulators + i / ROUND_BLOCKS * size, g->parts + i * size);
    return HB_OK;
}

static hb_status guided_diagnostic(void *self, uint64_t k, const unsigned char *wanted,
                                   double *accumulators)
{
    return guided_round(self, DIAGNOSTIC_ROUND + k, wanted, accumulators);
}

/* ---- creation ---- */

static void guided_destroy(void *self)
{
    guided *g = self;
    hb_context *context = g->context;
    for (size_t t = 0; g->walkers && t < g->threads; t++) hb_guide_walker_destroy(g->walkers[t]);
    if (g->owned) hb_guide_destroy(g->guide);
    hb_workspace_destroy(&g->work);
    hb_release(context, g);
}

static hb_status guided_create(guided *g, const hb_problem *problem, double tau, hb_guide **kept)
{
    hb_context *context = g->context;
    g->guide = kept ? *kept : NULL;
    if (!g->guide) HB_TRY(hb_guide_create(context, problem, tau, &g->guide));
    g->owned = !kept;
    if (kept) *kept = g->guide;
    const size_t d = g->guide->d, n = g->n, threads = (size_t)hb_context_threads(context);
    HB_TRY(HB_WORKSPACE(context, &g->work, HB_ARRAY(g->log_scale, n), HB_ARRAY(g->multiple, n),
                        HB_ARRAY(g->parts, n * ROUND_BLOCKS * hb_accumulator_size((int)d)),
                        HB_ARRAY(g->a, threads * HB_GUIDE_BLOCK),
                        HB_ARRAY(g->b, threads * HB_GUIDE_BLOCK * d), HB_ARRAY(g->alone, threads),
                        HB_ARRAY(g->walkers, threads)));
    memset(g->work.memory, 0, g->work.size);
    g->threads = threads;
    for (size_t t = 0; t < threads; t++) {
        g->alone[t] = hb_context_child(context, 1);
        HB_TRY(hb_context_adopt(context, g->alone + t,
                                hb_guide_walker_create(g->guide, g->alone + t, g->walkers + t)));
    }
    const hb_left left[] = {{g->log_scale, sizeof *g->log_scale, 0},
                            {g->multiple, sizeof *g->multiple, 0}};
    return hb_team_for(context, "pilot", n, pilot_task, g, 2, left);
}

hb_status hb_guide_estimator(hb_context *context, const hb_problem *problem, double tau,
                             const hb_sampling_settings *settings, size_t n, const double *points,
                             hb_guide **kept, hb_estimator *out)
{
    guided *g;
    HB_TRY(HB_NEW_CLEARED(context, g, 1));
    g->context = context;
    g->seed = settings->seed;
    g->n = n;
    g->points = points;
    const hb_status status = guided_create(g, problem, tau, kept);
    if (status != HB_OK) {
        guided_destroy(g);
        return status;
    }
    *out = (hb_estimator){.self = g,
                          .name = "guided",
                          .unit = "walks",
                          .samples_per_round = ROUND,
                          .rounds = DIAGNOSTIC_ROUND,
                          .log_scale = g->log_scale,
                          .round = guided_round,
                          .diagnostic = guided_diagnostic,
                          .diagnostic_parts = 1,
                          .destroy = guided_destroy};
    hb_note_append(
        out->note, sizeof out->note,
        "guided by a log-density of %zu terms%s, fitted at %zu times to %zu trajectories",
        g->guide->basis.n_terms, g->guide->axes ? " in turned axes" : "", g->guide->n_nodes,
        g->guide->n_paths);
    return HB_OK;
}
