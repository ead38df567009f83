/* The stationary density where the noise is a matrix: averages along trajectories at rest.
 *
 * With f and G that do not depend on time, for a stationary density u and every T (lag_frame.c),
 *     u(x) = E[ h(X_{T-L}, L) + int_0^L R(X_{T-r}, r) dr ].
 * Each trajectory is averaged over ENDS ends; the error is that of whole trajectories, which are
 * independent. PROBES trajectories are looked at at t_k = t_0 2^k. A time is quiet where the means
 * of test functions stay within CALM errors of the change, and the correlation of each between both
 * times is below FORGOTTEN; the first of QUIET quiet times is the time of rest, and averages begin
 * at WAIT times it. The estimator compares the first half of the ends with the second
 * (lag_estimator.c). What is not quiet after MOST_DOUBLINGS is refused.
 * A number to reproduce: f = (p, -q - p/2), noise 0.7 on p: exp(-H/0.49)/Z, H = (p^2 + q^2)/2. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/team_tasks.h"
#include "lag/lag_pilot.h"
#include "problem/noise.h"

#include <math.h>
#include <stdio.h>

enum {
    PROBES = 2048,
    GROUP = 256,
    MOST_DOUBLINGS = 14,
    QUIET = 3,
    WAIT = 4,
    ENDS = 32,
    ROUND = 1024,
    FUNCTIONS = 5 /* of a coordinate */
};

static const double FORGOTTEN = 0.1;  /* correlation */
static const double CALM = 4;         /* errors */
static const double FIRST = 0.25;     /* t_0, in units of 1/|A| */
static const double MOST_LOST = 1e-3; /* of the trajectories */

typedef struct probe {
    const hb_lag_task *task;
    hb_path_plan plan;
    double times[MOST_DOUBLINGS + 1];
    double *x;             // (times, PROBES, d)
    hb_context *alone;     // (threads)
    double *mean, *spread; // (d)
    hb_workspace work;
} probe;

/* ---- rest ---- */

static hb_status rest_make_group(void *user, size_t index, int thread)
{
    probe *p = user;
    hb_context *alone = p->alone + thread;
    return hb_context_adopt(p->task->context, alone,
                            hb_paths_simulate(alone, &p->plan, index * GROUP, GROUP, PROBES,
                                              p->x + index * GROUP * p->task->d, NULL));
}

/* Function q of a place, in units of the spread at the last time. */
static double test_function(const probe *p, const double *x, size_t q)
{
    const size_t d = p->task->d, k = q % d, next = (k + 1) % d;
    const double y = (x[k] - p->mean[k]) / p->spread[k];
    switch (q / d) {
    case 0: return tanh(y / 4);
    case 1: return tanh(y * y / 4);
    case 2: return tanh(2 * y);
    case 3: return cos(2 * y);
    default: return tanh(y * (x[next] - p->mean[next]) / p->spread[next] / 2);
    }
}

static const double *rest_place(const probe *p, size_t k, size_t path)
{
    return p->x + (k * PROBES + path) * p->task->d;
}

/* Mean and deviation of each coordinate at time k; 0 when trajectories were lost by then. */
static int rest_measure(probe *p, size_t k)
{
    const size_t d = p->task->d;
    double lost = 0;
    for (size_t i = 0; i < PROBES; i++) lost += !hb_all_finite(d, rest_place(p, k, i));
    if (lost > MOST_LOST * PROBES) return 0;
    for (size_t j = 0; j < d; j++) {
        double n = 0, mean = 0, squares = 0;
        for (size_t i = 0; i < PROBES; i++) {
            const double x = rest_place(p, k, i)[j], gap = x - mean;
            if (!isfinite(x)) continue;
            mean += gap / ++n;
            squares += gap * (x - mean);
        }
        p->mean[j] = mean;
        p->spread[j] = squares > 0 ? sqrt(squares / n) : 1;
    }
    return 1;
}

/* From time k to the next: a function's change in errors, and its correlation over the paths. */
static void follow_function(const probe *p, size_t k, size_t q, double *change, double *correlation)
{
    double n = 0, sum = 0, squares = 0, a1 = 0, b1 = 0, aa = 0, bb = 0, ab = 0;
    for (size_t i = 0; i < PROBES; i++) {
        const double a = test_function(p, rest_place(p, k, i), q),
                     b = test_function(p, rest_place(p, k + 1, i), q);
        if (!isfinite(a) || !isfinite(b)) continue;
        n++;
        sum += b - a;
        squares += (b - a) * (b - a);
        a1 += a, b1 += b, aa += a * a, bb += b * b, ab += a * b;
    }
    const double both = (aa - a1 * a1 / n) * (bb - b1 * b1 / n);
    *change = squares > 0 ? fabs(sum) / sqrt(squares) : 0;
    *correlation = both > 0 ? fabs(ab - a1 * b1 / n) / sqrt(both) : 1;
}

