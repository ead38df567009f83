/* formula/breaks.h: where the operation of a node is not smooth. */
#pragma once

#include "formula/graph.h"

typedef enum hb_break_kind {
    HB_BREAK_KINK, /* the function is continuous there, its derivative may not be */
    HB_BREAK_JUMP, /* it may jump there: its derivative has a part that no formula shows */
    HB_BREAK_POLE  /* it may be infinite there */
} hb_break_kind;

/* What must be 0 where the operation of a node is not smooth, up to its sign; -1: nothing. */
hb_node hb_break_argument(hb_graph *graph, hb_node node, hb_break_kind *kind);
/* The same as a finished node; also -1 when interval arithmetic shows that it is never 0. */
hb_status hb_break_find(hb_graph *graph, hb_node node, hb_break_kind *kind, hb_node *argument);
