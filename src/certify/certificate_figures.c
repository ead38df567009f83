/* The figures of a certificate.
 *
 *     effects   relative effects with their errors, and p-values, by tau
 *     map       in the plane: where a kernel around a row sees the score off, and the residual, averaged over cells
 *     places    the residual by fifths of the rows, by density and by distance to the other rows
 *     samples   samples beside rows, in the first two columns
 *     truth     |s - s*| against |s*| at the points where the truth is known */
#include "base/context.h"
#include "base/linear_algebra.h"
#include "certify/certificate_files.h"

#include <heatball/plot.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 48, MOST_COLUMNS = 4, HEIGHT = 400, WIDTH = 520 };
static const double REACH = 1.5, LEAST_WEIGHT = 0.3, LEAST_SCALE = 5;

static hb_panel_settings panel_of(const char *title, const char *x, const char *y)
{
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.title = title;
    panel.x_label = x;
    panel.y_label = y;
    return panel;
}

static hb_status finish(hb_figure *figure, hb_status status, const char *stem)
{
    if (status == HB_OK) status = hb_figure_write(figure, HB_FORMAT_SVG, stem);
    hb_figure_destroy(figure);
    return status;
}

/* ---- effects ---- */

/* The lines of one name as a series: values with errors, or p-values. */
static hb_status add_lines(hb_figure *figure, const hb_certificate *c, const char *name, int color,
                           int p_values)
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

static hb_status zero_line(hb_figure *figure, const hb_certificate *c, double y)
{
    const double x[] = {c->maps[0].tau * 0.8, c->maps[c->n_maps - 1].tau * 1.25}, at[] = {y, y};
    return hb_figure_series(figure, HB_STYLE_DASHED, 7, 2, NULL, x, at, NULL, NULL);
}

static hb_status draw_effects(hb_context *context, const hb_certificate *c, const char *stem)
{
    static const char *const signed_names[] = {"residual", "stein scale", "stein width"};
    static const char *const sizes[] = {"residual size", "stein mean", "stein local", "curl",
                                        "truth"};
    hb_figure *figure = NULL;
    hb_panel_settings panel = panel_of("effects with a sign", "{/:Italic τ}", "%");
    panel.log_x = 1;
    hb_status status = hb_figure_create(context, 1, 3, HEIGHT, WIDTH, &figure);
    if (status == HB_OK) status = hb_figure_panel(figure, &panel);
    if (status == HB_OK) status = zero_line(figure, c, 0);
    for (int k = 0; k < 3 && status == HB_OK; k++)
        status = add_lines(figure, c, signed_names[k], k, 0);
    panel.title = "sizes";
    if (status == HB_OK) status = hb_figure_panel(figure, &panel);
    if (status == HB_OK) status = zero_line(figure, c, 0);
    for (int k = 0; k < 5 && status == HB_OK; k++) status = add_lines(figure, c, sizes[k], k, 0);
    panel.title = "p-values (at least 10^{-20})";
    panel.y_label = "p";
    panel.log_y = 1;
    panel.y_max = 2;
    panel.key = "bottom left";
    if (status == HB_OK) status = hb_figure_panel(figure, &panel);
    if (status == HB_OK) status = zero_line(figure, c, 1 - c->level);
    for (int k = 0; k < 3 && status == HB_OK; k++)
        status = add_lines(figure, c, signed_names[k], k, 1);
    for (int k = 0; k < 4 && status == HB_OK; k++)
        status = add_lines(figure, c, sizes[k], 3 + k, 1);
    return finish(figure, status, stem);
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
static hb_status find_box(hb_context *context, const hb_certify_map *map, hb_lattice *box)
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

/* At each point of the lattice the sum of the rows' values with Gaussian weights, over the root of the sum of squared
 * weights, or over their sum where values are smooth already; 0 where no row is near. What is below 0 is chance, and is
 * shown as 0. */
static hb_status add_map(hb_figure *figure, const hb_certify_map *map, const hb_lattice *box,
                         const double *values, int smooth, const char *title)
{
    double field[CELLS * CELLS];
    hb_panel_settings panel = panel_of(title, "{/:Italic x}_1", "{/:Italic x}_2");
    const double hx = (box->x1 - box->x0) / (CELLS - 1), hy = (box->y1 - box->y0) / (CELLS - 1);
    panel.equal_axes = 1;
    panel.color_min = 0;
    panel.color_max = LEAST_SCALE;
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
        panel.color_max = fmax(panel.color_max, field[k]);
    }
    HB_TRY(hb_figure_panel(figure, &panel));
    return hb_figure_image(figure, box, "deviations", field);
}

/* R1.R2 over its own deviation, so that a cell of noise is about 1. */
static hb_status residual_values(hb_context *context, const hb_certify_map *map, double **out)
{
    void *memory;
    double squares = 0;
    HB_TRY(hb_allocate(context, map->n, sizeof(double), &memory));
    *out = memory;
    for (size_t i = 0; i < map->n; i++) squares += map->residual[i] * map->residual[i];
    for (size_t i = 0; i < map->n; i++)
        (*out)[i] = squares > 0 ? map->residual[i] / sqrt(squares / (double)map->n) : 0;
    return HB_OK;
}

