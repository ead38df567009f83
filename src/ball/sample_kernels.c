/* The array loops of the samplers (sample.c): plain C that the compiler turns into vectors, and one
 * kernel by hand for the plane.
 *
 * This file is compiled once per instruction set. Sums along a row go into eight partial sums,
 * element j into partial j mod 8, then into one by halving: the order is the same whatever the
 * vector width, and so are the bits. */
#include "ball/sample_kernels.h"
#include "random/box_muller.h"

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

/* The Philox halves of BATCH rows of the plane: a normal pair and a pair of uniforms each. */
enum { BATCH = 128 };
typedef struct planar_bits {
    vi normal[BATCH / LANES][2], pair[BATCH / LANES][2];
} planar_bits;

INLINE void fill_planar_bits(const philox_key *key, uint64_t coordinates, uint64_t pairs,
                             uint64_t row, size_t n, planar_bits *bits)
{
    for (size_t k = 0; k < n / LANES; k++) {
        const vi block = consecutive(row + k * LANES);
        philox(block, coordinates, key, &bits->normal[k][0], &bits->normal[k][1]);
        philox(block, pairs, key, &bits->pair[k][0], &bits->pair[k][1]);
    }
}

/* In the plane logarithm and exponential cancel. With (u, angle) of the normal pair and the uniforms
 * v, w: kappa has sigma = u v w/(4 pi), |z|^2 = 2 sigma (-2 ln(u v)); source has
 * sigma = sqrt(u v w)/(4 pi), |z|^2 = sigma (-2 ln u). STEP rows. */
INLINE void planar_step(const hb_sample_law *law, vi normal[][2], vi pair[][2], double *z,
                        double *sigma)
{
    const vd sigma_factor = vd_set(law->sigma_factor);
    vd u[GROUP], s[GROUP], length[GROUP], cosine[GROUP], sine[GROUP];
    EACH u[j] = unit_interval(normal[j][0]);
    if (law->radial) {
        EACH length[j] = u[j] = vd_mul(u[j], unit_interval(pair[j][0]));
        EACH s[j] = vd_mul(vd_mul(u[j], unit_interval(pair[j][1])), sigma_factor);
    } else {
        EACH length[j] = u[j];
        EACH u[j] = vd_mul(u[j], vd_mul(unit_interval(pair[j][0]), unit_interval(pair[j][1])));
        EACH s[j] = vd_mul(vd_sqrt(u[j]), sigma_factor);
    }
    EACH vd_store(sigma + j * LANES, s[j]);
    minus_two_log_group(length);
    EACH length[j] = vd_mul(length[j], law->radial ? vd_add(s[j], s[j]) : s[j]);
    EACH length[j] = flip(vd_sqrt(length[j]), normal[j][1]);
    direction_group(normal, cosine, sine);
    EACH vd_store_pairs(z + 2 * j * LANES, vd_mul(length[j], cosine[j]),
                        vd_mul(length[j], sine[j]));
}

static void planar(size_t n, const hb_sample_law *law, uint64_t seed, uint64_t coordinates,
                   uint64_t pairs, uint64_t row, double *z, double *sigma)
{
    philox_key key;
    planar_bits bits;
    expand_key(seed, &key);
    for (size_t done = 0; done < n; done += BATCH) {
        const size_t count = n - done < BATCH ? n - done : BATCH;
        fill_planar_bits(&key, coordinates, pairs, row + done, count, &bits);
        for (size_t i = 0; i < count; i += STEP)
            planar_step(law, bits.normal + i / LANES, bits.pair + i / LANES, z + 2 * (done + i),
                        sigma + done + i);
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
