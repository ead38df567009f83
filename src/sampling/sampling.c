/* Rounds until enough.
 *
 * Round k is a function of the problem, the seed and k alone, so the answer is a function of the
 * number of rounds at each point, whoever stopped and resumed in between. A point is wanted until
 * it has its samples and, when errors are asked for, until
 *     density_se/density <= density_error,
 *     |score_se| <= score_error max(|score|, 1/sqrt(2 tau))     (at a mode the score is 0)
 * and no flag is left. An error is chance c and what no sample mends, f, both in units of what is
 * asked for: c^2 falls with the rounds to 1 - f^2; where f leaves too little room, rounds end at
 * c = f/ONLY_BIAS. A round is counted apart and merged when it is complete, so one that is
 * interrupted leaves no trace. With several runs each has a part of the time, then another
 * where the points of the others are flagged.
 * Must reproduce: with 1000 samples per round, an error of 0.01 and units of unit mean and variance
 * 1, sampling stops at about 10000 units. */
#include "sampling/sampling.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "base/team_tasks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const double FIRST_GAP = 1, SAVE_PERIOD = 60; /* seconds between saves */
static const double LEAST_PART = 0.1, GIVE_UP = 16;
static const double ONLY_BIAS =
    2; /* an error that is so much more systematic than chance: no sample mends it */

void hb_note_append(char *note, size_t limit, const char *format, ...)
{
    const size_t used = strlen(note);
    va_list arguments;
    if (used + 1 >= limit) return;
    va_start(arguments, format);
    vsnprintf(note + used, limit - used, format, arguments);
    va_end(arguments);
}

/* ---- making and unmaking ---- */

/* What a round reports under the name of its unit becomes a part of the whole; other reports, of
 * the work inside, only ask whether to stop. */
static int report_part(void *user, const char *what, double done, double total)
{
    hb_sampling *s = user;
    hb_sampling_report *r = &s->report;
    const hb_context_settings *outside = &s->context->settings;
    if (!r->what) return outside->progress(outside->progress_user, what, done, total);
    if (total > 0 && strcmp(what, r->what) == 0) r->part = fmax(r->part, fmin(done / total, 1));
    const double now = r->done + r->fraction * r->part;
    return outside->progress(outside->progress_user, r->what, now, fmax(now, r->total));
}

hb_status hb_sampling_create(hb_context *context, const hb_sampling_settings *settings, size_t n,
                             int dim, double tau, hb_sampling *out)
{
    *out = (hb_sampling){.context = context, .settings = settings, .n = n, .dim = dim};
    out->inside = hb_context_child(context, 0);
    if (context->settings.progress) {
        out->inside.settings.progress = report_part;
        out->inside.settings.progress_user = out;
    }
    out->score_scale = 1 / sqrt(2 * tau);
    out->start = out->saved = hb_seconds();
    hb_sampling_allow(out, 1);
    return HB_NEW(context, out->score, 2 * (size_t)dim);
}

void hb_sampling_allow(hb_sampling *s, double part)
{
    s->deadline = s->start + part * s->settings->max_time;
    s->inside.deadline = s->settings->max_time > 0 ? &s->deadline : NULL;
}

void hb_sampling_remove(hb_sampling *s)
{
    hb_sampling_run *run = &s->runs[--s->n_runs];
    if (run->estimator.destroy) run->estimator.destroy(run->estimator.self);
    hb_workspace_destroy(&run->work);
    *run = (hb_sampling_run){0};
}

void hb_sampling_destroy(hb_sampling *s)
{
    while (s->n_runs > 0) hb_sampling_remove(s);
    if (s->context) hb_release(s->context, s->score);
    *s = (hb_sampling){0};
}

hb_status hb_sampling_add(hb_sampling *s, const hb_estimator *estimator)
{
    hb_sampling_run *run = &s->runs[s->n_runs++];
    *run = (hb_sampling_run){.estimator = *estimator};
    const size_t n = s->n, all = n * hb_accumulator_size(s->dim);
    HB_TRY(HB_WORKSPACE(s->context, &run->work, HB_ARRAY(run->accumulators, 2 * all),
                        HB_ARRAY(run->fresh, 2 * all), HB_ARRAY(run->rounds, n),
                        HB_ARRAY(run->chosen, n), HB_ARRAY(run->wanted, n),
                        HB_ARRAY(run->helps, n)));
    memset(run->work.memory, 0, run->work.size);
    memset(run->chosen, 1, n);
    run->diagnostic = run->accumulators + all;
    return HB_OK;
}

