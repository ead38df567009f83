/* A solution: eight columns over times and points in one block, the method, a note on what was
 * chosen, and for each point its own method, its samples and a warning.
 *
 * Columns are density u, log-density v = ln u, score grad v and entropy density w = u ln u, each
 * followed by its error. For a standard normal at x = 0 in one dimension: u = 0.398942, v =
 * -0.918939, w = -0.366603. */
#include "solve/solution.h"
#include "base/context.h"
#include "base/memory.h"
#include "guide/guide.h"
#include "solve/solve_parts.h"
#include "solve/solve_transform.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t hb_column_width(int column, int dim)
{
    return column == HB_COLUMN_SCORE || column == HB_COLUMN_SCORE_ERROR ? (size_t)dim : 1;
}

static hb_status solution_allocate(hb_solution *s)
{
    const size_t rows = s->n_times * s->n;
    hb_array arrays[HB_N_COLUMNS + 7] = {
        HB_ARRAY(s->samples, rows),    HB_ARRAY(s->point_methods, rows),
        HB_ARRAY(s->warnings, rows),   HB_ARRAY(s->times, s->n_times),
        HB_ARRAY(s->taus, s->n_times), HB_ARRAY(s->grids, s->n_times),
        HB_ARRAY(s->error_kinds, rows)};
    for (int c = 0; c < HB_N_COLUMNS; c++)
        arrays[7 + c] = (hb_array)HB_ARRAY(s->columns[c], rows * hb_column_width(c, s->dim));
    HB_TRY(hb_workspace_carve(s->context, HB_N_COLUMNS + 7, arrays, &s->work));
    memset(s->work.memory, 0, s->work.size);
    return HB_OK;
}

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out)
{
    const double unknown = NAN; /* hb_solve sets it */
    return hb_solution_create_times(context, 1, &unknown, n, dim, out);
}

hb_status hb_solution_create_times(hb_context *context, size_t n_times, const double *times,
                                   size_t n, int dim, hb_solution **out)
{
    *out = NULL;
    hb_solution *solution;
    HB_TRY(HB_NEW(context, solution, 1));
    *solution =
        (hb_solution){.context = context, .n = n, .dim = dim, .n_times = n_times, .method = ""};
    const hb_status status = solution_allocate(solution);
    if (status == HB_OK) memcpy(solution->times, times, n_times * sizeof *times);
    if (status != HB_OK) hb_solution_destroy(solution);
    *out = status == HB_OK ? solution : NULL;
    return status;
}

void hb_solution_destroy(hb_solution *solution)
{
    if (!solution) return;
    if (solution->warnings) hb_solution_drop_warnings(solution);
    for (size_t k = 0; solution->grids && k < solution->n_times; k++) {
        hb_grid *grid = solution->grids[k];
        for (size_t j = k; j < solution->n_times; j++)
            if (solution->grids[j] == grid) solution->grids[j] = NULL;
        if (grid != solution->grid) hb_grid_destroy(grid);
    }
    hb_grid_destroy(solution->grid);
    hb_guide_destroy(solution->guide);
    hb_workspace_destroy(&solution->work);
    hb_release(solution->context, solution);
}

hb_solution hb_solution_view(const hb_solution *solution, size_t time_index)
{
    const size_t first = time_index * solution->n;
    hb_solution view = {.context = solution->context,
                        .n = solution->n,
                        .dim = solution->dim,
                        .tau = solution->taus[time_index],
                        .n_times = 1,
                        .times = solution->times + time_index,
                        .taus = solution->taus + time_index,
                        .method = "",
                        .point_methods = solution->point_methods + first,
                        .error_kinds = solution->error_kinds + first,
                        .samples = solution->samples + first,
                        .warnings = solution->warnings + first};
    for (int c = 0; c < HB_N_COLUMNS; c++)
        view.columns[c] = solution->columns[c] + first * hb_column_width(c, solution->dim);
    return view;
}

/* Every second column: values from 0 on, errors from 1 on. */
static void solution_set_columns(hb_solution *s, size_t row, int first, double value)
{
    for (int c = first; c < HB_N_COLUMNS; c += 2) {
        const size_t width = hb_column_width(c, s->dim);
        for (size_t k = row * width; k < (row + 1) * width; k++) s->columns[c][k] = value;
    }
}

void hb_solution_set_row(hb_solution *solution, size_t row, double value, double error)
{
    solution_set_columns(solution, row, HB_COLUMN_DENSITY, value);
    solution_set_columns(solution, row, HB_COLUMN_DENSITY_ERROR, error);
}

void hb_solution_set_error_kind(hb_solution *solution, const char *kind)
{
    for (size_t i = 0; i < solution->n_times * solution->n; i++)
        if (!solution->error_kinds[i]) solution->error_kinds[i] = kind;
}

hb_status hb_solution_flag(hb_solution *solution, size_t row, const char *reason)
{
    solution_set_columns(solution, row, HB_COLUMN_DENSITY_ERROR, INFINITY);
    return hb_solution_warn(solution, row, "%s", reason);
}

static int solution_contradicts(double density, double log_density)
{
    if (density > 0) return !(fabs(log(density) - log_density) <= 1);
    return !(density == 0 && log_density < log(DBL_MIN));
}

