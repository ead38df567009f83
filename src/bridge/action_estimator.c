/* Bridges about the minimum-action path, for drifts F = -V' in one dimension that do not depend on
 * tau.
 *
 * u(x,T) as in bridge_estimator.c has no variance where V grows as x^4: straight bridges to a far
 * end are not those that count. So B = m + Z, m a path from x to y near the minimum-action one
 * (action_paths.c), Z a bridge from 0 to 0. By Cameron and Martin (Ann. of Math. 45, 1944), h the
 * density of y,
 *     W = e^{(V(y) - V(x))/2} u0(y)/h(y) (4 pi T)^{-1/2} e^{-int m'^2/4 ds} e^{-X},
 *     X = int Q(m + Z) - m'' Z/2 ds,     m'' = 2 Q'(m): X has no part that is linear in Z.
 * Z = c'^(-1/2) Y, Y a Brownian bridge in the time c(s), takes q Z^2/2 off X, q = 3/8
 * (c''/c')^2 - c'''/4c', and c(T) for T in the root. A walk is the mean over Z and -Z. p is X by
 * the trapezoid rule in equal steps of r, s = T r^2 (3 - 2r); with a probability that grows with
 * its error there are K >= 1 sets of stratified times for what the rule misses, and the series of
 * bridge_series.c about p. Paths move with x by k(s), k(T) = a(y):
 *     d ln W/dx = F(x)/2 + a (d ln u0(y)/dy - F(y)/2) + a'(y) - int k' m'/2 ds - dX,
 *     dX = int k Q'(m + Z) - k'' Z/2 ds.
 * A number to reproduce: F = -x, u0 = N(1, 0.5), T = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "bridge/action_paths.h"
#include "bridge/bridge.h"
#include "bridge/bridge_series.h"

#include <string.h>

enum { USE_PLACE, USE_REPEATS }; /* of uniforms */
enum { POINTS = HB_ACTION_POINTS, PRESAMPLES = 32, PRESAMPLE_POINTS = 32 };

/* What a walk costs, in steps of the parametrix: itself, and each point that is looked at. */
static const double WALK_COST = 0.25, POINT_COST = 0.1;
/* Fraction of walks that have a set of times, over the deviation of p; of the score's in that. */
static const double REPEAT = 1.5, SCORE_FRACTION = 0.1;
static const double LEAST_REPEAT = 0.02, MOST_REPEAT = 0.5; /* of that fraction */

static const double GAUSS = 0.21132486540518712; /* (1 - 3^(-1/2))/2 */
static const double PRESAMPLED =
    12; /* ln of the largest h over that of ends which presamples go to */
static const uint64_t PRESAMPLE_SEED = UINT64_C(0x5c007e4d95a1b3f7);

/* The ends of a block, and what is known of a walk before its bridge is. */
typedef struct action_end {
    size_t cell;
    double fraction; /* of the next path */
    double y, node;
    double bridge_time; /* c(T) */
} action_end;

/* X and dX without what all sets of times share, as sums over points in equal steps of r. */
typedef struct action_part {
    double X, dX;
} action_part;

struct hb_action_walks {
    hb_action_paths paths;
    action_end end[HB_WALK_BLOCK];
    double y[HB_WALK_BLOCK], log_start[HB_WALK_BLOCK], start_slope[HB_WALK_BLOCK];
    double F[HB_WALK_BLOCK], line[2 * HB_WALK_BLOCK], line_F[2 * HB_WALK_BLOCK];
    double pair[HB_WALK_BLOCK], repeats[HB_WALK_BLOCK], normals[HB_WALK_BLOCK];
    double Y[POINTS + 1][HB_WALK_BLOCK], bridge_time[POINTS + 1][HB_WALK_BLOCK]; /* Z sqrt(c'), c */
    action_part part[POINTS + 1][HB_WALK_BLOCK][2]; /* of Z and of -Z */
    double log_weight[HB_WALK_BLOCK], rough[HB_WALK_BLOCK][2];
    action_part sum[HB_WALK_BLOCK][2]; /* p, dp */
    double x[HB_WALK_BLOCK][2], values[HB_WALK_BLOCK][2][3];
    double more_Y[HB_BRIDGE_REPEATS * POINTS], more_x[HB_BRIDGE_REPEATS * POINTS][2],
        more_values[HB_BRIDGE_REPEATS * POINTS][2][2], more_normals[POINTS];
};

