/* grid/mesh_runs.h: the same equation on three meshes, side by side. */
#ifndef HB_GRID_MESH_RUNS_H
#define HB_GRID_MESH_RUNS_H

#include "grid/grid_kept.h"
#include "grid/grid_start.h"

/* v at the grid's levels on its meshes: out[mesh][level][size]. grid->info.steps is set. Where
 * the run in the wider box fails, that mesh gets the size 0. */
hb_status hb_grid_run_meshes(hb_grid *grid, const hb_problem *problem, const hb_start_plan *plan,
                             double *const *const out[HB_GRID_RUNS]);
/* Bytes that a run on a mesh takes, about; that all runs of a grid take. */
double hb_run_bytes(const hb_mesh *mesh, int tensor);
double hb_grid_run_bytes(const hb_grid *grid);

#endif
