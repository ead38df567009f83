/* ball/sample_kernels.h: the array loops of the samplers, compiled once per instruction set.
 *
 * Every step is a single IEEE operation in a fixed order, so all sets are bit-identical. */
#pragma once

#include "base/cpu.h"

/* The law of one measure in D = dim + lift dimensions. With norm = |g_1..D|^2, inner = norm plus
 * the squares up to the measure's radial count, total = all squares: sigma = sigma_factor
 * exp(-total/rate),   z = g_1..dim sqrt(scale_factor sigma [inner/norm]) */
typedef struct hb_sample_law {
    double rate;         /* kappa D, source D+2, gradient D+1 */
    double sigma_factor; /* radius^2/(4 pi) */
    double scale_factor; /* kappa 2, source 2D/(D+2), gradient 2D/(D+1) */
    int radial;          /* whether the factor inner/norm is there: not for source */
} hb_sample_law;

typedef struct hb_sample_kernels {
    /* sum[i] = |g_i|^2; g is (n, d) */
    void (*row_sums)(size_t n, size_t d, const double *g, double *sum);
    /* product[i] = x_i1 ... x_ik; x is (n, count), rows `stride` apart */
    void (*row_products)(size_t n, size_t count, size_t stride, const double *x, double *product);
    /* sum[i] += x[i], sum[i] += x[i]^2 */
    void (*add)(size_t n, const double *x, double *sum);
    void (*add_squares)(size_t n, const double *x, double *sum);
    /* inner[i] = norm[i] + pairs[2 i] */
    void (*inner_of_pairs)(size_t n, const double *pairs, const double *norm, double *inner);
    /* sigma[i] = -(inner[i] + outer[i * stride])/rate, to be exponentiated */
    void (*exponents)(size_t n, const hb_sample_law *law, const double *inner, const double *outer,
                      size_t stride, double *sigma);
    /* sigma[i] *= sigma_factor; scale[i] = what g_i is multiplied with */
    void (*scales)(size_t n, const hb_sample_law *law, const double *norm, const double *inner,
                   double *sigma, double *scale);
    /* z row i (rows `stride` apart) = scale[i] g_i; g is (n, d) and may be z when stride is d */
    void (*scale_rows)(size_t n, size_t d, const double *g, const double *scale, size_t stride,
                       double *z);
    /* dim 2, lift 0, kappa or source (by law->radial): the whole draw at once for rows
     * row .. row+n-1, n a multiple of HB_BLOCK_GROUP; z is (n, 2), sigma (n) */
    void (*planar)(size_t n, const hb_sample_law *law, uint64_t seed, uint64_t coordinates,
                   uint64_t pairs, uint64_t row, double *z, double *sigma);
    /* rows (n, 3) from z (n, 2) and sigma (n) */
    void (*join_triples)(size_t n, const double *z, const double *sigma, double *rows);
} hb_sample_kernels;

HB_KERNELS(hb_sample_kernels, hb_sample_kernels)
