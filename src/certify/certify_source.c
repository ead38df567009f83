/* The score that is certified: calls in batches, checks of what comes back, and derivatives by
 * differences.
 *
 * A score that is smooth on the scale w of the process's noise, as the true one is, has central
 * differences
 *     (s(x + h e) - s(x - h e))/2h = ds/de + O(h^2/w^2)/w^2,    h = hb_certify_step w,
 * good to some 1e-6; rounding in single precision is 6e-8/2e-3 of s, 3e-5, of no direction. The
 * gradient of a log-density has (4 D(h) - D(2h))/3 of order 4, since ln u is larger than its
 * differences. In many dimensions the divergence is the mean of e.(ds/de) over random signs e
 * (Hutchinson, 1989), unbiased. A number to reproduce: s = -x has div s = -dim. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const double hb_certify_step = 2e-3;
static const double CALL_TIME = 0.25, GROWTH = 4; /* seconds of a call; of the next batch */
static const double LOG_STEP = 1e-3;              /* of a log-density, in units of the noise */
static const double ALMOST = 0.99; /* of the progress: the number of evaluations is an estimate */

uint64_t hb_certify_stream(size_t level, int use)
{
    return HB_STREAM_CERTIFY + (uint64_t)level * HB_USES + (uint64_t)use;
}

