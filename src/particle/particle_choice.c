/* Which rules compete, and at which times trajectories are looked at (docs/explanation/particles.md).
 *
 *     linear drift     the whole lag tau, nothing is left to correct; half of it, a quarter, ...
 *                      where rates differ so much that the frame loses its digits
 *     other drifts     fixed lags tau/2^k, k = 0 .. 6, and, where the drift is smooth, heat balls
 *                      of lift 8 that span 0.9, 0.45 and 0.225 of tau
 *     radius or lift   the ball alone; radius r means that it spans r^2/(4 pi)
 *     given paths      the fixed lags nearest to T/2^k among their times, T = tau - the first
 * Lags go on beyond k = 6 while, at one of the points, |A| tau/2^k is above 1/2 or the drift
 * differs from its linear part by more than 1/(2 w) within 3 w, w = sqrt(2 tau/2^k) being the width
 * of the kernel: a drift that changes within a short distance needs a short lag. Above four
 * dimensions fewer nodes are used: the kernel at a short lag s varies as s^(1 - d/2). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "particle/particle_pilot.h"
#include "problem/initial/initial_average.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAGS = 7, MOST_HALVINGS = 24, USUAL_LIFT = 8, LEAST_LIFT = 3, MOST_LIFT = 64 };

/* Nodes of the rule and of the coarser one: in sqrt(s) for 1 to HB_ROOT_DIM dimensions; in s, of
 * lag tau/2^k, for up to HB_HIGH_DIM dimensions and above. */
static const int ROOT_NODES[HB_ROOT_DIM][2] = {{16, 10}, {16, 10}, {7, 4}, {5, 3}};
static const int NODES[2][LAGS][2] = {{{12, 8}, {10, 7}, {9, 6}, {7, 5}, {6, 4}, {6, 4}, {6, 4}},
                                      {{6, 4}, {5, 3}, {4, 3}, {4, 2}, {3, 2}, {3, 2}, {3, 2}}};
static const int GIVEN_NODES[2] = {7, 4}; /* times are not where roots are */
static const int BALL_NODES[2] = {11, 6}, NO_NODES[2] = {0, 0};
static const double NARROW = 200;         /* the initial density is so many kernels wide */
static const double MOST_ROUNDING = 1e-9; /* of a linear frame */
static const double SPANS[] = {0.9, 0.45, 0.225};
static const double SMOOTH_ORDER = 2, JUMP_ORDER = 0.5; /* of the steps, by what the drift does */

static hb_particle_rule *next_rule(hb_particle_rules *rules)
{
    return rules->rule + rules->n++;
}

static const int *nodes_of(size_t dim, int k)
{
    if (dim <= HB_ROOT_DIM) return ROOT_NODES[dim - 1];
    return NODES[dim > HB_HIGH_DIM][k < LAGS ? k : LAGS - 1];
}

static hb_rule_kind kind_of(size_t dim)
{
    return dim <= 2 ? HB_RULE_ROOT : dim <= HB_ROOT_DIM ? HB_RULE_ROOT_LIMIT : HB_RULE_PLAIN_LIMIT;
}

/* ---- how short the lags become ---- */

enum { PLACES = 8 };

static const double PLACE[PLACES] = {-3, -2, -1, -0.5, 0.5, 1, 2, 3};

/* The largest |F - b - A(x - x0)| at x0 + PLACE w along each axis; work: (3, PLACES d, d). */
static hb_status rest_within(const hb_particle_task *task, const double *x0, const double *b,
                             const double *A, double w, double *work, double *out)
{
    const size_t d = task->dim, n = PLACES * d;
    double *x = work, *F = x + n * d, *tau = F + n * d;
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(x + i * d, x0, d * sizeof *x);
        x[i * d + i / PLACES] += PLACE[i % PLACES] * w;
        tau[i] = task->tau;
    }
    HB_TRY(hb_problem_drift_each(task->context, task->problem, n, x, tau, F, NULL, NULL, NULL));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++) {
            const size_t k = i / PLACES;
            const double f = F[i * d + j] - b[j] - A[j * d + k] * (x[i * d + k] - x0[k]);
            if (isfinite(f)) *out = fmax(*out, fabs(f));
        }
    return hb_progress(task->context, "kernel", 0, 1);
}

hb_status hb_pilot_rest(const hb_particle_task *task, hb_context *alone, const double *x0,
                        const double *b, const double *A, double *out)
{
    const hb_particle_task own = {
        .context = alone, .problem = task->problem, .tau = task->tau, .dim = task->dim};
    void *memory;
    HB_TRY(hb_allocate(alone, 3 * PLACES * task->dim * task->dim, sizeof(double), &memory));
    const hb_status status = rest_within(&own, x0, b, A, sqrt(2 * task->tau), memory, out);
    hb_release(alone, memory);
    return status;
}

