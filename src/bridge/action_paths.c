/* Minimum-action paths, and ends, of walks in the gauge, in one dimension.
 *
 * A path m from x to y in the time T has the weight e^{-S}, S = int m'^2/4 + Q(m) ds; the least S
 * has m'' = 2 Q'(m) (M. I. Freidlin, A. D. Wentzell, Random Perturbations of Dynamical Systems,
 * 1984). It is found by Newton's method on the times s = T r^2 (3 - 2r), then replaced by the cubic
 * spline with these m''. By Laplace's method ends have the density
 *     h(y) ~ u0(y) e^{(V(y) - V(x))/2 - S(y)} E[e^{-int Q''(m) Z^2/2 ds}],
 * the last the root of det(free)/det(with Q''). A path moves with x by k, k'' = 2 Q''(m) k,
 * k(0) = 1, and its end by k(T) = a(y), (h a)' = -h (c - c0): c(y) the part of d ln K(x, y)/dx that
 * depends on y, c0 its mean. S must be convex, 2 T^2 max(-Q'') < pi^2, so that there is one such
 * path; u0 must be a sum of Gaussians, whose mean over a cell in closed form shows whether the mesh
 * of ends sees all of it.
 * A number to reproduce: F = -x, Q = x^2/4 - 1/2, T = 1, from 0 to 1: m = sinh s/sinh 1,
 * S = -0.17174. */
#include "bridge/action_paths.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_average.h"

#include <math.h>
#include <string.h>

enum { ENDS = HB_ACTION_ENDS, LAGS = HB_ACTION_LAGS, TIMES = HB_ACTION_TIMES };
enum { FINE = HB_ACTION_CELLS * HB_ACTION_FINE + 1 };
enum { NEWTON_STEPS = 24, RANGES = 12, LOOKS = 1024 };

static const double CLOSE = 1e-7;      /* a Newton step that is the last, over sqrt(2T) */
static const double DROP = 34;         /* of ln h, beyond which ends do not count */
static const double MOST_BENT = 0.8;   /* of pi^2: 2 T^2 max(-Q'') */
static const double BESIDE = 6;        /* deviations of a bridge from its path */
static const double SOFTER = 0.3;      /* of Q'' above 0, in the bridge time */
static const double MOST_ANSWER = 8;   /* |a| */
static const double MOST_STEEP = 0.5;  /* (2Q'')^(1/2) times a lag */
static const double MOST_LOST = 1e-4;  /* of h, at ends whose paths are steeper */
static const double UNRESOLVED = 0.02; /* of the start, where it counts */

/* ---- one path ---- */

typedef struct search {
    hb_context *context;
    const hb_walk_problem *shared;
    double m[TIMES], values[TIMES * 3]; /* Q, Q', Q'' at the times */
    double diagonal[TIMES], beside[TIMES], move[TIMES];
    double free_log; /* ln det without Q */
} search;

/* Weight of a time in the trapezoid rule. */
static double paths_part_of(const hb_action_paths *l, int t)
{
    return 0.5 * (l->time[t < LAGS ? t + 1 : t] - l->time[t > 0 ? t - 1 : t]);
}

static double lag_of(const hb_action_paths *l, int t)
{
    return l->time[t + 1] - l->time[t];
}

/* Pivots of the matrix of the inner times, with so much of Q''; ln of their product, or NaN. */
static double paths_eliminate(const hb_action_paths *l, search *f, double fraction, double least)
{
    double log_det = 0;
    for (int t = 1; t < LAGS; t++) {
        const double position_2 = fraction > 0 ? fraction * fmax(f->values[3 * t + 2], least) : 0;
        f->beside[t] = -0.5 / lag_of(l, t);
        f->diagonal[t] =
            0.5 / lag_of(l, t - 1) + 0.5 / lag_of(l, t) + paths_part_of(l, t) * position_2;
        if (t > 1) f->diagonal[t] -= f->beside[t - 1] * f->beside[t - 1] / f->diagonal[t - 1];
        if (!(f->diagonal[t] > 0)) return NAN;
        log_det += log(f->diagonal[t]);
    }
    return log_det;
}

