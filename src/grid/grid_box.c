/* The box of a grid, from the problem alone.
 *
 * PARTICLES draws of the initial density move by tamed Euler steps (path/ensemble.c) that end at
 * cuts around narrow pulses in t. A second ensemble has its noise and its initial width INFLATION
 * times larger. By large deviations (Freidlin and Wentzell) u ~ exp(-I) with an action I that both
 * share up to the factor INFLATION^2: where the farthest of 2000 inflated particles come over many
 * steps, about e^-7.5 of their maximum, the density itself is down by 7.5 INFLATION^2 = 57 (d = 1),
 * 45, 33 (d = 3). The box is the hull of the inflated ensemble in the second half of the time, of
 * the first one at all times, of the initial box, and of the requested points with a margin,
 * because the layer at a boundary without flux is no part of the answer on the whole space. (A path
 * that leaves the box early and comes back brings e^-I of the mass with it, which is nothing.)
 *
 * The width along an axis, which sets the number of points, is the least of the standard
 * deviations over time, the Fisher length (E (d_a ln u0)^2)^-1/2, and (E max(0, -d_a F_a))^-1/2,
 * to which a stable drift squeezes. */
#include "grid/grid_box.h"
#include "base/context.h"
#include "base/memory.h"
#include "path/ensemble.h"
#include "problem/time_cuts.h"

#include <math.h>
#include <string.h>

enum { PARTICLES = 2000, STEPS = 256, MOST_STEPS = 4096, PIECE_STEPS = 8 };

static const double INFLATION[] = {2.75, 2.45, 2.1};       /* by dimension */
static const double TENSOR_INFLATION[] = {2.75, 2.1, 1.9}; /* whose corners cost more */
static const double SHRINK = 0.85;                         /* of the inflation, for heavy tails */
static const double MOST_WIDTHS[] = {1024, 51, 24};        /* of a box, under tensor noise */
static const double FAR_SPANS = 2;                         /* of the box without points */
static const double FAR_DRIFT = 20;                        /* of the largest drift in that box */
static const double REACH = 7.5;                           /* of an initial box, in its widths */
static const double MARGIN = 0.5; /* beyond a requested point, in standard deviations */

typedef struct box_search {
    hb_context *context;
    const hb_problem *problem;
    size_t d;
    const hb_grid_from *from; /* NULL: the initial density, at tau = 0 */
    int steps;
    double *tau; // (steps + 1), of steps of different lengths; NULL: they are even
    double late; /* part of the time after which the inflated ensemble counts */
    double tau_begin, tau_end;
    hb_ensemble paths;
    double *jacobian;                             // (PARTICLES, d, d)
    double least[3], most[3];                     /* of the particles, over time */
    double least_deviation[3], most_deviation[3]; /* over time */
    double most_drift;                            /* of the inflated ensemble */
    int stopped; /* the inflated ensemble came where drift or noise is not finite */
} box_search;

static void box_observe(box_search *s)
{
    double mean[3], variance[3];
    for (size_t i = 0; i < PARTICLES * s->d; i++) {
        const size_t a = i % s->d;
        s->least[a] = fmin(s->least[a], s->paths.x[i]);
        s->most[a] = fmax(s->most[a], s->paths.x[i]);
    }
    hb_ensemble_moments(&s->paths, mean, variance);
    for (size_t a = 0; a < s->d; a++) {
        s->least_deviation[a] = fmin(s->least_deviation[a], sqrt(variance[a]));
        s->most_deviation[a] = fmax(s->most_deviation[a], sqrt(variance[a]));
    }
}

/* A correlated ensemble is thinner than its standard deviations. */
static void box_observe_lengths(box_search *s)
{
    double lengths[3];
    hb_ensemble_lengths(PARTICLES, (int)s->d, s->paths.x, lengths);
    for (size_t a = 0; a < s->d; a++)
        s->least_deviation[a] = fmin(s->least_deviation[a], lengths[a]);
}

/* The normals of a step; those of step -1 widen the start. */
static uint64_t box_normals_of(const box_search *s, int step)
{
    return (uint64_t)(step + 1) * s->paths.per_draw;
}

/* Where there are cuts: even steps, and PIECE_STEPS at least in each piece. Sets tau of all
 * steps. */
