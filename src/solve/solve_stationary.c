/* time = inf: the density that an autonomous drift and its noise leave unchanged, div(F u) = Lap u.
 *
 *     linear drift        a Gaussian, any dimension; stationary_linear.c
 *     noise g(x), d = 1   exp(int (f - D')/D)/Z, D = g^2/2; line_balance.h
 *     gradient drift      exp(-V/(g^2/2))/Z, d <= 3, or any d where F_i has x_i alone; stationary_density.h
 *     d <= 3              the null vector of the grid's operator; grid_stationary.c. Where the noise depends on x and
 *                         its chain is refused, the grid at a long finite time; stationary_late.c
 *     above               particles at long times; stationary_samples.c
 * auto takes the first that there is; the methods grid, meanvalue and particles can be asked for. Walks go back to the
 * start, which is infinitely far away: they are refused but for linear drifts. The initial density is not used.
 *
 * A number to reproduce: f = -2 x, g = 1 has u(0) = sqrt(2/pi) = 0.797885. */
#include "base/context.h"
#include "problem/drift_facts.h"
#include "problem/line_balance.h"
#include "problem/noise.h"
#include "problem/stationary_density.h"
#include "solve/solve_parts.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is refused ---- */

hb_status hb_solve_check_stationary(hb_context *context, const hb_problem *problem, double time)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    (void)time;
    HB_CHECK(context, facts->autonomous, HB_ERROR_ARGUMENT,
             "time is inf, but the drift %s; a drift that changes in time has no stationary "
             "density: give a finite time",
             facts->is_formula ? "depends on t" : "is a function that is not declared autonomous");
    HB_CHECK(context, hb_problem_noise_is_constant(problem), HB_ERROR_ARGUMENT,
             "time is inf, but the noise depends on t; there is no stationary density: give a "
             "finite time");
    for (int k = 0; k < facts->n_breaks; k++)
        HB_CHECK(context, facts->breaks[k].kind != HB_BREAK_POLE, HB_ERROR_ARGUMENT,
                 "time is inf, but the drift may be infinite somewhere; what lies on the two sides "
                 "of a pole may never meet, and the stationary density then depends on the start: "
                 "give a finite time");
    return HB_OK;
}

/* ---- gradients ---- */

static hb_status doubt(hb_solution *out)
{
    for (size_t i = 0; i < out->n; i++) {
        out->columns[HB_COLUMN_LOG_DENSITY_SE][i] = INFINITY;
        HB_TRY(hb_solution_warn(out, i,
                                "the drift may vary between the points that its integral was "
                                "formed from; the score is right, the method grid may answer"));
    }
    return HB_OK;
}

static hb_status solve_gradient(const hb_solve_task *task, hb_solution *out)
{
    const size_t values = out->n * (size_t)out->dim;
    hb_stationary *density;
    HB_TRY(hb_stationary_create(task->context, task->problem, &density));
    hb_status status = hb_stationary_evaluate(
        task->context, density, out->n, task->points, out->columns[HB_COLUMN_LOG_DENSITY],
        out->columns[HB_COLUMN_LOG_DENSITY_SE], out->columns[HB_COLUMN_SCORE]);
    for (size_t k = 0; k < values && status == HB_OK; k++)
        out->columns[HB_COLUMN_SCORE_SE][k] =
            8 * DBL_EPSILON * fabs(out->columns[HB_COLUMN_SCORE][k]);
    if (status == HB_OK && hb_stationary_is_doubtful(density)) status = doubt(out);
    hb_stationary_destroy(task->context, density);
    HB_TRY(status);
    hb_solve_fill_from_log(out);
    snprintf(out->note, sizeof out->note,
             "stationary: the drift is a gradient, the density exp(-V/(g^2/2))/Z with Z by "
             "quadrature; nothing is drawn");
    return HB_OK;
}

/* ---- noise that depends on x ---- */

static hb_status solve_balance(const hb_solve_task *task, hb_solution *out)
{
    int doubtful;
    HB_TRY(hb_problem_balance(task->context, task->problem, out->n, task->points,
                              out->columns[HB_COLUMN_LOG_DENSITY],
                              out->columns[HB_COLUMN_LOG_DENSITY_SE], out->columns[HB_COLUMN_SCORE],
                              out->columns[HB_COLUMN_SCORE_SE], &doubtful));
    if (doubtful) HB_TRY(doubt(out));
    hb_solve_fill_from_log(out);
    snprintf(
        out->note, sizeof out->note,
        "stationary: on a line nothing flows, and the density is exp(int (f - D')/D dx)/Z with "
        "D = g^2/2, by quadrature; nothing is drawn");
    return HB_OK;
}

