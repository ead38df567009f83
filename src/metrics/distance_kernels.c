/* Squared distances of one point to many, and sums of the MMD kernel over them; compiled once per
 * instruction set.
 *
 * Differences are taken before they are squared, not |a|^2 + |b|^2 - 2ab, so that equal points are
 * at distance 0 and near ones lose no digits. Each sum runs over the coordinates in order; the
 * strips only keep the multipliers busy, so their number changes no bit.
 * With s = |a-b|^2/(2 h^2) the five widths c = 4, 2, 1, 1/2, 1/4 need exp(-s/c^2) = e, e^4, e^16,
 * e^64, e^256 with e = exp(-s/16): one exponential and eight products. Sums go into eight parts
 * whatever the vector width, so that AVX2 and AVX-512 give the same bits.
 * Numbers to reproduce: the distance of (1, 2) to (4, 6) has the square 25; at |a-b| = h the mean
 * of the five is 0.51878631. */
#include "metrics/distance_kernels.h"
#include "random/vector.h"

enum { STRIPS = 4 };

/* One vector of columns: b (dim, stride). */
INLINE vd squared_distance(size_t dim, const double *a, size_t stride, const double *b)
{
    vd sum = vd_set(0);
    for (size_t j = 0; j < dim; j++) {
        const vd away = vd_sub(vd_load(b + j * stride), vd_set(a[j]));
        sum = vd_fma(away, away, sum);
    }
    return sum;
}

/* STRIPS of them, `step` columns apart. */
INLINE void squared_distances(size_t dim, const double *a, size_t stride, const double *b,
                              size_t step, vd out[STRIPS])
{
    vd sum[STRIPS];
    for (int s = 0; s < STRIPS; s++) sum[s] = vd_set(0);
    for (size_t j = 0; j < dim; j++) {
        const vd point = vd_set(a[j]);
        for (int s = 0; s < STRIPS; s++) {
            const vd away = vd_sub(vd_load(b + j * stride + (size_t)s * step), point);
            sum[s] = vd_fma(away, away, sum[s]);
        }
    }
    for (int s = 0; s < STRIPS; s++) out[s] = sum[s];
}

static void distances(size_t dim, const double *a, size_t count, const double *b, double *out)
{
    size_t i = 0;
    for (; i + STRIPS * LANES <= count; i += STRIPS * LANES) {
        vd strip[STRIPS];
        squared_distances(dim, a, count, b + i, LANES, strip);
        for (size_t s = 0; s < STRIPS; s++) vd_store(out + i + s * LANES, strip[s]);
    }
    for (; i < count; i += LANES) vd_store(out + i, squared_distance(dim, a, count, b + i));
}

const hb_distance_kernel ISA_NAME(hb_distance_kernel) = distances;

/* ---- the MMD kernel ---- */

INLINE vd power4(vd a)
{
    const vd square = vd_mul(a, a);
    return vd_mul(square, square);
}

INLINE vd five_widths(vd s)
{
    const vd e1 = vd_exp(vd_mul(s, vd_set(-1.0 / 16)));
    const vd e2 = power4(e1), e3 = power4(e2), e4 = power4(e3), e5 = power4(e4);
    return vd_mul(vd_set(0.2), vd_add(vd_add(vd_add(e1, e2), vd_add(e3, e4)), e5));
}

INLINE vd kernel_of(vd distance2, double scale, int single)
{
    const vd s = vd_mul(distance2, vd_set(scale));
    return single ? vd_exp(vd_sub(vd_set(0), s)) : five_widths(s);
}

/* Part p takes columns p, p + HB_MMD_LANES, ... in order, in strips or one by one alike. */
INLINE void kernel_sums(size_t dim, const double *a, size_t count, size_t stride, const double *b,
                        double scale, int single, double *sum, double *squares)
{
    const size_t strips = STRIPS * HB_MMD_LANES, even = count / strips * strips;
    for (size_t part = 0; part < HB_MMD_LANES; part += LANES) {
        vd total = vd_load(sum + part), total_squares = vd_load(squares + part);
        for (size_t i = part; i < even; i += strips) {
            vd distance2[STRIPS];
            squared_distances(dim, a, stride, b + i, HB_MMD_LANES, distance2);
            for (int s = 0; s < STRIPS; s++) {
                const vd k = kernel_of(distance2[s], scale, single);
                total = vd_add(total, k);
                total_squares = vd_fma(k, k, total_squares);
            }
        }
        for (size_t i = even + part; i < count; i += HB_MMD_LANES) {
            const vd k = kernel_of(squared_distance(dim, a, stride, b + i), scale, single);
            total = vd_add(total, k);
            total_squares = vd_fma(k, k, total_squares);
        }
        vd_store(sum + part, total);
        vd_store(squares + part, total_squares);
    }
}

static void mmd_kernel(size_t dim, const double *a, size_t count, size_t stride, const double *b,
                       double scale, int single, double *sum, double *squares)
{
    if (dim == 2)
        kernel_sums(2, a, count, stride, b, scale, single, sum, squares);
    else
        kernel_sums(dim, a, count, stride, b, scale, single, sum, squares);
}

const hb_mmd_kernel ISA_NAME(hb_mmd_kernel) = mmd_kernel;
