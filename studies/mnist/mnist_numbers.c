/* Numbers for formulas of the page. Cells by index in the order det_tau, n_correct, n_steps, -1:
 * the real images; methods, sizes of few images and values by index, values also by name.
 *
 * A cell has few numbers with a known error: fractions of n images have sqrt(p(1-p)/n), MMD2 its
 * own. Cells share their noise, so these errors are upper bounds for differences between cells. */
#include "mnist.h"

#include <math.h>
#include <string.h>

/* Item k of the cells that were run; judged: the real images first, then those of the paper's
 * table, with --quick all. */
static int mnist_find_cell(const hb_mnist *m, int judged, int k, hb_value *out)
{
    int n = 0;
    if (judged && k-- == 0) return hb_value_set(out, -1);
    for (int i = 0; i < MNIST_CELLS; i++) {
        if (m->cells[i].images == 0) continue;
        if (judged && isnan(m->cells[i].paper) && !m->size.quick) continue;
        out->number = i;
        if (n++ == k) return 1;
    }
    return 0;
}

/* Of nothing: sizes, what is there, floors, the main model; then values by name. */
static int mnist_find_name(const hb_mnist *m, const char *name, hb_value *out)
{
    static const hb_field_of fields[] = {
        HB_FIELD_OF(hb_mnist, present),
        HB_FIELD_OF(hb_mnist, kept),
        HB_FIELD_OF(hb_mnist, accuracy),
        HB_FIELD_OF(hb_mnist, theta),
        HB_FIELD_AS(hb_mnist, train.classes, "classes"),
        HB_FIELD_AS(hb_mnist, train.count, "train_images"),
        HB_FIELD_AS(hb_mnist, test.count, "test_images"),
        HB_FIELD_AS(hb_mnist, floor.mmd, "floor"),
        HB_FIELD_AS(hb_mnist, floor.mmd_upper, "floor_upper"),
        HB_FIELD_AS(hb_mnist, floor.mmd2, "floor_squared"),
        HB_FIELD_AS(hb_mnist, floor.mmd2_upper, "floor_squared_upper"),
        HB_FIELD_AS(hb_mnist, paper_floor.mmd, "paper_floor"),
        HB_FIELD_AS(hb_mnist, paper_floor.mmd_upper, "paper_floor_upper"),
        HB_FIELD_AS(hb_mnist, info.depth, "depth"),
        HB_FIELD_AS(hb_mnist, info.skip, "residual"),
        HB_FIELD_AS(hb_mnist, info.width, "width"),
        HB_FIELD_AS(hb_mnist, info.steps, "steps"),
        HB_FIELD_AS(hb_mnist, info.tau_min, "tau_min"),
        HB_FIELD_AS(hb_mnist, info.tau_max, "tau_max")};
    static const hb_field_of sizes[] = {
        HB_FIELD_OF(hb_mnist_size, images),         HB_FIELD_OF(hb_mnist_size, paper_images),
        HB_FIELD_OF(hb_mnist_size, held),           HB_FIELD_OF(hb_mnist_size, compare_width),
        HB_FIELD_OF(hb_mnist_size, compare_epochs), HB_FIELD_OF(hb_mnist_size, few_width),
        HB_FIELD_OF(hb_mnist_size, few_steps),      HB_FIELD_OF(hb_mnist_size, few_seeds),
        HB_FIELD_OF(hb_mnist_size, few_validation), HB_FIELD_OF(hb_mnist_size, few_made)};
    const hb_mnist_size whole = hb_mnist_choose_size(&(hb_study_settings){0});
    const int full = strncmp(name, "full_", 5) == 0;
    hb_generate_settings sampler;
    char buffer[32];
    hb_mnist_cell_settings(m, &m->cells[0], &sampler);
    if (strcmp(name, "training") == 0) out->text = m->model ? m->info.loss : "none";
    if (strcmp(name, "training") == 0) return 1;
    if (strcmp(name, "whole") == 0) return hb_value_set(out, !m->settings->part);
    if (strcmp(name, "model") == 0) return hb_value_set(out, m->model != NULL);
    if (strcmp(name, "few_run") == 0) return hb_value_set(out, m->few != NULL);
    if (strcmp(name, "real_count") == 0) return hb_value_set(out, (double)hb_mnist_real_count(m));
    if (strcmp(name, "score_head") == 0) return hb_value_set(out, m->info.head == HB_HEAD_SCORE);
    if (strcmp(name, "snr") == 0) return hb_value_set(out, sampler.snr);
    for (int i = 0; i < MNIST_VALUES; i++)
        if (strcmp(name, hb_mnist_value_name(i, buffer)) == 0) return hb_value_set(out, i);
    return hb_study_field(HB_COUNT(fields), fields, m, name, 0, out) ||
           hb_study_field(HB_COUNT(sizes), sizes, full ? &whole : &m->size, name + 5 * full, 0,
                          out);
}

