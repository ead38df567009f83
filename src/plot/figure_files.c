/* The two texts behind a picture: the numbers (.plot.csv) and the gnuplot script (.gp).
 *
 * The .csv is in long form, one point per row: panel,series,label,x,y,low,high; panels and series
 * count from 1, an absent number is an empty field. The script picks each series out of it by its
 * two numbers, so that a reader can change a value in the .csv and draw again; it names the rows of
 * each too, which spares gnuplot the rest: a figure of fifty series is drawn six times faster.
 *
 * Colours are those of Okabe and Ito (2008), distinct for all common kinds of colour vision; series
 * of markers differ in shape as well. */
#include "file/writer.h"
#include "plot/animation.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const PALETTE[] = {"#0072B2", "#D55E00", "#009E73", "#E69F00",
                                      "#CC79A7", "#56B4E9", "#000000"};
static const int MARKERS[] = {7, 5, 9, 13, 11, 15, 4}; /* gnuplot's filled shapes */
enum { N_COLORS = 7, FRAME_DIGITS = 7 /* of the numbers of animations, which are many */ };
#define HEAD_PIXELS 6.0  /* the length of an arrow's head */
#define PNG_WIDTH 2000.0 /* pixels of a wide picture, which has fewer than two to a unit */
#define PNG_AREA 4e6     /* and of a large one */

/* ---- the numbers ---- */

static hb_status write_field(hb_writer *writer, int digits, double value, char end)
{
    if (isnan(value)) return hb_writer_write(writer, 1, &end);
    return hb_writer_printf(writer, "%.*g%c", digits, value, end);
}

static hb_status write_point(hb_writer *writer, int digits, int panel, int number,
                             const hb_series *series, size_t i)
{
    HB_TRY(hb_writer_printf(writer, "%d,%d,", panel, number));
    HB_TRY(hb_csv_text(writer, series->label));
    HB_TRY(hb_writer_write(writer, 1, ","));
    HB_TRY(write_field(writer, digits, series->x[i], ','));
    HB_TRY(write_field(writer, digits, series->y[i], ','));
    HB_TRY(write_field(writer, digits, series->low[i], ','));
    return write_field(writer, digits, series->high[i], '\n');
}

/* Each row behind this text. */
static hb_status write_rows(const hb_figure *figure, hb_writer *writer, int digits,
                            const char *before)
{
    for (int p = 0; p < figure->n_panels; p++) {
        int number = 1;
        for (const hb_series *s = figure->cells[p].first; s; s = s->next, number++)
            for (size_t i = 0; i < s->n; i++) {
                HB_TRY(hb_writer_write(writer, strlen(before), before));
                HB_TRY(write_point(writer, digits, p + 1, number, s, i));
            }
    }
    return HB_OK;
}

static hb_status write_numbers(const hb_figure *figure, hb_writer *writer)
{
    static const char *const names[] = {"panel", "series", "label", "x", "y", "low", "high"};
    HB_TRY(hb_writer_csv_header(writer, 7, names));
    return write_rows(figure, writer, 17, "");
}

hb_status hb_figure_csv_frame(const hb_figure *figure, hb_writer *writer, size_t frame, double t)
{
    char before[64];
    snprintf(before, sizeof before, "%zu,%.17g,", frame, t);
    return write_rows(figure, writer, FRAME_DIGITS, before);
}

/* ---- the script ---- */

/* Writes text in gnuplot's single quotes, where only the quote itself needs doubling: nothing in
 * them is run, other than backquotes in its double quotes. */
static hb_status write_quoted_after(hb_writer *writer, const char *begin, const char *text)
{
    HB_TRY(hb_writer_printf(writer, "'%s", begin));
    for (const char *c = text; *c; c++)
        HB_TRY(hb_writer_write(writer, *c == '\'' ? 2 : 1, *c == '\'' ? "''" : c));
    return hb_writer_write(writer, 1, "'");
}

/* gnuplot does not understand a doubled quote at the very beginning; a typographic one stands
 * there. */
static hb_status write_quoted(hb_writer *writer, const char *text)
{
    const int quote = text[0] == '\'';
    return write_quoted_after(writer, quote ? "\xe2\x80\x99" : "", text + quote);
}

