/* Gaussian mixtures: sum_k w_k N(m_k, C_k), made from arrays, and their closed forms.
 *
 * Each C_k is diagonalised once (LAPACK dsyev), C_k = sum_r lambda_r a_r a_r^T. Then everything
 * that OU and VE do to it is a change of the lambda_r, and density, score and draws at any tau need
 * no further linear algebra. The whole has
 *     mean  m = sum_k w_k m_k,      covariance  sum_k w_k (C_k + (m_k - m)(m_k - m)^T).
 * A number to reproduce: half N(-1, 0.25) and half N(1, 0.25) have variance 1.25. */
#include "data/mixture.h"
#include "base/context.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { MAX_MIXTURE_DIM = 4096 };
static const double LARGEST = 1e100, SMALLEST = 1e-100, ASYMMETRY = 1e-10;

static hb_status check_numbers(hb_context *context, size_t k, size_t d, const double *weights,
                               const double *means, const double *covariances)
{
    const double *C = covariances + k * d * d;
    HB_CHECK(context, weights[k] > 0 && weights[k] < LARGEST, HB_ERROR_ARGUMENT,
             "weight %zu of the mixture is %g; it must be above 0 and below 1e100", k + 1,
             weights[k]);
    for (size_t j = 0; j < d; j++)
        HB_CHECK(context, fabs(means[k * d + j]) < LARGEST, HB_ERROR_ARGUMENT,
                 "coordinate %zu of mean %zu of the mixture is %g; it must be below 1e100 in size",
                 j + 1, k + 1, means[k * d + j]);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            const double size = sqrt(fabs(C[i * d + i])) * sqrt(fabs(C[j * d + j]));
            HB_CHECK(
                context, fabs(C[i * d + j] - C[j * d + i]) <= ASYMMETRY * size && size < LARGEST,
                HB_ERROR_ARGUMENT,
                "covariance %zu of the mixture has %g and %g at (%zu,%zu) and (%zu,%zu); it must "
                "be symmetric, below 1e100 in size",
                k + 1, C[i * d + j], C[j * d + i], i + 1, j + 1, j + 1, i + 1);
        }
    return HB_OK;
}

/* Axes and variances of covariance k. dsyev leaves the eigenvectors in columns of a column-major
 * matrix, which are the rows of ours. */
static hb_status diagonalise(hb_context *context, hb_mixture *mixture, size_t k, const double *C)
{
    const size_t d = (size_t)mixture->dim;
    double *axes = mixture->axes + k * d * d, *variance = mixture->variance + k * d;
    memcpy(axes, C, d * d * sizeof *axes);
    const lapack_int info =
        LAPACKE_dsyev(LAPACK_COL_MAJOR, 'V', 'U', (lapack_int)d, axes, (lapack_int)d, variance);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL,
             "the eigenvalues of covariance %zu of the mixture were not found", k + 1);
    HB_CHECK(context, variance[0] > SMALLEST, HB_ERROR_ARGUMENT,
             "covariance %zu of the mixture has the eigenvalue %g; it must be positive definite, "
             "with eigenvalues above 1e-100",
             k + 1, variance[0]);
    return HB_OK;
}

static hb_status allocate_parts(hb_context *context, hb_mixture *mixture)
{
    const size_t n = mixture->count, d = (size_t)mixture->dim;
    return HB_WORKSPACE(context, &mixture->work, HB_ARRAY(mixture->weight, n),
                        HB_ARRAY(mixture->cumulative, n), HB_ARRAY(mixture->mean, n * d),
                        HB_ARRAY(mixture->variance, n * d), HB_ARRAY(mixture->axes, n * d * d),
                        HB_ARRAY(mixture->mode_of, n));
}

static hb_status fill_parts(hb_context *context, hb_mixture *mixture, const double *weights,
                            const double *means, const double *covariances)
{
    const size_t n = mixture->count, d = (size_t)mixture->dim;
    double total = 0, sum = 0;
    for (size_t k = 0; k < n; k++) {
        HB_TRY(check_numbers(context, k, d, weights, means, covariances));
        HB_TRY(diagonalise(context, mixture, k, covariances + k * d * d));
        total += weights[k];
    }
    memcpy(mixture->mean, means, n * d * sizeof *means);
    for (size_t k = 0; k < n; k++) {
        mixture->weight[k] = weights[k] / total;
        mixture->cumulative[k] = sum += mixture->weight[k];
        mixture->mode_of[k] = (int)k;
    }
    mixture->cumulative[n - 1] = 1;
    return HB_OK;
}

