/* The results as a table in text, mnist.csv (a row for each set of images) and the rows of
 * mnist.json. Numbers that were not measured are left empty, or out. */
#include "mnist.h"

#include <math.h>

/* ---- mnist.csv ---- */

typedef struct csv_row {
    const char *kind, *name; /* real, method or cell */
    const hb_mnist_cell *cell;
    size_t images;
    const double *value;
} csv_row;

static void write_row(FILE *file, const csv_row *row)
{
    fprintf(file, "%s,%s", row->kind, row->name);
    if (row->cell)
        fprintf(file, ",%g,%d,%d", row->cell->det_tau, row->cell->n_correct, row->cell->n_steps);
    else
        fputs(",,,", file);
    fprintf(file, ",%zu", row->images);
    hb_mnist_numbers_write(file, 1, row->cell ? &row->cell->paper : &(double){NAN});
    hb_mnist_numbers_write(file, MNIST_VALUES, row->value);
    fputc('\n', file);
}

static hb_status write_rows(hb_context *context, FILE *file, const void *user)
{
    const hb_mnist *m = user;
    (void)context;
    fputs("kind,name,det_tau,n_correct,n_steps,images,paper_mmd", file);
    hb_mnist_names_write(file);
    if (m->present) {
        const size_t rest = m->test.count - hb_mnist_real_count(m);
        write_row(file,
                  &(csv_row){"real", "test", NULL,
                             rest < m->size.paper_images ? rest : m->size.paper_images, m->real});
    }
    for (int i = 0; m->present && i < MNIST_METHODS; i++)
        write_row(file, &(csv_row){"method", hb_mnist_recipes[i].name, NULL, m->size.compare_images,
                                   m->method[i]});
    for (int i = 0; m->model && i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images > 0)
            write_row(file, &(csv_row){"cell", "", cell, cell->images, cell->value});
    }
    return HB_OK;
}

void hb_mnist_names_write(FILE *file)
{
    char buffer[32];
    for (int i = 0; i < MNIST_VALUES; i++) fprintf(file, ",%s", hb_mnist_value_name(i, buffer));
    fputc('\n', file);
}

void hb_mnist_numbers_write(FILE *file, int n, const double *numbers)
{
    for (int i = 0; i < n; i++)
        if (isnan(numbers[i]))
            fputc(',', file);
        else
            fprintf(file, ",%.17g", numbers[i]);
}

hb_status hb_mnist_write_table(hb_context *context, const hb_mnist *m)
{
    return hb_study_write_text(context, m->settings->directory, "mnist.csv", write_rows, m);
}

/* ---- mnist.json ---- */

json_t *hb_mnist_settings_json(const hb_mnist *m)
{
    const hb_mnist_size *s = &m->size;
    json_t *costs = json_object();
    for (int i = 0; i < MNIST_METHODS; i++)
        json_object_set_new(costs, hb_mnist_recipes[i].name,
                            hb_study_number(hb_mnist_recipes[i].cost));
    return json_pack(
        "{s:b,s:b,s:b,s:I,s:I,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:i,s:s,s:s,s:f,s:s,s:o}",
        "quick", s->quick, "data", m->present, "kept_model", m->kept, "train_images",
        (json_int_t)m->train.count, "test_images", (json_int_t)m->test.count, "epochs", s->epochs,
        "width", s->width, "compare_epochs", s->compare_epochs, "compare_width", s->compare_width,
        "images", (json_int_t)s->images, "paper_images", (json_int_t)s->paper_images, "real",
        (json_int_t)hb_mnist_real_count(m), "held", (json_int_t)s->held, "compare_images",
        (json_int_t)s->compare_images, "floor_times", s->floor_times, "resample", "area",
        "mmd_kernel",
        "mean of Gaussians with bandwidths 1/4, 1/2, 1, 2, 4 times the median distance of real "
        "images",
        "speck_theta", m->theta, "speck_kind", "median of nine, at least 1 pixel", "step_costs",
        costs);
}

static json_t *model_json(const hb_mnist *m)
{
    if (!m->model) return json_null();
    return json_pack("{s:s,s:i,s:i,s:i,s:I,s:I,s:i,s:s}", "method", m->info.loss, "width",
                     m->info.width, "depth", m->info.depth, "residual", m->info.skip, "parameters",
                     (json_int_t)m->info.parameters, "steps", (json_int_t)m->info.steps, "classes",
                     m->info.classes, "mark", m->model_mark);
}

static json_t *floor_json(const hb_mmd_floor *f)
{
    return json_pack("{s:f,s:f,s:f,s:f}", "mmd", f->mmd, "mmd_upper95", f->mmd_upper, "mmd2",
                     f->mmd2, "mmd2_upper95", f->mmd2_upper);
}

