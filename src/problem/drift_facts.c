/* What is known about a drift, read off its formula.
 *
 * One pass over the nodes, operands first, gives every node
 *     degree   0: without x; 1: affine in x; 2: anything else
 *     only     0: without x; i: x_i is the only coordinate; -1: several
 * F is affine when all components have degree at most 1, separable when component i has only 0 or
 * i. Breaks are the nodes where a formula is not smooth (breaks.c), unless interval arithmetic
 * bounds their argument away from 0. F is a gradient when it is made from a potential, when d = 1,
 * or when all dF_i/dx_j - dF_j/dx_i are 0 as formulas (fingerprint.c) and F has no jump or pole but
 * across planes x_i = c in component i: a vortex has a symmetric Jacobian too.
 * Must reproduce: -x + 1500 max(0, 0.03 - |x - 0.6|) has the kinks x - 0.6 and 0.03 - |x - 0.6|. */
#include "problem/drift_facts.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/fingerprint.h"
#include "formula/graph.h"
#include "problem/problem_parts.h"

#include <string.h>

typedef struct node_facts {
    signed char degree;
    int only;
} node_facts;

typedef struct search {
    hb_context *context;
    hb_drift *drift;
    hb_graph *graph;
    const hb_node *f;  // (d)
    node_facts *node;  // (top + 1)
    int *used, *below; // (top + 1): some component needs the node; one component does
    hb_node top;
    int capacity;
} search;

/* ---- degree and coordinates ---- */

static int larger_degree(int a, int b)
{
    return a > b ? a : b;
}

static int degree_of(const search *s, const hb_graph_node *node)
{
    hb_node operand[3];
    const int arity = hb_graph_operands(node, operand);
    int degree[3] = {0};
    for (int k = 0; k < arity; k++) degree[k] = s->node[operand[k]].degree;
    const int a = degree[0], b = degree[1], c = degree[2];
    if (node->op == HB_OP_VARIABLE) return node->a > 0;
    if (a + b + c == 0) return 0;
    switch (node->op) {
    case HB_OP_NEGATE: return a;
    case HB_OP_ADD:
    case HB_OP_SUBTRACT: return larger_degree(a, b);
    case HB_OP_MULTIPLY: return a + b > 2 ? 2 : a + b;
    case HB_OP_DIVIDE: return b == 0 ? a : 2;
    case HB_OP_SELECT: return a == 0 ? larger_degree(b, c) : 2;
    default: return 2;
    }
}

static int only_of(const search *s, const hb_graph_node *node)
{
    hb_node operand[3];
    const int arity = hb_graph_operands(node, operand);
    int only = node->op == HB_OP_VARIABLE ? node->a : 0;
    for (int k = 0; k < arity; k++) {
        const int other = s->node[operand[k]].only;
        only = only == other || other == 0 ? only : only == 0 ? other : -1;
    }
    return only;
}

static void facts_of_nodes(search *s)
{
    hb_drift_facts *facts = &s->drift->facts;
    for (hb_node i = 0; i <= s->top; i++) {
        s->node[i].degree = (signed char)degree_of(s, &s->graph->nodes[i]);
        s->node[i].only = only_of(s, &s->graph->nodes[i]);
    }
    memset(s->used, 0, ((size_t)s->top + 1) * sizeof *s->used);
    facts->affine = facts->separable = 1;
    for (int i = 0; i < s->drift->dim; i++) {
        const int only = s->node[s->f[i]].only;
        s->used[s->f[i]] = 1;
        facts->affine &= s->node[s->f[i]].degree <= 1;
        facts->separable &= only == 0 || only == i + 1;
    }
    hb_graph_mark(s->graph, s->top, s->used);
}

/* ---- breaks ---- */

/* One entry for each argument, with the worst kind. */
static hb_status add_break(search *s, const hb_drift_break *found)
{
    hb_drift_facts *facts = &s->drift->facts;
    for (int k = 0; k < facts->n_breaks; k++)
        if (facts->breaks[k].argument == found->argument) {
            if (found->kind > facts->breaks[k].kind) facts->breaks[k].kind = found->kind;
            return HB_OK;
        }
    HB_TRY(HB_GROW(s->context, facts->breaks, facts->n_breaks, s->capacity));
    facts->breaks[facts->n_breaks++] = *found;
    return HB_OK;
}

