/* Reversed steps, for drifts F = -grad V that do not depend on tau: the walk follows the drift.
 *
 * u = e^{-pV} f turns du/dtau = Lap u - div(F u) into
 *     df/dtau = Lap f + c F.grad f - P f,     c = 2p - 1,     P = (1 - p)(div F + p |F|^2).
 * p = 0 is the parametrix, 1/2 the gauge, 1 the backward Kolmogorov equation (Math. Annalen 104,
 * 1931); p = 3/4 has lighter tails than 1. Reference: the drift c (b + A y) of linear_model.c,
 * forward, and P0 = P(x). With R = F(x') - b - A y, an event of rate l at s has the factor e^{-P0
 * s} (1 + r/l),
 *     r = c (z.R - div F(x') + tr A) + P0 - P(x'),     none before the longest lag h: e^{-P0 h}.
 * Derivative by x: dx'/dx = e^{cAs}, dr = (c z'(J(x') - A) - c grad div F(x') - grad P(x')) dx',
 * grad P = (1 - p)(grad div F + 2p J'F). Where the parametrix takes over, W e^{p(V(x) - V(x0))}.
 * A number to reproduce: F = 2(x - x^3), p = 3/4, x = 1.6: P = (2 - 15.36 + 0.75
 * 4.992^2)/4 = 1.3326. */
#include "walk/walk_constants.h"
#include "walk/walk_steps.h"

#include <math.h>
#include <string.h>

/* P */
static double reversed_sink(size_t d, double part, const double *F, double divergence)
{
    return (1 - part) * (divergence + part * hb_dot(d, F, F));
}

/* That of the parametrix, or faster where divergence or P vary more than the curvature says. */
static double reversed_rate_of(const hb_walk_problem *shared, hb_walk *walk,
                               const hb_walk_view *view)
{
    const size_t d = shared->d;
    const double part = walk->part, here = reversed_sink(d, part, view->F, *view->divergence);
    double slope = 0;
    for (size_t side = 0; side < 2; side++) {
        const double there = view->probe_divergence[side];
        slope = hb_walk_most(slope, fabs(there - *view->divergence));
        slope = hb_walk_most(slope,
                             fabs(reversed_sink(d, part, view->probe_F + side * d, there) - here));
    }
    slope /= view->reach;
    if (slope * slope > walk->base_rate * walk->base_rate * walk->base_rate)
        return view->rate_multiplier * cbrt(slope * slope);
    return hb_parametrix_rate(shared, walk, view->rate_multiplier);
}

static int reversed_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *E = view->work, *m = E + hb_walk_matrix(shared), *work = m + d;
    const double cap = hb_walk_least(view->most, STEP_REACH / view->rate);
    const double event = -log(view->uniform) / view->rate;
    const double s = hb_walk_least(event, cap), flow = 1 - 2 * walk->part;
    walk->reference = reversed_sink(d, walk->part, view->F, *view->divergence);
    walk->trace = hb_trace(d, view->jacobian);
    hb_walk_frame(shared, view, flow, s, E, m, view->spread, work);
    hb_walk_carry(shared, E, row.tangent, work);
    walk->log_weight -= walk->reference * s;
    walk->left -= s;
    walk->rate = view->rate;
    walk->lost |= !hb_walk_move(shared, walk, view, m);
    if (event < cap) {
        walk->pending = &hb_walk_reversed;
        hb_walk_keep_frame(shared, walk, view, work);
    }
    return 0;
}

/* The derivative of r by x' in gap[d]; z'(J - A) is in it. */
static void complete_gap(size_t d, double part, const hb_walk_view *view, double *gap)
{
    const double flow = 2 * part - 1;
    for (size_t j = 0; j < d; j++) {
        double product = 0; // J'F
        for (size_t i = 0; i < d; i++) product += view->jacobian[i * d + j] * view->F[i];
        gap[j] = flow * (gap[j] - view->grad_divergence[j]) -
                 (1 - part) * (view->grad_divergence[j] + 2 * part * product);
    }
}

static void reversed_apply_correction(const hb_walk_problem *shared, hb_walk *walk,
                                      const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double part = walk->part;
    double *change = view->work, *gap = change + d, rest = walk->trace - *view->divergence;
    for (size_t i = 0; i < d; i++) rest += row.gradient[i] * (view->F[i] - row.expected[i]);
    rest = (2 * part - 1) * rest + walk->reference -
           reversed_sink(d, part, view->F, *view->divergence);
    hb_walk_rest_slope(shared, walk, view, gap);
    complete_gap(d, part, view, gap);
    memset(change, 0, d * sizeof *change);
    hb_walk_pull(shared, row.tangent, 1 / walk->rate, gap, change);
    hb_walk_multiply(d, walk, row.slope, 1 + rest / walk->rate, change);
}

const hb_walk_ops hb_walk_reversed = {.far = 2000,
                                      .rate = reversed_rate_of,
                                      .step = reversed_step,
                                      .apply_correction = reversed_apply_correction};
