/* The probability-flow ODE with steps that every row chooses by itself.
 *
 * With l = ln sigma as the time, d tau/d l = b for all processes, and
 *     dx/dl = b (F - s),   F = -x (OU), 0 (VE) or the user's;      div of it = b (div F - div s).
 * Near the data b s tends to a x_0 - x, so the right-hand side is of order one all the path and is
 * nowhere stiff: the explicit pair of Cash and Karp, of orders 5 and 4, does (its table is
 * ARKODE's). The path is cut into pieces no longer than LONGEST. A row goes over a piece in one
 * step if the two orders agree within PART tolerance (1 + |x|) in every coordinate, else over its
 * halves, and so on. Times of steps are thus halves of halves of the pieces whatever the rows do,
 * so that the score is asked for many rows at one time, and a row's steps depend on that row alone.
 * Each row keeps the depth at which it went last and begins there, or one above if its error was
 * EASY times below that. What ln p may be off by: a step that leaves errors e of x and E of the
 * integral changes it by s.e + E and, with |grad s| <= 1/b, by |e|^2/2b; e and E are the
 * differences of the two orders, of which the higher one is kept, and their sizes are added up. The
 * error of a divergence by differences (score_trace.c) is asked for at the beginning of each step.
 * A likelihood whose tolerance is left open also takes a step of length h that changes ln p by less
 * than
 *     SHARE |h| (A/L + error of the divergence + standard error of its probes) + A/MOST,
 * A the nats by which ln p is off anyway (likelihood.c), L the length of the path: rounding, kinks
 * and probes need no smaller steps. e is below PART COARSEST (1 + |x|) all the same. Two orders may
 * agree by chance in a long step, so that its change of ln p counts SAFETY times.
 * A number to reproduce: data N(m, c): x/a - m is multiplied by sqrt((c + sigma'^2)/(c + sigma^2)).
 *
 * J. R. Cash and A. H. Karp, ACM Trans. Math. Software 16, 1990; D. R. Reynolds et al., ARKODE, ACM
 * Trans. Math. Software 49, 2023. */
#include "base/checksum.h"
#include "generate/reverse.h"

#include <stdio.h> /* the next header needs it */

#include <arkode/arkode_butcher_erk.h>
#include <math.h>
#include <string.h>

enum {
    MOST_STAGES = 8,
    DEEPEST = 24,
    MOST_STEPS = 100000,
    LEAST_ROWS = 256,
    FLOW_DOUBLES = 1 << 23
};
static const double LONGEST = 1, PART = 0.125, EASY = 64;
static const double SHARE = 0.25, MOST = 256, COARSEST = 1e-2, SAFETY = 3;

typedef struct flow {
    hb_reverse *run;
    hb_level from, to;
    size_t rows, sums, width; /* integrals of the divergence; dim + sums */
    ARKodeButcherTable pair;  /* A, b, d (of the lower order), c */
    double *state;            // (rows, width): x and the integrals of the divergence
    int *depth;               // (rows): at which a row went last
    size_t *list;             // (rows): the rows, those of one step beside each other
    size_t *place;            // (rows): those of a step
    uint64_t *key, *keys;     // (rows): of the values a row begins with; of the rows of a step
    double reached;           /* fraction of the path, for the progress */
    size_t steps;             /* of all rows together */
    int *labels;              // (rows): theirs
    double *at, *slope;       // (rows, dim): what the score is asked, and its answer
    double *drift;            // (rows, dim): F there
    double *divergence;       // (rows, sums)
    double *off;              // (rows): error of the divergence at the beginning of a step
    double *error;            // (rows): of ln p, the caller's; NULL: not asked for
    double tolerance, length; /* of a step; of the whole path */
    double *drift_divergence; // (rows)
    double *k[MOST_STAGES];   // (rows, width): slopes of the stages
    hb_workspace work;
} flow;

