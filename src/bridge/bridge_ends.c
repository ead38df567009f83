/* The Gaussian that the ends of bridges are drawn from, and whether bridges are to be trusted at
 * all.
 *
 * The best density for ends y is that of the weighted walks. Without a drift it is u0(y) N(y; x,
 * 2T)/w(x),
 *     mean = x + 2T c,     variance = 2T + (2T)^2 dc/dx,     c = grad ln w,
 * in closed form (initial_average.h), else N(x, 2T); then twice the weighted moments of a block of
 * bridges. The weights have a second moment where exp L(y) is integrable,
 *     L(y) = 2 ln(u0(y) e^{(V(y) - V(x))/2} N(y; x, 2T)) - ln density(y)
 *            - max(0, int sqrt(2Q) - |y - x|^2/4T):
 * where it is larger beyond 6 deviations than within 4.5 on lines through the mean, as for V ~ x^4,
 * there are no bridges; nor where Q varies by more than MOST_RISE M/T within six deviations of
 * their middle, nor from a box, whose ends crowd at a boundary (90 % of scores within 1.96 errors).
 * A number to reproduce: u0 = N(0, 1), 2T = 1, x = 1 has the mean 1/2 and the variance 1/2. */
#include "base/context.h"
#include "bridge/bridge.h"
#include "problem/initial/initial_average.h"

#include <string.h>

enum { FITS = 2, DIAGONALS = 16, FAR_PLACES = 4 };

static const double PLACES[] = {0, 1, 2, 3, 4.5, 6, 8, 11, 15};
enum { N_PLACES = sizeof PLACES / sizeof *PLACES };

static const double LEAST_EFFECTIVE = 50; /* walks, for a fit */
static const double WIDER = 1.15;         /* than what was seen */
static const double MOST_CHANGE = 4;      /* of a variance, in one fit */
static const double MOST_RISE = 12;       /* of Q T/M, within six deviations */
static const double STEP = 1e-3;          /* of a difference, in deviations */

/* ---- without a drift ---- */

static void free_ends(const hb_walk_problem *shared, const double *x0, double *guide)
{
    for (size_t k = 0; k < shared->d; k++) {
        guide[k] = x0[k];
        guide[shared->d + k] = 2 * shared->tau;
    }
}

/* c at x0 + h e_k into slope; work: (2 d) and that of the average. */
static double average_slope(const hb_walk_problem *shared, const double *x0, size_t k, double h,
                            double *work)
{
    const size_t d = shared->d;
    double *mean = work, *wide = mean + d, *slope = wide + d, log_value;
    memcpy(mean, x0, d * sizeof *mean);
    mean[k] += h;
    for (size_t j = 0; j < d; j++) wide[j] = 2 * shared->tau;
    const hb_gaussian gaussian = {.mean = mean, .variance = wide};
    hb_initial_average(shared->problem, &gaussian, slope + d, &log_value, slope);
    return slope[k];
}

static hb_status driftless_ends(hb_context *context, const hb_walk_problem *shared,
                                const double *x0, double *guide)
{
    const size_t d = shared->d;
    const double wide = 2 * shared->tau, h = STEP * sqrt(wide);
    void *work;
    free_ends(shared, x0, guide);
    if (shared->place || !hb_initial_average_is_closed(shared->problem, 1)) return HB_OK;
    HB_TRY(hb_allocate(context, 3 * d + hb_initial_average_work(shared->problem), sizeof(double),
                       &work));
    for (size_t k = 0; k < d; k++) {
        const double up = average_slope(shared, x0, k, h, work),
                     down = average_slope(shared, x0, k, -h, work);
        const double mean = x0[k] + wide * 0.5 * (up + down),
                     variance = wide + wide * wide * (up - down) / (2 * h);
        if (!isfinite(mean) || !(variance > 1e-6 * wide)) continue;
        guide[k] = mean;
        guide[d + k] = fmin(variance, wide);
    }
    hb_release(context, work);
    return HB_OK;
}

/* ---- from walks ---- */

static double ends_weight_of(const hb_walk_block *block, size_t i, double top)
{
    return exp(hb_walk_block_result(block, i).size - top);
}

