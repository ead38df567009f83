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
 * Combs and series are those of walk_march.c, in the clock r, s = T r^2 (3 - 2r), which ticks faster where ways bend;
 * what the table says about Q(m) is taken off at the points of the comb, and its integral, known exactly, is put back.
 * V(y) - V(x): that of the end beside y is known; what is missing is in X, as the mean over a pair of points between.
 * The score: paths are moved by k(s), k(0) = 1, k(T) = a(y), which the table has:
 *     d ln W/dx = F(x)/2 + a (d ln u0(y)/dy - F(y)/2) + a'(y) - int k' m'/2 ds - dX,
 *     dX = int k Q'(m + Z) - k'' Z/2 ds.
 * To a start that is a point there is only that end, and a = 0.
 * R. H. Cameron, W. T. Martin, Ann. of Math. 45 (1944).
 * A number to reproduce: F = -x, u0 = N(1, 0.5), T = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "problem/initial_average.h"
#include "walk/least_action.h"
#include "walk/march_series.h"
#include "walk/walk_march.h"

#include <string.h>

enum { USE_END, USE_TIME, USE_PLACE }; /* of uniforms */
enum { MOST_ROWS = HB_MARCH_COMBS * HB_MARCH_POINTS };

/* What a walk costs, in steps of the parametrix: itself, and each point that is looked at. */
static const double WALK_COST = 0.25, POINT_COST = 0.1;

/* The ends of a block, and what is known of a walk before its bridge is. */
typedef struct led_end {
    size_t cell;
    double share; /* of the next way */
    double y, node, answer;
} led_end;

struct hb_led {
    hb_lead lead;
    led_end end[HB_WALK_BLOCK];
    double y[HB_WALK_BLOCK], log_start[HB_WALK_BLOCK], start_slope[HB_WALK_BLOCK];
    double F[HB_WALK_BLOCK], line[2 * HB_WALK_BLOCK], line_F[2 * HB_WALK_BLOCK];
    double uniforms[HB_WALK_BLOCK], combs[HB_WALK_BLOCK], normals[HB_WALK_BLOCK];
    double Z[HB_MARCH_POINTS + 2][HB_WALK_BLOCK]; /* at 0, at the points, at T */
    double time[HB_MARCH_POINTS + 2][HB_WALK_BLOCK];
    double log_weight[HB_WALK_BLOCK], sum[HB_WALK_BLOCK], slope[HB_WALK_BLOCK]; /* X_0, dX_0 */
    double x[HB_WALK_BLOCK], values[2 * HB_WALK_BLOCK];
    double more_Z[MOST_ROWS], more_clock[MOST_ROWS], more_x[MOST_ROWS], more_values[2 * MOST_ROWS];
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
        const size_t beside = e->cell + (e->share > 0.5);
        e->node = l->end[beside];
        w->log_weight[i] += w->log_start[i] + 0.5 * l->rise[beside] - 0.5 * log(4 * M_PI * l->T) -
                            mix_products(l->speed, l->speed_next, l->speed_next, e);
        b->slope[offset + i] = 0.5 * l->drift + a * (w->start_slope[i] - 0.5 * w->F[i]) +
                               (high - low) / cell -
                               mix_products(l->turn, l->turn_up, l->turn_down, e);
        w->sum[i] = mix(l->sink, e);
        w->slope[i] = mix(l->sink_rise, e);
    }
    return HB_OK;
}

/* ---- one point of a comb ---- */

/* The way of an end at r of the clock, mixed. */
static hb_lead_node way_at(const hb_lead *l, const led_end *e, double r, double s)
{
    const size_t t = r < 1 ? (size_t)(r * HB_LEAD_LAGS) : HB_LEAD_LAGS - 1;
    const double h = l->time[t + 1] - l->time[t], b = (s - l->time[t]) / h, a = 1 - b;
    const double ca = (a * a * a - a) * h * h / 6, cb = (b * b * b - b) * h * h / 6;
    const hb_lead_node *one = l->way[e->cell] + t, *two = l->way[e->cell + 1] + t;
    const double v = 1 - e->share, w = e->share;
    hb_lead_node here, next;
#define MIX(field)                                                                                 \
    (here.field = v * one[0].field + w * two[0].field,                                             \
     next.field = v * one[1].field + w * two[1].field)
    MIX(place), MIX(bend), MIX(tangent), MIX(twist), MIX(sink), MIX(sink_rise);
#undef MIX
    return (hb_lead_node){
        .place = a * here.place + b * next.place + ca * here.bend + cb * next.bend,
        .bend = a * here.bend + b * next.bend,
        .tangent = a * here.tangent + b * next.tangent + ca * here.twist + cb * next.twist,
        .twist = a * here.twist + b * next.twist,
        .sink = a * here.sink + b * next.sink,
        .sink_rise = a * here.sink_rise + b * next.sink_rise};
}

static double time_of(double T, double r)
{
    return T * r * r * (3 - 2 * r);
}

/* T - s */
static double left_of(double T, double r)
{
    return T * (1 - r) * (1 - r) * (1 + 2 * r);
}

/* ds of a point of the comb. */
static double weight_of(const hb_walk_block *b, double r)
{
    return b->shared.tau * 6 * r * (1 - r) / b->plan->points;
}

/* A value of Q and Q' at m + Z, into X and dX. */
static void add_point(double weight, const hb_lead_node *way, double Z, const double *value,
                      double *X, double *dX)
{
    *X += weight * (value[0] - 0.5 * way->bend * Z - way->sink);
    *dX += weight * (way->tangent * value[1] - 0.5 * way->twist * Z - way->sink_rise);
}

/* ---- the first comb ---- */

