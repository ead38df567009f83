/* The noise that no transform reduces, as a matrix G(t) or a field of matrices G(x,t).
 *
 *     D = G G'/2,     (div D)_i = sum_j dD_ij/dx_j
 * of formulas exactly, of a callback by central differences, extrapolated twice (drift_callback.c).
 * Problems with such a noise have tau = t.
 * A number to reproduce: the noise "0, 0.7" in the plane has D = diag(0, 0.245). */
#include "problem/noise.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/graph.h"
#include "problem/line_balance.h"
#include "problem/problem_parts.h"

#include <heatball/ball.h>
#include <math.h>
#include <string.h>

enum { SHIFTS = 6 };
static const double STEP = 0x1p-6;

/* ---- made and destroyed ---- */

hb_status hb_noise_compile_divergence(hb_context *context, hb_graph *graph, int d, int m,
                                      const hb_node *G, hb_matrix_noise *noise)
{
    hb_node *sum; // (d)
    HB_TRY(HB_NEW(context, sum, (size_t)d));
    hb_status status = HB_OK;
    for (int i = 0; i < d && status == HB_OK; i++) {
        sum[i] = hb_build_constant(graph, 0);
        for (int j = 0; j < d && status == HB_OK; j++) {
            hb_node entry = hb_build_constant(graph, 0);
            for (int k = 0; k < m; k++)
                entry = hb_build_add(graph, entry,
                                     hb_build_multiply(graph, G[i * m + k], G[j * m + k]));
            status = hb_graph_finish(graph, entry, &entry);
            if (status == HB_OK) status = hb_graph_derivative(graph, entry, j + 1, &entry);
            if (status != HB_OK) break;
            entry = hb_build_scaled(graph, 0.5, entry);
            status = hb_graph_finish(graph, hb_build_add(graph, sum[i], entry), &sum[i]);
        }
    }
    if (status == HB_OK) status = hb_program_compile(graph, d, sum, &noise->divergence);
    hb_release(context, sum);
    return status;
}

hb_status hb_noise_from_callback(hb_context *context, const hb_problem_settings *s,
                                 hb_problem *problem)
{
    hb_matrix_noise *noise = &problem->noise_matrix;
    hb_graph *graph;
    hb_node root;
    HB_CHECK(context, s->noise_columns >= 0 && s->noise_columns <= HB_MAX_DIM, HB_ERROR_ARGUMENT,
             "noise_columns is %d; it must be 0 to %d", s->noise_columns, HB_MAX_DIM);
    HB_CHECK(context, s->convention != HB_CONVENTION_STRATONOVICH, HB_ERROR_ARGUMENT,
             "the convention is stratonovich and the noise is a callback; give the noise as text, "
             "or Ito's drift");
    HB_TRY(HB_NEW(context, noise->lock, 1));
    omp_init_lock(noise->lock);
    noise->kind = HB_NOISE_FIELD;
    noise->columns = s->noise_columns ? s->noise_columns : problem->dim;
    noise->constant = s->noise_autonomous != 0;
    noise->callback = s->noise_callback;
    noise->user = s->noise_user;
    HB_TRY(hb_graph_create(context, 1, &graph));
    hb_status status = hb_graph_constant(graph, M_SQRT2, &root);
    if (status == HB_OK) status = hb_problem_set_noise(context, graph, root, problem);
    hb_graph_destroy(graph);
    return status;
}

void hb_noise_destroy(hb_context *context, hb_matrix_noise *noise)
{
    hb_program_destroy(noise->factor);
    hb_range_tape_destroy(context, noise->ranges);
    hb_program_destroy(noise->divergence);
    hb_line_balance_destroy(context, noise->balance);
    if (noise->lock) omp_destroy_lock(noise->lock);
    hb_release(context, noise->lock);
    *noise = (hb_matrix_noise){0};
}

/* ---- questions ---- */

hb_noise_kind hb_problem_noise_kind(const hb_problem *problem)
{
    return problem->noise_matrix.kind;
}

int hb_problem_noise_columns(const hb_problem *problem)
{
    return problem->noise_matrix.kind == HB_NOISE_SCALAR ? problem->dim
                                                         : problem->noise_matrix.columns;
}

int hb_problem_noise_is_constant(const hb_problem *problem)
{
    return problem->noise_matrix.kind == HB_NOISE_SCALAR
               ? hb_time_change_is_constant(problem->change)
               : problem->noise_matrix.constant;
}

static hb_status noise_call(hb_context *context, const hb_problem *problem, size_t n,
                            const double *x, double t, double *G)
{
    const hb_matrix_noise *noise = &problem->noise_matrix;
    double *times; // (n)
    HB_TRY(HB_NEW(context, times, n));
    for (size_t i = 0; i < n; i++) times[i] = t;
    omp_set_lock(noise->lock);
    const int failure = noise->callback(noise->user, n, x, times, G);
    omp_unset_lock(noise->lock);
    hb_release(context, times);
    HB_CHECK(context, failure == 0, HB_ERROR_CALLBACK,
             "the callback for the noise returned %d at t = %g; 0 means success", failure, t);
    return HB_OK;
}

