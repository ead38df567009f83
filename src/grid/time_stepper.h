/* grid/time_stepper.h: v(tau) of a scheme, by CVODE. */
#pragma once

#include "grid/scheme.h"
#include "problem/time_cuts.h"

typedef struct hb_stepper hb_stepper;

typedef struct hb_stepper_settings {
    double tau_start, tau_end;
    double longest; /* of all steps; 0: no limit */
    int graded;     /* 1: until a level is reached, steps are shorter in proportion to it */
    double
        tolerance; /* of v where v is largest; it grows with the depth below (docs/explanation/grid.md) */
    const hb_time_cuts *cuts;               /* every one ends a step; NULL: there are none */
    int (*report)(void *user, double part); /* of the time that is done; non-zero: stop */
    void *user;
} hb_stepper_settings;

/* Starts from v[size], which is copied; takes all memory that the steps need. The scheme is not
 * owned. */
hb_status hb_stepper_create(hb_context *context, hb_scheme *scheme,
                            const hb_stepper_settings *settings, const double *v, hb_stepper **out);
void hb_stepper_destroy(hb_stepper *stepper); /* NULL is fine */
/* Through levels (ascending, from tau_start to tau_end): out[n_levels][size]. */
hb_status hb_stepper_run(hb_stepper *stepper, int n_levels, const double *levels,
                         double *const *out);
int hb_stepper_steps(const hb_stepper *stepper); /* taken so far; 0 for NULL */
/* The tolerance at depth = max v - v, when the one in the core region is given. */
double hb_stepper_tolerance(double tolerance, double depth);
