/* formula/expression.h: expressions as a graph of shared nodes, and programs that evaluate them.
 *
 * A graph holds every expression of a problem; equal subexpressions are one node, so derivatives
 * share their parts with what they come from. A program evaluates chosen nodes at many points at
 * once. */
#pragma once

#include <heatball/base.h>

typedef struct hb_graph hb_graph;
typedef int hb_node; /* index into the graph */

/* Variables x1 .. xdim and t. */
hb_status hb_graph_create(hb_context *context, int dim, hb_graph **out);
void hb_graph_destroy(hb_graph *graph);
/* A name that stands for a number; refused when it is a variable, a function, pi, d, i or j. */
hb_status hb_graph_parameter(hb_graph *graph, const char *name, double value);
hb_status hb_graph_parameters(hb_graph *graph, int n, const char *const *names,
                              const double *values);
/* what ("drift component 2") opens messages. index is what `i` stands for, 0: i is unknown. */
hb_status hb_graph_parse(hb_graph *graph, const char *text, const char *what, int index,
                         hb_node *out);
/* Cuts a list at its top-level commas: *count pieces, copied into one block of zero-terminated
 * texts, one after the other; release the block with hb_release. */
hb_status hb_graph_split(hb_context *context, const char *text, int *count, char **pieces);

/* variable: 1 .. dim for x, 0 for t. */
hb_status hb_graph_derivative(hb_graph *graph, hb_node node, int variable, hb_node *out);
hb_status hb_graph_constant(hb_graph *graph, double value, hb_node *out);
hb_status hb_graph_add(hb_graph *graph, hb_node a, hb_node b, hb_node *out);
/* 0: the node does not depend on the variable. 1: it does, or, when dim > 63, may; its derivative
 * is then found to be 0. For t always exact. */
int hb_graph_depends(const hb_graph *graph, hb_node node, int variable);
/* 1 and the value when the node is a number. */
int hb_graph_is_constant(const hb_graph *graph, hb_node node, double *value);

typedef struct hb_program hb_program;

hb_status hb_program_compile(hb_graph *graph, int n_outputs, const hb_node *nodes,
                             hb_program **out);
void hb_program_destroy(hb_program *program);
/* out[n][n_outputs] at x[n][dim], time t. Safe from several threads. */
hb_status hb_program_run(hb_context *context, const hb_program *program, size_t n, const double *x,
                         double t, double *out);
/* The same at t_step 0: the one time *t, or 1: the times t[n]; bit-identical. */
hb_status hb_program_run_times(hb_context *context, const hb_program *program, size_t n,
                               const double *x, const double *t, size_t t_step, double *out);
