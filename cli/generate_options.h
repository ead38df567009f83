/* cli/generate_options.h: what `heatball generate` is asked for. */
#ifndef HB_CLI_GENERATE_OPTIONS_H
#define HB_CLI_GENERATE_OPTIONS_H

#include "session.h"

#include <heatball/generate.h>

typedef struct hb_generate_values {
    const char *model, *path, *plot, *real;
    uint64_t n, first, seed;
    int solver, n_steps, n_correct, denoise, clip, label, each_label, columns, json;
    double snr, det_tau, tau_min, tolerance;
    hb_reals grey;
} hb_generate_values;

extern const hb_option hb_generate_options[]; /* of an hb_generate_values */
extern const char *const hb_generate_solvers[], *const hb_generate_denoises[]; /* names, by index */

/* The settings for a model, with its range of tau where none is given. */
void hb_generate_options_apply(const hb_generate_values *values, const hb_model_info *info,
                               hb_generate_settings *out);

#endif
