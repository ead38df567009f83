/* One call from a problem to density, log-density, score and entropy density at points.
 *
 *     grid        Fokker-Planck on a grid to tau(t), evaluated at the points: v = ln u and its gradient
 *                 with errors e_v, e_s from refinement; u = e^v, w = u v, and to first order
 *                     e_u = u e_v,      e_w = |dw/dv| e_v = |1 + v| u e_v
 *     meanvalue   the same grid kept over the backward time that a heat ball spans, tau - r^2/(4 pi) to
 *                 tau; at each point the representation of estimate.h averages over that ball. The error
 *                 is sqrt(e_average^2 + e_grid^2): the average smooths the grid's error, it does not
 *                 remove it.
 *     auto        the grid, which exists for one to three dimensions.
 *
 * At t = 0 the answer is the initial density itself, with no error. Ornstein-Uhlenbeck from N(0,1) with f
 * = -x, g = sqrt(2) stays N(0,1): log-density at 0 is -ln(2 pi)/2 = -0.918939. */
#include "base/context.h"
#include "base/memory.h"
#include "estimate/solution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_GRID_DIM = 3 };

/* Part of [0, tau] that is kept for balls whose radius is not given. */
static const double KEPT_SHARE = 0.5;
/* The field is kept a little longer than the ball needs, in units of its span. */
static const double SLACK = 0.05;

void hb_solve_settings_default(hb_solve_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    settings->method = HB_METHOD_AUTO;
    settings->time = NAN;
    hb_mean_settings_default(&settings->mean);
    hb_grid_settings_default(&settings->grid);
}

/* ---- what is refused ---- */

static hb_status check_points(hb_context *context, int dim, size_t n, const double *points)
{
    HB_CHECK(context, n >= 1 && points, HB_ERROR_ARGUMENT, "there is no point; give at least one");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < dim; k++)
            HB_CHECK(context, isfinite(points[i * (size_t)dim + (size_t)k]), HB_ERROR_ARGUMENT,
                     "coordinate %d of point %zu is %g; it must be finite", k + 1, i + 1,
                     points[i * (size_t)dim + (size_t)k]);
    return HB_OK;
}

static hb_status check_problem(hb_context *context, const hb_problem *problem, double time)
{
    const int dim = hb_problem_dim(problem);
    HB_CHECK(context, time >= 0 && isfinite(time), HB_ERROR_ARGUMENT,
             "time is %g; it must be a number of at least 0", time);
    HB_CHECK(context, hb_problem_initial_kind(problem) != HB_INITIAL_NONE, HB_ERROR_ARGUMENT,
             "the problem has no initial density; give one");
    HB_CHECK(
        context, time == 0 || dim <= MOST_GRID_DIM, HB_ERROR_ARGUMENT,
        "dim is %d; the methods grid and meanvalue both solve on a grid, which exists for dim 1 "
        "to %d",
        dim, MOST_GRID_DIM);
    return HB_OK;
}

static double time_of(const hb_problem *problem, const hb_solve_settings *settings)
{
    return isnan(settings->time) ? hb_problem_time(problem) : settings->time;
}

/* ---- columns from v and its gradient ---- */

/* u, w and their errors from v and its error; u = 0 where v is below the range of exp. */
static void fill_from_log(hb_solution *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double v = s->columns[HB_LOG_DENSITY][i], e = s->columns[HB_LOG_DENSITY_SE][i];
        const double u = exp(v);
        s->columns[HB_DENSITY][i] = u;
        s->columns[HB_DENSITY_SE][i] = u > 0 ? u * e : 0;
        s->columns[HB_ENTROPY_DENSITY][i] = u > 0 ? u * v : 0;
        s->columns[HB_ENTROPY_DENSITY_SE][i] = u > 0 ? fabs(1 + v) * u * e : 0;
    }
}

static hb_status solve_initial(hb_context *context, const hb_problem *problem, const double *points,
                               hb_solution *out)
{
    out->method = "initial";
    snprintf(out->note, sizeof out->note, "time 0: the initial density itself");
    HB_TRY(hb_problem_initial(context, problem, out->n, points, out->columns[HB_LOG_DENSITY],
                              out->columns[HB_SCORE]));
    fill_from_log(out);
    return HB_OK;
}

