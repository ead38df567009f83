/* Brownian bridges: the whole path at once, for drifts F = -grad V that do not depend on tau.
 *
 * In the gauge (walk_gauge.c), with T = tau0 and B a Brownian motion of variance 2s that begins at
 * x,
 *     u(x,T) = E[ e^{(V(B_T) - V(x))/2} u0(B_T) e^{-int Q(B_s) ds} ],     Q = |F|^2/4 + div F/2.
 * y = B_T is drawn from N(m, v) (bridge_ends.c) or, once in ten walks, from N(x, 2T), which bounds
 * its weight; to an initial density that is a point there is only that end. Given y the walk is a
 * bridge, seen at the stratified times s_m = (m + U) T/M: X = T/M sum_m Q(B(s_m)) has the mean int
 * Q, and bridge_series.c makes an unbiased e^{-int Q} of X and K more sets of times, nearly always
 * none. Where V has no formula, V(y) - V(x) is a part of X by pairs of random points between.
 * Bridges move with x by k(s) = 1 - (s/T)(1 - k_T):
 *   d ln W/dx = F(x)/2 + (1 - k_T)(y - x)/2T + k_T (grad ln u0(y) - F(y)/2) - int k(s) grad Q ds;
 * k_T = v/2T makes the ends of a Gaussian problem cancel, 0 asks nothing of u0, which may jump.
 * A number to reproduce: F = -x, u0 = N(1, 0.5), T = 0.5, x = 0.7 has u = 0.4392625993098471. */
#include "bridge/bridge.h"
#include "bridge/bridge_series.h"
#include "problem/initial/initial_average.h"

#include <string.h>

enum { MOST_POINTS = HB_BRIDGE_POINTS };
enum { MOST_SEEN = (HB_BRIDGE_REPEATS + 1) * MOST_POINTS + 2 };
enum { USE_END, USE_TIME }; /* of uniforms */

static const double PLAIN = 0.1;  /* of the walks end in N(x, 2T) */
static const double NARROW = 0.2; /* of sqrt(2T) */
/* What a walk costs, in steps of the parametrix: itself, and each point that is looked at. */
static const double WALK_COST = 0.25, POINT_COST = 0.08;

struct hb_bridges {
    hb_workspace work;
    double *seen;                        // (MOST_POINTS + 2, together, d): x, the set of times, y
    double *time;                        // (MOST_POINTS + 2, together)
    double *values;                      // (rows, 1 + d): Q and its gradient, or F
    double *normals;                     // (rows, d)
    double *uniforms, *repeats;          // (together): when it is looked at; how often
    double *log_end, *end_slope, *end_F; // (together), (together, d) each
    double *log_weight;                  // (together)
    double *sum, *slope;                 // (together), (together, d): X_0 and its derivative
    double *line;                        // (rows, d)
    double *more;                        // (rows, d): points of further times
    double *more_time;                   // (rows)
    double *more_sum, *more_slope;       // (HB_BRIDGE_REPEATS + 1), (HB_BRIDGE_REPEATS + 1, d)
    double *scratch;                     // (HB_BRIDGE_REPEATS + 4, d)
    size_t *waiting;                     // (together): walks whose sets of times are in `more`
    double fraction[HB_WALK_BLOCK];      /* of a step towards the end; and its deviation */
    double deviation[HB_WALK_BLOCK];
    size_t rows;
    double V0;                       /* V(x) */
    double *F0, *pull, *mean, *root; // (d) each: F(x), k_T, and of the Gaussian for ends
};

/* ---- memory ---- */

hb_status hb_bridges_create(hb_walk_block *b)
{
    const size_t d = b->shared.d, n = b->together;
    if (!b->shared.gauge) return HB_OK;
    struct hb_bridges *m;
    HB_TRY(HB_NEW_CLEARED(b->context, m, 1));
    b->bridges = m;
    m->rows = n > MOST_SEEN ? n : MOST_SEEN;
    const size_t rows = m->rows;
    return HB_WORKSPACE(
        b->context, &m->work, HB_ARRAY(m->seen, (MOST_POINTS + 2) * n * d),
        HB_ARRAY(m->time, (MOST_POINTS + 2) * n), HB_ARRAY(m->values, rows * (1 + d)),
        HB_ARRAY(m->normals, rows * d), HB_ARRAY(m->uniforms, n), HB_ARRAY(m->repeats, n),
        HB_ARRAY(m->log_end, n), HB_ARRAY(m->end_slope, n * d), HB_ARRAY(m->end_F, n * d),
        HB_ARRAY(m->log_weight, n), HB_ARRAY(m->sum, n), HB_ARRAY(m->slope, n * d),
        HB_ARRAY(m->line, rows * d), HB_ARRAY(m->more, rows * d), HB_ARRAY(m->more_time, rows),
        HB_ARRAY(m->more_sum, HB_BRIDGE_REPEATS + 1),
        HB_ARRAY(m->more_slope, (HB_BRIDGE_REPEATS + 1) * d),
        HB_ARRAY(m->scratch, (HB_BRIDGE_REPEATS + 4) * d), HB_ARRAY(m->waiting, n),
        HB_ARRAY(m->F0, d), HB_ARRAY(m->pull, d), HB_ARRAY(m->mean, d), HB_ARRAY(m->root, d));
}

