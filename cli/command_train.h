/* cli/command_train.h: the data of a training, the options of `heatball train`, and its figure. */
#pragma once

#include "command_data.h"
#include "session.h"

#include <heatball/data.h>
#include <heatball/images.h>
#include <heatball/model.h>
#include <heatball/train.h>

typedef struct hb_train_data {
    const char *name;
    hb_mixture *set; /* of a named set, else NULL */
    int dim, classes;
    size_t n, held;                /* rows to train on, rows held out */
    const char *why;               /* these; NULL: nobody asks */
    double *x;                     // (n + held, dim): first those to train on
    int *labels;                   // (n + held) or NULL
    char *columns;                 /* names, each ended by a zero; or NULL */
    hb_context *context;           /* of the names */
    int image_height, image_width; /* 0: not images */
    double pixel_low, pixel_high;  /* values of black and white */
} hb_train_data;

/* A set and `rows` draws of it, none held out (rows 0: the set alone). */
hb_status hb_train_data_named(hb_session *session, const char *name, uint64_t rows, uint64_t seed,
                              hb_train_data *out);
/* Rows of a .npy or .csv file in the order of hb_data_split(n, seed), floor(fraction n) of them
 * held out; labels: a file or NULL. Wrong input is named by file, row and column. */
hb_status hb_train_data_read(hb_session *session, const char *path, const char *labels,
                             double fraction, uint64_t seed, hb_train_data *out);
/* How many rows of this order a model was trained on: as many as have the mean and the scale
 * that it took from them, 0 for another file; -1: it took none. */
hb_status hb_train_data_seen(const hb_train_data *data, const hb_model *model, long *seen);
/* Rows of images, with their labels, none held out: the set has a test part. */
hb_status hb_train_data_images(const char *name, const hb_images *images, hb_train_data *out);
/* Whether NAME|FILE of --data means a file. */
int hb_train_data_is_file(const char *name);
/* Destroy in either case. */
void hb_train_data_destroy(hb_train_data *data);

typedef struct hb_image_values {
    int part, resample, binarize; /* -1 when not given */
    int resize, dequantise;
    uint64_t limit;
} hb_image_values;

/* Whether NAME|FILE of --data means images: a set of them, a directory or an IDX file. */
int hb_image_options_is(const char *data);
/* Refuses the options with data that are not images. */
hb_status hb_image_options_refuse(hb_session *session, const hb_image_values *v, const char *data);
/* The images, 0 black .. 1 white; with --dequantise by (seed, pixel), and out->low and out->high
 * are the means of what black and white became. The caller destroys them. */
hb_status hb_image_options_load(hb_session *session, const hb_image_values *v, const char *data,
                                uint64_t seed, hb_images *out);

typedef struct hb_train_values {
    const char *data, *labels, *drift, *noise, *path, *log, *plot;
    int convention; /* an index into hb_convention_names; -1: not given */
    hb_texts params;
    /* Of those that are options; 0, NaN or (choices) -1 where one without a printed default is
     * not given. */
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

/* Columns of the log of hb_train. */
enum {
    HB_LOG_STEP,
    HB_LOG_LOSS,
    HB_LOG_DSM,
    HB_LOG_CONSTRAINT,
    HB_LOG_RESIDUAL,
    HB_LOG_NORM,
    HB_LOG_RATE,
    HB_LOG_SECONDS,
    HB_LOG_WIDTH
};

/* title: what was trained, by which method; log (n, HB_LOG_WIDTH), n >= 1. */
hb_status hb_train_figure_write(hb_session *session, const char *title, size_t n, const double *log,
                                const char *path);
