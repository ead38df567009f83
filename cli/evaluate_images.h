/* cli/evaluate_images.h: generated images beside real ones, for `heatball evaluate`. */
#ifndef HB_CLI_EVALUATE_IMAGES_H
#define HB_CLI_EVALUATE_IMAGES_H

#include "session.h"

#include <heatball/metrics.h>
#include <heatball/model.h>
#include <jansson.h>

/* Images as rows of height * width pixels, all in the same units. */
typedef struct hb_image_rows {
    size_t n;
    const double *x;   // (n, height * width)
    const int *labels; // (n), or NULL
} hb_image_rows;

typedef struct hb_image_plan {
    int height, width;
    int classes;                 /* of the labels; 0: none, and classes are not counted */
    hb_image_rows made;          /* without labels */
    hb_image_rows real, trained; /* real ones that the model has not seen, and those that it has */
    uint64_t seed;
} hb_image_plan;

typedef struct hb_image_judgement {
    size_t made, real, trained; /* images */
    double precision, recall;   /* of the made against as many real ones, k = 3 */
    hb_memorisation memory;
    hb_mmd mmd;         /* of mmd_rows made against as many real ones */
    hb_mmd_floor floor; /* of as many trained against as many real ones */
    size_t mmd_rows;
    double theta;                   /* of specks, from the real images: 1 % of them are affected */
    size_t specked;                 /* made images that are affected */
    int classes;                    /* 0: not counted; else: */
    size_t *counts;                 // (classes): made images of each class
    double least_share, most_share; /* of a class */
    double confident;               /* share of made images with a probability above 0.9 */
    double real_confident;          /* the same of the real ones */
    double right; /* share of real images that get their own class; NaN without labels */
} hb_image_judgement;

/* Made images are clipped to the range of the trained ones first, as they are drawn. Destroy in either
 * case. */
hb_status hb_evaluate_images(hb_session *session, const hb_image_plan *plan,
                             hb_image_judgement *out);
void hb_image_judgement_destroy(hb_image_judgement *judgement);
/* Its numbers as keys of object, or as lines of text. */
void hb_image_judgement_put(const hb_image_judgement *judgement, json_t *object);
void hb_image_judgement_print(const hb_image_judgement *judgement);

/* Whether NAME of --data means a set of images. */
int hb_evaluate_image_set_is(const char *name);
/* All of it for a model of images: `samples` generated ones against the images of this set, whose test
 * part the model has not seen; printed. path: of the model's file. */
hb_status hb_evaluate_image_set(hb_session *session, const char *path, const hb_model *model,
                                const char *name, size_t samples, uint64_t seed, int json);

#endif
