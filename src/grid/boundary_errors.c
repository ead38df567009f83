/* Errors that refinement does not see, because all three meshes have them alike: boundaries and
 * floor.
 *
 * A box that was given need not hold the mass. At a place of depth D below the maximum
 *     error of v += FACTOR (e^-(W - D) + lost e^D),
 * W the depth of the highest boundary so far, which stands for what it turned back, and lost the
 * mass that the box lacks at the start. The error of a slope is that times how fast e^D grows.
 * Above 1 nothing is known. Tensor noise, whose tails may be heavy, has the same term and factors
 * beside it; nothing is reported in LAYER cells at a boundary or within FLOOR_MARGIN of the floor
 * (tensor_scheme.c). A box that was chosen holds the mass, but not all that reaches a tail: r =
 * u_box/u solves
 *     dr/dtau = Lap r + (2 grad v - F) . grad r,   n . grad r = r n . (F - grad v) at the boundary,
 * and where 2 grad v - F points outward the error goes into the box. So the mesh 4h is solved
 * once more in a wider box; the difference of the two v, times WIDER_FACTOR, is added. A number
 * to reproduce: a box that lacks 1e-4 of the start adds 3e-4 at the maximum. */
#include "grid/boundary_errors.h"
#include "base/memory.h"
#include "grid/grid_constants.h"
#include "grid/tensor_scheme.h"

#include <math.h>

enum { LAYER = 1 };

static const double MOST_EXPONENT = 709.78; /* of exp, as a number */

double hb_grid_boundary_height(const hb_mesh *mesh, const double *v)
{
    double boundary = -INFINITY;
    for (size_t i = 0; i < mesh->size; i++)
        for (int a = 0; a < mesh->dim; a++) {
            const size_t k = hb_mesh_index(mesh, a, i);
            if (k == 0 || k + 1 == (size_t)mesh->nodes[a]) boundary = fmax(boundary, v[i]);
        }
    return boundary - hb_mesh_top(mesh, v);
}

/* How fast e^depth grows along an axis at node i, per length; at least once over a tenth of the
 * box. */
static double boundary_depth_growth(const hb_mesh *mesh, int axis, size_t i, const double *depth)
{
    const int n = mesh->nodes[axis], k = (int)hb_mesh_index(mesh, axis, i);
    const size_t stride = hb_mesh_stride(mesh, axis);
    double most = TENTH / (hb_mesh_coordinate(mesh, axis, n - 1) - mesh->low[axis]);
    if (k > 0)
        most = fmax(most, fabs(depth[i] - depth[i - stride]) / hb_mesh_spacing(mesh, axis, k - 1));
    if (k + 1 < n)
        most = fmax(most, fabs(depth[i + stride] - depth[i]) / hb_mesh_spacing(mesh, axis, k));
    return most;
}

hb_error_rule hb_boundary_rule(const hb_grid *grid, double height)
{
    return (hb_error_rule){.v_factor = 1,
                           .slope_factor = 1,
                           .height = height,
                           .lost = grid->lost > LEAST_LOST ? grid->lost : 0,
                           .most = INFINITY,
                           .deepest = MOST_EXPONENT};
}

hb_error_rule hb_tensor_rule(const hb_grid *grid, double height)
{
    const double kinks = grid->noise_kinks ? KINK_FACTOR : 1;
    return (hb_error_rule){.v_factor = V_FACTOR * kinks,
                           .slope_factor = SLOPE_FACTOR * kinks,
                           .height = height,
                           .most = MOST_PART,
                           .deepest = HB_TENSOR_DEEPEST[grid->info.dim - 1] - FLOOR_MARGIN,
                           .layer = LAYER};
}

static int boundary_is_in_layer(const hb_mesh *mesh, size_t layer, size_t i)
{
    for (int a = 0; a < mesh->dim; a++) {
        const size_t k = hb_mesh_index(mesh, a, i);
        if (k < layer || k + layer >= (size_t)mesh->nodes[a]) return 1;
    }
    return 0;
}

static void boundary_apply_rule(hb_grid *grid, int level, const hb_error_rule *rule,
                                const double *depth)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    for (size_t i = 0; i < mesh->size; i++) {
        double *v_error = &grid->v_error[level][i], *slope = &grid->slope_error[level][i * d];
        const double lost = rule->lost > 0 ? rule->lost * exp(depth[i]) : 0;
        const double part = FACTOR * (exp(depth[i] + rule->height) + lost);
        const double error = rule->v_factor * *v_error + part;
        const int unknown = !(part <= MOST_PART) || error > rule->most ||
                            depth[i] > rule->deepest || boundary_is_in_layer(mesh, rule->layer, i);
        *v_error = unknown ? (double)INFINITY : error;
        for (size_t a = 0; a < d; a++)
            slope[a] = unknown ? (double)INFINITY
                               : rule->slope_factor * slope[a] +
                                     part * boundary_depth_growth(mesh, (int)a, i, depth);
    }
}