/* One noise for all axes, as a matrix: so that every problem has one. */
static hb_status scalar_factor(hb_context *context, const hb_problem *problem, size_t n, double t,
                               double *G)
{
    const size_t d = (size_t)problem->dim;
    double rate;
    HB_TRY(hb_time_change_rate(context, problem->change, t, &rate));
    for (size_t k = 0; k < n * d * d; k++) G[k] = k % (d * d) % (d + 1) == 0 ? sqrt(2 * rate) : 0;
    return HB_OK;
}

size_t hb_problem_noise_ranges(const hb_problem *problem, const hb_interval *x, double t,
                               hb_interval *work, hb_interval *G)
{
    const hb_range_tape *tape = problem->noise_matrix.ranges;
    if (tape && work) hb_range_tape_run(tape, x, (hb_interval){t, t}, work, G);
    return tape ? hb_range_tape_size(tape) : 0;
}

hb_status hb_problem_noise_factor(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double t, double *G)
{
    const hb_matrix_noise *noise = &problem->noise_matrix;
    if (n == 0) return HB_OK;
    if (noise->kind == HB_NOISE_SCALAR) return scalar_factor(context, problem, n, t, G);
    if (noise->callback) return noise_call(context, problem, n, x, t, G);
    return hb_program_run(context, noise->factor, n, noise->kind == HB_NOISE_FIELD ? x : NULL, t,
                          G);
}

/* D from G, for one point. */
static void noise_square(size_t d, size_t m, const double *G, double *D)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k < m; k++) sum += G[i * m + k] * G[j * m + k];
            D[i * d + j] = D[j * d + i] = 0.5 * sum;
        }
}

/* at[n][6][d]: each point with its coordinate j moved by +-h, +-h/2, +-h/4. */
static void shift_points(size_t n, size_t d, size_t j, const double *x, double *at)
{
    static const double moves[SHIFTS] = {1, -1, 0.5, -0.5, 0.25, -0.25};
    for (size_t k = 0; k < n * SHIFTS; k++) {
        const double *point = x + k / SHIFTS * d;
        memcpy(at + k * d, point, d * sizeof *x);
        at[k * d + j] += moves[k % SHIFTS] * STEP * fmax(1, fabs(point[j]));
    }
}

/* The divergence[n][d] of a callback's D: one call for each coordinate. */
static hb_status divergence_by_differences(hb_context *context, const hb_problem *problem, size_t n,
                                           const double *x, double t, double *divergence)
{
    const size_t d = (size_t)problem->dim, m = (size_t)problem->noise_matrix.columns;
    hb_workspace work;
    double *at, *G, *D;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(at, n * SHIFTS * d),
                        HB_ARRAY(G, n * SHIFTS * d * m), HB_ARRAY(D, SHIFTS * d * d)));
    hb_status status = HB_OK;
    for (size_t j = 0; j < d && status == HB_OK; j++) {
        shift_points(n, d, j, x, at);
        status = noise_call(context, problem, n * SHIFTS, at, t, G);
        for (size_t i = 0; i < n && status == HB_OK; i++) {
            double place[SHIFTS], value[SHIFTS];
            for (size_t k = 0; k < SHIFTS; k++) {
                place[k] = at[(i * SHIFTS + k) * d + j];
                noise_square(d, m, G + (i * SHIFTS + k) * d * m, D + k * d * d);
            }
            for (size_t a = 0; a < d; a++) {
                for (size_t k = 0; k < SHIFTS; k++) value[k] = D[k * d * d + a * d + j];
                divergence[i * d + a] += hb_richardson(place, value);
            }
        }
    }
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_problem_diffusion(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, double t, double *D, double *divergence)
{
    const hb_matrix_noise *noise = &problem->noise_matrix;
    const size_t d = (size_t)problem->dim, m = (size_t)hb_problem_noise_columns(problem);
    double *G; // (n, d, m)
    HB_TRY(HB_NEW(context, G, n * d * m));
    hb_status status = hb_problem_noise_factor(context, problem, n, x, t, G);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        noise_square(d, m, G + i * d * m, D + i * d * d);
    hb_release(context, G);
    if (status != HB_OK || !divergence) return status;
    memset(divergence, 0, n * d * sizeof *divergence);
    if (noise->divergence) return hb_program_run(context, noise->divergence, n, x, t, divergence);
    return noise->callback ? divergence_by_differences(context, problem, n, x, t, divergence)
                           : HB_OK;
}
