/* heatball/classify.h: a small classifier of rows, to tell which class a generated row is of.
 * Second tier: for bindings and tools.
 *
 *     logits = N((x - shift)/scale),   p = softmax(logits),   loss = -mean ln p[label]
 * with a multilayer perceptron N of SiLU units, trained by Adam; images are moved a little at
 * random while it trains. On MNIST at 16 x 16 it is right on more than 98 % of the test images
 * after a minute.
 *
 *     hb_classifier *digits;
 *     hb_classifier_train(ctx, NULL, 256, 10, n, x, labels, &digits);
 *     hb_classifier_predict(ctx, digits, m, generated, probabilities);
 *     hb_classifier_destroy(digits);
 * docs/reference/metrics.md. */
#ifndef HEATBALL_CLASSIFY_H
#define HEATBALL_CLASSIFY_H

#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_classifier hb_classifier;

typedef struct hb_classifier_settings {
    size_t size;      /* set by hb_classifier_settings_default */
    int width, depth; /* hidden layers; default 256, 2 */
    int epochs;       /* default 20 */
    int batch;        /* rows of a step; default 256 */
    double rate;      /* peak learning rate, with a cosine to 0; default 2e-3 */
    double ema;       /* decay of the averaged weights; default 0.998 */
    /* Rows that are square images (dim = side^2) are moved by up to so many pixels in each
     * direction, uniformly, anew each time; 0: not; NaN (default): 1 when dim is a square of 64 or
     * more, else 0. */
    double shift;
    uint64_t seed; /* default 42 */
} hb_classifier_settings;

typedef struct hb_classifier_info {
    int dim, classes, width, depth;
    size_t parameters;
} hb_classifier_info;

HB_API void hb_classifier_settings_default(size_t size, hb_classifier_settings *settings);
/* Row `index` of the table of these fields, in their order; NULL behind the last. */
HB_API const hb_setting *hb_classifier_setting(size_t index);
/* x[n][dim] finite, n >= 2; labels[n] 0 .. classes-1, classes 2 to 65536; settings NULL: defaults.
 * The same data and settings give bit-identical weights on any number of threads. *out is destroyed
 * before its context. */
HB_API hb_status hb_classifier_train(hb_context *context, const hb_classifier_settings *settings,
                                     int dim, int classes, size_t n, const double *x,
                                     const int *labels, hb_classifier **out);
/* probabilities[n][classes] of rows x[n][dim]; a row's do not depend on the other rows. */
HB_API hb_status hb_classifier_predict(hb_context *context, const hb_classifier *classifier,
                                       size_t n, const double *x, double *probabilities);
/* A .safetensors file. Loading refuses, with the reason, what is something else, cut short or
 * changed. */
HB_API hb_status hb_classifier_save(hb_context *context, const hb_classifier *classifier,
                                    const char *path);
HB_API hb_status hb_classifier_load(hb_context *context, const char *path, hb_classifier **out);
/* HB_ERROR_ARGUMENT for a classifier that is NULL. */
HB_API hb_status hb_classifier_info_get(const hb_classifier *classifier, size_t size,
                                        hb_classifier_info *out);
HB_API void hb_classifier_destroy(hb_classifier *classifier); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
