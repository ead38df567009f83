/* Nodes on the unit heat ball for the averages of the hierarchy. With D = dim + lift:
 *
 *     F = E_kappa[F]       + (C1 r^2/4) E_source[h_F],    nodes (s z, s^2 sigma), s = sqrt(U)
 *     S = E_kappa[grad v]  + r E[arm h_v],                nodes (U z, U^2 sigma)
 *
 * with U uniform. The arm is the vector z/(2 sigma) of the kernel, seen from the measure that the
 * nodes are drawn from. Two measures are used:
 *   gradient, density |z|/(2 sigma), mass c_g/D:   arm = c_g z/|z|       (Monte Carlo, lift = 0)
 *   slope,    density 1/(2 sigma),   mass 1/D:     arm = z               (lift > 0, and cubature)
 * z of the slope measure needs no |z| over the dropped coordinates, so lifting leaves it as it is,
 * and z h_v is a polynomial when h_v is one, so exact rules stay exact. Its law: L = -ln(4 pi sigma) ~
 * Gamma(D/2+1, rate D/2), |z|^2/R^2 ~ Beta(D/2, 1), i.e. sigma = exp(-|g_1..D+2|^2/D)/(4 pi),
 * z = sqrt(2 sigma) g_1..D (docs/mean-value.md). A draw of the source measure holds g_1..dim and T =
 * |g_1..D+4|^2; of the lift+4 squares besides the kept ones the last two have the share 1 - V with
 * V ~ Beta((lift+2)/2, 1), that is V = U^(2/(lift+2)): one uniform turns it into a draw of slope.
 *
 * A number to reproduce: E_slope[|z|^2] = D C1/2, 0.0397887 in the plane. */
#include "ball/clouds.h"
#include "ball/cubature_law.h"
#include "ball/quadrature.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

/* Streams from HB_STREAM_MEAN_VALUE on. */
enum { STREAM_SEEDS, STREAM_SOURCE, STREAM_SCORE, STREAM_SHARE };

enum { MAX_NODES = 20000000 };

hb_status hb_cloud_seeds(hb_context *context, uint64_t seed, uint64_t index, uint64_t seeds[2])
{
    uint32_t words[4];
    HB_TRY(
        hb_random_words(context, seed, HB_STREAM_MEAN_VALUE + STREAM_SEEDS, 4 * index, 4, words));
    seeds[0] = words[0] | (uint64_t)words[1] << 32;
    seeds[1] = words[2] | (uint64_t)words[3] << 32;
    return HB_OK;
}

/* ---- Monte Carlo ------------------------------------------------------------------------------ */

/* Turns draws of the source measure into draws of the slope measure, in place. */
static hb_status slope_from_source(hb_context *context, const hb_cloud_draw *draw, uint64_t first,
                                   size_t pairs)
{
    const size_t d = (size_t)draw->dim;
    const double D = (double)draw->dim + draw->lift;
    HB_TRY(hb_random_uniform(context, draw->seeds[1], HB_STREAM_MEAN_VALUE + STREAM_SHARE, first,
                             pairs, draw->uniform));
    for (size_t k = 0; k < pairs; k++) {
        double *z = draw->z + k * d;
        const double to_normal = 1 / sqrt(2 * D * draw->sigma[k] / (D + 2)); // g = to_normal z
        const double kept = to_normal * to_normal * hb_dot(d, z, z);
        const double total = -(D + 2) * log(4 * M_PI * draw->sigma[k]);
        const double share = pow(draw->uniform[k], 2 / (draw->lift + 2.0));
        const double sum = kept + fmax(0, total - kept) * share; // |g_1..D+2|^2
        draw->sigma[k] = exp(-sum / D) / (4 * M_PI);
        const double scale = sqrt(2 * draw->sigma[k]) * to_normal;
        for (size_t i = 0; i < d; i++) z[i] *= scale;
    }
    return HB_OK;
}

/* z, sigma of the measure that belongs to the kind; the arms of the score's nodes. */
static hb_status draw_measure(hb_context *context, const hb_cloud_draw *draw, hb_cloud_kind kind,
                              uint64_t first, size_t pairs, double *arm)
{
    const size_t d = (size_t)draw->dim;
    const int score = kind == HB_CLOUD_SCORE, slope = score && draw->lift > 0;
    const hb_measure measure = kind == HB_CLOUD_VALUE ? HB_MEASURE_KAPPA
                               : !score || slope      ? HB_MEASURE_SOURCE
                                                      : HB_MEASURE_GRADIENT;
    HB_TRY(hb_ball_sample(context, measure, draw->dim, draw->lift, draw->seeds[score], first, pairs,
                          1, draw->z, draw->sigma));
    if (slope) HB_TRY(slope_from_source(context, draw, first, pairs));
    for (size_t k = 0; k < pairs && score; k++) {
        const double *z = draw->z + k * d;
        const double length = slope ? 1 : draw->c_g / sqrt(hb_dot(d, z, z));
        for (size_t i = 0; i < d; i++) {
            arm[2 * k * d + i] = length * z[i];
            arm[(2 * k + 1) * d + i] = -length * z[i];
        }
    }
    return HB_OK;
}

/* Rows 2k and 2k+1 at +-scale z, scale^2 sigma. */
static void place_pair(const hb_cloud_draw *draw, size_t k, double scale, hb_cloud *out)
{
    const size_t d = (size_t)draw->dim;
    for (size_t i = 0; i < d; i++) {
        out->y[2 * k * d + i] = scale * draw->z[k * d + i];
        out->y[(2 * k + 1) * d + i] = -scale * draw->z[k * d + i];
    }
    out->s[2 * k] = out->s[2 * k + 1] = scale * scale * draw->sigma[k];
}