hb_status hb_action_create(hb_walk_block *b)
{
    if (!b->shared.gauge || b->shared.d > 1) return HB_OK;
    return HB_NEW_CLEARED(b->context, b->action, 1);
}

void hb_action_destroy(hb_walk_block *b)
{
    hb_release(b->context, b->action);
}

hb_status hb_action_range(hb_walk_block *b, const double *x0, double *range, int *fit)
{
    *fit = 0;
    if (!b->action) return HB_OK;
    return hb_action_paths_range(b->context, &b->shared, *x0, &b->action->paths, range, fit);
}

/* ---- ends ---- */

static double action_mix(const double *list, const action_end *e)
{
    return (1 - e->fraction) * list[e->cell] + e->fraction * list[e->cell + 1];
}

/* int of a product of two mixed derivatives; up: of the first here with the second beside it. */
static double mix_products(const double *same, const double *up, const double *down,
                           const action_end *e)
{
    const double w = e->fraction, v = 1 - w;
    return v * v * same[e->cell] + v * w * (up[e->cell] + down[e->cell]) +
           w * w * same[e->cell + 1];
}

static double end_tangent(const hb_action_paths *l, size_t end)
{
    return l->path[end][HB_ACTION_LAGS].tangent;
}

static void action_draw_ends(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_action_walks *w = b->action;
    const hb_action_paths *l = &w->paths;
    hb_bridge_uniforms(b, USE_PLACE, offset, n, w->log_weight);
    for (size_t i = 0; i < n; i++) {
        action_end *e = w->end + i;
        double density = 1;
        if (b->shared.place)
            *e = (action_end){.y = l->end[0]};
        else
            e->y = hb_action_end(l, w->log_weight[i], &e->cell, &e->fraction, &density);
        w->y[i] = e->y;
        w->log_weight[i] = -log(density);
    }
}

static hb_status start_density(hb_walk_block *b, size_t n)
{
    struct hb_action_walks *w = b->action;
    if (!b->shared.place)
        return hb_walk_initial(b->context, b->shared.problem, n, w->y, w->log_start,
                               w->start_slope);
    memset(w->log_start, 0, n * sizeof *w->log_start);
    memset(w->start_slope, 0, n * sizeof *w->start_slope);
    return HB_OK;
}

/* What only the path to an end tells: ln W but for e^{-X}, u0 and h; p without its points. */
static double weigh_path(const hb_action_paths *l, action_end *e, action_part *sum)
{
    const hb_action_node *one = l->path[e->cell], *two = l->path[e->cell + 1];
    const double v = 1 - e->fraction;
    const size_t beside = e->cell + (e->fraction > 0.5);
    e->node = l->end[beside];
    e->bridge_time =
        v * one[HB_ACTION_LAGS].bridge_time + e->fraction * two[HB_ACTION_LAGS].bridge_time;
    *sum = (action_part){action_mix(l->potential, e), action_mix(l->potential_rise, e)};
    return 0.5 * l->rise[beside] - 0.5 * log(4 * M_PI * e->bridge_time) -
           mix_products(l->speed, l->speed_next, l->speed_next, e);
}

/* W but for e^{-X}, and its derivative but for dX, into b->slope; what X and dX share. */
static hb_status action_weigh_ends(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_action_walks *w = b->action;
    const hb_action_paths *l = &w->paths;
    HB_TRY(start_density(b, n));
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, n, w->y, w->F));
    for (size_t i = 0; i < n; i++) {
        action_end *e = w->end + i;
        const double cell = l->end[e->cell + 1] - l->end[e->cell];
        const double low = end_tangent(l, e->cell), high = end_tangent(l, e->cell + 1);
        const double a = low + e->fraction * (high - low);
        w->log_weight[i] += w->log_start[i] + weigh_path(l, e, w->sum[i]);
        w->sum[i][1] = w->sum[i][0];
        b->slope[offset + i] = 0.5 * l->drift + a * (w->start_slope[i] - 0.5 * w->F[i]) +
                               (high - low) / cell -
                               mix_products(l->turn, l->turn_up, l->turn_down, e);
    }
    return HB_OK;
}

