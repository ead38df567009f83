/* Exact derivatives: the rules of calculus applied to a graph, once per node and variable.
 *
 *     (a b)' = a' b + a b'          (a/b)' = (a' - (a/b) b')/b        (a^n)' = n a^(n-1) a'
 *     (a^b)' = a^b (b' ln a + b a'/a); without b': b a^(b-1) a'; without a': a^b ln(a) b'
 *     exp' = exp   log' = 1/a   sqrt' = 0.5/sqrt   sin' = cos   cos' = -sin   tan' = 1 + tan^2
 *     asin' = asin1 = 1/sqrt((1-a)(1+a)) = -acos'   asin1' = a asin1^3   atan' = 1/(1+a^2)
 *     sinh' = cosh   cosh' = sinh   tanh' = sech2, sech2' = -2 sech2 tanh   abs' = sign   sign' = 0
 *     x(a)' = b(x) for a coordinate that is a table (axis_table.c)
 *     min(a,b)' = b' where b < a, else a'; max(a,b)' = b' where a < b, else a'
 * At a kink that is a one-sided derivative (abs: 0). Nodes are visited from an explicit stack,
 * since a graph may be a million nodes deep; results are kept by (node, variable).
 * Must reproduce: d/dx mu (1 - x^2) y = -2 mu x y, and d/dy of that -2 mu x. */
#include "base/context.h"
#include "base/memory.h"
#include "formula/axis_table.h"
#include "formula/graph.h"

#include <string.h>

enum { FIRST_MEMO = 256, LARGEST_MEMO = 1 << 23 };

/* ---- memory of results ---- */

static int *memo_slot(const hb_derivative_memo *memo, hb_node node, int variable)
{
    const size_t mask = memo->capacity - 1;
    uint64_t hash = ((uint64_t)(uint32_t)node << 32 | (uint32_t)variable);
    hash *= UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash ^ (hash >> 31)) & mask;
    for (;; slot = (slot + 1) & mask) {
        int *entry = memo->slots + 3 * slot;
        if (entry[0] == 0 || (entry[0] == node + 1 && entry[1] == variable)) return entry;
    }
}

static hb_status resize_memo(hb_graph *graph, size_t capacity)
{
    hb_derivative_memo *memo = &graph->memo, old = *memo;
    void *slots;
    HB_TRY(hb_allocate(graph->context, capacity, 3 * sizeof(int), &slots));
    memo->slots = memset(slots, 0, 3 * capacity * sizeof(int));
    memo->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        const int *entry = old.slots + 3 * i;
        if (entry[0]) memcpy(memo_slot(memo, entry[0] - 1, entry[1]), entry, 3 * sizeof(int));
    }
    hb_release(graph->context, old.slots);
    return HB_OK;
}

static hb_status memo_remember(hb_graph *graph, hb_node node, int variable, hb_node derivative)
{
    hb_derivative_memo *memo = &graph->memo;
    if (4 * (memo->count + 1) > 3 * memo->capacity) HB_TRY(resize_memo(graph, 2 * memo->capacity));
    int *entry = memo_slot(memo, node, variable);
    entry[0] = node + 1;
    entry[1] = variable;
    entry[2] = derivative;
    memo->count++;
    return HB_OK;
}

/* Between two derivatives the memory may be emptied, so that it does not outgrow the graph. */
static hb_status prepare_memo(hb_graph *graph)
{
    hb_derivative_memo *memo = &graph->memo;
    if (!memo->capacity) return resize_memo(graph, FIRST_MEMO);
    if (memo->capacity > LARGEST_MEMO / 2) {
        memset(memo->slots, 0, 3 * memo->capacity * sizeof(int));
        memo->count = 0;
    }
    return HB_OK;
}

/* ---- the rules ---- */

static hb_node rule_number(hb_graph *g, double value)
{
    return hb_build_constant(g, value);
}

