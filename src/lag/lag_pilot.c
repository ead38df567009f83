/* The pilot run of short lags.
 *
 * Lags reach/2^k, for each the rules of 2x7 nodes (checked by 2x3) and of 2x3 (checked by 2x1); the
 * lag that goes back to the initial time also with the mean over the initial density, where there
 * is a closed form. All are exact but for the rule in time; they differ in their spread. For N
 * samples that are asked for,
 *     cost = (var a/(N A^2) + bias^2) + mean_k spread_k^2 (var S_k/N + bias_k^2),
 *     times 1 + FEW/effective,
 * S the score, spread_k the deviation of coordinate k among the paths; the least is taken, or the
 * lag with the most effective paths where these are below TOO_FEW. The step is halved until what it
 * changes is less than PART of the error by chance, or cannot be seen. The pilot's trajectories do
 * not enter the estimate.
 * A number to reproduce: with a linear drift from a Gaussian the longest lag has no correction and
 * wins. */
#include "lag/lag_pilot.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/team_tasks.h"
#include "sampling/spread.h"

#include <math.h>
#include <string.h>

enum {
    MOST_PATHS = 2048,
    LEAST_PATHS = 256,
    DOUBLES = 1 << 22, /* of one array of trajectories */
    GROUP = 256,
    RULES = HB_LAG_RULES - 1,
    HALVINGS = 5
};

static const double FEW = 30, PART = 0.5;
static const double HIDDEN = 0.25;      /* of the variance with which a bias is seen */
static const double MOST_UNSEEN = 0.05; /* of a correction that too few paths show, relative */
static const double SURE = 3;           /* errors of what the step changes, to count */
static const double ENOUGH = 4, TOO_FEW = 16,
                    HOPELESS = 1e9; /* a spread of so few paths says nothing */

typedef struct pilot {
    const hb_lag_task *task;
    hb_lag_times times;
    hb_path_plan plan;
    hb_lag_paths paths;
    size_t n_paths;
    double *spread;    // (d)
    hb_context *alone; // (threads)
    double *scratch;   // (threads, width)
    size_t width;
    unsigned char *lost; // (n_paths)
    hb_lag_choice *choices;
    hb_workspace work;
} pilot;

/* ---- trajectories ---- */

static hb_status lag_pilot_make_group(void *user, size_t index, int thread)
{
    pilot *p = user;
    const size_t first = index * GROUP, d = p->task->d;
    const size_t n = p->n_paths - first < GROUP ? p->n_paths - first : GROUP;
    hb_lag_paths part = p->paths;
    for (int twin = 0; twin < 2; twin++) {
        part.x[twin] += first * d;
        part.f[twin] += first * d;
    }
    hb_context *alone = p->alone + thread;
    double *tau = p->scratch + (size_t)thread * p->width;
    HB_TRY(hb_context_adopt(p->task->context, alone,
                            hb_lag_paths_make(alone, &p->plan, first, n, &part, tau)));
    for (size_t i = 0; i < n; i++)
        p->lost[first + i] = (unsigned char)hb_lag_path_is_lost(&part, p->times.n_times, i);
    return HB_OK;
}

/* The deviation of each coordinate at the last time. */
static void measure_spread(pilot *p)
{
    const size_t d = p->task->d;
    const double *x = p->paths.x[0] + (p->times.n_times - 1) * p->paths.stride * d;
    for (size_t k = 0; k < d; k++) {
        double mean = 0, squares = 0, count = 0;
        for (size_t i = 0; i < p->n_paths; i++) {
            if (p->lost[i]) continue;
            const double gap = x[i * d + k] - mean;
            mean += gap / ++count;
            squares += gap * (x[i * d + k] - mean);
        }
        p->spread[k] = count > 1 ? sqrt(squares / count) : 0;
    }
}

/* ---- one point ---- */

/* What the pilot's paths give to a point by one lag and rule. */
typedef struct moments {
    double n, absolute, square;
    double *spread, *bias; // hb_spread_size, hb_bias_size
    double step;           /* sum of what the step changes */
    double step_square;
} moments;

/* The square of a bias seen with this variance: what is sure, and a part of what may be hidden. */
static double square_of(double mean, double variance)
{
    return fmax(mean * mean - variance, 0) + HIDDEN * variance;
}

/* The square of the bias of the density (k = 0) or of component k of the score S, relative to A. */
static double bias_square(size_t d, const double *bias, double A, size_t k, double S)
{
    const double *mean = bias + 1, *squares = mean + 1 + d;
    const double scale = 1 / (bias[0] * (bias[0] - 1) * A * A);
    if (k == 0) return square_of(mean[0] / A, squares[0] * scale);
    const double square = squares[d + k] - 2 * S * squares[k] + S * S * squares[0];
    return square_of((mean[k] - S * mean[0]) / A, fmax(square, 0) * scale);
}

