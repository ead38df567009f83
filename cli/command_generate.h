/* cli/command_generate.h: the pictures of `heatball generate`. */
#pragma once

#include "session.h"

#include <heatball/generate.h>
#include <heatball/model.h>

/* What the title of a picture says of its samples. */
typedef struct hb_generate_picture {
    const hb_model *model;
    const char *name; /* of the model's file */
    int label;        /* -1: none */
    double tau;       /* of the density that is drawn */
    uint64_t seed;
    size_t n;
    const double *x; // (n, dim)
    /* of images */
    int columns;        /* 0: chosen */
    const double *real; // (n, dim) in pixels, for the odd rows; NULL: none
} hb_generate_picture;

/* The sides of the images of a model: those it keeps, else those of a square of 8 or more; 0
 * when its rows are no images. */
void hb_generate_image_sides(const hb_model_info *info, int *height, int *width);
/* n real test images of a set, of the model's size and, where both have classes, of the label
 * (-1: any): real[n][dim] in pixels, to be given to free(). */
hb_status hb_generate_real_images(hb_session *session, const char *name, const hb_model_info *info,
                                  int label, size_t n, double **real);
/* A grid of grey images; low is black, high is white, of real ones 0 and 1. */
hb_status hb_generate_images_write(hb_session *session, const hb_generate_picture *picture,
                                   double low, double high, const char *path);
/* Dim 2: a scatter of the samples, over contours of the model's density when it has one. */
hb_status hb_generate_scatter_write(hb_session *session, const hb_generate_picture *picture,
                                    const char *path);
