/* Trials of a comparison: plan, files, NAME.csv, and the run of the study.
 *
 * FOLDER/SET-METHOD-SEED.json holds the numbers of a trial and a fingerprint: every setting that
 * they depend on, in one line. What the losses' recipes in src/train are is not part of it: after a
 * change there raise the study's format. NAME.csv has one row per number. */
#include "compare.h"

#include <math.h>
#include <stdlib.h>

/* Smallest tau of anchors in studies of scores, which need none below; the default, tau_min, is for
 * log-densities (docs/explanation/losses.md). */
static const double SCORE_ANCHOR_TAU = 0.02;

/* ---- the plan ---- */

static size_t compare_place(const hb_comparison *c, int set, int method, int seed_index)
{
    return ((size_t)set * (size_t)c->of->n_methods + (size_t)method) * (size_t)c->seeds +
           (size_t)seed_index;
}

hb_status hb_compare_plan(hb_context *context, hb_comparison *c)
{
    const size_t most = compare_place(c, c->of->n_sets, 0, 0);
    const size_t each = (size_t)c->of->n_values + (size_t)c->of->n_more;
    void *trials, *values, *place;
    HB_TRY(hb_study_allocate(context, most, sizeof(hb_trial), &trials));
    c->trials = trials;
    HB_TRY(hb_study_allocate(context, most * each, sizeof(double), &values));
    c->values = values;
    HB_TRY(hb_study_allocate(context, most, sizeof(int), &place));
    c->place = place;
    for (size_t i = 0; i < most; i++) c->place[i] = -1;
    c->of->plan(c);
    return HB_OK;
}

void hb_compare_add(hb_comparison *c, int set, int method, int seed_index, double steps,
                    double cost)
{
    c->place[compare_place(c, set, method, seed_index)] = (int)c->n;
    c->trials[c->n] =
        (hb_trial){.set = set,
                   .method = method,
                   .seed_index = seed_index,
                   .seed = c->first_seed + (uint64_t)seed_index,
                   .steps = (uint64_t)fmax(1, round(steps)),
                   .cost = cost,
                   .value = c->values + c->n * ((size_t)c->of->n_values + (size_t)c->of->n_more)};
    c->n++;
}

void hb_compare_release(hb_comparison *c)
{
    free(c->trials);
    free(c->values);
    free(c->place);
    free(c->directory);
}

const hb_trial *hb_compare_at(const hb_comparison *c, int set, int method, int seed_index)
{
    const int at = c->place[compare_place(c, set, method, seed_index)];
    return at < 0 ? NULL : &c->trials[at];
}

void hb_compare_name(const hb_comparison *c, const hb_trial *trial, char name[64])
{
    char set[48];
    c->of->set_name(c, trial->set, '-', set);
    snprintf(name, 64, "%s-%s-%llu", set, c->of->recipes[trial->method].name,
             (unsigned long long)trial->seed);
}

void hb_compare_train_settings(const hb_comparison *c, const hb_trial *trial, int width,
                               hb_train_settings *out)
{
    const hb_recipe *recipe = &c->of->recipes[trial->method];
    hb_train_settings_default(sizeof *out, out);
    out->loss = recipe->loss;
    out->head = recipe->head;
    out->target_rows = recipe->target_rows;
    out->width = width;
    out->steps = trial->steps;
    out->seed = trial->seed;
    if (recipe->loss != HB_LOSS_HB_PAPER) out->anchor_tau_min = SCORE_ANCHOR_TAU;
}

/* ---- files ---- */

static void compare_describe(const void *user, size_t i, hb_cell *cell)
{
    const hb_comparison *c = user;
    const hb_trial *trial = &c->trials[i];
    hb_compare_name(c, trial, cell->name);
    c->of->describe(c, trial, sizeof cell->settings, cell->settings);
    cell->cost = trial->cost;
    cell->done = trial->done;
}

static hb_status compare_run(hb_context *context, void *user, size_t i, json_t *root)
{
    const hb_comparison *c = user;
    hb_trial *trial = &c->trials[i];
    HB_TRY(c->of->run(context, c, trial));
    trial->done = 1;
    hb_cells_put_values(root, c->of->n_values, c->of->value_name, trial->value);
    if (c->of->put) c->of->put(root, trial);
    return HB_OK;
}

