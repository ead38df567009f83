/* Pictures of digits: a grid for each of the paper's four settings, odd rows real, even rows generated.
 *
 * mnist_grid_DETTAU_CORRECT_STEPS.png are the grids; mnist_grids.svg shows four of them with captions, the
 * pictures inside as base64 text, so that the page of `heatball reproduce` is one file; mnist_grids.plot.csv
 * has their pixels as bytes. Without the images all rows are generated. */
#include "mnist.h"

#include <heatball/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = MNIST_SIDE * MNIST_SIDE, PANELS = 4, CAPTION = 44, GAP = 24 };

typedef struct panel {
    const hb_mnist_cell *cell;
    char name[64];
    double *pixels; // (rows, columns, PIXELS)
    unsigned char *png;
    size_t bytes;
    int width, height;
} panel;

/* The paper's settings in its order of MMD, as far as they were run, then others. */
static int choose_cells(const hb_mnist *m, panel panels[PANELS])
{
    int n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < MNIST_CELLS && n < PANELS; i++) {
            const hb_mnist_cell *cell = &m->cells[i];
            if (cell->images > 0 && isnan(cell->paper) == pass) panels[n++].cell = cell;
        }
    for (int i = 1; i < n; i++) /* by the paper's number; those without one stay last */
        for (int k = i; k > 0 && panels[k].cell->paper < panels[k - 1].cell->paper; k--) {
            const hb_mnist_cell *cell = panels[k].cell;
            panels[k].cell = panels[k - 1].cell;
            panels[k - 1].cell = cell;
        }
    return n;
}

static int row_is_real(const hb_mnist *m, int row)
{
    return m->present && row % 2 == 0;
}

static hb_status fill_panel(hb_mnist *m, panel *p)
{
    void *memory;
    const size_t columns = (size_t)m->size.columns, n = (size_t)m->size.rows * columns;
    hb_generate_settings settings;
    hb_mnist_cell_settings(m, p->cell, &settings);
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

static hb_status read_png(hb_mnist *m, const char *path, panel *p)
{
    void *memory;
    FILE *file = fopen(path, "rb");
    const long size = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    hb_status status =
        size > 24 ? hb_study_allocate(m->context, (size_t)size, 1, &memory) : HB_ERROR_FILE;
    if (status == HB_OK) {
        rewind(file);
        p->png = memory;
        p->bytes = fread(p->png, 1, (size_t)size, file);
        const unsigned char *h = p->png + 16; /* IHDR: width and height */
        p->width = h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
        p->height = h[4] << 24 | h[5] << 16 | h[6] << 8 | h[7];
    }
    if (file) fclose(file);
    return status == HB_ERROR_FILE ? hb_study_fail(m->context, status, "cannot read %.300s", path)
                                   : status;
}

static hb_status make_panel(hb_mnist *m, panel *p)
{
    char *path;
    snprintf(p->name, sizeof p->name, "mnist_grid_%.2f_%d_%d.png", p->cell->det_tau,
             p->cell->n_correct, p->cell->n_steps);
    HB_TRY(fill_panel(m, p));
    HB_TRY(hb_study_path(m->context, m->settings->directory, p->name, &path));
    hb_status status = hb_images_grid_write(m->context, m->size.rows, m->size.columns, MNIST_SIDE,
                                            MNIST_SIDE, path, p->pixels);
    if (status == HB_OK) status = read_png(m, path, p);
    free(path);
    return status;
}

/* ---- mnist_grids.plot.csv ---- */

static hb_status write_image(hb_writer *writer, const hb_mnist *m, const panel *p, int row,
                             int column)
{
    const double *x = p->pixels + ((size_t)row * (size_t)m->size.columns + (size_t)column) * PIXELS;
    HB_TRY(hb_writer_printf(writer, "%g,%d,%d,%d,%d,%s", p->cell->det_tau, p->cell->n_correct,
                            p->cell->n_steps, row + 1, column + 1,
                            row_is_real(m, row) ? "real" : "generated"));
    for (size_t i = 0; i < PIXELS; i++)
        HB_TRY(hb_writer_printf(writer, ",%d", (int)lrint(255 * fmin(1, fmax(0, x[i])))));
    return hb_writer_printf(writer, "\n");
}

static hb_status write_pixels(hb_writer *writer, const hb_mnist *m, int n, const panel *panels)
{
    HB_TRY(hb_writer_printf(writer, "det_tau,n_correct,n_steps,row,column,source"));
    for (int i = 0; i < PIXELS; i++) HB_TRY(hb_writer_printf(writer, ",x_%d", i + 1));
    HB_TRY(hb_writer_printf(writer, "\n"));
    for (int k = 0; k < n; k++)
        for (int row = 0; row < m->size.rows; row++)
            for (int column = 0; column < m->size.columns; column++)
                HB_TRY(write_image(writer, m, &panels[k], row, column));
    return HB_OK;
}

/* ---- mnist_grids.svg ---- */

static hb_status write_base64(hb_writer *writer, size_t n, const unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        const unsigned b = i + 1 < n ? bytes[i + 1] : 0, c = i + 2 < n ? bytes[i + 2] : 0;
        const unsigned word = (unsigned)bytes[i] << 16 | b << 8 | c;
        const char text[4] = {digits[word >> 18], digits[word >> 12 & 63],
                              i + 1 < n ? digits[word >> 6 & 63] : '=',
                              i + 2 < n ? digits[word & 63] : '='};
        HB_TRY(hb_writer_write(writer, 4, text));
    }
    return HB_OK;
}

