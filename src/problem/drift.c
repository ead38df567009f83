/* The normalised drift F(x,tau) = f(x,t)/(g(t)^2/2) at t = t(tau), and its derivatives.
 *
 * The factor 2/g^2 depends on tau alone, so divergence, gradient and Jacobian of F are those of
 * f times the same factor. Each value that is asked for must be finite; the first that is not is
 * reported with its point. A number to reproduce: f = x - x^3, g = 1 has F(0.5) = 2 (0.5 -
 * 0.125) = 0.75. */
#include "base/context.h"
#include "base/memory.h"
#include "formula/panels.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <stdio.h>

enum { FEW = 256, BLOCK_DOUBLES = 1 << 14 }; /* points whose times fit the stack; of a block */

size_t hb_drift_rows(size_t n, size_t width)
{
    const size_t rows = width < BLOCK_DOUBLES ? BLOCK_DOUBLES / width : 1;
    return n < rows ? n : rows;
}

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

static hb_status drift_evaluate(hb_context *context, const hb_problem *problem, const double *t,
                                size_t t_step, size_t n, const double *x,
                                const hb_drift_values *out)
{
    return (problem->drift.callback ? hb_drift_callback_evaluate : hb_drift_text_evaluate)(
        context, &problem->drift, t, t_step, n, x, out);
}

hb_status hb_problem_drift(hb_context *context, const hb_problem *problem, size_t n,
                           const double *x, double tau, double *F, double *divergence,
                           double *grad_divergence, double *jacobian)
{
    HB_CHECK(context, problem && (x || n == 0), HB_ERROR_ARGUMENT,
             "the problem or the points of a drift are NULL");
    const size_t d = (size_t)problem->dim;
    const hb_drift_values out = {F, divergence, grad_divergence, jacobian};
    double t, rate;
    HB_TRY(hb_time_change_t(context, problem->change, tau, &t));
    HB_TRY(hb_time_change_rate(context, problem->change, t, &rate));
    HB_TRY(drift_evaluate(context, problem, &t, 0, n, x, &out));
    const struct {
        const char *what;
        size_t width;
        double *values;
    } parts[] = {{"the drift", d, F},
                 {"the divergence of the drift", 1, divergence},
                 {"the gradient of the drift's divergence", d, grad_divergence},
                 {"the Jacobian of the drift", d * d, jacobian}};
    const double factor = 1 / rate;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        double *values = parts[p].values;
        for (size_t k = 0; values && k < n * parts[p].width; k++) {
            char point[HB_POINT_TEXT];
            values[k] *= factor;
            HB_CHECK(context, isfinite(values[k]), HB_ERROR_DOMAIN,
                     "%s is %g at x = %s, t = %.6g; it must be finite", parts[p].what,
                     hb_printable(values[k]),
                     hb_point_text(problem->dim, x + k / parts[p].width * d, point), t);
        }
    }
    return HB_OK;
}

/* Divides `points` points at a time, rows of them, by rate[rows]. */
static void drift_divide(size_t rows, size_t points, size_t d, const double *rate,
                         const hb_drift_values *out)
{
    const size_t width[] = {d, 1, d, d * d};
    double *const values[] = {out->f, out->divergence, out->grad_divergence, out->jacobian};
    for (size_t p = 0; p < 4; p++)
        for (size_t i = 0; values[p] && i < rows; i++) {
            const double factor = 1 / rate[i];
            double *row = values[p] + i * points * width[p];
            for (size_t k = 0; k < points * width[p]; k++) row[k] *= factor;
        }
}

/* times: scratch for t[n] and g^2/2, rate[n]. */
static hb_status drift_at_times(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, const double *tau, double *times,
                                const hb_drift_values *out)
{
    double *t = times, *rate = times + n; // (n)
    HB_TRY(hb_time_change_times(context, problem->change, n, tau, t, rate));
    HB_TRY(drift_evaluate(context, problem, t, 1, n, x, out));
    drift_divide(n, 1, (size_t)problem->dim, rate, out);
    return HB_OK;
}

/* Any time will do; each tau must still be one. */
static hb_status drift_autonomous(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, const double *tau, const hb_drift_values *out)
{
    double t = 0, rate;
    for (size_t i = 0; i < n; i++)
        if (!(tau[i] >= 0 && isfinite(tau[i])))
            return hb_time_change_t(context, problem->change, tau[i], &t);
    HB_TRY(hb_time_change_rate(context, problem->change, t, &rate));
    HB_TRY(drift_evaluate(context, problem, &t, 0, n, x, out));
    drift_divide(1, n, (size_t)problem->dim, &rate, out);
    return HB_OK;
}

hb_status hb_problem_drift_each(hb_context *context, const hb_problem *problem, size_t n,
                                const double *x, const double *tau, double *F, double *divergence,
                                double *grad_divergence, double *jacobian)
{
    HB_CHECK(context, problem && ((x && tau) || n == 0), HB_ERROR_ARGUMENT,
             "the problem, the points or the tau of a drift are NULL");
    const hb_drift_values out = {F, divergence, grad_divergence, jacobian};
    if (hb_problem_is_autonomous(problem))
        return drift_autonomous(context, problem, n, x, tau, &out);
    double few[2 * FEW], *many = NULL;
    if (n > FEW) HB_TRY(HB_NEW(context, many, 2 * n));
    const hb_status status = drift_at_times(context, problem, n, x, tau, many ? many : few, &out);
    hb_release(context, many);
    return status;
}

/* A callback's, from its Jacobian. */
static hb_status drift_turned_densely(hb_context *context, const hb_problem *problem,
                                      const double *t, size_t n, const double *x, const double *b,
                                      double *out)
{
    const size_t d = (size_t)problem->dim;
    double *jacobian;
    HB_TRY(HB_NEW(context, jacobian, n * d * d));
    const hb_drift_values values = {.jacobian = jacobian};
    const hb_status status = drift_evaluate(context, problem, t, 1, n, x, &values);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        for (size_t j = 0; j < d; j++) {
            out[i * d + j] = 0;
            for (size_t k = 0; k < d; k++)
                out[i * d + j] += jacobian[(i * d + k) * d + j] * b[i * d + k];
        }
    hb_release(context, jacobian);
    return status;
}

hb_status hb_problem_drift_turned(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, const double *tau, const double *b, double *out)
{
    double *times; // t and g^2/2, (n) each
    HB_TRY(HB_NEW(context, times, 2 * n));
    hb_status status = hb_time_change_times(context, problem->change, n, tau, times, times + n);
    if (status == HB_OK)
        status = problem->drift.callback
                     ? drift_turned_densely(context, problem, times, n, x, b, out)
                     : hb_drift_text_turned(context, &problem->drift, times, 1, n, x, b, out);
    for (size_t i = 0; i < n * (size_t)problem->dim && status == HB_OK; i++)
        out[i] /= times[n + i / (size_t)problem->dim];
    hb_release(context, times);
    return status;
}

hb_status hb_problem_raw_drift(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, const double *t, double *f, double *jacobian,
                               double *rate)
{
    for (size_t i = 0; i < n; i++)
        HB_TRY(hb_time_change_rate(context, problem->change, t[i], rate + i));
    const hb_drift_values out = {.f = f, .jacobian = jacobian};
    return drift_evaluate(context, problem, t, 1, n, x, &out);
}

int hb_problem_jacobian_is_timeless(const hb_problem *problem)
{
    return !problem->drift.callback && !problem->drift.jacobian_depends_on_t;
}
