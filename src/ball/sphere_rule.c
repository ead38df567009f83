/* Rules on the sphere S^{d-1}: sum_j weight_j p(node_j) = mean of p over the sphere, for every
 * polynomial p of degree at most `degree`.
 *
 *     d = 1   the two points +1, -1 (one point for degree 0)
 *     d = 2   degree+1 equispaced angles: the mean of e^{ikx} over m angles is 0 for 0 < |k| < m
 *     d >= 3, degree 2 or 3   the 2d points +-e_i
 *     d >= 3  (x, sqrt(1-x^2) omega'): omega' from the rule on S^{d-2}, and x from the Gauss rule
 * of its own law, (1+x)/2 ~ Beta((d-1)/2, (d-1)/2), with floor(degree/2)+1 nodes. Odd powers of
 *             sqrt(1-x^2) come with odd polynomials of omega', which the smaller rule makes zero.
 * So floor(degree/2)+1 to the power d-2, times degree+1, nodes in general (A. H. Stroud,
 * Approximate Calculation of Multiple Integrals, 1971, chapter 2). A number to reproduce: the mean
 * of x^4 over S^2 is 1/5. */
#include "ball/sphere_rule.h"
#include "ball/quadrature.h"
#include "base/context.h"

#include <math.h>
#include <string.h>

static int cross_polytope_suffices(int dim, int degree)
{
    return dim >= 3 && (degree == 2 || degree == 3);
}

hb_status hb_sphere_rule_size(hb_context *context, int dim, int degree, size_t *out)
{
    HB_CHECK(context, degree >= 0 && degree < 2 * HB_QUADRATURE_MAX, HB_ERROR_ARGUMENT,
             "the degree of a sphere rule is %d; it must be 0 to %d", degree,
             2 * HB_QUADRATURE_MAX - 1);
    const int n_x = degree / 2 + 1; // Gauss nodes of each further dimension
    double size = dim == 1 ? (degree ? 2 : 1) : degree + 1;
    if (cross_polytope_suffices(dim, degree))
        size = 2.0 * dim;
    else
        size *= pow(n_x, dim > 2 ? dim - 2 : 0);
    HB_CHECK(context, size <= HB_SPHERE_RULE_MAX, HB_ERROR_ARGUMENT,
             "the sphere rule of degree %d in %d dimensions has %.4g nodes; at most %d are allowed",
             degree, dim, size, HB_SPHERE_RULE_MAX);
    *out = (size_t)size;
    return HB_OK;
}

static void fill_cross_polytope(int dim, double *nodes, double *weights)
{
    const size_t d = (size_t)dim;
    memset(nodes, 0, 2 * d * d * sizeof *nodes);
    for (size_t i = 0; i < 2 * d; i++) {
        nodes[i * d + i / 2] = i % 2 ? -1 : 1;
        weights[i] = 0.5 / dim;
    }
}

/* +1, -1 in d = 1 and equispaced angles in d = 2, written with rows of `stride` numbers. */
static void fill_lowest(int dim, size_t size, size_t stride, double *nodes, double *weights)
{
    for (size_t i = 0; i < size; i++) {
        const double angle = 2 * M_PI * (double)i / (double)size;
        nodes[i * stride] = dim == 1 ? 1 - 2 * (double)i : cos(angle);
        if (dim == 2) nodes[i * stride + 1] = sin(angle);
        weights[i] = 1 / (double)size;
    }
}

/* One level up: rows of `stride` numbers hold a rule on S^{dim-2} in their first dim-1 places;
 * gives them the n_x values of the new, last coordinate. Copies go from the last row down, in
 * place. */
static hb_status raise_dimension(hb_context *context, int dim, int n_x, size_t *size, size_t stride,
                                 double *nodes, double *weights)
{
    double x[HB_QUADRATURE_MAX], w[HB_QUADRATURE_MAX];
    HB_TRY(hb_quadrature_beta(context, 0.5 * (dim - 1), 0.5 * (dim - 1), n_x, x, w));
    for (int k = n_x - 1; k >= 0; k--) {
        const double t = x[k], last = 2 * t - 1, shrink = 2 * sqrt(t * (1 - t));
        for (size_t i = 0; i < *size; i++) {
            double *row = nodes + ((size_t)k * *size + i) * stride;
            for (int c = 0; c < dim - 1; c++) row[c] = shrink * nodes[i * stride + (size_t)c];
            row[dim - 1] = last;
            weights[(size_t)k * *size + i] = w[k] * weights[i];
        }
    }
    *size *= (size_t)n_x;
    return HB_OK;
}

hb_status hb_sphere_rule_fill(hb_context *context, int dim, int degree, double *nodes,
                              double *weights)
{
    size_t total, size = 0;
    HB_TRY(hb_sphere_rule_size(context, dim, degree, &total));
    if (cross_polytope_suffices(dim, degree)) {
        fill_cross_polytope(dim, nodes, weights);
        return HB_OK;
    }
    const int lowest = dim < 2 ? dim : 2;
    HB_TRY(hb_sphere_rule_size(context, lowest, degree, &size));
    fill_lowest(lowest, size, (size_t)dim, nodes, weights);
    for (int level = 3; level <= dim; level++)
        HB_TRY(raise_dimension(context, level, degree / 2 + 1, &size, (size_t)dim, nodes, weights));
    return HB_OK;
}
