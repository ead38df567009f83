/* cli/solve_figure.h: the picture of a solution in one or two dimensions. */
#ifndef HB_CLI_SOLVE_FIGURE_H
#define HB_CLI_SOLVE_FIGURE_H

#include "points.h"

#include <heatball/solve.h>

/* HB_ERROR_ARGUMENT unless path ends in .svg, .png or .pdf, dim is 1 or 2, and the .csv beside the figure
 * is not the file `results` (may be NULL). */
hb_status hb_solve_figure_check(hb_session *session, const char *path, const char *results,
                                int dim);
/* Draws the solution over the bulk of the density and the points; the points are marked in 1-D. */
hb_status hb_solve_figure_write(hb_session *session, const hb_problem *problem,
                                const hb_solve_settings *settings, const hb_points *points,
                                const hb_solution *at_points, const char *path);

#endif
