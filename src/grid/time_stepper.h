/* grid/time_stepper.h: v(tau) of a scheme, by CVODE. */
#ifndef HB_GRID_TIME_STEPPER_H
#define HB_GRID_TIME_STEPPER_H

#include "grid/fitted_scheme.h"

/* What progress says while a stepper runs: parts done before it and its own share of the whole. */
typedef struct hb_stepper_share {
    double before, share;
} hb_stepper_share;

/* From v[size] at tau_start through levels (ascending, >= tau_start): out[n_levels][size].
 * tolerance is that of v where v is largest; it grows with the depth below (grid docs). */
hb_status hb_stepper_run(hb_context *context, hb_scheme *scheme, size_t size, double tau_start,
                         const double *v, double tolerance, int n_levels, const double *levels,
                         hb_stepper_share share, double *const *out, int *steps);
/* The tolerance at depth = max v - v, when the one in the bulk is given. */
double hb_stepper_tolerance(double tolerance, double depth);
/* Bytes that a run takes. */
double hb_stepper_bytes(size_t size);

#endif
