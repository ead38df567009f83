/* A start that is a formula, in the coordinates of a transform: ln u_y(y) = ln u_x(x(y)) + sum ln
 * b_i + ln |det L|.
 *
 * It is a Gaussian when its second derivatives are constant as formulas (fingerprint.c): with H =
 * -C^-1 their matrix the mean is C times the gradient in 0. ln u_y(0) must then be what such a
 * Gaussian has there: a formula that has no value in a part of the space fails that. So
 * exp(-log(x)^2/2)/x with the noise x is N(0, 1) in y = ln x, and walks have closed forms. Else,
 * where no axes are mixed, the formula of each axis is a density on the line in y.
 * A number to reproduce: product(exp(-(log(x) - 0.7)^2)/x) is N(0.7, 0.5). */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "formula/graph.h"
#include "problem/initial/line_product.h"
#include "problem/transform/transform.h"

#include <lapacke.h>
#include <math.h>
#include <string.h>

static const double SAME = 1e-8; /* ln u in 0, of the formula and of the Gaussian */

extern const hb_initial_ops hb_initial_gaussian;

/* ---- the formula in y ---- */

/* ln u_y as a node of `to`. */
static hb_status in_transform(hb_context *context, const hb_problem *problem, const double *L,
                              hb_graph *from, hb_graph *to, hb_node *out)
{
    const hb_transform *transform = problem->transform;
    const int d = problem->dim;
    hb_node log_density, volume;
    hb_node *x; // (d)
    double constant = 0;
    HB_TRY(problem->outside->initial.ops->formula(problem->outside, from, &log_density));
    HB_TRY(HB_NEW(context, x, (size_t)d));
    volume = hb_build_constant(to, 0);
    for (int i = 0; i < d; i++) {
        hb_node z = hb_build_constant(to, 0);
        for (int j = 0; j <= i; j++)
            z = hb_build_add(to, z,
                             hb_build_scaled(to, L[i * d + j], hb_build_variable(to, j + 1)));
        constant += log(fabs(L[i * d + i]));
        x[i] = hb_axis_x_node(&transform->axes[i], to, z);
        volume =
            hb_build_add(to, volume, hb_build_log(to, hb_axis_b_node(&transform->axes[i], to, z)));
    }
    volume = hb_build_add(to, volume, hb_build_constant(to, constant));
    hb_status status = hb_graph_finish(to, volume, &volume);
    if (status == HB_OK)
        status = hb_graph_substitute(from, 1, &log_density, x, hb_build_constant(to, 0), to, out);
    if (status == HB_OK) status = hb_graph_finish(to, hb_build_add(to, *out, volume), out);
    hb_release(context, x);
    return status;
}

/* ---- Gaussians ---- */

typedef struct quadratic {
    double value;     /* of ln u in y = 0 */
    double *gradient; // (d), there
    double *hessian;  // (d, d)
} quadratic;

static hb_status is_constant(hb_context *context, hb_graph *graph, int d, hb_node node, int *yes)
{
    *yes = 1;
    for (int k = 1; k <= d && *yes; k++) {
        hb_node slope;
        if (!hb_graph_depends(graph, node, k)) continue;
        HB_TRY(hb_graph_derivative(graph, node, k, &slope));
        HB_TRY(hb_formula_is_zero(context, graph, slope, yes));
    }
    return HB_OK;
}

static hb_status read_quadratic(hb_context *context, hb_graph *graph, int d, hb_node node,
                                quadratic *q, int *yes)
{
    int broken;
    HB_TRY(hb_formula_has_breaks(context, graph, node, HB_BREAKS_IN_X, &broken));
    *yes = !broken;
    HB_TRY(hb_formula_at_zero(context, graph, node, &q->value));
    for (int i = 0; i < d && *yes; i++) {
        hb_node slope, second;
        HB_TRY(hb_graph_derivative(graph, node, i + 1, &slope));
        HB_TRY(hb_formula_at_zero(context, graph, slope, &q->gradient[i]));
        for (int j = 0; j <= i && *yes; j++) {
            HB_TRY(hb_graph_derivative(graph, slope, j + 1, &second));
            HB_TRY(is_constant(context, graph, d, second, yes));
            if (!*yes) break;
            HB_TRY(hb_formula_at_zero(context, graph, second, &q->hessian[i * d + j]));
            q->hessian[j * d + i] = q->hessian[i * d + j];
            *yes = isfinite(q->hessian[i * d + j]);
        }
        *yes &= isfinite(q->gradient[i]) != 0;
    }
    *yes &= isfinite(q->value) != 0;
    return HB_OK;
}

/* mean[d] and covariance C[d][d] of the Gaussian; 0: it is none, or not a normalised one. */
static int solve_quadratic(size_t n, const quadratic *q, double *mean, double *C)
{
    const int d = (int)n;
    double squares = 0, log_volume = 0;
    for (size_t k = 0; k < n * n; k++) C[k] = -q->hessian[k];
    if (LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', d, C, d) != 0) return 0;
    for (size_t i = 0; i < n; i++) log_volume -= log(C[i * n + i]);
    if (LAPACKE_dpotri(LAPACK_COL_MAJOR, 'U', d, C, d) != 0) return 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) C[j * n + i] = C[i * n + j];
    for (size_t i = 0; i < n; i++) {
        mean[i] = hb_dot(n, C + i * n, q->gradient);
        squares += mean[i] * q->gradient[i];
    }
    const double value = -0.5 * (d * log(2 * M_PI) + squares) - log_volume;
    return fabs(value - q->value) <= SAME * (1 + fabs(value));
}

