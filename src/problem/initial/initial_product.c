/* product(EXPR): independent axes, each with the density EXPR in x up to a factor; or one EXPR for
 * each axis, by commas.
 *
 *     ln u(x,0) = sum_j [ln EXPR_j(x_j) - ln Z_j],   Z_j = int EXPR_j   (line_density.c)
 * Where EXPR has no value (log(x), sqrt(x) for x < 0) the density is 0. Draws are the inverse of
 * the integral, draw i of axis j from number i d + j of its stream. A number to reproduce:
 * product(exp(-abs(x))) is 1/4 in 0 in the plane. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/line_product.h"

#include <ctype.h>
#include <heatball/random.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double OUTSIDE = 1e-12; /* of the mass, of all axes */

/* ---- making ---- */

hb_status hb_line_product_begin(const hb_initial_text *text, hb_problem *problem,
                                hb_line_product **out)
{
    const size_t d = (size_t)text->dim;
    HB_TRY(hb_initial_data(text->context, problem, sizeof **out, out));
    hb_line_product *product = *out;
    HB_TRY(HB_WORKSPACE(text->context, &product->work, HB_ARRAY(product->nodes, d),
                        HB_ARRAY(product->lines, d), HB_ARRAY(product->of_axis, d)));
    HB_TRY(hb_graph_create(text->context, 1, &product->graph));
    return hb_drift_parameters(text->context, text->settings, product->graph);
}

hb_status hb_line_product_axis(const hb_initial_text *text, hb_line_product *product, int axis,
                               hb_node node)
{
    char what[80];
    int k = 0;
    while (k < product->n_lines && product->nodes[k] != node) k++;
    product->of_axis[axis] = k;
    if (k < product->n_lines) return HB_OK;
    snprintf(what, sizeof what, "%s, axis %d", text->name, axis + 1);
    HB_TRY(hb_line_density_create(text->context, product->graph, node, what, OUTSIDE / text->dim,
                                  product->lines + k));
    product->nodes[product->n_lines++] = node;
    return HB_OK;
}

void hb_line_product_destroy(hb_context *context, void *data)
{
    hb_line_product *product = data;
    for (int k = 0; k < product->n_lines; k++) hb_line_density_destroy(context, product->lines[k]);
    hb_graph_destroy(product->graph);
    hb_workspace_destroy(&product->work);
    hb_release(context, data);
}

/* A word of its own in a formula. */
static int has_word(const char *text, char word)
{
    for (const char *c = text; *c; c++) {
        const int begins = c == text || !(isalnum((unsigned char)c[-1]) || c[-1] == '_');
        if (begins && *c == word && !(isalnum((unsigned char)c[1]) || c[1] == '_')) return 1;
    }
    return 0;
}

static hb_status product_parse_axis(const hb_initial_text *text, hb_line_product *product, int axis,
                                    const char *piece)
{
    hb_node node;
    HB_CHECK(text->context, !has_word(piece, 'd'), HB_ERROR_ARGUMENT,
             "%s: '%.60s' has d in it; it is a density of the one number x, and may have i for its "
             "axis",
             text->name, piece);
    HB_TRY(hb_graph_parse(product->graph, piece, text->name, axis + 1, &node));
    HB_CHECK(text->context, !hb_graph_depends(product->graph, node, 0), HB_ERROR_ARGUMENT,
             "%s: '%.60s' depends on t; an initial density may not", text->name, piece);
    return hb_line_product_axis(text, product, axis, node);
}

static hb_status product_create(const hb_initial_text *text, hb_problem *problem)
{
    hb_line_product *product;
    int count;
    char *pieces;
    HB_CHECK(text->context, text->arguments && text->arguments[0], HB_ERROR_ARGUMENT,
             "product needs a density in x, as in product(exp(-abs(x)))");
    HB_TRY(hb_line_product_begin(text, problem, &product));
    HB_TRY(hb_graph_split(text->context, text->arguments, &count, &pieces));
    hb_status status = HB_OK;
    if (count != 1 && count != text->dim)
        status = hb_fail(text->context, HB_ERROR_ARGUMENT,
                         "product: there are %d densities; give one, or dim = %d, by commas", count,
                         text->dim);
    const char *piece = pieces;
    for (int j = 0; j < text->dim && status == HB_OK; j++) {
        status = product_parse_axis(text, product, j, piece);
        if (count > 1) piece += strlen(piece) + 1;
    }
    hb_release(text->context, pieces);
    HB_TRY(status);
    hb_line_product_end(problem);
    return HB_OK;
}

