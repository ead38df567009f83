/* Rows carried to tau_max by the process and back along the probability flow, beside rows that were
 * not.
 *
 * One half of the rows goes to tau_max, exactly, and from there to tau_min along dx = (s - F)
 * |dtau|, by the integrator of src/generate. With the true score the distribution at the end is
 * that of the other half, carried to tau_min alone: two samples of one distribution, and nothing
 * is assumed of that at tau_max.
 *     samples      the maximum mean discrepancy of the two, with the 95 % quantile over random
 *                  halves of all rows, whose rank of the value is an exact p-value
 *     likelihood   E ln p over rows minus E ln p over samples, p the density that the score's own
 *                  flow carries from a Gaussian at tau_max. For the true score both means are
 *                  equal, whatever that Gaussian is worth. Where a mode is missing, rows in it are
 *                  far less likely than anything that the score makes. Random probes of the
 *                  divergence, in many dimensions without the owner's, leave both means what they
 *                  are
 * A number to reproduce: rows N(0, 1) under OU, s = -x: -E ln p = (1 + ln 2 pi)/2 = 1.41894 nats,
 * 2.0471 bits. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_run.h"

#include <math.h>
#include <string.h>

enum { WIDTHS = 5, LEAST = 50 };
static const double widths[WIDTHS] = {0.25, 0.5, 1, 2, 4}; /* of the kernel, in median distances */
static const double TOLERANCE = 1e-3; /* of a step: the discrepancy of halves is above 1e-2 */

typedef struct flow_run {
    const hb_certify_run *run;
    size_t m, levels;
    hb_context inner; /* of the integrator, whose progress goes on with that of the certificate */
    int stage;        /* samples, likelihoods of rows, of samples */
    double before;    /* evaluations before the first */
    hb_status asked;  /* how the last call of the score went */
    hb_generate_settings settings;
    double *ends, *real, *made; // (m, dim)
    double *mean, *covariance;  // (dim), (dim, dim)
    double *likelihood;         // (2, m): of real, of made
    double *K;                  // (2m, 2m)
    hb_workspace work;
} flow_run;

/* ---- for the integrator: progress and the score ---- */

static int flow_progress(void *user, const char *what, double done, double total)
{
    static const double parts[] = {0, 0.1, 0.55, 1}; /* of the evaluations */
    flow_run *r = user;
    hb_certificate *out = r->run->out;
    const double from = parts[r->stage], to = parts[r->stage + 1];
    (void)what;
    out->done = r->before + (out->total - r->before) * (from + (to - from) * done / total);
    return hb_certify_progress(r->run) != HB_OK;
}

static int flow_answer(flow_run *r, hb_status status)
{
    r->asked = status;
    if (status != HB_OK) hb_fail(&r->inner, status, "%s", hb_context_message(r->run->context));
    return status != HB_OK;
}

static int flow_score(void *user, size_t n, const double *x, double tau, double *score)
{
    flow_run *r = user;
    return flow_answer(r, hb_certify_score_at(r->run, n, x, tau, score));
}

static int flow_divergence(void *user, size_t n, const double *x, double tau, double *score,
                           double *divergence)
{
    flow_run *r = user;
    if (flow_score(user, n, x, tau, score)) return 1;
    return flow_answer(r, hb_certify_divergence(r->run, r->levels, n, x, tau, 0, divergence));
}

static hb_context *flow_start_stage(flow_run *r, int stage)
{
    r->stage = stage;
    r->inner.settings.progress = flow_progress;
    r->inner.settings.progress_user = r;
    return &r->inner;
}

/* ---- rows ---- */

/* Mean and covariance of x (n, dim). */
static hb_status flow_moments(const flow_run *r, size_t n, const double *x)
{
    const size_t d = r->run->dim;
    memset(r->mean, 0, d * sizeof *r->mean);
    memset(r->covariance, 0, d * d * sizeof *r->covariance);
    for (size_t i = 0; i < n; i++) hb_axpy(d, 1 / (double)n, x + i * d, r->mean);
    for (size_t i = 0; i < n; i++) {
        HB_TRY(hb_certify_listen(r->run->context));
        for (size_t j = 0; j < d; j++)
            for (size_t k = 0; k < d; k++)
                r->covariance[j * d + k] +=
                    (x[i * d + j] - r->mean[j]) * (x[i * d + k] - r->mean[k]) / (double)(n - 1);
    }
    return HB_OK;
}

