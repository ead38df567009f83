/* path/step_reach.h: does a step of a trajectory jump over a part of the drift? */
#ifndef HB_PATH_STEP_REACH_H
#define HB_PATH_STEP_REACH_H

#include "formula/range_tape.h"

#include <heatball/problem.h>

/* The largest ratio of what the drift may do unseen within a step to the step's own noise, over the
 * places x[n][d]; above 1 a step can jump over a part of the drift that moves paths. At one time:
 * what lies beside x. In an interval that ends when paths are at x: what passes x in a step. 0 for
 * callbacks, whose ranges are not known. */
hb_status hb_step_reach(hb_context *context, const hb_problem *problem, hb_interval times,
                        double step, size_t n, size_t stride, const double *x, double *ratio);

#endif
