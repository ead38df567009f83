/* Claims and tables as HTML.
 *
 * A claim is a card: the statement, the paper's number, ours, the note on the verdict, the command
 * that gives it, and links to what shows it. In tables the columns whose title ends with "(paper)"
 * are shaded: they alone were not computed in the run.
 *
 * How wide a table must be at least is estimated from its longest pieces of text, so that the style
 * sheet can fold it in narrower windows: 13 columns of numbers like 0.00134 ± 0.0002, which break
 * before the ±, have 13 (8 + 2) 0.6 0.84 = 66 rem. */
#include "report_page.h"

#include <math.h>
#include <string.h>

enum {
    SHORT = 190, /* bytes of a statement in the summary */
    DENSE = 8    /* columns from which a table has smaller type */
};

/* ---- verdicts ---- */

/* A claim's verdict as a class of the style sheet. */
static const char *tone_of(const json_t *claim)
{
    const char *verdict = hb_page_string(claim, "verdict");
    if (strcmp(verdict, "holds") == 0) return "holds";
    return strcmp(verdict, "does not hold") == 0 ? "fails" : "part";
}

/* And as a mark that tells it without colour. */
static const char *mark_of(const json_t *claim)
{
    const char *tone = tone_of(claim);
    return tone[0] == 'h' ? "✓" : tone[0] == 'f' ? "✗" : "◐";
}

static void write_verdict(FILE *page, const json_t *claim)
{
    fprintf(page, "<span class=\"mark\" aria-hidden=\"true\">%s</span>", mark_of(claim));
    hb_page_text(page, "", hb_page_string(claim, "verdict"), "");
}

void hb_page_claim_link(FILE *page, const hb_page_item *item)
{
    hb_page_text(page, " href=\"#claim-", hb_page_string(item->result, "study"), "-");
    hb_page_text(page, "", hb_page_string(item->entry, "id"), "\"");
}

/* ---- the summary ---- */

static void write_counts(FILE *page, const hb_page *report)
{
    int holds = 0, part = 0, fails = 0;
    for (size_t i = 0; i < report->n; i++) {
        if (report->items[i].kind != HB_PAGE_CLAIM) continue;
        const char *tone = tone_of(report->items[i].entry);
        holds += tone[0] == 'h';
        part += tone[0] == 'p';
        fails += tone[0] == 'f';
    }
    fprintf(
        page,
        "<p>Of %d claims <span class=\"holds\"><span class=\"verdict\">✓ %d hold</span></span>, "
        "<span class=\"part\"><span class=\"verdict\">◐ %d hold with a correction</span></span> "
        "and <span class=\"fails\"><span class=\"verdict\">✗ %d do not hold</span></span>.</p>\n",
        holds + part + fails, holds, part, fails);
}

static void write_summary_row(FILE *page, const hb_page_item *item)
{
    fprintf(page, "<tr class=\"%s\"><td>%d</td><td><a", tone_of(item->entry), item->number);
    hb_page_claim_link(page, item);
    fputc('>', page);
    hb_page_first_sentence(page, hb_page_string(item->entry, "statement"), SHORT, 1);
    fprintf(page, "</a></td><td class=\"where\">%s</td><td class=\"verdict\">",
            hb_page_sections[item->section].number);
    write_verdict(page, item->entry);
    fputs("</td></tr>\n", page);
}

void hb_page_summary(FILE *page, const hb_page *report)
{
    write_counts(page, report);
    fputs(
        "<table class=\"summary\"><thead><tr><th scope=\"col\">No.</th><th scope=\"col\">What the "
        "paper says</th><th scope=\"col\" class=\"where\">Section</th><th scope=\"col\">Verdict"
        "</th></tr></thead><tbody>\n",
        page);
    for (size_t i = 0; i < report->n; i++)
        if (report->order[i]->kind == HB_PAGE_CLAIM) write_summary_row(page, report->order[i]);
    fputs("</tbody></table>\n", page);
}

/* ---- a claim ---- */

/* <dt>name</dt><dd>text</dd>, or nothing without a text. */
static void write_pair(FILE *page, const char *name, const char *kind, const char *text)
{
    if (!text[0]) return;
    fprintf(page, "<dt>%s</dt><dd%s>", name, kind);
    hb_page_prose(page, "", text, "</dd>\n");
}