/* move[1 .. LAGS - 1]: a right side, then the answer. */
static void paths_solve(search *f)
{
    for (int t = 2; t < LAGS; t++)
        f->move[t] -= f->beside[t - 1] / f->diagonal[t - 1] * f->move[t - 1];
    f->move[LAGS - 1] /= f->diagonal[LAGS - 1];
    for (int t = LAGS - 2; t > 0; t--)
        f->move[t] = (f->move[t] - f->beside[t] * f->move[t + 1]) / f->diagonal[t];
}

/* From the path in f->m, whose ends are right. The matrix is that of the path that was found. */
static hb_status find_path(const hb_action_paths *l, search *f, double *log_det)
{
    double most = INFINITY;
    for (int k = 0; k <= NEWTON_STEPS; k++) {
        HB_TRY(hb_gauge_formula_line(f->context, f->shared->gauge, TIMES, f->m, f->values));
        *log_det = paths_eliminate(l, f, 1, -INFINITY);
        if (isnan(*log_det)) *log_det = paths_eliminate(l, f, 1, 0);
        if (isnan(*log_det) || most < CLOSE * sqrt(2 * l->T) || k == NEWTON_STEPS) return HB_OK;
        for (int t = 1; t < LAGS; t++)
            f->move[t] = (f->m[t + 1] - f->m[t]) * 0.5 / lag_of(l, t) -
                         (f->m[t] - f->m[t - 1]) * 0.5 / lag_of(l, t - 1) -
                         paths_part_of(l, t) * f->values[3 * t + 1];
        paths_solve(f);
        most = 0;
        for (int t = 1; t < LAGS; t++) {
            most = fmax(most, fabs(f->move[t]));
            f->m[t] += f->move[t];
        }
    }
    return HB_OK;
}

/* The spline with the second derivatives that are in its nodes, from `from` to `to`. */
static void lay_path(const hb_action_paths *l, double from, double to, const double *position_2,
                     double *position, double *velocity)
{
    position[0] = from;
    velocity[0] = 0;
    for (int t = 0; t < LAGS; t++) {
        const double h = lag_of(l, t);
        velocity[t + 1] = velocity[t] + 0.5 * h * (position_2[t] + position_2[t + 1]);
        position[t + 1] =
            position[t] + h * (velocity[t] + h * (position_2[t] / 3 + position_2[t + 1] / 6));
    }
    const double time_1 = (to - position[LAGS]) / l->T;
    for (int t = 0; t < TIMES; t++) {
        position[t] += time_1 * l->time[t];
        velocity[t] += time_1;
    }
    position[LAGS] = to;
}

static void keep_path(hb_action_paths *l, search *f, int j)
{
    double position_2[TIMES], position[TIMES];
    for (int t = 0; t < TIMES; t++) position_2[t] = 2 * f->values[3 * t + 1];
    lay_path(l, l->x, l->end[j], position_2, position, l->velocity[j]);
    for (int t = 0; t < TIMES; t++)
        l->path[j][t] = (hb_action_node){.position = position[t], .position_2 = position_2[t]};
}

/* ---- the time of bridges beside a path ---- */

/* The matrix's answer from `from` at the first time to `to` at the last, in f->move. */
static void solve_between(const hb_action_paths *l, search *f, double from, double to)
{
    memset(f->move, 0, sizeof f->move);
    f->move[1] += 0.5 * from / lag_of(l, 0);
    f->move[LAGS - 1] += 0.5 * to / lag_of(l, LAGS - 1);
    paths_solve(f);
    f->move[0] = from;
    f->move[LAGS] = to;
}

