/* Which method serves a problem: the one place that decides it, from the table of methods.c.
 *
 * A method that is requested by name is the first row of that name that serves the facts; where
 * none does, the refusal has the reason and the methods that do serve. auto takes the rows that
 * serve by rank. Rows of one rank that sample share the points. A row whose work fails for want of
 * memory or accuracy passes the problem on to the next rank, and so does a grid whose errors are
 * infinite where the next rank knows better: a closed form, or trajectories through a pulse in t,
 * or, at most of the points, under degenerate noise.
 *
 * A number to reproduce: "x - x^3" from N(0,1) is solved on the grid in 3 dimensions and by
 * sampling in 4. */
#include "base/context.h"
#include "problem/initial/initial_average.h"
#include "problem/line_balance.h"
#include "problem/problem_parts.h"
#include "problem/stationary_density.h"
#include "problem/time_cuts.h"
#include "problem/transform/transform.h"
#include "solve/solve_parts.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_WEAK = 64 };               /* points at which walks stand in for a grid */
static const double WEAK_ERROR = 0.05; /* of ln u, from which on they do */

/* ---- facts ---- */

void hb_solve_facts_read(const hb_problem *problem, const hb_solve_plan *plan, double time,
                         hb_solve_facts *out)
{
    const int stationary = isinf(time);
    *out = (hb_solve_facts){.asked = plan->method,
                            .time = stationary ? HB_TIME_STATIONARY
                                    : time > 0 ? HB_TIME_FINITE
                                               : HB_TIME_ZERO,
                            .dim = hb_problem_dim(problem),
                            .noise = hb_problem_noise_kind(problem),
                            .transformed = hb_problem_transform_of(problem) != NULL,
                            .autonomous = hb_problem_is_autonomous(problem) &&
                                          hb_problem_noise_is_constant(problem),
                            .linear = hb_problem_is_linear(problem),
                            .gradient_known = stationary && hb_stationary_is_known(problem),
                            .balance_known = stationary && hb_problem_has_balance(problem),
                            .point_start = hb_problem_initial_facts(problem)->point,
                            .start_moves = hb_initial_moves(problem),
                            .pulses = hb_problem_cuts(problem)->n > 0,
                            .own_paths = plan->sampling.paths != NULL,
                            .n_points = plan->n_points,
                            .broken = hb_problem_facts(problem)->n_breaks > 0 ||
                                      hb_problem_initial_facts(problem)->jumps ||
                                      hb_problem_initial_facts(problem)->box ||
                                      hb_problem_initial_facts(problem)->broken == 2};
}

/* ---- rows ---- */

static int choose_rank_in_auto(const hb_method_ops *row, const hb_solve_facts *facts)
{
    return row->rank_of ? row->rank_of(facts) : row->rank;
}

/* NULL: it serves. */
static const char *choose_reason_against(const hb_method_ops *row, const hb_solve_facts *facts)
{
    return row->serves ? row->serves(facts) : NULL;
}

static int has_name(const hb_method_ops *row, int asked)
{
    return asked == HB_METHOD_AUTO || row->info.method == asked || (row->stands_for >> asked & 1);
}

/* The first row of this name that serves; else NULL and the reason of the first that has the
 * name. */
static const hb_method_ops *choose_row_of(const hb_solve_facts *facts, int asked,
                                          const char **reason)
{
    hb_solve_facts own = *facts;
    own.asked = asked;
    *reason = NULL;
    for (const hb_method_ops *const *row = hb_methods; *row; row++) {
        if (!has_name(*row, asked) || !((*row)->times & (unsigned)facts->time)) continue;
        const char *why = choose_reason_against(*row, &own);
        if (!why && (asked != HB_METHOD_AUTO || choose_rank_in_auto(*row, &own) > 0)) return *row;
        if (!*reason) *reason = why;
    }
    if (!*reason) *reason = facts->time == HB_TIME_STATIONARY ? "time is inf" : "it has no answer";
    return NULL;
}

/* The least rank above this one among the rows that serve; 0: none. */
static int choose_next_rank(const hb_solve_facts *facts, int above)
{
    int least = INT_MAX;
    for (const hb_method_ops *const *row = hb_methods; *row; row++) {
        if (!((*row)->times & (unsigned)facts->time) || choose_reason_against(*row, facts))
            continue;
        const int rank = choose_rank_in_auto(*row, facts);
        if (rank > above && rank < least) least = rank;
    }
    return least < INT_MAX ? least : 0;
}

