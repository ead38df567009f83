/* Is the drift fast for the mesh? The largest Peclet number |F_a| h_a/2 where the mass is.
 *
 * The error of the fitted scheme is a series in (F h/2)^2 that ends at pi: near 1 the meshes 2h
 * and 4h, which are part of the answer, leave it, and reported errors are doubled; above 2 the
 * scheme is of first order, and the order is asked of the meshes themselves
 * (grid_extrapolate.c). F is taken at the nodes of the coarsest mesh where ln u is within DEPTH
 * of its maximum, h is that of the finest; of a drift that changes in time at TIMES moments, and
 * at the cuts around narrow pulses. A number to reproduce: F = 100 on a mesh of 0.02 is 1. */
#include "base/context.h"
#include "base/memory.h"
#include "grid/grid_kept.h"
#include "problem/time_cuts.h"

#include <math.h>

enum { BLOCK = 512, MOST_TIMES = 257 };
static const int TIMES[] = {MOST_TIMES, 65, 17}; /* by dimension */
static const double DEPTH = 3;

typedef struct peclet_search {
    hb_context *context;
    const hb_problem *problem;
    const hb_mesh *fine;
    size_t n;
    double x[BLOCK * 3], F[BLOCK * 3];
    double most;
} peclet_search;

static hb_status peclet_look(peclet_search *g, double tau)
{
    const size_t d = (size_t)g->fine->dim;
    HB_TRY(hb_problem_drift(g->context, g->problem, g->n, g->x, tau, g->F, NULL, NULL, NULL));
    for (size_t k = 0; k < g->n * d; k++) {
        const int axis = (int)(k % d);
        g->most = fmax(g->most, 0.5 * fabs(g->F[k]) * hb_mesh_spacing(g->fine, axis, 0));
    }
    return HB_OK;
}

hb_status hb_grid_find_peclet(hb_grid *grid, const hb_problem *problem, const double *v)
{
    const hb_mesh *mesh = &grid->mesh[2];
    const size_t d = (size_t)mesh->dim;
    double tau[2 * MOST_TIMES];
    const int times = hb_cuts_sample(hb_problem_cuts(problem), grid->info.tau,
                                     hb_problem_is_autonomous(problem) ? 1 : TIMES[d - 1], tau);
    peclet_search *g;
    HB_TRY(HB_NEW(grid->context, g, 1));
    *g = (peclet_search){.context = grid->context, .problem = problem, .fine = &grid->mesh[0]};
    const double top = hb_mesh_top(mesh, v);
    hb_status status = HB_OK;
    for (size_t i = 0; i <= mesh->size && status == HB_OK; i++) {
        if (i < mesh->size && v[i] > top - DEPTH) hb_mesh_point(mesh, i, g->x + d * g->n++);
        if (g->n < BLOCK && i < mesh->size) continue;
        for (int t = 0; t < times && status == HB_OK && g->n > 0; t++)
            status = peclet_look(g, tau[t]);
        g->n = 0;
    }
    grid->peclet = fmax(grid->peclet, g->most);
    hb_release(grid->context, g);
    return status;
}
