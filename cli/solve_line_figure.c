/* Figures of a solution in one dimension: density, log-density and score.
 *
 * One time: each over N_LINE points of the grid behind the solution with a band of two errors,
 * and the asked points as markers; of a solution by sampling, which has no grid, the asked
 * points with bars of two errors. Several times: the curves, or the points, of all times in one
 * picture, coloured by time; in an animation a frame for each time, all with the same axes.
 * Curves end where the core region of their time ends (solve_scene.c), where several are shown. */
#include "command_solve.h"
#include "plot_path.h"
#include "study.h"

#include <math.h>
#include <stdlib.h>

enum { N_LINE = 201, PANELS = 3, FEW = 25, FRAME_WIDTH = 680, FRAME_HEIGHT = 300 };

/* A curve: values and errors by hb_column, in pairs. */
typedef struct line {
    int known;
    double x[N_LINE], values[HB_COLUMN_SCORE_ERROR + 1][N_LINE];
    double low[N_LINE], high[N_LINE];
} line;

static const struct {
    hb_column column;
    const char *title, *label, *key;
} PARTS[PANELS] = {
    {HB_COLUMN_DENSITY, "Density", "{/:Italic u}({/:Italic x})", "top right"},
    {HB_COLUMN_LOG_DENSITY, "Log-density", "ln {/:Italic u}({/:Italic x})", "bottom center"},
    {HB_COLUMN_SCORE, "Score", "∂_{{/:Italic x}} ln {/:Italic u}({/:Italic x})", "top right"}};

static double finite_or_nan(double value)
{
    return isfinite(value) ? value : NAN;
}

/* ---- numbers ---- */

/* Leaves out what lies below the core region. */
static void line_cut(line *l)
{
    double largest = -INFINITY;
    for (int i = 0; i < N_LINE; i++)
        if (l->values[HB_COLUMN_LOG_DENSITY][i] > largest)
            largest = l->values[HB_COLUMN_LOG_DENSITY][i];
    for (int i = 0; i < N_LINE; i++) {
        if (l->values[HB_COLUMN_LOG_DENSITY][i] >= largest - HB_SCENE_CORE) continue;
        l->values[HB_COLUMN_LOG_DENSITY][i] = l->values[HB_COLUMN_SCORE][i] = NAN;
    }
}

static hb_status line_fill(const hb_scene *scene, size_t k, line *l)
{
    l->known = hb_scene_is_known(scene, k);
    if (!l->known) return HB_OK;
    for (int i = 0; i < N_LINE; i++) hb_scene_lattice_point(&scene->window, 1, N_LINE, i, l->x + i);
    double *v = l->values[HB_COLUMN_LOG_DENSITY], *v_se = l->values[HB_COLUMN_LOG_DENSITY_ERROR];
    const hb_status status =
        hb_scene_evaluate(scene, k, N_LINE, l->x, v, v_se, l->values[HB_COLUMN_SCORE],
                          l->values[HB_COLUMN_SCORE_ERROR]);
    for (int i = 0; i < N_LINE; i++) {
        l->values[HB_COLUMN_DENSITY][i] = exp(v[i]);
        l->values[HB_COLUMN_DENSITY_ERROR][i] = exp(v[i]) * v_se[i];
    }
    if (scene->n_times > 1) line_cut(l);
    return status;
}

/* The y of an asked point at time k, and whether it is within the core region of the curve that is
 * shown. */
static double point_value(const hb_scene *scene, size_t k, hb_column column, size_t i)
{
    return hb_solution_values(scene->solution, column)[k * scene->points->n + i];
}

static double largest_log(const hb_scene *scene, size_t k)
{
    double largest = -INFINITY;
    for (size_t i = 0; i < scene->points->n; i++)
        largest = fmax(largest, point_value(scene, k, HB_COLUMN_LOG_DENSITY, i));
    return largest;
}

/* ---- series ---- */

