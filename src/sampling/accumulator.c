/* Running moments of (a, b) over independent units, and the answer with its errors.
 *
 * u = E a, grad u = E b. With A, B_k the means over n units, S = B_k/A, s_aa, s_ab, s_bb their
 * covariances:
 *     density    A                  se  sqrt(s_aa/n);    e = se/A
 *     log        ln A + e^2/2       se  e                (the mean of ln A is ln u - e^2/2)
 *     score_k    S - (S s_aa - s_ab)/(n A^2)   se sqrt((s_bb - 2 S s_ab + S^2 s_aa)/n)/A
 *     entropy    A ln A - A e^2/2   se  A sqrt((1 + ln A)^2 e^2 + e^4/2)
 * by the delta method. s_aa is worth nu = 2n/(k - 1) degrees of freedom for units of kurtosis k, so
 * errors are multiplied by 1 + 1.21/nu + 1.44/nu^2, Student's 97.5 % point over the normal one.
 * Flags (accumulator.h) that look at the units of a mean select means: those with a large unit are
 * flagged, and those that are left are too small. So flags of tails look at m other units, `parts`
 * of which are worth one of the n that are averaged (docs/explanation/walks.md, "Flags do not select"):
 *     - the relative variance v of a unit becomes v/parts, and k becomes 3 + (k - 3)/parts;
 *     - the largest fraction falls as the root of the draws, as it does for the tail index 2;
 *     - 1000 m/(n parts) effective units are enough for any nu.
 * B. M. Hill, Annals of Statistics 3 (1975).
 * Must reproduce: a = 1, 2, 3, 4 has mean 2.5 and se sqrt(5/12) = 0.6455, times 1.3925 for nu =
 * 4. */
#include "sampling/accumulator.h"
#include "base/linear_algebra.h"
#include "sampling/spread.h"

#include <math.h>
#include <string.h>

/* Layout: units, lost, sum |a| of outliers, sum a^3, sum a^4, sizes of a, sizes of b, the spread
 * (spread.h), then the differences of spread.c. The sizes of a are sum |a|, sum a^2 and the largest
 * |a|, rising; of b the same of its norm. */
enum { ABSOLUTE, SQUARE, TOP, SIZES = TOP + HB_ACCUMULATOR_TOP };
enum {
    UNITS,
    LOST,
    OUTLIERS,
    CUBE,
    FOURTH,
    SIZES_A,
    SIZES_B = SIZES_A + SIZES,
    MEAN = SIZES_B + SIZES
};

/* Hill's estimate: from at most `top` units, one in `rare`, with so many of its errors. */
typedef struct hill {
    double top, rare, errors;
} hill;

static const hill OWN = {32, 10, 2}, DIAGNOSTIC_A = {64, 16, 2}, DIAGNOSTIC_B = {32, 10, 3};
static const double LEAST_TAIL = 320; /* units; among fewer the largest are no tail */
static const double LEAST_EFFECTIVE = 30;
static const double MOST_FRACTION = 0.05;
static const double ENOUGH_EFFECTIVE = 1000, LEAST_FREEDOM = 30;
static const double MOST_KNOWN = 0.1; /* of an error of ln u beside the spread */
static const double MOST_BIAS = 0.05,
                    MOST_SLOPE = 0.2; /* of the density and of the score, relative */
static const double ROUNDING = 1e-13; /* no relative error is reported below this */

size_t hb_accumulator_size(int dim)
{
    return MEAN + hb_spread_size((size_t)dim) + hb_bias_size((size_t)dim);
}

/* Where a accumulator's differences begin. */
static size_t bias_place(size_t d)
{
    return MEAN + hb_spread_size(d);
}

void hb_accumulator_differ(int dim, double *sums, size_t n, const double *da, const double *db)
{
    hb_bias_differ((size_t)dim, sums + bias_place((size_t)dim), n, da, db);
}

void hb_accumulator_clear(int dim, double *sums)
{
    memset(sums, 0, hb_accumulator_size(dim) * sizeof *sums);
}

double hb_accumulator_units(const double *sums)
{
    return sums[UNITS];
}

void hb_accumulator_lose(double *sums, double lost)
{
    sums[LOST] += lost;
}

void hb_accumulator_outlier(double *sums, double size)
{
    sums[OUTLIERS] += size;
}

/* top[0] is the least of the largest; a value rarely enters. */
static void keep_top(double *top, double value)
{
    if (value <= top[0]) return;
    int k = 0;
    while (k + 1 < HB_ACCUMULATOR_TOP && top[k + 1] < value) {
        top[k] = top[k + 1];
        k++;
    }
    top[k] = value;
}

