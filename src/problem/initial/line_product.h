/* problem/initial/line_product.h: a product of densities on the line, the data of the operations
 * product and density. */
#pragma once

#include "problem/initial/initial_ops.h"
#include "problem/initial/line_density.h"

typedef struct hb_line_product {
    hb_graph *graph;         /* of dim 1 */
    int n_lines;             /* different ones */
    hb_node *nodes;          // (n_lines)
    hb_line_density **lines; // (n_lines)
    int *of_axis;            // (d): its line
    hb_workspace work;
} hb_line_product;

/* An empty one with the problem's parameters, as problem->initial.data. */
hb_status hb_line_product_begin(const hb_initial_text *text, hb_problem *problem,
                                hb_line_product **out);
/* Gives an axis, 0 .. d-1, the density of the node of product->graph. */
hb_status hb_line_product_axis(const hb_initial_text *text, hb_line_product *product, int axis,
                               hb_node node);
/* All axes are given: the operations, by whether it is smooth. */
void hb_line_product_end(hb_problem *problem);
extern const hb_initial_ops hb_initial_product;
void hb_line_product_destroy(hb_context *context, void *data);

/* Makes problem->initial from the formula of problem->outside where it is a Gaussian in y or a
 * product; L[d][d]: the transform's at time 0. *taken: 0 when it is neither (initial_formula.c). */
hb_status hb_initial_take_formula(hb_context *context, hb_problem *problem, const double *L,
                                  int *taken);
