/* Gauge steps, for drifts F = -grad V that do not depend on tau: no drift at all, but a potential.
 *
 * u = e^{-V/2} psi turns du/dtau = Lap u - div(F u) into (Feynman, Rev. Mod. Phys. 20, 1948)
 *     dpsi/dtau = Lap psi - Q psi,      Q = |F|^2/4 + div F/2,      grad Q = J'F/2 + grad div F/2.
 * At x the reference is the potential Q0 + q.y + h s, q = grad Q, h an estimate of Lap Q; its
 * kernel is
 *     x' = x - q s^2 + sqrt(2s) g,      k(s) = exp(-Q0 s - h s^2/2 + |q|^2 s^3/3).
 * An event of rate l at s gives the factor k(s) (1 + r/l), r = Q0 + q.y + h s - Q(x'), none before
 * c gives k(c). r ~ |Q''| s, so l ~ sqrt(|Q''|), which two probes at x +- reach direction measure.
 * Derivatives by x with the reference held: d ln k = -q s, dr = q - grad Q(x'). Where the
 * parametrix takes over, W e^{(V(x) - V(x0))/2}. A number to reproduce: F = 2 (x - x^3) has
 * Q(1.6) = -0.450. */
#include "walk/walk_constants.h"
#include "walk/walk_steps.h"

#include <math.h>
#include <string.h>

static double gauge_potential(size_t d, const double *F, double divergence)
{
    return 0.25 * hb_dot(d, F, F) + 0.5 * divergence;
}

static void potential_slope(size_t d, const hb_walk_view *view, double *q)
{
    for (size_t j = 0; j < d; j++) {
        q[j] = 0.5 * view->grad_divergence[j];
        for (size_t i = 0; i < d; i++) q[j] += 0.5 * view->jacobian[i * d + j] * view->F[i];
    }
}

/* Q(x +- y) - Q(x) -+ q.y at the two probes. */
static void probe_remainders(size_t d, const hb_walk_view *view, const double *direction, double Q0,
                             const double *q, double rest[2])
{
    const double slope = view->reach * hb_dot(d, q, direction);
    for (int side = 0; side < 2; side++)
        rest[side] =
            gauge_potential(d, view->probe_F + (size_t)side * d, view->probe_divergence[side]) -
            Q0 + (side ? slope : -slope);
}

static hb_walk_reference reference_of(const hb_walk_problem *shared, const hb_walk *walk,
                                      const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const double Q0 = gauge_potential(d, view->F, *view->divergence),
                 reach2 = view->reach * view->reach;
    double rest[2];
    potential_slope(d, view, row.gradient);
    probe_remainders(d, view, row.direction, Q0, row.gradient, rest);
    return (hb_walk_reference){.value = Q0,
                               .heat = (rest[0] + rest[1]) / reach2,
                               .curvature = 2 * fmax(fabs(rest[0]), fabs(rest[1])) / reach2};
}

/* Its step starts from walk->seen. */
double hb_gauge_rate(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    walk->seen = reference_of(shared, walk, view);
    const double rate =
        hb_walk_most(view->rate_multiplier * sqrt(walk->seen.curvature), LEAST_RATE / shared->tau);
    return shared->d > 1 ? hb_walk_most(rate, RATE_MEMORY * walk->rate) : rate;
}

static int gauge_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    const hb_walk_reference reference = walk->seen;
    const double *q = row.gradient, cap = hb_walk_least(view->most, STEP_REACH / view->rate),
                 event = -log(view->uniform) / view->rate;
    const double s = hb_walk_least(event, cap), root = sqrt(2 * s);
    double along = 0; // q.y
    for (size_t i = 0; i < d; i++) {
        const double y = -q[i] * s * s + root * view->normals[i];
        row.x[i] += y;
        along += q[i] * y;
    }
    hb_walk_pull(shared, row.tangent, -s, q, row.slope);
    walk->log_weight -=
        reference.value * s + 0.5 * reference.heat * s * s - hb_dot(d, q, q) * s * s * s / 3;
    walk->left -= s;
    walk->rate = view->rate;
    walk->reference = reference.value + along + reference.heat * s;
    walk->factor = 1 / view->rate;
    if (event < cap) walk->pending = &hb_walk_gauge;
    return 0;
}

void hb_gauge_apply_correction(const hb_walk_problem *shared, hb_walk *walk,
                               const hb_walk_view *view)
{
    const size_t d = shared->d;
    const hb_walk_row row = hb_walk_row_of(shared, walk->row);
    double *gap = view->work, *change = gap + d; // q - grad Q, and by x0
    const double rest = walk->reference - gauge_potential(d, view->F, *view->divergence);
    potential_slope(d, view, gap);
    memset(change, 0, d * sizeof *change);
    for (size_t i = 0; i < d; i++) gap[i] = row.gradient[i] - gap[i];
    hb_walk_pull(shared, row.tangent, walk->factor, gap, change);
    hb_walk_multiply(d, walk, row.slope, 1 + walk->factor * rest, change);
}

const hb_walk_ops hb_walk_gauge = {.far = 2000,
                                   .part = 0.5,
                                   .rate = hb_gauge_rate,
                                   .step = gauge_step,
                                   .apply_correction = hb_gauge_apply_correction};
