/* The paper's two-dimensional study: denoising score matching, FP-Diffusion and the heat-ball loss on
 * eight planar sets with exact scores.
 *
 * Each (set, method, seed) is one run (planar_run.c) that leaves its model and its numbers in runs/;
 * everything else, tables, claims and figures, is made from those files. So a study that was stopped
 * goes on with --resume, and loses only the runs that were under way.
 *
 * Must reproduce (the paper, tau = 0.3, seed 42): errors of 0.12 to 0.51; here at least ten times
 * below the best of each row. */
#include "planar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void say_shortened(json_t *root, const hb_planar_result *result)
{
    const hb_planar_size *size = &result->size,
                         full = hb_planar_choose_size(&(hb_study_settings){0});
    hb_study_shortened(root, "planar",
                       HB_FILL(size->seeds, full.seeds, size->epochs, full.epochs, size->width,
                               full.width, size->samples, full.samples));
}

static hb_status write_json(hb_context *context, const hb_study_settings *settings,
                            const hb_planar_result *result, json_t *captions)
{
    json_t *root = hb_study_begin(&hb_planar_study, settings);
    json_object_set_new(root, "settings", hb_planar_settings_json(&result->size));
    json_object_set_new(root, "sets", hb_planar_rows_json(result));
    json_object_set_new(root, "claims", hb_planar_claims(result));
    hb_planar_tables(root, result);
    json_object_set(root, "figures", captions);
    if (settings->quick) say_shortened(root, result);
    return hb_study_write_json(context, settings->directory, "planar.json", root);
}

static hb_status run_and_write(hb_context *context, const hb_study_settings *settings, FILE *table,
                               hb_planar_result *result)
{
    HB_TRY(hb_planar_plan(context, &result->size, &result->n, &result->runs));
    if (settings->resume)
        HB_TRY(hb_planar_read_all(context, &result->size, result->runs_directory, result->n,
                                  result->runs));
    HB_TRY(
        hb_planar_do_all(context, &result->size, result->runs_directory, result->n, result->runs));
    hb_planar_average(result);
    hb_planar_print(table, result);
    HB_TRY(hb_planar_write_table(context, settings->directory, result->n, result->runs));
    json_t *captions = json_array();
    hb_status status = hb_planar_figures(context, result, settings->directory, table, captions);
    if (status == HB_OK) status = write_json(context, settings, result, captions);
    json_decref(captions);
    return status;
}

static hb_status run_planar(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    void *memory;
    char *runs;
    HB_TRY(hb_study_make_directory(context, settings->directory));
    HB_TRY(hb_study_path(context, settings->directory, "runs", &runs));
    hb_status status = hb_study_make_directory(context, runs);
    if (status == HB_OK) status = hb_study_allocate(context, 1, sizeof(hb_planar_result), &memory);
    if (status == HB_OK) {
        hb_planar_result *result = memory;
        result->size = hb_planar_choose_size(settings);
        result->runs_directory = runs;
        status = run_and_write(context, settings, table, result);
        free(result->runs);
        free(result);
    }
    free(runs);
    return status;
}

const hb_study hb_planar_study = {
    "planar", "Score networks in the plane: DSM, FP-Diffusion and the heat-ball loss", run_planar};
