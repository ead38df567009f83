/* Arguments that vanish where a formula has a kink, a jump or a pole: |a| and min, sign, 1/a, log
 * a, tan a, asin' a.
 *
 * A number to reproduce: the argument of abs(x - 1) is x - 1, which is 0 at the kink x = 1. */
#include "formula/breaks.h"
#include "formula/range_tape.h"

/* What must be 0 where the node is not smooth, up to its sign; HB_NO_NODE: it always is. */
static hb_node raw_argument(hb_graph *graph, const hb_graph_node *node, hb_break_kind *kind)
{
    const hb_node one = hb_build_constant(graph, 1);
    *kind = HB_BREAK_KINK;
    switch (node->op) {
    case HB_OP_ABS:
    case HB_OP_SQRT:
    case HB_OP_POW: return node->a;
    case HB_OP_MIN:
    case HB_OP_MAX: return hb_build_subtract(graph, node->a, node->b);
    case HB_OP_ASIN:
    case HB_OP_ACOS: return hb_build_subtract(graph, one, hb_build_power(graph, node->a, 2));
    case HB_OP_SIGN: *kind = HB_BREAK_JUMP; return node->a;
    case HB_OP_LESS: *kind = HB_BREAK_JUMP; return hb_build_subtract(graph, node->a, node->b);
    default: break;
    }
    *kind = HB_BREAK_POLE;
    switch (node->op) {
    case HB_OP_POWER: return node->b < 0 ? node->a : HB_NO_NODE;
    case HB_OP_DIVIDE: return node->b;
    case HB_OP_LOG: return node->a;
    case HB_OP_TAN: return hb_build_unary(graph, HB_OP_COS, node->a);
    case HB_OP_ASIN1: return hb_build_subtract(graph, one, hb_build_power(graph, node->a, 2));
    default: return HB_NO_NODE;
    }
}

hb_node hb_break_argument(hb_graph *graph, hb_node at, hb_break_kind *kind)
{
    const hb_graph_node node = graph->nodes[at]; /* a copy, since the array may move */
    const hb_node argument = raw_argument(graph, &node, kind);
    if (argument == HB_NO_NODE || graph->nodes[argument].op != HB_OP_NEGATE) return argument;
    return graph->nodes[argument].a;
}

hb_status hb_break_find(hb_graph *graph, hb_node node, hb_break_kind *kind, hb_node *argument)
{
    hb_interval range;
    HB_TRY(hb_graph_finish(graph, hb_break_argument(graph, node, kind), argument));
    if (*argument == HB_NO_NODE) return HB_OK;
    HB_TRY(hb_graph_range(graph, *argument, &range));
    if (!(range.low <= 0 && range.high >= 0)) *argument = HB_NO_NODE;
    return HB_OK;
}
