/* net/optimiser.h: Adam with warm-up, cosine schedule, gradient clipping and an average of the
 * weights. docs/explanation/networks.md has the formulas. */
#pragma once

#include <heatball/base.h>

typedef struct hb_adam_settings {
    double rate;                  /* peak learning rate; default 2e-3 */
    double beta1, beta2, epsilon; /* 0.9, 0.999, 1e-8 */
    double clip;                  /* largest norm of the gradient; 0: none; default 1 */
    double ema;                   /* decay of the averaged weights; default 0.999 */
    uint64_t warmup;              /* steps of linear rise; default 100 */
    uint64_t steps;   /* of the whole run, for the cosine to `last_rate`; 0: no cosine */
    double last_rate; /* part of rate at the end; default 0 */
} hb_adam_settings;

/* State that a checkpoint holds: three blocks of the parameters' size and the steps done. At step 0
 * the blocks may hold anything: the first step overwrites them. */
typedef struct hb_adam_state {
    uint64_t step;
    float *first, *second, *average; // (parameters)
} hb_adam_state;

void hb_adam_settings_default(hb_adam_settings *settings);
/* The rate of the step that follows `step` steps done. */
double hb_adam_rate(const hb_adam_settings *settings, uint64_t step);
/* One step. norm (may be NULL): of the gradient before clipping. HB_ERROR_NUMERICAL, naming the
 * step (counted from 1) and the first such parameter, when the gradient has a value that is not
 * finite; nothing is changed then. The average starts as the weights after the first step; its
 * decay is min(ema, (1 + step)/(10 + step)). */
/* The same for a gradient whose squared norm is known. */
hb_status hb_adam_move(hb_context *context, const hb_adam_settings *settings, size_t n,
                       const float *gradient, double squares, float *parameters,
                       hb_adam_state *state);
hb_status hb_adam_step(hb_context *context, const hb_adam_settings *settings, size_t n,
                       const float *gradient, float *parameters, hb_adam_state *state,
                       double *norm);
