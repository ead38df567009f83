/* grid/tensor_doubt.h: what three meshes cannot say about a density under tensor noise. */
#ifndef HB_GRID_TENSOR_DOUBT_H
#define HB_GRID_TENSOR_DOUBT_H

#include "grid/grid_kept.h"

/* hb_grid_combine, and then the errors of walls and of the floor added to those of refinement. */
hb_status hb_tensor_combine(hb_grid *grid, int level, double *middle, double *coarse);
/* Sets info.unresolved when the noise jumps where v[mesh[2].size] has mass, and the flaw of kinks for kinks. */
hb_status hb_tensor_check_noise(hb_grid *grid, const hb_problem *problem, const double *v);

#endif
