/* The tables of the page, all from the list of numbers; titles that end with " (paper)" mark the
 * only numbers that are not measured here. Most are rows of page_texts.json (identities_claims.c). */
#include "identities.h"

#include <math.h>
#include <string.h>

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

void hb_identities_tables(const hb_identities *list, json_t *root)
{
    static const char *const rest[] = {"identities_limit", "identities_orientation",
                                       "identities_literal", "identities_truncation",
                                       "identities_ring"};
    hb_identities_table(list, root, "identities_window", HB_FILL(1 / sqrt(M_PI)));
    hb_identities_table(list, root, "identities_constants", NULL);
    table_sources(list, root);
    table_wrong(list, root);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        hb_identities_table(list, root, rest[i], NULL);
}
