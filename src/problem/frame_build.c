/* Which noise is it? The graph decides.
 *
 * G(x,t), d x m, is first taken apart as diag(b_i(x_i)) M(t): row i may depend on x_i and t alone, and all its
 * entries must have the same part b_i in x_i: dG_ik/dx_i b_i - G_ik b_i' = 0 as a formula. Axis i then gets the
 * coordinate z_i = int dx_i/b_i (axis_map.c), whose drift is
 *     f_i/b_i - b_i'/2 (M M')_ii
 * and z = L(t) y with L L' = M M' makes the noise of y the same in all directions:
 *     dy = L^-1 (f_z(L y, t) - L'(t) y) dt + dW
 *     M constant, or M = M_0 g(t)       L from M_0, and the noise g(t)
 *     M(t), d <= MOST_MOVING            L(t) as formulas, where its diagonal is proved not to vanish
 *     else, and where rank M < d, or a linear drift would be far steeper in y:
 *                                       no frame for z: the noise stays a matrix (HB_NOISE_MATRIX)
 * What cannot be taken apart is a field of matrices (HB_NOISE_FIELD). L is M itself when that is lower triangular,
 * else the factor of Cholesky.
 * A component of the new drift whose second derivatives are 0 as formulas is written as c(t) + A(t) y, so that it
 * is seen to be linear: f = a x with noise s x is a - s^2/2 in y = ln x.
 * A number to reproduce: f = 0.5 x, G = x has F_y = 0: 0.5 - 0.5. */
#include "problem/frame_build.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/frame.h"
#include "problem/graph.h"
#include "problem/initial_law.h"
#include "problem/noise_text.h"

#include <lapacke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double STEEP = 5; /* times: a linear drift that y makes so much steeper loses digits */
enum { MOST_MOVING = 8, TIME_CELLS = 256, MOST_NORMALISED = 200 };
static const double LEAST_PIVOT =
    1e-12; /* of M M', relative to its diagonal: below, its rank counts as less */

typedef struct building {
    hb_context *context;
    const hb_problem_settings *s;
    hb_problem *problem;
    int d, m;
    hb_drift typed;       /* in x; its graph holds the noise too */
    hb_node *f;           // (d), of typed.graph; NULL: a callback
    hb_noise_nodes noise; /* of typed.graph */
    hb_frame *frame;
    hb_graph *to; /* in y */
    hb_node *M;   // (d, m), formulas in t, of `to`
    hb_node *L;   // (d, d), of `to`
    hb_node g;    /* of `to` */
} building;

/* ---- small things ---- */

static int is_zero(const hb_graph *graph, hb_node node)
{
    double number;
    return hb_graph_is_constant(graph, node, &number) && number == 0;
}

static int depends_on_others(const hb_graph *graph, hb_node node, int axis)
{
    for (int j = 1; j <= graph->dim; j++)
        if (j != axis && hb_graph_depends(graph, node, j)) return 1;
    return 0;
}

/* Values of formulas in t. */
static hb_status at_time(const building *b, hb_graph *graph, int n, const hb_node *nodes, double t,
                         double *values)
{
    hb_program *program;
    HB_TRY(hb_program_compile(graph, n, nodes, &program));
    const hb_status status = hb_program_run(b->context, program, 1, NULL, t, values);
    hb_program_destroy(program);
    return status;
}

/* ---- axes ---- */

/* The part in x_axis of a row's noise: an entry that depends on it, at a fixed time. */
static hb_status part_in_x(const building *b, int row, hb_node *out)
{
    hb_graph *graph = b->typed.graph;
    *out = HB_NO_NODE;
    for (int k = 0; k < b->m; k++) {
        const hb_node entry = b->noise.G[row * b->m + k];
        void *memory;
        if (!hb_graph_depends(graph, entry, row + 1)) continue;
        HB_TRY(hb_allocate(b->context, (size_t)b->d, sizeof(hb_node), &memory));
        hb_node *x = memory; // (d)
        for (int i = 0; i < b->d; i++) x[i] = hb_build_variable(graph, i + 1);
        hb_status status = HB_OK;
        for (int second = 0; second < 2 && status == HB_OK; second++) {
            const hb_node t = hb_build_constant(graph, second); // at t = 0 it may vanish
            status = hb_graph_substitute(graph, 1, &entry, x, t, graph, out);
            if (status != HB_OK || hb_graph_depends(graph, *out, row + 1)) break;
        }
        hb_release(b->context, memory);
        return status;
    }
    return HB_OK;
}

/* Whether a/b = const may be read off derivatives: not where one of them has kinks or jumps, unless a = c b. */
static hb_status may_compare(const building *b, const hb_graph *graph, hb_node a, hb_node part,
                             hb_formula_break kind, int *yes)
{
    int broken, part_broken;
    HB_TRY(hb_formula_has_breaks(b->context, graph, a, kind, &broken));
    HB_TRY(hb_formula_has_breaks(b->context, graph, part, kind, &part_broken));
    *yes = (!broken && !part_broken) ||
           hb_formula_without_factor(graph, a) == hb_formula_without_factor(graph, part);
    return HB_OK;
}

