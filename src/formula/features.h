/* formula/features.h: where formulas vary fast along one variable, found from their graph. */
#pragma once

#include "formula/graph.h"
#include "formula/range_tape.h"

/* A variable's range, cut into n cells [borders[k], borders[k + 1]], on which no function hides
 * a feature much narrower than the cell. All zero: nothing was searched. */
typedef struct hb_features {
    int n;
    double *borders; // (n + 1), rising
    int complete;    /* 0: some function could not be searched; narrow features may be missing */
} hb_features;

/* The formulas nodes[n] along variable 0 (t) or 1 .. dim (x_k), on x[dim] (NULL: all) and t. */
hb_status hb_features_find(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                           int variable, const hb_interval *x, hb_interval t, hb_features *out);
/* Of the drift F = scale * node, and of exp(int F), on a variable's axis, the others being 0. */
hb_status hb_features_of_drift(hb_context *context, const hb_graph *graph, hb_node node,
                               double scale, int variable, hb_interval range, hb_features *out);
/* How often the sides x[dim] of a box, dim <= 3, have to be halved until sums over the cells see
 * all of the formulas nodes[n],
 * n <= 3; most + 1: `most` halvings are too few, or it is not known. */
hb_status hb_features_depth(hb_context *context, const hb_graph *graph, int n, const hb_node *nodes,
                            const hb_interval *x, int most, int *depth);
void hb_features_destroy(hb_context *context, hb_features *features);

/* The first border above s that ends a cell shorter than `narrow`; infinite: none. */
double hb_features_next(const hb_features *features, double s, double narrow);