/* ---- one point of a set of times ---- */

/* What a walk sees at one time. */
typedef struct sight {
    double position, position_2, tangent, tangent_2, potential,
        potential_rise;             /* of the path, mixed */
    double bridge_time, root, pull; /* c, c'^(-1/2), q */
    double weight;                  /* ds */
} sight;

/* At r, of a set of times of M points. */
static sight action_see(const hb_action_paths *l, const action_end *e, double r, double M)
{
    const size_t t = r < 1 ? (size_t)(r * HB_ACTION_LAGS) : HB_ACTION_LAGS - 1;
    const double s = l->T * r * r * (3 - 2 * r);
    const double h = l->time[t + 1] - l->time[t], b = (s - l->time[t]) / h, a = 1 - b;
    const double h6 = h * h / 6, ca = (a * a - 1) * a * h6, cb = (b * b - 1) * b * h6;
    const hb_action_node *one = l->path[e->cell] + t, *two = l->path[e->cell + 1] + t;
    const double v = 1 - e->fraction, w = e->fraction;
    hb_action_node here, next;
#define MIX(field)                                                                                 \
    (here.field = v * one[0].field + w * two[0].field,                                             \
     next.field = v * one[1].field + w * two[1].field)
    MIX(position), MIX(position_2), MIX(tangent), MIX(tangent_2), MIX(potential),
        MIX(potential_rise);
    MIX(bridge_time), MIX(time_1), MIX(time_3);
#undef MIX
    const double time_1 = a * here.time_1 + b * next.time_1 + ca * here.time_3 + cb * next.time_3;
    const double rise = (next.time_1 - here.time_1) / h +
                        h / 6 * ((1 - 3 * a * a) * here.time_3 + (3 * b * b - 1) * next.time_3);
    const double time_3 = a * here.time_3 + b * next.time_3, fraction = 1 / time_1,
                 bow = rise * fraction;
    return (sight){
        .position =
            a * here.position + b * next.position + ca * here.position_2 + cb * next.position_2,
        .position_2 = a * here.position_2 + b * next.position_2,
        .tangent = a * here.tangent + b * next.tangent + ca * here.tangent_2 + cb * next.tangent_2,
        .tangent_2 = a * here.tangent_2 + b * next.tangent_2,
        .potential = a * here.potential + b * next.potential,
        .potential_rise = a * here.potential_rise + b * next.potential_rise,
        .bridge_time =
            here.bridge_time + h * (here.time_1 * b * (1 - 0.5 * b) + next.time_1 * 0.5 * b * b +
                                    h6 * (here.time_3 * (a * a * (0.5 - 0.25 * a * a) - 0.25) +
                                          next.time_3 * b * b * (0.25 * b * b - 0.5))),
        .root = sqrt(fraction),
        .pull = 0.375 * bow * bow - 0.25 * time_3 * fraction,
        .weight = l->T * 6 * r * (1 - r) / M};
}

/* What Q and Q' at m + Z stand for. */
static action_part action_part_of(const sight *at, double Z, const double *value)
{
    return (action_part){
        at->weight * (value[0] - 0.5 * (at->position_2 + at->pull * Z) * Z - at->potential),
        at->weight * (at->tangent * value[1] - 0.5 * at->tangent_2 * Z - at->potential_rise)};
}

/* ---- the guess ---- */

