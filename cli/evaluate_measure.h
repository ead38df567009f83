/* cli/evaluate_measure.h: the numbers of `heatball evaluate`. */
#ifndef HB_CLI_EVALUATE_MEASURE_H
#define HB_CLI_EVALUATE_MEASURE_H

#include "train_data.h"

#include <heatball/generate.h>
#include <heatball/judge.h>
#include <heatball/model.h>

/* What is asked for. */
typedef struct hb_evaluate_plan {
    const hb_model *model;
    const hb_train_data *data; /* a set without rows, or rows with some held out */
    size_t n_tau, n_radii;
    const double *tau;    // (n_tau)
    const double *radii;  // (n_radii); none: one of `share` per tau
    double share;         /* r^2 = 4 pi share (tau - tau_min) */
    uint64_t draws, seed; /* of the score's error */
    size_t samples;       /* to generate; 0: none */
} hb_evaluate_plan;

/* Root mean square over points, with its standard error; NaN where the ball leaves the model's tau. */
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

#endif
