/* particle/particle_estimator.h: trajectories, and kernels behind points, as an estimator. */
#ifndef HB_PARTICLE_PARTICLE_ESTIMATOR_H
#define HB_PARTICLE_PARTICLE_ESTIMATOR_H

#include "sampling/estimator.h"

/* points[n][dim] live as long as the estimator. What is refused is refused here. */
hb_status hb_particle_estimator(hb_context *context, const hb_problem *problem, double tau,
                                const hb_sampling_settings *settings, size_t n,
                                const double *points, hb_estimator *out);

#endif