/* ---- one round ---- */

hb_status hb_sampling_round(hb_sampling *s, hb_sampling_run *run, uint64_t k, int diagnosed,
                            double rounds, double total)
{
    const hb_estimator *e = &run->estimator;
    const double fraction = (double)e->samples_per_round;
    const size_t size = hb_accumulator_size(s->dim), all = s->n * size;
    for (size_t i = 0; i < 2 * s->n; i++)
        if (run->wanted[i % s->n]) hb_accumulator_clear(s->dim, run->fresh + i * size);
    s->report = (hb_sampling_report){e->unit, rounds * fraction, total, fraction, 0};
    hb_status status = e->round(e->self, k, run->wanted, run->fresh);
    if (status == HB_OK && diagnosed && e->diagnostic && HB_DIAGNOSTIC_FIRST + k < e->rounds)
        status = e->diagnostic(e->self, k, run->wanted, run->fresh + all);
    s->report.what = NULL;
    HB_TRY(hb_context_adopt(s->context, &s->inside, status));
    for (size_t i = 0; i < 2 * s->n; i++)
        if (run->wanted[i % s->n])
            hb_accumulator_merge(s->dim, run->accumulators + i * size, run->fresh + i * size);
    return HB_OK;
}

/* ---- when is it enough? ---- */

static int wants_error(const hb_sampling *s)
{
    return s->settings->density_error > 0 || s->settings->score_error > 0;
}

/* Samples that a run is asked for at each point, before errors are looked at. */
static uint64_t samples_asked(const hb_sampling *s, const hb_sampling_run *run)
{
    if (s->settings->samples > 0) return s->settings->samples;
    return wants_error(s) ? (uint64_t)(LEAST_PART * (double)run->estimator.usual)
                          : run->estimator.usual;
}

/* An error in units of what is asked for, and the part of it that no sample mends. */
typedef struct excess {
    double all, lasting;
} excess;

/* Of the density (kind 0) or the score (1); 0 where nothing is asked for. */
static excess excess_of(const hb_sampling *s, const hb_sampling_run *run, size_t point,
                        const hb_answer *answer, int kind)
{
    const hb_estimator *e = &run->estimator;
    const size_t d = (size_t)s->dim;
    const double asked = kind ? s->settings->score_error : s->settings->density_error;
    const double *known = e->lasting_error ? e->lasting_error : e->known_error;
    const double fixed = !known ? 0
                         : kind ? hb_norm(d, known + point * (1 + d) + 1)
                                : known[point * (1 + d)];
    const double unit = kind ? fmax(hb_norm(d, s->score), s->score_scale) * asked : asked;
    if (!(asked > 0)) return (excess){0, 0};
    return (excess){(kind ? hb_norm(d, s->score + d) : answer->relative) / unit,
                    hypot(kind ? answer->score_bias : answer->bias, fixed) / unit};
}

/* A flag of the score counts where its error is asked for. */
static int sampling_is_flagged(const hb_sampling *s, const hb_answer *answer)
{
    return answer->flag != HB_FLAG_NONE ||
           (s->settings->score_error > 0 && answer->score_flag != HB_FLAG_NONE);
}

void hb_sampling_answer(const hb_sampling *s, const hb_sampling_run *run, size_t point,
                        hb_answer *answer, double *score, double *score_se)
{
    const hb_estimator *e = &run->estimator;
    const double *sums = run->accumulators + point * hb_accumulator_size(s->dim);
    const double *diagnostic = run->diagnostic + point * hb_accumulator_size(s->dim);
    hb_accumulator_diagnosed(s->dim, sums, hb_accumulator_units(diagnostic) > 0 ? diagnostic : sums,
                             e->diagnostic_parts, e->log_scale[point], answer, score, score_se);
    if (e->known_error)
        hb_answer_widen(s->dim, e->known_error + point * (1 + (size_t)s->dim), answer, score_se);
}

int hb_sampling_has_met(const hb_sampling *s, const hb_sampling_run *run, size_t point,
                        hb_answer *answer)
{
    hb_answer own;
    if (!answer) answer = &own;
    hb_sampling_answer(s, run, point, answer, s->score, s->score + s->dim);
    return !sampling_is_flagged(s, answer) && excess_of(s, run, point, answer, 0).all <= 1 &&
           excess_of(s, run, point, answer, 1).all <= 1;
}

