/* Data under an SDE as typed, dx = f dt + G dW: in the coordinates y in which G is sqrt(2).
 *
 * There dy = F dt + sqrt(2) dW (problem/transform/transform_build.c, unit): the training has a
 * drift as any other, its time is t, and it does not know of x. The first row tells on which side
 * of a place where the noise vanishes the process lives. A noise that is sqrt(2) already needs none
 * of this. Paths are kept in single precision: rows that lie so far from 0 in y that its grain is
 * felt beside the least noise of the training, sqrt(2 tau_min), are refused.
 * A number to reproduce: the noise 0.2 x has y = ln x sqrt(2)/0.2, and x = e is y = 7.0710678. */
#include "problem/noise.h"
#include "problem/problem_text.h"
#include "problem/transform/transform.h"
#include "train/trainer.h"

#include <float.h>
#include <math.h>

static const double GRAIN = 0.02; /* of the least noise */

/* 1: one noise sqrt(2), whose t is tau. */
static int typed_is_plain(hb_context *context, const hb_problem *problem)
{
    double tau;
    return !hb_problem_transform_of(problem) && hb_problem_noise_kind(problem) == HB_NOISE_SCALAR &&
           hb_problem_is_autonomous(problem) &&
           hb_problem_tau_of_t(context, problem, 1, &tau) == HB_OK && fabs(tau - 1) < 1e-15;
}

/* Row i, x (dim), is finite and in the domain. */
static hb_status typed_check_domain(const hb_trainer *t, size_t d, size_t i, const double *x)
{
    for (size_t j = 0; j < d; j++) {
        const hb_axis_map *axis = &hb_problem_transform_of(t->own)->axes[j];
        HB_CHECK(t->context, isfinite(x[j]), HB_ERROR_ARGUMENT,
                 "row %zu, column %zu of the data is %g; it must be finite", i + 1, j + 1, x[j]);
        HB_CHECK(
            t->context, hb_axis_holds(axis, x[j]), HB_ERROR_ARGUMENT,
            "column %zu of row %zu of the data is %g, outside of the domain of the process: the "
            "noise vanishes at its ends, and by the first row it is from %g to %g",
            j + 1, i + 1, x[j], axis->low, axis->high);
    }
    return HB_OK;
}

/* Its y (dim) is not too large. */
static hb_status typed_check_size(const hb_trainer *t, size_t d, size_t i, const double *y)
{
    const double least = sqrt(2 * t->settings.tau_min);
    for (size_t j = 0; j < d; j++) {
        const double grain = fabs(y[j]) * (double)FLT_EPSILON / GRAIN;
        HB_CHECK(t->context, grain <= least, HB_ERROR_ARGUMENT,
                 "row %zu of the data is at %g in the coordinates in which the noise is sqrt(2), "
                 "too far from 0 for single precision beside the noise of tau_min = %g; tau_min "
                 "must be at least %.2g",
                 i + 1, y[j], t->settings.tau_min, 1.05 * grain * grain / 2);
    }
    return HB_OK;
}

hb_status hb_typed_rows(hb_trainer *t, int dim, const double *data, double **y)
{
    hb_train_settings *s = &t->settings;
    const size_t d = (size_t)dim;
    *y = NULL;
    if (s->process != HB_PROCESS_DRIFT || !s->as_typed || !s->drift ||
        typed_is_plain(t->context, s->drift))
        return HB_OK;
    HB_CHECK(t->context, hb_problem_dim(s->drift) == dim, HB_ERROR_ARGUMENT,
             "the drift has %d components, but the data have %d columns", hb_problem_dim(s->drift),
             dim);
    int finite = t->n > 0;
    for (size_t j = 0; j < d && finite; j++) finite = isfinite(data[j]);
    HB_TRY(hb_problem_as_typed(t->context, s->drift, finite ? data : NULL, &t->own));
    HB_TRY(hb_model_check_drift(t->context, t->own, 1, dim));
    s->drift = t->own;
    const hb_transform *transform = hb_problem_transform_of(t->own);
    if (!transform) return HB_OK;
    HB_TRY(HB_NEW(t->context, *y, t->n * d));
    HB_TRY(hb_transform_to_y(t->context, transform, 0, t->n, data, *y));
    for (size_t i = 0; i < t->n; i++) {
        HB_TRY(typed_check_domain(t, d, i, data + i * d));
        HB_TRY(typed_check_size(t, d, i, *y + i * d));
    }
    return HB_OK;
}
