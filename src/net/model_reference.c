/* The Gaussian reference of a model: made from data, evaluated at points.
 *
 * All of it in z, the data's own coordinates. The data's mean m and covariance C = sum_r variance_r
 * axis_r axis_r^T (LAPACK's dsyevd) go along with OU and VE as N(a m, a^2 C + b I): the axes stay.
 * With p = axes (z - a m) and V_r = a^2 variance_r + b,
 *     v_ref = -1/2 sum_r (ln(2 pi V_r) + p_r^2/V_r),     grad v_ref = -axes^T (p/V).
 * Both turns are matrix products over all rows (float; the network's own precision). v_ref solves
 * the Fokker-Planck equation of OU and VE exactly, whatever m and C are. For a user's drift a m and
 * V_r are the moments of model_drift.c, and it solves nothing. A number to reproduce: the
 * standard normal stays itself under OU; at z = (2, 0) v_ref = -3.8378771. */
#include "base/context.h"
#include "net/model_parts.h"
#include "net/net_tape.h"

#include <lapacke.h>
#include <math.h>

/* Variances below this part of the largest are lifted to it: a pixel that never changes. */
static const double LEAST_VARIANCE = 1e-8;

/* ln det(2 pi C) at a level of noise. */
static double reference_sum_of_logs(const hb_model *model, const hb_noise_level *level)
{
    const size_t d = (size_t)model->info.dim;
    double sum = (double)d * log(2 * M_PI);
    for (size_t r = 0; r < d; r++) sum += log(hb_model_variance(model, level, r));
    return sum;
}

hb_status hb_model_reference(const hb_model *model, const hb_points *points, float *scratch,
                             double *value, float *gradient)
{
    const size_t d = (size_t)model->info.dim, n = points->n;
    const hb_net_layer rotation = {.in = d, .out = d};
    float *centred = scratch, *p = scratch + n * d; // (n, d)
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            centred[i * d + j] =
                (float)(points->z[i * d + j] - hb_model_mean(model, &points->level[i], j));
    HB_TRY(hb_net_to_outputs(model->context, &rotation, n, model->axes, centred, p));
    double log_variances = 0; /* of the row before, if it has the same level of noise */
    for (size_t i = 0; i < n; i++) {
        const hb_noise_level *c = &points->level[i];
        if (value && (i == 0 || c->tau != c[-1].tau))
            log_variances = reference_sum_of_logs(model, c);
        double sum = log_variances;
        for (size_t r = 0; r < d; r++) {
            const double variance = hb_model_variance(model, c, r);
            const double q = (double)p[i * d + r];
            sum += q * q / variance;
            p[i * d + r] = (float)(-q / variance);
        }
        if (value) value[i] = -sum / 2;
    }
    if (!gradient) return HB_OK;
    return hb_net_to_inputs(model->context, &rotation, n, model->axes, p, 0, gradient);
}

static void reference_mean(size_t n, size_t d, const double *x, double *mean)
{
    for (size_t j = 0; j < d; j++) mean[j] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) mean[j] += x[i * d + j];
    for (size_t j = 0; j < d; j++) mean[j] /= (double)n;
}

/* The upper triangle of the covariance of x/scale, row by row. */
static void reference_covariance(size_t n, size_t d, const double *x, const double *mean,
                                 const double *scale, double *C)
{
    for (size_t k = 0; k < d * d; k++) C[k] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            const double xj = (x[i * d + j] - mean[j]) / scale[j];
            for (size_t l = j; l < d; l++)
                C[j * d + l] += xj * ((x[i * d + l] - mean[l]) / scale[l]);
        }
    for (size_t k = 0; k < d * d; k++) C[k] /= (double)n;
}

/* The standard deviation of column j, whatever its size: squares are taken of deviations over the
 * largest one. 0 where all rows are the same. */
