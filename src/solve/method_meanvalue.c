/* Averages over heat balls on the field of a grid, as a method; and residuals of that field.
 *
 * The grid is kept over the backward time that a heat ball spans, tau - r^2/(4 pi) to tau; at each
 * point the representation of estimate.h averages over that ball. The error is sqrt(e_average^2 +
 * e_grid^2): the average smooths the grid's error, it does not remove it.
 *
 * Ornstein-Uhlenbeck from N(0,1) with f = -x, g = sqrt(2) stays N(0,1): log-density at 0 is -ln(2
 * pi)/2 = -0.918939. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/drift_facts.h"
#include "problem/time_cuts.h"
#include "solve/solve_parts.h"
#include "solve/solve_transform.h"

#include <math.h>
#include <stdio.h>

/* Part of [0, tau] that is kept for balls whose radius is not given. */
static const double KEPT_PART = 0.5;
/* The field is kept a little longer than the ball needs, in units of its span. */
static const double SLACK = 0.05;
/* A stationary field does not change in time, and its drift neither: for averages over heat balls
 * any finite tau serves. */
static const double STATIONARY_TAU = 1e6;

/* ---- averages over heat balls on the grid's field ---- */

/* Solves on a grid that is kept from before the ball of this radius (0: chosen later) at tau. */
static hb_status meanvalue_solve_field(hb_context *context, const hb_problem *problem,
                                       const hb_solve_plan *settings, double tau, double radius,
                                       size_t n, const double *points, hb_grid **out)
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
    if (kept.max_time == 0) kept.max_time = settings->sampling.max_time;
    kept.keep_from =
        radius > 0 ? tau - span - fmin(SLACK * span, (tau - span) / 2)
                   : fmax((1 - KEPT_PART) * tau, hb_cuts_before(hb_problem_cuts(problem), tau));
    return hb_grid_solve(context, problem, &kept, n, points, settings->time, out);
}

static hb_status meanvalue_average_field(const hb_solve_task *task, const hb_solution *from_grid,
                                         double *radius, hb_solution *out)
{
    hb_field field;
    hb_grid_field(out->grid, &field);
    hb_mean_values means = {.size = sizeof means,
                            .u = out->columns[HB_COLUMN_DENSITY],
                            .u_se = out->columns[HB_COLUMN_DENSITY_ERROR],
                            .v = out->columns[HB_COLUMN_LOG_DENSITY],
                            .v_se = out->columns[HB_COLUMN_LOG_DENSITY_ERROR],
                            .w = out->columns[HB_COLUMN_ENTROPY_DENSITY],
                            .w_se = out->columns[HB_COLUMN_ENTROPY_DENSITY_ERROR],
                            .score = out->columns[HB_COLUMN_SCORE],
                            .score_se = out->columns[HB_COLUMN_SCORE_ERROR],
                            .radius = radius};
    HB_TRY(hb_mean_value(task->context, task->problem, &field, &task->settings->mean, out->n,
                         task->points, out->tau, &means));
    for (int c = HB_COLUMN_DENSITY_ERROR; c < HB_N_COLUMNS; c += 2)
        for (size_t i = 0; i < out->n * hb_column_width(c, out->dim); i++)
            out->columns[c][i] = hypot(out->columns[c][i], from_grid->columns[c][i]);
    return HB_OK;
}

/* ---- what averages over a ball cannot see ---- */

typedef enum ball_trouble { BALL_FINE, BALL_JUMP, BALL_KINK, BALL_NARROW } ball_trouble;

static const char *const BALL_TROUBLES[] = {
    [BALL_JUMP] = "the drift jumps inside the heat ball, where its divergence has a part that "
                  "averages do not see; the method grid answers",
    [BALL_KINK] =
        "the drift has a kink inside the heat ball, which cubature does not follow; draws "
        "(without degree) and the method grid answer",
    [BALL_NARROW] = "the drift varies within a small part of the heat ball, which averages may "
                    "miss; the method grid answers"};

/* The box around the heat ball of this radius at x: its widest section has the radius
 * r sqrt(n/(2 pi e)) in n = d + lift dimensions. */
static void meanvalue_ball_box(int dim, int lift, double radius, const double *x, hb_interval *box)
{
    const double reach = radius * sqrt((dim + lift) / (2 * M_PI * M_E));
    for (int a = 0; a < dim; a++) box[a] = (hb_interval){x[a] - reach, x[a] + reach};
}

/* One dimension: whether F may leave the hull of its values at three points of a NARROW-th of the
 * ball by far more than their width. */
