/* density(EXPR): a density in x1 .. xd (x, y, z), known up to a factor.
 *
 * A formula whose factors have one coordinate each is a product of densities on the line
 * (initial_product.c), in any dimension. Every other is normalised in d = 2, 3 by the midpoint rule
 * in a box (box_density.c), which must agree with twice the points to 1e-9; it has to be smooth
 * there and to fall by e^-40. Where EXPR has no value the density is 0.
 * A number to reproduce: density(exp(-x^2 - x*y - y^2)) is sqrt(3)/(2 pi) in 0. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/initial/line_product.h"

typedef struct joint {
    hb_box_density box;
    hb_graph *graph;
    hb_density_formula formula;
    hb_node node;
    int n_breaks, n_jumps;
} joint;

static hb_status joint_raw(hb_context *context, const hb_problem *problem, size_t n,
                           const double *x, double *log_density, double *gradient)
{
    const joint *j = problem->initial.data;
    return hb_density_formula_run(context, &j->formula, "density", (size_t)problem->dim, n, x,
                                  log_density, gradient);
}

static hb_status joint_formula(const hb_problem *problem, hb_graph *graph, hb_node *log_density)
{
    const joint *j = problem->initial.data;
    HB_TRY(hb_graph_copy(j->graph, j->formula.log_node, 0, graph, log_density));
    return hb_graph_finish(
        graph, hb_build_subtract(graph, *log_density, hb_build_constant(graph, j->box.log_total)),
        log_density);
}

static void joint_destroy(hb_context *context, void *data)
{
    joint *j = data;
    hb_density_formula_destroy(&j->formula);
    hb_graph_destroy(j->graph);
    hb_box_density_destroy(context, data);
}

#define JOINT_OPS                                                                                  \
    .kind = HB_INITIAL_KIND_DENSITY, .destroy = joint_destroy, .formula = joint_formula,           \
    HB_BOX_DENSITY_OPS

static const hb_initial_ops smooth = {.facts = {.smooth = 1}, JOINT_OPS};
static const hb_initial_ops rough = {.facts = {.broken = 1}, JOINT_OPS};
static const hb_initial_ops jumping = {.facts = {.broken = 1, .jumps = 1}, JOINT_OPS};

static hb_status count_breaks(joint *j, hb_node node)
{
    for (hb_node i = 0; i <= node; i++) {
        hb_break_kind kind;
        hb_node argument;
        if (j->graph->nodes[i].depends >> 1 == 0) continue;
        HB_TRY(hb_break_find(j->graph, i, &kind, &argument));
        j->n_breaks += argument != HB_NO_NODE;
        j->n_jumps += argument != HB_NO_NODE && kind == HB_BREAK_JUMP;
    }
    return HB_OK;
}

/* The graph is the problem's from here on. */
static hb_status create_joint(const hb_initial_text *text, hb_problem *problem, hb_graph *graph,
                              hb_node node)
{
    joint *j;
    hb_context *context = text->context;
    const hb_status status = text->dim > 3
                                 ? hb_fail(context, HB_ERROR_ARGUMENT,
                                           "density: dim is %d and the factors of the formula have "
                                           "several coordinates; it is normalised in dim 1 to 3",
                                           text->dim)
                                 : hb_initial_data(context, problem, sizeof *j, &j);
    if (status != HB_OK) {
        hb_graph_destroy(graph);
        return status;
    }
    j->graph = graph;
    j->node = node;
    j->box = (hb_box_density){.problem = problem,
                              .raw = joint_raw,
                              .what = "density",
                              .steady = 1e-9,
                              .graph = graph,
                              .n_nodes = 1,
                              .nodes = &j->node};
    HB_TRY(count_breaks(j, node));
    HB_TRY(hb_density_formula_compile(graph, node, &j->formula));
    problem->initial.ops = j->n_jumps ? &jumping : j->n_breaks ? &rough : &smooth;
    HB_TRY(hb_box_density_find(context, &j->box));
    return hb_box_density_create(context, &j->box);
}

static hb_status density_create_product(const hb_initial_text *text, hb_problem *problem,
                                        const hb_graph *graph, const hb_node *axis)
{
    hb_line_product *product;
    double sign = 1;
    hb_graph_is_constant(graph, axis[0], &sign);
    problem->initial.ops = &hb_initial_product; /* its destroy, should this fail */
    HB_TRY(hb_line_product_begin(text, problem, &product));
    for (int j = 0; j < text->dim; j++) {
        hb_node node;
        HB_TRY(hb_graph_copy(graph, axis[j + 1], -j, product->graph, &node));
        if (j == 0)
            HB_TRY(hb_graph_finish(product->graph, hb_build_scaled(product->graph, sign, node),
                                   &node));
        HB_TRY(hb_line_product_axis(text, product, j, node));
    }
    hb_line_product_end(problem);
    return HB_OK;
}

static hb_status density_parse(const hb_initial_text *text, hb_graph *graph, hb_node *node,
                               hb_node *axis, int *whole)
{
    HB_TRY(hb_drift_parameters(text->context, text->settings, graph));
    HB_TRY(hb_graph_parse(graph, text->arguments, "density", 0, node));
    HB_CHECK(text->context, !hb_graph_depends(graph, *node, 0), HB_ERROR_ARGUMENT,
             "density: '%.60s' depends on t; an initial density may not", text->arguments);
    return hb_log_form_axes(graph, *node, axis, whole);
}

static hb_status density_create(const hb_initial_text *text, hb_problem *problem)
{
    hb_context *context = text->context;
    hb_graph *graph;
    hb_node node;
    void *axis;
    int whole;
    HB_CHECK(context, text->arguments && text->arguments[0], HB_ERROR_ARGUMENT,
             "density needs a formula in x1 .. xd, as in density(exp(-x^2 - x*y - y^2))");
    HB_TRY(hb_graph_create(context, text->dim, &graph));
    hb_status status = hb_allocate(context, (size_t)text->dim + 1, sizeof(hb_node), &axis);
    if (status != HB_OK) {
        hb_graph_destroy(graph);
        return status;
    }
    status = density_parse(text, graph, &node, axis, &whole);
    if (status == HB_OK && !whole)
        status = create_joint(text, problem, graph, node);
    else {
        if (status == HB_OK) status = density_create_product(text, problem, graph, axis);
        hb_graph_destroy(graph);
    }
    hb_release(context, axis);
    return status;
}

const hb_initial_ops hb_initial_density = {
    HB_INITIAL_TEXT("density", "density(EXPR)", density_create), JOINT_OPS};