static hb_status box_lay_steps(box_search *s)
{
    const hb_time_cuts *cuts = hb_problem_cuts(s->problem);
    const double even = (s->tau_end - s->tau_begin) / s->steps;
    const size_t most = (size_t)s->steps + (size_t)(PIECE_STEPS + 1) * ((size_t)cuts->n + 1) + 1;
    if (!(hb_cuts_after(cuts, s->tau_begin, s->tau_end) < s->tau_end)) return HB_OK;
    HB_TRY(HB_NEW(s->context, s->tau, most));
    s->tau[s->steps = 0] = s->tau_begin;
    for (double low = s->tau_begin, high; low < s->tau_end; low = high) {
        high = hb_cuts_after(cuts, low, s->tau_end);
        const int steps = (int)fmax(ceil((high - low) / even), high < s->tau_end ? PIECE_STEPS : 1);
        for (int k = 1; k <= steps; k++)
            s->tau[++s->steps] = k < steps ? low + (high - low) * k / steps : high;
    }
    return HB_OK;
}

static hb_status box_move(box_search *s, int step, double inflation)
{
    const double even = (s->tau_end - s->tau_begin) / s->steps,
                 tau = s->tau ? s->tau[step] : s->tau_begin + step * even;
    const hb_ensemble_move move = {.tau = tau,
                                   .step = s->tau ? s->tau[step + 1] - tau : even,
                                   .inflation = inflation,
                                   .first = box_normals_of(s, step)};
    return hb_ensemble_step(&s->paths, &move);
}

/* The particles at the first tau, nothing observed yet. */
static hb_status box_begin(box_search *s)
{
    double *x = s->paths.x;
    for (size_t a = 0; a < s->d; a++) {
        s->least[a] = s->least_deviation[a] = INFINITY;
        s->most[a] = s->most_deviation[a] = -INFINITY;
    }
    if (!s->from) return hb_problem_initial_sample(s->context, s->problem, 1, 0, PARTICLES, x);
    HB_TRY(hb_ensemble_draw(&s->paths, box_normals_of(s, s->steps)));
    for (size_t i = 0; i < PARTICLES * s->d; i++)
        x[i] = s->from->place[i % s->d] + s->from->width * s->paths.normals[i];
    return HB_OK;
}

/* The Fisher length of the initial density at the particles, or the standard deviation without
 * one. */
static hb_status box_initial_widths(box_search *s, double *width)
{
    double *slopes = s->paths.F, *values = s->paths.normals;
    for (size_t a = 0; a < s->d && s->from; a++) width[a] = s->from->width;
    if (s->from) return HB_OK;
    HB_TRY(hb_problem_initial(s->context, s->problem, PARTICLES, s->paths.x, values, slopes));
    for (size_t a = 0; a < s->d; a++) {
        double fisher = 0;
        for (size_t i = a; i < PARTICLES * s->d; i += s->d)
            fisher += slopes[i] * slopes[i] / PARTICLES;
        width[a] = fisher > 0 ? fmin(1 / sqrt(fisher), s->least_deviation[a]) : 0;
    }
    return HB_OK;
}

/* The ensemble itself: widths[d] of the initial density, and box->width of all times. */
static hb_status box_follow(box_search *s, double *widths, hb_grid_box *box)
{
    HB_TRY(box_begin(s));
    box_observe(s);
    HB_TRY(box_initial_widths(s, widths));
    for (int step = 0; step < s->steps; step++) {
        HB_TRY(box_move(s, step, 1));
        box_observe(s);
        if (s->paths.tensor) box_observe_lengths(s);
    }
    HB_TRY(hb_problem_drift(s->context, s->problem, PARTICLES, s->paths.x, s->tau_end, NULL, NULL,
                            NULL, s->jacobian));
    for (size_t a = 0; a < s->d; a++) {
        double squeeze = 0;
        for (size_t i = 0; i < PARTICLES; i++)
            squeeze += fmax(0, -s->jacobian[(i * s->d + a) * s->d + a]) / PARTICLES;
        box->width[a] = s->least_deviation[a];
        if (widths[a] > 0) box->width[a] = fmin(box->width[a], widths[a]);
        if (squeeze * s->tau_end > 1 && !s->paths.tensor)
            box->width[a] = fmin(box->width[a], 1 / sqrt(squeeze));
    }
    return HB_OK;
}

/* The inflated ensemble: its hull in the second half. Where the drift is not finite that far
 * out, the hull so far stays. */
static hb_status box_follow_inflated(box_search *s, double inflation, const double *widths)
{
    const double added = sqrt(inflation * inflation - 1);
    HB_TRY(box_begin(s));
    HB_TRY(hb_ensemble_draw(&s->paths, 0));
    for (size_t i = 0; i < PARTICLES * s->d; i++)
        s->paths.x[i] += added * widths[i % s->d] * s->paths.normals[i];
    for (int step = 0; step < s->steps; step++) {
        const hb_status status = box_move(s, step, inflation);
        s->stopped = status == HB_ERROR_DOMAIN;
        if (s->stopped) return HB_OK;
        HB_TRY(status);
        for (size_t i = 0; i < PARTICLES * s->d; i++)
            s->most_drift = fmax(s->most_drift, fabs(s->paths.F[i]));
        const double done = s->tau ? s->tau[step] - s->tau_begin : step,
                     whole = s->tau ? s->tau_end - s->tau_begin : s->steps;
        if (done >= s->late * whole) box_observe(s);
    }
    return HB_OK;
}