/* Rounds until an error is reached, or until chance is a small part of what is left. */
static double rounds_for(const excess *e, double done)
{
    const double fixed = e->lasting * e->lasting;
    const double room = fmax(1 - fixed, fixed / (ONLY_BIAS * ONLY_BIAS));
    return e->all > 1 ? fmax(ceil(done * ((e->all * e->all - fixed) / room - 1)), 0) : 0;
}

/* Rounds that a point still needs, as far as one can tell; 0: enough. */
static double rounds_left(const hb_sampling *s, const hb_sampling_run *run, size_t point)
{
    const double done = (double)run->rounds[point], size = (double)run->estimator.samples_per_round;
    const double rounds_there_are = (double)(run->estimator.rounds - run->first) - done;
    const double missing = ceil((double)samples_asked(s, run) / size) - done;
    hb_answer answer;
    if (!run->chosen[point] && !run->helps[point]) return 0;
    if (run->estimator.unserved && run->estimator.unserved[point]) return 0;
    if (missing > 0) return fmin(missing, rounds_there_are);
    if (!wants_error(s) || hb_sampling_has_met(s, run, point, &answer)) return 0;
    const double last = ceil(GIVE_UP * (double)run->estimator.usual / size) - done;
    const excess density = excess_of(s, run, point, &answer, 0),
                 score = excess_of(s, run, point, &answer, 1);
    if (sampling_is_flagged(s, &answer)) {
        if (s->settings->max_time == 0 && last < 1) return 0;
        return fmin(fmax(last, 1), rounds_there_are);
    }
    return fmin(fmax(rounds_for(&density, done), rounds_for(&score, done)), rounds_there_are);
}

int hb_sampling_missed(const hb_sampling *s, const hb_sampling_run *run, size_t point,
                       hb_sampling_miss *out)
{
    hb_answer answer;
    if (!wants_error(s) || hb_sampling_has_met(s, run, point, &answer)) return 0;
    if (sampling_is_flagged(s, &answer) || rounds_left(s, run, point) > 0) return 0;
    const excess density = excess_of(s, run, point, &answer, 0),
                 score = excess_of(s, run, point, &answer, 1);
    const excess *worse = score.all > density.all ? &score : &density;
    const double asked = worse == &score ? s->settings->score_error : s->settings->density_error;
    *out = (hb_sampling_miss){worse == &score ? "score" : "density", asked, worse->all * asked,
                              worse->lasting * asked};
    return 1;
}

/* The next round of a run and who wants it; 0 when none does, or it is late. *left: rounds. */
static int plan_round(hb_sampling *s, hb_sampling_run *run, uint64_t *next, double *left)
{
    *left = 0;
    *next = UINT64_MAX;
    if (hb_team_late(&s->inside)) return 0;
    for (size_t i = 0; i < s->n; i++) {
        const double own = rounds_left(s, run, i);
        run->wanted[i] = own > 0;
        if (own > 0 && run->rounds[i] < *next) *next = run->rounds[i];
        *left = fmax(*left, own);
    }
    for (size_t i = 0; i < s->n; i++) run->wanted[i] = run->wanted[i] && run->rounds[i] == *next;
    return *left > 0;
}

/* ---- all rounds ---- */

hb_status hb_sampling_keep(hb_sampling *s)
{
    const double asked = s->settings->save_every, period = asked > 0 ? asked : SAVE_PERIOD;
    if (!s->settings->state) return HB_OK;
    int wait = hb_seconds() < s->saved + s->save_gap;
    HB_TRY(hb_context_agree(s->context, sizeof wait, &wait));
    if (wait) return HB_OK;
    s->save_gap = fmin(fmax(2 * s->save_gap, FIRST_GAP), period);
    return hb_sampling_save(s);
}

/* Samples in all, to show: no more than the time allows after so many rounds since start. */
static double total_of(const hb_sampling *s, const hb_sampling_run *run, uint64_t next, double left,
                       double start, double rounds_done)
{
    const double now = hb_seconds();
    if (rounds_done > 0 && s->inside.deadline)
        left = fmin(left, fmax((s->deadline - now) * rounds_done / (now - start), 1));
    return ((double)next + left) * (double)run->estimator.samples_per_round;
}

