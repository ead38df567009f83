/* The tables of the page: errors by process, method, tau and region; ratios at equal steps and at equal
 * time; what the truth claims. */
#include "drift.h"

#include <math.h>

static void table_errors(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++)
        for (int m = 0; m < DRIFT_METHODS && hb_drift_has(result, p); m++) {
            json_t *row = json_array();
            json_array_append_new(row, json_string(m ? "" : hb_drift_processes[p].title));
            json_array_append_new(row, json_string(hb_drift_recipes[m].name));
            for (int i = DRIFT_ERROR; i < DRIFT_RESIDUAL; i++)
                json_array_append_new(row, hb_compare_mean_text(hb_compare_mean(result, p, m, i)));
            json_array_append_new(row, hb_compare_mean_text(hb_compare_mean(
                                           result, p, m, DRIFT_RESIDUAL + DRIFT_TAU_TABLE)));
            json_array_append_new(rows, row);
        }
    hb_study_table(root, "drift_errors", rows, HB_FILL(hb_drift_size_of(result)->seeds));
}

static json_t *ratio_cell(const hb_comparison *result, int problem, int method, int other,
                          int region)
{
    const hb_drift_ratio r = hb_drift_compare(
        result, problem, method, other, DRIFT_ERROR + DRIFT_REGIONS * DRIFT_TAU_TABLE + region);
    if (isnan(r.se)) return hb_study_text("%.2f", r.mean);
    return hb_study_text("%.2f ± %.2f", r.mean, r.mean * r.se);
}

static void add_ratio_row(json_t *rows, const hb_comparison *result, int problem, const char *title)
{
    static const int other[] = {DRIFT_DSM, DRIFT_DSM_TARGETS, DRIFT_FP, DRIFT_DSM_TIME,
                                DRIFT_FP_TIME};
    json_t *row = json_array();
    json_array_append_new(row, json_string(title));
    for (int i = 0; i < 5; i++)
        json_array_append_new(row, ratio_cell(result, problem, DRIFT_HB, other[i], 0));
    for (int i = 1; i < 5; i++)
        json_array_append_new(row, ratio_cell(result, problem, DRIFT_HB, other[i], 1));
    json_array_append_new(rows, row);
}

static void table_ratios(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++)
        if (hb_drift_has(result, p)) add_ratio_row(rows, result, p, hb_drift_processes[p].title);
    add_ratio_row(rows, result, -1, "geometric mean");
    hb_study_table(root, "drift_ratios", rows, NULL);
}

static void table_truth(json_t *root, const hb_comparison *result)
{
    json_t *rows = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++) {
        if (!hb_drift_has(result, p)) continue;
        json_t *row = json_array();
        json_array_append_new(row, json_string(hb_drift_processes[p].title));
        for (int k = 0; k < DRIFT_TAUS; k++) {
            const int value = DRIFT_ERROR + DRIFT_REGIONS * k;
            double least = INFINITY;
            for (int m = 0; m < DRIFT_METHODS; m++)
                least = fmin(least, hb_compare_value(result, p, m, value));
            json_array_append_new(row,
                                  hb_study_text("%.1g (least error %.2g)",
                                                hb_drift_truths_of(result)[p].claimed[k], least));
        }
        json_array_append_new(rows, row);
    }
    hb_study_table(root, "drift_truth", rows, NULL);
}

void hb_drift_tables(json_t *root, const hb_comparison *result)
{
    table_ratios(root, result);
    table_errors(root, result);
    table_truth(root, result);
}