static hb_status write_setting(hb_writer *writer, const char *name, const char *text,
                               const char *options)
{
    if (!text) return hb_writer_printf(writer, "unset %s\n", name);
    HB_TRY(hb_writer_printf(writer, "set %s ", name));
    HB_TRY(write_quoted(writer, text));
    return hb_writer_printf(writer, "%s\n", options);
}

/* The figure's name in the letters that gnuplot allows for the ids of an SVG. */
static void identifier(const char *csv_name, char *out, size_t size)
{
    size_t n = 0;
    for (; n < strcspn(csv_name, ".") && n + 1 < size; n++)
        out[n] = isalnum((unsigned char)csv_name[n]) ? csv_name[n] : '_';
    out[n] = '\0';
}

static hb_status write_prologue(const hb_figure *figure, hb_writer *writer, const char *csv_name)
{
    const int width = figure->columns * figure->width, height = figure->rows * figure->height;
    const double least = fmin(PNG_WIDTH / width, sqrt(PNG_AREA / width / height));
    const double scale = fmax(1, fmin(2, least)); /* of a PNG */
    char name[64];
    identifier(csv_name, name, sizeof name);
    HB_TRY(hb_writer_printf(writer,
                            "# Draws the numbers of the .plot.csv file beside this script. In this "
                            "directory:\n"
                            "#     gnuplot -e \"format='svg'\" THIS.gp > FIGURE.svg      (or png, "
                            "pdf)\n"
                            "if (!exists(\"format\")) format = 'svg'\n"));
    HB_TRY(hb_writer_printf(
        writer,
        "if (format eq 'svg') set terminal svg name 'figure_%s' enhanced size %d,%d font "
        "'Helvetica,16' background '#ffffff' linewidth 1 dashlength 1\n"
        "if (format eq 'png') set terminal pngcairo enhanced size %d,%d font 'Helvetica,16' "
        "fontscale %.4g linewidth %.4g pointscale %.4g dashlength 1 background '#ffffff'\n"
        "if (format eq 'pdf') set terminal pdfcairo enhanced size %.3fin,%.3fin font "
        "'Helvetica,16' fontscale 0.62 linewidth 2 pointscale 0.75 dashlength 0.8\n"
        "if (format eq 'frame') set terminal pngcairo enhanced size %d,%d font 'Helvetica,16' "
        "fontscale 0.75 linewidth 1 dashlength 1 background '#ffffff'\n"
        "if (format eq 'page') set terminal pngcairo enhanced size %d,%d font 'Helvetica,16' "
        "fontscale 1.05 linewidth 1.4 pointscale 1.4 dashlength 1 background '#ffffff'\n",
        name, width, height, (int)lround(scale * width), (int)lround(scale * height), 0.75 * scale,
        scale, scale, width / 96.0, height / 96.0, width, height,
        (int)(HB_ANIMATION_PAGE_SCALE * width), (int)(HB_ANIMATION_PAGE_SCALE * height)));
    /* gnuplot would run a name that begins with <, and take -, + and $NAME for other things */
    HB_TRY(hb_writer_printf(writer, "data = "));
    HB_TRY(write_quoted_after(writer, "./", csv_name));
    return hb_writer_printf(
        writer,
        "\nset encoding utf8\n"
        "set minussign\n"
        "set autoscale xfix\n"
        "set datafile separator comma\n"
        "pick(p, s, c) = (column(1) == p && column(2) == s) ? column(c) : NaN\n"
        "piece(p, s, c) = valid(c) ? pick(p, s, c) : NaN\n"
        "bound(p, s, c) = valid(c) ? pick(p, s, c) : pick(p, s, 5)\n"
        "set border 3 linewidth 1.2 linecolor rgb '#404040'\n"
        "set tics nomirror out scale 0.7,0.4 textcolor rgb '#202020'\n"
        "set grid xtics ytics back linewidth 0.8 linetype 1 linecolor rgb '#e3e3e3'\n"
        "set lmargin 9.5\nset rmargin 2\nset tmargin 2.6\nset bmargin 3.6\n"
        "head = %.4g\n" /* of an arrow, as a share of the width of the whole figure */
        "set multiplot layout %d,%d\n",
        HEAD_PIXELS / width, figure->rows, figure->columns);
}

