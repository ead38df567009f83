/* Interval arithmetic: what values can a formula take on a box?
 *
 * Each operation maps intervals to an interval that holds all its values, rounded outward (R. E.
 * Moore, Interval Analysis, 1966). The result is never too small; it may be too large when a
 * variable occurs twice, by an amount that falls with the size of the box. So "F stays between a
 * and b in this cell" is a proof, which values at points never are. Rounding outward is by two
 * neighbours of the rounded result: the functions of C are right to one.
 *
 * Must reproduce: x - x^3 on [0, 1] is within [-1, 1]; 1500 max(0, 0.03 - |x - 0.6|) on [0.5,
 * 0.7] reaches 45, on [0, 0.5] it is 0. */
#include "formula/range_tape.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/axis_table.h"
#include "formula/graph.h"

static const hb_interval ALL = {-INFINITY, INFINITY};

struct hb_range_tape {
    int n_steps, n_outputs;
    hb_graph_node *steps; // (n_steps): operands are earlier steps
    int *outputs;         // (n_outputs): steps
    const hb_axis_table **tables;
};

/* ---- one operation ---- */

static hb_interval hull(double a, double b)
{
    if (isnan(a) || isnan(b)) return ALL;
    return a < b ? (hb_interval){a, b} : (hb_interval){b, a};
}

static hb_interval outward(hb_interval a)
{
    if (isnan(a.low) || isnan(a.high)) return ALL;
    for (int k = 0; k < 2; k++) {
        a.low = nextafter(a.low, -INFINITY);
        a.high = nextafter(a.high, INFINITY);
    }
    return a;
}

static hb_interval clip(hb_interval a, double low, double high)
{
    return (hb_interval){fmin(fmax(a.low, low), high), fmax(fmin(a.high, high), low)};
}

static int holds(hb_interval a, double value)
{
    return a.low <= value && value <= a.high;
}

/* 0 times infinity is 0: the ends are bounds, not values. */
static double interval_product(double a, double b)
{
    return a == 0 || b == 0 ? 0 : a * b;
}

static hb_interval interval_multiply(hb_interval a, hb_interval b)
{
    const double ends[4] = {interval_product(a.low, b.low), interval_product(a.low, b.high),
                            interval_product(a.high, b.low), interval_product(a.high, b.high)};
    hb_interval out = {ends[0], ends[0]};
    for (int k = 1; k < 4; k++) {
        out.low = fmin(out.low, ends[k]);
        out.high = fmax(out.high, ends[k]);
    }
    return outward(out);
}

static hb_interval interval_divide(hb_interval a, hb_interval b)
{
    if (holds(b, 0)) return holds(a, 0) && a.low == a.high ? a : ALL;
    return interval_multiply(a, outward((hb_interval){1 / b.high, 1 / b.low}));
}

static hb_interval absolute(hb_interval a)
{
    const double most = fmax(fabs(a.low), fabs(a.high));
    return (hb_interval){holds(a, 0) ? 0 : fmin(fabs(a.low), fabs(a.high)), most};
}

/* a^n for a whole n > 0. */
static hb_interval positive_power(hb_interval a, int n)
{
    if (n % 2 == 0) a = absolute(a);
    const hb_interval power = outward(outward((hb_interval){pow(a.low, n), pow(a.high, n)}));
    return n % 2 == 0 ? clip(power, 0, INFINITY) : power;
}

static hb_interval whole_power(hb_interval a, int n)
{
    if (n > 0) return positive_power(a, n);
    return interval_divide((hb_interval){1, 1}, positive_power(a, -n));
}

/* a^b for a >= 0 by its corners; elsewhere nothing is known. */
static hb_interval real_power(hb_interval a, hb_interval b)
{
    if (a.high < 0) return ALL;
    a = clip(a, 0, INFINITY);
    if (a.low == 0 && b.low <= 0) return (hb_interval){0, INFINITY};
    const double ends[4] = {pow(a.low, b.low), pow(a.low, b.high), pow(a.high, b.low),
                            pow(a.high, b.high)};
    hb_interval out = {ends[0], ends[0]};
    for (int k = 0; k < 4; k++) {
        if (isnan(ends[k])) return (hb_interval){0, INFINITY};
        out.low = fmin(out.low, ends[k]);
        out.high = fmax(out.high, ends[k]);
    }
    return clip(outward(outward(out)), 0, INFINITY);
}

/* 1 when the interval has a point shift + 2 pi k, or may have one by rounding. */
static int meets_turn(hb_interval a, double shift)
{
    const double slack = 1e-15 * (1 + fabs(a.low) + fabs(a.high));
    return floor((a.high - shift + slack) / (2 * M_PI)) >=
           ceil((a.low - shift - slack) / (2 * M_PI));
}

