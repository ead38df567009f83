/* The array loops of the samplers (sample.c): plain C that the compiler turns into vectors, and one
 * kernel by hand for two dimensions.
 *
 * This file is compiled once per instruction set. Sums along a row go into eight partial sums,
 * element j into partial j mod 8, then into one by halving: the order is the same whatever the
 * vector width, and results are bit-identical. */
#include "ball/sample_kernels.h"
#include "random/box_muller.h"
#include "random/philox_bits.h"

#include <math.h>

enum {
    PARTIAL = 8,
    PARTIAL_VECTORS = PARTIAL / LANES,
    ROWS_TOGETHER = LANES == 8   ? 8
                    : LANES == 4 ? 4
                                 : 2 /* several sums fill the pipelines */
};

/* partial += the squares of g_1 .. g_d, g_j to partial sum j mod 8. */
INLINE void add_row_squares(size_t d, const double *g, vd partial[PARTIAL_VECTORS])
{
    double rest[PARTIAL] = {0};
    for (size_t k = 0; k < d; k++) rest[k] = g[k] * g[k];
    for (size_t k = 0; k < PARTIAL_VECTORS; k++)
        partial[k] = vd_add(partial[k], vd_load(rest + k * LANES));
}

/* The sums of `rows` rows, d >= 8. */
INLINE void long_row_sums(size_t rows, size_t d, const double *g, double *sum)
{
    vd partial[ROWS_TOGETHER][PARTIAL_VECTORS];
    const size_t whole = d / PARTIAL * PARTIAL;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < PARTIAL_VECTORS; k++) {
            const vd x = vd_load(g + i * d + k * LANES);
            partial[i][k] = vd_mul(x, x);
        }
    for (size_t j = PARTIAL; j < whole; j += PARTIAL)
        for (size_t i = 0; i < rows; i++)
            for (size_t k = 0; k < PARTIAL_VECTORS; k++) {
                const vd x = vd_load(g + i * d + j + k * LANES);
                partial[i][k] = vd_add(partial[i][k], vd_mul(x, x));
            }
    for (size_t i = 0; i < rows; i++) {
        if (whole < d) add_row_squares(d - whole, g + i * d + whole, partial[i]);
        sum[i] = vd_sum_halves(partial[i]);
    }
}

static double short_row_sum(size_t d, const double *restrict g)
{
    double sum = g[0] * g[0];
    for (size_t j = 1; j < d; j++) sum += g[j] * g[j];
    return sum;
}

static void row_sums(size_t n, size_t d, const double *restrict g, double *restrict sum)
{
    size_t i = 0;
    if (d < PARTIAL) {
        for (; i < n; i++) sum[i] = short_row_sum(d, g + i * d);
        return;
    }
    for (; i + ROWS_TOGETHER <= n; i += ROWS_TOGETHER)
        long_row_sums(ROWS_TOGETHER, d, g + i * d, sum + i);
    for (; i < n; i++) long_row_sums(1, d, g + i * d, sum + i);
}

static void row_products(size_t n, size_t count, size_t stride, const double *restrict x,
                         double *restrict product)
{
    for (size_t i = 0; i < n; i++) {
        double p = x[i * stride];
        for (size_t k = 1; k < count; k++) p *= x[i * stride + k];
        product[i] = p;
    }
}

static void add(size_t n, const double *restrict x, double *restrict sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i];
}

static void add_squares(size_t n, const double *restrict x, double *restrict sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i] * x[i];
}

static void inner_of_pairs(size_t n, const double *restrict pairs, const double *restrict norm,
                           double *restrict inner)
{
    for (size_t i = 0; i < n; i++) inner[i] = norm[i] + pairs[2 * i];
}

static void exponents(size_t n, const hb_sample_law *law, const double *restrict inner,
                      const double *restrict outer, size_t stride, double *restrict sigma)
{
    const double factor = -1 / law->rate;
    if (stride == 1)
        for (size_t i = 0; i < n; i++) sigma[i] = (inner[i] + outer[i]) * factor;
    else
        for (size_t i = 0; i < n; i++) sigma[i] = (inner[i] + outer[i * stride]) * factor;
}

static void scales(size_t n, const hb_sample_law *law, const double *restrict norm,
                   const double *restrict inner, double *restrict sigma, double *restrict scale)
{
    const double sigma_factor = law->sigma_factor, scale_factor = law->scale_factor;
    for (size_t i = 0; i < n; i++) sigma[i] *= sigma_factor;
    if (law->radial)
        for (size_t i = 0; i < n; i++)
            scale[i] = sqrt(scale_factor * sigma[i] * (inner[i] / norm[i]));
    else
        for (size_t i = 0; i < n; i++) scale[i] = sqrt(scale_factor * sigma[i]);
}

