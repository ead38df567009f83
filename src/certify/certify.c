/* A certificate: settings, rows, and the lines one after the other.
 *
 * The rows are a random choice of the caller's, so that the halves of certify_flow.c are alike. At
 * each tau they are carried there HB_CERTIFY_NOISES times, with noises e and -e; all lines of a tau
 * work on these. Every line is a function of (settings, rows, score), the same bits on any number
 * of threads if the score's are. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certify_nodes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 100, MOST_DIM = 4096, FLOW_STAGES = 72, FIRST_CALL = 256 };
static const double LONG = 5; /* seconds that are announced */
static const double USUAL_TAU[] = {0.02, 0.1, 0.3, 1};
enum { N_USUAL = sizeof USUAL_TAU / sizeof *USUAL_TAU };
static const double USUAL_MIN = 1e-3, USUAL_MAX = 3;
static const double SEEN = 0.05;     /* fraction of the rows that may be training rows */
static const double ROUNDING = 1e-4; /* a relative effect that single precision may have */

/* ---- checks ---- */

static hb_status certify_check_rows(hb_context *context, const char *what, size_t n, size_t d,
                                    const double *x)
{
    for (size_t i = 0; i < n * d; i++)
        HB_CHECK(context, fabs(x[i]) < 1e100, HB_ERROR_ARGUMENT,
                 "row %zu, column %zu of %s is %g; it must be finite", i / d + 1, i % d + 1, what,
                 x[i]);
    return HB_OK;
}

