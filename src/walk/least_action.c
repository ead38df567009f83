/* On the line, the likeliest ways, and ends, of walks in the gauge.
 *
 * A path from x to y in the time T has, in the gauge (walk_march.c), the weight e^{-S}, S = int m'^2/4 + Q(m) ds. The
 * way of least S has m'' = 2 Q'(m). It is sought on a mesh in time that is fine at both ends, s = T r^2 (3 - 2r), where
 * ways under steep drifts bend most, by Newton's method, from the way to the end beside it. Then m'' is put linear between
 * its values 2 Q'(m) at the times, and m, a cubic spline, is what has it and the right ends: nothing that walks do with
 * a way needs it to be the likeliest, but all need m'' to be its second derivative.
 * By Laplace's method the ends y, given x, have the density
 *     h(y) ~ u0(y) e^{(V(y) - V(x))/2 - S(y)} E[e^{-int Q''(m) Z^2/2 ds}],
 * Z the Brownian bridge of variance 2s from 0 to 0: the last is the root of det(free)/det(with Q''), from the pivots of
 * Newton's matrix. h is taken on a finer mesh, linear in between, where u0 is looked at itself.
 * The caller may mend both with walks of its own. A way moves with x by k, k'' = 2 Q''(m) k, k(0) = 1. Its end moves too, by k(T) = a(y), so that what the score sees of
 * different ends is the same: with c(y), which is m'(0)/2 and what the caller adds, the part of d ln K(x, y)/dx that depends on y, and its mean c0
 *     (h a)' = -h (c - c0).
 *
 * There is one likeliest way, and walks about it have light weights, where S is convex: 2 T^2 max(-Q'') < pi^2. Ends may
 * be as far as they like: where Q is convex, what is left, Q(m + Z) - Q(m) - Q'(m) Z, is not negative. So a start is
 * looked for on the line as far as e^{-DROP} of the largest h, and -Q'' between all ways and six deviations beside them.
 * The start must be a sum of Gaussians: then its mean under one of the width of a cell is known in closed form, and shows
 * whether the mesh sees all of it.
 * M. I. Freidlin, A. D. Wentzell, Random Perturbations of Dynamical Systems, 1984.
 * A number to reproduce: F = -x, Q = x^2/4 - 1/2, T = 1, from 0 to 1: m = sinh s/sinh 1, S = (coth 1)/4 - 1/2 = -0.17174. */
#include "walk/least_action.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_average.h"

#include <math.h>
#include <string.h>

enum { ENDS = HB_LEAD_ENDS, LAGS = HB_LEAD_LAGS, TIMES = HB_LEAD_TIMES };
enum { FINE = HB_LEAD_CELLS * HB_LEAD_FINE + 1 };
enum { NEWTON_STEPS = 24, RANGES = 12, LOOKS = 1024 };

static const double CLOSE = 1e-7;      /* a Newton step that is the last, over sqrt(2T) */
static const double DROP = 34;         /* of ln h, beyond which ends do not count */
static const double MOST_BENT = 0.8;   /* of pi^2: 2 T^2 max(-Q'') */
static const double BESIDE = 6;        /* deviations of a bridge from its way */
static const double SOFTER = 0.3;      /* of Q'' above 0, in the clock */
static const double MOST_ANSWER = 8;   /* |a| */
static const double MOST_STEEP = 0.5;  /* (2Q'')^(1/2) times a lag */
static const double MOST_LOST = 1e-4;  /* of h, at ends whose ways are steeper */
static const double UNRESOLVED = 0.02; /* of the start, where it counts */

/* ---- one way ---- */

typedef struct search {
    hb_context *context;
    const hb_walk_problem *shared;
    double m[TIMES], values[TIMES * 3]; /* Q, Q', Q'' at the times */
    double diagonal[TIMES], beside[TIMES], move[TIMES];
    double free_log; /* ln det without Q */
} search;

