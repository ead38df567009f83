/* TO BE REPLACED by the integrator's noise.c: a plain parser of matrices, enough to try the tensor grid.
 *
 * A number to reproduce: the noise "0, 0.7" in the plane has D = diag(0, 0.245). */
#include "problem/noise.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

hb_noise_kind hb_problem_noise_kind(const hb_problem *problem)
{
    return problem->stub_G ? problem->stub_field ? HB_NOISE_FIELD : HB_NOISE_MATRIX
                           : HB_NOISE_SCALAR;
}

int hb_problem_noise_columns(const hb_problem *problem)
{
    return problem->stub_G ? problem->stub_columns : problem->dim;
}

int hb_problem_noise_is_constant(const hb_problem *problem)
{
    return problem->stub_G ? problem->stub_constant : hb_time_change_is_constant(problem->change);
}

hb_status hb_problem_noise_factor(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double t, double *G)
{
    double zero[3] = {0};
    HB_TRY(hb_program_run(context, problem->stub_G, n, x ? x : zero, t, G));
    for (size_t k = 0; k < n * (size_t)problem->dim * (size_t)problem->stub_columns; k++)
        if (!isfinite(G[k])) return hb_fail(context, HB_ERROR_DOMAIN, "the noise is not finite");
    return HB_OK;
}

hb_status hb_problem_diffusion(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, double t, double *D, double *divergence)
{
    const size_t d = (size_t)problem->dim, row = d * d + d;
    double zero[3] = {0};
    void *memory;
    HB_TRY(hb_allocate(context, n * row, sizeof(double), &memory));
    double *all = memory;
    hb_status status = hb_program_run(context, problem->stub_D, n, x ? x : zero, t, all);
    for (size_t i = 0; i < n && status == HB_OK; i++) {
        for (size_t k = 0; k < row && status == HB_OK; k++)
            if (!isfinite(all[i * row + k]))
                status = hb_fail(context, HB_ERROR_DOMAIN, "the noise is not finite at x1 = %g",
                                 x ? x[i * d] : 0);
        memcpy(D + i * d * d, all + i * row, d * d * sizeof(double));
        if (divergence) memcpy(divergence + i * d, all + i * row + d * d, d * sizeof(double));
    }
    hb_release(context, memory);
    return status;
}

/* 1 when the text is a matrix or depends on x; the programs are then made. */
hb_status hb_stub_noise(hb_context *context, const hb_problem_settings *s, hb_problem *problem,
                        int *taken)
{
    const char *text = s->noise ? s->noise : "1";
    const int d = problem->dim;
    hb_graph *graph;
    hb_node entry[64], D[16];
    int rows = 0, columns = 0;
    *taken = 0;
    HB_TRY(hb_graph_create(context, d, &graph));
    problem->stub_graph = graph;
    HB_TRY(hb_drift_parameters(context, s, graph));
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", text);
    for (char *row = copy, *next; row; row = next) {
        next = strchr(row, ';');
        if (next) *next++ = 0;
        int count;
        char *pieces;
        HB_TRY(hb_graph_split(context, row, &count, &pieces));
        const char *piece = pieces;
        for (int k = 0; k < count; k++, piece += strlen(piece) + 1)
            HB_TRY(hb_graph_parse(graph, piece, "noise", 0, &entry[rows * count + k]));
        hb_release(context, pieces);
        columns = count;
        rows++;
    }
    int depends = 0, moves = 0;
    for (int k = 0; k < rows * columns; k++) {
        for (int v = 1; v <= d; v++) depends |= hb_graph_depends(graph, entry[k], v);
        moves |= hb_graph_depends(graph, entry[k], 0);
    }
    if (rows * columns == 1 && !depends) return HB_OK;
    hb_node G[64], zero;
    HB_TRY(hb_graph_constant(graph, 0, &zero));
    if (rows == 1) { /* one for each axis */
        for (int k = 0; k < d * d; k++)
            G[k] = k / d == k % d ? entry[columns == 1 ? 0 : k % d] : zero;
        columns = d;
    } else {
        memcpy(G, entry, sizeof G);
    }
    hb_node half;
    HB_TRY(hb_graph_constant(graph, 0.5, &half));
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            hb_node sum = zero, product;
            for (int k = 0; k < columns; k++) {
                HB_TRY(hb_graph_multiply(graph, G[i * columns + k], G[j * columns + k], &product));
                HB_TRY(hb_graph_add(graph, sum, product, &sum));
            }
            HB_TRY(hb_graph_multiply(graph, sum, half, &D[i * d + j]));
        }
    for (int i = 0; i < d; i++) {
        D[d * d + i] = zero;
        for (int j = 0; j < d; j++) {
            hb_node part;
            HB_TRY(hb_graph_derivative(graph, D[i * d + j], j + 1, &part));
            HB_TRY(hb_graph_add(graph, D[d * d + i], part, &D[d * d + i]));
        }
    }
    HB_TRY(hb_program_compile(graph, d * columns, G, &problem->stub_G));
    HB_TRY(hb_program_compile(graph, d * d + d, D, &problem->stub_D));
    problem->stub_field = depends;
    problem->stub_constant = !moves;
    problem->stub_columns = columns;
    *taken = 1;
    return HB_OK;
}