static int in_order(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* 64 bits of a row (d): equal rows have equal ones. */
static uint64_t certify_row_hash(size_t d, const double *row)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t k = 0; k < d; k++) {
        uint64_t bits;
        memcpy(&bits, row + k, sizeof bits);
        h = (h ^ bits) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

/* Rows that were held out repeat training rows as often as training rows repeat each other; more
 * are no held-out rows. */
static hb_status certify_check_held_out(hb_context *context, const hb_certify_settings *s, size_t n,
                                        size_t d, const double *x)
{
    const size_t m = (size_t)s->n_training;
    size_t copies = 0, twins = 0;
    uint64_t *known; // (m)
    HB_TRY(HB_NEW(context, known, m));
    for (size_t j = 0; j < m; j++) known[j] = certify_row_hash(d, s->training + j * d);
    qsort(known, m, sizeof *known, in_order);
    for (size_t j = 0; j < m; j++)
        twins += (j > 0 && known[j] == known[j - 1]) || (j + 1 < m && known[j] == known[j + 1]);
    for (size_t i = 0; i < n; i++) {
        const uint64_t one = certify_row_hash(d, x + i * d);
        copies += bsearch(&one, known, m, sizeof *known, in_order) != NULL;
    }
    hb_release(context, known);
    const double usual = (double)twins / (double)m, share = (double)copies / (double)n;
    const double spread = sqrt(usual * (1 - usual) * (1.0 / (double)n + 1.0 / (double)m));
    HB_CHECK(context, share <= usual + 5 * spread + SEEN, HB_ERROR_ARGUMENT,
             "%zu of %zu rows are training rows; a certificate needs rows that the score has not "
             "seen",
             copies, n);
    return HB_OK;
}

static hb_status certify_check_process(hb_context *context, const hb_certify_settings *s, int dim)
{
    const int drift = s->process == HB_PROCESS_DRIFT;
    HB_CHECK(context, drift == (s->drift != NULL), HB_ERROR_ARGUMENT,
             drift ? "the process is HB_PROCESS_DRIFT, but there is no drift"
                   : "there is a drift, but the process is not HB_PROCESS_DRIFT");
    if (!drift) return HB_OK;
    HB_CHECK(context, hb_problem_dim(s->drift) == dim, HB_ERROR_ARGUMENT,
             "the drift has %d components, but the rows have %d columns", hb_problem_dim(s->drift),
             dim);
    HB_CHECK(context, hb_problem_is_autonomous(s->drift) && !hb_problem_frame(s->drift),
             HB_ERROR_ARGUMENT,
             "the drift must be given as text, without t, with one constant noise for all axes");
    return HB_OK;
}

static hb_status certify_check_taus(hb_context *context, const hb_certify_settings *s)
{
    HB_CHECK(context, s->tau_min < s->tau_max, HB_ERROR_ARGUMENT,
             "tau_min is %g and tau_max %g; the first must be the smaller", s->tau_min, s->tau_max);
    HB_CHECK(context, !s->tau == !s->n_tau, HB_ERROR_ARGUMENT, "n_tau is %llu, but tau is %s",
             (unsigned long long)s->n_tau, s->tau ? "given" : "NULL");
    for (size_t i = 0; i < s->n_tau; i++) {
        HB_CHECK(context, s->tau[i] >= s->tau_min && s->tau[i] <= s->tau_max, HB_ERROR_ARGUMENT,
                 "tau has %g; the score is known from %g to %g", s->tau[i], s->tau_min, s->tau_max);
        HB_CHECK(context, i == 0 || s->tau[i] > s->tau[i - 1], HB_ERROR_ARGUMENT,
                 "tau has %g after %g; they must rise", s->tau[i], s->tau[i - 1]);
    }
    return HB_OK;
}

static hb_status certify_check(hb_context *context, const hb_certify_settings *s, int dim, size_t n,
                               const double *x, hb_certify_callback score)
{
    HB_CHECK(context, dim >= 1 && dim <= MOST_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", dim, MOST_DIM);
    HB_CHECK(context, score || s->log_density, HB_ERROR_ARGUMENT,
             "there is neither a score nor a log-density");
    HB_CHECK(context, x && n >= LEAST_ROWS, HB_ERROR_ARGUMENT,
             "there are %zu rows; a certificate needs %d that the score has not seen", n,
             LEAST_ROWS);
    HB_CHECK(context, !s->training == !s->n_training, HB_ERROR_ARGUMENT,
             "n_training is %llu, but training is %s", (unsigned long long)s->n_training,
             s->training ? "given" : "NULL");
    HB_CHECK(context, !s->training || s->n_training >= LEAST_ROWS, HB_ERROR_ARGUMENT,
             "there are %llu training rows; memorisation is tested with %d and more",
             (unsigned long long)s->n_training, LEAST_ROWS);
    HB_CHECK(context, !s->truth || hb_mixture_dim(s->truth) == dim, HB_ERROR_ARGUMENT,
             "the distribution of the rows has %d dimensions, but the rows have %d columns",
             hb_mixture_dim(s->truth), dim);
    HB_TRY(certify_check_process(context, s, dim));
    HB_TRY(certify_check_taus(context, s));
    HB_TRY(certify_check_rows(context, "x", n, (size_t)dim, x));
    if (!s->training) return HB_OK;
    HB_TRY(
        certify_check_rows(context, "training", (size_t)s->n_training, (size_t)dim, s->training));
    return certify_check_held_out(context, s, n, (size_t)dim, x);
}

/* tau (HB_CERTIFY_TAUS) of settings that leave them open. */
static void certify_choose_taus(hb_certify_settings *s, double *tau)
{
    if (isnan(s->tau_min)) s->tau_min = USUAL_MIN;
    if (isnan(s->tau_max)) s->tau_max = USUAL_MAX;
    if (s->tau) return;
    s->n_tau = 0;
    for (size_t i = 0; i < N_USUAL; i++)
        if (USUAL_TAU[i] > s->tau_min && USUAL_TAU[i] <= s->tau_max) tau[s->n_tau++] = USUAL_TAU[i];
    if (s->n_tau == 0) tau[s->n_tau++] = s->tau_max;
    s->tau = tau;
}

/* ---- one tau ---- */

static hb_status certify_create_map(const hb_certify_run *run, double tau, hb_certify_map **out)
{
    hb_certificate *c = run->out;
    hb_certify_map *map = &c->maps[c->n_maps];
    void *memory;
    HB_TRY(hb_allocate(run->context, run->n * (run->dim + 4), sizeof(double), &memory));
    *map = (hb_certify_map){.tau = tau, .n = run->n, .dim = run->dim, .x = memory};
    map->residual = map->x + run->n * run->dim;
    map->local = map->residual + run->n;
    map->distance = map->local + run->n;
    map->density = map->distance + run->n;
    for (size_t i = 0; i < run->n; i++) map->residual[i] = map->local[i] = NAN;
    c->n_maps++;
    *out = map;
    return HB_OK;
}

/* Evaluations of all lines; those along the flow are roughly known. A score by differences has 4
 * dim. */
static double certify_evaluations(const hb_certify_run *run)
{
    const hb_certify_settings *s = &run->settings;
    const double d = (double)run->dim, pairs = (double)s->pairs, half = (double)(run->n / 2);
    const double axes = d <= HB_CERTIFY_AXES ? d : HB_CERTIFY_PROBES;
    const double trace = run->divergence ? 1 : 2 * axes, one = run->score ? 1 : 4 * d;
    const double of_row = HB_CERTIFY_NOISES * (1 + trace) + 8 * pairs + 2 * axes;
    const double of_log = run->log_density ? 1 + 2 * pairs * (1 + one) : 0;
    const double of_flow =
        FLOW_STAGES * (1 + 2 * (1 + trace)) * fmin((double)s->flow_samples, half);
    return (double)s->n_tau * (double)run->n * (one * of_row + of_log) + one * of_flow;
}

/* By the second batch of rows: the first may have started a library of the caller's. */
static void certify_note_time(const hb_certify_run *run, double seconds, double before)
{
    const double each = seconds / (run->out->done - before), all = each * run->out->total;
    if (all > LONG)
        hb_note(run->context,
                "this takes about %.0f s: %.2g evaluations of the score, %.2g s each; fewer rows, "
                "pairs or flow_samples take less",
                all, run->out->total, each);
}

static hb_status certify_fill_rows(const hb_certify_run *run, hb_certify_rows *rows)
{
    const hb_certify_level *level = rows->level;
    for (int k = 0; k < HB_CERTIFY_NOISES; k++) {
        HB_TRY(hb_certify_carry(run, level, HB_USE_NOISE, k, run->n, run->x, rows->x[k],
                                rows->target[k]));
        const double start = hb_seconds(), before = run->out->done;
        HB_TRY(hb_certify_score_at(run, run->n, rows->x[k], level->tau, rows->score[k]));
        if (level->index == 0 && k == 1) certify_note_time(run, hb_seconds() - start, before);
        HB_TRY(hb_certify_divergence(run, level->index, run->n, rows->x[k], level->tau,
                                     level->width, rows->divergence[k]));
    }
    hb_certify_units(run, run->n, rows->x[0], rows->map->x);
    return HB_OK;
}

static const struct {
    hb_status (*measure)(const hb_certify_run *, const hb_certify_rows *);
    const char *names[2];
} lines[] = {{hb_certify_residual, {"residual", "residual size"}},
             {hb_certify_log_residual, {"residual of ln u"}},
             {hb_certify_stein, {"stein scale", "stein width"}},
             {hb_certify_mean, {"stein mean"}},
             {hb_certify_local, {"stein local"}},
             {hb_certify_curl, {"curl"}},
             {hb_certify_memory, {"memorisation"}},
             {hb_certify_truth, {"truth"}}};
enum { N_LINES = sizeof lines / sizeof *lines };

static hb_status certify_measure_lines(const hb_certify_run *run, hb_certify_rows *rows)
{
    HB_TRY(certify_fill_rows(run, rows));
    for (size_t k = 0; k < N_LINES; k++) {
        HB_TRY(lines[k].measure(run, rows));
        HB_TRY(hb_certify_progress(run));
    }
    return hb_certify_place(run, rows);
}

static hb_status certify_at_tau(const hb_certify_run *run, size_t index)
{
    const size_t n = run->n, d = run->dim;
    hb_certify_level level;
    hb_certify_rows rows = {.level = &level, .n = n};
    hb_workspace work = {0};
    HB_TRY(hb_certify_level_create(run, index, run->settings.tau[index], &level));
    double *vectors, *numbers; // (3, noises, n, dim), (noises, n)
    hb_status status =
        HB_WORKSPACE(run->context, &work, HB_ARRAY(vectors, 3 * HB_CERTIFY_NOISES * n * d),
                     HB_ARRAY(numbers, HB_CERTIFY_NOISES * n));
    for (size_t k = 0; k < HB_CERTIFY_NOISES && status == HB_OK; k++) {
        rows.x[k] = vectors + 3 * k * n * d;
        rows.target[k] = rows.x[k] + n * d;
        rows.score[k] = rows.target[k] + n * d;
        rows.divergence[k] = numbers + k * n;
    }
    if (status == HB_OK) status = certify_create_map(run, level.tau, &rows.map);
    if (status == HB_OK) status = certify_measure_lines(run, &rows);
    if (status != HB_OK && rows.map) hb_release(run->context, run->out->maps[--run->out->n_maps].x);
    hb_workspace_destroy(&work);
    hb_workspace_destroy(&level.work);
    return status;
}

/* ---- all ---- */

static int certify_knows_truth(const hb_certify_run *run)
{
    const hb_certify_settings *s = &run->settings;
    const int solved =
        s->process == HB_PROCESS_DRIFT && hb_problem_initial_kind(s->drift) != HB_INITIAL_KIND_NONE;
    const int linear = s->process != HB_PROCESS_DRIFT || hb_problem_is_linear(s->drift);
    return solved || (s->truth && linear);
}

/* Whether a whole run has a line of this name at tau. */
static int certify_has_line(const hb_certify_run *run, const char *name, double tau)
{
    if (strcmp(name, "residual of ln u") == 0 && !run->log_density) return 0;
    if (strncmp(name, "residual ", 9) == 0) return hb_certify_radius(run, tau) > 0;
    if (strcmp(name, "curl") == 0) return run->dim > 1;
    if (strcmp(name, "memorisation") == 0) return run->settings.training != NULL;
    return strcmp(name, "truth") != 0 || certify_knows_truth(run);
}

static void certify_skip_unless_there(const hb_certify_run *run, const char *name, double tau)
{
    const hb_certificate *c = run->out;
    for (size_t i = 0; i < c->n_lines; i++)
        if (strcmp(c->lines[i].name, name) == 0 && (c->lines[i].tau == tau || isnan(tau))) return;
    hb_certificate_skip(run->out, name, tau, "not measured: max_time was over");
}

/* What was not measured when the time was over. */
static hb_status certify_skip_the_rest(const hb_certify_run *run)
{
    const hb_certify_settings *s = &run->settings;
    size_t measured = 0;
    for (size_t i = 0; i < run->out->n_lines; i++)
        measured += run->out->lines[i].verdict != HB_VERDICT_SKIPPED;
    HB_CHECK(run->context, measured > 0, HB_ERROR_NUMERICAL,
             "no line was measured within max_time; give more time, or fewer rows or pairs");
    for (size_t t = 0; t < s->n_tau; t++)
        for (size_t k = 0; k < 2 * N_LINES; k++) {
            const char *name = lines[k / 2].names[k % 2];
            if (name && certify_has_line(run, name, s->tau[t]))
                certify_skip_unless_there(run, name, s->tau[t]);
        }
    if (s->flow_samples > 0) certify_skip_unless_there(run, "samples", NAN);
    if (s->flow_samples > 0) certify_skip_unless_there(run, "likelihood", NAN);
    run->out->cut = 1;
    return HB_OK;
}

static void certify_skip_missing(const hb_certify_run *run)
{
    const hb_certify_settings *s = &run->settings;
    if (s->flow_samples == 0) hb_certificate_skip(run->out, "samples", NAN, "not requested");
    if (!s->training)
        hb_certificate_skip(run->out, "memorisation", NAN,
                            "needs the rows that the score was trained on");
    if (run->dim == 1)
        hb_certificate_skip(run->out, "curl", NAN, "a function of one variable has no curl");
    if (!certify_knows_truth(run))
        hb_certificate_skip(
            run->out, "truth", NAN,
            "needs the distribution of the rows: a named set or a mixture, or for a drift "
            "that is not linear an initial density");
}

static hb_status certify_measure(const hb_certify_run *run)
{
    for (size_t k = 0; k < run->settings.n_tau; k++) HB_TRY(certify_at_tau(run, k));
    return hb_certify_flow(run);
}

static hb_status certify_all_lines(hb_certify_run *run)
{
    const int small = run->own || run->settings.max_time > 0;
    run->out->n = run->n;
    run->out->total = certify_evaluations(run);
    run->out->batch = small ? FIRST_CALL : HB_CERTIFY_CALL;
    HB_TRY(
        HB_NEW(run->context, run->out->truth, (size_t)run->settings.n_tau * HB_CERTIFY_POINTS * 4));
    run->deadline = hb_seconds() + run->settings.max_time;
    if (run->settings.max_time > 0) run->context->deadline = &run->deadline;
    hb_status status = certify_measure(run);
    if (status == HB_ERROR_INTERRUPTED && hb_is_late(run->context))
        status = certify_skip_the_rest(run);
    run->context->deadline = NULL;
    HB_TRY(status);
    certify_skip_missing(run);
    hb_certificate_conclude(run->out);
    return hb_progress(run->context, "certificate", run->out->total, run->out->total);
}

static hb_status certify_choose_rows(const hb_certify_run *run, size_t n, const double *x,
                                     double *chosen)
{
    size_t *order; // (n)
    HB_TRY(HB_NEW(run->context, order, n));
    const hb_status status = hb_data_split(run->context, run->settings.seed, n, order);
    for (size_t i = 0; i < run->n && status == HB_OK; i++)
        memcpy(chosen + i * run->dim, x + order[i] * run->dim, run->dim * sizeof *x);
    hb_release(run->context, order);
    return status;
}

hb_status hb_certify_start(hb_certify_run *run, const hb_certify_settings *settings, int dim,
                           size_t n, const double *x, hb_certificate **out)
{
    hb_context *context = run->context;
    double tau[HB_CERTIFY_TAUS];
    *out = NULL;
    HB_TRY(hb_certify_settings_read(context, settings, &run->settings));
    certify_choose_taus(&run->settings, tau);
    HB_TRY(certify_check(context, &run->settings, dim, n, x, run->score));
    run->dim = (size_t)dim;
    run->n = n < run->settings.rows ? n : (size_t)run->settings.rows;
    run->log_density = run->settings.log_density;
    run->divergence = run->settings.divergence;
    void *memory;
    HB_TRY(hb_allocate(context, run->n * run->dim, sizeof(double), &memory));
    run->x = memory;
    hb_status status = certify_choose_rows(run, n, x, memory);
    if (status == HB_OK) status = hb_certificate_create(context, &run->settings, dim, &run->out);
    run->settings.tolerance = fmax(run->settings.tolerance, ROUNDING);
    if (status == HB_OK) status = certify_all_lines(run);
    hb_release(context, memory);
    if (status != HB_OK) hb_certificate_destroy(run->out);
    *out = status == HB_OK ? run->out : NULL;
    return status;
}

hb_status hb_certify(hb_context *context, const hb_certify_settings *settings, int dim, size_t n,
                     const double *x, hb_certify_callback score, void *user, hb_certificate **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "out is NULL");
    hb_certify_run run = {.context = context, .score = score, .user = user};
    return hb_certify_start(&run, settings, dim, n, x, out);
}
