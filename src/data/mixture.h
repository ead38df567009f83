/* data/mixture.h: a Gaussian mixture inside, and what the processes make of it.
 *
 * Each covariance is kept by its axes (eigenvectors) and variances along them. OU and VE carry a
 * component N(m, C) to N(a m, a^2 C + b I): the axes stay, the variances become a^2 lambda + b. */
#pragma once

#include "base/memory.h"

#include <heatball/data.h>

struct hb_mixture {
    hb_context *context;
    hb_workspace work;
    int dim, modes;
    size_t count;
    double *weight;     // (count), sum 1
    double *cumulative; // (count)
    double *mean;       // (count, dim)
    double *axes;       // (count, dim, dim): a row is a unit vector
    double *variance;   // (count, dim)
    int *mode_of;       // (count)
};

/* x(tau) given x(0) is Gaussian: mean a x(0), variance b. */
typedef struct hb_transition {
    double a, b;
} hb_transition;

/* HB_ERROR_ARGUMENT for another process than OU and VE, and for tau < 0 or not finite. */
hb_status hb_transition_of(hb_context *context, hb_process process, double tau, hb_transition *out);

/* Draws as hb_mixture_sample_at; different uses of one seed are independent, so that metrics do
 * not meet the rows that a model was trained on. */
enum { HB_DRAW_DATA, HB_DRAW_JUDGE };
hb_status hb_mixture_draw(hb_context *context, const hb_mixture *mixture, int use,
                          hb_process process, double tau, uint64_t seed, uint64_t first, size_t n,
                          double *x, int *component);

/* The component[n] that most likely made each row of x[n][dim], and the square of the distance to
 * its mean in its standard deviations, squares[n]; infinite for a row that is not finite. */
hb_status hb_mixture_nearest(hb_context *context, const hb_mixture *mixture, size_t n,
                             const double *x, size_t *component, double *squares);

/* A box that reaches `deviations` standard deviations beyond every component at a transition. */
void hb_mixture_box(const hb_mixture *mixture, const hb_transition *transition, double deviations,
                    double *low, double *high);
