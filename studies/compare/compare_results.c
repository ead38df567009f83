/* Means over seeds, ratios of two methods, and their texts.
 *
 * Errors differ by powers of ten between sets, so several sets are averaged in logarithms:
 *     ratio = exp(mean over (set, seed) of ln(error of a method / error of the other)),
 * both on the same set, rows, start of the network and metrics. Its standard error, relative, is
 * that of the mean of the n logarithms, sd/sqrt(n): it covers the sets as well as the data, the
 * start of the network and the order of training, all of which change with the seed. */
#include "compare.h"

#include <math.h>

/* Adds to a sum, or in the second pass to the sum of squares about the mean. */
typedef struct summing {
    int n, pass;
    double sum, squares;
} summing;

static void sum_add(summing *s, double x)
{
    const double away = s->pass ? x - s->sum / s->n : 0;
    if (s->pass)
        s->squares += away * away;
    else
        s->sum += x, s->n++;
}

static hb_mean sum_mean(const summing *s)
{
    return (hb_mean){s->n, s->n > 0 ? s->sum / s->n : NAN,
                     s->n > 1 ? sqrt(s->squares / (s->n - 1) / s->n) : NAN};
}

hb_mean hb_compare_mean(const hb_comparison *c, int set, int method, int value)
{
    summing s = {0};
    for (; s.pass < 2; s.pass++)
        for (int seed = 0; seed < c->seeds; seed++) {
            const hb_trial *trial = hb_compare_at(c, set, method, seed);
            if (trial) sum_add(&s, trial->value[value]);
        }
    return sum_mean(&s);
}

double hb_compare_value(const hb_comparison *c, int set, int method, int value)
{
    return hb_compare_mean(c, set, method, value).mean;
}

double hb_compare_common(const hb_comparison *c, int set, int method, int other, int value)
{
    summing s = {0};
    for (int seed = 0; seed < c->seeds; seed++) {
        const hb_trial *trial = hb_compare_at(c, set, method, seed);
        if (trial && hb_compare_at(c, set, other, seed)) sum_add(&s, trial->value[value]);
    }
    return sum_mean(&s).mean;
}

static double compare_term(const hb_comparison *c, const hb_trial *trial, int value)
{
    if (!trial) return NAN;
    return c->of->term ? c->of->term(trial, value) : log(trial->value[value]);
}

hb_mean hb_compare_logs(const hb_comparison *c, int set, int n, int method, int other, int value)
{
    summing s = {0};
    for (; s.pass < 2; s.pass++)
        for (int k = set; k < set + n; k++)
            for (int seed = 0; seed < c->seeds; seed++) {
                double x = compare_term(c, hb_compare_at(c, k, method, seed), value);
                if (other >= 0) x -= compare_term(c, hb_compare_at(c, k, other, seed), value);
                if (isfinite(x)) sum_add(&s, x);
            }
    return sum_mean(&s);
}

double hb_compare_seconds(const hb_comparison *c, int set, int n, int method)
{
    summing s = {0};
    for (int k = set; k < set + n; k++)
        for (int seed = 0; seed < c->seeds; seed++) {
            const hb_trial *trial = hb_compare_at(c, k, method, seed);
            if (trial && trial->seconds > 0) sum_add(&s, trial->seconds);
        }
    return s.n > 0 ? sum_mean(&s).mean : 0;
}

/* ---- texts ---- */

json_t *hb_compare_mean_text(hb_mean mean)
{
    if (!isfinite(mean.mean)) return json_string("");
    if (!isfinite(mean.se)) return hb_study_text("%.3g", mean.mean);
    return hb_study_text("%.3g ± %.1g", mean.mean, mean.se);
}

json_t *hb_compare_ratio_text(hb_mean logs)
{
    const double ratio = exp(logs.mean);
    if (!isfinite(logs.mean)) return json_string("");
    if (!isfinite(logs.se)) return hb_study_text("%.2f", ratio);
    return hb_study_text("%.2f ± %.2f", ratio, ratio * logs.se);
}

json_t *hb_compare_values_json(const hb_comparison *c, int set, int method)
{
    char buffer[32];
    json_t *values = json_object();
    for (int i = 0; i < c->of->n_values; i++) {
        const hb_mean mean = hb_compare_mean(c, set, method, i);
        json_object_set_new(values, c->of->value_name(i, buffer),
                            json_pack("{s:o,s:o}", "mean", hb_study_number(mean.mean), "se",
                                      hb_study_number(mean.se)));
    }
    return values;
}
