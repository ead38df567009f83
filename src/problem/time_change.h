/* problem/time_change.h: tau(t) = int_0^t g^2/2 and its inverse. */
#pragma once

#include <heatball/base.h>

/* g[n] at t[n]. */
typedef hb_status (*hb_noise_function)(void *user, size_t n, const double *t, double *g);

typedef struct hb_time_change hb_time_change;

/* is_constant: g does not depend on t, and g(0) stands for all. cuts[n]: rising times inside of
 * (0, time) around what is narrow in g. HB_ERROR_ARGUMENT, naming t, when g is not positive and
 * finite on [0, time]. user must outlive the time change. */
hb_status hb_time_change_create(hb_context *context, hb_noise_function noise, void *user,
                                int is_constant, double time, int n, const double *cuts,
                                hb_time_change **out);
void hb_time_change_destroy(hb_context *context, hb_time_change *change);
int hb_time_change_is_constant(const hb_time_change *change);
/* Safe from several threads when the noise function is. */
hb_status hb_time_change_tau(hb_context *context, const hb_time_change *change, double t,
                             double *tau);
hb_status hb_time_change_t(hb_context *context, const hb_time_change *change, double tau,
                           double *t);
/* g^2/2 at t. */
hb_status hb_time_change_rate(hb_context *context, const hb_time_change *change, double t,
                              double *rate);
/* t[n] and g^2/2, rate[n], at tau[n]. */
hb_status hb_time_change_times(hb_context *context, const hb_time_change *change, size_t n,
                               const double *tau, double *t, double *rate);