/* Whether all entries of the row are b(x) times something without x. */
static hb_status has_one_part(const building *b, int row, hb_node part, int *yes)
{
    hb_graph *graph = b->typed.graph;
    hb_node slope;
    *yes = 1;
    HB_TRY(hb_graph_derivative(graph, part, row + 1, &slope));
    for (int k = 0; k < b->m && *yes; k++) {
        hb_node gap;
        const hb_node entry = b->noise.G[row * b->m + k];
        if (is_zero(graph, entry)) continue;
        HB_TRY(may_compare(b, graph, entry, part, HB_BREAKS_IN_X, yes));
        if (!*yes) return HB_OK;
        HB_TRY(hb_graph_derivative(graph, entry, row + 1, &gap));
        gap = hb_build_subtract(graph, hb_build_multiply(graph, gap, part),
                                hb_build_multiply(graph, entry, slope));
        HB_TRY(hb_graph_finish(graph, gap, &gap));
        HB_TRY(hb_formula_is_zero(b->context, graph, gap, yes));
    }
    return HB_OK;
}

/* One point of the start, or NaN. */
static hb_status find_inside(const building *b, double *inside)
{
    const hb_problem *outside = b->problem->outside;
    for (int i = 0; i < b->d; i++) inside[i] = NAN;
    if (!outside || !outside->initial.law || !outside->initial.law->draw) return HB_OK;
    return hb_problem_initial_sample(b->context, outside, 1, 0, 1, inside);
}

static hb_status refuse_wall(const building *b, int row)
{
    return hb_fail(
        b->context, HB_ERROR_ARGUMENT,
        "the noise of axis %d vanishes at the end of a finite distance int dx/noise, which is a "
        "wall; walls are not there yet",
        row + 1);
}

/* *field: this row cannot be taken apart. */
static hb_status read_axis(building *b, int row, double inside, int *field)
{
    hb_graph *graph = b->typed.graph;
    hb_axis_map *map = &b->frame->axes[row];
    hb_node part;
    hb_axis_end end = HB_AXIS_FOUND;
    *map = (hb_axis_map){.kind = HB_AXIS_SAME, .width = 1, .low = -INFINITY, .high = INFINITY};
    for (int k = 0; k < b->m; k++)
        *field |= depends_on_others(graph, b->noise.G[row * b->m + k], row + 1);
    if (*field) return HB_OK;
    HB_TRY(part_in_x(b, row, &part));
    if (part == HB_NO_NODE) return HB_OK;
    int one;
    HB_TRY(has_one_part(b, row, part, &one));
    if (one) HB_TRY(hb_axis_map_find(b->context, graph, part, row + 1, inside, map, &end));
    if (end == HB_AXIS_WALL) return refuse_wall(b, row);
    *field = !one || end != HB_AXIS_FOUND || map->kind == HB_AXIS_SAME;
    b->frame->bends = 1;
    return HB_OK;
}

static hb_status read_axes(building *b, int *field)
{
    void *memory;
    HB_TRY(hb_allocate(b->context, (size_t)b->d, sizeof(double), &memory));
    double *inside = memory; // (d)
    hb_status status = find_inside(b, inside);
    *field = 0;
    for (int i = 0; i < b->d && status == HB_OK && !*field; i++)
        status = read_axis(b, i, inside[i], field);
    hb_release(b->context, memory);
    return status;
}

/* ---- the matrix M(t) ---- */

/* G_ik at the axis' anchor over b there. */
static hb_status read_matrix(building *b)
{
    void *memory;
    HB_TRY(hb_allocate(b->context, (size_t)b->d, sizeof(hb_node), &memory));
    hb_node *x = memory; // (d)
    for (int i = 0; i < b->d; i++)
        x[i] = hb_build_constant(b->to, hb_axis_anchor(&b->frame->axes[i]));
    hb_status status = hb_graph_substitute(b->typed.graph, b->d * b->m, b->noise.G, x,
                                           hb_build_variable(b->to, 0), b->to, b->M);
    hb_release(b->context, memory);
    for (int k = 0; k < b->d * b->m && status == HB_OK; k++) {
        const hb_axis_map *map = &b->frame->axes[k / b->m];
        double noise, slope;
        hb_axis_noise(map, hb_axis_anchor(map), &noise, &slope);
        if (noise != 1)
            status = hb_graph_finish(
                b->to, hb_build_divide(b->to, b->M[k], hb_build_constant(b->to, noise)), &b->M[k]);
    }
    return status;
}

static int matrix_moves(const building *b)
{
    for (int k = 0; k < b->d * b->m; k++)
        if (hb_graph_depends(b->to, b->M[k], 0)) return 1;
    return 0;
}

