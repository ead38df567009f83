/* Whether the noise at tau_max joins the modes of the data.
 *
 * The Fokker-Planck equation carries relative weights of modes down from a tau at which the modes
 * overlap. If they are still apart at tau_max, nothing determines these weights. Along each
 * coordinate and each of the leading axes of the data's covariance let g be the widest gap between
 * neighbouring values that leaves at least n/1000 samples on either side. After the time tau the
 * gap is a(tau) g, and the noise has the standard deviation sqrt(b(tau)):
 *
 *     gap = a g/sqrt(b)   OU  g/sqrt(e^(2 tau) - 1),   VE  g/sqrt(2 tau).
 *
 * Two narrow modes 6 standard deviations apart share 0.3 % of their samples, which a training can
 * still learn from; so the least tau_max is that with gap = 6. A number to reproduce: groups at -5
 * and 5 under OU, not standardised, tau_max = 0.1: gap = 21.2, least tau_max 0.66. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "net/model_parts.h"

#include <heatball/train.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_AXES = 16, ONE_IN = 1000, LEAST_GROUP = 2 };
static const double JOINED = 6;

/* The widest gap of sorted values with `group` of them on either side. */
static double gap_widest(size_t n, const double *sorted, size_t group)
{
    double widest = 0;
    for (size_t i = group; i + group <= n; i++) widest = fmax(widest, sorted[i] - sorted[i - 1]);
    return widest;
}

/* Of what z is along an axis: coordinate r, or row r - d of the reference's axes. */
static double gap_along(const hb_model *model, size_t n, const double *z, size_t r, double *along)
{
    const size_t d = (size_t)model->info.dim, few = n / ONE_IN;
    const float *axis = r < d ? NULL : model->axes + (r - d) * d;
    for (size_t i = 0; i < n; i++) {
        along[i] = axis ? 0 : z[i * d + r];
        for (size_t j = 0; axis && j < d; j++) along[i] += (double)axis[j] * z[i * d + j];
    }
    qsort(along, n, sizeof *along, hb_by_value);
    return gap_widest(n, along, few < LEAST_GROUP ? LEAST_GROUP : few);
}

/* The axes with the largest variance come last. */
static double gap_over_axes(const hb_model *model, size_t n, const double *z, double *along)
{
    const size_t d = (size_t)model->info.dim, axes = d < MOST_AXES ? d : MOST_AXES;
    double widest = 0;
    for (size_t r = 0; r < d; r++) widest = fmax(widest, gap_along(model, n, z, r, along));
    for (size_t r = 2 * d - axes; r < 2 * d; r++)
        widest = fmax(widest, gap_along(model, n, z, r, along));
    return widest;
}

hb_status hb_model_mode_gap(hb_context *context, const hb_model *model, size_t n, const double *x,
                            double *gap, double *tau)
{
    double *z, *along;
    hb_noise_level last;
    hb_workspace work;
    HB_CHECK(context, model && gap && tau && (n == 0 || x), HB_ERROR_ARGUMENT,
             "model, x, gap or tau is NULL");
    *gap = *tau = 0;
    if (model->flow.knots > 0 || n == 0) return HB_OK;
    HB_TRY(
        HB_WORKSPACE(context, &work, HB_ARRAY(z, n * (size_t)model->info.dim), HB_ARRAY(along, n)));
    hb_model_standardise(model, n, x, z);
    const double g = gap_over_axes(model, n, z, along), joined = g / JOINED;
    hb_workspace_destroy(&work);
    hb_model_level(model, model->info.tau_max, &last);
    *gap = last.a * g / sqrt(last.b);
    *tau =
        model->info.process == HB_PROCESS_OU ? 0.5 * log1p(joined * joined) : 0.5 * joined * joined;
    return HB_OK;
}