/* The rows of a rank, at most HB_MOST_RUNS; only rows that sample share one. */
static int choose_rows_of_rank(const hb_solve_facts *facts, int rank, const hb_method_ops **out)
{
    int n = 0;
    for (const hb_method_ops *const *row = hb_methods; *row && n < HB_MOST_RUNS; row++) {
        if (!((*row)->times & (unsigned)facts->time) || choose_reason_against(*row, facts))
            continue;
        if (choose_rank_in_auto(*row, facts) == rank && (n == 0 || (*row)->estimator))
            out[n++] = *row;
    }
    return n;
}

int hb_method_begins_on_grid(const hb_solve_facts *facts)
{
    const hb_method_ops *rows[HB_MOST_RUNS] = {NULL};
    const char *reason;
    if (facts->asked != HB_METHOD_AUTO) {
        const hb_method_ops *row = choose_row_of(facts, facts->asked, &reason);
        return row && row->info.method == HB_METHOD_GRID;
    }
    const int rank = choose_next_rank(facts, 0);
    return rank > 0 && choose_rows_of_rank(facts, rank, rows) > 0 &&
           rows[0]->info.method == HB_METHOD_GRID;
}

/* ---- refusals ---- */

/* "grid, walk or auto": the methods that serve, or that read a setting; from names[n]. */
static void choose_join_names(int n, const char *const *names, size_t size, char *out)
{
    size_t used = 0;
    out[0] = 0;
    for (int k = 0; k < n && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 k == 0       ? ""
                                 : k == n - 1 ? " or "
                                              : ", ",
                                 names[k]);
}

enum { MOST_NAMES = 16 };

static hb_status choose_refuse_problem(hb_context *context, const hb_solve_facts *facts,
                                       const char *why)
{
    const char *names[MOST_NAMES], *reason;
    char list[256];
    const hb_method_description *info;
    int n = 0;
    for (int k = 1; (info = hb_method_info(k)) && n < MOST_NAMES - 1; k++)
        if (info->method != facts->asked && choose_row_of(facts, info->method, &reason))
            names[n++] = info->name;
    if (choose_row_of(facts, HB_METHOD_AUTO, &reason)) names[n++] = "auto";
    choose_join_names(n, names, sizeof list, list);
    if (facts->asked == HB_METHOD_AUTO)
        return hb_fail(context, HB_ERROR_ARGUMENT, "no method serves this problem: %s%s%s", why,
                       n > 0 ? "; take " : "", list);
    return hb_fail(
        context, HB_ERROR_ARGUMENT, "the method %s does not serve this problem: %s; %s%s",
        hb_method_of(facts->asked)->name, why, n > 0 ? "take " : "no other method does", list);
}

static hb_status choose_refuse_setting(hb_context *context, const hb_solve_facts *facts,
                                       unsigned setting)
{
    const char *names[MOST_NAMES];
    char list[256];
    const hb_method_description *info;
    int n = 0;
    for (int k = 1; (info = hb_method_info(k)) && n < MOST_NAMES; k++)
        if (info->reads & setting) names[n++] = info->name;
    choose_join_names(n, names, sizeof list, list);
    return hb_fail(context, HB_ERROR_ARGUMENT,
                   "%s has no effect on the method %s; leave it out, or take %s",
                   hb_solve_setting_name(setting), hb_method_of(facts->asked)->name, list);
}

hb_status hb_method_check(hb_context *context, const hb_solve_facts *facts,
                          const hb_solve_plan *plan)
{
    const char *reason;
    HB_CHECK(context, hb_method_of(facts->asked), HB_ERROR_ARGUMENT,
             "method is %d; it must be one of hb_method", facts->asked);
    const unsigned unread =
        plan->ignore_unread ? 0 : plan->given & ~hb_method_of(facts->asked)->reads;
    if (unread) return choose_refuse_setting(context, facts, unread & -unread);
    return choose_row_of(facts, facts->asked, &reason)
               ? HB_OK
               : choose_refuse_problem(context, facts, reason);
}

