/* heatball/plot.h: figures through gnuplot, each with the numbers behind it.
 * Second tier: for bindings and tools.
 *
 * A figure is a grid of panels, a panel a list of series. hb_figure_write(figure, formats,
 * "dir/name") leaves
 *     dir/name.plot.csv   the numbers: panel, series, label, x, y, low, high (low and high of
 *                         an image: its value; of an arrow: its components)
 *     dir/name.gp         the gnuplot script, which reads the .plot.csv
 *     dir/name.svg, dir/name.png, dir/name.pdf   as requested
 * Without gnuplot the .plot.csv and .gp stay, and the call returns HB_ERROR_UNAVAILABLE with a
 * message that says so. Text takes gnuplot's enhanced mode ({/Symbol k}, x_1, 10^{-3}) and UTF-8;
 * hb_figure_plain makes any text, such as the name of a file, stand as it is. Names and texts are
 * never run or opened by gnuplot. */
#ifndef HEATBALL_PLOT_H
#define HEATBALL_PLOT_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_figure hb_figure;

typedef enum hb_style {
    HB_STYLE_LINE,      /* y against x */
    HB_STYLE_DASHED,    /* the same, dashed: limits and exact curves */
    HB_STYLE_POINTS,    /* markers; with low/high: error bars */
    HB_STYLE_HISTOGRAM, /* filled boxes of equal width centred at x */
    HB_STYLE_BAND,      /* filled between low and high */
    HB_STYLE_THIN,      /* a thin line; NaN in x or y separates the pieces of one series */
    HB_STYLE_ARROWS,    /* heads at (x, y) that point along (low, high) */
    HB_STYLE_IMAGE,     /* made by hb_figure_image only */
    HB_STYLE_DOTS       /* small dots, for thousands of points */
} hb_style;

typedef enum hb_format { HB_FORMAT_SVG = 1, HB_FORMAT_PNG = 2, HB_FORMAT_PDF = 4 } hb_format;

typedef struct hb_panel_settings {
    size_t size;                           /* set by hb_panel_settings_default */
    const char *title, *x_label, *y_label; /* NULL: none */
    int log_x, log_y;                      /* 0: linear; 1 or 10: decades 10^n; 2: powers of two */
    double x_min, x_max, y_min, y_max;     /* NaN: chosen from the data */
    const char *key;     /* gnuplot's place of the legend: "top left"; NULL: top right */
    int equal_axes;      /* 1: a unit is as long on both axes */
    const char *x_names; /* names instead of numbers at x = 1, 2, ..: "core; tail"; NULL: numbers */
    double color_min,
        color_max; /* ends of the colours of an image or of hb_figure_shade; NaN: the data's */
    const char *color_label; /* of the key of hb_figure_shade's colours; NULL: no key */
} hb_panel_settings;

HB_API void hb_panel_settings_default(size_t size, hb_panel_settings *settings);

/* rows x columns panels of height x width pixels each (0: 420 x 560). */
HB_API hb_status hb_figure_create(hb_context *context, int rows, int columns, int height, int width,
                                  hb_figure **out);
HB_API void hb_figure_destroy(hb_figure *figure);
/* Starts the next panel, left to right, top to bottom; the texts are copied. */
HB_API hb_status hb_figure_panel(hb_figure *figure, const hb_panel_settings *settings);
/* Adds a series of n points to the current panel; x, y, low, high are copied; low and high may be
 * NULL except for HB_STYLE_BAND (where y may be NULL). color: index into the palette, from 0. */
HB_API hb_status hb_figure_series(hb_figure *figure, hb_style style, int color, size_t n,
                                  const char *label, const double *x, const double *y,
                                  const double *low, const double *high);

/* The colour of the last series is that of this value between the panel's color_min and
 * color_max. */
HB_API hb_status hb_figure_shade(hb_figure *figure, double value);

/* A function of two variables, known at nx x ny points: values[j * nx + i] belongs to x_i = x0 + i
 * (x1 - x0)/(nx - 1), y_j likewise; nx, ny >= 2. */
typedef struct hb_lattice {
    int nx, ny;
    double x0, x1, y0, y1;
} hb_lattice;

/* Colours with a colour key; label is written beside the key. At most one in a panel, before its
 * other series. */
HB_API hb_status hb_figure_image(hb_figure *figure, const hb_lattice *lattice, const char *label,
                                 const double *values);
/* Thin lines of equal value, linear between the points of the lattice. */
HB_API hb_status hb_figure_contours(hb_figure *figure, int color, int n_levels,
                                    const hb_lattice *lattice, const char *label,
                                    const double *values, const double *levels);
/* Lines along the field (along_x, along_y), about evenly spaced, each with one arrow head. */
HB_API hb_status hb_figure_streamlines(hb_figure *figure, int color, const hb_lattice *lattice,
                                       const char *label, const double *along_x,
                                       const double *along_y);

/* Copies text so that a figure shows it letter for letter: what enhanced mode would take as a sign
 * gets a backslash, control characters become '?'; cut so that size bytes hold it. */
HB_API void hb_figure_plain(const char *text, size_t size, char *out);

/* formats: an OR of HB_FORMAT_SVG, HB_FORMAT_PNG, HB_FORMAT_PDF. stem: path without extension. */
HB_API hb_status hb_figure_write(hb_figure *figure, int formats, const char *stem);

/* An animation of n figures of one size, frame k at times[k], by the end of path:
 *     .gif    runs for ever
 *     .html   one page by itself: a slider, a button, keys; the time of each frame
 * The numbers of all frames stay beside it as .plot.csv, which has the columns frame and t before
 * those of a figure. `title` heads the page. HB_ERROR_UNAVAILABLE without gnuplot; the .plot.csv
 * stays. */
HB_API hb_status hb_figure_write_film(hb_context *context, size_t n, const char *title,
                                      const char *path, const double *times, hb_figure **frames);

#ifdef __cplusplus
}
#endif
#endif
