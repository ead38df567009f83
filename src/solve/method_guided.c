/* Walks back along a log-density that is fitted to trajectories, as a method; any dimension up to
 * HB_GUIDED_DIM.
 *
 * Walks need div F, which no formula shows where the drift jumps; and walks from a start that jumps
 * have no pathwise gradient. A number to reproduce: x - x^3 + 1.5 y, -y - 1.5 x, noise sqrt(2), from
 * N(0.3, 0.3) at t = 1, (0.5, 0.2): the grid's density 0.1188. */
#include "guide/guide.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "solve/solve_parts.h"

enum { USUAL_WALKS = 16384, HB_GUIDED_DIM = 200 };

static const char *guided_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    if (facts->dim > HB_GUIDED_DIM) return "the dimension is above 200";
    if (facts->own_paths) return "trajectories are given, and guided walks make their own";
    if (facts->broken) return "the drift or the initial density has kinks, jumps or poles";
    if (facts->pulses) return "the formulas have narrow pulses in t";
    if (facts->noise == HB_NOISE_MATRIX && facts->point_start)
        return "the noise is a matrix and the initial density a point";
    return NULL;
}

static int guided_rank(const hb_solve_facts *facts)
{
    return facts->linear && facts->start_moves ? 0 : 3;
}

static hb_status guided_estimator(hb_context *context, const hb_solve_task *task, double tau,
                                  hb_estimator *out)
{
    HB_TRY(hb_guide_estimator(context, task->problem, tau, &task->settings->sampling, task->n,
                              task->points, out));
    out->usual = USUAL_WALKS;
    return HB_OK;
}

const hb_method_ops hb_method_guided = {
    .info = {.name = "guided",
             .summary = "walks back along a log-density that is fitted to trajectories; "
                        "dimension 1 to 200",
             .method = HB_METHOD_GUIDED,
             .reads = HB_SOLVE_SETTING_SAMPLES | HB_SOLVE_SETTING_STDERR |
                      HB_SOLVE_SETTING_STDERR_SCORE | HB_SOLVE_SETTING_MAX_TIME |
                      HB_SOLVE_SETTING_STATE},
    .times = HB_TIME_FINITE,
    .errors = HB_ERRORS_STANDARD,
    .serves = guided_serves,
    .rank_of = guided_rank,
    .estimator = guided_estimator};
