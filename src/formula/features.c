/* Narrow features of formulas along one variable s: cells on which no function hides anything.
 *
 * With A and A' the ranges of an argument a and of da/ds on a cell, by interval arithmetic
 * (range_tape.c; R. E. Moore, Interval Analysis, 1966), samples see a function of a on the cell
 * when
 *     exp(a), a^b                 A is shorter than EXTREME, or a monotone and A within +-10 < STEP
 *     tanh, sinh, cosh, 1/cosh^2  A within +-20 (10) is shorter than STEP
 *     sin, cos                    A is shorter than STEP, or a is close to a line
 *     1/a, ln a, sqrt a, a^c      ends of A have one sign, ratio e^RATIO at most; atan: of 1 + a^2
 *     |a|, sign, min, max, a < b  A has no 0; exp(int a) too
 * or when the cell times the largest |A'| is that short. Other cells are cut in two, the widest
 * first; a zero of a monotone argument becomes a border, by bisection. Sums, products and
 * polynomials have no narrower features. On a box in x the slopes along all axes are used; sums
 * over a mesh see a peak from SLACK times farther. A number to reproduce: exp(-((x -
 * 2.3)/1e-5)^2) has a cell below 4e-5 at 2.3. */
#include "formula/features.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "formula/breaks.h"

enum {
    MAX_RULES = 256,
    MAX_WORK = 4000000,
    MAX_CELLS = 1 << 15,
    BISECTIONS = 70,
    PROBES = 5,
    MOST_SLOPES = 3
};

static const double EXTREME = 2, STEP = 4, RATIO = 3, SLACK = 4;
static const double VANISHED = -745; /* exp is 0 from here */
static const double LARGE = 1e22;    /* denominators above hide nothing */
static const double FARTHEST = 1e17; /* of an infinite range */
static const double SMALLEST = 1e-14, AT_ZERO = 1e-18;

enum { ALL_X = -1 }; /* in place of a variable */

typedef enum rule_kind { PEAK, RISE, WAVE, LEVEL, BREAK, SLOPE } rule_kind;

/* One function of the graph whose argument depends on the variable. */
typedef struct rule {
    rule_kind kind;
    hb_node argument;
    double size; /* RISE: where the function is straight; LEVEL: the exponent; SLOPE: a factor */
} rule;

typedef struct cell {
    double low, high;
    int cut;
} cell;

typedef struct search {
    hb_context *context;
    hb_graph *graph;               /* a copy of what the formulas need: derivatives are added */
    int variable, n_rules, curved; /* curved: the range is infinite, and cut in asinh */
    int n_slopes;                  /* of an argument: 1, or dim on a box */
    rule rules[MAX_RULES];
    hb_range_tape *tape;            /* arguments, then their slopes */
    hb_interval *x, *work, *ranges; // (dim), (size of the tape), (1 + n_slopes, n_rules)
    hb_interval t;
    cell *cells; // (capacity)
    int n, capacity, complete;
    size_t spent;
} search;

/* ---- the functions ---- */

static int features_depends(const search *s, hb_node node)
{
    int any = 0;
    if (s->variable != ALL_X) return hb_graph_depends(s->graph, node, s->variable);
    for (int k = 1; k <= s->graph->dim; k++) any |= hb_graph_depends(s->graph, node, k);
    return any;
}

static void features_add_rule(search *s, rule_kind kind, hb_node argument, double size)
{
    if (argument == HB_NO_NODE || !features_depends(s, argument)) return;
    for (int k = 0; k < s->n_rules; k++)
        if (s->rules[k].kind == kind && s->rules[k].argument == argument) {
            s->rules[k].size = fmax(s->rules[k].size, size);
            return;
        }
    if (s->n_rules < MAX_RULES)
        s->rules[s->n_rules++] = (rule){kind, argument, size};
    else
        s->complete = 0;
}

static int is_break_only(hb_operation op)
{
    return op == HB_OP_ABS || op == HB_OP_SIGN || op == HB_OP_MIN || op == HB_OP_MAX ||
           op == HB_OP_LESS;
}