/* Whether M = M_0 g(t); g is then its first entry that is not 0. */
static hb_status find_factor(building *b, int *found)
{
    hb_graph *to = b->to;
    hb_node g = HB_NO_NODE, slope;
    *found = 0;
    for (int k = 0; k < b->d * b->m && g == HB_NO_NODE; k++)
        if (!is_zero(to, b->M[k])) g = b->M[k];
    if (g == HB_NO_NODE || !hb_graph_depends(to, g, 0)) return HB_OK;
    HB_TRY(hb_graph_derivative(to, g, 0, &slope));
    for (int k = 0; k < b->d * b->m; k++) {
        hb_node gap;
        if (is_zero(to, b->M[k])) continue;
        HB_TRY(may_compare(b, to, b->M[k], g, HB_BREAKS_IN_TIME, found));
        if (!*found) return HB_OK;
        HB_TRY(hb_graph_derivative(to, b->M[k], 0, &gap));
        gap = hb_build_subtract(to, hb_build_multiply(to, gap, g),
                                hb_build_multiply(to, b->M[k], slope));
        HB_TRY(hb_graph_finish(to, gap, &gap));
        HB_TRY(hb_formula_is_zero(b->context, to, gap, found));
        if (!*found) return HB_OK;
    }
    b->g = g;
    return HB_OK;
}

/* A time in [0, time] at which g is not 0, and its sign there. */
static hb_status look_at_factor(building *b, double *t, double *value)
{
    for (int k = 0; k < 8; k++) {
        *t = hb_problem_span(b->problem) * k / 7;
        HB_TRY(at_time(b, b->to, 1, &b->g, *t, value));
        if (isfinite(*value) && *value != 0) return HB_OK;
    }
    return hb_fail(b->context, HB_ERROR_ARGUMENT, "the noise is 0; it must not vanish for all t");
}

/* M_0[d][m] and g > 0: M's entries become numbers. */
static hb_status divide_factor(building *b)
{
    double t, scale;
    void *memory;
    const int n = b->d * b->m;
    HB_TRY(look_at_factor(b, &t, &scale));
    HB_TRY(hb_allocate(b->context, (size_t)n, sizeof(double), &memory));
    const double *values = memory; // (d, m)
    hb_status status = at_time(b, b->to, n, b->M, t, memory);
    for (int k = 0; k < n && status == HB_OK; k++)
        status = hb_graph_constant(b->to, values[k] / fabs(scale), &b->M[k]);
    hb_release(b->context, memory);
    if (status == HB_OK && scale < 0)
        status = hb_graph_finish(b->to, hb_build_negate(b->to, b->g), &b->g);
    return status;
}

/* ---- L ---- */

static int is_triangular(const building *b)
{
    if (b->m < b->d) return 0;
    for (int i = 0; i < b->d; i++)
        for (int k = i + 1; k < b->m; k++)
            if (!is_zero(b->to, b->M[i * b->m + k])) return 0;
    return 1;
}

/* (M M')_ij */
static hb_node product_of_rows(const building *b, int i, int j)
{
    hb_node sum = hb_build_constant(b->to, 0);
    for (int k = 0; k < b->m; k++)
        sum = hb_build_add(b->to, sum,
                           hb_build_multiply(b->to, b->M[i * b->m + k], b->M[j * b->m + k]));
    return sum;
}

/* The factor of Cholesky as formulas. */
static hb_status factor_formulas(building *b)
{
    hb_graph *to = b->to;
    const int d = b->d;
    const hb_node zero = hb_build_constant(to, 0);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
            hb_node *entry = &b->L[i * d + j];
            *entry = zero;
            if (is_triangular(b)) *entry = j <= i ? b->M[i * b->m + j] : zero;
            if (j > i || is_triangular(b)) continue;
            hb_node rest = product_of_rows(b, i, j);
            for (int k = 0; k < j; k++)
                rest = hb_build_subtract(to, rest,
                                         hb_build_multiply(to, b->L[i * d + k], b->L[j * d + k]));
            *entry = i == j ? hb_build_unary(to, HB_OP_SQRT, rest)
                            : hb_build_divide(to, rest, b->L[j * d + j]);
            HB_TRY(hb_graph_finish(to, *entry, entry));
        }
    return HB_OK;
}

/* Numbers: L from M; *full 0: the rank is below d. */
static hb_status factor_numbers(building *b, int *full)
{
    const int d = b->d, m = b->m;
    hb_workspace work;
    double *M, *S;
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(M, (size_t)d * (size_t)m),
                        HB_ARRAY(S, (size_t)d * (size_t)d)));
    hb_status status = at_time(b, b->to, d * m, b->M, 0, M);
    *full = status == HB_OK;
    for (int i = 0; i < d && status == HB_OK; i++)
        for (int j = 0; j < d; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++) sum += M[i * m + k] * M[j * m + k];
            S[i * d + j] = sum;
        }
    for (int k = 0; k < d * d && status == HB_OK; k++)
        if (!isfinite(S[k]))
            status = hb_fail(b->context, HB_ERROR_ARGUMENT,
                             "an entry of the noise is not finite; it must be a number");
    for (int i = 0; i < d && *full; i++) *full = S[i * d + i] > 0;
    if (*full && status == HB_OK) {
        double *scale = M; // (d), of the diagonal; M is at least as long
        if (m < 1) *full = 0;
        const int triangular = is_triangular(b);
        for (int i = 0; i < d; i++) scale[i] = S[i * d + i];
        /* the upper triangle of a column-major matrix is the lower one of a row-major matrix */
        *full = LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', d, S, d) == 0;
        for (int i = 0; i < d && *full; i++)
            *full = S[i * d + i] * S[i * d + i] > LEAST_PIVOT * scale[i];
        for (int i = 0; i < d && *full && status == HB_OK; i++)
            for (int j = 0; j < d && status == HB_OK; j++)
                status = triangular && j <= i ? HB_OK
                                              : hb_graph_constant(b->to, j <= i ? S[i * d + j] : 0,
                                                                  &b->L[i * d + j]);
        for (int i = 0; i < d && *full && triangular; i++)
            for (int j = 0; j <= i; j++) b->L[i * d + j] = b->M[i * m + j];
    }
    hb_workspace_destroy(&work);
    return status;
}

