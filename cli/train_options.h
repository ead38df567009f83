/* cli/train_options.h: what one types after `heatball train`, and the settings that it means. */
#ifndef HB_CLI_TRAIN_OPTIONS_H
#define HB_CLI_TRAIN_OPTIONS_H

#include "image_options.h"
#include "session.h"

#include <heatball/train.h>

typedef struct hb_train_values {
    const char *data, *labels, *drift, *path, *log, *plot;
    hb_texts params;
    int method, head, process, standardise; /* process, standardise: -1 when not given */
    uint64_t rows, steps, seed;
    int epochs, batch, width, depth, residual, half, anchors, nodes, target_rows, checkpoint_every;
    double held_out, max_time, lr, ema, clip, tau_min, tau_max, tau_focus;
    double radius_share, sigma_max, weight; /* NaN when not given */
    int resume, json;
    hb_image_values images;
} hb_train_values;

extern const hb_option hb_train_options[]; /* of an hb_train_values */
extern const char *const hb_train_heads[], *const hb_train_processes[];
extern const char *const hb_train_standardise[]; /* by hb_standardise */

/* Refuses options that do not go together, and names that end wrongly. */
hb_status hb_train_options_check(hb_session *session, const hb_train_values *v);
/* The settings without data, files, drift and watch. own_data: rows of a file, not a named set. */
void hb_train_options_settings(const hb_train_values *v, int own_data, int images,
                               hb_train_settings *out);

#endif
