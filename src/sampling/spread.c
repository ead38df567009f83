/* Means and sums of squares in one pass (Welford), and of two samples together (Chan, Golub,
 * LeVeque):
 *     mean' = mean + (x - mean)/n,   xy' = xy + (x - mean)(y - mean'_y),
 *     xy of both = xy_1 + xy_2 + n m/(n + m) (difference of means in x)(the same in y).
 * Must reproduce: (1, 2) and (3, 8) have means 2 and 5, aa = 2, ab = 6, bb = 18. */
#include "sampling/spread.h"

size_t hb_spread_size(size_t d)
{
    return 2 + 3 * d;
}

void hb_spread_add(size_t d, double *spread, double n, double a, const double *b)
{
    double *mean = spread, *sums = spread + 1 + d;
    const double before = a - mean[0];
    mean[0] += before / n;
    sums[0] += before * (a - mean[0]);
    for (size_t k = 0; k < d; k++) {
        const double rise = b[k] - mean[1 + k];
        mean[1 + k] += rise / n;
        sums[1 + k] += before * (b[k] - mean[1 + k]);
        sums[1 + d + k] += rise * (b[k] - mean[1 + k]);
    }
}

void hb_spread_merge(size_t d, double *spread, double n, const double *other, double m)
{
    double *mean = spread, *sums = spread + 1 + d;
    const double *mean2 = other, *sums2 = other + 1 + d;
    const double both = n * m / (n + m), gap = mean2[0] - mean[0];
    sums[0] += sums2[0] + both * gap * gap;
    for (size_t k = 0; k < d; k++) {
        const double rise = mean2[1 + k] - mean[1 + k];
        sums[1 + k] += sums2[1 + k] + both * gap * rise;
        sums[1 + d + k] += sums2[1 + d + k] + both * rise * rise;
        mean[1 + k] += rise * m / (n + m);
    }
    mean[0] += gap * m / (n + m);
}
