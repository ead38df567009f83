/* The losses from 2 to 64 dimensions: where does the heat-ball constraint pay?
 *
 * Denoising score matching with and without averaged targets, FP-Diffusion and the heat-ball loss on four
 * families of Gaussian mixtures, whose scores are exact in every dimension; by the number of rows, at equal
 * steps and at equal seconds. Each (dimension, rows, family, method, seed) is a cell that leaves its numbers
 * in cells/; tables, claims and figures are made from these alone. Cells are done seed by seed, so that a
 * study that was stopped makes its page from K finished seeds with --seeds K --resume.
 *
 * Must reproduce (docs/losses.md, other seeds of families like these): hb at about 0.7 of dsm with the same
 * targets in low density at d = 8, tau = 0.3, 8000 rows. */
#include "dimension.h"

#include <stdlib.h>

static void say_shortened(json_t *root, const hb_dimension_result *result)
{
    const hb_dimension_size *size = &result->size,
                            full = hb_dimension_choose_size(&(hb_study_settings){0});
    hb_study_shortened(
        root, "dimension",
        HB_FILL(size->seeds, full.seeds, size->steps, full.steps, size->width, full.width));
}

static hb_status write_json(hb_context *context, const hb_study_settings *settings,
                            const hb_dimension_result *result, json_t *captions)
{
    json_t *root = hb_study_begin(&hb_dimension_study, settings);
    json_object_set_new(root, "settings", hb_dimension_settings_json(&result->size));
    json_object_set_new(root, "means", hb_dimension_means_json(result));
    json_object_set_new(root, "ratios", hb_dimension_ratios_json(result));
    json_object_set_new(root, "claims", hb_dimension_claims(result));
    hb_dimension_tables(root, result);
    json_object_set(root, "figures", captions);
    if (settings->quick) say_shortened(root, result);
    return hb_study_write_json(context, settings->directory, "dimension.json", root);
}

static hb_status run_and_write(hb_context *context, const hb_study_settings *settings,
                               const char *directory, FILE *table, hb_dimension_result *result)
{
    HB_TRY(hb_dimension_plan(context, result));
    HB_TRY(hb_dimension_do_all(context, directory, settings->resume, result));
    hb_dimension_print(table, result);
    HB_TRY(hb_dimension_write_table(context, settings->directory, result));
    json_t *captions = json_array();
    hb_status status = hb_dimension_figures(context, result, settings->directory, table, captions);
    if (status == HB_OK) status = write_json(context, settings, result, captions);
    json_decref(captions);
    return status;
}

static hb_status run_dimension(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    char *cells;
    HB_TRY(hb_study_make_directory(context, settings->directory));
    HB_TRY(hb_study_path(context, settings->directory, "cells", &cells));
    hb_status status = hb_study_make_directory(context, cells);
    if (status == HB_OK) {
        hb_dimension_result result = {.size = hb_dimension_choose_size(settings)};
        status = run_and_write(context, settings, cells, table, &result);
        hb_dimension_release(&result);
    }
    free(cells);
    return status;
}

const hb_study hb_dimension_study = {
    "dimension", "Score networks in 2 to 64 dimensions: where the heat-ball loss pays",
    run_dimension};
