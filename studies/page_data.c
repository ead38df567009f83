/* Claims, tables, figures and what --quick shortens, as rows of page_texts.json with formulas
 * (page_formula.h) over the numbers of a study. Entries are those whose name begins with the
 * study's:
 *
 *     claims      let {NAME: FORMULA}, when, values (of the places of its texts), holds, corrected
 *     tables      over (loops, a row for each), cells ["[LOOPS] TEXT @ VALUES", ..], more_columns,
 *                 values, when
 *     figures     size and range of numbers or formulas, each (loops, all panels for each), panels
 *                 with series [{each, over, x, y, low, high, error, style, color, label, joined,
 *                 when}]: a series for each `each`, or a group {each, series}, a point for each
 *                 `over`; as: the figure that has the panels
 *     shortened   "TEXT @ VALUES", or {text, when} */
#include "page_formula.h"

#include <math.h>
#include <string.h>

static const char *data_string(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

static int data_is_of(const hb_numbers *numbers, const char *key)
{
    const size_t n = strlen(numbers->study);
    return strncmp(key, numbers->study, n) == 0 && (!key[n] || key[n] == '/' || key[n] == '_');
}

int hb_study_field(size_t n, const hb_field_of *fields, const void *of, const char *name, size_t k,
                   hb_value *out)
{
    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)of + fields[i].offset;
        if (strcmp(fields[i].name, name) != 0) continue;
        out->number = fields[i].kind == 'i'   ? ((const int *)at)[k]
                      : fields[i].kind == 'u' ? (double)((const uint64_t *)at)[k]
                                              : ((const double *)at)[k];
        return 1;
    }
    return 0;
}

/* ---- claims ---- */

/* A field of a claim, or of that which it is told as. */
static const char *data_of_claim(const json_t *claim, const char *field)
{
    const char *as = data_string(claim, "as"), *own = data_string(claim, field);
    return own || !as ? own : data_string(json_object_get(hb_study_texts("claims"), as), field);
}

static hb_status data_claim(const hb_numbers *numbers, const char *key, const json_t *claim,
                            json_t *claims)
{
    hb_formula *f;
    hb_formula_list values;
    HB_TRY(hb_formula_open(numbers, &f));
    if (hb_formula_number(f, data_string(claim, "when")) != 0) {
        const char *holds = data_of_claim(claim, "holds");
        const char *other = data_of_claim(claim, "corrected");
        hb_formula_let(f, json_object_get(claim, "let"));
        const int as_is = holds && hb_formula_number(f, holds) != 0;
        const int corrected = other && hb_formula_number(f, other) != 0;
        hb_formula_values(f, data_of_claim(claim, "values"), &values);
        hb_study_claim(claims, key, hb_study_verdict(as_is, corrected), &values.fill);
    }
    return hb_formula_close(f);
}

/* ---- tables ---- */

typedef struct data_row {
    const json_t *cells;
    json_t *rows, *row;
    const char *text;
} data_row;

static hb_status data_cell(hb_formula *f, void *user)
{
    data_row *r = user;
    json_array_append_new(r->row, json_string(hb_formula_text(f, r->text)));
    return HB_OK;
}

/* "[LOOPS] TEXT" into r->row. */
static hb_status data_item(hb_formula *f, const char *item, data_row *r)
{
    const size_t n = item[0] == '[' ? strcspn(item, "]") : 0;
    json_t *loops = n ? json_stringn(item + 1, n - 1) : NULL;
    r->text = n ? item + n + 2 : item;
    const hb_status status = hb_formula_each(f, json_string_value(loops), data_cell, r);
    json_decref(loops);
    return status;
}

static hb_status data_table_row(hb_formula *f, void *user)
{
    data_row *r = user;
    size_t i;
    json_t *cell;
    r->row = json_array();
    json_array_append_new(r->rows, r->row);
    json_array_foreach(r->cells, i, cell) HB_TRY(data_item(f, json_string_value(cell), r));
    return HB_OK;
}

static hb_status data_table(const hb_numbers *numbers, const char *name, const json_t *table,
                            json_t *root)
{
    hb_formula *f;
    hb_formula_list values;
    HB_TRY(hb_formula_open(numbers, &f));
    if (hb_formula_number(f, data_string(table, "when")) == 0) return hb_formula_close(f);
    data_row r = {json_object_get(table, "cells"), json_array(), NULL, NULL};
    const char *more = data_string(table, "more_columns");
    hb_formula_let(f, json_object_get(table, "let"));
    hb_status status = HB_OK;
    if (r.cells) status = hb_formula_each(f, data_string(table, "over"), data_table_row, &r);
    hb_formula_values(f, data_string(table, "values"), &values);
    r.row = json_object_get(hb_study_table(root, name, r.rows, &values.fill), "columns");
    if (more && status == HB_OK) status = data_item(f, more, &r);
    const hb_status closed = hb_formula_close(f);
    return status != HB_OK ? status : closed;
}

