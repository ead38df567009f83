/* grid/grid_start.h: initial data on a mesh. */
#pragma once

#include "grid/grid_box.h"
#include "grid/grid_mesh.h"

#include <heatball/problem.h>

/* How the data are taken, on all meshes alike. */
typedef struct hb_start_plan {
    int rough;                /* jumps, -inf, or narrower than the coarsest mesh resolves */
    const hb_grid_from *from; /* a solution that the data are; NULL: the initial density */
    double
        *lost; /* the part of the mass that the finest mesh lacks is written there; NULL: nowhere */
    double steepest[3]; /* slope of v along an axis to which far tails of smooth data are limited */
} hb_start_plan;

/* Decided on the coarsest mesh; v[size] is scratch. */
hb_status hb_grid_start_decide(hb_context *context, const hb_problem *problem,
                               const hb_grid_from *from, const hb_mesh *coarsest, double *v,
                               hb_start_plan *out);
/* v[size] to start from, and its tau: 0 for smooth data, a small multiple of h^2 for rough ones.
 * *log_mass: that of v on the finest mesh, to which others are scaled; NaN on the finest, which
 * sets it. */
hb_status hb_grid_start(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                        const hb_start_plan *plan, double *log_mass, double *v, double *tau);
/* The tau of a rough start. */
double hb_grid_start_tau(const hb_mesh *mesh);
