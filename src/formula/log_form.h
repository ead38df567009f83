/* formula/log_form.h: the logarithm of a formula, taken apart. */
#pragma once

#include "formula/graph.h"
#include "formula/range_tape.h"

/* ln of the node, in the same graph, without exp where there is one below: it neither overflows
 * nor underflows where the node does. Where the node is negative it has no value (NaN). */
hb_status hb_log_form(hb_graph *graph, hb_node node, hb_node *out);
/* Factors of a node by axis: axis[j], 1 .. d, is a product of the factors that have x_j alone;
 * axis[0] those without x, *whole: 0 when one has several coordinates. */
hb_status hb_log_form_axes(hb_graph *graph, hb_node node, hb_node *axis, int *whole);