/* At time number t of the table. */
static sight see_node(const hb_action_paths *l, const action_end *e, size_t t, double M)
{
    const hb_action_node *one = l->path[e->cell] + t, *two = l->path[e->cell + 1] + t;
    const double v = 1 - e->fraction, w = e->fraction, r = (double)t / HB_ACTION_LAGS;
#define MIXED(field) (v * one->field + w * two->field)
    const double fraction = 1 / MIXED(time_1), bow = MIXED(time_2) * fraction;
    return (sight){.position = MIXED(position),
                   .position_2 = MIXED(position_2),
                   .tangent = MIXED(tangent),
                   .tangent_2 = MIXED(tangent_2),
                   .potential = MIXED(potential),
                   .potential_rise = MIXED(potential_rise),
                   .bridge_time = MIXED(bridge_time),
                   .root = sqrt(fraction),
                   .pull = 0.375 * bow * bow - 0.25 * MIXED(time_3) * fraction,
                   .weight = l->T * 6 * r * (1 - r) / M};
#undef MIXED
}

/* The rule misses about F ds^(3/2) between two points, F the slope of what stands in X. */
static void action_add_row(struct hb_action_walks *w, size_t i, size_t row, const sight *at)
{
    const double fraction = SCORE_FRACTION * 2 * w->paths.T;
    const double cube = at->weight * at->weight * at->weight;
    for (int side = 0; side < 2; side++) {
        const double Z = (side ? -at->root : at->root) * w->Y[row][i], *value = w->values[i][side];
        const double slope = value[1] - 0.5 * at->position_2 - at->pull * Z;
        const action_part part = action_part_of(at, Z, value);
        w->part[row][i][side] = part;
        w->sum[i][side].X += part.X;
        w->sum[i][side].dX += part.dX;
        const double position_2 = at->tangent * value[2] - 0.5 * at->tangent_2;
        w->rough[i][side] += cube * (slope * slope + fraction * position_2 * position_2);
    }
}

/* Bridges at M - 1 fixed times, and p, the trapezoid rule there. */
static hb_status action_guess(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_action_walks *w = b->action;
    const size_t M = (size_t)b->plan->points;
    sight at[HB_WALK_BLOCK];
    memset(w->Y[0], 0, n * sizeof(double));
    memset(w->bridge_time[0], 0, n * sizeof(double));
    memset(w->rough, 0, n * sizeof *w->rough);
    memset(w->part[0], 0, n * sizeof *w->part[0]);
    memset(w->part[M], 0, n * sizeof *w->part[M]);
    memset(w->Y[M], 0, n * sizeof(double));
    for (size_t i = 0; i < n; i++) w->bridge_time[M][i] = w->end[i].bridge_time;
    for (size_t row = 1; row < M; row++) {
        hb_bridge_normals(b, row, offset, n, 1, w->normals);
        for (size_t i = 0; i < n; i++) {
            const action_end *e = w->end + i;
            at[i] = see_node(&w->paths, e, row * HB_ACTION_LAGS / M, (double)M);
            const double before = w->bridge_time[row - 1][i];
            const double fraction =
                (e->bridge_time - at[i].bridge_time) / (e->bridge_time - before);
            w->bridge_time[row][i] = at[i].bridge_time;
            w->Y[row][i] = fraction * w->Y[row - 1][i] +
                           sqrt(2 * (at[i].bridge_time - before) * fraction) * w->normals[i];
            w->x[i][0] = at[i].position + at[i].root * w->Y[row][i];
            w->x[i][1] = at[i].position - at[i].root * w->Y[row][i];
        }
        HB_TRY(hb_gauge_formula_line(b->context, b->shared.gauge, 2 * n, w->x[0], w->values[0][0]));
        for (size_t i = 0; i < n; i++) action_add_row(w, i, row, at + i);
    }
    return HB_OK;
}

/* (V(beside) - V(y))/2 in the mean over u and 1 - u; with Gauss's u it is nearly right. */
static void action_place_pair(const action_end *e, double uniform, double *at)
{
    at[0] = e->node + uniform * (e->y - e->node);
    at[1] = e->y - uniform * (e->y - e->node);
}

static double pair_part(const action_end *e, const double *F)
{
    return 0.25 * (F[0] + F[1]) * (e->y - e->node);
}