/* The points of the user with bars of two errors. work has room for three columns of them. */
static hb_status line_draw_points(const hb_scene *scene, size_t k, hb_figure *figure,
                                  hb_column column, const char *label, double *work)
{
    const size_t n = scene->points->n;
    const double core = largest_log(scene, k) - HB_SCENE_CORE;
    const int all = scene->n_times == 1 || column == HB_COLUMN_DENSITY;
    double *middle = work, *low = work + n, *high = work + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const double y = point_value(scene, k, column, i);
        const double se = point_value(scene, k, (hb_column)(column + 1), i);
        const int shown = all || point_value(scene, k, HB_COLUMN_LOG_DENSITY, i) >= core;
        middle[i] = shown ? finite_or_nan(y) : NAN;
        low[i] = isfinite(se) ? finite_or_nan(y - 2 * se) : middle[i];
        high[i] = isfinite(se) ? finite_or_nan(y + 2 * se) : middle[i];
        if (!shown) low[i] = high[i] = NAN;
    }
    return hb_figure_series(figure, HB_STYLE_POINTS, 1, n, label, scene->points->x, middle, low,
                            high);
}

static hb_status line_draw_band(hb_figure *figure, hb_column column, line *l, const char *label)
{
    const double *y = l->values[column], *se = l->values[column + 1];
    for (int i = 0; i < N_LINE; i++) {
        l->low[i] = finite_or_nan(y[i] - 2 * se[i]);
        l->high[i] = finite_or_nan(y[i] + 2 * se[i]);
    }
    return hb_figure_series(figure, HB_STYLE_BAND, 1, N_LINE, label, l->x, NULL, l->low, l->high);
}

static hb_status line_draw_curve(hb_figure *figure, hb_column column, line *l, const char *label)
{
    double *y = l->values[column];
    for (int i = 0; i < N_LINE; i++) y[i] = finite_or_nan(y[i]);
    return hb_figure_series(figure, HB_STYLE_LINE, 0, N_LINE, label, l->x, y, NULL, NULL);
}

/* Band, curve and points of one time in the current panel. */
static hb_status line_draw_quantity(const hb_scene *scene, size_t k, hb_figure *figure,
                                    hb_column column, line *l, double *work)
{
    const int named = column == HB_COLUMN_LOG_DENSITY; /* one legend serves the three panels */
    const char *name = hb_solution_time(scene->solution, k) > 0 ? "grid" : "initial";
    if (l->known) {
        HB_TRY(line_draw_band(figure, column, l, named ? "± 2 errors" : NULL));
        HB_TRY(line_draw_curve(figure, column, l, named ? name : NULL));
        if (scene->n_times > 1 && scene->points->n > FEW) return HB_OK;
    }
    char label[80];
    snprintf(label, sizeof label, l->known ? "requested points" : "%s, ± 2 errors",
             hb_solution_method(scene->solution));
    return line_draw_points(scene, k, figure, column, named ? label : NULL, work);
}

/* ---- panels ---- */

typedef struct range {
    double low, high;
} range;

static void range_include(range *r, double value)
{
    if (!isfinite(value)) return;
    r->low = fmin(r->low, value);
    r->high = fmax(r->high, value);
}

/* What one panel shows at all times, with a margin: the axis of an animation. */
static range range_of(const hb_scene *scene, hb_column column, const line *lines)
{
    range r = {INFINITY, -INFINITY};
    for (size_t k = 0; k < scene->n_times; k++) {
        const double core = largest_log(scene, k) - HB_SCENE_CORE;
        if (lines[k].known)
            for (int i = 0; i < N_LINE; i++) range_include(&r, lines[k].values[column][i]);
        for (size_t i = 0; !lines[k].known && i < scene->points->n; i++)
            if (point_value(scene, k, HB_COLUMN_LOG_DENSITY, i) >= core)
                range_include(&r, point_value(scene, k, column, i));
    }
    if (!(r.low <= r.high)) return (range){NAN, NAN};
    const double margin = r.high > r.low ? 0.05 * (r.high - r.low) : 1;
    if (column == HB_COLUMN_DENSITY) return (range){0, r.high + margin};
    return (range){r.low - margin, r.high + margin};
}

static hb_panel_settings panel_of(const hb_scene *scene, int part, const char *title, range y)
{
    hb_panel_settings panel = hb_study_panel(title, "{/:Italic x}", PARTS[part].label);
    hb_study_panel_range(&panel, scene->window.low[0], scene->window.high[0], y.low, y.high);
    panel.key = PARTS[part].key;
    return panel;
}