static void add_size(double *sizes, double size)
{
    sizes[ABSOLUTE] += size;
    sizes[SQUARE] += size * size;
    keep_top(sizes + TOP, size);
}

void hb_accumulator_add(int dim, double *sums, size_t n, const double *a, const double *b)
{
    const size_t d = (size_t)dim;
    for (size_t i = 0; i < n; i++) {
        const double *row = b + i * d;
        sums[UNITS]++;
        sums[CUBE] += a[i] * a[i] * a[i];
        sums[FOURTH] += a[i] * a[i] * (a[i] * a[i]);
        add_size(sums + SIZES_A, fabs(a[i]));
        add_size(sums + SIZES_B, hb_norm(d, row));
        hb_spread_add(d, sums + MEAN, sums[UNITS], a[i], row);
    }
}

static void merge_sizes(double *sizes, const double *other)
{
    sizes[ABSOLUTE] += other[ABSOLUTE];
    sizes[SQUARE] += other[SQUARE];
    for (int k = 0; k < HB_ACCUMULATOR_TOP; k++) keep_top(sizes + TOP, other[TOP + k]);
}

void hb_accumulator_merge(int dim, double *sums, const double *other)
{
    const size_t d = (size_t)dim;
    const double n = sums[UNITS], m = other[UNITS];
    if (m == 0) return;
    if (n == 0) {
        memcpy(sums, other, hb_accumulator_size(dim) * sizeof *sums);
        return;
    }
    hb_spread_merge(d, sums + MEAN, n, other + MEAN, m);
    sums[UNITS] += m;
    for (int k = LOST; k <= FOURTH; k++) sums[k] += other[k];
    merge_sizes(sums + SIZES_A, other + SIZES_A);
    merge_sizes(sums + SIZES_B, other + SIZES_B);
    hb_bias_merge(d, sums + bias_place(d), other + bias_place(d));
}

static int is_finite(const double *sizes)
{
    return isfinite(sizes[ABSOLUTE]) && isfinite(sizes[SQUARE]);
}

/* Hill's estimate plus some of its errors; infinite: the largest values are alike, or no tail. */
static double tail_index(double units, const double *sizes, const hill *rule)
{
    const int k = (int)fmin(rule->top, floor(units / rule->rare));
    const double *top = sizes + TOP + HB_ACCUMULATOR_TOP - (k > 0 ? k : 1);
    if (units < LEAST_TAIL || !(top[0] > 0)) return INFINITY;
    double sum = 0;
    for (int i = 1; i < k; i++) sum += log(top[i] / top[0]);
    return sum > 0 ? (k - 1) / sum * (1 + rule->errors / sqrt(k - 1)) : INFINITY;
}

/* The units that flags look at, and how they are to those that are averaged. */
typedef struct witness {
    const double *sums;
    double n;     /* units that are averaged */
    double parts; /* units that one of these is worth */
    double draws; /* times as many draws as here are averaged */
    const hill *a, *b;
} witness;

static witness witness_of(const double *sums, const double *diagnostic, double parts)
{
    const double n = sums[UNITS];
    if (diagnostic == sums) return (witness){sums, n, 1, 1, &OWN, &OWN};
    return (witness){diagnostic,   n, parts, n * parts / diagnostic[UNITS], &DIAGNOSTIC_A,
                     &DIAGNOSTIC_B};
}

/* Effective units of those that are averaged. */
static double accumulator_effective(const witness *w, const double *sizes)
{
    const double m = w->sums[UNITS];
    if (!(sizes[SQUARE] > 0)) return 0;
    const double seen = sizes[ABSOLUTE] / sizes[SQUARE] * sizes[ABSOLUTE];
    return w->parts == 1 ? seen * (w->n / m) : w->n / (1 + fmax(m / seen - 1, 0) / w->parts);
}

/* Whether a mean of values of these sizes has an error that one can tell. */
static hb_flag flag_of_sizes(const witness *w, const double *sizes, const hill *rule)
{
    const double units = w->sums[UNITS];
    const double fraction = sizes[TOP + HB_ACCUMULATOR_TOP - 1] / sizes[ABSOLUTE];
    if (!is_finite(sizes)) return HB_FLAG_HEAVY;
    if (accumulator_effective(w, sizes) < LEAST_EFFECTIVE) return HB_FLAG_FEW;
    if (fraction > sqrt(w->draws) * MOST_FRACTION && units * fraction > 3) return HB_FLAG_HEAVY;
    return tail_index(units, sizes, rule) < 2 ? HB_FLAG_HEAVY : HB_FLAG_NONE;
}

