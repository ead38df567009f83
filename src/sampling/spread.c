/* Means and sums of squares in one pass, and what is systematic in an estimate.
 *
 * Welford's sums, and those of two samples together (Chan, Golub, LeVeque):
 *     mean' = mean + (x - mean)/n,   xy' = xy + (x - mean)(y - mean'_y),
 *     xy of both = xy_1 + xy_2 + n m/(n + m) (difference of means in x)(the same in y).
 * Bias: each unit gives its values by a rule in time, a and b, and by a coarser one; the means D_a,
 * D_b of the differences have small errors e, since both rules see the same trajectories. Reported
 * is
 *     density   sqrt((D_a^2 - e_a^2)_+)/A,     A the mean of a, S = B/A the score,
 *     score     sqrt((D^2 - e^2)_+)/A,     D = D_b - S D_a and its error e.
 * Must reproduce: (1, 2) and (3, 8) have means 2 and 5, aa = 2, ab = 6, bb = 18; differences 1, 2,
 * 3 with A = 10 have the mean 2, its error^2 1/3, so the bias sqrt(11/3)/10 = 0.19149. */
#include "sampling/spread.h"

#include <math.h>

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

/* ---- bias: units with differences, then their spread ---- */

size_t hb_bias_size(size_t d)
{
    return 1 + hb_spread_size(d);
}

void hb_bias_differ(size_t d, double *bias, size_t n, const double *da, const double *db)
{
    for (size_t i = 0; i < n; i++) hb_spread_add(d, bias + 1, ++bias[0], da[i], db + i * d);
}

void hb_bias_merge(size_t d, double *bias, const double *other)
{
    if (other[0] == 0) return;
    hb_spread_merge(d, bias + 1, bias[0], other + 1, other[0]);
    bias[0] += other[0];
}

/* A mean without the part of it that its variance explains. */
static double beyond_noise(double mean, double variance)
{
    return sqrt(fmax(mean * mean - variance, 0));
}

/* To the variance of a mean. */
static double scale_of(const double *bias)
{
    return bias[0] > 1 ? 1 / (bias[0] * (bias[0] - 1)) : 0;
}

double hb_bias_density(size_t d, const double *bias, double A)
{
    const double *mean = bias + 1, *spread = mean + 1 + d;
    return A > 0 ? beyond_noise(mean[0], spread[0] * scale_of(bias)) / A : 0;
}

double hb_bias_score(size_t d, const double *bias, double A, size_t k, double S)
{
    const double *mean = bias + 1, *spread = mean + 1 + d;
    const double square = spread[1 + d + k] - 2 * S * spread[1 + k] + S * S * spread[0];
    return A > 0 ? beyond_noise(mean[1 + k] - S * mean[0], fmax(square, 0) * scale_of(bias)) / A
                 : 0;
}
