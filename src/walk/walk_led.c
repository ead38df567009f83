/* Led marches: bridges about the likeliest way, for drifts F = -V' on the line that do not depend on tau.
 *
 * As in walk_march.c, with T = tau0 and B a Brownian motion of variance 2s that begins at x,
 *     u(x,T) = E[ e^{(V(B_T) - V(x))/2} u0(B_T) e^{-int Q(B_s) ds} ],     Q = F^2/4 + F'/2.
 * Where V grows as x^4 this has no variance, whatever law the end y = B_T is drawn from: bridges that go straight to a far
 * end are not those that count. So B = m + Z, with m a way from x to y that is near the likeliest one (least_action.c)
 * and Z a bridge from 0 to 0. By Cameron and Martin, and by parts, since Z is 0 at both ends,
 *     W = e^{(V(y) - V(x))/2} u0(y)/h(y) (4 pi T)^{-1/2} e^{-int m'^2/4 ds} e^{-X},   X = int Q(m + Z) - m'' Z/2 ds,
 * h the density that y is drawn from. m'' = 2 Q'(m) up to the mesh's error: X has no part that is linear in Z, and
 * where Q is convex W is at most what it is for Z = 0.
 * The bridge is not a plain one: Z = c'^(-1/2) Y, Y a Brownian bridge in the time c(s), c' = 1 at both ends. The density of
 * plain ones with respect to it is (T/c(T))^(1/2) exp(1/2 int q Z^2), q = 3/8 (c''/c')^2 - 1/4 c'''/c': q Z^2/2 is taken
 * off what stands in X, and T becomes c(T) in the root. A walk is the mean over Z and -Z.
 * The integral. p is the trapezoid rule at fixed times, in equal steps of the clock r, s = T r^2 (3 - 2r), which ticks
 * faster where ways bend. What the table says about Q(m) is taken off, and its integral, known exactly, put back. With
 * a probability q that grows with how much p may be off, which the fixed times tell, there are K >= 1 combs, one point in
 * each step: X_c = p + sum over it of what the rule's linear interpolation misses, and the series of walk_march.c about p.
 * V(y) - V(x): that of the end beside y is known; what is missing is in p by Gauss's rule, and in each X_c, without bias,
 * as the mean over a pair of random points between.
 * The score: paths are moved by k(s), k(0) = 1, k(T) = a(y), which the table has:
 *     d ln W/dx = F(x)/2 + a (d ln u0(y)/dy - F(y)/2) + a'(y) - int k' m'/2 ds - dX,
 *     dX = int k Q'(m + Z) - k'' Z/2 ds.
 * To a start that is a point there is only that end, and a = 0.
 * R. H. Cameron, W. T. Martin, Ann. of Math. 45 (1944).
 * A number to reproduce: F = -x, u0 = N(1, 0.5), T = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "problem/initial/initial_average.h"
#include "walk/least_action.h"
#include "walk/march_series.h"
#include "walk/walk_march.h"

#include <string.h>

enum { USE_PLACE, USE_COMBS }; /* of uniforms */
enum { POINTS = HB_LED_POINTS, SCOUTS = 32, SCOUT_POINTS = 32 };

/* What a walk costs, in steps of the parametrix: itself, and each point that is looked at. */
static const double WALK_COST = 0.25, POINT_COST = 0.1;
/* Share of walks that have a comb, over the deviation of p; of the score's in that. */
static const double AGAIN = 1.5, SCORE_SHARE = 0.1;
static const double LEAST_AGAIN = 0.02, MOST_AGAIN = 0.5; /* of that share */

static const double GAUSS = 0.21132486540518712; /* (1 - 3^(-1/2))/2 */
static const double SCOUTED = 12; /* ln of the largest h over that of ends which scouts go to */
static const uint64_t SCOUT_SEED = UINT64_C(0x5c007e4d95a1b3f7);

/* The ends of a block, and what is known of a walk before its bridge is. */
typedef struct led_end {
    size_t cell;
    double share; /* of the next way */
    double y, node;
    double clock; /* c(T) */
} led_end;

/* X without what is the same for all combs, and dX likewise, as sums over points in equal steps of r. */
typedef struct led_part {
    double X, dX;
} led_part;