/* A cubic spline through c1 has the second derivatives c3, 0 at both ends; 1: it is above 0. */
static int fit_spline(const hb_action_paths *l, const double *c1, double *c3)
{
    double pivot[TIMES];
    int good = 1;
    c3[0] = c3[LAGS] = 0;
    for (int t = 1; t < LAGS; t++) {
        const double h = lag_of(l, t - 1), g = lag_of(l, t);
        pivot[t] = (h + g) / 3 - (t > 1 ? h * h / 36 / pivot[t - 1] : 0);
        c3[t] = (c1[t + 1] - c1[t]) / g - (c1[t] - c1[t - 1]) / h -
                (t > 1 ? h / 6 / pivot[t - 1] * c3[t - 1] : 0);
    }
    for (int t = LAGS - 1; t > 0; t--) c3[t] = (c3[t] - lag_of(l, t) / 6 * c3[t + 1]) / pivot[t];
    for (int t = 0; t < LAGS; t++) {
        const double h6 = lag_of(l, t) * lag_of(l, t) / 6;
        for (int k = 1; k < 4; k++) {
            const double b = k / 4.0, a = 1 - b;
            good &= a * c1[t] + b * c1[t + 1] +
                        h6 * ((a * a * a - a) * c3[t] + (b * b * b - b) * c3[t + 1]) >
                    0.2 * fmin(c1[t], c1[t + 1]);
        }
        good &= isfinite(h6 * (c3[t] + c3[t + 1]));
    }
    return good;
}

/* The time c of bridges beside a path: c' = 1/f^2, f'' = 2 Q''(m) f, f = 1 at both ends, as a cubic
 * spline; c = s where that is not above 0 everywhere. The matrix is that of the path. */
static void set_bridge_time(hb_action_paths *l, search *f, int j)
{
    double c1[TIMES], c3[TIMES], c = 0;
    solve_between(l, f, 1, 1);
    for (int t = 0; t < TIMES; t++) c1[t] = 1 / (f->move[t] * f->move[t]);
    const int good = fit_spline(l, c1, c3);
    for (int t = 0; t < TIMES && !good; t++) c1[t] = 1, c3[t] = 0;
    for (int t = 0; t < TIMES; t++) {
        hb_action_node *node = &l->path[j][t];
        const int k = t < LAGS ? t : t - 1; // the lag that the slope is that of
        const double h = lag_of(l, k), rise = (c1[k + 1] - c1[k]) / h;
        node->time_1 = c1[t];
        node->time_2 = t < LAGS ? rise - h / 6 * (2 * c3[t] + c3[t + 1])
                                : rise + h / 6 * (c3[t - 1] + 2 * c3[t]);
        node->time_3 = c3[t];
        node->bridge_time = c;
        if (t < LAGS) c += h * (0.5 * (c1[t] + c1[t + 1]) - h * h / 24 * (c3[t] + c3[t + 1]));
    }
}

static double second_of(const hb_action_node *node, int tangent)
{
    return tangent ? node->tangent_2 : node->position_2;
}

/* int k_i' m_j' ds, or int m_i' m_j' ds with tangent 0, by Gauss's rule with three nodes: exact. */
static double product_of(const hb_action_paths *l, int tangent, int i, int j)
{
    static const double AT[] = {0.1127016653792583, 0.5, 0.8872983346207417};
    static const double WEIGHT[] = {5. / 18, 8. / 18, 5. / 18};
    const double *v = tangent ? l->tangent_velocity[i] : l->velocity[i], *w = l->velocity[j];
    double sum = 0;
    for (int t = 0; t < LAGS; t++) {
        const double h = lag_of(l, t), v2 = second_of(&l->path[i][t], tangent),
                     w2 = l->path[j][t].position_2;
        const double v3 = second_of(&l->path[i][t + 1], tangent) - v2,
                     w3 = l->path[j][t + 1].position_2 - w2;
        for (int k = 0; k < 3; k++) {
            const double r = AT[k] * h, half = 0.5 * AT[k] * r;
            sum += h * WEIGHT[k] * (v[t] + r * v2 + half * v3) * (w[t] + r * w2 + half * w3);
        }
    }
    return sum;
}

