/* heatball/field.h: v = ln u as a function of (x, tau), from anywhere: a grid solution, a closed
 * form, a callback, a network. The mean-value estimators need nothing else.
 * Second tier: for bindings and tools. */
#ifndef HEATBALL_FIELD_H
#define HEATBALL_FIELD_H

#include <heatball/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* v[n] and gradient[n][dim] (NULL when it is not wanted) at x[n][dim] and tau[n]. A non-zero return
 * is an error. Must be safe to call from several threads at once. */
typedef int (*hb_field_callback)(void *user, size_t n, const double *x, const double *tau,
                                 double *v, double *gradient);

typedef struct hb_field {
    int dim;
    double tau_min, tau_max; /* where the field is known */
    hb_field_callback evaluate;
    void *user;
} hb_field;

#ifdef __cplusplus
}
#endif
#endif
