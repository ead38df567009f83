/* The page of a certificate: the verdict, the table of lines, the figures, and what the lines
 * mean. */
#include "certify/certificate_files.h"

#include <math.h>

static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1b1c1f;--soft:#585a64;--paper:#fff;--line:#d8d9e0;"
    "--good:#00695c;--bad:#b3261e}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ebecf0;--soft:#a9abb6;--paper:#131417;"
    "--line:#3b3d47;--good:#5fd0bd;--bad:#ff8d83}}"
    "body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif}h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2rem}"
    ".soft,figcaption{color:var(--soft)}.scroll{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.94rem}"
    "th,td{padding:.25rem .6rem;border-bottom:1px solid var(--line);text-align:left;"
    "vertical-align:top}td.n{text-align:right;white-space:nowrap}"
    ".holds td.v,.holds.big{color:var(--good)}.fails "
    "td.v,.fails.big{color:var(--bad);font-weight:600}"
    ".skipped td{color:var(--soft)}.big{font-size:1.2rem;font-weight:600}"
    "figure{margin:1.2rem 0}figure img{width:100%;background:#fff;border:1px solid var(--line)}";

/* What each line means, in the order of the page. */
static const char *const MEANING[][2] = {
    {"residual", "balance of the terms of the equation, averaged over heat balls; reads as the "
                 "relative error of the score's size"},
    {"residual size", "root mean square of the residual over that of the nonlinear term"},
    {"residual of ln u", "change of the log-density with ln tau beyond what the equation allows"},
    {"stein scale", "E[(s - s*).s] by Stein's identity: how much too large scores are"},
    {"stein width", "E[(s - s*).(x - mean)]: the pull towards the middle"},
    {"stein mean", "E[s], which is 0 for every score"},
    {"stein local", "E[(s - s*).phi] for all phi of a kernel: faults in one place"},
    {"curl", "fraction of the Jacobian that is a rotation"},
    {"memorisation", "how far the score has gone from the distribution towards its training rows"},
    {"truth", "difference to the true score at 64 points"},
    {"samples", "maximum mean discrepancy of samples and rows"},
    {"likelihood", "mean log-likelihood of rows minus that of the score's own samples, in nats"},
    {NULL, NULL}};

static void page_put(FILE *page, const char *text)
{
    for (; *text; text++) switch (*text) {
        case '&': fputs("&amp;", page); break;
        case '<': fputs("&lt;", page); break;
        case '>': fputs("&gt;", page); break;
        case '"': fputs("&quot;", page); break;
        default: fputc(*text, page);
        }
}

static void page_put_number(FILE *page, double value, int digits)
{
    fputs("<td class=\"n\">", page);
    if (!isnan(value)) fprintf(page, "%.*g", digits, value);
    fputs("</td>", page);
}

static void page_put_lines(FILE *page, const hb_certificate *c)
{
    fputs("<div class=\"scroll\"><table><thead><tr><th>line</th><th>tau</th><th>value</th>"
          "<th>error</th><th>p</th><th>verdict</th><th></th></tr></thead><tbody>\n",
          page);
    for (size_t i = 0; i < c->n_lines; i++) {
        const hb_line *line = &c->lines[i];
        fprintf(page, "<tr class=\"%s\"><td>", hb_verdict_name(line->verdict));
        page_put(page, line->name);
        fputs("</td>", page);
        page_put_number(page, line->tau, 4);
        page_put_number(page, line->value, 3);
        page_put_number(page, line->error, 2);
        page_put_number(page, line->p_value, 2);
        fprintf(page, "<td class=\"v\">%s</td><td>", hb_verdict_name(line->verdict));
        page_put(page, hb_line_text(line));
        fputs("</td></tr>\n", page);
    }
    fputs("</tbody></table></div>\n", page);
}

static void page_put_figures(FILE *page, const hb_certificate *c, const int *drawn)
{
    int missing = 0;
    fputs("<h2>Figures</h2>\n", page);
    for (size_t k = 0; hb_certificate_figures[k].name; k++) {
        const hb_certificate_figure *figure = &hb_certificate_figures[k];
        if (!figure->wanted(c)) continue;
        missing += !drawn[k];
        if (drawn[k])
            fprintf(page,
                    "<figure><img src=\"%s.svg\" alt=\"%s\"><figcaption>%s <a "
                    "href=\"%s.plot.csv\">numbers</a></figcaption></figure>\n",
                    figure->name, figure->name, figure->caption, figure->name);
    }
    if (missing)
        fputs("<p class=\"soft\">Figures need gnuplot, which was not found; their numbers are in "
              "the .plot.csv files.</p>\n",
              page);
}

static void page_put_meaning(FILE *page)
{
    fputs("<h2>Lines</h2>\n<table><tbody>\n", page);
    for (size_t k = 0; MEANING[k][0]; k++) {
        fprintf(page, "<tr><td>%s</td><td>", MEANING[k][0]);
        page_put(page, MEANING[k][1]);
        fputs("</td></tr>\n", page);
    }
    fputs("</tbody></table>\n", page);
}

void hb_certificate_page(FILE *page, const hb_certificate *c, const int *drawn)
{
    static const char *const processes[] = {"ou", "ve", "a drift"};
    fputs(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\"><title>Certificate of ",
        page);
    page_put(page, c->name);
    fprintf(page, "</title><style>%s</style></head><body>\n<h1>Certificate of ", STYLE);
    page_put(page, c->name);
    fprintf(page, "</h1>\n<p class=\"%s big\">", c->passed ? "holds" : "fails");
    page_put(page, c->summary);
    fprintf(page, "</p>\n<p class=\"soft\">%zu rows of ", c->n);
    page_put(page, c->data_name);
    fprintf(page,
            ", dimension %d, process %s, seed %llu. Every value is 0 for the score of the true "
            "distribution of the rows. A line fails when its p-value is too small with all lines "
            "counted (Holm's rule): a true score fails anywhere with probability %.3g %% at most.",
            c->dim, processes[c->process], (unsigned long long)c->seed, 100 * (1 - c->level));
    if (c->tolerance > 0) fprintf(page, " Effects up to %g %% are accepted.", 100 * c->tolerance);
    fputs(" <a href=\"certificate.json\">JSON</a></p>\n", page);
    page_put_lines(page, c);
    page_put_figures(page, c, drawn);
    page_put_meaning(page);
    fputs("</body></html>\n", page);
}
