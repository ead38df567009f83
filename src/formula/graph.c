/* The graph: storage of nodes, sharing by hashing, parameters, names.
 *
 * A node is its operation and its operands, and no two nodes are equal ("hash consing"): a table
 * maps the fields of a node to its index, so that building the same subexpression again finds it.
 * Sharing is what keeps derivatives small: the Jacobian of a chain of d particles has O(d) nodes
 * because neighbours share their terms. A. P. Ershov, On programming of arithmetic operations, CACM
 * 1 (1958).
 *
 * Must reproduce: x^3 - x with its first and second derivative is 13 nodes. */
#include "formula/graph.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/axis_table.h"

#include <ctype.h>
#include <string.h>

enum { MAX_DIM = 1000000, STOP_PERIOD = 1 << 12 };

double hb_sech2(double a)
{
    const double e = exp(-2 * fabs(a));
    return 4 * e / ((1 + e) * (1 + e));
}

int hb_operation_arity(hb_operation op)
{
    switch (op) {
    case HB_OP_CONSTANT:
    case HB_OP_VARIABLE: return 0;
    case HB_OP_MAPPED:
    case HB_OP_POWER: return 1;
#define ARITY(operation, name, arity, formula)                                                     \
    case operation: return arity;
        HB_FUNCTION_LIST(ARITY) HB_OPERATION_LIST(ARITY)
#undef ARITY
    }
    return 0;
}

double hb_operation_value(hb_operation op, double a, double b, double c)
{
    switch (op) {
    case HB_OP_CONSTANT:
    case HB_OP_VARIABLE:
    case HB_OP_MAPPED:
    case HB_OP_POWER: break;
#define VALUE(operation, name, arity, formula)                                                     \
    case operation: return formula;
        HB_FUNCTION_LIST(VALUE) HB_OPERATION_LIST(VALUE)
#undef VALUE
    }
    return NAN;
}

/* ---- storage ---- */

