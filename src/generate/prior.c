/* The distribution at tau_max, where generation starts and likelihoods end.
 *
 * Data with mean m and covariance C has mean a m and covariance a^2 C + b I there, and is close to
 * the Gaussian of these moments: the third cumulant is a^3 times that of the data, 1.2e-4 times at
 * tau = 3 under OU. Without m and C it is N(0, I) for OU, off by a m = 0.05 m in the mean.
 * Under a drift of the user m and C are those of the distribution at tau_max; draws of it are in
 * end_points.c. A number to reproduce: N(0, I) in two dimensions at (1, 2): -ln 2 pi - 5/2 =
 * -4.3378770664093453. */
#include "base/linear_algebra.h"
#include "base/parallel.h"
#include "generate/reverse.h"
#include "random/fill.h"

#include <lapacke.h>
#include <math.h>

enum { ROWS = 256 };

static void prior_fill_covariance(const hb_prior *prior, const double *data, hb_level level)
{
    const size_t d = prior->dim;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            prior->cholesky[i * d + j] = level.a * level.a * data[i * d + j] + (i == j) * level.b;
}

static hb_status prior_factor(const hb_prior *prior)
{
    const size_t d = prior->dim;
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            const double here = prior->cholesky[i * d + j], there = prior->cholesky[j * d + i];
            HB_CHECK(prior->context, isfinite(here) && fabs(here - there) <= 1e-9 * fabs(here),
                     HB_ERROR_ARGUMENT,
                     "the covariance of the data is %g and %g at (%zu, %zu) and its mirror (times "
                     "a^2); it must be finite and symmetric",
                     here, there, i + 1, j + 1);
        }
    const lapack_int n = (lapack_int)d;
    HB_CHECK(prior->context, LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', n, prior->cholesky, n) == 0,
             HB_ERROR_ARGUMENT, "the covariance of the data has a negative eigenvalue");
    return HB_OK;
}

hb_status hb_prior_create(hb_context *context, const hb_generate_settings *settings, int dim,
                          hb_prior *out)
{
    const size_t d = (size_t)dim, matrix = settings->covariance ? d * d : 0;
    const int at_once =
        settings->process == HB_PROCESS_DRIFT; /* moments of the distribution itself */
    const hb_level level = at_once ? (hb_level){.a = 1}
                                   : hb_level_at((hb_process)settings->process, settings->tau_max);
    *out = (hb_prior){.context = context, .dim = d, .sd = sqrt(level.a * level.a + level.b)};
    HB_TRY(HB_WORKSPACE(context, &out->work, HB_ARRAY(out->mean, d),
                        HB_ARRAY_IF(matrix, out->cholesky, matrix)));
    for (size_t j = 0; j < d; j++) out->mean[j] = settings->mean ? level.a * settings->mean[j] : 0;
    for (size_t j = 0; j < d; j++)
        HB_CHECK(context, isfinite(out->mean[j]), HB_ERROR_ARGUMENT,
                 "component %zu of the mean of the data is %g", j + 1, out->mean[j]);
    if (!matrix) return HB_OK;
    prior_fill_covariance(out, settings->covariance, level);
    return prior_factor(out);
}

/* ---- draws ---- */

typedef struct prior_draw {
    const hb_prior *prior;
    const hb_vector_kernels *kernels;
    uint64_t seed, first;
    size_t n;
    double *x; // (n, dim)
} prior_draw;

/* x = mean + L z, in place: row i of L needs z_0 .. z_i only, so from the last one up. */
static void prior_place(const hb_prior *prior, double *z)
{
    const size_t d = prior->dim;
    const double *L = prior->cholesky;
    for (size_t i = d; i-- > 0;)
        z[i] = prior->mean[i] + (L ? hb_dot(i + 1, L + i * d, z) : prior->sd * z[i]);
}

static hb_status prior_draw_rows(void *user, size_t index, int thread)
{
    const prior_draw *draw = user;
    const size_t d = draw->prior->dim, start = index * ROWS;
    const size_t count = draw->n - start < ROWS ? draw->n - start : ROWS;
    double *x = draw->x + start * d;
    (void)thread;
    hb_fill_normal(draw->kernels, draw->seed, HB_STREAM_GENERATE, (draw->first + start) * d,
                   count * d, x);
    for (size_t i = 0; i < count; i++) prior_place(draw->prior, x + i * d);
    return HB_OK;
}

hb_status hb_prior_draw(const hb_prior *prior, hb_context *quiet, uint64_t seed, uint64_t first,
                        size_t n, double *x)
{
    prior_draw draw = {prior, hb_vector_kernels_of(quiet->isa), seed, first, n, x};
    return hb_parallel_for(quiet, "generating", (n + ROWS - 1) / ROWS, prior_draw_rows, &draw);
}

/* ---- density ---- */

/* L^-1 (transpose 'T') or L^-T ('N') of each row, which is a column for LAPACK; L by rows is its
 * upper transpose. One call a row: the bits of a system with several right-hand sides depend on
 * their number in some libraries (OpenBLAS). */
static hb_status prior_solve_rows(const hb_prior *prior, char transpose, size_t n, double *x)
{
    const size_t d = prior->dim;
    const lapack_int order = (lapack_int)d;
    for (size_t i = 0; i < n && prior->cholesky; i++)
        HB_CHECK(prior->context,
                 LAPACKE_dtrtrs(LAPACK_COL_MAJOR, 'U', transpose, 'N', order, 1, prior->cholesky,
                                order, x + i * d, order) == 0,
                 HB_ERROR_NUMERICAL, "the covariance of the data is singular");
    return HB_OK;
}

hb_status hb_prior_add_log_density(const hb_prior *prior, size_t n, double *x, double *out)
{
    const size_t d = prior->dim;
    const double *L = prior->cholesky;
    double constant = 0.5 * (double)d * log(2 * M_PI);
    for (size_t j = 0; j < d; j++) constant += log(L ? L[j * d + j] : prior->sd);
    for (size_t i = 0; i < n * d; i++) x[i] = (x[i] - prior->mean[i % d]) / (L ? 1 : prior->sd);
    HB_TRY(prior_solve_rows(prior, 'T', n, x));
    for (size_t i = 0; i < n; i++) out[i] += -constant - 0.5 * hb_dot(d, x + i * d, x + i * d);
    return HB_OK;
}

hb_status hb_prior_gradient(const hb_prior *prior, size_t n, double *x)
{
    const size_t d = prior->dim;
    const double *L = prior->cholesky;
    HB_TRY(prior_solve_rows(prior, 'N', n, x));
    for (size_t i = 0; i < n * d; i++) x[i] = -x[i] / (L ? 1 : prior->sd);
    return HB_OK;
}