/* The cost of a rule; fills the choice but for the lag. */
static double lag_pilot_judge(const pilot *p, const moments *m, double top, hb_lag_choice *out)
{
    const size_t d = p->task->d;
    const double *mean = m->spread, *squares = mean + 1 + d, A = mean[0];
    const double each = 1 / ((m->n - 1) * p->task->samples); // to the variance of a mean of samples
    if (!(A > 0) || !isfinite(A)) return INFINITY;
    const double chance = squares[0] * each / (A * A);
    double cost = chance + bias_square(d, m->bias, A, 0, 0);
    for (size_t k = 0; k < d; k++) {
        const double S = mean[1 + k] / A, own = bias_square(d, m->bias, A, 1 + k, S);
        const double square = squares[1 + d + k] - 2 * S * squares[1 + k] + S * S * squares[0];
        cost += p->spread[k] * p->spread[k] * (fmax(square, 0) * each / (A * A) + own) / (double)d;
    }
    const double step = m->step / m->n, noise = (m->step_square / m->n - step * step) / (m->n - 1);
    out->error = sqrt(chance);
    out->step_bias = step * step > SURE * SURE * noise ? fabs(step) / A : 0;
    out->log_scale = top + log(A);
    const double effective = m->absolute * m->absolute / m->square;
    return cost * (1 + FEW / effective) + (effective < TOO_FEW ? HOPELESS / effective : 0);
}

/* The largest ln of the kernel at the whole lag. */
static double find_top(const pilot *p, const hb_lag_frame *frame, size_t lag, double *work)
{
    const size_t d = p->task->d, column = p->times.column[lag * HB_LAG_NODES];
    double top = -INFINITY;
    for (size_t i = 0; i < p->n_paths; i++)
        if (!p->lost[i])
            top = fmax(top, hb_lag_log_kernel(
                                frame, p->paths.x[0] + (column * p->paths.stride + i) * d, work));
    return top;
}

static void lag_pilot_add_row(size_t d, const double *row, moments *m)
{
    hb_spread_add(d, m->spread, ++m->n, row[0], row + 1);
    hb_bias_differ(d, m->bias, 1, row + 1 + d, row + 2 + d);
    m->absolute += fabs(row[0]);
    m->square += row[0] * row[0];
    m->step += row[2 + 2 * d];
    m->step_square += row[2 + 2 * d] * row[2 + 2 * d];
}

/* Returns how many paths are effective by the finest rule. */
static double try_lag(const pilot *p, const hb_lag_frame *frame, size_t lag, double *scratch,
                      double *best, hb_lag_choice *out)
{
    const size_t d = p->task->d, own = hb_spread_size(d) + hb_bias_size(d);
    double *rows = scratch + RULES * own, *work = rows + RULES * hb_lag_row(d);
    moments m[RULES] = {{0}};
    const double top = frame->from_start ? frame->start[0] : find_top(p, frame, lag, work);
    if (!isfinite(top)) return 0;
    memset(scratch, 0, RULES * own * sizeof *scratch);
    for (size_t r = 0; r < RULES; r++) {
        m[r].spread = scratch + r * own;
        m[r].bias = m[r].spread + hb_spread_size(d);
    }
    for (size_t i = 0; i < p->n_paths; i++) {
        if (p->lost[i]) continue;
        memset(rows, 0, RULES * hb_lag_row(d) * sizeof *rows);
        hb_lag_add_row(frame, &p->times, lag, 0, 1, &p->paths, i, -1, p->task->gain, top, rows,
                       work);
        for (size_t r = 0; r < RULES; r++) lag_pilot_add_row(d, rows + r * hb_lag_row(d), m + r);
    }
    for (int r = 0; r < RULES; r++) {
        hb_lag_choice choice = {.lag = p->times.lag[lag], .rule = r, .found = 1};
        choice.from_start = frame->from_start;
        const double cost = m[r].n > 1 ? lag_pilot_judge(p, m + r, top, &choice) : INFINITY;
        if (cost < *best || !out->found) *out = choice;
        *best = fmin(*best, cost);
    }
    return m[0].square > 0 ? m[0].absolute * m[0].absolute / m[0].square : 0;
}

/* The same lag with the mean over the start. Where too few paths show the correction, its bound
 * must be small, and is reported. */
static hb_status try_start(const pilot *p, hb_context *alone, hb_lag_frame *frame, size_t lag,
                           double effective, double *scratch, double *best, hb_lag_choice *out)
{
    const int seen = effective >= TOO_FEW || hb_problem_is_linear(p->task->problem);
    frame->from_start = 1;
    if (!seen) {
        HB_TRY(hb_lag_correction(alone, p->task->problem, p->task->end, frame, scratch));
        if (!(scratch[0] < MOST_UNSEEN)) return HB_OK;
    }
    try_lag(p, frame, lag, scratch, best, out);
    if (out->from_start) out->unseen = !seen;
    return HB_OK;
}

