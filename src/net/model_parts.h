/* net/model_parts.h: a model inside: the network, the Gaussian that carries its tails, and the map
 * from a point (z, tau) to the network's inputs and back from its outputs to a score.
 *
 * Inputs of the network at (z, tau), in this order (docs/reference/models.md):
 *     x^ = (z - m_tau)/sigma   (dim)            m_tau = a m; a, sigma: of hb_noise_level
 *     phi(ln tau)              (time_features)
 *     one-hot label            (classes)        all 0: no class
 * Everything that moves with tau moves with ln tau here: its steps are of order 1 at every tau. */
#pragma once

#include "base/memory.h"
#include "net/model_drift.h"
#include "net/net.h"
#include "problem/transform/transform.h"

#include <heatball/model.h>
#include <math.h>

struct hb_model {
    hb_context *context;
    hb_model_info info;
    double *shift, *scale; // (dim): z = (x - shift)/scale
    double log_scale;      /* the sum of ln scale: ln p(x) = ln p(z) - log_scale */
    double *mean;          // (dim) of the data, in z
    double *variance;      // (dim) along the axes
    float *axes;           // (dim, dim): a row is a unit vector
    double spread;         /* mean of variance */
    hb_model_flow flow;    /* of a user's drift: moments in the place of a, b, mean, variance */
    hb_transform *maps;    /* of the columns (model_maps.c), shift and scale in it; NULL: none */
    char **columns;        // (dim) names, the first with all the others behind it; or NULL
    char *columns_text;    /* the same as lines; in the memory of columns */
    hb_net *net;
    float *parameters;
    hb_workspace work;
};

/* A model with memory for everything and parameters that are not set. info: dim, classes, head,
 * process, width, depth, residual, time_features, tau_min and tau_max are checked and used. */
hb_status hb_model_create(hb_context *context, const hb_model_info *info, hb_model **out);
/* Shift, scale and the reference from rows of data, x[n][dim], n >= 2; standardise: an
 * hb_standardise but BY_KIND and AUTO. */
hb_status hb_model_set_reference(hb_context *context, hb_model *model, int standardise, size_t n,
                                 const double *x);
/* Names of the columns, dim texts one after the other; HB_ERROR_ARGUMENT says what one may be. */
hb_status hb_model_set_columns(hb_context *context, hb_model *model, const char *names);
/* The scales, positive and finite, are in their place: their sum of logarithms and mean. */
void hb_model_set_scales(hb_model *model);
/* From column maps, kind, center and width of an hb_axis_map for each column; the model's shift
 * and scale, of the mapped columns, go into them. */
hb_status hb_model_set_maps(hb_context *context, hb_model *model, const hb_axis_map *axes);
enum { HB_MODEL_MAP_NUMBERS = 5 };                                 /* of a column in a file */
void hb_model_map_numbers(const hb_model *model, double *numbers); // (dim, HB_MODEL_MAP_NUMBERS)
/* The transform of an SDE as typed or of mapped columns, in whose coordinates z is; NULL: z is
 * (x - shift)/scale. */
const hb_transform *hb_model_transform(const hb_model *model);
/* 1: x (dim) is known, and outside of the domain of that frame. */
int hb_model_is_outside(const hb_model *model, const double *x);
/* ln p(x) = ln p(z) - volume (n), at z (n, dim). */
void hb_model_volume(const hb_model *model, size_t n, const double *z, double *volume);
/* Why a process cannot have this drift and noise, as HB_ERROR_ARGUMENT; as_typed: where
 * hb_problem_as_typed made it. */
hb_status hb_model_check_drift(hb_context *context, const hb_problem *drift, int as_typed, int dim);
int hb_model_inputs_count(const hb_model *model);
/* tau[n] positive, labels[n] (may be NULL) of the model's classes or -1; the message names the
 * point. */
hb_status hb_model_check_points(hb_context *context, const hb_model *model, size_t n,
                                const double *tau, const int *labels);
hb_status hb_model_check_labels(hb_context *context, const hb_model *model, size_t n,
                                const int *labels);

/* What depends on tau alone. A rate is a derivative by ln tau. */
typedef struct hb_noise_level {
    double tau, a, b;      /* z(tau) given z(0): mean a z(0), variance b */
    double sigma, k;       /* scale of x^, size of what is learnt */
    double a_rate, k_rate; /* da, dk */
    double log_sigma_rate; /* d ln sigma */
    /* a user's drift: the knot before tau (NULL: OU, VE), weights of it and the next, and rates */
    const double *knot;
    double value[4], rate[4];
} hb_noise_level;

void hb_model_level(const hb_model *model, double tau, hb_noise_level *out);
/* db by ln tau. */
double hb_model_noise_rate(const hb_model *model, const hb_noise_level *level);
void hb_model_flow_level(const hb_model_flow *flow, double tau,
                         hb_noise_level *out); /* model_drift.c */