/* ---- all paths ---- */

static void place_times(hb_action_paths *l)
{
    for (int t = 0; t < TIMES; t++) {
        const double r = (double)t / LAGS;
        l->time[t] = l->T * r * r * (3 - 2 * r);
    }
}

/* The path to end j; the start of the search is in f->m, and ends elsewhere. */
static hb_status paths_follow(hb_action_paths *l, search *f, int j)
{
    double log_det;
    const double gap = l->end[j] - f->m[LAGS];
    for (int t = 0; t < TIMES; t++) f->m[t] += gap * l->time[t] / l->T;
    f->m[LAGS] = l->end[j];
    HB_TRY(find_path(l, f, &log_det));
    if (!hb_all_finite(TIMES, f->m) || isnan(log_det)) { /* there is always the straight path */
        for (int t = 0; t < TIMES; t++) f->m[t] = l->x + (l->end[j] - l->x) * l->time[t] / l->T;
        memset(f->values, 0, sizeof f->values);
        log_det = f->free_log;
    }
    l->log_width[j] = 0.5 * (f->free_log - log_det);
    keep_path(l, f, j);
    return HB_OK;
}

/* From the end that is nearest to x both ways. */
static hb_status find_paths(hb_action_paths *l, search *f)
{
    int first = 0;
    for (int j = 0; j < ENDS; j++)
        if (fabs(l->end[j] - l->x) < fabs(l->end[first] - l->x)) first = j;
    f->free_log = paths_eliminate(l, f, 0, 0);
    for (int side = 0; side < 2; side++) {
        for (int t = 0; t < TIMES; t++) f->m[t] = side ? l->path[first][t].position : l->x;
        for (int j = side ? first - 1 : first; side ? j >= 0 : j < ENDS; j += side ? -1 : 1)
            HB_TRY(paths_follow(l, f, j));
    }
    return HB_OK;
}

/* ln h at the ends but for u0, and what is known of the paths. */
static hb_status weigh_paths(hb_action_paths *l, search *f)
{
    double from[ENDS];
    for (int j = 0; j < ENDS; j++) from[j] = l->x;
    HB_TRY(hb_gauge_formula_rise(f->context, f->shared->gauge, f->shared->problem, ENDS, from,
                                 l->end, l->rise));
    for (int j = 0; j < ENDS; j++) {
        double position[TIMES], values[3 * TIMES];
        for (int t = 0; t < TIMES; t++) position[t] = l->path[j][t].position;
        HB_TRY(hb_gauge_formula_line(f->context, f->shared->gauge, TIMES, position, values));
        l->potential[j] = 0;
        for (int t = 0; t < TIMES; t++) {
            l->path[j][t].potential = values[3 * t];
            l->path[j][t].slope = values[3 * t + 1];
            l->path[j][t].curvature = values[3 * t + 2];
            l->potential[j] += paths_part_of(l, t) * values[3 * t];
        }
        l->speed[j] = 0.25 * product_of(l, 0, j, j);
        l->log_target[j] = 0.5 * l->rise[j] - l->speed[j] - l->potential[j] + l->log_width[j];
    }
    for (int j = 0; j + 1 < ENDS; j++) l->speed_next[j] = 0.25 * product_of(l, 0, j, j + 1);
    return HB_OK;
}

/* Ways to ends from low to high. */
static hb_status lay_paths(hb_context *context, const hb_walk_problem *shared, double x, double low,
                           double high, hb_action_paths *l)
{
    search f = {.context = context, .shared = shared};
    l->x = x;
    l->low = low;
    l->high = high;
    l->T = shared->tau;
    l->aimed = 0;
    place_times(l);
    for (int j = 0; j < ENDS; j++) l->end[j] = low + (high - low) * j / HB_ACTION_CELLS;
    HB_TRY(find_paths(l, &f));
    return weigh_paths(l, &f);
}

