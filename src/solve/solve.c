/* One call from a problem to density, log-density, score and entropy density at points.
 *
 *     grid, meanvalue     dim 1 to 3; solve_grid.c
 *     particles, walk     any dimension, by sampling; solve_sampling.c
 *     auto                the grid where dim is at most 3; where it refuses (its memory, or an integration
 *                         that fails) and above, particles and walks, each where it is better. With
 *                         trajectories of the user, particles.
 * A drift that is not finite is refused by auto as by the grid: that is the problem, not the method.
 *
 * At t = 0 the answer is the initial density itself, with no error: for N(0,1) at 0 the log-density is
 * -ln(2 pi)/2 = -0.918939. */
#include "base/context.h"
#include "base/sized.h"
#include "problem/initial_average.h"
#include "problem/noise.h"
#include "problem/problem_parts.h"
#include "problem/time_cuts.h"
#include "sampling/sampling.h"
#include "solve/solve_frame.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The last time of paths may differ from the asked one by rounding. */
static const double TIME_SLACK = 1e-9;

void hb_sampling_settings_default(size_t size, hb_sampling_settings *settings)
{
    const hb_sampling_settings defaults = {.lift = -1, .seed = 1};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

void hb_solve_settings_default(size_t size, hb_solve_settings *settings)
{
    const hb_solve_settings defaults = {.method = HB_METHOD_AUTO, .time = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

hb_status hb_solve_plan_read(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, hb_solve_plan *out)
{
    hb_solve_settings s;
    HB_SIZED_READ(context, hb_solve_settings, settings, &s);
    HB_SIZED_READ(context, hb_mean_settings, s.mean, &out->mean);
    HB_SIZED_READ(context, hb_grid_settings, s.grid, &out->grid);
    HB_SIZED_READ(context, hb_sampling_settings, s.sampling, &out->sampling);
    const double *own;
    const size_t n_own = hb_problem_times(problem, &own);
    out->method = s.method;
    out->time = s.time;
    out->n_times = s.times ? s.n_times : 0;
    out->times = s.times;
    HB_CHECK(context, out->n_times == 0 || isnan(s.time), HB_ERROR_ARGUMENT,
             "time and times are both given; give one of them");
    HB_CHECK(context, out->n_times <= HB_MOST_TIMES, HB_ERROR_ARGUMENT,
             "%zu times are asked for; at most %d are solved at once", out->n_times, HB_MOST_TIMES);
    if (out->n_times == 0 && isnan(s.time)) {
        out->n_times = n_own;
        out->times = own;
    }
    if (out->n_times > 0) out->time = out->times[out->n_times - 1];
    if (out->n_times == 1 && out->time == INFINITY) out->n_times = 0;
    return HB_OK;
}

/* ---- what is refused ---- */

hb_status hb_solve_check_points(hb_context *context, int dim, size_t n, const double *points)
{
    HB_CHECK(context, n >= 1 && points, HB_ERROR_ARGUMENT, "there is no point; give at least one");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < dim; k++)
            HB_CHECK(context, isfinite(points[i * (size_t)dim + (size_t)k]), HB_ERROR_ARGUMENT,
                     "coordinate %d of point %zu is %g; it must be finite", k + 1, i + 1,
                     points[i * (size_t)dim + (size_t)k]);
    return HB_OK;
}

hb_status hb_solve_check_problem(hb_context *context, const hb_problem *problem, double time)
{
    HB_CHECK(context, time >= 0 && isfinite(time), HB_ERROR_ARGUMENT,
             "time is %g; it must be a number of at least 0", time);
    HB_CHECK(context, hb_problem_initial_kind(problem) != HB_INITIAL_KIND_NONE, HB_ERROR_ARGUMENT,
             "the problem has no initial density; give one");
    return HB_OK;
}

hb_status hb_solve_check_dim(hb_context *context, int dim)
{
    HB_CHECK(
        context, dim <= HB_MOST_GRID_DIM, HB_ERROR_ARGUMENT,
        "dim is %d; the methods grid and meanvalue both solve on a grid, which exists for dim 1 "
        "to %d",
        dim, HB_MOST_GRID_DIM);
    return HB_OK;
}

static hb_status check_times(hb_context *context, const hb_sampling_settings *s, double time)
{
    const double *t = s->path_times, last = t[s->n_times - 1];
    for (size_t k = 0; k < s->n_times; k++)
        HB_CHECK(context, t[k] >= 0 && isfinite(t[k]) && (k == 0 || t[k] > t[k - 1]),
                 HB_ERROR_ARGUMENT,
                 "time %zu of the paths is %g; the times must rise, from 0 or later", k + 1, t[k]);
    HB_CHECK(context, fabs(last - time) <= TIME_SLACK * time, HB_ERROR_ARGUMENT,
             "the last time of the paths is %g; it must be the time that is asked for, %g", last,
             time);
    return HB_OK;
}

static hb_status check_paths(hb_context *context, const hb_sampling_settings *s, int method,
                             double time, int dim)
{
    if (!s->paths) return HB_OK;
    HB_CHECK(context, method == HB_METHOD_AUTO || method == HB_METHOD_PARTICLES, HB_ERROR_ARGUMENT,
             "paths are given, which only the method particles uses");
    HB_CHECK(context, s->n_paths >= 1 && s->n_times >= 1 && s->path_times, HB_ERROR_ARGUMENT,
             "paths have %zu trajectories and %zu times; there must be at least one of each, and "
             "the times",
             s->n_paths, s->n_times);
    HB_TRY(check_times(context, s, time));
    const size_t row = s->n_times * (size_t)dim;
    for (size_t i = 0; i < s->n_paths * row; i++)
        HB_CHECK(context, isfinite(s->paths[i]), HB_ERROR_ARGUMENT,
                 "path %zu is %g at its time %zu; it must be finite", i / row + 1, s->paths[i],
                 i % row / (size_t)dim + 1);
    return HB_OK;
}

static hb_status check_sampling(hb_context *context, const hb_sampling_settings *s)
{
    const struct {
        const char *name;
        double value;
    } parts[] = {{"density_error", s->density_error},
                 {"score_error", s->score_error},
                 {"max_time", s->max_time},
                 {"save_every", s->save_every},
                 {"radius", s->radius}};
    for (int k = 0; k < 5; k++)
        HB_CHECK(context, parts[k].value >= 0 && isfinite(parts[k].value), HB_ERROR_ARGUMENT,
                 "%s is %g; it must be a number of at least 0", parts[k].name, parts[k].value);
    HB_CHECK(context, s->lift >= -1, HB_ERROR_ARGUMENT, "lift is %d; it must be at least -1",
             s->lift);
    HB_CHECK(context, !s->resume || s->state, HB_ERROR_ARGUMENT,
             "resume is asked for without a state file; give state");
    return HB_OK;
}

/* Beyond the span of the problem its formulas were not searched for narrow pulses. */
static void note_span(hb_context *context, const hb_problem *problem, double time)
{
    const double span = hb_problem_time(problem);
    const int steady = hb_problem_is_autonomous(problem) && hb_problem_noise_is_constant(problem);
    if (isfinite(time) && time > (1 + TIME_SLACK) * span && !steady)
        hb_note(context,
                "the problem was made for times up to %g; narrow pulses in t after it are not "
                "looked for: make it with time = %g",
                span, time);
}

/* ---- the calls ---- */

void hb_solve_fill_from_log(hb_solution *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double v = s->columns[HB_COLUMN_LOG_DENSITY][i],
                     e = s->columns[HB_COLUMN_LOG_DENSITY_SE][i];
        const double u = exp(v);
        s->columns[HB_COLUMN_DENSITY][i] = u;
        s->columns[HB_COLUMN_DENSITY_SE][i] = isinf(e) ? e : u > 0 ? u * e : 0;
        s->columns[HB_COLUMN_ENTROPY_DENSITY][i] = u > 0 ? u * v : 0;
        s->columns[HB_COLUMN_ENTROPY_DENSITY_SE][i] = isinf(e) ? e
                                                      : u > 0  ? fabs(1 + v) * u * e
                                                               : 0;
    }
}

static hb_status solve_initial(const hb_solve_task *task, hb_solution *out)
{
    out->method = "initial";
    snprintf(out->note, sizeof out->note, "time 0: the initial density itself");
    HB_TRY(hb_problem_initial(task->context, task->problem, out->n, task->points,
                              out->columns[HB_COLUMN_LOG_DENSITY], out->columns[HB_COLUMN_SCORE]));
    hb_solve_fill_from_log(out);
    return HB_OK;
}

/* A point where the grid claims nothing, and walks know it in closed form, or samples follow a pulse in t. */
static int samples_are_better(const hb_problem *problem, const hb_solution *out, int *exact)
{
    *exact = hb_problem_is_linear(problem) && hb_initial_moves(problem);
    if (!*exact && hb_problem_cuts(problem)->n == 0) return 0;
    for (size_t i = 0; i < out->n; i++)
        if (isinf(out->columns[HB_COLUMN_LOG_DENSITY_SE][i])) return 1;
    return 0;
}

static void drop_grid(hb_solution *out)
{
    hb_grid_destroy(out->grid);
    out->grid = NULL;
    for (size_t i = 0; i < out->n; i++) {
        hb_release(out->context, out->warnings[i]);
        out->warnings[i] = NULL;
    }
}

/* The grid, and samples where it cannot. */
static hb_status solve_auto(const hb_solve_task *task, hb_solution *out)
{
    char why[HB_NOTE / 2] = "particles, because paths are given";
    hb_solve_plan settings = *task->settings;
    hb_solve_task part = *task;
    part.settings = &settings;
    part.why = why;
    if (settings.sampling.paths) return hb_solve_by_samples(&part, out);
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_MATRIX) {
        settings.method = hb_solve_matrix_method(task->problem, task->time);
        snprintf(why, sizeof why, "%s, because the noise is a matrix",
                 settings.method == HB_METHOD_WALK ? "walks" : "particles");
        return hb_solve_by_samples(&part, out);
    }
    if (hb_problem_noise_kind(task->problem) == HB_NOISE_FIELD) return hb_solve_by_grid(task, out);
    if (out->dim > HB_MOST_GRID_DIM) {
        snprintf(why, sizeof why, "sampling, because dim is %d and grids end at %d", out->dim,
                 HB_MOST_GRID_DIM);
        return hb_solve_by_samples(&part, out);
    }
    /* Of a limited time the grid gets half, and samples what is left. */
    const double start = hb_seconds(), limit = settings.sampling.max_time;
    settings.grid.max_time = settings.grid.max_time > 0 ? settings.grid.max_time : limit / 2;
    const hb_status status = hb_solve_by_grid(&part, out);
    int exact;
    if (limit > 0) settings.sampling.max_time = fmax(start + limit - hb_seconds(), 1e-3);
    if (status == HB_OK && samples_are_better(task->problem, out, &exact)) {
        if (exact) settings.method = HB_METHOD_WALK;
        snprintf(why, sizeof why,
                 exact ? "walks, which are exact here and the grid does not know its errors"
                       : "sampling, because a pulse in t is too narrow for the grid");
        drop_grid(out);
        return hb_solve_by_samples(&part, out);
    }
    if (status != HB_ERROR_MEMORY && status != HB_ERROR_NUMERICAL) return status;
    snprintf(why, sizeof why, "sampling, because the grid refused (%s)",
             hb_context_message(task->context));
    drop_grid(out);
    return hb_solve_by_samples(&part, out);
}