static hb_status flow_carry(const flow_run *r, size_t index, double tau, int use,
                            const double *rows, double *x)
{
    hb_certify_level level;
    HB_TRY(hb_certify_level_create(r->run, index, tau, &level));
    const hb_status status = hb_certify_carry(r->run, &level, use, 0, r->m, rows, x, NULL);
    hb_workspace_destroy(&level.work);
    return status;
}

static hb_status flow_make_samples(flow_run *r)
{
    const hb_certify_settings *s = &r->run->settings;
    const size_t d = r->run->dim;
    HB_TRY(flow_carry(r, r->levels, s->tau_max, HB_USE_NOISE_ENDS, r->run->x, r->ends));
    HB_TRY(flow_carry(r, r->levels + 1, s->tau_min, HB_USE_NOISE_REALS, r->run->x + r->m * d,
                      r->real));
    hb_generate_settings_default(sizeof r->settings, &r->settings);
    r->settings.solver = HB_SOLVER_ODE;
    r->settings.process = s->process;
    r->settings.drift = s->process == HB_PROCESS_DRIFT ? s->drift : NULL;
    r->settings.tau_min = s->tau_min;
    r->settings.tau_max = s->tau_max;
    r->settings.denoise = HB_DENOISE_NONE;
    r->settings.low = -INFINITY;
    r->settings.high = INFINITY;
    r->settings.seed = s->seed;
    r->settings.ends = r->ends;
    r->settings.n_ends = r->m;
    r->settings.ode_tolerance = TOLERANCE;
    const hb_status status =
        hb_generate(flow_start_stage(r, 0), &r->settings, (int)d, 0, r->m, flow_score, r, r->made);
    r->settings.ode_tolerance = NAN; /* of likelihoods: chosen by what remains */
    return status;
}

/* ---- samples ---- */

static double flow_kernel(double square, double median)
{
    double sum = 0;
    for (int k = 0; k < WIDTHS; k++)
        sum += exp(-square / (2 * widths[k] * widths[k] * median * median)) / WIDTHS;
    return sum;
}

static hb_status flow_fill_kernel(const flow_run *r, double median)
{
    const size_t m = r->m, d = r->run->dim;
    for (size_t i = 0; i < 2 * m; i++) {
        HB_TRY(hb_certify_listen(r->run->context));
        for (size_t j = 0; j <= i; j++) {
            const double *x = i < m ? r->real + i * d : r->made + (i - m) * d;
            const double *y = j < m ? r->real + j * d : r->made + (j - m) * d;
            r->K[i * 2 * m + j] = flow_kernel(hb_distance2(d, x, y), median);
        }
    }
    return HB_OK;
}

static hb_status flow_write_samples(const flow_run *r)
{
    const hb_certify_run *run = r->run;
    const double m = (double)r->m,
                 median = hb_certify_median(run->context, r->m, run->dim, r->real);
    hb_signs found;
    HB_CHECK(run->context, median > 0, HB_ERROR_NUMERICAL, "half of the rows are the same");
    HB_TRY(flow_fill_kernel(r, median));
    HB_TRY(hb_signs_test(run->context, 1, run->settings.seed,
                         hb_certify_stream(r->levels, HB_USE_SIGNS), 2 * r->m, r->K,
                         run->settings.tolerance * run->settings.tolerance * m * m, &found));
    /* the diagonal of the kernel, 1 for each of 2m rows, belongs to the biased mmd */
    const double mmd = sqrt(fmax(found.U + 2 * m, 0)) / m;
    hb_line *line = hb_certificate_add(run->out, "samples", NAN, mmd,
                                       sqrt(fmax(found.U + 2 * m, 0) + found.deviation) / m - mmd,
                                       found.p_value);
    const double upper = sqrt(fmax(found.upper + 2 * m, 0)) / m;
    hb_line_say(line->good, "%zu samples %s: mmd %.3g, below %.3g in 95 %% of equal distributions",
                r->m,
                mmd <= upper ? "have the distribution of the rows"
                             : "are not far enough from the rows to fail",
                mmd, upper);
    hb_line_say(
        line->bad,
        "%zu samples have another distribution than the rows: mmd %.3g, below %.3g in 95 %% of "
        "equal distributions",
        r->m, mmd, upper);
    return HB_OK;
}

/* ---- likelihood ---- */

