/* The logarithm of a formula, taken apart.
 *
 * A formula is written as c exp(s) prod_k f_k^(e_k), so that ln is ln|c| + s + sum e_k ln f_k.
 * Products, quotients, powers, roots, exp and cosh are taken apart:
 *     ln exp(a) = a     ln sqrt(a) = ln(a)/2     ln a^n = n ln|a|, n even
 *     ln cosh a = |a| + ln(1 + e^(-2|a|)) - ln 2
 *     ln(a + b) = m + ln(e^(ln a - m) + e^(ln b - m)), m = max(ln a, ln b), where both hold an exp
 * Factors that interval arithmetic shows to be nowhere negative stand alone; those that may be
 * negative stay together in one logarithm, as two negative ones are a positive product.
 * A number to reproduce: exp(-log(x)^2/2)/x becomes -log(x)^2/2 - log(x). */
#include "formula/log_form.h"
#include "base/memory.h"

enum { MAX_FACTORS = 256 };

typedef struct power {
    hb_node node;
    double exponent;
} power;

typedef struct factors {
    hb_graph *graph;
    double log_constant;
    int sign;
    hb_node sum; /* s; HB_NO_NODE: none */
    int n, too_many;
    power item[MAX_FACTORS];
} factors;

static hb_node log_form_of(hb_graph *graph, hb_node node);

/* ---- facts of a node ---- */

/* 1: nowhere negative. sqrt, whose end interval arithmetic rounds outward, is so by itself. */
static int is_definite(hb_graph *graph, hb_node node)
{
    hb_interval range = {-INFINITY, INFINITY};
    const hb_graph_node n = graph->nodes[node];
    switch (n.op) {
    case HB_OP_EXP:
    case HB_OP_ABS:
    case HB_OP_SQRT:
    case HB_OP_COSH: return 1;
    case HB_OP_POWER:
        if (n.b % 2 == 0) return 1;
        return is_definite(graph, n.a);
    case HB_OP_ADD:
    case HB_OP_MULTIPLY:
    case HB_OP_DIVIDE:
    case HB_OP_MIN:
        if (is_definite(graph, n.a) && is_definite(graph, n.b)) return 1;
        break;
    case HB_OP_MAX:
        if (is_definite(graph, n.a) || is_definite(graph, n.b)) return 1;
        break;
    case HB_OP_CONSTANT: return n.value >= 0;
    default: break;
    }
    const hb_status status = hb_graph_range(graph, node, &range);
    if (status != HB_OK && graph->status == HB_OK) graph->status = status;
    return status == HB_OK && range.low >= 0;
}

static int has_exp(const hb_graph *graph, hb_node node)
{
    const hb_graph_node *n = &graph->nodes[node];
    switch (n->op) {
    case HB_OP_EXP: return 1;
    case HB_OP_MULTIPLY:
    case HB_OP_DIVIDE: return has_exp(graph, n->a) || has_exp(graph, n->b);
    case HB_OP_ADD: return has_exp(graph, n->a) && has_exp(graph, n->b);
    default: return 0;
    }
}

static int exponent_is_whole(double e)
{
    return e == floor(e) && fabs(e) < 1e15;
}

static int exponent_is_even(double e)
{
    return exponent_is_whole(e) && exponent_is_whole(0.5 * e);
}

/* ---- factors ---- */

static void add_factor(factors *f, hb_node node, double exponent)
{
    if (f->n == MAX_FACTORS)
        f->too_many = 1;
    else
        f->item[f->n++] = (power){node, exponent};
}

static void log_form_add(factors *f, double exponent, hb_node term)
{
    term = hb_build_scaled(f->graph, exponent, term);
    f->sum = f->sum == HB_NO_NODE ? term : hb_build_add(f->graph, f->sum, term);
}

static void log_form_collect(factors *f, hb_node node, double e);

static void collect_number(factors *f, double value, double e)
{
    if (value < 0 && !exponent_is_even(e)) f->sign = -f->sign;
    f->log_constant += value < 0 && !exponent_is_whole(e) ? (double)NAN : e * log(fabs(value));
}

/* a^b with a number b, to the power e. */
static void collect_power(factors *f, hb_node node, hb_node a, double b, double e)
{
    if (!exponent_is_whole(b) && exponent_is_whole(b * e))
        add_factor(f, node, e); // sqrt(x)^2 is nothing where x < 0
    else if (exponent_is_even(b) && !exponent_is_whole(e))
        log_form_collect(f, hb_build_unary(f->graph, HB_OP_ABS, a), b * e);
    else
        log_form_collect(f, a, b * e);
}

