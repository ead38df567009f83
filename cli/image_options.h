/* cli/image_options.h: images as data of a training: the options that choose them, and their rows. */
#ifndef HB_CLI_IMAGE_OPTIONS_H
#define HB_CLI_IMAGE_OPTIONS_H

#include "data_images.h"
#include "session.h"

#include <heatball/images.h>

typedef struct hb_image_values {
    int part, resample, binarize; /* -1 when not given */
    int resize, dequantise;
    uint64_t limit;
} hb_image_values;

/* Entries of an option table; at: offset of an hb_image_values in the struct of values. */
#define HB_IMAGE_OPTIONS(at)                                                                       \
    HB_OPTION_AT(CHOICE, "part", NULL, (at) + offsetof(hb_image_values, part),                     \
                 "images: the part of the set; default: train", .choices = hb_data_part_names),    \
        HB_OPTION_AT(INTEGER, "resize", "N", (at) + offsetof(hb_image_values, resize),             \
                     "images: make them N by N pixels; default: as in the file", .min = 1,         \
                     .max = 128),                                                                  \
        HB_OPTION_AT(CHOICE, "resample", NULL, (at) + offsetof(hb_image_values, resample),         \
                     "images: how --resize makes a pixel; default: area",                          \
                     .choices = hb_data_resample_names),                                           \
        HB_OPTION_AT(CHOICE, "binarize", NULL, (at) + offsetof(hb_image_values, binarize),         \
                     "images: make pixels black or white; default: none",                          \
                     .choices = hb_data_binarize_names),                                           \
        HB_OPTION_AT(                                                                              \
            FLAG, "dequantise", NULL, (at) + offsetof(hb_image_values, dequantise),                \
            "images: spread each of the 256 grey values over its own interval at random"),         \
    {                                                                                              \
        .name = "limit", .kind = HB_OPTION_UNSIGNED, .placeholder = "N",                           \
        .help = "images: only the first N of them; default: all", .min = 2, .max = 1e9,            \
        .offset = (at) + offsetof(hb_image_values, limit)                                          \
    }

/* Whether NAME|FILE of --data means images: a set of them, a directory or an IDX file. */
int hb_image_options_is(const char *data);
/* Refuses the options with data that are not images. */
hb_status hb_image_options_refuse(hb_session *session, const hb_image_values *v, const char *data);
/* The images, 0 black .. 1 white; with --dequantise by (seed, pixel), and out->low and out->high are the
 * means of what black and white became. The caller destroys them. */
hb_status hb_image_options_load(hb_session *session, const hb_image_values *v, const char *data,
                                uint64_t seed, hb_images *out);

#endif