/* nu of n units, from units that are parts of them. Where a hardly varies, the fourth power of its
 * spread is lost in rounding, and so little is at stake that units are taken as normal. */
static double accumulator_freedom(const double *sums, double variance, double n, double parts)
{
    const double m = sums[UNITS], A = sums[MEAN], square = sums[SIZES_A + SQUARE] / m;
    if (!(variance > 1e-6 * A * A)) return n;
    const double fourth =
        sums[FOURTH] / m - 4 * A * sums[CUBE] / m + 6 * A * A * square - 3 * A * A * A * A;
    const double kurtosis = (fourth / (variance * variance) - 3) / parts + 3;
    const double nu = 2 * n / fmax(kurtosis - 1, 2);
    return isfinite(nu) && nu > 1 ? nu : 1;
}

/* The first three rules, for a. */
static hb_flag flag_of_tail(const witness *w, const hb_answer *answer)
{
    const hb_flag flag = flag_of_sizes(w, w->sums + SIZES_A, w->a);
    if (flag != HB_FLAG_NONE) return flag;
    const double enough = fmin(ENOUGH_EFFECTIVE / w->draws, answer->units / 3);
    return answer->effective < enough && answer->freedom < LEAST_FREEDOM ? HB_FLAG_HEAVY
                                                                         : HB_FLAG_NONE;
}

static hb_flag flag_of(const double *sums, const witness *w, const hb_answer *answer)
{
    if (sums[SIZES_A + ABSOLUTE] == 0)
        return answer->lost > 0 && answer->lost >= answer->units ? HB_FLAG_LOST : HB_FLAG_NOTHING;
    if (!is_finite(sums + SIZES_A)) return HB_FLAG_HEAVY;
    const hb_flag flag = flag_of_tail(w, answer);
    if (flag != HB_FLAG_NONE) return flag;
    if (!(answer->relative < 0.5)) return HB_FLAG_NEGATIVE;
    if (answer->lost > 0.5 * answer->relative * answer->units) return HB_FLAG_LOST;
    if (sums[OUTLIERS] > 0.5 * sums[SIZES_A + ABSOLUTE]) return HB_FLAG_OUTLIERS;
    return HB_FLAG_NONE;
}

/* Gradients that are all 0 are no flag: a flat density has them. */
static hb_flag flag_of_score(const double *sums, const witness *w, const hb_answer *answer)
{
    if (answer->flag != HB_FLAG_NONE) return answer->flag;
    if (!is_finite(sums + SIZES_B)) return HB_FLAG_HEAVY;
    if (w->sums[SIZES_B + ABSOLUTE] == 0 && sums[SIZES_B + ABSOLUTE] == 0) return HB_FLAG_NONE;
    return flag_of_sizes(w, w->sums + SIZES_B, w->b);
}

/* A value that is not known is NaN without a sign, so that it prints as nan; 0/0 has one. */
static double accumulator_known(double value)
{
    return isnan(value) ? NAN : value;
}

/* score[dim] and its error; scale turns sums of squares into variances of means. */
static void score_of(size_t d, const double *mean, const double *spread, double scale,
                     double *score, double *score_se)
{
    const double A = mean[0];
    for (size_t k = 0; k < d; k++) {
        const double ratio = mean[1 + k] / A;
        const double square =
            spread[1 + d + k] - 2 * ratio * spread[1 + k] + ratio * ratio * spread[0];
        score[k] = accumulator_known(ratio - (ratio * spread[0] - spread[1 + k]) * scale / (A * A));
        score_se[k] = sqrt(fmax(square, 0) * scale) / fabs(A) + ROUNDING * fabs(ratio);
    }
}

/* Widens errors by what differences between rules show; relative is of chance alone until here. */
static void add_bias(size_t d, const double *sums, hb_answer *out, const double *score,
                     double *score_se)
{
    const double A = sums[MEAN], *bias = sums + bias_place(d);
    const double e = hb_bias_density(d, bias, A), u = out->density;
    double slopes = 0, sizes = 0, chances = 0;
    if (bias[0] == 0) return;
    out->bias = e;
    for (size_t k = 0; k < d; k++) {
        const double own = hb_bias_score(d, bias, A, k, score[k]);
        slopes += own * own;
        sizes += score[k] * score[k];
        chances += score_se[k] * score_se[k];
        score_se[k] = hypot(score_se[k], own);
    }
    out->score_bias = sqrt(slopes);
    if (out->flag == HB_FLAG_NONE && !(e < MOST_BIAS)) out->flag = HB_FLAG_COARSE;
    if (out->score_flag == HB_FLAG_NONE) out->score_flag = out->flag;
    if (out->score_flag == HB_FLAG_NONE && slopes > 9 * chances &&
        !(slopes < MOST_SLOPE * MOST_SLOPE * sizes))
        out->score_flag = HB_FLAG_COARSE;
    out->relative = hypot(out->relative, e);
    out->density_se = hypot(out->density_se, fabs(u) * e);
    out->log_density_se = hypot(out->log_density_se, e);
    if (u > 0) out->entropy_se = hypot(out->entropy_se, fabs(1 + out->log_density) * u * e);
}

