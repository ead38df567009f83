/* A figure: a grid of panels, each a list of series; all texts and numbers are copies.
 *
 * hb_figure_write leaves STEM.plot.csv and STEM.gp first (figure_files.c) and then asks gnuplot for
 * each format (gnuplot.c), so that the numbers are safe when gnuplot is missing or fails. */
#include "plot/figure.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/sized.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    DEFAULT_WIDTH = 560,
    DEFAULT_HEIGHT = 420,
    MAX_PANELS = 100,
    MAX_PIXELS = 10000,
    MAX_NAME = 200
};

void hb_panel_settings_default(size_t size, hb_panel_settings *settings)
{
    const hb_panel_settings defaults = {
        .x_min = NAN, .x_max = NAN, .y_min = NAN, .y_max = NAN, .color_min = NAN, .color_max = NAN};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

hb_status hb_figure_create(hb_context *context, int rows, int columns, int height, int width,
                           hb_figure **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of a figure is NULL");
    *out = NULL;
    HB_CHECK(context, rows >= 1 && columns >= 1 && rows <= MAX_PANELS / columns, HB_ERROR_ARGUMENT,
             "the figure has %d x %d panels; it must have 1 to %d", rows, columns, MAX_PANELS);
    HB_CHECK(context, width >= 0 && width <= MAX_PIXELS && height >= 0 && height <= MAX_PIXELS,
             HB_ERROR_ARGUMENT, "a panel has %d x %d pixels; each must be 0 to %d", width, height,
             MAX_PIXELS);
    hb_figure *figure;
    HB_TRY(HB_NEW(context, figure, 1));
    *figure = (hb_figure){.context = context,
                          .rows = rows,
                          .columns = columns,
                          .width = width ? width : DEFAULT_WIDTH,
                          .height = height ? height : DEFAULT_HEIGHT};
    const size_t n_cells = (size_t)rows * (size_t)columns;
    const hb_status status = HB_NEW_CLEARED(context, figure->cells, n_cells);
    if (status != HB_OK) {
        hb_release(context, figure);
        return status;
    }
    *out = figure;
    return HB_OK;
}

static void series_release(hb_context *context, hb_series *series)
{
    hb_release(context, series->label);
    hb_release(context, series->x);
    hb_release(context, series);
}

static void cell_release(hb_context *context, hb_figure_cell *cell)
{
    const char *texts[] = {cell->panel.title, cell->panel.x_label, cell->panel.y_label,
                           cell->panel.key,   cell->panel.x_names, cell->panel.color_label};
    for (int i = 0; i < 6; i++) hb_release(context, (void *)(uintptr_t)texts[i]);
    for (hb_series *series = cell->first, *next; series; series = next) {
        next = series->next;
        series_release(context, series);
    }
}

void hb_figure_destroy(hb_figure *figure)
{
    if (!figure) return;
    for (int i = 0; i < figure->n_panels; i++) cell_release(figure->context, &figure->cells[i]);
    hb_release(figure->context, figure->cells);
    hb_release(figure->context, figure);
}

/* Replaces *text by an owned copy; NULL stays NULL. A line break would end gnuplot's string. */
static hb_status figure_own_text(hb_context *context, const char **text)
{
    const char *given = *text;
    *text = NULL;
    if (!given) return HB_OK;
    HB_CHECK(context, !strpbrk(given, "\r\n"), HB_ERROR_ARGUMENT,
             "the text '%s' of a figure has a line break; it must be one line", given);
    char *copy;
    HB_TRY(hb_copy_string(context, given, &copy));
    *text = copy;
    return HB_OK;
}

void hb_figure_plain(const char *text, size_t size, char *out)
{
    size_t n = 0;
    if (!text || !out) return;
    for (; size && *text && n + 3 <= size; text++) {
        if (strchr("_^{}@&~\\", *text)) out[n++] = '\\';
        out[n++] = (unsigned char)*text < ' ' || *text == 127 ? '?' : *text;
    }
    while (n > 0 && ((unsigned char)*text & 0xc0) == 0x80) /* not within a letter of UTF-8 */
        text--, n--;
    if (size) out[n] = '\0';
}

static hb_status panel_own(hb_context *context, hb_panel_settings *panel)
{
    const char **texts[] = {&panel->title, &panel->x_label, &panel->y_label,
                            &panel->key,   &panel->x_names, &panel->color_label};
    hb_status status = HB_OK;
    for (int i = 0; i < 6; i++) {
        if (status == HB_OK)
            status = figure_own_text(context, texts[i]);
        else
            *texts[i] = NULL;
    }
    return status;
}

static int is_log_base(int base)
{
    return base == 0 || base == 1 || base == 2 || base == 10;
}

hb_status hb_figure_panel(hb_figure *figure, const hb_panel_settings *settings)
{
    if (!figure) return HB_ERROR_ARGUMENT;
    hb_context *context = figure->context;
    hb_panel_settings chosen, *panel = &chosen;
    HB_SIZED_READ(context, hb_panel_settings, settings, panel);
    HB_CHECK(context, figure->n_panels < figure->rows * figure->columns, HB_ERROR_ARGUMENT,
             "the figure has only %d x %d panels, and all are in use", figure->rows,
             figure->columns);
    HB_CHECK(context, is_log_base(panel->log_x) && is_log_base(panel->log_y), HB_ERROR_ARGUMENT,
             "log_x is %d and log_y is %d; each must be 0, 1, 2 or 10", panel->log_x, panel->log_y);
    const char *words = "abcdefghijklmnopqrstuvwxyz ";
    HB_CHECK(context, !panel->key || strspn(panel->key, words) == strlen(panel->key),
             HB_ERROR_ARGUMENT, "key is '%s'; it must be words such as top left", panel->key);
    hb_figure_cell *cell = &figure->cells[figure->n_panels++];
    cell->panel = *panel;
    return panel_own(context, &cell->panel);
}

static void series_fill(double *to, size_t n, const double *from)
{
    for (size_t i = 0; i < n; i++) to[i] = from ? from[i] : NAN;
}

static hb_status series_create(hb_context *context, const char *label, size_t n, hb_series **out)
{
    hb_series *series;
    HB_TRY(HB_NEW_CLEARED(context, series, 1));
    const char *text = label ? label : "";
    hb_status status = figure_own_text(context, &text);
    if (status == HB_OK) {
        series->label = (char *)(uintptr_t)text;
        status = HB_NEW(context, series->x, 4 * n);
    }
    if (status != HB_OK) {
        series_release(context, series);
        return status;
    }
    series->n = n;
    series->shade = NAN;
    series->y = series->x + n;
    series->low = series->y + n;
    series->high = series->low + n;
    *out = series;
    return HB_OK;
}

static int needs_bounds(hb_style style)
{
    return style == HB_STYLE_BAND || style == HB_STYLE_ARROWS || style == HB_STYLE_IMAGE;
}

hb_status hb_figure_series(hb_figure *figure, hb_style style, int color, size_t n,
                           const char *label, const double *x, const double *y, const double *low,
                           const double *high)
{
    if (!figure) return HB_ERROR_ARGUMENT;
    HB_CHECK(figure->context, style != HB_STYLE_IMAGE, HB_ERROR_ARGUMENT,
             "style is HB_STYLE_IMAGE; hb_figure_image draws images");
    return hb_figure_add(figure, label, style, color, n, x, y, low, high);
}

hb_status hb_figure_add(hb_figure *figure, const char *label, hb_style style, int color, size_t n,
                        const double *x, const double *y, const double *low, const double *high)
{
    hb_context *context = figure->context;
    HB_CHECK(context, figure->n_panels > 0, HB_ERROR_ARGUMENT,
             "a series needs a panel; call hb_figure_panel first");
    HB_CHECK(context, style >= HB_STYLE_LINE && style <= HB_STYLE_DOTS, HB_ERROR_ARGUMENT,
             "style is %d; it must be one of hb_style", (int)style);
    HB_CHECK(context, color >= 0, HB_ERROR_ARGUMENT, "color is %d; it must be 0 or more", color);
    HB_CHECK(context, n >= 1 && x, HB_ERROR_ARGUMENT, "a series needs at least one point");
    HB_CHECK(context, !low == !high, HB_ERROR_ARGUMENT, "low and high must be given together");
    HB_CHECK(context, needs_bounds(style) ? low != NULL : y != NULL, HB_ERROR_ARGUMENT,
             "a series needs y, and a band needs low and high");
    hb_series *series;
    HB_TRY(series_create(context, label, n, &series));
    series->style = style;
    series->color = color;
    series->has_bounds = low != NULL;
    series_fill(series->x, n, x);
    series_fill(series->y, n, y);
    series_fill(series->low, n, low);
    series_fill(series->high, n, high);
    hb_figure_cell *cell = &figure->cells[figure->n_panels - 1];
    if (cell->last)
        cell->last->next = series;
    else
        cell->first = series;
    cell->last = series;
    return HB_OK;
}

hb_status hb_figure_shade(hb_figure *figure, double value)
{
    hb_context *context = figure ? figure->context : NULL;
    hb_series *last =
        figure && figure->n_panels > 0 ? figure->cells[figure->n_panels - 1].last : NULL;
    HB_CHECK(context, last && isfinite(value), HB_ERROR_ARGUMENT,
             "a shade is a finite value for a series; add one first");
    last->shade = value;
    return HB_OK;
}

/* Writes STEM.plot.csv, STEM.gp and the pictures; path has room for the stem and an extension. */
static hb_status figure_write_files(const hb_figure *figure, const char *stem, int formats,
                                    char *path, size_t size)
{
    static const struct {
        int flag;
        const char *name;
    } kinds[] = {{HB_FORMAT_SVG, "svg"}, {HB_FORMAT_PNG, "png"}, {HB_FORMAT_PDF, "pdf"}};
    const char *slash = strrchr(stem, '/');
    const char *name = slash ? slash + 1 : stem;
    char base[256], script[256], directory[4096] = ".";
    snprintf(base, sizeof base, "%.*s.plot.csv", MAX_NAME, name);
    snprintf(script, sizeof script, "%.*s.gp", MAX_NAME, name);
    if (slash)
        snprintf(directory, sizeof directory, "%.*s", slash == stem ? 1 : (int)(slash - stem),
                 stem);
    snprintf(path, size, "%s.plot.csv", stem);
    HB_TRY(hb_figure_write_csv(figure, path));
    snprintf(path, size, "%s.gp", stem);
    HB_TRY(hb_figure_write_script(figure, path, base));
    for (int i = 0; i < 3; i++) {
        if (!(formats & kinds[i].flag)) continue;
        snprintf(path, size, "%s.%s", stem, kinds[i].name);
        HB_TRY(hb_gnuplot_run(figure->context, directory, script, kinds[i].name, path));
    }
    return HB_OK;
}

hb_status hb_figure_write(hb_figure *figure, int formats, const char *stem)
{
    hb_context *context = figure ? figure->context : NULL;
    HB_CHECK(context, figure->n_panels > 0, HB_ERROR_ARGUMENT, "the figure has no panel");
    HB_CHECK(context, stem && stem[0] && stem[strlen(stem) - 1] != '/', HB_ERROR_PATH,
             "the name of a figure is empty; give a path without extension");
    const char *slash = strrchr(stem, '/');
    const char *name = slash ? slash + 1 : stem;
    HB_CHECK(context, strlen(name) <= MAX_NAME && strlen(stem) < 4000 && !strpbrk(stem, "\r\n"),
             HB_ERROR_PATH, "the name of a figure is too long or has a line break: %.100s", stem);
    HB_CHECK(context, (formats & ~(HB_FORMAT_SVG | HB_FORMAT_PNG | HB_FORMAT_PDF)) == 0,
             HB_ERROR_ARGUMENT, "formats is %d; it must be an OR of HB_FORMAT_SVG, _PNG and _PDF",
             formats);
    char path[4096];
    return figure_write_files(figure, stem, formats, path, sizeof path);
}