static hb_status (*const METHODS[])(const hb_solve_task *task, hb_solution *out) = {
    [HB_METHOD_AUTO] = solve_auto,
    [HB_METHOD_GRID] = hb_solve_by_grid,
    [HB_METHOD_MEANVALUE] = hb_solve_by_means,
    [HB_METHOD_PARTICLES] = hb_solve_by_samples,
    [HB_METHOD_WALK] = hb_solve_by_samples};

hb_status hb_solve_at_time(const hb_solve_task *task, hb_solution *out)
{
    if (task->time == INFINITY) return hb_solve_stationary(task, out);
    return (task->time == 0 ? solve_initial : METHODS[task->settings->method])(task, out);
}

/* Samples as a density are smoothed, which no error knows; trajectories start at the samples themselves. */
static void note_smoothing(const hb_problem *problem, hb_solution *out)
{
    const double part = hb_problem_initial_smoothing(problem);
    const size_t used = strlen(out->note);
    if (part == 0 || strcmp(out->method, "particles") == 0) return;
    snprintf(
        out->note + used, sizeof out->note - used,
        "; the samples are smoothed by Gaussians of Scott's width, which raises their variance "
        "by %.2g %% and is not in the errors",
        100 * part);
}

/* In the coordinates of the problem's frame, and back. */
static hb_status solve_in_frame(hb_context *context, const hb_problem *problem,
                                const hb_solve_plan *plan, const double *points, hb_solution *out)
{
    hb_framed_points framed;
    HB_TRY(
        hb_solve_enter_frame(context, problem, out->n_times, out->times, out->n, points, &framed));
    const hb_solve_task task = {context, problem, plan, plan->time, framed.y, NULL, framed.stride};
    hb_status status = (plan->n_times > 0 ? hb_solve_at_times : hb_solve_at_time)(&task, out);
    if (status == HB_OK) status = hb_solve_leave_frame(context, problem, points, &framed, out);
    hb_framed_points_destroy(&framed);
    return status;
}