hb_status hb_graph_create(hb_context *context, int dim, hb_graph **out)
{
    *out = NULL;
    HB_CHECK(context, dim >= 1 && dim <= MAX_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", dim, MAX_DIM);
    hb_graph *graph;
    HB_TRY(HB_NEW_CLEARED(context, graph, 1));
    graph->context = context;
    graph->dim = dim;
    *out = graph;
    return HB_OK;
}

void hb_graph_destroy(hb_graph *graph)
{
    if (!graph) return;
    for (int i = 0; i < graph->n_parameters; i++)
        hb_release(graph->context, graph->parameters[i].name);
    hb_release(graph->context, graph->parameters);
    hb_release(graph->context, graph->nodes);
    hb_release(graph->context, graph->table);
    hb_release(graph->context, graph->memo.slots);
    hb_release(graph->context, graph->tables);
    hb_release(graph->context, graph);
}

/* ---- sharing ---- */

static uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static size_t hash_node(const hb_graph_node *node)
{
    uint64_t bits, hash = hash_mix(0, (uint64_t)node->op);
    memcpy(&bits, &node->value, sizeof bits);
    hash = hash_mix(hash, ((uint64_t)(uint32_t)node->a << 32) | (uint32_t)node->b);
    return (size_t)hash_mix(hash_mix(hash, (uint64_t)(uint32_t)node->c), bits);
}

static int equal_nodes(const hb_graph_node *p, const hb_graph_node *q)
{
    uint64_t bits_p, bits_q; /* 0 and -0 differ, and a NaN equals itself */
    memcpy(&bits_p, &p->value, sizeof bits_p);
    memcpy(&bits_q, &q->value, sizeof bits_q);
    return p->op == q->op && p->a == q->a && p->b == q->b && p->c == q->c && bits_p == bits_q;
}

/* The slot that holds the node, or the free one where it belongs. */
static int *find_slot(const hb_graph *graph, const hb_graph_node *node)
{
    const size_t mask = 2 * (size_t)graph->capacity - 1;
    size_t slot = hash_node(node) & mask;
    while (graph->table[slot] && !equal_nodes(&graph->nodes[graph->table[slot] - 1], node))
        slot = (slot + 1) & mask;
    return &graph->table[slot];
}

static hb_status grow_graph(hb_graph *graph)
{
    HB_CHECK(graph->context, graph->count < HB_MAX_NODES, HB_ERROR_ARGUMENT,
             "the expressions have more than %d different parts; shorten a sum or the dimension",
             HB_MAX_NODES);
    if (graph->count < graph->capacity) return HB_OK;
    HB_TRY(HB_GROW(graph->context, graph->nodes, graph->count, graph->capacity));
    int *table;
    const hb_status status = HB_NEW_CLEARED(graph->context, table, 2 * (size_t)graph->capacity);
    if (status != HB_OK) graph->capacity = graph->count; /* the old table serves on */
    HB_TRY(status);
    hb_release(graph->context, graph->table);
    graph->table = table;
    for (int i = 0; i < graph->count; i++) *find_slot(graph, &graph->nodes[i]) = i + 1;
    return HB_OK;
}

static int dependence_bit(int variable)
{
    return variable == 0 ? 0 : 1 + (variable - 1) % 63;
}

static uint64_t dependence(const hb_graph *graph, const hb_graph_node *node)
{
    if (node->op == HB_OP_VARIABLE) return UINT64_C(1) << dependence_bit(node->a);
    hb_node operand[3];
    const int arity = hb_graph_operands(node, operand);
    uint64_t bits = 0;
    for (int k = 0; k < arity; k++) bits |= graph->nodes[operand[k]].depends;
    return bits;
}

hb_node hb_graph_intern(hb_graph *graph, hb_operation op, int a, int b, int c, double value)
{
    if (graph->status != HB_OK) return HB_NO_NODE;
    graph->status = grow_graph(graph);
    if (graph->status != HB_OK) return HB_NO_NODE;
    hb_graph_node node = {op, a, b, c, value, 0};
    int *slot = find_slot(graph, &node);
    if (*slot) return *slot - 1;
    node.depends = dependence(graph, &node);
    graph->nodes[graph->count++] = node;
    *slot = graph->count;
    return graph->count - 1;
}

hb_status hb_graph_finish(hb_graph *graph, hb_node node, hb_node *out)
{
    hb_status status = graph->status;
    graph->status = HB_OK;
    if (status == HB_OK && ++graph->finished % STOP_PERIOD == 0)
        status = hb_progress(graph->context, "reading", 0, 1);
    if (status == HB_OK) *out = node;
    return status;
}

int hb_graph_mark(const hb_graph *graph, hb_node top, int *marks)
{
    int count = 0;
    for (hb_node i = top; i >= 0; i--) {
        hb_node operand[3];
        if (!marks[i]) continue;
        const int arity = hb_graph_operands(&graph->nodes[i], operand);
        for (int k = 0; k < arity; k++) marks[operand[k]] = 1;
        count++;
    }
    return count;
}

hb_graph_node hb_graph_moved(const hb_graph *graph, hb_node node, const int *moved)
{
    hb_graph_node out = graph->nodes[node];
    const int arity = hb_operation_arity(out.op);
    if (arity > 0) out.a = moved[out.a];
    if (arity > 1) out.b = moved[out.b];
    if (arity > 2) out.c = moved[out.c];
    return out;
}

/* Bits tell variables apart up to dim 63; above, all nodes below are looked at. */
hb_status hb_graph_has_only(const hb_graph *graph, hb_node node, int variable, int *yes)
{
    const uint64_t own = UINT64_C(1) << dependence_bit(variable) | 1;
    int *below; // (node + 1)
    *yes = (graph->nodes[node].depends & ~own) == 0;
    if (!*yes || graph->dim < 64 || graph->nodes[node].depends <= 1) return HB_OK;
    HB_TRY(HB_NEW_CLEARED(graph->context, below, (size_t)node + 1));
    below[node] = 1;
    hb_graph_mark(graph, node, below);
    for (hb_node k = node; k >= 0 && *yes; k--)
        if (below[k] && graph->nodes[k].op == HB_OP_VARIABLE)
            *yes = graph->nodes[k].a == 0 || graph->nodes[k].a == variable;
    hb_release(graph->context, below);
    return HB_OK;
}

/* ---- tables ---- */

static hb_status list_table(hb_graph *graph, const hb_axis_table *table, int *index)
{
    for (*index = 0; *index < graph->n_tables; ++*index)
        if (graph->tables[*index] == table) return HB_OK;
    HB_TRY(HB_GROW(graph->context, graph->tables, graph->n_tables, graph->table_capacity));
    graph->tables[graph->n_tables++] = table;
    return HB_OK;
}

hb_node hb_build_mapped(hb_graph *graph, const hb_axis_table *table, hb_node a)
{
    int index;
    double number;
    if (a == HB_NO_NODE || graph->status != HB_OK) return HB_NO_NODE;
    if (hb_graph_is_constant(graph, a, &number))
        return hb_build_constant(graph, hb_axis_table_x(table, number));
    graph->status = list_table(graph, table, &index);
    return hb_graph_intern(graph, HB_OP_MAPPED, a, index, 0, 0);
}

hb_status hb_graph_copy_tables(hb_context *context, const hb_graph *graph,
                               const hb_axis_table ***out)
{
    *out = NULL;
    if (graph->n_tables == 0) return HB_OK;
    HB_TRY(HB_NEW(context, *out, (size_t)graph->n_tables));
    memcpy(*out, graph->tables, (size_t)graph->n_tables * sizeof **out);
    return HB_OK;
}

/* ---- names ---- */

static int is_word(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(name, word, length) == 0;
}

int hb_graph_find_function(const char *name, size_t length)
{
    static const char *const names[] = {
#define FUNCTION_NAME(operation, text, arity, formula) text,
        HB_FUNCTION_LIST(FUNCTION_NAME)
#undef FUNCTION_NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_word(name, length, names[i])) return (int)i;
    return -1;
}

int hb_graph_find_variable(const hb_graph *graph, const char *name, size_t length)
{
    if (length == 1 && *name == 't') return 0;
    if (length == 1 && graph->dim <= 3 && *name >= 'x' && *name <= 'z')
        return *name - 'x' < graph->dim ? *name - 'x' + 1 : -1;
    if (length < 2 || length > 8 || *name != 'x' || name[1] == '0') return -1;
    int index = 0;
    for (size_t i = 1; i < length; i++) {
        if (!isdigit((unsigned char)name[i])) return -1;
        index = 10 * index + (name[i] - '0');
    }
    return index <= graph->dim ? index : -1;
}

const hb_parameter *hb_graph_find_parameter(const hb_graph *graph, const char *name, size_t length)
{
    for (int i = 0; i < graph->n_parameters; i++)
        if (is_word(name, length, graph->parameters[i].name)) return &graph->parameters[i];
    return NULL;
}

static int is_identifier(const char *name)
{
    if (!isalpha((unsigned char)*name) && *name != '_') return 0;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_') return 0;
    return 1;
}

/* Names with a meaning of their own, whatever the dimension: x7 too, so that a parameter never
 * becomes a variable when the dimension grows. */
static int is_reserved(const hb_graph *graph, const char *name)
{
    static const char *const words[] = {"pi", "d", "i", "j", "t", "x", "sum"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_word(name, length, words[i])) return 1;
    if (hb_graph_find_variable(graph, name, length) >= 0) return 1;
    return hb_graph_find_function(name, length) >= 0 ||
           (*name == 'x' && strspn(name + 1, "0123456789") == length - 1);
}

static hb_status check_parameter(const hb_graph *graph, const char *name, double value)
{
    HB_CHECK(graph->context, name && is_identifier(name), HB_ERROR_ARGUMENT,
             "'%.60s' cannot name a parameter; a name is letters, digits and _, first a letter",
             name ? name : "");
    HB_CHECK(graph->context, !is_reserved(graph, name), HB_ERROR_ARGUMENT,
             "'%.60s' cannot name a parameter; it is a variable, a function or an index", name);
    HB_CHECK(graph->context, isfinite(value), HB_ERROR_ARGUMENT,
             "parameter %.60s is %g; it must be a finite number", name, value);
    return HB_OK;
}

hb_status hb_graph_parameter(hb_graph *graph, const char *name, double value)
{
    HB_TRY(check_parameter(graph, name, value));
    const hb_parameter *known = hb_graph_find_parameter(graph, name, strlen(name));
    HB_CHECK(graph->context, !known, HB_ERROR_ARGUMENT, "parameter %.60s is given twice", name);
    HB_TRY(
        HB_GROW(graph->context, graph->parameters, graph->n_parameters, graph->parameter_capacity));
    hb_parameter *parameter = &graph->parameters[graph->n_parameters];
    HB_TRY(hb_copy_string(graph->context, name, &parameter->name));
    parameter->value = value;
    graph->n_parameters++;
    return HB_OK;
}

hb_status hb_graph_parameters(hb_graph *graph, int n, const char *const *names,
                              const double *values)
{
    for (int i = 0; i < n; i++) HB_TRY(hb_graph_parameter(graph, names[i], values[i]));
    return HB_OK;
}

/* ---- what other modules ask ---- */

hb_status hb_graph_constant(hb_graph *graph, double value, hb_node *out)
{
    return hb_graph_finish(graph, hb_build_constant(graph, value), out);
}

hb_status hb_graph_add(hb_graph *graph, hb_node a, hb_node b, hb_node *out)
{
    return hb_graph_finish(graph, hb_build_add(graph, a, b), out);
}

int hb_graph_is_constant(const hb_graph *graph, hb_node node, double *value)
{
    if (graph->nodes[node].op != HB_OP_CONSTANT) return 0;
    *value = graph->nodes[node].value;
    return 1;
}

int hb_graph_depends(const hb_graph *graph, hb_node node, int variable)
{
    return (int)(graph->nodes[node].depends >> dependence_bit(variable) & 1);
}

hb_status hb_graph_copy(const hb_graph *from, hb_node node, int shift, hb_graph *to, hb_node *out)
{
    int *moved; // (node + 1): marks, then nodes of `to`, operands first
    HB_TRY(HB_NEW_CLEARED(from->context, moved, (size_t)node + 1));
    moved[node] = 1;
    hb_graph_mark(from, node, moved);
    for (hb_node i = 0; i <= node; i++) {
        if (!moved[i]) continue;
        const hb_graph_node n = hb_graph_moved(from, i, moved);
        const int shifted = n.op == HB_OP_VARIABLE && n.a > 0 ? n.a + shift : n.a;
        moved[i] = n.op == HB_OP_MAPPED ? hb_build_mapped(to, from->tables[n.b], n.a)
                                        : hb_graph_intern(to, n.op, shifted, n.b, n.c, n.value);
        if (moved[i] == HB_NO_NODE) break;
    }
    const hb_node copy = moved[node];
    hb_release(from->context, moved);
    return hb_graph_finish(to, copy, out);
}

hb_status hb_graph_extract(hb_context *context, const hb_graph *graph, hb_node node,
                           hb_graph **copy, hb_node *out)
{
    HB_TRY(hb_graph_create(context, graph->dim, copy));
    const hb_status status = hb_graph_copy(graph, node, 0, *copy, out);
    if (status == HB_OK) return HB_OK;
    hb_graph_destroy(*copy);
    *copy = NULL;
    return status;
}
