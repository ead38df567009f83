/* The pilot run: kernels compete for each point, and the step of Heun's scheme is found
 * (docs/explanation/particles.md).
 *
 * On draws that the estimate does not use, each rule gives at each point the relative error e of
 * the density and the errors e_k of the score. The rule with the least
 *     (e^2 + sum_k e_k^2/R) cost, R = sum_k 1/Var(X_k), cost = steps/points + particles looked at
 * wins; chance falls with the trajectories of the estimate, the difference between a rule in time
 * and its coarser partner (spread.c) does not. A flagged rule loses; a rule needs 3 + |A| T nodes
 * on the lag T. Trajectories with steps h and 2h and the same noise give the bias of h as a third
 * of the difference D. h is halved until (|D| + its error)/3 is below TOLERATED standard errors of
 * the estimate in root mean square, and below 3 of those at each point, or MOST_STEPS is reached;
 * what is left is a part of the reported errors, with D/(2^p - 1) where the drift kinks (p = 3/2)
 * or jumps (p = 1/2).
 * Must reproduce: a linear drift, whose steps are exact, needs no step. */
#include "particle/particle_pilot.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/team_tasks.h"
#include "path/trajectories.h"
#include "problem/time_cuts.h"
#include "random/streams.h"
#include "sampling/accumulator.h"

#include <math.h>
#include <string.h>

enum { FIRST_STEPS = 32, MOST_STEPS = 8192, MOST_CHECKED = 64, PILOT_DOUBLES = 1 << 22 };

enum { START_DRAWS = 32, LOOKS = 2048, MORE_LOOKS = 16 };

static const double TOLERATED = 0.2;
static const double SIGNIFICANT = 2.5, MOST_RULE_ERROR = 0.05;
static const double HOPELESS = 16; /* times more steps than MOST_STEPS */
static const double UNSEEN =
    0.05; /* bias of the step that is reported where the pilot saw nothing */
static const double FLAGGED = 1e12; /* factor on the merit of a rule whose error is flagged */

/* 16, less when there are many points, whose kernels take most of the time, or memory is short. */
size_t hb_pilot_batch(const hb_particle_task *task, size_t n_times)
{
    size_t batch = PILOT_DOUBLES / (HB_PILOT_BATCHES * n_times * task->dim);
    if (batch > 2048 / task->n) batch = 2048 / task->n;
    batch = batch < 4 ? 4 : batch > 16 ? 16 : batch;
    const size_t fraction =
        task->given.n_paths / 8 / HB_PILOT_BATCHES; // of the user's trajectories
    if (task->given.n_paths > 0 && batch > fraction) batch = fraction > 1 ? fraction : 1;
    return batch;
}

size_t hb_pilot_start_work(size_t d)
{
    return 4 * (size_t)START_DRAWS * (d + 1);
}

hb_status hb_pilot_start(const hb_particle_task *task, hb_context *alone, size_t point,
                         const hb_particle_kernel *kernel, uint64_t seed, uint64_t first,
                         size_t units, const hb_kernel_means *out, const hb_kernel_means **start,
                         double *work)
{
    *start = kernel->from_start ? out : NULL;
    if (!kernel->from_start) return HB_OK;
    return hb_kernel_start(alone, task->problem, kernel, seed, HB_STREAM_PILOT | point, first,
                           units, START_DRAWS, out, work);
}

/* ---- the competition ---- */

typedef struct contest {
    const hb_particle_task *task;
    const hb_particle_rules *rules;
    hb_particle_ensemble *ensemble;
    double steps, score_scale; /* R */
    size_t width;              /* doubles of work of a thread */
    double *work;              // (threads, width)
    hb_particle_kernel *kernels;
    int *winner;
    double *unseen; // (n, 1 + d)
} contest;

/* What one rule gave at one point. */
typedef struct entry {
    hb_particle_kernel kernel;
    int fits, unresolved;
    double merit, seen;
    hb_answer answer;
    hb_kernel_means means[2]; // of the rule and of the coarser one
} entry;

