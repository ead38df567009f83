/* The grid as a method: Fokker-Planck on a grid to tau(t), or its null vector at t = inf, evaluated
 * at the points.
 *
 * v = ln u and its gradient have errors e_v, e_s from refinement; u = e^v, w = u v, and to first
 * order
 *     e_u = u e_v,      e_w = |dw/dv| e_v = |1 + v| u e_v
 * Ornstein-Uhlenbeck from N(0,1) with f = -x, g = sqrt(2) stays N(0,1): log-density at 0 is -ln(2
 * pi)/2 = -0.918939. */
#include "base/context.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the grid ---- */

int hb_solve_is_inside(const hb_grid_info *info, const double *x)
{
    for (int a = 0; a < info->dim; a++)
        if (!(x[a] >= info->low[a] && x[a] <= info->high[a])) return 0;
    return 1;
}

/* A point beyond the box: v continues from the boundary, and no error is known. */
static hb_status grid_evaluate_outside(const hb_grid *grid, size_t i, const double *x,
                                       hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    hb_field field;
    hb_grid_field(grid, &field);
    field.evaluate(field.user, 1, x, &out->tau, out->columns[HB_COLUMN_LOG_DENSITY] + i,
                   out->columns[HB_COLUMN_SCORE] + i * d);
    out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] = INFINITY;
    for (size_t a = 0; a < d; a++) out->columns[HB_COLUMN_SCORE_ERROR][i * d + a] = INFINITY;
    return hb_solution_warn(out, i,
                            "the point is too far out for the grid, whose box ends where the "
                            "density is nothing; the method walk may answer, or a box of your own");
}

hb_status hb_solve_evaluate_grid(hb_context *context, const hb_grid *grid, const double *points,
                                 hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    for (size_t i = 0; i < out->n; i++) {
        const double *x = points + i * d;
        if (!hb_solve_is_inside(&info, x)) {
            HB_TRY(grid_evaluate_outside(grid, i, x, out));
            continue;
        }
        HB_TRY(hb_grid_evaluate(
            context, grid, 1, x, out->tau, out->columns[HB_COLUMN_LOG_DENSITY] + i,
            out->columns[HB_COLUMN_LOG_DENSITY_ERROR] + i, out->columns[HB_COLUMN_SCORE] + i * d,
            out->columns[HB_COLUMN_SCORE_ERROR] + i * d));
        const int infinite = isinf(out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i]);
        if (infinite && !info.unresolved)
            HB_TRY(hb_solution_warn(
                out, i,
                "the grid does not resolve the density at this point, or it is at the "
                "boundary of the box; more cells or another box may help"));
        if (infinite && info.unresolved)
            HB_TRY(hb_solution_warn(
                out, i,
                "the drift or the noise varies within the cells of the grid by more than "
                "their nodes show; more cells per axis may follow it"));
    }
    hb_solve_fill_from_log(out);
    return HB_OK;
}

void hb_solve_note_grid(const hb_grid *grid, const char *opening, char *out, size_t size)
{
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    size_t used = (size_t)snprintf(out, size, "%s; cells", opening);
    for (int axis = 0; axis < info.dim && used < size; axis++)
        used += (size_t)snprintf(out + used, size - used, "%s %d on [%.4g, %.4g]", axis ? "," : "",
                                 info.points[axis], info.low[axis], info.high[axis]);
    if (used < size && info.breaks_between)
        used += (size_t)snprintf(out + used, size - used,
                                 "; the drift breaks between nodes: no extrapolation");
    if (used < size && isinf(info.tau))
        snprintf(out + used, size - used, "; the density on the boundary is e^%.0f of its maximum",
                 info.boundary_log);
    else if (used < size)
        snprintf(out + used, size - used, "; mass error %.1e, %d time steps", info.mass_error,
                 info.steps);
}

