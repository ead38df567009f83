/* train/classifier.h: what the files of the classifier share. */
#pragma once

#include "base/context.h"
#include "base/memory.h"
#include "net/net.h"

#include <heatball/classify.h>

struct hb_classifier {
    hb_context *context;
    hb_net *net;          /* dim inputs, classes outputs */
    double *shift, scale; // (dim)
    float *parameters;
    hb_workspace work;
};

/* shift 0, scale 1, parameters not set. */
hb_status hb_classifier_create(hb_context *context, const hb_net_shape *shape, hb_classifier **out);
/* input[n][dim] = (x - shift)/scale. */
void hb_classifier_standardise(const hb_classifier *classifier, size_t n, const double *x,
                               float *input);
/* p[classes] = softmax(logits); the result is ln sum exp(logits). */
double hb_softmax(size_t classes, const float *logits, double *p);
/* The sum over n rows of -ln p[label], and cotangent[n][classes] = weight times its derivative by
 * the logits[n][classes]. scratch (classes). */
double hb_cross_entropy(size_t n, size_t classes, const float *logits, const int *labels,
                        double weight, double *scratch, float *cotangent);
/* One image (side, side) moved by (down, right) pixels, between pixels linearly; beyond an edge the
 * pixel at the edge counts again. */
void hb_move_image(size_t side, const double *image, double down, double right, double *moved);
