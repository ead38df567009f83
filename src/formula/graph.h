/* formula/graph.h: the nodes of a graph, for the files of the expression language alone.
 *
 * A node is an operation on earlier nodes, so operands always have smaller indices. Nodes are made
 * by the hb_build_ functions only, which simplify and share: asking twice gives the same index.
 *
 * Builders return a node, not a status, so that a rule of calculus reads as a formula. When one
 * fails it stores the status in the graph and returns HB_NO_NODE; builders given HB_NO_NODE return
 * it. Whoever starts such a formula ends it with hb_graph_finish. */
#pragma once

#include "formula/expression.h"

#include <math.h>

enum {
    HB_NO_NODE = -1,
    HB_MAX_NODES = 1000000,
    HB_MAX_POWER = 32 /* whole exponents up to here are products; beyond, pow is more accurate */
};

/* The functions of the language: operation, name, number of arguments, C's own. */
#define HB_FUNCTION_LIST(X)                                                                        \
    X(HB_OP_EXP, "exp", 1, exp(a))                                                                 \
    X(HB_OP_LOG, "log", 1, log(a))                                                                 \
    X(HB_OP_SQRT, "sqrt", 1, sqrt(a))                                                              \
    X(HB_OP_SIN, "sin", 1, sin(a))                                                                 \
    X(HB_OP_COS, "cos", 1, cos(a))                                                                 \
    X(HB_OP_TAN, "tan", 1, tan(a))                                                                 \
    X(HB_OP_ASIN, "asin", 1, asin(a))                                                              \
    X(HB_OP_ACOS, "acos", 1, acos(a))                                                              \
    X(HB_OP_ATAN, "atan", 1, atan(a))                                                              \
    X(HB_OP_SINH, "sinh", 1, sinh(a))                                                              \
    X(HB_OP_COSH, "cosh", 1, cosh(a))                                                              \
    X(HB_OP_TANH, "tanh", 1, tanh(a))                                                              \
    X(HB_OP_ABS, "abs", 1, fabs(a))                                                                \
    X(HB_OP_SIGN, "sign", 1, a > 0 ? 1 : (a < 0 ? -1 : a))                                         \
    X(HB_OP_MIN, "min", 2, b < a || b != b ? b : a)                                                \
    X(HB_OP_MAX, "max", 2, b > a || b != b ? b : a)                                                \
    X(HB_OP_POW, "pow", 2, pow(a, b))

/* Operations that have a symbol or arise from derivatives only. LESS is 1 where a < b, else 0;
 * SELECT is b where a is not 0, else c; SECH2 = 1/cosh^2 and ASIN1 = 1/sqrt(1 - a^2) are the
 * derivatives of tanh and asin without cancellation. */
#define HB_OPERATION_LIST(X)                                                                       \
    X(HB_OP_NEGATE, "-", 1, -a)                                                                    \
    X(HB_OP_ADD, "+", 2, a + b)                                                                    \
    X(HB_OP_SUBTRACT, "-", 2, a - b)                                                               \
    X(HB_OP_MULTIPLY, "*", 2, a *b)                                                                \
    X(HB_OP_DIVIDE, "/", 2, a / b)                                                                 \
    X(HB_OP_LESS, "less", 2, a < b)                                                                \
    X(HB_OP_SELECT, "select", 3, a != 0 ? b : c)                                                   \
    X(HB_OP_SECH2, "sech2", 1, hb_sech2(a))                                                        \
    X(HB_OP_ASIN1, "asin1", 1, 1 / sqrt((1 - a) * (1 + a)))

typedef enum hb_operation {
    HB_OP_CONSTANT, /* value */
    HB_OP_VARIABLE, /* a: 1 .. dim for x_a, 0 for t */
    HB_OP_MAPPED,   /* x(a) of the table number b of the graph (axis_table.h) */
    HB_OP_POWER,    /* (node a)^b for a whole number b, 2 <= |b| <= HB_MAX_POWER, or b = -1 */
#define HB_OPERATION_ENUM(operation, name, arity, formula) operation,
    HB_FUNCTION_LIST(HB_OPERATION_ENUM) HB_OPERATION_LIST(HB_OPERATION_ENUM)
#undef HB_OPERATION_ENUM
} hb_operation;

typedef struct hb_graph_node {
    hb_operation op;
    int a, b, c; /* operands; those that an operation does not have are 0 */
    double value;
    uint64_t depends; /* bit 0: t is below; bit 1 + (v-1) mod 63: x_v is; exact for dim < 64 */
} hb_graph_node;

typedef struct hb_parameter {
    char *name;
    double value;
} hb_parameter;