/* Weight of a time in the trapezoid rule. */
static double part_of(const hb_lead *l, int t)
{
    return 0.5 * (l->time[t < LAGS ? t + 1 : t] - l->time[t > 0 ? t - 1 : t]);
}

static double lag_of(const hb_lead *l, int t)
{
    return l->time[t + 1] - l->time[t];
}

/* Pivots of the matrix of the inner times, with so much of Q''; ln of their product, or NaN where one is not above 0. */
static double eliminate(const hb_lead *l, search *f, double share, double least)
{
    double log_det = 0;
    for (int t = 1; t < LAGS; t++) {
        const double bend = share > 0 ? share * fmax(f->values[3 * t + 2], least) : 0;
        f->beside[t] = -0.5 / lag_of(l, t);
        f->diagonal[t] = 0.5 / lag_of(l, t - 1) + 0.5 / lag_of(l, t) + part_of(l, t) * bend;
        if (t > 1) f->diagonal[t] -= f->beside[t - 1] * f->beside[t - 1] / f->diagonal[t - 1];
        if (!(f->diagonal[t] > 0)) return NAN;
        log_det += log(f->diagonal[t]);
    }
    return log_det;
}

/* move[1 .. LAGS - 1]: a right side, then the answer. */
static void solve(search *f)
{
    for (int t = 2; t < LAGS; t++)
        f->move[t] -= f->beside[t - 1] / f->diagonal[t - 1] * f->move[t - 1];
    f->move[LAGS - 1] /= f->diagonal[LAGS - 1];
    for (int t = LAGS - 2; t > 0; t--)
        f->move[t] = (f->move[t] - f->beside[t] * f->move[t + 1]) / f->diagonal[t];
}

/* From the way in f->m, whose ends are right. The matrix is left as it is at the way that was found. */
static hb_status find_way(const hb_lead *l, search *f, double *log_det)
{
    double most = INFINITY;
    for (int k = 0; k <= NEWTON_STEPS; k++) {
        HB_TRY(hb_gauge_formula_line(f->context, f->shared->gauge, TIMES, f->m, f->values));
        *log_det = eliminate(l, f, 1, -INFINITY);
        if (isnan(*log_det)) *log_det = eliminate(l, f, 1, 0);
        if (isnan(*log_det) || most < CLOSE * sqrt(2 * l->T) || k == NEWTON_STEPS) return HB_OK;
        for (int t = 1; t < LAGS; t++)
            f->move[t] = (f->m[t + 1] - f->m[t]) * 0.5 / lag_of(l, t) -
                         (f->m[t] - f->m[t - 1]) * 0.5 / lag_of(l, t - 1) -
                         part_of(l, t) * f->values[3 * t + 1];
        solve(f);
        most = 0;
        for (int t = 1; t < LAGS; t++) {
            most = fmax(most, fabs(f->move[t]));
            f->m[t] += f->move[t];
        }
    }
    return HB_OK;
}

/* The spline with the second derivatives that are in its nodes, from `from` to `to`. */
static void lay_way(const hb_lead *l, double from, double to, const double *bend, double *place,
                    double *velocity)
{
    place[0] = from;
    velocity[0] = 0;
    for (int t = 0; t < LAGS; t++) {
        const double h = lag_of(l, t);
        velocity[t + 1] = velocity[t] + 0.5 * h * (bend[t] + bend[t + 1]);
        place[t + 1] = place[t] + h * (velocity[t] + h * (bend[t] / 3 + bend[t + 1] / 6));
    }
    const double pace = (to - place[LAGS]) / l->T;
    for (int t = 0; t < TIMES; t++) {
        place[t] += pace * l->time[t];
        velocity[t] += pace;
    }
    place[LAGS] = to;
}

static void keep_way(hb_lead *l, search *f, int j)
{
    double bend[TIMES], place[TIMES];
    for (int t = 0; t < TIMES; t++) bend[t] = 2 * f->values[3 * t + 1];
    lay_way(l, l->x, l->end[j], bend, place, l->velocity[j]);
    for (int t = 0; t < TIMES; t++)
        l->way[j][t] = (hb_lead_node){.place = place[t], .bend = bend[t]};
}