/* Nothing changes from time k to the next, and each path has forgotten where it was. */
static int is_quiet(const probe *p, size_t k)
{
    for (size_t q = 0; q < FUNCTIONS * p->task->d; q++) {
        double change, correlation;
        follow_function(p, k, q, &change, &correlation);
        if (!(change < CALM && correlation < FORGOTTEN)) return 0;
    }
    return 1;
}

static hb_status rest_create(const hb_lag_task *task, double first, probe *p)
{
    const size_t d = task->d, threads = (size_t)hb_context_threads(task->context);
    p->task = task;
    HB_TRY(HB_WORKSPACE(task->context, &p->work, HB_ARRAY(p->x, (MOST_DOUBLINGS + 1) * PROBES * d),
                        HB_ARRAY(p->alone, threads), HB_ARRAY(p->mean, d), HB_ARRAY(p->spread, d)));
    for (size_t t = 0; t < threads; t++) p->alone[t] = hb_context_child(task->context, 1);
    for (int k = 0; k <= MOST_DOUBLINGS; k++) p->times[k] = ldexp(first, k);
    p->plan = (hb_path_plan){.problem = task->problem, .seed = task->seed ^ 1, .dim = d};
    p->plan.start = task->start;
    p->plan.n_start = task->n_start;
    p->plan.step = first;
    p->plan.times = p->times;
    return HB_OK;
}

/* *rest: the time of rest; 0: none up to the last of n times. */
static int find_rest(probe *p, size_t n, double *rest)
{
    size_t quiet = 0;
    *rest = 0;
    if (!rest_measure(p, n - 1)) return 0;
    for (size_t k = 0; k + 1 < n && quiet < QUIET; k++) {
        quiet = is_quiet(p, k) ? quiet + 1 : 0;
        if (quiet == QUIET) *rest = p->times[k + 1 - QUIET];
    }
    return 1;
}

/* Times are added until there is rest; trajectories are made anew with them. */
static hb_status probe_rest(const hb_lag_task *task, double first, double *rest)
{
    probe p = {0};
    int whole = 1;
    hb_status status = rest_create(task, first, &p);
    *rest = 0;
    for (size_t n = 6; status == HB_OK && whole && *rest == 0 && n <= MOST_DOUBLINGS + 1; n++) {
        p.plan.n_times = n;
        status = hb_parallel_for(task->context, "probes", PROBES / GROUP, rest_make_group, &p);
        if (status == HB_OK) whole = find_rest(&p, n, rest);
    }
    hb_workspace_destroy(&p.work);
    HB_TRY(status);
    HB_CHECK(task->context, whole, HB_ERROR_NUMERICAL,
             "trajectories leave the domain of the drift or explode; there is no stationary "
             "density to be seen");
    HB_CHECK(task->context, *rest > 0, HB_ERROR_NUMERICAL,
             "trajectories have not come to rest by the time %.3g; there may be no stationary "
             "density, or it is reached too slowly: ask for a time instead",
             ldexp(first, MOST_DOUBLINGS));
    return HB_OK;
}

/* ---- the call ---- */

hb_status hb_lag_stationary(hb_context *context, const hb_problem *problem,
                            const hb_sampling_settings *settings, size_t n, const double *points,
                            hb_estimator *out)
{
    hb_lag_task task;
    double rates[2], rest;
    HB_CHECK(context, hb_problem_is_autonomous(problem) && hb_problem_noise_is_constant(problem),
             HB_ERROR_ARGUMENT,
             "the drift or the noise depends on time, or may; a stationary density needs both "
             "without t");
    HB_TRY(hb_lag_task_make(context, problem, settings, n, points, &task));
    if (hb_problem_initial_kind(problem) == HB_INITIAL_KIND_NONE) {
        task.start = points;
        task.n_start = n;
    }
    HB_TRY(hb_lag_rates(&task, rates));
    hb_status status = probe_rest(&task, FIRST / rates[1], &rest);
    if (status == HB_ERROR_NUMERICAL && task.n_start == 0) {
        /* A wide start may explode, or be slow; what is stationary does not depend on it. */
        task.start = points;
        task.n_start = n;
        HB_TRY(hb_lag_rates(&task, rates));
        status = probe_rest(&task, FIRST / rates[1], &rest);
    }
    HB_TRY(status);
    const double first = FIRST / rates[1];
    hb_lag_horizon horizon = {.n_ends = ENDS, .step = first, .halves = 1, .round = ROUND};
    const double begin = WAIT * rest;
    for (int k = 0; k < ENDS; k++) horizon.end[k] = begin * (1 + (double)(k + 1) / ENDS);
    task.end = horizon.end[ENDS - 1];
    task.reach = fmin(begin, HB_LAG_REACH / rates[0]);
    snprintf(horizon.note, sizeof horizon.note,
             "at rest from the time %.3g on, averaged over %d times from %.3g to %.3g", rest, ENDS,
             horizon.end[0], task.end);
    return hb_lag_estimator_over(&task, &horizon, settings, out);
}