static hb_status draw_map(hb_context *context, const hb_certificate *c, const char *stem)
{
    const size_t columns = c->n_maps < MOST_COLUMNS ? c->n_maps : MOST_COLUMNS;
    hb_figure *figure = NULL;
    hb_status status = hb_figure_create(context, 2, (int)columns, HEIGHT, WIDTH, &figure);
    for (int row = 0; row < 2; row++)
        for (size_t k = 0; k < columns && status == HB_OK; k++) {
            const hb_certify_map *map = &c->maps[k];
            char title[80];
            hb_lattice box;
            double *values = NULL;
            snprintf(title, sizeof title, "%s, {/:Italic τ} = %g",
                     row ? "residual" : "score off its truth", map->tau);
            status = find_box(context, map, &box);
            if (status == HB_OK) status = residual_values(context, map, &values);
            if (status == HB_OK)
                status = add_map(figure, map, &box, row ? values : map->local, !row, title);
            hb_release(context, values);
        }
    return finish(figure, status, stem);
}

/* ---- fifths of the rows ---- */

typedef struct ranked {
    double by, value;
} ranked;

static int by_rank(const void *a, const void *b)
{
    const double x = ((const ranked *)a)->by, y = ((const ranked *)b)->by;
    return (x > y) - (x < y);
}

/* Means and errors of the map's residual in fifths of its rows, in the order of `by`. */
static hb_status add_fifths(hb_figure *figure, hb_context *context, const hb_certify_map *map,
                            const double *by, int color)
{
    double x[HB_CERTIFY_BINS], y[HB_CERTIFY_BINS], low[HB_CERTIFY_BINS], high[HB_CERTIFY_BINS];
    char label[40];
    void *memory;
    if (isnan(by[0]) || isnan(map->residual[0])) return HB_OK;
    HB_TRY(hb_allocate(context, map->n, sizeof(ranked), &memory));
    ranked *rows = memory; // (n)
    for (size_t i = 0; i < map->n; i++) rows[i] = (ranked){by[i], map->residual[i]};
    qsort(rows, map->n, sizeof *rows, by_rank);
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
    hb_release(context, memory);
    snprintf(label, sizeof label, "{/:Italic τ} = %g", map->tau);
    return hb_figure_series(figure, HB_STYLE_POINTS, color, HB_CERTIFY_BINS, label, x, y, low,
                            high);
}

static hb_status draw_places(hb_context *context, const hb_certificate *c, const char *stem)
{
    hb_figure *figure = NULL;
    const double x[] = {0.7, 5.6}, zero[] = {0, 0};
    hb_status status = hb_figure_create(context, 1, 2, HEIGHT, WIDTH, &figure);
    for (int side = 0; side < 2; side++) {
        hb_panel_settings panel = panel_of(side ? "by distance to the other rows" : "by density",
                                           side ? "fifths of the rows, from the nearest"
                                                : "fifths of the rows, from the least dense",
                                           "mean square of the residual, relative");
        if (status == HB_OK) status = hb_figure_panel(figure, &panel);
        if (status == HB_OK)
            status = hb_figure_series(figure, HB_STYLE_DASHED, 7, 2, NULL, x, zero, NULL, NULL);
        for (size_t k = 0; k < c->n_maps && status == HB_OK; k++) {
            const hb_certify_map *map = &c->maps[k];
            status = add_fifths(figure, context, map, side ? map->distance : map->density, (int)k);
        }
    }
    return finish(figure, status, stem);
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

static hb_status add_cloud(hb_figure *figure, hb_context *context, const hb_certificate *c,
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

static hb_status draw_samples(hb_context *context, const hb_certificate *c, const char *stem)
{
    hb_figure *figure = NULL;
    hb_panel_settings panel = panel_of("rows and samples", "column 1", "column 2");
    panel.equal_axes = c->dim == 2;
    hb_status status = hb_figure_create(context, 1, 1, 520, 680, &figure);
    if (status == HB_OK) status = hb_figure_panel(figure, &panel);
    if (status == HB_OK) status = add_cloud(figure, context, c, c->reals, "rows", 0);
    if (status == HB_OK) status = add_cloud(figure, context, c, c->samples, "samples", 1);
    return finish(figure, status, stem);
}

/* ---- truth ---- */

static int has_truth(const hb_certificate *c)
{
    return c->n_truth > 0;
}

static hb_status draw_truth(hb_context *context, const hb_certificate *c, const char *stem)
{
    hb_figure *figure = NULL;
    hb_panel_settings panel =
        panel_of("score and truth", "|{/:Italic s}*|", "|{/:Italic s} - {/:Italic s}*|");
    panel.log_x = panel.log_y = 1;
    hb_status status = hb_figure_create(context, 1, 1, 480, 680, &figure);
    if (status == HB_OK) status = hb_figure_panel(figure, &panel);
    for (size_t k = 0; k < c->n_maps && status == HB_OK; k++) {
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
            status = hb_figure_series(figure, HB_STYLE_POINTS, (int)k, n, label, x, y, NULL, NULL);
    }
    return finish(figure, status, stem);
}

const hb_certificate_figure hb_certificate_figures[] = {
    {"effects",
     "Effects with bars of one standard error, and p-values by tau; dashed: the level of one test "
     "alone. All lines together are tested by Holm's rule.",
     draw_effects, has_maps},
    {"map",
     "Where the score is off. Above: what a kernel around each row sees of s - s* (Stein), in "
     "standard deviations of noise; below: the products R1.R2 of two independent residuals over "
     "their own "
     "standard deviation. Rows near a point are summed with Gaussian weights: noise alone gives "
     "values of "
     "about 1, seldom above 3.",
     draw_map, is_plane},
    {"places",
     "The mean square of the residual, relative to the nonlinear term, in fifths of the rows.",
     draw_places, has_places},
    {"samples",
     "Rows carried to the smallest tau, and samples: other rows carried to the largest tau and "
     "back along the probability flow of the score.",
     draw_samples, has_samples},
    {"truth", "The distance of the score to the true one at points where that is known.",
     draw_truth, has_truth},
    {NULL, NULL, NULL, NULL}};
