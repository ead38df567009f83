/* The figures of a certificate.
 *
 *     effects   relative effects with their errors, and p-values, by tau
 *     map       in the plane: where a kernel around a row sees the score off, and the residual,
 *     averaged over cells places    the residual by fifths of the rows, by density and by distance
 *     to the other rows samples   samples beside rows, in the first two columns
 *     truth     |s - s*| against |s*| at the points where the truth is known */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certificate_files.h"

#include <heatball/plot.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 48, MOST_COLUMNS = 4, HEIGHT = 400, WIDTH = 520 };
static const double REACH = 1.5, LEAST_WEIGHT = 0.3;
static const double NOISE = 1, STRONG = 5; /* ends of the scale of maps, the same in all */
#define MAPS(c) ((c)->n_maps < MOST_COLUMNS ? (c)->n_maps : MOST_COLUMNS) /* that are drawn */

static hb_panel_settings figures_panel(const char *title, const char *x, const char *y)
{
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.title = title;
    panel.x_label = x;
    panel.y_label = y;
    return panel;
}

/* ---- effects ---- */

/* The lines of one name as a series: values with errors, or p-values. */
static hb_status effects_add(hb_figure *figure, const hb_certificate *c, const char *name,
                             int color, int p_values)
{
    double x[HB_CERTIFY_TAUS], y[HB_CERTIFY_TAUS], low[HB_CERTIFY_TAUS], high[HB_CERTIFY_TAUS];
    size_t n = 0;
    for (size_t i = 0; i < c->n_lines && n < HB_CERTIFY_TAUS; i++) {
        const hb_line *line = &c->lines[i];
        if (strcmp(line->name, name) != 0 || isnan(line->tau)) continue;
        if (isnan(p_values ? line->p_value : line->value)) continue;
        x[n] = line->tau;
        y[n] = p_values ? fmax(line->p_value, 1e-20) : 100 * line->value;
        low[n] = y[n] - (p_values ? 0 : 100 * line->error);
        high[n] = y[n] + (p_values ? 0 : 100 * line->error);
        n++;
    }
    if (n == 0) return HB_OK;
    HB_TRY(hb_figure_series(figure, HB_STYLE_LINE, color, n, name, x, y, NULL, NULL));
    return hb_figure_series(figure, HB_STYLE_POINTS, color, n, NULL, x, y, p_values ? NULL : low,
                            p_values ? NULL : high);
}

/* A panel with a dashed line at y. */
static hb_status effects_panel(hb_figure *figure, const hb_certificate *c,
                               const hb_panel_settings *panel, double y)
{
    const double x[] = {c->maps[0].tau * 0.8, c->maps[c->n_maps - 1].tau * 1.25}, at[] = {y, y};
    HB_TRY(hb_figure_panel(figure, panel));
    return hb_figure_series(figure, HB_STYLE_DASHED, 7, 2, NULL, x, at, NULL, NULL);
}

static hb_status effects_draw(hb_figure *figure, hb_context *context, const hb_certificate *c)
{
    static const char *const names[] = {"residual",   "stein scale", "stein width", "residual size",
                                        "stein mean", "stein local", "curl",        "truth"};
    enum { WITH_SIGN = 3, ALL = sizeof names / sizeof *names };
    hb_panel_settings panel = figures_panel("effects with a sign", "{/:Italic τ}", "%");
    (void)context;
    panel.log_x = 1;
    HB_TRY(effects_panel(figure, c, &panel, 0));
    for (int k = 0; k < WITH_SIGN; k++) HB_TRY(effects_add(figure, c, names[k], k, 0));
    panel.title = "sizes";
    HB_TRY(effects_panel(figure, c, &panel, 0));
    for (int k = WITH_SIGN; k < ALL; k++)
        HB_TRY(effects_add(figure, c, names[k], k - WITH_SIGN, 0));
    panel.title = "p-values (at least 10^{-20})";
    panel.y_label = "p";
    panel.log_y = 1;
    panel.y_max = 2;
    panel.key = "bottom left";
    HB_TRY(effects_panel(figure, c, &panel, 1 - c->level));
    for (int k = 0; k + 1 < ALL; k++) HB_TRY(effects_add(figure, c, names[k], k, 1));
    return HB_OK;
}