/* The level at l, inside the range that was asked for whatever the rounding. */
static hb_level flow_level(const flow *f, double l)
{
    const hb_process process = (hb_process)f->run->settings->process;
    const double low = fmin(f->from.tau, f->to.tau), high = fmax(f->from.tau, f->to.tau);
    const hb_level level = hb_level_of_sigma(process, exp(l));
    return hb_level_at(process, fmin(fmax(level.tau, low), high));
}

/* Rows that go over a piece again in smaller steps do not take the progress back. */
static hb_status flow_report(flow *f, double l)
{
    const double start = log(f->from.sigma), path = log(f->to.sigma) - start;
    f->reached = fmax(f->reached, fmin((l - start) / path, 1));
    return hb_reverse_progress(f->run, f->reached);
}

/* dx/dl and its divergence, of n rows at f->at, into k. */
static hb_status flow_ask_rate(flow *f, size_t n, double l, double *k, double *off)
{
    const size_t d = f->run->dim, width = f->width, sums = f->sums;
    const hb_level level = flow_level(f, l);
    if (sums == 0) HB_TRY(hb_reverse_ask(f->run, n, f->at, level.tau, f->slope, NULL));
    if (sums > 0) HB_TRY(hb_reverse_trace(f->run, n, f->at, level, f->slope, f->divergence, off));
    HB_TRY(hb_reverse_drift(f->run, n, f->at, level.tau, f->drift,
                            width > d ? f->drift_divergence : NULL));
    HB_TRY(flow_report(f, l));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < d; j++)
            k[i * width + j] = level.b * (f->drift[i * d + j] - f->slope[i * d + j]);
        for (size_t m = 0; m < sums; m++)
            k[i * width + d + m] = level.b * (f->drift_divergence[i] - f->divergence[i * sums + m]);
        if (off) off[i] *= level.b;
    }
    return HB_OK;
}

/* sum of weight[m] k_m over the stages, of coordinate e of all rows of a step */
static double flow_combine(const flow *f, int stages, const double *weight, size_t e)
{
    double sum = 0;
    for (int m = 0; m < stages; m++) sum += weight[m] * f->k[m][e];
    return sum;
}

/* The slopes k of n rows of the list over a step of length h from l. */
static hb_status flow_ask_stages(flow *f, const size_t *list, size_t n, double l, double h)
{
    const size_t d = f->run->dim, width = f->width;
    memcpy(f->place, list, n * sizeof *list);
    for (size_t i = 0; f->run->labels && i < n; i++)
        f->labels[i] = f->run->labels[f->run->start + list[i]];
    for (size_t i = 0; i < n; i++) f->keys[i] = f->key[list[i]];
    for (int m = 0; m < f->pair->stages; m++) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < d; j++)
                f->at[i * d + j] = f->state[list[i] * width + j] +
                                   h * flow_combine(f, m, f->pair->A[m], i * width + j);
        HB_TRY(flow_ask_rate(f, n, l + f->pair->c[m] * h, f->k[m],
                             m == 0 && (f->error || f->run->accepted > 0) ? f->off : NULL));
    }
    return HB_OK;
}

/* How far the two orders are apart in coordinate e. */
static double flow_step_error(const flow *f, size_t e, double h)
{
    return h * (flow_combine(f, f->pair->stages, f->pair->b, e) -
                flow_combine(f, f->pair->stages, f->pair->d, e));
}

/* What the step of the i-th row of the list may add to the error of ln p where the tolerance is
 * left open. */
static double flow_allowed(const flow *f, size_t i, double h)
{
    const double *rate = f->k[0] + i * f->width + f->run->dim, n = (double)f->sums;
    double mean = 0, squares = 0;
    for (size_t m = 0; m < f->sums; m++) mean += rate[m] / n;
    for (size_t m = 0; m < f->sums; m++) squares += (rate[m] - mean) * (rate[m] - mean);
    const double of_probes = f->run->by_probes && n > 1 ? sqrt(squares / (n * (n - 1))) : 0;
    const double A = f->run->accepted;
    return SHARE * fabs(h) * (A / f->length + f->off[i] + of_probes) + A / MOST;
}