/* ---- shortened ---- */

static hb_status data_shortened(const hb_numbers *numbers, const json_t *entry, json_t *list)
{
    hb_formula *f;
    HB_TRY(hb_formula_open(numbers, &f));
    const char *text =
        json_is_object(entry) ? data_string(entry, "text") : json_string_value(entry);
    if (hb_formula_number(f, data_string(entry, "when")) != 0)
        json_array_append_new(list, json_string(hb_formula_text(f, text)));
    return hb_formula_close(f);
}

static hb_status data_add_shortened(const hb_numbers *numbers, json_t *root)
{
    const char *key;
    json_t *entry, *list = json_array();
    json_object_set_new(root, "shortened", list);
    json_object_foreach((json_t *)hb_study_texts("shortened"), key,
                        entry) if (data_is_of(numbers, key))
        HB_TRY(data_shortened(numbers, entry, list));
    return HB_OK;
}

hb_status hb_study_results(const hb_numbers *numbers, json_t *root, int quick)
{
    const char *key;
    json_t *entry, *claims = json_object_get(root, "claims");
    if (!claims) json_object_set_new(root, "claims", claims = json_array());
    json_object_foreach((json_t *)hb_study_texts("claims"), key,
                        entry) if (data_is_of(numbers, key))
        HB_TRY(data_claim(numbers, key, entry, claims));
    json_object_foreach((json_t *)hb_study_texts("tables"), key,
                        entry) if (data_is_of(numbers, key))
        HB_TRY(data_table(numbers, key, entry, root));
    return quick ? data_add_shortened(numbers, root) : HB_OK;
}

hb_status hb_study_end(const hb_numbers *numbers, const hb_study_settings *settings, json_t *root,
                       json_t *captions)
{
    char name[64];
    snprintf(name, sizeof name, "%s.json", numbers->study);
    hb_status status = hb_study_results(numbers, root, 0);
    json_object_set(root, "figures", captions);
    if (status == HB_OK && settings->quick) status = data_add_shortened(numbers, root);
    if (status == HB_OK)
        return hb_study_write_json(numbers->context, settings->directory, name, root);
    json_decref(root);
    return status;
}

hb_status hb_study_finish(const hb_numbers *numbers, const hb_study_settings *settings, FILE *table,
                          json_t *root)
{
    hb_gallery gallery = {numbers->context, settings->directory, table, json_array(), 0};
    hb_status status = hb_study_figures(numbers, &gallery);
    if (status == HB_OK)
        status = hb_study_end(numbers, settings, json_incref(root), gallery.captions);
    json_decref(root);
    json_decref(gallery.captions);
    return status;
}

/* ---- figures ---- */

typedef struct data_figure {
    const hb_numbers *numbers;
    const json_t *entry, *panels, *series;
    hb_figure *figure;
    hb_points points;
} data_figure;

static hb_status data_point(hb_formula *f, void *user)
{
    data_figure *d = user;
    const json_t *s = d->series;
    const char *low = data_string(s, "low"), *error = data_string(s, "error");
    if (hb_formula_number(f, data_string(s, "when")) == 0) return HB_OK;
    const double x = hb_formula_number(f, data_string(s, "x"));
    const double y = data_string(s, "y") ? hb_formula_number(f, data_string(s, "y")) : NAN;
    if (error)
        hb_points_add_error(&d->points, x, y, hb_formula_number(f, error));
    else
        hb_points_add(&d->points, x, y, low ? hb_formula_number(f, low) : NAN,
                      low ? hb_formula_number(f, data_string(s, "high")) : NAN);
    return HB_OK;
}

static hb_style data_style(const char *name)
{
    static const char *const names[] = {"line", "dashed", "points", "histogram", "band", "thin"};
    int k = HB_STYLE_POINTS;
    for (int i = 0; name && i < 6; i++)
        if (strcmp(name, names[i]) == 0) k = i;
    return k;
}

static hb_status data_all_series(hb_formula *f, data_figure *d, const json_t *list);

