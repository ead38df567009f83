/* dimension.json, the printed table, numbers for the page: geometric means and ratios over families
 * and seeds. */
#include "dimension.h"

#include <math.h>
#include <string.h>

double hb_dimension_term(const hb_trial *cell, int value)
{
    if (value == DIMENSION_EXCESS)
        return cell->value[DIMENSION_LIKELIHOOD_EXACT] - cell->value[DIMENSION_LIKELIHOOD];
    return log(cell->value[value]);
}

hb_mean hb_dimension_compare(const hb_comparison *result, int d, int r, int method, int other,
                             int value)
{
    return hb_compare_logs(result, hb_dimension_set(d, r, 0), DIMENSION_FAMILIES, method, other,
                           value);
}

static int dimension_find_of(const hb_dimension_size *size, const char *name, int k, hb_value *out)
{
    if (strcmp(name, "dims") == 0 || strcmp(name, "row_counts") == 0) {
        out->number = k;
        return k < (name[0] == 'd' ? size->n_dims : size->n_rows);
    }
    if (strcmp(name, "dim") == 0)
        out->number = size->dim[k];
    else if (strcmp(name, "rows") == 0)
        out->number = size->rows[k];
    else if (strcmp(name, "tau") == 0)
        out->number = hb_dimension_taus[k];
    else if (strcmp(name, "family") == 0)
        out->text = hb_dimension_families[k];
    else if (strcmp(name, "describe") == 0)
        out->text = hb_dimension_describe(k);
    else
        return 0;
    return 1;
}

int hb_dimension_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                      hb_value *out)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    if (n == 1) return dimension_find_of(size, name, (int)v[0].number, out);
    if (n == 2 && strcmp(name, "step_cost") == 0)
        out->number = hb_dimension_step_cost(size->dim[(int)v[0].number], (int)v[1].number);
    else if (n == 0 && strcmp(name, "largest") == 0)
        out->number = hb_dimension_largest(size);
    else if (n == 0 && strcmp(name, "excess") == 0)
        out->number = DIMENSION_EXCESS;
    else
        return 0;
    return 1;
}

/* ---- dimension.json ---- */

json_t *hb_dimension_settings_json(const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *dims = json_array(), *rows = json_array(), *taus = json_array(), *costs = json_array();
    json_t *families = json_object();
    for (int d = 0; d < size->n_dims; d++) {
        const int dim = size->dim[d];
        json_array_append_new(dims, json_integer(dim));
        json_t *cost = json_pack("{s:i}", "dim", dim);
        for (int m = DIMENSION_DSM; m <= DIMENSION_HB; m++)
            json_object_set_new(cost, hb_dimension_recipes[m].name,
                                json_real(hb_dimension_step_cost(dim, m)));
        json_array_append_new(costs, cost);
    }
    for (int r = 0; r < size->n_rows; r++) json_array_append_new(rows, json_integer(size->rows[r]));
    for (int k = 0; k < DIMENSION_TAUS; k++)
        json_array_append_new(taus, json_real(hb_dimension_taus[k]));
    for (int f = 0; f < DIMENSION_FAMILIES; f++)
        json_object_set_new(families, hb_dimension_families[f],
                            json_string(hb_dimension_describe(f)));
    return json_pack("{s:o,s:o,s:o,s:o,s:i,s:i,s:i,s:i,s:i,s:s,s:s,s:I,s:I,s:o}", "dims", dims,
                     "rows", rows, "taus", taus, "families", families, "seeds", size->seeds,
                     "steps", size->steps, "width", size->width, "depth", 3, "batch", 256, "head",
                     "energy", "process", "ou", "judge_draws", (json_int_t)size->judge, "test_rows",
                     (json_int_t)size->test, "step_costs_ms", costs);
}

static json_t *mean_json(hb_mean mean, int logarithm)
{
    const double level = logarithm ? exp(mean.mean) : mean.mean;
    return json_pack("{s:o,s:o,s:i}", "mean", hb_study_number(level), "se",
                     hb_study_number(logarithm ? level * mean.se : mean.se), "n", mean.n);
}

json_t *hb_dimension_means_json(const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *list = json_array();
    char buffer[32];
    for (int d = 0; d < size->n_dims; d++)
        for (int r = 0; r < size->n_rows; r++)
            for (int m = 0; m < DIMENSION_METHODS; m++) {
                const hb_trial *cell = hb_compare_at(result, hb_dimension_set(d, r, 0), m, 0);
                if (!cell) continue;
                json_t *values = json_object();
                for (int v = 0; v < DIMENSION_LIKELIHOOD; v++)
                    json_object_set_new(values, hb_dimension_value_name(v, buffer),
                                        mean_json(hb_dimension_compare(result, d, r, m, -1, v), 1));
                json_object_set_new(
                    values, "excess_nats",
                    mean_json(hb_dimension_compare(result, d, r, m, -1, DIMENSION_EXCESS), 0));
                json_array_append_new(list, json_pack("{s:i,s:i,s:s,s:I,s:o}", "dim", size->dim[d],
                                                      "rows", size->rows[r], "method",
                                                      hb_dimension_recipes[m].name, "steps",
                                                      (json_int_t)cell->steps, "values", values));
            }
    return list;
}