/* Whether no entry of L's diagonal vanishes in [0, time]: a proof by intervals. */
static hb_status diagonal_stays(const building *b, int *yes)
{
    const int d = b->d;
    hb_range_tape *tape;
    void *memory;
    hb_node diagonal[MOST_MOVING];
    for (int i = 0; i < d; i++) diagonal[i] = b->L[i * d + i];
    HB_TRY(hb_range_tape_create(b->context, b->to, d, diagonal, &tape));
    hb_status status = hb_allocate(b->context, 2 * (size_t)d + hb_range_tape_size(tape),
                                   sizeof(hb_interval), &memory);
    *yes = status == HB_OK;
    for (int k = 0; k < TIME_CELLS && *yes; k++) {
        hb_interval *x = memory, *range = x + d;
        const hb_interval t = {hb_problem_span(b->problem) * k / TIME_CELLS,
                               hb_problem_span(b->problem) * (k + 1) / TIME_CELLS};
        for (int i = 0; i < d; i++) x[i] = (hb_interval){0, 0};
        hb_range_tape_run(tape, x, t, range + d, range);
        for (int i = 0; i < d; i++)
            *yes &= (range[i].low > 0 || range[i].high < 0) && isfinite(range[i].low) &&
                    isfinite(range[i].high);
    }
    if (status == HB_OK) hb_release(b->context, memory);
    hb_range_tape_destroy(b->context, tape);
    return status;
}

/* A matrix that jumps in time would make y jump. */
static hb_status matrix_jumps(const building *b, int *yes)
{
    *yes = 0;
    for (int k = 0; k < b->d * b->m && !*yes; k++)
        HB_TRY(hb_formula_has_breaks(b->context, b->to, b->M[k], HB_JUMPS_IN_TIME, yes));
    return HB_OK;
}

/* The slopes A[d][d] of a drift that is linear in x at t = 0; *linear 0: it is not. */
static hb_status typed_slopes(building *b, double *A, int *linear)
{
    hb_graph *graph = b->typed.graph;
    *linear = 1;
    for (int i = 0; i < b->d; i++)
        for (int j = 0; j < b->d; j++) {
            hb_node slope;
            HB_TRY(hb_graph_derivative(graph, b->f[i], j + 1, &slope));
            *linear &= graph->nodes[slope].depends >> 1 == 0;
            if (!*linear) return HB_OK;
            HB_TRY(at_time(b, graph, 1, &slope, 0, &A[i * b->d + j]));
        }
    return HB_OK;
}

/* Largest entry of L^-1 A L; A is lost. */
static double turned_size(int d, const double *L, double *A)
{
    double size = 0;
    for (int i = 0; i < d; i++) /* A L */
        for (int j = 0; j < d; j++) {
            double sum = 0;
            for (int k = j; k < d; k++) sum += A[i * d + k] * L[k * d + j];
            A[i * d + j] = sum;
        }
    for (int j = 0; j < d; j++)
        for (int i = 0; i < d; i++) {
            for (int k = 0; k < i; k++) A[i * d + j] -= L[i * d + k] * A[k * d + j];
            A[i * d + j] /= L[i * d + i];
            size = fmax(size, fabs(A[i * d + j]));
        }
    return size;
}

/* Uneven noise, as 1e-6 and 1, may make a gentle linear drift steep in y: it is solved with its matrix in x then. */
static hb_status frame_is_steep(building *b, int *yes)
{
    const int d = b->d;
    double *L, *A, least = INFINITY, most = 0, size = 0;
    hb_workspace work;
    int linear = 0;
    *yes = 0;
    if (!b->f || b->frame->moves || b->frame->bends || d > MOST_NORMALISED) return HB_OK;
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(L, (size_t)d * (size_t)d),
                        HB_ARRAY(A, (size_t)d * (size_t)d)));
    for (int k = 0; k < d * d; k++) {
        if (!hb_graph_is_constant(b->to, b->L[k], &L[k])) L[k] = NAN;
        most = fmax(most, fabs(L[k]));
        if (k % (d + 1) == 0) least = fmin(least, fabs(L[k]));
    }
    hb_status status = HB_OK;
    if (most > STEEP * least) status = typed_slopes(b, A, &linear);
    if (status == HB_OK && linear) {
        for (int k = 0; k < d * d; k++) size = fmax(size, fabs(A[k]));
        *yes = turned_size(d, L, A) > STEEP * size;
    }
    hb_workspace_destroy(&work);
    return status;
}