static void finish(const hb_problem *problem, hb_solution *out)
{
    const size_t used = strlen(out->note);
    hb_solution_settle(out);
    if (hb_drift_by_differences(&problem->drift))
        snprintf(out->note + used, sizeof out->note - used,
                 "; most values of the drift's function were for differences, a Jacobian saves "
                 "them");
}

hb_status hb_solve(hb_context *context, const hb_problem *problem,
                   const hb_solve_settings *settings, size_t n, const double *points,
                   hb_solution **out)
{
    HB_CHECK(context, problem && out, HB_ERROR_ARGUMENT, "the %s of hb_solve is NULL",
             problem ? "output" : "problem");
    hb_solve_plan plan;
    const int dim = hb_problem_dim(problem);
    *out = NULL;
    HB_TRY(hb_solve_plan_read(context, problem, settings, &plan));
    HB_CHECK(context, plan.method >= HB_METHOD_AUTO && plan.method <= HB_METHOD_WALK,
             HB_ERROR_ARGUMENT, "method is %d; it must be one of hb_method", plan.method);
    const int several = plan.n_times > 1, stationary = !several && plan.time == INFINITY;
    if (several) HB_TRY(hb_solve_check_times(context, &plan));
    HB_TRY((stationary ? hb_solve_check_stationary : hb_solve_check_problem)(context, problem,
                                                                             plan.time));
    HB_TRY(hb_solve_check_points(context, dim, n, points));
    HB_TRY(check_sampling(context, &plan.sampling));
    note_span(context, problem, plan.time);
    HB_TRY(check_paths(context, &plan.sampling, plan.method, plan.time, dim));
    const hb_solve_task asked = {context, problem, &plan, plan.time, points, NULL, 0};
    HB_TRY(hb_solve_check_noise(&asked));
    hb_workspace work;
    HB_TRY(hb_solve_plan_frame(context, problem, &plan, &work));
    hb_solution *solution;
    hb_status status = hb_solution_create_times(
        context, several ? plan.n_times : 1, several ? plan.times : &plan.time, n, dim, &solution);
    if (status == HB_OK && stationary) solution->tau = INFINITY;
    if (status == HB_OK && !stationary)
        status = hb_problem_tau_of_t(context, problem, plan.time, &solution->tau);
    if (status == HB_OK) status = solve_in_frame(context, problem, &plan, points, solution);
    if (status == HB_OK && !stationary) note_smoothing(problem, solution);
    if (status == HB_OK) finish(problem, solution);
    hb_workspace_destroy(&work);
    if (status != HB_OK) hb_solution_destroy(solution);
    *out = status == HB_OK ? solution : NULL;
    return status;
}