enum { LONG_ROW = 64 }; /* doubles from which on it pays to reach whole cache lines first */

/* Doubles from z to the next multiple of a vector's size. */
INLINE size_t to_whole_vector(const double *z)
{
    return (LANES - (uintptr_t)z / sizeof *z % LANES) % LANES;
}

/* g and z may be the same. */
static void scale_rows(size_t n, size_t d, const double *g, const double *scale, size_t stride,
                       double *z)
{
    for (size_t i = 0; i < n; i++, g += d, z += stride) {
        const vd factor = vd_set(scale[i]);
        const size_t head = d < LONG_ROW ? 0 : to_whole_vector(z);
        size_t j = 0;
        for (; j < head; j++) z[j] = scale[i] * g[j];
        for (; j + LANES <= d; j += LANES) vd_store(z + j, vd_mul(factor, vd_load(g + j)));
        for (; j < d; j++) z[j] = scale[i] * g[j];
    }
}

/* In two dimensions logarithm and exponential cancel. With (u, angle) of the normal pair and the
 * uniforms v, w: kappa has sigma = u v w/(4 pi), |z|^2 = 2 sigma (-2 ln(u v)); source has sigma =
 * sqrt(u v w)/(4 pi), |z|^2 = sigma (-2 ln u). */
enum { BATCH = 128 };
typedef struct planar_batch {
    vi normal[BATCH / LANES][4], pair[BATCH / LANES][4]; /* halves of the normal pair, of v and w */
    vd square[BATCH / LANES];                            /* |z|^2 */
} planar_batch;

APART void planar_lengths(size_t vectors, const hb_sample_law *law, planar_batch *b, double *sigma)
{
    const vd sigma_factor = vd_set(law->sigma_factor);
    const int radial = law->radial;
    for (size_t i = 0; i < vectors; i++, sigma += LANES) {
        const vd u = unit_interval(b->normal[i][0]);
        const vd v = unit_interval(b->pair[i][0]), w = unit_interval(b->pair[i][1]);
        if (radial) {
            const vd uv = vd_mul(u, v), s = vd_mul(vd_mul(uv, w), sigma_factor);
            vd_store(sigma, s);
            b->square[i] = vd_mul(minus_two_log_of(uv), vd_add(s, s));
        } else {
            const vd s = vd_mul(vd_sqrt(vd_mul(u, vd_mul(v, w))), sigma_factor);
            vd_store(sigma, s);
            b->square[i] = vd_mul(minus_two_log_of(u), s);
        }
    }
}

APART void planar_directions(size_t vectors, const planar_batch *b, double *z)
{
    for (size_t i = 0; i < vectors; i++, z += 2 * LANES) {
        const vd length = flip(vd_sqrt(b->square[i]), b->normal[i][1]);
        vd cosine, sine;
        direction(b->normal[i][1], &cosine, &sine);
        vd_store_pairs(z, vd_mul(length, cosine), vd_mul(length, sine));
    }
}

static void planar(size_t n, const hb_sample_law *law, uint64_t seed, uint64_t coordinates,
                   uint64_t pairs, uint64_t row, double *z, double *sigma)
{
    philox_key key;
    planar_batch batch;
    expand_key(seed, &key);
    for (size_t done = 0; done < n; done += BATCH) {
        const size_t count = n - done < BATCH ? n - done : BATCH;
        philox_bits(&key, coordinates, row + done, count, batch.normal);
        philox_bits(&key, pairs, row + done, count, batch.pair);
        planar_lengths(count / LANES, law, &batch, sigma + done);
        planar_directions(count / LANES, &batch, z + 2 * done);
    }
}

/* Rows (z_1, z_2, sigma) from z (n, 2) and sigma (n). */
static void join_triples(size_t n, const double *restrict z, const double *restrict sigma,
                         double *restrict rows)
{
    for (size_t i = 0; i < n; i++) {
        rows[3 * i] = z[2 * i];
        rows[3 * i + 1] = z[2 * i + 1];
        rows[3 * i + 2] = sigma[i];
    }
}

const hb_sample_kernels ISA_NAME(hb_sample_kernels) = {
    .row_sums = row_sums,
    .row_products = row_products,
    .add = add,
    .add_squares = add_squares,
    .inner_of_pairs = inner_of_pairs,
    .exponents = exponents,
    .scales = scales,
    .scale_rows = scale_rows,
    .planar = planar,
    .join_triples = join_triples,
};