/* R of the last snapshot: sum of 1/variance over the coordinates. */
static double inverse_variances(const hb_cell_list *list)
{
    double sum = 0;
    for (size_t k = 0; k < list->dim; k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < list->n; i++) {
            const double gap = list->x[i * list->dim + k] - mean;
            mean += gap / (double)(i + 1);
            squares += gap * (list->x[i * list->dim + k] - mean);
        }
        sum += squares > 0 ? (double)list->n / squares : 0;
    }
    return sum > 0 && isfinite(sum) ? sum : 1;
}

/* The standard error that the estimate will have, from one of the pilot's. */
static double contest_expected_error(const hb_particle_task *task,
                                     const hb_particle_ensemble *ensemble, double pilot)
{
    return pilot * sqrt((double)(ensemble->filled * ensemble->batch_size) / task->samples);
}

/* Twice the differences between the rules, where roots in s are slow to converge. */
static double contest_caution(size_t dim, int lift)
{
    return lift || dim > HB_ROOT_DIM ? 2 : 1;
}

void hb_pilot_differ(size_t d, int lift, size_t units, hb_kernel_means means[2], double *sums)
{
    const double factor = contest_caution(d, lift);
    for (size_t k = 0; k < units; k++) means[1].a[k] = factor * (means[0].a[k] - means[1].a[k]);
    for (size_t k = 0; k < units * d; k++) means[1].b[k] = factor * (means[0].b[k] - means[1].b[k]);
    hb_accumulator_differ((int)d, sums, units, means[1].a, means[1].b);
}

/* Mean of p - q and its error, n of each, strides apart; q = NULL: of p. */
static void contest_difference(size_t n, size_t stride, const double *p, const double *q,
                               double *mean, double *error)
{
    double squares = 0;
    *mean = 0;
    for (size_t i = 0; i < n; i++) {
        const double value = p[i * stride] - (q ? q[i * stride] : 0), gap = value - *mean;
        *mean += gap / (double)(i + 1);
        squares += gap * (value - *mean);
    }
    *error = sqrt(squares / ((double)n * ((double)n - 1)));
}

/* The square of a mean of differences, less what SIGNIFICANT errors of it explain. */
static double beyond_chance(size_t n, size_t stride, const double *values)
{
    double mean, error;
    contest_difference(n, stride, values, NULL, &mean, &error);
    return fmax(mean * mean - pow(SIGNIFICANT * error, 2), 0);
}

/* Of the density, relative, and of the score (in units of its size), squared and added: what the
 * differences between the two rules show. means[1] holds them, and is spoiled. */
static double rule_error(const contest *c, entry *e, double density, const double *score)
{
    const size_t d = c->task->dim, units = c->ensemble->filled;
    const hb_kernel_means *gap = e->means + 1;
    double squares = beyond_chance(units, 1, gap->a), slopes = 0;
    for (size_t k = 0; k < d; k++) {
        for (size_t i = 0; i < units; i++) gap->b[i * d + k] -= score[k] * gap->a[i];
        slopes += beyond_chance(units, d, gap->b + k);
    }
    return (squares + slopes / c->score_scale) / (density * density);
}

