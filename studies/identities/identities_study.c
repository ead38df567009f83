/* The identities of the paper's sections 2, 3, 4.1 and 4.5, checked against closed forms.
 *
 * Each measurement of the other files appends numbers to one list: what was checked, in which
 * dimension, at which radius, time or size, the value, what it must be, and the error of the
 * measurement. identities.csv is that list; claims, tables and figures are made from it. Nothing
 * here is trained and nothing takes long.
 *
 * Must reproduce: the literal loss at the truth is off by 0.0198944 in the plane. */
#include "identities.h"

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

static hb_status write_row(hb_writer *writer, const void *user, size_t i)
{
    const hb_identity *row = &((const hb_identities *)user)->rows[i];
    const double numbers[] = {row->dim, row->at, row->value, row->exact, row->error};
    HB_TRY(hb_writer_printf(writer, "%s,\"%s\",", row->check, row->item));
    return hb_study_write_numbers(writer, 5, numbers);
}

static void print_claims(FILE *table, const json_t *claims, const hb_identities *list)
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

static hb_status run_identities(hb_context *context, const hb_study_settings *settings, FILE *table)
{
    hb_identities list = {.context = context, .seed = settings->seed, .quick = settings->quick};
    HB_TRY(hb_study_make_directory(context, settings->directory));
    hb_status status = measure(&list);
    if (status == HB_OK)
        status =
            hb_study_write_csv(context, settings->directory, "identities.csv",
                               "check,item,dim,at,value,exact,error", list.n, write_row, &list);
    const hb_numbers numbers = {context, "identities", &list, hb_identities_find};
    json_t *root = hb_study_begin(&hb_identities_study, settings);
    json_object_set_new(root, "settings",
                        json_pack("{s:i,s:b}", "numbers", (int)list.n, "quick", list.quick));
    if (status == HB_OK) status = hb_study_finish(&numbers, settings, table, json_incref(root));
    if (status == HB_OK) print_claims(table, json_object_get(root, "claims"), &list);
    json_decref(root);
    free(list.rows);
    return status;
}

const hb_study hb_identities_study = {
    "identities", "The identities of the theory, against closed forms", run_identities};