/* ---- the clock of what is beside a way ---- */

/* c' = 1/f^2, f'' = 2 Q''(m) f, f = 1 at both ends, as a cubic spline whose second derivative is 0 at the ends; without Q''
 * where that is not above 0 everywhere. The matrix is that of the way. */
static void set_clock(hb_lead *l, search *f, int j)
{
    double pace[TIMES], jerk[TIMES] = {0}, pivot[TIMES], clock = 0;
    int good = 1;
    memset(f->move, 0, sizeof f->move);
    f->move[1] += 0.5 / lag_of(l, 0);
    f->move[LAGS - 1] += 0.5 / lag_of(l, LAGS - 1);
    solve(f);
    f->move[0] = f->move[LAGS] = 1;
    for (int t = 0; t < TIMES; t++) pace[t] = 1 / (f->move[t] * f->move[t]);
    for (int t = 1; t < LAGS; t++) {
        const double h = lag_of(l, t - 1), g = lag_of(l, t);
        pivot[t] = (h + g) / 3 - (t > 1 ? h * h / 36 / pivot[t - 1] : 0);
        jerk[t] = (pace[t + 1] - pace[t]) / g - (pace[t] - pace[t - 1]) / h -
                  (t > 1 ? h / 6 / pivot[t - 1] * jerk[t - 1] : 0);
    }
    for (int t = LAGS - 1; t > 0; t--)
        jerk[t] = (jerk[t] - lag_of(l, t) / 6 * jerk[t + 1]) / pivot[t];
    for (int t = 0; t < LAGS; t++) {
        const double h = lag_of(l, t), bow = h * h / 6 * (jerk[t] + jerk[t + 1]);
        for (int k = 1; k < 4; k++) {
            const double b = k / 4.0, a = 1 - b;
            good &= a * pace[t] + b * pace[t + 1] +
                        h * h / 6 * ((a * a * a - a) * jerk[t] + (b * b * b - b) * jerk[t + 1]) >
                    0.2 * fmin(pace[t], pace[t + 1]);
        }
        good &= isfinite(bow);
    }
    for (int t = 0; t < TIMES; t++) {
        hb_lead_node *node = &l->way[j][t];
        node->pace = good ? pace[t] : 1;
        node->jerk = good ? jerk[t] : 0;
        node->clock = clock;
        node->surge = 0;
        if (t == LAGS) {
            const double h = lag_of(l, t - 1);
            if (good)
                node->surge = (pace[t] - pace[t - 1]) / h + h / 6 * (jerk[t - 1] + 2 * jerk[t]);
            break;
        }
        if (good)
            node->surge = (pace[t + 1] - pace[t]) / lag_of(l, t) -
                          lag_of(l, t) / 6 * (2 * jerk[t] + jerk[t + 1]);
        const double h = lag_of(l, t);
        clock +=
            good ? h * (0.5 * (pace[t] + pace[t + 1]) - h * h / 24 * (jerk[t] + jerk[t + 1])) : h;
    }
}

/* int of the product of two derivatives, each linear in its own, by Gauss's rule with three nodes: exact. */
static double product_of(const hb_lead *l, const double *v, const double *bend, const double *w,
                         const double *twist)
{
    static const double AT[] = {0.1127016653792583, 0.5, 0.8872983346207417};
    static const double WEIGHT[] = {5. / 18, 8. / 18, 5. / 18};
    double sum = 0;
    for (int t = 0; t < LAGS; t++) {
        const double h = lag_of(l, t);
        for (int k = 0; k < 3; k++) {
            const double r = AT[k] * h, half = 0.5 * AT[k] * r;
            const double one = v[t] + r * bend[t] + half * (bend[t + 1] - bend[t]);
            const double two = w[t] + r * twist[t] + half * (twist[t + 1] - twist[t]);
            sum += h * WEIGHT[k] * one * two;
        }
    }
    return sum;
}

