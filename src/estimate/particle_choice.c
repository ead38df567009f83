/* Which rules compete, and at which times trajectories are looked at (docs/particles.md).
 *
 *     linear drift        the whole lag tau: its frame is exact, nothing is left to correct
 *     other drifts        fixed lags tau/2^k, k = 0 .. 6 and further while |A| tau/2^k is above 1/2 at one
 *                         of the points, and heat balls of lift 8 that span 0.9, 0.45 and
 *                         0.225 of tau, each with two rules in time: a coarse one, and a finer one that
 *                         shows the error of the coarse
 *     radius or lift set  the ball alone; radius r means that it spans r^2/(4 pi)
 *     user's trajectories the fixed lags nearest to T/2^k among their times, T = tau - their first time
 * Above six dimensions fewer nodes are used: the kernel at a short lag s varies as s^(1 - d/2). */
#include "base/context.h"
#include "estimate/particle_pilot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAGS = 7,
    MOST_HALVINGS = 24,
    BALL_COARSE = 6,
    BALL_FINE = 11,
    USUAL_LIFT = 8,
    LEAST_LIFT = 3,
    MOST_LIFT = 64
};

/* Nodes of the coarse and the fine rule of lag tau/2^k, in up to HB_HIGH_DIM dimensions and above. */
static const int COARSE[2][LAGS] = {{8, 7, 6, 5, 4, 4, 4}, {4, 3, 3, 2, 2, 2, 2}};
static const int FINE[2][LAGS] = {{12, 10, 9, 7, 6, 6, 6}, {6, 5, 4, 4, 3, 3, 3}};
static const double SPANS[] = {0.9, 0.45, 0.225};

static hb_particle_rule *next_rule(hb_particle_rules *rules, int partner)
{
    rules->partner[rules->n] = partner;
    return rules->rule + rules->n++;
}

/* How often tau must be halved for a lag on which every point's linear frame stays moderate. */
static hb_status halvings_needed(const hb_particle_task *task, int *out)
{
    const size_t d = task->dim;
    double largest = 1;
    void *memory;
    HB_TRY(hb_allocate(task->context, d * d, sizeof(double), &memory));
    hb_status status = HB_OK;
    for (size_t i = 0; i < task->n && status == HB_OK; i++) {
        status = hb_problem_drift(task->context, task->problem, task->tau, 1, task->points + i * d,
                                  NULL, NULL, NULL, memory);
        if (status == HB_OK) largest = fmax(largest, task->tau * hb_pilot_norm(d, memory));
    }
    const double needed = fmax(ceil(log2(largest)) + 1, LAGS - 1);
    *out = needed < MOST_HALVINGS ? (int)needed : MOST_HALVINGS;
    hb_release(task->context, memory);
    return status;
}

static hb_status add_lags(const hb_particle_task *task, hb_particle_rules *out)
{
    const int high = task->dim > HB_HIGH_DIM;
    int last;
    HB_TRY(halvings_needed(task, &last));
    for (int k = 0; k <= last; k++) {
        const double lag = ldexp(task->tau, -k);
        const int row = k < LAGS ? k : LAGS - 1;
        HB_TRY(hb_rule_lag(task->context, lag, COARSE[high][row], next_rule(out, out->n + 1)));
        HB_TRY(hb_rule_lag(task->context, lag, FINE[high][row], next_rule(out, -1)));
    }
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
    for (size_t k = 0; k < (span > 0 ? 1 : sizeof SPANS / sizeof *SPANS); k++) {
        const double reach = span > 0 ? span : SPANS[k] * task->tau;
        HB_TRY(
            hb_rule_ball(task->context, dim, lift, reach, BALL_COARSE, next_rule(out, out->n + 1)));
        HB_TRY(hb_rule_ball(task->context, dim, lift, reach, BALL_FINE, next_rule(out, -1)));
    }
    return HB_OK;
}

/* Lags of the user's times, rising; the time tau itself, lag 0, is left out. */
static hb_status add_given(const hb_particle_task *task, hb_particle_rules *out)
{
    const hb_given_paths *given = &task->given;
    const size_t n = given->n_times - 1;
    const int high = task->dim > HB_HIGH_DIM, linear = task->linear.A != NULL;
    void *memory;
    HB_TRY(hb_allocate(task->context, n, sizeof(double), &memory));
    double *s = memory;
    for (size_t k = 0; k < n; k++) s[k] = task->tau - given->tau[n - 1 - k];
    hb_status status = HB_OK;
    size_t before = n;
    for (int k = 0; k < (linear ? 1 : LAGS) && status == HB_OK; k++) {
        size_t last = n - 1;
        while (last > 0 && s[last - 1] >= 0.999 * ldexp(s[n - 1], -k)) last--;
        if (last == before) break;
        before = last;
        status = hb_rule_lag_given(task->context, n, s, last, linear ? 0 : COARSE[high][k],
                                   next_rule(out, out->n + 1));
        if (status == HB_OK)
            status = hb_rule_lag_given(task->context, n, s, last, linear ? 0 : FINE[high][k],
                                       next_rule(out, -1));
    }
    hb_release(task->context, memory);
    return status;
}

hb_status hb_pilot_rules(const hb_particle_task *task, const hb_sampling_settings *settings,
                         hb_particle_rules *out)
{
    const int forced = settings->radius > 0 || settings->lift >= 0;
    memset(out, 0, sizeof *out);
    if (task->given.n_paths > 0) {
        HB_TRY(add_given(task, out));
    } else if (task->linear.A && !forced) {
        HB_TRY(hb_rule_lag(task->context, task->tau, 0, next_rule(out, -1)));
    } else {
        if (!forced) HB_TRY(add_lags(task, out));
        HB_TRY(add_balls(task, settings, out));
    }
    return hb_pilot_times(task, NULL, out);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
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
    void *memory;
    HB_TRY(hb_allocate(task->context, HB_MOST_RULES * HB_RULE_NODES, sizeof(double), &memory));
    double *times = memory;
    size_t n = 0, kept = 0;
    for (int r = 0; r < rules->n; r++)
        for (int j = 0; j < rules->rule[r].n && (!used || used[r]); j++)
            times[n++] = tau_of_lag(task, rules->rule[r].s[j]);
    qsort(times, n, sizeof *times, compare);
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || times[k] > times[kept - 1]) times[kept++] = times[k];
    for (int r = 0; r < rules->n; r++)
        for (int j = 0; j < rules->rule[r].n && (!used || used[r]); j++) {
            const double tau = tau_of_lag(task, rules->rule[r].s[j]);
            const double *place = bsearch(&tau, times, kept, sizeof *times, compare);
            rules->snapshot[r][j] = (size_t)(place - times);
        }
    hb_release(task->context, rules->times);
    rules->times = times;
    rules->n_times = kept;
    return HB_OK;
}