/* Smallest and largest positive number that an axis must show. */
static void positive_range(const hb_figure_cell *cell, int vertical, double *low, double *high)
{
    *low = INFINITY;
    *high = 0;
    for (const hb_series *s = cell->first; s; s = s->next) {
        const double *arrays[] = {vertical ? s->y : s->x, vertical ? s->low : NULL,
                                  vertical ? s->high : NULL};
        for (int k = 0; k < 3; k++)
            for (size_t i = 0; arrays[k] && i < s->n; i++) {
                if (!(arrays[k][i] > 0) || isinf(arrays[k][i])) continue;
                *low = fmin(*low, arrays[k][i]);
                *high = fmax(*high, arrays[k][i]);
            }
    }
}

/* Ticks of a logarithmic axis, from the last power of the base below the data: left to itself,
 * gnuplot starts a geometric series of ticks at a multiple of the base. Decades are written 10^n;
 * an axis that crosses fewer than two of them would be left almost bare, and gets plain numbers at
 * gnuplot's own ticks instead; one that crosses more than nine gets every second, third, ..
 * decade. */
static hb_status write_log_ticks(hb_writer *writer, char axis, int base, double low, double high)
{
    const double radix = base == 2 ? 2 : 10;
    const double first = pow(radix, floor(log(low) / log(radix) + 1e-9));
    const int crossed = (int)(floor(log10(high)) - ceil(log10(low))) + 1;
    const double step = base == 2 || crossed < 10 ? radix : pow(10, 1 + (crossed - 1) / 9);
    HB_TRY(hb_writer_printf(writer, "set logscale %c %g\n", axis, radix));
    if (!(low <= high) || (base != 2 && crossed < 2))
        return hb_writer_printf(writer, "set format %c '%%g'\nset %ctics autofreq\n", axis, axis);
    return hb_writer_printf(writer, "set format %c '%s'\nset %ctics %.17g,%g\nset m%ctics %s\n",
                            axis, base == 2 ? "%g" : "10^{%T}", axis, first, step, axis,
                            base == 2 ? "1" : "default");
}

/* Names at x = 1, 2, .., from a list separated by semicolons. */
static hb_status write_names(hb_writer *writer, const char *names)
{
    HB_TRY(hb_writer_printf(writer, "set xtics ("));
    for (int place = 1; *names; place++) {
        char name[128];
        names += strspn(names, " ");
        const size_t length = strcspn(names, ";");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        names += length + (names[length] == ';');
        if (place > 1) HB_TRY(hb_writer_printf(writer, ", "));
        HB_TRY(write_quoted(writer, name));
        HB_TRY(hb_writer_printf(writer, " %d", place));
    }
    return hb_writer_printf(writer, ")\n");
}

/* A star where there is no end: an empty one would keep that of the panel before. */
static hb_status write_range(hb_writer *writer, const char *axis, double from, double to)
{
    HB_TRY(hb_writer_printf(writer, "set %srange [", axis));
    HB_TRY(isfinite(from) ? hb_writer_printf(writer, "%.17g:", from)
                          : hb_writer_printf(writer, "*:"));
    return isfinite(to) ? hb_writer_printf(writer, "%.17g]\n", to)
                        : hb_writer_printf(writer, "*]\n");
}

static hb_status write_axis(hb_writer *writer, const hb_figure_cell *cell, int vertical)
{
    const hb_panel_settings *panel = &cell->panel;
    const char axis = vertical ? 'y' : 'x';
    const int base = vertical ? panel->log_y : panel->log_x;
    const double from = vertical ? panel->y_min : panel->x_min;
    const double to = vertical ? panel->y_max : panel->x_max;
    if (base) {
        double low, high;
        positive_range(cell, vertical, &low, &high);
        if (from > 0) low = from;
        if (to > 0) high = to;
        HB_TRY(write_log_ticks(writer, axis, base, low, high));
    } else {
        HB_TRY(hb_writer_printf(writer,
                                "unset logscale %c\nset format %c '%%g'\nset %ctics autofreq\n",
                                axis, axis, axis));
    }
    if (!vertical && panel->x_names) HB_TRY(write_names(writer, panel->x_names));
    return write_range(writer, vertical ? "y" : "x", from, to);
}

