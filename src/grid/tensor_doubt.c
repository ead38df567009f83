/* Walls and the floor: errors that refinement does not see, because all three meshes have them alike.
 *
 * Walls. Let e^-W be the largest density on a wall, relative to the maximum. What the wall turns back would
 * have left or come back later; at a place of depth D it is at most about e^-(W - D) of the density there:
 *     error of v += WALL_FACTOR e^-(W - D)
 * and of its slope that times |grad D|. With a margin of W - D = 20 that is 6e-9. Of the layer at a wall, LAYER cells of the coarsest mesh, nothing is
 * known: its errors are infinite.
 *
 * A stationary density has one more such place: where the noise had to be raised so that the grid's chain follows it
 * (tensor_chain.c); what that changes goes the same way. It has no floor.
 *
 * Floor. The start is lifted to, and held up at, e^-DEEPEST of its maximum (tensor_scheme.c). Nothing is
 * claimed within FLOOR_MARGIN of it.
 *
 * A number to reproduce: a wall at e^-30 adds 3 e^-10 = 1.4e-4 at depth 20. */
#include "grid/tensor_doubt.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/tensor_scheme.h"
#include "grid/wall_doubt.h"

#include <math.h>

enum { LAYER = 1 };

/* Of the errors of refinement: without them errors were up to 0.6 (v) and 1.2 (slopes) of the claims. */
static const double V_FACTOR = 1.5, SLOPE_FACTOR = 2.5;
static const double CHAIN_SLOPE_FACTOR = 2; /* beside that, of a chain: 0.9 of the claims with it */
/* At a kink of D the score jumps: its errors beside it were up to 4.6 of the claims without this factor. */
static const double KINK_FACTOR = 12;
/* Where the directions of a chain change, errors were up to 2.2 (v) and 2.9 (slopes) of the claims without this factor. */
static const double UNEVEN_FACTOR = 4;
static const double WALL_FACTOR = 3;
static const double MOST_CLAIMED = 1; /* of v; above, the answer is worth nothing */
static const double FLOOR_MARGIN = 20;

/* depth[mesh[2].size] below the maximum, from v on the coarsest mesh; returns that of the highest wall. */
static double find_depths(const hb_mesh *mesh, const double *v, double *depth)
{
    double top = -INFINITY, wall = INFINITY;
    for (size_t i = 0; i < mesh->size; i++) top = fmax(top, v[i]);
    for (size_t i = 0; i < mesh->size; i++) {
        depth[i] = top - v[i];
        for (int a = 0; a < mesh->dim; a++) {
            const size_t k = hb_grid_place_along(mesh, a, i);
            if (k == 0 || k + 1 == (size_t)mesh->nodes[a]) wall = fmin(wall, depth[i]);
        }
    }
    return wall;
}

static int is_in_layer(const hb_mesh *mesh, size_t i)
{
    for (int a = 0; a < mesh->dim; a++) {
        const size_t k = hb_grid_place_along(mesh, a, i);
        if (k < LAYER || k + LAYER >= (size_t)mesh->nodes[a]) return 1;
    }
    return 0;
}

static void add_doubts(hb_grid *grid, int level, double wall, const double *depth)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    const double kinks = (grid->noise_kinks ? KINK_FACTOR : 1) * (grid->uneven ? UNEVEN_FACTOR : 1);
    const double chain = grid->stationary ? CHAIN_SLOPE_FACTOR : 1;
    const double deepest = grid->stationary ? (double)INFINITY /* the chain has no floor */
                                            : hb_tensor_deepest(mesh->dim) - FLOOR_MARGIN;
    for (size_t i = 0; i < mesh->size; i++) {
        double *v_error = &grid->v_error[level][i];
        const double part = WALL_FACTOR * exp(depth[i] - wall);
        const double error = V_FACTOR * kinks * *v_error + part;
        const int unknown = is_in_layer(mesh, i) || error > MOST_CLAIMED || depth[i] > deepest;
        *v_error = unknown ? INFINITY : error;
        for (size_t a = 0; a < d; a++) {
            double *slope = &grid->slope_error[level][i * d + a];
            *slope = unknown ? INFINITY
                             : SLOPE_FACTOR * chain * kinks * *slope +
                                   part * hb_grid_depth_growth(mesh, (int)a, i, depth);
        }
    }
}

hb_status hb_tensor_combine(hb_grid *grid, int level, double *middle, double *coarse)
{
    void *memory;
    HB_TRY(hb_allocate(grid->context, grid->mesh[2].size, sizeof(double), &memory));
    double wall = find_depths(&grid->mesh[2], coarse, memory);
    if (grid->stationary) wall = fmin(wall, grid->raised);
    const hb_status status = hb_grid_combine(grid, level, middle, coarse);
    if (status == HB_OK) add_doubts(grid, level, wall, memory);
    hb_release(grid->context, memory);
    return status;
}