static void features_add_node(search *s, hb_node i)
{
    hb_graph *graph = s->graph;
    const hb_graph_node node = graph->nodes[i]; /* a copy, since the array may move */
    hb_break_kind kind;
    double power = node.op == HB_OP_POWER ? fabs((double)node.b) : 1;
    switch (node.op) {
    case HB_OP_EXP: features_add_rule(s, PEAK, node.a, 0); break;
    case HB_OP_POW:
        if (hb_graph_is_constant(graph, node.b, &power))
            power = fabs(power);
        else
            features_add_rule(s, PEAK,
                              hb_build_multiply(graph, node.b, hb_build_log(graph, node.a)), 0);
        break;
    case HB_OP_TANH:
    case HB_OP_SECH2: features_add_rule(s, RISE, node.a, 20); break;
    case HB_OP_SINH:
    case HB_OP_COSH: features_add_rule(s, RISE, node.a, 10); break;
    case HB_OP_SIN:
    case HB_OP_COS:
    case HB_OP_TAN: features_add_rule(s, WAVE, node.a, 0); break;
    case HB_OP_ATAN:
        features_add_rule(
            s, LEVEL,
            hb_build_add(graph, hb_build_constant(graph, 1), hb_build_power(graph, node.a, 2)), 1);
        break;
    default: break;
    }
    if (node.op != HB_OP_TAN)
        features_add_rule(s, is_break_only(node.op) ? BREAK : LEVEL,
                          hb_break_argument(graph, i, &kind), fmax(power, 1));
}

static hb_status find_rules(search *s)
{
    hb_node none = 0;
    for (hb_node i = 0, count = s->graph->count; i < count; i++)
        if (features_depends(s, i)) features_add_node(s, i);
    return hb_graph_finish(s->graph, none, &none);
}

/* The tape of all arguments and their slopes. */
static hb_status make_tape(search *s)
{
    hb_node nodes[(1 + MOST_SLOPES) * MAX_RULES];
    const int rules = s->n_rules, rows = 1 + s->n_slopes, first = s->n_slopes > 1 ? 1 : s->variable;
    const size_t d = (size_t)s->graph->dim, n = (size_t)rows * (size_t)rules;
    for (int k = 0; k < rules; k++) {
        nodes[k] = s->rules[k].argument;
        for (int a = 0; a < s->n_slopes; a++)
            HB_TRY(hb_graph_derivative(s->graph, nodes[k], first + a, nodes + (1 + a) * rules + k));
    }
    HB_TRY(hb_range_tape_create(s->context, s->graph, rows * rules, nodes, &s->tape));
    HB_TRY(HB_NEW(s->context, s->x, d + n + hb_range_tape_size(s->tape)));
    s->ranges = s->x + d;
    s->work = s->ranges + n;
    return HB_OK;
}

/* ---- one cell ---- */

static void features_run(search *s, double low, double high)
{
    const hb_interval here = {low, high};
    if (s->variable > 0) s->x[s->variable - 1] = here;
    hb_range_tape_run(s->tape, s->x, s->variable ? s->t : here, s->work, s->ranges);
    s->spent += hb_range_tape_size(s->tape);
}

static int has_zero(hb_interval a)
{
    return !(a.low > 0 || a.high < 0);
}

static double length_within(hb_interval a, double end)
{
    return fmax(0, fmin(a.high, end) - fmax(a.low, -end));
}

/* What a cell shows of an argument. */
typedef struct view {
    hb_interval a;
    int monotone, even; /* a slope has no zero; nor does it vary much */
    double change;      /* of the argument, at most */
    double side;        /* of the cell, the longest */
} view;

/* Of argument k on a cell with these sides. */
static view view_of(const search *s, int k, const double *sides)
{
    view v = {.a = s->ranges[k]};
    for (int a = 0; a < s->n_slopes; a++) {
        const hb_interval slope = s->ranges[(1 + a) * s->n_rules + k];
        const double most = fmax(fabs(slope.low), fabs(slope.high)),
                     least = fmin(fabs(slope.low), fabs(slope.high));
        v.monotone |= !has_zero(slope);
        v.even |= !has_zero(slope) && most <= STEP * least;
        v.change += sides[a] * most;
        v.side = fmax(v.side, sides[a]);
    }
    return v;
}

