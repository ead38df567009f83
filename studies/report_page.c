/* The page of hb_reproduce, made from the studies' own result files and from nothing else.
 *
 * NAME.json of a study holds title, command, claims, tables, figures and what a quick run shortened
 * (study_tools.h); report_plan.c orders them as the paper does, report_parts.c and report_figure.c
 * turn each into HTML, and this file puts the frame around: header, summary, contents, sections,
 * corrections, how to repeat. So a new study needs no line here. The page is one file: style and
 * figures are inside, there is no script, and links to files are relative. */
#include "report_page.h"

#include <stdlib.h>
#include <string.h>

/* The command of the whole run; -o is left out: its default serves. */
static json_t *command_of(const hb_study_settings *settings, const char *only)
{
    return hb_study_text("heatball reproduce%s%s%s%s --seed %llu", settings->join ? " --join" : "",
                         settings->quick ? " --quick" : "", only ? " --only " : "",
                         only ? only : "", (unsigned long long)settings->seed);
}

/* ---- header ---- */

static void write_head(FILE *page)
{
    fprintf(page,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\n"
            "<meta name=\"generator\" content=\"heatball %s\"/>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; img-src data:\"/>\n"
            "<title>heatball: the paper’s claims, computed again</title>\n<style>\n",
            hb_version());
    fwrite(hb_page_style, 1, hb_page_style_size, page);
    fputs("</style></head><body>\n<a class=\"skip\" href=\"#main\">To the results</a>\n"
          "<div class=\"page\">\n",
          page);
}

/* The studies that another version of the program has run. */
static void write_versions(FILE *page, const hb_page *report)
{
    int found = 0;
    for (size_t i = 0; i < json_array_size(report->results); i++) {
        const json_t *result = json_array_get(report->results, i);
        const char *version = hb_page_string(result, "version");
        if (strcmp(version, hb_version()) == 0) continue;
        hb_page_text(
            page, found++ ? ", " : "; by other versions: ", hb_page_string(result, "study"), " ");
        hb_page_text(page, "", version, "");
    }
}

static void write_header(FILE *page, const hb_study_settings *settings, const hb_page *report,
                         const char *command)
{
    fputs("<header><h1>The paper’s claims, computed again</h1>\n<p class=\"prose\">“Local "
          "Fokker–Planck Geometry for Score Estimation” says how the score of a diffusion follows "
          "from averages over heat balls. Below is each of its claims in our words, its number "
          "beside the one that this run computed, and a verdict that follows from the data by a "
          "rule in the code. Statements that the paper does not make have a list of their own. "
          "The paper’s numbers are shaded; all others were computed.</p>\n<dl>",
          page);
    fprintf(page, "<dt>Program</dt><dd>heatball %s", hb_version());
    write_versions(page, report);
    fprintf(
        page,
        "</dd>\n<dt>Run</dt><dd>%s%s</dd>\n"
        "<dt>Seed</dt><dd>%llu</dd>\n<dt>Command</dt><dd><code>%s</code></dd>\n"
        "<dt>All numbers</dt><dd><a href=\"results.json\">results.json</a></dd></dl></header>\n",
        settings->quick ? "quick (<a href=\"#shortened\">what was shortened</a>)" : "full",
        settings->join ? ", the studies one by one (<a href=\"#repeat\">how</a>)" : "",
        (unsigned long long)settings->seed, command);
}

/* ---- contents ---- */

static int is_chapter(int section)
{
    return !strchr(hb_page_sections[section].number, '.');
}

/* Does anything stand in this section, or, for a chapter, in one of its sections? */
static int is_filled(const hb_page *report, int section)
{
    int last = section + 1;
    while (is_chapter(section) && hb_page_sections[last].number && !is_chapter(last)) last++;
    for (size_t i = 0; i < report->n; i++)
        if (report->items[i].section >= section && report->items[i].section < last) return 1;
    return 0;
}