struct hb_led {
    hb_lead lead;
    led_end end[HB_WALK_BLOCK];
    double y[HB_WALK_BLOCK], log_start[HB_WALK_BLOCK], start_slope[HB_WALK_BLOCK];
    double F[HB_WALK_BLOCK], line[2 * HB_WALK_BLOCK], line_F[2 * HB_WALK_BLOCK];
    double pair[HB_WALK_BLOCK], combs[HB_WALK_BLOCK], normals[HB_WALK_BLOCK];
    double Y[POINTS + 1][HB_WALK_BLOCK], clock[POINTS + 1][HB_WALK_BLOCK]; /* Z sqrt(c'), c */
    led_part part[POINTS + 1][HB_WALK_BLOCK][2];                           /* of Z and of -Z */
    double log_weight[HB_WALK_BLOCK], rough[HB_WALK_BLOCK][2];
    led_part sum[HB_WALK_BLOCK][2]; /* p, dp */
    double x[HB_WALK_BLOCK][2], values[HB_WALK_BLOCK][2][3];
    double more_Y[HB_MARCH_COMBS * POINTS], more_x[HB_MARCH_COMBS * POINTS][2],
        more_values[HB_MARCH_COMBS * POINTS][2][2], more_normals[POINTS];
};

hb_status hb_led_create(hb_walk_block *b)
{
    void *memory;
    if (!b->shared.gauge || b->shared.d > 1) return HB_OK;
    HB_TRY(hb_allocate(b->context, 1, sizeof(struct hb_led), &memory));
    b->led = memory;
    memset(b->led, 0, sizeof *b->led);
    return HB_OK;
}

void hb_led_destroy(hb_walk_block *b)
{
    hb_release(b->context, b->led);
}

hb_status hb_led_range(hb_walk_block *b, const double *x0, double *range, int *fit)
{
    *fit = 0;
    if (!b->led) return HB_OK;
    return hb_lead_range(b->context, &b->shared, *x0, &b->led->lead, range, fit);
}

/* ---- ends ---- */

static double mix(const double *list, const led_end *e)
{
    return (1 - e->share) * list[e->cell] + e->share * list[e->cell + 1];
}

/* int of a product of two mixed derivatives; up: of the first here with the second beside it. */
static double mix_products(const double *same, const double *up, const double *down,
                           const led_end *e)
{
    const double w = e->share, v = 1 - w;
    return v * v * same[e->cell] + v * w * (up[e->cell] + down[e->cell]) +
           w * w * same[e->cell + 1];
}

static double answer_of(const hb_lead *l, size_t end)
{
    return l->way[end][HB_LEAD_LAGS].tangent;
}

static void draw_ends(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_led *w = b->led;
    const hb_lead *l = &w->lead;
    hb_march_uniforms(b, USE_PLACE, offset, n, w->log_weight);
    for (size_t i = 0; i < n; i++) {
        led_end *e = w->end + i;
        double density = 1;
        if (b->shared.place)
            *e = (led_end){.y = l->end[0]};
        else
            e->y = hb_lead_end(l, w->log_weight[i], &e->cell, &e->share, &density);
        w->y[i] = e->y;
        w->log_weight[i] = -log(density);
    }
}

static hb_status start_density(hb_walk_block *b, size_t n)
{
    struct hb_led *w = b->led;
    const hb_problem *problem = b->shared.problem;
    hb_status status;
    if (b->shared.place) {
        memset(w->log_start, 0, n * sizeof *w->log_start);
        memset(w->start_slope, 0, n * sizeof *w->start_slope);
        return HB_OK;
    }
    if (!hb_problem_initial_facts(problem)->serial)
        return hb_problem_initial(b->context, problem, n, w->y, w->log_start, w->start_slope);
#pragma omp critical(hb_walk_initial)
    status = hb_problem_initial(b->context, problem, n, w->y, w->log_start, w->start_slope);
    return status;
}

