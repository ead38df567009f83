/* Forward particles: density and score at points from trajectories of the SDE, without smoothing
 * bias.
 *
 * At creation a pilot chooses a kernel for each point and the step of the trajectories
 * (particle_pilot.c). Round k then makes trajectories k N .. k N + N-1 at the times that the chosen
 * kernels look at, in 128 batches; each batch gives each point one value of u and of grad u, which
 * the accumulator counts as one unit, so that snapshots of one trajectory, and kernels that
 * overlap, need no further care. The round goes in parts that fit in memory and is forgotten.
 * docs/explanation/particles.md derives everything.
 * Must reproduce: Brownian motion from a point has u = (4 pi tau)^(-d/2) at that point, without
 * error. */
#include "particle/particle_estimator.h"
#include "base/context.h"
#include "base/team_tasks.h"
#include "particle/particle_pilot.h"
#include "problem/drift_facts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum {
    BATCHES = 128,
    DIAGNOSTIC_PART = 4,
    FEW_PATHS = 1024,
    USUAL_ROUND = 8192,
    USUAL_SAMPLES = 32768,
    MOST_TRIED = 8192, /* trajectories that only chose between methods (sampling_choice.c) */
    PART_DOUBLES = 1 << 21,
    MOST_DIM = 1000
};

typedef struct particles {
    hb_particle_task task;
    hb_particle_rules rules;
    hb_particle_kernel *kernels; // (n)
    int *winner;                 // (n)
    double step, bias;
    size_t batch_size, part; /* trajectories in a batch, batches in a part */
    uint64_t seed;           /* of the estimate */
    uint64_t skipped;        /* of the user's trajectories: those of the pilot */
    hb_particle_ensemble ensemble;
    size_t width;
    double *work;            // (threads, width)
    double *log_scale;       // (n)
    double *known;           // (n, 1 + d): what the step leaves in the density and the score
    double *left, *unseen;   // (n, 1 + d) each: of the step; of `asked` trajectories, too rare ones
    unsigned char *untimely; // (n)
    double *path_tau;        // (given.n_times)
    hb_path_verdict verdict; /* of the user's trajectories */
    const unsigned char *wanted;
    double *accumulators;
    hb_workspace arrays;
} particles;

static void particles_destroy(void *self)
{
    particles *p = self;
    hb_context *context = p->task.context;
    for (size_t i = 0; i < p->task.n && p->kernels; i++) hb_kernel_destroy(context, p->kernels + i);
    hb_particle_ensemble_destroy(&p->ensemble);
    hb_release(context, p->rules.times);
    hb_release(context, p->task.linear.A);
    hb_workspace_destroy(&p->arrays);
    hb_release(context, p);
}

/* ---- rounds ---- */

static hb_status particles_add_point(void *user, size_t i, int thread)
{
    particles *p = user;
    if (!p->wanted[i]) return HB_OK;
    const size_t d = p->task.dim, units = p->ensemble.filled;
    double *work = p->work + (size_t)thread * p->width;
    double *a = work + hb_kernel_work(d), *a2 = a + BATCHES * (d + 1);
    hb_kernel_means means[2] = {{a, a + BATCHES}, {NULL, NULL}};
    double *sums = p->accumulators + i * hb_accumulator_size((int)d), lost = 0;
    if (p->kernels[i].corrected) means[1] = (hb_kernel_means){a2, a2 + BATCHES};
    double *a3 = a2 + BATCHES * (d + 1);
    const hb_kernel_means own = {a3, a3 + BATCHES}, *start;
    HB_TRY(hb_pilot_start(&p->task, p->ensemble.alone + thread, i, p->kernels + i, p->seed,
                          p->ensemble.first / p->batch_size, units, &own, &start,
                          a3 + BATCHES * (d + 1)));
    hb_kernel_sum(p->kernels + i, p->ensemble.lists[0], units, p->batch_size, means, start, work);
    hb_accumulator_add((int)d, sums, units, means[0].a, means[0].b);
    if (means[1].a) hb_pilot_differ(d, p->kernels[i].lift, units, means, sums);
    for (size_t k = 0; k < units; k++) lost += p->ensemble.lost[k] / (double)p->batch_size;
    hb_accumulator_lose(sums, p->untimely[i] ? (double)units : lost);
    return HB_OK;
}

/* What is reported beside the spread, of so many trajectories, at the points that are wanted. */
static void know_errors(particles *p, double made, const unsigned char *wanted)
{
    const double part = sqrt(p->task.asked / fmax(made, p->task.asked));
    const size_t row = 1 + p->task.dim;
    for (size_t k = 0; k < p->task.n * row; k++)
        if (!wanted || wanted[k / row]) p->known[k] = hypot(p->left[k], part * p->unseen[k]);
}

