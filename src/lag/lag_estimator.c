/* Particles where the noise is a matrix G(t): density and score from trajectories and kernels of
 * short lags.
 *
 * lag_frame.c has the formula, which is exact; lag_pilot.c chooses a lag, a rule for the integral
 * over it and the step of the trajectories. Round k makes trajectories k N .. k N + N-1 in BATCHES
 * batches; a batch gives each point one value of u and of grad u, one unit of the accumulator. A
 * trajectory is made and looked at by the same task, and forgotten. The stationary density
 * (lag_stationary.c) is the same with several ends, over which each trajectory is averaged.
 * A number to reproduce: f = (p, 0), noise 1 on p, from N(0, 1): at t = 1 the density at 0 is that
 * of the covariance [[7/3, 3/2], [3/2, 2]]. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/team_tasks.h"
#include "lag/lag_pilot.h"
#include "particle/particle_estimator.h"
#include "problem/drift_facts.h"
#include "problem/time_cuts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum {
    MOST_DIM = 1000,
    BATCHES = 128,
    DIAGNOSTIC_PART = 4,
    USUAL_ROUND = 8192,
    TOGETHER = 512,        /* trajectories that move together */
    PART_DOUBLES = 1 << 24 /* of the units of a part of a round */
};

static const double FIRST_STEP = 1.0 / 64; /* of the time */
static const double LEAST_RATE = 1e-3, MOST_RATE = 1e3;
static const double STEP = 0.25;     /* the longest first step, over the largest |A| */
static const double ROUNDING = 1e-9; /* of a kernel's mean over the start */
static const double CALM = 4;        /* errors, of a difference that may be chance */

/* What one thread works with. */
typedef struct bench {
    hb_lag_paths paths;
    double *tau, *row; // (TOGETHER), hb_lag_row_work
} bench;

typedef struct lag_estimator {
    hb_lag_task task;
    hb_lag_horizon horizon;
    hb_lag_choice *choices; // (n)
    hb_lag_frame *frames;   // (n)
    size_t *lag_of;         // (n): which of the times' lags
    hb_lag_times times;
    hb_path_plan plan;
    size_t batch_size, part, together;
    uint64_t first;            /* trajectory of the part under way */
    size_t in_part;            /* batches of it */
    size_t from_end, to_end;   /* the ends that are looked at */
    double *units;             // (part, n, hb_lag_row)
    double *lost;              // (part)
    double *log_scale, *known; // (n), (n, 1 + d)
    unsigned char *untimely;   // (n): all 0
    hb_context *alone;         // (threads)
    bench *benches;            // (threads)
    const unsigned char *wanted;
    hb_workspace arrays, bench_work, unit_work;
} lag_estimator;

static void lag_destroy(void *self)
{
    lag_estimator *p = self;
    for (size_t i = 0; p->frames && i < p->task.n; i++) hb_lag_frame_destroy(p->frames + i);
    hb_lag_times_destroy(&p->times);
    hb_workspace_destroy(&p->unit_work);
    hb_workspace_destroy(&p->bench_work);
    hb_workspace_destroy(&p->arrays);
    hb_release(p->task.context, p);
}

/* ---- rounds ---- */

/* Batches of one task. */
static size_t lag_group_of(const lag_estimator *p)
{
    return p->batch_size < TOGETHER ? TOGETHER / p->batch_size : 1;
}

static void count_batch(const lag_estimator *p, const bench *b, size_t from, double *units,
                        double *lost)
{
    const size_t d = p->task.d, width = hb_lag_row(d);
    const double fraction = 1 / (double)p->batch_size;
    memset(units, 0, p->task.n * width * sizeof *units);
    *lost = 0;
    for (size_t k = from; k < from + p->batch_size; k++) {
        if (hb_lag_path_is_lost(&b->paths, p->times.n_times, k)) {
            *lost += fraction;
            continue;
        }
        for (size_t i = 0; i < p->task.n; i++)
            if (p->wanted[i])
                hb_lag_add_row(p->frames + i, &p->times, p->lag_of[i], p->from_end, p->to_end,
                               &b->paths, k, p->choices[i].rule, p->task.gain, p->log_scale[i],
                               units + i * width, b->row);
    }
    for (size_t k = 0; k < p->task.n * width; k++) units[k] *= fraction;
}

