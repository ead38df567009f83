/* Figures of the numbers: what det_tau does, what the corrector and the steps do, and the methods. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIDDLE_STEPS = 1 }; /* 500 */

typedef hb_status (*drawer)(hb_figure *figure, const hb_mnist *m);

/* The cells of one n_correct over det_tau at so many steps; returns how many were run. */
static size_t along_det_tau(const hb_mnist *m, int correct, int steps, int value, double *x,
                            double *y, double *se)
{
    size_t n = 0;
    for (int t = 0; t < MNIST_DET_TAUS; t++) {
        const hb_mnist_cell *cell = &m->cells[hb_mnist_cell_at(t, correct, steps)];
        if (cell->images == 0 || isnan(cell->value[value])) continue;
        x[n] = cell->det_tau;
        y[n] = cell->value[value];
        se[n] = value == MNIST_MMD2 ? cell->value[MNIST_MMD2_SE]
                                    : sqrt(y[n] * (1 - y[n]) / (double)cell->images);
        n++;
    }
    return n;
}

static int steps_shown(const hb_mnist *m)
{
    return m->cells[hb_mnist_cell_at(2, 1, MIDDLE_STEPS)].images > 0 ? MIDDLE_STEPS : 0;
}

/* A level that does not depend on det_tau. */
static hb_status draw_level(hb_figure *figure, const char *label, int color, double level)
{
    const double x[] = {0.04, 0.21}, y[] = {level, level};
    if (isnan(level)) return HB_OK;
    return hb_figure_series(figure, label, HB_STYLE_DASHED, color, 2, x, y, NULL, NULL);
}

static hb_status draw_lines(hb_figure *figure, const hb_mnist *m, int value, double factor)
{
    const int steps = steps_shown(m);
    for (int c = 0; c < MNIST_CORRECTS; c++) {
        double x[MNIST_DET_TAUS], y[MNIST_DET_TAUS], se[MNIST_DET_TAUS], low[MNIST_DET_TAUS],
            high[MNIST_DET_TAUS];
        char label[32];
        const size_t n = along_det_tau(m, c, steps, value, x, y, se);
        if (n == 0) continue;
        for (size_t i = 0; i < n; i++) {
            y[i] *= factor;
            low[i] = y[i] - factor * se[i];
            high[i] = y[i] + factor * se[i];
            x[i] += 0.0015 * (c - 1); /* side by side */
        }
        snprintf(label, sizeof label, "n\\_correct %d", c);
        HB_STUDY_TRY(hb_figure_series(figure, NULL, HB_STYLE_LINE, c, n, x, y, NULL, NULL));
        HB_STUDY_TRY(hb_figure_series(figure, label, HB_STYLE_POINTS, c, n, x, y, low, high));
    }
    return HB_OK;
}

/* The top of the panel of artifacts: room above the largest share, and at least 1 %. */
static double most_specks(const hb_mnist *m)
{
    double most = m->present ? m->real[MNIST_SPECKS] : 0;
    for (int i = 0; i < MNIST_CELLS; i++)
        if (m->cells[i].images > 0) most = fmax(most, m->cells[i].value[MNIST_SPECKS]);
    return fmax(1, 140 * most);
}

static hb_status begin_panel(hb_figure *figure, const char *title, const char *y_label,
                             const char *key, double y_max)
{
    hb_panel panel;
    hb_panel_default(&panel);
    panel.title = title;
    panel.x_label = "det\\_tau";
    panel.y_label = y_label;
    panel.x_min = 0.04;
    panel.x_max = 0.21;
    panel.key = key;
    if (!isnan(y_max)) panel.y_min = 0;
    panel.y_max = y_max;
    return hb_figure_panel(figure, &panel);
}

