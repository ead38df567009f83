/* Solutions by sampling: particles, walks, or each where it is better.
 *
 * The estimators count (estimator.h), sampling.c decides how long, sampling_choice.c who serves
 * which point when the method is auto, and here the accumulators become columns, warnings and a
 * note. Where an error cannot be trusted it is infinite and the warning of the point says why
 * (accumulator.c has the rules). */
#include "base/context.h"
#include "base/team_tasks.h"
#include "solve/solve_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_POINTS = 8 };
/* Of the time, where it is limited: when trials must have ended. */
static const double TRIALS_UNTIL = 0.6, FIRST_UNTIL = 0.2, SECOND_UNTIL = 0.25;

/* ---- the runs ---- */

static hb_status sampled_add_run(const hb_solve_task *task, const hb_method_ops *ops, double tau,
                                 hb_sampling *s)
{
    hb_estimator estimator = {0};
    const hb_status status = ops->estimator(&s->inside, task, tau, &estimator);
    HB_TRY(hb_context_adopt(s->context, &s->inside, status));
    return hb_sampling_add(s, &estimator);
}

/* What auto can do without: a method that refuses this problem, or is not ready in its time. */
static int sampled_can_do_without(hb_sampling *s, hb_status status)
{
    if (status == HB_ERROR_INTERRUPTED) return hb_team_late(&s->inside);
    return status == HB_ERROR_ARGUMENT || status == HB_ERROR_MEMORY || status == HB_ERROR_NUMERICAL;
}

static const char *sampled_unit_of(const hb_method_ops *ops)
{
    return ops->info.method == HB_METHOD_PARTICLES ? "trajectories" : "walks";
}

/* All that do not refuse; why gets the reasons of the others. */
static hb_status sampled_add_all(const hb_solve_task *task, int n, const hb_method_ops *const *ops,
                                 double tau, hb_sampling *s, size_t size, char *why)
{
    for (int k = 0; k < n; k++) {
        const int before = s->n_runs;
        hb_sampling_allow(s, FIRST_UNTIL + SECOND_UNTIL * k / n);
        const hb_status status = sampled_add_run(task, ops[k], tau, s);
        if (status == HB_OK) continue;
        if (s->n_runs > before) hb_sampling_remove(s);
        if (!sampled_can_do_without(s, status) || (k == n - 1 && s->n_runs == 0)) return status;
        const size_t used = strlen(why);
        snprintf(why + used, size - used, "; %s refused (%s)", ops[k]->info.name,
                 hb_context_message(task->context));
    }
    return HB_OK;
}

static hb_status sampled_add_runs(const hb_solve_task *task, int n, const hb_method_ops *const *ops,
                                  double tau, hb_sampling *s, size_t size, char *why)
{
    hb_sampling_allow(s, TRIALS_UNTIL);
    return n == 1 ? sampled_add_run(task, ops[0], tau, s)
                  : sampled_add_all(task, n, ops, tau, s, size, why);
}

/* From the file, or from the beginning. The file is written at once: a path that cannot be is
 * refused now and not after hours. */
static hb_status sampled_begin(const hb_solve_task *task, double tau, hb_sampling *s)
{
    int found = 0;
    if (s->settings->state) {
        HB_TRY(hb_sampling_fingerprint(task, tau, s));
        if (s->settings->resume)
            HB_TRY(hb_sampling_load(s, &found));
        else
            HB_TRY(hb_sampling_check_path(s->context, s->settings->state));
    }
    if (found) return HB_OK;
    if (s->n_runs > 1) HB_TRY(hb_sampling_choose(s));
    return s->settings->state ? hb_sampling_save(s) : HB_OK;
}

/* ---- columns and warnings ---- */

/* Why an error is not reported; NULL: it is. %N: the number of samples, %U: what they are called,
 * %E: independent values among them, %T: the index of their tail, %L: lost per cent. */
static const char *sampled_score_sentence(const hb_estimator *e, const hb_answer *a)
{
    if (a->score_flag == HB_FLAG_NONE) return NULL;
    if (a->score_flag == HB_FLAG_ROUNDED && !e->untimely)
        return "the drift jumps or has a pole, and %U do not see the part of the score that "
               "comes from there; the grid does";
    if (a->score_flag == HB_FLAG_COARSE)
        return "the integral over the lag is not resolved for the score: two rules in "
               "time differ by more than a fifth of it";
    return "the gradients of %N %U are dominated by a few; the error of the score "
           "cannot be told, that of the density can";
}