static hb_status lag_make_group(void *user, size_t index, int thread)
{
    lag_estimator *p = user;
    hb_context *alone = p->alone + thread;
    bench *b = p->benches + thread;
    const size_t group = lag_group_of(p), from = index * group, width = hb_lag_row(p->task.d);
    const size_t to = from + group < p->in_part ? from + group : p->in_part;
    const size_t n = (to - from) * p->batch_size;
    b->paths.n = b->paths.stride = n;
    HB_TRY(hb_context_adopt(
        p->task.context, alone,
        hb_lag_paths_make(alone, &p->plan, p->first + from * p->batch_size, n, &b->paths, b->tau)));
    for (size_t k = from; k < to; k++)
        count_batch(p, b, (k - from) * p->batch_size, p->units + k * p->task.n * width,
                    p->lost + k);
    return HB_OK;
}

/* The units of the part into the accumulators, point by point. */
static void add_units(const lag_estimator *p, double *accumulators)
{
    const size_t d = p->task.d, width = hb_lag_row(d), size = hb_accumulator_size((int)d);
    for (size_t i = 0; i < p->task.n; i++) {
        if (!p->wanted[i]) continue;
        for (size_t k = 0; k < p->in_part; k++) {
            const double *unit = p->units + (k * p->task.n + i) * width;
            hb_accumulator_add((int)d, accumulators + i * size, 1, unit, unit + 1);
            hb_accumulator_differ((int)d, accumulators + i * size, 1, unit + 1 + d, unit + 2 + d);
            hb_accumulator_lose(accumulators + i * size, p->lost[k]);
        }
    }
}

static hb_status lag_add_batches(lag_estimator *p, uint64_t first, const unsigned char *wanted,
                                 double *accumulators)
{
    const size_t group = lag_group_of(p), row = p->task.n * hb_lag_row(p->task.d) * sizeof(double);
    p->wanted = wanted;
    for (size_t done = 0; done < BATCHES; done += p->part) {
        p->in_part = BATCHES - done < p->part ? BATCHES - done : p->part;
        p->first = first + done * p->batch_size;
        const hb_left left[] = {{p->units, group * row, p->in_part * row},
                                {p->lost, group * sizeof(double), p->in_part * sizeof(double)}};
        HB_TRY(hb_team_for(p->task.context, "trajectories", (p->in_part + group - 1) / group,
                           lag_make_group, p, 2, left));
        add_units(p, accumulators);
    }
    return HB_OK;
}

static hb_status lag_round_of(void *self, uint64_t k, const unsigned char *wanted,
                              double *accumulators)
{
    lag_estimator *p = self;
    return lag_add_batches(p, k * BATCHES * p->batch_size, wanted, accumulators);
}

/* As in particle_estimator.c: a quarter of the trajectories, in as many batches. */
static size_t lag_diagnostic_batch(const lag_estimator *p)
{
    return (p->batch_size + DIAGNOSTIC_PART - 1) / DIAGNOSTIC_PART;
}

static hb_status lag_diagnostic_round(void *self, uint64_t k, const unsigned char *wanted,
                                      double *accumulators)
{
    lag_estimator *p = self;
    const size_t batch_size = p->batch_size;
    p->batch_size = lag_diagnostic_batch(p);
    const hb_status status = lag_add_batches(p, (HB_DIAGNOSTIC_FIRST + k) * BATCHES * p->batch_size,
                                             wanted, accumulators);
    p->batch_size = batch_size;
    return status;
}

/* ---- creation ---- */

/* The weak error of Heun's step, halved, falls by gain + 1; frozen: for drifts that are not
 * smooth. */
static void read_facts(const hb_problem *problem, hb_lag_task *task)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    double order = facts->is_formula ? 2 : 1.5;
    for (int k = 0; k < facts->n_breaks; k++)
        order = fmin(order, facts->breaks[k].kind == HB_BREAK_KINK ? 1.5 : 1);
    task->gain = exp2(order) - 1;
    task->frozen = !facts->is_formula || facts->n_breaks > 0 || !facts->steady;
}

