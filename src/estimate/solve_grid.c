/* Solutions that stand on a grid: the grid itself, and averages over heat balls on its field.
 *
 *     grid        Fokker-Planck on a grid to tau(t), evaluated at the points: v = ln u and its gradient
 *                 with errors e_v, e_s from refinement; u = e^v, w = u v, and to first order
 *                     e_u = u e_v,      e_w = |dw/dv| e_v = |1 + v| u e_v
 *     meanvalue   the same grid kept over the backward time that a heat ball spans, tau - r^2/(4 pi) to
 *                 tau; at each point the representation of estimate.h averages over that ball. The error
 *                 is sqrt(e_average^2 + e_grid^2): the average smooths the grid's error, it does not
 *                 remove it.
 *
 * Ornstein-Uhlenbeck from N(0,1) with f = -x, g = sqrt(2) stays N(0,1): log-density at 0 is
 * -ln(2 pi)/2 = -0.918939. */
#include "base/context.h"
#include "base/memory.h"
#include "estimate/solve_parts.h"

#include <math.h>
#include <stdio.h>

/* Part of [0, tau] that is kept for balls whose radius is not given. */
static const double KEPT_SHARE = 0.5;
/* The field is kept a little longer than the ball needs, in units of its span. */
static const double SLACK = 0.05;

/* ---- the grid ---- */

static hb_status evaluate_grid(hb_context *context, const hb_grid *grid, const double *points,
                               hb_solution *out)
{
    HB_TRY(hb_grid_evaluate(context, grid, out->tau, out->n, points, out->columns[HB_LOG_DENSITY],
                            out->columns[HB_LOG_DENSITY_SE], out->columns[HB_SCORE],
                            out->columns[HB_SCORE_SE]));
    hb_solve_fill_from_log(out);
    return HB_OK;
}

static void note_grid(const hb_grid *grid, const char *opening, char *out, size_t size)
{
    hb_grid_info info;
    hb_grid_info_get(grid, &info);
    size_t used = (size_t)snprintf(out, size, "%s; cells", opening);
    for (int axis = 0; axis < info.dim && used < size; axis++)
        used += (size_t)snprintf(out + used, size - used, "%s %d on [%.4g, %.4g]", axis ? "," : "",
                                 info.points[axis], info.low[axis], info.high[axis]);
    if (used < size)
        snprintf(out + used, size - used, "; mass error %.1e, %d time steps", info.mass_error,
                 info.steps);
}

hb_status hb_solve_by_grid(const hb_solve_task *task, hb_solution *out)
{
    HB_TRY(hb_solve_check_dim(task->context, out->dim));
    HB_TRY(hb_grid_solve(task->context, task->problem, task->time, &task->settings->grid, out->n,
                         task->points, &out->grid));
    HB_TRY(evaluate_grid(task->context, out->grid, task->points, out));
    out->method = "grid";
    char opening[120];
    snprintf(opening, sizeof opening, "Fokker-Planck on a grid%s",
             task->settings->method == HB_METHOD_AUTO ? ", chosen because dim is at most 3" : "");
    note_grid(out->grid, opening, out->note, sizeof out->note);
    return HB_OK;
}

/* ---- averages over heat balls on the grid's field ---- */

/* Solves on a grid that is kept from before the ball of this radius (0: chosen later) at tau. */
static hb_status solve_field(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, double time, double tau,
                             double radius, size_t n, const double *points, hb_grid **out)
{
    const double span = radius * radius / (4 * M_PI);
    HB_CHECK(context, radius >= 0 && isfinite(radius), HB_ERROR_ARGUMENT,
             "radius is %g; it must be a number above 0", radius);
    HB_CHECK(
        context, span < tau, HB_ERROR_ARGUMENT,
        "radius is %g; at tau = %g it must be below sqrt(4 pi tau) = %g, so that the heat ball "
        "stays in tau > 0",
        radius, tau, sqrt(4 * M_PI * tau));
    hb_grid_settings kept = settings->grid;
    kept.keep_from =
        radius > 0 ? tau - span - fmin(SLACK * span, (tau - span) / 2) : (1 - KEPT_SHARE) * tau;
    return hb_grid_solve(context, problem, time, &kept, n, points, out);
}

/* e becomes sqrt(e^2 + other^2), value by value. */
static void add_errors(size_t n, const double *other, double *e)
{
    for (size_t i = 0; i < n; i++) e[i] = hypot(e[i], other[i]);
}

