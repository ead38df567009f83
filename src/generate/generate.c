/* Samples from a score: draws of the distribution at tau_max, carried back to tau_min, and the
 * noise taken away.
 *
 * Batches of rows go one after the other; inside a batch the score is asked once per step for all
 * rows, from the calling thread, so that the callback may use all threads itself: a network does.
 * In a team every rank has rows of its own. Row i has the normals i dim .. of one stream per step
 * and use, so the way that rows are cut into batches or calls does not show.
 * Taking the noise away, at level (a, b): (x + b s)/a is E[x_0 | x] (Tweedie). Half of it, (x + b
 * s/2)/a, is Euler's step of the ODE in sigma^2 to 0. Data N(0, c) at y = x/a, sigma: the variance
 * c + sigma^2 becomes c^2/(c + sigma^2) by the mean, c + (sigma^2/2)^2/(c + sigma^2) by the half
 * step.
 * A number to reproduce: data N(0, 0.01) at tau_min = 1e-3 (OU: sigma^2 = 0.0020020): variance
 * 0.0083319 by the mean, 0.0100835 by the half step, 0.0119780 without. */
#include "base/team_tasks.h"
#include "generate/reverse.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { CALL_DOUBLES = 1 << 21 };
static const double LARGEST_TAU_OU = 10; /* what is left of the data there is e^-10 of it */
static const double LARGEST_TAU_VE = 1e8, SMALLEST_TAU = 1e-12;

/* ---- checks ---- */

static hb_status generate_check_process(hb_context *context, const hb_generate_settings *s)
{
    const double largest = s->process == HB_PROCESS_OU ? LARGEST_TAU_OU : LARGEST_TAU_VE;
    HB_CHECK(context, s->tau_min >= SMALLEST_TAU && s->tau_min < s->tau_max, HB_ERROR_ARGUMENT,
             "tau_min is %g; it must be %g or more and below tau_max = %g", s->tau_min,
             SMALLEST_TAU, s->tau_max);
    HB_CHECK(context, s->tau_max <= largest, HB_ERROR_ARGUMENT,
             "tau_max is %g; it must be at most %g for this process", s->tau_max, largest);
    return HB_OK;
}

