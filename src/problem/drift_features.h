/* problem/drift_features.h: where a drift varies fast along an axis. */
#ifndef HB_PROBLEM_DRIFT_FEATURES_H
#define HB_PROBLEM_DRIFT_FEATURES_H

#include "formula/features.h"

#include <heatball/problem.h>

/* Cells of axis 0 .. d - 1 on which no component of the drift hides a narrow feature, for the other coordinates in
 * range[d] (NULL: all reals). All zero for callbacks. */
hb_status hb_problem_features(hb_context *context, const hb_problem *problem, int axis,
                              const hb_interval *range, hb_features *out);

#endif
