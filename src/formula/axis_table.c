/* x(y) with dx/dy = b(x), x(0) = center, for a noise b that lies between two positive numbers.
 *
 * Knots y_k = k h: int dx/b = h is solved for the next knot by Newton's method, with 16 nodes of
 * Gauss. Between knots x is the polynomial of degree 7 that has x, x' = b, x'' = b b', x''' = b
 * (b'^2 + b b'') at both ends. h is halved until the middle of every cell agrees with the integral
 * to 1e-14. Beyond MOST_CELLS y(x) is on adaptive panels (panels.c) as far as x = FAR, then a
 * straight line. Interval arithmetic must prove that b stays near its samples within each cell.
 * y(x) is Newton's method on the table.
 * A number to reproduce: b = 1 + 0.3 sin x has the period 2 pi/sqrt(1 - 0.09) = 6.586566 in y. */
#include "formula/axis_table.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/features.h"
#include "formula/panels.h"

#include <math.h>

enum { GAUSS = 16, ORDER = 8, MOST_CELLS = 4096, NEWTON = 12, DEPTH = 12, HALVINGS = 6 };
static const double FIRST_STEP = 1.0 / 16, REACH = 64, CLOSE = 1e-14;
static const double FAR = 4096; /* in x, beyond the table */

/* One side beyond the table: |y| grows there by int ds/b, s the distance from the end. */
typedef struct far_side {
    const hb_axis_table *table;
    double from, sign, y;
    double slope; /* dx/dy beyond the panels */
    hb_panels *panels;
} far_side;

struct hb_axis_table {
    hb_context *context;
    hb_graph *graph;     /* of dim 1 */
    hb_node b, slope;    /* normalised */
    hb_program *program; // b, b', b''
    double nodes[GAUSS], weights[GAUSS];
    double center, h;
    int cells;            /* on each side */
    double *knots;        // (2 cells + 1)
    double *parts;        // (2 cells, ORDER): polynomials in (y - y_k)/h
    far_side far[2];      /* below, above */
    hb_features features; /* of b */
};

/* ---- the noise ---- */

/* b, b', b'' at x. */
static void table_noise(const hb_axis_table *t, double x, double *values)
{
    if (hb_program_run(t->context, t->program, 1, &x, 0, values) != HB_OK)
        values[0] = values[1] = values[2] = NAN;
}

/* int dx/b from a to b. */
static double table_length(const hb_axis_table *t, double from, double to)
{
    double x[GAUSS], values[3 * GAUSS], sum = 0;
    for (int k = 0; k < GAUSS; k++) x[k] = from + (to - from) * t->nodes[k];
    if (hb_program_run(t->context, t->program, GAUSS, x, 0, values) != HB_OK) return NAN;
    for (int k = 0; k < GAUSS; k++) sum += t->weights[k] / values[3 * k];
    return (to - from) * sum;
}

/* The end x of a way that begins at `from` and is h long in y. */
static double step_from(const hb_axis_table *t, double from, double h)
{
    double values[3];
    table_noise(t, from, values);
    double x = from + h * (values[0] + 0.5 * h * values[0] * values[1]);
    for (int k = 0; k < NEWTON; k++) {
        table_noise(t, x, values);
        const double move = (h - table_length(t, from, x)) * values[0];
        x += move;
        if (!(fabs(move) > 1e-16 * (fabs(x) + fabs(h)))) break;
    }
    return x;
}

/* ---- one cell ---- */

/* The polynomial of degree 7 in s = 0 .. 1 from value and three derivatives (by y) at both ends. */
static void table_fit(double h, const double *left, const double *right, double *c)
{
    double a[4], e[4], scale = 1;
    for (int k = 0; k < 4; k++, scale *= h / k) a[k] = left[k] * scale; // k-th Taylor coefficient
    c[0] = a[0], c[1] = a[1], c[2] = a[2], c[3] = a[3];
    e[0] = (right[0] - left[0]) - a[1] - a[2] - a[3];
    e[1] = right[1] * h - a[1] - 2 * a[2] - 3 * a[3];
    e[2] = right[2] * h * h - 2 * a[2] - 6 * a[3];
    e[3] = right[3] * h * h * h - 6 * a[3];
    c[4] = 35 * e[0] - 15 * e[1] + 2.5 * e[2] - e[3] / 6;
    c[5] = -84 * e[0] + 39 * e[1] - 7 * e[2] + 0.5 * e[3];
    c[6] = 70 * e[0] - 34 * e[1] + 6.5 * e[2] - 0.5 * e[3];
    c[7] = -20 * e[0] + 10 * e[1] - 2 * e[2] + e[3] / 6;
}

