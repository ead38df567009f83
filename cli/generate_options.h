/* cli/generate_options.h: what `heatball generate` is asked for. */
#ifndef HB_CLI_GENERATE_OPTIONS_H
#define HB_CLI_GENERATE_OPTIONS_H

#include "session.h"

#include <heatball/generate.h>

typedef struct hb_generate_values {
    const char *model, *path, *plot, *real;
    hb_generate_settings settings; /* of those that are options, as in train_options.h */
    uint64_t n, first;
    int clip, label, each_label, columns, json;
    hb_reals grey;
} hb_generate_values;

extern const hb_option hb_generate_options[]; /* of an hb_generate_values */

/* The settings for a model, with its range of tau where none is given. */
void hb_generate_options_apply(const hb_generate_values *values, const hb_model_info *info,
                               hb_generate_settings *out);

#endif
