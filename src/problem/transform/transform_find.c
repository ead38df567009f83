/* A noise taken apart: G = diag(b_i(x_i)) M(t), and coordinates y in which it is isotropic.
 *
 * Row i may depend on x_i and t alone, and all its entries must have the same part b_i in x_i:
 * dG_ik/dx_i b_i - G_ik b_i' = 0 as a formula. Axis i gets z_i = int dx_i/b_i (axis_map.c), and
 * z = L(t) y, L L' = M M':
 *     M constant, or M = M_0 g(t)       L from M_0, and the noise g(t)
 *     M(t), d <= MOST_MOVING            L(t) as formulas, where its diagonal cannot vanish
 *     else, rank M < d, or y too steep  no transform for z: the noise stays a matrix
 * L is M itself when that is lower triangular, else the factor of Cholesky.
 * A number to reproduce: "0.6, 0.8; -0.8, 0.6" has L = I. */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/initial/initial_ops.h"
#include "problem/transform/transform_parts.h"

#include <lapacke.h>
#include <math.h>

static const double STEEP = 5; /* times: a linear drift that y makes so much steeper loses digits */
static const double MOST_STEEP = 100; /* the same where there is no other way than y */
enum { MOST_MOVING = 8, TIME_CELLS = 256 };
static const double LEAST_PIVOT = 1e-12; /* of M M', relative to its diagonal: below, rank < d */

/* ---- small things ---- */

static int entry_is_zero(const hb_graph *graph, hb_node node)
{
    double number;
    return hb_graph_is_constant(graph, node, &number) && number == 0;
}

/* Values of formulas in t. */
static hb_status at_time(const hb_transform_building *b, hb_graph *graph, int n,
                         const hb_node *nodes, double t, double *values)
{
    hb_program *program;
    HB_TRY(hb_program_compile(graph, n, nodes, &program));
    const hb_status status = hb_program_run(b->context, program, 1, NULL, t, values);
    hb_program_destroy(program);
    return status;
}

/* ---- axes ---- */

/* The part in x_axis of a row's noise: an entry that depends on it, at a fixed time. */
static hb_status part_in_x(const hb_transform_building *b, int row, hb_node *out)
{
    hb_graph *graph = b->typed.graph;
    *out = HB_NO_NODE;
    for (int k = 0; k < b->m; k++) {
        const hb_node entry = b->noise.G[row * b->m + k];
        hb_node *x; // (d)
        if (!hb_graph_depends(graph, entry, row + 1)) continue;
        HB_TRY(HB_NEW(b->context, x, (size_t)b->d));
        for (int i = 0; i < b->d; i++) x[i] = hb_build_variable(graph, i + 1);
        hb_status status = HB_OK;
        for (int second = 0; second < 2 && status == HB_OK; second++) {
            const hb_node t = hb_build_constant(graph, second); // at t = 0 it may vanish
            status = hb_graph_substitute(graph, 1, &entry, x, t, graph, out);
            if (status != HB_OK || hb_graph_depends(graph, *out, row + 1)) break;
        }
        hb_release(b->context, x);
        return status;
    }
    return HB_OK;
}

/* Whether a/part does not depend on a variable: a' part - a part' = 0, `slope` being part'.
 * Derivatives do not tell where one of them has kinks or jumps, unless a = c part. */
static hb_status ratio_is_constant(const hb_transform_building *b, hb_graph *graph, hb_node a,
                                   hb_node part, hb_node slope, int variable, int *yes)
{
    const hb_formula_break kind = variable ? HB_BREAKS_IN_X : HB_BREAKS_IN_TIME;
    int broken, part_broken;
    hb_node gap;
    HB_TRY(hb_formula_has_breaks(b->context, graph, a, kind, &broken));
    HB_TRY(hb_formula_has_breaks(b->context, graph, part, kind, &part_broken));
    *yes = (!broken && !part_broken) ||
           hb_formula_without_factor(graph, a) == hb_formula_without_factor(graph, part);
    if (!*yes) return HB_OK;
    HB_TRY(hb_graph_derivative(graph, a, variable, &gap));
    gap = hb_build_subtract(graph, hb_build_multiply(graph, gap, part),
                            hb_build_multiply(graph, a, slope));
    HB_TRY(hb_graph_finish(graph, gap, &gap));
    return hb_formula_is_zero(b->context, graph, gap, yes);
}