/* Errors that the estimate will have: those of chance shrink, those of the rule in time do not. */
static void contest_judge(const contest *c, entry *e, double *sums, double *score)
{
    const int dim = (int)c->task->dim;
    const size_t d = c->task->dim, units = c->ensemble->filled;
    double errors = 0, density = 0, rule = 0;
    hb_accumulator_clear(dim, sums);
    hb_accumulator_add(dim, sums, units, e->means[0].a, e->means[0].b);
    hb_accumulator_answer(dim, sums, e->kernel.log_scale, &e->answer, score, score + d);
    for (size_t i = 0; i < units; i++) density += e->means[0].a[i] / (double)units;
    if (e->kernel.corrected) {
        hb_pilot_differ(d, e->kernel.lift, units, e->means, sums);
        rule = rule_error(c, e, density, score);
    }
    if (e->kernel.from_start)
        rule = pow(e->kernel.rest, 2) * (2 * c->task->tau + (double)d / c->score_scale);
    const double cost =
        2 * c->steps / (double)c->task->n + e->seen / (double)(units * c->ensemble->batch_size);
    for (size_t k = 0; k < d; k++) errors += score[d + k] * score[d + k];
    const int fine = e->answer.score_flag == HB_FLAG_NONE;
    const double chance =
        e->answer.relative * e->answer.relative + (fine ? errors / c->score_scale : 0);
    e->unresolved = rule > MOST_RULE_ERROR * MOST_RULE_ERROR;
    e->merit = (chance + rule / pow(contest_expected_error(c->task, c->ensemble, 1), 2)) * cost *
               (fine ? 1 : FLAGGED);
    if (!(e->merit < 1e250)) e->merit = 1e250;
}

/* Nodes that an integral over this lag needs: functions of A s vary on it. */
static double nodes_needed(const contest *c, const hb_particle_kernel *kernel, double lag)
{
    const size_t d = c->task->dim;
    return (d > HB_HIGH_DIM ? 1.5 : 3) + hb_matrix_norm(d, kernel->anchor.A) * lag;
}

static int nodes_of_correction(const hb_particle_rule *rule)
{
    int count = 0;
    for (int j = rule->n_main; j < rule->n; j++) count += rule->weight[j] != 0;
    return count;
}

/* Neither a rule with too few nodes is trusted, nor one that differs much from the coarser one. */
static void contest_look_at_nodes(const contest *c, const hb_particle_rule *rule, entry *e)
{
    if (!e->kernel.corrected) return;
    if (nodes_of_correction(rule) >= nodes_needed(c, &e->kernel, rule->lag) && !e->unresolved)
        return;
    e->kernel.untimely = 1;
    e->merit *= FLAGGED;
}

/* Values are divided by the initial density at the kernel's centre; no particle may be near. */
static hb_status scale_by_start(const hb_particle_task *task, hb_context *alone,
                                hb_particle_kernel *kernel, double *work)
{
    const hb_particle_node *node = kernel->nodes;
    double trace = 0;
    for (size_t i = 0; i < task->dim; i++) trace += kernel->anchor.A[i * task->dim + i];
    HB_TRY(hb_problem_initial(alone, task->problem, 1, node->centre, &kernel->log_scale, work));
    kernel->log_scale -= trace * node->lag;
    if (task->linear.A) return HB_OK;
    return hb_pilot_rest(task, alone, kernel->anchor.x0, kernel->anchor.b, kernel->anchor.A,
                         &kernel->rest);
}

static hb_status contest_enter(const contest *c, hb_context *alone, size_t point, int r,
                               double *work, entry *e)
{
    const hb_particle_task *task = c->task;
    const hb_particle_rule *rule = c->rules->rule + r;
    const size_t d = task->dim;
    double *sums = work + hb_kernel_work(d), *score = sums + hb_accumulator_size((int)d);
    HB_TRY(hb_kernel_create(alone, task->problem, task->tau, d, task->points + point * d, rule,
                            rule->lift > 0 || (!task->linear.A && !rule->from_start),
                            c->rules->snapshot[r], work, &e->kernel, &e->fits));
    e->merit = INFINITY;
    if (!e->fits) return HB_OK;
    hb_kernel_tune(&e->kernel, c->ensemble->lists[0], work);
    HB_TRY(hb_progress(alone, "pilot", 0, 1));
    const hb_kernel_means *start;
    double *scratch_of_start = work + c->width - (2 + 1) * HB_PILOT_BATCHES * (d + 1);
    const hb_kernel_means own = {scratch_of_start, scratch_of_start + HB_PILOT_BATCHES};
    if (rule->from_start) HB_TRY(scale_by_start(task, alone, &e->kernel, work));
    HB_TRY(hb_pilot_start(task, alone, point, &e->kernel, task->seed, 0, c->ensemble->filled, &own,
                          &start, scratch_of_start - hb_pilot_start_work(d)));
    e->seen = hb_kernel_sum(&e->kernel, c->ensemble->lists[0], c->ensemble->filled,
                            c->ensemble->batch_size, e->means, start, work);
    contest_judge(c, e, sums, score);
    contest_look_at_nodes(c, rule, e);
    return hb_progress(alone, "pilot", 0, 1);
}

