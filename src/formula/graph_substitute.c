/* Formulas in other variables: each variable of a graph is replaced by a node of another one.
 *
 * Nodes are built anew, so numbers fold and equal parts are shared. Beyond the rules of simplify.c
 * the logarithm of what is made of exponentials alone is taken apart: ln(2 exp(y)^3) = ln 2 + 3 y.
 * That is exact, and formulas in ln x become what they are in y = ln x.
 * A number to reproduce: log(x)^2 with x = exp(y) is y^2. */
#include "base/memory.h"
#include "formula/graph.h"

enum { DEEPEST = 64 };

/* ---- logarithms of exponentials ---- */

static hb_node log_of_exponentials(hb_graph *graph, hb_node node, int depth);

static hb_node log_of_two(hb_graph *graph, hb_node a, hb_node b, int quotient, int depth)
{
    const hb_node first = log_of_exponentials(graph, a, depth + 1);
    const hb_node second =
        first == HB_NO_NODE ? HB_NO_NODE : log_of_exponentials(graph, b, depth + 1);
    if (second == HB_NO_NODE) return HB_NO_NODE;
    return quotient ? hb_build_subtract(graph, first, second) : hb_build_add(graph, first, second);
}

static hb_node times_log(hb_graph *graph, double factor, hb_node a, int depth)
{
    const hb_node inner = log_of_exponentials(graph, a, depth + 1);
    return inner == HB_NO_NODE ? inner : hb_build_scaled(graph, factor, inner);
}

/* ln of a node that is made of exponentials and positive numbers alone; HB_NO_NODE: it is not. */
static hb_node log_of_exponentials(hb_graph *graph, hb_node node, int depth)
{
    const hb_graph_node p = graph->nodes[node]; /* a copy, since the array may move */
    double exponent;
    if (depth > DEEPEST) return HB_NO_NODE;
    switch (p.op) {
    case HB_OP_CONSTANT:
        return p.value > 0 && isfinite(p.value) ? hb_build_constant(graph, log(p.value))
                                                : HB_NO_NODE;
    case HB_OP_EXP: return p.a;
    case HB_OP_MULTIPLY: return log_of_two(graph, p.a, p.b, 0, depth);
    case HB_OP_DIVIDE: return log_of_two(graph, p.a, p.b, 1, depth);
    case HB_OP_POWER: return times_log(graph, p.b, p.a, depth);
    case HB_OP_SQRT: return times_log(graph, 0.5, p.a, depth);
    case HB_OP_POW:
        return hb_graph_is_constant(graph, p.b, &exponent) ? times_log(graph, exponent, p.a, depth)
                                                           : HB_NO_NODE;
    default: return HB_NO_NODE;
    }
}

hb_node hb_build_log(hb_graph *graph, hb_node a)
{
    if (a == HB_NO_NODE) return a;
    const hb_node known = log_of_exponentials(graph, a, 0);
    return known != HB_NO_NODE ? known : hb_build_unary(graph, HB_OP_LOG, a);
}

/* ---- substitution ---- */

static hb_node substitute_node(const hb_graph *from, hb_graph *to, const hb_graph_node *p,
                               const hb_node *moved, const hb_node *x, hb_node t)
{
    switch (p->op) {
    case HB_OP_CONSTANT: return hb_build_constant(to, p->value);
    case HB_OP_VARIABLE: return p->a ? x[p->a - 1] : t;
    case HB_OP_POWER: return hb_build_pow(to, moved[p->a], hb_build_constant(to, p->b));
    case HB_OP_SELECT: return hb_build_select(to, moved[p->a], moved[p->b], moved[p->c]);
    case HB_OP_LOG: return hb_build_log(to, moved[p->a]);
    case HB_OP_MAPPED: return hb_build_mapped(to, from->tables[p->b], moved[p->a]);
    default: break;
    }
    if (hb_operation_arity(p->op) == 1) return hb_build_unary(to, p->op, moved[p->a]);
    return hb_build_binary(to, p->op, moved[p->a], moved[p->b]);
}

hb_status hb_graph_substitute(const hb_graph *from, int n, const hb_node *nodes, const hb_node *x,
                              hb_node t, hb_graph *to, hb_node *out)
{
    hb_node top = 0;
    for (int k = 0; k < n; k++) top = nodes[k] > top ? nodes[k] : top;
    hb_node *moved; // (top + 1): marks, then nodes of `to`
    HB_TRY(HB_NEW_CLEARED(to->context, moved, (size_t)top + 1));
    for (int k = 0; k < n; k++) moved[nodes[k]] = 1;
    hb_graph_mark(from, top, moved);
    for (hb_node i = 0; i <= top; i++) {
        if (!moved[i]) continue;
        const hb_graph_node p = from->nodes[i];
        moved[i] = substitute_node(from, to, &p, moved, x, t);
    }
    hb_node end = 0;
    const hb_status status = hb_graph_finish(to, end, &end);
    for (int k = 0; k < n && status == HB_OK; k++) out[k] = moved[nodes[k]];
    hb_release(to->context, moved);
    return status;
}
