/* The mixtures of the study, and the truth of a data set.
 *
 *     modes     isotropic Gaussians of variance deviation_k^2; centres are normals, scaled so that
 *               the mean distance of two of them is `distance`; weights given, or drawn as
 *               0.4 + 1.2 u, u uniform. Two modes: centres at +-(distance/2)(1,1)/sqrt(2)
 *     outliers  a bulk of weight 0.57 with covariance 0.7^|i-j|; clusters of weights 0.25 and 0.15,
 *               variance 0.04, 3 from the bulk's centre in random directions; weight 0.03 as the
 *               bulk with 36 times its covariance
 * and those of the library, all with mean 0 and a mean variance over axes of 1. Centres and
 * directions are normals of stream (3 << 32) + 256 modes + dim, weights uniforms of (4 << 32) + the
 * same.
 *
 * The Mueller-Brown potential at kT = 23 (K. Mueller, L. D. Brown, Theor. Chim. Acta 53 (1979) 75):
 *     V(x,y) = sum_k A_k exp(a_k (x-x_k)^2 + b_k (x-x_k)(y-y_k) + c_k (y-y_k)^2)
 *     p(z) = exp(-V/kT - ln_z),   z = (x - centre)/scale: mean 0 and mean variance 1
 * centre, scale and ln_z by quadrature over the box, which has all of the mass but 1e-9; the test
 * repeats it. Draws by rejection from a uniform point of the box, accepted with p over its largest
 * value, that at V = -146.7. At tau, with n ~ N(0, I),
 *     u(z,tau) = a^-2 E[p((z - sqrt(b) n)/a)],   a = e^-tau,   b = 1 - a^2,
 * by the trapezoidal rule in n, which converges faster than any power for smooth p; its gradient is
 * -E[n p]/(sqrt(b) E[p]). Uniforms of stream (6 << 32), noise of stream (5 << 32), + 1 for held-out
 * draws. Must reproduce: minima V = -146.70 at (-0.558, 1.442), -108.17 at (0.623, 0.028), -80.77
 * at (-0.050, 0.467); saddles -40.66 at (-0.822, 0.624), -72.25 at (0.212, 0.293). */
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

enum { TRIES = 4096 };
#define KT 23.0
const double hb_density_centre[2] = {-0.402276062082893, 1.100654343045684},
             hb_density_scale = 0.5223714824714105;
static const double LN_Z = 5.947873138852467, LOWEST = -146.7, LOW[2] = {-3.6, -2.2}, SIDE = 6;

static double log_p(double x, double y) /* -V/kT */
{
    static const double A[] = {-200, -100, -170, 15}, a[] = {-1, -1, -6.5, 0.7},
                        b[] = {0, 0, 11, 0.6}, c[] = {-10, -10, -6.5, 0.7}, x0[] = {1, 0, -0.5, -1},
                        y0[] = {0, 0.5, 1.5, 1};
    double v = 0;
    for (int k = 0; k < 4; k++) {
        const double dx = x - x0[k], dy = y - y0[k];
        v += A[k] * exp(fmin(50, a[k] * dx * dx + b[k] * dx * dy + c[k] * dy * dy));
    }
    return -v / KT;
}

static hb_status muller_draw(hb_context *context, uint64_t seed, uint64_t first, size_t n,
                             double tau, double *x)
{
    const double a = exp(-tau), root = sqrt(-expm1(-2 * tau));
    const uint64_t stream = first != 0;
    double u[3 * TRIES], e[2];
    size_t made = 0;
    for (uint64_t batch = 0; made < n; batch++) {
        HB_TRY(hb_random_uniform(context, seed, (UINT64_C(6) << 32) + stream, 3 * TRIES * batch,
                                 (size_t)3 * TRIES, u));
        for (size_t k = 0; k < 3 * TRIES && made < n; k += 3) {
            for (int c = 0; c < 2; c++) u[k + (size_t)c] = LOW[c] + SIDE * u[k + (size_t)c];
            if (log(u[k + 2]) > log_p(u[k], u[k + 1]) + LOWEST / KT) continue;
            HB_TRY(hb_random_normal(context, seed, (UINT64_C(5) << 32) + stream, 2 * made, 2, e));
            for (size_t c = 0; c < 2; c++)
                x[2 * made + c] =
                    a * (u[k + c] - hb_density_centre[c]) / hb_density_scale + root * e[c];
            made++;
        }
    }
    return HB_OK;
}

static void muller_exact(const double *z, double tau, double *v, double *score)
{
    const double a = exp(-tau), root = sqrt(-expm1(-2 * tau)), h = 0.75 * fmin(1, 0.15 / root);
    const int side = (int)ceil(6 / h);
    double top = -INFINITY, sum[3] = {0};
    for (int i = -side; i <= side; i++)
        for (int j = -side; j <= side; j++) {
            const double n[2] = {h * i, h * j}, of = hb_density_scale / a;
            const double term = log_p(hb_density_centre[0] + of * (z[0] - root * n[0]),
                                      hb_density_centre[1] + of * (z[1] - root * n[1])) -
                                0.5 * (n[0] * n[0] + n[1] * n[1]);
            const double less = exp(fmin(0, top - term)), e = exp(fmin(0, term - top));
            top = fmax(top, term);
            sum[0] = sum[0] * less + e;
            for (int c = 0; c < 2; c++) sum[1 + c] = sum[1 + c] * less + e * n[c];
        }
    *v = top + log(sum[0] * h * h / (2 * M_PI)) + 2 * tau - LN_Z;
    for (int c = 0; c < 2 && score; c++) score[c] = -sum[1 + c] / (root * sum[0]);
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
                          uint64_t first, size_t n, double tau, double *x, int *mode)
{
    if (!truth) return muller_draw(context, seed, first, n, tau, x);
    return hb_mixture_sample_at(context, truth, HB_PROCESS_OU, seed, first, n, tau, x, mode);
}

hb_status hb_density_exact(hb_context *context, const hb_mixture *truth, size_t n, const double *x,
                           double tau, double *v, double *score)
{
    if (truth) return hb_mixture_score(context, truth, HB_PROCESS_OU, n, x, tau, v, score);
    for (size_t i = 0; i < n; i++)
        muller_exact(x + 2 * i, tau, &v[i], score ? score + 2 * i : NULL);
    return HB_OK;
}
