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

/* The mesh 4h in a box that is wider by WIDER of its span on each side: grid->mesh[HB_GRID_MESHES]. */
void hb_grid_widen(hb_grid *grid);
/* wider[size of that mesh] becomes, on the coarsest mesh, its v less coarse[size], but for errors of the time integration. */
void hb_grid_wall_parts(const hb_grid *grid, const double *coarse, double *wider);
/* Adds them to the errors of a level. */
void hb_grid_add_wall_parts(hb_grid *grid, int level, const double *parts);
/* The largest of them in the cell of a point; 0 outside of the box. */
double hb_grid_wall_part_at(const hb_grid *grid, const double *parts, const double *x);

#endif
