/* The identities of the paper's sections 2, 3, 4.1 and 4.5, checked against closed forms.
 *
 * Each measurement of the other files appends numbers to one list: what was checked, in which
 * dimension, at which radius, time or size, the value, what it must be, and the error of the
 * measurement. identities.csv is that list; claims, tables and figures are made from it. Nothing
 * here is trained and nothing takes long.
 *
 * Must reproduce: the literal loss at the truth is off by 0.0198944 in the plane. */
#include "identities.h"

#include <heatball/file.h>
#include <math.h>
#include <stdlib.h>

static hb_status measure(hb_identities *list)
{
    static const struct part {
        const char *name;
        hb_status (*measure)(hb_identities *list);
    } parts[] = {{"time change", hb_identities_time_change},
                 {"Helmholtz split", hb_identities_helmholtz},
                 {"existence window", hb_identities_window},
                 {"bounds", hb_identities_bounds},
                 {"volume and constants", hb_identities_geometry},
                 {"monotonicity", hb_identities_monotonicity},
                 {"sources", hb_identities_sources},
                 {"small radii", hb_identities_limit},
                 {"orientation", hb_identities_orientation},
                 {"truncation", hb_identities_truncation},
                 {"literal loss", hb_identities_literal},
                 {"bias", hb_identities_bias},
                 {"ring", hb_identities_ring}};
    const int n = sizeof parts / sizeof *parts;
    for (int i = 0; i < n; i++) {
        HB_TRY(hb_context_progress(list->context, "identities", i, n));
        HB_TRY(parts[i].measure(list));
    }
    return hb_context_progress(list->context, "identities", n, n);
}

/* A number, or nothing where there is none. */
static hb_status write_cell(hb_writer *writer, double value, const char *end)
{
    return isnan(value) ? hb_writer_printf(writer, "%s", end)
                        : hb_writer_printf(writer, "%.17g%s", value, end);
}

static hb_status write_rows(hb_writer *writer, const hb_identities *list)
{
    static const char *const names[] = {"check", "item", "dim", "at", "value", "exact", "error"};
    HB_TRY(hb_writer_csv_header(writer, 7, names));
    for (size_t i = 0; i < list->n; i++) {
        const hb_identity *row = &list->rows[i];
        HB_TRY(hb_writer_printf(writer, "%s,\"%s\",", row->check, row->item));
        HB_TRY(write_cell(writer, row->dim, ","));
        HB_TRY(write_cell(writer, row->at, ","));
        HB_TRY(write_cell(writer, row->value, ","));
        HB_TRY(write_cell(writer, row->exact, ","));
        HB_TRY(write_cell(writer, row->error, "\n"));
    }
    return HB_OK;
}

static hb_status write_table(const hb_identities *list, const char *directory)
{
    char *path;
    hb_writer *writer;
    HB_TRY(hb_study_path(list->context, directory, "identities.csv", &path));
    hb_status status = hb_writer_create(list->context, path, &writer);
    free(path);
    if (status != HB_OK) return status;
    status = write_rows(writer, list);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}

static void print_claims(FILE *table, json_t *claims, const hb_identities *list)
{
    size_t index;
    json_t *claim;
    hb_study_print(table, "identities: %zu numbers against closed forms, seed %llu\n\n", list->n,
                   (unsigned long long)list->seed);
    json_array_foreach(claims, index, claim)
        hb_study_print(table, "%-12s %-24s %s\n", json_string_value(json_object_get(claim, "id")),
                       json_string_value(json_object_get(claim, "verdict")),
                       json_string_value(json_object_get(claim, "ours")));
}

static hb_status write_json(const hb_identities *list, const hb_study_settings *settings,
                            FILE *table)
{
    json_t *root = hb_study_begin(&hb_identities_study, settings), *claims = json_array();
    hb_identities_claims_setup(list, claims);
    hb_identities_claims_ball(list, claims);
    hb_identities_claims_loss(list, claims);
    print_claims(table, claims, list);
    json_object_set_new(root, "settings",
                        json_pack("{s:i,s:b}", "numbers", (int)list->n, "quick", list->quick));
    json_object_set_new(root, "claims", claims);
    hb_identities_tables(list, root);
    json_object_set_new(root, "figures", hb_identities_captions());
    if (list->quick) hb_study_shortened(root, "identities", NULL);
    return hb_study_write_json(list->context, settings->directory, "identities.json", root);
}

static hb_status run_identities(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    hb_identities list = {.context = context, .seed = settings->seed, .quick = settings->quick};
    HB_TRY(hb_study_make_directory(context, settings->directory));
    hb_status status = measure(&list);
    if (status == HB_OK) status = write_table(&list, settings->directory);
    if (status == HB_OK) status = hb_identities_figures(&list, settings->directory, table);
    if (status == HB_OK) status = write_json(&list, settings, table);
    free(list.rows);
    return status;
}

const hb_study hb_identities_study = {
    "identities", "The identities of the theory, against closed forms", run_identities};