/* gnuplot's words for the colour of a series. */
static void write_color(const hb_series *series, size_t size, char *out)
{
    if (isfinite(series->shade))
        snprintf(out, size, "palette cb %.9g", series->shade);
    else
        snprintf(out, size, "rgb '%s'", PALETTE[series->color % N_COLORS]);
}

/* gnuplot's words for one series, after the data file: columns and look. A point without bounds
 * keeps its marker among points with error bars. An image is taken by its rows alone, since
 * gnuplot wants nothing but its points. */
static hb_status write_look(hb_writer *writer, const hb_series *series, int panel, int number)
{
    char color[64];
    write_color(series, sizeof color, color);
    const int marker = MARKERS[series->color % N_COLORS];
    const double width = series->n > 1 ? series->x[1] - series->x[0] : 1;
    if (series->style == HB_STYLE_IMAGE) return hb_writer_printf(writer, " using 4:5:6 with image");
    if (series->style == HB_STYLE_ARROWS)
        return hb_writer_printf(
            writer,
            " using (pick(%d,%d,4)):(pick(%d,%d,5)):(pick(%d,%d,6)):(pick(%d,%d,7)) with vectors "
            "head filled size screen head,20 fixed linewidth 1 linecolor %s",
            panel, number, panel, number, panel, number, panel, number, color);
    if (series->style == HB_STYLE_THIN)
        return hb_writer_printf(writer,
                                " using (piece(%d,%d,4)):(piece(%d,%d,5)) with lines "
                                "linewidth 1 linecolor %s",
                                panel, number, panel, number, color);
    HB_TRY(hb_writer_printf(writer, " using (pick(%d,%d,4))", panel, number));
    for (int column = 5; column <= 7; column++) {
        const int bounds = column > 5, band = series->style == HB_STYLE_BAND;
        const int bars = series->style == HB_STYLE_POINTS && series->has_bounds;
        if (bounds ? band || bars : !band)
            HB_TRY(hb_writer_printf(writer, ":(%s(%d,%d,%d))", bounds && bars ? "bound" : "pick",
                                    panel, number, column));
    }
    switch (series->style) {
    case HB_STYLE_LINE:
        return hb_writer_printf(writer, " with lines linewidth 2.5 linecolor %s", color);
    case HB_STYLE_DASHED:
        return hb_writer_printf(writer, " with lines linewidth 2.5 dashtype (10,6) linecolor %s",
                                color);
    case HB_STYLE_POINTS:
        return hb_writer_printf(writer,
                                " with %s linewidth 2 pointtype %d pointsize 0.9 linecolor %s",
                                series->has_bounds ? "yerrorbars" : "points", marker, color);
    case HB_STYLE_HISTOGRAM:
        return hb_writer_printf(writer,
                                ":(%.17g) with boxes linewidth 0.8 linecolor %s "
                                "fillstyle solid 0.3 border linecolor %s",
                                width, color, color);
    case HB_STYLE_BAND:
        return hb_writer_printf(
            writer, " with filledcurves fillstyle transparent solid 0.2 noborder linecolor %s",
            color);
    case HB_STYLE_DOTS:
        return hb_writer_printf(writer, " with points pointtype 7 pointsize 0.25 linecolor %s",
                                color);
    case HB_STYLE_THIN:
    case HB_STYLE_ARROWS:
    case HB_STYLE_IMAGE: break;
    }
    return HB_OK;
}

static int has_shades(const hb_figure_cell *cell)
{
    for (const hb_series *s = cell->first; s; s = s->next)
        if (isfinite(s->shade)) return 1;
    return 0;
}

/* The colours of an image: light where little is, dark where much is, readable when printed in
 * grey. Those of shades: all of them dark enough to be seen on white, and different in grey too. */