static hb_status action_add_pairs(hb_walk_block *b, size_t n)
{
    struct hb_action_walks *w = b->action;
    for (size_t i = 0; i < n; i++) action_place_pair(w->end + i, GAUSS, w->line + 2 * i);
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * n, w->line, w->line_F));
    for (size_t i = 0; i < n; i++) {
        w->pair[i] = pair_part(w->end + i, w->line_F + 2 * i);
        w->sum[i][0].X += w->pair[i];
        w->sum[i][1].X += w->pair[i];
    }
    return HB_OK;
}

/* ---- sets of times of a walk ---- */

/* The known positions beside `uniform` of every step: of earlier sets, or -1: of the guess. */
static void find_beside(int repeats, const double *uniforms, double uniform, int *before,
                        int *after)
{
    *before = *after = -1;
    for (int c = 0; c < repeats; c++) {
        const double u = uniforms[c];
        if (u <= uniform && (*before < 0 || u > uniforms[*before])) *before = c;
        if (u > uniform && (*after < 0 || u < uniforms[*after])) *after = c;
    }
}

/* One set of times of walk i; its sights and places go behind those of the earlier ones. */
static void place_times(hb_walk_block *b, size_t offset, size_t i, int number, double *uniforms,
                        sight *at)
{
    struct hb_action_walks *w = b->action;
    const size_t M = (size_t)b->plan->points, first = (size_t)number * M;
    const uint64_t use = HB_BRIDGE_USES_MORE + (uint64_t)number;
    int before, after;
    hb_bridge_uniforms(b, use, offset + i, 1, uniforms + number);
    hb_bridge_normals(b, use, offset + i, 1, M, w->more_normals);
    find_beside(number, uniforms, uniforms[number], &before, &after);
    for (size_t k = 0; k < M; k++) {
        const size_t row = first + k, low = (size_t)before * M + k, high = (size_t)after * M + k;
        const double start = before < 0 ? w->bridge_time[k][i] : at[low].bridge_time;
        const double end = after < 0 ? w->bridge_time[k + 1][i] : at[high].bridge_time;
        const double from = before < 0 ? w->Y[k][i] : w->more_Y[low];
        const double to = after < 0 ? w->Y[k + 1][i] : w->more_Y[high];
        at[row] = action_see(&w->paths, w->end + i, ((double)k + uniforms[number]) / (double)M,
                             (double)M);
        const double fraction = hb_walk_most(at[row].bridge_time - start, 0) / (end - start);
        const double variance = 2 * fraction * hb_walk_most(end - at[row].bridge_time, 0);
        w->more_Y[row] = from + fraction * (to - from) + sqrt(variance) * w->more_normals[k];
        w->more_x[row][0] = at[row].position + at[row].root * w->more_Y[row];
        w->more_x[row][1] = at[row].position - at[row].root * w->more_Y[row];
    }
}

/* Of one side. X_c = p + the set of times of what the trapezoid rule does not see. */
typedef struct action_side {
    double X[HB_BRIDGE_REPEATS + 1], dX[HB_BRIDGE_REPEATS + 1];
} action_side;

static void add_times(struct hb_action_walks *w, size_t i, size_t M, double uniform,
                      const sight *at, size_t first, int side, double *X, double *dX)
{
    for (size_t k = 0; k < M; k++) {
        const sight *here = at + first + k;
        const double Z = (side ? -here->root : here->root) * w->more_Y[first + k];
        const action_part part = action_part_of(here, Z, w->more_values[first + k][side]);
        const action_part *low = &w->part[k][i][side], *high = &w->part[k + 1][i][side];
        *X += part.X - (1 - uniform) * low->X - uniform * high->X;
        *dX += part.dX - (1 - uniform) * low->dX - uniform * high->dX;
    }
}