static hb_status flow_write_likelihood(flow_run *r)
{
    const hb_certify_run *run = r->run;
    const size_t m = r->m, d = run->dim;
    hb_generate_settings settings = r->settings;
    settings.ends = NULL;
    settings.n_ends = 0;
    const int drift = settings.process == HB_PROCESS_DRIFT;
    HB_TRY(flow_moments(r, drift ? m : 2 * m, drift ? r->ends : run->x));
    settings.mean = r->mean;
    settings.covariance = r->covariance;
    const int own = run->divergence != NULL;
    const int probes = own || d <= HB_CERTIFY_AXES ? 0 : HB_CERTIFY_PROBES;
    for (int k = 0; k < 2; k++)
        HB_TRY(hb_generate_likelihood(flow_start_stage(r, k + 1), &settings, (int)d, probes, m,
                                      k ? r->made : r->real, own ? NULL : flow_score,
                                      own ? flow_divergence : NULL, r,
                                      r->likelihood + (size_t)k * m, NULL));
    const hb_estimate real = hb_estimate_mean(m, r->likelihood);
    const hb_estimate made = hb_estimate_mean(m, r->likelihood + m);
    const hb_estimate e = hb_estimate_difference(real, made);
    const double bits = (run->log_scale - real.value) / ((double)d * M_LN2);
    hb_line *line = hb_certificate_add(run->out, "likelihood", NAN, e.value, e.error,
                                       hb_estimate_p(e, m, run->settings.tolerance * (double)d));
    hb_line_say(
        line->good,
        "rows are as likely as samples to (%.2g ± %.2g) nats; %.4g ± %.2g bits per dimension "
        "at tau %g",
        e.value, e.error, bits, real.error / ((double)d * M_LN2), run->settings.tau_min);
    hb_line_say(line->bad,
                "rows are (%.3g ± %.2g) nats %s likely than the score's own samples%s; %.4g ± %.2g "
                "bits per dimension at tau %g",
                fabs(e.value), e.error, e.value < 0 ? "less" : "more",
                e.value < 0 ? ": they lie where it puts too little mass"
                            : ": its samples are outliers",
                bits, real.error / ((double)d * M_LN2), run->settings.tau_min);
    return HB_OK;
}

/* ---- both ---- */

/* A flow that breaks down is a finding, not an error. */
static hb_status flow_broken(const flow_run *r, const char *name, hb_status status)
{
    hb_context_adopt(r->run->context, &r->inner, status);
    const int of_score = status == HB_ERROR_CALLBACK && r->asked != HB_OK;
    const hb_status why = of_score ? r->asked : status;
    if (why != HB_ERROR_NUMERICAL) return why;
    hb_line *line = hb_certificate_add(r->run->out, name, NAN, NAN, NAN, NAN);
    line->verdict = HB_VERDICT_FAILS;
    hb_line_say(line->bad, "the probability flow breaks down: %.300s",
                hb_context_message(r->run->context));
    return HB_OK;
}

static hb_status flow_keep_samples(const flow_run *r)
{
    hb_certificate *out = r->run->out;
    const size_t size = r->m * r->run->dim;
    HB_TRY(HB_NEW(r->run->context, out->samples, 2 * size));
    out->reals = out->samples + size;
    out->n_samples = r->m;
    hb_certify_units(r->run, r->m, r->made, out->samples);
    hb_certify_units(r->run, r->m, r->real, out->reals);
    return HB_OK;
}

static hb_status flow_lines(flow_run *r)
{
    const hb_status made = flow_make_samples(r);
    if (made != HB_OK) return flow_broken(r, "samples", made);
    HB_TRY(flow_keep_samples(r));
    HB_TRY(flow_write_samples(r));
    return flow_broken(r, "likelihood", flow_write_likelihood(r));
}

hb_status hb_certify_flow(const hb_certify_run *run)
{
    const size_t d = run->dim, half = run->n / 2;
    flow_run r = {.run = run,
                  .levels = (size_t)run->settings.n_tau,
                  .before = run->out->done,
                  .inner = hb_context_child(run->context, 0)};
    r.m = run->settings.flow_samples < half ? (size_t)run->settings.flow_samples : half;
    if (run->settings.flow_samples == 0) return HB_OK;
    if (r.m < LEAST) r.m = LEAST;
    HB_TRY(HB_WORKSPACE(run->context, &r.work, HB_ARRAY(r.ends, r.m * d), HB_ARRAY(r.real, r.m * d),
                        HB_ARRAY(r.made, r.m * d), HB_ARRAY(r.mean, d),
                        HB_ARRAY(r.covariance, d * d), HB_ARRAY(r.likelihood, 2 * r.m),
                        HB_ARRAY(r.K, 4 * r.m * r.m)));
    run->out->flows = 1;
    const hb_status status = flow_lines(&r);
    run->out->flows = 0;
    hb_workspace_destroy(&r.work);
    return status;
}
