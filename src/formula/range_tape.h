/* formula/range_tape.h: formulas evaluated on intervals. */
#pragma once

#include "formula/expression.h"

typedef struct hb_interval {
    double low, high;
} hb_interval;

typedef struct hb_range_tape hb_range_tape;

/* The nodes that n_outputs nodes need, copied: the graph may go. */
hb_status hb_range_tape_create(hb_context *context, const hb_graph *graph, int n_outputs,
                               const hb_node *nodes, hb_range_tape **out);
void hb_range_tape_destroy(hb_context *context, hb_range_tape *tape);
/* All values of the node for any x, t >= 0. */
hb_status hb_graph_range(const hb_graph *graph, hb_node node, hb_interval *range);
/* Intervals that one call works with. */
size_t hb_range_tape_size(const hb_range_tape *tape);
/* out[n_outputs] hold all values of the outputs for x in the box [dim] and t in the interval;
 * all numbers where none are known. work[hb_range_tape_size]. */
void hb_range_tape_run(const hb_range_tape *tape, const hb_interval *x, hb_interval t,
                       hb_interval *work, hb_interval *out);