hb_status hb_lag_task_make(hb_context *context, const hb_problem *problem,
                           const hb_sampling_settings *settings, size_t n, const double *points,
                           hb_lag_task *out)
{
    uint32_t words[2];
    *out = (hb_lag_task){.context = context, .problem = problem, .n = n, .points = points};
    out->d = (size_t)hb_problem_dim(problem);
    HB_CHECK(context, out->d <= MOST_DIM, HB_ERROR_ARGUMENT,
             "dim is %zu; for particles it must be 1 to %d", out->d, MOST_DIM);
    HB_CHECK(context, settings->n_paths == 0 && settings->radius == 0 && settings->lift < 0,
             HB_ERROR_ARGUMENT,
             "trajectories, radius and lift cannot be chosen where the noise is a matrix; leave "
             "them out");
    HB_TRY(hb_random_words(context, settings->seed, HB_STREAM_PARTICLES, 0, 2, words));
    out->seed = words[0] | (uint64_t)words[1] << 32;
    out->samples = hb_nominal_samples(settings->samples);
    read_facts(problem, out);
    return HB_OK;
}

hb_status hb_lag_rates(const hb_lag_task *task, double rates[2])
{
    const size_t d = task->d;
    void *memory;
    HB_TRY(hb_allocate(task->context, d + d * d, sizeof(double), &memory));
    double *F = memory, *A = F + d;
    hb_status status = HB_OK;
    rates[0] = MOST_RATE;
    rates[1] = LEAST_RATE;
    for (size_t i = 0; i < task->n && status == HB_OK; i++) {
        status = hb_problem_drift_each(task->context, task->problem, 1, task->points + i * d,
                                       &task->end, F, NULL, NULL, A);
        const double size = hb_matrix_norm(d, A);
        if (!isfinite(size)) continue;
        rates[0] = fmax(fmin(rates[0], size), LEAST_RATE);
        rates[1] = fmin(fmax(rates[1], size), MOST_RATE);
    }
    hb_release(task->context, memory);
    return status;
}

static hb_status check_choices(const lag_estimator *p)
{
    for (size_t i = 0; i < p->task.n; i++) {
        const hb_lag_choice *c = p->choices + i;
        HB_CHECK(p->task.context, c->found || !c->singular, HB_ERROR_ARGUMENT,
                 "the noise does not reach every direction at point %zu, not even through the "
                 "drift, so that there need be no density; add a small noise to the axes that have "
                 "none",
                 i + 1);
        HB_CHECK(p->task.context, c->found, HB_ERROR_NUMERICAL,
                 "the drift at point %zu is not finite or too steep for every lag down to %.2g; "
                 "give a point where it is less so",
                 i + 1, ldexp(p->task.reach, 1 - HB_MOST_LAGS));
    }
    return HB_OK;
}

static hb_status make_frame(void *user, size_t i, int thread)
{
    lag_estimator *p = user;
    const size_t d = p->task.d;
    int found, singular;
    (void)thread;
    HB_TRY(hb_lag_frame_create(p->task.context, p->task.problem, p->task.points + i * d,
                               p->task.end, p->choices[i].lag, p->task.frozen, p->frames + i,
                               &found, &singular));
    p->frames[i].from_start = p->choices[i].from_start;
    if (!p->choices[i].from_start) return HB_OK;
    double *known = p->known + i * (1 + d);
    if (p->choices[i].unseen)
        HB_TRY(
            hb_lag_correction(p->task.context, p->task.problem, p->task.end, p->frames + i, known));
    for (size_t k = 0; k <= d; k++) /* of the frame, where nothing else is left */
        known[k] += ROUNDING * (k == 0 ? 1 : 1 + fabs(p->frames[i].start[k]));
    return HB_OK;
}

/* The lags that are in use, and their times before all ends. */
static hb_status collect_lags(lag_estimator *p)
{
    double lags[HB_MOST_LAGS];
    size_t n = 0;
    for (size_t i = 0; i < p->task.n; i++) {
        size_t k = 0;
        while (k < n && lags[k] != p->choices[i].lag) k++;
        if (k == n) lags[n++] = p->choices[i].lag;
        p->lag_of[i] = k;
        p->log_scale[i] = isfinite(p->choices[i].log_scale) ? p->choices[i].log_scale : 0;
    }
    return hb_lag_times_create(p->task.context, n, lags, p->horizon.n_ends, p->horizon.end,
                               &p->times);
}

