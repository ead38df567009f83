/* Numbers for formulas of the page, and what the paper's truncated balls do.
 *
 * It draws (z, sigma) from kappa on the unit ball, d = 2, and keeps sigma in [sigma_min,
 * sigma_max]. With L = -ln(4 pi sigma) ~ Gamma(3, 1) and E[|z|^2 | sigma] = 2 d sigma L (d+2)/(d+4)
 * = (8/3) sigma L, the caloric function |x|^2 + 2 d tau, whose mean over the whole ball is its
 * value at the anchor, is off by
 *     E[|z|^2 - 4 sigma | a <= L <= b] = (1/pi) I(L^2 e^-2L (2L/3 - 1)) / I(L^2 e^-L),
 * I the integral from a = -ln(4 pi sigma_max) to b = -ln(4 pi sigma_min). In units of E[4 sigma] of
 * the whole ball, 1/(8 pi): 0 for a = 0 and b infinite, 0.118 for the ring's sigma_max = 0.04,
 * -0.022 for 0.0796. What sigma_max means is a smaller ball, r^2 = 4 pi sigma_max, whose identity
 * is exact. */
#include "planar.h"

#include <math.h>
#include <string.h>

#define SIGMA_MIN 1e-3 /* of the paper, for all sets */

/* ---- truncation ---- */

typedef struct truncation {
    double share;  /* of kappa that is cut off */
    double offset; /* of the mean of |x|^2 + 4 tau, in units of E[4 sigma] of the whole ball */
} truncation;

/* The integrals of L^2 e^-L, L^2 e^-2L and L^3 e^-2L from L to infinity. */
static double tail_1(double L)
{
    return (L * L + 2 * L + 2) * exp(-L);
}

static double tail_2(double L)
{
    return (L * L / 2 + L / 2 + 0.25) * exp(-2 * L);
}

static double tail_3(double L)
{
    return (L * L * L / 2 + 0.75 * L * L + 0.75 * L + 0.375) * exp(-2 * L);
}

static truncation truncate_ball(double sigma_max)
{
    const double a = fmax(0, -log(4 * M_PI * sigma_max)), b = -log(4 * M_PI * SIGMA_MIN);
    const double kept = tail_1(a) - tail_1(b);
    const double moment = 2.0 / 3 * (tail_3(a) - tail_3(b)) - (tail_2(a) - tail_2(b));
    return (truncation){1 - kept / tail_1(0), moment / kept / M_PI * 8 * M_PI};
}

/* ---- runs ---- */

/* Over the runs of a method, and of a set unless it is negative: how many miss a mode, the least
 * share of a mode, the fewest modes found. */
typedef struct mode_counts {
    int missing;
    double poorest, fewest;
} mode_counts;

static mode_counts count_modes(const hb_comparison *result, int set, int method)
{
    mode_counts c = {0, INFINITY, INFINITY};
    for (size_t i = 0; i < result->n; i++) {
        const hb_trial *run = &result->trials[i];
        if (run->method != method || (set >= 0 && run->set != set)) continue;
        c.missing += run->value[PLANAR_MODES_FOUND] < run->value[PLANAR_MODES];
        c.poorest = fmin(c.poorest, run->value[PLANAR_POOREST]);
        c.fewest = fmin(c.fewest, run->value[PLANAR_MODES_FOUND]);
    }
    return c;
}

/* Runs of the main methods whose residual rises from the first to the last moment; all: all
 * runs. */
static int count_rises(const hb_comparison *result, int all)
{
    int n = 0;
    for (size_t i = 0; i < result->n; i++) {
        const hb_planar_moment *curve = hb_planar_curve(&result->trials[i]);
        if (result->trials[i].method <= PLANAR_HB)
            n += all || curve[PLANAR_MOMENTS - 1].residual > curve[0].residual;
    }
    return n;
}

/* Mean over seeds of a number of moment k, tau < 0: of the residual, and its step; NaN: no run. */
static double mean_curve(const hb_comparison *result, int set, int method, int tau, int region,
                         int k, double *step)
{
    double sum = 0;
    int count = 0;
    *step = NAN;
    for (size_t i = 0; i < result->n; i++) {
        const hb_trial *run = &result->trials[i];
        const hb_planar_moment *moment = &hb_planar_curve(run)[k];
        if (run->set != set || run->method != method || !(moment->step > 0)) continue;
        sum += tau < 0 ? moment->residual : moment->error[tau][region];
        *step = moment->step;
        count++;
    }
    return count ? sum / count : NAN;
}

/* ---- by name ---- */

/* Item k of a list of sets: sets, those with numbers of the paper, those of its figures, two of
 * them. */