/* Derivatives: (node, variable) -> node, open addressing, node + 1 so that 0 is free. */
typedef struct hb_derivative_memo {
    int *slots; // (capacity, 3)
    size_t capacity, count;
} hb_derivative_memo;

struct hb_graph {
    hb_context *context;
    int dim;
    hb_status status; /* of the first builder that failed since hb_graph_finish */
    hb_graph_node *nodes;
    int count, capacity;
    int *table; /* hash table of node + 1, 0 free; twice capacity, a power of two */
    hb_parameter *parameters;
    int n_parameters, parameter_capacity;
    hb_derivative_memo memo;
    const struct hb_axis_table **tables; // (n_tables), not owned
    int n_tables, table_capacity;
    unsigned finished; /* formulas, so that whoever makes many hears a request to stop */
};

double hb_sech2(double a); /* 4 e/(1+e)^2, e = exp(-2|a|): no overflow, right in the tails */
int hb_operation_arity(hb_operation op); /* operands that are nodes */
/* Their number, and the operands. */
static inline int hb_graph_operands(const hb_graph_node *node, hb_node operand[3])
{
    operand[0] = node->a, operand[1] = node->b, operand[2] = node->c;
    return hb_operation_arity(node->op);
}
double hb_operation_value(hb_operation op, double a, double b, double c);

/* The node with exactly these fields, found or made, without simplification. */
hb_node hb_graph_intern(hb_graph *graph, hb_operation op, int a, int b, int c, double value);
/* Ends a formula of builders: the status of the first failure, or HB_OK and the node. */
hb_status hb_graph_finish(hb_graph *graph, hb_node node, hb_node *out);
const hb_parameter *hb_graph_find_parameter(const hb_graph *graph, const char *name, size_t length);
/* What a variable's name stands for: 1 .. dim, 0 for t, -1 when it is none. */
int hb_graph_find_variable(const hb_graph *graph, const char *name, size_t length);
/* *yes: of x1 .. xdim only this one is below the node. Exact in every dimension. */
hb_status hb_graph_has_only(const hb_graph *graph, hb_node node, int variable, int *yes);
/* An index into the function list by name, -1 when it is none. */
int hb_graph_find_function(const char *name, size_t length);
/* Sets marks[top + 1] to 1 for all nodes below those that are marked; how many are then marked. */
int hb_graph_mark(const hb_graph *graph, hb_node top, int *marks);
/* The node, with its operands replaced by moved[operand]. */
hb_graph_node hb_graph_moved(const hb_graph *graph, hb_node node, const int *moved);
/* The node with all below it in another graph; x_k becomes x_(k + shift). */
hb_status hb_graph_copy(const hb_graph *from, hb_node node, int shift, hb_graph *to, hb_node *out);
/* A copy of `node` and of all below it in a new graph without parameters. */
hb_status hb_graph_extract(hb_context *context, const hb_graph *graph, hb_node node,
                           hb_graph **copy, hb_node *out);
/* out[n]: the nodes with x[dim] and t, nodes of `to`, in place of the variables
 * (graph_substitute.c). `to` may be `from`. */
hb_status hb_graph_substitute(const hb_graph *from, int n, const hb_node *nodes, const hb_node *x,
                              hb_node t, hb_graph *to, hb_node *out);

/* x(a) of a table, which must live as long as the graph and what is compiled from it. */
hb_node hb_build_mapped(hb_graph *graph, const struct hb_axis_table *table, hb_node a);
/* A copy of a graph's list of tables, to be released; NULL when there are none. */
hb_status hb_graph_copy_tables(hb_context *context, const hb_graph *graph,
                               const struct hb_axis_table ***out);
hb_node hb_build_log(hb_graph *graph, hb_node a); /* takes ln(c exp(y)) apart */
hb_node hb_build_constant(hb_graph *graph, double value);
hb_node hb_build_variable(hb_graph *graph, int variable);
hb_node hb_build_scaled(hb_graph *graph, double factor, hb_node a);
hb_node hb_build_unary(hb_graph *graph, hb_operation op, hb_node a);
hb_node hb_build_negate(hb_graph *graph, hb_node a);
hb_node hb_build_add(hb_graph *graph, hb_node a, hb_node b);
hb_node hb_build_subtract(hb_graph *graph, hb_node a, hb_node b);
hb_node hb_build_multiply(hb_graph *graph, hb_node a, hb_node b);
hb_node hb_build_divide(hb_graph *graph, hb_node a, hb_node b);
hb_node hb_build_pow(hb_graph *graph, hb_node a, hb_node b);
hb_node hb_build_power(hb_graph *graph, hb_node a, int exponent);
hb_node hb_build_binary(hb_graph *graph, hb_operation op, hb_node a, hb_node b);
hb_node hb_build_select(hb_graph *graph, hb_node condition, hb_node yes, hb_node no);