/* Whether all entries of the row are b(x) times something without x. */
static hb_status has_one_part(const hb_transform_building *b, int row, hb_node part, int *yes)
{
    hb_graph *graph = b->typed.graph;
    hb_node slope;
    *yes = 1;
    HB_TRY(hb_graph_derivative(graph, part, row + 1, &slope));
    for (int k = 0; k < b->m && *yes; k++) {
        const hb_node entry = b->noise.G[row * b->m + k];
        if (!entry_is_zero(graph, entry))
            HB_TRY(ratio_is_constant(b, graph, entry, part, slope, row + 1, yes));
    }
    return HB_OK;
}

/* One point of the start, or NaN. */
static hb_status find_inside(const hb_transform_building *b, double *inside)
{
    const hb_problem *outside = b->problem->outside;
    for (int i = 0; i < b->d; i++) inside[i] = NAN;
    for (int i = 0; b->problem->inside && i < b->d; i++) inside[i] = b->problem->inside[i];
    if (!outside || !outside->initial.ops || !outside->initial.ops->draw) return HB_OK;
    return hb_problem_initial_sample(b->context, outside, 1, 0, 1, inside);
}

static hb_status refuse_boundary(const hb_transform_building *b, int row)
{
    return hb_fail(
        b->context, HB_ERROR_ARGUMENT,
        "the noise of axis %d vanishes at the end of a finite distance int dx/noise, which may be "
        "an attainable boundary; attainable boundaries are not supported: if the process never "
        "gets there, type the equation of y = int dx/noise, whose noise is 1",
        row + 1);
}

/* *field: this row cannot be taken apart. */
static hb_status read_axis(hb_transform_building *b, int row, double inside, int *field)
{
    hb_graph *graph = b->typed.graph;
    hb_axis_map *map = &b->transform->axes[row];
    hb_node part;
    hb_axis_end end = HB_AXIS_FOUND;
    *map = (hb_axis_map){.kind = HB_AXIS_SAME, .width = 1, .low = -INFINITY, .high = INFINITY};
    for (int k = 0; k < b->m; k++) {
        int own;
        HB_TRY(hb_graph_has_only(graph, b->noise.G[row * b->m + k], row + 1, &own));
        *field |= !own;
    }
    if (*field) return HB_OK;
    HB_TRY(part_in_x(b, row, &part));
    if (part == HB_NO_NODE) return HB_OK;
    int one;
    HB_TRY(has_one_part(b, row, part, &one));
    if (one) HB_TRY(hb_axis_map_find(b->context, graph, part, row + 1, inside, map, &end));
    if (end == HB_AXIS_BOUNDARY) return refuse_boundary(b, row);
    *field = !one || end != HB_AXIS_FOUND || map->kind == HB_AXIS_SAME;
    b->transform->bends = 1;
    return HB_OK;
}

hb_status hb_transform_read_axes(hb_transform_building *b, int *field)
{
    double *inside; // (d)
    HB_TRY(HB_NEW(b->context, inside, (size_t)b->d));
    hb_status status = find_inside(b, inside);
    *field = 0;
    for (int i = 0; i < b->d && status == HB_OK && !*field; i++)
        status = read_axis(b, i, inside[i], field);
    hb_release(b->context, inside);
    return status;
}

/* ---- the matrix M(t) ---- */

/* G_ik at the axis' anchor over b there. */
hb_status hb_transform_read_matrix(hb_transform_building *b)
{
    hb_node *x; // (d)
    HB_TRY(HB_NEW(b->context, x, (size_t)b->d));
    for (int i = 0; i < b->d; i++)
        x[i] = hb_build_constant(b->to, hb_axis_anchor(&b->transform->axes[i]));
    hb_status status = hb_graph_substitute(b->typed.graph, b->d * b->m, b->noise.G, x,
                                           hb_build_variable(b->to, 0), b->to, b->M);
    hb_release(b->context, x);
    for (int k = 0; k < b->d * b->m && status == HB_OK; k++) {
        const hb_axis_map *map = &b->transform->axes[k / b->m];
        double noise, slope;
        hb_axis_noise(map, hb_axis_anchor(map), &noise, &slope);
        if (noise != 1)
            status = hb_graph_finish(
                b->to, hb_build_divide(b->to, b->M[k], hb_build_constant(b->to, noise)), &b->M[k]);
    }
    return status;
}

