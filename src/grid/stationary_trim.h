/* grid/stationary_trim.h: a box of a stationary density without what is too deep to matter. */
#ifndef HB_GRID_STATIONARY_TRIM_H
#define HB_GRID_STATIONARY_TRIM_H

#include "grid/grid_box.h"

/* Moves the walls of the box inward, under tensor noise in d = 2, 3, to where the null vector of a coarse mesh is deep. The
 * points at[n_at][dim] that the box holds stay in it with a margin. */
hb_status hb_grid_box_trim(hb_context *context, const hb_problem *problem, size_t n_at,
                           const double *at, hb_grid_box *box);

#endif
