/* The paper's two-dimensional study: denoising score matching, FP-Diffusion and the heat-ball loss
 * on eight planar sets with exact scores. Each (set, method, seed) is one run (planar_run.c) that
 * leaves its model and its numbers in runs/.
 *
 * Must reproduce (the paper, tau = 0.3, seed 42): errors of 0.12 to 0.51; here at least ten times
 * below the best of each row. */
#include "planar.h"

static void planar_set_name(const hb_comparison *result, int set, char separator, char name[48])
{
    (void)result, (void)separator;
    snprintf(name, 48, "%s", hb_planar_sets[set].name);
}

static void planar_results(json_t *root, const hb_comparison *result)
{
    json_object_set_new(root, "sets", hb_planar_rows_json(result));
}

static const hb_field_of FIELDS[] = {
    HB_FIELD_OF(hb_planar_size, seeds),  HB_FIELD_OF(hb_planar_size, rows),
    HB_FIELD_OF(hb_planar_size, epochs), HB_FIELD_OF(hb_planar_size, epoch_rows),
    HB_FIELD_OF(hb_planar_size, width),  HB_FIELD_OF(hb_planar_size, judge),
    HB_FIELD_OF(hb_planar_size, watch),  HB_FIELD_OF(hb_planar_size, samples),
    HB_FIELD_OF(hb_planar_size, anchors)};

const hb_compared hb_planar_compared = {.study = &hb_planar_study,
                                        .format = "planar-2",
                                        .folder = "runs",
                                        .columns = "set,method,seed,step,quantity,value",
                                        .n_sets = PLANAR_SETS,
                                        .n_methods = PLANAR_METHODS,
                                        .recipes = hb_planar_recipes,
                                        .n_values = PLANAR_VALUES,
                                        .n_more = PLANAR_MOMENTS * PLANAR_MOMENT,
                                        .value_name = hb_planar_value_name,
                                        .set_name = planar_set_name,
                                        .describe = hb_planar_describe,
                                        .plan = hb_planar_plan,
                                        .run = hb_planar_do,
                                        .put = hb_planar_put,
                                        .take = hb_planar_take,
                                        .write_more = hb_planar_write_curve,
                                        .print = hb_planar_print,
                                        .figures = hb_planar_field_figures,
                                        .settings = hb_planar_settings_json,
                                        .results = planar_results,
                                        .n_fields = HB_COUNT(FIELDS),
                                        .fields = FIELDS,
                                        .find = hb_planar_find};

static hb_status run_planar(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    const hb_planar_size size = hb_planar_choose_size(settings),
                         full = hb_planar_choose_size(&(hb_study_settings){0});
    hb_comparison result = {.of = &hb_planar_compared,
                            .size = &size,
                            .full = &full,
                            .first_seed = size.seed,
                            .seeds = size.seeds};
    return hb_compare_study(context, settings, table, &result);
}

const hb_study hb_planar_study = {
    "planar", "Score networks in the plane: DSM, FP-Diffusion and the heat-ball loss", run_planar};
