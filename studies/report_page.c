/* The page of hb_reproduce, made from the studies' own result files and from nothing else.
 *
 * NAME.json of a study holds title, command, seed, version, claims [{id, statement, paper, ours,
 * verdict, why, figure}] and figures [{name, caption}]; this file turns them into HTML. So a new study
 * needs no line here. The page is one file: style and figures are inside, no script, no network.
 *
 * Figures: the SVG text of gnuplot goes in as it is, except that its ids, and the references to them,
 * get the figure's name in front, so that several figures can share one page. */
#include "report_page.h"
#include "study_tools.h"

#include <heatball/file.h>

#include <stdlib.h>
#include <string.h>

static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1c1c1e;--soft:#5c5c66;--paper:#ffffff;--card:#f5f5f7;"
    "--line:#d9d9e0;--good:#00695c;--part:#8a5a00;--bad:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ececf0;--soft:#a5a5b0;--paper:#141416;"
    "--card:#1f1f23;--line:#3a3a42;--good:#5fd0bd;--part:#f0b45c;--bad:#ff8a80}"
    "figure svg{filter:invert(.92) hue-rotate(180deg)}}\n"
    "body{margin:0 auto;max-width:70rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}\n"
    "h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.3rem;margin:2.2rem 0 .5rem;"
    "border-top:1px solid var(--line);padding-top:1.2rem}\n"
    "code{font:.9em ui-monospace,Menlo,Consolas,monospace;background:var(--card);padding:.1em "
    ".35em;"
    "border-radius:.3em;overflow-wrap:anywhere}\n"
    ".claim{background:var(--card);border-left:4px solid var(--line);border-radius:.4rem;"
    "padding:.7rem 1rem;margin:.8rem 0}.claim p{margin:.2rem 0}.claim dl{margin:.5rem 0 0;"
    "display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}.verdict{font-weight:600}\n"
    ".holds{border-color:var(--good)}.holds .verdict{color:var(--good)}"
    ".part{border-color:var(--part)}.part .verdict{color:var(--part)}"
    ".fails{border-color:var(--bad)}.fails .verdict{color:var(--bad)}\n"
    "figure{margin:1.2rem 0}figure .scroll{overflow-x:auto}"
    "figure svg{width:100%;min-width:36rem;height:auto;display:block;border-radius:.4rem}"
    "figure svg text{font-family:Helvetica,Arial,sans-serif}"
    "figcaption{color:var(--soft);font-size:.92rem;margin-top:.4rem}\n"
    "a{color:inherit}.soft{color:var(--soft)}"
    "@media(max-width:36rem){.claim dl{grid-template-columns:1fr}dt{margin-top:.3rem}}\n";

static hb_status write_text(hb_writer *writer, const char *text)
{
    return hb_writer_write(writer, text, strlen(text));
}

/* Writes text with the characters that HTML gives a meaning replaced. */
static hb_status write_escaped(hb_writer *writer, const char *text)
{
    for (const char *c = text ? text : ""; *c; c++) {
        const char *entity = *c == '&'   ? "&amp;"
                             : *c == '<' ? "&lt;"
                             : *c == '>' ? "&gt;"
                             : *c == '"' ? "&quot;"
                                         : NULL;
        HB_STUDY_TRY(entity ? write_text(writer, entity) : hb_writer_write(writer, c, 1));
    }
    return HB_OK;
}

/* before, the escaped value of object[key], after. */
static hb_status write_value(hb_writer *writer, const char *before, const json_t *object,
                             const char *key, const char *after)
{
    HB_STUDY_TRY(write_text(writer, before));
    HB_STUDY_TRY(write_escaped(writer, json_string_value(json_object_get(object, key))));
    return write_text(writer, after);
}

/* The whole text of a file, to be given to free(); NULL when it cannot be read. */
static char *read_whole(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = size > 0 ? malloc((size_t)size + 1) : NULL;
    rewind(file);
    if (text) text[fread(text, 1, (size_t)size, file)] = '\0';
    fclose(file);
    return text;
}

