/* Pictures of digits: a grid for each of the paper's four settings, odd rows real, even rows
 * generated.
 *
 * mnist_grid_DETTAU_CORRECT_STEPS.png are the grids; mnist_grids.svg shows four of them with
 * captions (mnist_pictures.c); mnist_grids.plot.csv has their pixels as bytes. Without the images
 * all rows are generated. */
#include "mnist.h"

#include <math.h>
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
    const size_t columns = (size_t)m->size.columns, n = (size_t)m->size.rows * columns;
    hb_generate_settings settings;
    hb_mnist_cell_settings(m, cell, &settings);
    HB_TRY(HB_STUDY_NEW(m->context, p->pixels, n * (2 * PIXELS + 1)));
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

typedef struct shown_grids {
    const hb_mnist *m;
    int n;
    const hb_mnist_cell *cells[PANELS];
    hb_mnist_picture pictures[PANELS];
} shown_grids;

static hb_status write_pixels(hb_context *context, FILE *file, const void *user)
{
    const shown_grids *g = user;
    const int rows = g->m->size.rows, columns = g->m->size.columns;
    (void)context;
    fputs("det_tau,n_correct,n_steps,row,column,source", file);
    hb_mnist_pixels_header(file);
    for (int i = 0; i < g->n * rows * columns; i++) {
        const int k = i / columns / rows, at = i % (columns * rows), row = at / columns;
        const hb_mnist_cell *cell = g->cells[k];
        fprintf(file, "%g,%d,%d,%d,%d,%s", cell->det_tau, cell->n_correct, cell->n_steps, row + 1,
                at % columns + 1, row_is_real(g->m, row) ? "real" : "generated");
        hb_mnist_pixels_write(file, g->pictures[k].pixels + (size_t)at * PIXELS);
    }
    return HB_OK;
}

hb_status hb_mnist_grids(hb_mnist *m, json_t *captions)
{
    shown_grids g = {.m = m};
    hb_status status = HB_OK;
    if (!m->model) return HB_OK;
    const double present = m->present;
    g.n = choose_cells(m, g.cells);
    for (int k = 0; k < g.n && status == HB_OK; k++)
        status = make_picture(m, g.cells[k], &g.pictures[k]);
    if (status == HB_OK)
        status = hb_study_write_text(m->context, m->settings->directory, "mnist_grids.plot.csv",
                                     write_pixels, &g);
    if (status == HB_OK) status = hb_mnist_pictures_write(m, "mnist_grids", g.n, g.pictures);
    if (status == HB_OK)
        hb_study_caption(captions, "mnist_grids", &(hb_fill){.numbers = &present, .n = 1});
    hb_mnist_pictures_release(g.n, g.pictures);
    return status;
}
