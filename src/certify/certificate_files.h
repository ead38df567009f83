/* certify/certificate_files.h: the page of a certificate: its parts. */
#ifndef HB_CERTIFY_CERTIFICATE_FILES_H
#define HB_CERTIFY_CERTIFICATE_FILES_H

#include "certify/certificate.h"

#include <stdio.h>

const char *hb_verdict_name(int verdict); /* "holds", "fails", "skipped" */

typedef struct hb_certificate_figure {
    const char *file, *caption; /* NAME of NAME.svg */
    hb_status (*draw)(hb_context *context, const hb_certificate *certificate, const char *stem);
    int (*wanted)(const hb_certificate *certificate);
} hb_certificate_figure;

/* All figures; ends with a NULL file. */
extern const hb_certificate_figure hb_certificate_figures[];
/* The page, with the figures of which `drawn` is 1. */
void hb_certificate_page(FILE *page, const hb_certificate *certificate, const int *drawn);

#endif
