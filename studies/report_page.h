/* studies/report_page.h: one page from the results of the studies. */
#ifndef HB_STUDIES_REPORT_PAGE_H
#define HB_STUDIES_REPORT_PAGE_H

#include "study.h"

typedef struct hb_page_entry {
    const hb_study *study;
    const char *skipped; /* why it could not run; NULL: it did */
} hb_page_entry;

/* Reads DIR/NAME/NAME.json of each study that ran; writes DIR/results.json (all of them) and
 * DIR/index.html, with the figures inlined; the verdicts go to the table as well. only: as given to
 * hb_reproduce. */
hb_status hb_page_write(hb_context *context, const hb_study_settings *settings, const char *only,
                        size_t n, const hb_page_entry *entries, FILE *table);

#endif