static hb_status draw_det_tau(hb_figure *figure, const hb_mnist *m)
{
    HB_STUDY_TRY(begin_panel(figure, "salt-and-pepper artifacts", "affected images, %", "top right",
                             most_specks(m)));
    HB_STUDY_TRY(draw_level(figure, "real images", 3, 100 * m->real[MNIST_SPECKS]));
    HB_STUDY_TRY(draw_lines(figure, m, MNIST_SPECKS, 100));
    if (!m->present) return HB_OK;
    HB_STUDY_TRY(
        begin_panel(figure, "unbiased MMD^2 to test images", "MMD^2 / 10^{-3}", "top right", NAN));
    HB_STUDY_TRY(draw_level(figure, "real images, 95 %", 3, 1e3 * m->floor.mmd2_upper));
    HB_STUDY_TRY(draw_lines(figure, m, MNIST_MMD2, 1e3));
    HB_STUDY_TRY(begin_panel(figure, "recognised with probability above 0.9", "images, %",
                             "bottom right", NAN));
    HB_STUDY_TRY(draw_level(figure, "real images", 3, 100 * m->real[MNIST_CONFIDENT]));
    return draw_lines(figure, m, MNIST_CONFIDENT, 100);
}

static hb_status draw_methods(hb_figure *figure, const hb_mnist *m)
{
    hb_panel panel;
    double x[MNIST_BANDS], y[MNIST_BANDS];
    hb_panel_default(&panel);
    panel.title = "held-out denoising loss, as a ratio to dsm";
    panel.x_label = "tau";
    panel.y_label = "ratio";
    panel.log_x = 10;
    panel.key = "top left";
    HB_STUDY_TRY(hb_figure_panel(figure, &panel));
    for (int method = 0; method < MNIST_METHODS; method++) {
        for (int band = 0; band < MNIST_BANDS; band++) {
            x[band] = sqrt(hb_mnist_bands[band] * hb_mnist_bands[band + 1]);
            y[band] = m->method[method][MNIST_LOSS_BAND + band] /
                      m->method[MNIST_DSM][MNIST_LOSS_BAND + band];
        }
        const hb_style style =
            hb_mnist_recipes[method].as_long_as < 0 ? HB_STYLE_LINE : HB_STYLE_DASHED;
        HB_STUDY_TRY(hb_figure_series(figure, hb_mnist_recipes[method].name, style, method,
                                      MNIST_BANDS, x, y, NULL, NULL));
    }
    return HB_OK;
}

static hb_status make_figure(hb_context *context, const hb_mnist *m, const char *name, int panels,
                             drawer draw, FILE *table, int *noted)
{
    hb_figure *figure;
    HB_STUDY_TRY(hb_figure_create(context, 1, panels, 0, 0, &figure));
    hb_status status = draw(figure, m);
    if (status == HB_OK)
        status = hb_study_write_figure(context, figure, m->settings->directory, name, table, noted);
    hb_figure_destroy(figure);
    return status;
}

static void add_caption(json_t *captions, const char *name, const char *text)
{
    json_array_append_new(captions, json_pack("{s:s,s:s}", "name", name, "caption", text));
}

hb_status hb_mnist_figures(hb_mnist *m, hb_context *context, FILE *table, json_t *captions)
{
    int noted = 0;
    if (!m->model) return HB_OK;
    HB_STUDY_TRY(
        make_figure(context, m, "mnist_det_tau", m->present ? 3 : 1, draw_det_tau, table, &noted));
    add_caption(
        captions, "mnist_det_tau",
        "The deterministic switch: share of images with salt-and-pepper artifacts, MMD, and "
        "share that the classifier is sure of, over det_tau; bars are standard errors.");
    if (!m->present) return HB_OK;
    HB_STUDY_TRY(make_figure(context, m, "mnist_methods", 1, draw_methods, table, &noted));
    add_caption(captions, "mnist_methods",
                "Held-out denoising loss of five trainings, by tau, as a ratio to dsm: below 1 is "
                "better. Dashed: as much time as hb.");
    return HB_OK;
}
