/* One expression for users who want only that: a graph, one node of it, and its program.
 *
 * A derivative is a new expression with a graph of its own, so that expressions may be destroyed in
 * any order and used from different threads.
 *
 * Must reproduce: the derivative of "a*x^2" by x with a = 2.385, at x = 3: 14.31. */
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "formula/expression.h"
#include "formula/graph.h"

#include <heatball/formula.h>

enum { TASK_POINTS = 8192 }; /* a thread takes this many points at a time */

struct hb_expression {
    hb_context *context;
    hb_graph *graph;
    hb_node node;
    hb_program *program;
};

static hb_status expression_create(hb_context *context, hb_expression **out)
{
    HB_TRY(HB_NEW_CLEARED(context, *out, 1));
    (*out)->context = context;
    return HB_OK;
}

void hb_expression_destroy(hb_expression *expression)
{
    if (!expression) return;
    hb_program_destroy(expression->program);
    hb_graph_destroy(expression->graph);
    hb_release(expression->context, expression);
}

/* Hands the expression over when status is HB_OK, destroys it otherwise. */
static hb_status expression_deliver(hb_status status, hb_expression *expression,
                                    hb_expression **out)
{
    if (status == HB_OK)
        *out = expression;
    else
        hb_expression_destroy(expression);
    return status;
}

static hb_status expression_parse(hb_context *context, const char *text, int dim, int n_parameters,
                                  const char *const *names, const double *values, hb_expression *e)
{
    HB_TRY(hb_graph_create(context, dim, &e->graph));
    HB_TRY(hb_graph_parameters(e->graph, n_parameters, names, values));
    HB_TRY(hb_graph_parse(e->graph, text, "expression", 0, &e->node));
    return hb_program_compile(e->graph, 1, &e->node, &e->program);
}

hb_status hb_expression_parse(hb_context *context, int dim, int n_parameters, const char *text,
                              const char *const *names, const double *values, hb_expression **out)
{
    hb_expression *e;
    HB_CHECK(context, out != NULL, HB_ERROR_ARGUMENT, "out is NULL");
    *out = NULL;
    HB_CHECK(
        context, n_parameters >= 0 && (n_parameters == 0 || (names && values)), HB_ERROR_ARGUMENT,
        "n_parameters is %d; it must be 0 or more, with that many names and values", n_parameters);
    HB_TRY(expression_create(context, &e));
    return expression_deliver(expression_parse(context, text, dim, n_parameters, names, values, e),
                              e, out);
}

static hb_status expression_differentiate(hb_context *context, const hb_expression *from,
                                          int variable, hb_expression *e)
{
    HB_TRY(hb_graph_extract(context, from->graph, from->node, &e->graph, &e->node));
    HB_TRY(hb_graph_derivative(e->graph, e->node, variable, &e->node));
    return hb_program_compile(e->graph, 1, &e->node, &e->program);
}

hb_status hb_expression_derivative(hb_context *context, const hb_expression *expression,
                                   int variable, hb_expression **out)
{
    hb_expression *e;
    HB_CHECK(context, expression && out, HB_ERROR_ARGUMENT, "the expression or out is NULL");
    *out = NULL;
    HB_TRY(expression_create(context, &e));
    return expression_deliver(expression_differentiate(context, expression, variable, e), e, out);
}

typedef struct evaluation {
    hb_context *context;
    const hb_expression *expression;
    size_t n;
    const double *x; // (n, dim)
    double t;
    double *out; // (n)
} evaluation;

static hb_status evaluate_task(void *user, size_t index, int thread)
{
    (void)thread;
    const evaluation *e = user;
    const size_t first = index * TASK_POINTS, left = e->n - first;
    return hb_program_run(e->context, e->expression->program,
                          left < TASK_POINTS ? left : TASK_POINTS,
                          e->x + first * (size_t)e->expression->graph->dim, e->t, e->out + first);
}

hb_status hb_expression_evaluate(hb_context *context, const hb_expression *expression, size_t n,
                                 const double *x, double t, double *out)
{
    HB_CHECK(context, expression && (n == 0 || (x && out)), HB_ERROR_ARGUMENT,
             "the expression, x or out is NULL");
    evaluation e = {context, expression, n, x, t, out};
    if (n <= TASK_POINTS) return n ? evaluate_task(&e, 0, 0) : HB_OK;
    return hb_parallel_for(context, "evaluate", (n + TASK_POINTS - 1) / TASK_POINTS, evaluate_task,
                           &e);
}
