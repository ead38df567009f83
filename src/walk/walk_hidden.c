/* Parts of the drift that are too narrow for walks to see.
 *
 * The rate of a walk comes from probes three standard deviations of a step away, which do not see a
 * bump between them: the walk jumps over it, and what that is worth sits in walks too rare to be
 * drawn. Steps that resolve a bump of width w take about sqrt(tau)/w of them at each visit. But
 * features.c knows the bumps of a formula: on the lines along the axes through x0, as far as walks
 * go, cells that are short against b = sqrt(2 tau). On a run of such cells, from s = a to s = c,
 * with e(s) the part of F(s) outside of [F(a), F(c)] and J the part of |F(c) - F(a)| that the
 * slopes at both ends do not explain,
 *     int |e| ds + J b/2
 * bounds what the run does to ln u: e shifts the potential, and a jump acts over the local time b/2
 * of a path through div F, which only steps for gradients look at. Bridges know the potential
 * exactly (potential_rise.c) and look at Q = |F|^2/4 + div F/2 alone: int |e| ds b of Q. Runs of
 * little effect that are seen often enough are left to the spread of the walks.
 * A number to reproduce: F = 300 exp(-((x - 0.6)/0.01)^2), tau = 0.25, x0 = 0.5: 300 0.01
 * sqrt(pi) = 5.3. */
#include "problem/drift_facts.h"
#include "walk/walk_constants.h"
#include "walk/walk_parts.h"

#include <string.h>

enum { PER_CELL = 8, MOST_CELLS = 64, MOST = PER_CELL * MOST_CELLS + 1, TIMES = 3 };

typedef struct looker {
    hb_context *context;
    const hb_walk_problem *shared;
    const double *x0;
    double b;
    double *s, *x, *values, *times; // (MOST), (MOST, d), (MOST, d + 1), (MOST)
    hb_workspace work;
} looker;

/* int |e| of column j of the values at s[n], and J. */
static double hidden_outside(const looker *l, size_t n, size_t width, size_t j, double *jump)
{
    const double *v = l->values + j, *s = l->s, first = v[0], last = v[(n - 1) * width];
    const double low = fmin(first, last), high = fmax(first, last);
    const double rise = fabs(v[width] - first) / (s[1] - s[0]);
    const double fall = fabs(last - v[(n - 2) * width]) / (s[n - 1] - s[n - 2]);
    double sum = 0;
    for (size_t k = 1; k + 1 < n; k++)
        sum += 0.5 * (s[k + 1] - s[k - 1]) * fmax(0, fmax(v[k * width] - high, low - v[k * width]));
    *jump = fmax(0, high - low - HIDDEN_SLOPES * (s[n - 1] - s[0]) * fmax(rise, fall));
    return sum;
}

/* What the run at s[n] does at most. */
static hb_status weigh_run(looker *l, size_t axis, size_t n, hb_hidden *effect)
{
    const hb_walk_problem *shared = l->shared;
    const size_t d = shared->d;
    double jump;
    *effect = (hb_hidden){0};
    for (size_t k = 0; k < n; k++) {
        memcpy(l->x + k * d, l->x0, d * sizeof *l->x);
        l->x[k * d + axis] = l->s[k];
    }
    for (int t = 0; t < TIMES; t++) {
        for (size_t k = 0; k < n; k++) l->times[k] = shared->tau * t / (TIMES - 1);
        HB_TRY(hb_problem_drift_each(l->context, shared->problem, n, l->x, l->times, l->values,
                                     NULL, NULL, NULL));
        for (size_t j = 0; j < d; j++) {
            const double bump = hidden_outside(l, n, d, j, &jump);
            effect->steps = fmax(effect->steps, bump + (shared->gradient ? 0.5 * l->b * jump : 0));
        }
    }
    effect->bridges = effect->steps;
    if (!shared->gauge) return HB_OK;
    HB_TRY(hb_gauge_formula_run(l->context, shared->gauge, n, l->x, l->values));
    effect->bridges = l->b * hidden_outside(l, n, d + 1, 0, &jump);
    return HB_OK;
}

/* Of walks that meet the run more often, only the larger effects are hidden. */
static double hidden_counted(double effect, double shortest, double b)
{
    const double least = shortest < RARE * b       ? 0
                         : shortest < NARROWER * b ? SMALL_EFFECT
                                                   : LARGE_EFFECT;
    return effect >= least ? effect : 0;
}

/* Runs of narrow cells on one axis. */
static hb_status hidden_look_along(looker *l, size_t axis, const hb_features *f, hb_hidden *out)
{
    for (int k = 0; k < f->n; k++) {
        size_t n = 0;
        double shortest = INFINITY;
        for (int cells = 0; k < f->n && cells < MOST_CELLS; k++, cells++) {
            const double low = f->borders[k], length = f->borders[k + 1] - low;
            if (length >= NARROW * l->b) break;
            shortest = fmin(shortest, length);
            for (int j = 0; j < PER_CELL; j++) l->s[n++] = low + length * j / PER_CELL;
            l->s[n] = f->borders[k + 1];
        }
        hb_hidden effect;
        if (n == 0) continue;
        HB_TRY(weigh_run(l, axis, n + 1, &effect));
        out->steps += hidden_counted(effect.steps, shortest, l->b);
        out->bridges += hidden_counted(effect.bridges, shortest, l->b);
    }
    return HB_OK;
}

/* Lines along the axes; box: (2, d), where the initial density is. */
static hb_status hidden_look_at(looker *l, const double *box, hb_hidden *out)
{
    const size_t d = l->shared->d;
    hb_interval range[HB_HIDDEN_DIM];
    for (size_t axis = 0; axis < d; axis++) {
        hb_features features;
        for (size_t k = 0; k < d; k++) range[k] = (hb_interval){l->x0[k], l->x0[k]};
        range[axis].low = fmin(l->x0[axis], box[axis]) - HIDDEN_REACH * l->b;
        range[axis].high = fmax(l->x0[axis], box[d + axis]) + HIDDEN_REACH * l->b;
        HB_TRY(hb_problem_features(l->context, l->shared->problem, (int)axis, range, &features));
        const hb_status status =
            features.n > 1 ? hidden_look_along(l, axis, &features, out) : HB_OK;
        hb_features_destroy(l->context, &features);
        HB_TRY(status);
    }
    return HB_OK;
}

hb_status hb_walk_hidden(hb_context *context, const hb_walk_problem *shared, const double *x0,
                         hb_hidden *out)
{
    const size_t d = shared->d;
    double box[2 * HB_HIDDEN_DIM];
    looker l = {.context = context, .shared = shared, .x0 = x0, .b = sqrt(2 * shared->tau)};
    *out = (hb_hidden){0};
    if (d > HB_HIDDEN_DIM) return HB_OK;
    if (!shared->place) HB_TRY(hb_problem_initial_box(context, shared->problem, box, box + d));
    for (size_t k = 0; k < d && shared->place; k++) box[k] = box[d + k] = shared->place[k];
    HB_TRY(HB_WORKSPACE(context, &l.work, HB_ARRAY(l.s, MOST), HB_ARRAY(l.x, MOST * d),
                        HB_ARRAY(l.values, MOST * (d + 1)), HB_ARRAY(l.times, MOST)));
    const hb_status status = hidden_look_at(&l, box, out);
    hb_workspace_destroy(&l.work);
    return status;
}