static hb_status data_series(hb_formula *f, void *user)
{
    data_figure *d = user;
    const json_t *s = d->series, *inner = json_object_get(s, "series");
    hb_points *p = &d->points;
    if (inner) {
        HB_TRY(data_all_series(f, d, inner));
        d->series = s;
        return HB_OK;
    }
    p->n = 0;
    HB_TRY(hb_formula_each(f, data_string(s, "over"), data_point, d));
    if (p->n == 0) return HB_OK;
    const hb_style style = data_style(hb_formula_text(f, data_string(s, "style")));
    const int color = (int)hb_formula_number(f, data_string(s, "color"));
    const int bars = data_string(s, "low") || data_string(s, "error");
    if (json_object_get(s, "joined"))
        HB_TRY(hb_figure_series(d->figure, data_style(hb_formula_text(f, data_string(s, "joined"))),
                                color, p->n, "", p->x, p->y, NULL, NULL));
    return hb_figure_series(
        d->figure, style, color, p->n, hb_formula_text(f, data_string(s, "label")), p->x,
        style == HB_STYLE_BAND ? NULL : p->y, bars ? p->low : NULL, bars ? p->high : NULL);
}

static hb_status data_all_series(hb_formula *f, data_figure *d, const json_t *list)
{
    size_t i;
    json_t *series;
    json_array_foreach(list, i, series)
    {
        d->series = series;
        HB_TRY(hb_formula_each(f, data_string(series, "each"), data_series, d));
    }
    return HB_OK;
}

/* A text of the panel; none instead of "". */
static const char *data_label(hb_formula *f, const char *text)
{
    text = hb_formula_text(f, text);
    return text[0] ? text : NULL;
}

static hb_status data_panels(hb_formula *f, void *user)
{
    data_figure *d = user;
    size_t k;
    json_t *panel;
    json_array_foreach(d->panels, k, panel)
    {
        const int bound = hb_formula_bound(f);
        if (hb_formula_number(f, data_string(panel, "when")) == 0) continue;
        hb_formula_let(f, json_object_get(panel, "let"));
        hb_panel_settings settings = hb_study_panel_from(panel);
        double *const ends[] = {&settings.x_min, &settings.x_max, &settings.y_min, &settings.y_max};
        settings.title = data_label(f, settings.title);
        settings.x_label = data_label(f, settings.x_label);
        settings.y_label = data_label(f, settings.y_label);
        settings.x_names = data_label(f, data_string(panel, "names"));
        for (size_t i = 0; i < 4; i++) {
            const json_t *end = json_array_get(json_object_get(panel, "range"), i);
            if (json_is_string(end)) *ends[i] = hb_formula_number(f, json_string_value(end));
        }
        HB_TRY(hb_figure_panel(d->figure, &settings));
        HB_TRY(data_all_series(f, d, json_object_get(panel, "series")));
        hb_formula_forget(f, bound);
    }
    return HB_OK;
}

static hb_status data_draw(hb_figure *figure, const void *user)
{
    data_figure d = *(const data_figure *)user;
    hb_formula *f;
    d.figure = figure;
    HB_TRY(hb_formula_open(d.numbers, &f));
    hb_formula_let(f, json_object_get(d.entry, "let"));
    const hb_status status = hb_formula_each(f, data_string(d.entry, "each"), data_panels, &d);
    const hb_status closed = hb_formula_close(f);
    return status != HB_OK ? status : closed;
}

/* Entry k of the size, a number or a formula. */
static int data_size(hb_formula *f, const json_t *figure, size_t k)
{
    const json_t *size = json_array_get(json_object_get(figure, "size"), k);
    return (int)(json_is_string(size) ? hb_formula_number(f, json_string_value(size))
                                      : json_number_value(size));
}

hb_status hb_study_figures(const hb_numbers *numbers, hb_gallery *gallery)
{
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)hb_study_texts("figures"), key, entry)
    {
        const char *as = data_string(entry, "as");
        const json_t *drawn = as ? json_object_get(hb_study_texts("figures"), as) : entry;
        const data_figure d = {
            .numbers = numbers, .entry = entry, .panels = json_object_get(drawn, "panels")};
        hb_formula *f;
        if (!data_is_of(numbers, key) || !d.panels) continue;
        HB_TRY(hb_formula_open(numbers, &f));
        const int shown = hb_formula_number(f, data_string(entry, "when")) != 0;
        const int rows = data_size(f, entry, 0), columns = data_size(f, entry, 1);
        HB_TRY(hb_formula_close(f));
        if (shown && rows && columns)
            HB_TRY(hb_study_draw(gallery, key, rows, columns, data_draw, &d));
    }
    return HB_OK;
}
