/* What walks may not see at a point, and what that does to their errors.
 *
 *     breaks      kinks that are steep, or beside the path to a point; jumps have no score
 *     stiff       a gradient whose wells walks do not fall into, but for reversed ones
 *     hidden      narrow parts of the drift (walk_hidden.c) and of the initial density
 *     far         walks to a point, far in a tail under a stiff gradient
 * A drift -0.7 x + 16.8 q/(1 + q^2), q = -2.545 x - 0.966, noise 0.841, t = 0.92, x = 0.186 must be
 * stiff: by steps along a frame it is 40 % off with a reported error of 0.4 %. */
#include "problem/drift_facts.h"
#include "problem/initial/initial_average.h"
#include "walk/walk_constants.h"
#include "walk/walk_parts.h"

#include <string.h>

enum {
    LINE = 1024,  /* positions on a line that is looked along for steep parts */
    BANDS = 20,   /* half standard deviations on each side of the ends of walks */
    STIFF_DIM = 8 /* up to here gradients are looked at for stiff parts */
};

int hb_walks_is_hidden(double effect)
{
    return !(effect < MOST_HIDDEN);
}

/* ---- before the pilot run ---- */

/* The largest entry of the Jacobian on lines along the axes through x0, as far as a walk goes
 * without a drift. scratch: (LINE, d), (LINE), (LINE, d, d), (LINE, d) */
static hb_status steepest(const hb_walks *w, const double *x0, double *scratch, double *most)
{
    const size_t d = w->shared.d;
    const double tau = w->shared.tau, reach = 4 * sqrt(2 * tau);
    double *x = scratch, *times = x + LINE * d, *jacobian = times + LINE,
           *F = jacobian + LINE * d * d;
    *most = 0;
    for (size_t axis = 0; axis < d; axis++) {
        for (size_t k = 0; k < LINE; k++) {
            memcpy(x + k * d, x0, d * sizeof *x);
            x[k * d + axis] += reach * (2 * ((double)k + 0.5) / LINE - 1);
            times[k] = tau * (double)(k * 37 % LINE) / LINE;
        }
        HB_TRY(hb_problem_drift_each(w->context, w->shared.problem, LINE, x, times, F, NULL, NULL,
                                     jacobian));
        for (size_t k = 0; k < LINE * d * d; k++)
            if (isfinite(jacobian[k])) *most = fmax(*most, fabs(jacobian[k]));
    }
    return HB_OK;
}

/* Calls look for each point with a scratch of LINE (d d + 2 d + 1) doubles. */
static hb_status each_point(hb_walks *w, hb_status (*look)(hb_walks *w, size_t i, double *scratch))
{
    const size_t d = w->shared.d;
    void *memory;
    HB_TRY(hb_allocate(w->context, LINE * (d * d + 2 * d + 1), sizeof(double), &memory));
    hb_status status = HB_OK;
    for (size_t i = 0; i < w->n && status == HB_OK; i++) status = look(w, i, memory);
    hb_release(w->context, memory);
    return status;
}

/* A walk along a frame or a potential goes straight to where the density at x0 seems to come from.
 * Where falling into a steep well and climbing out again is more probable, none of many walks sees
 * that. Reversed walks follow the drift, and are flagged when they cannot tell. */
static hb_status find_stiff(hb_walks *w, size_t i, double *scratch)
{
    double most = 0;
    HB_TRY(steepest(w, w->points + i * w->shared.d, scratch, &most));
    w->stiff[i] = most * w->shared.tau > STIFF;
    return HB_OK;
}

/* Whether walks, whose ends are spread over b = sqrt(2 tau), meet the peak of the initial density
 * too rarely: one that does counts for b sqrt(2 pi) max u others on each axis. */
static int start_is_hidden(const hb_walks *w)
{
    double weight = 0;
    for (int a = 0; a < (int)w->shared.d; a++) {
        const double most = hb_problem_initial_most(w->shared.problem, a);
        weight += fmax(0, most + 0.5 * log(4 * M_PI * w->shared.tau));
    }
    return weight > log(RARE_START);
}

/* Under a linear drift walks end at N(m, C). Adds to *part which part of E[u0] comes along an axis
 * from beyond UNREACHED standard deviations, where one walk in 16000 ends: a start that rises
 * steeply there has its mass unseen. */
static hb_status add_unreached(const hb_walks *w, const double *x, size_t axis, double *part)
{
    const size_t d = w->shared.d;
    const double *E = w->shared.exact + axis * d, *n = w->shared.exact + 2 * d * d;
    const double s = sqrt(w->shared.exact[d * d + axis * (d + 1)]);
    double mean = n[axis], sum = 0, far = 0;
    for (size_t k = 0; k < d; k++) mean += E[k] * x[k];
    for (int band = -BANDS; band < BANDS; band++) {
        const double low = mean + 0.5 * band * s, away = fabs(0.5 * band + 0.25);
        double log_mass = -INFINITY;
        int known;
        HB_TRY(hb_problem_initial_axis_mass(w->context, w->shared.problem, (int)axis, low,
                                            low + 0.5 * s, &known, &log_mass));
        if (!known) return HB_OK;
        const double value = exp(log_mass - away * away / 2);
        sum += value;
        if (away > UNREACHED) far += value;
    }
    if (far > LEAST_UNREACHED * sum) *part += far / sum;
    return HB_OK;
}

static hb_status find_unreached(hb_walks *w, size_t i)
{
    double part = 0;
    if (!w->shared.exact || w->closed) return HB_OK;
    for (size_t a = 0; a < w->shared.d; a++)
        HB_TRY(add_unreached(w, w->points + i * w->shared.d, a, &part));
    w->hidden[i] = (hb_hidden){part, part};
    return HB_OK;
}