static void table_derivatives(const hb_axis_table *t, double x, double *out)
{
    double v[3];
    table_noise(t, x, v);
    out[0] = x;
    out[1] = v[0];
    out[2] = v[0] * v[1];
    out[3] = v[0] * (v[1] * v[1] + v[0] * v[2]);
}

static double polynomial(const double *c, double s)
{
    double sum = c[ORDER - 1];
    for (int k = ORDER - 2; k >= 0; k--) sum = sum * s + c[k];
    return sum;
}

static void make_cell(const hb_axis_table *t, double from, double to, double *part)
{
    double left[4], right[4];
    table_derivatives(t, from, left);
    table_derivatives(t, to, right);
    table_fit(t->h, left, right, part);
}

/* ---- proofs ---- */

typedef struct proof {
    hb_range_tape *tape;
    hb_interval *work;
} proof;

static hb_interval range_of(const proof *p, double low, double high)
{
    const hb_interval x = {low, high}, never = {0, 0};
    hb_interval out;
    hb_range_tape_run(p->tape, &x, never, p->work, &out);
    return out;
}

/* Whether b stays within the hull of its samples, and a little more, between low and high. */
static int noise_stays(const proof *p, double low, double high, hb_interval hull, int depth)
{
    const hb_interval found = range_of(p, low, high);
    const double slack = 0.5 * (hull.high - hull.low) + 1e-3 * hull.high;
    if (found.low >= hull.low - slack && found.high <= hull.high + slack) return 1;
    if (depth == 0) return 0;
    const double middle = 0.5 * (low + high);
    return noise_stays(p, low, middle, hull, depth - 1) &&
           noise_stays(p, middle, high, hull, depth - 1);
}

static int cell_is_sound(const hb_axis_table *t, const proof *p, double low, double high)
{
    hb_interval hull = {INFINITY, -INFINITY};
    for (int k = 0; k <= 8; k++) {
        double values[3];
        table_noise(t, low + (high - low) * k / 8, values);
        hull.low = fmin(hull.low, values[0]);
        hull.high = fmax(hull.high, values[0]);
    }
    return noise_stays(p, low, high, hull, DEPTH);
}

/* ---- the table ---- */

static double *table_knot(const hb_axis_table *t, int k)
{
    return t->knots + t->cells + k;
}

static hb_status allocate_cells(hb_axis_table *t)
{
    const size_t cells = (size_t)t->cells;
    hb_release(t->context, t->knots);
    t->knots = NULL;
    HB_TRY(HB_NEW(t->context, t->knots, 2 * cells + 1 + 2 * cells * ORDER));
    t->parts = t->knots + 2 * cells + 1;
    return HB_OK;
}

/* *good 0: the step is too long, or b is no noise for a table (*proved 0). */
static hb_status table_fill(hb_axis_table *t, const proof *p, int *good, int *proved)
{
    t->cells = (int)fmin(REACH / t->h, MOST_CELLS);
    HB_TRY(allocate_cells(t));
    *table_knot(t, 0) = t->center;
    for (int side = -1; side <= 1; side += 2)
        for (int k = 1; k <= t->cells; k++)
            *table_knot(t, side * k) = step_from(t, *table_knot(t, side * (k - 1)), side * t->h);
    *good = *proved = 1;
    for (int k = -t->cells; k < t->cells && *good; k++) {
        double *part = t->parts + (size_t)(k + t->cells) * ORDER;
        const double low = *table_knot(t, k), high = *table_knot(t, k + 1);
        make_cell(t, low, high, part);
        const double middle = step_from(t, low, 0.5 * t->h);
        *good = fabs(polynomial(part, 0.5) - middle) <= CLOSE * (1 + fabs(middle));
        *proved &= cell_is_sound(t, p, low, high);
    }
    return HB_OK;
}

static hb_status inverse_noise(void *user, size_t n, const double *s, double *out)
{
    const far_side *far = user;
    double values[3];
    for (size_t i = 0; i < n; i++) {
        table_noise(far->table, far->from + far->sign * s[i], values);
        out[i] = 1 / values[0];
    }
    return HB_OK;
}