static int has_maps(const hb_certificate *c)
{
    return c->n_maps > 0;
}

/* ---- the map of the plane ---- */

static int is_plane(const hb_certificate *c)
{
    return c->dim == 2 && c->n_maps > 0;
}

/* The box of all but the farthest hundredth of the rows, on each side. */
static hb_status map_box(hb_context *context, const hb_certify_map *map, hb_lattice *box)
{
    void *memory;
    HB_TRY(hb_allocate(context, map->n, sizeof(double), &memory));
    double *side = memory, ends[4]; // (n)
    for (size_t j = 0; j < 2; j++) {
        for (size_t i = 0; i < map->n; i++) side[i] = map->x[2 * i + j];
        hb_sort(map->n, side);
        ends[2 * j] = side[map->n / 200];
        ends[2 * j + 1] = side[map->n - 1 - map->n / 200];
    }
    hb_release(context, memory);
    *box = (hb_lattice){CELLS, CELLS, ends[0], ends[1], ends[2], ends[3]};
    return HB_OK;
}

/* At each point of the lattice the sum of the rows' values with Gaussian weights, over the root of
 * the sum of squared weights, or over their sum where values are smooth already; 0 where no row is
 * near. Below NOISE is chance, and white; the title has the largest value. */
static hb_status map_add(hb_figure *figure, const hb_certify_map *map, const hb_lattice *box,
                         const double *values, int smooth, const char *title)
{
    double field[CELLS * CELLS], largest = 0;
    char text[120] = "";
    hb_panel_settings panel = figures_panel(text, "{/:Italic x}_1", "{/:Italic x}_2");
    const double hx = (box->x1 - box->x0) / (CELLS - 1), hy = (box->y1 - box->y0) / (CELLS - 1);
    panel.equal_axes = 1;
    panel.color_min = NOISE;
    panel.color_max = STRONG;
    for (size_t k = 0; k < CELLS * CELLS; k++) {
        double sum = 0, squares = 0, weights = 0;
        for (size_t i = 0; i < map->n; i++) {
            const double u = (map->x[2 * i] - box->x0) / hx - (double)(k % CELLS);
            const double v = (map->x[2 * i + 1] - box->y0) / hy - (double)(k / CELLS);
            const double w = exp(-(u * u + v * v) / (2 * REACH * REACH));
            sum += w * values[i];
            squares += w * w;
            weights += w;
        }
        const double size = smooth ? weights : sqrt(squares);
        field[k] = squares > LEAST_WEIGHT ? fmax(sum / size, 0) : 0;
        largest = fmax(largest, field[k]);
    }
    snprintf(text, sizeof text, "%s, largest %.2g", title, largest);
    HB_TRY(hb_figure_panel(figure, &panel));
    return hb_figure_image(figure, box, "standard deviations", field);
}

/* R1.R2 over its own deviation, so that a cell of noise is about 1. */
static hb_status map_residuals(hb_context *context, const hb_certify_map *map, double **out)
{
    double squares = 0;
    HB_TRY(HB_NEW(context, *out, map->n));
    for (size_t i = 0; i < map->n; i++) squares += map->residual[i] * map->residual[i];
    for (size_t i = 0; i < map->n; i++)
        (*out)[i] = squares > 0 ? map->residual[i] / sqrt(squares / (double)map->n) : 0;
    return HB_OK;
}

static hb_status map_draw(hb_figure *figure, hb_context *context, const hb_certificate *c)
{
    for (size_t k = 0; k < 2 * MAPS(c); k++) {
        const int below = k >= MAPS(c);
        const hb_certify_map *map = &c->maps[k % MAPS(c)];
        char title[80];
        hb_lattice box;
        double *values = NULL;
        snprintf(title, sizeof title, "%s, {/:Italic τ} = %g", below ? "residual" : "score error",
                 map->tau);
        HB_TRY(map_box(context, map, &box));
        if (below) HB_TRY(map_residuals(context, map, &values));
        const hb_status status =
            map_add(figure, map, &box, below ? values : map->local, !below, title);
        hb_release(context, values);
        HB_TRY(status);
    }
    return HB_OK;
}

