/* `heatball solve -o FILE.npz`: named arrays.
 *
 *     t                             (times)
 *     points                        (points, d)       or, of a mesh, x_1 (n_1), x_2 (n_2), ..
 *     density, log_density, entropy_density and their _error
 *                                   (times, points)   or (times, n_1, n_2, ..)
 *     score, score_error            the same with a last axis d
 * An axis of a mesh that is one number has n = 1. */
#include "command_solve.h"

#include <heatball/file.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST_AXES = 30 };

/* The coordinates of one axis of a mesh: those of the points that differ in nothing else from
 * the first. */
static hb_status npz_add_axis(hb_npz *npz, const hb_points *points, int axis)
{
    const uint64_t n = points->mesh[axis];
    size_t stride = (size_t)points->dim;
    for (int a = axis + 1; a < points->dim; a++) stride *= points->mesh[a];
    double *values = malloc((size_t)n * sizeof *values); // (n)
    if (!values) return HB_ERROR_MEMORY;
    for (size_t k = 0; k < n; k++) values[k] = points->x[k * stride + (size_t)axis];
    char name[32];
    snprintf(name, sizeof name, "x_%d", axis + 1);
    const hb_status status = hb_npz_add(npz, 1, name, &n, values);
    free(values);
    return status;
}

static hb_status npz_add_points(hb_npz *npz, const hb_points *points, int is_mesh)
{
    const uint64_t shape[] = {points->n, (uint64_t)points->dim};
    if (!is_mesh) return hb_npz_add(npz, 2, "points", shape, points->x);
    for (int axis = 0; axis < points->dim; axis++) HB_TRY(npz_add_axis(npz, points, axis));
    return HB_OK;
}

static hb_status npz_add_times(hb_npz *npz, const hb_solution *solution)
{
    const uint64_t n = hb_solution_n_times(solution);
    double *t = malloc((size_t)n * sizeof *t); // (n)
    if (!t) return HB_ERROR_MEMORY;
    for (size_t k = 0; k < n; k++) t[k] = hb_solution_time(solution, k);
    const hb_status status = hb_npz_add(npz, 1, "t", &n, t);
    free(t);
    return status;
}

static hb_status npz_add_columns(hb_npz *npz, const hb_points *points, const hb_solution *solution,
                                 int is_mesh)
{
    uint64_t shape[MOST_AXES + 2] = {hb_solution_n_times(solution), points->n};
    int axes = 2;
    if (is_mesh) {
        for (int a = 0; a < points->dim; a++) shape[1 + a] = points->mesh[a];
        axes = 1 + points->dim;
    }
    shape[axes] = (uint64_t)points->dim;
    for (int c = 0; c < HB_SOLVE_COLUMNS; c++) {
        const hb_solve_column *column = &hb_solve_columns[c];
        char name[40];
        snprintf(name, sizeof name, "%s%s", column->name, column->suffix ? column->suffix : "");
        HB_TRY(hb_npz_add(npz, axes + column->is_vector, name, shape,
                          hb_solution_values(solution, (hb_column)c)));
    }
    return HB_OK;
}

hb_status hb_solve_write_npz(hb_session *session, const hb_points *points,
                             const hb_solution *solution, const char *path)
{
    const int is_mesh = points->mesh && points->dim <= MOST_AXES;
    hb_npz *npz;
    HB_TRY(hb_npz_create(hb_session_context(session), path, &npz));
    hb_status status = npz_add_times(npz, solution);
    if (status == HB_OK) status = npz_add_points(npz, points, is_mesh);
    if (status == HB_OK) status = npz_add_columns(npz, points, solution, is_mesh);
    if (status == HB_OK) return hb_npz_commit(npz);
    hb_npz_abort(npz);
    return status;
}
