/* Points per second of expressions, and of the same formulas in C at -O2 over the same array, one
 * JSON line each; the ratio of the two lines of a pair is what counts. One thread.
 *
 *     bistable     x - x^3                                  d = 1, 1 output
 *     van der pol  y, mu (1 - x^2) y - x                    d = 2, 2 outputs
 *     functions    exp(-(x^2+y^2)/2) sin(3x+t) - y          d = 2, 1 output
 *     chain        x_i - x_i^3 + k (x_{i-1} - 2 x_i + x_{i+1})   d = 10, 10 outputs
 *
 * Arrays hold 16384 doubles (128 KB): as the estimators do, which work through points in pieces.
 * Rounds of the two take turns, since the machine may be shared. Both results are compared at the
 * end. */
#include "formula/expression.h"
#include "peer_formulas.h"
#include "stopwatch.h"

#include <math.h>

enum { DOUBLES = 16384, REPEAT = 100, ROUNDS = 15 };

typedef struct pair {
    const char *name;
    int dim, n_outputs;
    const char *texts[2]; /* one text for n_outputs > 2: it is repeated for i = 1 .. dim */
    formula in_c;
} pair;

static const pair PAIRS[] = {
    {"bistable", 1, 1, {"x - x^3", NULL}, c_bistable},
    {"van der pol", 2, 2, {"y", "mu*(1 - x^2)*y - x"}, c_van_der_pol},
    {"functions", 2, 1, {"exp(-(x^2 + y^2)/2)*sin(3*x + t) - y", NULL}, c_functions},
    {"chain",
     CHAIN_DIM,
     CHAIN_DIM,
     {"x[i] - x[i]^3 + k*(x[i-1] - 2*x[i] + x[i+1])", NULL},
     c_chain},
};

static hb_program *compile(hb_context *ctx, const pair *p, hb_graph *graph)
{
    hb_node nodes[CHAIN_DIM];
    hb_program *program;
    must(ctx, hb_graph_parameter(graph, "mu", 2.385));
    must(ctx, hb_graph_parameter(graph, "k", 0.31));
    for (int i = 0; i < p->n_outputs; i++) {
        const char *text = p->n_outputs > 2 ? p->texts[0] : p->texts[i];
        must(ctx, hb_graph_parse(graph, text, p->name, i + 1, &nodes[i]));
    }
    must(ctx, hb_program_compile(graph, p->n_outputs, nodes, &program));
    return program;
}

static void check_equal(size_t n, const double *a, const double *b)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-13 * (1 + fabs(b[i])))) exit(1);
}

static void bench_pair(hb_context *ctx, const pair *p)
{
    char name[64];
    const size_t n = (size_t)(DOUBLES / p->dim), outputs = n * (size_t)p->n_outputs;
    double *x = bench_array(DOUBLES, sizeof *x), *ours = bench_array(outputs, sizeof *ours);
    double *theirs = bench_array(outputs, sizeof *theirs), fast = 1e300, plain = 1e300, taken;
    hb_graph *graph;
    must(ctx, hb_random_normal(ctx, 1, 2, 0, DOUBLES, x));
    must(ctx, hb_graph_create(ctx, p->dim, &graph));
    hb_program *program = compile(ctx, p, graph);
    for (int round = 0; round < ROUNDS; round++) {
        BEST_OF(1, taken, {
            for (int k = 0; k < REPEAT; k++)
                must(ctx, hb_program_run(ctx, program, n, x, 0.73, ours));
        });
        if (taken < fast) fast = taken;
        BEST_OF(1, taken, {
            for (int k = 0; k < REPEAT; k++) p->in_c(n, x, 0.73, theirs);
        });
        if (taken < plain) plain = taken;
    }
    check_equal(outputs, ours, theirs);
    snprintf(name, sizeof name, "expression %s", p->name);
    report(name, 1, (double)n * REPEAT, fast);
    snprintf(name, sizeof name, "C %s", p->name);
    report(name, 1, (double)n * REPEAT, plain);
    hb_program_destroy(program);
    hb_graph_destroy(graph);
    free(x);
    free(ours);
    free(theirs);
}

int main(void)
{
    hb_context *ctx = bench_context(1);
    for (size_t i = 0; i < sizeof PAIRS / sizeof *PAIRS; i++) bench_pair(ctx, &PAIRS[i]);
    hb_context_destroy(ctx);
    return 0;
}
