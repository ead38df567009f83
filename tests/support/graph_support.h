/* What the tests of expressions share: a graph with two parameters, and values of nodes at a point. */
#ifndef HB_TESTS_GRAPH_SUPPORT_H
#define HB_TESTS_GRAPH_SUPPORT_H

#include "support.h"

#include "base/context.h"
#include "base/memory.h"
#include "formula/expression.h"
#include "formula/graph.h"

#include <heatball/problem.h>

static const double POINT[3] = {1.7, -0.6, 2.385};
static const double T = 0.73;

static inline hb_graph *make_graph(hb_context *context, int dim)
{
    hb_graph *graph = NULL;
    assert_ok(context, hb_graph_create(context, dim, &graph));
    assert_ok(context, hb_graph_parameter(graph, "mu", 2.385));
    assert_ok(context, hb_graph_parameter(graph, "k", 0.31));
    return graph;
}

static inline hb_node parse(hb_graph *graph, const char *text, int index)
{
    hb_node node = HB_NO_NODE;
    assert_ok(graph->context, hb_graph_parse(graph, text, "text", index, &node));
    return node;
}

static inline hb_node derivative(hb_graph *graph, hb_node node, int variable)
{
    hb_node result = HB_NO_NODE;
    assert_ok(graph->context, hb_graph_derivative(graph, node, variable, &result));
    return result;
}

/* The value of a node at one point. */
static inline double value_at(hb_graph *graph, hb_node node, const double *x, double t)
{
    hb_program *program;
    double value = NAN;
    assert_ok(graph->context, hb_program_compile(graph, 1, &node, &program));
    assert_ok(graph->context, hb_program_run(graph->context, program, 1, x, t, &value));
    hb_program_destroy(program);
    return value;
}

static inline double evaluate(hb_context *context, const char *text, int dim, const double *x,
                              double t)
{
    hb_graph *graph = make_graph(context, dim);
    double value = value_at(graph, parse(graph, text, 0), x, t);
    hb_graph_destroy(graph);
    return value;
}

#endif