/* The relaxation time is given as t. */
static hb_status grid_open_stationary(const hb_solve_task *task, const hb_grid *grid, size_t size,
                                      char *out)
{
    hb_grid_info info;
    double relaxation = NAN;
    hb_grid_info_get(grid, sizeof info, &info);
    if (isfinite(info.relaxation))
        HB_TRY(hb_problem_t_of_tau(task->context, task->problem, info.relaxation, &relaxation));
    snprintf(out, size,
             "stationary: the null vector of Fokker-Planck on a grid; relaxation time about %.3g",
             relaxation);
    return HB_OK;
}

static hb_status grid_solve_once(const hb_solve_task *task, hb_solution *out)
{
    hb_grid_settings settings = task->settings->grid;
    if (settings.max_time == 0) settings.max_time = task->settings->sampling.max_time;
    HB_TRY(hb_grid_solve(task->context, task->problem, &settings, out->n, task->points, task->time,
                         &out->grid));
    HB_TRY(hb_solve_evaluate_grid(task->context, out->grid, task->points, out));
    out->method = "grid";
    char opening[240];
    if (isinf(task->time))
        HB_TRY(grid_open_stationary(task, out->grid, sizeof opening, opening));
    else
        snprintf(opening, sizeof opening, "Fokker-Planck on a grid%s",
                 task->settings->method == HB_METHOD_AUTO ? ", chosen because dim is at most 3"
                                                          : "");
    hb_solve_note_grid(out->grid, opening, out->note, sizeof out->note);
    return HB_OK;
}

/* Where the noise depends on x, the chain of t = inf may refuse what a long finite time answers. */
static hb_status grid_run(const hb_solve_task *task, hb_solution *out)
{
    const hb_status status = grid_solve_once(task, out);
    if (task->facts->time != HB_TIME_STATIONARY || task->facts->noise != HB_NOISE_FIELD ||
        out->dim == 1 || (status != HB_ERROR_ARGUMENT && status != HB_ERROR_NUMERICAL))
        return status;
    char message[sizeof task->context->message]; /* of the chain: it stands if this fails too */
    memcpy(message, task->context->message, sizeof message);
    const hb_status late = hb_solve_stationary_late(task, out);
    if (late != HB_ERROR_ARGUMENT && late != HB_ERROR_NUMERICAL && late != HB_ERROR_DOMAIN)
        return late;
    memcpy(task->context->message, message, sizeof message);
    return status;
}

static const char *grid_serves(const hb_solve_facts *facts)
{
    if (facts->time == HB_TIME_STATIONARY && facts->noise == HB_NOISE_MATRIX)
        return "time is inf and the noise is a matrix that no change of coordinates makes a number";
    if (facts->dim <= HB_MOST_GRID_DIM) return NULL;
    return facts->noise == HB_NOISE_FIELD ? HB_REASON_FIELD : HB_REASON_DIM;
}

/* Under degenerate noise particles need a tenth of a second a point, and the grid half a minute for
 * all of them, with a tenth of the error; in three dimensions its cells are too few. */
static int grid_rank(const hb_solve_facts *facts)
{
    const int pays = facts->dim <= 2 && facts->n_points >= HB_GRID_PAYS && !facts->point_start;
    if (facts->own_paths || (facts->noise == HB_NOISE_MATRIX && !pays)) return 0;
    return 2 + (facts->noise == HB_NOISE_MATRIX || facts->time != HB_TIME_FINITE);
}

const hb_method_ops hb_method_grid = {
    .info = {.name = "grid",
             .summary = "the Fokker-Planck equation on a grid; dimension 1 to 3",
             .method = HB_METHOD_GRID,
             .reads = HB_SOLVE_SETTING_POINTS | HB_SOLVE_SETTING_BOX | HB_SOLVE_SETTING_MAX_TIME,
             .on_grid = 1},
    .times = HB_TIME_POSITIVE,
    .errors = HB_ERRORS_ESTIMATE,
    .serves = grid_serves,
    .rank_of = grid_rank,
    .run = grid_run};