/* ---- the density of ends ---- */

static double fine_end(const hb_action_paths *l, int k)
{
    return l->low + (l->high - l->low) * k / (FINE - 1);
}

/* A list at the ends, linear in between, at piece k. */
static double fine_value(const double *at, int k)
{
    const int j = k / HB_ACTION_FINE < HB_ACTION_CELLS ? k / HB_ACTION_FINE : HB_ACTION_CELLS - 1;
    const double w = (double)(k - j * HB_ACTION_FINE) / HB_ACTION_FINE;
    return (1 - w) * at[j] + w * at[j + 1];
}

static hb_status find_density(hb_context *context, const hb_walk_problem *shared,
                              hb_action_paths *l)
{
    double y[FINE], slope[FINE], *h = l->density, top = -INFINITY;
    const double piece = (l->high - l->low) / (FINE - 1);
    for (int k = 0; k < FINE; k++) y[k] = fine_end(l, k);
    HB_TRY(hb_walk_initial(context, shared->problem, FINE, y, h, slope));
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

double hb_action_end(const hb_action_paths *l, double uniform, size_t *cell, double *fraction,
                     double *density)
{
    const int low = hb_sorted_until(FINE - 2, l->below + 1, uniform);
    const double a = l->density[low], b = l->density[low + 1];
    const double mass = l->below[low + 1] - l->below[low];
    const double v = mass > 0 ? fmin((uniform - l->below[low]) / mass, 1) : 0.5;
    const double t = v * (a + b) / (a + sqrt(a * a + v * (b * b - a * a)));
    const int j = low / HB_ACTION_FINE;
    *cell = (size_t)j;
    *fraction = (low - j * HB_ACTION_FINE + t) / HB_ACTION_FINE;
    *density = a + (b - a) * t;
    return l->end[j] + *fraction * (l->end[j + 1] - l->end[j]);
}

/* ---- how paths move with x ---- */

/* a at the ends. */
static void find_answers(const hb_action_paths *l, const double *c, double *answer)
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
        if (k % HB_ACTION_FINE) continue;
        const double a = (l->below[k] < 0.5 ? -left[k] : right) / l->density[k];
        answer[k / HB_ACTION_FINE] = isfinite(a) ? fmax(-MOST_ANSWER, fmin(a, MOST_ANSWER)) : 0;
    }
}

/* The matrix of path j, with `softer` of Q'' where that is above 0. */
static void paths_take_matrix(const hb_action_paths *l, search *f, int j, double softer)
{
    for (int t = 0; t < TIMES; t++) {
        const double position_2 = l->path[j][t].curvature;
        f->values[3 * t + 2] = position_2 > 0 ? softer * position_2 : position_2;
    }
    if (isnan(paths_eliminate(l, f, 1, -INFINITY))) paths_eliminate(l, f, 1, 0);
}

static void move_path(hb_action_paths *l, search *f, int j, double answer)
{
    double tangent_2[TIMES], tangent[TIMES];
    paths_take_matrix(l, f, j, 1);
    solve_between(l, f, 1, answer);
    for (int t = 0; t < TIMES; t++) tangent_2[t] = 2 * l->path[j][t].curvature * f->move[t];
    lay_path(l, 1, answer, tangent_2, tangent, l->tangent_velocity[j]);
    l->potential_rise[j] = 0;
    for (int t = 0; t < TIMES; t++) {
        hb_action_node *node = &l->path[j][t];
        node->tangent = tangent[t];
        node->tangent_2 = tangent_2[t];
        node->potential_rise = tangent[t] * node->slope;
        l->potential_rise[j] += paths_part_of(l, t) * node->potential_rise;
    }
}