static hb_status look_at_break(search *s, hb_node i)
{
    const int in_x = s->node[i].only != 0, in_t = hb_graph_depends(s->graph, i, 0);
    hb_break_kind kind;
    hb_node argument;
    if (!in_x && !in_t) return HB_OK;
    HB_TRY(hb_break_find(s->graph, i, &kind, &argument));
    if (argument == HB_NO_NODE) return HB_OK;
    if (s->graph->nodes[argument].depends >> 1 == 0) { /* no x: a moment, not a place */
        s->drift->facts.steady &= !hb_graph_depends(s->graph, argument, 0);
        return HB_OK;
    }
    const hb_drift_break found = {.kind = kind,
                                  .axis = s->node[i].only > 0 ? s->node[i].only : 0,
                                  .moves = hb_graph_depends(s->graph, argument, 0),
                                  .argument = argument};
    return add_break(s, &found);
}

static hb_status facts_find_breaks(search *s)
{
    s->drift->facts.steady = 1;
    for (hb_node i = 0; i <= s->top; i++)
        if (s->used[i]) HB_TRY(look_at_break(s, i));
    return HB_OK;
}

/* ---- gradients ---- */

/* Whether a jump or pole hides a part of the derivatives of component i. */
static int component_hides(const search *s, int i)
{
    const hb_drift_facts *facts = &s->drift->facts;
    memset(s->below, 0, ((size_t)s->top + 1) * sizeof *s->below);
    s->below[s->f[i]] = 1;
    hb_graph_mark(s->graph, s->f[i], s->below);
    for (hb_node k = 0; k <= s->top; k++) {
        hb_break_kind kind;
        if (!s->below[k] || s->node[k].only == 0 || s->node[k].only == i + 1) continue;
        const hb_node argument = hb_break_argument(s->graph, k, &kind);
        if (argument == HB_NO_NODE || kind == HB_BREAK_KINK) continue;
        for (int b = 0; b < facts->n_breaks; b++)
            if (facts->breaks[b].argument == argument) return 1;
    }
    return 0;
}

static int derivatives_tell_all(const search *s)
{
    int severe = 0;
    for (int b = 0; b < s->drift->facts.n_breaks; b++)
        severe |= s->drift->facts.breaks[b].kind != HB_BREAK_KINK;
    for (int i = 0; i < s->drift->dim && severe; i++)
        if (component_hides(s, i)) return 0;
    return 1;
}

/* entries: nodes of the derivatives that are listed in drift->entries. */
static hb_status is_symmetric(const search *s, const hb_node *entries, int *yes)
{
    const hb_drift *drift = s->drift;
    const int d = drift->dim;
    uint64_t *fingerprint; // (count)
    *yes = 1;
    for (int k = 0; k < drift->n_entries; k++) { /* build all mirrors first */
        hb_node mirror;
        const int i = (int)(drift->entries[k] / (size_t)d),
                  j = (int)(drift->entries[k] % (size_t)d);
        if (i != j) HB_TRY(hb_graph_derivative(s->graph, s->f[j], i + 1, &mirror));
    }
    HB_TRY(HB_NEW(s->context, fingerprint, (size_t)s->graph->count));
    hb_graph_fingerprints(s->graph, s->graph->count - 1, fingerprint);
    hb_status status = HB_OK;
    for (int k = 0; k < drift->n_entries && *yes && status == HB_OK; k++) {
        const int i = (int)(drift->entries[k] / (size_t)d),
                  j = (int)(drift->entries[k] % (size_t)d);
        hb_node mirror = entries[k];
        if (i != j) status = hb_graph_derivative(s->graph, s->f[j], i + 1, &mirror);
        if (mirror == entries[k] || status != HB_OK) continue;
        *yes = fingerprint[mirror] == fingerprint[entries[k]] &&
               fingerprint[mirror] != HB_NO_FINGERPRINT;
    }
    hb_release(s->context, fingerprint);
    return status;
}

static hb_status find_gradient(search *s, const hb_node *entries, int has_potential)
{
    hb_drift_facts *facts = &s->drift->facts;
    facts->gradient = has_potential || s->drift->dim == 1 || facts->separable;
    if (facts->gradient || !derivatives_tell_all(s)) return HB_OK;
    return is_symmetric(s, entries, &facts->gradient);
}

/* ---- what others ask ---- */

/* The range of F and of all arguments needs the formulas only. */
static hb_status facts_compile(search *s)
{
    hb_drift *drift = s->drift;
    const int d = drift->dim, n = drift->facts.n_breaks;
    hb_node *nodes; // (d + n)
    HB_TRY(HB_NEW(s->context, nodes, (size_t)(d + n)));
    for (int i = 0; i < d; i++) nodes[i] = s->f[i];
    for (int k = 0; k < n; k++) nodes[d + k] = drift->facts.breaks[k].argument;
    hb_status status = hb_range_tape_create(s->context, s->graph, d + n, nodes, &drift->ranges);
    if (status == HB_OK && n > 0)
        status = hb_program_compile(s->graph, n, nodes + d, &drift->arguments);
    hb_release(s->context, nodes);
    return status;
}