static void bends_of(const hb_lead *l, int j, double *bend)
{
    for (int t = 0; t < TIMES; t++) bend[t] = l->way[j][t].bend;
}

static void twists_of(const hb_lead *l, int j, double *twist)
{
    for (int t = 0; t < TIMES; t++) twist[t] = l->way[j][t].twist;
}

/* ---- all ways ---- */

static void place_times(hb_lead *l)
{
    for (int t = 0; t < TIMES; t++) {
        const double r = (double)t / LAGS;
        l->time[t] = l->T * r * r * (3 - 2 * r);
    }
}

/* The way to end j; the start of the search is in f->m, and ends elsewhere. */
static hb_status follow(hb_lead *l, search *f, int j)
{
    double log_det;
    const double gap = l->end[j] - f->m[LAGS];
    for (int t = 0; t < TIMES; t++) f->m[t] += gap * l->time[t] / l->T;
    f->m[LAGS] = l->end[j];
    HB_TRY(find_way(l, f, &log_det));
    if (!hb_all_finite(TIMES, f->m) || isnan(log_det)) { /* there is always the straight way */
        for (int t = 0; t < TIMES; t++) f->m[t] = l->x + (l->end[j] - l->x) * l->time[t] / l->T;
        memset(f->values, 0, sizeof f->values);
        log_det = f->free_log;
    }
    l->log_width[j] = 0.5 * (f->free_log - log_det);
    keep_way(l, f, j);
    return HB_OK;
}

/* From the end that is nearest to x both ways. */
static hb_status find_ways(hb_lead *l, search *f)
{
    int first = 0;
    for (int j = 0; j < ENDS; j++)
        if (fabs(l->end[j] - l->x) < fabs(l->end[first] - l->x)) first = j;
    f->free_log = eliminate(l, f, 0, 0);
    for (int side = 0; side < 2; side++) {
        for (int t = 0; t < TIMES; t++) f->m[t] = side ? l->way[first][t].place : l->x;
        for (int j = side ? first - 1 : first; side ? j >= 0 : j < ENDS; j += side ? -1 : 1)
            HB_TRY(follow(l, f, j));
    }
    return HB_OK;
}

/* ln h at the ends but for u0, and what is known of the ways. */
static hb_status weigh_ways(hb_lead *l, search *f)
{
    double from[ENDS], bend[TIMES], next[TIMES];
    for (int j = 0; j < ENDS; j++) from[j] = l->x;
    HB_TRY(hb_gauge_formula_rise(f->context, f->shared->gauge, f->shared->problem, ENDS, from,
                                 l->end, l->rise));
    for (int j = 0; j < ENDS; j++) {
        double place[TIMES], values[3 * TIMES];
        for (int t = 0; t < TIMES; t++) place[t] = l->way[j][t].place;
        HB_TRY(hb_gauge_formula_line(f->context, f->shared->gauge, TIMES, place, values));
        l->sink[j] = 0;
        for (int t = 0; t < TIMES; t++) {
            l->way[j][t].sink = values[3 * t];
            l->way[j][t].slope = values[3 * t + 1];
            l->way[j][t].curvature = values[3 * t + 2];
            l->sink[j] += part_of(l, t) * values[3 * t];
        }
        bends_of(l, j, bend);
        l->speed[j] = 0.25 * product_of(l, l->velocity[j], bend, l->velocity[j], bend);
        l->log_target[j] = 0.5 * l->rise[j] - l->speed[j] - l->sink[j] + l->log_width[j];
    }
    for (int j = 0; j + 1 < ENDS; j++) {
        bends_of(l, j, bend);
        bends_of(l, j + 1, next);
        l->speed_next[j] = 0.25 * product_of(l, l->velocity[j], bend, l->velocity[j + 1], next);
    }
    return HB_OK;
}

static hb_status start_at(hb_context *context, const hb_problem *problem, size_t n, const double *y,
                          double *log_start, double *slope)
{
    hb_status status;
#pragma omp critical(hb_walk_initial)
    status = hb_problem_initial(context, problem, n, y, log_start, slope);
    return status;
}

