/* studies/report_page.h: the page of hb_reproduce: what it shows and in which order
 * (report_plan.c), text (report_html.c), parts (report_parts.c, report_figure.c), results that may
 * come from elsewhere (report_check.c), and the page itself (report_page.c). */
#pragma once

#include "study_tools.h"

/* ---- what is shown ---- */

/* A section of the paper, in our words. A number without a dot opens a chapter. */
typedef struct hb_page_section {
    const char *number, *title, *about;
} hb_page_section;

enum { HB_PAGE_SECTIONS = 25, HB_PAGE_CORRECTIONS = 8 };       /* of page_texts.json */
extern hb_page_section hb_page_sections[HB_PAGE_SECTIONS + 1]; /* ends with number NULL */

/* An entry of the list of corrections (docs/paper/findings.md has the same numbers, from 1). */
typedef struct hb_page_correction {
    const char *title, *text;
} hb_page_correction;

extern hb_page_correction hb_page_corrections[HB_PAGE_CORRECTIONS];

typedef enum hb_page_kind {
    HB_PAGE_SKIPPED,
    HB_PAGE_CLAIM,
    HB_PAGE_TABLE,
    HB_PAGE_FIGURE,
    HB_PAGE_KINDS
} hb_page_kind;

typedef struct hb_page_item {
    hb_page_kind kind;
    const json_t *entry;  /* of the study's list; of a skipped study its result */
    const json_t *result; /* of its study */
    int section;          /* index of hb_page_sections */
    int ours;             /* a statement that the paper does not make */
    int number;           /* on the page, from 1, by kind and ours */
    int placed;
} hb_page_item;

typedef struct hb_page {
    json_t *results; /* the studies' NAME.json; {study, title, skipped} where there is none */
    size_t n;
    hb_page_item *items;         // (n), as the studies list them
    const hb_page_item **order;  // (n), as the page shows them
    int count[2][HB_PAGE_KINDS]; /* [ours] */
} hb_page;

/* Fills items and order from results; both are released by hb_page_release, results too. */
hb_status hb_page_plan(hb_context *context, hb_page *report);
void hb_page_release(hb_page *report);

/* The item of that kind and name (figures, tables), or NULL. */
const hb_page_item *hb_page_find(const hb_page *report, hb_page_kind kind, const char *name);
/* What the place of an item says behind the number of the section: "Table 2", or "". */
const char *hb_page_place(const hb_page_item *item);

/* ---- text ---- */

/* before, the text with the characters that HTML gives a meaning replaced, after. NULL: no text. */
void hb_page_text(FILE *page, const char *before, const char *text, const char *after);
/* The same for text that is read: 4.3e-07, d^-½, e^{Cτ} and C_d get raised and lowered parts. Not
 * inside attributes. */
void hb_page_prose(FILE *page, const char *before, const char *text, const char *after);
/* The first sentence of a text, cut at a word near `most` bytes; prose: set as by hb_page_prose. */
void hb_page_first_sentence(FILE *page, const char *text, size_t most, int prose);
/* object[key] as text, "" when it is missing or no string. */
const char *hb_page_string(const json_t *object, const char *key);

void hb_page_base64(FILE *page, const unsigned char *bytes, size_t n);
/* The bytes of a regular file and a zero behind them, to be given to free(); NULL when it cannot be
 * read, is empty, or is a link or a device. */
char *hb_page_read(const char *path, size_t *size);
json_t *hb_page_read_json(const char *path, json_error_t *error);

/* ---- parts ---- */

/* " href="#claim-STUDY-ID"": the link to a claim, and "Claim" or "Our statement". */
void hb_page_claim_link(FILE *page, const hb_page_item *item);
const char *hb_page_label(const hb_page_item *item);

/* The tables of all claims: the paper's, and ours. */
void hb_page_summary(FILE *page, const hb_page *report);
void hb_page_claim(FILE *page, const hb_page *report, const hb_page_item *item);
void hb_page_table(FILE *page, const hb_page_item *item);
/* report_figure.c. directory: where the studies' directories are. */
hb_status hb_page_figure(hb_context *context, FILE *page, const char *directory,
                         const hb_page_item *item);

/* ---- the page ---- */

/* HB_ERROR_FORMAT where the result of a study, read from the path, has types or names that it may
 * not have. */
hb_status hb_page_check(hb_context *context, const char *path, const char *study,
                        const json_t *result);

typedef struct hb_page_entry {
    const hb_study *study;
    const char *skipped; /* why it could not run; NULL: it did */
} hb_page_entry;

/* Reads DIR/NAME/NAME.json of each study that ran; writes DIR/results.json (all of them) and
 * DIR/index.html, with the figures inlined; the verdicts go to the table as well. only: as given to
 * hb_reproduce. */
hb_status hb_page_write(hb_context *context, const hb_study_settings *settings, const char *only,
                        size_t n, const hb_page_entry *entries, FILE *table);
