/* cli/report.h: a result as named numbers, shown as a table for people or as JSON for programs.
 *
 *     hb_report *report = hb_report_create();
 *     hb_report_real(report, "C1", 0.0204, "constant of the mean-value expansion");
 *     status = hb_report_finish(report, as_json);
 *
 * JSON has the keys in this order, reals with 17 significant digits, null for NaN and infinity, and
 * an unsigned number above 2^63-1 as a string of its digits, because JSON readers differ there. */
#pragma once

#include <heatball/base.h>
#include <stdio.h>

typedef struct hb_report hb_report;

hb_report *hb_report_create(void);         /* NULL: no memory; the calls below then do nothing */
void hb_report_destroy(hb_report *report); /* NULL is fine */
void hb_report_real(hb_report *report, const char *key, double value, const char *meaning);
void hb_report_integer(hb_report *report, const char *key, int64_t value, const char *meaning);
void hb_report_unsigned(hb_report *report, const char *key, uint64_t value, const char *meaning);
void hb_report_boolean(hb_report *report, const char *key, int value, const char *meaning);
void hb_report_text(hb_report *report, const char *key, const char *value, const char *meaning);

/* HB_ERROR_MEMORY when the report was not complete; errors of the stream are left to its owner. */
hb_status hb_report_print(const hb_report *report, int as_json, FILE *out);
/* The same on stdout, and destroys the report. */
hb_status hb_report_finish(hb_report *report, int as_json);

typedef struct hb_short_number {
    char text[32];
} hb_short_number;
hb_short_number hb_report_quantity(double value); /* 12345678 as "12.3 M" */