static hb_status write_colors(hb_writer *writer, const hb_figure_cell *cell)
{
    const hb_series *image = cell->first;
    const int is_image = image && image->style == HB_STYLE_IMAGE, shades = has_shades(cell);
    const char *label = is_image ? image->label : cell->panel.color_label;
    if (!is_image && !shades) return hb_writer_printf(writer, "set rmargin 2\n");
    HB_TRY(hb_writer_printf(
        writer, "set tics front\nset palette defined (%s)\n",
        is_image ? "0 '#ffffff', 1 '#dbe9f6', 2 '#bad6eb', 3 '#89bedc', "
                   "4 '#539ecd', 5 '#2b7bba', 6 '#0b559f', 7 '#08306b'"
                 : "0 '#440154', 1 '#414487', 2 '#2a788e', 3 '#22a884', 4 '#7ad151'"));
    HB_TRY(write_range(writer, "cb", cell->panel.color_min, cell->panel.color_max));
    if (!is_image && !label) return hb_writer_printf(writer, "unset colorbox\nset rmargin 2\n");
    HB_TRY(hb_writer_printf(
        writer, "set rmargin 13\n"
                "set colorbox user origin graph 1.03,graph 0 size graph 0.035,graph 1 noborder\n"
                "set cbtics scale 0.4 autofreq\n"));
    return write_setting(writer, "cblabel", label[0] ? label : NULL, " offset 0.5,0");
}

/* *row: how many rows of the .csv stand before this panel's; on return, before the next one's. */
static hb_status write_panel(hb_writer *writer, const hb_figure_cell *cell, int number, size_t *row)
{
    const hb_panel_settings *panel = &cell->panel;
    HB_TRY(hb_writer_printf(writer, "\n"));
    HB_TRY(write_setting(writer, "title", panel->title, " font ',17'"));
    HB_TRY(write_setting(writer, "xlabel", panel->x_label, " offset 0,0.3"));
    HB_TRY(write_setting(writer, "ylabel", panel->y_label, ""));
    HB_TRY(hb_writer_printf(writer, "set key %s Left reverse samplen 2.2 spacing 1.25 font ',14'\n",
                            panel->key ? panel->key : "top right"));
    HB_TRY(write_axis(writer, cell, 0));
    HB_TRY(write_axis(writer, cell, 1));
    HB_TRY(write_colors(writer, cell));
    HB_TRY(hb_writer_printf(writer, "set size %s\n", panel->equal_axes ? "ratio -1" : "noratio"));
    if (!cell->first) return hb_writer_printf(writer, "set multiplot next\n");
    HB_TRY(hb_writer_printf(writer, "plot "));
    int count = 1;
    for (const hb_series *s = cell->first; s; s = s->next, count++) {
        HB_TRY(hb_writer_printf(writer, "%sdata", count > 1 ? ", \\\n     " : ""));
        HB_TRY(hb_writer_printf(writer, " skip 1 every ::%zu::%zu", *row,
                                *row + (s->n > 0 ? s->n - 1 : 0)));
        HB_TRY(write_look(writer, s, number, count));
        *row += s->n;
        const int titled = s->label[0] && s->style != HB_STYLE_IMAGE;
        HB_TRY(hb_writer_printf(writer, titled ? " title " : " notitle"));
        if (titled) HB_TRY(write_quoted(writer, s->label));
    }
    return hb_writer_printf(writer, "\n");
}

static hb_status write_script(const hb_figure *figure, hb_writer *writer, const char *csv_name)
{
    HB_TRY(write_prologue(figure, writer, csv_name));
    size_t row = 0;
    for (int p = 0; p < figure->n_panels; p++)
        HB_TRY(write_panel(writer, &figure->cells[p], p + 1, &row));
    return hb_writer_printf(writer, "unset multiplot\n");
}

hb_status hb_figure_write_csv(const hb_figure *figure, const char *path)
{
    hb_writer *writer;
    HB_TRY(hb_writer_create(figure->context, path, &writer));
    return hb_writer_close(writer, write_numbers(figure, writer));
}

hb_status hb_figure_write_script(const hb_figure *figure, const char *path, const char *csv_name)
{
    hb_writer *writer;
    HB_TRY(hb_writer_create(figure->context, path, &writer));
    return hb_writer_close(writer, write_script(figure, writer, csv_name));
}
