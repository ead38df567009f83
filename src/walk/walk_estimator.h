/* walk/walk_estimator.h: walks back from points, as an estimator that adds rounds to
 * accumulators. */
#pragma once

#include "sampling/estimator.h"

/* points[n][dim], finite, live as long as the estimator; the problem has an initial density. */
hb_status hb_walk_estimator(hb_context *context, const hb_problem *problem, double tau,
                            const hb_sampling_settings *settings, size_t n, const double *points,
                            hb_estimator *out);