/* 0: too few of the walks count. */
static int fit_ends(const hb_walk_block *block, double *guide)
{
    const size_t d = block->shared.d, n = block->together;
    const double *y = hb_bridge_ends(block);
    double top = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) top = fmax(top, hb_walk_block_result(block, i).size);
    if (!(top > -INFINITY)) return 0;
    for (size_t i = 0; i < n; i++) {
        const double weight = ends_weight_of(block, i, top);
        sum += weight;
        squares += weight * weight;
    }
    if (sum * sum < LEAST_EFFECTIVE * squares) return 0;
    for (size_t k = 0; k < d; k++) {
        double mean = 0, spread = 0, *wide = guide + d + k;
        for (size_t i = 0; i < n; i++) mean += ends_weight_of(block, i, top) / sum * y[i * d + k];
        for (size_t i = 0; i < n; i++) {
            const double gap = y[i * d + k] - mean;
            spread += ends_weight_of(block, i, top) / sum * gap * gap;
        }
        guide[k] = mean;
        *wide = fmin(fmax(WIDER * spread, *wide / MOST_CHANGE),
                     fmin(*wide * MOST_CHANGE, 4 * block->shared.tau));
    }
    return 1;
}

/* ---- tails ---- */

/* Coordinate k of direction number j: the axes both ways, then diagonals with signs by a hash. */
static double ends_direction_of(size_t d, size_t j, size_t k)
{
    if (j < 2 * d) return j / 2 != k ? 0 : j % 2 ? -1 : 1;
    const uint64_t hash = (j * UINT64_C(0x9e3779b97f4a7c15) ^ k) * UINT64_C(0xbf58476d1ce4e5b9);
    return (hash >> 40 & 1 ? 1 : -1) / sqrt((double)d);
}

/* L(y) without its constants; rise: V(y) - V(x). */
static double tail_size(const hb_walk_problem *shared, const double *x0, const double *guide,
                        const double *y, double log_start, double rise, double action)
{
    const size_t d = shared->d;
    double plain = 0, fit = 0, squares = 0;
    for (size_t k = 0; k < d; k++) {
        const double far = y[k] - x0[k], gap = y[k] - guide[k], variance = guide[d + k];
        squares += far * far;
        plain += far * far / (2 * shared->tau) + log(2 * shared->tau);
        fit += gap * gap / variance + log(variance);
    }
    const double density = fmax(log(0.9) - 0.5 * fit, log(0.1) - 0.5 * plain);
    const double sink = fmax(0, action - squares / (4 * shared->tau));
    return 2 * log_start + rise - plain - density - sink;
}

/* int sqrt(2Q) from the first of two places to the next, from below. */
static double ends_piece(size_t d, const double *y, double here, double there)
{
    double squares = 0;
    for (size_t k = 0; k < d; k++) squares += (y[d + k] - y[k]) * (y[d + k] - y[k]);
    return sqrt(2 * fmax(fmin(here, there), 0) * squares);
}

static hb_status ends_look_along(hb_context *context, const hb_walk_problem *shared,
                                 const double *x0, const double *guide, size_t direction,
                                 double *work, double *inner, double *outer)
{
    const size_t d = shared->d;
    double *y = work, *from = y + N_PLACES * d, *slope = from + N_PLACES * d,
           *log_start = slope + N_PLACES * d, *rise = log_start + N_PLACES, *Q = rise + N_PLACES,
           action = 0; // (N_PLACES, d, 1 or 1 + d)
    for (size_t j = 0; j < N_PLACES; j++)
        for (size_t k = 0; k < d; k++) {
            const double wide = sqrt(fmax(guide[d + k], shared->tau));
            from[j * d + k] = x0[k];
            y[j * d + k] = guide[k] + PLACES[j] * wide * ends_direction_of(d, direction, k);
        }
    HB_TRY(hb_walk_initial(context, shared->problem, N_PLACES, y, log_start, slope));
    HB_TRY(hb_gauge_formula_rise(context, shared->gauge, shared->problem, N_PLACES, from, y, rise));
    HB_TRY(hb_gauge_formula_run(context, shared->gauge, N_PLACES, y, Q));
    for (size_t j = 0; j < N_PLACES; j++) {
        if (j > 0) action += ends_piece(d, y + (j - 1) * d, Q[(j - 1) * (1 + d)], Q[j * (1 + d)]);
        const double L = tail_size(shared, x0, guide, y + j * d, log_start[j], rise[j], action);
        double *most = j + FAR_PLACES < N_PLACES ? inner : outer;
        if (L == -INFINITY || log_start[j] == -INFINITY) continue;
        *most = isnan(L) ? INFINITY : fmax(*most, L);
    }
    return HB_OK;
}

