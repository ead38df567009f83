/* certify/certificate_files.h: the page of a certificate: its parts. */
#pragma once

#include "certify/certificate.h"

#include <heatball/plot.h>
#include <stdio.h>

const char *hb_verdict_name(int verdict); /* "holds", "fails", "skipped" */

enum { HB_FIGURE_FILES = 3 };
typedef struct hb_certificate_figure {
    const char *name, *files[HB_FIGURE_FILES], *caption;
    hb_status (*draw)(hb_figure *figure, hb_context *context, const hb_certificate *certificate);
    int (*wanted)(const hb_certificate *certificate);
    int rows, columns, height, width; /* columns 0: one for each map */
} hb_certificate_figure;

/* All figures; ends with a NULL name. */
extern const hb_certificate_figure hb_certificate_figures[];
hb_status hb_certificate_draw(hb_context *context, const hb_certificate *certificate,
                              const hb_certificate_figure *figure, const char *stem);
/* The page, with the figures of which `drawn` is 1, and the JSON, which needs no `drawn`. */
typedef void hb_certificate_print(FILE *out, const hb_certificate *certificate, const int *drawn);
hb_certificate_print hb_certificate_page, hb_certificate_print_json;
/* What one of them prints, to be released with free. */
hb_status hb_certificate_text(hb_context *context, const hb_certificate *certificate,
                              hb_certificate_print *print, const int *drawn, char **out);
