/* The mixtures of the study, and the truth of a data set.
 *
 *     modes     isotropic Gaussians of variance deviation_k^2; centres are normals, scaled so that
 *               the mean distance of two of them is `distance`; weights given, or drawn as
 *               0.4 + 1.2 u, u uniform. Two modes: centres at +-(distance/2)(1,1)/sqrt(2)
 *     outliers  a bulk of weight 0.57 with covariance 0.7^|i-j|; clusters of weights 0.25 and 0.15,
 *               variance 0.04, 3 from the centre of the bulk in random directions; weight 0.03 as
 *               the bulk with 36 times its covariance
 *     named     of the library (heatball/data.h)
 * All are shifted to mean 0 and scaled by one number to a mean variance over axes of 1. Every seed
 * draws other ones: normals of stream (3 << 32) + 256 modes + dim, uniforms of stream (4 << 32) +
 * 256 modes + dim, both from index 0 on; centres take normals first, outliers the directions of
 * their clusters. Two modes and named sets are the same for all seeds. */
#include "density.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

typedef struct maker {
    size_t d, count;
    double *weight, *mean, *covariance; // (count), (count, d), (count, d, d)
} maker;

static double distance_of(const maker *m, size_t i, size_t k)
{
    double sum = 0;
    for (size_t j = 0; j < m->d; j++) sum += pow(m->mean[m->d * i + j] - m->mean[m->d * k + j], 2);
    return sqrt(sum);
}

static hb_status make_modes(hb_context *context, const hb_density_set *set, uint64_t seed, maker *m)
{
    const size_t d = m->d, n = m->count;
    const uint64_t stream = 256 * n + d;
    double sum = 0;
    HB_TRY(hb_random_normal(context, seed, (UINT64_C(3) << 32) + stream, 0, n * d, m->mean));
    HB_TRY(hb_random_uniform(context, seed, (UINT64_C(4) << 32) + stream, 0, n, m->weight));
    for (size_t i = 0; i < n * d && n == 2; i++) m->mean[i] = i < d ? -1 : 1;
    for (size_t i = 0; i < n * n; i++) sum += distance_of(m, i / n, i % n);
    const double scale = set->distance * (double)(n * (n - 1)) / sum;
    for (size_t k = 0; k < n; k++) {
        m->weight[k] = set->weight ? set->weight[k] : 0.4 + 1.2 * m->weight[k];
        for (size_t j = 0; j < d; j++) {
            m->mean[d * k + j] *= scale;
            m->covariance[d * d * k + d * j + j] = set->deviation ? pow(set->deviation[k], 2) : 1;
        }
    }
    return HB_OK;
}

static hb_status make_outliers(hb_context *context, uint64_t seed, maker *m)
{
    static const double weight[] = {0.57, 0.25, 0.15, 0.03}, variance[] = {1, 0.04, 0.04, 36};
    const size_t d = m->d;
    HB_TRY(hb_random_normal(context, seed, (UINT64_C(3) << 32) + 256 * m->count + d, 0, 2 * d,
                            m->mean + d));
    for (size_t k = 0; k < m->count; k++) {
        const int cluster = k == 1 || k == 2;
        const double away = cluster ? 3 / distance_of(m, 0, k) : 0;
        m->weight[k] = weight[k];
        for (size_t i = 0; i < d * d; i++)
            m->covariance[d * d * k + i] =
                variance[k] * pow(cluster ? 0 : 0.7, fabs((double)(i / d) - (double)(i % d)));
        for (size_t j = 0; j < d; j++) m->mean[d * k + j] *= away;
    }
    return HB_OK;
}

/* To mean 0 and mean variance 1. */
static void standardise(maker *m)
{
    const size_t d = m->d;
    double total = 0, variance = 0;
    for (size_t k = 0; k < m->count; k++) total += m->weight[k];
    for (size_t j = 0; j < d; j++) {
        double mean = 0;
        for (size_t k = 0; k < m->count; k++) mean += m->weight[k] / total * m->mean[d * k + j];
        for (size_t k = 0; k < m->count; k++) {
            double *at = &m->mean[d * k + j];
            *at -= mean;
            variance += m->weight[k] / total * (*at * *at + m->covariance[d * d * k + d * j + j]) /
                        (double)d;
        }
    }
    for (size_t i = 0; i < m->count * d; i++) m->mean[i] /= sqrt(variance);
    for (size_t i = 0; i < m->count * d * d; i++) m->covariance[i] /= variance;
}

static hb_status make_mixture(hb_context *context, const hb_density_set *set, uint64_t seed,
                              const hb_mixture *named, hb_mixture **out)
{
    const size_t d = (size_t)set->dim, modes = set->modes ? (size_t)set->modes : 4,
                 count = named ? hb_mixture_count(named) : modes;
    void *memory;
    HB_TRY(hb_study_allocate(context, count * (1 + d + d * d), sizeof(double), &memory));
    maker m = {d, count, memory, (double *)memory + count, (double *)memory + count * (1 + d)};
    hb_status status = named        ? HB_OK
                       : set->modes ? make_modes(context, set, seed, &m)
                                    : make_outliers(context, seed, &m);
    for (size_t k = 0; k < count && named && status == HB_OK; k++)
        status = hb_mixture_component(context, named, k, &m.weight[k], m.mean + d * k,
                                      m.covariance + d * d * k);
    standardise(&m);
    if (status == HB_OK)
        status = hb_mixture_create(context, set->dim, count, m.weight, m.mean, m.covariance, out);
    free(memory);
    return status;
}

hb_status hb_density_truth(hb_context *context, int set, uint64_t seed, hb_mixture **out)
{
    const hb_density_set *of = &hb_density_sets[set];
    hb_mixture *named = NULL;
    *out = NULL;
    if (set == DENSITY_MULLER) return HB_OK;
    if (!of->modes && of->dim == 2) HB_TRY(hb_mixture_named(context, of->family, &named));
    const hb_status status = make_mixture(context, of, seed, named, out);
    hb_mixture_destroy(named);
    return status;
}

hb_status hb_density_draw(hb_context *context, const hb_mixture *truth, uint64_t seed,
                          uint64_t first, size_t n, double tau, double *x)
{
    if (!truth) return hb_density_muller_draw(context, seed, first, n, tau, x);
    return hb_mixture_sample_at(context, truth, HB_PROCESS_OU, seed, first, n, tau, x, NULL);
}

hb_status hb_density_exact(hb_context *context, const hb_mixture *truth, size_t n, const double *x,
                           double tau, double *v, double *score)
{
    if (truth) return hb_mixture_score(context, truth, HB_PROCESS_OU, n, x, tau, v, score);
    for (size_t i = 0; i < n; i++)
        hb_density_muller_exact(x + 2 * i, tau, &v[i], score ? score + 2 * i : NULL);
    return HB_OK;
}
