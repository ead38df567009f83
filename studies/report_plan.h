/* studies/report_plan.h: what the page shows, and in which order. */
#ifndef HB_STUDIES_REPORT_PLAN_H
#define HB_STUDIES_REPORT_PLAN_H

#include "study.h"

#include <jansson.h>

/* A section of the paper, in our words. A number without a dot opens a chapter. */
typedef struct hb_page_section {
    const char *number, *title, *about;
} hb_page_section;

enum { HB_PAGE_SECTIONS = 24, HB_PAGE_CORRECTIONS = 8 };       /* of page_texts.json */
extern hb_page_section hb_page_sections[HB_PAGE_SECTIONS + 1]; /* ends with number NULL */

/* An entry of the list of corrections (docs/paper.md has the same numbers, from 1). */
typedef struct hb_page_correction {
    const char *title, *text;
} hb_page_correction;

extern hb_page_correction hb_page_corrections[HB_PAGE_CORRECTIONS];
void hb_page_sections_load(void); /* before they are read; hb_page_plan does it */

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
    int number;           /* on the page, from 1, by kind */
    int placed;
} hb_page_item;

typedef struct hb_page {
    json_t *results; /* the studies' NAME.json; {study, title, skipped} where there is none */
    size_t n;
    hb_page_item *items;        // (n), as the studies list them
    const hb_page_item **order; // (n), as the page shows them
    int count[HB_PAGE_KINDS];
} hb_page;

/* Fills items and order from results; both are released by hb_page_release, results too. */
hb_status hb_page_plan(hb_context *context, hb_page *report);
void hb_page_release(hb_page *report);

/* The item of that kind and name (figures, tables), or NULL. */
const hb_page_item *hb_page_find(const hb_page *report, hb_page_kind kind, const char *name);
/* What the place of an item says behind the number of the section: "Table 2", or "". */
const char *hb_page_place(const hb_page_item *item);

#endif
