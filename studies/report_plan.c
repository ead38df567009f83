/* The order of the page: the sections of the paper, and in each the claims with what shows them.
 *
 * Each claim, table and figure of a study says where in the paper it belongs ("4.3 Corollary ...").
 * In a section the paper's claims come first, then ours, in the order of the studies; a table or figure follows the first
 * claim of its section that names it, and those that no claim names close the section. What says no
 * place, or an unknown one, goes where its study belongs. */
#include "report_page.h"

#include <stdlib.h>
#include <string.h>

static const char *const KEYS[HB_PAGE_KINDS] = {NULL, "claims", "tables", "figures"};

/* ---- sections ---- */

/* The paper's sections and the list of corrections, from page_texts.json. */
hb_page_section hb_page_sections[HB_PAGE_SECTIONS + 1];
hb_page_correction hb_page_corrections[HB_PAGE_CORRECTIONS];

static const char *section_text(const json_t *list, size_t i, const char *field)
{
    return json_string_value(json_object_get(json_array_get(list, i), field));
}

static void load_sections(void)
{
    const json_t *sections = hb_study_texts("sections"), *list = hb_study_texts("corrections");
    for (size_t i = 0; i < HB_PAGE_SECTIONS; i++)
        hb_page_sections[i] = (hb_page_section){section_text(sections, i, "number"),
                                                section_text(sections, i, "title"),
                                                section_text(sections, i, "about")};
    for (size_t i = 0; i < HB_PAGE_CORRECTIONS; i++)
        hb_page_corrections[i] =
            (hb_page_correction){section_text(list, i, "title"), section_text(list, i, "text")};
}

static int find_section(const char *number, size_t length)
{
    for (int i = 0; hb_page_sections[i].number; i++)
        if (strlen(hb_page_sections[i].number) == length &&
            strncmp(hb_page_sections[i].number, number, length) == 0)
            return i;
    return -1;
}

/* Where a study belongs. */
static int home_of(const char *study)
{
    static const char *const homes[][2] = {
        {"identities", "3.3"}, {"sampler", "4.4"}, {"bistable", "C"}, {"planar", "5.1"},
        {"dimension", "5.3"},  {"drift", "5"},     {"mnist", "5.2"}};
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        if (strcmp(homes[i][0], study) == 0) return find_section(homes[i][1], strlen(homes[i][1]));
    return find_section("5", 1);
}

static int section_of(const json_t *entry, const json_t *result)
{
    const char *place = hb_page_string(entry, "place");
    const int section = find_section(place, strcspn(place, " "));
    return section >= 0 ? section : home_of(hb_page_string(result, "study"));
}

const char *hb_page_place(const hb_page_item *item)
{
    const char *place = hb_page_string(item->entry, "place");
    const size_t number = strcspn(place, " ");
    return place + number + strspn(place + number, " ");
}

/* ---- items ---- */

static size_t count_items(const json_t *results)
{
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(results); i++, n++) /* and one if it was skipped */
        for (int kind = HB_PAGE_CLAIM; kind < HB_PAGE_KINDS; kind++)
            n += json_array_size(json_object_get(json_array_get(results, i), KEYS[kind]));
    return n;
}

static void add_item(hb_page *report, hb_page_kind kind, const json_t *entry, const json_t *result)
{
    report->items[report->n++] =
        (hb_page_item){.kind = kind,
                       .entry = entry,
                       .result = result,
                       .section = section_of(entry, result),
                       .ours = strcmp(hb_page_string(entry, "source"), "heatball") == 0};
}

static void list_items(hb_page *report)
{
    for (size_t i = 0; i < json_array_size(report->results); i++) {
        const json_t *result = json_array_get(report->results, i);
        if (json_object_get(result, "skipped")) add_item(report, HB_PAGE_SKIPPED, result, result);
        for (int kind = HB_PAGE_CLAIM; kind < HB_PAGE_KINDS; kind++) {
            const json_t *list = json_object_get(result, KEYS[kind]);
            for (size_t k = 0; k < json_array_size(list); k++)
                add_item(report, (hb_page_kind)kind, json_array_get(list, k), result);
        }
    }
}

static hb_page_item *find_item(const hb_page *report, hb_page_kind kind, const char *name)
{
    for (size_t i = 0; i < report->n; i++)
        if (report->items[i].kind == kind &&
            strcmp(hb_page_string(report->items[i].entry, "name"), name) == 0)
            return &report->items[i];
    return NULL;
}

const hb_page_item *hb_page_find(const hb_page *report, hb_page_kind kind, const char *name)
{
    return find_item(report, kind, name);
}

/* ---- order ---- */

static void place_item(hb_page *report, hb_page_item *item, size_t *n)
{
    if (item->placed) return;
    item->placed = 1;
    item->number = ++report->count[item->ours][item->kind];
    report->order[(*n)++] = item;
}

/* What a claim names, if it belongs to the same section. */
static void place_shown(hb_page *report, const hb_page_item *claim, hb_page_kind kind,
                        const char *key, size_t *n)
{
    hb_page_item *item = find_item(report, kind, hb_page_string(claim->entry, key));
    if (item && item->section == claim->section) place_item(report, item, n);
}

static void place_section(hb_page *report, int section, size_t *n)
{
    for (int pass = 0; pass < 2 * HB_PAGE_KINDS; pass++)
        for (size_t i = 0; i < report->n; i++) {
            hb_page_item *item = &report->items[i];
            const int kind = pass / 2;
            if ((int)item->kind != kind || item->ours != pass % 2 || item->section != section)
                continue;
            place_item(report, item, n);
            if (kind != HB_PAGE_CLAIM) continue;
            place_shown(report, item, HB_PAGE_TABLE, "table", n);
            place_shown(report, item, HB_PAGE_FIGURE, "figure", n);
        }
}

hb_status hb_page_plan(hb_context *context, hb_page *report)
{
    load_sections();
    const size_t most = count_items(report->results);
    HB_TRY(HB_STUDY_NEW(context, report->items, most));
    HB_TRY(HB_STUDY_NEW(context, report->order, most));
    list_items(report);
    size_t n = 0;
    for (int section = 0; hb_page_sections[section].number; section++)
        place_section(report, section, &n);
    return HB_OK;
}

void hb_page_release(hb_page *report)
{
    json_decref(report->results);
    free(report->items);
    free(report->order);
}
