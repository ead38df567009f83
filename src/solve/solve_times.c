/* Several times in one solve.
 *
 *     t = 0              the initial density
 *     grid               one integration that keeps its fields at all times, with errors. A
 *                        time that it does not resolve, or that is early and has an error of ln u
 *                        above WEAK, gets a grid that ends there; the better one is kept
 *     other methods      time by time with the same seed: bit-identical to each time alone
 *
 * Where auto finds no grid, the times that are left are solved one by one. Of max_time each time
 * gets an equal part, the grid all of it, for auto half.
 *
 * Must reproduce: dx = -x dt + sqrt(2) dW from N(0,1) stays N(0,1): ln u(0) = -0.918939 at every
 * time. */
#include "base/context.h"
#include "base/memory.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GRIDS = 4 };
static const double WEAK = 1e-3; /* an error of ln u that a grid of its own may better, */
static const double EARLY = 0.5; /* at a tau of this part of the end */

typedef struct time_place {
    double time, tau;
    size_t index; /* in the order of the user */
} time_place;

typedef struct times_run {
    const hb_solve_task *task;
    hb_solution *out, *views; // (n_times)
    time_place *left;         // (n_left), rising: still to be solved
    size_t n_left;
    time_place *retry; // (n_times): for the next grid
    double *keep;      // (n_times)
    double *points;    // (n_times, n, dim): what the grids must hold
    int grids;         /* solved so far */
    hb_grid *solved[MOST_GRIDS];
    char note[HB_NOTE / 2];
    hb_workspace work;
} times_run;

