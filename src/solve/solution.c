/* A solution: eight columns over n points in one block, the method, a note on what was chosen, and for
 * each point its own method, its samples and a warning.
 *
 * Columns are density u, log-density v = ln u, score grad v and entropy density w = u ln u, each followed
 * by its error. For a standard normal at x = 0 in one dimension: u = 0.398942, v = -0.918939, w =
 * -0.366603. */
#include "solve/solution.h"
#include "base/context.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t width_of(hb_column column, int dim)
{
    return column == HB_COLUMN_SCORE || column == HB_COLUMN_SCORE_SE ? (size_t)dim : 1;
}

static hb_status create_arrays(hb_solution *s)
{
    hb_array arrays[HB_N_COLUMNS + 3] = {
        HB_ARRAY(s->samples, s->n), HB_ARRAY(s->point_methods, s->n), HB_ARRAY(s->warnings, s->n)};
    for (int c = 0; c < HB_N_COLUMNS; c++)
        arrays[3 + c] = (hb_array)HB_ARRAY(s->columns[c], s->n * width_of((hb_column)c, s->dim));
    HB_TRY(hb_workspace_carve(s->context, HB_N_COLUMNS + 3, arrays, &s->work));
    memset(s->work.memory, 0, s->work.size);
    return HB_OK;
}

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out)
{
    void *memory;
    *out = NULL;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_solution), &memory));
    hb_solution *solution = memory;
    *solution = (hb_solution){.context = context, .n = n, .dim = dim, .method = ""};
    const hb_status status = create_arrays(solution);
    if (status != HB_OK) hb_solution_destroy(solution);
    *out = status == HB_OK ? solution : NULL;
    return status;
}

void hb_solution_destroy(hb_solution *solution)
{
    if (!solution) return;
    for (size_t i = 0; solution->samples && i < solution->n; i++)
        hb_release(solution->context, solution->warnings[i]);
    hb_grid_destroy(solution->grid);
    hb_workspace_destroy(&solution->work);
    hb_release(solution->context, solution);
}

hb_status hb_solution_warn(hb_solution *solution, size_t point, const char *format, ...)
{
    char text[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    hb_release(solution->context, solution->warnings[point]);
    solution->warnings[point] = NULL;
    return hb_copy_string(solution->context, text, &solution->warnings[point]);
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

const char *hb_solution_method(const hb_solution *solution)
{
    return solution ? solution->method : "";
}

const char *hb_solution_note(const hb_solution *solution)
{
    return solution ? solution->note : "";
}

const char *hb_solution_point_method(const hb_solution *solution, size_t point)
{
    if (!solution || point >= solution->n) return NULL;
    const char *own = solution->point_methods[point];
    return own ? own : solution->method;
}

const char *hb_solution_warning(const hb_solution *solution, size_t point)
{
    return solution && point < solution->n ? solution->warnings[point] : NULL;
}

uint64_t hb_solution_samples(const hb_solution *solution, size_t point)
{
    return solution && point < solution->n ? solution->samples[point] : 0;
}

const hb_grid *hb_solution_grid(const hb_solution *solution)
{
    return solution ? solution->grid : NULL;
}

const double *hb_solution_values(const hb_solution *solution, hb_column column)
{
    if (!solution || column < HB_COLUMN_DENSITY || column > HB_COLUMN_ENTROPY_DENSITY_SE)
        return NULL;
    return solution->columns[column];
}