/* ---- fifths of the rows ---- */

typedef struct ranked {
    double by, value;
} ranked; /* sorted by its first member */

/* Means and errors of the map's residual in fifths of its rows, in the order of `by`. */
static hb_status places_add(hb_figure *figure, hb_context *context, const hb_certify_map *map,
                            const double *by, int color)
{
    double x[HB_CERTIFY_BINS], y[HB_CERTIFY_BINS], low[HB_CERTIFY_BINS], high[HB_CERTIFY_BINS];
    char label[40];
    if (isnan(by[0]) || isnan(map->residual[0])) return HB_OK;
    ranked *rows; // (n)
    HB_TRY(HB_NEW(context, rows, map->n));
    for (size_t i = 0; i < map->n; i++) rows[i] = (ranked){by[i], map->residual[i]};
    qsort(rows, map->n, sizeof *rows, hb_by_value);
    for (size_t b = 0; b < HB_CERTIFY_BINS; b++) {
        const size_t first = b * map->n / HB_CERTIFY_BINS,
                     last = (b + 1) * map->n / HB_CERTIFY_BINS;
        double sum = 0, squares = 0;
        const double n = (double)(last - first);
        for (size_t i = first; i < last; i++) sum += rows[i].value;
        for (size_t i = first; i < last; i++) squares += pow(rows[i].value - sum / n, 2);
        const double error = sqrt(squares) / n;
        x[b] = (double)b + 1 + 0.08 * color;
        y[b] = sum / n;
        low[b] = y[b] - error;
        high[b] = y[b] + error;
    }
    hb_release(context, rows);
    snprintf(label, sizeof label, "{/:Italic τ} = %g", map->tau);
    return hb_figure_series(figure, HB_STYLE_POINTS, color, HB_CERTIFY_BINS, label, x, y, low,
                            high);
}

static hb_status places_draw(hb_figure *figure, hb_context *context, const hb_certificate *c)
{
    const double x[] = {0.7, 5.6}, zero[] = {0, 0};
    for (int side = 0; side < 2; side++) {
        hb_panel_settings panel =
            figures_panel(side ? "by distance to the other rows" : "by density",
                          side ? "fifths of the rows, from the nearest"
                               : "fifths of the rows, from the least dense",
                          "mean square of the residual, relative");
        HB_TRY(hb_figure_panel(figure, &panel));
        HB_TRY(hb_figure_series(figure, HB_STYLE_DASHED, 7, 2, NULL, x, zero, NULL, NULL));
        for (size_t k = 0; k < c->n_maps; k++) {
            const hb_certify_map *map = &c->maps[k];
            HB_TRY(places_add(figure, context, map, side ? map->distance : map->density, (int)k));
        }
    }
    return HB_OK;
}

static int has_places(const hb_certificate *c)
{
    for (size_t k = 0; k < c->n_maps; k++)
        if (!isnan(c->maps[k].density[0]) && !isnan(c->maps[k].residual[0])) return 1;
    return 0;
}

/* ---- samples ---- */

static int has_samples(const hb_certificate *c)
{
    return c->n_samples > 0 && c->dim >= 2;
}

static hb_status samples_add(hb_figure *figure, hb_context *context, const hb_certificate *c,
                             const double *rows, const char *label, int color)
{
    void *memory;
    const size_t n = c->n_samples, d = (size_t)c->dim;
    HB_TRY(hb_allocate(context, 2 * n, sizeof(double), &memory));
    double *x = memory, *y = x + n;
    for (size_t i = 0; i < n; i++) {
        x[i] = rows[i * d];
        y[i] = rows[i * d + 1];
    }
    const hb_status status =
        hb_figure_series(figure, HB_STYLE_DOTS, color, n, label, x, y, NULL, NULL);
    hb_release(context, memory);
    return status;
}

