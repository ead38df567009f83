/* Parametrix steps: the drift replaced by its linearisation, the difference corrected at random.
 *
 * With b = F(x), A its Jacobian, R(y) = F(x', tau - s) - b - A y, y = x' - x, x' = x + m + L g and
 * z = L'^-1 g (linear_model.c), Duhamel's formula for du/dtau = Lap u - div(F u) is
 *   u(x,tau) = e^{-c tr A} E[u(x'_c, tau-c)] - int_0^c e^{-s tr A} E[z.R(x'_s) u(x'_s, tau-s)] ds.
 * Draw s ~ Exp(l): an event at s < c gives the factor e^{-s tr A} (1 - z.R/l), none before c gives
 * e^{-c tr A}. Weights stay near 1 when l is large against z.R ~ k sqrt(s), so l ~ k^(2/3). A new
 * frame starts after every event, every c = 2/l and at the cuts around narrow pulses in t
 * (time_cuts.h). A linear drift has R = 0, l = 0, c = tau: one step. With shared->full_frame 0 the
 * diagonal takes the place of A, and |A - diag A| is added to l. Derivative by x: dx'/dx = E,
 * d(z.R) = z.(J(x') - A) E dx.
 * A number to reproduce: F = -x from x = 0.7 over s = 0.5 has m = 0.7 (e^0.5 - 1), C = e - 1 and
 * the factor e^0.5. */
#include "bridge/bridge.h"
#include "walk/walk_constants.h"
#include "walk/walk_steps.h"

#include <math.h>
#include <string.h>

/* |F(probe) - b - A y| for the probe at +reach or -reach. */
static double remainder_size(size_t d, const hb_walk_view *view, const double *direction, int side)
{
    double squares = 0;
    for (size_t i = 0; i < d; i++) {
        double rest = view->probe_F[(size_t)side * d + i] - view->F[i];
        for (size_t j = 0; j < d; j++)
            rest -= (side ? -view->reach : view->reach) * view->jacobian[i * d + j] * direction[j];
        squares += rest * rest;
    }
    return sqrt(squares);
}

double hb_parametrix_base_rate(const hb_walk_problem *shared, const hb_walk *walk,
                               const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double size = hb_walk_most(remainder_size(d, view, row.direction, 0),
                                     remainder_size(d, view, row.direction, 1));
    double all = 0, outside = 0; // squares of the Jacobian, and of what the frame leaves out
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            const double square = view->jacobian[i * d + j] * view->jacobian[i * d + j];
            all += square;
            if (!shared->full_frame && i != j) outside += square;
        }
    const double curvature = 2 * MOMENT * size / (view->reach * view->reach);
    return cbrt(curvature * curvature) + sqrt(outside) + JACOBIAN_RATE * sqrt(all / (double)d);
}

