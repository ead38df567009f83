/* path/trajectories.h: trajectories of dX = F dtau + sqrt(2) dW at given times. */
#pragma once

#include "formula/range_tape.h"

#include <heatball/problem.h>

/* F = c + A x with constant A, c; NULL pointers when it is not so. */
typedef struct hb_linear_drift {
    double *A; // (d, d)
    double *c; // (d)
} hb_linear_drift;

/* Is the drift known to be linear and constant in time? Allocates A and c when it is, which
 * hb_release frees (A only: one block). */
hb_status hb_linear_drift_find(hb_context *context, const hb_problem *problem,
                               hb_linear_drift *out);

typedef struct hb_path_plan {
    const hb_problem *problem;
    uint64_t seed;
    const double *start; // (n_start, dim): path i starts at row i mod n_start; NULL: drawn
    size_t n_start;
    size_t dim, n_times;
    const double *times;    // (n_times), tau, rising; the first may be 0
    double begin;           /* tau at which paths start; 0 unless start is given */
    double step;            /* longest step of Heun's scheme */
    hb_linear_drift linear; /* exact transitions when A is not NULL */
    double *transitions;    // (n_times, 2 d d + d), of hb_path_transitions; linear drifts only
} hb_path_plan;

/* Fills plan->transitions, which hb_release frees. Does nothing for a drift that is not linear. */
hb_status hb_path_transitions(hb_context *context, hb_path_plan *plan);

/* Paths first .. first+n-1, a function of (plan, first, n): draws of the initial density and noise
 * of the stream `first`, so calls with different first are independent when they do not overlap. x:
 * time k of path i goes to x + (k stride + i) d. A path that is lost, because its drift is not
 * finite or it takes too many steps, has NaN from then on. context is used by this thread only.
 * coarse: NULL, or an array like x for the same noise with steps twice as long. */
hb_status hb_paths_simulate(hb_context *context, const hb_path_plan *plan, uint64_t first, size_t n,
                            size_t stride, double *x, double *coarse);

/* ---- step_reach.c ---- */

/* The largest ratio of what the drift may do unseen within a step to the step's own noise, over the
 * places x[n][d]; above 1 a step can jump over a part of the drift that moves paths. At one time:
 * what lies beside x. In an interval that ends when paths are at x: what passes x in a step. 0 for
 * callbacks, whose ranges are not known. */
hb_status hb_step_reach(hb_context *context, const hb_problem *problem, hb_interval times,
                        double step, size_t n, size_t stride, const double *x, double *ratio);