static hb_status average_field(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                               const hb_mean_settings *settings, const double *points,
                               const hb_solution *from_grid, double *radius, hb_solution *out)
{
    hb_field field;
    hb_grid_field(grid, &field);
    hb_mean_values means = {.u = out->columns[HB_DENSITY],
                            .u_se = out->columns[HB_DENSITY_SE],
                            .v = out->columns[HB_LOG_DENSITY],
                            .v_se = out->columns[HB_LOG_DENSITY_SE],
                            .w = out->columns[HB_ENTROPY_DENSITY],
                            .w_se = out->columns[HB_ENTROPY_DENSITY_SE],
                            .score = out->columns[HB_SCORE],
                            .score_se = out->columns[HB_SCORE_SE],
                            .radius = radius};
    HB_TRY(hb_mean_value(context, problem, &field, settings, out->tau, out->n, points, &means));
    static const hb_column errors[] = {HB_DENSITY_SE, HB_LOG_DENSITY_SE, HB_ENTROPY_DENSITY_SE};
    for (int k = 0; k < 3; k++)
        add_errors(out->n, from_grid->columns[errors[k]], out->columns[errors[k]]);
    add_errors(out->n * (size_t)out->dim, from_grid->columns[HB_SCORE_SE],
               out->columns[HB_SCORE_SE]);
    return HB_OK;
}

static void note_average(const hb_grid *grid, const hb_mean_settings *settings, size_t n,
                         const double *radius, hb_solution *out)
{
    double low = radius[0], high = radius[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, radius[i]);
        high = fmax(high, radius[i]);
    }
    char opening[240], how[80], range[60];
    if (settings->degree > 0)
        snprintf(how, sizeof how, "cubature of degree %d", settings->degree);
    else
        snprintf(how, sizeof how, "%llu antithetic pairs", (unsigned long long)settings->samples);
    if (low < high)
        snprintf(range, sizeof range, "%.4g to %.4g", low, high);
    else
        snprintf(range, sizeof range, "%.4g", low);
    snprintf(opening, sizeof opening,
             "averages over heat balls of radius %s, lift %d, by %s, on a grid solution", range,
             settings->lift, how);
    note_grid(grid, opening, out->note, sizeof out->note);
}

hb_status hb_solve_by_means(const hb_solve_task *task, hb_solution *out)
{
    hb_context *context = task->context;
    const hb_mean_settings *mean = &task->settings->mean;
    hb_solution *from_grid = NULL;
    void *memory = NULL;
    HB_TRY(hb_solve_check_dim(context, out->dim));
    HB_TRY(solve_field(context, task->problem, task->settings, task->time, out->tau, mean->radius,
                       out->n, task->points, &out->grid));
    HB_TRY(hb_solution_create(context, out->n, out->dim, &from_grid));
    hb_status status = hb_allocate(context, out->n, sizeof(double), &memory);
    if (status != HB_OK) goto done;
    from_grid->tau = out->tau;
    status = evaluate_grid(context, out->grid, task->points, from_grid);
    if (status == HB_OK)
        status = average_field(context, task->problem, out->grid, mean, task->points, from_grid,
                               memory, out);
    if (status == HB_OK) note_average(out->grid, mean, out->n, memory, out);
    out->method = "meanvalue";
done:
    hb_release(context, memory);
    hb_solution_destroy(from_grid);
    return status;
}

/* ---- residuals ---- */

hb_status hb_solve_residual(hb_context *context, const hb_problem *problem,
                            const hb_solve_settings *settings, hb_quantity quantity, size_t n,
                            const double *points, int n_radii, const double *radii,
                            double *residual, double *residual_se, double *scaled,
                            double *scaled_se)
{
    HB_CHECK(context, problem && settings && (radii || n_radii < 1), HB_ERROR_ARGUMENT,
             "the problem, the settings or the radii of hb_solve_residual are NULL");
    const double time = hb_solve_time(problem, settings);
    double tau, largest = 0;
    HB_TRY(hb_solve_check_problem(context, problem, time));
    HB_TRY(hb_solve_check_dim(context, hb_problem_dim(problem)));
    HB_CHECK(context, time > 0, HB_ERROR_ARGUMENT,
             "time is 0; a residual needs a time above 0, since its balls reach back");
    HB_TRY(hb_solve_check_points(context, hb_problem_dim(problem), n, points));
    HB_CHECK(context, n_radii >= 1, HB_ERROR_ARGUMENT, "there is no radius; give at least one");
    for (int k = 0; k < n_radii; k++) {
        HB_CHECK(context, radii[k] > 0 && isfinite(radii[k]), HB_ERROR_ARGUMENT,
                 "radius %d is %g; it must be a number above 0", k + 1, radii[k]);
        largest = fmax(largest, radii[k]);
    }
    HB_TRY(hb_problem_tau_of_t(context, problem, time, &tau));
    hb_grid *grid;
    HB_TRY(solve_field(context, problem, settings, time, tau, largest, n, points, &grid));
    hb_field field;
    hb_grid_field(grid, &field);
    hb_status status =
        hb_residual(context, problem, &field, quantity, &settings->mean, tau, n, points, n_radii,
                    radii, residual, residual_se, scaled, scaled_se);
    hb_grid_destroy(grid);
    return status;
}
