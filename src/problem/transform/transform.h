/* problem/transform/transform.h: the coordinates y in which a problem's noise is the same in all
 * directions.
 *
 * x_i = X_i(z_i) axis by axis (axis_map.h), z = L(t) y with a lower triangular L. A problem that
 * has a transform is given and answered in x; its drift, its initial density and all methods
 * live in y. */
#pragma once

#include "problem/transform/axis_map.h"

#include <heatball/problem.h>

typedef struct hb_transform {
    int dim;
    int same;                             /* it is not needed: x and y are the same */
    int bends;                            /* some axis is not X(z) = z */
    hb_axis_map *axes;                    // (dim)
    int turns;                            /* L has entries beside its diagonal */
    int moves;                            /* L depends on t */
    int scales;                           /* L is not the identity */
    double *L;                            // (dim, dim) row by row, lower; NULL when it moves
    hb_program *moving;                   // L(t), all d*d entries; NULL when it does not move
    struct hb_transformed_drift *wrapped; /* of a drift that is a callback; else NULL */
    char text[160];                       /* "Lamperti coordinates y = ln x" */
} hb_transform;

void hb_transform_destroy(hb_context *context, hb_transform *transform);
/* The drift of y where f is a callback and L has numbers: fills problem->drift. */
hb_status hb_transform_callback(hb_context *context, const hb_problem_settings *settings,
                                hb_problem *problem);
void hb_transform_callback_destroy(hb_context *context, struct hb_transformed_drift *wrapped);

/* NULL: x and y are the same. */
const hb_transform *hb_problem_transform_of(const hb_problem *problem);
/* L(t) into L[dim][dim]. */
hb_status hb_transform_matrix(hb_context *context, const hb_transform *transform, double t,
                              double *L);
/* y[n][dim] of x[n][dim] at time t; rows of NaN where x is outside of the domain. */
hb_status hb_transform_to_y(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *x, double *y);
hb_status hb_transform_to_x(hb_context *context, const hb_transform *transform, double t, size_t n,
                            const double *y, double *x);
/* What densities lose from y to x: ln u_x = ln u_y - volume[n], at y[n][dim]. */
hb_status hb_transform_volume(hb_context *context, const hb_transform *transform, double t,
                              size_t n, const double *y, double *volume);
/* score[n][dim], in place, from y to x; error[n][dim] (NULL: none) as a bound. */
hb_status hb_transform_score(hb_context *context, const hb_transform *transform, double t, size_t n,
                             const double *x, double *score, double *error);
/* The same the other way, for gradients of ln u_x at x: gradient of ln u_y. */
hb_status hb_transform_score_to_y(hb_context *context, const hb_transform *transform, double t,
                                  size_t n, const double *x, double *score);
/* The same of a transform that does not move: a direction v[dim] at x[dim], in place, from x to
 * y; L^-T v, in place; and what the divergence of a score loses from y to x besides. */
void hb_transform_vector_to_y(const hb_transform *transform, const double *x, double *v);
void hb_transform_covector_to_z(const hb_transform *transform, double *v);
double hb_transform_bend(const hb_transform *transform, const double *x, const double *score);
/* A box of y that holds the box low .. high of x at time t; infinite outside of the domain. */
hb_status hb_transform_box_to_y(hb_context *context, const hb_transform *transform, double t,
                                const double *low, const double *high, double *y_low,
                                double *y_high);
