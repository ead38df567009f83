/* studies/study_tools.h: what all studies share: failing with a sentence, directories, JSON files,
 * figures, and the claims that the page of hb_reproduce shows. */
#pragma once

#include "study.h"

#include <heatball/file.h>
#include <heatball/plot.h>
#include <jansson.h>

hb_status hb_study_fail(hb_context *context, hb_status status, const char *format, ...)
    HB_PRINTF(3, 4);
void hb_study_print(FILE *table, const char *format, ...) HB_PRINTF(2, 3); /* NULL: nothing */

/* Points `pointer` to an array of count items of its type, cleared; to be given to free(). */
#define HB_STUDY_NEW(context, pointer, count)                                                      \
    hb_study_allocate((context), (count), sizeof *(pointer), &(pointer))
hb_status hb_study_allocate(hb_context *context, size_t count, size_t size, void *pointer);

/* DIRECTORY/NAME, to be given to free(). */
hb_status hb_study_path(hb_context *context, const char *directory, const char *name, char **out);
/* Like mkdir -p. */
hb_status hb_study_make_directory(hb_context *context, const char *path);

/* Writes DIRECTORY/NAME, whole or not at all: these bytes, or what write puts into the file. */
hb_status hb_study_write_bytes(hb_context *context, const char *directory, const char *name,
                               size_t size, const char *text);
typedef hb_status hb_study_text_writer(hb_context *context, FILE *file, const void *user);
hb_status hb_study_write_text(hb_context *context, const char *directory, const char *name,
                              hb_study_text_writer *write, const void *user);
/* Writes root (which is released in any case) to DIRECTORY/NAME, whole or not at all. */
hb_status hb_study_write_json(hb_context *context, const char *directory, const char *name,
                              json_t *root);
/* Writes DIRECTORY/NAME, a .csv with these columns, separated by commas, whole or not at all: item
 * i of n by write. */
hb_status hb_study_write_csv(hb_context *context, const char *directory, const char *name,
                             const char *columns, size_t n,
                             hb_status (*write)(hb_writer *writer, const void *user, size_t i),
                             const void *user);
/* The end of a row: numbers separated by commas, NaN empty. */
hb_status hb_study_write_numbers(hb_writer *writer, size_t n, const double *numbers);
json_t *hb_study_number(double value); /* null when it is not finite */
/* A string of printf's making. */
json_t *hb_study_text(const char *format, ...) HB_PRINTF(1, 2);

/* What every NAME.json begins with: study, title, version, seed, command. */
json_t *hb_study_begin(const hb_study *study, const hb_study_settings *settings);

/* Verdicts of a claim, computed from the data by the study. */
typedef enum hb_claim_verdict { HB_HOLDS, HB_HOLDS_CORRECTED, HB_FAILS } hb_claim_verdict;
static inline hb_claim_verdict hb_study_verdict(int holds, int holds_corrected)
{
    return holds ? HB_HOLDS : holds_corrected ? HB_HOLDS_CORRECTED : HB_FAILS;
}

/* What the page says is in studies/page_texts.json, which is built into the program:
 *     claims   STUDY/ID: statement (what the paper says, in our words), the figure and the table
 *              that show it, paper (its number), ours, why (one sentence on the verdict),
 *              correction (the entry of docs/paper/findings.md's list that it measures), as (the claim that
 *              has the other texts)
 *     tables   NAME: title, columns separated by '|', cells, rows (with the cells of each), note
 *              (what to see); a column that ends with " (paper)" has the paper's numbers, the only
 *              ones on the page that are not computed
 *     figures  NAME: caption; size, panels and series, which are not on the page (study_figures.c)
 *     shortened  NAME: what the quick run does less of
 *     functions  of each study, for the formulas of all of them (page_formula.h, page_data.c)
 *     sections, corrections   of the paper, in the order of the page
 * and of each its place in the paper, "4.3 Proposition 11 (variance gap)": the number of the
 * section comes first, letters are its appendices; the page shows claims, tables and figures in
 * this order. Texts have places for values, which are taken in the order paper, ours, why: %d,
 * %.2f, %g, %e for a number, %s for a word, %{no|yes} for the text that the next number chooses,
 * counted from 0, and %{s} for what follows a number other than 1. A place without a value becomes
 * "?". */