static hb_status write_svg(hb_writer *writer, const char *text, const char *name)
{
    static const char *const marks[] = {" id=\"", " id='", "href=\"#", "href='#", "url(#"};
    const char *at = strstr(text, "<svg");
    while (at && *at) {
        size_t skip = 0, length = 1;
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !skip; i++)
            if (strncmp(at, marks[i], strlen(marks[i])) == 0) skip = strlen(marks[i]);
        if (skip) {
            HB_STUDY_TRY(hb_writer_write(writer, at, skip));
            HB_STUDY_TRY(hb_writer_printf(writer, "%s-", name));
        } else {
            length = strcspn(at + 1, " hu") + 1; /* where the next mark could start */
            HB_STUDY_TRY(hb_writer_write(writer, at, length));
        }
        at += skip ? skip : length;
    }
    return HB_OK;
}

static hb_status write_figure(hb_context *context, hb_writer *writer, const char *directory,
                              const char *study, const json_t *figure)
{
    const char *name = json_string_value(json_object_get(figure, "name"));
    char relative[256], *path;
    snprintf(relative, sizeof relative, "%s/%s.svg", study, name);
    HB_STUDY_TRY(hb_study_path(context, directory, relative, &path));
    char *svg = read_whole(path);
    free(path);
    hb_status status = hb_writer_printf(writer, "<figure id=\"%s\"><div class=\"scroll\">\n", name);
    if (status == HB_OK)
        status =
            svg ? write_svg(writer, svg, name)
                : write_text(writer, "<p>This figure needs gnuplot; its numbers are there.</p>");
    free(svg);
    if (status != HB_OK) return status;
    HB_STUDY_TRY(write_value(writer, "</div><figcaption>", figure, "caption", ""));
    return hb_writer_printf(writer, " <a href=\"%s/%s.csv\">Numbers</a></figcaption></figure>\n",
                            study, name);
}

static hb_status write_claim(hb_writer *writer, const json_t *claim, const char *command)
{
    const char *verdict = json_string_value(json_object_get(claim, "verdict"));
    const char *figure = json_string_value(json_object_get(claim, "figure"));
    const char *kind = strcmp(verdict, "holds") == 0           ? "holds"
                       : strcmp(verdict, "does not hold") == 0 ? "fails"
                                                               : "part";
    HB_STUDY_TRY(hb_writer_printf(writer, "<section class=\"claim %s\">", kind));
    HB_STUDY_TRY(write_value(writer, "<p>", claim, "statement", "</p>"));
    HB_STUDY_TRY(write_value(writer, "<p class=\"verdict\">", claim, "verdict", "</p>"));
    HB_STUDY_TRY(write_value(writer, "<dl><dt>Paper</dt><dd>", claim, "paper", "</dd>"));
    HB_STUDY_TRY(write_value(writer, "<dt>Here</dt><dd>", claim, "ours", "</dd>"));
    HB_STUDY_TRY(write_value(writer, "<dt>Note</dt><dd>", claim, "why", "</dd>"));
    HB_STUDY_TRY(write_text(writer, "<dt>Command</dt><dd><code>"));
    HB_STUDY_TRY(write_escaped(writer, command));
    HB_STUDY_TRY(write_text(writer, "</code></dd>"));
    if (figure)
        HB_STUDY_TRY(hb_writer_printf(writer, "<dt>Figure</dt><dd><a href=\"#%s\">%s</a></dd>",
                                      figure, figure));
    return write_text(writer, "</dl></section>\n");
}

static hb_status write_study(hb_context *context, hb_writer *writer, const char *directory,
                             const json_t *result)
{
    const char *name = json_string_value(json_object_get(result, "study"));
    const char *command = json_string_value(json_object_get(result, "command"));
    const json_t *claims = json_object_get(result, "claims");
    const json_t *figures = json_object_get(result, "figures");
    HB_STUDY_TRY(hb_writer_printf(writer, "<h2 id=\"%s\">", name));
    HB_STUDY_TRY(write_value(writer, "", result, "title", "</h2>\n"));
    HB_STUDY_TRY(hb_writer_printf(writer,
                                  "<p class=\"soft\">Table <a href=\"%s/%s.csv\">%s.csv</a>; all "
                                  "numbers <a href=\"%s/%s.json\">%s.json</a>.</p>\n",
                                  name, name, name, name, name, name));
    for (size_t i = 0; i < json_array_size(claims); i++)
        HB_STUDY_TRY(write_claim(writer, json_array_get(claims, i), command));
    for (size_t i = 0; i < json_array_size(figures); i++)
        HB_STUDY_TRY(write_figure(context, writer, directory, name, json_array_get(figures, i)));
    return HB_OK;
}