/* Batches from trajectory `first` on. */
static hb_status particles_add_batches(particles *p, uint64_t first, const unsigned char *wanted,
                                       double *accumulators)
{
    const hb_left left = {accumulators,
                          hb_accumulator_size((int)p->task.dim) * sizeof *accumulators, 0};
    p->wanted = wanted;
    p->accumulators = accumulators;
    for (size_t done = 0; done < BATCHES; done += p->part) {
        const size_t batches = BATCHES - done < p->part ? BATCHES - done : p->part;
        HB_TRY(hb_particle_ensemble_fill(&p->ensemble, first + done * p->batch_size, batches));
        HB_TRY(
            hb_team_for(p->task.context, "kernels", p->task.n, particles_add_point, p, 1, &left));
    }
    return HB_OK;
}

static hb_status particles_round_of(void *self, uint64_t k, const unsigned char *wanted,
                                    double *accumulators)
{
    particles *p = self;
    HB_TRY(
        particles_add_batches(p, p->skipped + k * BATCHES * p->batch_size, wanted, accumulators));
    know_errors(p, (double)((k + 1) * BATCHES * p->batch_size) - MOST_TRIED, wanted);
    return HB_OK;
}

/* Trajectories in a batch of the diagnostic sample, a quarter as many: as many batches as a round
 * has, so that the index of a tail is told from as many units. */
static size_t particles_diagnostic_batch(const particles *p)
{
    return (p->batch_size + DIAGNOSTIC_PART - 1) / DIAGNOSTIC_PART;
}

static hb_status particles_diagnostic_round(void *self, uint64_t k, const unsigned char *wanted,
                                            double *accumulators)
{
    particles *p = self;
    const size_t batch_size = p->batch_size;
    p->batch_size = p->ensemble.batch_size = particles_diagnostic_batch(p);
    const uint64_t first = (HB_DIAGNOSTIC_FIRST + k) * BATCHES * p->batch_size;
    const hb_status status = particles_add_batches(p, first, wanted, accumulators);
    p->batch_size = p->ensemble.batch_size = batch_size;
    return status;
}

/* ---- what is refused ---- */

static hb_status particles_check_settings(hb_context *context, const hb_problem *problem,
                                          double tau, const hb_sampling_settings *s)
{
    HB_CHECK(context, tau > 0 && isfinite(tau), HB_ERROR_ARGUMENT,
             "tau is %g; particles need a time above 0", tau);
    HB_CHECK(context, hb_problem_dim(problem) <= MOST_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; for particles it must be 1 to %d", hb_problem_dim(problem), MOST_DIM);
    HB_CHECK(context, s->n_paths == 0 || (s->radius == 0 && s->lift < 0), HB_ERROR_ARGUMENT,
             "radius and lift cannot be chosen with trajectories of your own: their times fix the "
             "fixed lag");
    return HB_OK;
}

/* The user's times as tau; the last is the time that is asked for. */
static hb_status convert_times(hb_context *context, const hb_problem *problem, double tau,
                               const hb_sampling_settings *s, double *out)
{
    HB_CHECK(context, s->n_times >= 2, HB_ERROR_ARGUMENT,
             "trajectories need at least 2 times; there are %zu", s->n_times);
    HB_CHECK(context, s->n_paths >= BATCHES, HB_ERROR_ARGUMENT,
             "there are %zu trajectories; at least %d are needed for an error", s->n_paths,
             BATCHES);
    for (size_t k = 0; k < s->n_times; k++)
        HB_TRY(hb_problem_tau_of_t(context, problem, s->path_times[k], out + k));
    out[s->n_times - 1] = tau;
    return HB_OK;
}

/* ---- creation ---- */

double hb_nominal_samples(uint64_t samples)
{
    double nominal = 0x1p17;
    while (nominal < (double)samples) nominal *= 4;
    return nominal;
}

/* Of Heun's scheme, weak: 2 for smooth drifts; a callback may have kinks. */
static double weak_order(const hb_problem *problem)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    double order = facts->is_formula ? 2 : 1.5;
    for (int k = 0; k < facts->n_breaks; k++)
        order = fmin(order, facts->breaks[k].kind == HB_BREAK_KINK ? 1.5 : 0.5);
    return order;
}

