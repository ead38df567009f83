/* The pilot: kernels compete for each point, and the step of Heun's scheme is found (docs/particles.md).
 *
 * On draws that the estimate does not use, each rule gives at each point the relative error e of the
 * density and the errors e_k of the score. The rule with the least
 *     (e^2 + sum_k e_k^2/R) cost,   R = sum_k 1/Var(X_k),  cost = steps/points + particles looked at
 * wins; R is the mean square of a Gaussian's score, and cost is per trajectory. A rule whose error is in
 * doubt loses against one whose is not. A coarse rule in time is out where it differs from its finer
 * partner, on the same trajectories, by more than 3.5 errors of the difference and a quarter of the standard
 * error that the estimate will have; and a rule needs 3 + |A| T nodes on the lag T.
 *
 * The step: trajectories with steps h and 2h and the same noise give, with weak order 2, the bias of h as a
 * third of the difference D. h is halved until (|D| + its error)/3 is below TOLERATED standard errors of
 * the estimate, in root mean square over density and score at up to MOST_CHECKED points, and below 3 of those
 * at each, or MOST_STEPS is reached. */
#include "estimate/particle_pilot.h"
#include "base/context.h"
#include "base/parallel.h"
#include "estimate/tally.h"

#include <math.h>
#include <string.h>

enum { FIRST_STEPS = 32, MOST_STEPS = 8192, MOST_CHECKED = 64, PILOT_DOUBLES = 1 << 22 };

static const double TOLERATED = 0.2;
static const double SIGNIFICANT = 3.5;
static const double DOUBTED = 1e12; /* factor on the merit of a rule whose error is in doubt */

double hb_pilot_norm(size_t d, const double *A)
{
    double norm = 0;
    for (size_t i = 0; i < d; i++) {
        double row = 0;
        for (size_t j = 0; j < d; j++) row += fabs(A[i * d + j]);
        norm = fmax(norm, row);
    }
    return norm;
}

/* 16, less when there are many points, whose kernels take most of the time, or memory is short. */
size_t hb_pilot_batch(const hb_particle_task *task, size_t n_times)
{
    size_t batch = PILOT_DOUBLES / (HB_PILOT_BATCHES * n_times * task->dim);
    if (batch > 2048 / task->n) batch = 2048 / task->n;
    batch = batch < 4 ? 4 : batch > 16 ? 16 : batch;
    const size_t share = task->given.n_paths / 8 / HB_PILOT_BATCHES; // of the user's trajectories
    if (task->given.n_paths > 0 && batch > share) batch = share > 1 ? share : 1;
    return batch;
}

/* ---- the competition ----------------------------------------------------------------------------- */

typedef struct contest {
    const hb_particle_task *task;
    const hb_particle_rules *rules;
    hb_swarm *swarm;
    double steps, score_scale; /* R */
    size_t width;              /* doubles of work of a thread */
    double *work;              // (threads, width)
    hb_particle_kernel *kernels;
    int *winner;
} contest;

