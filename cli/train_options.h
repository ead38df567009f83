/* cli/train_options.h: what one types after `heatball train`, and the settings that it means. */
#ifndef HB_CLI_TRAIN_OPTIONS_H
#define HB_CLI_TRAIN_OPTIONS_H

#include "image_options.h"
#include "session.h"

#include <heatball/train.h>

typedef struct hb_train_values {
    const char *data, *labels, *drift, *noise, *path, *log, *plot;
    int convention; /* an index into hb_convention_names; -1: not given */
    hb_texts params;
    /* Of those that are options; 0, NaN or (choices) -1 where one without a printed default is not given. */
    hb_train_settings settings;
    uint64_t rows;
    double held_out; /* NaN when not given */
    int json;
    hb_image_values images;
} hb_train_values;

extern const hb_option hb_train_options[]; /* of an hb_train_values */

/* Refuses options that do not go together, and names that end wrongly. */
hb_status hb_train_options_check(hb_session *session, const hb_train_values *v);
/* The settings without data, files, drift and watch. own_data: rows of a file, not a named set. */
void hb_train_options_settings(const hb_train_values *v, int own_data, int images,
                               hb_train_settings *out);

#endif
