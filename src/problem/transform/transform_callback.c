/* A drift that is a function of the user's, in the coordinates y = L^-1 x of a constant transform.
 *
 *     f_y = L^-1 f(L y, t),     df_y/dy = L^-1 J L
 * The wrapper is itself a callback, so that differences, locks and declared facts are those of
 * drift_callback.c. A gradient in x is none in y unless L L' is a multiple of the identity, which
 * has no transform: that fact is dropped.
 * A number to reproduce: f = -x with L = diag(0.5, 2) is f_y = -y. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/problem_parts.h"
#include "problem/transform/transform.h"

typedef struct hb_transformed_drift {
    hb_context *context;
    const hb_transform *transform;
    hb_drift_callback callback;
    void *user;
} transformed_drift;

static int transformed_call(void *user, size_t n, const double *y, const double *t, double *f,
                            double *jacobian)
{
    const transformed_drift *w = user;
    const size_t d = (size_t)w->transform->dim;
    double *x; // (n, d)
    if (HB_NEW(w->context, x, n * d) != HB_OK) return -1;
    int failure = hb_transform_to_x(w->context, w->transform, 0, n, y, x) != HB_OK;
    if (!failure) failure = w->callback(w->user, n, x, t, f, jacobian);
    hb_release(w->context, x);
    for (size_t i = 0; i < n && !failure; i++) {
        hb_solve_lower(d, w->transform->L, 1, f + i * d);
        if (!jacobian) continue;
        hb_multiply_lower(d, w->transform->L, jacobian + i * d * d);
        hb_solve_lower(d, w->transform->L, d, jacobian + i * d * d);
    }
    return failure;
}

hb_status hb_transform_callback(hb_context *context, const hb_problem_settings *settings,
                                hb_problem *problem)
{
    transformed_drift *wrapped;
    HB_TRY(HB_NEW(context, wrapped, 1));
    *wrapped = (transformed_drift){.context = context,
                                   .transform = problem->transform,
                                   .callback = settings->drift_callback,
                                   .user = settings->drift_user};
    problem->transform->wrapped = wrapped;
    hb_problem_settings own = *settings;
    own.drift_callback = transformed_call;
    own.drift_user = wrapped;
    own.drift_facts &= ~HB_DRIFT_FACT_REENTRANT; /* the wrapper has one context */
    if (problem->dim > 1) own.drift_facts &= ~HB_DRIFT_FACT_GRADIENT;
    return hb_drift_from_callback(context, &own, problem->dim, &problem->drift);
}

void hb_transform_callback_destroy(hb_context *context, struct hb_transformed_drift *wrapped)
{
    hb_release(context, wrapped);
}