/* ---- auto ---- */

static hb_status choose_run_rows(const hb_solve_task *task, int n, const hb_method_ops *const *rows,
                                 hb_solution *out)
{
    memset(out->error_kinds, 0, out->n * sizeof *out->error_kinds);
    HB_TRY(rows[0]->run ? rows[0]->run(task, out) : hb_solve_by_samples(task, n, rows, out));
    hb_solution_set_error_kind(out, rows[0]->errors);
    return HB_OK;
}

/* Why sampling comes first. */
static void choose_explain(const hb_solve_facts *facts, const hb_method_ops *first, size_t size,
                           char *out)
{
    out[0] = 0;
    if (facts->own_paths)
        snprintf(out, size, "particles, because paths are given");
    else if (facts->noise == HB_NOISE_MATRIX && !first->info.on_grid)
        snprintf(out, size, "%s, because the noise is a matrix",
                 first->info.method == HB_METHOD_WALK ? "walks" : "particles");
    else if (facts->dim > HB_MOST_GRID_DIM)
        snprintf(out, size, "sampling, because dim is %d and grids end at %d", facts->dim,
                 HB_MOST_GRID_DIM);
}

/* A grid without an error at a point, where walks know a closed form or samples follow a pulse in
 * t. */
static int choose_samples_are_better(const hb_solve_facts *facts, const hb_solution *out,
                                     size_t size, char *why)
{
    const int exact = facts->linear && facts->start_moves, matrix = facts->noise == HB_NOISE_MATRIX;
    size_t unknown = 0;
    if (!out->grid || facts->time != HB_TIME_FINITE || (!exact && !facts->pulses && !matrix))
        return 0;
    for (size_t i = 0; i < out->n; i++)
        unknown += isinf(out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i]);
    snprintf(why, size, "%s",
             exact    ? "walks, which are exact here and the grid does not know its errors"
             : matrix ? "particles, because the grid does not know most of its errors"
                      : "sampling, because a pulse in t is too narrow for the grid");
    return unknown > (matrix && !exact ? out->n / 2 : 0);
}

static void choose_drop_grid(hb_solution *out)
{
    hb_grid_destroy(out->grid);
    out->grid = NULL;
    hb_solution_drop_warnings(out);
}

/* Rows of the grid's solution whose errors guided walks may beat; 0: more than walks are for. */
static size_t choose_weak_rows(const hb_solution *out, size_t *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] <= WEAK_ERROR) continue;
        if (count == MOST_WEAK) return 0;
        rows[count++] = i;
    }
    return count;
}

/* Takes over row k of another solution. */
static void choose_take_row(const hb_solution *from, size_t k, hb_solution *out, size_t i)
{
    for (int c = 0; c < HB_N_COLUMNS; c++) {
        const size_t width = hb_column_width(c, out->dim);
        memcpy(out->columns[c] + i * width, from->columns[c] + k * width, width * sizeof(double));
    }
    out->samples[i] = from->samples[k];
    out->point_methods[i] = from->point_methods[k];
    out->error_kinds[i] = HB_ERRORS_STANDARD;
    hb_release(out->context, out->warnings[i]);
    out->warnings[i] = from->warnings[k];
    from->warnings[k] = NULL;
}

/* Guided walks at n rows; what they refuse stays with the grid. */
static hb_status choose_walk_rows(const hb_solve_task *task, const hb_method_ops *guided, size_t n,
                                  const size_t *rows, hb_solution *out)
{
    const size_t d = (size_t)out->dim;
    double points[MOST_WEAK * HB_MOST_GRID_DIM];
    hb_solve_task part = *task;
    hb_solution *walks;
    size_t taken = 0;
    for (size_t k = 0; k < n; k++)
        memcpy(points + k * d, task->points + rows[k] * d, d * sizeof *points);
    part.n = n, part.points = points, part.why = "", part.prepared = NULL;
    HB_TRY(hb_solution_create(task->context, n, out->dim, &walks));
    walks->tau = out->tau;
    const hb_status status = hb_solve_by_samples(&part, 1, &guided, walks);
    for (size_t k = 0; k < n && status == HB_OK; k++) {
        const int column = HB_COLUMN_LOG_DENSITY_ERROR;
        if (!(walks->columns[column][k] < out->columns[column][rows[k]])) continue;
        choose_take_row(walks, k, out, rows[k]);
        taken++;
    }
    if (taken > 0)
        hb_solution_add_note(out, "; guided walks at %zu point%s, where the grid is not accurate",
                             taken, taken == 1 ? "" : "s");
    hb_solution_destroy(walks);
    return status == HB_ERROR_INTERRUPTED ? status : HB_OK;
}

