/* Walks back in time from each point, as a method; any dimension. With a linear drift, also where
 * the noise is a matrix, and a Gaussian initial density the answer is a Gaussian, and nothing is
 * drawn.
 *
 * A number to reproduce: "y, -x" with the noise "0, 1" is solved by one exact step. */
#include "solve/solve_parts.h"
#include "walk/walk_estimator.h"

enum { USUAL_WALKS = 100000 };

static const char *walk_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    if (facts->noise == HB_NOISE_MATRIX && !facts->linear)
        return "the noise is a matrix, which walks take only where the drift is linear";
    return NULL;
}

static int walk_rank(const hb_solve_facts *facts)
{
    if (facts->own_paths) return 0;
    return facts->noise == HB_NOISE_MATRIX ? 2 : 3;
}

static hb_status walk_estimator(hb_context *context, const hb_solve_task *task, double tau,
                                hb_estimator *out)
{
    HB_TRY(hb_walk_estimator(context, task->problem, tau, &task->settings->sampling, task->n,
                             task->points, out));
    out->usual = USUAL_WALKS;
    return HB_OK;
}

const hb_method_ops hb_method_walk = {
    .info = {.name = "walk",
             .summary = "walks back in time from each point; any dimension",
             .method = HB_METHOD_WALK,
             .reads = HB_SOLVE_SETTING_SAMPLES | HB_SOLVE_SETTING_STDERR |
                      HB_SOLVE_SETTING_STDERR_SCORE | HB_SOLVE_SETTING_MAX_TIME |
                      HB_SOLVE_SETTING_STATE},
    .times = HB_TIME_FINITE,
    .errors = HB_ERRORS_STANDARD,
    .serves = walk_serves,
    .rank_of = walk_rank,
    .estimator = walk_estimator};