static hb_status count_round(hb_sampling *s, hb_sampling_run *run, uint64_t next, double total)
{
    const double done = (double)(next + 1) * (double)run->estimator.samples_per_round;
    for (size_t i = 0; i < s->n; i++) run->rounds[i] += run->wanted[i];
    HB_TRY(hb_sampling_keep(s));
    if (hb_team_late(&s->inside)) return HB_OK;
    return hb_team_progress(s->context, run->estimator.unit, done, fmax(total, done));
}

/* 0: errors that can be told, 1: those of the density, 2: none. */
static int flags_at(const hb_sampling *s, const hb_sampling_run *run, size_t point)
{
    hb_answer answer;
    if (run->rounds[point] == 0) return 2;
    hb_sampling_has_met(s, run, point, &answer);
    return answer.flag != HB_FLAG_NONE ? 2 : answer.score_flag != HB_FLAG_NONE;
}

/* Whether a run has ended at a point without an error that is asked for. */
static int has_missed(const hb_sampling *s, const hb_sampling_run *run, size_t point)
{
    return wants_error(s) && !hb_sampling_has_met(s, run, point, NULL) &&
           rounds_left(s, run, point) == 0;
}

static int chosen_run(const hb_sampling *s, size_t point)
{
    int k = 0;
    while (k + 1 < s->n_runs && !s->runs[k].chosen[point]) k++;
    return k;
}

/* With several runs, those that were not chosen try where the chosen one is flagged or cannot reach
 * the error that is asked for. Their draws are others, so that this choice makes no bias. */
static void ask_for_help(hb_sampling *s)
{
    for (size_t i = 0; s->n_runs > 1 && i < s->n; i++) {
        const int own = chosen_run(s, i);
        const int asked = flags_at(s, &s->runs[own], i) > 0 || has_missed(s, &s->runs[own], i);
        for (int k = 0; k < s->n_runs; k++) s->runs[k].helps[i] = asked && k != own;
    }
}

const hb_sampling_run *hb_sampling_run_of(const hb_sampling *s, size_t point)
{
    const hb_sampling_run *best = &s->runs[chosen_run(s, point)];
    for (int k = 0; k < s->n_runs; k++) {
        const hb_sampling_run *other = &s->runs[k];
        if (other == best || !other->helps[point]) continue;
        const int better = flags_at(s, best, point) - flags_at(s, other, point);
        if (better > 0 || (better == 0 && has_missed(s, best, point) &&
                           hb_sampling_has_met(s, other, point, NULL)))
            best = other;
    }
    return best;
}

/* What has been done is kept, whatever ended the rounds; the first failure counts. */
static hb_status keep_last(hb_sampling *s, hb_status status)
{
    if (status == HB_OK) return hb_sampling_save(s);
    char message[sizeof s->context->message];
    memcpy(message, s->context->message, sizeof message);
    const hb_status saved = hb_sampling_save(s);
    if (saved != HB_OK || status != HB_ERROR_INTERRUPTED)
        return hb_fail(s->context, status, "%s", message);
    return hb_fail(s->context, status,
                   "interrupted; the state is saved in %s, and resume continues from there",
                   s->settings->state);
}

/* A round that the deadline breaks off leaves no trace: what was ready would favour short walks. */
hb_status hb_sampling_perform(hb_sampling *s)
{
    const double begin = hb_seconds(), left = s->start + s->settings->max_time - begin;
    const int n = s->n_runs, parts = n > 1 ? 2 * n : 1; /* of the time */
    hb_status status = HB_OK;
    for (int part = 0; part < parts + (n > 1) && status == HB_OK; part++) {
        hb_sampling_run *run = &s->runs[part % n];
        const double start = hb_seconds();
        double more, rounds_done = 0;
        uint64_t next;
        if (part == n) ask_for_help(s);
        if (part < parts)
            s->deadline = begin + left * (part + 1) / parts; // then what is left of it
        while (status == HB_OK && plan_round(s, run, &next, &more)) {
            const double total = total_of(s, run, next, more, start, rounds_done++);
            status = hb_sampling_round(s, run, run->first + next, 1, (double)next, total);
            if (status == HB_OK)
                status = count_round(s, run, next, total);
            else if (status == HB_ERROR_INTERRUPTED && hb_team_late(&s->inside))
                status = HB_OK; // and plan_round ends
        }
    }
    return s->settings->state ? keep_last(s, status) : status;
}