static hb_interval sine(hb_interval a, double shift)
{
    if (!isfinite(a.low) || !isfinite(a.high)) return (hb_interval){-1, 1};
    const double first = shift == 0 ? sin(a.low) : cos(a.low);
    hb_interval out = outward(hull(first, shift == 0 ? sin(a.high) : cos(a.high)));
    if (meets_turn(a, M_PI / 2 - shift)) out.high = 1;
    if (meets_turn(a, -M_PI / 2 - shift)) out.low = -1;
    return clip(out, -1, 1);
}

static hb_interval tangent(hb_interval a)
{
    if (!(a.high - a.low < M_PI)) return ALL;
    const hb_interval bottom = sine(a, M_PI / 2);
    return holds(bottom, 0) ? ALL : outward((hb_interval){tan(a.low), tan(a.high)});
}

static hb_interval logarithm(hb_interval a)
{
    if (a.high < 0) return ALL;
    return outward((hb_interval){log(fmax(a.low, 0)), log(a.high)});
}

static hb_interval square_root(hb_interval a)
{
    if (a.high < 0) return ALL;
    return clip(outward((hb_interval){sqrt(fmax(a.low, 0)), sqrt(a.high)}), 0, INFINITY);
}

static hb_interval interval_sign(hb_interval a)
{
    return (hb_interval){a.low > 0 ? 1 : (a.low < 0 ? -1 : 0),
                         a.high > 0 ? 1 : (a.high < 0 ? -1 : 0)};
}

/* 1/sqrt(1 - a^2), rising with |a|. */
static hb_interval arcsine_slope(hb_interval a)
{
    const hb_interval size = clip(absolute(a), 0, 1);
    return outward(outward((hb_interval){1 / sqrt((1 - size.low) * (1 + size.low)),
                                         1 / sqrt((1 - size.high) * (1 + size.high))}));
}

static hb_interval interval_of_one(hb_operation op, hb_interval a)
{
    const hb_interval inside = clip(a, -1, 1), size = absolute(a);
    switch (op) {
    case HB_OP_NEGATE: return (hb_interval){-a.high, -a.low};
    case HB_OP_EXP: return clip(outward((hb_interval){exp(a.low), exp(a.high)}), 0, INFINITY);
    case HB_OP_LOG: return logarithm(a);
    case HB_OP_SQRT: return square_root(a);
    case HB_OP_SIN: return sine(a, 0);
    case HB_OP_COS: return sine(a, M_PI / 2);
    case HB_OP_TAN: return tangent(a);
    case HB_OP_ASIN: return outward((hb_interval){asin(inside.low), asin(inside.high)});
    case HB_OP_ACOS: return outward((hb_interval){acos(inside.high), acos(inside.low)});
    case HB_OP_ATAN: return outward((hb_interval){atan(a.low), atan(a.high)});
    case HB_OP_SINH: return outward((hb_interval){sinh(a.low), sinh(a.high)});
    case HB_OP_COSH: return outward((hb_interval){cosh(size.low), cosh(size.high)});
    case HB_OP_TANH: return clip(outward((hb_interval){tanh(a.low), tanh(a.high)}), -1, 1);
    case HB_OP_ABS: return size;
    case HB_OP_SIGN: return interval_sign(a);
    case HB_OP_SECH2:
        return clip(outward(outward((hb_interval){hb_sech2(size.high), hb_sech2(size.low)})), 0, 1);
    case HB_OP_ASIN1: return arcsine_slope(a);
    default: return ALL;
    }
}

static hb_interval interval_less(hb_interval a, hb_interval b)
{
    return (hb_interval){a.high < b.low, a.low < b.high};
}

static hb_interval interval_of_two(hb_operation op, hb_interval a, hb_interval b)
{
    switch (op) {
    case HB_OP_ADD: return outward((hb_interval){a.low + b.low, a.high + b.high});
    case HB_OP_SUBTRACT: return outward((hb_interval){a.low - b.high, a.high - b.low});
    case HB_OP_MULTIPLY: return interval_multiply(a, b);
    case HB_OP_DIVIDE: return interval_divide(a, b);
    case HB_OP_MIN: return (hb_interval){fmin(a.low, b.low), fmin(a.high, b.high)};
    case HB_OP_MAX: return (hb_interval){fmax(a.low, b.low), fmax(a.high, b.high)};
    case HB_OP_POW: return real_power(a, b);
    case HB_OP_LESS: return interval_less(a, b);
    default: return ALL;
    }
}

static hb_interval interval_select(hb_interval condition, hb_interval yes, hb_interval no)
{
    if (condition.low > 0) return yes;
    if (condition.high <= 0) return no;
    return (hb_interval){fmin(yes.low, no.low), fmax(yes.high, no.high)};
}