/* Hermite's cubic of one column of the moments. */
static inline double hb_model_column(const hb_model *model, const hb_noise_level *c,
                                     const double weight[4], size_t column)
{
    const double *at = c->knot + column;
    const size_t n = model->flow.columns;
    return weight[0] * at[0] + weight[1] * at[n] + weight[2] * at[2 * n] + weight[3] * at[3 * n];
}

/* The reference's mean in coordinate j and its variance along axis r, and rates. */
static inline double hb_model_mean(const hb_model *model, const hb_noise_level *c, size_t j)
{
    return c->knot ? hb_model_column(model, c, c->value, j) : c->a * model->mean[j];
}

static inline double hb_model_mean_rate(const hb_model *model, const hb_noise_level *c, size_t j)
{
    return c->knot ? hb_model_column(model, c, c->rate, j) : model->mean[j] * c->a_rate;
}

static inline double hb_model_variance(const hb_model *model, const hb_noise_level *c, size_t r)
{
    if (!c->knot) return c->a * c->a * model->variance[r] + c->b;
    return exp(hb_model_column(model, c, c->value, (size_t)model->info.dim + r));
}

/* Of the logarithm of the variance; a user's drift only. */
static inline double hb_model_log_variance_rate(const hb_model *model, const hb_noise_level *c,
                                                size_t r)
{
    return hb_model_column(model, c, c->rate, (size_t)model->info.dim + r);
}

/* Points as a loss or a caller has them; labels may be NULL. */
typedef struct hb_points {
    size_t n;
    const double *z;             // (n, dim)
    const hb_noise_level *level; // (n)
    const int *labels;           // (n) or NULL
} hb_points;

/* The value channel of the network's inputs, input (n, inputs). */
void hb_model_inputs(const hb_model *model, const hb_points *points, float *input);
/* The channel of direction x^_k: 1 at input k. */
void hb_model_inputs_along(const hb_model *model, size_t n, int k, float *input);
/* The channel of ln tau at fixed z. values: the value channel. */
void hb_model_inputs_log_tau(const hb_model *model, const hb_points *points, const float *values,
                             float *input);

/* The reference: value[n] = ln N(z; m_tau, C_tau) and gradient (n, dim); either may be NULL.
 * scratch (2, n, dim). One thread. */
hb_status hb_model_reference(const hb_model *model, const hb_points *points, float *scratch,
                             double *value, float *gradient);

/* ---- scores for generation (model_view.c) ---- */

/* A model ready for scores of z, its scratch kept between calls. Row i of an answer is a function
 * of its own z, tau and label: the other rows of the call change no bit of it. Labels are not
 * checked. */
typedef struct hb_scorer hb_scorer;

hb_status hb_scorer_create(hb_context *context, const hb_model *model, size_t most_rows,
                           hb_scorer **out);
void hb_scorer_destroy(hb_scorer *scorer);
/* score (n, dim) at z (n, dim) and one tau; labels (n) or NULL. */
hb_status hb_scorer_scores(const hb_scorer *scorer, size_t n, const double *z, double tau,
                           const int *labels, double *score);

/* As hb_model_score and hb_model_divergence, at z, of the score of z; score may not be NULL. The
 * probes of row i follow from keys[i] (NULL: from i). */
hb_status hb_model_divergence_of_z(hb_context *context, const hb_model *model, size_t n,
                                   const double *z, const double *tau, const int *labels,
                                   const uint64_t *keys, int probes, uint64_t seed, double *score,
                                   double *divergence);

/* ---- the score head in the data's axes (model_axes.c) ---- */

/* 1: a score head above 3 dimensions, under OU or VE. */
int hb_model_in_axes(const hb_model *model);
/* The data's fraction of the variance, mean over the axes: the denoising loss of the reference. */
double hb_model_data_share(const hb_model *model, const hb_noise_level *level);
/* x^ into the inputs (n, inputs), and the scales (n, dim). slope (n, dim): -p_r/V_r, which
 * hb_model_reference leaves in the second half of its scratch. */
void hb_model_axes_inputs(const hb_model *model, const hb_points *points, const float *slope,
                          float *input, float *into, float *out);
/* score (n, dim) += axes^T (out output); scratch (n, dim). */
hb_status hb_model_axes_add(const hb_model *model, size_t n, const float *out, const float *output,
                            float *scratch, float *score);
/* Cotangents of the outputs from those of the score. */
hb_status hb_model_axes_cotangent(const hb_model *model, size_t n, const float *out,
                                  const float *score, float *output);

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
/* From cotangents of what the last forward pass gave; to gradient, added when `add` is 1. With
 * HB_WANT_SCORE w_cotangent may be NULL. */
hb_status hb_model_tape_backward(hb_model_tape *tape, const float *parameters,
                                 const float *w_cotangent, const float *score_cotangent, int add,
                                 float *gradient);
/* grad v_ref (n, dim) of the last forward pass with HB_WANT_SCORE. */
const float *hb_model_tape_reference(const hb_model_tape *tape);
