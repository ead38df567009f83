/* Lamperti's coordinate of one axis: y = int dx/b(x), in which the noise b(x) dW is dW.
 *
 * Four noises have it in closed form, and it takes all numbers; c and w are read off the formula:
 *     b = x - c                  y = ln(x - c), or -ln(c - x) below c
 *     b = w^2 - (x - c)^2        y = artanh((x - c)/w)/w
 *     b = sqrt(w^2 + (x-c)^2)    y = arsinh((x - c)/w)
 * Every other noise that lies between two positive numbers has it as a table (axis_table.c). Of
 * sqrt(x - c), sqrt(x (1 - x)) and the like y ends at a finite value where b vanishes: an
 * attainable boundary. Formulas are recognised by their fingerprints: b is a line when b'' is 0, a
 * parabola when b''' is. J. Lamperti, J. Math. Anal. Appl. 9 (1964) 379.
 * A number to reproduce: the noise 0.3 x has y = ln x, and x = 2 is y = 0.693147. */
#include "problem/transform/axis_map.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/fingerprint.h"
#include "formula/graph.h"

#include <stdio.h>

/* ---- formulas ---- */

hb_status hb_formula_is_zero(hb_context *context, const hb_graph *graph, hb_node node, int *yes)
{
    uint64_t *fingerprint;
    double number;
    if (hb_graph_is_constant(graph, node, &number)) {
        *yes = number == 0;
        return HB_OK;
    }
    HB_TRY(HB_NEW(context, fingerprint, (size_t)node + 1));
    hb_graph_fingerprints(graph, node, fingerprint);
    *yes = fingerprint[node] == 0;
    hb_release(context, fingerprint);
    return HB_OK;
}

static int node_breaks(const hb_graph_node *node, hb_formula_break kind)
{
    const uint64_t depends = kind == HB_BREAKS_IN_X ? node->depends >> 1 : node->depends & 1;
    switch (node->op) {
    case HB_OP_SIGN:
    case HB_OP_LESS:
    case HB_OP_SELECT: return depends != 0;
    case HB_OP_ABS:
    case HB_OP_MIN:
    case HB_OP_MAX: return depends != 0 && kind != HB_JUMPS_IN_TIME;
    default: return 0;
    }
}

hb_status hb_formula_has_breaks(hb_context *context, const hb_graph *graph, hb_node node,
                                hb_formula_break kind, int *yes)
{
    int *below; // (node + 1)
    HB_TRY(HB_NEW_CLEARED(context, below, (size_t)node + 1));
    below[node] = 1;
    *yes = 0;
    hb_graph_mark(graph, node, below);
    for (hb_node i = node; i >= 0 && !*yes; i--)
        *yes = below[i] && node_breaks(&graph->nodes[i], kind);
    hb_release(context, below);
    return HB_OK;
}

hb_status hb_formula_at_zero(hb_context *context, hb_graph *graph, hb_node node, double *value)
{
    hb_node *x; // (dim)
    hb_node zero, out;
    HB_TRY(hb_graph_constant(graph, 0, &zero));
    HB_TRY(HB_NEW(context, x, (size_t)graph->dim));
    for (int i = 0; i < graph->dim; i++) x[i] = zero;
    const hb_status status = hb_graph_substitute(graph, 1, &node, x, zero, graph, &out);
    hb_release(context, x);
    HB_TRY(status);
    if (!hb_graph_is_constant(graph, out, value)) *value = NAN;
    return HB_OK;
}

/* a[0] + a[1] x + a[2] x^2 of a formula that is at most a parabola; *degree 3: it is not. */
static hb_status read_parabola(hb_context *context, hb_graph *graph, hb_node node, int axis,
                               double *a, int *degree)
{
    hb_node slopes[4] = {node};
    int broken;
    *degree = 3;
    HB_TRY(hb_formula_has_breaks(context, graph, node, HB_BREAKS_IN_X, &broken));
    if (broken) return HB_OK;
    for (int k = 1; k < 4; k++) HB_TRY(hb_graph_derivative(graph, slopes[k - 1], axis, &slopes[k]));
    for (int k = 3; k > 0; k--) {
        int zero;
        HB_TRY(hb_formula_is_zero(context, graph, slopes[k], &zero));
        if (!zero) break;
        *degree = k - 1;
    }
    if (*degree == 3) return HB_OK;
    for (int k = 0; k < 3; k++) {
        a[k] = 0;
        if (k <= *degree) HB_TRY(hb_formula_at_zero(context, graph, slopes[k], a + k));
        if (!isfinite(a[k])) *degree = 3;
    }
    a[2] /= 2;
    return HB_OK;
}