json_t *hb_dimension_ratios_json(const hb_comparison *result)
{
    static const int pairs[][2] = {
        {DIMENSION_DSM, DIMENSION_DSM_TARGETS},  {DIMENSION_FP, DIMENSION_DSM_TARGETS},
        {DIMENSION_HB, DIMENSION_DSM_TARGETS},   {DIMENSION_HB, DIMENSION_FP},
        {DIMENSION_FP_TIME, DIMENSION_DSM_TIME}, {DIMENSION_HB, DIMENSION_DSM_TIME},
        {DIMENSION_HB, DIMENSION_FP_TIME}};
    const hb_dimension_size *size = hb_dimension_size_of(result);
    json_t *list = json_array();
    char buffer[32];
    for (int d = 0; d < size->n_dims; d++)
        for (int r = 0; r < size->n_rows; r++)
            for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
                const int method = pairs[p][0], other = pairs[p][1];
                if (!hb_compare_at(result, hb_dimension_set(d, r, 0), other, 0)) continue;
                json_t *values = json_object();
                for (int v = 0; v < DIMENSION_LIKELIHOOD; v++)
                    json_object_set_new(
                        values, hb_dimension_value_name(v, buffer),
                        mean_json(hb_dimension_compare(result, d, r, method, other, v), 1));
                json_array_append_new(
                    list, json_pack("{s:i,s:i,s:s,s:s,s:o}", "dim", size->dim[d], "rows",
                                    size->rows[r], "method", hb_dimension_recipes[method].name,
                                    "other", hb_dimension_recipes[other].name, "ratio", values));
            }
    return list;
}

/* ---- the printed table ---- */

static void print_row(FILE *table, const hb_comparison *result, int d, int r, int method)
{
    const hb_trial *cell = hb_compare_at(result, hb_dimension_set(d, r, 0), method, 0);
    if (!cell) return;
    hb_study_print(table, "%3d %5d %-11s %5llu |", hb_dimension_size_of(result)->dim[d],
                   hb_dimension_size_of(result)->rows[r], hb_dimension_recipes[method].name,
                   (unsigned long long)cell->steps);
    for (int k = 0; k < DIMENSION_TAUS; k++) {
        const int low = hb_dimension_low(k);
        const hb_mean ratio =
            hb_dimension_compare(result, d, r, method, DIMENSION_DSM_TARGETS, low);
        hb_study_print(table, " %8.3g %8.3g x%.2f+-%.2f |",
                       exp(hb_dimension_compare(result, d, r, method, -1, low - 1).mean),
                       exp(hb_dimension_compare(result, d, r, method, -1, low).mean),
                       exp(ratio.mean), exp(ratio.mean) * ratio.se);
    }
    hb_study_print(table, " %8.3g |",
                   hb_dimension_compare(result, d, r, method, -1, DIMENSION_EXCESS).mean);
    const double seconds =
        hb_compare_seconds(result, hb_dimension_set(d, r, 0), DIMENSION_FAMILIES, method);
    if (seconds > 0) hb_study_print(table, " %.3g s", seconds);
    hb_study_print(table, "\n");
}

void hb_dimension_print(FILE *table, const hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    hb_study_print(table,
                   "dimension: error of the score at tau = 0.03, 0.1, 0.3, 0.8: everywhere, in the "
                   "fifth of the draws with the lowest density,\nand that as a ratio to "
                   "dsm-targets with its standard error; geometric means over %d families and %d "
                   "seed%s from %llu\n"
                   "width %d; excess: nats per test row above the exact density's; time: processor "
                   "time of a training done now\n"
                   "  d  rows method      steps |",
                   DIMENSION_FAMILIES, size->seeds, size->seeds == 1 ? "" : "s",
                   (unsigned long long)size->seed, size->width);
    for (int k = 0; k < DIMENSION_TAUS; k++)
        hb_study_print(table, " tau %-4g      low       ratio |", hb_dimension_taus[k]);
    hb_study_print(table, "   excess | time\n");
    for (int d = 0; d < size->n_dims; d++)
        for (int r = hb_dimension_largest(size); r >= 0; r--)
            for (int m = 0; m < DIMENSION_METHODS; m++) print_row(table, result, d, r, m);
}