/* Fills L and g; *kind says what the noise of y is. */
static hb_status find_coordinates(building *b, hb_noise_kind *kind)
{
    int factored = 0, full = 0, jumps = 0, steep = 0;
    const int moves = matrix_moves(b);
    HB_TRY(hb_graph_constant(b->to, 1, &b->g));
    if (moves) HB_TRY(find_factor(b, &factored));
    if (factored) HB_TRY(divide_factor(b));
    b->frame->moves = moves && !factored;
    *kind = HB_NOISE_MATRIX;
    if (b->frame->moves) HB_TRY(matrix_jumps(b, &jumps));
    if (b->frame->moves && (jumps || b->d > MOST_MOVING)) return HB_OK;
    if (b->frame->moves) {
        HB_TRY(factor_formulas(b));
        HB_TRY(diagonal_stays(b, &full));
    } else {
        HB_TRY(factor_numbers(b, &full));
    }
    if (full) HB_TRY(frame_is_steep(b, &steep));
    full &= !steep;
    *kind = full ? HB_NOISE_SCALAR : HB_NOISE_MATRIX;
    if (!full && factored) { /* the matrix with its g(t) again */
        for (int k = 0; k < b->d * b->m; k++)
            HB_TRY(hb_graph_finish(b->to, hb_build_multiply(b->to, b->g, b->M[k]), &b->M[k]));
        b->frame->moves = 0;
    }
    return HB_OK;
}

/* ---- the drift of y ---- */

/* a/b; an exponential is never 0, and its inverse no pole. */
static hb_node over(hb_graph *graph, hb_node a, hb_node b)
{
    const hb_graph_node p = graph->nodes[b];
    if (p.op != HB_OP_EXP) return hb_build_divide(graph, a, b);
    return hb_build_multiply(graph, a,
                             hb_build_unary(graph, HB_OP_EXP, hb_build_negate(graph, p.a)));
}

/* a/b, with b taken out of sums, products and powers where it stands there as it is. */
static hb_node divide_out(hb_graph *graph, hb_node a, hb_node b, int depth)
{
    const hb_graph_node p = graph->nodes[a];
    double number;
    if (a == b) return hb_build_constant(graph, 1);
    if (depth > 40) return over(graph, a, b);
    switch (p.op) {
    case HB_OP_NEGATE: return hb_build_negate(graph, divide_out(graph, p.a, b, depth + 1));
    case HB_OP_ADD:
        return hb_build_add(graph, divide_out(graph, p.a, b, depth + 1),
                            divide_out(graph, p.b, b, depth + 1));
    case HB_OP_SUBTRACT:
        return hb_build_subtract(graph, divide_out(graph, p.a, b, depth + 1),
                                 divide_out(graph, p.b, b, depth + 1));
    case HB_OP_MULTIPLY: {
        if (p.a == b) return p.b;
        if (p.b == b) return p.a;
        if (hb_graph_is_constant(graph, p.a, &number))
            return hb_build_multiply(graph, p.a, divide_out(graph, p.b, b, depth + 1));
        const hb_graph_node left = graph->nodes[p.a], right = graph->nodes[p.b];
        if (left.op == HB_OP_POWER && left.a == b && left.b > 1)
            return hb_build_multiply(graph, hb_build_power(graph, b, left.b - 1), p.b);
        if (right.op == HB_OP_POWER && right.a == b && right.b > 1)
            return hb_build_multiply(graph, p.a, hb_build_power(graph, b, right.b - 1));
        break;
    }
    case HB_OP_POWER:
        if (p.a == b && p.b > 1) return hb_build_power(graph, b, p.b - 1);
        break;
    default: break;
    }
    return over(graph, a, b);
}

/* z_i = sum_j L_ij y_j, or y_i where there is no L. */
static hb_node z_node(const building *b, int i, int with_matrix)
{
    hb_graph *to = b->to;
    if (!with_matrix) return hb_build_variable(to, i + 1);
    hb_node sum = hb_build_constant(to, 0);
    for (int j = 0; j <= i; j++)
        sum = hb_build_add(to, sum,
                           hb_build_multiply(to, b->L[i * b->d + j], hb_build_variable(to, j + 1)));
    return sum;
}