void hb_bridges_destroy(hb_walk_block *b)
{
    if (!b->bridges) return;
    hb_workspace_destroy(&b->bridges->work);
    hb_release(b->context, b->bridges);
}

/* Points on the path to an end must not miss a narrow part of the drift. */
static int knows_potential(const hb_walk_block *b)
{
    return hb_gauge_formula_has_potential(b->shared.gauge, NARROW * sqrt(2 * b->shared.tau));
}

/* ---- the end ---- */

/* Where ends are drawn from, and how they move with x. */
static hb_status bridge_prepare(hb_walk_block *b, const double *x0)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    const double wide = 2 * b->shared.tau, *end = b->plan->ends;
    const hb_initial_facts *facts = hb_problem_initial_facts(b->shared.problem);
    const int still = b->shared.place || facts->box || facts->broken;
    for (size_t k = 0; k < d; k++) {
        const double variance = end ? end[d + k] : wide;
        m->mean[k] = end ? end[k] : x0[k];
        m->root[k] = sqrt(variance);
        m->pull[k] = still ? 0 : variance / wide;
    }
    if (knows_potential(b))
        HB_TRY(hb_gauge_formula_potential(b->context, b->shared.gauge, 1, x0, &m->V0));
    return hb_gauge_formula_drift(b->context, b->shared.gauge, 1, x0, m->F0);
}

/* ln of 1/(PLAIN + (1 - PLAIN) e^ratio) */
static double bridge_log_fraction(double ratio)
{
    return ratio > 0 ? -ratio - log(1 - PLAIN + PLAIN * exp(-ratio))
                     : -log(PLAIN + (1 - PLAIN) * exp(ratio));
}

static void bridge_draw_ends(hb_walk_block *b, const double *x0, size_t offset, size_t n, double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    const double wide = 2 * b->shared.tau, root = sqrt(wide);
    double volume = 0;
    hb_bridge_normals(b, USE_END, offset, n, d, y);
    for (size_t k = 0; k < d; k++) volume += log(root / m->root[k]);
    for (size_t i = 0; i < n; i++) {
        const int plain = m->repeats[i] < PLAIN;
        double plain2 = 0, fit2 = 0;
        for (size_t k = 0; k < d; k++) {
            double *to = y + i * d + k;
            *to = plain ? x0[k] + root * *to : m->mean[k] + m->root[k] * *to;
            const double far = *to - x0[k], gap = (*to - m->mean[k]) / m->root[k];
            plain2 += far * far;
            fit2 += gap * gap;
        }
        m->log_weight[i] = bridge_log_fraction(0.5 * (plain2 / wide - fit2) + volume);
        m->repeats[i] = plain ? m->repeats[i] / PLAIN : (m->repeats[i] - PLAIN) / (1 - PLAIN);
    }
}

static void bridge_place_ends(hb_walk_block *b, const double *x0, size_t n, double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    double squares = 0;
    for (size_t k = 0; k < d; k++) {
        const double far = b->shared.place[k] - x0[k];
        squares += far * far;
    }
    const double weight =
        -squares / (4 * b->shared.tau) - 0.5 * (double)d * log(4 * M_PI * b->shared.tau);
    for (size_t i = 0; i < n; i++) {
        memcpy(y + i * d, b->shared.place, d * sizeof *y);
        m->log_weight[i] = weight;
    }
}