/* ---- questions ---- */

static void product_gather(size_t n, size_t d, size_t axis, const double *x, double *column)
{
    for (size_t i = 0; i < n; i++) column[i] = x[i * d + axis];
}

static hb_status product_evaluate(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double *log_density, double *gradient)
{
    enum { BLOCK = 128 };
    const hb_line_product *product = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    double column[BLOCK], l[BLOCK], slope[BLOCK];
    for (size_t first = 0; first < n; first += BLOCK) {
        const size_t count = n - first < BLOCK ? n - first : BLOCK;
        for (size_t i = 0; i < count; i++) log_density[first + i] = 0;
        for (size_t j = 0; j < d; j++) {
            product_gather(count, d, j, x + first * d, column);
            HB_TRY(hb_line_density_evaluate(context, product->lines[product->of_axis[j]], count,
                                            column, l, gradient ? slope : NULL));
            for (size_t i = 0; i < count; i++) {
                log_density[first + i] += l[i];
                if (gradient) gradient[(first + i) * d + j] = slope[i];
            }
        }
        for (size_t i = 0; gradient && i < count; i++)
            if (log_density[first + i] == -INFINITY)
                memset(gradient + (first + i) * d, 0, d * sizeof *gradient);
    }
    return HB_OK;
}

static void product_box(const hb_problem *problem, double *low, double *high)
{
    const hb_line_product *product = problem->initial.data;
    for (int j = 0; j < problem->dim; j++)
        hb_line_density_box(product->lines[product->of_axis[j]], low + j, high + j);
}

static hb_status product_draw(hb_context *context, const hb_problem *problem, uint64_t seed,
                              uint64_t first, size_t n, double *x)
{
    const hb_line_product *product = problem->initial.data;
    const size_t d = (size_t)problem->dim;
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t k = 0; k < n * d; k++)
        HB_TRY(hb_line_density_quantile(context, product->lines[product->of_axis[k % d]], x[k],
                                        x + k));
    return HB_OK;
}

static hb_status product_axis_mass(hb_context *context, const hb_problem *problem, int axis,
                                   double low, double high, double *log_mass)
{
    const hb_line_product *product = problem->initial.data;
    return hb_line_density_log_mass(context, product->lines[product->of_axis[axis]], low, high,
                                    log_mass);
}

static hb_status product_formula(const hb_problem *problem, hb_graph *graph, hb_node *log_density)
{
    const hb_line_product *product = problem->initial.data;
    double total = 0, log_total;
    hb_node sum = hb_build_constant(graph, 0), term;
    for (int j = 0; j < problem->dim; j++) {
        const hb_node node =
            hb_line_density_log_node(product->lines[product->of_axis[j]], &log_total);
        HB_TRY(hb_graph_copy(product->graph, node, j, graph, &term));
        sum = hb_build_add(graph, sum, term);
        total += log_total;
    }
    return hb_graph_finish(graph, hb_build_subtract(graph, sum, hb_build_constant(graph, total)),
                           log_density);
}

static double product_most(const hb_problem *problem, int axis)
{
    const hb_line_product *product = problem->initial.data;
    return hb_line_density_most(product->lines[product->of_axis[axis]]);
}

#define PRODUCT_OPS                                                                                \
    .kind = HB_INITIAL_KIND_DENSITY, .destroy = hb_line_product_destroy,                           \
    .evaluate = product_evaluate, .box = product_box, .draw = product_draw,                        \
    .formula = product_formula, .axis_mass = product_axis_mass, .most = product_most

static const hb_initial_ops product_ops[] = {{.facts = {.smooth = 1}, PRODUCT_OPS},
                                             {.facts = {.broken = 1}, PRODUCT_OPS},
                                             {.facts = {.broken = 1, .jumps = 1}, PRODUCT_OPS},
                                             {.facts = {.broken = 2}, PRODUCT_OPS},
                                             {.facts = {.broken = 2, .jumps = 1}, PRODUCT_OPS}};

void hb_line_product_end(hb_problem *problem)
{
    const hb_line_product *product = problem->initial.data;
    int worst = 0;
    for (int k = 0; k < product->n_lines; k++) {
        const int breaks = hb_line_density_breaks(product->lines[k]);
        worst = breaks > worst ? breaks : worst;
    }
    problem->initial.ops = product_ops + worst;
}

const hb_initial_ops hb_initial_product = {
    HB_INITIAL_TEXT("product", "product(EXPR)", product_create), PRODUCT_OPS};