/* Where a grid's error is large, in tails or soon after a point, guided walks may know better. */
static hb_status choose_mend_grid(const hb_solve_task *task, hb_solution *out)
{
    const char *reason;
    size_t rows[MOST_WEAK];
    hb_solve_facts facts = *task->facts;
    const hb_method_ops *guided;
    if (!out->grid || facts.time != HB_TIME_FINITE || facts.noise != HB_NOISE_SCALAR ||
        task->settings->sampling.state)
        return HB_OK;
    facts.asked = HB_METHOD_GUIDED;
    guided = choose_row_of(&facts, HB_METHOD_GUIDED, &reason);
    const size_t n = guided ? choose_weak_rows(out, rows) : 0;
    return n > 0 ? choose_walk_rows(task, guided, n, rows, out) : HB_OK;
}

static hb_status choose_run_by_rank(const hb_solve_task *task, hb_solution *out)
{
    const hb_solve_facts *facts = task->facts;
    char why[HB_NOTE / 2];
    hb_solve_plan plan = *task->settings;
    hb_solve_task part = *task;
    const hb_method_ops *rows[HB_MOST_RUNS] = {NULL};
    const double start = hb_seconds(), limit = plan.sampling.max_time;
    part.settings = &plan;
    part.why = why;
    for (int rank = choose_next_rank(facts, 0), next = 0;; rank = next) {
        const int n = choose_rows_of_rank(facts, rank, rows), first = next == 0;
        if (n == 0) return choose_refuse_problem(task->context, facts, "it has no answer");
        next = choose_next_rank(facts, rank);
        if (first) choose_explain(facts, rows[0], sizeof why, why);
        /* Of a limited time a grid gets half where samples may follow, and they get what is
         * left. */
        if (rows[0]->info.on_grid && next > 0 && task->settings->grid.max_time == 0)
            plan.grid.max_time = limit / 2;
        const hb_status status = choose_run_rows(&part, n, rows, out);
        if (limit > 0) plan.sampling.max_time = fmax(start + limit - hb_seconds(), 1e-3);
        const int failed = status == HB_ERROR_MEMORY || status == HB_ERROR_NUMERICAL ||
                           (status == HB_ERROR_ARGUMENT && facts->noise == HB_NOISE_MATRIX &&
                            rows[0]->info.on_grid);
        if (next == 0 || (status != HB_OK && !failed)) return status;
        if (failed)
            snprintf(why, sizeof why, "sampling, because the %s refused (%s)", rows[0]->info.name,
                     hb_context_message(task->context));
        else if (!choose_samples_are_better(facts, out, sizeof why, why))
            return choose_mend_grid(&part, out);
        choose_drop_grid(out);
    }
}

/* A solution of one time keeps the guide of its walks, to be asked at other points. */
static void choose_keep_guide(const hb_solve_task *task, hb_solve_task *own, hb_solution *out)
{
    *own = *task;
    if (!out->work.memory || out->n_times != 1) return; /* the view of one time of several */
    own->prepared = &out->guide;
    out->solved = task->problem;
    out->sampling = task->settings->sampling;
    out->sampling.state = NULL;
    out->sampling.resume = 0;
    out->sampling.paths = NULL;
}

hb_status hb_method_choose(const hb_solve_task *asked, hb_solution *out)
{
    const char *reason;
    hb_solve_task own;
    const hb_solve_task *task = &own;
    choose_keep_guide(asked, &own, out);
    if (task->facts->asked == HB_METHOD_AUTO) return choose_run_by_rank(task, out);
    const hb_method_ops *row = choose_row_of(task->facts, task->facts->asked, &reason);
    if (!row) return choose_refuse_problem(task->context, task->facts, reason);
    return choose_run_rows(task, 1, &row, out);
}
