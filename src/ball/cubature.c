/* Cubature on the heat ball: nodes z, sigma and weights for each of the three measures.
 *
 * A rule is a set of shells (shells.c: the law of the backward time and of |z|) times a rule on the
 * sphere of R^dim (sphere_rule.c: the direction). With lift the shells already hold |z| in the
 * first dim coordinates, so the nodes stay in dim dimensions. A shell of radius 0 is one node.
 * Every second shell uses the sphere rule's mirror image -omega, which is as exact, and in 2-D with
 * an odd number of angles stands half a step away.
 *
 * Turned by a random rotation a rule stays exact, and its error on other functions loses its
 * preferred directions. Q of the Householder QR factorisation of a Gaussian matrix, with the signs
 * that make the diagonal of R positive, is uniform on the orthogonal group (F. Mezzadri, How to
 * generate random matrices from the classical compact groups, Notices of the AMS 54, 2007).
 * A number to reproduce: kappa, dim 2, degree 4: 11 nodes, E[sigma] = C1/4 = 0.00994718394324346.
 */
#include "ball/check.h"
#include "ball/shells.h"
#include "ball/sphere_rule.h"
#include "base/context.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

enum { MAX_GAUSS = 128, MAX_PRODUCT_DEGREE = 200, MAX_EXACT_DEGREE = 20 };

struct hb_cubature {
    hb_context *context;
    int dim;
    size_t size;
    double *z, *sigma, *weight; // (size, dim), (size), (size)
    hb_workspace work;
};

void hb_cubature_destroy(hb_cubature *rule)
{
    if (!rule) return;
    hb_workspace_destroy(&rule->work);
    hb_release(rule->context, rule);
}

size_t hb_cubature_size(const hb_cubature *rule)
{
    return rule ? rule->size : 0;
}

int hb_cubature_dim(const hb_cubature *rule)
{
    return rule ? rule->dim : 0;
}

static hb_status cubature_create(hb_context *context, int dim, size_t size, hb_cubature **out)
{
    hb_cubature *rule;
    HB_TRY(HB_NEW(context, rule, 1));
    *rule = (hb_cubature){.context = context, .dim = dim, .size = size};
    const hb_status status =
        HB_WORKSPACE(context, &rule->work, HB_ARRAY(rule->z, size * (size_t)dim),
                     HB_ARRAY(rule->sigma, size), HB_ARRAY(rule->weight, size));
    if (status != HB_OK) hb_cubature_destroy(rule);
    *out = status == HB_OK ? rule : NULL;
    return status;
}

/* ---- shells times sphere ---- */

static size_t cubature_count_nodes(const hb_shells *shells, size_t sphere_size)
{
    size_t count = 0;
    for (size_t i = 0; i < shells->n; i++) count += shells->q[i] > 0 ? sphere_size : 1;
    return count;
}

/* Writes shells x sphere into the rule; D = dim + lift. */
static void cubature_place_nodes(const hb_shells *shells, double D, size_t sphere_size,
                                 const double *sphere, const double *sphere_weight,
                                 hb_cubature *rule)
{
    const size_t d = (size_t)rule->dim;
    size_t node = 0;
    for (size_t i = 0; i < shells->n; i++) {
        const double sigma = exp(-shells->L[i]) / (4 * M_PI);
        const double radius = sqrt(2 * D * sigma * shells->L[i] * shells->q[i]);
        const double reach = i % 2 ? -radius : radius;
        const size_t count = radius > 0 ? sphere_size : 1;
        for (size_t j = 0; j < count; j++, node++) {
            for (size_t c = 0; c < d; c++)
                rule->z[node * d + c] = radius > 0 ? reach * sphere[j * d + c] : 0;
            rule->sigma[node] = sigma;
            rule->weight[node] = shells->weight[i] * (radius > 0 ? sphere_weight[j] : 1);
        }
    }
}

static hb_status cubature_assemble(hb_context *context, const hb_shells *shells, int dim, int lift,
                                   int degree, hb_cubature **out)
{
    double *sphere, *sphere_weight; // (sphere_size, dim), (sphere_size)
    hb_workspace work;
    size_t sphere_size;
    HB_TRY(hb_sphere_rule_size(context, dim, degree, &sphere_size));
    const size_t size = cubature_count_nodes(shells, sphere_size);
    HB_CHECK(context, size <= HB_SPHERE_RULE_MAX, HB_ERROR_ARGUMENT,
             "the cubature rule has %zu nodes; at most %d are allowed", size, HB_SPHERE_RULE_MAX);
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(sphere, sphere_size * (size_t)dim),
                        HB_ARRAY(sphere_weight, sphere_size)));
    hb_status status = hb_sphere_rule_fill(context, dim, degree, sphere, sphere_weight);
    if (status == HB_OK) status = cubature_create(context, dim, size, out);
    if (status == HB_OK)
        cubature_place_nodes(shells, (double)dim + lift, sphere_size, sphere, sphere_weight, *out);
    hb_workspace_destroy(&work);
    return status;
}

static hb_status cubature_check(hb_context *context, hb_measure measure, int dim, int lift,
                                int degree, int max_degree, hb_cubature **out)
{
    HB_CHECK(context, out != NULL, HB_ERROR_ARGUMENT, "the output of the cubature rule is NULL");
    *out = NULL;
    HB_TRY(hb_ball_check_measure(context, measure));
    HB_TRY(hb_ball_check(context, dim, lift, 1));
    HB_CHECK(context, degree >= 0 && degree <= max_degree, HB_ERROR_ARGUMENT,
             "degree is %d; it must be 0 to %d", degree, max_degree);
    size_t sphere_size; // refuse before any work when the sphere alone is too large
    return hb_sphere_rule_size(context, dim, degree, &sphere_size);
}