static hb_status has_light_tails(hb_context *context, const hb_walk_problem *shared,
                                 const double *x0, const double *guide, int *yes)
{
    const size_t d = shared->d, directions = 2 * d + (d > 1 ? DIAGONALS : 0);
    double inner = -INFINITY, outer = -INFINITY;
    void *work;
    *yes = 1;
    if (shared->place) return HB_OK;
    HB_TRY(hb_allocate(context, N_PLACES * (4 * d + 3), sizeof(double), &work));
    hb_status status = HB_OK;
    for (size_t j = 0; j < directions && status == HB_OK; j++)
        status = ends_look_along(context, shared, x0, guide, j, work, &inner, &outer);
    hb_release(context, work);
    *yes = inner > -INFINITY && inner < INFINITY && outer <= inner;
    return status;
}

/* ---- the potential beside the path ---- */

static hb_status has_mild_potential(hb_context *context, const hb_walk_problem *shared,
                                    const double *x0, const double *guide, int *yes)
{
    const size_t d = shared->d, directions = 2 * d + (d > 1 ? DIAGONALS : 0);
    const size_t near = N_PLACES - FAR_PLACES + 1;
    double low = INFINITY, high = -INFINITY, *x, *Q; // (near, d), (near, 1 + d)
    hb_workspace work;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(x, near * d), HB_ARRAY(Q, near * (1 + d))));
    hb_status status = HB_OK;
    for (size_t e = 0; e < directions && status == HB_OK; e++) {
        for (size_t j = 0; j < near; j++)
            for (size_t k = 0; k < d; k++) {
                const double end = shared->place ? shared->place[k] : guide[k];
                const double spread = shared->place ? 0 : guide[d + k];
                x[j * d + k] = 0.5 * (x0[k] + end) + PLACES[j] * ends_direction_of(d, e, k) *
                                                         sqrt(0.25 * spread + 0.5 * shared->tau);
            }
        status = hb_gauge_formula_run(context, shared->gauge, near, x, Q);
        for (size_t j = 0; j < near && status == HB_OK; j++) {
            const double value = Q[j * (1 + d)];
            low = fmin(low, isnan(value) ? -INFINITY : value);
            high = fmax(high, value);
        }
    }
    hb_workspace_destroy(&work);
    *yes &= shared->tau * (high - low) < MOST_RISE * HB_BRIDGE_POINTS;
    return status;
}

hb_status hb_bridge_fit_ends(hb_walk_block *b, const double *x0, uint64_t seed, double *ends,
                             int *fit)
{
    const hb_walk_problem *shared = &b->shared;
    const hb_walk_plan plan = {.kind = HB_WALK_BRIDGE, .points = 4, .repeat = 0.1, .ends = ends};
    double steps;
    *fit = 0;
    if (hb_problem_initial_facts(shared->problem)->box) return HB_OK;
    HB_TRY(driftless_ends(b->context, shared, x0, ends));
    b->plan = &plan, b->seed = seed;
    for (int k = 0; k < FITS && !shared->place; k++) {
        if (hb_is_late(b->context)) return hb_fail_late(b->context);
        b->first = (uint64_t)k * HB_WALK_BLOCK;
        HB_TRY(hb_walk_bridge.run(b, x0, 0, b->together, &steps));
        if (!fit_ends(b, ends)) break;
    }
    HB_TRY(has_light_tails(b->context, shared, x0, ends, fit));
    return *fit ? has_mild_potential(b->context, shared, x0, ends, fit) : HB_OK;
}