static hb_status first_comb(hb_walk_block *b, size_t offset, size_t n)
{
    struct hb_led *w = b->led;
    const double T = b->shared.tau;
    const size_t M = (size_t)b->plan->points;
    hb_lead_node way[HB_WALK_BLOCK];
    memset(w->Z[0], 0, n * sizeof(double));
    memset(w->time[0], 0, n * sizeof(double));
    hb_march_uniforms(b, USE_TIME, offset, n, w->uniforms);
    for (size_t row = 1; row <= M; row++) {
        hb_march_normals(b, row, offset, n, 1, w->normals);
        for (size_t i = 0; i < n; i++) {
            const double r = ((double)(row - 1) + w->uniforms[i]) / (double)M;
            const double s = time_of(T, r), before = w->time[row - 1][i];
            const double left = left_of(T, r), share = left / (T - before);
            w->time[row][i] = s;
            w->Z[row][i] =
                share * w->Z[row - 1][i] + sqrt(2 * (s - before) * share) * w->normals[i];
            way[i] = way_at(&w->lead, w->end + i, r, s);
            w->x[i] = way[i].place + w->Z[row][i];
        }
        HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, n, w->x, w->values));
        for (size_t i = 0; i < n; i++) {
            const double r = ((double)(row - 1) + w->uniforms[i]) / (double)M;
            add_point(weight_of(b, r), way + i, w->Z[row][i], w->values + 2 * i, w->sum + i,
                      w->slope + i);
        }
    }
    return HB_OK;
}

/* (V(beside) - V(y))/2 in the mean over u and 1 - u. */
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
    for (size_t i = 0; i < n; i++) place_pair(w->end + i, w->uniforms[i], w->line + 2 * i);
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * n, w->line, w->line_F));
    for (size_t i = 0; i < n; i++) w->sum[i] += pair_part(w->end + i, w->line_F + 2 * i);
    return HB_OK;
}

/* ---- further combs of a walk ---- */

static void place_more(hb_walk_block *b, size_t offset, size_t i, size_t combs, double *pairs)
{
    struct hb_led *w = b->led;
    const double T = b->shared.tau;
    const size_t M = (size_t)b->plan->points;
    static const double NONE = 0;
    hb_march_sights s = {.n = 0};
    for (size_t row = 0; row <= M; row++) {
        s.time[s.n] = w->time[row][i];
        s.place[s.n++] = w->Z[row] + i;
    }
    s.time[s.n] = T;
    s.place[s.n++] = &NONE;
    for (size_t c = 0, at = 0; c < combs; c++) {
        double uniform;
        hb_march_uniforms(b, HB_MARCH_USES_MORE + c, offset + i, 1, &uniform);
        hb_march_normals(b, HB_MARCH_USES_MORE + c, offset + i, 1, M, w->normals);
        place_pair(w->end + i, uniform, pairs + 2 * c);
        for (size_t k = 0; k < M; k++, at++) {
            w->more_clock[at] = ((double)k + uniform) / (double)M;
            hb_march_look(1, time_of(T, w->more_clock[at]), w->normals + k, &s, w->more_Z + at);
        }
    }
}

static hb_status finish_more(hb_walk_block *b, size_t offset, size_t i, size_t combs)
{
    struct hb_led *w = b->led;
    const size_t M = (size_t)b->plan->points, rows = combs * M;
    const led_end *e = w->end + i;
    double X[HB_MARCH_COMBS + 1] = {w->sum[i]}, dX[HB_MARCH_COMBS + 1] = {w->slope[i]};
    double pairs[2 * HB_MARCH_COMBS], F[2 * HB_MARCH_COMBS], work[HB_MARCH_COMBS + 2], slope;
    hb_lead_node way[MOST_ROWS];
    place_more(b, offset, i, combs, pairs);
    for (size_t k = 0; k < rows; k++) {
        way[k] = way_at(&w->lead, e, w->more_clock[k], time_of(b->shared.tau, w->more_clock[k]));
        w->more_x[k] = way[k].place + w->more_Z[k];
    }
    HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, rows, w->more_x, w->more_values));
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, 2 * combs, pairs, F));
    for (size_t c = 1, k = 0; c <= combs; c++) {
        X[c] = mix(w->lead.sink, e) + pair_part(e, F + 2 * (c - 1));
        dX[c] = mix(w->lead.sink_rise, e);
        for (size_t j = 0; j < M; j++, k++)
            add_point(weight_of(b, w->more_clock[k]), way + k, w->more_Z[k], w->more_values + 2 * k,
                      X + c, dX + c);
    }
    const double value = hb_march_series(1, combs, X, dX, b->plan->again, &slope, work);
    hb_march_store(b, offset + i, w->log_weight[i] - w->sum[i], value, &slope);
    return HB_OK;
}

static hb_status run(hb_walk_block *b, const double *x0, size_t offset, size_t n, double *steps)
{
    struct hb_led *w = b->led;
    HB_TRY(hb_lead_build(b->context, &b->shared, *x0, b->plan->end, &w->lead));
    hb_march_uniforms(b, USE_END, offset, n, w->combs);
    draw_ends(b, offset, n);
    HB_TRY(weigh_ends(b, offset, n));
    HB_TRY(first_comb(b, offset, n));
    HB_TRY(add_pairs(b, n));
    for (size_t i = 0; i < n; i++) {
        const size_t combs = hb_march_combs(w->combs[i], b->plan->again);
        if (combs > 0) {
            HB_TRY(finish_more(b, offset, i, combs));
            continue;
        }
        w->slope[i] = -w->slope[i];
        hb_march_store(b, offset + i, w->log_weight[i] - w->sum[i], 1, w->slope + i);
    }
    *steps += (double)n * (WALK_COST + POINT_COST * b->plan->points);
    return HB_OK;
}

const hb_walk_law hb_walk_led = {.run = run};
