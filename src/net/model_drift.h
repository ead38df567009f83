/* net/model_drift.h: what a model of a user's drift has besides the rest: the drift, the moments of
 * its process as functions of tau, where its paths have been, and points at tau_max. */
#pragma once

#include "file/safetensors.h"

#include <heatball/model.h>
#include <heatball/problem.h>

enum { HB_FLOW_TENSORS = 4, HB_FLOW_TEXTS = 1, HB_MOST_ENDS = 4096 };

/* Knots are evenly spaced in ln tau. A knot holds values and then their rates by ln tau, each of
 * `columns` = 2 dim + 1: mean (dim), ln variance along the reference's axes (dim), ln of the mean
 * variance. Between knots: Hermite's cubic; outside: as at the end. */
typedef struct hb_model_flow {
    hb_problem *drift; /* NULL: OU or VE */
    size_t knots;      /* 0: OU or VE */
    double first, step;
    double detail; /* variance of the finest details of the distribution at large tau */
    size_t columns;
    double *table; // (knots, 2, columns)
    double *range; // (knots, 2, dim): least and largest coordinates of paths; NULL: not known
    size_t n_ends;
    float *ends; // (n_ends, dim), draws at tau_max; NULL: none
} hb_model_flow;

/* Takes a copy of everything; the drift is made again from its text. numbers: first, step, detail;
 * ends may be NULL. */
hb_status hb_model_set_flow(hb_context *context, hb_model *model, const char *drift,
                            const double numbers[3], size_t knots, const double *table,
                            size_t n_ends, const float *ends);
void hb_model_flow_destroy(hb_model *model);
/* Takes a copy of range (knots, 2, dim), of a model that has its flow. */
hb_status hb_model_set_range(hb_context *context, hb_model *model, const double *range);
/* low (dim), high (dim): the range of paths at the knots around tau and a tenth more; of a model
 * without it five deviations around the mean. */
void hb_model_range(const hb_model *model, double tau, double *low, double *high);

/* Its arrays and its text in a model file. numbers (3): scratch. */
size_t hb_model_flow_tensors(const hb_model *model, double *numbers, hb_tensor *out);
hb_status hb_model_flow_read(hb_context *context, const hb_safetensors *file, hb_model *model);
