/* The paper's study in 256 dimensions: digits of 16 x 16 pixels from a score network.
 *
 *     images -> classifier -> main model -> numbers of real images -> methods -> table -> few
 *     images -> figures
 * Everything that takes time is a part with a file of its own (mnist_parts.c). Without the images
 * there is generation from the kept model, models/mnist16.safetensors, and the count of artifacts;
 * everything else is left out with a sentence. --quick uses the kept model too, and trains a small
 * one when there is none. With --part few there are few images alone, and what they are judged by.
 *
 * Must reproduce (the paper): MMD 0.0088 at det_tau 0.15, n_correct 1, n_steps 500. */
#include "mnist.h"

#include <stdlib.h>
#include <string.h>

enum { CLASSIFIER_COST = 30, REAL_COST = 60 }; /* seconds of the full run, for the progress */

static void plan_progress(hb_mnist *m)
{
    hb_train_settings settings;
    double total = m->present ? CLASSIFIER_COST + REAL_COST + hb_mnist_few_cost(m) : 0;
    hb_mnist_progress_total(m->progress, total);
    if (m->settings->part) return;
    hb_mnist_main_settings(&m->size, &settings);
    if (m->present && !m->size.quick) total += hb_mnist_cost_training(&settings, m->train.count, 1);
    for (int i = 0; m->present && i < MNIST_METHODS; i++) {
        hb_mnist_method_settings(&m->size, m->train.count, i, &settings);
        total += hb_mnist_cost_training(&settings, m->train.count, hb_mnist_recipes[i].cost);
    }
    for (int i = 0; i < MNIST_CELLS; i++)
        if (m->cells[i].images > 0) total += hb_mnist_cost_cell(&m->cells[i]);
    hb_mnist_progress_total(m->progress, total);
}

static hb_status do_parts(hb_mnist *m)
{
    HB_TRY(hb_mnist_load(m));
    if (!m->present && m->settings->part)
        return hb_study_fail(m->context, HB_ERROR_PATH, "%s", m->missing);
    if (!m->present && !m->size.quick) { /* what is left needs no more images than --quick has */
        hb_study_settings quick = *m->settings;
        quick.quick = 1;
        m->size = hb_mnist_choose_size(&quick);
    }
    hb_mnist_plan_cells(&m->size, m->cells);
    plan_progress(m);
    hb_mnist_progress_step(m->progress, CLASSIFIER_COST);
    HB_TRY(hb_mnist_prepare_classifier(m));
    if (!m->settings->part) HB_TRY(hb_mnist_prepare_model(m));
    hb_mnist_progress_step(m->progress, REAL_COST);
    HB_TRY(hb_mnist_judge_real(m));
    if (!m->settings->part) HB_TRY(hb_mnist_compare_methods(m));
    if (!m->settings->part) HB_TRY(hb_mnist_fill_table(m));
    return hb_mnist_few(m);
}

static hb_status write_json(const hb_numbers *numbers, const hb_mnist *m, json_t *captions)
{
    json_t *root = hb_study_begin(&hb_mnist_study, m->settings);
    json_object_set_new(root, "settings", hb_mnist_settings_json(m));
    if (!m->settings->part) json_object_update_new(root, hb_mnist_rows_json(m));
    json_object_set_new(root, "claims", json_array());
    if (m->few) json_object_set_new(root, "few", hb_mnist_few_json(m));
    const hb_status status = hb_study_results(numbers, root, m->size.quick);
    json_object_set(root, "figures", captions);
    if (status == HB_OK)
        return hb_study_write_json(numbers->context, m->settings->directory, "mnist.json", root);
    json_decref(root);
    return status;
}

static hb_status write_results(hb_context *context, hb_mnist *m, FILE *table)
{
    hb_gallery gallery = {context, m->settings->directory, table, json_array(), 0};
    const hb_numbers numbers = {context, "mnist", m, hb_mnist_find};
    hb_status status = HB_OK;
    if (!m->settings->part) hb_mnist_print(table, m);
    hb_mnist_few_print(table, m);
    if (!m->settings->part) status = hb_mnist_write_table(context, m);
    if (status == HB_OK) status = hb_mnist_grids(m, gallery.captions);
    if (status == HB_OK) status = hb_study_figures(&numbers, &gallery);
    if (status == HB_OK) status = hb_mnist_few_files(m, &gallery);
    if (status == HB_OK) status = write_json(&numbers, m, gallery.captions);
    json_decref(gallery.captions);
    return status;
}

/* The work has a context of its own; what it says of an error is passed on. */
static hb_status run_work(hb_context *caller, hb_mnist *m, FILE *table)
{
    HB_TRY(hb_mnist_progress_create(caller, &m->progress, &m->context));
    hb_status status = do_parts(m);
    if (status == HB_OK) status = write_results(caller, m, table);
    if (status != HB_OK && hb_context_message(m->context)[0])
        hb_context_fail(caller, status, hb_context_message(m->context));
    hb_model_destroy(m->model);
    hb_classifier_destroy(m->classifier);
    hb_images_destroy(m->context, &m->train);
    hb_images_destroy(m->context, &m->test);
    hb_mnist_progress_destroy(m->progress, m->context);
    free(m->few);
    return status;
}

static hb_status run_mnist(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    void *memory;
    char *parts;
    if (settings->part && strcmp(settings->part, "few") != 0)
        return hb_study_fail(context, HB_ERROR_ARGUMENT, "mnist: the part is %.80s; there is: few",
                             settings->part);
    HB_TRY(hb_study_make_directory(context, settings->directory));
    HB_TRY(hb_study_path(context, settings->directory, "parts", &parts));
    hb_status status = hb_study_make_directory(context, parts);
    if (status == HB_OK) status = hb_study_allocate(context, 1, sizeof(hb_mnist), &memory);
    if (status == HB_OK) {
        hb_mnist *m = memory;
        m->settings = settings;
        m->parts = parts;
        m->size = hb_mnist_choose_size(settings);
        status = run_work(context, m, table);
        free(m);
    }
    free(parts);
    return status;
}

const hb_study hb_mnist_study = {
    "mnist", "Digits of 16 by 16 pixels: a score network in 256 dimensions", run_mnist};