hb_status hb_mixture_create(hb_context *context, int dim, size_t count, const double *weights,
                            const double *means, const double *covariances, hb_mixture **out)
{
    HB_CHECK(context, dim >= 1 && dim <= MAX_MIXTURE_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; a mixture has dim 1 to %d", dim, MAX_MIXTURE_DIM);
    HB_CHECK(context, count >= 1 && count <= INT32_MAX, HB_ERROR_ARGUMENT,
             "count is %zu; a mixture has 1 to %d components", count, INT32_MAX);
    HB_CHECK(context, weights && means && covariances && out, HB_ERROR_ARGUMENT,
             "weights, means, covariances or out of a mixture is NULL");
    hb_mixture *mixture;
    HB_TRY(HB_NEW(context, mixture, 1));
    *mixture = (hb_mixture){.context = context, .dim = dim, .count = count, .modes = (int)count};
    hb_status status = allocate_parts(context, mixture);
    if (status == HB_OK) status = fill_parts(context, mixture, weights, means, covariances);
    if (status != HB_OK) {
        hb_mixture_destroy(mixture);
        return status;
    }
    *out = mixture;
    return HB_OK;
}

void hb_mixture_destroy(hb_mixture *mixture)
{
    if (!mixture) return;
    hb_workspace_destroy(&mixture->work);
    hb_release(mixture->context, mixture);
}

int hb_mixture_dim(const hb_mixture *mixture)
{
    return mixture ? mixture->dim : 0;
}

size_t hb_mixture_count(const hb_mixture *mixture)
{
    return mixture ? mixture->count : 0;
}

int hb_mixture_modes(const hb_mixture *mixture, int *mode_of)
{
    if (!mixture) return 0;
    if (mode_of) memcpy(mode_of, mixture->mode_of, mixture->count * sizeof *mode_of);
    return mixture->modes;
}

/* to += weight C_k; the result is symmetric to the last bit. */
static void add_covariance(const hb_mixture *mixture, size_t k, double weight, double *to)
{
    const size_t d = (size_t)mixture->dim;
    const double *variance = mixture->variance + k * d;
    for (size_t r = 0; r < d; r++) {
        const double *axis = mixture->axes + (k * d + r) * d;
        for (size_t i = 0; i < d; i++)
            for (size_t j = 0; j < d; j++)
                to[i * d + j] += weight * variance[r] * (axis[i] * axis[j]);
    }
}

hb_status hb_mixture_component(hb_context *context, const hb_mixture *mixture, size_t k,
                               double *weight, double *mean, double *covariance)
{
    HB_CHECK(context, mixture, HB_ERROR_ARGUMENT, "the mixture is NULL");
    HB_CHECK(context, k < mixture->count, HB_ERROR_ARGUMENT,
             "component %zu is wanted; the mixture has components 0 to %zu", k, mixture->count - 1);
    const size_t d = (size_t)mixture->dim;
    if (weight) *weight = mixture->weight[k];
    if (mean) memcpy(mean, mixture->mean + k * d, d * sizeof *mean);
    if (!covariance) return HB_OK;
    memset(covariance, 0, d * d * sizeof *covariance);
    add_covariance(mixture, k, 1, covariance);
    return HB_OK;
}

/* to += weight (at - from)(at - from)^T */
static void add_outer(size_t d, double weight, const double *at, const double *from, double *to)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            to[i * d + j] += weight * ((at[i] - from[i]) * (at[j] - from[j]));
}

void hb_mixture_moments(const hb_mixture *mixture, double *mean, double *covariance)
{
    if (!mixture || !mean || !covariance) return;
    const size_t d = (size_t)mixture->dim;
    memset(mean, 0, d * sizeof *mean);
    memset(covariance, 0, d * d * sizeof *covariance);
    for (size_t k = 0; k < mixture->count; k++)
        for (size_t j = 0; j < d; j++) mean[j] += mixture->weight[k] * mixture->mean[k * d + j];
    for (size_t k = 0; k < mixture->count; k++) {
        add_covariance(mixture, k, mixture->weight[k], covariance);
        add_outer(d, mixture->weight[k], mixture->mean + k * d, mean, covariance);
    }
}

/* ---- the processes ---- */

hb_status hb_transition_of(hb_context *context, hb_process process, double tau, hb_transition *out)
{
    HB_CHECK(context, process == HB_PROCESS_OU || process == HB_PROCESS_VE, HB_ERROR_ARGUMENT,
             "a mixture stays one under the processes ou and ve only");
    HB_CHECK(context, tau >= 0 && tau < LARGEST, HB_ERROR_ARGUMENT,
             "tau is %g; it must be 0 or more, and below 1e100", tau);
    out->a = process == HB_PROCESS_OU ? exp(-tau) : 1;
    out->b = process == HB_PROCESS_OU ? -expm1(-2 * tau) : 2 * tau;
    return HB_OK;
}

void hb_mixture_box(const hb_mixture *mixture, const hb_transition *transition, double deviations,
                    double *low, double *high)
{
    const size_t d = (size_t)mixture->dim;
    const double a = transition->a, b = transition->b;
    for (size_t j = 0; j < d; j++) {
        low[j] = INFINITY;
        high[j] = -INFINITY;
        for (size_t k = 0; k < mixture->count; k++) {
            double variance = b;
            for (size_t r = 0; r < d; r++) {
                const double part = mixture->axes[(k * d + r) * d + j];
                variance += a * a * mixture->variance[k * d + r] * part * part;
            }
            const double reach = deviations * sqrt(variance), mean = a * mixture->mean[k * d + j];
            low[j] = fmin(low[j], mean - reach);
            high[j] = fmax(high[j], mean + reach);
        }
    }
}
