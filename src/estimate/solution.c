/* A solution: eight columns over n points in one block, the method, and a note on what was chosen.
 *
 * Columns are density u, log-density v = ln u, score grad v and entropy density w = u ln u, each followed
 * by its error. For a standard normal at x = 0 in one dimension: u = 0.398942, v = -0.918939, w =
 * -0.366603. */
#include "estimate/solution.h"
#include "base/context.h"
#include "base/memory.h"

#include <string.h>

static int width_of(hb_column column, int dim)
{
    return column == HB_SCORE || column == HB_SCORE_SE ? dim : 1;
}

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out)
{
    size_t per_point = 0;
    for (int c = 0; c < HB_N_COLUMNS; c++) per_point += (size_t)width_of((hb_column)c, dim);
    *out = NULL;
    HB_CHECK(context, n <= SIZE_MAX / sizeof(double) / per_point, HB_ERROR_MEMORY,
             "%zu points of dimension %d do not fit into memory", n, dim);
    void *memory, *values;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_solution), &memory));
    hb_status status = hb_allocate(context, n * per_point, sizeof(double), &values);
    if (status != HB_OK) {
        hb_release(context, memory);
        return status;
    }
    hb_solution *solution = memory;
    *solution = (hb_solution){.context = context, .n = n, .dim = dim, .method = ""};
    double *column = memset(values, 0, n * per_point * sizeof(double));
    for (int c = 0; c < HB_N_COLUMNS; c++) {
        solution->columns[c] = column;
        column += n * (size_t)width_of((hb_column)c, dim);
    }
    *out = solution;
    return HB_OK;
}

void hb_solution_destroy(hb_solution *solution)
{
    if (!solution) return;
    hb_release(solution->context, solution->columns[0]);
    hb_release(solution->context, solution);
}

size_t hb_solution_size(const hb_solution *solution)
{
    return solution->n;
}

int hb_solution_dim(const hb_solution *solution)
{
    return solution->dim;
}

double hb_solution_tau(const hb_solution *solution)
{
    return solution->tau;
}

const char *hb_solution_method(const hb_solution *solution)
{
    return solution->method;
}

const char *hb_solution_note(const hb_solution *solution)
{
    return solution->note;
}

const double *hb_solution_values(const hb_solution *solution, hb_column column)
{
    if (column < HB_DENSITY || column > HB_ENTROPY_DENSITY_SE) return NULL;
    return solution->columns[column];
}
