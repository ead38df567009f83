/* Means over seeds, ratios of two methods, and their names for formulas.
 *
 * Errors differ by powers of ten between sets, so several sets are averaged in logarithms:
 *     ratio = exp(mean over (set, seed) of ln(error of a method / error of the other)),
 * both on the same set, rows, start of the network and metrics. Its standard error, relative, is
 * that of the mean of the n logarithms, sd/sqrt(n): it covers the sets as well as the data, the
 * start of the network and the order of training, all of which change with the seed. */
#include "compare.h"

#include <math.h>
#include <string.h>

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

/* ---- numbers by name ---- */

static int compare_is(const char *name, const char *other)
{
    for (; *name && (*name == *other || (*name == '_' && *other == '-')); name++) other++;
    return !*name && !*other;
}

/* Methods, values and the fields of the size. */
static int compare_find_name(const hb_comparison *c, const char *name, hb_value *out)
{
    char buffer[32];
    const int full = strncmp(name, "full_", 5) == 0;
    if (strcmp(name, "seed_text") == 0) {
        out->text = c->seed_text;
        return 1;
    }
    for (int m = 0; m < c->of->n_methods; m++)
        if (compare_is(name, c->of->recipes[m].name)) return hb_value_set(out, m);
    for (int k = 0; k < c->of->n_values; k++)
        if (strcmp(name, c->of->value_name(k, buffer)) == 0) return hb_value_set(out, k);
    return hb_study_field(c->of->n_fields, c->of->fields, full ? c->full : c->size,
                          full ? name + 5 : name, 0, out);
}

static int compare_find_recipe(const hb_recipe *recipe, const char *name, hb_value *out)
{
    static const hb_field_of fields[] = {HB_FIELD_OF(hb_recipe, color),
                                         HB_FIELD_OF(hb_recipe, cost),
                                         HB_FIELD_OF(hb_recipe, target_rows)};
    if (strcmp(name, "method") == 0) out->text = recipe->name;
    if (strcmp(name, "label") == 0) out->text = recipe->label;
    return out->text || hb_study_field(HB_COUNT(fields), fields, recipe, name, 0, out);
}

static int compare_find_mean(const hb_comparison *c, const char *name, int n, const int *k,
                             hb_value *out)
{
    if (n == 3 && strncmp(name, "value", 5) == 0) {
        const hb_mean mean = hb_compare_mean(c, k[0], k[1], k[2]);
        out->number = name[5] ? mean.se : mean.mean;
    } else if (n == 3 && strcmp(name, "seeds_of") == 0)
        out->number = hb_compare_mean(c, k[0], k[1], k[2]).n;
    else if (n == 4 && strcmp(name, "common") == 0)
        out->number = hb_compare_common(c, k[0], k[1], k[2], k[3]);
    else if (n == 5 && strncmp(name, "logs", 4) == 0) {
        const hb_mean mean = hb_compare_logs(c, k[0], k[1], k[2], k[3], k[4]);
        out->number = name[4] ? mean.se : mean.mean;
    } else
        return 0;
    return 1;
}

int hb_compare_find(const void *comparison, const char *name, int n, const hb_value *v,
                    hb_value *out)
{
    const hb_comparison *c = comparison;
    int k[5] = {0};
    for (int i = 0; i < n && i < 5; i++) k[i] = (int)v[i].number;
    *out = (hb_value){NAN, NULL};
    if (c->of->find(c, name, n, v, out)) return 1;
    if (n == 0) return compare_find_name(c, name, out);
    if (n == 1) return compare_find_recipe(&c->of->recipes[k[0]], name, out);
    if (n > 2) return compare_find_mean(c, name, n, k, out);
    const hb_trial *trial = hb_compare_at(c, k[0], k[1], 0);
    out->number = strcmp(name, "has") == 0 ? trial != NULL : trial ? (double)trial->steps : NAN;
    return strcmp(name, "has") == 0 || strcmp(name, "steps") == 0;
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