/* What only the way to an end tells: ln of W but for e^{-X}, u0 and h, with V at the node beside it; p without its points. */
static double weigh_way(const hb_lead *l, led_end *e, led_part *sum)
{
    const hb_lead_node *one = l->way[e->cell], *two = l->way[e->cell + 1];
    const double v = 1 - e->share;
    const size_t beside = e->cell + (e->share > 0.5);
    e->node = l->end[beside];
    e->clock = v * one[HB_LEAD_LAGS].clock + e->share * two[HB_LEAD_LAGS].clock;
    *sum = (led_part){mix(l->sink, e), mix(l->sink_rise, e)};
    return 0.5 * l->rise[beside] - 0.5 * log(4 * M_PI * e->clock) -
           mix_products(l->speed, l->speed_next, l->speed_next, e);
}

/* All of W but e^{-X}, and of its derivative but dX, into b->slope; what X and dX have in common. */
static hb_status weigh_ends(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_led *w = b->led;
    const hb_lead *l = &w->lead;
    HB_TRY(start_density(b, n));
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, n, w->y, w->F));
    for (size_t i = 0; i < n; i++) {
        led_end *e = w->end + i;
        const double cell = l->end[e->cell + 1] - l->end[e->cell];
        const double low = answer_of(l, e->cell), high = answer_of(l, e->cell + 1);
        const double a = low + e->share * (high - low);
        w->log_weight[i] += w->log_start[i] + weigh_way(l, e, w->sum[i]);
        w->sum[i][1] = w->sum[i][0];
        b->slope[offset + i] = 0.5 * l->drift + a * (w->start_slope[i] - 0.5 * w->F[i]) +
                               (high - low) / cell -
                               mix_products(l->turn, l->turn_up, l->turn_down, e);
    }
    return HB_OK;
}

/* ---- one point of a comb ---- */

/* What a walk sees at one time. */
typedef struct sight {
    double place, bend, tangent, twist, sink, sink_rise; /* of the way, mixed */
    double clock, root, pull;                            /* c, c'^(-1/2), q */
    double weight;                                       /* ds */
} sight;

/* At r of the clock of a comb of M points. */
static sight see(const hb_lead *l, const led_end *e, double r, double M)
{
    const size_t t = r < 1 ? (size_t)(r * HB_LEAD_LAGS) : HB_LEAD_LAGS - 1;
    const double s = l->T * r * r * (3 - 2 * r);
    const double h = l->time[t + 1] - l->time[t], b = (s - l->time[t]) / h, a = 1 - b;
    const double h6 = h * h / 6, ca = (a * a - 1) * a * h6, cb = (b * b - 1) * b * h6;
    const hb_lead_node *one = l->way[e->cell] + t, *two = l->way[e->cell + 1] + t;
    const double v = 1 - e->share, w = e->share;
    hb_lead_node here, next;
#define MIX(field)                                                                                 \
    (here.field = v * one[0].field + w * two[0].field,                                             \
     next.field = v * one[1].field + w * two[1].field)
    MIX(place), MIX(bend), MIX(tangent), MIX(twist), MIX(sink), MIX(sink_rise);
    MIX(clock), MIX(pace), MIX(jerk);
#undef MIX
    const double pace = a * here.pace + b * next.pace + ca * here.jerk + cb * next.jerk;
    const double rise = (next.pace - here.pace) / h +
                        h / 6 * ((1 - 3 * a * a) * here.jerk + (3 * b * b - 1) * next.jerk);
    const double jerk = a * here.jerk + b * next.jerk, share = 1 / pace, bow = rise * share;
    return (sight){
        .place = a * here.place + b * next.place + ca * here.bend + cb * next.bend,
        .bend = a * here.bend + b * next.bend,
        .tangent = a * here.tangent + b * next.tangent + ca * here.twist + cb * next.twist,
        .twist = a * here.twist + b * next.twist,
        .sink = a * here.sink + b * next.sink,
        .sink_rise = a * here.sink_rise + b * next.sink_rise,
        .clock = here.clock + h * (here.pace * b * (1 - 0.5 * b) + next.pace * 0.5 * b * b +
                                   h6 * (here.jerk * (a * a * (0.5 - 0.25 * a * a) - 0.25) +
                                         next.jerk * b * b * (0.25 * b * b - 0.5))),
        .root = sqrt(share),
        .pull = 0.375 * bow * bow - 0.25 * jerk * share,
        .weight = l->T * 6 * r * (1 - r) / M};
}

