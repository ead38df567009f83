/* grid/grid_solve.h: v(x, tau) at finite times. */
#pragma once

#include "grid/grid_request.h"
#include "grid/grid_start.h"

/* hb_grid_solve for a finite time; context, problem and out are not NULL, dim is at most 3. */
hb_status hb_grid_solve_finite(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double time, hb_grid **out);
/* From a solution (NULL: the initial density), with what scaled coordinates know about the drift
 * (NULL: the problem is as it is). The deadline of the request is set anew. */
hb_status hb_grid_solve_within(const hb_grid_request *request, const hb_grid_from *from,
                               const hb_grid_scaling *scaling, hb_grid **out);
/* For a problem whose initial condition is a point. */
hb_status hb_grid_solve_scaled(const hb_grid_request *request, hb_grid **out);

/* ---- the runs on the meshes (mesh_runs.c) ---- */

/* v at the grid's levels on its meshes: out[mesh][level][size]. grid->info.steps is set. Where
 * the run in the wider box fails, that mesh gets the size 0. */
hb_status hb_grid_run_meshes(hb_grid *grid, const hb_problem *problem, const hb_start_plan *plan,
                             double *const *const out[HB_GRID_RUNS]);
/* Bytes that a run on a mesh takes, about; that all runs of a grid take. */
double hb_run_bytes(const hb_mesh *mesh, int tensor);
double hb_grid_run_bytes(const hb_grid *grid);