static hb_status make_task(hb_context *context, const hb_problem *problem, double tau,
                           const hb_sampling_settings *settings, size_t n, const double *points,
                           particles *p)
{
    uint32_t words[2];
    p->task.context = context;
    p->task.problem = problem;
    p->task.tau = tau;
    p->task.dim = (size_t)hb_problem_dim(problem);
    p->task.n = n;
    p->task.points = points;
    p->task.density_error = settings->density_error;
    p->task.order = weak_order(problem);
    HB_TRY(hb_random_words(context, settings->seed, HB_STREAM_PARTICLES, 0, 2, words));
    p->task.seed = words[0] | (uint64_t)words[1] << 32; // the pilot's own
    HB_TRY(hb_linear_drift_find(context, problem, &p->task.linear));
    if (settings->n_paths > 0) {
        HB_TRY(convert_times(context, problem, tau, settings, p->path_tau));
        p->task.given =
            (hb_given_paths){settings->n_paths, settings->n_times, settings->paths, p->path_tau};
        HB_TRY(hb_path_check(context, problem, &p->task.given, p->task.seed, &p->task.linear,
                             &p->verdict));
    }
    p->task.asked = (double)(settings->n_paths ? settings->n_paths : settings->samples);
    if (p->task.asked == 0) p->task.asked = USUAL_SAMPLES;
    p->task.samples =
        settings->n_paths ? (double)settings->n_paths : hb_nominal_samples(settings->samples);
    return HB_OK;
}

static hb_status particles_choose(const hb_sampling_settings *settings, particles *p)
{
    const hb_particle_task *task = &p->task;
    const int exact = task->linear.A || task->given.n_paths;
    p->step = task->tau / 64;
    HB_TRY(hb_pilot_rules(task, settings, &p->rules));
    if (task->given.n_paths >= FEW_PATHS)
        p->skipped = HB_PILOT_BATCHES * hb_pilot_batch(task, p->rules.n_times);
    HB_TRY(hb_pilot_compete(task, &p->rules, p->step, p->kernels, p->winner, p->unseen));
    for (size_t k = 0; k < task->n * (1 + task->dim); k++) p->left[k] = p->verdict.flag;
    if (!exact) HB_TRY(hb_pilot_step(task, &p->rules, p->kernels, &p->step, &p->bias, p->left));
    for (size_t i = 0; i < task->n; i++) /* particle_start.c */
        for (size_t k = 0; k < 1 + task->dim && p->kernels[i].from_start; k++)
            p->left[i * (1 + task->dim) + k] =
                p->kernels[i].rest * (k == 0 ? sqrt(2 * task->tau) : 1);
    for (size_t i = 0; i < task->n; i++)
        hb_kernel_rounding(p->kernels + i, p->left + i * (1 + task->dim));
    know_errors(p, task->asked, NULL);
    return HB_OK;
}

static hb_status make_ensemble(const hb_sampling_settings *settings, particles *p)
{
    hb_particle_task *task = &p->task;
    const size_t d = task->dim;
    const size_t round = settings->samples > 0 && settings->samples < USUAL_ROUND
                             ? (size_t)settings->samples
                             : USUAL_ROUND;
    p->seed = settings->seed;
    p->batch_size = (round + BATCHES - 1) / BATCHES;
    if (task->given.n_paths) { // rounds of one size that leave few trajectories out
        const size_t left = (task->given.n_paths - (size_t)p->skipped) / BATCHES;
        const size_t rounds = (left + p->batch_size - 1) / p->batch_size;
        if (settings->samples == 0 || settings->samples >= left * BATCHES)
            p->batch_size = left / rounds;
        else if (p->batch_size > left)
            p->batch_size = left;
    }
    p->part = PART_DOUBLES / (p->rules.n_times * p->batch_size * d);
    p->part = p->part < 1 ? 1 : p->part > BATCHES ? BATCHES : p->part;
    const hb_path_plan plan = {.problem = task->problem,
                               .seed = settings->seed,
                               .dim = d,
                               .n_times = p->rules.n_times,
                               .times = p->rules.times,
                               .step = p->step,
                               .linear = task->linear};
    int with_drift = 0;
    for (size_t i = 0; i < task->n; i++) with_drift |= p->kernels[i].corrected;
    HB_TRY(hb_particle_ensemble_create(task->context, &plan,
                                       task->given.n_paths ? &task->given : NULL, p->part,
                                       p->batch_size, 0, with_drift, &p->ensemble));
    for (size_t i = 0; i < task->n; i++) {
        p->log_scale[i] = p->kernels[i].log_scale;
        p->untimely[i] = p->kernels[i].untimely != 0;
    }
    return HB_OK;
}

static int is_same_rule(const hb_particle_rule *a, const hb_particle_rule *b)
{
    return a->lag == b->lag && a->lift == b->lift && a->from_start == b->from_start;
}

/* "fixed lag tau (3 points), fixed lag 0.25 tau (12 points)". Rules of one lag are neighbours. */
static void note_winners(const particles *p, char *note, size_t limit)
{
    for (int r = 0; r < p->rules.n; r++) {
        const hb_particle_rule *rule = p->rules.rule + r;
        size_t count = 0;
        for (size_t i = 0; i < p->task.n; i++)
            count += is_same_rule(p->rules.rule + p->winner[i], rule);
        if (count == 0 || (r > 0 && is_same_rule(rule - 1, rule))) continue;
        hb_note_append(note, limit, "%s", note[0] ? ", " : "");
        if (rule->lift)
            hb_note_append(note, limit, "heat ball of radius %.4g, lift %d",
                           sqrt(4 * M_PI * rule->lag), rule->lift);
        else
            hb_note_append(note, limit, "fixed lag %.3g tau%s", rule->lag / p->task.tau,
                           rule->from_start ? " from the initial density" : "");
        hb_note_append(note, limit, " (%zu point%s)", count, count == 1 ? "" : "s");
    }
}