static void compare_take(void *user, size_t i, const json_t *root)
{
    const hb_comparison *c = user;
    hb_trial *trial = &c->trials[i];
    hb_cells_get_values(root, c->of->n_values, c->of->value_name, trial->value);
    trial->done = !c->of->take || c->of->take(c, root, trial);
}

static hb_cells compare_cells(hb_comparison *c)
{
    return (hb_cells){.study = c->of->study->name,
                      .format = c->of->format,
                      .directory = c->directory,
                      .n = c->n,
                      .in_order = c->of->in_order,
                      .user = c,
                      .describe = compare_describe,
                      .run = compare_run,
                      .take = compare_take};
}

hb_status hb_compare_read(hb_context *context, hb_comparison *c)
{
    const hb_cells cells = compare_cells(c);
    return hb_cells_read(context, &cells);
}

hb_status hb_compare_do(hb_context *context, hb_comparison *c)
{
    const hb_cells cells = compare_cells(c);
    return hb_cells_do(context, &cells);
}

/* ---- NAME.csv ---- */

hb_status hb_compare_write_number(hb_writer *writer, const hb_comparison *c, const hb_trial *trial,
                                  uint64_t step, const char *quantity, double value)
{
    char set[48];
    if (isnan(value)) return HB_OK;
    c->of->set_name(c, trial->set, ',', set);
    return hb_writer_printf(writer, "%s,%s,%llu,%llu,%s,%.17g\n", set,
                            c->of->recipes[trial->method].name, (unsigned long long)trial->seed,
                            (unsigned long long)step, quantity, value);
}

static hb_status compare_write_trial(hb_writer *writer, const void *user, size_t i)
{
    const hb_comparison *c = user;
    const hb_trial *trial = &c->trials[i];
    char buffer[32];
    for (int k = 0; k < c->of->n_values; k++)
        HB_TRY(hb_compare_write_number(writer, c, trial, trial->steps, c->of->value_name(k, buffer),
                                       trial->value[k]));
    return c->of->write_more ? c->of->write_more(writer, c, trial) : HB_OK;
}

hb_status hb_compare_write_table(hb_context *context, const char *directory, const hb_comparison *c)
{
    char name[64];
    snprintf(name, sizeof name, "%s.csv", c->of->study->name);
    return hb_study_write_csv(context, directory, name, c->of->columns, c->n, compare_write_trial,
                              c);
}

/* ---- the study ---- */

static hb_status compare_write_json(const hb_numbers *numbers, const hb_study_settings *settings,
                                    const hb_comparison *c, json_t *captions)
{
    json_t *root = hb_study_begin(c->of->study, settings);
    json_object_set_new(root, "settings", c->of->settings(c));
    c->of->results(root, c);
    return hb_study_end(numbers, settings, root, captions);
}

static hb_status compare_do_and_write(hb_context *context, const hb_study_settings *settings,
                                      FILE *table, hb_comparison *c)
{
    snprintf(c->seed_text, sizeof c->seed_text, "%llu", (unsigned long long)c->first_seed);
    HB_TRY(hb_study_make_directory(context, settings->directory));
    HB_TRY(hb_study_path(context, settings->directory, c->of->folder, &c->directory));
    HB_TRY(hb_study_make_directory(context, c->directory));
    HB_TRY(hb_compare_plan(context, c));
    if (c->of->prepare) HB_TRY(c->of->prepare(context, c));
    if (settings->resume) HB_TRY(hb_compare_read(context, c));
    HB_TRY(hb_compare_do(context, c));
    c->of->print(table, c);
    HB_TRY(hb_compare_write_table(context, settings->directory, c));
    hb_gallery gallery = {context, settings->directory, table, json_array(), 0};
    const hb_numbers numbers = {context, c->of->study->name, c, hb_compare_find};
    hb_status status = hb_study_figures(&numbers, &gallery);
    if (status == HB_OK && c->of->figures) status = c->of->figures(&gallery, c);
    if (status == HB_OK) status = compare_write_json(&numbers, settings, c, gallery.captions);
    json_decref(gallery.captions);
    return status;
}

hb_status hb_compare_study(hb_context *context, const hb_study_settings *settings, FILE *table,
                           hb_comparison *c)
{
    const hb_status status = compare_do_and_write(context, settings, table, c);
    hb_compare_release(c);
    return status;
}
