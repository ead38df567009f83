/* The ball behind an anchor in many dimensions: few directions, for log-densities under OU and VE.
 *
 * In the frame without drift phi = e^w, w = ln p - ln p_ref, solves d_s phi = Lap phi + 2 grad
 * v~_ref . grad phi: it is p~/p~_ref, and both solve the heat equation. So phi at an anchor is its
 * mean a time h before, over
 *     Y = y_0 + 2 h grad v~_ref(y_0) + sqrt(2 h) xi,      E xi = 0, E xi xi' = 1,
 * up to terms of order h^2; h = C1 r^2/4 is the mean time of the ball of radius r. The drift takes
 * the place of the weights e^(v_ref) of all nodes, whose product with w would be the largest noise
 * of few directions. The second largest is |grad w|^2; so
 *     along e, the direction of grad w:      xi = +-sqrt(3),      weight 1/6 each (degree 5)
 *     along K random directions, orthogonal to e and to each other:
 *                                              xi = +-sqrt(2(d-1)),   weight 1/(4K) each
 *     xi = 0                                                          weight 1/6
 * The mean of xi xi' over the random directions is 1. What is left of noise is that of K probes of
 * Lap w, as in fp. Where no slope is known e is random. Must reproduce: weights 1, e.E[xi xi']e = 1
 * (tests/mean/test_balls.c). */
#include "base/linear_algebra.h"
#include "mean/ball_rule.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>

static const double AHEAD = 1.0 / 6; /* of the centre, and of each node along e */

/* Makes the rows of basis (rows, d) orthonormal, from the first to the last. */
static void make_orthonormal(size_t rows, size_t d, double *basis)
{
    for (size_t p = 0; p < rows; p++) {
        double *b = basis + p * d;
        for (size_t q = 0; q < p; q++) hb_axpy(d, -hb_dot(d, b, basis + q * d), basis + q * d, b);
        const double norm = hb_dot(d, b, b);
        const double scale = norm > 0 ? 1 / sqrt(norm) : 0;
        for (size_t k = 0; k < d; k++) b[k] *= scale;
    }
}

static hb_status draw_basis(const hb_balls *balls, const hb_ball_anchor *anchor,
                            hb_ball_scratch *scratch)
{
    const size_t d = balls->dim, K = (size_t)balls->settings.directions;
    const uint64_t seed = balls->settings.seed;
    double *basis = scratch->basis;
    int known = 0;
    for (size_t k = 0; k < d && anchor->slope; k++) known |= (basis[k] = anchor->slope[k]) != 0;
    if (!known)
        HB_TRY(hb_random_normal(&scratch->alone, seed, HB_STREAM_TRAIN + HB_BALL_STREAM_AHEAD,
                                anchor->number * d, d, basis));
    HB_TRY(hb_random_normal(&scratch->alone, seed, HB_STREAM_TRAIN + HB_BALL_STREAM,
                            anchor->number * K * d, K * d, basis + d));
    make_orthonormal(1 + K, d, basis);
    return HB_OK;
}

/* grad v_ref at the anchor: the caller's, that of the balls' reference, or NULL. */
static hb_status reference_slope(const hb_balls *balls, const hb_ball_anchor *anchor,
                                 hb_ball_scratch *scratch, const double **out)
{
    *out = anchor->reference_slope;
    if (*out || balls->reference.dim == 0) return HB_OK;
    HB_TRY(hb_ball_moments_at(&scratch->alone, &balls->reference, anchor->tau0, &scratch->moments));
    hb_ball_moments_log(&scratch->moments, balls->dim, anchor->x0, scratch->F);
    *out = scratch->F;
    return HB_OK;
}

hb_status hb_ball_place_directions(const hb_balls *balls, const hb_ball_anchor *anchor,
                                   hb_ball_scratch *scratch)
{
    const hb_balls_settings *settings = &balls->settings;
    const size_t d = balls->dim;
    const hb_balls_values *out = &anchor->out;
    const double *x0 = anchor->x0, *slope;
    double a0, b0, a, b;
    hb_ball_level(settings->process, anchor->tau0, &a0, &b0);
    const double s0 = hb_ball_frame_time(a0, b0), r = hb_ball_radius(settings->time_fraction, s0);
    const double h = r * r * balls->C1 / 4, tau = hb_ball_tau(settings->process, s0 - h);
    hb_ball_level(settings->process, tau, &a, &b);
    HB_TRY(reference_slope(balls, anchor, scratch, &slope));
    HB_TRY(draw_basis(balls, anchor, scratch));
    for (size_t j = 0; j < balls->nodes; j++) {
        const double *e = scratch->basis + (j == 0 ? 0 : (j - 1) / 2) * d;
        const double xi = j == 0 ? 0 : j < 3 ? sqrt(3) : sqrt(2 * ((double)d - 1));
        const double step = (j % 2 ? 1 : -1) * xi * sqrt(2 * h);
        for (size_t k = 0; k < d; k++)
            out->x[j * d + k] =
                a * (x0[k] / a0 + 2 * h * a0 * (slope ? slope[k] : 0) + step * e[k]);
        out->tau[j] = tau;
        out->weight[j] = j < 3 ? AHEAD : 0.25 / settings->directions;
        out->shift[j] = slope ? 0 : (double)d * log(a / a0);
    }
    if (out->radius) *out->radius = r;
    if (out->noise) *out->noise = b0;
    if (out->scale) *out->scale = balls->to_scaled;
    return HB_OK;
}