static hb_status make_benches(lag_estimator *p)
{
    const size_t d = p->task.d, threads = (size_t)hb_context_threads(p->task.context);
    const size_t paths = p->batch_size > TOGETHER ? p->batch_size : TOGETHER;
    const size_t rows = p->times.n_times * paths * d, row = hb_lag_row_work(d);
    double *all;
    HB_TRY(HB_WORKSPACE(p->task.context, &p->bench_work, HB_ARRAY(p->benches, threads),
                        HB_ARRAY(p->alone, threads),
                        HB_ARRAY(all, threads * (4 * rows + paths + row))));
    for (size_t t = 0; t < threads; t++) {
        double *own = all + t * (4 * rows + paths + row);
        p->alone[t] = hb_context_child(p->task.context, 1);
        p->benches[t] =
            (bench){.paths = {.x = {own, own + rows}, .f = {own + 2 * rows, own + 3 * rows}}};
        p->benches[t].paths.d = d;
        p->benches[t].tau = own + 4 * rows;
        p->benches[t].row = own + 4 * rows + paths;
    }
    const size_t width = p->task.n * hb_lag_row(d);
    p->part = PART_DOUBLES / width;
    p->part = p->part < 1 ? 1 : p->part > BATCHES ? BATCHES : p->part;
    return HB_WORKSPACE(p->task.context, &p->unit_work, HB_ARRAY(p->units, p->part * width),
                        HB_ARRAY(p->lost, p->part));
}

/* A round of the pilot's seed, by the first half of the ends and by the second. What differs by
 * more than CALM errors is reported. */
static void judge_halves(lag_estimator *p, const double *first, const double *second)
{
    const size_t n = p->task.n, d = p->task.d, width = hb_lag_row(d), m = p->in_part;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, square = 0, whole = 0, *known = p->known + i * (1 + d);
        for (size_t k = 0; k < m; k++) {
            const size_t at = (k * n + i) * width;
            sum += first[at] - second[at];
            square += (first[at] - second[at]) * (first[at] - second[at]);
            whole += 0.5 * (first[at] + second[at]);
        }
        if (!(fabs(sum) > CALM * sqrt(square)) || !(whole > 0)) continue;
        known[0] = fabs(sum) / whole;
        for (size_t j = 0; j < d; j++) {
            double slope = 0;
            for (size_t k = 0; k < m; k++)
                slope += first[(k * n + i) * width + 1 + j] - second[(k * n + i) * width + 1 + j];
            known[1 + j] = fabs(slope) / whole;
        }
    }
}

static hb_status compare_halves(lag_estimator *p)
{
    const size_t n = p->task.n, size = p->part * n * hb_lag_row(p->task.d), group = lag_group_of(p);
    const uint64_t seed = p->plan.seed;
    double *first;
    unsigned char *wanted;
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(p->task.context, &work, HB_ARRAY(first, size), HB_ARRAY(wanted, n)));
    p->wanted = memset(wanted, 1, n);
    p->plan.seed = p->task.seed;
    p->in_part = p->part;
    p->first = 0;
    hb_status status = HB_OK;
    for (int half = 0; half < 2 && status == HB_OK; half++) {
        p->from_end = half ? p->times.n_ends / 2 : 0;
        p->to_end = half ? p->times.n_ends : p->times.n_ends / 2;
        status = hb_parallel_for(p->task.context, "halves", (p->part + group - 1) / group,
                                 lag_make_group, p);
        if (half == 0) memcpy(first, p->units, size * sizeof *first);
    }
    if (status == HB_OK) judge_halves(p, first, p->units);
    p->plan.seed = seed;
    p->from_end = 0;
    p->to_end = p->times.n_ends;
    p->wanted = NULL;
    hb_workspace_destroy(&work);
    return status;
}