/* ln W of the ends, and their part of its derivative, into b->slope. */
static hb_status bridge_weigh_ends(hb_walk_block *b, const double *x0, size_t offset, size_t n,
                                   const double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    const double wide = 2 * b->shared.tau;
    const int density = !b->shared.place;
    if (density)
        HB_TRY(hb_walk_initial(b->context, b->shared.problem, n, y, m->log_end, m->end_slope));
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, n, y, m->end_F));
    for (size_t i = 0; i < n; i++) {
        if (density) m->log_weight[i] += m->log_end[i];
        for (size_t k = 0; k < d; k++) {
            const size_t at = i * d + k;
            double end = (y[at] - x0[k]) / wide * (1 - m->pull[k]) + 0.5 * m->F0[k];
            if (m->pull[k] > 0) end += m->pull[k] * (m->end_slope[at] - 0.5 * m->end_F[at]);
            b->slope[offset * d + at] = end;
        }
    }
    if (!knows_potential(b)) return HB_OK;
    HB_TRY(hb_gauge_formula_potential(b->context, b->shared.gauge, n, y, m->log_end));
    for (size_t i = 0; i < n; i++) m->log_weight[i] += 0.5 * (m->log_end[i] - m->V0);
    return HB_OK;
}

/* ---- the potential without a formula ---- */

/* Pairs of points on the path from x to y. */
static size_t pairs_of(const hb_walk_plan *plan)
{
    return plan->points > 4 ? (size_t)plan->points / 4 : 1;
}

/* Place number j of 2 L. */
static double line_place(size_t j, size_t pairs, double uniform)
{
    const double away = j % 2 ? uniform : 1 - uniform;
    return ((double)(j / 2) + away) / (double)pairs;
}

/* F.(y - x)/(4 L) at one place, (V(x) - V(y))/2 in the mean over 2 L. */
static double line_part(size_t d, const double *x0, const double *y, const double *F, size_t pairs)
{
    double along = 0;
    for (size_t k = 0; k < d; k++) along += F[k] * (y[k] - x0[k]);
    return along / (4 * (double)pairs);
}

static void place_on_line(size_t d, const double *x0, const double *y, double r, double *to)
{
    for (size_t k = 0; k < d; k++) to[k] = x0[k] + r * (y[k] - x0[k]);
}

/* Adds it to X_0 of all walks. */
static hb_status bridge_add_lines(hb_walk_block *b, const double *x0, size_t n, const double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, pairs = pairs_of(b->plan);
    if (knows_potential(b)) return HB_OK;
    for (size_t j = 0; j < 2 * pairs; j++) {
        for (size_t i = 0; i < n; i++)
            place_on_line(d, x0, y + i * d, line_place(j, pairs, m->uniforms[i]), m->line + i * d);
        HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, n, m->line, m->values));
        for (size_t i = 0; i < n; i++)
            m->sum[i] += line_part(d, x0, y + i * d, m->values + i * d, pairs);
    }
    return HB_OK;
}

/* ---- the first set of times ---- */

/* How much a derivative by B_s counts for one by x. */
static double pull_at(const struct hb_bridges *m, size_t k, double part)
{
    return 1 - part * (1 - m->pull[k]);
}

/* Walk i of a row of the set of times: place and time are those before it, of all walks. */
static void bridge_step(hb_walk_block *b, size_t n, size_t row, const double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, together = b->together;
    const double T = b->shared.tau, h = T / b->plan->points;
    const double *before = m->time + (row - 1) * together;
    double *now = m->time + row * together;
    const double *from = m->seen + (row - 1) * together * d;
    double *to = m->seen + row * together * d;
    for (size_t i = 0; i < n; i++) {
        now[i] = ((double)(row - 1) + m->uniforms[i]) * h;
        m->fraction[i] = (now[i] - before[i]) / (T - before[i]);
        m->deviation[i] = sqrt(2 * m->fraction[i] * (T - now[i]));
    }
    if (d == 1) {
        for (size_t i = 0; i < n; i++)
            to[i] = from[i] + m->fraction[i] * (y[i] - from[i]) + m->deviation[i] * m->normals[i];
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = i * d; k < (i + 1) * d; k++)
            to[k] = from[k] + m->fraction[i] * (y[k] - from[k]) + m->deviation[i] * m->normals[k];
}

static void bridge_add_row(hb_walk_block *b, size_t n, size_t row)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    const double T = b->shared.tau, h = T / b->plan->points;
    const double *time = m->time + row * b->together;
    for (size_t i = 0; i < n; i++) {
        const double *value = m->values + i * (1 + d), part = time[i] / T;
        m->sum[i] += h * value[0];
        for (size_t k = 0; k < d; k++)
            m->slope[i * d + k] += h * pull_at(m, k, part) * value[1 + k];
    }
}

