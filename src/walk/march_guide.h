/* walk/march_guide.h: where marches from a point should end. */
#ifndef HB_WALK_MARCH_GUIDE_H
#define HB_WALK_MARCH_GUIDE_H

#include "walk/walk_block.h"

/* guide[2][d]: means and variances of the coordinates of ends, fitted to the weighted ends of walks of this seed. *fit: 0
 * when ends weigh more the farther they are, so that marches may have no variance. */
hb_status hb_march_guide(hb_walk_block *block, const hb_walk_problem *shared, const double *x0,
                         uint64_t seed, double *guide, int *fit);

#endif