static int matrix_moves(const hb_transform_building *b)
{
    for (int k = 0; k < b->d * b->m; k++)
        if (hb_graph_depends(b->to, b->M[k], 0)) return 1;
    return 0;
}

/* Whether M = M_0 g(t); g is then its first entry that is not 0. */
static hb_status find_factor(hb_transform_building *b, int *found)
{
    hb_graph *to = b->to;
    hb_node g = HB_NO_NODE, slope;
    *found = 0;
    for (int k = 0; k < b->d * b->m && g == HB_NO_NODE; k++)
        if (!entry_is_zero(to, b->M[k])) g = b->M[k];
    if (g == HB_NO_NODE || !hb_graph_depends(to, g, 0)) return HB_OK;
    HB_TRY(hb_graph_derivative(to, g, 0, &slope));
    for (int k = 0; k < b->d * b->m; k++) {
        if (entry_is_zero(to, b->M[k])) continue;
        HB_TRY(ratio_is_constant(b, to, b->M[k], g, slope, 0, found));
        if (!*found) return HB_OK;
    }
    b->g = g;
    return HB_OK;
}

/* A time in [0, time] at which g is not 0, and its sign there. */
static hb_status look_at_factor(hb_transform_building *b, double *t, double *value)
{
    for (int k = 0; k < 8; k++) {
        *t = hb_problem_span(b->problem) * k / 7;
        HB_TRY(at_time(b, b->to, 1, &b->g, *t, value));
        if (isfinite(*value) && *value != 0) return HB_OK;
    }
    return hb_fail(b->context, HB_ERROR_ARGUMENT, "the noise is 0; it must not vanish for all t");
}

/* M's entries become their values at t over `scale`. */
static hb_status freeze_matrix(hb_transform_building *b, double t, double scale)
{
    double *values; // (d, m)
    const int n = b->d * b->m;
    HB_TRY(HB_NEW(b->context, values, (size_t)n));
    hb_status status = at_time(b, b->to, n, b->M, t, values);
    for (int k = 0; k < n && status == HB_OK; k++)
        status = hb_graph_constant(b->to, values[k] / scale, &b->M[k]);
    hb_release(b->context, values);
    return status;
}

/* M_0[d][m] and g > 0. */
static hb_status divide_factor(hb_transform_building *b)
{
    double t, scale;
    HB_TRY(look_at_factor(b, &t, &scale));
    HB_TRY(freeze_matrix(b, t, fabs(scale)));
    return scale < 0 ? hb_graph_finish(b->to, hb_build_negate(b->to, b->g), &b->g) : HB_OK;
}

/* ---- L ---- */

static int is_triangular(const hb_transform_building *b)
{
    if (b->m < b->d) return 0;
    for (int i = 0; i < b->d; i++)
        for (int k = i + 1; k < b->m; k++)
            if (!entry_is_zero(b->to, b->M[i * b->m + k])) return 0;
    return 1;
}

/* (M M')_ij */
hb_node hb_transform_product_of_rows(const hb_transform_building *b, int i, int j)
{
    hb_node sum = hb_build_constant(b->to, 0);
    for (int k = 0; k < b->m; k++)
        if (!entry_is_zero(b->to, b->M[i * b->m + k]))
            sum = hb_build_add(b->to, sum,
                               hb_build_multiply(b->to, b->M[i * b->m + k], b->M[j * b->m + k]));
    return sum;
}

/* The factor of Cholesky as formulas. */
static hb_status factor_formulas(hb_transform_building *b)
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
            hb_node rest = hb_transform_product_of_rows(b, i, j);
            for (int k = 0; k < j; k++)
                rest = hb_build_subtract(to, rest,
                                         hb_build_multiply(to, b->L[i * d + k], b->L[j * d + k]));
            *entry = i == j ? hb_build_unary(to, HB_OP_SQRT, rest)
                            : hb_build_divide(to, rest, b->L[j * d + j]);
            HB_TRY(hb_graph_finish(to, *entry, entry));
        }
    return HB_OK;
}