json_t *hb_mnist_rows_json(const hb_mnist *m)
{
    json_t *methods = json_array(), *cells = json_array();
    for (int i = 0; m->present && i < MNIST_METHODS; i++)
        json_array_append_new(methods,
                              json_pack("{s:s,s:I,s:o}", "method", hb_mnist_recipes[i].name,
                                        "steps", (json_int_t)m->method_steps[i], "values",
                                        hb_mnist_values_json(m->method[i])));
    for (int i = 0; m->model && i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images > 0)
            json_array_append_new(cells,
                                  json_pack("{s:f,s:i,s:i,s:I,s:o,s:o}", "det_tau", cell->det_tau,
                                            "n_correct", cell->n_correct, "n_steps", cell->n_steps,
                                            "images", (json_int_t)cell->images, "paper_mmd",
                                            hb_study_number(cell->paper), "values",
                                            hb_mnist_values_json(cell->value)));
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "model", model_json(m), "classifier_accuracy",
                     m->present ? hb_study_number(m->accuracy) : json_null(), "floor",
                     m->present ? floor_json(&m->floor) : json_null(), "paper_floor",
                     m->present ? floor_json(&m->paper_floor) : json_null(), "real",
                     hb_mnist_values_json(m->real), "methods", methods, "cells", cells);
}

/* ---- the printed table ---- */

static void print_values(FILE *table, const double *v)
{
    if (isnan(v[MNIST_MMD2])) {
        hb_study_print(table, " | specks %5.2f %%", 100 * v[MNIST_SPECKS]);
        return;
    }
    hb_study_print(table, " | %9.2e +-%.0e | %.4f | %6.2f | %6.1f | %5.3f %5.3f | %5.2f",
                   v[MNIST_MMD2], v[MNIST_MMD2_SE], v[MNIST_MMD], 100 * v[MNIST_SPECKS],
                   100 * v[MNIST_CONFIDENT], v[MNIST_PRECISION], v[MNIST_RECALL], v[MNIST_NEAREST]);
}

static void print_cells(FILE *table, const hb_mnist *m)
{
    for (int i = 0; m->model && i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images == 0) continue;
        hb_study_print(table, "%.2f  %d  %d  %6zu", cell->det_tau, cell->n_correct, cell->n_steps,
                       cell->images);
        print_values(table, cell->value);
        if (!isnan(cell->paper)) hb_study_print(table, " | %.4f", cell->paper);
        hb_study_print(table, "\n");
    }
}

static void print_methods(FILE *table, const hb_mnist *m)
{
    hb_study_print(
        table, "\nmethods: width %d, %d epoch%s of dsm, fp and hb; -time: as long as hb\n",
        m->size.compare_width, m->size.compare_epochs, m->size.compare_epochs == 1 ? "" : "s");
    for (int i = 0; i < MNIST_METHODS; i++) {
        const double *v = m->method[i];
        hb_study_print(table, "%-9s %6llu steps | held-out loss %.5f", hb_mnist_recipes[i].name,
                       (unsigned long long)m->method_steps[i], v[MNIST_LOSS]);
        print_values(table, v);
        hb_study_print(table, "\n");
    }
}

static void print_model(FILE *table, const hb_mnist *m)
{
    if (!m->model)
        hb_study_print(table, "no model: neither the images nor models/mnist16.safetensors is "
                              "here, so that nothing is generated\n");
    else
        hb_study_print(table, "model: %s, %s, %zu weights, %llu steps\n",
                       m->kept ? m->model_path : "trained here", m->info.loss, m->info.parameters,
                       (unsigned long long)m->info.steps);
}

static void print_size(FILE *table, const hb_mnist *m)
{
    if (m->settings->quick && m->present)
        hb_study_print(
            table,
            "quick: %zu training and %zu test images, 4 of 36 cells with %zu images each, "
            "methods at width %d for %d epoch; %s\n",
            m->train.count, m->test.count, m->size.images, m->size.compare_width,
            m->size.compare_epochs,
            m->kept ? "the model is the kept one"
                    : "there is no kept model, so a small one is trained");
    if (!m->present)
        hb_study_print(
            table,
            "the images are not here: %s\nJudging needs them (heatball data fetch mnist); "
            "without them there are samples of the kept model and their artifacts\n",
            m->missing);
}

void hb_mnist_print(FILE *table, const hb_mnist *m)
{
    hb_study_print(table, "mnist: 16 x 16 digits, seed %llu\n", (unsigned long long)m->size.seed);
    print_size(table, m);
    print_model(table, m);
    if (m->present)
        hb_study_print(
            table,
            "classifier: right on %.2f %% of the test images\n"
            "MMD2: unbiased, of five bandwidths; MMD: root of the biased one; of real "
            "against real %.4f, upper 95 %% bound %.4f (%.4f, %.4f with %zu images)\n"
            "specks: %% of images with artifacts; sure: %% with a probability above 0.9; "
            "precision, recall; nearest: distance to training images over that of test "
            "images\n%-21s | %-18s | %-6s | specks | sure   | prec. rec.  | near. | "
            "paper\n%-21s",
            100 * m->accuracy, m->floor.mmd, m->floor.mmd_upper, m->paper_floor.mmd,
            m->paper_floor.mmd_upper, m->size.paper_images, "det_tau n_c. n_s.", "MMD2", "MMD",
            "real test images");
    if (m->present) {
        print_values(table, m->real);
        hb_study_print(table, "\n");
    }
    print_cells(table, m);
    if (m->present) print_methods(table, m);
}