static hb_status write_panel(hb_writer *writer, const panel *p, int x, int y)
{
    const hb_mnist_cell *c = p->cell;
    HB_TRY(hb_writer_printf(writer,
                            "<text x=\"%d\" y=\"%d\" font-family=\"Helvetica,Arial,sans-serif\" "
                            "font-size=\"24\">det_tau %.2f, n_correct %d, n_steps %d",
                            x, y - 14, c->det_tau, c->n_correct, c->n_steps));
    if (!isnan(c->value[MNIST_MMD]))
        HB_TRY(hb_writer_printf(writer, ": MMD %.4f", c->value[MNIST_MMD]));
    HB_TRY(hb_writer_printf(writer,
                            "</text>\n<image x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                            "href=\"data:image/png;base64,",
                            x, y, p->width, p->height));
    HB_TRY(write_base64(writer, p->bytes, p->png));
    return hb_writer_printf(writer, "\"/>\n");
}

static hb_status write_svg(hb_writer *writer, const hb_mnist *m, int n, const panel *panels)
{
    (void)m;
    const int columns = n > 1 ? 2 : 1, rows = (n + 1) / 2;
    const int across = panels[0].width + GAP, down = panels[0].height + CAPTION;
    HB_TRY(hb_writer_printf(writer,
                            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\">\n"
                            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                            GAP + columns * across, rows * down + GAP));
    for (int k = 0; k < n; k++)
        HB_TRY(write_panel(writer, &panels[k], GAP + k % 2 * across, CAPTION + k / 2 * down));
    return hb_writer_printf(writer, "</svg>\n");
}

/* ---- both ---- */

typedef hb_status (*panels_writer)(hb_writer *writer, const hb_mnist *m, int n,
                                   const panel *panels);

static hb_status write_file(hb_mnist *m, const char *name, int n, const panel *panels,
                            panels_writer write)
{
    char *path;
    hb_writer *writer;
    HB_TRY(hb_study_path(m->context, m->settings->directory, name, &path));
    hb_status status = hb_writer_create(m->context, path, &writer);
    free(path);
    if (status == HB_OK) status = write(writer, m, n, panels);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}

static void add_caption(const hb_mnist *m, json_t *captions)
{
    hb_study_caption(captions, "mnist_grids", "5.2 Figure 4 (samples)",
                     m->present
                         ? "Digits at the paper's settings: odd rows are real test images, even "
                           "rows are generated, each from the same noise in all grids."
                         : "Digits of the kept model, from the same noise in all grids.");
}

hb_status hb_mnist_grids(hb_mnist *m, json_t *captions)
{
    panel panels[PANELS] = {{0}};
    hb_status status = HB_OK;
    if (!m->model) return HB_OK;
    const int n = choose_cells(m, panels);
    for (int k = 0; k < n && status == HB_OK; k++) status = make_panel(m, &panels[k]);
    if (status == HB_OK) status = write_file(m, "mnist_grids.plot.csv", n, panels, write_pixels);
    if (status == HB_OK) status = write_file(m, "mnist_grids.svg", n, panels, write_svg);
    if (status == HB_OK) add_caption(m, captions);
    for (int k = 0; k < n; k++) {
        free(panels[k].pixels);
        free(panels[k].png);
    }
    return status;
}