/* The drift of z as formulas in y: f_i/b_i - b_i'/2 (M M')_ii. */
static hb_status drift_of_z(building *b, int with_matrix, hb_node *x, hb_node *out)
{
    hb_graph *to = b->to;
    for (int i = 0; i < b->d; i++)
        x[i] = hb_axis_x_node(&b->frame->axes[i], to, z_node(b, i, with_matrix));
    HB_TRY(hb_graph_substitute(b->typed.graph, b->d, b->f, x, hb_build_variable(to, 0), to, out));
    for (int i = 0; i < b->d; i++) {
        const hb_axis_map *map = &b->frame->axes[i];
        if (map->kind == HB_AXIS_SAME) continue;
        const hb_node z = z_node(b, i, with_matrix);
        hb_node square = product_of_rows(b, i, i);
        if (with_matrix) /* M may have lost its factor g */
            square = hb_build_multiply(to, square, hb_build_power(to, b->g, 2));
        const hb_node half = hb_build_multiply(to, hb_build_constant(to, 0.5), square);
        hb_node drift = divide_out(to, out[i], hb_axis_b_node(map, to, z), 0);
        drift = hb_build_subtract(to, drift,
                                  hb_build_multiply(to, half, hb_axis_slope_node(map, to, z)));
        HB_TRY(hb_graph_finish(to, drift, &out[i]));
    }
    return HB_OK;
}

/* L^-1 (f_z - L' y), in place. */
static hb_status drift_of_y(building *b, hb_node *f)
{
    hb_graph *to = b->to;
    const int d = b->d;
    for (int i = 0; i < d; i++) {
        hb_node rest = f[i];
        for (int j = 0; j <= i; j++) {
            hb_node slope;
            const hb_node entry = b->L[i * d + j];
            if (b->frame->moves) {
                HB_TRY(hb_graph_derivative(to, entry, 0, &slope));
                rest = hb_build_subtract(
                    to, rest, hb_build_multiply(to, slope, hb_build_variable(to, j + 1)));
            }
            if (j < i) rest = hb_build_subtract(to, rest, hb_build_multiply(to, entry, f[j]));
        }
        HB_TRY(hb_graph_finish(to, hb_build_divide(to, rest, b->L[i * d + i]), &f[i]));
    }
    return HB_OK;
}

/* ---- linear drifts ---- */

/* Whether all second derivatives of the component are 0 as formulas, and it has no kinks. */
static hb_status is_affine(const building *b, hb_node f, int *yes)
{
    int broken;
    HB_TRY(hb_formula_has_breaks(b->context, b->to, f, HB_BREAKS_IN_X, &broken));
    *yes = !broken;
    for (int j = 1; j <= b->d && *yes; j++) {
        hb_node slope, second;
        if (!hb_graph_depends(b->to, f, j)) continue;
        HB_TRY(hb_graph_derivative(b->to, f, j, &slope));
        for (int k = 1; k <= b->d && *yes; k++) {
            if (!hb_graph_depends(b->to, slope, k)) continue;
            HB_TRY(hb_graph_derivative(b->to, slope, k, &second));
            HB_TRY(hb_formula_is_zero(b->context, b->to, second, yes));
        }
    }
    return HB_OK;
}

/* c(t) + sum A_j(t) y_j, from the values at y = 0; the component stays as it is where these are not finite. */
static hb_status write_affine(building *b, hb_node *origin, hb_node *f)
{
    hb_graph *to = b->to;
    hb_node sum;
    double number;
    const hb_node t = hb_build_variable(to, 0);
    HB_TRY(hb_graph_substitute(to, 1, f, origin, t, to, &sum));
    if (hb_graph_is_constant(to, sum, &number) && !isfinite(number)) return HB_OK;
    for (int j = 1; j <= b->d; j++) {
        hb_node slope;
        if (!hb_graph_depends(to, *f, j)) continue;
        HB_TRY(hb_graph_derivative(to, *f, j, &slope));
        HB_TRY(hb_graph_substitute(to, 1, &slope, origin, t, to, &slope));
        if (hb_graph_is_constant(to, slope, &number) && !isfinite(number)) return HB_OK;
        sum = hb_build_add(to, sum, hb_build_multiply(to, slope, hb_build_variable(to, j)));
        HB_TRY(hb_graph_finish(to, sum, &sum));
    }
    *f = sum;
    return HB_OK;
}

static hb_status normalise(building *b, hb_node *origin, hb_node *f)
{
    if (!b->frame->bends || b->d > MOST_NORMALISED) return HB_OK;
    for (int j = 0; j < b->d; j++) origin[j] = hb_build_constant(b->to, 0);
    for (int i = 0; i < b->d; i++) {
        int affine;
        HB_TRY(is_affine(b, f[i], &affine));
        if (affine) HB_TRY(write_affine(b, origin, &f[i]));
    }
    return HB_OK;
}

/* ---- what the problem gets ---- */

hb_status hb_problem_set_noise(hb_context *context, const hb_graph *graph, hb_node g,
                               hb_problem *problem)
{
    void *memory;
    hb_node own;
    HB_TRY(hb_graph_create(context, 1, &problem->noise_graph));
    HB_TRY(hb_allocate(context, (size_t)graph->dim, sizeof(hb_node), &memory));
    hb_node *x = memory; // (dim): g has none
    for (int i = 0; i < graph->dim; i++) x[i] = hb_build_variable(problem->noise_graph, 1);
    const hb_status status = hb_graph_substitute(
        graph, 1, &g, x, hb_build_variable(problem->noise_graph, 0), problem->noise_graph, &own);
    hb_release(context, memory);
    HB_TRY(status);
    return hb_problem_compile_noise(context, own, problem);
}