/* The progress of the calling thread's own context: one point of 1000 dimensions takes seconds. */
static int contest_pass_on(void *user, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return hb_progress(user, "pilot", 0, 1) != HB_OK;
}

/* What an unseen node would add to the spread of the estimate; score: with its error. */
static hb_status find_unseen(const contest *c, hb_context *alone, size_t point, const entry *e,
                             const double *score, double *work)
{
    const size_t d = c->task->dim;
    double *out = c->unseen + point * (1 + d);
    const double pilot = (double)(c->ensemble->filled * c->ensemble->batch_size);
    const double fall = sqrt(pilot / c->task->asked);
    HB_TRY(hb_unseen_errors(c->task, alone, &e->kernel, e->answer.log_density, score,
                            c->task->asked, out, work));
    for (size_t k = 0; k < 1 + d; k++) {
        const double seen = fall * (k == 0 ? e->answer.relative : score[d + k - 1]);
        if (isfinite(seen)) out[k] = sqrt(fmax(out[k] * out[k] - seen * seen, 0));
    }
    return HB_OK;
}

static hb_status contest_point(void *user, size_t point, int thread)
{
    contest *c = user;
    const size_t d = c->task->dim, units = HB_PILOT_BATCHES;
    double *work = c->work + (size_t)thread * (c->width + 2 * d + hb_unseen_work(d));
    double *values = work + c->width - 2 * units * (d + 1);
    double *score = work + c->width, *rest = score + 2 * d;
    hb_context *alone = c->ensemble->alone + thread;
    const hb_kernel_means means[2] = {{values, values + units},
                                      {values + units * (d + 1), values + units * (d + 2)}};
    entry best = {.merit = INFINITY}, e = {.means = {means[0], means[1]}};
    hb_status status = HB_OK;
    c->winner[point] = -1;
    for (int r = 0; r < c->rules->n && status == HB_OK; r++) {
        status = contest_enter(c, alone, point, r, work, &e);
        if (status != HB_OK || !e.fits) continue;
        if (e.merit < best.merit) {
            hb_kernel_destroy(alone, &best.kernel);
            best = e;
            c->winner[point] = r;
            memcpy(score, work + hb_kernel_work(d) + hb_accumulator_size((int)d),
                   2 * d * sizeof *score);
        } else {
            hb_kernel_destroy(alone, &e.kernel);
        }
    }
    c->kernels[point] = best.kernel;
    if (status == HB_OK && c->winner[point] >= 0)
        status = find_unseen(c, alone, point, &best, score, rest);
    HB_TRY(hb_context_adopt(c->task->context, alone, status));
    HB_CHECK(c->task->context, c->winner[point] >= 0, HB_ERROR_NUMERICAL,
             "no kernel fits at point %zu: the Jacobian of its drift leaves the range of double",
             point + 1);
    return HB_OK;
}

static hb_status run_contest(contest *c)
{
    const hb_particle_task *task = c->task;
    const size_t d = task->dim, units = HB_PILOT_BATCHES;
    const size_t threads = (size_t)hb_context_threads(task->context);
    c->width = hb_kernel_work(d) + hb_accumulator_size((int)d) + 2 * d + hb_pilot_start_work(d) +
               3 * units * (d + 1);
    HB_TRY(HB_NEW(task->context, c->work, threads * (c->width + 2 * d + hb_unseen_work(d))));
    c->score_scale = inverse_variances(c->ensemble->lists[0] + c->rules->n_times - 1);
    hb_context_settings *first = &c->ensemble->alone[0].settings;
    first->progress = contest_pass_on;
    first->progress_user = task->context;
    const hb_status status = hb_parallel_for(task->context, "pilot", task->n, contest_point, c);
    first->progress = NULL;
    hb_release(task->context, c->work);
    return hb_context_settle(task->context, status); /* a rank may have been late */
}