/* How often tau must be halved at one point; work: (3 PLACES + 1) d d + d. */
static hb_status halvings_at(const hb_particle_task *task, const double *x0, double *work, int *out)
{
    const size_t d = task->dim;
    double *A = work, *b = A + d * d, rest;
    HB_TRY(hb_problem_drift(task->context, task->problem, 1, x0, task->tau, b, NULL, NULL, A));
    const double needed = ceil(log2(fmax(task->tau * hb_matrix_norm(d, A), 1))) + 1;
    if (needed > *out) *out = needed < MOST_HALVINGS ? (int)needed : MOST_HALVINGS;
    for (int k = MOST_HALVINGS; k > *out; k--) {
        const double w = sqrt(2 * ldexp(task->tau, -k));
        HB_TRY(rest_within(task, x0, b, A, w, b + d, &rest));
        if (rest * w > 0.5) *out = k < MOST_HALVINGS ? k + 1 : k;
    }
    return HB_OK;
}

/* How often tau must be halved for a lag on which every point's linear frame stays moderate. */
static hb_status halvings_needed(const hb_particle_task *task, int *out)
{
    const size_t d = task->dim;
    void *memory;
    HB_TRY(hb_allocate(task->context, (3 * PLACES + 1) * d * d + d, sizeof(double), &memory));
    hb_status status = HB_OK;
    *out = LAGS - 1;
    for (size_t i = 0; i < task->n && status == HB_OK; i++)
        status = halvings_at(task, task->points + i * d, memory, out);
    hb_release(task->context, memory);
    return status;
}

/* The longest lag: rules in time must not reach back to a pulse, which their nodes may not see. */
static double reach_of(const hb_particle_task *task)
{
    return task->tau - hb_cuts_before(hb_problem_cuts(task->problem), task->tau);
}

static hb_status add_lags(const hb_particle_task *task, hb_particle_rules *out)
{
    int last;
    const double reach = reach_of(task);
    HB_TRY(halvings_needed(task, &last));
    for (int k = 0; k < LAGS || ldexp(reach, -k) >= ldexp(task->tau, -last); k++)
        HB_TRY(hb_rule_lag(task->context, ldexp(reach, -k), nodes_of(task->dim, k),
                           kind_of(task->dim), next_rule(out)));
    return HB_OK;
}

/* The whole lag, its kernel averaged over the initial density, which must be smooth: where the
 * kernel is so narrow that draws of that density hardly come near. */
static hb_status rules_add_start(const hb_particle_task *task, hb_particle_rules *out)
{
    const size_t d = task->dim;
    void *memory;
    if (!hb_problem_initial_facts(task->problem)->smooth || reach_of(task) < task->tau)
        return HB_OK;
    HB_TRY(hb_allocate(task->context, 2 * d, sizeof(double), &memory));
    double *low = memory, *high = low + d, least = INFINITY;
    const hb_status status = hb_problem_initial_box(task->context, task->problem, low, high);
    for (size_t k = 0; k < d && status == HB_OK; k++) least = fmin(least, high[k] - low[k]);
    hb_release(task->context, memory);
    HB_TRY(status);
    if (!(sqrt(2 * task->tau) * NARROW < least)) return HB_OK;
    hb_particle_rule *rule = next_rule(out);
    HB_TRY(hb_rule_lag(task->context, task->tau, NO_NODES, HB_RULE_ROOT, rule));
    rule->from_start = 1;
    return HB_OK;
}

static hb_status add_balls(const hb_particle_task *task, const hb_sampling_settings *settings,
                           hb_particle_rules *out)
{
    const int lift = settings->lift >= 0 ? settings->lift : USUAL_LIFT, dim = (int)task->dim;
    const double span = settings->radius * settings->radius / (4 * M_PI);
    HB_CHECK(task->context, lift >= LEAST_LIFT && lift <= MOST_LIFT, HB_ERROR_ARGUMENT,
             "lift is %d; for particles it must be %d to %d, since the gradient of the ball's "
             "kernel has no finite variance with less",
             lift, LEAST_LIFT, MOST_LIFT);
    HB_CHECK(
        task->context, span < task->tau, HB_ERROR_ARGUMENT,
        "radius is %g; at tau = %g it must be below sqrt(4 pi tau) = %g, so that the heat ball "
        "stays in tau > 0",
        settings->radius, task->tau, sqrt(4 * M_PI * task->tau));
    HB_CHECK(
        task->context, task->order > JUMP_ORDER, HB_ERROR_ARGUMENT,
        "the drift jumps, and the kernel of a heat ball needs its derivatives; leave radius and "
        "lift out, or take the grid");
    HB_CHECK(task->context, span < reach_of(task), HB_ERROR_ARGUMENT,
             "radius is %g, and its heat ball spans a narrow pulse in t; it must be below %.3g",
             settings->radius, sqrt(4 * M_PI * reach_of(task)));
    for (size_t k = 0; k < (span > 0 ? 1 : sizeof SPANS / sizeof *SPANS); k++) {
        const double reach = span > 0 ? span : SPANS[k] * reach_of(task);
        HB_TRY(hb_rule_ball(task->context, dim, lift, reach, BALL_NODES, next_rule(out)));
    }
    return HB_OK;
}

