/* Truths as cells (study_cells.h), one per problem, which are kept in memory and made again by
 * every call; the settings of runs, and the line in their files. */
#include "drift.h"

enum { SHOWN = 8 };

/* ---- truths ---- */

static void describe_truth(const void *user, size_t i, hb_cell *cell)
{
    const hb_comparison *result = user;
    snprintf(cell->name, sizeof cell->name, "truth-%s", hb_drift_processes[i].name);
    snprintf(cell->settings, sizeof cell->settings, "truth=%s seed=%llu judge=%zu",
             hb_drift_processes[i].name, (unsigned long long)hb_drift_size_of(result)->seed,
             hb_drift_size_of(result)->judge);
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
    const hb_comparison *result = user;
    hb_drift_truth *truth = &hb_drift_truths_of(result)[i];
    HB_TRY(hb_drift_find_truth(context, hb_drift_size_of(result), (int)i, truth));
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

hb_status hb_drift_truths(hb_context *context, hb_comparison *result)
{
    const hb_cells cells = {.study = "exact scores",
                            .format = result->of->format,
                            .directory = result->directory,
                            .n = DRIFT_PROBLEMS,
                            .kept = 1,
                            .user = result,
                            .describe = describe_truth,
                            .run = run_truth,
                            .take = take_truth};
    return hb_cells_do(context, &cells);
}

/* ---- runs ---- */

void hb_drift_describe(const hb_comparison *result, const hb_trial *run, size_t n, char *text)
{
    const hb_drift_size *size = hb_drift_size_of(result);
    const hb_recipe *recipe = &hb_drift_recipes[run->method];
    snprintf(text, n,
             "problem=%s method=%s seed=%llu truth_seed=%llu loss=%d target_rows=%d steps=%llu "
             "rows=%d width=%d tau_max=%g judge=%zu anchors=%zu pairs=%llu lattice=%d",
             hb_drift_processes[run->set].name, recipe->name, (unsigned long long)run->seed,
             (unsigned long long)size->seed, recipe->loss, recipe->target_rows,
             (unsigned long long)run->steps, size->rows, size->width, size->tau_max, size->judge,
             size->anchors, (unsigned long long)size->pairs, size->lattice);
}

void hb_drift_put(json_t *root, const hb_trial *run)
{
    json_object_set_new(root, "line", numbers(DRIFT_LINE, hb_drift_line_of(run)));
}

int hb_drift_take(const hb_comparison *result, const json_t *root, hb_trial *run)
{
    (void)result;
    const json_t *line = json_object_get(root, "line");
    for (size_t k = 0; k < DRIFT_LINE; k++)
        hb_drift_line_of(run)[k] = hb_cells_number(json_array_get(line, k));
    return 1;
}