static void note_paths(const particles *p, char *note, size_t limit)
{
    const size_t round = BATCHES * p->batch_size, n = p->task.given.n_paths;
    hb_note_append(note, limit,
                   "; trajectories of the user: %zu, of which %zu chose the lag and up to "
                   "%zu count; they fit the model with p = %.2g (noise) and %.2g (drift)",
                   n, (size_t)p->skipped, (n - (size_t)p->skipped) / round * round,
                   p->verdict.p_noise, p->verdict.p_drift);
    if (p->verdict.flag > 0)
        hb_note_append(note, limit, "; what differs, %.2g of the density, is in its error",
                       p->verdict.flag);
}

static void particles_write_note(const particles *p, hb_estimator *out)
{
    char *note = out->note;
    const size_t limit = sizeof out->note;
    size_t untimely = 0;
    note_winners(p, note, limit - 240);
    for (size_t i = 0; i < p->task.n; i++) untimely += p->untimely[i];
    if (untimely > 0)
        hb_note_append(
            note, limit,
            "; for %zu point%s the times are too few for the integral over the lag, so no "
            "error is given",
            untimely, untimely == 1 ? "" : "s");
    if (p->task.given.n_paths)
        note_paths(p, note, limit);
    else if (p->task.linear.A)
        hb_note_append(note, limit, "; linear drift, exact transitions");
    else
        hb_note_append(
            note, limit,
            "; Heun steps of %.2g in tau, bias estimated at %.2g standard errors of %.0f "
            "trajectories",
            p->step, p->bias, p->task.samples);
    if (isinf(p->left[0]))
        hb_note_append(
            note, limit,
            "; the drift changes within less than a step, so no error is given: try the grid");
}

static hb_status particles_create(hb_context *context, const hb_problem *problem, double tau,
                                  const hb_sampling_settings *settings, size_t n,
                                  const double *points, particles *p)
{
    const size_t d = (size_t)hb_problem_dim(problem), threads = (size_t)hb_context_threads(context);
    p->width = hb_kernel_work(d) + 3 * BATCHES * (d + 1) + hb_pilot_start_work(d);
    HB_TRY(HB_WORKSPACE(context, &p->arrays, HB_ARRAY(p->kernels, n), HB_ARRAY(p->winner, n),
                        HB_ARRAY(p->log_scale, n), HB_ARRAY(p->known, n * (1 + d)),
                        HB_ARRAY(p->left, n * (1 + d)), HB_ARRAY(p->unseen, n * (1 + d)),
                        HB_ARRAY(p->untimely, n), HB_ARRAY(p->path_tau, settings->n_times),
                        HB_ARRAY(p->work, threads * p->width)));
    memset(p->arrays.memory, 0, p->arrays.size);
    HB_TRY(make_task(context, problem, tau, settings, n, points, p));
    HB_TRY(particles_choose(settings, p));
    return make_ensemble(settings, p);
}

hb_status hb_particle_estimator(hb_context *context, const hb_problem *problem, double tau,
                                const hb_sampling_settings *settings, size_t n,
                                const double *points, hb_estimator *out)
{
    HB_TRY(particles_check_settings(context, problem, tau, settings));
    particles *p;
    HB_TRY(HB_NEW_CLEARED(context, p, 1));
    p->task.context = context;
    const hb_status status = particles_create(context, problem, tau, settings, n, points, p);
    if (status != HB_OK) {
        particles_destroy(p);
        return status;
    }
    const size_t round = BATCHES * p->batch_size;
    *out = (hb_estimator){.self = p,
                          .name = "particles",
                          .unit = "trajectories",
                          .samples_per_round = round,
                          .rounds = UINT64_MAX,
                          .log_scale = p->log_scale,
                          .known_error = p->known,
                          .lasting_error = p->left,
                          .untimely = p->untimely,
                          .round = particles_round_of,
                          .diagnostic = particles_diagnostic_round,
                          .diagnostic_parts =
                              (double)p->batch_size / (double)particles_diagnostic_batch(p),
                          .destroy = particles_destroy};
    if (p->task.given.n_paths) {
        out->rounds = (p->task.given.n_paths - p->skipped) / round;
        out->diagnostic = NULL;
    }
    particles_write_note(p, out);
    return HB_OK;
}