/* Whether samples see the function on a cell. *zero: its argument has one zero there, or none. */
static int rule_is_seen(const rule *r, view v, double slack, int *zero)
{
    const hb_interval a = v.a;
    const double least = fmin(fabs(a.low), fabs(a.high)), most = fmax(fabs(a.low), fabs(a.high)),
                 length = fmin(a.high - a.low, v.change);
    *zero = 0;
    switch (r->kind) {
    case PEAK:
        if (a.high < VANISHED || length <= slack * EXTREME) return 1;
        return v.monotone && fmin(length_within(a, 10), v.change) <= slack * STEP;
    case SLOPE: return !has_zero(a) || r->size * v.side * most <= EXTREME;
    case RISE: return fmin(length_within(a, r->size), v.change) <= slack * STEP;
    case WAVE: return length <= slack * STEP || v.even;
    case LEVEL:
        if (!has_zero(a) && r->size * log(fmin(most, LARGE) / fmin(least, LARGE)) <= slack * RATIO)
            return 1;
        break;
    case BREAK:
        if (!has_zero(a)) return 1;
        break;
    }
    *zero = has_zero(a) && v.monotone;
    return 0;
}

static double features_middle(const search *s, double low, double high)
{
    if (s->curved && low < 0 && high > 0 && low == -high) return 0;
    return s->curved ? sinh(0.5 * (asinh(low) + asinh(high))) : 0.5 * (low + high);
}

/* The zero of argument k, which rises or falls, on the cell; NaN: none, or at an end. */
static double zero_of(search *s, int k, double low, double high)
{
    double a = low, b = high;
    features_run(s, a, a);
    const int below = s->ranges[k].high < 0;
    if (has_zero(s->ranges[k])) return NAN;
    features_run(s, b, b);
    if (has_zero(s->ranges[k]) || below == (s->ranges[k].high < 0)) return NAN;
    for (int step = 0; step < BISECTIONS; step++) {
        const double middle = features_middle(s, a, b);
        if (!(middle > a && middle < b)) break;
        features_run(s, middle, middle);
        *((s->ranges[k].low + s->ranges[k].high < 0) == below ? &a : &b) = middle;
    }
    return fabs(a) < fabs(b) ? a : b;
}

/* Where the cell has to be cut; NaN: nowhere. */
static double features_cut(search *s, double low, double high)
{
    const double length = high - low;
    int zero, which = -1;
    if (length <= SMALLEST * fmax(fabs(low), fabs(high)) + AT_ZERO) return NAN;
    features_run(s, low, high);
    for (int k = 0; k < s->n_rules; k++) {
        if (rule_is_seen(s->rules + k, view_of(s, k, &length), 1, &zero)) continue;
        if (!zero) return features_middle(s, low, high);
        which = which < 0 ? k : which;
    }
    if (which < 0) return NAN;
    /* Only simple zeros are left: each becomes a border, and then nothing is hidden beside it. */
    for (int k = which; k < s->n_rules; k++) {
        features_run(s, low, high);
        if (rule_is_seen(s->rules + k, view_of(s, k, &length), 1, &zero)) continue;
        const double place = zero_of(s, k, low, high);
        if (place > low && place < high) return place;
    }
    return NAN;
}

/* Drops functions that are not seen even at single values of the variable. */
static void drop_undetermined(search *s, double low, double high)
{
    int unseen[MAX_RULES] = {0}, kept = 0, zero;
    double ends[2] = {low, high};
    const double none = 0;
    for (int p = 0; p < PROBES; p++) {
        const double place = p % 2 ? features_middle(s, ends[0], 0.7 * ends[0] + 0.3 * ends[1])
                                   : features_middle(s, ends[0], ends[1]);
        features_run(s, place, place);
        for (int k = 0; k < s->n_rules; k++)
            unseen[k] += !rule_is_seen(s->rules + k, view_of(s, k, &none), 1, &zero);
        ends[p % 2] = place;
    }
    for (int k = 0; k < s->n_rules; k++) {
        if (unseen[k] < PROBES) {
            s->rules[kept++] = s->rules[k];
            continue;
        }
        s->complete &= s->rules[k].kind == BREAK;
    }
    s->n_rules = kept;
}

/* ---- all cells ---- */

static hb_status add_cell(search *s, double low, double high)
{
    HB_TRY(HB_GROW(s->context, s->cells, s->n, s->capacity));
    s->cells[s->n++] = (cell){low, high, 0};
    return HB_OK;
}