static hb_status pilot_ensemble(const hb_particle_task *task, const hb_particle_rules *rules,
                                double step, int twins, hb_particle_ensemble *out)
{
    const hb_path_plan plan = {.problem = task->problem,
                               .seed = task->seed,
                               .dim = task->dim,
                               .n_times = rules->n_times,
                               .times = rules->times,
                               .step = step,
                               .linear = task->linear};
    const size_t batch = hb_pilot_batch(task, rules->n_times);
    const int with_drift = !task->linear.A || rules->rule[0].lift > 0;
    HB_TRY(hb_particle_ensemble_create(task->context, &plan,
                                       task->given.n_paths ? &task->given : NULL, HB_PILOT_BATCHES,
                                       batch, twins, with_drift, out));
    const hb_status status = hb_particle_ensemble_fill(out, 0, HB_PILOT_BATCHES);
    if (status != HB_OK) hb_particle_ensemble_destroy(out);
    return status;
}

hb_status hb_pilot_compete(const hb_particle_task *task, hb_particle_rules *rules, double step,
                           hb_particle_kernel *kernels, int *winner, double *unseen)
{
    unsigned char used[HB_MOST_RULES] = {0};
    hb_particle_ensemble ensemble;
    memset(kernels, 0, task->n * sizeof *kernels);
    HB_TRY(pilot_ensemble(task, rules, step, 0, &ensemble));
    contest c = {.task = task, .rules = rules, .ensemble = &ensemble, .steps = task->tau / step};
    c.kernels = kernels, c.winner = winner, c.unseen = unseen;
    if (task->given.n_paths || task->linear.A) c.steps = 1;
    const hb_status status = run_contest(&c);
    hb_particle_ensemble_destroy(&ensemble);
    HB_TRY(status);
    for (size_t i = 0; i < task->n; i++) used[winner[i]] = 1;
    return hb_pilot_times(task, used, rules);
}

/* ---- the step ---- */

typedef struct step_check {
    const hb_particle_task *task;
    const hb_particle_kernel *kernels;
    hb_particle_ensemble *ensemble;
    size_t n, stride; /* points that are checked: 0, stride, ... */
    size_t width;
    double *work;  // (threads, width)
    double *ratio; // (n): estimated bias over expected error
    double *known; // (task->n, 1 + d): the biases themselves; rows of points that are checked
} step_check;

/* What of a difference D between steps h and 2h, with its error, is the bias of h: weak order 2. */
static double bias_of_step(double difference, double error)
{
    return (fabs(difference) + error) / 3;
}

/* The biases of the density, relative, and of the score, into known (1 + d); returns their root
 * mean square over the expected errors. b of both means is spoiled. */
static double bias_ratio(const step_check *c, const hb_answer *answer, const double *score,
                         const double *score_se, const hb_kernel_means *fine,
                         const hb_kernel_means *coarse, double *known)
{
    const size_t d = c->task->dim, units = c->ensemble->filled;
    double mean, error, density = 0;
    for (size_t i = 0; i < units; i++) density += fine->a[i] / (double)units;
    if (!(density > 0)) return NAN;
    contest_difference(units, 1, fine->a, coarse->a, &mean, &error);
    double expected = contest_expected_error(c->task, c->ensemble, answer->relative);
    if (c->task->density_error > 0) expected = fmin(expected, c->task->density_error);
    known[0] = bias_of_step(mean, error) / density;
    double squares = pow(known[0] / expected, 2);
    for (size_t k = 0; k < d; k++) {
        for (size_t i = 0; i < units; i++) {
            double *p = fine->b + i * d + k, *q = coarse->b + i * d + k;
            *p = (*p - score[k] * fine->a[i]) / density;
            *q = (*q - score[k] * coarse->a[i]) / density;
        }
        contest_difference(units, d, fine->b + k, coarse->b + k, &mean, &error);
        known[1 + k] = bias_of_step(mean, error);
        squares += pow(known[1 + k] / contest_expected_error(c->task, c->ensemble, score_se[k]), 2);
    }
    return sqrt(squares / ((double)d + 1));
}

