/* grid/grid_start.h: initial data on a mesh. */
#ifndef HB_GRID_GRID_START_H
#define HB_GRID_GRID_START_H

#include "grid/fitted_scheme.h"

/* 1 in *rough when v(., 0) has jumps, is -inf somewhere or is narrower than this mesh resolves. */
hb_status hb_grid_start_is_rough(hb_context *context, const hb_problem *problem,
                                 const hb_mesh *mesh, double *v, int *rough);
/* v[size] to start from, and its tau: 0 for smooth data, a small multiple of h^2 for rough ones.
 * *log_mass: that of v on the finest mesh, to which others are scaled; NaN on the finest, which sets it. */
hb_status hb_grid_start(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                        int rough, double *log_mass, double *v, double *tau);
/* The tau of a rough start. */
double hb_grid_start_tau(const hb_mesh *mesh);

#endif