void hb_solution_finish(hb_solution *s)
{
    double *u = s->columns[HB_COLUMN_DENSITY];
    for (size_t i = 0; i < s->n_times * s->n; i++) {
        if (u[i] == 0) u[i] = 0; /* of either sign */
        if (isfinite(s->columns[HB_COLUMN_DENSITY_ERROR][i]) ||
            !solution_contradicts(u[i], s->columns[HB_COLUMN_LOG_DENSITY][i]))
            continue;
        hb_solution_set_row(s, i, NAN, INFINITY);
    }
}

hb_status hb_solution_warn(hb_solution *solution, size_t row, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hb_release(solution->context, solution->warnings[row]);
    solution->warnings[row] = NULL;
    return hb_copy_string(solution->context, text, &solution->warnings[row]);
}

void hb_solution_drop_warnings(hb_solution *solution)
{
    for (size_t i = 0; i < solution->n_times * solution->n; i++) {
        hb_release(solution->context, solution->warnings[i]);
        solution->warnings[i] = NULL;
    }
}

void hb_solution_add_note(hb_solution *solution, const char *format, ...)
{
    const size_t used = strlen(solution->note);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(solution->note + used, sizeof solution->note - used, format, arguments);
    va_end(arguments);
}

size_t hb_solution_size(const hb_solution *solution)
{
    return solution ? solution->n : 0;
}

int hb_solution_dim(const hb_solution *solution)
{
    return solution ? solution->dim : 0;
}

double hb_solution_tau(const hb_solution *solution)
{
    return solution ? solution->tau : 0;
}

size_t hb_solution_n_times(const hb_solution *solution)
{
    return solution ? solution->n_times : 0;
}

double hb_solution_time(const hb_solution *solution, size_t index)
{
    return solution && index < solution->n_times ? solution->times[index] : NAN;
}

double hb_solution_time_tau(const hb_solution *solution, size_t index)
{
    if (!solution || index >= solution->n_times) return NAN;
    return solution->n_times == 1 ? solution->tau : solution->taus[index];
}

const char *hb_solution_method(const hb_solution *solution)
{
    return solution ? solution->method : "";
}

const char *hb_solution_unread(const hb_solution *solution)
{
    return solution ? solution->unread : NULL;
}

const char *hb_solution_note(const hb_solution *solution)
{
    return solution ? solution->note : "";
}

const char *hb_solution_point_method(const hb_solution *solution, size_t row)
{
    if (!solution || row >= solution->n_times * solution->n) return NULL;
    const char *own = solution->point_methods[row];
    return own ? own : solution->method;
}

const char *hb_solution_error_kind(const hb_solution *solution, size_t row)
{
    return solution && row < solution->n_times * solution->n ? solution->error_kinds[row] : NULL;
}

const char *hb_solution_warning(const hb_solution *solution, size_t row)
{
    return solution && row < solution->n_times * solution->n ? solution->warnings[row] : NULL;
}

uint64_t hb_solution_samples(const hb_solution *solution, size_t row)
{
    return solution && row < solution->n_times * solution->n ? solution->samples[row] : 0;
}

const hb_grid *hb_solution_grid(const hb_solution *solution)
{
    return solution ? solution->grid : NULL;
}

/* The grid of one time; NULL: none. */
static const hb_grid *grid_of(const hb_solution *solution, size_t index)
{
    if (!solution || index >= solution->n_times) return NULL;
    return solution->n_times == 1 ? solution->grid : solution->grids[index];
}

hb_status hb_solution_evaluate(hb_context *context, const hb_solution *solution, size_t time_index,
                               size_t n, const double *points, double *log_density,
                               double *log_density_error, double *score, double *score_error)
{
    const hb_grid *grid = grid_of(solution, time_index);
    if (!grid && solution && solution->guide && time_index == 0)
        return hb_solve_evaluate_guided(context, solution, n, points, log_density,
                                        log_density_error, score, score_error);
    HB_CHECK(context, grid, HB_ERROR_ARGUMENT,
             "the solution has no field at time %zu; the methods grid, meanvalue and, of one time, "
             "guided leave one",
             time_index);
    if (solution->problem)
        return hb_transform_evaluate_grid(context, solution->problem, grid,
                                          hb_solution_time(solution, time_index),
                                          hb_solution_time_tau(solution, time_index), n, points,
                                          log_density, log_density_error, score, score_error);
    return hb_grid_evaluate(context, grid, n, points, hb_solution_time_tau(solution, time_index),
                            log_density, log_density_error, score, score_error);
}

hb_status hb_solution_box(const hb_solution *solution, size_t time_index, double *low, double *high)
{
    const hb_grid *grid = grid_of(solution, time_index);
    hb_grid_info info;
    if (!grid || !low || !high) return HB_ERROR_ARGUMENT;
    if (solution->problem)
        return hb_transform_grid_box(solution->context, solution->problem, grid,
                                     hb_solution_time(solution, time_index),
                                     hb_solution_time_tau(solution, time_index), low, high);
    HB_TRY(hb_grid_info_get(grid, sizeof info, &info));
    for (int a = 0; a < info.dim; a++) {
        low[a] = info.low[a];
        high[a] = info.high[a];
    }
    return HB_OK;
}

const double *hb_solution_values(const hb_solution *solution, hb_column column)
{
    if (!solution || column < HB_COLUMN_DENSITY || column > HB_COLUMN_ENTROPY_DENSITY_ERROR)
        return NULL;
    return solution->columns[column];
}