static hb_status write_page(hb_context *context, hb_writer *writer,
                            const hb_study_settings *settings, const json_t *results)
{
    HB_STUDY_TRY(hb_writer_printf(
        writer, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
                "<title>heatball: the paper's results again</title>\n<style>\n"));
    HB_STUDY_TRY(write_text(writer, STYLE));
    HB_STUDY_TRY(hb_writer_printf(
        writer,
        "</style></head><body>\n<h1>The paper's results again</h1>\n"
        "<p>Each claim of the paper in our words, its number beside ours, and a verdict computed "
        "from "
        "the data. heatball %s, seed %llu. The whole page: <code>heatball reproduce%s --seed %llu "
        "-o "
        "DIR</code>. The same seed gives the same numbers on every number of threads.</p>\n",
        hb_version(), (unsigned long long)settings->seed, settings->quick ? " --quick" : "",
        (unsigned long long)settings->seed));
    for (size_t i = 0; i < json_array_size(results); i++)
        HB_STUDY_TRY(write_study(context, writer, settings->directory, json_array_get(results, i)));
    return write_text(writer, "</body></html>\n");
}

static void print_verdicts(FILE *table, const json_t *results)
{
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        const json_t *claims = json_object_get(result, "claims");
        for (size_t k = 0; k < json_array_size(claims); k++) {
            const json_t *claim = json_array_get(claims, k);
            hb_study_print(table, "%s, %s: %s\n",
                           json_string_value(json_object_get(result, "study")),
                           json_string_value(json_object_get(claim, "id")),
                           json_string_value(json_object_get(claim, "verdict")));
        }
    }
}

/* Appends the parsed NAME/NAME.json of one study. */
static hb_status load_result(hb_context *context, const char *directory, const char *name,
                             json_t *results)
{
    char relative[256], *path;
    snprintf(relative, sizeof relative, "%s/%s.json", name, name);
    HB_STUDY_TRY(hb_study_path(context, directory, relative, &path));
    json_error_t error;
    json_t *result = json_load_file(path, 0, &error);
    hb_status status = HB_OK;
    if (!result)
        status = hb_study_fail(context, HB_ERROR_FORMAT, "cannot read %s: %s", path, error.text);
    else
        json_array_append_new(results, result);
    free(path);
    return status;
}

static hb_status write_results(hb_context *context, const hb_study_settings *settings,
                               json_t *results)
{
    json_t *root = json_object();
    json_object_set_new(root, "version", json_string(hb_version()));
    json_object_set_new(root, "seed", hb_study_text("%llu", (unsigned long long)settings->seed));
    json_object_set_new(root, "quick", json_boolean(settings->quick));
    json_object_set(root, "studies", results);
    return hb_study_write_json(context, settings->directory, "results.json", root);
}

hb_status hb_report_write(hb_context *context, const hb_study_settings *settings, size_t n,
                          const hb_study *const *studies, FILE *table)
{
    json_t *results = json_array();
    char *path = NULL;
    hb_writer *writer = NULL;
    hb_status status = HB_OK;
    for (size_t i = 0; i < n && status == HB_OK; i++)
        status = load_result(context, settings->directory, studies[i]->name, results);
    if (status == HB_OK) status = write_results(context, settings, results);
    if (status == HB_OK) status = hb_study_path(context, settings->directory, "index.html", &path);
    if (status == HB_OK) status = hb_writer_create(context, path, &writer);
    if (status == HB_OK) status = write_page(context, writer, settings, results);
    if (status == HB_OK)
        status = hb_writer_commit(writer);
    else
        hb_writer_abort(writer);
    if (status == HB_OK) print_verdicts(table, results);
    json_decref(results);
    free(path);
    return status;
}
