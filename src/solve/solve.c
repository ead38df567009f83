/* One call from a problem to density, log-density, score and entropy density at points.
 *
 * hb_solve checks what it is given, reads the facts of the problem once, enters the coordinates in
 * which the noise is simplest, lets choose.c find the method, and returns to the coordinates of the
 * user. methods.c lists the methods.
 *
 * At t = 0 the answer is the initial density itself, with no error: for N(0,1) at 0 the log-density
 * is -ln(2 pi)/2 = -0.918939. */
#include "base/context.h"
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "problem/problem_parts.h"
#include "solve/solve_parts.h"
#include "solve/solve_transform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The requested time may exceed the problem's by rounding. */
static const double TIME_SLACK = 1e-9;

/* ---- what is refused ---- */

hb_status hb_solve_check_problem(hb_context *context, const hb_problem *problem, double time)
{
    HB_CHECK(context, time >= 0 && isfinite(time), HB_ERROR_ARGUMENT,
             "time is %g; it must be a number of at least 0", time);
    HB_CHECK(context, hb_problem_initial_kind(problem) != HB_INITIAL_KIND_NONE, HB_ERROR_ARGUMENT,
             "the problem has no initial density; give one");
    return HB_OK;
}

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
                 "of a pole may never meet, and the stationary density then depends on the initial "
                 "condition: give a finite time");
    return HB_OK;
}

/* Beyond the span of the problem its formulas were not searched for narrow pulses. */
static void solve_note_span(hb_context *context, const hb_problem *problem, double time)
{
    const double span = hb_problem_time(problem);
    const int steady = hb_problem_is_autonomous(problem) && hb_problem_noise_is_constant(problem);
    if (isfinite(time) && time > (1 + TIME_SLACK) * span && !steady)
        hb_note(context,
                "the problem was made for times up to %g; narrow pulses in t after it are not "
                "looked for: make it with time = %g",
                span, time);
}

/* ---- what methods share ---- */

void hb_solve_fill_from_log(hb_solution *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const double v = s->columns[HB_COLUMN_LOG_DENSITY][i],
                     e = s->columns[HB_COLUMN_LOG_DENSITY_ERROR][i];
        const double u = exp(v);
        s->columns[HB_COLUMN_DENSITY][i] = u;
        s->columns[HB_COLUMN_DENSITY_ERROR][i] = isinf(e) ? e : u > 0 ? u * e : 0;
        s->columns[HB_COLUMN_ENTROPY_DENSITY][i] = u > 0 ? u * v : 0;
        s->columns[HB_COLUMN_ENTROPY_DENSITY_ERROR][i] = isinf(e) ? e
                                                         : u > 0  ? fabs(1 + v) * u * e
                                                                  : 0;
    }
}

void hb_solve_gaussian_text(size_t d, const double *mean, const double *variance, size_t size,
                            char *out)
{
    size_t used = (size_t)snprintf(out, size, "gaussian(mean=");
    for (size_t k = 0; k < 2 * d; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%.17g",
                                 k == 0   ? ""
                                 : k == d ? ", var="
                                          : " ",
                                 k < d ? mean[k] : variance[k - d]);
    snprintf(out + used, size - used, ")");
}

hb_status hb_solve_flag_integral(hb_solution *out)
{
    for (size_t i = 0; i < out->n; i++) {
        out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] = INFINITY;
        HB_TRY(hb_solution_warn(out, i,
                                "the drift may vary between the points that its integral was "
                                "formed from; the score is right, the method grid may answer"));
    }
    return HB_OK;
}

/* ---- one time ---- */

hb_status hb_solve_at_time(const hb_solve_task *task, hb_solution *out)
{
    hb_solve_facts facts;
    hb_solve_task own = *task;
    hb_solve_facts_read(task->problem, task->settings, task->time, &facts);
    own.facts = &facts;
    HB_TRY(hb_method_choose(&own, out));
    if (facts.time == HB_TIME_STATIONARY &&
        hb_problem_initial_kind(task->problem) != HB_INITIAL_KIND_NONE)
        hb_solution_add_note(out, "; the initial density is not used");
    return HB_OK;
}

