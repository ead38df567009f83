/* Building nodes: constants fold, and a few identities keep derivatives short.
 *
 * Each rule holds for all finite numbers and changes a value by rounding at most; c and k are
 * numbers:
 *     0 + a = a      a - a = 0      a + (-b) = a - b      c a + k a = (c + k) a
 *     0 a = 0        1 a = a        (c a) (k b) = (c k) (a b), 1e-20 < |c k| < 1e20
 *     a / 1 = a      0 / a = 0      1/a = a^-1            (c a) / b = c (a / b)
 *     a / 2 = 0.5 a (powers of two only)
 *     a^0 = 1        a^1 = a        a^m a^n = a^(m+n)     (a^m)^n = a^(m n), m > 0
 * Not done, because values would change: a/a = 1 (a = 0), a^0.5 = sqrt(a) (-0 and -inf), (c + a)
 * + k. Sums and products keep their operands in order of index, constants first: a + b finds b +
 * a. */
#include "formula/graph.h"

#include <stdlib.h>

static const hb_graph_node *node_of(const hb_graph *graph, hb_node node)
{
    return &graph->nodes[node];
}

static int is_number(const hb_graph *graph, hb_node node)
{
    return node_of(graph, node)->op == HB_OP_CONSTANT;
}

static int equals(const hb_graph *graph, hb_node node, double value)
{
    return is_number(graph, node) && node_of(graph, node)->value == value;
}

static double number_of(const hb_graph *graph, hb_node node)
{
    return node_of(graph, node)->value;
}

/* Numbers move through products only when they are of moderate size: what stays behind then leaves
 * the range of double no earlier, but for the last 20 of its 308 decades. */
static int is_safe_factor(double value)
{
    return fabs(value) >= 1e-20 && fabs(value) <= 1e20;
}

hb_node hb_build_constant(hb_graph *graph, double value)
{
    return hb_graph_intern(graph, HB_OP_CONSTANT, 0, 0, 0, value == 0 ? 0 : value); /* -0 is 0 */
}

hb_node hb_build_variable(hb_graph *graph, int variable)
{
    return hb_graph_intern(graph, HB_OP_VARIABLE, variable, 0, 0, 0);
}

/* Two numbers become one. */
static hb_node fold(hb_graph *graph, hb_operation op, hb_node a, hb_node b)
{
    return hb_build_constant(graph,
                             hb_operation_value(op, number_of(graph, a), number_of(graph, b), 0));
}

static hb_node commute(hb_graph *graph, hb_operation op, hb_node a, hb_node b)
{
    const int swap = !is_number(graph, a) && (is_number(graph, b) || b < a);
    return hb_graph_intern(graph, op, swap ? b : a, swap ? a : b, 0, 0);
}

/* node = factor * rest, and the rest is returned. */
static hb_node split_factor(const hb_graph *graph, hb_node node, double *factor)
{
    const hb_graph_node *p = node_of(graph, node);
    *factor = 1;
    if (p->op == HB_OP_NEGATE) {
        node = split_factor(graph, p->a, factor);
        *factor = -*factor;
        return node;
    }
    if (p->op != HB_OP_MULTIPLY || !is_number(graph, p->a)) return node;
    *factor = number_of(graph, p->a);
    return p->b;
}

hb_node hb_build_scaled(hb_graph *graph, double factor, hb_node a)
{
    return hb_build_multiply(graph, hb_build_constant(graph, factor), a);
}

hb_node hb_build_negate(hb_graph *graph, hb_node a)
{
    if (a == HB_NO_NODE) return a;
    const hb_graph_node *p = node_of(graph, a);
    if (p->op == HB_OP_CONSTANT) return hb_build_constant(graph, -p->value);
    if (p->op == HB_OP_NEGATE) return p->a;
    if (p->op == HB_OP_SUBTRACT) return hb_build_subtract(graph, p->b, p->a);
    if (p->op == HB_OP_MULTIPLY && is_number(graph, p->a))
        return hb_build_scaled(graph, -number_of(graph, p->a), p->b);
    return hb_graph_intern(graph, HB_OP_NEGATE, a, 0, 0, 0);
}

