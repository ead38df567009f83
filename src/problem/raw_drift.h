/* problem/raw_drift.h: the drift and the noise as they were given, in t. */
#ifndef HB_PROBLEM_RAW_DRIFT_H
#define HB_PROBLEM_RAW_DRIFT_H

#include <heatball/problem.h>

/* f[n][d], its jacobian[n][d][d] (NULL: not wanted) at x[n][d] and the times t[n], and rate[n] = g^2/2.
 * What is not finite is handed out as it is. */
hb_status hb_problem_raw_drift(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, const double *t, double *f, double *jacobian,
                               double *rate);
/* 1 when no derivative of f by x depends on t, by its text; 0 for callbacks. */
int hb_problem_jacobian_is_timeless(const hb_problem *problem);

#endif
