/* The normalised drift F(x,tau) = f(x,t)/(g(t)^2/2) at t = t(tau), and its derivatives.
 *
 * The factor 2/g^2 depends on tau alone, so divergence, gradient and Jacobian of F are those of f times
 * the same factor. Each value that is asked for must be finite; the first that is not is reported with
 * its point. A number to reproduce: f = x - x^3, g = 1 has F(0.5) = 2 (0.5 - 0.125) = 0.75. */
#include "base/context.h"
#include "base/memory.h"
#include "formula/panels.h"
#include "problem/problem_parts.h"
#include "problem/raw_drift.h"

#include <math.h>
#include <stdio.h>

enum { FEW = 256 }; /* points whose times fit the stack */

const char *hb_point_text(int dim, const double *x, char *text)
{
    int length = snprintf(text, HB_POINT_TEXT, "(%.6g", x[0]);
    for (int i = 1; i < dim; i++) {
        if (length > HB_POINT_TEXT - 24) {
            snprintf(text + length, (size_t)(HB_POINT_TEXT - length), ", ...)");
            return text;
        }
        length += snprintf(text + length, (size_t)(HB_POINT_TEXT - length), ", %.6g", x[i]);
    }
    snprintf(text + length, (size_t)(HB_POINT_TEXT - length), ")");
    return text;
}

/* values[n][width], each times factor; what names them in the message. */
static hb_status scale(hb_context *context, const hb_problem *problem, const char *what, double t,
                       double factor, size_t n, const double *x, size_t width, double *values)
{
    if (!values) return HB_OK;
    for (size_t k = 0; k < n * width; k++) {
        values[k] *= factor;
        if (isfinite(values[k])) continue;
        char point[HB_POINT_TEXT];
        hb_point_text(problem->dim, x + k / width * (size_t)problem->dim, point);
        return hb_fail(context, HB_ERROR_DOMAIN, "%s is %g at x = %s, t = %.6g; it must be finite",
                       what, hb_printable(values[k]), point, t);
    }
    return HB_OK;
}

static hb_status evaluate(hb_context *context, const hb_problem *problem, const double *t,
                          size_t t_step, size_t n, const double *x, double *f, double *divergence,
                          double *grad_divergence, double *jacobian)
{
    return (problem->drift.callback ? hb_drift_callback_evaluate : hb_drift_text_evaluate)(
        context, &problem->drift, t, t_step, n, x, f, divergence, grad_divergence, jacobian);
}

hb_status hb_problem_drift(hb_context *context, const hb_problem *problem, size_t n,
                           const double *x, double tau, double *F, double *divergence,
                           double *grad_divergence, double *jacobian)
{
    HB_CHECK(context, problem && (x || n == 0), HB_ERROR_ARGUMENT,
             "the problem or the points of a drift are NULL");
    const size_t d = (size_t)problem->dim;
    double t, rate;
    HB_TRY(hb_time_change_t(context, problem->change, tau, &t));
    HB_TRY(hb_time_change_rate(context, problem->change, t, &rate));
    HB_TRY(evaluate(context, problem, &t, 0, n, x, F, divergence, grad_divergence, jacobian));
    const double s = 1 / rate;
    HB_TRY(scale(context, problem, "the drift", t, s, n, x, d, F));
    HB_TRY(scale(context, problem, "the divergence of the drift", t, s, n, x, 1, divergence));
    HB_TRY(scale(context, problem, "the gradient of the drift's divergence", t, s, n, x, d,
                 grad_divergence));
    return scale(context, problem, "the Jacobian of the drift", t, s, n, x, d * d, jacobian);
}

/* values[n][width], row i divided by rate[i]. */
static void scale_each(size_t n, size_t width, const double *rate, double *values)
{
    if (!values) return;
    for (size_t i = 0; i < n; i++) {
        const double factor = 1 / rate[i];
        for (size_t k = 0; k < width; k++) values[i * width + k] *= factor;
    }
}

static void scale_all(size_t n, double factor, double *values)
{
    if (!values) return;
    for (size_t k = 0; k < n; k++) values[k] *= factor;
}

/* times: scratch for t[n] and g^2/2, rate[n]. */
static hb_status drift_at_times(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, const double *tau, double *F, double *divergence,
                                double *grad_divergence, double *jacobian, double *times)
{
    const size_t d = (size_t)problem->dim;
    double *t = times, *rate = times + n; // (n)
    HB_TRY(hb_time_change_times(context, problem->change, n, tau, t, rate));
    HB_TRY(evaluate(context, problem, t, 1, n, x, F, divergence, grad_divergence, jacobian));
    scale_each(n, d, rate, F);
    scale_each(n, 1, rate, divergence);
    scale_each(n, d, rate, grad_divergence);
    scale_each(n, d * d, rate, jacobian);
    return HB_OK;
}

/* Any time will do; each tau must still be one. */
static hb_status autonomous_drift(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, const double *tau, double *F, double *divergence,
                                  double *grad_divergence, double *jacobian)
{
    const size_t d = (size_t)problem->dim;
    double t = 0, rate;
    for (size_t i = 0; i < n; i++)
        if (!(tau[i] >= 0 && isfinite(tau[i])))
            return hb_time_change_t(context, problem->change, tau[i], &t);
    HB_TRY(hb_time_change_rate(context, problem->change, t, &rate));
    HB_TRY(evaluate(context, problem, &t, 0, n, x, F, divergence, grad_divergence, jacobian));
    scale_all(n * d, 1 / rate, F);
    scale_all(n, 1 / rate, divergence);
    scale_all(n * d, 1 / rate, grad_divergence);
    scale_all(n * d * d, 1 / rate, jacobian);
    return HB_OK;
}

hb_status hb_problem_drift_each(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, const double *tau, double *F, double *divergence,
                                double *grad_divergence, double *jacobian)
{
    HB_CHECK(context, problem && ((x && tau) || n == 0), HB_ERROR_ARGUMENT,
             "the problem, the points or the tau of a drift are NULL");
    if (hb_problem_is_autonomous(problem))
        return autonomous_drift(context, problem, n, x, tau, F, divergence, grad_divergence,
                                jacobian);
    double few[2 * FEW];
    void *memory = NULL;
    if (n > FEW) HB_TRY(hb_allocate(context, n, 2 * sizeof(double), &memory));
    const hb_status status = drift_at_times(context, problem, n, x, tau, F, divergence,
                                            grad_divergence, jacobian, memory ? memory : few);
    hb_release(context, memory);
    return status;
}

hb_status hb_problem_raw_drift(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, const double *t, double *f, double *jacobian,
                               double *rate)
{
    for (size_t i = 0; i < n; i++)
        HB_TRY(hb_time_change_rate(context, problem->change, t[i], rate + i));
    return evaluate(context, problem, t, 1, n, x, f, NULL, NULL, jacobian);
}

int hb_problem_jacobian_is_timeless(const hb_problem *problem)
{
    return !problem->drift.callback && !problem->drift.jacobian_depends_on_t;
}