static hb_status lag_pilot_choose(void *user, size_t i, int thread)
{
    pilot *p = user;
    const hb_lag_task *task = p->task;
    hb_context *alone = p->alone + thread;
    double best = INFINITY;
    hb_lag_choice *out = p->choices + i;
    *out = (hb_lag_choice){0};
    for (size_t k = 0; k < p->times.n_lags; k++) {
        hb_lag_frame frame;
        int found, singular;
        HB_TRY(hb_context_adopt(
            task->context, alone,
            hb_lag_frame_create(alone, task->problem, task->points + i * task->d, task->end,
                                p->times.lag[k], task->frozen, &frame, &found, &singular)));
        out->singular |= singular;
        if (!found) continue;
        double *scratch = p->scratch + (size_t)thread * p->width;
        const double effective = try_lag(p, &frame, k, scratch, &best, out);
        if (hb_lag_knows_start(&frame))
            HB_TRY(
                hb_context_adopt(task->context, alone,
                                 try_start(p, alone, &frame, k, effective, scratch, &best, out)));
        hb_lag_frame_destroy(&frame);
        if (effective < ENOUGH && best < HOPELESS / TOO_FEW) break; // shorter ones see fewer still
    }
    return HB_OK;
}

/* ---- all ---- */

static hb_status lag_pilot_create(const hb_lag_task *task, pilot *p)
{
    double lags[HB_MOST_LAGS];
    const size_t d = task->d, threads = (size_t)hb_context_threads(task->context);
    for (int k = 0; k < HB_MOST_LAGS; k++) lags[k] = ldexp(task->reach, -k);
    HB_TRY(hb_lag_times_create(task->context, HB_MOST_LAGS, lags, 1, &task->end, &p->times));
    const size_t fit = DOUBLES / (p->times.n_times * d);
    p->n_paths = fit > MOST_PATHS ? MOST_PATHS : fit < LEAST_PATHS ? LEAST_PATHS : fit;
    const size_t rows = p->times.n_times * p->n_paths * d;
    p->width =
        RULES * (hb_spread_size(d) + hb_bias_size(d) + hb_lag_row(d)) + hb_lag_row_work(d) + GROUP;
    HB_TRY(HB_WORKSPACE(task->context, &p->work, HB_ARRAY(p->paths.x[0], rows),
                        HB_ARRAY(p->paths.x[1], rows), HB_ARRAY(p->paths.f[0], rows),
                        HB_ARRAY(p->paths.f[1], rows), HB_ARRAY(p->spread, d),
                        HB_ARRAY(p->alone, threads), HB_ARRAY(p->scratch, threads * p->width),
                        HB_ARRAY(p->lost, p->n_paths)));
    for (size_t t = 0; t < threads; t++) p->alone[t] = hb_context_child(task->context, 1);
    p->paths.n = p->paths.stride = p->n_paths;
    p->paths.d = d;
    p->plan = (hb_path_plan){.problem = task->problem, .seed = task->seed, .dim = d};
    p->plan.start = task->start;
    p->plan.n_start = task->n_start;
    p->plan.n_times = p->times.n_times;
    p->plan.times = p->times.times;
    return HB_OK;
}

/* 1 when the step is short enough at all points. */
static int is_short(const pilot *p)
{
    for (size_t i = 0; i < p->task->n; i++)
        if (p->choices[i].found && p->choices[i].step_bias > PART * p->choices[i].error) return 0;
    return 1;
}

static hb_status try_step(pilot *p, double step)
{
    hb_context *context = p->task->context;
    const hb_left left = {p->choices, sizeof *p->choices, 0};
    p->plan.step = step;
    HB_TRY(hb_parallel_for(context, "pilot trajectories", (p->n_paths + GROUP - 1) / GROUP,
                           lag_pilot_make_group, p));
    measure_spread(p);
    return hb_team_for(context, "pilot lags", p->task->n, lag_pilot_choose, p, 1, &left);
}

hb_status hb_lag_pilot(const hb_lag_task *task, double *step, hb_lag_choice *choices)
{
    pilot p = {.task = task, .choices = choices};
    hb_status status = lag_pilot_create(task, &p);
    for (int k = 0; k <= HALVINGS && status == HB_OK; k++) {
        status = try_step(&p, *step);
        if (status != HB_OK || is_short(&p) || k == HALVINGS) break;
        *step /= 2;
    }
    hb_workspace_destroy(&p.work);
    hb_lag_times_destroy(&p.times);
    return status;
}
