/* guide/guide.h: a network that knows about where a problem's paths came from, and walks along
 * it. */
#pragma once

#include "base/memory.h"
#include "sampling/estimator.h"

#include <heatball/solve.h>
#include <heatball/train.h>

typedef struct hb_guide {
    hb_context *context;
    const hb_problem *problem;
    const hb_model *model;
    int dim, steps; /* steps of a walk */
    size_t walks;   /* of a round, which are made together */
    size_t copies;  /* of a walk: 1, or 2 dim + 1 with gradients */
    uint64_t seed;
    double tau, tau_min;                      /* of the walk; where the model begins */
    double reach;                             /* of the differences that give gradients */
    double *x, *drift, *next, *score, *start; // (rows, dim), rows = walks (2 dim + 1)
    double *times, *w, *coarse;               // (rows)
    double *noise;                            // (steps, walks, dim)
    double *a, *b, *da, *db;                  // (walks), (walks, dim)
    hb_workspace work;
} hb_guide;

/* Trains a network on the problem, from tau/20 to tau. */
hb_status hb_guide_train(hb_context *context, const hb_problem *problem,
                         const hb_network_settings *settings, uint64_t seed, double tau,
                         hb_model **out);
/* The model outlives the guide. */
hb_status hb_guide_create(hb_context *context, const hb_problem *problem, const hb_model *model,
                          int walk_steps, size_t walks, uint64_t seed, double tau, hb_guide *out);
/* Which draws: those that are averaged, those of the diagnostic sample, those that find the scale;
 * one more chooses probes (solve/method_network.c). */
typedef enum hb_guide_use {
    HB_GUIDE_AVERAGED,
    HB_GUIDE_WATCHED,
    HB_GUIDE_PILOT,
    HB_GUIDE_CHOSEN
} hb_guide_use;
/* The largest w of walks from point number `place` at x. */
hb_status hb_guide_scale(hb_guide *guide, const double *x, uint64_t place, double *log_scale);
/* Adds walks from there to the tally; units are divided by e^log_scale. */
hb_status hb_guide_walk(hb_guide *guide, const double *x, uint64_t place, hb_guide_use use,
                        double log_scale, double *sums);

/* Walks from a point when none are asked for; also those of one round. */
enum { HB_GUIDE_USUAL = 256 };
/* The walks as an estimator that adds rounds to accumulators (guide_estimator.c). The model and
 * points[n][dim] outlive it. */
hb_status hb_guide_estimator(hb_context *context, const hb_problem *problem, double tau,
                             const hb_network_settings *network,
                             const hb_sampling_settings *sampling, size_t n, const double *points,
                             const hb_model *model, hb_estimator *out);
