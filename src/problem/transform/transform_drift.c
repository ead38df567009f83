/* The drift in the coordinates of a transform, as formulas.
 *
 * z_i = int dx_i/b_i has the drift f_i/b_i - b_i'/2 (M M')_ii (Ito), and z = L(t) y
 *     dy = L^-1 (f_z(L y, t) - L'(t) y) dt + dW
 * A component whose second derivatives are 0 as formulas, and which has no kinks, is written as
 * c(t) + A(t) y, so that it is seen to be linear: f = a x with noise s x is a - s^2/2 in y = ln x.
 * A number to reproduce: f = 0.5 x, G = x has F_y = 0: 0.5 - 0.5. */
#include "problem/transform/transform_parts.h"

#include <math.h>

/* ---- the drift of y ---- */

/* a/b; an exponential is never 0, and its inverse no pole. */
static hb_node quotient(hb_graph *graph, hb_node a, hb_node b)
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
    if (depth > 40) return quotient(graph, a, b);
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
    return quotient(graph, a, b);
}

/* z_i = sum_j L_ij y_j, or y_i where there is no L. */
static hb_node z_node(const hb_transform_building *b, int i, int with_matrix)
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
hb_status hb_transform_drift_of_z(hb_transform_building *b, int with_matrix, hb_node *x,
                                  hb_node *out)
{
    hb_graph *to = b->to;
    for (int i = 0; i < b->d; i++)
        x[i] = hb_axis_x_node(&b->transform->axes[i], to, z_node(b, i, with_matrix));
    HB_TRY(hb_graph_substitute(b->typed.graph, b->d, b->f, x, hb_build_variable(to, 0), to, out));
    for (int i = 0; i < b->d; i++) {
        const hb_axis_map *map = &b->transform->axes[i];
        if (map->kind == HB_AXIS_SAME) continue;
        const hb_node z = z_node(b, i, with_matrix);
        hb_node square = hb_transform_product_of_rows(b, i, i);
        if (with_matrix) /* M may have lost its factor g */
            square = hb_build_multiply(to, square, hb_build_power(to, b->g, 2));
        const hb_node half = hb_build_scaled(to, 0.5, square);
        hb_node drift = divide_out(to, out[i], hb_axis_b_node(map, to, z), 0);
        drift = hb_build_subtract(to, drift,
                                  hb_build_multiply(to, half, hb_axis_slope_node(map, to, z)));
        HB_TRY(hb_graph_finish(to, drift, &out[i]));
    }
    return HB_OK;
}

/* L^-1 (f_z - L' y), in place. */
hb_status hb_transform_drift_of_y(hb_transform_building *b, hb_node *f)
{
    hb_graph *to = b->to;
    const int d = b->d;
    for (int i = 0; i < d; i++) {
        hb_node rest = f[i];
        for (int j = 0; j <= i; j++) {
            hb_node slope;
            const hb_node entry = b->L[i * d + j];
            if (b->transform->moves) {
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
static hb_status is_affine(const hb_transform_building *b, hb_node f, int *yes)
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

/* c(t) + sum A_j(t) y_j, from the values at y = 0; unchanged where these are not finite. */
static hb_status write_affine(hb_transform_building *b, hb_node *origin, hb_node *f)
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

hb_status hb_transform_normalise(hb_transform_building *b, hb_node *origin, hb_node *f)
{
    if (!b->transform->bends || b->d > HB_TRANSFORM_MOST_DIM) return HB_OK;
    for (int j = 0; j < b->d; j++) origin[j] = hb_build_constant(b->to, 0);
    for (int i = 0; i < b->d; i++) {
        int affine;
        HB_TRY(is_affine(b, f[i], &affine));
        if (affine) HB_TRY(write_affine(b, origin, &f[i]));
    }
    return HB_OK;
}