static hb_node rule_times(hb_graph *g, hb_node a, hb_node b)
{
    return hb_build_multiply(g, a, b);
}

static hb_node rule_apply(hb_graph *g, hb_operation op, hb_node a)
{
    return hb_build_unary(g, op, a);
}

/* The derivative of a function of one argument: f'(a). self is f(a). */
static hb_node rule_slope(hb_graph *g, hb_operation op, hb_node a, hb_node self)
{
    switch (op) {
    case HB_OP_NEGATE: return rule_number(g, -1);
    case HB_OP_EXP: return self;
    case HB_OP_LOG: return hb_build_power(g, a, -1);
    case HB_OP_SQRT: return hb_build_divide(g, rule_number(g, 0.5), self);
    case HB_OP_SIN: return rule_apply(g, HB_OP_COS, a);
    case HB_OP_COS: return hb_build_negate(g, rule_apply(g, HB_OP_SIN, a));
    case HB_OP_TAN: return hb_build_add(g, rule_number(g, 1), hb_build_power(g, self, 2));
    case HB_OP_ASIN: return rule_apply(g, HB_OP_ASIN1, a);
    case HB_OP_ACOS: return hb_build_negate(g, rule_apply(g, HB_OP_ASIN1, a));
    case HB_OP_ASIN1: return rule_times(g, a, hb_build_power(g, self, 3));
    case HB_OP_ATAN:
        return hb_build_power(g, hb_build_add(g, rule_number(g, 1), hb_build_power(g, a, 2)), -1);
    case HB_OP_SINH: return rule_apply(g, HB_OP_COSH, a);
    case HB_OP_COSH: return rule_apply(g, HB_OP_SINH, a);
    case HB_OP_TANH: return rule_apply(g, HB_OP_SECH2, a);
    case HB_OP_SECH2:
        return rule_times(g, rule_number(g, -2), rule_times(g, self, rule_apply(g, HB_OP_TANH, a)));
    case HB_OP_ABS: return rule_apply(g, HB_OP_SIGN, a);
    case HB_OP_MAPPED: return hb_axis_table_b_node(g->tables[g->nodes[self].b], g, self);
    default: return rule_number(g, 0); /* sign */
    }
}

static hb_node quotient_rule(hb_graph *g, hb_node self, hb_node b, hb_node da, hb_node db)
{
    return hb_build_divide(g, hb_build_subtract(g, da, rule_times(g, self, db)), b);
}

static int rule_is_zero(const hb_graph *g, hb_node node)
{
    return node != HB_NO_NODE && g->nodes[node].op == HB_OP_CONSTANT && g->nodes[node].value == 0;
}

static hb_node pow_rule(hb_graph *g, hb_node self, hb_node da, hb_node db)
{
    const hb_node a = g->nodes[self].a, b = g->nodes[self].b;
    if (rule_is_zero(g, db)) {
        hb_node less = hb_build_subtract(g, b, rule_number(g, 1));
        return rule_times(g, rule_times(g, b, hb_build_pow(g, a, less)), da);
    }
    hb_node growth = rule_times(g, db, rule_apply(g, HB_OP_LOG, a));
    hb_node shift = rule_is_zero(g, da) ? da : hb_build_divide(g, rule_times(g, b, da), a);
    return rule_times(g, self, hb_build_add(g, growth, shift));
}

static hb_node power_rule(hb_graph *g, hb_node a, int exponent, hb_node da)
{
    hb_node reduced = exponent > -HB_MAX_POWER ? hb_build_power(g, a, exponent - 1)
                                               : hb_build_pow(g, a, rule_number(g, exponent - 1));
    return rule_times(g, rule_times(g, rule_number(g, exponent), reduced), da);
}

