/* The tables of the page, all from the list of numbers; titles that end with " (paper)" mark the
 * only numbers that are not measured here. */
#include "identities.h"

#include <math.h>
#include <string.h>

/* "value ± error" with the error's first digits. */
static json_t *with_error(const hb_identity *row)
{
    const int digits = (int)fmax(0, 1 - floor(log10(row->error)));
    return hb_study_text("%.*f ± %.*f", digits, row->value, digits, row->error);
}

static void table_window(const hb_identities *list, json_t *root)
{
    static const int dims[] = {1, 2, 10, 100, 1000};
    json_t *rows = json_array();
    for (int i = 0; i < 5; i++) {
        const int d = dims[i];
        const hb_identity *norm = hb_identities_find(list, "gradient", "norm", d, NAN);
        const hb_identity *one = hb_identities_find(list, "gradient", "one direction", d, NAN);
        json_t *drawn_norm = d > 100 ? json_string("") : with_error(norm);
        json_t *drawn_one = d > 100 ? json_string("") : with_error(one);
        json_array_append_new(
            rows,
            json_pack("[o,o,o,o,o]", hb_study_text("%d", d),
                      hb_study_text("%.4g", hb_identities_value(list, "window", "paper", d, NAN)),
                      hb_study_text("%.4g", hb_identities_value(list, "window", "sharp", d, NAN)),
                      drawn_norm, drawn_one));
    }
    hb_study_table(root, "identities_window", rows, HB_FILL(1 / sqrt(M_PI)));
}

static void table_constants(const hb_identities *list, json_t *root)
{
    static const int dims[] = {1, 2, 3, 8, 16, 64};
    json_t *rows = json_array();
    for (int i = 0; i < 6; i++) {
        const int d = dims[i];
        json_array_append_new(
            rows,
            json_pack(
                "[o,o,o,o,o,o,o,o]", hb_study_text("%d", d),
                hb_study_text("%.7f", hb_identities_value(list, "integral", "volume", d, NAN)),
                with_error(hb_identities_find(list, "drawn", "volume", d, NAN)),
                hb_study_text("%.12f", hb_identities_value(list, "integral", "mass", d, NAN)),
                hb_study_text("%.7f", hb_identities_value(list, "integral", "C1", d, NAN)),
                hb_study_text("%.12f",
                              hb_identities_value(list, "integral", "C2/(2 d C1)", d, NAN)),
                with_error(hb_identities_find(list, "drawn", "C2 - 2 d C1", d, NAN)),
                with_error(hb_identities_find(list, "drawn", "C3 - C1/2", d, NAN))));
    }
    hb_study_table(root, "identities_constants", rows, NULL);
}

/* Of the rows of a check and a field: the largest |value|, its error, and the most errors. */
static json_t *source_row(const hb_identities *list, const char *quantity, const char *source,
                          const char *check, const char *field, double dim)
{
    const hb_identity *largest = NULL;
    double errors = 0;
    for (size_t i = 0; i < list->n; i++) {
        const hb_identity *row = &list->rows[i];
        if (strcmp(row->check, check) != 0 || strcmp(row->item, field) != 0 || row->dim != dim)
            continue;
        if (!largest || fabs(row->value) > fabs(largest->value)) largest = row;
        const double off = fabs(row->value) / row->error;
        errors = isnan(off) ? INFINITY : fmax(errors, off);
    }
    if (!largest) errors = INFINITY;
    return json_pack("[o,o,o,o,o,o,o]", json_string(quantity), json_string(source),
                     hb_study_text("%s, d = %.0f", field, dim),
                     hb_study_text("%.1e", largest ? fabs(largest->value) : NAN),
                     hb_study_text("%.1e", largest ? largest->error : NAN),
                     hb_study_text("%.2f", errors),
                     json_string(errors <= IDENTITIES_AGREE ? "zero" : "not zero"));
}

static void table_sources(const hb_identities *list, json_t *root)
{
    static const char *const quantity[] = {"u", "v = ln u", "w = u ln u", "s = ∇ ln u"};
    static const char *const source[] = {"−∇·(Fu)", "|∇v|² − F·∇v − ∇·F", "−∇·(Fw) − u|∇v|² − u∇·F",
                                         "∇h_v"};
    static const char *const check[] = {"source u", "source v", "source w", "source s"};
    static const struct field {
        const char *name;
        double dim;
    } fields[] = {{"OU", 2}, {"rotating", 2}, {"bistable", 1}, {"OU", 16}};
    json_t *rows = json_array();
    for (int q = 0; q < 4; q++)
        for (int f = 0; f < 4; f++)
            json_array_append_new(rows, source_row(list, quantity[q], source[q], check[q],
                                                   fields[f].name, fields[f].dim));
    hb_study_table(root, "identities_sources", rows, NULL);
}