static void turn_paths(hb_action_paths *l)
{
    for (int j = 0; j < ENDS; j++) {
        l->turn[j] = 0.5 * product_of(l, 1, j, j);
        if (j + 1 == ENDS) continue;
        l->turn_up[j] = 0.5 * product_of(l, 1, j, j + 1);
        l->turn_down[j] = 0.5 * product_of(l, 1, j + 1, j);
    }
}

hb_status hb_action_paths_find(hb_context *context, const hb_walk_problem *shared, double x,
                               const double *range, hb_action_paths *l)
{
    search f = {.context = context, .shared = shared};
    if (l->aimed && l->x == x && l->low == range[0] && l->high == range[1]) return HB_OK;
    HB_TRY(lay_paths(context, shared, x, range[0], range[1], l));
    for (int j = 0; j < ENDS; j++) {
        paths_take_matrix(l, &f, j, SOFTER);
        set_bridge_time(l, &f, j);
        move_path(l, &f, j, 0);
    }
    turn_paths(l);
    return hb_gauge_formula_drift(context, shared->gauge, 1, &x, &l->drift);
}

hb_status hb_action_paths_aim(hb_context *context, const hb_walk_problem *shared,
                              hb_action_paths *l, const double *c)
{
    search f = {.context = context, .shared = shared};
    double answer[ENDS];
    l->aimed = 1;
    if (shared->place) return HB_OK;
    HB_TRY(find_density(context, shared, l));
    find_answers(l, c, answer);
    for (int j = 0; j < ENDS; j++) move_path(l, &f, j, answer[j]);
    turn_paths(l);
    return HB_OK;
}

/* ---- which ends count ---- */

/* From the first to the last end whose h is not next to nothing, and one cell more; beyond, where
 * an outermost one is none. 0: no end counts. */
static int paths_narrow(const hb_action_paths *l, const double *log_start, double *range,
                        int *again)
{
    const double cell = (l->high - l->low) / HB_ACTION_CELLS;
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
    range[0] = l->end[first] - cell * (first == 0 ? 0.25 * HB_ACTION_CELLS : 1);
    range[1] = l->end[last] + cell * (last == ENDS - 1 ? 0.25 * HB_ACTION_CELLS : 1);
    *again = first == 0 || last == ENDS - 1 || range[1] - range[0] < 0.8 * (l->high - l->low);
    return 1;
}

static hb_status find_range(hb_context *context, const hb_walk_problem *shared, double x,
                            hb_action_paths *l, double *range, int *fit)
{
    const double wide = sqrt(2 * shared->tau);
    double low, high;
    if (shared->place) {
        range[0] = shared->place[0];
        range[1] = range[0] + wide;
        *fit = 1;
        return lay_paths(context, shared, x, range[0], range[1], l);
    }
    HB_TRY(hb_problem_initial_box(context, shared->problem, &low, &high));
    range[0] = fmin(low, x - wide);
    range[1] = fmax(high, x + wide);
    int again = 1;
    for (int k = 0; k < RANGES && again; k++) {
        double log_start[ENDS], slope[ENDS];
        HB_TRY(lay_paths(context, shared, x, range[0], range[1], l));
        HB_TRY(hb_walk_initial(context, shared->problem, ENDS, l->end, log_start, slope));
        if (!paths_narrow(l, log_start, range, &again)) return HB_OK;
    }
    *fit = !again;
    return HB_OK;
}

/* ---- whether there is one path, and whether the start is seen ---- */

