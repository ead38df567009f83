/* grid/wall_doubt.h: what a box loses, and what its walls turn back. */
#ifndef HB_GRID_WALL_DOUBT_H
#define HB_GRID_WALL_DOUBT_H

#include "grid/grid_kept.h"

/* The index of node i along an axis. */
size_t hb_grid_place_along(const hb_mesh *mesh, int axis, size_t i);
/* How fast e^depth grows along an axis at node i, per length; at least once over a tenth of the box. */
double hb_grid_depth_growth(const hb_mesh *mesh, int axis, size_t i, const double *depth);
/* The largest v on a wall less the largest of all. */
double hb_grid_wall_height(const hb_mesh *mesh, const double *v);
/* hb_grid_combine, and the doubts of the level; height: the largest of hb_grid_wall_height up to its tau. */
hb_status hb_grid_combine_walled(hb_grid *grid, int level, double height, double *middle,
                                 double *coarse);

#endif