static void write_shown(FILE *page, const hb_page *report, const hb_page_item *claim)
{
    const hb_page_item *table =
        hb_page_find(report, HB_PAGE_TABLE, hb_page_string(claim->entry, "table"));
    const hb_page_item *figure =
        hb_page_find(report, HB_PAGE_FIGURE, hb_page_string(claim->entry, "figure"));
    if (!table && !figure) return;
    fputs("<dt>Shown in</dt><dd>", page);
    if (table)
        fprintf(page, "<a href=\"#table-%s\">table %d</a>", hb_page_string(table->entry, "name"),
                table->number);
    if (figure)
        fprintf(page, "%s<a href=\"#%s\">figure %d</a>", table ? ", " : "",
                hb_page_string(figure->entry, "name"), figure->number);
    fputs("</dd>\n", page);
}

void hb_page_claim(FILE *page, const hb_page *report, const hb_page_item *item)
{
    const json_t *claim = item->entry;
    const json_int_t correction = json_integer_value(json_object_get(claim, "correction"));
    const char *study = hb_page_string(item->result, "study");
    fprintf(page, "<article class=\"claim %s\" id=\"claim-%s-%s\">\n<div class=\"top\"><h4><a",
            tone_of(claim), study, hb_page_string(claim, "id"));
    hb_page_claim_link(page, item);
    fprintf(page, ">Claim %d</a>", item->number);
    fprintf(page, " <span>§%s", hb_page_sections[item->section].number);
    hb_page_prose(page, hb_page_place(item)[0] ? " " : "", hb_page_place(item), "</span>");
    fputs("</h4><p class=\"verdict\">", page);
    write_verdict(page, claim);
    hb_page_prose(page, "</p></div>\n<p class=\"statement\">", hb_page_string(claim, "statement"),
                  "</p>\n<dl>");
    write_pair(page, "Paper", " class=\"paper\"", hb_page_string(claim, "paper"));
    write_pair(page, "Here", "", hb_page_string(claim, "ours"));
    write_pair(page, "Note", "", hb_page_string(claim, "why"));
    if (correction >= 1 && correction <= HB_PAGE_CORRECTIONS)
        fprintf(page, "<dt>Correction</dt><dd><a href=\"#correction-%d\">%d: %s</a></dd>\n",
                (int)correction, (int)correction, hb_page_corrections[correction - 1].title);
    write_shown(page, report, item);
    hb_page_text(page, "<dt>Command</dt><dd><code>", hb_page_string(item->result, "command"),
                 "</code></dd></dl></article>\n");
}

/* ---- a table ---- */

static int is_paper(const char *title)
{
    const size_t n = strlen(title), m = strlen(" (paper)");
    return n >= m && strcmp(title + n - m, " (paper)") == 0;
}

/* Do the cells of a column begin like numbers? */
static int is_numeric(const json_t *rows, size_t column)
{
    static const char *const begins[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8",
                                         "9", "+", "-", ".", "−", "≈", "<", "≤"};
    size_t cells = 0, numbers = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *cell = json_string_value(json_array_get(json_array_get(rows, i), column));
        if (!cell || !cell[0]) continue;
        cells++;
        for (size_t k = 0; k < sizeof begins / sizeof *begins; k++)
            if (strncmp(cell, begins[k], strlen(begins[k])) == 0) {
                numbers++;
                break;
            }
    }
    return 2 * numbers > cells;
}

/* Bytes up to the next place where a line may end, with the space there: before ±, behind / and a
 * comma. A number is not broken elsewhere. */
static size_t piece_length(const char *text)
{
    for (size_t i = 1; text[i]; i++)
        if (text[i] == ' ' &&
            (text[i - 1] == '/' || text[i - 1] == ',' || strncmp(text + i + 1, "±", 2) == 0))
            return i + 1;
    return strlen(text);
}

/* Text whose pieces stand on one line each. */
static void write_pieces(FILE *page, const char *text)
{
    char piece[64];
    while (text && *text) {
        const size_t n = piece_length(text);
        if (n >= sizeof piece) break;
        const int space = n > 1 && text[n - 1] == ' ';
        memcpy(piece, text, n - (size_t)space);
        piece[n - (size_t)space] = '\0';
        const int whole = strchr(piece, ' ') != NULL;
        hb_page_prose(page, whole ? "<span>" : "", piece, whole ? "</span>" : "");
        if (space) fputc(' ', page);
        text += n;
    }
    hb_page_prose(page, "", text, "");
}

