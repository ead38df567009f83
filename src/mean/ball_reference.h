/* mean/ball_reference.h: a Gaussian that a process carries along. */
#pragma once

#include "base/memory.h"

#include <heatball/balls.h>

/* N(mean, covariance) at tau = 0, with the covariance's axes for OU and VE, or the drift A x + c. A
 * zeroed one: none. */
typedef struct hb_ball_reference {
    size_t dim;
    int process;
    double *mean, *covariance; // (dim), (dim, dim)
    double *axes, *variance;   // (dim, dim) rows, (dim): OU, VE
    double *A, *c;             // (dim, dim), (dim): a linear drift
    hb_workspace arrays;
} hb_ball_reference;

/* Its moments at a tau. */
typedef struct hb_ball_moments {
    double tau;                     /* NaN: none yet */
    double *mean, *axes, *variance; // (dim), (dim, dim), (dim)
    double *work;                   // HB_BALL_MOMENTS_WORK
} hb_ball_moments;
#define HB_BALL_MOMENTS_WORK(d) (7 * (d) * (d) + (d))

hb_status hb_ball_reference_create(hb_context *context, const hb_balls_settings *settings,
                                   size_t dim, hb_ball_reference *out);
void hb_ball_reference_destroy(hb_ball_reference *reference);

/* The moments at tau, kept from the call before where it was the same tau. */
hb_status hb_ball_moments_at(hb_context *alone, const hb_ball_reference *reference, double tau,
                             hb_ball_moments *moments);
/* ln N and its gradient (dim), NULL: not wanted, at x (dim). */
double hb_ball_moments_log(const hb_ball_moments *moments, size_t dim, const double *x,
                           double *gradient);
