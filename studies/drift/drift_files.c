/* Truths and runs as cells (study_cells.h): first the truths, one per problem, which are kept in memory and
 * made again by every call; then the runs, which --resume finds in runs/NAME.json. drift.csv has one row
 * per number: problem, method, seed, steps, quantity, value. */
#include "drift.h"

#include <heatball/file.h>

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 8 };
#define FORMAT "drift-2" /* to be raised when the same settings mean other numbers */

/* ---- truths ---- */

static void describe_truth(const void *user, size_t i, hb_cell *cell)
{
    const hb_drift_result *result = user;
    snprintf(cell->name, sizeof cell->name, "truth-%s", hb_drift_processes[i].name);
    snprintf(cell->settings, sizeof cell->settings, "truth=%s seed=%llu judge=%zu",
             hb_drift_processes[i].name, (unsigned long long)result->size.seed, result->size.judge);
    cell->cost = hb_drift_processes[i].dim == 2 ? 4 : 1;
    cell->done = !hb_drift_has(result, (int)i);
}

static json_t *numbers(size_t n, const double *x)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) json_array_append_new(list, hb_study_number(x[i]));
    return list;
}

/* Its file has the first draws of each tau and, of wells, the rotation: for the reader. */
static hb_status run_truth(hb_context *context, void *user, size_t i, json_t *root)
{
    hb_drift_result *result = user;
    hb_drift_truth *truth = &result->truth[i];
    HB_TRY(hb_drift_find_truth(context, &result->size, (int)i, truth));
    const size_t d = (size_t)hb_drift_processes[i].dim;
    json_t *claimed = json_array(), *shown = json_array();
    for (size_t k = 0; k < DRIFT_TAUS; k++) {
        json_array_append_new(claimed, hb_study_number(truth->claimed[k]));
        for (size_t j = k * truth->n; j < k * truth->n + SHOWN && j < (k + 1) * truth->n; j++)
            json_array_append_new(shown, json_pack("{s:f,s:o,s:o}", "tau", hb_drift_taus[k], "x",
                                                   numbers(d, truth->x + j * d), "score",
                                                   numbers(d, truth->score + j * d)));
    }
    json_object_set_new(root, "claimed_score_error", claimed);
    json_object_set_new(root, "draws", shown);
    if (d == 2) return HB_OK;
    double R[DRIFT_MOST_DIM * DRIFT_MOST_DIM];
    HB_TRY(hb_drift_rotation(context, (int)d, R));
    json_object_set_new(root, "rotation", numbers(d * d, R));
    return HB_OK;
}

static void take_truth(void *user, size_t i, const json_t *root)
{
    (void)user;
    (void)i;
    (void)root;
}

hb_status hb_drift_truths(hb_context *context, hb_drift_result *result)
{
    const hb_cells cells = {.study = "exact scores",
                            .format = FORMAT,
                            .directory = result->runs_directory,
                            .n = DRIFT_PROBLEMS,
                            .kept = 1,
                            .user = result,
                            .describe = describe_truth,
                            .run = run_truth,
                            .take = take_truth};
    return hb_cells_do(context, &cells);
}

/* ---- runs ---- */

static void describe_run(const void *user, size_t i, hb_cell *cell)
{
    const hb_drift_result *result = user;
    const hb_drift_run *run = &result->runs[i];
    const hb_drift_size *size = &result->size;
    const hb_drift_recipe *recipe = &hb_drift_recipes[run->method];
    hb_drift_run_name(run, cell->name);
    snprintf(cell->settings, sizeof cell->settings,
             "problem=%s method=%s seed=%llu truth_seed=%llu loss=%d target_rows=%d steps=%llu "
             "rows=%d width=%d tau_max=%g judge=%zu anchors=%zu pairs=%llu lattice=%d",
             hb_drift_processes[run->problem].name, recipe->name, (unsigned long long)run->seed,
             (unsigned long long)size->seed, recipe->loss, recipe->target_rows,
             (unsigned long long)run->steps, size->rows, size->width, size->tau_max, size->judge,
             size->anchors, (unsigned long long)size->pairs, size->lattice);
    cell->cost = (double)run->steps * hb_drift_processes[run->problem].cost[run->method] *
                 (1 + 0.15 * hb_drift_processes[run->problem].dim);
    cell->done = run->done;
}

static hb_status run_run(hb_context *context, void *user, size_t i, json_t *root)
{
    hb_drift_result *result = user;
    hb_drift_run *run = &result->runs[i];
    HB_TRY(hb_drift_do(context, &result->size, &result->truth[run->problem], run));
    hb_cells_put_values(root, DRIFT_VALUES, hb_drift_value_name, run->value);
    json_t *line = json_array();
    for (int k = 0; k < DRIFT_LINE; k++) json_array_append_new(line, hb_study_number(run->line[k]));
    json_object_set_new(root, "line", line);
    return HB_OK;
}

static void take_run(void *user, size_t i, const json_t *root)
{
    hb_drift_result *result = user;
    hb_drift_run *run = &result->runs[i];
    const json_t *line = json_object_get(root, "line");
    hb_cells_get_values(root, DRIFT_VALUES, hb_drift_value_name, run->value);
    for (size_t k = 0; k < DRIFT_LINE; k++) run->line[k] = hb_cells_number(json_array_get(line, k));
    run->done = 1;
}

hb_status hb_drift_do_all(hb_context *context, int resume, hb_drift_result *result)
{
    const hb_cells cells = {.study = "drift",
                            .format = FORMAT,
                            .directory = result->runs_directory,
                            .n = result->n,
                            .in_order = 1, /* seed by seed: what is there after a stop is whole */
                            .user = result,
                            .describe = describe_run,
                            .run = run_run,
                            .take = take_run};
    if (resume) HB_TRY(hb_cells_read(context, &cells));
    return hb_cells_do(context, &cells);
}

/* ---- the long table ---- */

static hb_status write_run(hb_writer *writer, const hb_drift_run *run)
{
    char buffer[32];
    for (int i = 0; i < DRIFT_VALUES; i++)
        if (!isnan(run->value[i]))
            HB_TRY(hb_writer_printf(
                writer, "%s,%s,%llu,%llu,%s,%.17g\n", hb_drift_processes[run->problem].name,
                hb_drift_recipes[run->method].name, (unsigned long long)run->seed,
                (unsigned long long)run->steps, hb_drift_value_name(i, buffer), run->value[i]));
    return HB_OK;
}

hb_status hb_drift_write_table(hb_context *context, const char *directory,
                               const hb_drift_result *result)
{
    static const char *const names[] = {"problem", "method", "seed", "steps", "quantity", "value"};
    char *path;
    HB_TRY(hb_study_path(context, directory, "drift.csv", &path));
    hb_writer *writer;
    hb_status status = hb_writer_create(context, path, &writer);
    free(path);
    if (status == HB_OK) status = hb_writer_csv_header(writer, sizeof names / sizeof *names, names);
    for (size_t i = 0; i < result->n && status == HB_OK; i++)
        status = write_run(writer, &result->runs[i]);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}
