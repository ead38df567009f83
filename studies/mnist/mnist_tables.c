/* The tables of the page: the cells beside the paper's rows, the methods, the judge's numbers, and what
 * the paper leaves open. A number that was not measured is an empty cell. */
#include "mnist.h"

#include <math.h>

static json_t *start_row(json_t *rows)
{
    json_t *row = json_array();
    json_array_append_new(rows, row);
    return row;
}

static void add(json_t *row, json_t *cell)
{
    json_array_append_new(row, cell);
}

static void add_number(json_t *row, const char *unit, int digits, double factor, double value)
{
    add(row,
        isnan(value) ? json_string("") : hb_study_text("%.*f%s", digits, factor * value, unit));
}

static void add_percent(json_t *row, double value)
{
    add_number(row, " %", 1, 100, value);
}

static void add_mmd2(json_t *row, const double *v)
{
    add(row, isnan(v[MNIST_MMD2]) ? json_string("")
                                  : hb_study_text("%.2g ± %.1g", v[MNIST_MMD2], v[MNIST_MMD2_SE]));
}

/* ---- the grid of settings ---- */

static void table_cells(json_t *root, const hb_mnist *m)
{
    json_t *rows = json_array();
    for (int i = 0; i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images == 0) continue;
        json_t *row = start_row(rows);
        add(row, hb_study_text("%.2f", cell->det_tau));
        add(row, hb_study_text("%d", cell->n_correct));
        add(row, hb_study_text("%d", cell->n_steps));
        add(row, hb_study_text("%zu", cell->images));
        add_mmd2(row, cell->value);
        add_number(row, "", 4, 1, cell->value[MNIST_MMD]);
        add_number(row, "", 4, 1, cell->paper);
        add_number(row, " %", 2, 100, cell->value[MNIST_SPECKS]);
        add_percent(row, cell->value[MNIST_CONFIDENT]);
    }
    json_t *table =
        hb_study_table(root, "mnist_table", rows,
                       HB_FILL(hb_mnist_real_count(m), m->floor.mmd, m->floor.mmd_upper,
                               m->paper_floor.mmd, m->paper_floor.mmd_upper, m->size.paper_images));
    if (!m->present)
        json_object_set_new(
            table, "note",
            json_string("The test images are not here, so that only artifacts are counted."));
}

/* ---- methods ---- */

static void table_methods(json_t *root, const hb_mnist *m)
{
    static const char *const names[MNIST_METHODS] = {
        "DSM", "FP", "HB", "DSM, in HB's time", "FP, in HB's time", "DSM with the score head"};
    json_t *rows = json_array();
    for (int i = 0; i < MNIST_METHODS; i++) {
        const double *v = m->method[i];
        json_t *row = start_row(rows);
        add(row, json_string(names[i]));
        add(row, hb_study_text("%llu", (unsigned long long)m->method_steps[i]));
        add_number(row, "", 5, 1, v[MNIST_LOSS]);
        add_number(row, "", 3, 1, v[MNIST_LOSS] / m->method[MNIST_DSM][MNIST_LOSS]);
        add_mmd2(row, v);
        add_percent(row, v[MNIST_CONFIDENT]);
        add_number(row, "", 3, 1, v[MNIST_PRECISION]);
        add_number(row, "", 3, 1, v[MNIST_RECALL]);
    }
    hb_study_table(root, "mnist_methods_table", rows,
                   HB_FILL(m->size.compare_width, m->size.compare_epochs,
                           hb_mnist_recipes[MNIST_DSM].cost, hb_mnist_recipes[MNIST_FP].cost,
                           hb_mnist_recipes[MNIST_HB].cost));
}

/* ---- the judge ---- */