/* "3.3 A hierarchy of mean values"; the titles of the appendices have their letter inside. */
static void write_title(FILE *page, int section)
{
    const hb_page_section *s = &hb_page_sections[section];
    const int letter = s->number[0] >= 'A';
    fprintf(page, "%s%s%s", letter ? "" : s->number, letter ? "" : " ", s->title);
}

static void write_contents(FILE *page, const hb_page *report, int quick)
{
    int inner = 0, chapter = 0;
    fputs("<nav aria-label=\"Contents\"><h2 id=\"contents\">Contents</h2>\n<ol>\n", page);
    fprintf(page, "<li><a href=\"#summary\">All claims</a>%s</li>\n",
            report->count[1][HB_PAGE_CLAIM] ? ", <a href=\"#claims-ours\">ours</a>" : "");
    for (int i = 0; hb_page_sections[i].number; i++) {
        if (!is_filled(report, i)) continue;
        if (is_chapter(i)) {
            fprintf(page, "%s%s<li>", inner ? "</ol>" : "", chapter ? "</li>\n" : "");
            inner = 0, chapter = 1;
        } else {
            fprintf(page, "%s<li>", inner ? "" : "\n<ol>");
            inner = 1;
        }
        fprintf(page, "<a href=\"#section-%s\">", hb_page_sections[i].number);
        write_title(page, i);
        fprintf(page, "</a>%s", is_chapter(i) ? "" : "</li>\n");
    }
    fprintf(page, "%s%s<li><a href=\"#corrections\">Corrections</a></li>\n", inner ? "</ol>" : "",
            chapter ? "</li>\n" : "");
    if (quick) fputs("<li><a href=\"#shortened\">What was shortened</a></li>\n", page);
    fputs("<li><a href=\"#repeat\">How to repeat</a></li>\n</ol></nav>\n", page);
}

/* ---- sections ---- */

static hb_status write_item(hb_context *context, FILE *page, const char *directory,
                            const hb_page *report, const hb_page_item *item)
{
    switch (item->kind) {
    case HB_PAGE_CLAIM: hb_page_claim(page, report, item); return HB_OK;
    case HB_PAGE_TABLE: hb_page_table(page, item); return HB_OK;
    case HB_PAGE_FIGURE: return hb_page_figure(context, page, directory, item);
    default: break;
    }
    hb_page_text(page, "<div class=\"skipped\"><p>The study “",
                 hb_page_string(item->result, "title"), "” could not run: ");
    hb_page_text(page, "", hb_page_string(item->result, "skipped"), ".</p><p>Alone: <code>");
    hb_page_text(page, "", hb_page_string(item->result, "command"), "</code></p></div>\n");
    return HB_OK;
}

static hb_status write_sections(hb_context *context, FILE *page, const char *directory,
                                const hb_page *report)
{
    size_t at = 0;
    for (int i = 0; hb_page_sections[i].number; i++) {
        if (!is_filled(report, i)) continue;
        const int level = is_chapter(i) ? 2 : 3;
        fprintf(page, "<h%d id=\"section-%s\">", level, hb_page_sections[i].number);
        write_title(page, i);
        fprintf(page, "</h%d>\n", level);
        if (hb_page_sections[i].about[0])
            fprintf(page, "<p class=\"about\">%s</p>\n", hb_page_sections[i].about);
        for (; at < report->n && report->order[at]->section == i; at++)
            HB_TRY(write_item(context, page, directory, report, report->order[at]));
    }
    return HB_OK;
}

/* ---- what closes the page ---- */