static hb_status meanvalue_drift_is_narrow(hb_context *context, const hb_problem *problem,
                                           const hb_interval *box, hb_interval tau, int *yes)
{
    enum { NARROW = 256 };
    const double step = (box->high - box->low) / NARROW;
    for (int k = 0; k < NARROW && !*yes; k++) {
        const hb_interval part = {box->low + k * step, box->low + (k + 1) * step};
        const double x[3] = {part.low, 0.5 * (part.low + part.high), part.high};
        const double times[3] = {tau.high, tau.high, tau.high};
        hb_interval range;
        double F[3];
        HB_TRY(hb_problem_ranges(context, problem, &part, tau, &range, NULL));
        HB_TRY(hb_problem_drift_each(context, problem, 3, x, times, F, NULL, NULL, NULL));
        const double low = fmin(F[0], fmin(F[1], F[2])), high = fmax(F[0], fmax(F[1], F[2]));
        const double excess = fmax(low - range.low, range.high - high);
        *yes = excess * step > 0.05 && excess > 8 * (high - low);
    }
    return HB_OK;
}

/* What the drift does in the heat ball of a point that averages of a bounded source do not hold. */
static hb_status meanvalue_find_trouble(hb_context *context, const hb_problem *problem,
                                        const hb_mean_settings *settings, double tau, double radius,
                                        const double *x, ball_trouble *out)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    const hb_interval times = {fmax(tau - radius * radius / (4 * M_PI), 0), tau};
    hb_interval box[HB_MOST_GRID_DIM] = {{0, 0}};
    int narrow = 0;
    *out = BALL_FINE;
    if (!facts->is_formula) return HB_OK;
    meanvalue_ball_box(hb_problem_dim(problem), settings->lift, radius, x, box);
    hb_interval *arguments; // (n_breaks)
    HB_TRY(HB_NEW(context, arguments, (size_t)facts->n_breaks + 1));
    hb_status status = hb_problem_ranges(context, problem, box, times, NULL, arguments);
    for (int k = 0; k < facts->n_breaks && status == HB_OK; k++) {
        if (arguments[k].low > 0 || arguments[k].high < 0) continue;
        if (facts->breaks[k].kind != HB_BREAK_KINK)
            *out = BALL_JUMP;
        else if (settings->degree > 0 && *out == BALL_FINE)
            *out = BALL_KINK;
    }
    hb_release(context, arguments);
    if (status == HB_OK && *out == BALL_FINE && hb_problem_dim(problem) == 1)
        status = meanvalue_drift_is_narrow(context, problem, box, times, &narrow);
    if (narrow) *out = BALL_NARROW;
    return status;
}

/* Infinite errors, with the reason, where the ball of a point holds what averages cannot see. */
static hb_status meanvalue_flag_averages(const hb_solve_task *task, const double *radius,
                                         hb_solution *out)
{
    for (size_t i = 0; i < out->n; i++) {
        ball_trouble trouble;
        HB_TRY(meanvalue_find_trouble(task->context, task->problem, &task->settings->mean, out->tau,
                                      radius[i], task->points + i * (size_t)out->dim, &trouble));
        if (trouble != BALL_FINE) HB_TRY(hb_solution_flag(out, i, BALL_TROUBLES[trouble]));
    }
    return HB_OK;
}