/* ---- the four noises ---- */

static hb_axis_end of_line(const double *a, double inside, hb_axis_map *out)
{
    const double c = a[0] == 0 ? 0 : -a[0] / a[1];
    const int below = inside < c;
    *out = (hb_axis_map){.kind = below ? HB_AXIS_FALL : HB_AXIS_RISE,
                         .center = c,
                         .width = 1,
                         .low = below ? -INFINITY : c,
                         .high = below ? c : INFINITY};
    return HB_AXIS_FOUND;
}

static hb_axis_end of_parabola(const double *a, double inside, hb_axis_map *out)
{
    const double c = -a[1] / (2 * a[2]), square = c * c - a[0] / a[2];
    if (!(square > 0)) return HB_AXIS_UNKNOWN;
    const double w = sqrt(square);
    *out =
        (hb_axis_map){.kind = HB_AXIS_TANH, .center = c, .width = w, .low = c - w, .high = c + w};
    return isnan(inside) || fabs(inside - c) < w ? HB_AXIS_FOUND : HB_AXIS_UNKNOWN;
}

static hb_axis_end of_root(const double *a, int degree, hb_axis_map *out)
{
    if (degree == 1) return HB_AXIS_BOUNDARY;
    if (degree != 2) return HB_AXIS_UNKNOWN;
    const double c = -a[1] / (2 * a[2]), square = a[0] / a[2] - c * c;
    if (a[2] < 0) return HB_AXIS_BOUNDARY;
    if (!(square > 0)) return square < 0 ? HB_AXIS_BOUNDARY : HB_AXIS_UNKNOWN;
    *out = (hb_axis_map){.kind = HB_AXIS_SINH,
                         .center = c,
                         .width = sqrt(square),
                         .low = -INFINITY,
                         .high = INFINITY};
    return HB_AXIS_FOUND;
}

static hb_status of_table(hb_context *context, hb_graph *graph, hb_node noise, double inside,
                          hb_axis_map *out, hb_axis_end *end)
{
    int found, breaks;
    hb_axis_table *table;
    const double center = isfinite(inside) ? round(inside) : 0;
    HB_TRY(hb_formula_has_breaks(context, graph, noise, HB_BREAKS_IN_X, &breaks));
    if (breaks) return HB_OK;
    HB_TRY(hb_axis_table_create(context, graph, noise, center, &table, &found));
    if (!found) return HB_OK;
    *end = HB_AXIS_FOUND;
    *out = (hb_axis_map){.kind = HB_AXIS_TABLE,
                         .center = center,
                         .width = 1,
                         .low = -INFINITY,
                         .high = INFINITY,
                         .table = table};
    return HB_OK;
}

hb_node hb_formula_without_factor(const hb_graph *graph, hb_node node)
{
    double number;
    for (;;) {
        const hb_graph_node *p = &graph->nodes[node];
        if (p->op == HB_OP_NEGATE)
            node = p->a;
        else if (p->op == HB_OP_MULTIPLY && hb_graph_is_constant(graph, p->a, &number))
            node = p->b;
        else if (p->op == HB_OP_DIVIDE && hb_graph_is_constant(graph, p->b, &number))
            node = p->a;
        else
            return node;
    }
}

hb_status hb_axis_map_find(hb_context *context, hb_graph *graph, hb_node noise, int axis,
                           double inside, hb_axis_map *out, hb_axis_end *end)
{
    hb_node rest = hb_formula_without_factor(graph, noise);
    while (graph->nodes[rest].op == HB_OP_ABS) /* the noise -b has the distribution of b */
        rest = hb_formula_without_factor(graph, graph->nodes[rest].a);
    const hb_graph_node p = graph->nodes[rest];
    double a[3], half;
    int degree;
    *out = (hb_axis_map){.kind = HB_AXIS_SAME, .width = 1, .low = -INFINITY, .high = INFINITY};
    *end = HB_AXIS_FOUND;
    if (!hb_graph_depends(graph, noise, axis)) return HB_OK;
    HB_TRY(read_parabola(context, graph, rest, axis, a, &degree));
    if (degree == 0) return HB_OK;
    *end = degree == 1   ? of_line(a, inside, out)
           : degree == 2 ? of_parabola(a, inside, out)
                         : HB_AXIS_UNKNOWN;
    if (degree < 3) return HB_OK;
    *end = HB_AXIS_UNKNOWN;
    const int root = p.op == HB_OP_SQRT ||
                     (p.op == HB_OP_POW && hb_graph_is_constant(graph, p.b, &half) && half == 0.5);
    if (root) {
        HB_TRY(read_parabola(context, graph, p.a, axis, a, &degree));
        *end = of_root(a, degree, out);
    }
    return *end == HB_AXIS_UNKNOWN ? of_table(context, graph, rest, inside, out, end) : HB_OK;
}

