/* Means over seeds with standard errors, the rows of planar.json and the printed table.
 *
 * The mean of K seeds has the standard error sqrt(variance/K): it covers the data, the start of the
 * network and the order of training, all of which change with the seed. */
#include "planar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const hb_planar_run *hb_planar_find(const hb_planar_result *result, int set, int method)
{
    for (size_t i = 0; i < result->n; i++)
        if (result->runs[i].set == set && result->runs[i].method == method) return &result->runs[i];
    return NULL;
}

static void average_value(const hb_planar_result *result, int set, int method, int value,
                          hb_planar_mean *out)
{
    double sum = 0, squares = 0;
    int n = 0;
    for (size_t i = 0; i < result->n; i++)
        if (result->runs[i].set == set && result->runs[i].method == method) {
            sum += result->runs[i].value[value];
            n++;
        }
    const double mean = n > 0 ? sum / n : NAN;
    for (size_t i = 0; i < result->n; i++)
        if (result->runs[i].set == set && result->runs[i].method == method) {
            const double away = result->runs[i].value[value] - mean;
            squares += away * away;
        }
    out->n = n;
    out->mean[value] = mean;
    out->se[value] = n > 1 ? sqrt(squares / (n - 1) / n) : NAN;
}

void hb_planar_average(hb_planar_result *result)
{
    for (int set = 0; set < PLANAR_SETS; set++)
        for (int method = 0; method < PLANAR_METHODS; method++) {
            hb_planar_mean *mean = &result->mean[set][method];
            for (int value = 0; value < PLANAR_VALUES; value++)
                average_value(result, set, method, value, mean);
            for (size_t i = 0; i < result->n; i++)
                if (result->runs[i].set == set && result->runs[i].method == method)
                    mean->seconds += result->runs[i].seconds / mean->n;
        }
}

double hb_planar_value(const hb_planar_result *result, int set, int method, int value)
{
    return result->mean[set][method].mean[value];
}

double hb_planar_error(const hb_planar_result *result, int set, int method, int region)
{
    return hb_planar_value(result, set, method,
                           PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + region);
}

/* The run of another method with the same set and seed as this one; NULL: there is none. */
static const hb_planar_run *partner_of(const hb_planar_result *result, const hb_planar_run *run,
                                       int method)
{
    for (size_t i = 0; i < result->n; i++) {
        const hb_planar_run *other = &result->runs[i];
        if (other->set == run->set && other->method == method &&
            other->seed_index == run->seed_index)
            return other;
    }
    return NULL;
}

double hb_planar_common_mean(const hb_planar_result *result, int set, int method, int other,
                             int value)
{
    double sum = 0;
    int n = 0;
    for (size_t i = 0; i < result->n; i++) {
        const hb_planar_run *run = &result->runs[i];
        if (run->set != set || run->method != method || !partner_of(result, run, other)) continue;
        sum += run->value[value];
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

double hb_planar_seed_ratio(const hb_planar_result *result, int set, int method, int other,
                            int value, double *se)
{
    double sum = 0, squares = 0;
    int n = 0;
    for (size_t i = 0; i < result->n; i++) {
        const hb_planar_run *run = &result->runs[i];
        if (run->set != set || run->method != method) continue;
        const hb_planar_run *partner = partner_of(result, run, other);
        if (!partner) continue;
        const double r = log(run->value[value] / partner->value[value]);
        sum += r;
        squares += r * r;
        n++;
    }
    const double mean = n > 0 ? sum / n : NAN;
    *se = n > 1 ? sqrt(fmax(0, squares / n - mean * mean) / (n - 1)) : NAN;
    return mean;
}

int hb_planar_paper_place(int method)
{
    for (int place = 0; place < PLANAR_PAPER_METHODS; place++)
        if (hb_planar_paper_methods[place] == method) return place;
    return -1;
}

int hb_planar_has(const hb_planar_result *result, int set)
{
    return result->size.sets >> set & 1;
}

/* ---- planar.json ---- */

json_t *hb_planar_settings_json(const hb_planar_size *size)
{
    json_t *costs = json_object();
    for (int m = 0; m < PLANAR_METHODS; m++)
        json_object_set_new(costs, hb_planar_recipes[m].name,
                            hb_study_number(hb_planar_recipes[m].cost));
    return json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:s,s:I,s:I,s:I,s:i,s:I,s:I,s:o}", "seeds",
                     size->seeds, "rows", size->rows, "epoch_rows", size->epoch_rows, "epochs",
                     size->epochs, "width", size->width, "depth", 3, "process", "ou", "judge_draws",
                     (json_int_t)size->judge, "watch_draws", (json_int_t)size->watch, "samples",
                     (json_int_t)size->samples, "generate_steps", size->generate_steps,
                     "residual_draws", (json_int_t)size->anchors, "watch_residual_draws",
                     (json_int_t)size->watch_anchors, "step_costs", costs);
}