static void collect_pair(factors *f, hb_node node, double e)
{
    const hb_graph_node n = f->graph->nodes[node];
    if (!exponent_is_whole(e) && !(is_definite(f->graph, n.a) && is_definite(f->graph, n.b))) {
        add_factor(f, node, e);
        return;
    }
    log_form_collect(f, n.a, e);
    log_form_collect(f, n.b, n.op == HB_OP_DIVIDE ? -e : e);
}

/* ln cosh a */
static hb_node log_cosh(hb_graph *graph, hb_node a)
{
    const hb_node size = hb_build_unary(graph, HB_OP_ABS, a);
    const hb_node small = hb_build_unary(graph, HB_OP_EXP, hb_build_scaled(graph, -2, size));
    const hb_node rest =
        hb_build_unary(graph, HB_OP_LOG, hb_build_add(graph, hb_build_constant(graph, 1), small));
    return hb_build_add(graph, hb_build_constant(graph, -log(2)), hb_build_add(graph, size, rest));
}

static void log_form_collect(factors *f, hb_node node, double e)
{
    if (node == HB_NO_NODE || f->graph->status != HB_OK) return;
    const hb_graph_node n = f->graph->nodes[node]; /* a copy, since the array may move */
    double number;
    switch (n.op) {
    case HB_OP_CONSTANT: collect_number(f, n.value, e); return;
    case HB_OP_EXP: log_form_add(f, e, n.a); return;
    case HB_OP_COSH: log_form_add(f, e, log_cosh(f->graph, n.a)); return;
    case HB_OP_MULTIPLY:
    case HB_OP_DIVIDE: collect_pair(f, node, e); return;
    case HB_OP_SQRT: collect_power(f, node, n.a, 0.5, e); return;
    case HB_OP_POWER: collect_power(f, node, n.a, n.b, e); return;
    case HB_OP_NEGATE:
        if (!exponent_is_whole(e)) break;
        if (!exponent_is_even(e)) f->sign = -f->sign;
        log_form_collect(f, n.a, e);
        return;
    case HB_OP_POW:
        if (hb_graph_is_constant(f->graph, n.b, &number))
            collect_power(f, node, n.a, number, e);
        else
            log_form_add(f, e, hb_build_multiply(f->graph, n.b, log_form_of(f->graph, n.a)));
        return;
    default: break;
    }
    add_factor(f, node, e);
}

/* ---- the logarithm ---- */

/* m + ln(e^(a - m) + e^(b - m)) */
static hb_node log_sum(hb_graph *graph, hb_node a, hb_node b)
{
    const hb_node top = hb_build_binary(graph, HB_OP_MAX, a, b);
    const hb_node left = hb_build_unary(graph, HB_OP_EXP, hb_build_subtract(graph, a, top));
    const hb_node right = hb_build_unary(graph, HB_OP_EXP, hb_build_subtract(graph, b, top));
    return hb_build_add(graph, top,
                        hb_build_unary(graph, HB_OP_LOG, hb_build_add(graph, left, right)));
}

/* ln of one factor that is none of those that are taken apart. */
static hb_node log_factor(hb_graph *graph, hb_node node)
{
    const hb_graph_node n = graph->nodes[node];
    const int pair = n.op == HB_OP_ADD || n.op == HB_OP_MIN || n.op == HB_OP_MAX;
    if (pair && is_definite(graph, n.a) && is_definite(graph, n.b)) {
        if (n.op != HB_OP_ADD)
            return hb_build_binary(graph, n.op, log_form_of(graph, n.a), log_form_of(graph, n.b));
        if (has_exp(graph, n.a) && has_exp(graph, n.b))
            return log_sum(graph, log_form_of(graph, n.a), log_form_of(graph, n.b));
    }
    return hb_build_unary(graph, HB_OP_LOG, node);
}

static hb_node log_form_raised(hb_graph *graph, hb_node node, double e)
{
    return hb_build_pow(graph, node, hb_build_constant(graph, e));
}

/* The factors that may be negative, in one logarithm. */
static hb_node log_group(factors *f, const int *member, int n)
{
    hb_graph *graph = f->graph;
    if (n == 0) return hb_build_constant(graph, f->sign > 0 ? 0 : (double)NAN);
    if (n == 1 && f->sign > 0)
        return hb_build_scaled(graph, f->item[member[0]].exponent,
                               log_factor(graph, f->item[member[0]].node));
    hb_node product = hb_build_constant(graph, f->sign);
    for (int k = 0; k < n; k++)
        product = hb_build_multiply(
            graph, product,
            log_form_raised(graph, f->item[member[k]].node, f->item[member[k]].exponent));
    return hb_build_unary(graph, HB_OP_LOG, product);
}

