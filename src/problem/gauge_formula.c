/* The potential of the gauge as a formula: Q = |F|^2/4 + div F/2 and grad Q, exactly, from the
 * graph of the drift.
 *
 * F = f/(g^2/2), and g is one number where F does not depend on tau. The drift's nodes are copied
 * to a graph of their own, so that the problem is left as it is; Q and its derivatives share their
 * parts there, and are one program. V is the problem's own formula, where it was given one.
 * A number to reproduce: F = 2 (x - x^3) has Q(1.6) = 1 - 2 1.6^2 - 2 1.6^4 + 1.6^6 = -0.450. */
#include "problem/gauge_formula.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/graph.h"
#include "problem/potential_rise.h"
#include "problem/problem_parts.h"

#include <string.h>

enum { MOST_DIM = 1024 };

struct hb_gauge_formula {
    hb_context *context;
    hb_graph *graph;
    hb_program *value; // Q, grad Q: 1 + d outputs
    hb_program *drift; // F: d outputs
    const hb_problem *problem;
    double rate; /* g^2/2 */
    hb_potential_cells *cells;
};

/* nodes[d]: F; then Q and its gradient in nodes[d .. 2d]. */
static hb_status gauge_build(hb_gauge_formula *formula, hb_node *nodes)
{
    hb_graph *graph = formula->graph;
    const int d = formula->problem->dim;
    const hb_node quarter = hb_build_constant(graph, 0.25), half = hb_build_constant(graph, 0.5);
    hb_node Q = hb_build_constant(graph, 0);
    HB_TRY(hb_graph_finish(graph, Q, &Q));
    for (int i = 0; i < d; i++) {
        hb_node slope;
        HB_TRY(hb_graph_derivative(graph, nodes[i], i + 1, &slope));
        const hb_node square = hb_build_multiply(graph, nodes[i], nodes[i]);
        Q = hb_build_add(graph, Q, hb_build_multiply(graph, quarter, square));
        Q = hb_build_add(graph, Q, hb_build_multiply(graph, half, slope));
        HB_TRY(hb_graph_finish(graph, Q, &Q));
    }
    nodes[d] = Q;
    for (int i = 0; i < d; i++) HB_TRY(hb_graph_derivative(graph, Q, i + 1, nodes + d + 1 + i));
    HB_TRY(hb_program_compile(graph, d, nodes, &formula->drift));
    return hb_program_compile(graph, d + 1, nodes + d, &formula->value);
}

/* F as nodes of the formula's own graph. nodes: (3 d + 1), the last d are the variables. */
static hb_status copy_drift(hb_gauge_formula *formula, hb_node *nodes)
{
    const hb_problem *problem = formula->problem;
    hb_graph *graph = formula->graph;
    const int d = problem->dim;
    hb_node *x = nodes + 2 * d + 1;
    const hb_node share = hb_build_constant(graph, 1 / formula->rate);
    const hb_node t = hb_build_constant(graph, 0); // F does not depend on it
    for (int i = 0; i < d; i++) x[i] = hb_build_variable(graph, i + 1);
    HB_TRY(hb_graph_substitute(problem->drift.graph, d, problem->drift.components, x, t, graph,
                               nodes));
    for (int i = 0; i < d; i++) nodes[i] = hb_build_multiply(graph, share, nodes[i]);
    return hb_graph_finish(graph, nodes[d - 1], nodes + d - 1);
}

static hb_status gauge_create(hb_context *context, const hb_problem *problem,
                              hb_gauge_formula *formula)
{
    const size_t d = (size_t)problem->dim;
    hb_node *nodes; // (3 d + 1)
    HB_TRY(hb_time_change_rate(context, problem->change, 0, &formula->rate));
    HB_TRY(hb_graph_create(context, problem->dim, &formula->graph));
    HB_TRY(HB_NEW(context, nodes, 3 * d + 1));
    hb_status status = copy_drift(formula, nodes);
    if (status == HB_OK) status = gauge_build(formula, nodes);
    if (status == HB_OK) status = hb_potential_cells_create(context, problem, &formula->cells);
    hb_release(context, nodes);
    return status;
}

/* What cannot be built, since it has too many nodes, is not there: there are other ways to walk. */
hb_status hb_gauge_formula_create(hb_context *context, const hb_problem *problem,
                                  hb_gauge_formula **out)
{
    const hb_drift_facts *facts = hb_problem_facts(problem);
    hb_gauge_formula *formula;
    *out = NULL;
    if (!facts->is_formula || !problem->drift.components || facts->n_breaks > 0 ||
        problem->dim > MOST_DIM || !hb_problem_is_gradient(problem) ||
        !hb_problem_is_autonomous(problem))
        return HB_OK;
    HB_TRY(HB_NEW_CLEARED(context, formula, 1));
    formula->context = context;
    formula->problem = problem;
    char message[sizeof context->message];
    memcpy(message, context->message, sizeof message);
    const hb_status status = gauge_create(context, problem, formula);
    if (status == HB_OK) {
        *out = formula;
        return HB_OK;
    }
    hb_gauge_formula_destroy(formula);
    if (status == HB_ERROR_MEMORY || status == HB_ERROR_INTERRUPTED) return status;
    memcpy(context->message, message, sizeof message);
    return HB_OK;
}

void hb_gauge_formula_destroy(hb_gauge_formula *formula)
{
    if (!formula) return;
    hb_program_destroy(formula->value);
    hb_program_destroy(formula->drift);
    hb_potential_cells_destroy(formula->cells);
    hb_graph_destroy(formula->graph);
    hb_release(formula->context, formula);
}

hb_status hb_gauge_formula_run(hb_context *context, const hb_gauge_formula *formula, size_t n,
                               const double *x, double *out)
{
    return hb_program_run(context, formula->value, n, x, 0, out);
}

hb_status hb_gauge_formula_drift(hb_context *context, const hb_gauge_formula *formula, size_t n,
                                 const double *x, double *F)
{
    return hb_program_run(context, formula->drift, n, x, 0, F);
}

hb_status hb_gauge_formula_rise(hb_context *context, const hb_gauge_formula *formula,
                                const hb_problem *problem, size_t n, const double *from,
                                const double *x, double *rise)
{
    return hb_potential_rise(context, problem, formula ? formula->cells : NULL, n, from, x, rise);
}

int hb_gauge_formula_has_potential(const hb_gauge_formula *formula, double length)
{
    return formula->problem->drift.potential || hb_potential_cells_least(formula->cells) < length;
}

hb_status hb_gauge_formula_potential(hb_context *context, const hb_gauge_formula *formula, size_t n,
                                     const double *x, double *V)
{
    const hb_problem *problem = formula->problem;
    double *origin; // (n, d)
    if (problem->drift.potential) {
        HB_TRY(hb_program_run(context, problem->drift.potential, n, x, 0, V));
        for (size_t i = 0; i < n; i++) V[i] /= formula->rate;
        return HB_OK;
    }
    HB_TRY(HB_NEW_CLEARED(context, origin, n * (size_t)problem->dim));
    const hb_status status = hb_potential_rise(context, problem, formula->cells, n, origin, x, V);
    hb_release(context, origin);
    return status;
}