static hb_status contest_check_point(void *user, size_t index, int thread)
{
    step_check *c = user;
    const size_t d = c->task->dim, units = c->ensemble->filled, point = index * c->stride;
    const hb_particle_kernel *kernel = c->kernels + point;
    double *work = c->work + (size_t)thread * c->width, *sums = work + hb_kernel_work(d);
    double *score = sums + hb_accumulator_size((int)d), *values = score + 2 * d;
    const hb_kernel_means none = {NULL, NULL};
    const hb_kernel_means fine[2] = {{values, values + units}, none};
    values += units * (d + 1);
    const hb_kernel_means coarse[2] = {{values, values + units}, none};
    double *known = c->known + point * (1 + d);
    hb_answer answer;
    values += units * (d + 1);
    const hb_kernel_means own = {values, values + units}, *start;
    HB_TRY(hb_pilot_start(c->task, c->ensemble->alone + thread, point, kernel, c->task->seed, 0,
                          units, &own, &start, values + units * (d + 1)));
    hb_kernel_sum(kernel, c->ensemble->lists[0], units, c->ensemble->batch_size, fine, start, work);
    hb_kernel_sum(kernel, c->ensemble->lists[1], units, c->ensemble->batch_size, coarse, start,
                  work);
    hb_accumulator_clear((int)d, sums);
    hb_accumulator_add((int)d, sums, units, fine[0].a, fine[0].b);
    hb_accumulator_answer((int)d, sums, kernel->log_scale, &answer, score, score + d);
    const double ratio = bias_ratio(c, &answer, score, score + d, fine, coarse, known);
    c->ratio[index] = answer.flag != HB_FLAG_NONE ? 0 : ratio;
    for (size_t k = 0; k < 1 + d; k++) /* nothing was seen, or too little */
        if (!isfinite(known[k]) || isnan(ratio)) known[k] = UNSEEN;
    return HB_OK;
}

/* The root mean square over the points, or a third of the largest if that is more: the differences
 * are noisy, and the largest of many is mostly noise. */
static double contest_overall(size_t n, const double *ratio)
{
    double squares = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        squares += ratio[k] * ratio[k];
        largest = fmax(largest, ratio[k]);
    }
    return fmax(sqrt(squares / (double)n), largest / 3);
}

/* Whether a part of the drift whose place depends on x and t passes the trajectories within a
 * PASSING-th of the time, and moves them: kernels over a lag miss it, whatever the step. */
enum { PASSING = 128 };
static const double MOST_PASSING = 0.5;

static hb_status look_for_passing(const hb_particle_ensemble *ensemble, double end, double *hidden)
{
    const size_t n_times = ensemble->plan.n_times;
    const double *times = ensemble->plan.times;
    for (size_t k = 0; k <= n_times && hb_problem_cuts(ensemble->plan.problem)->moving; k++) {
        const hb_cell_list *list = ensemble->lists[0] + (k < n_times ? k : n_times - 1);
        const hb_interval gap = {k > 0 ? times[k - 1] : 0, k < n_times ? times[k] : end};
        double ratio = 0;
        if (gap.high > gap.low)
            HB_TRY(hb_step_reach(ensemble->context, ensemble->plan.problem, gap, end / PASSING,
                                 list->n, list->n * n_times / LOOKS + 1, list->x, &ratio));
        if (ratio > MOST_PASSING) *hidden = INFINITY;
    }
    return HB_OK;
}