hb_status hb_grid_combine_by(hb_grid *grid, int level, const hb_error_rule *rule, double *middle,
                             double *coarse)
{
    const hb_mesh *mesh = &grid->mesh[2];
    if (!rule) return hb_grid_combine(grid, level, middle, coarse);
    double *depth; /* coarse is overwritten */
    HB_TRY(HB_NEW(grid->context, depth, mesh->size));
    const double top = hb_mesh_top(mesh, coarse);
    for (size_t i = 0; i < mesh->size; i++) depth[i] = top - coarse[i];
    const hb_status status = hb_grid_combine(grid, level, middle, coarse);
    if (status == HB_OK) boundary_apply_rule(grid, level, rule, depth);
    hb_release(grid->context, depth);
    return status;
}

/* ---- a box that was chosen ---- */

void hb_grid_widen(hb_grid *grid)
{
    hb_axis axes[3];
    for (int a = 0; a < grid->mesh[2].dim; a++) {
        hb_axis *axis = &axes[a];
        *axis = grid->mesh[2].axis[a];
        const int last = axis->pieces, cells = axis->first[last];
        const double more = WIDER * (axis->joint[last] - axis->joint[0]);
        const double h[2] = {hb_mesh_spacing(&grid->mesh[2], a, 0),
                             hb_mesh_spacing(&grid->mesh[2], a, cells - 1)};
        int added[2];
        for (int side = 0; side < 2; side++)
            added[side] = (int)fmin(fmax(ceil(more / h[side]), 2), cells);
        for (int p = 1; p <= last; p++) axis->first[p] += added[0];
        axis->joint[0] -= added[0] * h[0];
        axis->first[last] += added[1];
        axis->joint[last] += added[1] * h[1];
        grid->cells_below[a] = added[0];
    }
    hb_mesh_set_axes(&grid->mesh[HB_GRID_MESHES], grid->mesh[2].dim, axes, 1);
}

/* The node of the wider mesh that is node i. */
static size_t node_in_wider(const hb_grid *grid, size_t i)
{
    size_t node = 0;
    for (int a = 0; a < grid->mesh[2].dim; a++)
        node += (hb_mesh_index(&grid->mesh[2], a, i) + (size_t)grid->cells_below[a]) *
                hb_mesh_stride(&grid->mesh[HB_GRID_MESHES], a);
    return node;
}

void hb_grid_boundary_parts(const hb_grid *grid, const double *coarse, double *wider)
{
    const double top = hb_mesh_top(&grid->mesh[2], coarse);
    for (size_t i = 0; i < grid->mesh[2].size; i++) {
        const double part = wider[node_in_wider(grid, i)] - coarse[i];
        const double slack = (TIME_FACTOR + top - coarse[i]) * grid->tolerance;
        wider[i] =
            copysign(fmax(fabs(part) - slack, 0), part); /* read before: it is at i or later */
    }
}

void hb_grid_add_boundary_parts(hb_grid *grid, int level, const double *parts)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    for (size_t i = 0; i < mesh->size; i++) {
        double most = fabs(parts[i]);
        for (size_t a = 0; a < d; a++) {
            const size_t stride = hb_mesh_stride(mesh, (int)a);
            const int k = (int)hb_mesh_index(mesh, (int)a, i);
            double steepest = 0;
            for (int up = 0; up < 2; up++) {
                if (up ? k + 1 == mesh->nodes[a] : k == 0) continue;
                const double other = parts[up ? i + stride : i - stride];
                most = fmax(most, fabs(other));
                steepest = fmax(steepest, fabs(other - parts[i]) /
                                              hb_mesh_spacing(mesh, (int)a, up ? k : k - 1));
            }
            grid->slope_error[level][i * d + a] += WIDER_FACTOR * steepest;
        }
        grid->v_error[level][i] += WIDER_FACTOR * most;
        const int unknown = !(fabs(parts[i]) <= MOST_PART);
        if (unknown) grid->v_error[level][i] = INFINITY;
        for (size_t a = 0; a < d && unknown; a++) grid->slope_error[level][i * d + a] = INFINITY;
    }
}

double hb_grid_boundary_part_at(const hb_grid *grid, const double *parts, const double *x)
{
    const hb_mesh *mesh = &grid->mesh[2];
    double most = 0;
    for (int a = 0; a < mesh->dim; a++)
        if (!(x[a] >= grid->info.low[a] && x[a] <= grid->info.high[a])) return 0;
    for (int corner = 0; corner < 1 << mesh->dim; corner++) {
        size_t node = 0;
        for (int a = 0; a < mesh->dim; a++) {
            const double k = fmin(floor(hb_mesh_position(mesh, a, x[a])), mesh->nodes[a] - 2);
            node += ((size_t)k + (corner >> a & 1)) * hb_mesh_stride(mesh, a);
        }
        most = fmax(most, fabs(parts[node]));
    }
    return most;
}