static hb_status take_noise(building *b, double g)
{
    hb_node node;
    HB_TRY(hb_graph_constant(b->typed.graph, g, &node));
    return hb_problem_set_noise(b->context, b->typed.graph, node, b->problem);
}

/* Compiles the drift from nodes of a graph, which it takes. */
static hb_status take_drift(building *b, hb_graph **graph, const hb_node *f)
{
    hb_drift *drift = &b->problem->drift;
    drift->dim = b->d;
    drift->graph = *graph;
    *graph = NULL;
    return hb_drift_compile(b->context, f, drift);
}

/* G of the problem: a program in the problem's coordinates; with its divergence for a field. */
static hb_status take_matrix(building *b, hb_graph *graph, const hb_node *G, hb_noise_kind kind)
{
    hb_matrix_noise *noise = &b->problem->noise_matrix;
    noise->kind = kind;
    noise->columns = b->m;
    noise->constant = 1;
    for (int k = 0; k < b->d * b->m; k++) noise->constant &= !hb_graph_depends(graph, G[k], 0);
    HB_TRY(hb_program_compile(graph, b->d * b->m, G, &noise->factor));
    return kind == HB_NOISE_FIELD
               ? hb_noise_compile_divergence(b->context, graph, b->d, b->m, G, noise)
               : HB_OK;
}

/* The frame's own L, in numbers or as a program, and what it is called. */
static hb_status finish_frame(building *b)
{
    hb_frame *frame = b->frame;
    const int d = b->d;
    for (int i = 0; i < d; i++)
        for (int j = 0; j <= i; j++) {
            double number = NAN;
            const hb_node entry = b->L[i * d + j];
            const int constant = hb_graph_is_constant(b->to, entry, &number);
            frame->turns |= i != j && !(constant && number == 0);
            frame->scales |= !(constant && number == (i == j));
        }
    if (!frame->scales) return HB_OK;
    if (frame->moves) return hb_program_compile(b->to, d * d, b->L, &frame->moving);
    void *memory;
    HB_TRY(hb_allocate(b->context, (size_t)d * (size_t)d, sizeof(double), &memory));
    frame->L = memory;
    for (int k = 0; k < d * d; k++) hb_graph_is_constant(b->to, b->L[k], &frame->L[k]);
    return HB_OK;
}

static void name_frame(const building *b, int with_matrix)
{
    hb_frame *frame = b->frame;
    static const char *const letters[] = {"x", "y", "z"};
    char axis[100], name[24];
    size_t used = 0;
    frame->text[0] = '\0';
    if (!frame->bends) {
        snprintf(frame->text, sizeof frame->text, "coordinates y = L%s x with L L' = G G'%s",
                 frame->moves ? "(t)^-1" : "^-1", frame->turns ? "" : ", axis by axis");
        return;
    }
    used += (size_t)snprintf(frame->text, sizeof frame->text, "Lamperti coordinates y = ");
    for (int i = 0; i < b->d && used < 100; i++) {
        snprintf(name, sizeof name, "x%d", i + 1);
        hb_axis_text(&frame->axes[i], b->d == 1 ? letters[0] : name, sizeof axis, axis);
        const int left = i > 1 && b->d > 3;
        used += (size_t)snprintf(frame->text + used, sizeof frame->text - used, "%s%.50s",
                                 i > 0 ? ", " : "", left ? "..." : axis);
        if (left) break;
    }
    if (with_matrix && frame->scales && used < sizeof frame->text)
        snprintf(frame->text + used, sizeof frame->text - used, ", then L%s y",
                 frame->moves ? "(t)^-1" : "^-1");
}

/* L = c I without bent axes needs no frame: the noise is c g. */
static hb_status drop_frame(building *b)
{
    double c, number;
    if (b->frame->bends || !hb_graph_is_constant(b->to, b->L[0], &c)) return HB_OK;
    for (int k = 1; k < b->d * b->d; k++)
        if (!hb_graph_is_constant(b->to, b->L[k], &number) ||
            number != (k % (b->d + 1) == 0 ? c : 0))
            return HB_OK;
    const hb_node g = hb_build_multiply(b->to, hb_build_constant(b->to, fabs(c)), b->g);
    HB_TRY(hb_graph_finish(b->to, g, &b->g));
    for (int i = 0; i < b->d; i++) HB_TRY(hb_graph_constant(b->to, 1, &b->L[i * (b->d + 1)]));
    b->frame->same = 1;
    return HB_OK;
}

/* Isotropic in y. */
static hb_status build_scalar(building *b, hb_node *x, hb_node *f)
{
    HB_TRY(drop_frame(b));
    HB_TRY(drift_of_z(b, 1, x, f));
    HB_TRY(drift_of_y(b, f));
    HB_TRY(normalise(b, x, f));
    HB_TRY(finish_frame(b));
    name_frame(b, 1);
    HB_TRY(hb_problem_set_noise(b->context, b->to, b->g, b->problem));
    if (!b->frame->same) {
        b->problem->frame = b->frame;
        b->frame = NULL;
    }
    return take_drift(b, &b->to, f);
}

