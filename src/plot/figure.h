/* plot/figure.h: the parts of a figure, and the steps that write it. */
#pragma once

#include <heatball/file.h>
#include <heatball/plot.h>

typedef struct hb_series {
    struct hb_series *next;
    char *label;
    hb_style style;
    int color;
    size_t n;
    double *x, *y, *low, *high; // (n) each, NaN where not given; one block, owned by x
    int has_bounds;
    double shade; /* its place among the panel's colours; NaN: color of the palette */
} hb_series;

typedef struct hb_figure_cell {
    hb_panel_settings panel; /* its texts are owned copies */
    hb_series *first, *last;
} hb_figure_cell;

struct hb_figure {
    hb_context *context;
    int rows, columns, width, height;
    int n_panels;
    hb_figure_cell *cells; // (rows * columns)
};

/* HB_ERROR_ARGUMENT unless the lattice has at least 2 x 2 points and finite, increasing ends. */
hb_status hb_lattice_check(hb_context *context, const hb_lattice *lattice);
/* hb_figure_series for every style, HB_STYLE_IMAGE among them. */
hb_status hb_figure_add(hb_figure *figure, const char *label, hb_style style, int color, size_t n,
                        const double *x, const double *y, const double *low, const double *high);

/* The numbers, and the script that draws them from the file `csv_name` beside it. */
hb_status hb_figure_write_csv(const hb_figure *figure, const char *path);
/* The rows of one figure of an animation, each behind frame and t. */
hb_status hb_figure_csv_frame(const hb_figure *figure, hb_writer *writer, size_t frame, double t);
hb_status hb_figure_write_script(const hb_figure *figure, const char *path, const char *csv_name);

/* Runs `gnuplot -d -e "format='FORMAT'" SCRIPT` in DIRECTORY and writes its output to PATH. */
hb_status hb_gnuplot_run(hb_context *context, const char *directory, const char *script,
                         const char *format, const char *path);