/* Ways to ends from low to high. */
static hb_status lay_ways(hb_context *context, const hb_walk_problem *shared, double x, double low,
                          double high, hb_lead *l)
{
    search f = {.context = context, .shared = shared};
    l->x = x;
    l->low = low;
    l->high = high;
    l->T = shared->tau;
    l->aimed = 0;
    place_times(l);
    for (int j = 0; j < ENDS; j++) l->end[j] = low + (high - low) * j / HB_LEAD_CELLS;
    HB_TRY(find_ways(l, &f));
    return weigh_ways(l, &f);
}

/* ---- the density of ends ---- */

static double fine_end(const hb_lead *l, int k)
{
    return l->low + (l->high - l->low) * k / (FINE - 1);
}

/* A list at the ends, linear in between, at piece k. */
static double fine_value(const double *at, int k)
{
    const int j = k / HB_LEAD_FINE < HB_LEAD_CELLS ? k / HB_LEAD_FINE : HB_LEAD_CELLS - 1;
    const double w = (double)(k - j * HB_LEAD_FINE) / HB_LEAD_FINE;
    return (1 - w) * at[j] + w * at[j + 1];
}

static hb_status find_density(hb_context *context, const hb_walk_problem *shared, hb_lead *l)
{
    double y[FINE], slope[FINE], *h = l->density, top = -INFINITY;
    const double piece = (l->high - l->low) / (FINE - 1);
    for (int k = 0; k < FINE; k++) y[k] = fine_end(l, k);
    HB_TRY(start_at(context, shared->problem, FINE, y, h, slope));
    for (int k = 0; k < FINE; k++) {
        h[k] += fine_value(l->log_target, k);
        if (h[k] > top) top = h[k];
    }
    l->below[0] = 0;
    for (int k = 0; k < FINE; k++) {
        h[k] = h[k] - top > -2 * DROP ? exp(h[k] - top) : exp(-2 * DROP);
        if (k > 0) l->below[k] = l->below[k - 1] + 0.5 * piece * (h[k - 1] + h[k]);
    }
    const double total = l->below[FINE - 1];
    for (int k = 0; k < FINE; k++) {
        h[k] /= total;
        l->below[k] /= total;
    }
    return HB_OK;
}

double hb_lead_end(const hb_lead *l, double uniform, size_t *cell, double *share, double *density)
{
    int low = 0, high = FINE - 1;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (l->below[middle] <= uniform)
            low = middle;
        else
            high = middle;
    }
    const double a = l->density[low], b = l->density[low + 1];
    const double mass = l->below[low + 1] - l->below[low];
    const double v = mass > 0 ? fmin((uniform - l->below[low]) / mass, 1) : 0.5;
    const double t = v * (a + b) / (a + sqrt(a * a + v * (b * b - a * a)));
    const int j = low / HB_LEAD_FINE;
    *cell = (size_t)j;
    *share = (low - j * HB_LEAD_FINE + t) / HB_LEAD_FINE;
    *density = a + (b - a) * t;
    return l->end[j] + *share * (l->end[j + 1] - l->end[j]);
}

/* ---- how ways move with x ---- */

/* a at the ends. */
static void find_answers(const hb_lead *l, const double *c, double *answer)
{
    double left[FINE], right = 0, mean = 0;
    const double piece = (l->high - l->low) / (FINE - 1);
    for (int k = 0; k < FINE; k++)
        mean += piece * (k == 0 || k == FINE - 1 ? 0.5 : 1) * l->density[k] * fine_value(c, k);
    left[0] = 0;
    for (int k = 1; k < FINE; k++)
        left[k] = left[k - 1] + 0.5 * piece *
                                    (l->density[k - 1] * (fine_value(c, k - 1) - mean) +
                                     l->density[k] * (fine_value(c, k) - mean));
    for (int k = FINE - 1; k >= 0; k--) {
        if (k < FINE - 1)
            right += 0.5 * piece *
                     (l->density[k + 1] * (fine_value(c, k + 1) - mean) +
                      l->density[k] * (fine_value(c, k) - mean));
        if (k % HB_LEAD_FINE) continue;
        const double a = (l->below[k] < 0.5 ? -left[k] : right) / l->density[k];
        answer[k / HB_LEAD_FINE] = isfinite(a) ? fmax(-MOST_ANSWER, fmin(a, MOST_ANSWER)) : 0;
    }
}