/* Lags of the user's times, rising; the time tau itself, lag 0, is left out. */
static hb_status add_given(const hb_particle_task *task, hb_particle_rules *out)
{
    const hb_given_paths *given = &task->given;
    const int linear = task->linear.A != NULL;
    const double reach = reach_of(task);
    size_t n = given->n_times - 1;
    while (n > 0 && task->tau - given->tau[given->n_times - 1 - n] > reach) n--;
    HB_CHECK(
        task->context, n > 0 || reach == task->tau, HB_ERROR_ARGUMENT,
        "drift or noise have a narrow pulse in t, and the trajectories have no time between it "
        "and the end; give them at a time within %.3g (in tau) of the end",
        reach);
    double *s;
    HB_TRY(HB_NEW(task->context, s, n));
    for (size_t k = 0; k < n; k++) s[k] = task->tau - given->tau[given->n_times - 2 - k];
    hb_status status = HB_OK;
    size_t before = n;
    for (int k = 0; k < (linear ? 1 : LAGS) && status == HB_OK; k++) {
        size_t last = n - 1;
        while (last > 0 && s[last - 1] >= 0.999 * ldexp(s[n - 1], -k)) last--;
        if (last == before) break;
        before = last;
        status = hb_rule_lag_given(task->context, s, last,
                                   linear                     ? NO_NODES
                                   : task->dim <= HB_ROOT_DIM ? GIVEN_NODES
                                                              : nodes_of(task->dim, k),
                                   next_rule(out));
    }
    hb_release(task->context, s);
    return status;
}

static hb_status rules_add_linear(const hb_particle_task *task, hb_particle_rules *out)
{
    double lag = task->tau;
    void *work;
    HB_TRY(hb_allocate(task->context, hb_kernel_work(task->dim), sizeof(double), &work));
    for (int k = 0; k < MOST_HALVINGS; k++, lag /= 2)
        if (hb_lag_rounding(task->context, task->dim, task->linear.A, lag, work) < MOST_ROUNDING)
            break;
    hb_release(task->context, work);
    HB_TRY(hb_progress(task->context, "kernel", 0, 1));
    HB_TRY(hb_rule_lag(task->context, lag, NO_NODES, HB_RULE_ROOT, next_rule(out)));
    return rules_add_start(task, out);
}

hb_status hb_pilot_rules(const hb_particle_task *task, const hb_sampling_settings *settings,
                         hb_particle_rules *out)
{
    const int forced = settings->radius > 0 || settings->lift >= 0;
    memset(out, 0, sizeof *out);
    if (task->given.n_paths > 0) {
        HB_TRY(add_given(task, out));
    } else if (task->linear.A && !forced) {
        HB_TRY(rules_add_linear(task, out));
    } else {
        if (!forced) HB_TRY(rules_add_start(task, out));
        if (!forced) HB_TRY(add_lags(task, out));
        if (forced || task->order >= SMOOTH_ORDER) HB_TRY(add_balls(task, settings, out));
    }
    return hb_pilot_times(task, NULL, out);
}

/* The tau of a lag; for given trajectories one of theirs, bit for bit. */
static double tau_of_lag(const hb_particle_task *task, double s)
{
    const hb_given_paths *given = &task->given;
    if (given->n_paths == 0) return s < task->tau ? task->tau - s : 0;
    size_t best = 0;
    for (size_t k = 1; k < given->n_times; k++)
        if (fabs(task->tau - given->tau[k] - s) < fabs(task->tau - given->tau[best] - s)) best = k;
    return given->tau[best];
}

hb_status hb_pilot_times(const hb_particle_task *task, const unsigned char *used,
                         hb_particle_rules *rules)
{
    double *times;
    HB_TRY(HB_NEW(task->context, times, HB_MOST_RULES * HB_RULE_NODES));
    size_t n = 0, kept = 0;
    for (int r = 0; r < rules->n; r++)
        for (int j = 0; j < rules->rule[r].n && (!used || used[r]); j++)
            times[n++] = tau_of_lag(task, rules->rule[r].s[j]);
    hb_sort(n, times);
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || times[k] > times[kept - 1]) times[kept++] = times[k];
    for (int r = 0; r < rules->n; r++)
        for (int j = 0; j < rules->rule[r].n && (!used || used[r]); j++) {
            const double tau = tau_of_lag(task, rules->rule[r].s[j]);
            const double *place = bsearch(&tau, times, kept, sizeof *times, hb_by_value);
            rules->snapshot[r][j] = (size_t)(place - times);
        }
    hb_release(task->context, rules->times);
    rules->times = times;
    rules->n_times = kept;
    return HB_OK;
}
