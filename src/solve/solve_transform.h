/* solve/solve_transform.h: points go into the coordinates of a problem's transform, answers come
 * back. */
#pragma once

#include "sampling/sampling.h"
#include "solve/solution.h"

/* Points in y, at several times where the transform moves. */
typedef struct hb_transformed_points {
    const double *y; // (sets, n, dim); the points themselves where there is no transform
    size_t stride;   /* from one time's to the next's; 0: the same at all times */
    const unsigned char
        *outside; // (sets, n), 1: not in the domain of the process, y is another point; NULL: none
    hb_workspace work;
} hb_transformed_points;

hb_status hb_solve_enter_transform(hb_context *context, const hb_problem *problem, size_t n_times,
                                   const double *times, size_t n, const double *points,
                                   hb_transformed_points *out);
/* The columns of a solution from y to x, and what the note says of the transform. */
hb_status hb_solve_leave_transform(hb_context *context, const hb_problem *problem,
                                   const double *points, const hb_transformed_points *transformed,
                                   hb_solution *out);
void hb_transformed_points_destroy(hb_transformed_points *points);
/* The box of the grid and the trajectories of the user in y: plan's own are replaced, work is to be
 * destroyed. */
hb_status hb_solve_plan_transform(hb_context *context, const hb_problem *problem,
                                  hb_solve_plan *plan, hb_workspace *work);

/* hb_solution_evaluate and hb_solution_box where there is a transform. */
hb_status hb_transform_evaluate_grid(hb_context *context, const hb_problem *problem,
                                     const hb_grid *grid, double t, double tau, size_t n,
                                     const double *points, double *log_density,
                                     double *log_density_se, double *score, double *score_se);
hb_status hb_transform_grid_box(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                                double t, double tau, double *low, double *high);
