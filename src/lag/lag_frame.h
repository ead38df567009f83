/* lag/lag_frame.h: the Gaussian kernel behind one point over a lag, where the noise is a matrix. */
#pragma once

#include "base/memory.h"

#include <heatball/problem.h>

/* The lags at which a path is looked at: the whole one, then the nodes of the integral. */
enum { HB_LAG_NODES = 15, HB_LAG_RULES = 3 };

/* What one path gives by each rule for the integral, fine to coarse: u and its gradient. */
typedef struct hb_lag_value {
    double a[HB_LAG_RULES];
    double *b; // (HB_LAG_RULES, d)
} hb_lag_value;

typedef struct hb_lag_frame {
    size_t d;
    double lag;
    double *place;    // (HB_LAG_NODES, d): phi
    double *drift;    // (HB_LAG_NODES, d): f there, of the linear model
    double *jacobian; // (HB_LAG_NODES, d, d): A
    double *white;    // (HB_LAG_NODES, d, d): W = L^-1 Phi
    double *root;     // (HB_LAG_NODES, d, d): L
    double *log_top;  // (HB_LAG_NODES): ln of the kernel's largest value
    double
        *start; // (1 + d): ln of the kernel's mean over the start, and the gradient; NaN: not known
    int from_start; /* that mean takes the place of the kernel at the whole lag */
    hb_workspace work;
} hb_lag_frame;

/* The lags as parts of the whole one. */
extern const double hb_lag_parts[HB_LAG_NODES];

/* The frame of the point x at the time `end`. frozen: one linear model, that of the drift at x, for
 * drifts that are not smooth. *found: 0 where there is none: the drift is too steep for the lag, or
 * the noise does not reach every direction (*singular). */
hb_status hb_lag_frame_create(hb_context *context, const hb_problem *problem, const double *x,
                              double end, double lag, int frozen, hb_lag_frame *out, int *found,
                              int *singular);
void hb_lag_frame_destroy(hb_lag_frame *frame);

size_t hb_lag_work(size_t d); /* doubles */
/* The mean of the kernel over u0 in closed form, where the lag is the whole time. */
int hb_lag_knows_start(const hb_lag_frame *frame);
/* Bound of a correction that too few paths show: rest[0] of u, relative, rest[1 + k] of the
 * score. */
hb_status hb_lag_correction(hb_context *context, const hb_problem *problem, double end,
                            const hb_lag_frame *frame, double *rest);
/* ln of the kernel at the whole lag, for a path that is at y there. */
double hb_lag_log_kernel(const hb_lag_frame *frame, const double *y, double *work);
/* The value of one path, at y[j] with the drift f[j] at each of the lags, over e^log_scale. */
void hb_lag_value_of(const hb_lag_frame *frame, const double *const *y, const double *const *f,
                     double log_scale, hb_lag_value *out, double *work);