hb_status hb_generate_resolve(hb_context *context, const hb_generate_settings *settings, int dim,
                              double tau_min, double tau_max, hb_generate_settings *out)
{
    HB_CHECK(context, dim >= 1 && dim <= 1000000, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to 1000000", dim);
    HB_TRY(hb_generate_settings_read(context, settings, out));
    HB_TRY(hb_generate_settings_check(context, out));
    if (isnan(out->tau_min)) out->tau_min = tau_min;
    if (isnan(out->tau_max)) out->tau_max = tau_max;
    if (isnan(out->low)) out->low = -INFINITY;
    if (isnan(out->high)) out->high = INFINITY;
    HB_CHECK(context, out->low < out->high, HB_ERROR_ARGUMENT,
             "low is %g and high is %g; low must be below high", out->low, out->high);
    if (out->process != HB_PROCESS_DRIFT) out->detail = INFINITY;
    HB_TRY(generate_check_process(context, out));
    return hb_generate_check_drift(context, out, dim);
}

hb_status hb_generate_check_range(hb_context *context, int dim, uint64_t first, size_t n)
{
    const uint64_t most = UINT64_MAX / (uint64_t)dim;
    HB_CHECK(context, first <= most && n <= most - first, HB_ERROR_ARGUMENT,
             "first is %llu; (first + n) times dim must be below 2^64", (unsigned long long)first);
    return HB_OK;
}

/* ---- what the samplers call ---- */

/* The callback may work with the same context; its own progress would mix with that of the run. */
static int generate_call(const hb_reverse *run, size_t n, const double *x, double tau,
                         double *score, double *divergence)
{
    run->context->message[0] = '\0';
    run->context->muted++;
    const int failed = run->divergence ? run->divergence(run->user, n, x, tau, score, divergence)
                                       : run->score(run->user, n, x, tau, score);
    run->context->muted--;
    return failed;
}

/* Posterior means D outside the range of the data go to its border, and the score with them. */
static void generate_keep_in_range(const hb_reverse *run, size_t n, const double *x, double tau,
                                   double *score)
{
    const hb_generate_settings *s = run->settings;
    const hb_level level = hb_level_at((hb_process)s->process, tau);
    for (size_t j = 0; j < run->dim; j++) {
        const double shift = run->shift ? run->shift[j] : 0, scale = run->shift ? run->scale[j] : 1;
        const double low = (s->low - shift) / scale, high = (s->high - shift) / scale;
        for (size_t i = j; i < n * run->dim; i += run->dim) {
            const double D = (x[i] + level.b * score[i]) / level.a;
            if (D < low) score[i] = (level.a * low - x[i]) / level.b;
            if (D > high) score[i] = (level.a * high - x[i]) / level.b;
        }
    }
}

hb_status hb_reverse_ask(const hb_reverse *run, size_t n, const double *x, double tau,
                         double *score, double *divergence)
{
    const size_t d = run->dim;
    if (generate_call(run, n, hb_reverse_inside(run, n, x, tau), tau, score, divergence)) {
        char why[sizeof run->context->message];
        memcpy(why, run->context->message, sizeof why);
        return hb_fail(run->context, HB_ERROR_CALLBACK,
                       "the score reported an error at tau = %g%s%s", tau, why[0] ? ": " : "", why);
    }
    int finite = 1; /* in a loop of vectors */
    for (size_t i = 0; i < n * d; i++) finite &= fabs(score[i]) <= DBL_MAX;
    for (size_t i = 0; !finite && i < n * d; i++)
        HB_CHECK(run->context, isfinite(score[i]), HB_ERROR_NUMERICAL,
                 "component %zu of the score is %g at a point with x%zu = %g, tau = %g", i % d + 1,
                 score[i], i % d + 1, x[i], tau);
    if (!run->divergence && (isfinite(run->settings->low) || isfinite(run->settings->high)))
        generate_keep_in_range(run, n, x, tau, score);
    const size_t sums = run->divergence && divergence ? run->sums : 0;
    for (size_t i = 0; i < n * sums; i++)
        HB_CHECK(run->context, isfinite(divergence[i]), HB_ERROR_NUMERICAL,
                 "the divergence of the score is %g at a point with x1 = %g, tau = %g",
                 divergence[i], x[i / sums * d], tau);
    return HB_OK;
}

hb_status hb_reverse_progress(const hb_reverse *run, double share)
{
    return hb_progress(run->context, run->what, (double)run->done + share * (double)run->wanted,
                       (double)run->n);
}

/* ---- batches ---- */

/* Under a drift of the user these are the steps from tau_min to 0 of the SDE, without its noise,
 * and of the ODE. */
static hb_status generate_denoise(const hb_reverse *run, size_t rows, double *x, double *score)
{
    const hb_generate_settings *s = run->settings;
    if (s->denoise == HB_DENOISE_NONE) return HB_OK;
    const hb_level level = hb_level_at((hb_process)s->process, s->tau_min);
    const double part = s->denoise == HB_DENOISE_MEAN ? 1 : 0.5;
    const hb_affine step = {.keep = 1 / level.a, .push = part * level.b / level.a};
    HB_TRY(hb_reverse_ask(run, rows, x, level.tau, score, NULL));
    HB_TRY(hb_reverse_lean(run, rows, x, level.tau, 0.5 / part, score + rows * run->dim, score));
    return hb_affine_step(run, &step, 0, rows, score, x);
}

static hb_status generate_carry(hb_reverse *run, const hb_prior *prior, uint64_t first, size_t rows,
                                double *x, double *score)
{
    const hb_generate_settings *s = run->settings;
    const hb_process process = (hb_process)s->process;
    HB_TRY(hb_ends_draw(run, prior, first, rows, x));
    switch (s->solver) {
    case HB_SOLVER_SDE: HB_TRY(hb_reverse_sde(run, first, rows, x)); break;
    case HB_SOLVER_HEUN: HB_TRY(hb_reverse_heun(run, rows, x)); break;
    default:
        HB_TRY(hb_flow_integrate(run, hb_level_at(process, s->tau_max),
                                 hb_level_at(process, s->tau_min), rows, x, NULL, NULL));
    }
    hb_reverse_keep(run, rows, s->tau_min, x);
    return generate_denoise(run, rows, x, score);
}

static hb_status generate_carry_batches(hb_reverse *run, const hb_prior *prior, size_t batch,
                                        uint64_t first, double *x, double *score)
{
    size_t last;
    hb_team_share(run->context, run->n, &run->start, &last);
    for (run->done = run->start; run->start < last; run->start += run->wanted) {
        const size_t left = last - run->start;
        run->done = run->start;
        run->wanted = left < batch ? left : batch;
        run->row_labels = run->labels ? run->labels + run->start : NULL;
        HB_TRY(generate_carry(run, prior, first + run->start, run->wanted,
                              x + run->start * run->dim, score));
        HB_TRY(hb_reverse_progress(run, 1));
    }
    return HB_OK;
}

static size_t generate_batch_rows(const hb_reverse *run)
{
    const size_t most = run->settings->solver == HB_SOLVER_ODE ? hb_flow_rows(run) : HB_CALL_ROWS;
    const size_t fits = CALL_DOUBLES / run->dim + 1, rows = fits < most ? fits : most;
    return run->n < rows ? run->n : rows;
}

static hb_status generate_carry_all(hb_reverse *run, const hb_prior *prior, uint64_t first,
                                    double *x)
{
    const size_t batch = generate_batch_rows(run);
    void *score; // (batch, dim), and as much for a drift
    HB_TRY(hb_allocate(run->context, (1 + (size_t)hb_reverse_leans(run)) * batch * run->dim,
                       sizeof *x, &score));
    const hb_status status = generate_carry_batches(run, prior, batch, first, x, score);
    hb_release(run->context, score);
    const hb_left rows = {x, run->dim * sizeof *x, 0};
    return hb_team_gather(run->context, status, run->n, 1, &rows);
}

/* A drift turns over in tau = detail: longer steps would fly apart. */
static hb_status generate_check_steps(const hb_reverse *run, const hb_prior *prior, double *detail)
{
    const hb_generate_settings *s = run->settings;
    if (!hb_reverse_leans(run)) return HB_OK;
    HB_CHECK(
        run->context, s->ends || s->covariance, HB_ERROR_ARGUMENT,
        "samples start at draws of the distribution at tau_max; give some (ends), or its mean and "
        "covariance");
    HB_TRY(hb_reverse_find_detail(run, prior, detail));
    const double least = ceil(hb_levels_length(s));
    HB_CHECK(run->context, s->solver == HB_SOLVER_ODE || s->n_steps >= least, HB_ERROR_ARGUMENT,
             "n_steps is %d; this drift changes its distribution within tau = %.3g, and from tau = "
             "%g to %g needs at least %.0f steps",
             s->n_steps, s->detail, s->tau_max, s->tau_min, least);
    return HB_OK;
}

hb_status hb_reverse_generate(hb_reverse *run, uint64_t first, double *x)
{
    hb_context quiet = hb_context_child(run->context, 0);
    const hb_generate_settings *given = run->settings;
    hb_generate_settings own = *given;
    run->quiet = &quiet;
    run->settings = &own;
    run->what = "generating";
    hb_prior prior = {0};
    hb_status status = hb_prior_create(run->context, &own, (int)run->dim, &prior);
    if (status == HB_OK) status = generate_check_steps(run, &prior, &own.detail);
    if (status == HB_OK) status = generate_carry_all(run, &prior, first, x);
    hb_workspace_destroy(&prior.work);
    run->settings = given;
    return hb_context_adopt(run->context, &quiet, status);
}

hb_status hb_reverse_start(hb_context *context, const hb_generate_settings *settings, int dim,
                           hb_generate_settings *resolved, hb_reverse *run)
{
    run->context = context;
    run->settings = resolved;
    run->dim = (size_t)dim;
    return hb_generate_resolve(context, settings, dim, HB_TAU_MIN, HB_TAU_MAX, resolved);
}

hb_status hb_generate(hb_context *context, const hb_generate_settings *settings, int dim,
                      uint64_t first, size_t n, hb_score_callback score, void *user, double *x)
{
    hb_generate_settings resolved;
    hb_reverse run = {.n = n, .score = score, .user = user};
    HB_TRY(hb_reverse_start(context, settings, dim, &resolved, &run));
    HB_TRY(hb_generate_check_range(context, dim, first, n));
    HB_CHECK(context, score && (x || n == 0), HB_ERROR_ARGUMENT, "score or x is NULL");
    return n > 0 ? hb_reverse_generate(&run, first, x) : HB_OK;
}