hb_node hb_build_add(hb_graph *graph, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, HB_OP_ADD, a, b);
    if (equals(graph, a, 0)) return b;
    if (equals(graph, b, 0)) return a;
    double first, second;
    const hb_node rest = split_factor(graph, a, &first);
    if (rest == split_factor(graph, b, &second) && isfinite(first + second))
        return hb_build_scaled(graph, first + second, rest);
    if (node_of(graph, b)->op == HB_OP_NEGATE)
        return hb_build_subtract(graph, a, node_of(graph, b)->a);
    if (node_of(graph, a)->op == HB_OP_NEGATE)
        return hb_build_subtract(graph, b, node_of(graph, a)->a);
    return commute(graph, HB_OP_ADD, a, b);
}

hb_node hb_build_subtract(hb_graph *graph, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, HB_OP_SUBTRACT, a, b);
    if (equals(graph, b, 0)) return a;
    if (equals(graph, a, 0)) return hb_build_negate(graph, b);
    double first, second;
    const hb_node rest = split_factor(graph, a, &first);
    if (rest == split_factor(graph, b, &second) && isfinite(first - second))
        return hb_build_scaled(graph, first - second, rest);
    if (node_of(graph, b)->op == HB_OP_NEGATE) return hb_build_add(graph, a, node_of(graph, b)->a);
    if (node_of(graph, a)->op == HB_OP_NEGATE)
        return hb_build_negate(graph, hb_build_add(graph, node_of(graph, a)->a, b));
    return hb_graph_intern(graph, HB_OP_SUBTRACT, a, b, 0, 0);
}

/* A number times a node that is none. */
static hb_node multiply_number(hb_graph *graph, hb_node factor, hb_node a)
{
    const double value = number_of(graph, factor);
    const hb_graph_node *p = node_of(graph, a);
    if (value == 0) return factor;
    if (value == 1) return a;
    if (value == -1) return hb_build_negate(graph, a);
    if (p->op == HB_OP_NEGATE) return hb_build_scaled(graph, -value, p->a);
    if (p->op == HB_OP_MULTIPLY && is_number(graph, p->a)) {
        const double product = value * number_of(graph, p->a);
        if (is_safe_factor(product)) return hb_build_scaled(graph, product, p->b);
    }
    return commute(graph, HB_OP_MULTIPLY, factor, a);
}

/* a^m a^n = a^(m+n) for exponents of one sign; HB_NO_NODE when the rule does not apply. */
static hb_node merge_powers(hb_graph *graph, hb_node a, hb_node b)
{
    const hb_graph_node *p = node_of(graph, a), *q = node_of(graph, b);
    const hb_node base = p->op == HB_OP_POWER ? p->a : a;
    const int m = p->op == HB_OP_POWER ? p->b : 1, n = q->op == HB_OP_POWER ? q->b : 1;
    if (base != (q->op == HB_OP_POWER ? q->a : b)) return HB_NO_NODE;
    if ((m < 0) != (n < 0) || abs(m + n) > HB_MAX_POWER) return HB_NO_NODE;
    return hb_build_power(graph, base, m + n);
}

hb_node hb_build_multiply(hb_graph *graph, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, HB_OP_MULTIPLY, a, b);
    if (is_number(graph, a)) return multiply_number(graph, a, b);
    if (is_number(graph, b)) return multiply_number(graph, b, a);
    double first, second;
    const hb_node left = split_factor(graph, a, &first), right = split_factor(graph, b, &second);
    if ((left != a || right != b) && is_safe_factor(first * second))
        return hb_build_scaled(graph, first * second, hb_build_multiply(graph, left, right));
    const hb_node merged = merge_powers(graph, a, b);
    return merged != HB_NO_NODE ? merged : commute(graph, HB_OP_MULTIPLY, a, b);
}

/* Whether multiplying with 1/value is the same as dividing: value is a power of two. */
static int has_exact_reciprocal(double value)
{
    int exponent;
    return isnormal(value) && isnormal(1 / value) && fabs(frexp(value, &exponent)) == 0.5;
}