static void lag_write_note(const lag_estimator *p, hb_estimator *out)
{
    const size_t size = sizeof out->note;
    for (size_t k = 0; k < p->times.n_lags && strlen(out->note) + 200 < size; k++) {
        size_t count = 0;
        for (size_t i = 0; i < p->task.n; i++) count += p->lag_of[i] == k;
        hb_note_append(out->note, size, "%slag %.3g (%zu point%s)", k ? ", " : "", p->times.lag[k],
                       count, count == 1 ? "" : "s");
    }
    hb_note_append(out->note, size, "; Heun steps of %.2g, extrapolated", p->plan.step);
    if (p->horizon.note[0]) hb_note_append(out->note, size, "; %s", p->horizon.note);
}

static hb_status lag_create(lag_estimator *p, const hb_sampling_settings *settings)
{
    const size_t n = p->task.n, d = p->task.d;
    double step = p->horizon.step;
    HB_TRY(HB_WORKSPACE(p->task.context, &p->arrays, HB_ARRAY(p->choices, n),
                        HB_ARRAY(p->frames, n), HB_ARRAY(p->lag_of, n), HB_ARRAY(p->log_scale, n),
                        HB_ARRAY(p->known, n * (1 + d)), HB_ARRAY(p->untimely, n)));
    memset(p->arrays.memory, 0, p->arrays.size);
    HB_TRY(hb_lag_pilot(&p->task, &step, p->choices));
    HB_TRY(check_choices(p));
    HB_TRY(hb_parallel_for(p->task.context, "lags", n, make_frame, p));
    HB_TRY(collect_lags(p));
    const size_t round = settings->samples > 0 && settings->samples < p->horizon.round
                             ? (size_t)settings->samples
                             : p->horizon.round;
    p->batch_size = (round + BATCHES - 1) / BATCHES;
    p->plan = (hb_path_plan){.problem = p->task.problem, .seed = settings->seed, .dim = d};
    p->plan.start = p->task.start;
    p->plan.n_start = p->task.n_start;
    p->plan.n_times = p->times.n_times;
    p->plan.times = p->times.times;
    p->plan.step = step;
    p->to_end = p->times.n_ends;
    HB_TRY(make_benches(p));
    return p->horizon.halves ? compare_halves(p) : HB_OK;
}

hb_status hb_lag_estimator_over(const hb_lag_task *task, const hb_lag_horizon *horizon,
                                const hb_sampling_settings *settings, hb_estimator *out)
{
    lag_estimator *p;
    HB_TRY(HB_NEW_CLEARED(task->context, p, 1));
    p->task = *task;
    p->horizon = *horizon;
    const hb_status status = lag_create(p, settings);
    if (status != HB_OK) {
        lag_destroy(p);
        return status;
    }
    *out =
        (hb_estimator){.self = p,
                       .name = "particles",
                       .unit = "trajectories",
                       .samples_per_round = BATCHES * p->batch_size,
                       .rounds = UINT64_MAX,
                       .log_scale = p->log_scale,
                       .known_error = p->known,
                       .untimely = p->untimely,
                       .round = lag_round_of,
                       .diagnostic = lag_diagnostic_round,
                       .diagnostic_parts = (double)p->batch_size / (double)lag_diagnostic_batch(p),
                       .destroy = lag_destroy};
    lag_write_note(p, out);
    return HB_OK;
}

hb_status hb_lag_estimator(hb_context *context, const hb_problem *problem, double T,
                           const hb_sampling_settings *settings, size_t n, const double *points,
                           hb_estimator *out)
{
    hb_lag_task task;
    double rates[2];
    HB_TRY(hb_lag_task_make(context, problem, settings, n, points, &task));
    task.end = T;
    HB_TRY(hb_lag_rates(&task, rates));
    task.reach = hb_problem_is_linear(problem) ? T : fmin(T, HB_LAG_REACH / rates[0]);
    task.reach = fmin(task.reach, T - hb_cuts_before(hb_problem_cuts(problem), T)); /* no pulse */
    const hb_lag_horizon horizon = {.n_ends = 1,
                                    .end = {T},
                                    .step = fmin(FIRST_STEP * T, STEP / rates[1]),
                                    .round = USUAL_ROUND};
    return hb_lag_estimator_over(&task, &horizon, settings, out);
}