static void write_class(FILE *page, const char *title, int numeric)
{
    const int paper = is_paper(title);
    if (paper || numeric)
        fprintf(page, " class=\"%s%s%s\"", paper ? "paper" : "", paper && numeric ? " " : "",
                numeric ? "n" : "");
}

/* tag: th with its scope. */
static void write_head(FILE *page, const char *tag, const char *title, int numeric,
                       const char *text)
{
    fprintf(page, "<%s", tag);
    write_class(page, title, numeric);
    hb_page_prose(page, ">", text, "</th>");
}

static void write_cell(FILE *page, const char *title, int numeric, const char *text)
{
    fputs("<td", page);
    write_class(page, title, numeric);
    hb_page_text(page, " data-title=\"", title, "\">");
    if (numeric)
        write_pieces(page, text);
    else
        hb_page_prose(page, "", text, "");
    fputs("</td>", page);
}

/* ---- how wide it is ---- */

/* Characters of the longest part of a text that is not broken. */
static double longest_piece(const char *text, int numeric)
{
    double most = 0;
    while (text && *text) {
        const size_t n = numeric ? piece_length(text) : strcspn(text, " ") + 1;
        double characters = 0;
        for (size_t i = 0; i < n && text[i]; i++) characters += ((unsigned char)text[i] >> 6) != 2;
        most = fmax(most, characters);
        if (n > strlen(text)) break;
        text += n;
    }
    return most;
}

/* In rem: a character has at most 0.6 of the height of the type, a cell two of padding. */
static double least_width(const json_t *columns, const json_t *rows, double type)
{
    double characters = 0;
    for (size_t k = 0; k < json_array_size(columns); k++) {
        double most = longest_piece(json_string_value(json_array_get(columns, k)), 0);
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const char *cell = json_string_value(json_array_get(json_array_get(rows, i), k));
            most = fmax(most, longest_piece(cell, is_numeric(rows, k)));
        }
        characters += most + 2;
    }
    return type * 0.6 * characters;
}

/* The class that folds it (20, 24, ... 68: CMakeLists.txt), or the widest there is. */
static int fold_of(double width)
{
    int limit = 20;
    while (limit < 68 && limit < width) limit += 4;
    return limit;
}

static void write_rows(FILE *page, const json_t *columns, const json_t *rows)
{
    const size_t n = json_array_size(columns);
    const int dense = n >= DENSE;
    fprintf(page, "<table class=\"%sf%d\"><thead><tr>", dense ? "dense " : "",
            fold_of(least_width(columns, rows, dense ? 0.84 : 0.94)));
    for (size_t k = 0; k < n; k++) {
        const char *title = json_string_value(json_array_get(columns, k));
        write_head(page, "th scope=\"col\"", title, is_numeric(rows, k), title);
    }
    fputs("</tr></thead><tbody>\n", page);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        fputs("<tr>", page);
        for (size_t k = 0; k < n; k++) {
            const char *title = json_string_value(json_array_get(columns, k));
            const char *text = json_string_value(json_array_get(json_array_get(rows, i), k));
            if (k)
                write_cell(page, title, is_numeric(rows, k), text);
            else
                write_head(page, "th scope=\"row\"", title, is_numeric(rows, k), text);
        }
        fputs("</tr>\n", page);
    }
    fputs("</tbody></table>", page);
}

void hb_page_table(FILE *page, const hb_page_item *item)
{
    const json_t *columns = json_object_get(item->entry, "columns");
    const char *title = hb_page_string(item->entry, "title");
    int paper = 0;
    for (size_t k = 0; k < json_array_size(columns); k++)
        paper |= is_paper(json_string_value(json_array_get(columns, k)));
    fprintf(page, "<div class=\"table\" id=\"table-%s\"><h4>Table %d. ",
            hb_page_string(item->entry, "name"), item->number);
    hb_page_prose(page, "", title, "</h4>\n");
    hb_page_text(page, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", title,
                 "\">");
    write_rows(page, columns, json_object_get(item->entry, "rows"));
    fputs("</div>\n<p class=\"note\">", page);
    if (paper)
        fputs("<span class=\"key\" aria-hidden=\"true\"></span>Shaded: the paper’s numbers. ",
              page);
    hb_page_prose(page, "", hb_page_string(item->entry, "note"), "</p></div>\n");
}