static void write_correction(FILE *page, const hb_page *report, int number)
{
    const hb_page_correction *correction = &hb_page_corrections[number - 1];
    int links = 0;
    fprintf(page, "<li id=\"correction-%d\"><h3>%s</h3>\n", number, correction->title);
    hb_page_prose(page, "<p>", correction->text, "</p>\n");
    for (size_t i = 0; i < report->n; i++) {
        const hb_page_item *item = report->order[i];
        if (item->kind != HB_PAGE_CLAIM ||
            json_integer_value(json_object_get(item->entry, "correction")) != number)
            continue;
        fprintf(page, "%s<li><a", links++ ? "" : "<p>Measured in:</p><ul>");
        hb_page_claim_link(page, item);
        fprintf(page, ">%s %d</a>: ", hb_page_label(item), item->number);
        hb_page_prose(page, "", hb_page_string(item->entry, "ours"), "</li>\n");
    }
    fputs(links ? "</ul></li>\n" : "<p class=\"soft\">No claim of this run measures it.</p></li>\n",
          page);
}

static void write_corrections(FILE *page, const hb_page *report)
{
    fputs("<h2 id=\"corrections\">Corrections</h2>\n<p class=\"prose\">Where the paper is wrong or "
          "silent, what was done instead, and the claims that measure the difference.</p>\n"
          "<ol class=\"corrections\">\n",
          page);
    for (int i = 1; i <= HB_PAGE_CORRECTIONS; i++) write_correction(page, report, i);
    fputs("</ol>\n", page);
}

static void write_shortened(FILE *page, const hb_page *report)
{
    fputs("<h2 id=\"shortened\">What was shortened</h2>\n<p class=\"prose\">This is the quick run. "
          "Against the full one, without <code>--quick</code>:</p>\n<dl>\n",
          page);
    for (size_t i = 0; i < json_array_size(report->results); i++) {
        const json_t *result = json_array_get(report->results, i);
        const json_t *list = json_object_get(result, "shortened");
        if (json_object_get(result, "skipped")) continue;
        hb_page_text(page, "<dt>", hb_page_string(result, "study"), "</dt><dd>");
        for (size_t k = 0; k < json_array_size(list); k++)
            hb_page_text(page, k ? " " : "", json_string_value(json_array_get(list, k)), "");
        fputs(json_array_size(list) ? "</dd>\n" : "Nothing.</dd>\n", page);
    }
    fputs("</dl>\n", page);
}

static void write_repeat(FILE *page, const hb_page *report, const char *command)
{
    fputs(
        "<h2 id=\"repeat\">How to repeat</h2>\n<p class=\"prose\">The same command gives the same "
        "numbers, to the last digit, for every number of threads. The whole page:</p>\n",
        page);
    hb_page_text(page, "<pre class=\"scroll\" tabindex=\"0\"><code>", command,
                 "</code></pre>\n<p>One study at a time:</p>\n");
    fputs("<pre class=\"scroll\" tabindex=\"0\"><code>", page);
    for (size_t i = 0; i < json_array_size(report->results); i++)
        hb_page_text(page, "", hb_page_string(json_array_get(report->results, i), "command"), "\n");
    fputs("</code></pre>\n<p>All numbers of a study, and its table:</p>\n<ul>\n", page);
    for (size_t i = 0; i < json_array_size(report->results); i++) {
        const json_t *result = json_array_get(report->results, i);
        const char *name = hb_page_string(result, "study");
        if (json_object_get(result, "skipped")) continue;
        hb_page_text(page, "<li>", hb_page_string(result, "title"), ": ");
        fprintf(page, "<a href=\"%s/%s.json\">%s.json</a>, <a href=\"%s/%s.csv\">%s.csv</a></li>\n",
                name, name, name, name, name, name);
    }
    fputs("</ul>\n", page);
}

/* ---- the page ---- */

typedef struct whole_page {
    const hb_study_settings *settings;
    const hb_page *report;
    const char *command;
} whole_page;