/* A side without panels, of a noise that they do not resolve, is straight beyond the table. */
static hb_status tabulate_far(hb_axis_table *t, far_side *far, double sign)
{
    *far = (far_side){.table = t, .sign = sign, .y = t->cells * t->h};
    far->from = *table_knot(t, (int)sign * t->cells);
    far->slope = fabs(far->from - t->center) / far->y;
    if (hb_features_next(&t->features, sign > 0 ? far->from : far->from - FAR, t->h) <
        (sign > 0 ? far->from + FAR : far->from))
        return HB_OK; // narrower than the table proves
    const hb_panels_settings settings = {
        .function = inverse_noise, .user = far, .scale = 1, .name = "the noise", .variable = "x"};
    const hb_status status = hb_panels_create(t->context, &settings, 0, FAR, &far->panels);
    if (status == HB_OK) far->slope = FAR / hb_panels_total(far->panels);
    return status == HB_ERROR_NUMERICAL || status == HB_ERROR_ARGUMENT ? HB_OK : status;
}

static hb_status table_tabulate(hb_axis_table *t, const proof *p, int *found)
{
    int good = 0, proved = 1;
    t->h = FIRST_STEP;
    for (int k = 0; k < HALVINGS && !good; k++, t->h /= 2) {
        HB_TRY(hb_progress(t->context, "noise", k, HALVINGS));
        HB_TRY(table_fill(t, p, &good, &proved));
    }
    t->h *= 2; // the one that was good
    *found = good && proved;
    if (*found) HB_TRY(tabulate_far(t, t->far, -1));
    return *found ? tabulate_far(t, t->far + 1, 1) : HB_OK;
}

static hb_status prove_and_tabulate(hb_axis_table *t, int *found)
{
    proof p = {0};
    HB_TRY(hb_range_tape_create(t->context, t->graph, 1, &t->b, &p.tape));
    hb_status status = HB_NEW(t->context, p.work, hb_range_tape_size(p.tape));
    if (status == HB_OK) {
        const hb_interval all = range_of(&p, -INFINITY, INFINITY);
        *found = all.low > 0 && isfinite(all.high);
        if (*found)
            status = hb_features_find(t->context, t->graph, 1, &t->b, 1, NULL, (hb_interval){0, 0},
                                      &t->features);
        if (*found && status == HB_OK) status = table_tabulate(t, &p, found);
        hb_release(t->context, p.work);
    }
    hb_range_tape_destroy(t->context, p.tape);
    return status;
}

/* b(x)/b(center), with x in the place of the one variable that b has, in a graph of its own. */
static hb_status table_take_noise(hb_axis_table *t, hb_graph *graph, hb_node noise)
{
    hb_node *x; // (dim)
    double here;
    hb_node nodes[3];
    HB_TRY(hb_graph_create(t->context, 1, &t->graph));
    HB_TRY(HB_NEW(t->context, x, (size_t)graph->dim));
    for (int i = 0; i < graph->dim; i++) x[i] = hb_build_variable(t->graph, 1);
    hb_status status = hb_graph_substitute(graph, 1, &noise, x, hb_build_constant(t->graph, 0),
                                           t->graph, &nodes[0]);
    hb_release(t->context, x);
    HB_TRY(status);
    HB_TRY(hb_program_compile(t->graph, 1, nodes, &t->program));
    HB_TRY(hb_program_run(t->context, t->program, 1, &t->center, 0, &here));
    hb_program_destroy(t->program);
    t->program = NULL;
    HB_TRY(hb_graph_finish(t->graph,
                           hb_build_divide(t->graph, nodes[0], hb_build_constant(t->graph, here)),
                           &nodes[0]));
    for (int k = 1; k < 3; k++) HB_TRY(hb_graph_derivative(t->graph, nodes[k - 1], 1, &nodes[k]));
    t->b = nodes[0];
    t->slope = nodes[1];
    return hb_program_compile(t->graph, 3, nodes, &t->program);
}

