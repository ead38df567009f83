/* The losses from 2 to 64 dimensions: where does the heat-ball constraint pay?
 *
 * Denoising score matching with and without averaged targets, FP-Diffusion and the heat-ball loss
 * on four families of Gaussian mixtures, whose scores are exact in every dimension; by the number
 * of rows, at equal steps and at equal seconds. Each (dimension, rows, family, method, seed) is a
 * cell that leaves its numbers in cells/; tables, claims and figures are made from these alone.
 * Cells are done seed by seed, so that a study that was stopped makes its page from K finished
 * seeds with --seeds K --resume.
 *
 * Must reproduce (docs/explanation/losses.md, other seeds of families like these): hb at about 0.7 of dsm with
 * the same targets in low density at d = 8, tau = 0.3, 8000 rows. */
#include "dimension.h"

const char *hb_dimension_value_name(int index, char buffer[32])
{
    if (index < DIMENSION_LIKELIHOOD)
        snprintf(buffer, 32, "mse_%s_tau%g", index % 2 ? "low" : "all",
                 hb_dimension_taus[index / 2]);
    else
        snprintf(buffer, 32, "log_likelihood%s",
                 index == DIMENSION_LIKELIHOOD_EXACT ? "_exact" : "");
    return buffer;
}

static void dimension_set_name(const hb_comparison *result, int set, char separator, char name[48])
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    snprintf(name, 48, "%s%d%c%d%c%s", separator == '-' ? "d" : "", size->dim[hb_dimension_d(set)],
             separator, size->rows[hb_dimension_r(set)], separator,
             hb_dimension_families[set % DIMENSION_FAMILIES]);
}

static void dimension_describe(const hb_comparison *result, const hb_trial *cell, size_t n,
                               char *text)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    const hb_recipe *recipe = &hb_dimension_recipes[cell->method];
    snprintf(text, n,
             "dim=%d rows=%d family=%s method=%s seed=%llu loss=%d target_rows=%d steps=%llu "
             "width=%d judge=%zu test=%zu",
             size->dim[hb_dimension_d(cell->set)], size->rows[hb_dimension_r(cell->set)],
             hb_dimension_families[cell->set % DIMENSION_FAMILIES], recipe->name,
             (unsigned long long)cell->seed, recipe->loss, recipe->target_rows,
             (unsigned long long)cell->steps, size->width, size->judge, size->test);
}

static void dimension_results(json_t *root, const hb_comparison *result)
{
    json_object_set_new(root, "means", hb_dimension_means_json(result));
    json_object_set_new(root, "ratios", hb_dimension_ratios_json(result));
}

static const hb_field_of FIELDS[] = {
    HB_FIELD_OF(hb_dimension_size, n_dims), HB_FIELD_OF(hb_dimension_size, n_rows),
    HB_FIELD_OF(hb_dimension_size, seeds),  HB_FIELD_OF(hb_dimension_size, steps),
    HB_FIELD_OF(hb_dimension_size, width),  HB_FIELD_OF(hb_dimension_size, test)};

const hb_compared hb_dimension_compared = {.study = &hb_dimension_study,
                                           .format = "dimension-4",
                                           .folder = "cells",
                                           .columns =
                                               "dim,rows,family,method,seed,steps,quantity,value",
                                           .in_order = 1,
                                           .n_sets = DIMENSION_SETS,
                                           .n_methods = DIMENSION_METHODS,
                                           .recipes = hb_dimension_recipes,
                                           .n_values = DIMENSION_VALUES,
                                           .value_name = hb_dimension_value_name,
                                           .set_name = dimension_set_name,
                                           .describe = dimension_describe,
                                           .plan = hb_dimension_plan,
                                           .run = hb_dimension_do,
                                           .term = hb_dimension_term,
                                           .print = hb_dimension_print,
                                           .settings = hb_dimension_settings_json,
                                           .results = dimension_results,
                                           .n_fields = HB_COUNT(FIELDS),
                                           .fields = FIELDS,
                                           .find = hb_dimension_find};

static hb_status run_dimension(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    const hb_dimension_size size = hb_dimension_choose_size(settings),
                            full = hb_dimension_choose_size(&(hb_study_settings){0});
    hb_comparison result = {.of = &hb_dimension_compared,
                            .size = &size,
                            .full = &full,
                            .first_seed = size.seed,
                            .seeds = size.seeds};
    return hb_compare_study(context, settings, table, &result);
}

const hb_study hb_dimension_study = {
    "dimension", "Score networks in 2 to 64 dimensions: where the heat-ball loss pays",
    run_dimension};