/* What Q and Q' at m + Z stand for. */
static led_part part_of(const sight *at, double Z, const double *value)
{
    return (led_part){at->weight * (value[0] - 0.5 * (at->bend + at->pull * Z) * Z - at->sink),
                      at->weight * (at->tangent * value[1] - 0.5 * at->twist * Z - at->sink_rise)};
}

/* ---- the guess ---- */

/* At time number t of the table. */
static sight see_node(const hb_lead *l, const led_end *e, size_t t, double M)
{
    const hb_lead_node *one = l->way[e->cell] + t, *two = l->way[e->cell + 1] + t;
    const double v = 1 - e->share, w = e->share, r = (double)t / HB_LEAD_LAGS;
#define MIXED(field) (v * one->field + w * two->field)
    const double share = 1 / MIXED(pace), bow = MIXED(surge) * share;
    return (sight){.place = MIXED(place),
                   .bend = MIXED(bend),
                   .tangent = MIXED(tangent),
                   .twist = MIXED(twist),
                   .sink = MIXED(sink),
                   .sink_rise = MIXED(sink_rise),
                   .clock = MIXED(clock),
                   .root = sqrt(share),
                   .pull = 0.375 * bow * bow - 0.25 * MIXED(jerk) * share,
                   .weight = l->T * 6 * r * (1 - r) / M};
#undef MIXED
}

/* The deviation of what the rule misses between two points is about F ds^(3/2), F the slope of what stands in X. */
static void add_row(struct hb_led *w, size_t i, size_t row, const sight *at)
{
    const double share = SCORE_SHARE * 2 * w->lead.T;
    const double cube = at->weight * at->weight * at->weight;
    for (int side = 0; side < 2; side++) {
        const double Z = (side ? -at->root : at->root) * w->Y[row][i], *value = w->values[i][side];
        const double slope = value[1] - 0.5 * at->bend - at->pull * Z;
        const led_part part = part_of(at, Z, value);
        w->part[row][i][side] = part;
        w->sum[i][side].X += part.X;
        w->sum[i][side].dX += part.dX;
        const double bend = at->tangent * value[2] - 0.5 * at->twist;
        w->rough[i][side] += cube * (slope * slope + share * bend * bend);
    }
}

/* Bridges at M - 1 fixed times, and p, the trapezoid rule there. */
static hb_status guess(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_led *w = b->led;
    const size_t M = (size_t)b->plan->points;
    sight at[HB_WALK_BLOCK];
    memset(w->Y[0], 0, n * sizeof(double));
    memset(w->clock[0], 0, n * sizeof(double));
    memset(w->rough, 0, n * sizeof *w->rough);
    memset(w->part[0], 0, n * sizeof *w->part[0]);
    memset(w->part[M], 0, n * sizeof *w->part[M]);
    memset(w->Y[M], 0, n * sizeof(double));
    for (size_t i = 0; i < n; i++) w->clock[M][i] = w->end[i].clock;
    for (size_t row = 1; row < M; row++) {
        hb_march_normals(b, row, offset, n, 1, w->normals);
        for (size_t i = 0; i < n; i++) {
            const led_end *e = w->end + i;
            at[i] = see_node(&w->lead, e, row * HB_LEAD_LAGS / M, (double)M);
            const double before = w->clock[row - 1][i];
            const double share = (e->clock - at[i].clock) / (e->clock - before);
            w->clock[row][i] = at[i].clock;
            w->Y[row][i] =
                share * w->Y[row - 1][i] + sqrt(2 * (at[i].clock - before) * share) * w->normals[i];
            w->x[i][0] = at[i].place + at[i].root * w->Y[row][i];
            w->x[i][1] = at[i].place - at[i].root * w->Y[row][i];
        }
        HB_TRY(hb_gauge_formula_line(b->context, b->shared.gauge, 2 * n, w->x[0], w->values[0][0]));
        for (size_t i = 0; i < n; i++) add_row(w, i, row, at + i);
    }
    return HB_OK;
}

