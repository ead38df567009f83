/* The integrands of the mean-value hierarchy.
 *
 * For v = ln u and du/dtau = Lap u - div(F u), each of u, v, w = u ln u solves a heat equation with
 * a source, (d/dtau - Lap) F = h_F. With a = -(div F + F.grad v):
 *     h_u = -div(F u)                                = u a
 *     h_v = |grad v|^2 - F.grad v - div F            = |grad v|^2 + a
 *     h_w = -div(F w) - u |grad v|^2 - u div F       = u ((1+v) a - |grad v|^2)
 * since grad w = u (1+v) grad v: only v, grad v, F and div F are needed. u and w are divided by u0
 * = u(anchor) and formed from v - v0: a density of 1e-300 is as accurate as one of 1. Deviations
 * from the anchor's value are formed without cancellation, since residuals are differences of
 * nearly equal numbers:
 *     u/u0 - 1 = expm1(v - v0),     w/u0 - v0 = v0 expm1(v - v0) + e^(v - v0) (v - v0) .
 * A number to reproduce: the stationary density of F = -x in one dimension has a = 1 - x^2, hence
 * h_u(2) = -3 u(2) = -0.16197. */
#include "mean/sources.h"
#include "base/context.h"
#include "base/linear_algebra.h"

#include <math.h>

/* Above this v - v0 the squares of e^(v - v0) leave the range of double; a ball in which the
 * density varies by e^350 has no useful average, and its standard error says so. */
static const double MAX_EXPONENT = 350;

hb_status hb_equation_create(hb_context *context, const hb_problem *problem, const hb_field *field,
                             hb_equation *out)
{
    HB_CHECK(context, problem && field && field->evaluate, HB_ERROR_ARGUMENT,
             "%s is NULL; a problem and a field with its callback are needed",
             !problem ? "the problem"
             : !field ? "the field"
                      : "the field's callback");
    const int dim = hb_problem_dim(problem);
    HB_CHECK(context, field->dim == dim, HB_ERROR_ARGUMENT,
             "the field has dim %d and the problem %d; they must be the same", field->dim, dim);
    HB_CHECK(context, field->tau_min < field->tau_max, HB_ERROR_ARGUMENT,
             "the field is known from tau %g to %g; the first must be smaller", field->tau_min,
             field->tau_max);
    *out = (hb_equation){problem, field, dim};
    return HB_OK;
}

/* Where values are needed. */
typedef struct node_rows {
    size_t n, dim;
    const double *x, *tau; // (n, dim), (n)
} node_rows;

static hb_status check_finite(hb_context *context, const node_rows *at, hb_status failure,
                              const char *what, size_t columns, const double *values)
{
    for (size_t i = 0; i < at->n * columns; i++) {
        const size_t row = i / columns;
        HB_CHECK(context, isfinite(values[i]), failure,
                 "%s is %g at tau = %g, x1 = %g%s; it must be finite in the whole heat ball", what,
                 values[i], at->tau[row], at->x[row * at->dim], at->dim > 1 ? ", .." : "");
    }
    return HB_OK;
}

hb_status hb_field_values(hb_context *context, const hb_equation *equation, size_t n,
                          const double *x, const double *tau, double *v, double *gradient)
{
    const hb_field *field = equation->field;
    const size_t d = (size_t)equation->dim;
    const int code = field->evaluate(field->user, n, x, tau, v, gradient);
    HB_CHECK(context, code == 0, HB_ERROR_CALLBACK,
             "the field's callback returned %d for %zu points from tau = %g on", code, n, tau[0]);
    const node_rows at = {n, d, x, tau};
    HB_TRY(check_finite(context, &at, HB_ERROR_NUMERICAL, "the field's v", 1, v));
    if (!gradient) return HB_OK;
    return check_finite(context, &at, HB_ERROR_NUMERICAL, "the field's gradient", d, gradient);
}

hb_status hb_drift_values(hb_context *context, const hb_equation *equation, size_t n,
                          const double *x, const double *tau, double *drift, double *divergence)
{
    const size_t d = (size_t)equation->dim;
    HB_TRY(hb_problem_drift_each(context, equation->problem, n, x, tau, drift, divergence, NULL,
                                 NULL));
    const node_rows at = {n, d, x, tau};
    HB_TRY(check_finite(context, &at, HB_ERROR_DOMAIN, "the drift", d, drift));
    return check_finite(context, &at, HB_ERROR_DOMAIN, "the divergence of the drift", 1,
                        divergence);
}

void hb_anchor_deviations(const hb_nodes *nodes, double v0, double *values)
{
    for (size_t i = 0; i < nodes->n; i++) {
        const double step = nodes->v[i] - v0, exponent = fmin(step, MAX_EXPONENT);
        double *row = values + i * HB_COLUMNS;
        row[HB_COLUMN_V] = step;
        row[HB_COLUMN_U] = expm1(exponent);
        row[HB_COLUMN_W] = v0 * row[HB_COLUMN_U] + (1 + row[HB_COLUMN_U]) * step;
    }
}

double hb_source_v(const hb_nodes *nodes, int dim, size_t i)
{
    const size_t d = (size_t)dim;
    const double *gradient = nodes->gradient + i * d;
    return hb_dot(d, gradient, gradient) - hb_dot(d, nodes->drift + i * d, gradient) -
           nodes->divergence[i];
}

void hb_sources(const hb_nodes *nodes, int dim, double v0, double *values)
{
    const size_t d = (size_t)dim;
    for (size_t i = 0; i < nodes->n; i++) {
        const double *gradient = nodes->gradient + i * d;
        const double slope2 = hb_dot(d, gradient, gradient);
        const double a = -nodes->divergence[i] - hb_dot(d, nodes->drift + i * d, gradient);
        const double u = exp(fmin(nodes->v[i] - v0, MAX_EXPONENT));
        double *row = values + i * HB_COLUMNS;
        row[HB_COLUMN_V] = slope2 + a;
        row[HB_COLUMN_U] = u * a;
        row[HB_COLUMN_W] = u * ((1 + nodes->v[i]) * a - slope2);
    }
}
