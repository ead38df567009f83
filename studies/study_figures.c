/* Figures of the studies: their sizes and panels are data of page_texts.json, so that a study gives
 * only the series.
 *
 *     "size": [rows, columns, height, width]     of panels; 0: by default
 *     "panels": [{"title", "x", "y", "key", "log": [base of x, of y], "range": [x, x, y, y]},
 *     ..] */
#include "study_tools.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void remove_pictures(const char *stem)
{
    static const char *const extensions[] = {"svg", "png", "pdf"};
    for (int i = 0; i < 3; i++) {
        char *path;
        if (asprintf(&path, "%s.%s", stem, extensions[i]) < 0) return;
        unlink(path);
        free(path);
    }
}

/* Writes DIRECTORY/NAME.{csv,gp,svg,png}. Without gnuplot the first two are there, a note goes to
 * the table once per study, and the call succeeds. */
static hb_status write_figure(hb_gallery *g, hb_figure *figure, const char *name)
{
    char *stem;
    HB_TRY(hb_study_path(g->context, g->directory, name, &stem));
    hb_status status = hb_figure_write(figure, HB_FORMAT_SVG | HB_FORMAT_PNG, stem);
    if (status == HB_ERROR_UNAVAILABLE) {
        remove_pictures(stem); /* of an earlier run: they would not show these numbers */
        if (!g->noted)
            hb_study_print(g->table, "note: no figures: %s\n", hb_context_message(g->context));
        g->noted = 1;
        status = HB_OK;
    }
    free(stem);
    return status;
}

static int figure_size(const char *name, size_t k)
{
    const json_t *figure = json_object_get(hb_study_texts("figures"), name);
    return (int)json_integer_value(json_array_get(json_object_get(figure, "size"), k));
}

hb_status hb_study_draw(hb_gallery *g, const char *name, int rows, int columns, hb_drawing *draw,
                        const void *user)
{
    hb_figure *figure;
    HB_TRY(hb_figure_create(g->context, rows, columns ? columns : figure_size(name, 1),
                            figure_size(name, 2), figure_size(name, 3), &figure));
    hb_status status = draw(figure, user);
    if (status == HB_OK) status = write_figure(g, figure, name);
    hb_figure_destroy(figure);
    if (status == HB_OK) hb_study_caption(g->captions, name, NULL);
    return status;
}

hb_panel_settings hb_study_panel(const char *title, const char *x_label, const char *y_label)
{
    hb_panel_settings panel;
    hb_panel_settings_default(sizeof panel, &panel);
    panel.title = title;
    panel.x_label = x_label;
    panel.y_label = y_label;
    return panel;
}

void hb_study_panel_range(hb_panel_settings *panel, double x_min, double x_max, double y_min,
                          double y_max)
{
    panel->x_min = x_min;
    panel->x_max = x_max;
    panel->y_min = y_min;
    panel->y_max = y_max;
}

hb_panel_settings hb_study_panel_from(const json_t *data)
{
    const json_t *range = json_object_get(data, "range"), *log = json_object_get(data, "log");
    hb_panel_settings panel = hb_study_panel(json_string_value(json_object_get(data, "title")),
                                             json_string_value(json_object_get(data, "x")),
                                             json_string_value(json_object_get(data, "y")));
    double end[4];
    for (size_t i = 0; i < 4; i++) {
        const json_t *number = json_array_get(range, i);
        end[i] = json_is_number(number) ? json_number_value(number) : NAN;
    }
    if (range) hb_study_panel_range(&panel, end[0], end[1], end[2], end[3]);
    panel.log_x = (int)json_integer_value(json_array_get(log, 0));
    panel.log_y = (int)json_integer_value(json_array_get(log, 1));
    if (json_object_get(data, "key")) panel.key = json_string_value(json_object_get(data, "key"));
    return panel;
}

/* ---- points ---- */

void hb_points_add(hb_points *p, double x, double y, double low, double high)
{
    if (p->n == HB_POINTS) return;
    p->x[p->n] = x;
    p->y[p->n] = y;
    p->low[p->n] = low;
    p->high[p->n++] = high;
}

void hb_points_add_error(hb_points *p, double x, double y, double se)
{
    hb_points_add(p, x, y, isnan(se) ? NAN : fmax(y - se, 0.1 * y), isnan(se) ? NAN : y + se);
}