/* What one rule gave at one point. */
typedef struct entry {
    hb_particle_kernel kernel;
    int fits;
    double merit, seen;
    hb_tally_answer answer;
    double *a, *b; // (units), (units, d)
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

static void judge(const contest *c, entry *e, double *tally, double *score)
{
    const int dim = (int)c->task->dim;
    const size_t units = c->swarm->filled;
    double errors = 0;
    hb_tally_clear(dim, tally);
    hb_tally_add(dim, tally, units, e->a, e->b);
    hb_tally_answer_of(dim, tally, e->kernel.log_scale, &e->answer, score, score + dim);
    const double cost =
        2 * c->steps / (double)c->task->n + e->seen / (double)(units * c->swarm->batch_size);
    for (int k = 0; k < dim; k++) errors += score[dim + k] * score[dim + k];
    const int fine = e->answer.score_doubt == HB_TALLY_FINE;
    e->merit = (e->answer.relative * e->answer.relative + (fine ? errors / c->score_scale : 0)) *
               cost * (fine ? 1 : DOUBTED);
    if (!(e->merit < 1e250)) e->merit = 1e250;
}

static hb_status enter(const contest *c, hb_context *room, size_t point, int r, double *work,
                       entry *e)
{
    const hb_particle_task *task = c->task;
    const hb_particle_rule *rule = c->rules->rule + r;
    const size_t d = task->dim;
    double *tally = work + hb_kernel_work(d), *score = tally + hb_tally_size((int)d);
    HB_TRY(hb_kernel_create(room, task->problem, task->tau, d, task->points + point * d, rule,
                            rule->lift > 0 || !task->linear.A, c->rules->snapshot[r], work,
                            &e->kernel, &e->fits));
    e->merit = INFINITY;
    if (!e->fits) return HB_OK;
    hb_kernel_tune(&e->kernel, c->swarm->lists[0], work);
    e->seen = hb_kernel_sum(&e->kernel, c->swarm->lists[0], c->swarm->filled, c->swarm->batch_size,
                            e->a, e->b, work);
    judge(c, e, tally, score);
    return HB_OK;
}

/* Mean of p - q and its error, n of each, strides apart; q = NULL: of p. */
static void difference(size_t n, size_t stride, const double *p, const double *q, double *mean,
                       double *error)
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

/* The standard error that the estimate will have, from one of the pilot's. */
static double expected_error(const hb_particle_task *task, const hb_swarm *swarm, double pilot)
{
    return pilot * sqrt((double)(swarm->filled * swarm->batch_size) / task->samples);
}

/* How far one column of the coarse rule is from the fine one, in expected errors of the estimate; 0 when
 * that is less than SIGNIFICANT errors of the difference. */
static double column_error(const contest *c, size_t stride, const double *coarse,
                           const double *fine)
{
    double mean, error, value, spread;
    difference(c->swarm->filled, stride, coarse, fine, &mean, &error);
    difference(c->swarm->filled, stride, fine, NULL, &value, &spread);
    if (fabs(mean) <= SIGNIFICANT * error) return 0;
    return fabs(mean) / expected_error(c->task, c->swarm, spread);
}

/* The largest among the density and the gradient. */
static double time_error(const contest *c, const entry *coarse, const entry *fine)
{
    double worst = column_error(c, 1, coarse->a, fine->a);
    for (size_t k = 0; k < c->task->dim; k++)
        worst = fmax(worst, column_error(c, c->task->dim, coarse->b + k, fine->b + k));
    return worst;
}

/* Nodes that an integral over this lag needs: functions of A s vary on it. */
static double nodes_needed(const contest *c, const hb_particle_kernel *kernel, double lag)
{
    const size_t d = c->task->dim;
    return (d > HB_HIGH_DIM ? 1.5 : 3) + hb_pilot_norm(d, kernel->anchor.A) * lag;
}

static void distrust(entry *e)
{
    e->kernel.untimely = 1;
    e->merit *= DOUBTED;
}

/* The coarse rule is out where the fine one shows it wrong; a fine rule is not trusted when the coarse
 * one was wrong by a tenth of the value; nor any rule that has too few nodes. */
static void compare_rules(const contest *c, int r, entry *coarse, entry *fine)
{
    entry *both[2] = {coarse, fine};
    for (int k = 0; k < 2; k++) {
        if (!both[k] || !both[k]->fits || !both[k]->kernel.corrected) continue;
        const hb_particle_rule *rule = c->rules->rule + r + k;
        if (rule->n - rule->n_main < nodes_needed(c, &both[k]->kernel, rule->lag))
            distrust(both[k]);
    }
    if (!fine || !coarse->fits || !fine->fits) return;
    const double far = time_error(c, coarse, fine);
    if (far > 0.25) distrust(coarse);
    if (expected_error(c->task, c->swarm, fine->answer.relative) * far > 0.1) distrust(fine);
}

static hb_status contest_point(void *user, size_t point, int thread)
{
    contest *c = user;
    const size_t d = c->task->dim, units = HB_PILOT_BATCHES;
    double *work = c->work + (size_t)thread * c->width;
    double *values = work + c->width - 3 * units * (d + 1);
    hb_context *room = c->swarm->rooms + thread;
    entry e[3] = {{.fits = 0}, {.fits = 0}, {.fits = 0}}; // the best, a coarse rule, its partner
    for (int k = 0; k < 3; k++) {
        e[k].a = values + (size_t)k * units * (d + 1);
        e[k].b = e[k].a + units;
        e[k].merit = INFINITY;
    }
    hb_status status = HB_OK;
    c->winner[point] = -1;
    for (int r = 0; r < c->rules->n && status == HB_OK;) {
        const int pair = c->rules->partner[r] >= 0;
        for (int k = 0; k <= pair && status == HB_OK; k++)
            status = enter(c, room, point, r + k, work, e + 1 + k);
        if (status == HB_OK) compare_rules(c, r, e + 1, pair ? e + 2 : NULL);
        for (int k = 0; k <= pair && status == HB_OK; k++) {
            if (e[1 + k].fits && e[1 + k].merit < e[0].merit) {
                const entry best = e[0];
                e[0] = e[1 + k];
                e[1 + k] = best;
                c->winner[point] = r + k;
            }
            if (e[1 + k].fits) hb_kernel_destroy(room, &e[1 + k].kernel);
            e[1 + k].fits = 0;
        }
        r += 1 + pair;
    }
    for (int k = 1; k < 3; k++)
        if (e[k].fits) hb_kernel_destroy(room, &e[k].kernel);
    c->kernels[point] = e[0].kernel;
    if (status != HB_OK) return hb_fail(c->task->context, status, "%s", room->message);
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
    void *memory;
    c->width = hb_kernel_work(d) + hb_tally_size((int)d) + 2 * d + 3 * units * (d + 1);
    HB_TRY(hb_allocate(task->context, threads * c->width, sizeof(double), &memory));
    c->work = memory;
    c->score_scale = inverse_variances(c->swarm->lists[0] + c->rules->n_times - 1);
    const hb_status status = hb_parallel_for(task->context, "pilot", task->n, contest_point, c);
    hb_release(task->context, memory);
    return status;
}

static hb_status pilot_swarm(const hb_particle_task *task, const hb_particle_rules *rules,
                             double step, int twins, hb_swarm *out)
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
    HB_TRY(hb_swarm_create(task->context, &plan, task->given.n_paths ? &task->given : NULL,
                           HB_PILOT_BATCHES, batch, twins, with_drift, out));
    const hb_status status = hb_swarm_fill(out, 0, HB_PILOT_BATCHES);
    if (status != HB_OK) hb_swarm_destroy(out);
    return status;
}

