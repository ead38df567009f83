/* Scores of nonlinear SDEs learnt by networks: denoising score matching from simulated paths, the
 * pointwise Fokker-Planck residual and the heat-ball residual, against exact scores.
 *
 * The exact scores come first (drift_truth.c), then each (process, method, seed) is one run
 * (drift_run.c) that leaves its numbers in runs/; tables, claims and figures are made from
 * those. */
#include "drift.h"

static void drift_set_name(const hb_comparison *result, int problem, char separator, char name[48])
{
    (void)result, (void)separator;
    snprintf(name, 48, "%s", hb_drift_processes[problem].name);
}

static void drift_results(json_t *root, const hb_comparison *result)
{
    json_object_set_new(root, "problems", hb_drift_rows_json(result));
}

static const hb_field_of FIELDS[] = {HB_FIELD_OF(hb_drift_size, seeds),
                                     HB_FIELD_OF(hb_drift_size, rows),
                                     HB_FIELD_OF(hb_drift_size, steps)};

const hb_compared hb_drift_compared = {.study = &hb_drift_study,
                                       .format = "drift-2",
                                       .folder = "runs",
                                       .columns = "problem,method,seed,steps,quantity,value",
                                       .in_order = 1, /* seed by seed */
                                       .n_sets = DRIFT_PROBLEMS,
                                       .n_methods = DRIFT_METHODS,
                                       .recipes = hb_drift_recipes,
                                       .n_values = DRIFT_VALUES,
                                       .n_more = DRIFT_LINE,
                                       .value_name = hb_drift_value_name,
                                       .set_name = drift_set_name,
                                       .describe = hb_drift_describe,
                                       .plan = hb_drift_plan,
                                       .prepare = hb_drift_truths,
                                       .run = hb_drift_do,
                                       .put = hb_drift_put,
                                       .take = hb_drift_take,
                                       .print = hb_drift_print,
                                       .settings = hb_drift_settings_json,
                                       .results = drift_results,
                                       .n_fields = HB_COUNT(FIELDS),
                                       .fields = FIELDS,
                                       .find = hb_drift_find};

static hb_status run_drift(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    const hb_drift_size size = hb_drift_choose_size(settings),
                        full = hb_drift_choose_size(&(hb_study_settings){0});
    hb_drift_truth truths[DRIFT_PROBLEMS] = {{0}};
    hb_comparison result = {.of = &hb_drift_compared,
                            .size = &size,
                            .full = &full,
                            .user = truths,
                            .first_seed = size.seed,
                            .seeds = size.seeds};
    const hb_status status = hb_compare_study(context, settings, table, &result);
    for (int p = 0; p < DRIFT_PROBLEMS; p++) hb_drift_truth_release(&truths[p]);
    return status;
}

const hb_study hb_drift_study = {
    "drift", "Scores of nonlinear SDEs: DSM, FP-Diffusion and the heat-ball loss", run_drift};
