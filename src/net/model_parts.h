/* net/model_parts.h: a model inside: the network, the Gaussian that carries its tails, and the map
 * from a point (z, tau) to the network's inputs and back from its outputs to a score.
 *
 * Inputs of the network at (z, tau), in this order (docs/models.md):
 *     x^ = (z - a m)/sigma     (dim)            a, sigma: of hb_clock
 *     phi(ln tau)              (time_features)
 *     one-hot label            (classes)        all 0: no class
 * Everything that moves with tau moves with ln tau here: its steps are of order 1 at every tau. */
#ifndef HB_NET_MODEL_PARTS_H
#define HB_NET_MODEL_PARTS_H

#include "base/memory.h"
#include "net/net.h"

#include <heatball/model.h>

struct hb_model {
    hb_context *context;
    hb_model_info info;
    double scale, *shift; // (dim): z = (x - shift)/scale
    double *mean;         // (dim) of the data, in z
    double *variance;     // (dim) along the axes
    float *axes;          // (dim, dim): a row is a unit vector
    double spread;        /* mean of variance */
    hb_net *net;
    float *parameters;
    hb_workspace work;
};

/* A model with room for everything and parameters that are not set. info: dim, classes, head,
 * process, width, depth, residual, time_features, tau_min and tau_max are checked and used. */
hb_status hb_model_create(hb_context *context, const hb_model_info *info, hb_model **out);
/* Shift, scale and the reference from rows of data, x[n][dim], n >= 2. */
hb_status hb_model_set_reference(hb_context *context, hb_model *model, int standardise, size_t n,
                                 const double *x);
int hb_model_inputs_count(const hb_model *model);
/* tau[n] positive, labels[n] (may be NULL) of the model's classes or -1; the message names the
 * point. */
hb_status hb_model_check_points(hb_context *context, const hb_model *model, size_t n,
                                const double *tau, const int *labels);

/* What depends on tau alone. A rate is a derivative by ln tau. */
typedef struct hb_clock {
    double tau, a, b;      /* z(tau) given z(0): mean a z(0), variance b */
    double sigma, k;       /* scale of x^, size of what is learnt */
    double a_rate, k_rate; /* da, dk */
    double log_sigma_rate; /* d ln sigma */
} hb_clock;

void hb_model_clock(const hb_model *model, double tau, hb_clock *out);

/* Points as a loss or a caller has them; labels may be NULL. */
typedef struct hb_points {
    size_t n;
    const double *z;       // (n, dim)
    const hb_clock *clock; // (n)
    const int *labels;     // (n) or NULL
} hb_points;

/* The value channel of the network's inputs, input (n, inputs). */
void hb_model_inputs(const hb_model *model, const hb_points *points, float *input);
/* The channel of direction x^_k: 1 at input k. */
void hb_model_inputs_along(const hb_model *model, size_t n, int k, float *input);
/* The channel of ln tau at fixed z. values: the value channel. */
void hb_model_inputs_log_tau(const hb_model *model, const hb_points *points, const float *values,
                             float *input);

/* The reference: value[n] = ln N(z; a m, a^2 C + b I) and gradient (n, dim); either may be NULL.
 * scratch (2, n, dim). One thread. */
hb_status hb_model_reference(const hb_model *model, const hb_points *points, float *scratch,
                             double *value, float *gradient);

/* ---- tapes: a forward pass kept for its backward pass ---- */

typedef enum hb_model_want {
    HB_WANT_VALUES, /* w = k N of the energy head; score = NULL */
    HB_WANT_SCORE   /* the score of any head, by the cheapest way; w of the energy head too */
} hb_model_want;

typedef struct hb_model_tape hb_model_tape;

hb_status hb_model_tape_create(hb_context *context, const hb_model *model, hb_model_want want,
                               size_t rows, hb_model_tape **out);
void hb_model_tape_destroy(hb_model_tape *tape);
/* parameters: those of the model or others of its shape. w (n): v - v_ref (energy head; may be
 * NULL); score (n, dim) of z. */
hb_status hb_model_tape_forward(hb_model_tape *tape, const float *parameters,
                                const hb_points *points, float *w, float *score);
/* From cotangents of what the last forward pass gave; adds to gradient. With HB_WANT_SCORE
 * w_cotangent may be NULL. */
hb_status hb_model_tape_backward(hb_model_tape *tape, const float *parameters,
                                 const float *w_cotangent, const float *score_cotangent,
                                 float *gradient);
/* grad v_ref (n, dim) of the last forward pass with HB_WANT_SCORE. */
const float *hb_model_tape_reference(const hb_model_tape *tape);

#endif
