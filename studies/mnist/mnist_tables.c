/* The tables of the page: the cells beside the paper's rows, the methods, the judge's numbers, and what
 * the paper leaves open. A number that was not measured is an empty cell. */
#include "mnist.h"

#include <math.h>

/* ---- the grid of settings ---- */

static void table_cells(json_t *root, const hb_mnist *m)
{
    json_t *rows = json_array();
    for (int i = 0; i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        if (cell->images == 0) continue;
        const double *v = cell->value;
        hb_study_row(rows, "mnist_table",
                     HB_FILL(cell->det_tau, cell->n_correct, cell->n_steps, cell->images,
                             v[MNIST_MMD2], v[MNIST_MMD2_SE], v[MNIST_MMD], cell->paper,
                             100 * v[MNIST_SPECKS], 100 * v[MNIST_CONFIDENT]));
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
        hb_study_row(rows, "mnist_methods_table",
                     HB_WORDS((names[i]), m->method_steps[i], v[MNIST_LOSS],
                              v[MNIST_LOSS] / m->method[MNIST_DSM][MNIST_LOSS], v[MNIST_MMD2],
                              v[MNIST_MMD2_SE], 100 * v[MNIST_CONFIDENT], v[MNIST_PRECISION],
                              v[MNIST_RECALL]));
    }
    hb_study_table(root, "mnist_methods_table", rows,
                   HB_FILL(m->size.compare_width, m->size.compare_epochs,
                           hb_mnist_recipes[MNIST_DSM].cost, hb_mnist_recipes[MNIST_FP].cost,
                           hb_mnist_recipes[MNIST_HB].cost));
}

/* ---- the judge ---- */

static void add_judged(json_t *rows, const hb_mnist *m, const char *name, const double *v)
{
    double least = INFINITY, most = 0;
    for (int c = 0; c < m->train.classes; c++) {
        least = fmin(least, v[MNIST_SHARE + c]);
        most = fmax(most, v[MNIST_SHARE + c]);
    }
    hb_study_row(rows, "mnist_judge",
                 HB_WORDS((name), 100 * v[MNIST_CONFIDENT], 100 * v[MNIST_AGREE], 100 * least,
                          100 * most, v[MNIST_PRECISION], v[MNIST_RECALL], v[MNIST_NEAREST],
                          100 * v[MNIST_NEAR_SHARE], 100 * v[MNIST_SPECKS]));
}

static void table_judge(json_t *root, const hb_mnist *m)
{
    json_t *rows = json_array();
    add_judged(rows, m, "real test images", m->real);
    for (int i = 0; i < MNIST_CELLS; i++) {
        const hb_mnist_cell *cell = &m->cells[i];
        char name[32];
        if (cell->images == 0 || (isnan(cell->paper) && !m->size.quick)) continue;
        snprintf(name, sizeof name, "%.2f, %d, %d", cell->det_tau, cell->n_correct, cell->n_steps);
        add_judged(rows, m, name, cell->value);
    }
    hb_study_table(root, "mnist_judge", rows, HB_FILL(100 * m->accuracy, m->theta));
}

/* ---- what is not given ---- */

static void table_open(json_t *root, const hb_mnist *m)
{
    hb_generate_settings sampler;
    hb_mnist_cell_settings(m, &m->cells[0], &sampler);
    hb_study_table(root, "mnist_open", NULL,
                   HB_WORDS((m->model ? m->info.method : "none"), m->size.images,
                            m->size.paper_images, hb_mnist_real_count(m),
                            m->info.head == HB_HEAD_SCORE, m->info.depth, m->info.residual,
                            m->info.width, m->info.steps, m->info.tau_min, m->info.tau_max,
                            sampler.snr, sampler.snr));
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
