/* The anchors of the averages: the checks that all calls share, the field there, and the radius.
 *
 * The ball of radius r reaches back by r^2/(4 pi), which must stay below tau0 - tau_min. The radius
 * that is chosen by default is
 *     r^2 = min(4 pi DEPTH (tau0 - tau_min), 4 SHIFT/(C1 (|grad v|^2 + |F.grad v| + |div F|)))
 * with the terms of h_v at the anchor: at most DEPTH of the time that is there, and a source part
 * (C1 r^2/4) h_v of ln u of at most about SHIFT. docs/dev/tuning-history.md has the sweep behind
 * both numbers.
 *
 * A number to reproduce: a field known from tau = 0 on allows r < 3.5449077 at tau0 = 1. */
#define SETTINGS hb_mean_settings
#include "base/context.h"
#include "base/memory.h"
#include "base/setting_rows.h"
#include "mean/averages.h"

#include <math.h>

enum { MAX_DEGREE = 20 };
#define DEGREES "2 to 20, 0 for the default or -1 for Monte Carlo"
static const double DEPTH = 0.9, SHIFT = 0.25;

static const hb_setting settings_table[] = {
    TOLD(radius, RESULT | BELOW, 0, 0, INFINITY, "positive, or 0 for the default rule",
         "radius of the heat balls"),
    NUMBER(lift, RESULT, 0, 0, 0, "dimensions that the balls have besides"),
    TOLD(samples, RESULT, 10000, 2, 0x1p40, "2 to 2^40 pairs", "antithetic pairs per average"),
    TOLD(degree, RESULT, 0, -1, MAX_DEGREE, DEGREES, "degree of the cubature"),
    NUMBER(seed, RESULT, 1, 0, 0, "seed of the random numbers"),
    TOLD(quantity, RESULT, HB_QUANTITY_V, HB_QUANTITY_U, HB_QUANTITY_W,
         "HB_QUANTITY_U, HB_QUANTITY_V or HB_QUANTITY_W", "what residuals are of"),
    {0}};
SETTING_FUNCTIONS(mean, settings_table)

static hb_status check_time(hb_context *context, const hb_field *field, double tau0)
{
    HB_CHECK(context, tau0 > field->tau_min && tau0 <= field->tau_max, HB_ERROR_ARGUMENT,
             "tau0 is %g; the field is known from tau %g to %g, and tau0 must lie above the first",
             tau0, field->tau_min, field->tau_max);
    return HB_OK;
}

/* The ball of radius r reaches back by r^2/(4 pi). */
static double largest_radius(const hb_anchors *anchors)
{
    return sqrt(4 * M_PI * (anchors->tau0 - anchors->equation.field->tau_min));
}

hb_status hb_anchors_check_radius(const hb_anchors *anchors, double radius)
{
    const double largest = largest_radius(anchors);
    HB_CHECK(anchors->context, radius > 0 && radius < largest, HB_ERROR_ARGUMENT,
             "radius is %g; at tau0 = %g it must be positive and below %g, so that the heat ball "
             "stays above tau = %g, from where on the field is known",
             radius, anchors->tau0, largest, anchors->equation.field->tau_min);
    return HB_OK;
}

static double chosen_radius(const hb_anchors *anchors, double source_size)
{
    const double deepest = DEPTH * largest_radius(anchors) * largest_radius(anchors);
    const double widest = 4 * SHIFT / (anchors->constants.C1 * source_size);
    return sqrt(fmin(deepest, widest));
}

static double terms_of_source(size_t d, const double *gradient, const double *drift,
                              double divergence)
{
    double slope2 = 0, along = 0;
    for (size_t i = 0; i < d; i++) {
        slope2 += gradient[i] * gradient[i];
        along += gradient[i] * drift[i];
    }
    return slope2 + fabs(along) + fabs(divergence);
}

/* Field and drift at the anchors. */
static hb_status evaluate_anchors(hb_anchors *anchors)
{
    const size_t n = anchors->n, d = (size_t)anchors->equation.dim;
    hb_context *context = anchors->context;
    hb_workspace work;
    double *tau, *divergence, *gradient, *drift; // (n), (n), (n, d), (n, d)
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(tau, n), HB_ARRAY(divergence, n),
                        HB_ARRAY(gradient, n * d), HB_ARRAY(drift, n * d)));
    for (size_t i = 0; i < n; i++) tau[i] = anchors->tau0;
    hb_status status =
        hb_field_values(context, &anchors->equation, n, anchors->x, tau, anchors->v, gradient);
    if (status == HB_OK)
        status =
            hb_drift_values(context, &anchors->equation, n, anchors->x, tau, drift, divergence);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        anchors->source_size[i] =
            terms_of_source(d, gradient + i * d, drift + i * d, divergence[i]);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status allocate_anchors(hb_anchors *anchors)
{
    void *memory;
    HB_TRY(hb_allocate(anchors->context, anchors->n + 1, 3 * sizeof(double), &memory));
    anchors->v = memory;
    anchors->source_size = anchors->v + anchors->n;
    anchors->radius = anchors->source_size + anchors->n;
    return HB_OK;
}

hb_status hb_anchors_create(hb_context *context, const hb_problem *problem, const hb_field *field,
                            const hb_mean_settings *settings, double tau0, size_t n,
                            const double *x, hb_anchors *out)
{
    *out = (hb_anchors){.context = context, .tau0 = tau0, .n = n, .x = x};
    HB_SIZED_READ(context, hb_mean_settings, settings, &out->settings);
    HB_TRY(hb_setting_rows_check(context, settings_table, &out->settings));
    HB_CHECK(context, out->settings.degree != 1, HB_ERROR_ARGUMENT,
             "degree is 1; it must be " DEGREES);
    HB_TRY(hb_equation_create(context, problem, field, &out->equation));
    HB_TRY(check_time(context, field, tau0));
    HB_CHECK(context, x != NULL || n == 0, HB_ERROR_ARGUMENT, "x is NULL with %zu points", n);
    for (size_t i = 0; i < n * (size_t)field->dim; i++)
        HB_CHECK(context, isfinite(x[i]), HB_ERROR_ARGUMENT,
                 "coordinate %zu of point %zu is %g; it must be finite", i % (size_t)field->dim + 1,
                 i / (size_t)field->dim, x[i]);
    HB_TRY(hb_ball_constants_get(context, field->dim, out->settings.lift, sizeof out->constants,
                                 &out->constants));
    if (out->settings.radius > 0) HB_TRY(hb_anchors_check_radius(out, out->settings.radius));
    HB_TRY(allocate_anchors(out));
    if (n > 0) HB_TRY(evaluate_anchors(out));
    for (size_t i = 0; i < n; i++)
        out->radius[i] = out->settings.radius > 0 ? out->settings.radius
                                                  : chosen_radius(out, out->source_size[i]);
    return HB_OK;
}

void hb_anchors_destroy(hb_anchors *anchors)
{
    hb_release(anchors->context, anchors->v);
    anchors->v = NULL;
}
