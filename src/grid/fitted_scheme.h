/* grid/fitted_scheme.h: the coefficients of the exponentially fitted scheme, also as rates of a
 * chain. */
#pragma once

#include "base/memory.h"
#include "base/thread_pool.h"
#include "grid/grid_mesh.h"

#include <heatball/problem.h>

typedef struct hb_fitted_scratch hb_fitted_scratch;

typedef struct hb_fitted {
    hb_context *context;
    const hb_problem *problem;
    const hb_mesh *mesh;
    hb_thread_pool *pool; /* shares a pass; NULL: the calling thread does all */
    int breaks; /* 1: edges that a break of the drift cuts take the mean of F from many points */
    double tau; /* of the coefficients; NaN: none yet */
    /* over the nodes; of an edge: at its lower node, and 0 where there is none */
    double *gain_up[3];         // (size) B(z)/h^2, twice at a lower boundary
    double *gain_down[3];       // (size) B(-z)/h^2, twice at an upper boundary
    double *drain;              // (size) sum over all axes
    hb_fitted_scratch *scratch; // (threads)
    hb_workspace work, scratch_work;
} hb_fitted;

/* Problem, mesh and pool must live as long. To be destroyed after a failure too. */
hb_status hb_fitted_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_thread_pool *pool, int breaks, hb_fitted *out);
void hb_fitted_destroy(hb_fitted *fitted);
hb_status hb_fitted_update(hb_fitted *fitted, double tau); /* the coefficients at tau */

/* B(z) = z/(exp(z) - 1) and B(-z) = z + B(z), without cancellation. */
void hb_bernoulli(double z, double *plain, double *mirrored);
