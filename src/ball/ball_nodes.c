/* Nodes on the unit heat ball for the averages of the hierarchy. With D = dim + lift:
 *
 *     F = E_kappa[F]       + (C1 r^2/4) E_source[h_F],    nodes (s z, s^2 sigma), s = sqrt(U)
 *     S = E_kappa[grad v]  + r E[arm h_v],                nodes (U z, U^2 sigma)
 *
 * with U uniform. The arm is the vector z/(2 sigma) of the kernel, seen from the measure that the
 * nodes are drawn from. Two measures are used:
 *   gradient, density |z|/(2 sigma), mass c_g/D:   arm = c_g z/|z|       (Monte Carlo, lift = 0)
 *   slope,    density 1/(2 sigma),   mass 1/D:     arm = z               (lift > 0, and cubature)
 * z of the slope measure needs no |z| over the dropped coordinates, so auxiliary dimensions leave
 * it as it is, and z h_v is a polynomial when h_v is one, so exact rules stay exact. Its law: L =
 * -ln(4 pi sigma) ~ Gamma(D/2+1, rate D/2), |z|^2/R^2 ~ Beta(D/2, 1), i.e. sigma =
 * exp(-|g_1..D+2|^2/D)/(4 pi), z = sqrt(2 sigma) g_1..D (docs/explanation/mean-value.md). A draw of the source
 * measure holds g_1..dim and T = |g_1..D+4|^2; of the lift+4 squares besides the kept ones the last
 * two have the share 1 - V with V ~ Beta((lift+2)/2, 1), that is V = U^(2/(lift+2)): one uniform
 * turns it into a draw of slope.
 *
 * A number to reproduce: E_slope[|z|^2] = D C1/2, 0.0397887 in two dimensions. */
#include "ball/ball_nodes.h"
#include "ball/quadrature.h"
#include "ball/shells.h"
#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>

/* Streams from HB_STREAM_MEAN_VALUE on. */
enum { STREAM_SEEDS, STREAM_SOURCE, STREAM_SCORE, STREAM_SHARE };

enum { MAX_NODES = 20000000 };

hb_status hb_ball_nodes_seeds(hb_context *context, uint64_t seed, uint64_t index, uint64_t seeds[2])
{
    uint32_t words[4];
    HB_TRY(
        hb_random_words(context, seed, HB_STREAM_MEAN_VALUE + STREAM_SEEDS, 4 * index, 4, words));
    seeds[0] = words[0] | (uint64_t)words[1] << 32;
    seeds[1] = words[2] | (uint64_t)words[3] << 32;
    return HB_OK;
}

/* ---- Monte Carlo ---- */

