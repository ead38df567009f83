/* What is systematic in an estimate, as far as its own units show it.
 *
 * An integral over time is taken by a rule with few nodes. Each unit gives its values by that rule,
 * a and b, and by a coarser one; the means D_a, D_b of the differences have errors e_a, e_b that
 * are small, since both rules see the same trajectories. With A the mean of a and S = B/A the
 * score, what is claimed as bias is
 *     density   sqrt((D_a^2 - e_a^2)_+)/A,
 *     score     sqrt((D^2 - e^2)_+)/A,     D = D_b - S D_a and its error e,
 * the difference without the part of it that is noise: the rule that is used is the finer one, so
 * its own error is smaller.
 *
 * Layout: units with differences, then their spread (spread.h).
 * Must reproduce: differences 1, 2, 3 with A = 10: mean 2, its error^2 1/3, so
 * sqrt(11/3)/10 = 0.19149. */
#include "sampling/accumulator_bias.h"
#include "sampling/spread.h"

#include <math.h>

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