hb_status hb_axis_table_create(hb_context *context, hb_graph *graph, hb_node noise, double center,
                               hb_axis_table **out, int *found)
{
    hb_axis_table *t;
    *out = NULL;
    *found = 0;
    HB_TRY(HB_NEW_CLEARED(context, t, 1));
    t->context = context;
    t->center = center;
    hb_status status = hb_quadrature_beta(context, 1, 1, GAUSS, t->nodes, t->weights);
    if (status == HB_OK) status = table_take_noise(t, graph, noise);
    if (status == HB_OK) status = prove_and_tabulate(t, found);
    if (status == HB_OK && *found)
        *out = t;
    else
        hb_axis_table_destroy(context, t);
    return status;
}

void hb_axis_table_destroy(hb_context *context, hb_axis_table *table)
{
    if (!table) return;
    for (int side = 0; side < 2; side++) hb_panels_destroy(context, table->far[side].panels);
    hb_features_destroy(context, &table->features);
    hb_program_destroy(table->program);
    hb_graph_destroy(table->graph);
    hb_release(context, table->knots);
    hb_release(context, table);
}

/* ---- there and back ---- */

static double far_x(const far_side *far, double y)
{
    double s = 0, rest = fabs(y) - far->y;
    const double end = far->panels ? hb_panels_total(far->panels) : 0;
    if (rest < end && hb_panels_inverse(far->table->context, far->panels, rest, &s) != HB_OK)
        return NAN;
    if (rest >= end) s = (far->panels ? FAR : 0) + (rest - end) * far->slope;
    return far->from + far->sign * s;
}

static double far_y(const far_side *far, double x)
{
    const double s = fabs(x - far->from), end = far->panels ? FAR : 0;
    double y = far->panels ? hb_panels_total(far->panels) + (s - end) / far->slope : s / far->slope;
    if (s < end && hb_panels_integral(far->table->context, far->panels, s, &y) != HB_OK) return NAN;
    return far->sign * (far->y + y);
}

double hb_axis_table_x(const hb_axis_table *t, double y)
{
    const double place = y / t->h + t->cells;
    if (isnan(y) || isinf(y)) return y;
    if (!(place >= 0 && place < 2.0 * t->cells)) return far_x(t->far + (y > 0), y);
    const int k = (int)place;
    return polynomial(t->parts + (size_t)k * ORDER, place - k);
}

double hb_axis_table_y(const hb_axis_table *t, double x)
{
    int low = -t->cells, high = t->cells;
    if (isnan(x) || isinf(x)) return x;
    if (x < *table_knot(t, low)) return far_y(t->far, x);
    if (x > *table_knot(t, high)) return far_y(t->far + 1, x);
    while (high - low > 1) { // the knots rise
        const int middle = low + (high - low) / 2;
        if (*table_knot(t, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    double y = low * t->h + table_length(t, *table_knot(t, low), x);
    for (int k = 0; k < NEWTON; k++) {
        double values[3];
        table_noise(t, x, values);
        const double move = (x - hb_axis_table_x(t, y)) / values[0];
        y += move;
        if (!(fabs(move) > 1e-15 * (1 + fabs(y)))) break;
    }
    return y;
}

int hb_axis_table_reaches(const hb_axis_table *t, double x)
{
    return x >= t->far[0].from - (t->far[0].panels ? FAR : 0) &&
           x <= t->far[1].from + (t->far[1].panels ? FAR : 0);
}

void hb_axis_table_noise(const hb_axis_table *t, double x, double *b, double *slope)
{
    double values[3];
    table_noise(t, x, values);
    *b = values[0];
    *slope = values[1];
}

double hb_axis_table_bend(const hb_axis_table *t, double x)
{
    double values[3];
    table_noise(t, x, values);
    return values[2];
}

/* ---- formulas ---- */

static hb_node of_x(const hb_axis_table *t, hb_node formula, hb_graph *graph, hb_node x)
{
    hb_node out;
    if (x == HB_NO_NODE || graph->status != HB_OK) return HB_NO_NODE;
    const hb_status status =
        hb_graph_substitute(t->graph, 1, &formula, &x, hb_build_constant(graph, 0), graph, &out);
    if (status != HB_OK) graph->status = status;
    return status == HB_OK ? out : HB_NO_NODE;
}

hb_node hb_axis_table_b_node(const hb_axis_table *table, hb_graph *graph, hb_node x)
{
    return of_x(table, table->b, graph, x);
}

hb_node hb_axis_table_slope_node(const hb_axis_table *table, hb_graph *graph, hb_node x)
{
    return of_x(table, table->slope, graph, x);
}
