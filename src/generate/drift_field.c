/* The drift of the process in the steps backward.
 *
 *     F = -x (OU), 0 (VE), or what the user typed (HB_PROCESS_DRIFT), without t.
 * The steps of OU know their F in closed form; the probability flow and the steps of a typed drift
 * ask for it here. How fine the distribution of a typed drift is, S = detail, is the lesser of its
 * mean variance and of 1/|J|, |J|^4 = E |dF/dx|^4 over draws of the distribution at tau_max: F =
 * -x/V has the distribution N(0, V) and |J| = 1/V.
 * Backward, F = -x^3 pushes outward, and only the score holds it: where that of a network is not
 * known, beyond all paths of its training, a row flies apart (1 of 1000 of a rotating double well
 * along the ODE). So a row that leaves the range of the paths is put back on its border, and within
 * a step both fields go on beyond it as they are there.
 * A number to reproduce: F = -4x at large tau: S = 1/4, and a Langevin step of the size of noise of
 * variance 2 tau/(1 + 2 tau/S) = 0.24 at tau = 3. */
#include "base/linear_algebra.h"
#include "generate/reverse.h"

#include <math.h>

enum { DRAWS = 256 };
static const uint64_t DETAIL_SEED = 1;

int hb_reverse_leans(const hb_reverse *run)
{
    return run->settings->process == HB_PROCESS_DRIFT;
}

/* from (n, dim) into to (n, dim), which may be the same. */
static void drift_clamp(const hb_reverse *run, size_t n, double tau, const double *from, double *to)
{
    const size_t d = run->dim;
    run->range(run->user, tau, run->low, run->high);
    for (size_t i = 0; i < n * d; i++)
        to[i] = fmin(fmax(from[i], run->low[i % d]), run->high[i % d]);
}

const double *hb_reverse_inside(const hb_reverse *run, size_t n, const double *x, double tau)
{
    if (!run->range) return x;
    drift_clamp(run, n, tau, x, run->inside);
    return run->inside;
}

void hb_reverse_keep(const hb_reverse *run, size_t n, double tau, double *x)
{
    if (run->range) drift_clamp(run, n, tau, x, x);
}

hb_status hb_reverse_drift(const hb_reverse *run, size_t n, const double *x, double tau, double *F,
                           double *divergence)
{
    const size_t d = run->dim;
    const double factor = run->settings->process == HB_PROCESS_OU ? -1 : 0;
    if (hb_reverse_leans(run))
        return hb_problem_drift(run->context, run->settings->drift, n,
                                hb_reverse_inside(run, n, x, tau), 0, F, divergence, NULL, NULL);
    for (size_t i = 0; i < n * d; i++) F[i] = factor * x[i];
    for (size_t i = 0; divergence && i < n; i++) divergence[i] = factor * (double)d;
    return HB_OK;
}

hb_status hb_reverse_lean(const hb_reverse *run, size_t n, const double *x, double tau, double part,
                          double *F, double *score)
{
    if (!hb_reverse_leans(run)) return HB_OK;
    HB_TRY(hb_reverse_drift(run, n, x, tau, F, NULL));
    for (size_t i = 0; i < n * run->dim; i++) score[i] -= part * F[i];
    return HB_OK;
}

double hb_reverse_fineness(const hb_generate_settings *settings, hb_level level)
{
    if (settings->process != HB_PROCESS_DRIFT) return level.b;
    return level.b / (1 + level.b / settings->detail);
}

/* ---- checks ---- */

static hb_status drift_check_ends(hb_context *context, const hb_generate_settings *s, int dim)
{
    HB_CHECK(context, !s->ends == !s->n_ends, HB_ERROR_ARGUMENT, "n_ends is %llu, but ends is %s",
             (unsigned long long)s->n_ends, s->ends ? "given" : "NULL");
    for (size_t i = 0; i < s->n_ends * (size_t)dim; i++)
        HB_CHECK(context, isfinite(s->ends[i]), HB_ERROR_ARGUMENT,
                 "row %zu, column %zu of ends is %g; it must be finite", i / (size_t)dim + 1,
                 i % (size_t)dim + 1, s->ends[i]);
    return HB_OK;
}

hb_status hb_generate_check_drift(hb_context *context, const hb_generate_settings *s, int dim)
{
    const int drift = s->process == HB_PROCESS_DRIFT;
    HB_TRY(drift_check_ends(context, s, dim));
    HB_CHECK(context, drift || !s->drift, HB_ERROR_ARGUMENT,
             "there is a drift, but the process is not HB_PROCESS_DRIFT (%d)", HB_PROCESS_DRIFT);
    if (!drift) return HB_OK;
    HB_CHECK(context, s->drift, HB_ERROR_ARGUMENT,
             "the process is HB_PROCESS_DRIFT, but there is no drift");
    HB_CHECK(context, hb_problem_dim(s->drift) == dim, HB_ERROR_ARGUMENT,
             "the drift has %d components, but dim is %d", hb_problem_dim(s->drift), dim);
    HB_CHECK(context, hb_problem_is_autonomous(s->drift), HB_ERROR_ARGUMENT,
             "the drift must be given as text and must not depend on t, nor its noise");
    HB_CHECK(context, isinf(s->low) && isinf(s->high), HB_ERROR_ARGUMENT,
             "low and high are for the processes ou and ve, whose steps know the mean of the data");
    return HB_OK;
}

/* ---- detail ---- */

static hb_status drift_detail(const hb_reverse *run, const double *x, double *jacobian,
                              double *detail)
{
    const size_t d = run->dim;
    double fourth = 0, variance = 0;
    for (size_t j = 0; j < d; j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < DRAWS; i++) sum += x[i * d + j] / DRAWS;
        for (size_t i = 0; i < DRAWS; i++) squares += (x[i * d + j] - sum) * (x[i * d + j] - sum);
        variance += squares / (DRAWS * (double)d);
    }
    for (size_t i = 0; i < DRAWS; i++) {
        HB_TRY(hb_problem_drift(run->context, run->settings->drift, 1, x + i * d, 0, NULL, NULL,
                                NULL, jacobian));
        fourth += pow(hb_matrix_norm(d, jacobian), 4) / DRAWS;
    }
    *detail = fmin(fmax(variance, 1e-300), 1 / sqrt(sqrt(fmax(fourth, 1e-300))));
    return HB_OK;
}

hb_status hb_reverse_find_detail(const hb_reverse *run, const hb_prior *prior, double *detail)
{
    const size_t d = run->dim;
    const hb_generate_settings *s = run->settings;
    if (!isnan(s->detail)) return HB_OK;
    hb_workspace work;
    double *x, *jacobian;
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(x, DRAWS * d), HB_ARRAY(jacobian, d * d)));
    hb_status status = HB_OK;
    for (size_t i = 0; s->ends && i < DRAWS * d; i++) x[i] = s->ends[i % (s->n_ends * d)];
    if (!s->ends) status = hb_prior_draw(prior, run->quiet, DETAIL_SEED, 0, DRAWS, x);
    if (status == HB_OK) status = drift_detail(run, x, jacobian, detail);
    hb_workspace_destroy(&work);
    return status;
}
