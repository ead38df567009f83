/* solve/solve_parts.h: what the files of solve share beside the table of methods (method.h). */
#pragma once

#include "solve/method.h"

/* Why a method does not serve. */
#define HB_REASON_FIELD                                                                            \
    "the noise depends on x in a way that no change of coordinates removes, and only the grid "    \
    "takes that, in dimension 1 to 3"
#define HB_REASON_DIM "the dimension is above 3, where grids end"

hb_status hb_solve_check_problem(hb_context *context, const hb_problem *problem, double time);
/* The same for time = inf: drift and noise must not change, and the drift has no poles. */
hb_status hb_solve_check_stationary(hb_context *context, const hb_problem *problem, double time);

/* u, w and their errors from v and its error; u = 0 where v is below the range of exp. */
void hb_solve_fill_from_log(hb_solution *out);
/* Infinite errors of ln u, where an integral of the drift may miss a part of it. */
hb_status hb_solve_flag_integral(hb_solution *out);

/* "gaussian(mean=..., var=...)" of d means and variances, cut at size bytes. */
void hb_solve_gaussian_text(size_t d, const double *mean, const double *variance, size_t size,
                            char *out);

/* A point of which nothing was finished within the time limit: NaN, with a warning. */
hb_status hb_solve_fill_nothing(const char *name, const char *unit, double seconds, size_t i,
                                hb_solution *out);

/* The parts of the grid's method: values of the grid at out->tau, and what is said of it. */
hb_status hb_solve_evaluate_grid(hb_context *context, const hb_grid *grid, const double *points,
                                 hb_solution *out);
void hb_solve_note_grid(const hb_grid *grid, const char *opening, char *out, size_t size);
int hb_solve_is_inside(const hb_grid_info *info, const double *x); /* the box of a grid */

/* ln u and the score with their errors at other points (NULL: not wanted), by walks along the guide
 * that a solution has kept. */
hb_status hb_solve_evaluate_guided(hb_context *context, const hb_solution *solution, size_t n,
                                   const double *points, double *log_density,
                                   double *log_density_error, double *score, double *score_error);

/* The grid at a long finite time, where the chain of a noise G(x) is refused; dim 2 and 3. */
hb_status hb_solve_stationary_late(const hb_solve_task *task, hb_solution *out);

/* Several times: what is refused, and the solution, whose times are set. */
hb_status hb_solve_check_times(hb_context *context, const hb_solve_plan *plan);
hb_status hb_solve_at_times(const hb_solve_task *task, hb_solution *out);
/* One time, by the method of the settings; out->tau is set. */
hb_status hb_solve_at_time(const hb_solve_task *task, hb_solution *out);

/* ---- solve_settings.c ---- */

/* The settings (NULL: defaults) with all their parts; the problem's time where they have none. */
hb_status hb_solve_plan_read(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, hb_solve_plan *out);
/* Numbers out of range, paths that are not as they must be. */
hb_status hb_solve_plan_check(hb_context *context, const hb_solve_plan *plan, int dim);
hb_status hb_solve_check_points(hb_context *context, int dim, size_t n, const double *points);
/* The name of one bit of hb_solve_setting, as the command and Python have it. */
const char *hb_solve_setting_name(unsigned setting);