static hb_status is_convex(hb_context *context, const hb_walk_problem *shared,
                           const hb_action_paths *l, int *yes)
{
    double low = INFINITY, high = -INFINITY, x[LOOKS], values[3 * LOOKS], bent = 0;
    for (int j = 0; j < (shared->place ? 1 : ENDS); j++)
        for (int t = 0; t < TIMES; t++) {
            low = fmin(low, l->path[j][t].position);
            high = fmax(high, l->path[j][t].position);
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

static int is_smooth(const hb_action_paths *l, int j)
{
    for (int t = 0; t < TIMES; t++) {
        const double lag = lag_of(l, t < LAGS ? t : t - 1), position_2 = l->path[j][t].curvature;
        if (!(2 * position_2 * lag * lag < MOST_STEEP * MOST_STEEP)) return 0;
    }
    return 1;
}

/* A path leaves its end within about (2Q'')^(-1/2), 1/|F'| where F is steep. Of ends whose paths
 * the times do not resolve h is too small, and walks to them are too rare to be seen. Their true
 * part is at most what it is with h/u0 of the nearest end towards x that is resolved. */
static hb_status paths_is_resolved(hb_context *context, const hb_walk_problem *shared,
                                   const hb_action_paths *l, int *yes)
{
    double h[ENDS], log_start[ENDS], slope[ENDS], top = -INFINITY, all = 0, lost = 0;
    int middle = 0;
    for (int j = 0; j < ENDS; j++)
        if (fabs(l->end[j] - l->x) < fabs(l->end[middle] - l->x)) middle = j;
    *yes &= is_smooth(l, shared->place ? 0 : middle);
    if (!*yes || shared->place) return HB_OK;
    HB_TRY(hb_walk_initial(context, shared->problem, ENDS, l->end, log_start, slope));
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

/* Means of u0 under a Gaussian narrower than a cell, in closed form and by the mesh, times h/u0. */
static hb_status paths_is_seen(hb_context *context, const hb_walk_problem *shared,
                               const hb_action_paths *l, int *yes)
{
    double y[FINE], log_start[FINE], slope[FINE], error = 0, all = 0, top = -INFINITY;
    const double cell = (l->high - l->low) / HB_ACTION_CELLS, piece = cell / HB_ACTION_FINE;
    const double variance = 0.16 * cell * cell;
    void *work;
    for (int k = 0; k < FINE; k++) y[k] = fine_end(l, k);
    HB_TRY(hb_walk_initial(context, shared->problem, FINE, y, log_start, slope));
    HB_TRY(
        hb_allocate(context, 1 + hb_initial_average_work(shared->problem), sizeof(double), &work));
    for (int k = 0; k < FINE; k++) top = fmax(top, log_start[k] + fine_value(l->log_target, k));
    for (int j = 2; j + 2 < ENDS; j++) {
        const hb_gaussian gaussian = {.mean = l->end + j, .variance = &variance};
        const double fraction = l->log_target[j] - top;
        double log_value, unused, sum = 0;
        hb_initial_average(shared->problem, &gaussian, work, &log_value, &unused);
        for (int k = (j - 2) * HB_ACTION_FINE; k <= (j + 2) * HB_ACTION_FINE; k++) {
            const double gap = y[k] - l->end[j];
            sum += piece * exp(fraction + log_start[k] - 0.5 * gap * gap / variance);
        }
        all += exp(fraction + log_value);
        error += fabs(sum / sqrt(2 * M_PI * variance) - exp(fraction + log_value));
    }
    hb_release(context, work);
    *yes &= all > 0 && error < UNRESOLVED * all;
    return HB_OK;
}

hb_status hb_action_paths_range(hb_context *context, const hb_walk_problem *shared, double x,
                                hb_action_paths *paths, double *range, int *fit)
{
    *fit = 0;
    if (!shared->place && (hb_problem_initial_facts(shared->problem)->box ||
                           !hb_initial_average_is_closed(shared->problem, 1)))
        return HB_OK;
    HB_TRY(find_range(context, shared, x, paths, range, fit));
    if (!*fit) return HB_OK;
    HB_TRY(lay_paths(context, shared, x, range[0], range[1], paths));
    HB_TRY(is_convex(context, shared, paths, fit));
    HB_TRY(paths_is_resolved(context, shared, paths, fit));
    return shared->place ? HB_OK : paths_is_seen(context, shared, paths, fit);
}