static int by_time(const void *a, const void *b)
{
    const time_place *p = a, *q = b;
    if (p->tau != q->tau) return p->tau < q->tau ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

static const double *points_of(const hb_solve_task *task, size_t index)
{
    return task->points + index * task->stride;
}

/* ---- on grids ---- */

static double times_worst_error(const hb_solution *view)
{
    double worst = 0;
    for (size_t i = 0; i < view->n; i++)
        worst = fmax(worst, view->columns[HB_COLUMN_LOG_DENSITY_ERROR][i]);
    return worst;
}

static hb_status times_evaluate(times_run *r, const time_place *place, const hb_grid *grid)
{
    hb_solution *view = &r->views[place->index];
    hb_solution_drop_warnings(view);
    view->method = "grid";
    hb_solution_set_error_kind(view, HB_ERRORS_ESTIMATE);
    return hb_solve_evaluate_grid(r->task->context, grid, points_of(r->task, place->index), view);
}

/* The values of a time from a new grid, unless an earlier one was better. */
static hb_status times_take_values(times_run *r, const time_place *place, hb_grid *grid)
{
    hb_solution *view = &r->views[place->index];
    hb_grid *before = r->out->grids[place->index];
    const double had = before ? times_worst_error(view) : INFINITY;
    HB_TRY(times_evaluate(r, place, grid));
    if (before && times_worst_error(view) > had) return times_evaluate(r, place, before);
    r->out->grids[place->index] = grid;
    return HB_OK;
}

/* Whether any time has its values from this grid. */
static int times_use_grid(const hb_solution *out, const hb_grid *grid)
{
    for (size_t k = 0; k < out->n_times; k++)
        if (out->grids[k] == grid) return 1;
    return 0;
}

/* One grid for left[first] .. left[last - 1], whose end is the last of them. */
static hb_status times_solve_group(times_run *r, size_t first, size_t last, double max_time,
                                   hb_grid **out)
{
    const hb_solve_task *task = r->task;
    const size_t size = r->out->n * (size_t)r->out->dim;
    const double end = r->left[last - 1].tau;
    hb_grid_settings settings = task->settings->grid;
    size_t n_at = 0;
    settings.n_keep = 0;
    settings.keep = r->keep;
    settings.max_time = max_time;
    for (size_t k = first; k < last; k++) {
        const double tau = r->left[k].tau;
        const int again = settings.n_keep > 0 && r->keep[settings.n_keep - 1] == tau;
        if (tau < end && !again) r->keep[settings.n_keep++] = tau;
        if (task->stride == 0 && n_at > 0) continue; /* the same points at every time */
        memcpy(r->points + n_at * size, points_of(task, r->left[k].index), size * sizeof(double));
        n_at++;
    }
    return hb_grid_solve(task->context, task->problem, &settings, n_at * r->out->n, r->points,
                         r->left[last - 1].time, out);
}

/* A grid that does not fit serves fewer times, the latest ones. */
static hb_status times_solve_group_that_fits(times_run *r, double max_time, size_t *first,
                                             hb_grid **out)
{
    for (*first = 0;; *first = (*first + r->n_left + 1) / 2) {
        const hb_status status = times_solve_group(r, *first, r->n_left, max_time, out);
        if (status != HB_ERROR_MEMORY || r->n_left - *first <= 1) return status;
    }
}

/* The values of a group; what this grid does not serve well stays in `left` for the next one. */
static hb_status times_serve_group(times_run *r, size_t first, hb_grid *grid)
{
    const double end = r->left[r->n_left - 1].tau;
    hb_grid_info info;
    size_t n = first; /* those before were not in the group */
    HB_TRY(hb_grid_info_get(grid, sizeof info, &info));
    memcpy(r->retry, r->left, first * sizeof *r->left);
    for (size_t k = first; k < r->n_left; k++) {
        const time_place *place = &r->left[k];
        const int resolved = place->tau >= info.kept_from;
        if (resolved) HB_TRY(times_take_values(r, place, grid));
        const int good = resolved && times_worst_error(&r->views[place->index]) <= WEAK;
        const int early = place->tau <= EARLY * end; /* so that its own box is much smaller */
        if (!resolved || (early && !good)) r->retry[n++] = *place;
    }
    memcpy(r->left, r->retry, n * sizeof *r->left);
    r->n_left = n;
    return HB_OK;
}

/* Times whose values are there already need no better ones. */
static void times_drop_answered(times_run *r)
{
    size_t n = 0;
    for (size_t k = 0; k < r->n_left; k++)
        if (!r->out->grids[r->left[k].index]) r->left[n++] = r->left[k];
    r->n_left = n;
}

static void times_note_first(times_run *r, size_t n, const hb_grid *grid)
{
    char opening[160];
    snprintf(opening, sizeof opening, "Fokker-Planck on a grid%s, integrated once for %zu times",
             r->task->settings->method == HB_METHOD_AUTO ? ", chosen because dim is at most 3" : "",
             n);
    hb_solve_note_grid(grid, opening, r->note, sizeof r->note);
}

static hb_status times_solve_on_grids(times_run *r, double max_time)
{
    const double start = hb_seconds();
    while (r->n_left > 0 && r->grids < MOST_GRIDS) {
        hb_grid *grid;
        size_t first;
        const double time = max_time > 0 ? fmax(start + max_time - hb_seconds(), 1e-3) : 0;
        const hb_status status = times_solve_group_that_fits(r, time, &first, &grid);
        if (status != HB_OK) {
            const int refused = status == HB_ERROR_NUMERICAL || status == HB_ERROR_MEMORY;
            times_drop_answered(r);
            return r->n_left > 0 || !refused ? status : HB_OK; /* nothing better, but an answer */
        }
        if (r->grids == 0) times_note_first(r, r->n_left - first, grid);
        r->solved[r->grids++] = grid;
        HB_TRY(times_serve_group(r, first, grid));
    }
    times_drop_answered(r);
    return HB_OK;
}

static hb_status times_by_grids(times_run *r)
{
    const hb_solve_plan *plan = r->task->settings;
    const double limit = plan->grid.max_time > 0 ? plan->grid.max_time : plan->sampling.max_time;
    const int may_fail = plan->method == HB_METHOD_AUTO;
    const hb_status status = times_solve_on_grids(r, may_fail ? limit / 2 : limit);
    for (int k = 0; k < r->grids; k++)
        if (!times_use_grid(r->out, r->solved[k])) hb_grid_destroy(r->solved[k]);
    if (may_fail && (status == HB_ERROR_MEMORY || status == HB_ERROR_NUMERICAL ||
                     status == HB_ERROR_ARGUMENT)) /* which the times one by one repeat */
        return HB_OK;
    return status;
}

/* ---- time by time ---- */

static hb_status times_one_by_one(times_run *r, size_t of)
{
    hb_solve_plan plan = *r->task->settings;
    plan.sampling.max_time /= (double)(of > 0 ? of : 1);
    for (size_t k = 0; k < r->n_left; k++) {
        const time_place *place = &r->left[k];
        hb_solution *view = &r->views[place->index];
        hb_solve_task task = *r->task;
        task.settings = &plan;
        task.time = plan.time = place->time;
        task.points = points_of(r->task, place->index);
        const hb_status status = hb_solve_at_time(&task, view);
        r->out->grids[place->index] = view->grid; /* owned by the whole */
        HB_TRY(status);
    }
    return HB_OK;
}

/* ---- what was done ---- */

/* The method of times above 0. */
static const char *times_common_method(const times_run *r)
{
    const char *method = NULL;
    for (size_t k = 0; k < r->out->n_times; k++) {
        const char *own = r->views[k].method;
        if (strcmp(own, "initial") == 0) continue;
        if (method && strcmp(method, own) != 0) return "several";
        method = own;
    }
    return method ? method : "initial";
}

static void times_write_note(times_run *r)
{
    hb_solution *out = r->out;
    size_t initial = 0;
    for (size_t k = 0; k < out->n_times; k++) initial += out->times[k] == 0;
    snprintf(out->note, sizeof out->note, "%s", r->note);
    if (r->grids > 1)
        hb_solution_add_note(out,
                             "; %d more grid%s for early times that it does not resolve as well",
                             r->grids - 1, r->grids > 2 ? "s" : "");
    if (r->n_left > 0) {
        const hb_solution *last = &r->views[r->left[r->n_left - 1].index];
        hb_solution_add_note(out, "%s%zu time%s, each by itself; at time %.6g: %.800s",
                             out->note[0] ? "; " : "", r->n_left, r->n_left > 1 ? "s" : "",
                             last->times[0], last->note);
    }
    if (initial > 0)
        hb_solution_add_note(out, "%sat time 0 the initial density itself",
                             out->note[0] ? "; " : "");
    out->method = times_common_method(r);
    for (size_t row = 0; row < out->n_times * out->n; row++)
        if (!out->point_methods[row]) out->point_methods[row] = r->views[row / out->n].method;
}

/* ---- all of it ---- */

static hb_status times_prepare(times_run *r)
{
    hb_solution *out = r->out;
    const size_t m = out->n_times, n_points = r->task->stride ? m : 1;
    HB_TRY(HB_WORKSPACE(r->task->context, &r->work, HB_ARRAY(r->views, m), HB_ARRAY(r->left, m),
                        HB_ARRAY(r->retry, m), HB_ARRAY(r->keep, m),
                        HB_ARRAY(r->points, n_points * out->n * (size_t)out->dim)));
    for (size_t k = 0; k < m; k++) {
        HB_TRY(
            hb_problem_tau_of_t(r->task->context, r->task->problem, out->times[k], &out->taus[k]));
        r->views[k] = hb_solution_view(out, k);
        if (out->times[k] == 0) continue;
        r->left[r->n_left++] = (time_place){out->times[k], out->taus[k], k};
    }
    qsort(r->left, r->n_left, sizeof *r->left, by_time);
    out->tau = out->taus[m - 1];
    return HB_OK;
}

static hb_status times_solve(times_run *r)
{
    hb_solve_facts facts;
    HB_TRY(times_prepare(r));
    const size_t later = r->n_left;
    for (size_t k = 0; k < r->out->n_times; k++) {
        hb_solve_task task = *r->task;
        task.time = 0;
        task.points = points_of(r->task, k);
        if (r->out->times[k] == 0) HB_TRY(hb_solve_at_time(&task, &r->views[k]));
    }
    /* A grid that grows from a point is made for one end. */
    if (later > 0) {
        hb_solve_facts_read(r->task->problem, r->task->settings, r->left[later - 1].time, &facts);
        if (!facts.point_start && hb_method_begins_on_grid(&facts)) HB_TRY(times_by_grids(r));
    }
    HB_TRY(times_one_by_one(r, later));
    times_write_note(r);
    return HB_OK;
}

hb_status hb_solve_at_times(const hb_solve_task *task, hb_solution *out)
{
    times_run r = {.task = task, .out = out};
    const hb_status status = times_solve(&r);
    out->grid = out->grids[out->n_times - 1];
    hb_workspace_destroy(&r.work);
    return status;
}

hb_status hb_solve_check_times(hb_context *context, const hb_solve_plan *plan)
{
    for (size_t k = 0; k < plan->n_times; k++)
        HB_CHECK(context, plan->times[k] >= 0 && isfinite(plan->times[k]), HB_ERROR_ARGUMENT,
                 isinf(plan->times[k]) && plan->times[k] > 0
                     ? "time %zu is %g; it must be the only time"
                     : "time %zu is %g; it must be a number of at least 0",
                 k + 1, plan->times[k]);
    HB_CHECK(context, !plan->sampling.state, HB_ERROR_ARGUMENT,
             "a state file keeps the sampling of one time and %zu are requested; leave one of them "
             "out",
             plan->n_times);
    HB_CHECK(context, !plan->sampling.paths, HB_ERROR_ARGUMENT,
             "paths end at one time and %zu are requested; give that time alone", plan->n_times);
    return HB_OK;
}
