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
#include "solve/solve_transform.h"

#include <string.h>

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
    if (facts->linear && facts->start_moves) return 0;
    return facts->noise == HB_NOISE_MATRIX ? 4 : 3;
}

static hb_status guided_estimator(hb_context *context, const hb_solve_task *task, double tau,
                                  hb_estimator *out)
{
    hb_guide **kept = task->prepared; /* of a solution that will be asked at other points */
    const hb_status status = hb_guide_estimator(
        context, task->problem, tau, &task->settings->sampling, task->n, task->points, kept, out);
    if (kept && *kept) hb_guide_adopt(*kept, task->context);
    HB_TRY(status);
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

/* ---- other points of a solution, along the guide that it keeps ---- */

static void guided_copy(const hb_solution *from, double *log_density, double *log_density_error,
                        double *score, double *score_error)
{
    double *const to[] = {log_density, log_density_error, score, score_error};
    const int column[] = {HB_COLUMN_LOG_DENSITY, HB_COLUMN_LOG_DENSITY_ERROR, HB_COLUMN_SCORE,
                          HB_COLUMN_SCORE_ERROR};
    for (int c = 0; c < 4; c++)
        if (to[c])
            memcpy(to[c], from->columns[column[c]],
                   from->n * hb_column_width(column[c], from->dim) * sizeof(double));
}

hb_status hb_solve_evaluate_guided(hb_context *context, const hb_solution *solution, size_t n,
                                   const double *points, double *log_density,
                                   double *log_density_error, double *score, double *score_error)
{
    const hb_method_ops *row = &hb_method_guided;
    const hb_solve_plan plan = {.time = solution->times[0], .sampling = solution->sampling};
    hb_guide *guide = solution->guide;
    hb_transformed_points inside;
    hb_solution *walks;
    if (n == 0) return HB_OK;
    HB_TRY(hb_solve_check_points(context, solution->dim, n, points));
    HB_TRY(hb_solution_create(context, n, solution->dim, &walks));
    walks->tau = solution->tau;
    walks->times[0] = solution->times[0];
    hb_status status =
        hb_solve_enter_transform(context, solution->solved, 1, solution->times, n, points, &inside);
    if (status == HB_OK) {
        const hb_solve_task task = {.context = context,
                                    .problem = solution->solved,
                                    .settings = &plan,
                                    .time = plan.time,
                                    .n = n,
                                    .points = inside.y,
                                    .prepared = &guide};
        status = hb_solve_by_samples(&task, 1, &row, walks);
        if (status == HB_OK)
            status = hb_solve_leave_transform(context, solution->solved, points, &inside, walks);
        hb_transformed_points_destroy(&inside);
    }
    if (status == HB_OK) guided_copy(walks, log_density, log_density_error, score, score_error);
    hb_solution_destroy(walks);
    return status;
}
