/* The rows of planar.json and the printed table, from means over seeds with their standard
 * errors. */
#include "planar.h"

#include <math.h>

double hb_planar_error(const hb_comparison *result, int set, int method, int region)
{
    return hb_compare_value(result, set, method,
                            PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + region);
}

int hb_planar_paper_place(int method)
{
    for (int place = 0; place < PLANAR_PAPER_METHODS; place++)
        if (hb_planar_paper_methods[place] == method) return place;
    return -1;
}

int hb_planar_has(const hb_comparison *result, int set)
{
    return hb_planar_size_of(result)->sets >> set & 1;
}

/* ---- planar.json ---- */

json_t *hb_planar_settings_json(const hb_comparison *result)
{
    const hb_planar_size *size = hb_planar_size_of(result);
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

static json_t *row_json(const hb_comparison *result, int set, int method)
{
    const hb_trial *run = hb_compare_at(result, set, method, 0);
    return json_pack("{s:s,s:s,s:i,s:I,s:o}", "set", hb_planar_sets[set].name, "method",
                     hb_planar_recipes[method].name, "seeds",
                     hb_compare_mean(result, set, method, 0).n, "steps", (json_int_t)run->steps,
                     "values", hb_compare_values_json(result, set, method));
}

json_t *hb_planar_rows_json(const hb_comparison *result)
{
    json_t *sets = json_array();
    for (int set = 0; set < PLANAR_SETS; set++) {
        if (!hb_planar_has(result, set)) continue;
        json_t *rows = json_array();
        for (int method = 0; method < PLANAR_METHODS; method++)
            if (hb_compare_at(result, set, method, 0))
                json_array_append_new(rows, row_json(result, set, method));
        json_array_append_new(sets, json_pack("{s:s,s:i,s:o,s:o}", "set", hb_planar_sets[set].name,
                                              "batch", hb_planar_sets[set].batch, "paper",
                                              paper_json(&hb_planar_sets[set]), "methods", rows));
    }
    return sets;
}

/* ---- the printed table ---- */

static void print_pair(FILE *table, hb_mean mean)
{
    char text[24] = "";
    if (!isnan(mean.se)) snprintf(text, sizeof text, "+-%.1g", mean.se);
    hb_study_print(table, " | %9.3g %-8s", mean.mean, text);
}

static double paper_best(const hb_planar_set *set)
{
    return fmin(set->paper[0], fmin(set->paper[1], set->paper[2]));
}

static void print_row(FILE *table, const hb_comparison *result, int set, int method)
{
    static const int shown[] = {PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE,
                                PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + 1,
                                PLANAR_RESIDUAL + PLANAR_TAU_TABLE};
    const hb_planar_set *s = &hb_planar_sets[set];
    const int place = hb_planar_paper_place(method);
    const double seconds = hb_compare_seconds(result, set, 1, method);
    hb_study_print(table, "%-17s %-12s", method == 0 ? s->name : "",
                   hb_planar_recipes[method].name);
    for (int i = 0; i < 3; i++) print_pair(table, hb_compare_mean(result, set, method, shown[i]));
    hb_study_print(table, " | %5.2f | %g/%g", hb_planar_units(result, set, method),
                   hb_compare_value(result, set, method, PLANAR_MODES_FOUND),
                   hb_compare_value(result, set, method, PLANAR_MODES));
    if (place >= 0 && !isnan(s->paper[place]))
        hb_study_print(table, " | %.4f", s->paper[place]);
    else
        hb_study_print(table, " | %6s", "");
    if (!isnan(paper_best(s)))
        hb_study_print(table, " | %5.0f", paper_best(s) / hb_planar_error(result, set, method, 0));
    else
        hb_study_print(table, " | %5s", "");
    if (seconds > 0)
        hb_study_print(table, " | %.3g s\n", seconds);
    else
        hb_study_print(table, " |\n");
}

double hb_planar_units(const hb_comparison *result, int set, int method)
{
    return hb_compare_value(result, set, method, PLANAR_MMD) /
           hb_compare_value(result, set, method, PLANAR_MMD_FLOOR);
}

void hb_planar_print(FILE *table, const hb_comparison *result)
{
    const hb_planar_size *size = hb_planar_size_of(result);
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
            if (hb_compare_at(result, set, method, 0)) print_row(table, result, set, method);
}
