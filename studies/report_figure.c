/* Figures inside the page: gnuplot's SVG as it is, or a PNG as a data: address.
 *
 * Several SVG share one page, so their ids, and the references to them, get the figure's name in
 * front; gnuplot's <title> and <desc> go, and the opening tag says what the picture is. An SVG of
 * many points is larger than its PNG: beyond LARGE bytes the smaller of the two is taken. */
#include "report_page.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 400000, LABEL = 160 };
#define SMALLEST_SHARE                                                                             \
    0.6 /* of a figure's own width, before its box scrolls: keeps type readable */

/* The width of an SVG: its attribute, else the third number of its viewBox; 0: neither is there. */
static double svg_width(const char *svg)
{
    const char *end = strchr(svg, '>'), *width = strstr(svg, " width=\""),
               *box = strstr(svg, " viewBox=\"");
    if (width && width < end) return strtod(width + strlen(" width=\""), NULL);
    if (!box || box > end) return 0;
    char *rest = (char *)box + strlen(" viewBox=\"");
    strtod(rest, &rest);
    strtod(rest, &rest);
    return strtod(rest, NULL);
}

static void write_label(FILE *page, const json_t *figure)
{
    hb_page_first_sentence(page, hb_page_string(figure, "caption"), LABEL, 0);
}

static void write_width(FILE *page, double width)
{
    if (width > 0)
        fprintf(page, " style=\"min-width:%.0fpx;max-width:%.0fpx\"", SMALLEST_SHARE * width,
                width);
}

/* Behind "<svg" of the opening tag. */
static void write_svg_attributes(FILE *page, const char *svg, const json_t *figure)
{
    fputs(" role=\"img\" aria-label=\"", page);
    write_label(page, figure);
    fputc('"', page);
    write_width(page, svg_width(svg));
}

/* The length of the element that begins here if it is <title> or <desc>, else 0. */
static size_t left_out(const char *at)
{
    const char *end = NULL;
    if (strncmp(at, "<title>", 7) == 0) end = strstr(at, "</title>");
    if (strncmp(at, "<desc>", 6) == 0) end = strstr(at, "</desc>");
    return end ? (size_t)(strchr(end, '>') + 1 - at) : 0;
}

static void write_svg(FILE *page, const char *text, const json_t *figure)
{
    static const char *const marks[] = {" id=\"", " id='", "href=\"#", "href='#", "url(#"};
    const char *at = strstr(text, "<svg"), *name = hb_page_string(figure, "name");
    if (!at) return;
    fputs("<svg", page);
    write_svg_attributes(page, at, figure);
    for (at += 4; *at;) {
        size_t skip = 0, length = left_out(at);
        for (size_t i = 0; i < sizeof marks / sizeof *marks && !skip; i++)
            if (strncmp(at, marks[i], strlen(marks[i])) == 0) skip = strlen(marks[i]);
        if (skip) {
            fwrite(at, 1, skip, page);
            fprintf(page, "%s-", name);
            length = skip;
        } else if (!length) {
            length = strcspn(at + 1, " hu<") + 1; /* where the next mark could start */
            fwrite(at, 1, length, page);
        }
        at += length;
    }
}

/* Width in pixels, from the first chunk of the file. */
static unsigned png_width(const char *png, size_t size)
{
    const unsigned char *b = (const unsigned char *)png + 16;
    return size < 24 ? 0 : (unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 | b[3];
}

static void write_png(FILE *page, const char *png, size_t size, const json_t *figure)
{
    const unsigned pixels = png_width(png, size); /* two to a unit, but in the widest */
    fputs("<img", page);
    write_width(page, pixels < 2000 ? pixels / 2.0 : 1200);
    fputs(" alt=\"", page);
    write_label(page, figure);
    fputs("\" src=\"data:image/png;base64,", page);
    hb_page_base64(page, (const unsigned char *)png, size);
    fputs("\"/>", page);
}

/* A link to STUDY/NAME.extension, if there is such a file. */
static hb_status write_link(hb_context *context, FILE *page, const char *directory,
                            const char *relative, const char *extension, const char *text)
{
    char file[512], *path;
    snprintf(file, sizeof file, "%s.%s", relative, extension);
    HB_TRY(hb_study_path(context, directory, file, &path));
    if (access(path, R_OK) == 0) fprintf(page, " <a href=\"%s\">%s</a>", file, text);
    free(path);
    return HB_OK;
}

static hb_status read_picture(hb_context *context, const char *directory, const char *relative,
                              const char *extension, char **picture, size_t *size)
{
    char file[512], *path;
    snprintf(file, sizeof file, "%s.%s", relative, extension);
    HB_TRY(hb_study_path(context, directory, file, &path));
    *picture = hb_page_read(path, size);
    const int runs = *picture && extension[0] == 's' && strcasestr(*picture, "<script");
    const hb_status status =
        runs ? hb_study_fail(context, HB_ERROR_FORMAT,
                             "%s has a script, which no figure needs; make it again", path)
             : HB_OK;
    free(path);
    return status;
}

/* *shown: the extension of the file that the page shows. */
static hb_status write_picture(hb_context *context, FILE *page, const char *directory,
                               const char *relative, const json_t *figure, const char **shown)
{
    char *svg = NULL, *png = NULL;
    size_t svg_size = 0, png_size = 0;
    hb_status status = read_picture(context, directory, relative, "svg", &svg, &svg_size);
    if (status == HB_OK && (!svg || svg_size > LARGE))
        status = read_picture(context, directory, relative, "png", &png, &png_size);
    *shown = png && (!svg || png_size / 3 * 4 < svg_size) ? "png" : "svg";
    if (status != HB_OK)
        ; /* refused */
    else if ((*shown)[0] == 'p')
        write_png(page, png, png_size, figure);
    else if (svg)
        write_svg(page, svg, figure);
    else
        fputs("<p>This figure needs gnuplot; its numbers are there.</p>", page);
    free(svg);
    free(png);
    return status;
}

hb_status hb_page_figure(hb_context *context, FILE *page, const char *directory,
                         const hb_page_item *item)
{
    const json_t *figure = item->entry;
    const char *name = hb_page_string(figure, "name");
    char relative[400];
    const char *shown;
    snprintf(relative, sizeof relative, "%s/%s", hb_page_string(item->result, "study"), name);
    fprintf(page,
            "<figure id=\"%s\"><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
            "aria-label=\"Figure %d\">\n",
            name, item->number);
    HB_TRY(write_picture(context, page, directory, relative, figure, &shown));
    fprintf(page, "</div><figcaption><b>Figure %d.</b> ", item->number);
    hb_page_prose(page, "", hb_page_string(figure, "caption"), "");
    HB_TRY(write_link(context, page, directory, relative, "plot.csv", "Numbers"));
    HB_TRY(write_link(context, page, directory, relative, "gp", "Script"));
    HB_TRY(write_link(context, page, directory, relative, shown, "Picture"));
    fputs("</figcaption></figure>\n", page);
    return HB_OK;
}