/* (V(beside) - V(y))/2 in the mean over u and 1 - u; with Gauss's u it is nearly right. */
static void place_pair(const led_end *e, double uniform, double *at)
{
    at[0] = e->node + uniform * (e->y - e->node);
    at[1] = e->y - uniform * (e->y - e->node);
}

static double pair_part(const led_end *e, const double *F)
{
    return 0.25 * (F[0] + F[1]) * (e->y - e->node);
}

static hb_status add_pairs(hb_walk_block *b, size_t n)
{
    struct hb_led *w = b->led;
    for (size_t i = 0; i < n; i++) place_pair(w->end + i, GAUSS, w->line + 2 * i);
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * n, w->line, w->line_F));
    for (size_t i = 0; i < n; i++) {
        w->pair[i] = pair_part(w->end + i, w->line_F + 2 * i);
        w->sum[i][0].X += w->pair[i];
        w->sum[i][1].X += w->pair[i];
    }
    return HB_OK;
}

/* ---- combs of a walk ---- */

/* The known places beside one that is at `uniform` of every step: of earlier combs, or -1: those of the guess. */
static void find_beside(int combs, const double *uniforms, double uniform, int *before, int *after)
{
    *before = *after = -1;
    for (int c = 0; c < combs; c++) {
        const double u = uniforms[c];
        if (u <= uniform && (*before < 0 || u > uniforms[*before])) *before = c;
        if (u > uniform && (*after < 0 || u < uniforms[*after])) *after = c;
    }
}

/* One comb of walk i; its sights and places go behind those of the earlier ones. */
static void place_comb(hb_walk_block *b, size_t offset, size_t i, int comb, double *uniforms,
                       sight *at)
{
    struct hb_led *w = b->led;
    const size_t M = (size_t)b->plan->points, first = (size_t)comb * M;
    const uint64_t use = HB_MARCH_USES_MORE + (uint64_t)comb;
    int before, after;
    hb_march_uniforms(b, use, offset + i, 1, uniforms + comb);
    hb_march_normals(b, use, offset + i, 1, M, w->more_normals);
    find_beside(comb, uniforms, uniforms[comb], &before, &after);
    for (size_t k = 0; k < M; k++) {
        const size_t row = first + k, low = (size_t)before * M + k, high = (size_t)after * M + k;
        const double start = before < 0 ? w->clock[k][i] : at[low].clock;
        const double end = after < 0 ? w->clock[k + 1][i] : at[high].clock;
        const double from = before < 0 ? w->Y[k][i] : w->more_Y[low];
        const double to = after < 0 ? w->Y[k + 1][i] : w->more_Y[high];
        at[row] = see(&w->lead, w->end + i, ((double)k + uniforms[comb]) / (double)M, (double)M);
        const double share = hb_walk_most(at[row].clock - start, 0) / (end - start);
        const double variance = 2 * share * hb_walk_most(end - at[row].clock, 0);
        w->more_Y[row] = from + share * (to - from) + sqrt(variance) * w->more_normals[k];
        w->more_x[row][0] = at[row].place + at[row].root * w->more_Y[row];
        w->more_x[row][1] = at[row].place - at[row].root * w->more_Y[row];
    }
}

/* Of one side. X_c = p + the comb of what the trapezoid rule does not see. */
typedef struct led_side {
    double X[HB_MARCH_COMBS + 1], dX[HB_MARCH_COMBS + 1];
} led_side;

static void add_comb(struct hb_led *w, size_t i, size_t M, double uniform, const sight *at,
                     size_t first, int side, double *X, double *dX)
{
    for (size_t k = 0; k < M; k++) {
        const sight *here = at + first + k;
        const double Z = (side ? -here->root : here->root) * w->more_Y[first + k];
        const led_part part = part_of(here, Z, w->more_values[first + k][side]);
        const led_part *low = &w->part[k][i][side], *high = &w->part[k + 1][i][side];
        *X += part.X - (1 - uniform) * low->X - uniform * high->X;
        *dX += part.dX - (1 - uniform) * low->dX - uniform * high->dX;
    }
}