static hb_status features_cut_cells(search *s, double low, double high)
{
    HB_TRY(add_cell(s, low, high));
    for (int k = 0; k < s->n && s->n_rules; k++) {
        const double a = s->cells[k].low, b = s->cells[k].high, place = features_cut(s, a, b);
        if (!(place > a && place < b)) continue;
        if (s->spent > MAX_WORK || s->n > 2 * MAX_CELLS) {
            s->complete = 0;
            break;
        }
        s->cells[k].cut = 1;
        HB_TRY(add_cell(s, a, place));
        HB_TRY(add_cell(s, place, b));
    }
    return HB_OK;
}

static hb_status take_cells(search *s, hb_features *out)
{
    HB_TRY(HB_NEW(s->context, out->borders, (size_t)s->n + 1));
    for (int k = 0; k < s->n; k++)
        if (!s->cells[k].cut) out->borders[out->n++] = s->cells[k].low;
    out->borders[out->n] = s->cells[0].high;
    hb_sort((size_t)out->n + 1, out->borders);
    out->complete = s->complete;
    return HB_OK;
}

/* The formulas in a graph of their own. */
static hb_status copy_graph(search *s, const hb_graph *graph, int n, const hb_node *nodes,
                            hb_node *copies)
{
    hb_node *x; // (d)
    const int d = graph->dim;
    HB_TRY(hb_graph_create(s->context, d, &s->graph));
    HB_TRY(HB_NEW(s->context, x, (size_t)d));
    for (int i = 0; i < d; i++) x[i] = hb_build_variable(s->graph, i + 1);
    const hb_status status =
        hb_graph_substitute(graph, n, nodes, x, hb_build_variable(s->graph, 0), s->graph, copies);
    hb_release(s->context, x);
    return status;
}

static hb_status search_range(search *s, const hb_interval *x, hb_features *out)
{
    const hb_interval range = s->variable == 0 ? s->t
                              : x              ? x[s->variable - 1]
                                               : (hb_interval){-INFINITY, INFINITY};
    const double low = fmax(range.low, -FARTHEST), high = fmin(range.high, FARTHEST);
    s->curved = low <= -FARTHEST || high >= FARTHEST;
    for (int pass = 0; pass < 2 && s->n_rules; pass++) {
        hb_range_tape_destroy(s->context, s->tape);
        hb_release(s->context, s->x);
        s->tape = NULL;
        s->x = NULL;
        HB_TRY(make_tape(s));
        for (int i = 0; i < s->graph->dim; i++)
            s->x[i] = x ? x[i] : (hb_interval){-INFINITY, INFINITY};
        if (pass == 0) drop_undetermined(s, low, high);
    }
    HB_TRY(features_cut_cells(s, low, high));
    return take_cells(s, out);
}

static hb_status features_search(search *s, const hb_graph *graph, int n, const hb_node *nodes,
                                 double scale, const hb_interval *x, hb_features *out)
{
    hb_node *copies; // (n)
    s->complete = 1;
    s->n_slopes = 1;
    HB_TRY(HB_NEW(s->context, copies, (size_t)n));
    hb_status status = copy_graph(s, graph, n, nodes, copies);
    if (status == HB_OK) status = find_rules(s);
    if (status == HB_OK && scale > 0) features_add_rule(s, SLOPE, copies[0], scale);
    if (status == HB_OK) status = search_range(s, x, out);
    hb_release(s->context, copies);
    return status;
}

static void destroy_search(search *s)
{
    hb_context *context = s->context;
    hb_range_tape_destroy(context, s->tape);
    hb_graph_destroy(s->graph);
    hb_release(context, s->x);
    hb_release(context, s->cells);
    hb_release(context, s);
}

static hb_status features_start(hb_context *context, const hb_graph *graph, int n,
                                const hb_node *nodes, double scale, int variable,
                                const hb_interval *x, hb_interval t, hb_features *out)
{
    search *s;
    *out = (hb_features){0};
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    s->context = context;
    s->variable = variable;
    s->t = t;
    const hb_status status = features_search(s, graph, n, nodes, scale, x, out);
    if (status != HB_OK) hb_features_destroy(context, out);
    destroy_search(s);
    return status;
}

