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

/* Class of the style sheet, mark that tells it without colour, how it is counted. */
static const struct {
    const char *verdict, *tone, *mark, *counted;
} VERDICTS[] = {{"holds", "holds", "✓", "hold"},
                {"holds with a correction", "part", "◐", "hold with a correction"},
                {"does not hold", "fails", "✗", "do not hold"}};

/* The index of a claim's verdict; one that is not known counts as a correction. */
static int verdict_of(const json_t *claim)
{
    const char *verdict = hb_page_string(claim, "verdict");
    return strcmp(verdict, VERDICTS[0].verdict) == 0   ? 0
           : strcmp(verdict, VERDICTS[2].verdict) == 0 ? 2
                                                       : 1;
}

static void write_verdict(FILE *page, const json_t *claim)
{
    fprintf(page, "<span class=\"mark\" aria-hidden=\"true\">%s</span>",
            VERDICTS[verdict_of(claim)].mark);
    hb_page_text(page, "", hb_page_string(claim, "verdict"), "");
}

void hb_page_claim_link(FILE *page, const hb_page_item *item)
{
    hb_page_text(page, " href=\"#claim-", hb_page_string(item->result, "study"), "-");
    hb_page_text(page, "", hb_page_string(item->entry, "id"), "\"");
}

const char *hb_page_label(const hb_page_item *item)
{
    return item->ours ? "Our statement" : "Claim";
}

/* ---- the summary ---- */

static void write_summary_row(FILE *page, const hb_page_item *item)
{
    fprintf(page, "<tr class=\"%s\"><td>%d</td><td><a", VERDICTS[verdict_of(item->entry)].tone,
            item->number);
    hb_page_claim_link(page, item);
    fputc('>', page);
    hb_page_first_sentence(page, hb_page_string(item->entry, "statement"), SHORT, 1);
    fprintf(page, "</a></td><td class=\"where\">%s</td><td class=\"verdict\">",
            hb_page_sections[item->section].number);
    write_verdict(page, item->entry);
    fputs("</td></tr>\n", page);
}

/* Heading, counts and rows of the paper's claims, or of ours. */
static void write_list(FILE *page, const hb_page *report, int ours)
{
    const char *group = ours ? "ours" : "theirs";
    int n[3] = {0};
    for (size_t i = 0; i < report->n; i++)
        if (report->items[i].kind == HB_PAGE_CLAIM && report->items[i].ours == ours)
            n[verdict_of(report->items[i].entry)]++;
    if (n[0] + n[1] + n[2] == 0) return;
    fprintf(page, "<h3 id=\"claims-%s\" class=\"%s\">%s</h3>\n<p class=\"%s\">%sOf %d %s", group,
            group, ours ? "Statements of ours" : "Claims of the paper", group,
            ours ? "The paper does not make them. " : "", n[0] + n[1] + n[2],
            ours ? "statements" : "claims");
    for (int k = 0; k < 3; k++)
        fprintf(page, "%s <span class=\"%s\"><span class=\"verdict\">%s %d %s</span></span>",
                k == 2   ? " and"
                : k == 1 ? ","
                         : "",
                VERDICTS[k].tone, VERDICTS[k].mark, n[k], VERDICTS[k].counted);
    fprintf(page,
            ".</p>\n<table class=\"summary %s\"><thead><tr><th scope=\"col\">No.</th><th "
            "scope=\"col\">%s</th><th scope=\"col\" class=\"where\">Section</th><th "
            "scope=\"col\">Verdict</th></tr></thead><tbody>\n",
            group, ours ? "What we asked" : "What the paper says");
    for (size_t i = 0; i < report->n; i++)
        if (report->order[i]->kind == HB_PAGE_CLAIM && report->order[i]->ours == ours)
            write_summary_row(page, report->order[i]);
    fputs("</tbody></table>\n", page);
}

/* The buttons choose by style rules alone, so that the page needs no script. */
void hb_page_summary(FILE *page, const hb_page *report)
{
    static const char *const buttons[][3] = {{"verdict", "any", "every verdict"},
                                             {"verdict", "holds", "✓ holds"},
                                             {"verdict", "part", "◐ correction"},
                                             {"verdict", "fails", "✗ does not hold"},
                                             {"source", "all", "all"},
                                             {"source", "paper", "the paper’s"},
                                             {"source", "own", "ours"}};
    fputs("<div class=\"claims\"><span>Show</span>", page);
    for (size_t i = 0; i < sizeof buttons / sizeof *buttons; i++)
        fprintf(page,
                "%s<input type=\"radio\" name=\"%s\" id=\"show-%s\"%s/><label for="
                "\"show-%s\">%s</label>\n",
                i == 4 ? "<span>of</span>" : "", buttons[i][0], buttons[i][1],
                i % 4 ? "" : " checked=\"\"", buttons[i][1], buttons[i][2]);
    for (int ours = 0; ours < 2; ours++) write_list(page, report, ours);
    fputs("</div>\n", page);
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
            VERDICTS[verdict_of(claim)].tone, study, hb_page_string(claim, "id"));
    hb_page_claim_link(page, item);
    fprintf(page, ">%s %d</a> <span>§%s", hb_page_label(item), item->number,
            hb_page_sections[item->section].number);
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