/* The derivative of a node from those of its operands; a copy, since the array may move. */
static hb_node rule_of_node(hb_graph *g, hb_node self, hb_node da, hb_node db, hb_node dc)
{
    const hb_graph_node node = g->nodes[self];
    switch (node.op) {
    case HB_OP_POWER: return power_rule(g, node.a, node.b, da);
    case HB_OP_ADD: return hb_build_add(g, da, db);
    case HB_OP_SUBTRACT: return hb_build_subtract(g, da, db);
    case HB_OP_MULTIPLY:
        return hb_build_add(g, rule_times(g, da, node.b), rule_times(g, node.a, db));
    case HB_OP_DIVIDE: return quotient_rule(g, self, node.b, da, db);
    case HB_OP_POW: return pow_rule(g, self, da, db);
    case HB_OP_LESS: return rule_number(g, 0);
    case HB_OP_MIN:
        return hb_build_select(g, hb_build_binary(g, HB_OP_LESS, node.b, node.a), db, da);
    case HB_OP_MAX:
        return hb_build_select(g, hb_build_binary(g, HB_OP_LESS, node.a, node.b), db, da);
    case HB_OP_SELECT: return hb_build_select(g, node.a, db, dc);
    default:
        return rule_is_zero(g, da) ? da : rule_times(g, rule_slope(g, node.op, node.a, self), da);
    }
}

/* ---- the walk ---- */

typedef struct walk {
    hb_graph *graph;
    int variable;
    hb_node zero, one;
    hb_node *stack;
    int count, capacity;
} walk;

static hb_status derivative_push(walk *w, hb_node node)
{
    HB_TRY(HB_GROW(w->graph->context, w->stack, w->count, w->capacity));
    w->stack[w->count++] = node;
    return HB_OK;
}

/* 1 when the derivative is known. */
static int derivative_known(const walk *w, hb_node node, hb_node *derivative)
{
    const hb_graph *graph = w->graph;
    if (graph->nodes[node].op == HB_OP_VARIABLE) {
        *derivative = graph->nodes[node].a == w->variable ? w->one : w->zero;
        return 1;
    }
    if (!hb_graph_depends(graph, node, w->variable)) {
        *derivative = w->zero;
        return 1;
    }
    const int *entry = memo_slot(&graph->memo, node, w->variable);
    *derivative = entry[2];
    return entry[0] != 0;
}

/* Differentiates the node on top, or pushes the operands that must come first. */
static hb_status derivative_step(walk *w)
{
    const hb_node top = w->stack[w->count - 1];
    hb_node derivative[3] = {w->zero, w->zero, w->zero};
    if (derivative_known(w, top, &derivative[0])) {
        w->count--;
        return HB_OK;
    }
    const hb_graph_node node = w->graph->nodes[top];
    hb_node operand[3];
    const int before = w->count, arity = hb_graph_operands(&node, operand);
    for (int i = 0; i < arity; i++)
        if (!derivative_known(w, operand[i], &derivative[i]))
            HB_TRY(derivative_push(w, operand[i]));
    if (w->count > before) return HB_OK;
    hb_node result = rule_of_node(w->graph, top, derivative[0], derivative[1], derivative[2]);
    HB_TRY(hb_graph_finish(w->graph, result, &result));
    w->count--;
    return memo_remember(w->graph, top, w->variable, result);
}

hb_status hb_graph_derivative(hb_graph *graph, hb_node node, int variable, hb_node *out)
{
    HB_CHECK(graph->context, variable >= 0 && variable <= graph->dim, HB_ERROR_ARGUMENT,
             "variable is %d; it must be 0 (t) or 1 to %d", variable, graph->dim);
    HB_TRY(prepare_memo(graph));
    walk w = {.graph = graph, .variable = variable};
    HB_TRY(hb_graph_constant(graph, 0, &w.zero));
    HB_TRY(hb_graph_constant(graph, 1, &w.one));
    hb_status status = derivative_push(&w, node);
    while (status == HB_OK && w.count) status = derivative_step(&w);
    if (status == HB_OK) derivative_known(&w, node, out);
    hb_release(graph->context, w.stack);
    return status;
}
