/* solve/solve_frame.h: points go into the coordinates of a problem's frame, answers come back. */
#ifndef HB_SOLVE_SOLVE_FRAME_H
#define HB_SOLVE_SOLVE_FRAME_H

#include "sampling/sampling.h"
#include "solve/solution.h"

/* Points in y at one time. */
typedef struct hb_framed_points {
    const double *y; // (n, dim); the points themselves where there is no frame
    const unsigned char
        *outside; // (n), 1: not in the domain of the process, y is another point; NULL: none
    hb_workspace work;
} hb_framed_points;

hb_status hb_solve_enter_frame(hb_context *context, const hb_problem *problem, double t, size_t n,
                               const double *points, hb_framed_points *out);
/* The columns of points first .. first+n-1 of a solution from y to x, and what the note says of the frame. */
hb_status hb_solve_leave_frame(hb_context *context, const hb_problem *problem, double t, size_t n,
                               const double *points, const hb_framed_points *framed, size_t first,
                               hb_solution *out);
void hb_solve_note_frame(const hb_problem *problem, hb_solution *out);
void hb_framed_points_destroy(hb_framed_points *points);
/* The box of the grid and the trajectories of the user in y: plan's own are replaced, work is to be destroyed. */
hb_status hb_solve_plan_frame(hb_context *context, const hb_problem *problem, hb_solve_plan *plan,
                              hb_workspace *work);

#endif