/* Steele, Lea and Flood's finaliser (SplitMix, 2014) of seed, level and use. */
uint64_t hb_certify_seed(const hb_certify_run *run, size_t level, int use)
{
    uint64_t z = run->settings.seed +
                 UINT64_C(0x9e3779b97f4a7c15) * (1 + (uint64_t)level * HB_USES + (uint64_t)use);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void hb_certify_units(const hb_certify_run *run, size_t n, const double *x, double *out)
{
    const size_t d = run->dim;
    memcpy(out, x, n * d * sizeof *out);
    if (run->model) hb_model_to_data(run->model, n, out, out);
}

/* ---- calls ---- */

static hb_status source_refuse(const hb_certify_run *run, const char *what, double value,
                               const double *x, double tau)
{
    char text[120] = "";
    const size_t d = run->dim, shown = d < 3 ? d : 3;
    double *here; // (dim)
    HB_TRY(HB_NEW(run->context, here, d));
    hb_certify_units(run, 1, x, here);
    for (size_t j = 0, at = 0; j < shown; j++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.5g", j ? ", " : "", here[j]);
    hb_release(run->context, here);
    return hb_fail(run->context, HB_ERROR_NUMERICAL,
                   "%s is %g at x = (%s%s), tau = %g; it must be finite", what, value, text,
                   d > shown ? ", ..." : "", tau);
}

hb_status hb_certify_progress(const hb_certify_run *run)
{
    const double total = run->out->total;
    return hb_progress(run->context, "certificate", fmin(run->out->done, ALMOST * total), total);
}

hb_status hb_certify_listen(hb_context *context)
{
    return hb_progress(context, "certificate lines", 0, 1);
}

/* The next call of our own score, and of any under a time limit, takes about CALL_TIME: a stop is
 * heard between calls. */
static void source_choose_batch(const hb_certify_run *run, size_t count, double seconds)
{
    const double fits = CALL_TIME / fmax(seconds, 1e-9) * (double)count,
                 most = GROWTH * (double)count;
    if (!run->own && !(run->settings.max_time > 0)) return;
    run->out->batch = (size_t)fmin(fmax(fmin(fits, most), 1), HB_CERTIFY_CALL);
}

/* out (n, width) of a callback at x (n, dim), tau (n). */
static hb_status source_ask(const hb_certify_run *run, const char *what,
                            hb_certify_callback callback, size_t width, size_t n, const double *x,
                            const double *tau, double *out)
{
    const size_t d = run->dim;
    for (size_t first = 0, count; first < n; first += count) {
        const double start = hb_seconds();
        double *values = out + first * width;
        count = n - first < run->out->batch ? n - first : run->out->batch;
        run->context->message[0] = '\0';
        run->context->muted++;
        const int failed = callback(run->user, count, x + first * d, tau + first, values);
        run->context->muted--;
        if (failed && hb_is_late(run->context)) return hb_fail_late(run->context);
        if (failed && run->context->message[0]) return HB_ERROR_CALLBACK;
        HB_CHECK(run->context, !failed, HB_ERROR_CALLBACK, "%s reported an error", what);
        for (size_t i = 0; i < count * width; i++)
            if (!isfinite(values[i]))
                return source_refuse(run, what, values[i], x + (first + i / width) * d,
                                     tau[first + i / width]);
        if (!run->out->flows) run->out->done += (double)count;
        if (count == run->out->batch) source_choose_batch(run, count, hb_seconds() - start);
        HB_TRY(hb_certify_progress(run));
    }
    return HB_OK;
}

/* The deviation of the noise at tau, roughly: what a log-density varies on. */
static double source_noise_width(const hb_certify_run *run, double tau)
{
    return run->settings.process == HB_PROCESS_VE ? sqrt(2 * tau) : sqrt(-expm1(-2 * tau));
}

static hb_status source_difference_score(const hb_certify_run *run, size_t n, const double *x,
                                         const double *tau, double *score)
{
    static const double offsets[] = {1, -1, 2, -2};
    const size_t d = run->dim;
    hb_workspace work;
    double *y, *t, *v; // (4, n, dim), (4, n), (4, n)
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(y, 4 * n * d), HB_ARRAY(t, 4 * n),
                        HB_ARRAY(v, 4 * n)));
    hb_status status = HB_OK;
    for (size_t j = 0; j < d && status == HB_OK; j++) {
        for (size_t k = 0; k < 4; k++) {
            memcpy(y + k * n * d, x, n * d * sizeof *y);
            memcpy(t + k * n, tau, n * sizeof *t);
            for (size_t i = 0; i < n; i++)
                y[(k * n + i) * d + j] += offsets[k] * LOG_STEP * source_noise_width(run, tau[i]);
        }
        status = source_ask(run, "the log-density", run->log_density, 1, 4 * n, y, t, v);
        for (size_t i = 0; i < n && status == HB_OK; i++) {
            const double h = LOG_STEP * source_noise_width(run, tau[i]);
            score[i * d + j] = (8 * (v[i] - v[n + i]) - (v[2 * n + i] - v[3 * n + i])) / (12 * h);
        }
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_certify_score(const hb_certify_run *run, size_t n, const double *x, const double *tau,
                           double *score)
{
    return run->score ? source_ask(run, "the score", run->score, run->dim, n, x, tau, score)
                      : source_difference_score(run, n, x, tau, score);
}

hb_status hb_certify_log_density(const hb_certify_run *run, size_t n, const double *x,
                                 const double *tau, double *v)
{
    return source_ask(run, "the log-density", run->log_density, 1, n, x, tau, v);
}

/* A function of (x, tau) at one tau. */
static hb_status source_at(const hb_certify_run *run,
                           hb_status (*of)(const hb_certify_run *, size_t, const double *,
                                           const double *, double *),
                           size_t n, const double *x, double tau, double *out)
{
    double *times; // (n)
    HB_TRY(HB_NEW(run->context, times, n));
    for (size_t i = 0; i < n; i++) times[i] = tau;
    const hb_status status = of(run, n, x, times, out);
    hb_release(run->context, times);
    return status;
}

hb_status hb_certify_score_at(const hb_certify_run *run, size_t n, const double *x, double tau,
                              double *score)
{
    return source_at(run, hb_certify_score, n, x, tau, score);
}

/* ---- the divergence ---- */

static hb_status source_divergence(const hb_certify_run *run, size_t n, const double *x,
                                   const double *tau, double *divergence)
{
    return source_ask(run, "the divergence", run->divergence, 1, n, x, tau, divergence);
}

/* Adds e.(ds/de)/count for one direction of each row, e (n, dim). */
static hb_status source_add_direction(const hb_certify_run *run, size_t n, const double *x,
                                      double tau, double step, double count, const double *e,
                                      double *y, double *s, double *divergence)
{
    const size_t d = run->dim;
    for (size_t i = 0; i < n * d; i++) {
        y[i] = x[i] + step * e[i];
        y[n * d + i] = x[i] - step * e[i];
    }
    HB_TRY(hb_certify_score_at(run, 2 * n, y, tau, s));
    for (size_t i = 0; i < n * d; i++)
        divergence[i / d] += e[i] * (s[i] - s[n * d + i]) / (2 * step * count);
    return HB_OK;
}

static hb_status source_place_direction(const hb_certify_run *run, size_t level, size_t probe,
                                        size_t n, double *e)
{
    const size_t d = run->dim;
    if (d <= HB_CERTIFY_AXES) {
        for (size_t i = 0; i < n * d; i++) e[i] = i % d == probe;
        return HB_OK;
    }
    HB_TRY(hb_random_uniform(run->context, run->settings.seed,
                             hb_certify_stream(level, HB_USE_PROBES), probe * n * d, n * d, e));
    for (size_t i = 0; i < n * d; i++) e[i] = e[i] < 0.5 ? -1 : 1;
    return HB_OK;
}

hb_status hb_certify_divergence(const hb_certify_run *run, size_t level, size_t n, const double *x,
                                double tau, double width, double *divergence)
{
    if (run->divergence) return source_at(run, source_divergence, n, x, tau, divergence);
    const size_t d = run->dim, axes = d <= HB_CERTIFY_AXES;
    const size_t probes = axes ? d : HB_CERTIFY_PROBES;
    hb_workspace work;
    double *e, *y, *s; // (n, dim), (2, n, dim), (2, n, dim)
    HB_TRY(HB_WORKSPACE(run->context, &work, HB_ARRAY(e, n * d), HB_ARRAY(y, 2 * n * d),
                        HB_ARRAY(s, 2 * n * d)));
    memset(divergence, 0, n * sizeof *divergence);
    hb_status status = HB_OK;
    for (size_t p = 0; p < probes && status == HB_OK; p++) {
        status = source_place_direction(run, level, p, n, e);
        if (status == HB_OK)
            status = source_add_direction(run, n, x, tau, hb_certify_step * width,
                                          axes ? 1 : (double)probes, e, y, s, divergence);
    }
    hb_workspace_destroy(&work);
    return status;
}
