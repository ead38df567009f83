/* STAND-IN of the branch `degenerate`, to be dropped in the merge: the noise of a MATRIX alone.
 *
 * A number to reproduce: the noise "0, 0.7" in the plane has D = diag(0, 0.245). */
#include "problem/noise.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <string.h>

static hb_status root_two(void *user, size_t n, const double *t, double *g)
{
    (void)user, (void)t;
    for (size_t i = 0; i < n; i++) g[i] = M_SQRT2;
    return HB_OK;
}

int hb_noise_is_matrix(const char *text);
int hb_noise_is_matrix(const char *text)
{
    int depth = 0;
    for (; text && *text; text++) {
        depth += (*text == '(' || *text == '[') - (*text == ')' || *text == ']');
        if (depth == 0 && (*text == ',' || *text == ';')) return 1;
    }
    return 0;
}

hb_status hb_noise_create_matrix(hb_context *context, const hb_problem_settings *s,
                                 hb_problem *problem);
hb_status hb_noise_create_matrix(hb_context *context, const hb_problem_settings *s,
                                 hb_problem *problem)
{
    const int d = problem->dim, diagonal = !strchr(s->noise, ';');
    char *text, *pieces;
    int count;
    problem->time = isnan(s->time) || isinf(s->time) ? 1 : s->time;
    HB_TRY(hb_graph_create(context, d, &problem->noise_graph));
    HB_TRY(hb_drift_parameters(context, s, problem->noise_graph));
    HB_TRY(hb_copy_string(context, s->noise, &text));
    for (char *at = text; *at; at++)
        if (*at == ';') *at = ',';
    HB_TRY(hb_graph_split(context, text, &count, &pieces));
    hb_release(context, text);
    HB_CHECK(context, diagonal ? count == d : count % d == 0, HB_ERROR_ARGUMENT,
             "the noise has %d entries; dim is %d", count, d);
    const int m = diagonal ? d : count / d;
    void *memory;
    HB_TRY(hb_allocate(context, (size_t)d * (size_t)m, sizeof(hb_node), &memory));
    hb_node *nodes = memory, zero;
    HB_TRY(hb_graph_constant(problem->noise_graph, 0, &zero));
    problem->matrix_is_constant = 1;
    const char *piece = pieces;
    for (int k = 0; k < d * m; k++) {
        nodes[k] = zero;
        if (diagonal && k / m != k % m) continue;
        HB_TRY(hb_graph_parse(problem->noise_graph, piece, "noise", 0, nodes + k));
        piece += strlen(piece) + 1;
        if (hb_graph_depends(problem->noise_graph, nodes[k], 0)) problem->matrix_is_constant = 0;
    }
    HB_TRY(hb_program_compile(problem->noise_graph, d * m, nodes, &problem->noise));
    HB_TRY(hb_range_tape_create(context, problem->noise_graph, 1, nodes, &problem->noise_ranges));
    hb_release(context, memory);
    hb_release(context, pieces);
    problem->columns = m;
    return hb_time_change_create(context, root_two, NULL, 1, problem->time, &problem->change);
}

hb_noise_kind hb_problem_noise_kind(const hb_problem *problem)
{
    return problem->columns ? HB_NOISE_MATRIX : HB_NOISE_SCALAR;
}

int hb_problem_noise_columns(const hb_problem *problem)
{
    return problem->columns ? problem->columns : problem->dim;
}

int hb_problem_noise_is_constant(const hb_problem *problem)
{
    return problem->columns ? problem->matrix_is_constant
                            : hb_time_change_is_constant(problem->change);
}

hb_status hb_problem_noise_factor(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double t, double *G)
{
    (void)x;
    const size_t size = (size_t)problem->dim * (size_t)problem->columns;
    HB_CHECK(context, problem->columns, HB_ERROR_ARGUMENT, "the noise is no matrix");
    HB_TRY(hb_program_run(context, problem->noise, 1, NULL, t, G));
    for (size_t i = 1; i < n; i++) memcpy(G + i * size, G, size * sizeof *G);
    return HB_OK;
}

hb_status hb_problem_diffusion(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, double t, double *D, double *divergence)
{
    const size_t d = (size_t)problem->dim, m = (size_t)problem->columns;
    void *memory;
    HB_TRY(hb_allocate(context, d * m + 1, sizeof(double), &memory));
    double *G = memory;
    const hb_status status = hb_problem_noise_factor(context, problem, 1, x, t, G);
    for (size_t k = 0; status == HB_OK && k < n * d * d; k++) {
        const size_t i = k / d % d, j = k % d;
        double sum = 0;
        for (size_t l = 0; l < m; l++) sum += G[i * m + l] * G[j * m + l];
        D[k] = 0.5 * sum;
    }
    for (size_t k = 0; divergence && k < n * d; k++) divergence[k] = 0;
    hb_release(context, memory);
    return status;
}