static hb_status write_page(hb_context *context, FILE *page, const void *user)
{
    const whole_page *w = user;
    write_head(page);
    write_header(page, w->settings, w->report, w->command);
    write_contents(page, w->report, w->settings->quick);
    fputs("<main id=\"main\">\n<h2 id=\"summary\">All claims</h2>\n", page);
    hb_page_summary(page, w->report);
    HB_TRY(write_sections(context, page, w->settings->directory, w->report));
    write_corrections(page, w->report);
    if (w->settings->quick) write_shortened(page, w->report);
    write_repeat(page, w->report, w->command);
    fprintf(page, "</main>\n<footer>Made by heatball %s.</footer>\n</div></body></html>\n",
            hb_version());
    return HB_OK;
}

/* ---- results ---- */

/* Appends the parsed NAME/NAME.json of a study, or why there is none. */
static hb_status load_result(hb_context *context, const hb_study_settings *settings,
                             const hb_page_entry *entry, json_t *results)
{
    char relative[256], *path;
    const char *name = entry->study->name;
    if (entry->skipped) {
        json_t *result = hb_study_begin(entry->study, settings);
        json_object_set_new(result, "skipped", json_string(entry->skipped));
        json_array_append_new(results, result);
        return HB_OK;
    }
    snprintf(relative, sizeof relative, "%s/%s.json", name, name);
    HB_TRY(hb_study_path(context, settings->directory, relative, &path));
    json_error_t error;
    json_t *result = hb_page_read_json(path, &error);
    hb_status status =
        result ? hb_page_check(context, path, name, result)
               : hb_study_fail(context, HB_ERROR_FORMAT, "cannot read %s: %s", path, error.text);
    json_array_append_new(results, result);
    free(path);
    return status;
}

static hb_status write_results(hb_context *context, const hb_study_settings *settings,
                               const char *command, json_t *results)
{
    json_t *root = json_object();
    json_object_set_new(root, "version", json_string(hb_version()));
    json_object_set_new(root, "libraries",
                        json_pack("{s:s,s:s,s:s,s:s,s:s}", "oneDNN", HB_DNNL, "SUNDIALS",
                                  HB_SUNDIALS, "LAPACKE", HB_LAPACKE, "SLEEF", HB_SLEEF, "jansson",
                                  JANSSON_VERSION));
    json_object_set_new(root, "isa", json_string(hb_context_isa(context)));
    json_object_set_new(root, "command", json_string(command));
    json_object_set_new(root, "seed", hb_study_text("%llu", (unsigned long long)settings->seed));
    json_object_set_new(root, "quick", json_boolean(settings->quick));
    json_object_set(root, "studies", results);
    return hb_study_write_json(context, settings->directory, "results.json", root);
}

static void print_verdicts(FILE *table, const hb_page *report)
{
    for (size_t i = 0; i < report->n; i++) {
        const hb_page_item *item = &report->items[i];
        const char *study = hb_page_string(item->result, "study");
        if (item->kind == HB_PAGE_CLAIM)
            hb_study_print(table, "%s, %s: %s\n", study, hb_page_string(item->entry, "id"),
                           hb_page_string(item->entry, "verdict"));
        if (item->kind == HB_PAGE_SKIPPED)
            hb_study_print(table, "%s: could not run: %s\n", study,
                           hb_page_string(item->result, "skipped"));
    }
}

hb_status hb_page_write(hb_context *context, const hb_study_settings *settings, const char *only,
                        size_t n, const hb_page_entry *entries, FILE *table)
{
    hb_page report = {.results = json_array()};
    json_t *command = command_of(settings, only);
    const char *text = json_string_value(command);
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i++)
        status = load_result(context, settings, &entries[i], report.results);
    if (status == HB_OK) status = write_results(context, settings, text, report.results);
    if (status == HB_OK) status = hb_page_plan(context, &report);
    if (status == HB_OK)
        status = hb_study_write_text(context, settings->directory, "index.html", write_page,
                                     &(whole_page){settings, &report, text});
    if (status == HB_OK) print_verdicts(table, &report);
    json_decref(command);
    hb_page_release(&report);
    return status;
}
