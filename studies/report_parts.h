/* studies/report_parts.h: the parts of the page that the studies' results become. */
#ifndef HB_STUDIES_REPORT_PARTS_H
#define HB_STUDIES_REPORT_PARTS_H

#include "report_plan.h"

#include <stdio.h>

/* " href="#claim-STUDY-ID"": the link to a claim. */
void hb_page_claim_link(FILE *page, const hb_page_item *item);

/* The table of all claims. */
void hb_page_summary(FILE *page, const hb_page *report);
void hb_page_claim(FILE *page, const hb_page *report, const hb_page_item *item);
void hb_page_table(FILE *page, const hb_page_item *item);
/* report_figure.c. directory: where the studies' directories are. */
hb_status hb_page_figure(hb_context *context, FILE *page, const char *directory,
                         const hb_page_item *item);

#endif