/* N(mean, C) becomes the problem's start. */
static hb_status make_gaussian(hb_context *context, hb_problem *problem, const double *mean,
                               const double *C)
{
    const size_t n = (size_t)problem->dim;
    int diagonal = 1;
    hb_gaussians *g;
    problem->initial.ops = &hb_initial_gaussian;
    HB_TRY(hb_gaussians_create(context, problem, 1, 1, &g));
    memcpy(g->mean, mean, n * sizeof *mean);
    for (size_t i = 0; i < n; i++) g->sd[i] = sqrt(C[i * (n + 1)]);
    for (size_t k = 0; k < n * n; k++) diagonal &= k % (n + 1) == 0 || C[k] == 0;
    if (!diagonal) {
        HB_TRY(HB_NEW(context, g->cholesky, n * n));
        memcpy(g->cholesky, C, n * n * sizeof *C);
        LAPACKE_dpotrf(LAPACK_COL_MAJOR, 'U', problem->dim, g->cholesky, problem->dim);
        for (size_t k = 0; k < n * n; k++)
            if (k % n > k / n) g->cholesky[k] = 0;
    }
    return hb_gaussians_prepare(context, problem->dim, NULL, g);
}

static hb_status try_gaussian(hb_context *context, hb_problem *problem, hb_graph *graph,
                              hb_node node, int *taken)
{
    const size_t d = (size_t)problem->dim;
    hb_workspace work;
    quadratic q = {0};
    double *mean, *C;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(q.gradient, d), HB_ARRAY(q.hessian, d * d),
                        HB_ARRAY(mean, d), HB_ARRAY(C, d * d)));
    hb_status status = read_quadratic(context, graph, problem->dim, node, &q, taken);
    *taken = status == HB_OK && *taken && solve_quadratic(d, &q, mean, C);
    if (*taken) status = make_gaussian(context, problem, mean, C);
    hb_workspace_destroy(&work);
    return status;
}

/* ---- products ---- */

/* exp(ln u) of one axis as a node in y of the product's graph. */
static hb_status axis_in_transform(const hb_axis_map *map, double scale,
                                   const hb_line_product *from, int axis, hb_graph *to,
                                   hb_node *out)
{
    double log_total;
    hb_node node = hb_line_density_log_node(from->lines[from->of_axis[axis]], &log_total);
    const hb_node z = hb_build_scaled(to, scale, hb_build_variable(to, 1));
    hb_node x = hb_axis_x_node(map, to, z);
    HB_TRY(hb_graph_substitute(from->graph, 1, &node, &x, hb_build_constant(to, 0), to, &node));
    node = hb_build_subtract(to, node, hb_build_constant(to, log_total - log(fabs(scale))));
    node = hb_build_add(to, node, hb_build_log(to, hb_axis_b_node(map, to, z)));
    return hb_graph_finish(to, hb_build_unary(to, HB_OP_EXP, node), out);
}

static hb_status take_product(hb_context *context, hb_problem *problem, const double *L)
{
    const int d = problem->dim;
    hb_problem_settings none;
    hb_problem_settings_default(sizeof none, &none);
    const hb_initial_text text = {
        .context = context, .name = "product", .settings = &none, .dim = d};
    const hb_line_product *from = problem->outside->initial.data;
    hb_line_product *product;
    problem->initial.ops = &hb_initial_product;
    HB_TRY(hb_line_product_begin(&text, problem, &product));
    for (int i = 0; i < d; i++) {
        hb_node node;
        HB_TRY(axis_in_transform(&problem->transform->axes[i], L[i * (d + 1)], from, i,
                                 product->graph, &node));
        HB_TRY(hb_line_product_axis(&text, product, i, node));
    }
    hb_line_product_end(problem);
    return HB_OK;
}

hb_status hb_initial_take_formula(hb_context *context, hb_problem *problem, const double *L,
                                  int *taken)
{
    const hb_initial_ops *ops = problem->outside->initial.ops;
    hb_graph *from = NULL, *to = NULL;
    hb_node node;
    *taken = 0;
    if (!ops->formula) return HB_OK;
    hb_status status = hb_graph_create(context, problem->dim, &from);
    if (status == HB_OK) status = hb_graph_create(context, problem->dim, &to);
    if (status == HB_OK) status = in_transform(context, problem, L, from, to, &node);
    if (status == HB_OK) status = try_gaussian(context, problem, to, node, taken);
    hb_graph_destroy(from);
    hb_graph_destroy(to);
    if (status != HB_OK || *taken) return status;
    if (ops->destroy != hb_line_product_destroy || problem->transform->turns) return HB_OK;
    *taken = 1;
    return take_product(context, problem, L);
}