/* The error of the step of the i-th row of the list, against the tolerance; of ln p: what it may be
 * off by. */
static double flow_error_of_row(const flow *f, const double *state, size_t i, double h, double b,
                                double *of_ln_p)
{
    const size_t d = f->run->dim;
    double most = 0, sum = 0, integral = 0;
    *of_ln_p = 0;
    for (size_t j = 0; j < d; j++) {
        const double error = flow_step_error(f, i * f->width + j, h);
        most = fmax(most, fabs(error) / (1 + fabs(state[j])));
        *of_ln_p += fabs(f->slope[i * d + j] * error) + error * error / (2 * b);
    }
    for (size_t m = 0; m < f->sums; m++) {
        sum += flow_step_error(f, i * f->width + d + m, h) / (double)f->sums;
        integral += state[d + m] / (double)f->sums;
    }
    if (f->sums > 0) most = fmax(most, fabs(sum) / (1 + fabs(integral)));
    *of_ln_p += fabs(sum);
    const double error = most / (PART * f->tolerance);
    if (!(f->run->accepted > 0)) return error;
    return fmin(error, fmax(*of_ln_p / flow_allowed(f, i, h), most / (PART * COARSEST)));
}

/* Moves the rows of the list whose step is good enough to its front, and on. Returns their
 * number. */
static size_t flow_accept(flow *f, size_t *list, size_t n, double l, double h, int depth)
{
    const double tau = flow_level(f, l + h).tau, b = flow_level(f, l).b;
    size_t good = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t row = f->place[i];
        double *state = f->state + row * f->width;
        double of_ln_p;
        const double error = flow_error_of_row(f, state, i, h, b, &of_ln_p);
        f->depth[row] = error > 1 ? depth + 1 : error > 1 / EASY ? depth : depth - 1;
        if (!(error <= 1)) continue;
        for (size_t j = 0; j < f->width; j++)
            state[j] += h * flow_combine(f, f->pair->stages, f->pair->b, i * f->width + j);
        if (f->error)
            f->error[row] += (f->run->accepted > 0 ? SAFETY : 1) * of_ln_p + fabs(h) * f->off[i];
        hb_reverse_keep(f->run, 1, tau, state);
        const size_t other = list[good];
        list[good++] = row;
        list[i] = other;
    }
    return good;
}

/* Rows that may be tried at this depth to the front of the list; their number. */
static size_t flow_sort_list(const flow *f, size_t *list, size_t n, int depth)
{
    size_t front = 0;
    for (size_t i = 0; i < n; i++)
        if (f->depth[list[i]] <= depth) {
            const size_t row = list[i];
            list[i] = list[front];
            list[front++] = row;
        }
    return front;
}

/* n rows of the list over l .. l + h. */
static hb_status flow_cross(flow *f, size_t *list, size_t n, double l, double h, int depth)
{
    HB_CHECK(f->run->context, depth <= DEEPEST && f->steps++ < MOST_STEPS, HB_ERROR_NUMERICAL,
             "the probability-flow ODE stopped at tau = %.6g on its path from %.6g to %.6g; give a "
             "coarser tolerance than %g or a larger tau_min",
             flow_level(f, l).tau, f->from.tau, f->to.tau, f->tolerance);
    size_t tried = flow_sort_list(f, list, n, depth);
    if (tried > 0) {
        HB_TRY(flow_ask_stages(f, list, tried, l, h));
        tried = flow_accept(f, list, tried, l, h, depth);
    }
    if (tried == n) return HB_OK;
    HB_TRY(flow_cross(f, list + tried, n - tried, l, h / 2, depth + 1));
    return flow_cross(f, list + tried, n - tried, l + h / 2, h / 2, depth + 1);
}

