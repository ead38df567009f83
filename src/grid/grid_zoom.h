/* grid/grid_zoom.h: a start that is a single point, on a grid that grows with the density. */
#ifndef HB_GRID_GRID_ZOOM_H
#define HB_GRID_GRID_ZOOM_H

#include "grid/grid_layout.h"

#include <heatball/grid.h>

/* x = place + s(tau) xi, and a clock sigma(tau) for xi. */
typedef struct hb_grid_zoom {
    const hb_problem *problem;
    size_t d;
    double place[3];
    double knee;               /* tau at which the size s stops growing; infinite: it does not */
    double tau_start, tau_end; /* sigma = 0 is at tau_start */
    double sigma_end;
} hb_grid_zoom;

double hb_zoom_size(const hb_grid_zoom *zoom, double tau);  /* s */
double hb_zoom_sigma(const hb_grid_zoom *zoom, double tau); /* of tau in [tau_start, tau_end] */
double hb_zoom_tau(const hb_grid_zoom *zoom, double sigma);

/* hb_grid_solve for a problem that starts from a point. */
hb_status hb_grid_solve_zoom(hb_context *context, const hb_problem *problem,
                             const hb_grid_settings *settings, size_t n_at, const double *at,
                             double tau_end, hb_grid **out);
/* hb_grid_solve from a solution (NULL: the initial density), with what the zoom knows about the drift (NULL: as it is). */
hb_status hb_grid_solve_within(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double tau_end, const hb_grid_from *from, const hb_grid_zoom *zoom,
                               hb_grid **out);
/* Whether the cells that such a box wants are as many as a grid takes, or the user has asked for. */
int hb_grid_fits(int dim, const int *points, const hb_grid_box *box);
/* Breaks of the drift that cross the box low .. high of xi at some time: kinks are told, jumps are refused. */
hb_status hb_zoom_flaws(hb_context *context, const hb_grid_zoom *zoom, const double *low,
                        const double *high, hb_layout_flaws *flaws);

#endif