static hb_status run_combs(hb_walk_block *b, size_t offset, size_t i, size_t K, led_side *sides)
{
    struct hb_led *w = b->led;
    const size_t M = (size_t)b->plan->points;
    double uniforms[HB_MARCH_COMBS], pairs[2 * HB_MARCH_COMBS], F[2 * HB_MARCH_COMBS];
    sight at[HB_MARCH_COMBS * POINTS];
    for (int c = 0; c < (int)K; c++) place_comb(b, offset, i, c, uniforms, at);
    HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, 2 * K * M, w->more_x[0],
                                w->more_values[0][0]));
    for (size_t c = 0; c < K; c++) place_pair(w->end + i, uniforms[c], pairs + 2 * c);
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * K, pairs, F));
    for (size_t c = 0; c < K; c++)
        for (int side = 0; side < 2; side++) {
            led_side *s = sides + side;
            s->X[1 + c] = s->X[0] + pair_part(w->end + i, F + 2 * c) - w->pair[i];
            s->dX[1 + c] = s->dX[0];
            add_comb(w, i, M, uniforms[c], at, c * M, side, s->X + 1 + c, s->dX + 1 + c);
        }
    return HB_OK;
}

/* The mean of both sides. */
static hb_status finish(hb_walk_block *b, size_t offset, size_t i)
{
    struct hb_led *w = b->led;
    const double rough = hb_walk_most(w->rough[i][0], w->rough[i][1]);
    const double q = fmin(fmax(AGAIN * sqrt(rough / 3), LEAST_AGAIN), MOST_AGAIN);
    const size_t K = hb_march_combs(w->combs[i], q);
    led_side sides[2];
    double work[HB_MARCH_COMBS + 2], value = 0, slope = 0;
    for (int k = 0; k < 2; k++) {
        sides[k].X[0] = w->sum[i][k].X;
        sides[k].dX[0] = w->sum[i][k].dX;
    }
    if (K > 0) HB_TRY(run_combs(b, offset, i, K, sides));
    const double least = hb_walk_least(sides[0].X[0], sides[1].X[0]);
    for (int k = 0; k < 2; k++) {
        double own = -sides[k].dX[0], part = 0.5 * exp(least - sides[k].X[0]);
        if (K > 0) part *= hb_march_series_about(1, K, sides[k].X, sides[k].dX, q, &own, work);
        value += part;
        slope += part == 0 ? 0 : part * own;
    }
    slope /= value;
    hb_march_store(b, offset + i, w->log_weight[i] - least, value, &slope);
    return HB_OK;
}

/* ---- scouts ---- */

/* Ends whose h is not small. */
static hb_status find_active(hb_walk_block *b, size_t *active, size_t *n)
{
    struct hb_led *w = b->led;
    const hb_lead *l = &w->lead;
    double top = -INFINITY;
    memcpy(w->y, l->end, sizeof l->end);
    HB_TRY(start_density(b, HB_LEAD_ENDS));
    for (size_t j = 0; j < HB_LEAD_ENDS; j++)
        top = hb_walk_most(top, l->log_target[j] + w->log_start[j]);
    *n = 0;
    for (size_t j = 0; j < HB_LEAD_ENDS; j++)
        if (l->log_target[j] + w->log_start[j] > top - SCOUTED) active[(*n)++] = j;
    return HB_OK;
}

/* Walks that end at `end`, from number `first`, in the block: ln of the mean of their weights, and that of -dX. */
static void ask(const struct hb_led *w, size_t first, double *log_mean, double *slope)
{
    double least = INFINITY, sum = 0, slopes = 0;
    for (size_t i = first; i < first + SCOUTS; i++)
        for (int side = 0; side < 2; side++) least = hb_walk_least(least, w->sum[i][side].X);
    for (size_t i = first; i < first + SCOUTS; i++)
        for (int side = 0; side < 2; side++) {
            const double weight = exp(least - w->sum[i][side].X);
            sum += weight;
            slopes -= weight * w->sum[i][side].dX;
        }
    *log_mean = log(sum / (2 * SCOUTS)) - least;
    *slope = slopes / sum;
}

