/* grid/grid_box.h: where the mass goes, and how fine it is. */
#ifndef HB_GRID_GRID_BOX_H
#define HB_GRID_GRID_BOX_H

#include <heatball/problem.h>

typedef struct hb_grid_box {
    double low[3], high[3];
    double width[3];                    /* the finest length of the density along each axis */
    double inner_low[3], inner_high[3]; /* stationary_box.c: where nearly all mass is */
    size_t far;                         /* points that are too far out to be held */
} hb_grid_box;

/* From a cloud of particles between 0 and tau_end, and the points at[n_at][dim]. */
hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out);

#endif