double hb_parametrix_rate(const hb_walk_problem *shared, const hb_walk *walk,
                          double rate_multiplier)
{
    return hb_walk_most(rate_multiplier * walk->base_rate, LEAST_RATE / shared->tau);
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Those of a drift that is linear at every tau, over the whole path; returns w. */
static double exact_frame(const hb_walk_problem *shared, const double *x, double *E, double *m,
                          double *C)
{
    const size_t d = shared->d;
    const double *all = shared->exact, *spread = all + d * d, *n = spread + d * d;
    for (size_t i = 0; i < d; i++) {
        m[i] = n[i] - x[i];
        for (size_t j = 0; j < d; j++) m[i] += all[i * d + j] * x[j];
        for (size_t j = 0; shared->full_frame && j < d; j++) {
            E[i * d + j] = all[i * d + j];
            C[i * d + j] = spread[i * d + j];
        }
        if (shared->full_frame) continue;
        E[i] = all[i * d + i];
        C[i] = spread[i * d + i];
    }
    return n[d];
}

static double parametrix_rate_of(const hb_walk_problem *shared, hb_walk *walk,
                                 const hb_walk_view *view)
{
    return hb_parametrix_rate(shared, walk, view->rate_multiplier);
}

/* Whether a step may leave so little that it must lead to the point. Others leave half or more. */
static int is_conditioned(const hb_walk_problem *shared, const hb_walk *walk, double rate)
{
    return shared->place && walk->stop <= 0 && rate * walk->left <= 2 * STEP_REACH;
}

/* As long as it is not conditioned, a walk may end farther from the place than any that are
 * begin. */
static void begin_conditioning(const hb_walk_problem *shared, hb_walk *walk,
                               const hb_walk_view *view, double *E, double *m, double *C,
                               double *work)
{
    const size_t d = shared->d;
    double squares = 0;
    if (walk->conditioned || walk->steps == 1) {
        walk->conditioned = 1;
        return;
    }
    walk->conditioned = 1;
    hb_walk_frame(shared, view, 1, walk->left, E, m, C, work);
    for (size_t i = 0; i < d; i++) {
        const double gap = shared->place[i] - walk->row[i] - m[i];
        squares += gap * gap / C[shared->full_frame ? i * d + i : i];
    }
    walk->outlier = squares > OUTLIER_DISTANCE * OUTLIER_DISTANCE * (double)d;
}

/* Moves the walk and its derivative over the lag s; 0: it is lost. */
static int parametrix_move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                           double s, const double *E, const double *m, double *work)
{
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    hb_walk_view own = *view;
    if (!is_conditioned(shared, walk, view->rate)) {
        if (row.turn) memset(row.turn, 0, hb_walk_matrix(shared) * sizeof(double));
        hb_walk_carry(shared, E, row.tangent, work);
        return hb_walk_move(shared, walk, view, m);
    }
    if (!hb_bridge_step(shared, walk, view, s, E, row.direction, work)) return 0;
    own.normals = row.direction;
    return hb_walk_move(shared, walk, &own, m);
}

static int parametrix_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *E = view->work, *m = E + hb_walk_matrix(shared), *work = m + d, *spread = view->spread;
    const double rate = view->rate;
    const double whole = walk->left - walk->stop;
    const double cap = rate > 0 ? hb_walk_least(whole, STEP_REACH / rate) : whole;
    const double event = rate > 0 ? -log(view->uniform) / rate : INFINITY;
    const double s = hb_walk_least(event, cap);
    const int last = event >= cap && cap >= walk->left;
    double w = s * hb_trace(d, view->jacobian);
    if (is_conditioned(shared, walk, rate))
        begin_conditioning(shared, walk, view, E, m, spread, work);
    if (shared->exact)
        w = exact_frame(shared, row.x, E, m, spread);
    else
        hb_walk_frame(shared, view, 1, s, E, m, spread, work);
    walk->log_weight -= w;
    walk->rate = rate;
    if (last) {
        hb_walk_carry(shared, E, row.tangent, work);
        for (size_t i = 0; i < d; i++) row.x[i] += m[i];
        walk->left = 0;
        return 1;
    }
    walk->lost |= !parametrix_move(shared, walk, view, s, E, m, work);
    walk->left = s < whole ? walk->left - s : walk->stop;
    if (event < cap) {
        walk->pending = &hb_walk_parametrix;
        hb_walk_keep_frame(shared, walk, view, work);
    }
    return 0;
}

/* ---- what an event is worth ---- */

static void parametrix_apply_correction(const hb_walk_problem *shared, hb_walk *walk,
                                        const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *change = view->work, *gap = change + d, dot = 0;
    for (size_t i = 0; i < d; i++) dot += row.gradient[i] * (view->F[i] - row.expected[i]);
    hb_walk_rest_slope(shared, walk, view, gap);
    memset(change, 0, d * sizeof *change);
    hb_walk_pull(shared, row.tangent, -1 / walk->rate, gap, change);
    if (row.turn) {
        for (size_t i = 0; i < d; i++) gap[i] = view->F[i] - row.expected[i];
        hb_walk_pull(shared, row.turn, -1 / walk->rate, gap, change);
    }
    hb_walk_multiply(d, walk, row.slope, 1 - dot / walk->rate, change);
}

const hb_walk_ops hb_walk_parametrix = {.far = 64,
                                        .rate = parametrix_rate_of,
                                        .step = parametrix_step,
                                        .apply_correction = parametrix_apply_correction};