/* Narrow parts of u0 and of the drift; walks whose only step is exact see all of the drift. */
hb_status hb_walks_look(hb_walks *w)
{
    if (w->shared.gradient && w->shared.d <= STIFF_DIM) HB_TRY(each_point(w, find_stiff));
    const int start = start_is_hidden(w);
    for (size_t i = 0; i < w->n; i++) {
        if (start)
            w->hidden[i] = (hb_hidden){INFINITY, INFINITY};
        else if (w->shared.linear)
            HB_TRY(find_unreached(w, i));
        else
            HB_TRY(
                hb_walk_hidden(w->context, &w->shared, w->points + i * w->shared.d, w->hidden + i));
    }
    return HB_OK;
}

/* ---- after it ---- */

/* Where F jumps, its Jacobian lacks a part that the derivative of a walk's weight needs; so do div
 * F and its gradient at kinks, which steps for gradients use. */
static int flags_jumps(const hb_problem *problem)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    int found = 0;
    for (int k = 0; k < facts->n_breaks; k++) found |= facts->breaks[k].kind != HB_BREAK_KINK;
    return found;
}

/* Walks to a point hardly leave the path there: none may see the drift beyond a kink beside it. 1:
 * a break may be within BESIDE deviations of the path from x0. */
static hb_status is_beside(const hb_walks *w, const double *x0, int *yes)
{
    const hb_problem *problem = w->shared.problem;
    const hb_drift_facts *facts = hb_problem_facts(problem);
    const size_t d = w->shared.d, n = (size_t)facts->n_breaks;
    const double *place = w->shared.place, reach = BESIDE * sqrt(2 * w->shared.tau);
    void *memory;
    if (!place || n == 0) return HB_OK;
    HB_TRY(hb_allocate(w->context, d + n, sizeof(hb_interval), &memory));
    hb_interval *box = memory, *arguments = box + d;
    for (size_t k = 0; k < d; k++)
        box[k] = (hb_interval){fmin(x0[k], place[k]) - reach, fmax(x0[k], place[k]) + reach};
    const hb_status status = hb_problem_ranges(w->context, problem, box,
                                               (hb_interval){0, w->shared.tau}, NULL, arguments);
    for (size_t k = 0; k < n && status == HB_OK; k++)
        *yes |= arguments[k].low <= 0 && arguments[k].high >= 0;
    hb_release(w->context, memory);
    return status;
}

/* Near kinks that are steep, what counts may sit in walks that are too rare to be seen. */
static hb_status flag_breaks(hb_walks *w, size_t i, double *scratch)
{
    const size_t d = w->shared.d;
    const hb_initial_facts *initial = hb_problem_initial_facts(w->shared.problem);
    const int no_score = flags_jumps(w->shared.problem) || initial->jumps;
    double most, *error = w->errors + i * (1 + d);
    int beside = initial->broken;
    HB_TRY(steepest(w, w->points + i * d, scratch, &most));
    HB_TRY(is_beside(w, w->points + i * d, &beside));
    const int steep = most * w->shared.tau > STEEPEST;
    error[0] = steep ? INFINITY : beside ? BESIDE_ERROR : 0;
    for (size_t k = 0; k < d; k++)
        error[1 + k] = steep || no_score ? INFINITY : error[0] / sqrt(2 * w->shared.tau);
    return HB_OK;
}

/* Narrow parts, by the plan that was taken. */
static void flag_hidden(hb_walks *w)
{
    const size_t row = 1 + w->shared.d;
    const double away = w->shared.linear ? UNREACHED + 2 : 1; /* deviations, as in the score */
    for (size_t i = 0; i < w->n; i++) {
        const double effect =
            hb_walk_is_bridge(w->plans + i) ? w->hidden[i].bridges : w->hidden[i].steps;
        double *error = w->errors + i * row;
        if (!(effect > 0)) continue;
        error[0] += hb_walks_is_hidden(effect) ? INFINITY : effect;
        for (size_t k = 1; k < row; k++)
            error[k] +=
                hb_walks_is_hidden(effect) ? INFINITY : away * effect / sqrt(2 * w->shared.tau);
        w->far = 1;
    }
}

/* Walks to a point go the straight path too, reversed or not: far in a tail one through a well
 * beside it may be more probable by orders of magnitude, and is seen by none. Where walks to a
 * point do not vary, the sums in ln W, of |x0 - y|^2/4tau + tau |F|^2/4 at most, are rounded: that
 * is then all of the error. scratch: F (d). */
static hb_status flag_far(hb_walks *w, size_t i, double *F)
{
    const size_t d = w->shared.d;
    const double tau = w->shared.tau, *place = w->shared.place, *x = w->points + i * d;
    double squares = 0, *error = w->errors + i * (1 + d);
    HB_TRY(hb_problem_drift_each(w->context, w->shared.problem, 1, x, &tau, F, NULL, NULL, NULL));
    for (size_t k = 0; k < d; k++)
        squares += (x[k] - place[k]) * (x[k] - place[k]) / (4 * tau) + tau * F[k] * F[k] / 4;
    error[0] = SUM_ROUNDING * squares;
    for (size_t k = 0; k <= d && w->stiff[i] && w->log_scale[i] <= FAR_TAIL; k++)
        error[k] = INFINITY;
    w->far = 1;
    return HB_OK;
}

hb_status hb_walks_flag(hb_walks *w)
{
    if (w->shared.gradient && w->shared.place) HB_TRY(each_point(w, flag_far));
    if (w->breaks) HB_TRY(each_point(w, flag_breaks));
    if (!w->closed) flag_hidden(w);
    return HB_OK;
}