static hb_node log_factors(factors *f)
{
    hb_graph *graph = f->graph;
    hb_node out = f->sum;
    int group[MAX_FACTORS], n_group = 0;
    if (out == HB_NO_NODE) out = hb_build_constant(graph, 0);
    for (int k = 0; k < f->n; k++) {
        hb_node node = f->item[k].node;
        const double e = f->item[k].exponent;
        const int definite = is_definite(graph, node);
        if (exponent_is_whole(e) && !exponent_is_even(e) && !definite) {
            group[n_group++] = k;
            continue;
        }
        if (exponent_is_even(e) && !definite) node = hb_build_unary(graph, HB_OP_ABS, node);
        out = hb_build_add(graph, out, hb_build_scaled(graph, e, log_factor(graph, node)));
    }
    out = hb_build_add(graph, out, log_group(f, group, n_group));
    return hb_build_add(graph, out, hb_build_constant(graph, f->log_constant));
}

static hb_node log_form_of(hb_graph *graph, hb_node node)
{
    if (node == HB_NO_NODE || graph->status != HB_OK) return HB_NO_NODE;
    factors *f;
    graph->status = HB_NEW(graph->context, f, 1);
    if (graph->status != HB_OK) return HB_NO_NODE;
    *f = (factors){.graph = graph, .sign = 1, .sum = HB_NO_NODE};
    log_form_collect(f, node, 1);
    const hb_node out = f->too_many ? hb_build_unary(graph, HB_OP_LOG, node) : log_factors(f);
    hb_release(graph->context, f);
    return out;
}

hb_status hb_log_form(hb_graph *graph, hb_node node, hb_node *out)
{
    return hb_graph_finish(graph, log_form_of(graph, node), out);
}

/* ---- factors by axis ---- */

/* The only coordinate of a node, 0: none, -1: several. */
static int log_form_axis(const hb_graph *graph, hb_node node)
{
    int axis = 0;
    for (int j = 1; j <= graph->dim; j++)
        if (hb_graph_depends(graph, node, j)) axis = axis ? -1 : j;
    return axis;
}

static void axes_give(hb_graph *graph, hb_node *axis, int *whole, hb_node factor)
{
    if (factor == HB_NO_NODE) return;
    const int j = log_form_axis(graph, factor);
    *whole &= j >= 0;
    if (j >= 0) axis[j] = hb_build_multiply(graph, axis[j], factor);
}

/* exp(sign (a + b)) is a product. */
static void axes_give_exp(hb_graph *graph, hb_node *axis, int *whole, double factor,
                          hb_node exponent)
{
    if (exponent == HB_NO_NODE) return;
    const hb_graph_node n = graph->nodes[exponent];
    double number;
    if (log_form_axis(graph, exponent) < 0) {
        if (n.op == HB_OP_ADD || n.op == HB_OP_SUBTRACT) {
            axes_give_exp(graph, axis, whole, factor, n.a);
            axes_give_exp(graph, axis, whole, n.op == HB_OP_ADD ? factor : -factor, n.b);
            return;
        }
        if (n.op == HB_OP_NEGATE) {
            axes_give_exp(graph, axis, whole, -factor, n.a);
            return;
        }
        if (n.op == HB_OP_MULTIPLY && hb_graph_is_constant(graph, n.a, &number)) {
            axes_give_exp(graph, axis, whole, factor * number, n.b);
            return;
        }
        if (n.op == HB_OP_DIVIDE && hb_graph_is_constant(graph, n.b, &number)) {
            axes_give_exp(graph, axis, whole, factor / number, n.a);
            return;
        }
    }
    axes_give(graph, axis, whole,
              hb_build_unary(graph, HB_OP_EXP, hb_build_scaled(graph, factor, exponent)));
}

hb_status hb_log_form_axes(hb_graph *graph, hb_node node, hb_node *axis, int *whole)
{
    factors *f;
    HB_TRY(HB_NEW(graph->context, f, 1));
    *f = (factors){.graph = graph, .sign = 1, .sum = HB_NO_NODE};
    log_form_collect(f, node, 1);
    *whole = !f->too_many;
    for (int j = 0; j <= graph->dim; j++) axis[j] = hb_build_constant(graph, 1);
    axis[0] = hb_build_constant(graph, f->sign);
    if (f->sum != HB_NO_NODE) axes_give_exp(graph, axis, whole, 1, f->sum);
    for (int k = 0; k < f->n && *whole; k++)
        axes_give(graph, axis, whole, log_form_raised(graph, f->item[k].node, f->item[k].exponent));
    hb_release(graph->context, f);
    return hb_graph_finish(graph, node, &node);
}