static hb_status flow_cross_pieces(flow *f)
{
    const double start = log(f->from.sigma), path = log(f->to.sigma) - start;
    const int pieces = (int)ceil(fabs(path) / LONGEST);
    for (int i = 0; i < pieces; i++) {
        const double l = start + path * i / pieces;
        if (f->sums > 0 && f->run->trace) HB_TRY(hb_trace_begin(f->run, flow_level(f, l)));
        HB_TRY(flow_cross(f, f->list, f->rows, l, path / pieces, 0));
    }
    return HB_OK;
}

static hb_status flow_create(flow *f, const double *x)
{
    const size_t rows = f->rows, d = f->run->dim, width = f->width;
    const size_t size = rows * width;
    HB_TRY(HB_WORKSPACE(
        f->run->context, &f->work, HB_ARRAY(f->list, rows), HB_ARRAY(f->place, rows),
        HB_ARRAY(f->depth, rows), HB_ARRAY(f->labels, rows), HB_ARRAY(f->key, rows),
        HB_ARRAY(f->keys, rows), HB_ARRAY(f->state, size), HB_ARRAY(f->at, rows * d),
        HB_ARRAY(f->slope, rows * d), HB_ARRAY(f->drift, rows * d),
        HB_ARRAY(f->divergence, rows * f->sums), HB_ARRAY(f->off, rows),
        HB_ARRAY(f->drift_divergence, rows), HB_ARRAY(f->k[0], (size_t)f->pair->stages * size)));
    for (int m = 1; m < f->pair->stages; m++) f->k[m] = f->k[m - 1] + size;
    for (size_t i = 0; i < rows; i++) {
        f->list[i] = i;
        f->depth[i] = 0;
        memset(f->state + i * width, 0, width * sizeof *f->state);
        if (f->error) f->error[i] = 0;
        memcpy(f->state + i * width, x + i * d, d * sizeof *x);
        f->key[i] = hb_checksum(HB_CHECKSUM_START, x + i * d, d * sizeof *x);
    }
    return HB_OK;
}

static hb_status flow_carry_rows(flow *f, double *x, double *sum)
{
    const int *labels = f->run->row_labels;
    HB_TRY(flow_create(f, x));
    f->run->row_labels = labels ? f->labels : NULL;
    f->run->row_keys = f->keys;
    const hb_status status = flow_cross_pieces(f);
    f->run->row_labels = labels;
    f->run->row_keys = NULL;
    for (size_t i = 0; status == HB_OK && i < f->rows; i++) {
        memcpy(x + i * f->run->dim, f->state + i * f->width, f->run->dim * sizeof *x);
        for (size_t m = 0; m < f->sums; m++)
            sum[i * f->sums + m] = f->state[i * f->width + f->run->dim + m];
    }
    hb_workspace_destroy(&f->work);
    return status;
}

size_t hb_flow_rows(const hb_reverse *run)
{
    const size_t width = run->dim + run->sums, fits = FLOW_DOUBLES / (MOST_STAGES + 3) / width;
    return fits < LEAST_ROWS ? LEAST_ROWS : fits < HB_CALL_ROWS ? fits : HB_CALL_ROWS;
}

hb_status hb_flow_integrate(hb_reverse *run, hb_level from, hb_level to, size_t rows, double *x,
                            double *sum, double *error)
{
    const size_t sums = sum ? run->sums : 0;
    flow f = {.run = run,
              .from = from,
              .to = to,
              .rows = rows,
              .sums = sums,
              .width = run->dim + sums,
              .tolerance =
                  isnan(run->settings->ode_tolerance) ? HB_TOLERANCE : run->settings->ode_tolerance,
              .length = fabs(log(to.sigma / from.sigma)),
              .error = sum ? error : NULL};
    f.pair = ARKodeButcherTable_LoadERK(ARKODE_CASH_KARP_6_4_5);
    HB_CHECK(run->context, f.pair && f.pair->stages <= MOST_STAGES, HB_ERROR_MEMORY,
             "no memory for the flow of %zu rows", rows);
    const hb_status status = flow_carry_rows(&f, x, sum);
    ARKodeButcherTable_Free(f.pair);
    return status;
}
