/* mean/sources.h: the integrands of the mean-value hierarchy at nodes around an anchor. */
#pragma once

#include <heatball/field.h>

/* A field and the equation it is held against. */
typedef struct hb_equation {
    const hb_problem *problem;
    const hb_field *field;
    int dim;
} hb_equation;

/* Nodes, their field and drift; all arrays have `capacity` rows. */
typedef struct hb_nodes {
    size_t capacity, n;
    double *x, *tau;            // (n, dim), (n)
    double *v, *gradient;       // (n), (n, dim)
    double *drift, *divergence; // (n, dim), (n)
} hb_nodes;

/* The three columns of a node: F = v, u, w, or their sources, with u and w divided by u0. */
enum { HB_COLUMN_V, HB_COLUMN_U, HB_COLUMN_W, HB_COLUMNS };

hb_status hb_equation_create(hb_context *context, const hb_problem *problem, const hb_field *field,
                             hb_equation *out);
/* v and gradient (unless NULL) at rows of x and tau, checked to be finite. */
hb_status hb_field_values(hb_context *context, const hb_equation *equation, size_t n,
                          const double *x, const double *tau, double *v, double *gradient);
/* F and its divergence at rows with their own tau. Safe from several threads. */
hb_status hb_drift_values(hb_context *context, const hb_equation *equation, size_t n,
                          const double *x, const double *tau, double *drift, double *divergence);

/* values[n][HB_COLUMNS] = v - v0, (u - u0)/u0, (w - w0)/u0. */
void hb_anchor_deviations(const hb_nodes *nodes, double v0, double *values);
/* values[n][HB_COLUMNS] = h_v, h_u/u0, h_w/u0. */
void hb_sources(const hb_nodes *nodes, int dim, double v0, double *values);
/* h_v of row i alone. */
double hb_source_v(const hb_nodes *nodes, int dim, size_t i);
