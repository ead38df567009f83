/* grid/grid_stationary.h: the stationary v on the three meshes of a grid. */
#ifndef HB_GRID_GRID_STATIONARY_H
#define HB_GRID_GRID_STATIONARY_H

#include "grid/grid_kept.h"

/* v with rate 0 and mass 1 on the grid's three meshes: out[mesh][0][size]; sets info.relaxation and the grid's
 * tolerance, which bounds what is left of the rates. */
hb_status hb_grid_stationary_meshes(hb_grid *grid, const hb_problem *problem,
                                    double *const *const out[HB_GRID_MESHES]);
/* Adds to all errors what may lie beyond the walls of the box; refuses when that is much. */
hb_status hb_grid_stationary_walls(hb_grid *grid);
/* Bytes that this takes. */
double hb_grid_stationary_bytes(const hb_grid *grid);

#endif