/* A matrix in z. */
static hb_status build_matrix(building *b, hb_node *x, hb_node *f)
{
    HB_TRY(drift_of_z(b, 0, x, f));
    HB_TRY(normalise(b, x, f));
    HB_TRY(take_matrix(b, b->to, b->M, HB_NOISE_MATRIX));
    HB_TRY(take_noise(b, M_SQRT2));
    if (b->frame->bends) {
        b->frame->moves = 0;
        name_frame(b, 0);
        b->problem->frame = b->frame;
        b->frame = NULL;
    }
    return take_drift(b, &b->to, f);
}

static hb_status build_field(building *b)
{
    HB_TRY(take_matrix(b, b->typed.graph, b->noise.G, HB_NOISE_FIELD));
    HB_TRY(take_noise(b, M_SQRT2));
    if (!b->f) return hb_drift_from_callback(b->context, b->s, b->d, &b->problem->drift);
    return take_drift(b, &b->typed.graph, b->f);
}

/* The drift is a function of the user's: y where L is a matrix of numbers, else x with the noise as it is. */
static hb_status build_callback(building *b, hb_noise_kind kind)
{
    hb_problem *problem = b->problem;
    if (kind != HB_NOISE_SCALAR || b->frame->moves) {
        HB_TRY(take_matrix(b, b->to, b->M, HB_NOISE_MATRIX));
        HB_TRY(take_noise(b, M_SQRT2));
        return hb_drift_from_callback(b->context, b->s, b->d, &problem->drift);
    }
    HB_TRY(drop_frame(b));
    HB_TRY(finish_frame(b));
    name_frame(b, 1);
    HB_TRY(hb_problem_set_noise(b->context, b->to, b->g, problem));
    if (b->frame->same) return hb_drift_from_callback(b->context, b->s, b->d, &problem->drift);
    problem->frame = b->frame;
    b->frame = NULL;
    return hb_frame_callback(b->context, b->s, problem);
}

static hb_status build_by_kind(building *b)
{
    hb_noise_kind kind;
    hb_workspace work;
    hb_node *x, *f;
    HB_TRY(read_matrix(b));
    HB_TRY(find_coordinates(b, &kind));
    if (!b->f) return build_callback(b, kind);
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(x, (size_t)b->d), HB_ARRAY(f, (size_t)b->d)));
    const hb_status status =
        kind == HB_NOISE_SCALAR ? build_scalar(b, x, f) : build_matrix(b, x, f);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status build(building *b, hb_node *f)
{
    const hb_problem_settings *s = b->s;
    int field;
    if (s->drift_callback) {
        b->typed.dim = b->d;
        HB_TRY(hb_graph_create(b->context, b->d, &b->typed.graph));
        HB_TRY(hb_drift_parameters(b->context, s, b->typed.graph));
    } else {
        b->f = f;
        HB_TRY(hb_drift_parse(b->context, s, b->d, &b->typed, f));
    }
    HB_TRY(hb_noise_text_parse(b->context, s->noise, b->d, b->typed.graph, &b->noise));
    b->m = b->noise.columns;
    if (s->convention == HB_CONVENTION_STRATONOVICH) {
        HB_CHECK(b->context, b->f, HB_ERROR_ARGUMENT,
                 "the convention is stratonovich and the drift is a callback; give the drift as "
                 "text, or Ito's drift");
        HB_TRY(hb_noise_convert(b->typed.graph, &b->noise, f));
    }
    HB_TRY(read_axes(b, &field));
    if (!b->f && b->frame->bends) field = 1;
    if (field) return build_field(b);
    void *memory;
    const size_t d = (size_t)b->d;
    HB_TRY(hb_graph_create(b->context, b->d, &b->to));
    HB_TRY(hb_allocate(b->context, d * (size_t)b->m + d * d, sizeof(hb_node), &memory));
    b->M = memory;
    b->L = b->M + d * (size_t)b->m;
    const hb_status status = build_by_kind(b);
    hb_release(b->context, memory);
    return status;
}

hb_status hb_problem_build_framed(hb_context *context, const hb_problem_settings *settings,
                                  hb_problem *problem)
{
    building b = {.context = context, .s = settings, .problem = problem, .d = problem->dim};
    hb_workspace work;
    hb_node *f;
    void *memory;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_frame), &memory));
    b.frame = memset(memory, 0, sizeof(hb_frame));
    b.frame->dim = problem->dim;
    hb_status status = hb_allocate(context, (size_t)b.d, sizeof(hb_axis_map), &memory);
    if (status == HB_OK) {
        b.frame->axes = memset(memory, 0, (size_t)b.d * sizeof(hb_axis_map));
        status = HB_WORKSPACE(context, &work, HB_ARRAY(f, (size_t)b.d));
        if (status == HB_OK) {
            status = build(&b, f);
            hb_workspace_destroy(&work);
        }
    }
    hb_release(context, b.noise.G);
    hb_drift_destroy(context, &b.typed);
    hb_graph_destroy(b.to);
    hb_frame_destroy(context, b.frame);
    return status;
}