static hb_status samples_draw(hb_figure *figure, hb_context *context, const hb_certificate *c)
{
    hb_panel_settings panel = figures_panel("rows and samples", "column 1", "column 2");
    panel.equal_axes = c->dim == 2;
    HB_TRY(hb_figure_panel(figure, &panel));
    HB_TRY(samples_add(figure, context, c, c->reals, "rows", 0));
    return samples_add(figure, context, c, c->samples, "samples", 1);
}

/* ---- truth ---- */

static int has_truth(const hb_certificate *c)
{
    return c->n_truth > 0;
}

static hb_status truth_draw(hb_figure *figure, hb_context *context, const hb_certificate *c)
{
    hb_panel_settings panel =
        figures_panel("score and truth", "|{/:Italic s}*|", "|{/:Italic s} - {/:Italic s}*|");
    panel.log_x = panel.log_y = 1;
    (void)context;
    HB_TRY(hb_figure_panel(figure, &panel));
    for (size_t k = 0; k < c->n_maps; k++) {
        double x[HB_CERTIFY_POINTS], y[HB_CERTIFY_POINTS];
        char label[40];
        size_t n = 0;
        for (size_t i = 0; i < c->n_truth && n < HB_CERTIFY_POINTS; i++) {
            const double *row = c->truth + 4 * i;
            if (row[0] != c->maps[k].tau || !(row[1] > 0)) continue;
            x[n] = row[1];
            y[n++] = fmax(row[2], 1e-16 * row[1]);
        }
        snprintf(label, sizeof label, "{/:Italic τ} = %g", c->maps[k].tau);
        if (n > 0)
            HB_TRY(hb_figure_series(figure, HB_STYLE_POINTS, (int)k, n, label, x, y, NULL, NULL));
    }
    return HB_OK;
}

#define FILES(name)                                                                                \
    name,                                                                                          \
    {                                                                                              \
        name ".svg", name ".gp", name ".plot.csv"                                                  \
    }
const hb_certificate_figure hb_certificate_figures[] = {
    {FILES("effects"),
     "Effects with bars of one standard error, and p-values by tau; dashed: the level of one test "
     "alone. All lines together are tested by Holm's rule.",
     effects_draw, has_maps, 1, 3, HEIGHT, WIDTH},
    {FILES("map"),
     "Where the score is off. Above: what a kernel around each row sees of s - s* (Stein), in "
     "standard deviations of noise; below: the products R1.R2 of two independent residuals over "
     "their own standard deviation. Rows near a point are summed with Gaussian weights. All panels "
     "have one scale: white up to 1, as noise alone gives; noise is seldom above 3; darkest from 5 "
     "on. Titles have the largest value.",
     map_draw, is_plane, 2, 0, HEIGHT, WIDTH},
    {FILES("places"),
     "The mean square of the residual, relative to the nonlinear term, in fifths of the rows.",
     places_draw, has_places, 1, 2, HEIGHT, WIDTH},
    {FILES("samples"),
     "Rows carried to the smallest tau, and samples: other rows carried to the largest tau and "
     "back along the probability flow of the score.",
     samples_draw, has_samples, 1, 1, 520, 680},
    {FILES("truth"), "The distance of the score to the true one at points where that is known.",
     truth_draw, has_truth, 1, 1, 480, 680},
    {0}};

hb_status hb_certificate_draw(hb_context *context, const hb_certificate *c,
                              const hb_certificate_figure *of, const char *stem)
{
    hb_figure *figure = NULL;
    const int columns = of->columns ? of->columns : (int)MAPS(c);
    HB_TRY(hb_figure_create(context, of->rows, columns, of->height, of->width, &figure));
    hb_status status = of->draw(figure, context, c);
    if (status == HB_OK) status = hb_figure_write(figure, HB_FORMAT_SVG, stem);
    hb_figure_destroy(figure);
    return status;
}