/* Means over neighbours: scouts are few. */
static void smooth(size_t n, double *list)
{
    double before = n > 0 ? list[0] : 0;
    for (size_t k = 0; k < n; k++) {
        const double here = list[k], after = k + 1 < n ? list[k + 1] : here;
        list[k] = 0.25 * (before + 2 * here + after);
        before = here;
    }
}

/* Laplace's ln K and its slope, and by how much those of scouts differ at the ends where these go; between such ends and
 * beyond, those of the nearest. */
static void mend(hb_lead *l, const size_t *active, size_t n, const double *log_gap,
                 const double *slope_gap, double *c)
{
    for (size_t j = 0, k = 0; j < HB_LEAD_ENDS && n > 0; j++) {
        while (k + 1 < n && active[k + 1] <= j) k++;
        l->log_target[j] += log_gap[k];
        c[j] += slope_gap[k];
    }
}

/* A few walks to each end that counts, by the rule without its combs, from draws of their own: h and k are better with
 * what they find, and any are right. */
static hb_status scout(hb_walk_block *b, double *c)
{
    struct hb_led *w = b->led;
    hb_lead *l = &w->lead;
    const hb_walk_plan plan = {.points = SCOUT_POINTS}, *other = b->plan;
    const uint64_t seed = b->seed, first = b->first;
    double log_gap[HB_LEAD_ENDS], slope_gap[HB_LEAD_ENDS], way[HB_LEAD_ENDS];
    size_t active[HB_LEAD_ENDS], n;
    for (size_t j = 0; j < HB_LEAD_ENDS; j++) c[j] = 0.5 * l->velocity[j][0];
    if (b->shared.place) return HB_OK;
    HB_TRY(find_active(b, active, &n));
    b->plan = &plan, b->seed = SCOUT_SEED, b->first = 0;
    const size_t together = HB_WALK_BLOCK / SCOUTS;
    hb_status status = HB_OK;
    for (size_t from = 0; from < n && status == HB_OK; from += together) {
        const size_t count = n - from < together ? n - from : together;
        for (size_t k = 0; k < count; k++)
            for (size_t i = k * SCOUTS; i < (k + 1) * SCOUTS; i++) {
                const size_t j = active[from + k], last = j + 1 == HB_LEAD_ENDS;
                w->end[i] = (led_end){.cell = j - last, .share = (double)last, .y = l->end[j]};
                way[from + k] = weigh_way(l, w->end + i, w->sum[i]);
                w->sum[i][1] = w->sum[i][0];
            }
        status = guess(b, from * SCOUTS, count * SCOUTS);
        for (size_t k = from; k < from + count; k++) {
            const size_t j = active[k];
            double log_mean, slope;
            ask(w, (k - from) * SCOUTS, &log_mean, &slope);
            log_gap[k] = way[k] + log_mean - l->log_target[j];
            slope_gap[k] = slope - l->turn[j] - c[j];
        }
    }
    b->plan = other, b->seed = seed, b->first = first;
    smooth(n, log_gap);
    smooth(n, slope_gap);
    if (status == HB_OK) mend(l, active, n, log_gap, slope_gap, c);
    return status;
}

static hb_status find_lead(hb_walk_block *b, double x0)
{
    hb_lead *l = &b->led->lead;
    double c[HB_LEAD_ENDS];
    HB_TRY(hb_lead_lay(b->context, &b->shared, x0, b->plan->end, l));
    if (l->aimed) return HB_OK;
    HB_TRY(scout(b, c));
    return hb_lead_aim(b->context, &b->shared, l, c);
}

static hb_status run(hb_walk_block *b, const double *x0, size_t offset, size_t n, double *steps)
{
    struct hb_led *w = b->led;
    HB_TRY(find_lead(b, *x0));
    hb_march_uniforms(b, USE_COMBS, offset, n, w->combs);
    draw_ends(b, offset, n);
    HB_TRY(weigh_ends(b, offset, n));
    HB_TRY(guess(b, offset, n));
    HB_TRY(add_pairs(b, n));
    for (size_t i = 0; i < n; i++) HB_TRY(finish(b, offset, i));
    *steps += (double)n * (WALK_COST + POINT_COST * b->plan->points);
    return HB_OK;
}

const hb_walk_law hb_walk_led = {.run = run};