static int planar_find_set(const hb_comparison *result, const char *name, int k, hb_value *out)
{
    static const int shown[] = {2, 1, 4}; /* elongated_gmm, sparse_dense_gmm, ring */
    const int of_figures = strncmp(name, "shown", 5) == 0, of_paper = name[0] == 'p';
    int n = 0;
    if (strcmp(name, "shown_two") == 0 && k > 1) return 0;
    for (int i = 0; i < (of_figures ? 3 : PLANAR_SETS); i++) {
        const int set = of_figures ? shown[i] : i;
        if (!hb_planar_has(result, set) || (of_paper && isnan(hb_planar_sets[set].paper[0])))
            continue;
        out->number = set;
        if (n++ == k) return 1;
    }
    return 0;
}

/* Of a set and, for the paper's numbers, an index. */
static int planar_find_of_set(const char *name, int set, int k, hb_value *out)
{
    static const char *const titles[PLANAR_SETS] = {
        "asymmetric gmm", "sparse dense gmm", "elongated gmm", "two spiral",
        "ring",           "pinwheel",         "two moon",      "double ring"};
    static const char *const short_titles[PLANAR_SETS] = {"asymmetric", "sparse-dense", "elongated",
                                                          "two spiral", "ring",         "pinwheel",
                                                          "two moon",   "double ring"};
    static const hb_field_of fields[] = {
        HB_FIELD_OF(hb_planar_set, mixture),      HB_FIELD_OF(hb_planar_set, batch),
        HB_FIELD_OF(hb_planar_set, sigma_max),    HB_FIELD_OF(hb_planar_set, paper),
        HB_FIELD_OF(hb_planar_set, paper_global), HB_FIELD_OF(hb_planar_set, paper_low),
        HB_FIELD_OF(hb_planar_set, paper_mmd)};
    const hb_planar_set *s = &hb_planar_sets[set];
    if (hb_study_field(HB_COUNT(fields), fields, s, name, (size_t)k, out)) return 1;
    if (strcmp(name, "set") == 0)
        out->text = s->name;
    else if (strcmp(name, "title") == 0)
        out->text = titles[set];
    else if (strcmp(name, "short_title") == 0)
        out->text = short_titles[set];
    else if (strcmp(name, "cut_share") == 0)
        out->number = truncate_ball(s->sigma_max).share;
    else if (strcmp(name, "cut_offset") == 0)
        out->number = truncate_ball(s->sigma_max).offset;
    else
        return 0;
    return 1;
}

/* Of one argument. */
static int planar_find_one(const hb_comparison *result, const char *name, double x, hb_value *out)
{
    static const char *const lists[] = {"sets", "paper_sets", "shown", "shown_two"};
    const int k = isnan(x) ? 0 : (int)x;
    for (int i = 0; i < 4; i++)
        if (strcmp(name, lists[i]) == 0) return planar_find_set(result, name, k, out);
    if (isnan(x)) {
        out->text = "none";
        return strcmp(name, "set") == 0;
    }
    if (strcmp(name, "tau") == 0)
        out->number = hb_planar_taus[k];
    else if (strcmp(name, "curve_tau") == 0)
        out->number = hb_planar_curve_taus[k];
    else if (strcmp(name, "missing") == 0)
        out->number = count_modes(result, -1, k).missing;
    else if (strcmp(name, "poorest") == 0)
        out->number = count_modes(result, -1, k).poorest;
    else
        return planar_find_of_set(name, k, 0, out);
    return 1;
}

int hb_planar_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                   hb_value *out)
{
    int k[5] = {0};
    double step;
    for (int i = 0; i < n && i < 5; i++) k[i] = isnan(v[i].number) ? 0 : (int)v[i].number;
    if (n == 1) return planar_find_one(result, name, v[0].number, out);
    if (n == 0 && (strcmp(name, "rises") == 0 || strcmp(name, "runs") == 0))
        out->number = count_rises(result, name[1] == 'u');
    else if (n == 2 && strcmp(name, "fewest_modes") == 0)
        out->number = count_modes(result, k[0], k[1]).fewest;
    else if (n == 3 && strcmp(name, "curve_step") == 0) {
        mean_curve(result, k[0], k[1], -1, 0, k[2], &step);
        out->number = step;
    } else if (n == 5 && strcmp(name, "curve") == 0)
        out->number = mean_curve(result, k[0], k[1], k[2], k[3], k[4], &step);
    else
        return n == 2 && strncmp(name, "paper", 5) == 0 &&
               planar_find_of_set(name, k[0], k[1], out);
    return 1;
}