/* The matrix of way j, with `softer` of Q'' where that is above 0. */
static void take_matrix(const hb_lead *l, search *f, int j, double softer)
{
    for (int t = 0; t < TIMES; t++) {
        const double bend = l->way[j][t].curvature;
        f->values[3 * t + 2] = bend > 0 ? softer * bend : bend;
    }
    if (isnan(eliminate(l, f, 1, -INFINITY))) eliminate(l, f, 1, 0);
}

/* k, from 1 to answer, at the times of the way whose matrix is there, in f->move. */
static void find_tangent(const hb_lead *l, search *f, double answer)
{
    memset(f->move, 0, sizeof f->move);
    f->move[1] += 0.5 / lag_of(l, 0);
    f->move[LAGS - 1] += 0.5 * answer / lag_of(l, LAGS - 1);
    solve(f);
    f->move[0] = 1;
    f->move[LAGS] = answer;
}

static void move_way(hb_lead *l, search *f, int j, double answer)
{
    double twist[TIMES], tangent[TIMES];
    take_matrix(l, f, j, 1);
    find_tangent(l, f, answer);
    for (int t = 0; t < TIMES; t++) twist[t] = 2 * l->way[j][t].curvature * f->move[t];
    lay_way(l, 1, answer, twist, tangent, l->tangent_velocity[j]);
    l->sink_rise[j] = 0;
    for (int t = 0; t < TIMES; t++) {
        hb_lead_node *node = &l->way[j][t];
        node->tangent = tangent[t];
        node->twist = twist[t];
        node->sink_rise = tangent[t] * node->slope;
        l->sink_rise[j] += part_of(l, t) * node->sink_rise;
    }
}

static void turn_ways(hb_lead *l)
{
    for (int j = 0; j < ENDS; j++) {
        double bend[TIMES], twist[TIMES], next_bend[TIMES], next_twist[TIMES];
        bends_of(l, j, bend);
        twists_of(l, j, twist);
        l->turn[j] = 0.5 * product_of(l, l->tangent_velocity[j], twist, l->velocity[j], bend);
        if (j + 1 == ENDS) continue;
        bends_of(l, j + 1, next_bend);
        twists_of(l, j + 1, next_twist);
        l->turn_up[j] =
            0.5 * product_of(l, l->tangent_velocity[j], twist, l->velocity[j + 1], next_bend);
        l->turn_down[j] =
            0.5 * product_of(l, l->tangent_velocity[j + 1], next_twist, l->velocity[j], bend);
    }
}

hb_status hb_lead_lay(hb_context *context, const hb_walk_problem *shared, double x,
                      const double *range, hb_lead *l)
{
    search f = {.context = context, .shared = shared};
    if (l->aimed && l->x == x && l->low == range[0] && l->high == range[1]) return HB_OK;
    HB_TRY(lay_ways(context, shared, x, range[0], range[1], l));
    for (int j = 0; j < ENDS; j++) {
        take_matrix(l, &f, j, SOFTER);
        set_clock(l, &f, j);
        move_way(l, &f, j, 0);
    }
    turn_ways(l);
    return hb_gauge_formula_drift(context, shared->gauge, 1, &x, &l->drift);
}

hb_status hb_lead_aim(hb_context *context, const hb_walk_problem *shared, hb_lead *l,
                      const double *c)
{
    search f = {.context = context, .shared = shared};
    double answer[ENDS];
    l->aimed = 1;
    if (shared->place) return HB_OK;
    HB_TRY(find_density(context, shared, l));
    find_answers(l, c, answer);
    for (int j = 0; j < ENDS; j++) move_way(l, &f, j, answer[j]);
    turn_ways(l);
    return HB_OK;
}