/* ---- there and back ---- */

double hb_axis_anchor(const hb_axis_map *map)
{
    return hb_axis_to_x(map, 0);
}

int hb_axis_holds(const hb_axis_map *map, double x)
{
    return x > map->low && x < map->high;
}

/* Without the shift. */
static double axis_formula(const hb_axis_map *map, double x)
{
    const double gap = x - map->center, w = map->width;
    switch (map->kind) {
    case HB_AXIS_SAME: return x;
    case HB_AXIS_RISE: return log(gap);
    case HB_AXIS_FALL: return -log(-gap);
    case HB_AXIS_TANH: return atanh(gap / w) / w;
    case HB_AXIS_SINH: return asinh(gap / w);
    case HB_AXIS_TABLE: return hb_axis_table_y(map->table, x);
    }
    return NAN;
}

double hb_axis_to_y(const hb_axis_map *map, double x)
{
    return hb_axis_holds(map, x) ? axis_formula(map, x) - map->shift : NAN;
}

double hb_axis_to_x(const hb_axis_map *map, double y)
{
    const double c = map->center, w = map->width;
    y += map->shift;
    switch (map->kind) {
    case HB_AXIS_SAME: return y;
    case HB_AXIS_RISE: return c + exp(y);
    case HB_AXIS_FALL: return c - exp(-y);
    case HB_AXIS_TANH: return c + w * tanh(w * y);
    case HB_AXIS_SINH: return c + w * sinh(y);
    case HB_AXIS_TABLE: return hb_axis_table_x(map->table, y);
    }
    return NAN;
}

double hb_axis_log_noise(const hb_axis_map *map, double y)
{
    y += map->shift;
    const double w = map->width, size = fabs(map->kind == HB_AXIS_TANH ? w * y : y);
    switch (map->kind) {
    case HB_AXIS_SAME: return 0;
    case HB_AXIS_RISE: return y;
    case HB_AXIS_FALL: return -y;
    case HB_AXIS_TANH: return 2 * (log(w) + M_LN2 - size - log1p(exp(-2 * size)));
    case HB_AXIS_SINH: return log(w) + size - M_LN2 + log1p(exp(-2 * size));
    case HB_AXIS_TABLE: {
        double b, slope;
        hb_axis_table_noise(map->table, hb_axis_table_x(map->table, y), &b, &slope);
        return log(b);
    }
    }
    return NAN;
}

void hb_axis_noise(const hb_axis_map *map, double x, double *b, double *slope)
{
    const double gap = x - map->center, w = map->width;
    *b = 1;
    *slope = 0;
    switch (map->kind) {
    case HB_AXIS_SAME: break;
    case HB_AXIS_RISE: *b = gap, *slope = 1; break;
    case HB_AXIS_FALL: *b = -gap, *slope = -1; break;
    case HB_AXIS_TANH: *b = (w - gap) * (w + gap), *slope = -2 * gap; break;
    case HB_AXIS_SINH: *b = hypot(w, gap), *slope = gap / *b; break;
    case HB_AXIS_TABLE: hb_axis_table_noise(map->table, x, b, slope); break;
    }
}

double hb_axis_noise_bend(const hb_axis_map *map, double x)
{
    const double w = map->width, b = hypot(w, x - map->center);
    switch (map->kind) {
    case HB_AXIS_SAME:
    case HB_AXIS_RISE:
    case HB_AXIS_FALL: return 0;
    case HB_AXIS_TANH: return -2;
    case HB_AXIS_SINH: return w / b * (w / b) / b;
    case HB_AXIS_TABLE: return hb_axis_table_bend(map->table, x);
    }
    return NAN;
}

