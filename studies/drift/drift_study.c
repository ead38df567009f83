/* Scores of nonlinear SDEs learnt by networks: denoising score matching from simulated paths, the pointwise
 * Fokker-Planck residual and the heat-ball residual, against exact scores.
 *
 * The exact scores come first (drift_truth.c), then each (process, method, seed) is one run (drift_run.c) that
 * leaves its numbers in runs/; tables, claims and figures are made from those. */
#include "drift.h"

#include <stdlib.h>

static void say_shortened(json_t *root, const hb_drift_result *result)
{
    const hb_drift_size *size = &result->size, full = hb_drift_choose_size(&(hb_study_settings){0});
    hb_study_shortened(
        root, "drift",
        HB_FILL(size->seeds, full.seeds, size->steps, full.steps, size->rows, full.rows));
}

static hb_status write_json(hb_context *context, const hb_study_settings *settings,
                            const hb_drift_result *result, json_t *captions)
{
    json_t *root = hb_study_begin(&hb_drift_study, settings);
    json_object_set_new(root, "settings", hb_drift_settings_json(&result->size));
    json_object_set_new(root, "problems", hb_drift_rows_json(result));
    json_object_set_new(root, "claims", hb_drift_claims(result));
    hb_drift_tables(root, result);
    json_object_set(root, "figures", captions);
    if (settings->quick) say_shortened(root, result);
    return hb_study_write_json(context, settings->directory, "drift.json", root);
}

static hb_status run_and_write(hb_context *context, const hb_study_settings *settings, FILE *table,
                               hb_drift_result *result)
{
    HB_TRY(hb_drift_plan(context, &result->size, &result->n, &result->runs));
    HB_TRY(hb_drift_truths(context, result));
    HB_TRY(hb_drift_do_all(context, settings->resume, result));
    hb_drift_average(result);
    hb_drift_print(table, result);
    HB_TRY(hb_drift_write_table(context, settings->directory, result));
    json_t *captions = json_array();
    hb_status status = hb_drift_figures(context, result, settings->directory, table, captions);
    if (status == HB_OK) status = write_json(context, settings, result, captions);
    json_decref(captions);
    return status;
}

static hb_status run_drift(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    void *memory;
    char *runs;
    HB_TRY(hb_study_make_directory(context, settings->directory));
    HB_TRY(hb_study_path(context, settings->directory, "runs", &runs));
    hb_status status = hb_study_make_directory(context, runs);
    if (status == HB_OK) status = hb_study_allocate(context, 1, sizeof(hb_drift_result), &memory);
    if (status == HB_OK) {
        hb_drift_result *result = memory;
        result->size = hb_drift_choose_size(settings);
        result->runs_directory = runs;
        status = run_and_write(context, settings, table, result);
        for (int p = 0; p < DRIFT_PROBLEMS; p++) hb_drift_truth_release(&result->truth[p]);
        free(result->runs);
        free(result);
    }
    free(runs);
    return status;
}

const hb_study hb_drift_study = {
    "drift", "Scores of nonlinear SDEs: DSM, FP-Diffusion and the heat-ball loss", run_drift};