/* Turns draws of the source measure into draws of the slope measure, in place. */
static hb_status slope_from_source(hb_context *context, const hb_ball_nodes_draw *draw,
                                   uint64_t first, size_t pairs)
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
static hb_status draw_measure(hb_context *context, const hb_ball_nodes_draw *draw,
                              hb_ball_nodes_kind kind, uint64_t first, size_t pairs, double *arm)
{
    const size_t d = (size_t)draw->dim;
    const int score = kind == HB_BALL_NODES_SCORE, slope = score && draw->lift > 0;
    const hb_measure measure = kind == HB_BALL_NODES_VALUE ? HB_MEASURE_KAPPA
                               : !score || slope           ? HB_MEASURE_SOURCE
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
static void place_pair(const hb_ball_nodes_draw *draw, size_t k, double scale, hb_ball_nodes *out)
{
    const size_t d = (size_t)draw->dim;
    for (size_t i = 0; i < d; i++) {
        out->y[2 * k * d + i] = scale * draw->z[k * d + i];
        out->y[(2 * k + 1) * d + i] = -scale * draw->z[k * d + i];
    }
    out->s[2 * k] = out->s[2 * k + 1] = scale * scale * draw->sigma[k];
}

hb_status hb_ball_nodes_random(hb_context *context, const hb_ball_nodes_draw *draw,
                               hb_ball_nodes_kind kind, uint64_t first, size_t pairs,
                               hb_ball_nodes *out)
{
    HB_TRY(draw_measure(context, draw, kind, first, pairs, out->arm));
    if (kind != HB_BALL_NODES_VALUE)
        HB_TRY(hb_random_uniform(context, draw->seeds[0],
                                 HB_STREAM_MEAN_VALUE +
                                     (kind == HB_BALL_NODES_SOURCE ? STREAM_SOURCE : STREAM_SCORE),
                                 first, pairs, draw->uniform));
    for (size_t k = 0; k < pairs; k++)
        place_pair(draw, k,
                   kind == HB_BALL_NODES_VALUE    ? 1
                   : kind == HB_BALL_NODES_SOURCE ? sqrt(draw->uniform[k])
                                                  : draw->uniform[k],
                   out);
    out->n = 2 * pairs;
    return HB_OK;
}

/* ---- cubature ---- */

void hb_ball_nodes_destroy(hb_context *context, hb_ball_nodes *unit)
{
    hb_release(context, unit->y); // one block, see ball_nodes_create
    *unit = (hb_ball_nodes){0};
}

static hb_status ball_nodes_create(hb_context *context, size_t n, size_t d, hb_ball_nodes *out)
{
    void *memory;
    HB_TRY(hb_allocate(context, n, (2 * d + 2) * sizeof(double), &memory));
    double *block = memory;
    *out = (hb_ball_nodes){n, block, block + 2 * n * d, block + 2 * n * d + n, block + n * d};
    return HB_OK;
}

static hb_status ball_nodes_create_rule(hb_context *context, const hb_ball_nodes_rule *r,
                                        hb_cubature **out)
{
    if (r->kind != HB_BALL_NODES_SCORE)
        return hb_cubature_exact(
            context, r->kind == HB_BALL_NODES_VALUE ? HB_MEASURE_KAPPA : HB_MEASURE_SOURCE, r->dim,
            r->lift, r->degree, out);
    const double n = 0.5 * r->dim + 0.5 * r->lift;
    const hb_shell_law slope = {n + 1, n, n, 1, 0.5 * r->dim, 0.5 * r->lift};
    return hb_cubature_exact_law(context, &slope, r->dim, r->lift, r->degree, out);
}

/* The distribution of the scale rho/r: 1 for values, sqrt(U) ~ Beta(2,1), U ~ Beta(1,1). */
static hb_status scale_rule(hb_context *context, hb_ball_nodes_kind kind, int degree, int *count,
                            double *scale, double *weight)
{
    *count = kind == HB_BALL_NODES_VALUE ? 1 : degree / 2 + 1;
    scale[0] = weight[0] = 1;
    if (kind == HB_BALL_NODES_VALUE) return HB_OK;
    return hb_quadrature_beta(context, kind == HB_BALL_NODES_SOURCE ? 2 : 1, 1, *count, scale,
                              weight);
}

/* Copies the m nodes of the first scale to the others; scale by scale, so that equal times stay
 * neighbours. */
static void spread_over_scales(size_t m, size_t d, int count, const double *scale,
                               const double *weight, hb_ball_nodes *out)
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

static hb_status ball_nodes_fill(hb_context *context, const hb_ball_nodes_rule *r,
                                 const hb_cubature *cubature, int rotation, hb_ball_nodes *out)
{
    double scale[HB_QUADRATURE_MAX], weight[HB_QUADRATURE_MAX];
    int count;
    const size_t m = hb_cubature_size(cubature), d = (size_t)r->dim;
    HB_TRY(scale_rule(context, r->kind, r->degree, &count, scale, weight));
    const size_t n = m * (size_t)count;
    HB_CHECK(context, n <= MAX_NODES, HB_ERROR_ARGUMENT,
             "degree is %d, which takes %zu nodes in dim %zu; at most %d are allowed: lower the "
             "degree, or set it to 0 for Monte Carlo",
             r->degree, n, d, MAX_NODES);
    HB_TRY(ball_nodes_create(context, n, d, out));
    hb_status status = hb_cubature_nodes(context, cubature, rotation > 0, r->seed,
                                         (uint64_t)rotation, out->y, out->s, out->weight);
    if (status == HB_OK)
        spread_over_scales(m, d, count, scale, weight, out);
    else
        hb_ball_nodes_destroy(context, out);
    return status;
}

hb_status hb_ball_nodes_cubature(hb_context *context, const hb_ball_nodes_rule *rule, int first,
                                 int rotations, hb_ball_nodes *out)
{
    hb_cubature *cubature = NULL;
    hb_status status = ball_nodes_create_rule(context, rule, &cubature);
    for (int k = 0; k < rotations && status == HB_OK; k++)
        status = ball_nodes_fill(context, rule, cubature, first + k, out + k);
    hb_cubature_destroy(cubature);
    return status;
}