static hb_status first_times(hb_walk_block *b, const double *x0, size_t offset, size_t n,
                             const double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    memset(m->time, 0, n * sizeof *m->time);
    for (size_t i = 0; i < n; i++) memcpy(m->seen + i * d, x0, d * sizeof *x0);
    hb_bridge_uniforms(b, USE_TIME, offset, n, m->uniforms);
    for (size_t row = 1; row <= (size_t)b->plan->points; row++) {
        hb_bridge_normals(b, row, offset, n, d, m->normals);
        bridge_step(b, n, row, y);
        HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, n, m->seen + row * b->together * d,
                                    m->values));
        bridge_add_row(b, n, row);
    }
    return HB_OK;
}

/* ---- further times on the same bridge ---- */

/* The times and places that one walk is seen at, rising. */
typedef struct sights {
    size_t n;
    double time[MOST_SEEN];
    const double *place[MOST_SEEN];
} sights;

static void look_back(const hb_walk_block *b, size_t i, const double *y, sights *s)
{
    const struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, M = (size_t)b->plan->points;
    s->n = 0;
    for (size_t row = 0; row <= M; row++) {
        s->time[s->n] = m->time[row * b->together + i];
        s->place[s->n++] = m->seen + (row * b->together + i) * d;
    }
    s->time[s->n] = b->shared.tau;
    s->place[s->n++] = y + i * d;
}

/* A place at time t between those that are known, which it joins. */
static void bridge_look(size_t d, double t, const double *normals, sights *s, double *to)
{
    size_t j = s->n;
    while (j > 1 && s->time[j - 1] > t) j--;
    if (j == s->n) j--; /* t is the end but for rounding */
    const double before = s->time[j - 1], after = s->time[j], wide = after - before;
    const double fraction = wide > 0 ? (t - before) / wide : 0;
    const double root = sqrt(fmax(2 * fraction * (after - t), 0));
    for (size_t k = 0; k < d; k++)
        to[k] = s->place[j - 1][k] + fraction * (s->place[j][k] - s->place[j - 1][k]) +
                root * normals[k];
    memmove(s->time + j + 1, s->time + j, (s->n - j) * sizeof *s->time);
    memmove((void *)(s->place + j + 1), (const void *)(s->place + j),
            (s->n - j) * sizeof *s->place);
    s->time[j] = t;
    s->place[j] = to;
    s->n++;
}

/* The points of all further times of walk i into rows `at` .. of m->more. */
static void place_more(hb_walk_block *b, size_t offset, size_t i, size_t repeats, const double *y,
                       size_t at)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, M = (size_t)b->plan->points;
    const double h = b->shared.tau / (double)M;
    sights s;
    look_back(b, i, y, &s);
    for (size_t c = 0; c < repeats; c++) {
        double uniform;
        hb_bridge_uniforms(b, HB_BRIDGE_USES_MORE + c, offset + i, 1, &uniform);
        hb_bridge_normals(b, HB_BRIDGE_USES_MORE + c, offset + i, 1, M * d, m->normals);
        for (size_t k = 0; k < M; k++, at++) {
            m->more_time[at] = ((double)k + uniform) * h;
            bridge_look(d, m->more_time[at], m->normals + k * d, &s, m->more + at * d);
        }
    }
}

/* The parts of V(y) - V(x) of all further times of a walk. */
static hb_status more_lines(hb_walk_block *b, const double *x0, size_t offset, size_t i,
                            size_t repeats, const double *y)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, pairs = pairs_of(b->plan), all = 2 * pairs;
    if (knows_potential(b)) return HB_OK;
    for (size_t c = 0; c < repeats; c++) {
        double uniform;
        hb_bridge_uniforms(b, HB_BRIDGE_USES_MORE + c, offset + i, 1, &uniform);
        for (size_t j = 0; j < all; j++)
            place_on_line(d, x0, y + i * d, line_place(j, pairs, uniform),
                          m->line + (c * all + j) * d);
    }
    /* into normals: values has the sets of times */
    HB_TRY(hb_gauge_formula_drift(b->context, b->shared.gauge, repeats * all, m->line, m->normals));
    for (size_t c = 0; c < repeats; c++)
        for (size_t j = 0; j < all; j++)
            m->more_sum[1 + c] +=
                line_part(d, x0, y + i * d, m->normals + (c * all + j) * d, pairs);
    return HB_OK;
}