static hb_status refuse_entry(const hb_transform_building *b)
{
    return hb_fail(b->context, HB_ERROR_ARGUMENT,
                   "an entry of the noise is not finite; it must be a number");
}

/* M[d][m] is lower triangular and is L itself; *full 0: the rank is below d. */
static hb_status take_triangle(hb_transform_building *b, const double *M, int *full)
{
    const int d = b->d, m = b->m;
    const hb_node zero = hb_build_constant(b->to, 0);
    *full = 1;
    for (int i = 0; i < d; i++) {
        const double pivot = M[i * m + i] * M[i * m + i];
        double sum = 0;
        for (int j = 0; j < d; j++) {
            sum += M[i * m + j] * M[i * m + j];
            b->L[i * d + j] = j <= i ? b->M[i * m + j] : zero;
        }
        if (!isfinite(sum)) return refuse_entry(b);
        *full &= pivot > LEAST_PIVOT * sum;
    }
    return HB_OK;
}

/* L from M[d][m], with S[d][d] for M M'. */
static hb_status factor_square(hb_transform_building *b, const double *M, double *S,
                               double *diagonal, int *full)
{
    const int d = b->d, m = b->m;
    *full = 1;
    for (int i = 0; i < d; i++) {
        HB_TRY(hb_progress(b->context, "reading", 0, 1));
        for (int j = 0; j < d; j++) {
            double sum = 0;
            for (int k = 0; k < m; k++) sum += M[i * m + k] * M[j * m + k];
            if (!isfinite(sum)) return refuse_entry(b);
            S[i * d + j] = sum;
        }
        diagonal[i] = S[i * d + i];
        *full &= diagonal[i] > 0;
    }
    /* the upper triangle of a column-major matrix is the lower one of a row-major matrix */
    *full = *full && LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', d, S, d) == 0;
    for (int i = 0; i < d && *full; i++)
        *full = S[i * d + i] * S[i * d + i] > LEAST_PIVOT * diagonal[i];
    for (int k = 0; k < d * d && *full; k++)
        HB_TRY(hb_graph_constant(b->to, k % d <= k / d ? S[k] : 0, &b->L[k]));
    return HB_OK;
}

/* Numbers: L from M; *full 0: the rank is below d. */
static hb_status factor_numbers(hb_transform_building *b, int *full)
{
    const size_t d = (size_t)b->d, m = (size_t)b->m;
    const int triangular = is_triangular(b);
    hb_workspace work;
    double *M, *S, *diagonal;
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(M, d * m), HB_ARRAY(S, triangular ? 1 : d * d),
                        HB_ARRAY(diagonal, d)));
    hb_status status = at_time(b, b->to, b->d * b->m, b->M, 0, M);
    if (status == HB_OK)
        status = triangular ? take_triangle(b, M, full) : factor_square(b, M, S, diagonal, full);
    hb_workspace_destroy(&work);
    return status;
}

/* Whether no entry of L's diagonal vanishes in [0, time]: a proof by intervals. */
static hb_status diagonal_stays(const hb_transform_building *b, int *yes)
{
    const int d = b->d;
    hb_range_tape *tape;
    hb_interval *x; // (d), ranges (d), work
    hb_node diagonal[MOST_MOVING];
    for (int i = 0; i < d; i++) diagonal[i] = b->L[i * d + i];
    HB_TRY(hb_range_tape_create(b->context, b->to, d, diagonal, &tape));
    hb_status status = HB_NEW(b->context, x, 2 * (size_t)d + hb_range_tape_size(tape));
    *yes = status == HB_OK;
    for (int k = 0; k < TIME_CELLS && *yes; k++) {
        hb_interval *range = x + d;
        const hb_interval t = {hb_problem_span(b->problem) * k / TIME_CELLS,
                               hb_problem_span(b->problem) * (k + 1) / TIME_CELLS};
        for (int i = 0; i < d; i++) x[i] = (hb_interval){0, 0};
        hb_range_tape_run(tape, x, t, range + d, range);
        for (int i = 0; i < d; i++)
            *yes &= (range[i].low > 0 || range[i].high < 0) && isfinite(range[i].low) &&
                    isfinite(range[i].high);
    }
    hb_release(b->context, x);
    hb_range_tape_destroy(b->context, tape);
    return status;
}

