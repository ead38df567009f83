/* grid/grid_scaled.h: an initial condition that is a point, in coordinates that grow with the
 * density. */
#ifndef HB_GRID_GRID_SCALED_H
#define HB_GRID_GRID_SCALED_H

#include "grid/grid_layout.h"

#include <heatball/grid.h>

/* x = place + s(tau) xi, and a time sigma(tau) for xi. */
typedef struct hb_grid_scaling {
    const hb_problem *problem;
    size_t d;
    double place[3];
    double knee;               /* tau at which the size s stops growing; infinite: it does not */
    double tau_start, tau_end; /* sigma = 0 is at tau_start */
    double sigma_end;
} hb_grid_scaling;

double hb_scaling_size(const hb_grid_scaling *scaling, double tau); /* s */
/* Of tau in [tau_start, tau_end]. */
double hb_scaling_sigma(const hb_grid_scaling *scaling, double tau);
double hb_scaling_tau(const hb_grid_scaling *scaling, double sigma);

/* Breaks of the drift that cross the box low .. high of xi at some time: kinks are told, jumps are
 * refused. */
hb_status hb_scaling_flaws(hb_context *context, const hb_grid_scaling *scaling, const double *low,
                           const double *high, hb_layout_flaws *flaws);

#endif
