/* grid/stationary_box.h: where the mass of a stationary density is. */
#ifndef HB_GRID_STATIONARY_BOX_H
#define HB_GRID_STATIONARY_BOX_H

#include "grid/grid_box.h"
#include "grid/grid_mesh.h"

/* As hb_grid_box_choose, for tau = infinity. HB_ERROR_ARGUMENT when the mass escapes. */
hb_status hb_grid_box_stationary(hb_context *context, const hb_problem *problem, size_t n_at,
                                 const double *at, hb_grid_box *out);
/* An axis of the box with `cells` cells in its inner part and coarser ones outside; even ones where that is no gain. */
hb_axis hb_grid_graded_axis(const hb_grid_box *box, int axis, int cells);

#endif
