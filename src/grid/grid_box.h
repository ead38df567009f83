/* grid/grid_box.h: where the mass goes, and how fine it is. */
#ifndef HB_GRID_GRID_BOX_H
#define HB_GRID_GRID_BOX_H

#include <heatball/field.h>
#include <heatball/problem.h>

typedef struct hb_grid_box {
    double low[3], high[3];
    double width[3];                    /* the finest length of the density along each axis */
    double inner_low[3], inner_high[3]; /* stationary_box.c: where nearly all mass is */
    size_t far;                         /* points that are too far out to be held */
} hb_grid_box;

/* A solution to start from at some tau > 0: about N(place, width^2). */
typedef struct hb_grid_from {
    const hb_field *field;
    double tau;
    double place[3], width;
} hb_grid_from;

/* From a cloud of particles between 0 and tau_end, and the points at[n_at][dim]. from NULL: the initial density. late: the
 * part of the way after which tails count, 1/2 where tau is the clock itself. step: the longest of the cloud; 0: 1/256 of the
 * way. */
hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem,
                             const hb_grid_from *from, double late, double step, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out);

#endif