/* ---- which ends count ---- */

/* From the first to the last end whose h is not next to nothing, and one cell more; beyond, where an outermost one is
 * none. 0: no end counts. */
static int narrow(const hb_lead *l, const double *log_start, double *range, int *again)
{
    const double cell = (l->high - l->low) / HB_LEAD_CELLS;
    double top = -INFINITY;
    int first = ENDS, last = -1;
    for (int j = 0; j < ENDS; j++) {
        const double h = l->log_target[j] + log_start[j];
        if (h > top) top = h;
    }
    if (!isfinite(top)) return 0;
    for (int j = 0; j < ENDS; j++) {
        const double h = l->log_target[j] + log_start[j];
        if (!(h > top - DROP)) continue;
        if (first == ENDS) first = j;
        last = j;
    }
    range[0] = l->end[first] - cell * (first == 0 ? 0.25 * HB_LEAD_CELLS : 1);
    range[1] = l->end[last] + cell * (last == ENDS - 1 ? 0.25 * HB_LEAD_CELLS : 1);
    *again = first == 0 || last == ENDS - 1 || range[1] - range[0] < 0.8 * (l->high - l->low);
    return 1;
}

static hb_status find_range(hb_context *context, const hb_walk_problem *shared, double x,
                            hb_lead *l, double *range, int *fit)
{
    const double wide = sqrt(2 * shared->tau);
    double low, high;
    if (shared->place) {
        range[0] = shared->place[0];
        range[1] = range[0] + wide;
        *fit = 1;
        return lay_ways(context, shared, x, range[0], range[1], l);
    }
    HB_TRY(hb_problem_initial_box(context, shared->problem, &low, &high));
    range[0] = fmin(low, x - wide);
    range[1] = fmax(high, x + wide);
    int again = 1;
    for (int k = 0; k < RANGES && again; k++) {
        double log_start[ENDS], slope[ENDS];
        HB_TRY(lay_ways(context, shared, x, range[0], range[1], l));
        HB_TRY(start_at(context, shared->problem, ENDS, l->end, log_start, slope));
        if (!narrow(l, log_start, range, &again)) return HB_OK;
    }
    *fit = !again;
    return HB_OK;
}

/* ---- whether there is one way, and whether the start is seen ---- */

static hb_status is_convex(hb_context *context, const hb_walk_problem *shared, const hb_lead *l,
                           int *yes)
{
    double low = INFINITY, high = -INFINITY, x[LOOKS], values[3 * LOOKS], bent = 0;
    for (int j = 0; j < (shared->place ? 1 : ENDS); j++)
        for (int t = 0; t < TIMES; t++) {
            low = fmin(low, l->way[j][t].place);
            high = fmax(high, l->way[j][t].place);
        }
    const double beside = BESIDE * sqrt(0.5 * l->T);
    for (int k = 0; k < LOOKS; k++)
        x[k] = low - beside + (high - low + 2 * beside) * k / (LOOKS - 1);
    HB_TRY(hb_gauge_formula_line(context, shared->gauge, LOOKS, x, values));
    for (int k = 0; k < LOOKS; k++)
        bent = isnan(values[3 * k + 2]) ? INFINITY : fmax(bent, -values[3 * k + 2]);
    *yes = 2 * l->T * l->T * bent < MOST_BENT * M_PI * M_PI;
    return HB_OK;
}

static int is_smooth(const hb_lead *l, int j)
{
    for (int t = 0; t < TIMES; t++) {
        const double lag = lag_of(l, t < LAGS ? t : t - 1), bend = l->way[j][t].curvature;
        if (!(2 * bend * lag * lag < MOST_STEEP * MOST_STEEP)) return 0;
    }
    return 1;
}