/* One walk with further times, whose values are in rows `at` .. of m->values. */
static hb_status finish_more(hb_walk_block *b, const double *x0, size_t offset, size_t i,
                             size_t repeats, const double *y, size_t at)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d, M = (size_t)b->plan->points;
    const double h = b->shared.tau / (double)M;
    double *X = m->more_sum, *dX = m->more_slope, *slope = m->scratch;
    memset(X, 0, (repeats + 1) * sizeof *X);
    memset(dX, 0, (repeats + 1) * d * sizeof *dX);
    X[0] = m->sum[i];
    memcpy(dX, m->slope + i * d, d * sizeof *dX);
    HB_TRY(more_lines(b, x0, offset, i, repeats, y));
    for (size_t c = 1; c <= repeats; c++)
        for (size_t k = 0; k < M; k++, at++) {
            const double *row = m->values + at * (1 + d), part = m->more_time[at] / b->shared.tau;
            X[c] += h * row[0];
            for (size_t j = 0; j < d; j++) dX[c * d + j] += h * pull_at(m, j, part) * row[1 + j];
        }
    const double value = hb_bridge_series(d, repeats, X, dX, b->plan->repeat, slope, slope + d);
    hb_bridge_store(b, offset + i, m->log_weight[i] - m->sum[i], value, slope);
    return HB_OK;
}

/* The walks first .. of those that have further times, as many as fit; returns how many. */
static size_t bridge_gather(hb_walk_block *b, size_t offset, size_t n, const double *y,
                            size_t *next, size_t *rows)
{
    struct hb_bridges *m = b->bridges;
    size_t found = 0;
    *rows = 0;
    for (; *next < n; ++*next) {
        const size_t repeats = (size_t)m->repeats[*next], need = repeats * (size_t)b->plan->points;
        if (repeats == 0) continue;
        if (*rows + need > m->rows) break;
        place_more(b, offset, *next, repeats, y, *rows);
        m->waiting[found++] = *next;
        *rows += need;
    }
    return found;
}

static hb_status further_times(hb_walk_block *b, const double *x0, size_t offset, size_t n,
                               const double *y)
{
    struct hb_bridges *m = b->bridges;
    size_t next = 0, rows, found;
    while ((found = bridge_gather(b, offset, n, y, &next, &rows)) > 0) {
        size_t at = 0;
        HB_TRY(hb_gauge_formula_run(b->context, b->shared.gauge, rows, m->more, m->values));
        for (size_t k = 0; k < found; k++) {
            const size_t i = m->waiting[k], repeats = (size_t)m->repeats[i];
            HB_TRY(finish_more(b, x0, offset, i, repeats, y, at));
            at += repeats * (size_t)b->plan->points;
        }
    }
    return HB_OK;
}

static hb_status bridge_run(hb_walk_block *b, const double *x0, size_t offset, size_t n,
                            double *steps)
{
    struct hb_bridges *m = b->bridges;
    const size_t d = b->shared.d;
    double *y = m->seen + (MOST_POINTS + 1) * b->together * d;
    HB_TRY(bridge_prepare(b, x0));
    hb_bridge_uniforms(b, USE_END, offset, n, m->repeats);
    if (b->shared.place)
        bridge_place_ends(b, x0, n, y);
    else
        bridge_draw_ends(b, x0, offset, n, y);
    HB_TRY(bridge_weigh_ends(b, x0, offset, n, y));
    memset(m->sum, 0, n * sizeof *m->sum);
    memset(m->slope, 0, n * d * sizeof *m->slope);
    HB_TRY(first_times(b, x0, offset, n, y));
    HB_TRY(bridge_add_lines(b, x0, n, y));
    for (size_t i = 0; i < n; i++) {
        m->repeats[i] = (double)hb_bridge_repeats(m->repeats[i], b->plan->repeat);
        if (m->repeats[i] > 0) continue;
        for (size_t k = i * d; k < (i + 1) * d; k++) m->slope[k] = -m->slope[k];
        hb_bridge_store(b, offset + i, m->log_weight[i] - m->sum[i], 1, m->slope + i * d);
    }
    *steps += (double)n * (WALK_COST + POINT_COST * b->plan->points);
    return further_times(b, x0, offset, n, y);
}

const double *hb_bridge_ends(const hb_walk_block *b)
{
    return b->bridges->seen + (MOST_POINTS + 1) * b->together * b->shared.d;
}

const hb_walk_ops hb_walk_bridge = {.run = bridge_run};