static void meanvalue_note_average(const hb_mean_settings *settings, const double *radius,
                                   hb_solution *out)
{
    double low = radius[0], high = radius[0];
    for (size_t i = 1; i < out->n; i++) {
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
    hb_solve_note_grid(out->grid, opening, out->note, sizeof out->note);
}

static hb_status meanvalue_run(const hb_solve_task *task, hb_solution *out)
{
    hb_context *context = task->context;
    const hb_mean_settings *mean = &task->settings->mean;
    hb_solution *from_grid = NULL;
    void *memory = NULL;
    const int stationary = isinf(task->time);
    if (stationary) out->tau = STATIONARY_TAU;
    HB_TRY(meanvalue_solve_field(context, task->problem, task->settings, out->tau, mean->radius,
                                 out->n, task->points, &out->grid));
    HB_TRY(hb_solution_create(context, out->n, out->dim, &from_grid));
    hb_status status = hb_allocate(context, out->n, sizeof(double), &memory);
    if (status != HB_OK) goto done;
    from_grid->tau = out->tau;
    status = hb_solve_evaluate_grid(context, out->grid, task->points, from_grid);
    if (status != HB_OK) goto done;
    status = meanvalue_average_field(task, from_grid, memory, out);
    if (status == HB_OK) status = meanvalue_flag_averages(task, memory, out);
    if (status == HB_OK) meanvalue_note_average(mean, memory, out);
    out->method = "meanvalue";
    if (mean->degree > 0) hb_solution_set_error_kind(out, HB_ERRORS_ESTIMATE);
    if (stationary) out->tau = INFINITY;
done:
    hb_release(context, memory);
    hb_solution_destroy(from_grid);
    return status;
}

static const char *meanvalue_serves(const hb_solve_facts *facts)
{
    if (facts->noise == HB_NOISE_FIELD) return HB_REASON_FIELD;
    if (facts->noise == HB_NOISE_MATRIX)
        return "the noise is a matrix that no change of coordinates makes a number, and there are "
               "no heat balls for it";
    return facts->dim > HB_MOST_GRID_DIM ? HB_REASON_DIM : NULL;
}

const hb_method_ops hb_method_meanvalue = {
    .info = {.name = "meanvalue",
             .summary = "averages over heat balls on the solution of the grid; dimension 1 to 3",
             .method = HB_METHOD_MEANVALUE,
             .reads = HB_SOLVE_SETTING_POINTS | HB_SOLVE_SETTING_BOX | HB_SOLVE_SETTING_DEGREE |
                      HB_SOLVE_SETTING_SAMPLES | HB_SOLVE_SETTING_LIFT | HB_SOLVE_SETTING_RADIUS |
                      HB_SOLVE_SETTING_MAX_TIME,
             .on_grid = 1},
    .times = HB_TIME_POSITIVE,
    .errors = HB_ERRORS_STANDARD,
    .serves = meanvalue_serves,
    .run = meanvalue_run};

/* ---- residuals ---- */

/* At points in the coordinates of the problem's transform. */
static hb_status meanvalue_residual_in_transform(hb_context *context, const hb_problem *problem,
                                                 const hb_solve_plan *plan, size_t n, int n_radii,
                                                 const double *points, const double *radii,
                                                 hb_residual_values *out)
{
    double largest = 0;
    for (int k = 0; k < n_radii; k++) largest = fmax(largest, radii[k]);
    double tau = STATIONARY_TAU;
    if (isfinite(plan->time)) HB_TRY(hb_problem_tau_of_t(context, problem, plan->time, &tau));
    for (size_t i = 0; i < n; i++) {
        ball_trouble trouble;
        HB_TRY(meanvalue_find_trouble(context, problem, &plan->mean, tau, largest,
                                      points + i * (size_t)hb_problem_dim(problem), &trouble));
        HB_CHECK(context, trouble != BALL_JUMP, HB_ERROR_ARGUMENT,
                 "the drift jumps inside the heat ball of radius %g at point %zu; the mean-value "
                 "formula has a part there that averages do not see",
                 largest, i + 1);
    }
    hb_grid *grid;
    HB_TRY(meanvalue_solve_field(context, problem, plan, tau, largest, n, points, &grid));
    hb_field field;
    hb_grid_field(grid, &field);
    hb_status status = hb_mean_residual(context, problem, &field, &plan->mean, n, n_radii, points,
                                        tau, radii, out);
    hb_grid_destroy(grid);
    return status;
}

hb_status hb_solve_residual(hb_context *context, const hb_problem *problem,
                            const hb_solve_settings *settings, size_t n, int n_radii,
                            const double *points, const double *radii, hb_residual_values *out)
{
    HB_CHECK(context, problem && (radii || n_radii < 1), HB_ERROR_ARGUMENT,
             "the problem or the radii of hb_solve_residual are NULL");
    hb_solve_plan plan;
    hb_solve_facts facts;
    HB_TRY(hb_solve_plan_read(context, problem, settings, &plan));
    const double time = plan.time;
    HB_TRY((time == INFINITY ? hb_solve_check_stationary : hb_solve_check_problem)(context, problem,
                                                                                   time));
    plan.method = HB_METHOD_MEANVALUE;
    plan.ignore_unread = 1;
    hb_solve_facts_read(problem, &plan, time, &facts);
    HB_TRY(hb_method_check(context, &facts, &plan));
    HB_CHECK(context, time > 0, HB_ERROR_ARGUMENT,
             "time is 0; a residual needs a time above 0, since its balls reach back");
    HB_TRY(hb_solve_check_points(context, hb_problem_dim(problem), n, points));
    HB_CHECK(context, n_radii >= 1, HB_ERROR_ARGUMENT, "there is no radius; give at least one");
    for (int k = 0; k < n_radii; k++)
        HB_CHECK(context, radii[k] > 0 && isfinite(radii[k]), HB_ERROR_ARGUMENT,
                 "radius %d is %g; it must be a number above 0", k + 1, radii[k]);
    hb_workspace work;
    hb_transformed_points transformed;
    HB_TRY(hb_solve_plan_transform(context, problem, &plan, &work));
    hb_status status =
        hb_solve_enter_transform(context, problem, 1, &time, n, points, &transformed);
    for (size_t i = 0; i < n && status == HB_OK && transformed.outside; i++)
        if (transformed.outside[i])
            status = hb_fail(context, HB_ERROR_ARGUMENT,
                             "point %zu is outside of the domain of the process, where the noise "
                             "vanishes",
                             i + 1);
    if (status == HB_OK)
        status = meanvalue_residual_in_transform(context, problem, &plan, n, n_radii, transformed.y,
                                                 radii, out);
    hb_transformed_points_destroy(&transformed);
    hb_workspace_destroy(&work);
    return status;
}