static hb_status run_repeats(hb_walk_block *b, size_t offset, size_t i, size_t K,
                             action_side *sides)
{
    struct hb_action_walks *w = b->action;
    const size_t M = (size_t)b->plan->points;
    double uniforms[HB_BRIDGE_REPEATS], pairs[2 * HB_BRIDGE_REPEATS], F[2 * HB_BRIDGE_REPEATS];
    sight at[HB_BRIDGE_REPEATS * POINTS];
    for (int c = 0; c < (int)K; c++) place_times(b, offset, i, c, uniforms, at);
    HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, 2 * K * M, w->more_x[0],
                                w->more_values[0][0]));
    for (size_t c = 0; c < K; c++) action_place_pair(w->end + i, uniforms[c], pairs + 2 * c);
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * K, pairs, F));
    for (size_t c = 0; c < K; c++)
        for (int side = 0; side < 2; side++) {
            action_side *s = sides + side;
            s->X[1 + c] = s->X[0] + pair_part(w->end + i, F + 2 * c) - w->pair[i];
            s->dX[1 + c] = s->dX[0];
            add_times(w, i, M, uniforms[c], at, c * M, side, s->X + 1 + c, s->dX + 1 + c);
        }
    return HB_OK;
}

/* The mean of both sides. */
static hb_status action_finish(hb_walk_block *b, size_t offset, size_t i)
{
    struct hb_action_walks *w = b->action;
    const double rough = hb_walk_most(w->rough[i][0], w->rough[i][1]);
    const double q = fmin(fmax(REPEAT * sqrt(rough / 3), LEAST_REPEAT), MOST_REPEAT);
    const size_t K = hb_bridge_repeats(w->repeats[i], q);
    action_side sides[2];
    double work[HB_BRIDGE_REPEATS + 2], value = 0, slope = 0;
    for (int k = 0; k < 2; k++) {
        sides[k].X[0] = w->sum[i][k].X;
        sides[k].dX[0] = w->sum[i][k].dX;
    }
    if (K > 0) HB_TRY(run_repeats(b, offset, i, K, sides));
    const double least = hb_walk_least(sides[0].X[0], sides[1].X[0]);
    for (int k = 0; k < 2; k++) {
        double own = -sides[k].dX[0], part = 0.5 * exp(least - sides[k].X[0]);
        if (K > 0) part *= hb_bridge_series_about(1, K, sides[k].X, sides[k].dX, q, &own, work);
        value += part;
        slope += part == 0 ? 0 : part * own;
    }
    slope /= value;
    hb_bridge_store(b, offset + i, w->log_weight[i] - least, value, &slope);
    return HB_OK;
}

/* ---- presamples ---- */

/* Ends whose h is not small. */
static hb_status find_active(hb_walk_block *b, size_t *active, size_t *n)
{
    struct hb_action_walks *w = b->action;
    const hb_action_paths *l = &w->paths;
    double top = -INFINITY;
    memcpy(w->y, l->end, sizeof l->end);
    HB_TRY(start_density(b, HB_ACTION_ENDS));
    for (size_t j = 0; j < HB_ACTION_ENDS; j++)
        top = hb_walk_most(top, l->log_target[j] + w->log_start[j]);
    *n = 0;
    for (size_t j = 0; j < HB_ACTION_ENDS; j++)
        if (l->log_target[j] + w->log_start[j] > top - PRESAMPLED) active[(*n)++] = j;
    return HB_OK;
}

/* Walks to one end, from number `first` of the block: ln of their mean weight, and that of -dX. */
static void action_ask(const struct hb_action_walks *w, size_t first, double *log_mean,
                       double *slope)
{
    double least = INFINITY, sum = 0, slopes = 0;
    for (size_t i = first; i < first + PRESAMPLES; i++)
        for (int side = 0; side < 2; side++) least = hb_walk_least(least, w->sum[i][side].X);
    for (size_t i = first; i < first + PRESAMPLES; i++)
        for (int side = 0; side < 2; side++) {
            const double weight = exp(least - w->sum[i][side].X);
            sum += weight;
            slopes -= weight * w->sum[i][side].dX;
        }
    *log_mean = log(sum / (2 * PRESAMPLES)) - least;
    *slope = slopes / sum;
}

/* Means over neighbours: presamples are few. */
static void action_smooth(size_t n, double *list)
{
    double before = n > 0 ? list[0] : 0;
    for (size_t k = 0; k < n; k++) {
        const double here = list[k], after = k + 1 < n ? list[k + 1] : here;
        list[k] = 0.25 * (before + 2 * here + after);
        before = here;
    }
}

