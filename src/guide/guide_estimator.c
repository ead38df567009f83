/* Walks that a network guides, round by round.
 *
 * Round k of point i are the walks number 2^24 k + i of the stream (guide_walk.c), HB_GUIDE_USUAL
 * of them or as many as are asked for, whichever is less; the diagnostic sample has as many from a
 * stream of its own.
 *
 * Must reproduce: F = -x from N(0,1), tau 0.5, x = 0 in one dimension: u = 1/sqrt(2 pi) =
 * 0.398942. */
#include "base/context.h"
#include "base/memory.h"
#include "base/team_tasks.h"
#include "guide/guide.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct guided {
    hb_guide guide;
    size_t n;
    const double *points; // (n, dim)
    double *log_scale;    // (n)
    hb_workspace work;
} guided;

static uint64_t guided_place(uint64_t k, size_t i)
{
    return (k << 24) + i;
}

static hb_status guided_add(guided *g, hb_guide_use use, uint64_t k, const unsigned char *wanted,
                            double *accumulators)
{
    const size_t d = (size_t)g->guide.dim, size = hb_accumulator_size(g->guide.dim);
    for (size_t i = 0; i < g->n; i++) {
        if (!wanted[i]) continue;
        HB_TRY(hb_guide_walk(&g->guide, g->points + i * d, guided_place(k, i), use, g->log_scale[i],
                             accumulators + i * size));
        HB_TRY(hb_team_progress(g->guide.context, "walks", (double)i + 1, (double)g->n));
    }
    return HB_OK;
}

static hb_status guided_round(void *self, uint64_t k, const unsigned char *wanted,
                              double *accumulators)
{
    return guided_add(self, HB_GUIDE_AVERAGED, k, wanted, accumulators);
}

static hb_status guided_diagnostic(void *self, uint64_t k, const unsigned char *wanted,
                                   double *accumulators)
{
    return guided_add(self, HB_GUIDE_WATCHED, k, wanted, accumulators);
}

static void guided_destroy(void *self)
{
    guided *g = self;
    hb_context *context = g->guide.context;
    hb_workspace_destroy(&g->guide.work);
    hb_workspace_destroy(&g->work);
    hb_release(context, g);
}

static hb_status guided_create(guided *g, const hb_problem *problem,
                               const hb_network_settings *network,
                               const hb_sampling_settings *sampling, double tau,
                               const hb_model *model)
{
    hb_context *context = g->guide.context;
    const size_t walks = sampling->samples > 0 && sampling->samples < HB_GUIDE_USUAL
                             ? (size_t)sampling->samples
                             : HB_GUIDE_USUAL;
    HB_TRY(HB_WORKSPACE(context, &g->work, HB_ARRAY(g->log_scale, g->n)));
    HB_TRY(hb_guide_create(context, problem, model, network->walk_steps, walks, sampling->seed, tau,
                           &g->guide));
    for (size_t i = 0; i < g->n; i++)
        HB_TRY(hb_guide_scale(&g->guide, g->points + i * (size_t)g->guide.dim, guided_place(0, i),
                              &g->log_scale[i]));
    return HB_OK;
}

hb_status hb_guide_estimator(hb_context *context, const hb_problem *problem, double tau,
                             const hb_network_settings *network,
                             const hb_sampling_settings *sampling, size_t n, const double *points,
                             const hb_model *model, hb_estimator *out)
{
    guided *g;
    HB_TRY(HB_NEW_CLEARED(context, g, 1));
    g->guide.context = context;
    g->n = n;
    g->points = points;
    const hb_status status = guided_create(g, problem, network, sampling, tau, model);
    if (status != HB_OK) {
        guided_destroy(g);
        return status;
    }
    *out = (hb_estimator){.self = g,
                          .name = "network",
                          .unit = "walks",
                          .samples_per_round = g->guide.walks,
                          .usual = HB_GUIDE_USUAL,
                          .rounds = UINT64_MAX,
                          .log_scale = g->log_scale,
                          .round = guided_round,
                          .diagnostic = guided_diagnostic,
                          .diagnostic_parts = 1,
                          .destroy = guided_destroy};
    snprintf(out->note, sizeof out->note,
             "a network of width %d, trained in %" PRIu64 " steps, guides walks of %d steps",
             network->width, network->training_steps, g->guide.steps);
    return HB_OK;
}
