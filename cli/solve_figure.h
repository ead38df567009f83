/* cli/solve_figure.h: the picture or the film of a solution in one or two dimensions. */
#ifndef HB_CLI_SOLVE_FIGURE_H
#define HB_CLI_SOLVE_FIGURE_H

#include "points.h"

#include <heatball/solve.h>

/* HB_ERROR_ARGUMENT unless path ends in .svg, .png or .pdf, or for several times in .gif or .html; dim is 1 or 2, and in the
 * plane the method (hb_method) has a grid and several times are a film. */
hb_status hb_solve_figure_check(hb_session *session, const char *path, int dim, int method,
                                size_t n_times);
/* Draws the solution over the bulk of the density and the points; the points are marked. Where
 * the solution has no grid, 1-D figures show the points with their errors, and those of the plane are
 * refused, HB_ERROR_UNAVAILABLE. */
hb_status hb_solve_figure_write(hb_session *session, const hb_problem *problem,
                                const hb_points *points, const hb_solution *solution,
                                const char *path);

#endif