/* Noise that grows with x has heavy tails, and the inflated ensemble goes where no even mesh can
 * follow: the inflation shrinks until the hull is at most MOST_WIDTHS of its widths long, and
 * drift and noise are finite on it. What the boundaries then do is part of the errors
 * (boundary_errors.c). */
static hb_status box_follow_tails(box_search *s, const double *widths, const hb_grid_box *box)
{
    const int tensor = s->paths.tensor;
    double inflation = tensor ? TENSOR_INFLATION[s->d - 1] : INFLATION[s->d - 1];
    for (int wide = 1; wide && inflation > 1; inflation *= SHRINK) {
        HB_TRY(box_follow_inflated(s, inflation, widths));
        wide = tensor && s->stopped;
        for (size_t a = 0; a < s->d; a++)
            wide |= tensor && s->most[a] - s->least[a] > MOST_WIDTHS[s->d - 1] * box->width[a];
    }
    return HB_OK;
}

hb_status hb_grid_box_hold(hb_context *context, const hb_problem *problem,
                           const hb_box_points *points, hb_grid_box *box)
{
    const size_t d = (size_t)hb_problem_dim(problem);
    const hb_grid_box hull = *box;
    for (size_t i = 0; i < points->n; i++) {
        const double *x = points->at + i * d;
        double F[3];
        int far = 0;
        HB_TRY(hb_problem_drift_each(context, problem, 1, x, &points->tau, F, NULL, NULL, NULL));
        for (size_t a = 0; a < d; a++) {
            const double span = hull.high[a] - hull.low[a];
            const double out = fmax(hull.low[a] - x[a], x[a] - hull.high[a]);
            far |= out > FAR_SPANS * span ||
                   (out > 0 && !(fabs(F[a]) <= FAR_DRIFT * (points->most_drift + 1 / span)));
        }
        for (size_t a = 0; a < d && !far; a++) {
            box->low[a] = fmin(box->low[a], x[a] - MARGIN * points->deviation[a]);
            box->high[a] = fmax(box->high[a], x[a] + MARGIN * points->deviation[a]);
        }
    }
    return HB_OK;
}

static hb_status box_find(box_search *s, size_t n_at, const double *at, hb_grid_box *box)
{
    double low[3] = {0}, high[3] = {0}, widths[3] = {0}, deviation[3];
    if (!s->from) HB_TRY(hb_problem_initial_box(s->context, s->problem, low, high));
    for (size_t a = 0; a < s->d && s->from; a++) {
        low[a] = s->from->place[a] - REACH * s->from->width;
        high[a] = s->from->place[a] + REACH * s->from->width;
    }
    HB_TRY(box_follow(s, widths, box));
    memcpy(deviation, s->most_deviation, sizeof deviation);
    for (size_t a = 0; a < s->d; a++) {
        box->low[a] = fmin(s->least[a], low[a]);
        box->high[a] = fmax(s->most[a], high[a]);
    }
    HB_TRY(box_follow_tails(s, widths, box));
    for (size_t a = 0; a < s->d; a++) {
        box->low[a] = fmin(box->low[a], s->least[a]);
        box->high[a] = fmax(box->high[a], s->most[a]);
    }
    const hb_box_points points = {n_at, at, s->tau_end, s->most_drift, deviation};
    return hb_grid_box_hold(s->context, s->problem, &points, box);
}

hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem,
                             const hb_grid_from *from, double late, double step, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out)
{
    memset(out, 0, sizeof *out);
    const size_t d = (size_t)hb_problem_dim(problem);
    box_search s = {.context = context,
                    .problem = problem,
                    .d = d,
                    .from = from,
                    .steps = STEPS,
                    .late = late,
                    .tau_begin = from ? from->tau : 0,
                    .tau_end = tau_end};
    if (step > 0) s.steps = (int)fmin(fmax(ceil(tau_end / step), STEPS), MOST_STEPS);
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(s.jacobian, PARTICLES * d * d)));
    hb_status status = hb_ensemble_create(context, problem, PARTICLES, &s.paths);
    if (status == HB_OK) status = box_lay_steps(&s);
    if (status == HB_OK) status = box_find(&s, n_at, at, out);
    hb_release(context, s.tau);
    hb_ensemble_destroy(&s.paths);
    hb_workspace_destroy(&work);
    return status;
}
