/* studies/report_page.h: one page from the results of the studies. */
#ifndef HB_STUDIES_REPORT_PAGE_H
#define HB_STUDIES_REPORT_PAGE_H

#include "study.h"

/* Reads DIR/NAME/NAME.json of each study; writes DIR/results.json (all of them) and DIR/index.html,
 * with the figures inlined; the verdicts go to the table as well. */
hb_status hb_report_write(hb_context *context, const hb_study_settings *settings, size_t n,
                          const hb_study *const *studies, FILE *table);

#endif