typedef struct hb_fill {
    const double *numbers;
    size_t n;
    const char *const *words; /* end with NULL */
} hb_fill;
json_t *hb_study_fill(const char *text, const hb_fill *fill); /* a string */
extern const unsigned char hb_page_texts[],
    hb_page_style[]; /* bytes of the files (CMakeLists.txt) */
extern const size_t hb_page_texts_size, hb_page_style_size;
const json_t *hb_study_texts(const char *kind); /* one of these lists */

/* Appends the claim "STUDY/ID". fill here and below: NULL for a text without places. */
void hb_study_claim(json_t *claims, const char *key, hb_claim_verdict verdict, const hb_fill *fill);

/* A table of the page, cells as text: root["tables"] gets {name, title, place, note, columns,
 * rows}, which is returned. rows: an array of arrays of strings, released; NULL: those of
 * page_texts.json alone. */
json_t *hb_study_table(json_t *root, const char *name, json_t *rows, const hb_fill *fill);
/* Appends {name, caption, place} to a study's list of figures. */
void hb_study_caption(json_t *figures, const char *name, const hb_fill *fill);

/* ---- numbers ---- */

/* A number or, where text is not NULL, a word. */
typedef struct hb_value {
    double number;
    const char *text;
} hb_value;

static inline int hb_value_set(hb_value *out, double number)
{
    out->number = number;
    return 1;
}

double hb_study_mean(size_t n, const double *x);

/* The numbers of a study, for formulas of page_texts.json (page_formula.h). */
typedef struct hb_numbers {
    hb_context *context;
    const char *study;
    const void *of;
    /* What the name stands for with n arguments; 0: nothing. A list is a name with one argument,
     * the number of an item from 0 on. */
    int (*find)(const void *of, const char *name, int n, const hb_value *v, hb_value *out);
} hb_numbers;

/* A number in a struct, or an array of them, by name. */
typedef struct hb_field_of {
    const char *name;
    size_t offset;
    char kind; /* int, 64 bits unsigned, double */
} hb_field_of;
#define HB_KIND(x) _Generic((x), int : 'i', const int * : 'i', uint64_t : 'u', default : 'd')
#define HB_FIELD_AS(type, field, name)                                                             \
    {                                                                                              \
        name, offsetof(type, field), HB_KIND(((const type *)NULL)->field)                          \
    }
#define HB_FIELD_OF(type, name) HB_FIELD_AS(type, name, #name)
/* Item k of the field of this name; 0: there is none. */
int hb_study_field(size_t n, const hb_field_of *fields, const void *of, const char *name, size_t k,
                   hb_value *out);
#define HB_COUNT(array) (sizeof(array) / sizeof *(array))

/* Adds claims, tables and, with quick, what is shortened to the root of NAME.json. */
hb_status hb_study_results(const hb_numbers *numbers, json_t *root, int quick);
/* The same and the captions, and writes DIRECTORY/NAME.json; root is released. */
hb_status hb_study_end(const hb_numbers *numbers, const hb_study_settings *settings, json_t *root,
                       json_t *captions);
/* The figures of page_texts.json, then hb_study_end with their captions; root is released. */
hb_status hb_study_finish(const hb_numbers *numbers, const hb_study_settings *settings, FILE *table,
                          json_t *root);

/* ---- figures ---- */

/* Where the figures of a study go. */
typedef struct hb_gallery {
    hb_context *context;
    const char *directory;
    FILE *table;
    json_t *captions;
    int noted; /* that there is no gnuplot */
} hb_gallery;

/* Draws DIRECTORY/NAME.* and appends its caption; rows and columns of panels, 0: columns of
 * page_texts.json. */
typedef hb_status hb_drawing(hb_figure *figure, const void *user);
hb_status hb_study_draw(hb_gallery *g, const char *name, int rows, int columns, hb_drawing *draw,
                        const void *user);
/* Draws the figures that page_texts.json has the series of. */
hb_status hb_study_figures(const hb_numbers *numbers, hb_gallery *gallery);
hb_panel_settings hb_study_panel_from(const json_t *data); /* an entry of its panels */

/* Points with bars, of which the first HB_POINTS are kept. */
enum { HB_POINTS = 640 };
typedef struct hb_points {
    size_t n;
    double x[HB_POINTS], y[HB_POINTS], low[HB_POINTS], high[HB_POINTS];
} hb_points;
void hb_points_add(hb_points *p, double x, double y, double low, double high);
/* A bar of a standard error on a logarithmic axis; NaN: none. */
void hb_points_add_error(hb_points *p, double x, double y, double se);
