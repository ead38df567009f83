/* lag/lag_estimator.h: particles where the noise is a matrix, of any rank. */
#pragma once

#include "sampling/estimator.h"

/* The density at the time T; points[n][dim] live as long as the estimator. */
hb_status hb_lag_estimator(hb_context *context, const hb_problem *problem, double T,
                           const hb_sampling_settings *settings, size_t n, const double *points,
                           hb_estimator *out);
enum {
    HB_LAG_USUAL = 4096
}; /* trajectories, where none are asked for: each counts at many times */
/* The stationary density, by averages along trajectories that have forgotten their start; refused
 * when the problem depends on time, or when trajectories do not come to rest. */
hb_status hb_lag_stationary(hb_context *context, const hb_problem *problem,
                            const hb_sampling_settings *settings, size_t n, const double *points,
                            hb_estimator *out);
