/* mean/averages.h: the averages of the hierarchy at many anchors, with standard errors. */
#pragma once

#include "mean/sources.h"

#include <heatball/ball.h>
#include <heatball/estimate.h>

/* Anchors: n points at one tau0, with the field and the equation there. */
typedef struct hb_anchors {
    hb_context *context;
    hb_equation equation;
    hb_mean_settings settings;
    hb_ball_constants constants; /* of the ball in dim + lift dimensions */
    double tau0;
    size_t n;
    const double *x;                  // (n, dim)
    double *v, *source_size, *radius; // (n); source_size = |grad v|^2 + |F.grad v| + |div F|
} hb_anchors;

/* Checks everything that the three public calls share; settings NULL: the defaults. radius[i] is
 * settings.radius or, when that is 0, the one of the rule of docs/explanation/mean-value.md. Destroy it also
 * after a failure. */
hb_status hb_anchors_create(hb_context *context, const hb_problem *problem, const hb_field *field,
                            const hb_mean_settings *settings, double tau0, size_t n,
                            const double *x, hb_anchors *out);
void hb_anchors_destroy(hb_anchors *anchors);
/* radius is positive and the ball stays in tau > tau_min. */
hb_status hb_anchors_check_radius(const hb_anchors *anchors, double radius);

/* What the averages give per anchor: HB_COLUMNS deviations F - F(anchor) of v, u/u0 and w/u0, and
 * after them the dim components of the score when it is wanted. Columns that are not wanted are
 * 0. */
typedef struct hb_average_wish {
    int values, score;
    int degree; /* of the cubature; 0: Monte Carlo */
} hb_average_wish;

/* mean and error: [n][HB_COLUMNS + (score ? dim : 0)]. */
hb_status hb_averages(const hb_anchors *anchors, const hb_average_wish *wish, double *mean,
                      double *error);
