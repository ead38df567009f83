/* Which of several estimators serves which point.
 *
 * Particles share their trajectories between all points and are cheap in the core region, walks do
 * not care whether any trajectory comes near. The rule, in the order of the runs:
 *     1. Each does PILOT_PART of its usual samples N at the points that are still open: e sqrt(m/N) is
 *        expected from e after m.
 *     2. A point at which a run expects at most GOOD_ENOUGH, or the requested error, is closed.
 *     3. The smallest expected error serves; that of a flagged run is infinite.
 * Exact walks (a linear drift, a last step in closed form) serve every point. An estimate that is
 * chosen because its own draws look precise is biased, so the pilot rounds are thrown away. No
 * clock enters, unless max_time breaks a trial off. Must reproduce: the same choice on any number
 * of threads. */
#include "base/team_tasks.h"
#include "sampling/sampling.h"

#include <math.h>
#include <string.h>

static const double PILOT_PART = 0.125, GOOD_ENOUGH = 0.01;
static const double TRIALS_UNTIL = 0.5; /* of the time, where it is limited */

static uint64_t pilot_rounds(const hb_sampling_run *run)
{
    const double samples = PILOT_PART * (double)run->estimator.usual;
    return (uint64_t)fmax(ceil(samples / (double)run->estimator.samples_per_round), 1);
}

/* Relative error to be expected at the end; infinite with a flag. */
static double choice_expected_error(const hb_sampling *s, const hb_sampling_run *run, size_t point)
{
    const double done = (double)(run->first * run->estimator.samples_per_round);
    hb_answer answer;
    hb_sampling_has_met(s, run, point, &answer);
    if (answer.flag != HB_FLAG_NONE) return INFINITY;
    return answer.relative * sqrt(done / (double)run->estimator.usual);
}

/* At the points that are wanted. */
static hb_status run_pilot(hb_sampling *s, hb_sampling_run *run)
{
    run->first = pilot_rounds(run);
    const double size = (double)run->estimator.samples_per_round;
    for (uint64_t k = 0; k < run->first; k++) {
        const hb_status status =
            hb_sampling_round(s, run, k, 0, (double)k, (double)run->first * size);
        if (status == HB_ERROR_INTERRUPTED && hb_team_late(&s->inside)) break;
        HB_TRY(status);
    }
    return HB_OK;
}

/* The run k serves a point. */
static void choice_give(hb_sampling *s, int k, size_t point)
{
    for (int r = 0; r < s->n_runs; r++) s->runs[r].chosen[point] = r == k;
}

/* One walk is the answer at every point. */
static void choose_exact(hb_sampling *s, int k)
{
    hb_sampling_run *walks = &s->runs[k];
    for (size_t i = 0; i < s->n; i++) choice_give(s, k, i);
    hb_note_append(walks->estimator.note, sizeof walks->estimator.note,
                   "; walks are exact here, so nothing else was tried");
}

static double choice_good_enough(const hb_sampling *s)
{
    const double asked = s->settings->density_error;
    return asked > 0 ? fmin(asked, GOOD_ENOUGH) : GOOD_ENOUGH;
}

/* Pilot rounds of run k at the open points; best[n]: the least expected error so far. */
static hb_status choice_try(hb_sampling *s, int k, double *best)
{
    hb_sampling_run *run = &s->runs[k];
    size_t n_open = 0;
    for (size_t i = 0; i < s->n; i++) {
        run->wanted[i] = k == 0 || !(best[i] <= choice_good_enough(s));
        n_open += run->wanted[i];
    }
    hb_sampling_allow(s, TRIALS_UNTIL * (k + 1) / s->n_runs + TRIALS_UNTIL / 2 * (k == 0));
    if (n_open > 0) HB_TRY(run_pilot(s, run));
    run->first = pilot_rounds(run);
    for (size_t i = 0; i < s->n; i++) {
        const double error = run->wanted[i] ? choice_expected_error(s, run, i) : INFINITY;
        if (k > 0 && !(error < best[i])) continue;
        best[i] = error;
        choice_give(s, k, i);
    }
    return HB_OK;
}

hb_status hb_sampling_choose(hb_sampling *s)
{
    double *best; // (n)
    hb_status status = HB_OK;
    for (int k = 0; k < s->n_runs; k++)
        if (s->runs[k].estimator.exact) {
            choose_exact(s, k);
            return HB_OK;
        }
    HB_TRY(HB_NEW(s->context, best, s->n));
    for (int k = 0; k < s->n_runs && status == HB_OK; k++) status = choice_try(s, k, best);
    for (int k = 0; k < s->n_runs; k++)
        memset(s->runs[k].accumulators, 0,
               s->n * hb_accumulator_size(s->dim) * sizeof *s->runs[k].accumulators);
    hb_release(s->context, best);
    return status;
}