/* What the first three rules look at. */
static void accumulator_look_at(size_t d, const witness *w, hb_answer *out)
{
    const double m = w->sums[UNITS];
    out->effective = accumulator_effective(w, w->sums + SIZES_A);
    out->tail_index = tail_index(m, w->sums + SIZES_A, w->a);
    out->freedom = accumulator_freedom(w->sums, w->sums[MEAN + 1 + d] / m, w->n, w->parts);
}

void hb_accumulator_answer(int dim, const double *sums, double log_scale, hb_answer *out,
                           double *score, double *score_se)
{
    hb_accumulator_diagnosed(dim, sums, sums, 1, log_scale, out, score, score_se);
}

void hb_accumulator_diagnosed(int dim, const double *sums, const double *diagnostic, double parts,
                              double log_scale, hb_answer *out, double *score, double *score_se)
{
    const witness w = witness_of(sums, diagnostic, parts);
    const size_t d = (size_t)dim;
    const double n = sums[UNITS], *mean = sums + MEAN, *spread = mean + 1 + d, A = mean[0];
    const double scale = n > 1 ? 1 / (n * (n - 1)) : INFINITY; // to the variance of a mean
    const double nu = accumulator_freedom(sums, spread[0] / n, n, 1),
                 wide = 1 + 1.21 / nu + 1.44 / (nu * nu);
    const double v = log(A) + log_scale;
    const double plain = sqrt(spread[0] * scale) / fabs(A), shift = plain * plain / 2;
    const double e = fmax(wide * plain, ROUNDING);
    const double u = exp(v);
    *out = (hb_answer){.units = n, .lost = sums[LOST], .relative = A > 0 ? e : INFINITY};
    accumulator_look_at(d, &w, out);
    out->density = accumulator_known(A * exp(log_scale));
    out->density_se = fabs(out->density) * e;
    out->log_density = A > 0 ? v + shift : A == 0 ? -INFINITY : NAN;
    out->log_density_se = e;
    out->entropy = u > 0 ? u * v - u * shift : 0;
    out->entropy_se = u > 0 ? u * sqrt((1 + v) * (1 + v) * e * e + e * e * e * e / 2) : 0;
    score_of(d, mean, spread, scale, score, score_se);
    for (size_t k = 0; k < d; k++) score_se[k] *= wide;
    out->flag = flag_of(sums, &w, out);
    out->score_flag = flag_of_score(sums, &w, out);
    add_bias(d, sums, out, score, score_se);
    if (out->flag != HB_FLAG_NONE)
        out->density_se = out->log_density_se = out->entropy_se = INFINITY;
    for (size_t k = 0; out->score_flag != HB_FLAG_NONE && k < d; k++) score_se[k] = INFINITY;
}

void hb_answer_widen(int dim, const double *known, hb_answer *a, double *score_se)
{
    const double u = a->density, v = a->log_density, e = known[0];
    if (a->flag == HB_FLAG_NONE && !(e < MOST_KNOWN)) a->flag = HB_FLAG_ROUNDED;
    if (a->score_flag == HB_FLAG_NONE) a->score_flag = a->flag;
    if (a->score_flag == HB_FLAG_NONE && known[1] == INFINITY) a->score_flag = HB_FLAG_ROUNDED;
    a->relative = hypot(a->relative, e);
    a->density_se = hypot(a->density_se, fabs(u) * e);
    a->log_density_se = hypot(a->log_density_se, e);
    a->entropy_se = u > 0 ? hypot(a->entropy_se, fabs(1 + v) * u * e + u * e * e) : a->entropy_se;
    for (int k = 0; k < dim; k++) score_se[k] = hypot(score_se[k], known[1 + k]);
    if (a->flag != HB_FLAG_NONE) a->density_se = a->log_density_se = a->entropy_se = INFINITY;
    for (int k = 0; a->score_flag != HB_FLAG_NONE && k < dim; k++) score_se[k] = INFINITY;
}