static void add_judged(json_t *rows, const hb_mnist *m, json_t *name, const double *v)
{
    double least = INFINITY, most = 0;
    for (int c = 0; c < m->train.classes; c++) {
        least = fmin(least, v[MNIST_SHARE + c]);
        most = fmax(most, v[MNIST_SHARE + c]);
    }
    json_t *row = start_row(rows);
    add(row, name);
    add_percent(row, v[MNIST_CONFIDENT]);
    add_percent(row, v[MNIST_AGREE]);
    add(row, hb_study_text("%.1f to %.1f %%", 100 * least, 100 * most));
    add_number(row, "", 3, 1, v[MNIST_PRECISION]);
    add_number(row, "", 3, 1, v[MNIST_RECALL]);
    add_number(row, "", 2, 1, v[MNIST_NEAREST]);
    add_number(row, " %", 2, 100, v[MNIST_NEAR_SHARE]);
    add_number(row, " %", 2, 100, v[MNIST_SPECKS]);
}

static void table_judge(json_t *root, const hb_mnist *m)
{
    json_t *rows = json_array();
    add_judged(rows, m, json_string("real test images"), m->real);
    for (int i = 0; i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images > 0 && (!isnan(cell->paper) || m->size.quick))
            add_judged(rows, m,
                       hb_study_text("%.2f, %d, %d", cell->det_tau, cell->n_correct, cell->n_steps),
                       cell->value);
    }
    hb_study_table(root, "mnist_judge", rows, HB_FILL(100 * m->accuracy, m->theta));
}

/* ---- what is not given ---- */

static void table_open(json_t *root, const hb_mnist *m)
{
    hb_generate_settings sampler;
    hb_mnist_cell_settings(m, &m->cells[0], &sampler);
    json_t *rows = json_pack(
        "[[s,s,s],[s,s,o],[s,s,o],[s,s,o],[s,s,s],[s,s,s],[s,s,s],[s,s,o],[s,s,s]]", "MMD kernel",
        "not given", "mean of Gaussians with 1/4, 1/2, 1, 2, 4 times the median distance",
        "images of an MMD", "not given",
        hb_study_text("%zu generated (%zu in the paper's rows) against %zu of the test set",
                      m->size.images, m->size.paper_images, hb_mnist_real_count(m)),
        "network and its training", "at most 50 epochs",
        hb_study_text(
            "%s, %s head, %d %slayers of width %d, %llu steps", m->model ? m->info.method : "none",
            m->info.head == HB_HEAD_SCORE ? "score" : "energy", m->info.depth,
            m->info.residual ? "residual " : "", m->info.width, (unsigned long long)m->info.steps),
        "noise process", "not given",
        hb_study_text("Ornstein-Uhlenbeck, τ from %g to %g", m->info.tau_min, m->info.tau_max),
        "from 28 × 28 to 16 × 16", "not given", "mean over the area of each pixel", "pixels",
        "“binarized” in the introduction of its section 5, grey in 5.2", "grey, 0 black to 1 white",
        "classes", "unconditional samples", "asked for in the shares of the training data",
        "step of the Langevin corrector", "not given",
        hb_study_text("snr %g: 2·%g² of the noise's variance", sampler.snr, sampler.snr),
        "artifact", "counted, without a definition",
        "a pixel far from the median of the nine around it (table of the judge)");
    hb_study_table(root, "mnist_open", rows, NULL);
}

static void say_shortened(json_t *root, const hb_mnist *m)
{
    const hb_mnist_size full = hb_mnist_choose_size(&(hb_study_settings){0});
    int cells = 0;
    for (int i = 0; i < MNIST_CELLS; i++) cells += m->cells[i].images > 0;
    hb_study_shortened(root, "mnist_cells",
                       HB_FILL(cells, MNIST_CELLS, m->size.images, full.images, m->kept));
    if (m->present)
        hb_study_shortened(root, "mnist_images",
                           HB_FILL(m->train.count, m->test.count, m->size.compare_width,
                                   m->size.compare_epochs, full.compare_width,
                                   full.compare_epochs));
    else
        hb_study_shortened(root, "mnist_absent", NULL);
}

void hb_mnist_tables(json_t *root, const hb_mnist *m)
{
    if (m->model) table_cells(root, m);
    if (m->model && m->present) table_judge(root, m);
    if (m->present) table_methods(root, m);
    table_open(root, m);
    if (m->size.quick) say_shortened(root, m);
}
