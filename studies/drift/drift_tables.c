/* The tables of the page: errors by process, method, tau and region; ratios at equal steps and at equal
 * time; what the truth claims. */
#include "drift.h"

#include <math.h>

static json_t *mean_cell(const hb_drift_mean *mean, int value)
{
    if (isnan(mean->mean[value])) return json_string("");
    if (isnan(mean->se[value])) return hb_study_text("%.3g", mean->mean[value]);
    return hb_study_text("%.3g ± %.1g", mean->mean[value], mean->se[value]);
}

static void table_errors(json_t *root, const hb_drift_result *result)
{
    json_t *rows = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++)
        for (int m = 0; m < DRIFT_METHODS && hb_drift_has(result, p); m++) {
            const hb_drift_mean *mean = &result->mean[p][m];
            json_t *row = json_array();
            json_array_append_new(row, json_string(m ? "" : hb_drift_processes[p].title));
            json_array_append_new(row, json_string(hb_drift_recipes[m].name));
            for (int i = DRIFT_ERROR; i < DRIFT_RESIDUAL; i++)
                json_array_append_new(row, mean_cell(mean, i));
            json_array_append_new(row, mean_cell(mean, DRIFT_RESIDUAL + DRIFT_TAU_TABLE));
            json_array_append_new(rows, row);
        }
    hb_study_table(root, "drift_errors", rows, HB_FILL(result->size.seeds));
}

static json_t *ratio_cell(const hb_drift_result *result, int problem, int method, int other,
                          int region)
{
    const hb_drift_ratio r = hb_drift_compare(
        result, problem, method, other, DRIFT_ERROR + DRIFT_REGIONS * DRIFT_TAU_TABLE + region);
    if (isnan(r.se)) return hb_study_text("%.2f", r.mean);
    return hb_study_text("%.2f ± %.2f", r.mean, r.mean * r.se);
}

static void add_ratio_row(json_t *rows, const hb_drift_result *result, int problem,
                          const char *title)
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

static void table_ratios(json_t *root, const hb_drift_result *result)
{
    json_t *rows = json_array();
    for (int p = 0; p < DRIFT_PROBLEMS; p++)
        if (hb_drift_has(result, p)) add_ratio_row(rows, result, p, hb_drift_processes[p].title);
    add_ratio_row(rows, result, -1, "geometric mean");
    hb_study_table(root, "drift_ratios", rows, NULL);
}

static void table_truth(json_t *root, const hb_drift_result *result)
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
                least = fmin(least, result->mean[p][m].mean[value]);
            json_array_append_new(
                row, hb_study_text("%.1g (least error %.2g)", result->truth[p].claimed[k], least));
        }
        json_array_append_new(rows, row);
    }
    hb_study_table(root, "drift_truth", rows, NULL);
}

void hb_drift_tables(json_t *root, const hb_drift_result *result)
{
    table_ratios(root, result);
    table_errors(root, result);
    table_truth(root, result);
}
