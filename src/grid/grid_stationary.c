/* The stationary density on the meshes h, 2h and 4h: the null vectors of the scheme.
 *
 * Each mesh's own null vector (null_vector.c) is found by elimination, without time steps, so that slow relaxation costs
 * nothing; the relaxation time comes from the coarsest. The three are extrapolated like solutions at a finite time.
 * The box has walls without flux. What lies beyond them is estimated by the integral of u over each wall times half
 * the span across, which is right for u = |x|^-2 and too much for all that falls faster, and is added to the error of
 * ln u.
 *
 * Must reproduce: F = (-x + y, -y - x): v = -(x^2 + y^2)/2 - ln(2 pi), relaxation time 1. */
#include "grid/grid_stationary.h"
#include "base/context.h"
#include "base/memory.h"
#include "grid/null_vector.h"

#include <math.h>

static const double EXACT = 1e-13; /* in place of a tolerance in time: rounding */
/* Of the mass, beyond the walls, by mesh: coarse ones spread it by themselves. */
static const double MOST_BEYOND[] = {0.01, 0.05, 0.1};

static hb_status mesh_vector(hb_grid *grid, const hb_problem *problem, int m, double *v)
{
    hb_scheme *scheme;
    HB_TRY(hb_scheme_create(grid->context, problem, &grid->mesh[m], &scheme));
    hb_status status = HB_OK;
    if (grid->flaws.jumps || grid->flaws.kinks) status = hb_scheme_mind_breaks(scheme);
    if (status == HB_OK)
        status = hb_null_vector(grid->context, scheme, grid->bulk, v,
                                m == HB_GRID_MESHES - 1 ? &grid->info.relaxation : NULL);
    hb_scheme_destroy(scheme);
    return status;
}

/* The sum over the walls of the integral of u on each times half the span across. */
static double mass_beyond(const hb_mesh *mesh, const double *v)
{
    double sum = 0;
    for (size_t i = 0; i < mesh->size; i++) {
        for (int a = 0; a < mesh->dim; a++) {
            const size_t n = (size_t)mesh->nodes[a], k = i / hb_mesh_stride(mesh, a) % n;
            if (k != 0 && k != n - 1) continue;
            double u = exp(v[i]);
            for (int b = 0; b < mesh->dim; b++)
                u *=
                    b == a
                        ? 0.5 * (hb_mesh_coordinate(mesh, a, (int)n - 1) -
                                 hb_mesh_coordinate(mesh, a, 0))
                        : hb_mesh_cell(mesh, b,
                                       (int)(i / hb_mesh_stride(mesh, b) % (size_t)mesh->nodes[b]));
            sum += u;
        }
    }
    return sum;
}

/* The next mesh begins its elimination far from where this one has its maximum. */
static void move_bulk(hb_grid *grid, int m, const double *v)
{
    size_t top = 0;
    for (size_t i = 1; i < grid->mesh[m].size; i++) top = v[i] > v[top] ? i : top;
    hb_mesh_point(&grid->mesh[m], top, grid->bulk);
}

static hb_status check_walls(hb_grid *grid, int m, const double *v)
{
    grid->beyond = mass_beyond(&grid->mesh[m], v);
    HB_CHECK(grid->context, grid->beyond <= MOST_BEYOND[m], HB_ERROR_ARGUMENT,
             "there is no stationary density that this grid could hold: its mass escapes or falls "
             "off so slowly that much of it lies beyond the box; a larger box or a finite "
             "time can be asked for");
    return HB_OK;
}

hb_status hb_grid_stationary_meshes(hb_grid *grid, const hb_problem *problem,
                                    double *const *const out[HB_GRID_MESHES])
{
    grid->tolerance = EXACT;
    for (int m = HB_GRID_MESHES - 1; m >= 0; m--) {
        HB_TRY(mesh_vector(grid, problem, m, out[m][0]));
        move_bulk(grid, m, out[m][0]);
        HB_TRY(check_walls(grid, m, out[m][0]));
        HB_CHECK(grid->context, !(hb_seconds() > grid->deadline), HB_ERROR_NUMERICAL,
                 "the grid was not done when the %g s of max_time were over; give it more time or "
                 "fewer points",
                 grid->max_time);
    }
    return HB_OK;
}

hb_status hb_grid_stationary_walls(hb_grid *grid)
{
    for (size_t i = 0; i < grid->mesh[2].size; i++) grid->v_error[0][i] += grid->beyond;
    return HB_OK;
}

double hb_grid_stationary_bytes(const hb_grid *grid)
{
    double most = 0;
    for (int m = 0; m < HB_GRID_MESHES; m++)
        most = fmax(most, hb_null_vector_bytes(&grid->mesh[m]) + hb_scheme_bytes(&grid->mesh[m]));
    return most;
}
