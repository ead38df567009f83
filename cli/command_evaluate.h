/* cli/command_evaluate.h: what `heatball evaluate` measures of a model, and what it prints of
 * it. */
#pragma once

#include "command_train.h"
#include "session.h"

#include <heatball/generate.h>
#include <heatball/metrics.h>
#include <heatball/model.h>
#include <jansson.h>

/* What is asked for. */
typedef struct hb_evaluate_plan {
    const hb_model *model;
    const hb_train_data *data; /* a set without rows, or rows with some held out */
    size_t n_tau, n_radii;
    const double *tau;    // (n_tau)
    const double *radii;  // (n_radii); none: one of `fraction` per tau
    double fraction;      /* r^2 = 4 pi fraction (tau - tau_min) */
    uint64_t draws, seed; /* of the score's error */
    size_t samples;       /* to generate; 0: none */
} hb_evaluate_plan;

/* Root mean square over points, with its standard error; NaN where the ball leaves the model's
 * tau. */
typedef struct hb_evaluate_residual {
    double tau, radius, residual, residual_se, scaled, scaled_se;
} hb_evaluate_residual;

/* NaN: not measured; the reason is one of the texts, or NULL. */
typedef struct hb_evaluation {
    hb_score_error *score;          // (n_tau)
    double *curl, *curl_se;         // (n_tau)
    hb_evaluate_residual *residual; // (n_tau, n_radii or 1)
    hb_mmd mmd, floor;
    size_t generated, real; /* rows of the comparison; 0: none */
    double *kolmogorov;     // (dim) generated against real rows, by column; NULL: none
    double kolmogorov_floor;
    int modes, found;         /* modes 0: not counted */
    size_t *counts, outliers; // (modes)
    size_t nll_rows;
    double nll, nll_se, nll_exact; /* per dimension, nats, in the units of the data */
    hb_density_check check;        /* of an energy head; rows 0: not measured */
    double direct, direct_se;      /* nll from one pass of the network */
    char no_direct[160];           /* why there is none; empty: there is, or no nll either */
    const char *no_score, *no_residual, *no_points, *no_mmd, *no_modes, *no_nll;
} hb_evaluation;

/* Everything of the plan; destroy in either case. */
hb_status hb_evaluate(hb_session *session, const hb_evaluate_plan *plan, hb_evaluation *out);
void hb_evaluation_destroy(hb_evaluation *evaluation);

typedef struct hb_evaluate_frame {
    hb_context *context;
    const hb_evaluate_plan *plan;
    hb_model_info info;
    hb_model_view view;
    const hb_mixture *truth; /* of z; NULL: not known at tau > 0 */
    hb_mixture *own;         /* the truth, where it is not the set itself */
    const char *no_samples;  /* why the model cannot generate, or NULL */
    double *zero, *scale;    // (dim): z of x = 0; x - x' = scale (z - z')
    double *x;               // some rows, (.., dim)
} hb_evaluate_frame;

/* Destroy in either case. */
hb_status hb_evaluate_frame_create(hb_session *session, const hb_evaluate_plan *plan,
                                   hb_evaluate_frame *out);
void hb_evaluate_frame_destroy(hb_evaluate_frame *frame);
/* The model's score of z, as an hb_score_callback of a frame. */
int hb_evaluate_frame_score(void *frame, size_t n, const double *z, double tau, double *score);
/* z[n][dim]: draws of the distribution at tau: of the truth, of held-out rows with noise, or (a
 * drift) by the model itself. Draws of different `part` are independent. */
hb_status hb_evaluate_frame_points(hb_evaluate_frame *frame, double tau, uint64_t part, size_t n,
                                   double *z);
/* Samples first .. of the model, x[n][dim]. A drift may need more steps than the settings have,
 * which is refused before the first one: then by twice as many, and so on. */
hb_status hb_evaluate_frame_generate(const hb_evaluate_frame *frame, hb_generate_settings *settings,
                                     uint64_t first, size_t n, double *x);

/* The mean of n values and its standard error. */
void hb_evaluate_mean(size_t n, const double *value, double *mean, double *error);
/* mmd, floor, modes, counts, outliers, found, nll and their reasons. */
hb_status hb_evaluate_samples(hb_evaluate_frame *frame, hb_evaluation *out);

/* Whether NAME of --data means a set of images. */
int hb_evaluate_image_set_is(const char *name);
/* All of it for a model of images: `samples` generated ones against the images of this set,
 * whose test part the model has not seen; printed. path: of the model's file. */
hb_status hb_evaluate_image_set(hb_session *session, const char *path, const hb_model *model,
                                const char *name, size_t samples, uint64_t seed, int json);

/* model, plot: names of files; plot may be NULL. */
hb_status hb_evaluate_print(hb_session *session, const char *model, const char *plot,
                            const hb_evaluate_plan *plan, const hb_evaluation *e, int json);