hb_status hb_features_find(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                           int variable, const hb_interval *x, hb_interval t, hb_features *out)
{
    return features_start(context, graph, n, nodes, 0, variable, x, t, out);
}

hb_status hb_features_of_drift(hb_context *context, const hb_graph *graph, hb_node node,
                               double scale, int variable, hb_interval range, hb_features *out)
{
    hb_interval *x; // (d)
    const size_t d = (size_t)graph->dim;
    HB_TRY(HB_NEW_CLEARED(context, x, d));
    x[variable - 1] = range;
    const hb_status status =
        features_start(context, graph, 1, &node, scale, variable, x, (hb_interval){0, 0}, out);
    hb_release(context, x);
    return status;
}

void hb_features_destroy(hb_context *context, hb_features *features)
{
    hb_release(context, features->borders);
    *features = (hb_features){0};
}

/* ---- boxes ---- */

/* A zero inside, or one at an end that rounding has moved. */
static int touches_zero(hb_interval a)
{
    return has_zero(a) || fmin(fabs(a.low), fabs(a.high)) < 1e-20 * fmax(fabs(a.low), fabs(a.high));
}

/* Whether a cell of the box is seen; *depth: halvings that it needs. Along one axis after the
 * other; a cell that only holds a
 * zero of a denominator or a root, or a kink, is left to the sums. */
static int box_is_seen(search *s, int depth, int most, int *deepest)
{
    const int d = s->graph->dim, axis = depth % d;
    double sides[MOST_SLOPES] = {0};
    int zero, unseen = 0, open = 0;
    for (int a = 0; a < d; a++) sides[a] = s->x[a].high - s->x[a].low;
    hb_range_tape_run(s->tape, s->x, s->t, s->work, s->ranges);
    s->spent += hb_range_tape_size(s->tape);
    for (int k = 0; k < s->n_rules; k++) {
        const rule *r = s->rules + k;
        if (r->kind == BREAK || rule_is_seen(r, view_of(s, k, sides), SLACK, &zero)) continue;
        *(r->kind == LEVEL && touches_zero(s->ranges[k]) ? &open : &unseen) = 1;
    }
    if (unseen && depth > *deepest) *deepest = depth;
    if (!unseen && !open) return 1;
    if (depth == most) return !unseen;
    if (s->spent > MAX_WORK) return 0;
    const hb_interval whole = s->x[axis];
    int seen = 1;
    for (int half = 0; half < 2 && seen; half++) {
        const double middle = 0.5 * (whole.low + whole.high);
        s->x[axis] = half ? (hb_interval){middle, whole.high} : (hb_interval){whole.low, middle};
        seen = box_is_seen(s, depth + 1, most, deepest);
    }
    s->x[axis] = whole;
    return seen;
}

static hb_status find_in_box(search *s, const hb_graph *graph, int n, const hb_node *nodes,
                             const hb_interval *x, int most, int *depth)
{
    hb_node copies[MOST_SLOPES];
    const int d = s->n_slopes = graph->dim;
    int deepest = -1;
    HB_TRY(copy_graph(s, graph, n, nodes, copies));
    HB_TRY(find_rules(s));
    *depth = 0;
    if (s->n_rules == 0) return HB_OK;
    HB_TRY(make_tape(s));
    for (int a = 0; a < d; a++) s->x[a] = x[a];
    const int seen = s->complete && box_is_seen(s, 0, d * most, &deepest);
    *depth = seen ? (deepest + d) / d : most + 1;
    return HB_OK;
}

hb_status hb_features_depth(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                            const hb_interval *x, int most, int *depth)
{
    search *s;
    HB_TRY(HB_NEW_CLEARED(context, s, 1));
    s->context = context;
    s->variable = ALL_X;
    s->complete = 1;
    const hb_status status = find_in_box(s, graph, n, nodes, x, most, depth);
    destroy_search(s);
    return status;
}

/* ---- questions ---- */

double hb_features_next(const hb_features *features, double s, double narrow)
{
    const double *border = features->borders;
    if (!features->n) return INFINITY;
    for (int k = hb_sorted_until(features->n + 1, border, s); k <= features->n; k++)
        if ((k > 0 && border[k] - border[k - 1] < narrow) ||
            (k < features->n && border[k + 1] - border[k] < narrow))
            return border[k];
    return INFINITY;
}