/* Samples as a density are smoothed, which no error knows; trajectories start at the samples
 * themselves. */
static void solve_note_smoothing(const hb_problem *problem, hb_solution *out)
{
    const double part = hb_problem_initial_smoothing(problem);
    if (part == 0 || strcmp(out->method, "particles") == 0) return;
    hb_solution_add_note(
        out,
        "; the samples are smoothed by Gaussians of Scott's width, which raises their variance "
        "by %.2g %% and is not in the errors",
        100 * part);
}

/* In the coordinates of the problem's transform, and back. */
static hb_status solve_in_transform(hb_context *context, const hb_problem *problem,
                                    const hb_solve_plan *plan, const double *points,
                                    hb_solution *out)
{
    hb_transformed_points transformed;
    HB_TRY(hb_solve_enter_transform(context, problem, out->n_times, out->times, out->n, points,
                                    &transformed));
    const hb_solve_task task = {.context = context,
                                .problem = problem,
                                .settings = plan,
                                .time = plan->time,
                                .n = out->n,
                                .points = transformed.y,
                                .stride = transformed.stride};
    hb_status status = (plan->n_times > 0 ? hb_solve_at_times : hb_solve_at_time)(&task, out);
    if (status == HB_OK)
        status = hb_solve_leave_transform(context, problem, points, &transformed, out);
    hb_transformed_points_destroy(&transformed);
    return status;
}

static hb_status solve_into(hb_context *context, const hb_problem *problem,
                            const hb_solve_plan *plan, const double *points, hb_solution *out)
{
    const int stationary = out->n_times == 1 && plan->time == INFINITY;
    out->tau = INFINITY;
    if (!stationary) HB_TRY(hb_problem_tau_of_t(context, problem, plan->time, &out->tau));
    HB_TRY(solve_in_transform(context, problem, plan, points, out));
    if (!stationary) solve_note_smoothing(problem, out);
    hb_solution_finish(out);
    if (plan->method == HB_METHOD_AUTO) out->unread = hb_method_unread(plan->given, out->method);
    if (hb_drift_by_differences(&problem->drift))
        hb_solution_add_note(out, "; most values of the drift's function were for differences, a "
                                  "Jacobian saves them");
    return HB_OK;
}

hb_status hb_solve(hb_context *context, const hb_problem *problem,
                   const hb_solve_settings *settings, size_t n, const double *points,
                   hb_solution **out)
{
    HB_CHECK(context, problem && out, HB_ERROR_ARGUMENT, "the %s of hb_solve is NULL",
             problem ? "output" : "problem");
    hb_solve_plan plan;
    hb_solve_facts facts;
    const int dim = hb_problem_dim(problem);
    *out = NULL;
    HB_TRY(hb_solve_plan_read(context, problem, settings, &plan));
    plan.n_points = n;
    const int several = plan.n_times > 1, stationary = !several && plan.time == INFINITY;
    if (several) HB_TRY(hb_solve_check_times(context, &plan));
    HB_TRY((stationary ? hb_solve_check_stationary : hb_solve_check_problem)(context, problem,
                                                                             plan.time));
    HB_TRY(hb_solve_check_points(context, dim, n, points));
    double latest = plan.time;
    for (size_t k = 0; several && k < plan.n_times; k++) latest = fmax(latest, plan.times[k]);
    hb_solve_facts_read(problem, &plan, latest, &facts);
    HB_TRY(hb_method_check(context, &facts, &plan));
    HB_TRY(hb_solve_plan_check(context, &plan, dim));
    solve_note_span(context, problem, plan.time);
    hb_workspace work;
    HB_TRY(hb_solve_plan_transform(context, problem, &plan, &work));
    hb_solution *solution = NULL;
    hb_status status = hb_solution_create_times(
        context, several ? plan.n_times : 1, several ? plan.times : &plan.time, n, dim, &solution);
    if (status == HB_OK) status = solve_into(context, problem, &plan, points, solution);
    hb_workspace_destroy(&work);
    if (status != HB_OK) hb_solution_destroy(solution);
    *out = status == HB_OK ? solution : NULL;
    return status;
}
