/* Narrow features of a drift along an axis (features.c).
 *
 * The drift's nodes are copied to a graph of their own, which gains derivatives; the problem is left as it is. */
#include "problem/drift_features.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

static hb_status find(hb_context *context, const hb_problem *problem, int axis,
                      const hb_interval *range, hb_graph *graph, hb_node *nodes, hb_features *out)
{
    const int d = problem->dim, own = problem->drift.facts.separable;
    hb_node *x = nodes + d;
    for (int i = 0; i < d; i++) x[i] = hb_build_variable(graph, i + 1);
    HB_TRY(hb_graph_substitute(problem->drift.graph, d, problem->drift.components, x,
                               hb_build_variable(graph, 0), graph, nodes));
    return hb_features_find(context, graph, own ? 1 : d, nodes + (own ? axis : 0), axis + 1, range,
                            (hb_interval){0, hb_problem_span(problem)}, out);
}

hb_status hb_problem_features(hb_context *context, const hb_problem *problem, int axis,
                              const hb_interval *range, hb_features *out)
{
    hb_graph *graph;
    void *memory;
    *out = (hb_features){0};
    if (!problem->drift.facts.is_formula || !problem->drift.components) return HB_OK;
    HB_TRY(hb_allocate(context, 2 * (size_t)problem->dim, sizeof(hb_node), &memory));
    hb_status status = hb_graph_create(context, problem->dim, &graph);
    if (status == HB_OK) {
        status = find(context, problem, axis, range, graph, memory, out);
        hb_graph_destroy(graph);
    }
    hb_release(context, memory);
    return status;
}
