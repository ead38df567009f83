/* Tails of distributions and means with errors.
 *
 * Q(a, x), the tail of a gamma distribution, is 1 minus a series for x < a + 1 and a continued
 * fraction (Lentz) beyond; chi squared with k degrees is Q(k/2, x/2). Student's t becomes a normal
 * by z = t (1 - 1/4v)/sqrt(1 + t^2/2v), good to 1 % of the tail for v >= 20, and there are 100 rows
 * at least. Means of skew values have t + g (2 t^2 + 1)/6 sqrt(n) + g^2 t^3/27 n in the place of t,
 * g their skewness (P. Hall, J. Royal Statistical Society B 54, 1992), which is monotone in t and
 * takes the first error of the normal distribution away; but never to reject more, since g is
 * itself an estimate. Numbers to reproduce: the normal tail of 1.96 is 0.0249979, chi squared with
 * 3 degrees has 0.05 beyond 7.814728. */
#include "certify/certify_statistics.h"

#include <float.h>
#include <math.h>

enum { MOST_TERMS = 10000 };

double hb_normal_tail(double x)
{
    return 0.5 * erfc(x * M_SQRT1_2);
}

double hb_student_tail(double degrees, double x)
{
    return hb_normal_tail(x * (1 - 0.25 / degrees) / sqrt(1 + x * x / (2 * degrees)));
}

static double gamma_series(double a, double x)
{
    double term = 1 / a, sum = term;
    for (int k = 1; k < MOST_TERMS && term > sum * DBL_EPSILON; k++) sum += term *= x / (a + k);
    return sum * exp(a * log(x) - x - lgamma(a));
}

static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;
    for (int k = 1; k < MOST_TERMS; k++) {
        const double over = -k * (k - a);
        b += 2;
        d = 1 / (over * d + b);
        c = b + over / c;
        h *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON) break;
    }
    return h * exp(a * log(x) - x - lgamma(a));
}

double hb_gamma_tail(double shape, double x)
{
    if (!(x > 0)) return 1;
    return x < shape + 1 ? 1 - gamma_series(shape, x) : gamma_fraction(shape, x);
}

double hb_chi2_tail(double degrees, double x)
{
    return hb_gamma_tail(degrees / 2, x / 2);
}

/* ---- means ---- */

static double skewness(size_t n, double squares, double cubes)
{
    const double variance = squares / (double)n;
    return variance > 0 ? cubes / (double)n / (variance * sqrt(variance)) : 0;
}

hb_estimate hb_estimate_mean(size_t n, const double *values)
{
    double sum = 0, squares = 0, cubes = 0;
    for (size_t i = 0; i < n; i++) sum += values[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double away = values[i] - mean;
        squares += away * away;
        cubes += away * away * away;
    }
    return (hb_estimate){mean, sqrt(squares / ((double)n * (double)(n - 1))),
                         skewness(n, squares, cubes)};
}

hb_estimate hb_estimate_ratio(size_t n, const double *above, const double *below)
{
    double A = 0, B = 0, squares = 0, cubes = 0;
    for (size_t i = 0; i < n; i++) {
        A += above[i];
        B += below[i];
    }
    const double ratio = A / B;
    for (size_t i = 0; i < n; i++) {
        const double away = above[i] - ratio * below[i];
        squares += away * away;
        cubes += away * away * away;
    }
    const double skew = skewness(n, squares, cubes);
    return (hb_estimate){ratio, sqrt(squares * (double)n / (double)(n - 1)) / fabs(B),
                         B < 0 ? -skew : skew};
}

hb_estimate hb_estimate_difference(hb_estimate a, hb_estimate b)
{
    const double error = hypot(a.error, b.error);
    const double cubes = a.skew * pow(a.error, 3) - b.skew * pow(b.error, 3);
    return (hb_estimate){a.value - b.value, error, error > 0 ? cubes / pow(error, 3) : 0};
}

/* No spread at all, as of a score that is 0 everywhere: 0 is as sure as another value is. */
static double in_errors(double away, double error)
{
    return error > 0 ? away / error : away > 0 ? INFINITY : away < 0 ? -INFINITY : 0;
}

/* P(the estimate is as far above `from` as it is), `from` being true. */
static double tail_above(double value, double from, double error, double skew, size_t n)
{
    const double t = in_errors(value - from, error);
    if (!isfinite(t)) return hb_normal_tail(t);
    const double root = sqrt((double)n), s = skew * t / (3 * root);
    const double turned = t * (1 + s + s * s / 3) + skew / (6 * root);
    return hb_student_tail((double)n - 1, fmin(t, turned));
}

double hb_estimate_p(hb_estimate e, size_t n, double tolerance)
{
    const double above = tail_above(e.value, tolerance, e.error, e.skew, n);
    const double below = tail_above(-e.value, tolerance, e.error, -e.skew, n);
    return fmin(1, 2 * fmin(above, below));
}

double hb_estimate_p_above(hb_estimate e, size_t n, double tolerance)
{
    return tail_above(e.value, tolerance, e.error, e.skew, n);
}

double hb_estimate_mix(size_t n, const double *first, const double *second)
{
    double f = 0, g = 0, covariance = 0, variance = 0;
    for (size_t i = 0; i < n; i++) {
        f += first[i] / (double)n;
        g += (second[i] - first[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        const double away = second[i] - first[i] - g;
        covariance += (first[i] - f) * away;
        variance += away * away;
    }
    return variance > 0 ? -covariance / variance : 0;
}
