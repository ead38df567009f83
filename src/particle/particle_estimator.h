/* particle/particle_estimator.h: trajectories, and kernels behind points, as an estimator. */
#pragma once

#include "sampling/estimator.h"

/* points[n][dim] live as long as the estimator. What is refused is refused here. */
hb_status hb_particle_estimator(hb_context *context, const hb_problem *problem, double tau,
                                const hb_sampling_settings *settings, size_t n,
                                const double *points, hb_estimator *out);

/* Trajectories that the step is chosen for: what is asked for, in powers of 4 from 2^17 on, so that
 * a run that is resumed with a few more has the same step. */
double hb_nominal_samples(uint64_t samples);
