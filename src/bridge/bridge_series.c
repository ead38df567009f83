/* Combs on one bridge, and the power series in them: see the head of bridge_estimator.c.
 *
 * A number to reproduce: X_0 = 1, X_1 = 2, q = 1/2: the pivots give 1 + (1 - 2)/q = -1 and
 * e^{-1}(1 + (2 - 1)/q) = 1.1036383, with the mean 0.0518192. */
#include "bridge/bridge_series.h"
#include "random/fill.h"
#include "random/streams.h"

#include <string.h>

/* ---- draws: numbers of the walk, in a stream for each use ---- */

static uint64_t series_stream_of(uint64_t use)
{
    return HB_STREAM_WALKS | 2 * use;
}

void hb_bridge_normals(const hb_walk_block *b, uint64_t use, size_t walk, size_t n, size_t width,
                       double *out)
{
    hb_fill_normal(hb_vector_kernels_of(b->context->isa), b->seed, series_stream_of(use),
                   (b->first + walk) * width, n * width, out);
}

void hb_bridge_uniforms(const hb_walk_block *b, uint64_t use, size_t walk, size_t n, double *out)
{
    hb_fill_uniform(hb_vector_kernels_of(b->context->isa), b->seed, series_stream_of(use) + 1,
                    b->first + walk, n, out);
}

size_t hb_bridge_repeats(double uniform, double repeat)
{
    if (uniform >= repeat) return 0;
    const double k = floor(log(uniform) / log(repeat));
    return k < HB_BRIDGE_REPEATS ? (size_t)k : HB_BRIDGE_REPEATS;
}

/* ---- the series ---- */

/* Adds e^{X_0 - p} sum_j e_j/(C(K,j) j! q^j) for the pivot p = X[pivot], and its derivative. */
static void add_pivot(size_t d, size_t K, const double *X, const double *dX, size_t pivot, double q,
                      double *value, double *slope, double *work)
{
    double e[HB_BRIDGE_REPEATS + 1] = {1}, scale = 1, sum = 1;
    double *de = work, *total = work + (K + 1) * d; // (K + 1, d), (d)
    memset(work, 0, (K + 2) * d * sizeof *work);
    for (size_t c = 0; c <= K; c++) {
        if (c == pivot) continue;
        const double gap = X[pivot] - X[c];
        for (size_t j = K; j > 0; j--) {
            for (size_t k = 0; k < d; k++)
                de[j * d + k] +=
                    gap * de[(j - 1) * d + k] + (dX[pivot * d + k] - dX[c * d + k]) * e[j - 1];
            e[j] += gap * e[j - 1];
        }
    }
    for (size_t j = 1; j <= K; j++) {
        scale /= (double)(K - j + 1) * q; // C(K,j) j! = K!/(K-j)!
        sum += scale * e[j];
        for (size_t k = 0; k < d; k++) total[k] += scale * de[j * d + k];
    }
    const double factor = exp(X[0] - X[pivot]);
    *value += factor * sum;
    for (size_t k = 0; k < d; k++) slope[k] += factor * (total[k] - dX[pivot * d + k] * sum);
}

double hb_bridge_series(size_t d, size_t K, const double *X, const double *dX, double q,
                        double *slope, double *work)
{
    double value = 0;
    memset(slope, 0, d * sizeof *slope);
    for (size_t pivot = 0; pivot <= K; pivot++)
        add_pivot(d, K, X, dX, pivot, q, &value, slope, work);
    for (size_t j = 0; j < d; j++) slope[j] /= value;
    return value / (double)(K + 1);
}

void hb_bridge_store(hb_walk_block *b, size_t k, double size, double value, const double *slope)
{
    const size_t d = b->shared.d;
    if (value != 1) size += log(fabs(value));
    b->size[k] = size;
    b->sign[k] = value < 0 ? -1 : 1;
    b->outlier[k] = 0;
    for (size_t j = 0; j < d; j++) b->slope[k * d + j] += slope[j];
    b->lost[k] = isnan(size) || size == INFINITY ||
                 (size > -INFINITY && !hb_all_finite(d, b->slope + k * d));
    if (!b->lost[k]) return;
    b->size[k] = -INFINITY;
    b->sign[k] = 1;
    memset(b->slope + k * d, 0, d * sizeof *b->slope);
}
