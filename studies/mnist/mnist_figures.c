/* Figures of the numbers: what det_tau does, what the corrector and the steps do, and the methods. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIDDLE_STEPS = 1 }; /* 500 */

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
    return hb_figure_series(figure, HB_STYLE_DASHED, color, 2, label, x, y, NULL, NULL);
}

static hb_status draw_lines(hb_figure *figure, const hb_mnist *m, int value, double factor)
{
    const int steps = steps_shown(m);
    for (int c = 0; c < MNIST_CORRECTS; c++) {
        double x[MNIST_DET_TAUS], y[MNIST_DET_TAUS], se[MNIST_DET_TAUS];
        char label[32];
        hb_points p = {0};
        const size_t n = along_det_tau(m, c, steps, value, x, y, se);
        for (size_t i = 0; i < n; i++)
            hb_points_add(&p, x[i] + 0.0015 * (c - 1), factor * y[i], /* side by side */
                          factor * y[i] - factor * se[i], factor * y[i] + factor * se[i]);
        snprintf(label, sizeof label, "n\\_correct %d", c);
        if (n == 0) continue;
        HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, c, n, NULL, p.x, p.y, NULL, NULL));
        HB_TRY(hb_points_draw(figure, &p, 0, c, label));
    }
    return HB_OK;
}

/* The ends of the numbers of a panel with their errors, and of its level. */
static void range_of(const hb_mnist *m, int value, double factor, double level, double *low,
                     double *high)
{
    *low = isnan(level) ? INFINITY : factor * level;
    *high = isnan(level) ? -INFINITY : factor * level;
    for (int c = 0; c < MNIST_CORRECTS; c++) {
        double x[MNIST_DET_TAUS], y[MNIST_DET_TAUS], se[MNIST_DET_TAUS];
        const size_t n = along_det_tau(m, c, steps_shown(m), value, x, y, se);
        for (size_t i = 0; i < n; i++) {
            *low = fmin(*low, factor * (y[i] - se[i]));
            *high = fmax(*high, factor * (y[i] + se[i]));
        }
    }
}

/* A number over det_tau beside a level of real images, with room for the key above them. */
static hb_status draw_panel(hb_figure *figure, const hb_mnist *m, size_t k, int value,
                            double factor, const char *level_label, double level)
{
    hb_panel_settings panel = hb_study_panel_of("mnist_det_tau", k);
    double low, high;
    range_of(m, value, factor, level, &low, &high);
    panel.y_min = fmax(low - 0.1 * (high - low), value == MNIST_MMD2 ? -INFINITY : 0);
    panel.y_max = high + 0.7 * (high - low);
    if (!(panel.y_max > panel.y_min)) panel.y_max = panel.y_min + 1; /* all the same */
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(draw_level(figure, level_label, 3, factor * level));
    return draw_lines(figure, m, value, factor);
}

static hb_status draw_det_tau(hb_figure *figure, const void *user)
{
    const hb_mnist *m = user;
    HB_TRY(draw_panel(figure, m, 0, MNIST_SPECKS, 100, "real images", m->real[MNIST_SPECKS]));
    if (!m->present) return HB_OK;
    HB_TRY(draw_panel(figure, m, 1, MNIST_MMD2, 1e3, "real images, 95 %", m->floor.mmd2_upper));
    return draw_panel(figure, m, 2, MNIST_CONFIDENT, 100, "real images", m->real[MNIST_CONFIDENT]);
}

static double against_dsm(const hb_mnist *m, int method, int band)
{
    return 100 * (m->method[method][MNIST_LOSS_BAND + band] /
                      m->method[MNIST_DSM][MNIST_LOSS_BAND + band] -
                  1);
}

static hb_status draw_methods(hb_figure *figure, const void *user)
{
    const hb_mnist *m = user;
    static const char *const names[MNIST_METHODS] = {
        "DSM", "FP", "HB", "DSM, equal time", "FP, equal time", "DSM, score head"};
    hb_panel_settings panel = hb_study_panel_of("mnist_methods", 0);
    double x[MNIST_BANDS], y[MNIST_BANDS], low = 0, high = 0;
    for (int i = 0; i < MNIST_METHODS * MNIST_BANDS; i++) {
        low = fmin(low, against_dsm(m, i / MNIST_BANDS, i % MNIST_BANDS));
        high = fmax(high, against_dsm(m, i / MNIST_BANDS, i % MNIST_BANDS));
    }
    panel.y_min = low - 0.1 * (high - low) - 0.01;
    panel.y_max = high + 0.9 * (high - low) + 0.01; /* room for the key */
    HB_TRY(hb_figure_panel(figure, &panel));
    for (int method = 0; method < MNIST_METHODS; method++) {
        for (int band = 0; band < MNIST_BANDS; band++) {
            x[band] = sqrt(hb_mnist_bands[band] * hb_mnist_bands[band + 1]);
            y[band] = against_dsm(m, method, band);
        }
        const hb_style style =
            hb_mnist_recipes[method].as_long_as < 0 ? HB_STYLE_LINE : HB_STYLE_DASHED;
        HB_TRY(
            hb_figure_series(figure, style, method, MNIST_BANDS, names[method], x, y, NULL, NULL));
    }
    return HB_OK;
}

hb_status hb_mnist_figures(const hb_mnist *m, hb_gallery *gallery)
{
    if (!m->model) return HB_OK;
    HB_TRY(hb_study_draw(gallery, "mnist_det_tau", 1, m->present ? 3 : 1, draw_det_tau, m));
    return m->present ? hb_study_draw(gallery, "mnist_methods", 0, 0, draw_methods, m) : HB_OK;
}