hb_status hb_drift_find_facts(hb_context *context, hb_drift *drift, const hb_node *f,
                              const hb_node *entries, int has_potential)
{
    search s = {.context = context, .drift = drift, .graph = drift->graph, .f = f};
    hb_workspace work;
    drift->facts.is_formula = 1;
    drift->facts.autonomous = 1;
    for (int i = 0; i < drift->dim; i++) {
        s.top = f[i] > s.top ? f[i] : s.top;
        drift->facts.autonomous &= !hb_graph_depends(drift->graph, f[i], 0);
    }
    const size_t n = (size_t)s.top + 1;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(s.node, n), HB_ARRAY(s.used, n),
                        HB_ARRAY(s.below, n)));
    facts_of_nodes(&s);
    hb_status status = facts_find_breaks(&s);
    if (status == HB_OK) status = find_gradient(&s, entries, has_potential);
    if (status == HB_OK) status = facts_compile(&s);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_problem_features(hb_context *context, const hb_problem *problem, int axis,
                              const hb_interval *range, hb_features *out)
{
    const hb_drift *drift = &problem->drift;
    const int own = drift->facts.separable;
    *out = (hb_features){0};
    if (!drift->facts.is_formula || !drift->components) return HB_OK;
    return hb_features_find(context, drift->graph, own ? 1 : drift->dim,
                            drift->components + (own ? axis : 0), axis + 1, range,
                            (hb_interval){0, hb_problem_span(problem)}, out);
}

const hb_drift_facts *hb_problem_facts(const hb_problem *problem)
{
    return &problem->drift.facts;
}

hb_status hb_problem_break_values(hb_context *context, const hb_problem *problem, double tau,
                                  size_t n, const double *x, double *values)
{
    double t;
    if (problem->drift.facts.n_breaks == 0) return HB_OK;
    HB_TRY(hb_time_change_t(context, problem->change, tau, &t));
    return hb_program_run(context, problem->drift.arguments, n, x, t, values);
}

/* Divides f by the range of g^2/2. */
static hb_interval facts_normalised(hb_interval f, hb_interval rate)
{
    const double ends[4] = {f.low / rate.low, f.low / rate.high, f.high / rate.low,
                            f.high / rate.high};
    hb_interval out = {ends[0], ends[0]};
    for (int k = 0; k < 4; k++) {
        if (isnan(ends[k])) return (hb_interval){-INFINITY, INFINITY};
        out.low = fmin(out.low, ends[k]);
        out.high = fmax(out.high, ends[k]);
    }
    return out;
}

/* work: (sizes of both tapes). */
static hb_status facts_ranges(hb_context *context, const hb_problem *problem, const hb_interval *x,
                              hb_interval tau, hb_interval *work, hb_interval *out)
{
    const hb_interval nowhere = {0, 0};
    hb_interval t, g, rate;
    HB_TRY(hb_time_change_t(context, problem->change, tau.low, &t.low));
    HB_TRY(hb_time_change_t(context, problem->change, tau.high, &t.high));
    hb_range_tape_run(problem->noise_ranges, &nowhere, t, work, &g);
    rate = (hb_interval){0.5 * g.low * g.low, 0.5 * g.high * g.high};
    if (!(g.low > 0)) rate.low = 0;
    hb_range_tape_run(problem->drift.ranges, x, t, work, out);
    for (int i = 0; i < problem->dim; i++) out[i] = facts_normalised(out[i], rate);
    return HB_OK;
}

hb_status hb_problem_ranges(hb_context *context, const hb_problem *problem, const hb_interval *x,
                            hb_interval tau, hb_interval *F, hb_interval *arguments)
{
    const size_t d = (size_t)problem->dim, n = (size_t)problem->drift.facts.n_breaks;
    if (!problem->drift.ranges) {
        for (size_t i = 0; i < d && F; i++) F[i] = (hb_interval){-INFINITY, INFINITY};
        return HB_OK;
    }
    hb_interval *out; // (d + n)
    HB_TRY(HB_NEW(context, out,
                  d + n + hb_range_tape_size(problem->drift.ranges) +
                      hb_range_tape_size(problem->noise_ranges)));
    const hb_status status = facts_ranges(context, problem, x, tau, out + d + n, out);
    if (status == HB_OK && F) memcpy(F, out, d * sizeof *F);
    if (status == HB_OK && arguments) memcpy(arguments, out + d, n * sizeof *arguments);
    hb_release(context, out);
    return status;
}
