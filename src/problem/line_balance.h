/* problem/line_balance.h: on a line with noise g(x) the current of a stationary density is 0,
 * and its slope is known. */
#pragma once

#include "formula/graph.h"

#include <heatball/problem.h>

typedef struct hb_line_balance hb_line_balance;

/* Of the nodes f and G[m] of a graph of one dimension, neither of which has t. */
hb_status hb_line_balance_create(hb_context *context, hb_graph *graph, hb_node f, int m,
                                 const hb_node *G, hb_line_balance **out);
void hb_line_balance_destroy(hb_context *context, hb_line_balance *balance);

/* 1: the problem has one: a formula in one dimension whose noise depends on x. */
int hb_problem_has_balance(const hb_problem *problem);
/* ln u with its error and the score at x[n] of the stationary density; *flagged as in
 * stationary_density.h. HB_ERROR_ARGUMENT: the noise vanishes or jumps, or nothing normalises. */
hb_status hb_problem_balance(hb_context *context, const hb_problem *problem, size_t n,
                             const double *x, double *log_density, double *error, double *score,
                             double *score_error, int *flagged);