hb_node hb_build_divide(hb_graph *graph, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, HB_OP_DIVIDE, a, b);
    if (equals(graph, a, 0)) return a;
    if (is_number(graph, b) && has_exact_reciprocal(number_of(graph, b)))
        return hb_build_scaled(graph, 1 / number_of(graph, b), a);
    double factor;
    const hb_node rest = split_factor(graph, a, &factor);
    if (is_number(graph, b) && rest != a && is_safe_factor(factor / number_of(graph, b)))
        return hb_build_scaled(graph, factor / number_of(graph, b), rest);
    if (!is_number(graph, b) && rest != a && is_safe_factor(factor))
        return hb_build_scaled(graph, factor, hb_build_divide(graph, rest, b));
    if (node_of(graph, b)->op == HB_OP_NEGATE)
        return hb_build_negate(graph, hb_build_divide(graph, a, node_of(graph, b)->a));
    if (equals(graph, a, 1)) return hb_build_power(graph, b, -1);
    return hb_graph_intern(graph, HB_OP_DIVIDE, a, b, 0, 0);
}

/* a^exponent, |exponent| <= HB_MAX_POWER, a not a number. */
hb_node hb_build_power(hb_graph *graph, hb_node a, int exponent)
{
    if (a == HB_NO_NODE || exponent == 1) return a;
    if (exponent == 0) return hb_build_constant(graph, 1);
    const hb_graph_node *p = node_of(graph, a);
    if (p->op == HB_OP_POWER && p->b > 0 && abs(p->b * exponent) <= HB_MAX_POWER)
        return hb_build_power(graph, p->a, p->b * exponent);
    if (p->op == HB_OP_NEGATE) {
        const hb_node power = hb_build_power(graph, p->a, exponent);
        return exponent % 2 ? hb_build_negate(graph, power) : power;
    }
    return hb_graph_intern(graph, HB_OP_POWER, a, exponent, 0, 0);
}

hb_node hb_build_pow(hb_graph *graph, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, HB_OP_POW, a, b);
    if (equals(graph, a, 1)) return a;
    if (is_number(graph, b)) {
        const double exponent = number_of(graph, b);
        if (fabs(exponent) <= HB_MAX_POWER && exponent == floor(exponent))
            return hb_build_power(graph, a, (int)exponent);
    }
    return hb_graph_intern(graph, HB_OP_POW, a, b, 0, 0);
}

hb_node hb_build_unary(hb_graph *graph, hb_operation op, hb_node a)
{
    if (op == HB_OP_NEGATE || a == HB_NO_NODE) return hb_build_negate(graph, a);
    const hb_graph_node *p = node_of(graph, a);
    if (p->op == HB_OP_CONSTANT)
        return hb_build_constant(graph, hb_operation_value(op, p->value, 0, 0));
    if (op == HB_OP_ABS && p->op == HB_OP_NEGATE) a = p->a;
    return hb_graph_intern(graph, op, a, 0, 0, 0);
}

hb_node hb_build_binary(hb_graph *graph, hb_operation op, hb_node a, hb_node b)
{
    if (a == HB_NO_NODE || b == HB_NO_NODE) return HB_NO_NODE;
    switch (op) {
    case HB_OP_ADD: return hb_build_add(graph, a, b);
    case HB_OP_SUBTRACT: return hb_build_subtract(graph, a, b);
    case HB_OP_MULTIPLY: return hb_build_multiply(graph, a, b);
    case HB_OP_DIVIDE: return hb_build_divide(graph, a, b);
    case HB_OP_POW: return hb_build_pow(graph, a, b);
    default: break;
    }
    if (is_number(graph, a) && is_number(graph, b)) return fold(graph, op, a, b);
    if (a == b && op != HB_OP_LESS) return a; /* min, max */
    return hb_graph_intern(graph, op, a, b, 0, 0);
}

hb_node hb_build_select(hb_graph *graph, hb_node condition, hb_node yes, hb_node no)
{
    if (condition == HB_NO_NODE || yes == HB_NO_NODE || no == HB_NO_NODE) return HB_NO_NODE;
    if (yes == no) return yes;
    if (is_number(graph, condition)) return number_of(graph, condition) != 0 ? yes : no;
    return hb_graph_intern(graph, HB_OP_SELECT, condition, yes, no, 0);
}
