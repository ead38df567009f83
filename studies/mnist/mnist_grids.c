/* Pictures of digits: a grid for each of the paper's four settings, odd rows real, even rows generated.
 *
 * mnist_grid_DETTAU_CORRECT_STEPS.png are the grids; mnist_grids.svg shows four of them with captions
 * (mnist_pictures.c); mnist_grids.plot.csv has their pixels as bytes. Without the images all rows are generated. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, PANELS = 4 };

/* The paper's settings in its order of MMD, as far as they were run, then others. */
static int choose_cells(const hb_mnist *m, const hb_mnist_cell *cells[PANELS])
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < MNIST_CELLS && n < PANELS; i++) {
            const hb_mnist_cell *cell = &m->cells[i];
            if (cell->images > 0 && isnan(cell->paper) == pass) cells[n++] = cell;
        }
    for (int i = 1; i < n; i++) /* by the paper's number; those without one stay last */
        for (int k = i; k > 0 && cells[k]->paper < cells[k - 1]->paper; k--) {
            const hb_mnist_cell *cell = cells[k];
            cells[k] = cells[k - 1];
            cells[k - 1] = cell;
        }
    return n;
}

static int row_is_real(const hb_mnist *m, int row)
{
    return m->present && row % 2 == 0;
}

static hb_status fill_picture(hb_mnist *m, const hb_mnist_cell *cell, hb_mnist_picture *p)
{
    void *memory;
    const size_t columns = (size_t)m->size.columns, n = (size_t)m->size.rows * columns;
    hb_generate_settings settings;
    hb_mnist_cell_settings(m, cell, &settings);
    HB_TRY(hb_study_allocate(m->context, n * (2 * PIXELS + 1), sizeof(double), &memory));
    p->pixels = memory;
    double *made = p->pixels + n * PIXELS; // (n, PIXELS): the generated ones
    HB_TRY(hb_mnist_generate(m, m->model, &settings, 0, m->present ? n / 2 : n, made,
                             (int *)(made + n * PIXELS)));
    size_t real = 0, generated = 0;
    for (int row = 0; row < m->size.rows; row++) {
        const double *from =
            row_is_real(m, row) ? m->test.pixels + real * PIXELS : made + generated * PIXELS;
        memcpy(p->pixels + (size_t)row * columns * PIXELS, from,
               columns * PIXELS * sizeof *p->pixels);
        *(row_is_real(m, row) ? &real : &generated) += columns;
    }
    return HB_OK;
}

static hb_status make_picture(hb_mnist *m, const hb_mnist_cell *cell, hb_mnist_picture *p)
{
    p->rows = m->size.rows;
    p->columns = m->size.columns;
    snprintf(p->name, sizeof p->name, "mnist_grid_%.2f_%d_%d", cell->det_tau, cell->n_correct,
             cell->n_steps);
    const int n = snprintf(p->caption, sizeof p->caption, "det_tau %.2f, n_correct %d, n_steps %d",
                           cell->det_tau, cell->n_correct, cell->n_steps);
    if (!isnan(cell->value[MNIST_MMD]))
        snprintf(p->caption + n, sizeof p->caption - (size_t)n, ": MMD %.4f",
                 cell->value[MNIST_MMD]);
    HB_TRY(fill_picture(m, cell, p));
    return hb_mnist_picture_make(m, p);
}

/* ---- mnist_grids.plot.csv ---- */

static hb_status write_image(hb_writer *writer, const hb_mnist *m, const hb_mnist_cell *cell,
                             const hb_mnist_picture *p, int row, int column)
{
    HB_TRY(hb_writer_printf(writer, "%g,%d,%d,%d,%d,%s", cell->det_tau, cell->n_correct,
                            cell->n_steps, row + 1, column + 1,
                            row_is_real(m, row) ? "real" : "generated"));
    return hb_mnist_pixels_write(
        writer, p->pixels + ((size_t)row * (size_t)p->columns + (size_t)column) * PIXELS);
}

static hb_status write_pixels(hb_writer *writer, const hb_mnist *m, int n,
                              const hb_mnist_cell *const *cells, const hb_mnist_picture *pictures)
{
    HB_TRY(hb_writer_printf(writer, "det_tau,n_correct,n_steps,row,column,source"));
    HB_TRY(hb_mnist_pixels_header(writer));
    for (int k = 0; k < n; k++)
        for (int row = 0; row < m->size.rows; row++)
            for (int column = 0; column < m->size.columns; column++)
                HB_TRY(write_image(writer, m, cells[k], &pictures[k], row, column));
    return HB_OK;
}

static hb_status write_csv(hb_mnist *m, int n, const hb_mnist_cell *const *cells,
                           const hb_mnist_picture *pictures)
{
    char *path;
    hb_writer *writer;
    HB_TRY(hb_study_path(m->context, m->settings->directory, "mnist_grids.plot.csv", &path));
    hb_status status = hb_writer_create(m->context, path, &writer);
    free(path);
    HB_TRY(status);
    status = write_pixels(writer, m, n, cells, pictures);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}

hb_status hb_mnist_grids(hb_mnist *m, json_t *captions)
{
    hb_mnist_picture pictures[PANELS] = {{.name = ""}};
    const hb_mnist_cell *cells[PANELS];
    hb_status status = HB_OK;
    if (!m->model) return HB_OK;
    const int n = choose_cells(m, cells);
    for (int k = 0; k < n && status == HB_OK; k++) status = make_picture(m, cells[k], &pictures[k]);
    if (status == HB_OK) status = write_csv(m, n, cells, pictures);
    if (status == HB_OK) status = hb_mnist_pictures_write(m, "mnist_grids", n, pictures);
    if (status == HB_OK) hb_study_caption(captions, "mnist_grids", HB_FILL(m->present));
    hb_mnist_pictures_release(n, pictures);
    return status;
}