/* A way leaves its end within about (2Q'')^(-1/2), 1/|F'| where F is steep. Of ends whose ways the times do not resolve h is
 * too small, and walks to them are too rare to be seen. Their true part is at most what it is with h/u0 of the nearest end
 * towards x that is resolved. */
static hb_status is_resolved(hb_context *context, const hb_walk_problem *shared, const hb_lead *l,
                             int *yes)
{
    double h[ENDS], log_start[ENDS], slope[ENDS], top = -INFINITY, all = 0, lost = 0;
    int middle = 0;
    for (int j = 0; j < ENDS; j++)
        if (fabs(l->end[j] - l->x) < fabs(l->end[middle] - l->x)) middle = j;
    *yes &= is_smooth(l, shared->place ? 0 : middle);
    if (!*yes || shared->place) return HB_OK;
    HB_TRY(start_at(context, shared->problem, ENDS, l->end, log_start, slope));
    for (int step = -1; step <= 1; step += 2)
        for (int j = middle; j >= 0 && j < ENDS; j += step)
            h[j] = j == middle || is_smooth(l, j) ? l->log_target[j] : h[j - step];
    for (int j = 0; j < ENDS; j++) top = fmax(top, h[j] + log_start[j]);
    for (int j = 0; j < ENDS; j++) {
        const double part = exp(h[j] + log_start[j] - top);
        all += part;
        if (!is_smooth(l, j)) lost += part;
    }
    *yes = lost < MOST_LOST * all;
    return HB_OK;
}

/* Means of u0 under a Gaussian narrower than a cell, in closed form and by the mesh, times e^{ln h - ln u0}. */
static hb_status is_seen(hb_context *context, const hb_walk_problem *shared, const hb_lead *l,
                         int *yes)
{
    double y[FINE], log_start[FINE], slope[FINE], error = 0, all = 0, top = -INFINITY;
    const double cell = (l->high - l->low) / HB_LEAD_CELLS, piece = cell / HB_LEAD_FINE;
    const double variance = 0.16 * cell * cell;
    void *work;
    for (int k = 0; k < FINE; k++) y[k] = fine_end(l, k);
    HB_TRY(start_at(context, shared->problem, FINE, y, log_start, slope));
    HB_TRY(
        hb_allocate(context, 1 + hb_initial_average_work(shared->problem), sizeof(double), &work));
    for (int k = 0; k < FINE; k++) top = fmax(top, log_start[k] + fine_value(l->log_target, k));
    for (int j = 2; j + 2 < ENDS; j++) {
        const hb_gaussian gaussian = {.mean = l->end + j, .variance = &variance};
        const double share = l->log_target[j] - top;
        double log_value, unused, sum = 0;
        hb_initial_average(shared->problem, &gaussian, work, &log_value, &unused);
        for (int k = (j - 2) * HB_LEAD_FINE; k <= (j + 2) * HB_LEAD_FINE; k++) {
            const double gap = y[k] - l->end[j];
            sum += piece * exp(share + log_start[k] - 0.5 * gap * gap / variance);
        }
        all += exp(share + log_value);
        error += fabs(sum / sqrt(2 * M_PI * variance) - exp(share + log_value));
    }
    hb_release(context, work);
    *yes &= all > 0 && error < UNRESOLVED * all;
    return HB_OK;
}

hb_status hb_lead_range(hb_context *context, const hb_walk_problem *shared, double x, hb_lead *lead,
                        double *range, int *fit)
{
    *fit = 0;
    if (!shared->place && (hb_problem_initial_facts(shared->problem)->box ||
                           !hb_initial_average_is_closed(shared->problem, 1)))
        return HB_OK;
    HB_TRY(find_range(context, shared, x, lead, range, fit));
    if (!*fit) return HB_OK;
    HB_TRY(lay_ways(context, shared, x, range[0], range[1], lead));
    HB_TRY(is_convex(context, shared, lead, fit));
    HB_TRY(is_resolved(context, shared, lead, fit));
    return shared->place ? HB_OK : is_seen(context, shared, lead, fit);
}