hb_status hb_cubature_product(hb_context *context, hb_measure measure, int dim, int lift,
                              int n_time, int n_radius, int degree, hb_cubature **out)
{
    HB_TRY(cubature_check(context, measure, dim, lift, degree, MAX_PRODUCT_DEGREE, out));
    HB_CHECK(context, n_time >= 1 && n_time <= MAX_GAUSS, HB_ERROR_ARGUMENT,
             "n_time is %d; it must be 1 to %d", n_time, MAX_GAUSS);
    HB_CHECK(context, n_radius >= 1 && n_radius <= MAX_GAUSS, HB_ERROR_ARGUMENT,
             "n_radius is %d; it must be 1 to %d", n_radius, MAX_GAUSS);
    hb_shell_law law;
    hb_shells shells;
    hb_shells_law(measure, dim, lift, &law);
    /* the share is needed to the power degree/2 */
    HB_TRY(hb_shells_product(context, &law, n_time, n_radius, degree / 4 + 1, &shells));
    hb_status status = cubature_assemble(context, &shells, dim, lift, degree, out);
    hb_shells_destroy(&shells);
    return status;
}

hb_status hb_cubature_exact_law(hb_context *context, const hb_shell_law *law, int dim, int lift,
                                int degree, hb_cubature **out)
{
    hb_shells shells;
    HB_TRY(hb_shells_exact(context, law, degree / 2, &shells));
    hb_status status = cubature_assemble(context, &shells, dim, lift, degree, out);
    hb_shells_destroy(&shells);
    return status;
}

hb_status hb_cubature_exact(hb_context *context, hb_measure measure, int dim, int lift, int degree,
                            hb_cubature **out)
{
    HB_TRY(cubature_check(context, measure, dim, lift, degree, MAX_EXACT_DEGREE, out));
    hb_shell_law law;
    hb_shells_law(measure, dim, lift, &law);
    return hb_cubature_exact_law(context, &law, dim, lift, degree, out);
}

/* ---- nodes, turned ---- */

/* Q (d, d), uniform on the orthogonal group: a function of (seed, index). tau is scratch (d). */
static hb_status cubature_random_rotation(hb_context *context, size_t d, uint64_t seed,
                                          uint64_t index, double *Q, double *tau)
{
    HB_CHECK(context, index < UINT64_MAX / (d * d), HB_ERROR_ARGUMENT,
             "index is %llu; in %zu dimensions it must be below %llu", (unsigned long long)index, d,
             (unsigned long long)(UINT64_MAX / (d * d)));
    HB_TRY(hb_random_normal(context, seed, HB_STREAM_ROTATION, index * d * d, d * d, Q));
    const lapack_int n = (lapack_int)d;
    lapack_int info = LAPACKE_dgeqrf(LAPACK_COL_MAJOR, n, n, Q, n, tau);
    double *sign = tau + d; // (d) of the diagonal of R
    for (size_t i = 0; i < d; i++) sign[i] = Q[i * d + i] < 0 ? -1 : 1;
    if (info == 0) info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, n, n, n, Q, n, tau);
    HB_CHECK(context, info == 0, HB_ERROR_NUMERICAL, "LAPACK's QR returned %d", (int)info);
    for (size_t j = 0; j < d; j++)
        for (size_t i = 0; i < d; i++) Q[j * d + i] *= sign[j];
    return HB_OK;
}

/* out_i = Q z_i for every node */
static void cubature_rotate(const hb_cubature *rule, const double *Q, double *out)
{
    const size_t d = (size_t)rule->dim;
    memset(out, 0, rule->size * d * sizeof *out);
    for (size_t node = 0; node < rule->size; node++)
        for (size_t j = 0; j < d; j++) {
            const double component = rule->z[node * d + j];
            if (component == 0) continue;
            for (size_t i = 0; i < d; i++) out[node * d + i] += Q[j * d + i] * component;
        }
}

static hb_status cubature_write_turned(hb_context *context, const hb_cubature *rule, uint64_t seed,
                                       uint64_t index, double *z)
{
    const size_t d = (size_t)rule->dim;
    void *memory;
    HB_TRY(hb_allocate(context, d + 2, d * sizeof(double), &memory));
    double *Q = memory; // (d, d), then tau and signs (2, d)
    hb_status status = cubature_random_rotation(context, d, seed, index, Q, Q + d * d);
    if (status == HB_OK) cubature_rotate(rule, Q, z);
    hb_release(context, Q);
    return status;
}

hb_status hb_cubature_nodes(hb_context *context, const hb_cubature *rule, int turned, uint64_t seed,
                            uint64_t index, double *z, double *sigma, double *weight)
{
    HB_CHECK(context, rule != NULL, HB_ERROR_ARGUMENT, "the cubature rule is NULL");
    const size_t n = rule->size;
    if (sigma) memcpy(sigma, rule->sigma, n * sizeof *sigma);
    if (weight) memcpy(weight, rule->weight, n * sizeof *weight);
    if (!z) return HB_OK;
    if (turned) return cubature_write_turned(context, rule, seed, index, z);
    memcpy(z, rule->z, n * (size_t)rule->dim * sizeof *z);
    return HB_OK;
}
