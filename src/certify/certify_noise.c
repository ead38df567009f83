/* Rows carried to tau by the process, with the score of the transition.
 *
 * For dx = (A x + c) dtau + sqrt(2) dW, x(tau) given x(0) is normal with mean E x(0) + n and
 * covariance C = L L'. Of OU E = e^-tau, C = 1 - e^-2tau; of VE E = 1, C = 2 tau; of linear drifts
 * both are those of src/path/linear_path.c. With x = E x(0) + n + L e,
 *     t = grad ln p(x | x(0)) = -L^-T e,        E[t | x] = grad ln u(x, tau):
 * the target of denoising is the true score but for noise. Other drifts are followed by Heun's
 * scheme, of weak order 2, with steps of STEP over the size of the Jacobian; there t is not known.
 * A number to reproduce: F = -x, tau = 0.5: E = 0.60653, C = 0.63212. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"
#include "path/linear_path.h"
#include "path/trajectories.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

static const double STEP = 0.03;

/* ---- levels ---- */

static hb_status level_of_linear_drift(const hb_certify_run *run, hb_certify_level *level)
{
    const size_t d = run->dim, size = hb_linear_path_size(d);
    hb_workspace work;
    double *fine, *rough;
    int found = 0;
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(fine, size), HB_ARRAY(rough, size)));
    hb_status status =
        hb_linear_path(run->context, run->settings.drift, level->tau, -1, fine, rough, &found);
    if (status == HB_OK && found) {
        memcpy(level->E, fine, d * d * sizeof *fine);
        memcpy(level->L, fine + d * d, d * d * sizeof *fine);
        memcpy(level->shift, fine + 2 * d * d, d * sizeof *fine);
        found = hb_cholesky(d, level->L);
    }
    for (size_t i = 0; found && i < d; i++)
        for (size_t j = i + 1; j < d; j++) level->L[i * d + j] = 0;
    level->gaussian = found;
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_certify_level_create(const hb_certify_run *run, size_t index, double tau,
                                  hb_certify_level *out)
{
    const size_t d = run->dim;
    const int ou = run->settings.process == HB_PROCESS_OU;
    *out = (hb_certify_level){.index = index, .tau = tau};
    HB_TRY(HB_WORKSPACE(run->context, &out->work, HB_ARRAY(out->E, d * d), HB_ARRAY(out->shift, d),
                        HB_ARRAY(out->L, d * d)));
    if (run->settings.process == HB_PROCESS_DRIFT) {
        out->width = sqrt(2 * tau);
        const hb_status status =
            hb_problem_is_linear(run->settings.drift) ? level_of_linear_drift(run, out) : HB_OK;
        if (status != HB_OK) hb_workspace_destroy(&out->work);
        for (size_t j = 0; out->gaussian && j < d; j++)
            out->width = fmin(out->width, out->L[j * d + j]);
        return status;
    }
    out->gaussian = 1;
    out->width = ou ? sqrt(-expm1(-2 * tau)) : sqrt(2 * tau);
    hb_matrix_diagonal(d, ou ? exp(-tau) : 1, out->E);
    hb_matrix_diagonal(d, out->width, out->L);
    memset(out->shift, 0, d * sizeof *out->shift);
    return HB_OK;
}

void hb_certify_centre(const hb_certify_level *level, size_t d, const double *x, double *out)
{
    for (size_t j = 0; j < d; j++) out[j] = level->shift[j] + hb_dot(d, level->E + j * d, x);
}

void hb_certify_whiten(const hb_certify_level *level, size_t d, const double *x, double *y)
{
    for (size_t j = 0; j < d; j++)
        y[j] = (x[j] - level->shift[j] - hb_dot(j, level->L + j * d, y)) / level->L[j * d + j];
}

/* ---- Gaussian transitions ---- */

/* t = -L^-T e, backward substitution. */
static void level_target(const hb_certify_level *level, size_t d, const double *e, double *t)
{
    for (size_t j = d; j-- > 0;) {
        double sum = -e[j];
        for (size_t k = j + 1; k < d; k++) sum -= level->L[k * d + j] * t[k];
        t[j] = sum / level->L[j * d + j];
    }
}

static hb_status level_carry_gaussian(const hb_certify_run *run, const hb_certify_level *level,
                                      int use, int noise, size_t n, const double *rows, double *x,
                                      double *target)
{
    const size_t d = run->dim;
    double *e; // (n, dim)
    HB_TRY(HB_NEW(run->context, e, n * d));
    hb_status status =
        hb_random_normal(run->context, run->settings.seed, hb_certify_stream(level->index, use),
                         (uint64_t)(noise / 2) * n * d, n * d, e);
    for (size_t i = 0; noise % 2 && i < n * d; i++) e[i] = -e[i];
    for (size_t i = 0; i < n && status == HB_OK; i++) {
        hb_certify_centre(level, d, rows + i * d, x + i * d);
        for (size_t j = 0; j < d; j++) x[i * d + j] += hb_dot(j + 1, level->L + j * d, e + i * d);
        if (target) level_target(level, d, e + i * d, target + i * d);
        status = hb_certify_listen(run->context);
    }
    hb_release(run->context, e);
    return status;
}

/* ---- paths ---- */

static hb_status level_drift_size(const hb_certify_run *run, size_t n, const double *rows,
                                  double *size)
{
    const size_t d = run->dim, few = n < 64 ? n : 64;
    double *jacobian; // (few, dim, dim)
    HB_TRY(HB_NEW(run->context, jacobian, few * d * d));
    const hb_status status = hb_problem_drift(run->context, run->settings.drift, few, rows, 0, NULL,
                                              NULL, NULL, jacobian);
    *size = 0;
    for (size_t i = 0; i < few && status == HB_OK; i++)
        *size = fmax(*size, hb_matrix_norm(d, jacobian + i * d * d));
    hb_release(run->context, jacobian);
    return status;
}

static hb_status level_carry_paths(const hb_certify_run *run, const hb_certify_level *level,
                                   int use, int noise, size_t n, const double *rows, double *x)
{
    double size;
    HB_TRY(level_drift_size(run, n, rows, &size));
    const hb_path_plan plan = {.problem = run->settings.drift,
                               .seed = hb_certify_seed(run, level->index, use),
                               .start = rows,
                               .n_start = n,
                               .dim = run->dim,
                               .n_times = 1,
                               .times = &level->tau,
                               .step = fmin(STEP / fmax(size, 1e-300), level->tau / 2)};
    HB_TRY(hb_paths_simulate(run->context, &plan, (uint64_t)noise * n, n, n, x, NULL));
    for (size_t i = 0; i < n * run->dim; i++)
        HB_CHECK(run->context, isfinite(x[i]), HB_ERROR_NUMERICAL,
                 "a path of the drift from row %zu is lost before tau = %g; the drift must keep "
                 "paths finite",
                 i / run->dim + 1, level->tau);
    return HB_OK;
}

hb_status hb_certify_carry(const hb_certify_run *run, const hb_certify_level *level, int use,
                           int noise, size_t n, const double *rows, double *x, double *target)
{
    if (level->gaussian) return level_carry_gaussian(run, level, use, noise, n, rows, x, target);
    for (size_t i = 0; target && i < n * run->dim; i++) target[i] = NAN;
    return level_carry_paths(run, level, use, noise, n, rows, x);
}