hb_status hb_pilot_compete(const hb_particle_task *task, const hb_particle_rules *rules,
                           double step, hb_particle_kernel *kernels, int *winner)
{
    hb_swarm swarm;
    memset(kernels, 0, task->n * sizeof *kernels);
    HB_TRY(pilot_swarm(task, rules, step, 0, &swarm));
    contest c = {.task = task, .rules = rules, .swarm = &swarm, .steps = task->tau / step};
    c.kernels = kernels, c.winner = winner;
    if (task->given.n_paths || task->linear.A) c.steps = 1;
    const hb_status status = run_contest(&c);
    hb_swarm_destroy(&swarm);
    return status;
}

/* ---- the step ------------------------------------------------------------------------------------ */

typedef struct step_check {
    const hb_particle_task *task;
    const hb_particle_kernel *kernels;
    hb_swarm *swarm;
    size_t n, stride; /* points that are checked: 0, stride, ... */
    size_t width;
    double *work;  // (threads, width)
    double *ratio; // (n): estimated bias over expected error
} step_check;

/* (|D| + its error)/3 over the expected error, root mean square over the density and the score. */
static double bias_ratio(const step_check *c, const hb_tally_answer *answer, const double *score,
                         const double *score_se, double *fine_a, double *fine_b, double *coarse_a,
                         double *coarse_b)
{
    const size_t d = c->task->dim, units = c->swarm->filled;
    double mean, error, density = 0;
    for (size_t i = 0; i < units; i++) density += fine_a[i] / (double)units;
    difference(units, 1, fine_a, coarse_a, &mean, &error);
    double expected = expected_error(c->task, c->swarm, answer->relative * density);
    if (c->task->density_error > 0) expected = fmin(expected, c->task->density_error * density);
    double squares = pow((fabs(mean) + error) / 3 / expected, 2);
    for (size_t k = 0; k < d; k++) {
        for (size_t i = 0; i < units; i++) {
            fine_b[i * d + k] = (fine_b[i * d + k] - score[k] * fine_a[i]) / density;
            coarse_b[i * d + k] = (coarse_b[i * d + k] - score[k] * coarse_a[i]) / density;
        }
        difference(units, d, fine_b + k, coarse_b + k, &mean, &error);
        expected = expected_error(c->task, c->swarm, score_se[k]);
        squares += pow((fabs(mean) + error) / 3 / expected, 2);
    }
    return sqrt(squares / ((double)d + 1));
}

