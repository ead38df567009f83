/* The array loops of the samplers (sample.c): plain C that the compiler turns into vectors, and one
 * kernel by hand for the plane.
 *
 * This file is compiled once per instruction set. Sums along a row go into eight partial sums,
 * element j into partial j mod 8, then into one by halving: the order is the same whatever the
 * vector width, and so are the bits. */
#include "ball/sample_kernels.h"
#include "random/box_muller.h"
#include "random/philox_bits.h"

#include <math.h>

enum { PARTIAL = 8 };

static double long_row_sum(size_t d, const double *restrict g)
{
    double partial[PARTIAL] = {0};
    size_t j = 0;
    for (; j + PARTIAL <= d; j += PARTIAL)
        for (size_t k = 0; k < PARTIAL; k++) partial[k] += g[j + k] * g[j + k];
    for (size_t k = 0; j + k < d; k++) partial[k] += g[j + k] * g[j + k];
    for (size_t half = PARTIAL / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++) partial[k] += partial[k + half];
    return partial[0];
}

static double short_row_sum(size_t d, const double *restrict g)
{
    double sum = g[0] * g[0];
    for (size_t j = 1; j < d; j++) sum += g[j] * g[j];
    return sum;
}

static void row_sums(size_t n, size_t d, const double *restrict g, double *restrict sum)
{
    if (d < PARTIAL)
        for (size_t i = 0; i < n; i++) sum[i] = short_row_sum(d, g + i * d);
    else
        for (size_t i = 0; i < n; i++) sum[i] = long_row_sum(d, g + i * d);
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

static void add(size_t n, size_t stride, const double *restrict x, double *restrict sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i * stride];
}

static void add_squares(size_t n, const double *restrict x, double *restrict sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i] * x[i];
}

static void exponents(size_t n, const hb_sample_law *law, const double *restrict total,
                      double *restrict sigma)
{
    const double factor = -1 / law->rate;
    for (size_t i = 0; i < n; i++) sigma[i] = total[i] * factor;
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

static void scale_rows(size_t n, size_t d, const double *restrict g, const double *restrict scale,
                       size_t stride, double *restrict z)
{
    for (size_t i = 0; i < n; i++) {
        const double factor = scale[i];
        for (size_t j = 0; j < d; j++) z[i * stride + j] = factor * g[i * d + j];
    }
}

/* In the plane logarithm and exponential cancel. With (u, angle) of the normal pair and the uniforms
 * v, w: kappa has sigma = u v w/(4 pi), |z|^2 = 2 sigma (-2 ln(u v)); source has
 * sigma = sqrt(u v w)/(4 pi), |z|^2 = sigma (-2 ln u). */
enum { BATCH = 128 };
typedef struct planar_batch {
    vi normal[BATCH / LANES][4], pair[BATCH / LANES][4]; /* halves of the normal pair, of v and w */
    vd square[BATCH / LANES];                            /* |z|^2 */
} planar_batch;

INLINE void planar_lengths(size_t vectors, const hb_sample_law *law, planar_batch *b, double *sigma)
{
    const vd sigma_factor = vd_set(law->sigma_factor);
    for (size_t i = 0; i < vectors; i++, sigma += LANES) {
        const vd u = unit_interval(b->normal[i][0]);
        const vd v = unit_interval(b->pair[i][0]), w = unit_interval(b->pair[i][1]);
        if (law->radial) {
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

INLINE void planar_directions(size_t vectors, const planar_batch *b, double *z)
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
    .exponents = exponents,
    .scales = scales,
    .scale_rows = scale_rows,
    .planar = planar,
    .join_triples = join_triples,
};