static const char *sampled_sentence(const hb_estimator *e, size_t i, const hb_answer *a)
{
    switch (a->flag) {
    case HB_FLAG_NOTHING:
        return "none of %N %U counts here; the density is too small for this method or is 0";
    case HB_FLAG_NEGATIVE:
        return "the mean of %N %U is not above 0 by two of its errors; more are needed";
    case HB_FLAG_FEW:
        return "%N %U are worth only %E independent values here; the error from so few cannot be "
               "trusted";
    case HB_FLAG_HEAVY:
        if (a->tail_index < 2)
            return "the largest values of %U fall off with index %T here, too slowly for a "
                   "variance; the spread of %N says too little";
        return "a few %U outweigh the rest here; the spread of %N says too little";
    case HB_FLAG_LOST:
        if (e->untimely && e->untimely[i])
            return "the times of the trajectories are too few for the integral over the lag; give "
                   "more of them";
        return "%L % of %N %U were lost where the drift is not finite or too steep; they could "
               "move the mean";
    case HB_FLAG_ROUNDED:
        if (e->untimely)
            return "trajectories that are too rare to be seen, their step, rounding, or what they "
                   "differ by from the model may change the density by more than a tenth";
        if (e->exact)
            return "the closed form of this linear drift loses its digits here; its rates differ "
                   "too much for the requested time";
        return "the drift is very steep or has a narrow part near here; %U that count may be "
               "too rare to be seen, the grid sees them";
    case HB_FLAG_OUTLIERS:
        return "what counts here lies more than four standard deviations from where the %U go; the "
               "drift there was not seen";
    case HB_FLAG_COARSE:
        return "the integral over the lag is not resolved: two rules in time differ by more "
               "than a twentieth of the density";
    default: return sampled_score_sentence(e, a);
    }
}

static hb_status sampled_warn(const hb_sampling_run *run, size_t i, const hb_answer *a,
                              hb_solution *out)
{
    const hb_estimator *e = &run->estimator;
    const char *sentence = sampled_sentence(e, i, a);
    char text[400];
    size_t used = 0;
    if (!sentence) return HB_OK;
    for (const char *s = sentence; *s && used < sizeof text - 1; s++) {
        char *to = text + used;
        const size_t size = sizeof text - used;
        const char kind = s[0] == '%' ? s[1] : 0;
        int length = 0;
        if (kind == 'N') length = snprintf(to, size, "%" PRIu64, out->samples[i]);
        if (kind == 'U') length = snprintf(to, size, "%s", e->unit);
        if (kind == 'E') length = snprintf(to, size, "%.1f", a->effective);
        if (kind == 'T') length = snprintf(to, size, "%.2g", a->tail_index);
        if (kind == 'L') length = snprintf(to, size, "%.3g", 100 * a->lost / a->units);
        s += length > 0;
        if (length == 0) length = snprintf(to, size, "%c", *s);
        used += (size_t)length;
    }
    return hb_solution_warn(out, i, "%.*s", (int)fmin((double)used, sizeof text - 1), text);
}

hb_status hb_solve_fill_nothing(const char *name, const char *unit, double seconds, size_t i,
                                hb_solution *out)
{
    hb_solution_set_row(out, i, NAN, INFINITY);
    out->samples[i] = 0;
    out->point_methods[i] = name;
    return hb_solution_warn(out, i, "no round of %s was finished within the time limit of %g s",
                            unit, seconds);
}

/* A requested error that cannot be reached. */
static hb_status sampled_warn_missed(const hb_sampling *s, const hb_sampling_run *run, size_t i,
                                     hb_solution *out)
{
    hb_sampling_miss m;
    if (out->warnings[i] || !hb_sampling_missed(s, run, i, &m)) return HB_OK;
    if (m.lasting < 0.5 * m.asked)
        return hb_solution_warn(out, i, "asked %.2g of the %s, reached %.2g: there are no more %s",
                                m.asked, m.what, m.reached, run->estimator.unit);
    return hb_solution_warn(out, i,
                            "asked %.2g of the %s, reached %.2g: %.2g of it is systematic (time "
                            "step, lag), and more %s do not reduce it",
                            m.asked, m.what, m.reached, m.lasting, run->estimator.unit);
}

static hb_status sampled_fill_point(const hb_sampling *s, const hb_sampling_run *run, size_t i,
                                    hb_solution *out)
{
    const size_t d = (size_t)s->dim;
    hb_answer a;
    if (run->rounds[i] == 0)
        return hb_solve_fill_nothing(run->estimator.name, run->estimator.unit,
                                     s->settings->max_time, i, out);
    hb_sampling_answer(s, run, i, &a, out->columns[HB_COLUMN_SCORE] + i * d,
                       out->columns[HB_COLUMN_SCORE_ERROR] + i * d);
    out->columns[HB_COLUMN_DENSITY][i] = a.density;
    out->columns[HB_COLUMN_DENSITY_ERROR][i] = a.density_se;
    out->columns[HB_COLUMN_LOG_DENSITY][i] = a.log_density;
    out->columns[HB_COLUMN_LOG_DENSITY_ERROR][i] = a.log_density_se;
    out->columns[HB_COLUMN_ENTROPY_DENSITY][i] = a.entropy;
    out->columns[HB_COLUMN_ENTROPY_DENSITY_ERROR][i] = a.entropy_se;
    out->samples[i] = run->rounds[i] * run->estimator.samples_per_round;
    out->point_methods[i] = run->estimator.name;
    if (run->estimator.exact) out->error_kinds[i] = HB_ERRORS_BOUND;
    HB_TRY(sampled_warn(run, i, &a, out));
    return sampled_warn_missed(s, run, i, out);
}