/* What steps may jump over, at up to LOOKS positions; at 16 times as many once one was found. */
static hb_status look_beyond(const hb_particle_ensemble *ensemble, double step, double *hidden)
{
    const size_t n_times = ensemble->plan.n_times;
    for (size_t looks = LOOKS;; looks *= MORE_LOOKS) {
        *hidden = 0;
        for (size_t k = 0; k < n_times; k++) {
            const hb_cell_list *list = ensemble->lists[0] + k;
            const size_t each = (looks + n_times - 1) / n_times;
            double ratio;
            const hb_interval now = {ensemble->plan.times[k], ensemble->plan.times[k]};
            HB_TRY(hb_step_reach(ensemble->context, ensemble->plan.problem, now, step, list->n,
                                 list->n / each + 1, list->x, &ratio));
            *hidden = fmax(*hidden, ratio);
        }
        if (looks > LOOKS || ensemble->plan.step >= ensemble->plan.times[n_times - 1] / FIRST_STEPS)
            return HB_OK;
    }
}

/* Every stride-th point. */
static hb_status check_step(const hb_particle_task *task, const hb_particle_rules *rules,
                            const hb_particle_kernel *kernels, double step, size_t stride,
                            double *bias, double *known, double *hidden)
{
    const size_t d = task->dim, threads = (size_t)hb_context_threads(task->context);
    hb_particle_ensemble ensemble;
    void *memory;
    HB_TRY(pilot_ensemble(task, rules, step, 1, &ensemble));
    step_check c = {.task = task, .kernels = kernels, .ensemble = &ensemble, .known = known};
    c.stride = stride;
    hb_status status = look_beyond(&ensemble, step, hidden);
    if (status == HB_OK) status = look_for_passing(&ensemble, task->tau, hidden);
    c.n = (task->n + c.stride - 1) / c.stride;
    c.width = hb_kernel_work(d) + hb_accumulator_size((int)d) + 2 * d +
              3 * HB_PILOT_BATCHES * (d + 1) + hb_pilot_start_work(d);
    if (status == HB_OK)
        status = hb_allocate(task->context, threads * c.width + c.n, sizeof(double), &memory);
    if (status == HB_OK) {
        c.work = memory;
        c.ratio = c.work + threads * c.width;
        status = hb_parallel_for(task->context, "step of the trajectories", c.n,
                                 contest_check_point, &c);
        status = hb_context_settle(task->context, status);
        *bias = contest_overall(c.n, c.ratio);
        hb_release(task->context, memory);
    }
    hb_particle_ensemble_destroy(&ensemble);
    return status;
}

hb_status hb_pilot_step(const hb_particle_task *task, const hb_particle_rules *rules,
                        const hb_particle_kernel *kernels, double *step, double *bias,
                        double *known)
{
    const size_t stride = (task->n + MOST_CHECKED - 1) / MOST_CHECKED;
    double hidden;
    for (double steps = FIRST_STEPS;;) {
        *step = task->tau / steps;
        HB_TRY(check_step(task, rules, kernels, *step, stride, bias, known, &hidden));
        const int hopeless = hidden * hidden * steps > HOPELESS * MOST_STEPS;
        if ((*bias <= TOLERATED && hidden <= 1) || steps >= MOST_STEPS || hopeless) break;
        const double needed = ceil(fmax(0.5 * log2(*bias / TOLERATED), 2 * log2(hidden)));
        steps = fmin(MOST_STEPS, ldexp(steps, needed > 3 ? 3 : needed < 1 ? 1 : (int)needed));
    }
    if (stride > 1) HB_TRY(check_step(task, rules, kernels, *step, 1, bias, known, &hidden));
    const double part = 3 / (pow(2, task->order) - 1); // D/(2^order - 1) is the bias, not D/3
    for (size_t k = 0; k < task->n * (1 + task->dim); k++)
        known[k] = hidden > 1 ? INFINITY : part * known[k];
    return HB_OK;
}