/* Laplace's ln K and its slope, and by how much those of presamples differ at the ends where these
 * go; between such ends and beyond, those of the nearest. */
static void action_mend(hb_action_paths *l, const size_t *active, size_t n, const double *log_gap,
                        const double *slope_gap, double *c)
{
    for (size_t j = 0, k = 0; j < HB_ACTION_ENDS && n > 0; j++) {
        while (k + 1 < n && active[k + 1] <= j) k++;
        l->log_target[j] += log_gap[k];
        c[j] += slope_gap[k];
    }
}

/* A few walks to each end that counts, by the rule without its sets of times, from draws of their
 * own: h and k are better with what they find, and any are right. */
static hb_status action_presample(hb_walk_block *b, double *c)
{
    struct hb_action_walks *w = b->action;
    hb_action_paths *l = &w->paths;
    const hb_walk_plan plan = {.points = PRESAMPLE_POINTS}, *other = b->plan;
    const uint64_t seed = b->seed, first = b->first;
    double log_gap[HB_ACTION_ENDS], slope_gap[HB_ACTION_ENDS], path[HB_ACTION_ENDS];
    size_t active[HB_ACTION_ENDS], n;
    for (size_t j = 0; j < HB_ACTION_ENDS; j++) c[j] = 0.5 * l->velocity[j][0];
    if (b->shared.place) return HB_OK;
    HB_TRY(find_active(b, active, &n));
    b->plan = &plan, b->seed = PRESAMPLE_SEED, b->first = 0;
    const size_t together = HB_WALK_BLOCK / PRESAMPLES;
    hb_status status = HB_OK;
    for (size_t from = 0; from < n && status == HB_OK; from += together) {
        const size_t count = n - from < together ? n - from : together;
        for (size_t k = 0; k < count; k++)
            for (size_t i = k * PRESAMPLES; i < (k + 1) * PRESAMPLES; i++) {
                const size_t j = active[from + k], last = j + 1 == HB_ACTION_ENDS;
                w->end[i] =
                    (action_end){.cell = j - last, .fraction = (double)last, .y = l->end[j]};
                path[from + k] = weigh_path(l, w->end + i, w->sum[i]);
                w->sum[i][1] = w->sum[i][0];
            }
        status = action_guess(b, from * PRESAMPLES, count * PRESAMPLES);
        for (size_t k = from; k < from + count; k++) {
            const size_t j = active[k];
            double log_mean, slope;
            action_ask(w, (k - from) * PRESAMPLES, &log_mean, &slope);
            log_gap[k] = path[k] + log_mean - l->log_target[j];
            slope_gap[k] = slope - l->turn[j] - c[j];
        }
    }
    b->plan = other, b->seed = seed, b->first = first;
    action_smooth(n, log_gap);
    action_smooth(n, slope_gap);
    if (status == HB_OK) action_mend(l, active, n, log_gap, slope_gap, c);
    return status;
}

static hb_status find_lead(hb_walk_block *b, double x0)
{
    hb_action_paths *l = &b->action->paths;
    double c[HB_ACTION_ENDS];
    HB_TRY(hb_action_paths_find(b->context, &b->shared, x0, b->plan->ends, l));
    if (l->aimed) return HB_OK;
    HB_TRY(action_presample(b, c));
    return hb_action_paths_aim(b->context, &b->shared, l, c);
}

static hb_status action_run(hb_walk_block *b, const double *x0, size_t offset, size_t n,
                            double *steps)
{
    struct hb_action_walks *w = b->action;
    HB_TRY(find_lead(b, *x0));
    hb_bridge_uniforms(b, USE_REPEATS, offset, n, w->repeats);
    action_draw_ends(b, offset, n);
    HB_TRY(action_weigh_ends(b, offset, n));
    HB_TRY(action_guess(b, offset, n));
    HB_TRY(action_add_pairs(b, n));
    for (size_t i = 0; i < n; i++) HB_TRY(action_finish(b, offset, i));
    *steps += (double)n * (WALK_COST + POINT_COST * b->plan->points);
    return HB_OK;
}

const hb_walk_ops hb_walk_action = {.run = action_run};