static void table_wrong(const hb_identities *list, json_t *root)
{
    static const char *const items[] = {"u without u div F",   "u without F.grad u",
                                        "v without |grad v|²", "v without F.grad v",
                                        "v without div F",     "w without u|grad v|²"};
    static const char *const shown[] = {"u, without u∇·F", "u, without F·∇u", "v, without |∇v|²",
                                        "v, without F·∇v", "v, without ∇·F",  "w, without u|∇v|²"};
    static const char *const right[] = {"u", "u", "v", "v", "v", "w"};
    json_t *rows = json_array();
    for (int i = 0; i < 6; i++)
        json_array_append_new(
            rows,
            json_pack("[o,o,o]", json_string(shown[i]),
                      hb_study_text("%.3f", hb_identities_most(list, "wrong source", items[i])),
                      hb_study_text("%.0e", hb_identities_most(list, "own rule", right[i]))));
    hb_study_table(root, "identities_wrong", rows, NULL);
}

static void table_limit(const hb_identities *list, json_t *root)
{
    const hb_identity *rows[IDENTITIES_MOST], *raw[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "limit", "v", rows);
    if (hb_identities_select(list, "unscaled", "v", raw) != n) return;
    json_t *cells = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            cells,
            json_pack("[o,o,o,o,o]", hb_study_text("%g", rows[i]->at),
                      hb_study_text("%.4e", raw[i]->value), hb_study_text("%.6f", rows[i]->value),
                      hb_study_text("%.6f", rows[i]->exact),
                      hb_study_text("%.1e", fabs(rows[i]->value - rows[i]->exact))));
    hb_study_table(root, "identities_limit", cells, NULL);
}

static void table_orientation(const hb_identities *list, json_t *root)
{
    static const int dims[] = {1, 2, 3, 8, 16};
    json_t *rows = json_array();
    for (int i = 0; i < 5; i++) {
        const hb_identity *forward =
            hb_identities_find(list, "orientation", "polynomial, forward", dims[i], NAN);
        const hb_identity *backward =
            hb_identities_find(list, "orientation", "polynomial, backward", dims[i], NAN);
        json_array_append_new(rows, json_pack("[o,o,o,o]", hb_study_text("%d", dims[i]),
                                              with_error(backward), with_error(forward),
                                              hb_study_text("%.5f", forward->exact)));
    }
    hb_study_table(root, "identities_orientation", rows, NULL);
}

static void table_truncation(const hb_identities *list, json_t *root)
{
    static const double at[] = {0.0796, 0.05, 0.04};
    json_t *rows = json_array();
    for (int i = 0; i < 3; i++) {
        const hb_identity *cut = hb_identities_find(list, "truncation", "truncated", 2, at[i]);
        json_array_append_new(
            rows,
            json_pack(
                "[o,o,o,o,o]", hb_study_text("%g", at[i]), hb_study_text("%.4f", cut->exact),
                with_error(cut),
                hb_study_text("%.3f", hb_identities_value(list, "truncation", "radius", 2, at[i])),
                with_error(hb_identities_find(list, "truncation", "smaller ball", 2, at[i]))));
    }
    hb_study_table(root, "identities_truncation", rows, NULL);
}

static void table_literal(const hb_identities *list, json_t *root)
{
    const hb_identity *rows[IDENTITIES_MOST], *with[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "literal", "without source", rows);
    if (hb_identities_select(list, "literal", "with source", with) != n) return;
    json_t *cells = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            cells, json_pack("[o,o,o,o]", hb_study_text("%.0f", rows[i]->dim), with_error(rows[i]),
                             hb_study_text("%.4f", rows[i]->exact), with_error(with[i])));
    hb_study_table(root, "identities_literal", cells, NULL);
}

static void table_ring(const hb_identities *list, json_t *root)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, "ring", "tangential", rows);
    json_t *cells = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            cells, json_pack("[o,o,o]", hb_study_text("%g", rows[i]->at),
                             hb_study_text("%.7f", hb_identities_value(list, "ring", "radial", 2,
                                                                       rows[i]->at)),
                             hb_study_text("%.0e", rows[i]->value)));
    hb_study_table(root, "identities_ring", cells, NULL);
}

void hb_identities_tables(const hb_identities *list, json_t *root)
{
    table_window(list, root);
    table_constants(list, root);
    table_sources(list, root);
    table_wrong(list, root);
    table_limit(list, root);
    table_orientation(list, root);
    table_literal(list, root);
    table_truncation(list, root);
    table_ring(list, root);
}