static hb_status check_point(void *user, size_t index, int thread)
{
    step_check *c = user;
    const size_t d = c->task->dim, units = c->swarm->filled;
    const hb_particle_kernel *kernel = c->kernels + index * c->stride;
    double *work = c->work + (size_t)thread * c->width, *tally = work + hb_kernel_work(d);
    double *score = tally + hb_tally_size((int)d), *fine = score + 2 * d;
    double *coarse = fine + units * (d + 1);
    hb_tally_answer answer;
    hb_kernel_sum(kernel, c->swarm->lists[0], units, c->swarm->batch_size, fine, fine + units,
                  work);
    hb_kernel_sum(kernel, c->swarm->lists[1], units, c->swarm->batch_size, coarse, coarse + units,
                  work);
    hb_tally_clear((int)d, tally);
    hb_tally_add((int)d, tally, units, fine, fine + units);
    hb_tally_answer_of((int)d, tally, kernel->log_scale, &answer, score, score + d);
    c->ratio[index] =
        answer.doubt != HB_TALLY_FINE
            ? 0
            : bias_ratio(c, &answer, score, score + d, fine, fine + units, coarse, coarse + units);
    return HB_OK;
}

/* The root mean square over the points, or a third of the largest if that is more: the differences are
 * noisy, and the largest of many is mostly noise. */
static double overall(size_t n, const double *ratio)
{
    double squares = 0, largest = 0;
    for (size_t k = 0; k < n; k++) {
        squares += ratio[k] * ratio[k];
        largest = fmax(largest, ratio[k]);
    }
    return fmax(sqrt(squares / (double)n), largest / 3);
}

static hb_status check_step(const hb_particle_task *task, const hb_particle_rules *rules,
                            const hb_particle_kernel *kernels, double step, double *bias)
{
    const size_t d = task->dim, threads = (size_t)hb_context_threads(task->context);
    hb_swarm swarm;
    void *memory;
    HB_TRY(pilot_swarm(task, rules, step, 1, &swarm));
    step_check c = {.task = task, .kernels = kernels, .swarm = &swarm};
    c.stride = (task->n + MOST_CHECKED - 1) / MOST_CHECKED;
    c.n = (task->n + c.stride - 1) / c.stride;
    c.width = hb_kernel_work(d) + hb_tally_size((int)d) + 2 * d + 2 * HB_PILOT_BATCHES * (d + 1);
    hb_status status = hb_allocate(task->context, threads * c.width + c.n, sizeof(double), &memory);
    if (status == HB_OK) {
        c.work = memory;
        c.ratio = c.work + threads * c.width;
        status = hb_parallel_for(task->context, "step of the trajectories", c.n, check_point, &c);
        *bias = overall(c.n, c.ratio);
        hb_release(task->context, memory);
    }
    hb_swarm_destroy(&swarm);
    return status;
}

hb_status hb_pilot_step(const hb_particle_task *task, const hb_particle_rules *rules,
                        const hb_particle_kernel *kernels, double *step, double *bias)
{
    for (double steps = FIRST_STEPS;;) {
        *step = task->tau / steps;
        HB_TRY(check_step(task, rules, kernels, *step, bias));
        if (*bias <= TOLERATED || steps >= MOST_STEPS) return HB_OK;
        const double needed = ceil(0.5 * log2(*bias / TOLERATED));
        steps = fmin(MOST_STEPS, ldexp(steps, needed > 3 ? 3 : needed < 1 ? 1 : (int)needed));
    }
}
