/* u, v = ln u, w = u ln u and the score S = grad v of a field, from heat-ball averages:
 *     F = E_kappa[F] + (C1 r^2/4) E_source[h_F],     S = E_kappa[grad v] + r E[arm h_v]
 * (averages.c; docs/explanation/mean-value.md). The averages come as deviations from the anchor, with u and w
 * divided by u0 = e^v0, so that v = v0 + a, u = e^v0 (1 + b), w = e^v0 (v0 + c).
 *
 * A number to reproduce: F = -x, u the standard normal density: u(0) = 0.3989423 for every
 * radius. */
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"
#include "mean/averages.h"

#include <math.h>

/* out[i] = scale (offset + average), where an output is wanted. */
static void write_value(double *out, double *out_se, size_t i, double scale, double offset,
                        double average, double error)
{
    if (out) out[i] = scale * (offset + average);
    if (out_se) out_se[i] = scale * error;
}

static void write_point(const hb_anchors *anchors, const hb_average_wish *wish, size_t i,
                        const double *mean, const double *error, const hb_mean_values *out)
{
    const size_t d = (size_t)anchors->equation.dim;
    const double v0 = anchors->v[i], u0 = exp(v0);
    if (wish->values) {
        write_value(out->v, out->v_se, i, 1, v0, mean[HB_COLUMN_V], error[HB_COLUMN_V]);
        write_value(out->u, out->u_se, i, u0, 1, mean[HB_COLUMN_U], error[HB_COLUMN_U]);
        write_value(out->w, out->w_se, i, u0, v0, mean[HB_COLUMN_W], error[HB_COLUMN_W]);
    }
    for (size_t c = 0; c < d && wish->score; c++)
        write_value(out->score, out->score_se, i * d + c, 1, 0, mean[HB_COLUMNS + c],
                    error[HB_COLUMNS + c]);
    if (out->radius) out->radius[i] = anchors->radius[i];
}

static hb_status average_anchors(const hb_anchors *anchors, const hb_average_wish *wish,
                                 const hb_mean_values *out)
{
    const size_t n = anchors->n;
    const size_t columns = HB_COLUMNS + (wish->score ? (size_t)anchors->equation.dim : 0);
    void *memory;
    HB_TRY(hb_allocate(anchors->context, n, 2 * columns * sizeof(double), &memory));
    double *mean = memory, *error = mean + n * columns; // (n, columns)
    const hb_status status = hb_averages(anchors, wish, mean, error);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        write_point(anchors, wish, i, mean + i * columns, error + i * columns, out);
    hb_release(anchors->context, memory);
    return status;
}

hb_status hb_mean_value(hb_context *context, const hb_problem *problem, const hb_field *field,
                        const hb_mean_settings *settings, size_t n, const double *x, double tau0,
                        hb_mean_values *given)
{
    HB_CHECK(context, given, HB_ERROR_ARGUMENT, "the output of the mean values is NULL");
    hb_mean_values values = {0}, *out = &values;
    HB_TRY(hb_sized_read(context, "hb_mean_values", sizeof values, sizeof values, given, out));
    hb_anchors anchors;
    hb_status status = hb_anchors_create(context, problem, field, settings, tau0, n, x, &anchors);
    if (status == HB_OK && n > 0) {
        const hb_average_wish wish = {
            .values = out->u || out->u_se || out->v || out->v_se || out->w || out->w_se,
            .score = out->score || out->score_se,
            .degree = anchors.settings.degree > 0 ? anchors.settings.degree : 0};
        status = average_anchors(&anchors, &wish, out);
    }
    hb_anchors_destroy(&anchors);
    return status;
}
