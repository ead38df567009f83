/* cli/data_images.h: sets of images: listed, fetched, shown and exported. */
#ifndef HB_CLI_DATA_IMAGES_H
#define HB_CLI_DATA_IMAGES_H

#include "data_values.h"

#include <heatball/images.h>
#include <jansson.h>

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

#endif
