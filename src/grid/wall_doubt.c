/* Walls that were given: errors that refinement does not see, because all three meshes have them alike.
 *
 * A box that is chosen holds the mass with a margin; one that is given need not. At a place of depth D below the maximum
 *     error of v += FACTOR (e^-(W - D) + lost e^D),
 * W the depth of the highest wall up to that time, which stands for what the walls turned back, and lost the mass that the box
 * lacks at the start, if that is more than LEAST_LOST: wherever the drift takes it, it is taken to make a density of at most
 * FACTOR times the maximum there.
 * The error of a slope is that times how fast e^D grows, and at least once over a tenth of the box. Where this is above 1
 * nothing is known.
 *
 * A number to reproduce: a box that lacks 1e-4 of the start adds 3e-4 at the maximum and 6.6e-3 three e-folds below. */
#include "grid/wall_doubt.h"
#include "base/context.h"
#include "base/memory.h"

#include <math.h>

static const double FACTOR = 3, TENTH = 10, MOST_PART = 1, LEAST_LOST = 1e-6;

size_t hb_grid_place_along(const hb_mesh *mesh, int axis, size_t i)
{
    return i / hb_mesh_stride(mesh, axis) % (size_t)mesh->nodes[axis];
}

double hb_grid_wall_height(const hb_mesh *mesh, const double *v)
{
    double top = -INFINITY, wall = -INFINITY;
    for (size_t i = 0; i < mesh->size; i++) {
        top = fmax(top, v[i]);
        for (int a = 0; a < mesh->dim; a++) {
            const size_t k = hb_grid_place_along(mesh, a, i);
            if (k == 0 || k + 1 == (size_t)mesh->nodes[a]) wall = fmax(wall, v[i]);
        }
    }
    return wall - top;
}

double hb_grid_depth_growth(const hb_mesh *mesh, int axis, size_t i, const double *depth)
{
    const int n = mesh->nodes[axis], k = (int)hb_grid_place_along(mesh, axis, i);
    const size_t stride = hb_mesh_stride(mesh, axis);
    double most = TENTH / (hb_mesh_coordinate(mesh, axis, n - 1) - mesh->low[axis]);
    if (k > 0)
        most = fmax(most, fabs(depth[i] - depth[i - stride]) / hb_mesh_spacing(mesh, axis, k - 1));
    if (k + 1 < n)
        most = fmax(most, fabs(depth[i + stride] - depth[i]) / hb_mesh_spacing(mesh, axis, k));
    return most;
}

static void add_doubts(hb_grid *grid, int level, double height, const double *depth)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    const double lost = grid->lost > LEAST_LOST ? grid->lost : 0;
    for (size_t i = 0; i < mesh->size; i++) {
        double *v_error = &grid->v_error[level][i];
        const double part = FACTOR * (exp(depth[i] + height) + lost * exp(depth[i]));
        const int unknown = !(part <= MOST_PART);
        *v_error = unknown ? (double)INFINITY : *v_error + part;
        for (size_t a = 0; a < d; a++) {
            double *slope = &grid->slope_error[level][i * d + a];
            *slope = unknown ? (double)INFINITY
                             : *slope + part * hb_grid_depth_growth(mesh, (int)a, i, depth);
        }
    }
}

hb_status hb_grid_combine_walled(hb_grid *grid, int level, double height, double *middle,
                                 double *coarse)
{
    void *memory;
    const hb_mesh *mesh = &grid->mesh[2];
    HB_TRY(hb_allocate(grid->context, mesh->size, sizeof(double), &memory));
    double *depth = memory, top = -INFINITY;
    for (size_t i = 0; i < mesh->size; i++) top = fmax(top, coarse[i]);
    for (size_t i = 0; i < mesh->size; i++) depth[i] = top - coarse[i];
    const hb_status status = hb_grid_combine(grid, level, middle, coarse);
    if (status == HB_OK) add_doubts(grid, level, height, depth);
    hb_release(grid->context, memory);
    return status;
}
