/* A Gaussian that a process carries along, the reference of balls.
 *
 * N(m, C) at tau = 0 is at tau, under dx = (A x + c) dtau + sqrt(2) dW, the Gaussian with
 *     m_tau = E m + K c,  C_tau = E C E' + 2 int_0^tau e^(Av) e^(A'v) dv,
 *     E = e^(A tau), K = int_0^tau e^(Av) dv;
 * under OU and VE m_tau = a m, C_tau = a^2 C + b, whose axes stay those of C. It is kept by its
 * axes,
 *     ln N = -sum_r (p_r^2/V_r + ln 2 pi V_r)/2,     p_r = axis_r.(x - m_tau).
 * A number to reproduce: OU from N(0, 1) stays N(0, 1), ln N(0.7) = -1.1639385. */
#include "mean/ball_reference.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "mean/ball_rule.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

/* Axes (rows) and variances of a covariance, which is overwritten. */
static hb_status take_axes(hb_context *context, size_t d, double *C, double *axes, double *variance)
{
    const lapack_int n = (lapack_int)d;
    const lapack_int info = LAPACKE_dsyevd(LAPACK_ROW_MAJOR, 'V', 'U', n, C, n, variance);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL, "LAPACK's dsyevd returned %d", (int)info);
    hb_matrix_transpose(d, C, axes);
    return HB_OK;
}

static hb_status check_moments(hb_context *context, size_t d, const double *mean, const double *C)
{
    for (size_t i = 0; i < d; i++) {
        HB_CHECK(context, isfinite(mean[i]), HB_ERROR_ARGUMENT,
                 "the reference's mean is %g in coordinate %zu; it must be finite", mean[i], i + 1);
        for (size_t j = 0; j <= i; j++) {
            const double there = C[i * d + j], back = C[j * d + i];
            const double size = sqrt(fabs(C[i * d + i] * C[j * d + j]));
            HB_CHECK(context,
                     isfinite(there) && isfinite(back) && fabs(there - back) <= 1e-9 * size,
                     HB_ERROR_ARGUMENT,
                     "the reference's covariance is %g at (%zu, %zu) and %g at (%zu, %zu); it must "
                     "be finite and symmetric",
                     there, i + 1, j + 1, back, j + 1, i + 1);
        }
    }
    return HB_OK;
}

static hb_status take_drift(hb_context *context, const hb_problem *drift, hb_ball_reference *out)
{
    HB_CHECK(context, hb_problem_is_linear(drift) && hb_problem_is_autonomous(drift),
             HB_ERROR_ARGUMENT,
             "a reference needs the process ou or ve or a linear drift without time: no Gaussian "
             "solves the equation of another drift; leave out mean and covariance");
    memset(out->mean, 0, out->dim * sizeof(double)); /* where the drift is c */
    return hb_problem_drift(context, drift, 1, out->mean, 0, out->c, NULL, NULL, out->A);
}

hb_status hb_ball_reference_create(hb_context *context, const hb_balls_settings *settings,
                                   size_t dim, hb_ball_reference *out)
{
    const size_t square = dim * dim;
    const int drift = settings->process == HB_PROCESS_DRIFT;
    *out = (hb_ball_reference){0};
    if (!settings->mean && !settings->covariance) return HB_OK;
    HB_CHECK(context, settings->mean && settings->covariance, HB_ERROR_ARGUMENT,
             "the reference has a %s but no %s; give both or none",
             settings->mean ? "mean" : "covariance", settings->mean ? "covariance" : "mean");
    HB_CHECK(context, dim <= HB_BALL_LAST_DIM, HB_ERROR_ARGUMENT,
             "a reference is for at most %d dimensions; there are %zu", HB_BALL_LAST_DIM, dim);
    HB_TRY(check_moments(context, dim, settings->mean, settings->covariance));
    HB_TRY(HB_WORKSPACE(context, &out->arrays, HB_ARRAY(out->mean, dim),
                        HB_ARRAY(out->covariance, square), HB_ARRAY(out->axes, square),
                        HB_ARRAY(out->variance, dim), HB_ARRAY_IF(drift, out->A, square),
                        HB_ARRAY_IF(drift, out->c, dim)));
    out->dim = dim;
    out->process = settings->process;
    if (drift) HB_TRY(take_drift(context, settings->drift, out));
    memcpy(out->mean, settings->mean, dim * sizeof(double));
    memcpy(out->covariance, settings->covariance, square * sizeof(double));
    HB_TRY(take_axes(context, dim, out->covariance, out->axes, out->variance));
    memcpy(out->covariance, settings->covariance, square * sizeof(double));
    const double least = out->variance[0], most = out->variance[dim - 1];
    HB_CHECK(context, least >= -1e-9 * fmax(most, 0) && most >= 0, HB_ERROR_ARGUMENT,
             "the reference's covariance has the eigenvalue %g; none may be below 0", least);
    return HB_OK;
}

void hb_ball_reference_destroy(hb_ball_reference *reference)
{
    hb_workspace_destroy(&reference->arrays);
    *reference = (hb_ball_reference){0};
}

static void moments_of_noise(const hb_ball_reference *reference, double tau,
                             hb_ball_moments *moments)
{
    const size_t d = reference->dim;
    double a, b;
    hb_ball_level(reference->process, tau, &a, &b);
    for (size_t r = 0; r < d; r++) {
        moments->mean[r] = a * reference->mean[r];
        moments->variance[r] = a * a * fmax(reference->variance[r], 0) + b;
    }
    if (isnan(moments->tau)) memcpy(moments->axes, reference->axes, d * d * sizeof(double));
}

static hb_status moments_of_drift(hb_context *alone, const hb_ball_reference *reference, double tau,
                                  hb_ball_moments *moments)
{
    const size_t d = reference->dim, square = d * d;
    double *E = moments->work, *K = E + square, *C = K + square, *work = C + square;
    for (size_t k = 0; k < square; k++) moments->axes[k] = -reference->A[k];
    hb_linear_functions(d, moments->axes, tau, E, K, C, work);
    for (size_t i = 0; i < d; i++)
        moments->mean[i] =
            hb_dot(d, E + i * d, reference->mean) + hb_dot(d, K + i * d, reference->c);
    hb_matrix_multiply(d, 1, E, reference->covariance, work);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) C[i * d + j] += hb_dot(d, work + i * d, E + j * d);
    return take_axes(alone, d, C, moments->axes, moments->variance);
}

hb_status hb_ball_moments_at(hb_context *alone, const hb_ball_reference *reference, double tau,
                             hb_ball_moments *moments)
{
    if (moments->tau == tau) return HB_OK;
    if (reference->A)
        HB_TRY(moments_of_drift(alone, reference, tau, moments));
    else
        moments_of_noise(reference, tau, moments);
    moments->tau = tau;
    return HB_OK;
}

double hb_ball_moments_log(const hb_ball_moments *moments, size_t d, const double *x,
                           double *gradient)
{
    double value = 0;
    for (size_t j = 0; gradient && j < d; j++) gradient[j] = 0;
    for (size_t r = 0; r < d; r++) {
        const double *axis = moments->axes + r * d, V = moments->variance[r];
        double p = 0;
        for (size_t j = 0; j < d; j++) p += axis[j] * (x[j] - moments->mean[j]);
        value -= 0.5 * (p * p / V + log(2 * M_PI * V));
        if (gradient) hb_axpy(d, -p / V, axis, gradient);
    }
    return value;
}