static hb_status evaluate_grid(hb_context *context, const hb_grid *grid, const double *points,
                               hb_solution *out)
{
    HB_TRY(hb_grid_evaluate(context, grid, out->tau, out->n, points, out->columns[HB_LOG_DENSITY],
                            out->columns[HB_LOG_DENSITY_SE], out->columns[HB_SCORE],
                            out->columns[HB_SCORE_SE]));
    fill_from_log(out);
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

static hb_status solve_grid(hb_context *context, const hb_problem *problem,
                            const hb_solve_settings *settings, double time, const double *points,
                            hb_solution *out)
{
    hb_grid *grid;
    HB_TRY(hb_grid_solve(context, problem, time, &settings->grid, out->n, points, &grid));
    hb_status status = evaluate_grid(context, grid, points, out);
    out->method = "grid";
    char opening[120];
    snprintf(opening, sizeof opening, "Fokker-Planck on a grid%s",
             settings->method == HB_METHOD_AUTO ? ", chosen because dim is at most 3" : "");
    note_grid(grid, opening, out->note, sizeof out->note);
    hb_grid_destroy(grid);
    return status;
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

static hb_status solve_meanvalue(hb_context *context, const hb_problem *problem,
                                 const hb_solve_settings *settings, double time,
                                 const double *points, hb_solution *out)
{
    hb_grid *grid;
    hb_solution *from_grid = NULL;
    void *memory = NULL;
    HB_TRY(solve_field(context, problem, settings, time, out->tau, settings->mean.radius, out->n,
                       points, &grid));
    hb_status status = hb_solution_create(context, out->n, out->dim, &from_grid);
    if (status == HB_OK) status = hb_allocate(context, out->n, sizeof(double), &memory);
    if (status != HB_OK) goto done;
    from_grid->tau = out->tau;
    status = evaluate_grid(context, grid, points, from_grid);
    if (status == HB_OK)
        status =
            average_field(context, problem, grid, &settings->mean, points, from_grid, memory, out);
    if (status == HB_OK) note_average(grid, &settings->mean, out->n, memory, out);
    out->method = "meanvalue";
done:
    hb_release(context, memory);
    hb_solution_destroy(from_grid);
    hb_grid_destroy(grid);
    return status;
}

/* ---- the calls ---- */

static hb_status fill_solution(hb_context *context, const hb_problem *problem,
                               const hb_solve_settings *settings, double time, const double *points,
                               hb_solution *out)
{
    HB_TRY(hb_problem_tau_of_t(context, problem, time, &out->tau));
    if (time == 0) return solve_initial(context, problem, points, out);
    if (settings->method == HB_METHOD_MEANVALUE)
        return solve_meanvalue(context, problem, settings, time, points, out);
    return solve_grid(context, problem, settings, time, points, out);
}

hb_status hb_solve(hb_context *context, const hb_problem *problem,
                   const hb_solve_settings *settings, size_t n, const double *points,
                   hb_solution **out)
{
    const int dim = hb_problem_dim(problem);
    const double time = time_of(problem, settings);
    *out = NULL;
    HB_CHECK(context, settings->method >= HB_METHOD_AUTO && settings->method <= HB_METHOD_MEANVALUE,
             HB_ERROR_ARGUMENT, "method is %d; it must be one of hb_method", settings->method);
    HB_TRY(check_problem(context, problem, time));
    HB_TRY(check_points(context, dim, n, points));
    hb_solution *solution;
    HB_TRY(hb_solution_create(context, n, dim, &solution));
    hb_status status = fill_solution(context, problem, settings, time, points, solution);
    if (status != HB_OK) {
        hb_solution_destroy(solution);
        return status;
    }
    *out = solution;
    return HB_OK;
}

hb_status hb_solve_residual(hb_context *context, const hb_problem *problem,
                            const hb_solve_settings *settings, hb_quantity quantity, size_t n,
                            const double *points, int n_radii, const double *radii,
                            double *residual, double *residual_se, double *scaled,
                            double *scaled_se)
{
    const double time = time_of(problem, settings);
    double tau, largest = 0;
    HB_TRY(check_problem(context, problem, time));
    HB_CHECK(context, time > 0, HB_ERROR_ARGUMENT,
             "time is 0; a residual needs a time above 0, since its balls reach back");
    HB_TRY(check_points(context, hb_problem_dim(problem), n, points));
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