/* ---- the note ---- */

static size_t sampled_count_chosen(const hb_sampling *s, const hb_sampling_run *run)
{
    size_t count = 0;
    for (size_t i = 0; i < s->n; i++) count += hb_sampling_run_of(s, i) == run;
    return count;
}

static void sampled_note_run(const hb_sampling *s, const hb_sampling_run *run, hb_solution *out)
{
    const uint64_t size = run->estimator.samples_per_round;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (hb_sampling_run_of(s, i) != run) continue;
        least = run->rounds[i] < least ? run->rounds[i] : least;
        most = run->rounds[i] > most ? run->rounds[i] : most;
    }
    if (s->n_runs > 1)
        hb_solution_add_note(out, "%s at %zu point%s: ", run->estimator.name,
                             sampled_count_chosen(s, run),
                             sampled_count_chosen(s, run) == 1 ? "" : "s");
    if (run->estimator.note[0]) hb_solution_add_note(out, "%s; ", run->estimator.note);
    if (run->estimator.exact) {
        hb_solution_add_note(out, "nothing is drawn");
        return;
    }
    if (least < most)
        hb_solution_add_note(out, "%" PRIu64 " to %" PRIu64 " %s", least * size, most * size,
                             run->estimator.unit);
    else
        hb_solution_add_note(out, "%" PRIu64 " %s", most * size, run->estimator.unit);
}

static void sampled_note_missed(const hb_sampling *s, hb_solution *out)
{
    size_t missed = 0;
    char names[NAMED_POINTS * 24] = "";
    size_t used = 0;
    for (size_t i = 0; i < s->n; i++) {
        const hb_sampling_run *run = hb_sampling_run_of(s, i);
        if (hb_sampling_has_met(s, run, i, NULL)) continue;
        if (missed++ < NAMED_POINTS)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%zu",
                                     missed > 1 ? ", " : "", i + 1);
    }
    if (missed > 0)
        hb_solution_add_note(out, "; the wanted error was not reached at %zu of %zu points (%s%s)",
                             missed, s->n, names, missed > NAMED_POINTS ? ", ..." : "");
}

static void sampled_write_note(const hb_sampling *s, const char *why, hb_solution *out)
{
    size_t runs = 0;
    out->note[0] = 0;
    if (why[0]) hb_solution_add_note(out, "%s; ", why);
    for (int r = 0; r < s->n_runs; r++) {
        if (sampled_count_chosen(s, &s->runs[r]) == 0) continue;
        if (runs++ > 0) hb_solution_add_note(out, "; ");
        sampled_note_run(s, &s->runs[r], out);
        out->method = runs > 1 ? "several" : s->runs[r].estimator.name;
    }
    if (s->settings->density_error > 0 || s->settings->score_error > 0) sampled_note_missed(s, out);
}

/* The time was over before a method was ready. */
static hb_status sampled_fill_late(const hb_solve_task *task, const hb_method_ops *ops,
                                   const char *why, hb_solution *out)
{
    out->method = ops->info.name;
    snprintf(out->note, sizeof out->note, "%s%sthe time was over before the first round", why,
             why[0] ? "; " : "");
    for (size_t i = 0; i < out->n; i++)
        HB_TRY(hb_solve_fill_nothing(out->method, sampled_unit_of(ops),
                                     task->settings->sampling.max_time, i, out));
    return HB_OK;
}

hb_status hb_solve_by_samples(const hb_solve_task *task, int n, const hb_method_ops *const *ops,
                              hb_solution *out)
{
    hb_sampling s = {0};
    char reason[HB_NOTE / 2];
    snprintf(reason, sizeof reason, "%s", task->why ? task->why : "");
    hb_status status = hb_sampling_create(task->context, &task->settings->sampling, out->n,
                                          out->dim, out->tau, &s);
    if (status == HB_OK)
        status = sampled_add_runs(task, n, ops, out->tau, &s, sizeof reason, reason);
    if (status == HB_ERROR_INTERRUPTED && hb_team_late(&s.inside)) {
        status = sampled_fill_late(task, ops[n - 1], reason, out);
        hb_sampling_destroy(&s);
        return status;
    }
    if (status == HB_OK) status = sampled_begin(task, out->tau, &s);
    if (status == HB_OK) status = hb_sampling_perform(&s);
    for (size_t i = 0; status == HB_OK && i < out->n; i++)
        status = sampled_fill_point(&s, hb_sampling_run_of(&s, i), i, out);
    if (status == HB_OK) sampled_write_note(&s, reason, out);
    hb_sampling_destroy(&s);
    return status;
}