hb_node hb_axis_x_node(const hb_axis_map *map, hb_graph *graph, hb_node y)
{
    const hb_node c = hb_build_constant(graph, map->center),
                  w = hb_build_constant(graph, map->width);
    switch (map->kind) {
    case HB_AXIS_SAME: return y;
    case HB_AXIS_RISE: return hb_build_add(graph, c, hb_build_unary(graph, HB_OP_EXP, y));
    case HB_AXIS_FALL:
        return hb_build_subtract(graph, c,
                                 hb_build_unary(graph, HB_OP_EXP, hb_build_negate(graph, y)));
    case HB_AXIS_TANH:
        y = hb_build_unary(graph, HB_OP_TANH, hb_build_multiply(graph, w, y));
        return hb_build_add(graph, c, hb_build_multiply(graph, w, y));
    case HB_AXIS_SINH:
        y = hb_build_unary(graph, HB_OP_SINH, y);
        return hb_build_add(graph, c, hb_build_multiply(graph, w, y));
    case HB_AXIS_TABLE: return hb_build_mapped(graph, map->table, y);
    }
    return HB_NO_NODE;
}

hb_node hb_axis_b_node(const hb_axis_map *map, hb_graph *graph, hb_node y)
{
    const hb_node w = hb_build_constant(graph, map->width);
    switch (map->kind) {
    case HB_AXIS_SAME: return hb_build_constant(graph, 1);
    case HB_AXIS_RISE: return hb_build_unary(graph, HB_OP_EXP, y);
    case HB_AXIS_FALL: return hb_build_unary(graph, HB_OP_EXP, hb_build_negate(graph, y));
    case HB_AXIS_TANH:
        y = hb_build_unary(graph, HB_OP_SECH2, hb_build_multiply(graph, w, y));
        return hb_build_scaled(graph, map->width * map->width, y);
    case HB_AXIS_SINH: return hb_build_multiply(graph, w, hb_build_unary(graph, HB_OP_COSH, y));
    case HB_AXIS_TABLE:
        return hb_axis_table_b_node(map->table, graph, hb_build_mapped(graph, map->table, y));
    }
    return HB_NO_NODE;
}

hb_node hb_axis_slope_node(const hb_axis_map *map, hb_graph *graph, hb_node y)
{
    switch (map->kind) {
    case HB_AXIS_SAME: return hb_build_constant(graph, 0);
    case HB_AXIS_RISE: return hb_build_constant(graph, 1);
    case HB_AXIS_FALL: return hb_build_constant(graph, -1);
    case HB_AXIS_TANH:
        y = hb_build_scaled(graph, map->width, y);
        return hb_build_scaled(graph, -2 * map->width, hb_build_unary(graph, HB_OP_TANH, y));
    case HB_AXIS_SINH: return hb_build_unary(graph, HB_OP_TANH, y);
    case HB_AXIS_TABLE:
        return hb_axis_table_slope_node(map->table, graph, hb_build_mapped(graph, map->table, y));
    }
    return HB_NO_NODE;
}

void hb_axis_text(const hb_axis_map *map, const char *name, size_t size, char *text)
{
    char gap[64], scaled[80];
    const double c = map->center, w = map->width;
    snprintf(gap, sizeof gap, c == 0 ? "%s" : c > 0 ? "(%s - %g)" : "(%s + %g)", name, fabs(c));
    if (map->kind == HB_AXIS_FALL) snprintf(gap, sizeof gap, "(%g - %s)", c, name);
    snprintf(scaled, sizeof scaled, w == 1 ? "%s" : "%s/%g", gap, w);
    switch (map->kind) {
    case HB_AXIS_SAME: snprintf(text, size, "%s", name); break;
    case HB_AXIS_RISE: snprintf(text, size, "ln %s", gap); break;
    case HB_AXIS_FALL: snprintf(text, size, "-ln %s", gap); break;
    case HB_AXIS_TANH:
        snprintf(text, size, w == 1 ? "artanh(%s)" : "artanh(%s)/%g", scaled, w);
        break;
    case HB_AXIS_SINH: snprintf(text, size, "arsinh(%s)", scaled); break;
    case HB_AXIS_TABLE: snprintf(text, size, "int d%s/b(%s)", name, name); break;
    }
}