static json_t *paper_json(const hb_planar_set *set)
{
    return json_pack("{s:o,s:o,s:o,s:[o,o],s:[o,o],s:o,s:f}", "dsm", hb_study_number(set->paper[0]),
                     "fp", hb_study_number(set->paper[1]), "hb", hb_study_number(set->paper[2]),
                     "change_global_percent_hb_fp", hb_study_number(set->paper_global[0]),
                     hb_study_number(set->paper_global[1]), "change_low_percent_hb_fp",
                     hb_study_number(set->paper_low[0]), hb_study_number(set->paper_low[1]), "mmd",
                     hb_study_number(set->paper_mmd), "sigma_max", set->sigma_max);
}

static json_t *row_json(const hb_planar_result *result, int set, int method)
{
    const hb_planar_mean *mean = &result->mean[set][method];
    const hb_planar_run *run = hb_planar_find(result, set, method);
    char buffer[32];
    json_t *values = json_object();
    for (int i = 0; i < PLANAR_VALUES; i++)
        json_object_set_new(values, hb_planar_value_name(i, buffer),
                            json_pack("{s:o,s:o}", "mean", hb_study_number(mean->mean[i]), "se",
                                      hb_study_number(mean->se[i])));
    return json_pack("{s:s,s:s,s:i,s:I,s:o}", "set", hb_planar_sets[set].name, "method",
                     hb_planar_recipes[method].name, "seeds", mean->n, "steps",
                     (json_int_t)run->steps, "values", values);
}

json_t *hb_planar_rows_json(const hb_planar_result *result)
{
    json_t *sets = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *rows = json_array();
        for (int method = 0; method < PLANAR_METHODS; method++)
            if (result->mean[set][method].n > 0)
                json_array_append_new(rows, row_json(result, set, method));
        json_array_append_new(sets, json_pack("{s:s,s:i,s:o,s:o}", "set", hb_planar_sets[set].name,
                                              "batch", hb_planar_sets[set].batch, "paper",
                                              paper_json(&hb_planar_sets[set]), "methods", rows));
    }
    return sets;
}

/* ---- the printed table ---- */

static void print_pair(FILE *table, double mean, double se)
{
    char text[24] = "";
    if (!isnan(se)) snprintf(text, sizeof text, "+-%.1g", se);
    hb_study_print(table, " | %9.3g %-8s", mean, text);
}

static double paper_best(const hb_planar_set *set)
{
    return fmin(set->paper[0], fmin(set->paper[1], set->paper[2]));
}

static void print_row(FILE *table, const hb_planar_result *result, int set, int method)
{
    const hb_planar_mean *mean = &result->mean[set][method];
    const hb_planar_set *s = &hb_planar_sets[set];
    const int at = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE;
    hb_study_print(table, "%-17s %-12s", method == 0 ? s->name : "",
                   hb_planar_recipes[method].name);
    print_pair(table, mean->mean[at], mean->se[at]);
    print_pair(table, mean->mean[at + 1], mean->se[at + 1]);
    print_pair(table, mean->mean[PLANAR_RESIDUAL + PLANAR_TAU_TABLE],
               mean->se[PLANAR_RESIDUAL + PLANAR_TAU_TABLE]);
    hb_study_print(table, " | %5.2f | %g/%g", mean->mean[PLANAR_MMD] / mean->mean[PLANAR_MMD_FLOOR],
                   mean->mean[PLANAR_MODES_FOUND], mean->mean[PLANAR_MODES]);
    const int place = hb_planar_paper_place(method);
    if (place >= 0 && !isnan(s->paper[place]))
        hb_study_print(table, " | %.4f", s->paper[place]);
    else
        hb_study_print(table, " | %6s", "");
    if (!isnan(paper_best(s)))
        hb_study_print(table, " | %5.0f", paper_best(s) / mean->mean[at]);
    else
        hb_study_print(table, " | %5s", "");
    if (mean->seconds > 0)
        hb_study_print(table, " | %.3g s\n", mean->seconds);
    else
        hb_study_print(table, " |\n");
}

void hb_planar_print(FILE *table, const hb_planar_result *result)
{
    const hb_planar_size *size = &result->size;
    hb_study_print(table,
                   "planar: error of the score at tau = 0.3 against the exact one, mean over %d "
                   "seed%s from %llu\n"
                   "%d rows, %d epochs, width %d; low: the fifth of the draws with the lowest "
                   "density; residual: rms of the scaled R_r;\nMMD in units of real against real; "
                   "factor: how far below the best of the paper's row; time: processor time of a "
                   "training done now\n%-17s %-12s | %-18s | %-18s | %-18s | %5s | %s | %6s | "
                   "%5s | %s\n",
                   size->seeds, size->seeds == 1 ? "" : "s", (unsigned long long)size->seed,
                   size->rows, size->epochs, size->width, "set", "method", "all", "low", "residual",
                   "MMD", "modes", "paper", "factor", "time");
    for (int set = 0; set < PLANAR_SETS; set++)
        for (int method = 0; method < PLANAR_METHODS; method++)
            if (result->mean[set][method].n > 0) print_row(table, result, set, method);
}
