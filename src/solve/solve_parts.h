/* solve/solve_parts.h: the ways to a solution that hb_solve chooses between; shared by its files. */
#ifndef HB_SOLVE_SOLVE_PARTS_H
#define HB_SOLVE_SOLVE_PARTS_H

#include "sampling/sampling.h"
#include "solve/solution.h"

enum { HB_MOST_GRID_DIM = 3 };

/* The settings (NULL: defaults) with all their parts; the problem's time where they have none. */
hb_status hb_solve_plan_read(hb_context *context, const hb_problem *problem,
                             const hb_solve_settings *settings, hb_solve_plan *out);
hb_status hb_solve_check_points(hb_context *context, int dim, size_t n, const double *points);
hb_status hb_solve_check_problem(hb_context *context, const hb_problem *problem, double time);
/* The same for time = inf: drift and noise must not change, and the drift has no poles. */
hb_status hb_solve_check_stationary(hb_context *context, const hb_problem *problem, double time);
hb_status hb_solve_check_dim(hb_context *context, int dim); /* of the methods that need a grid */

/* solve_noise.c: refuses a method that is not made for the noise of the problem; and the one that auto takes
 * where the noise is a matrix. */
hb_status hb_solve_check_noise(const hb_solve_task *task);
int hb_solve_matrix_method(const hb_problem *problem, double time);

/* u, w and their errors from v and its error; u = 0 where v is below the range of exp. */
void hb_solve_fill_from_log(hb_solution *out);

/* The parts of hb_solve_by_grid: values of the grid at out->tau, and what is said of it. */
hb_status hb_solve_evaluate_grid(hb_context *context, const hb_grid *grid, const double *points,
                                 hb_solution *out);
void hb_solve_note_grid(const hb_grid *grid, const char *opening, char *out, size_t size);

/* Several times: what is refused, and the solution, whose times are set. */
hb_status hb_solve_check_times(hb_context *context, const hb_solve_plan *plan);
hb_status hb_solve_at_times(const hb_solve_task *task, hb_solution *out);
/* One time, by the method of the settings; out->tau is set. */
hb_status hb_solve_at_time(const hb_solve_task *task, hb_solution *out);

/* Each fills the columns, method and note of out, whose n, dim and tau are set. */
hb_status hb_solve_by_grid(const hb_solve_task *task, hb_solution *out);
hb_status hb_solve_by_means(const hb_solve_task *task, hb_solution *out);
/* Particles, walks, or for HB_METHOD_AUTO both, each where it is better. */
hb_status hb_solve_by_samples(const hb_solve_task *task, hb_solution *out);
/* A stationary field does not change in time, and its drift neither: for averages over heat balls any finite tau serves. */
#define HB_STATIONARY_TAU 1e6
/* time = inf, by any method; and its parts: linear drifts, and particles at long times. */
hb_status hb_solve_stationary(const hb_solve_task *task, hb_solution *out);
hb_status hb_solve_stationary_linear(const hb_solve_task *task, hb_solution *out);
hb_status hb_solve_stationary_samples(const hb_solve_task *task, hb_solution *out);
/* The grid at a long finite time, where the chain of a noise G(x) is refused; dim 2 and 3. */
hb_status hb_solve_stationary_late(const hb_solve_task *task, hb_solution *out);

#endif