/* The three panels of one time; ranges[PANELS] are those of an animation, NULL: chosen from the
 * data. */
static hb_status line_draw_time(const hb_scene *scene, size_t k, hb_figure *figure, line *l,
                                const range *ranges, double *work)
{
    const range free_range = {NAN, NAN};
    for (int p = 0; p < PANELS; p++) {
        char title[80];
        snprintf(title, sizeof title, "%s at {/:Italic t} = %.6g", PARTS[p].title,
                 hb_solution_time(scene->solution, k));
        const hb_panel_settings panel = panel_of(scene, p, title, ranges ? ranges[p] : free_range);
        HB_TRY(hb_figure_panel(figure, &panel));
        HB_TRY(line_draw_quantity(scene, k, figure, PARTS[p].column, l, work));
    }
    return HB_OK;
}

/* ---- all times in one picture ---- */

static hb_status line_draw_shaded(const hb_scene *scene, size_t k, hb_figure *figure,
                                  hb_column column, line *l, double *work)
{
    /* no label: a key of all times would hide the curves */
    HB_TRY(l->known ? line_draw_curve(figure, column, l, NULL)
                    : line_draw_points(scene, k, figure, column, NULL, work));
    return hb_figure_shade(figure, hb_solution_time(scene->solution, k));
}

static hb_status line_draw_together(const hb_scene *scene, hb_figure *figure, line *lines,
                                    double *work)
{
    range t = {INFINITY, -INFINITY};
    for (size_t k = 0; k < scene->n_times; k++)
        range_include(&t, hb_solution_time(scene->solution, k));
    for (int p = 0; p < PANELS; p++) {
        const range y = range_of(scene, PARTS[p].column, lines);
        hb_panel_settings panel = panel_of(scene, p, PARTS[p].title, y);
        panel.color_min = t.low;
        panel.color_max = t.high > t.low ? t.high : t.low + 1;
        panel.color_label = p + 1 == PANELS ? "time {/:Italic t}" : NULL;
        HB_TRY(hb_figure_panel(figure, &panel));
        for (size_t k = 0; k < scene->n_times; k++)
            HB_TRY(line_draw_shaded(scene, k, figure, PARTS[p].column, &lines[k], work));
    }
    return HB_OK;
}

static hb_status line_write(const hb_scene *scene, line *lines, double *work, const char *path)
{
    hb_figure *figure;
    HB_TRY(hb_figure_create(scene->context, 1, PANELS, 0, 0, &figure));
    hb_status status = scene->n_times == 1 ? line_draw_time(scene, 0, figure, lines, NULL, work)
                                           : line_draw_together(scene, figure, lines, work);
    return hb_plot_path_write(figure, status, path);
}

/* ---- animations ---- */

typedef struct line_frames {
    line *lines; // (n_times)
    range ranges[PANELS];
    double *work;
} line_frames;

static hb_status line_frame(const hb_scene *scene, size_t k, hb_figure *figure, void *user)
{
    line_frames *f = user;
    return line_draw_time(scene, k, figure, &f->lines[k], f->ranges, f->work);
}

static hb_status line_animate(const hb_scene *scene, line *lines, double *work, const char *path)
{
    line_frames f = {.lines = lines, .work = work};
    for (int p = 0; p < PANELS; p++) f.ranges[p] = range_of(scene, PARTS[p].column, lines);
    const hb_scene_frames frames = {PANELS,      FRAME_HEIGHT,
                                    FRAME_WIDTH, "Density, log-density and score over time",
                                    line_frame,  &f};
    return hb_scene_animate(scene, &frames, path);
}

hb_status hb_scene_draw_line(const hb_scene *scene, const char *path)
{
    line *lines = calloc(scene->n_times, sizeof *lines);        // (n_times)
    double *work = malloc(3 * scene->points->n * sizeof *work); // (3, n)
    hb_status status = lines && work ? HB_OK : HB_ERROR_MEMORY;
    for (size_t k = 0; k < scene->n_times && status == HB_OK; k++)
        status = line_fill(scene, k, &lines[k]);
    if (status == HB_OK)
        status =
            (hb_scene_is_animation(path) ? line_animate : line_write)(scene, lines, work, path);
    free(lines);
    free(work);
    return status;
}