/* x(y) rises; the table is right to 1e-14. */
static hb_interval mapped(const hb_axis_table *table, hb_interval y)
{
    const double low = isinf(y.low) ? y.low : hb_axis_table_x(table, y.low),
                 high = isinf(y.high) ? y.high : hb_axis_table_x(table, y.high);
    return (hb_interval){low - 1e-12 * (1 + fabs(low)), high + 1e-12 * (1 + fabs(high))};
}

static hb_interval of_step(const hb_range_tape *tape, const hb_graph_node *step,
                           const hb_interval *x, hb_interval t, const hb_interval *done)
{
    switch (step->op) {
    case HB_OP_CONSTANT: return hull(step->value, step->value);
    case HB_OP_VARIABLE: return step->a ? x[step->a - 1] : t;
    case HB_OP_POWER: return whole_power(done[step->a], step->b);
    case HB_OP_MAPPED: return mapped(tape->tables[step->b], done[step->a]);
    case HB_OP_SELECT: return interval_select(done[step->a], done[step->b], done[step->c]);
    default: break;
    }
    if (hb_operation_arity(step->op) == 1) return interval_of_one(step->op, done[step->a]);
    return interval_of_two(step->op, done[step->a], done[step->b]);
}

/* ---- the tape ---- */

static hb_status tape_fill(hb_context *context, const hb_graph *graph, const hb_node *nodes,
                           hb_range_tape *tape)
{
    hb_node top = 0;
    int *place, count = 0; // (top + 1): marks, then steps
    for (int k = 0; k < tape->n_outputs; k++) top = nodes[k] > top ? nodes[k] : top;
    HB_TRY(HB_NEW_CLEARED(context, place, (size_t)top + 1));
    for (int k = 0; k < tape->n_outputs; k++) place[nodes[k]] = 1;
    tape->n_steps = hb_graph_mark(graph, top, place);
    const hb_status status = HB_NEW(context, tape->steps, (size_t)tape->n_steps);
    for (hb_node i = 0; i <= top && status == HB_OK; i++) {
        if (!place[i]) continue;
        tape->steps[count] = hb_graph_moved(graph, i, place);
        place[i] = count++;
    }
    for (int k = 0; k < tape->n_outputs; k++) tape->outputs[k] = place[nodes[k]];
    hb_release(context, place);
    return status;
}

hb_status hb_range_tape_create(hb_context *context, const hb_graph *graph, int n_outputs,
                               const hb_node *nodes, hb_range_tape **out)
{
    hb_range_tape *tape;
    *out = NULL;
    HB_TRY(HB_NEW_CLEARED(context, tape, 1));
    tape->n_outputs = n_outputs;
    hb_status status = HB_NEW(context, tape->outputs, (size_t)n_outputs + 1);
    if (status == HB_OK) status = hb_graph_copy_tables(context, graph, &tape->tables);
    if (status == HB_OK) status = tape_fill(context, graph, nodes, tape);
    if (status == HB_OK)
        *out = tape;
    else
        hb_range_tape_destroy(context, tape);
    return status;
}

void hb_range_tape_destroy(hb_context *context, hb_range_tape *tape)
{
    if (!tape) return;
    hb_release(context, tape->steps);
    hb_release(context, tape->outputs);
    hb_release(context, tape->tables);
    hb_release(context, tape);
}

size_t hb_range_tape_size(const hb_range_tape *tape)
{
    return (size_t)tape->n_steps;
}

void hb_range_tape_run(const hb_range_tape *tape, const hb_interval *x, hb_interval t,
                       hb_interval *work, hb_interval *out)
{
    for (int k = 0; k < tape->n_steps; k++) work[k] = of_step(tape, &tape->steps[k], x, t, work);
    for (int k = 0; k < tape->n_outputs; k++) out[k] = work[tape->outputs[k]];
}

hb_status hb_graph_range(const hb_graph *graph, hb_node node, hb_interval *range)
{
    hb_range_tape *tape;
    hb_interval *x;
    const size_t d = (size_t)graph->dim;
    HB_TRY(hb_range_tape_create(graph->context, graph, 1, &node, &tape));
    hb_status status = HB_NEW(graph->context, x, d + hb_range_tape_size(tape));
    if (status == HB_OK) {
        for (size_t i = 0; i < d; i++) x[i] = (hb_interval){-INFINITY, INFINITY};
        hb_range_tape_run(tape, x, (hb_interval){0, INFINITY}, x + d, range);
        hb_release(graph->context, x);
    }
    hb_range_tape_destroy(graph->context, tape);
    return status;
}
