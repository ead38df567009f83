/* guide/guide_estimator.h: walks along the score of a trained network, as an estimator that adds rounds to accumulators. */
#ifndef HB_GUIDE_GUIDE_ESTIMATOR_H
#define HB_GUIDE_GUIDE_ESTIMATOR_H

#include "sampling/estimator.h"

#include <heatball/model.h>

/* Walks from a point when none are asked for; also those of one round. */
enum { HB_GUIDE_USUAL = 256 };

/* The model (guide_walk.h) and points[n][dim] outlive the estimator. */
hb_status hb_guide_estimator(hb_context *context, const hb_problem *problem, double tau,
                             const hb_network_settings *network,
                             const hb_sampling_settings *sampling, size_t n, const double *points,
                             const hb_model *model, hb_estimator *out);

#endif