/* A matrix that jumps in time would make y jump. */
static hb_status matrix_jumps(const hb_transform_building *b, int *yes)
{
    *yes = 0;
    for (int k = 0; k < b->d * b->m && !*yes; k++)
        HB_TRY(hb_formula_has_breaks(b->context, b->to, b->M[k], HB_JUMPS_IN_TIME, yes));
    return HB_OK;
}

/* The slopes A[d][d] of a drift that is linear in x at t = 0; *linear 0: it is not. */
static hb_status typed_slopes(hb_transform_building *b, double *A, int *linear)
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
static double turned_size(size_t d, const double *L, double *A)
{
    double size = 0;
    hb_multiply_lower(d, L, A);
    hb_solve_lower(d, L, d, A);
    for (size_t i = 0; i < d * d; i++) size = fmax(size, fabs(A[i]));
    return size;
}

/* Uneven noise may make a gentle linear drift steep in y: its matrix in x is kept then. */
static hb_status transform_is_steep(hb_transform_building *b, int *yes)
{
    const int d = b->d;
    double *L, *A, least = INFINITY, most = 0, size = 0;
    hb_workspace work;
    int linear = 0;
    *yes = 0;
    if (!b->f || b->transform->moves || b->transform->bends || d > HB_TRANSFORM_MOST_DIM)
        return HB_OK;
    HB_TRY(HB_WORKSPACE(b->context, &work, HB_ARRAY(L, (size_t)d * (size_t)d),
                        HB_ARRAY(A, (size_t)d * (size_t)d)));
    for (int k = 0; k < d * d; k++) {
        if (!hb_graph_is_constant(b->to, b->L[k], &L[k])) L[k] = NAN;
        most = fmax(most, fabs(L[k]));
        if (k % (d + 1) == 0) least = fmin(least, fabs(L[k]));
    }
    hb_status status = HB_OK;
    const double steep = b->problem->unit ? MOST_STEEP : STEEP;
    if (most > steep * least) status = typed_slopes(b, A, &linear);
    if (status == HB_OK && linear) {
        for (int k = 0; k < d * d; k++) size = fmax(size, fabs(A[k]));
        *yes = turned_size((size_t)d, L, A) > steep * size;
    }
    hb_workspace_destroy(&work);
    return status;
}

/* Fills L and g; *kind says what the noise of y is. */
hb_status hb_transform_find_coordinates(hb_transform_building *b, hb_noise_kind *kind)
{
    int factored = 0, full = 0, jumps = 0, steep = 0;
    const int moves = matrix_moves(b);
    HB_TRY(hb_graph_constant(b->to, 1, &b->g));
    if (moves) HB_TRY(find_factor(b, &factored));
    if (factored) HB_TRY(divide_factor(b));
    b->transform->moves = moves && !factored;
    if (b->problem->unit && !moves) { /* M = (M/sqrt(2)) sqrt(2): the noise of y is sqrt(2) */
        HB_TRY(freeze_matrix(b, 0, M_SQRT2));
        HB_TRY(hb_graph_constant(b->to, M_SQRT2, &b->g));
    }
    *kind = HB_NOISE_MATRIX;
    if (b->transform->moves) HB_TRY(matrix_jumps(b, &jumps));
    if (b->transform->moves && (jumps || b->d > MOST_MOVING)) return HB_OK;
    if (b->transform->moves) {
        HB_TRY(factor_formulas(b));
        HB_TRY(diagonal_stays(b, &full));
    } else {
        HB_TRY(factor_numbers(b, &full));
    }
    if (full) HB_TRY(transform_is_steep(b, &steep));
    full &= !steep;
    *kind = full ? HB_NOISE_SCALAR : HB_NOISE_MATRIX;
    if (!full && factored) { /* the matrix with its g(t) again */
        for (int k = 0; k < b->d * b->m; k++)
            HB_TRY(hb_graph_finish(b->to, hb_build_multiply(b->to, b->g, b->M[k]), &b->M[k]));
        b->transform->moves = 0;
    }
    return HB_OK;
}