/* Of an index. */
static int mnist_find_one(const hb_mnist *m, const char *name, int k, hb_value *out)
{
    static const hb_field_of of_cell[] = {
        HB_FIELD_OF(hb_mnist_cell, det_tau), HB_FIELD_OF(hb_mnist_cell, n_correct),
        HB_FIELD_OF(hb_mnist_cell, n_steps), HB_FIELD_OF(hb_mnist_cell, images),
        HB_FIELD_OF(hb_mnist_cell, paper)};
    int order[MNIST_FEW_SIZES], done = 0;
    size_t first;
    if (strcmp(name, "cells") == 0 || strcmp(name, "judged") == 0)
        return mnist_find_cell(m, name[0] == 'j', k, out);
    if (strcmp(name, "few_sizes") == 0) {
        const int n = hb_mnist_few_order(m, order);
        return k < n && hb_value_set(out, order[k]);
    }
    if (strcmp(name, "few_rows") == 0)
        return hb_value_set(out, (double)hb_mnist_few_rows(m, k, 0, &first));
    if (strcmp(name, "few_images") == 0) return hb_value_set(out, (double)m->size.few_images[k]);
    if (strcmp(name, "few_seeds_of") == 0) {
        for (int seed = 0; seed < m->size.few_seeds; seed++) done += hb_mnist_few_done(m, k, seed);
        return hb_value_set(out, done);
    }
    if (strcmp(name, "real") == 0) return hb_value_set(out, m->real[k]);
    if (strcmp(name, "tau") == 0) return hb_value_set(out, hb_mnist_taus[k]);
    if (strcmp(name, "band") == 0) return hb_value_set(out, hb_mnist_bands[k]);
    if (strcmp(name, "cost") == 0) return hb_value_set(out, hb_mnist_recipes[k].cost);
    if (strcmp(name, "method_steps") == 0) return hb_value_set(out, (double)m->method_steps[k]);
    return hb_study_field(HB_COUNT(of_cell), of_cell, &m->cells[k < 0 ? 0 : k], name, 0, out);
}

int hb_mnist_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out)
{
    const hb_mnist *m = of;
    int k[3] = {0};
    double mean[3];
    for (int i = 0; i < n && i < 3; i++) k[i] = isnan(v[i].number) ? 0 : (int)v[i].number;
    *out = (hb_value){NAN, NULL};
    if (n == 0) return mnist_find_name(m, name, out);
    if (n == 1) return mnist_find_one(m, name, k[0], out);
    if (n == 2 && strcmp(name, "few_done") == 0)
        return hb_value_set(out, hb_mnist_few_done(m, k[0], k[1]));
    if (n == 2 && strcmp(name, "cell") == 0)
        return hb_value_set(out, (k[0] < 0 ? m->real : m->cells[k[0]].value)[k[1]]);
    if (n == 2 && strcmp(name, "method") == 0) return hb_value_set(out, m->method[k[0]][k[1]]);
    if (n != 3 || strncmp(name, "few", 3) != 0) return 0;
    hb_mnist_few_mean(m, k[0], k[1], k[2], mean);
    return hb_value_set(out, mean[strcmp(name, "few") == 0        ? 0
                                  : strcmp(name, "few_most") == 0 ? 2
                                                                  : 1]);
}