/* The methods auto and grid are all that solve_noise.c lets through. */
static hb_status solve_field(const hb_solve_task *task, hb_solution *out)
{
    if (task->settings->method == HB_METHOD_AUTO && hb_problem_has_balance(task->problem))
        return solve_balance(task, out);
    const hb_status status = hb_solve_by_grid(task, out);
    if (out->dim == 1 || (status != HB_ERROR_ARGUMENT && status != HB_ERROR_NUMERICAL))
        return status;
    char message[sizeof task->context->message]; /* what the chain said stands if this fails too */
    memcpy(message, task->context->message, sizeof message);
    const hb_status late = hb_solve_stationary_late(task, out);
    if (late != HB_ERROR_ARGUMENT && late != HB_ERROR_NUMERICAL && late != HB_ERROR_DOMAIN)
        return late;
    memcpy(task->context->message, message, sizeof message);
    return status;
}

/* ---- the choice ---- */

static hb_status solve_means(const hb_solve_task *task, hb_solution *out)
{
    out->tau = HB_STATIONARY_TAU;
    HB_TRY(hb_solve_by_means(task, out));
    out->tau = INFINITY;
    return HB_OK;
}

/* Averages along paths with a short lag (particle/lag_stationary.c). */
static hb_status solve_matrix(const hb_solve_task *task, hb_solution *out)
{
    hb_solve_plan plan = *task->settings;
    hb_solve_task part = *task;
    HB_CHECK(task->context, plan.method == HB_METHOD_AUTO || plan.method == HB_METHOD_PARTICLES,
             HB_ERROR_ARGUMENT,
             "time is inf and the noise is a matrix that no change of coordinates makes a number; "
             "take the method particles or auto");
    plan.method = HB_METHOD_PARTICLES;
    part.settings = &plan;
    return hb_solve_by_samples(&part, out);
}

static hb_status solve(const hb_solve_task *task, hb_solution *out)
{
    const int method = task->settings->method, linear = hb_problem_is_linear(task->problem);
    const int choose = method == HB_METHOD_AUTO;
    HB_CHECK(task->context, !task->settings->sampling.paths, HB_ERROR_ARGUMENT,
             "paths are given and time is inf; trajectories end at a finite time");
    out->method = "stationary";
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_FIELD) return solve_field(task, out);
    if (linear && (choose || method == HB_METHOD_WALK || out->dim > HB_MOST_GRID_DIM))
        return hb_solve_stationary_linear(task, out);
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_MATRIX) return solve_matrix(task, out);
    HB_CHECK(task->context, method != HB_METHOD_WALK, HB_ERROR_ARGUMENT,
             "time is inf and the drift is not linear; walks go back to the start, which is "
             "infinitely far away: leave --method to auto");
    if (choose && hb_stationary_is_known(task->problem)) {
        const hb_status status = solve_gradient(task, out);
        if (status != HB_ERROR_NUMERICAL || out->dim > HB_MOST_GRID_DIM) return status;
    } /* what panels do not resolve a grid may */
    if (method == HB_METHOD_MEANVALUE) return solve_means(task, out);
    if (method == HB_METHOD_GRID) return hb_solve_by_grid(task, out);
    if (!choose || out->dim > HB_MOST_GRID_DIM) return hb_solve_stationary_samples(task, out);
    const hb_status status = hb_solve_by_grid(task, out);
    if (status != HB_ERROR_MEMORY && status != HB_ERROR_NUMERICAL) return status;
    hb_grid_destroy(out->grid);
    out->grid = NULL;
    return hb_solve_stationary_samples(task, out);
}

hb_status hb_solve_stationary(const hb_solve_task *task, hb_solution *out)
{
    HB_TRY(solve(task, out));
    const size_t used = strlen(out->note);
    if (hb_problem_initial_kind(task->problem) != HB_INITIAL_KIND_NONE)
        snprintf(out->note + used, sizeof out->note - used, "; the initial density is not used");
    return HB_OK;
}