hb_status hb_cloud_random(hb_context *context, const hb_cloud_draw *draw, hb_cloud_kind kind,
                          uint64_t first, size_t pairs, hb_cloud *out)
{
    HB_TRY(draw_measure(context, draw, kind, first, pairs, out->arm));
    if (kind != HB_CLOUD_VALUE)
        HB_TRY(hb_random_uniform(context, draw->seeds[0],
                                 HB_STREAM_MEAN_VALUE +
                                     (kind == HB_CLOUD_SOURCE ? STREAM_SOURCE : STREAM_SCORE),
                                 first, pairs, draw->uniform));
    for (size_t k = 0; k < pairs; k++)
        place_pair(draw, k,
                   kind == HB_CLOUD_VALUE    ? 1
                   : kind == HB_CLOUD_SOURCE ? sqrt(draw->uniform[k])
                                             : draw->uniform[k],
                   out);
    out->n = 2 * pairs;
    return HB_OK;
}

/* ---- cubature --------------------------------------------------------------------------------- */

void hb_cloud_destroy(hb_context *context, hb_cloud *cloud)
{
    hb_release(context, cloud->y); // one block, see create_cloud
    *cloud = (hb_cloud){0};
}

static hb_status create_cloud(hb_context *context, size_t n, size_t d, hb_cloud *out)
{
    void *memory;
    HB_TRY(hb_allocate(context, n, (2 * d + 2) * sizeof(double), &memory));
    double *block = memory;
    *out = (hb_cloud){n, block, block + 2 * n * d, block + 2 * n * d + n, block + n * d};
    return HB_OK;
}

static hb_status create_rule(hb_context *context, hb_cloud_kind kind, int dim, int lift, int degree,
                             hb_cubature **out)
{
    if (kind != HB_CLOUD_SCORE)
        return hb_cubature_exact(context,
                                 kind == HB_CLOUD_VALUE ? HB_MEASURE_KAPPA : HB_MEASURE_SOURCE, dim,
                                 lift, degree, out);
    const double n = 0.5 * dim + 0.5 * lift;
    const hb_shell_law slope = {n + 1, n, n, 1, 0.5 * dim, 0.5 * lift};
    return hb_cubature_exact_law(context, &slope, dim, lift, degree, out);
}

/* The law of the scale rho/r: 1 for values, sqrt(U) ~ Beta(2,1), U ~ Beta(1,1). */
static hb_status scale_rule(hb_context *context, hb_cloud_kind kind, int degree, int *count,
                            double *scale, double *weight)
{
    *count = kind == HB_CLOUD_VALUE ? 1 : degree / 2 + 1;
    scale[0] = weight[0] = 1;
    if (kind == HB_CLOUD_VALUE) return HB_OK;
    return hb_quadrature_beta(context, kind == HB_CLOUD_SOURCE ? 2 : 1, 1, *count, scale, weight);
}

/* Copies the m nodes of the first scale to the others; scale by scale, so that equal times stay
 * neighbours. */
static void spread_over_scales(size_t m, size_t d, int count, const double *scale,
                               const double *weight, hb_cloud *out)
{
    for (int j = count - 1; j >= 0; j--)
        for (size_t i = 0; i < m; i++) {
            const size_t node = (size_t)j * m + i;
            for (size_t c = 0; c < d; c++) {
                out->arm[node * d + c] = out->y[i * d + c];
                out->y[node * d + c] = scale[j] * out->y[i * d + c];
            }
            out->s[node] = scale[j] * scale[j] * out->s[i];
            out->weight[node] = weight[j] * out->weight[i];
        }
}

static hb_status fill_cloud(hb_context *context, const hb_cubature *rule, hb_cloud_kind kind,
                            int degree, uint64_t seed, int rotation, hb_cloud *out)
{
    double scale[HB_QUADRATURE_MAX], weight[HB_QUADRATURE_MAX];
    int count;
    const size_t m = hb_cubature_size(rule), d = (size_t)hb_cubature_dim(rule);
    HB_TRY(scale_rule(context, kind, degree, &count, scale, weight));
    const size_t n = m * (size_t)count;
    HB_CHECK(context, n <= MAX_NODES, HB_ERROR_ARGUMENT,
             "degree is %d, which takes %zu nodes in dim %zu; at most %d are allowed: lower the "
             "degree, or set it to 0 for Monte Carlo",
             degree, n, d, MAX_NODES);
    HB_TRY(create_cloud(context, n, d, out));
    hb_status status = hb_cubature_nodes(context, rule, rotation > 0, seed, (uint64_t)rotation,
                                         out->y, out->s, out->weight);
    if (status == HB_OK)
        spread_over_scales(m, d, count, scale, weight, out);
    else
        hb_cloud_destroy(context, out);
    return status;
}

hb_status hb_cloud_cubature(hb_context *context, hb_cloud_kind kind, int dim, int lift, int degree,
                            uint64_t seed, int first, int rotations, hb_cloud *out)
{
    hb_cubature *rule = NULL;
    hb_status status = create_rule(context, kind, dim, lift, degree, &rule);
    for (int rotation = 0; rotation < rotations && status == HB_OK; rotation++)
        status = fill_cloud(context, rule, kind, degree, seed, first + rotation, out + rotation);
    hb_cubature_destroy(rule);
    return status;
}
