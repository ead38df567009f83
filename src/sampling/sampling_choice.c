/* Particles or walks, point by point.
 *
 * Particles share their trajectories between all points and are cheap in the core region, walks do
 * not care whether any trajectory comes near. The rule, run 0 being particles and run 1 walks:
 *     1. Both do PILOT_PART of their usual samples N: e sqrt(m/N) is expected from e after m.
 *     2. A point at which particles expect at most GOOD_ENOUGH stays with them.
 *     3. Elsewhere the smaller error serves; that of a flagged run is infinite.
 * Exact walks (a linear drift, a last step in closed form) serve every point. An estimate that is
 * chosen because its own draws look precise is biased, so the pilot rounds are thrown away. No
 * clock enters, unless max_time breaks a trial off. Must reproduce: the same choice on any number
 * of threads. */
#include "base/team_tasks.h"
#include "sampling/sampling.h"

#include <math.h>
#include <string.h>

static const double PILOT_PART = 0.125, GOOD_ENOUGH = 0.01;
static const double PARTICLES_UNTIL = 0.4, WALKS_UNTIL = 0.5; /* of the time, where it is limited */

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

/* One walk is the answer at every point. */
static void choose_exact(hb_sampling *s)
{
    hb_sampling_run *particles = &s->runs[0], *walks = &s->runs[1];
    memset(particles->chosen, 0, s->n);
    memset(walks->chosen, 1, s->n);
    hb_note_append(walks->estimator.note, sizeof walks->estimator.note,
                   "; walks are exact here, so particles were not tried");
}

hb_status hb_sampling_choose(hb_sampling *s)
{
    hb_sampling_run *particles = &s->runs[0], *walks = &s->runs[1];
    if (walks->estimator.exact) {
        choose_exact(s);
        return HB_OK;
    }
    memset(particles->wanted, 1, s->n);
    hb_sampling_allow(s, PARTICLES_UNTIL);
    HB_TRY(run_pilot(s, particles));
    hb_sampling_allow(s, WALKS_UNTIL);
    size_t n_open = 0;
    for (size_t i = 0; i < s->n; i++) {
        walks->wanted[i] = !(choice_expected_error(s, particles, i) <= GOOD_ENOUGH);
        n_open += walks->wanted[i];
    }
    if (n_open > 0) HB_TRY(run_pilot(s, walks));
    for (size_t i = 0; i < s->n; i++) {
        const int walk = walks->wanted[i] && choice_expected_error(s, walks, i) <
                                                 choice_expected_error(s, particles, i);
        walks->chosen[i] = (unsigned char)walk;
        particles->chosen[i] = (unsigned char)!walk;
    }
    const size_t bytes = s->n * hb_accumulator_size(s->dim) * sizeof(double);
    memset(particles->accumulators, 0, bytes);
    memset(walks->accumulators, 0, bytes);
    return HB_OK;
}