static double reference_deviation(size_t n, size_t d, const double *x, double mean, size_t j)
{
    double most = 0, sum = 0;
    int constant = 1;
    for (size_t i = 0; i < n; i++) {
        constant &= x[i * d + j] == x[j];
        most = fmax(most, fabs(x[i * d + j] - mean));
    }
    if (constant) return 0;
    for (size_t i = 0; i < n; i++) {
        const double part = (x[i * d + j] - mean) / most;
        sum += part * part;
    }
    return most * sqrt(sum / (double)n);
}

/* The standard deviations as scales. */
static hb_status reference_scale_columns(hb_context *context, hb_model *model, size_t n,
                                         const double *x)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t j = 0; j < d; j++) {
        const double scale = reference_deviation(n, d, x, model->mean[j], j);
        HB_CHECK(context, scale > 0, HB_ERROR_ARGUMENT,
                 "column %zu of the data is %g in every row and has no scale of its own; leave it "
                 "out, or standardise by one scale for all columns (common) or not at all (no)",
                 j + 1, x[j]);
        HB_CHECK(context, isnormal(scale) && isnormal(1 / scale), HB_ERROR_ARGUMENT,
                 "column %zu of the data has standard deviation %g, beyond what numbers hold; give "
                 "it another unit",
                 j + 1, scale);
        model->scale[j] = scale;
    }
    return HB_OK;
}

/* From C (d, d), overwritten: axes and variances; HB_ERROR_ARGUMENT when all rows are the same. */
static hb_status reference_take_axes(hb_context *context, hb_model *model, double *C)
{
    const size_t d = (size_t)model->info.dim;
    const lapack_int n = (lapack_int)d;
    const lapack_int info = LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'U', n, C, n, model->variance);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL, "LAPACK's dsyevd returned %d", (int)info);
    const double largest = model->variance[d - 1];
    HB_CHECK(context, largest > 0 && isfinite(largest), HB_ERROR_ARGUMENT,
             "the data's largest variance is %g; it must be positive and finite", largest);
    model->spread = 0;
    for (size_t r = 0; r < d; r++) {
        model->variance[r] = fmax(model->variance[r], LEAST_VARIANCE * largest);
        model->spread += model->variance[r] / (double)d;
        for (size_t j = 0; j < d; j++) model->axes[r * d + j] = (float)C[j * d + r];
    }
    return HB_OK;
}

/* z = (x - shift)/scale: the mean and, of COMMON, the root mean variance; or 0 and 1. The scales of
 * AXIS are in the moments already. */
static void reference_standardise(hb_model *model, int standardise)
{
    const size_t d = (size_t)model->info.dim;
    const double scale = standardise == HB_STANDARDISE_COMMON ? sqrt(model->spread) : 1;
    model->spread /= scale * scale;
    for (size_t j = 0; j < d; j++) {
        if (standardise != HB_STANDARDISE_AXIS) model->scale[j] = scale;
        model->shift[j] = standardise == HB_STANDARDISE_NO ? 0 : model->mean[j];
        model->mean[j] -= model->shift[j];
        model->variance[j] /= scale * scale;
    }
    hb_model_set_scales(model);
}

hb_status hb_model_set_reference(hb_context *context, hb_model *model, int standardise, size_t n,
                                 const double *x)
{
    const size_t d = (size_t)model->info.dim;
    HB_CHECK(context, n >= 2, HB_ERROR_ARGUMENT,
             "there are %zu rows of data; at least 2 are needed", n);
    for (size_t i = 0; i < n * d; i++)
        HB_CHECK(context, isfinite(x[i]), HB_ERROR_ARGUMENT,
                 "row %zu, column %zu of the data is %g; it must be finite", i / d + 1, i % d + 1,
                 x[i]);
    void *C;
    reference_mean(n, d, x, model->mean);
    for (size_t j = 0; j < d; j++) model->scale[j] = 1;
    if (standardise == HB_STANDARDISE_AXIS) HB_TRY(reference_scale_columns(context, model, n, x));
    HB_TRY(hb_allocate(context, d * d, sizeof(double), &C));
    reference_covariance(n, d, x, model->mean, model->scale, C);
    const hb_status status = reference_take_axes(context, model, C);
    if (status == HB_OK) reference_standardise(model, standardise);
    hb_release(context, C);
    return status;
}
