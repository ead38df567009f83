/* cli/train_data.h: what a model is trained on or judged by: a named set or the user's rows. */
#ifndef HB_CLI_TRAIN_DATA_H
#define HB_CLI_TRAIN_DATA_H

#include "session.h"

#include <heatball/data.h>
#include <heatball/images.h>
#include <heatball/model.h>

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
/* Rows of a .npy or .csv file in the order of hb_data_split(n, seed), floor(share n) of them held out;
 * labels: a file or NULL. Wrong input is named by file, row and column. */
hb_status hb_train_data_read(hb_session *session, const char *path, const char *labels,
                             double share, uint64_t seed, hb_train_data *out);
/* How many rows of this order a model was trained on: as many as have the mean and the scale that it took from them, 0 for
 * another file; -1: it took none. */
hb_status hb_train_data_seen(const hb_train_data *data, const hb_model *model, long *seen);
/* Rows of images, with their labels, none held out: the set has a test part. */
hb_status hb_train_data_images(const char *name, const hb_images *images, hb_train_data *out);
/* Whether NAME|FILE of --data means a file. */
int hb_train_data_is_file(const char *name);
/* Destroy in either case. */
void hb_train_data_destroy(hb_train_data *data);

#endif
