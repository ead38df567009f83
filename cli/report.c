/* Named numbers as a table or as JSON.
 *
 * The values live in one jansson object, which keeps the order of insertion; beside it stand the
 * table's text (%.15g: what one reads) and meaning of each row. 1/(4 pi e) = 0.0292749... prints as
 * 0.0292749157621596 in the table and as 0.029274915762159584, which reads back exactly, in JSON.
 */
#include "report.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64, TEXT = 40 };

typedef struct row {
    const char *key, *meaning;
    char text[TEXT];
} row;

struct hb_report {
    json_t *object;
    int n;
    int incomplete;
    row rows[MOST_ROWS]; // (n)
};

hb_report *hb_report_create(void)
{
    hb_report *report = calloc(1, sizeof *report);
    if (!report) return NULL;
    report->object = json_object();
    report->incomplete = !report->object;
    return report;
}

void hb_report_destroy(hb_report *report)
{
    if (report) json_decref(report->object);
    free(report);
}

static void report_add(hb_report *report, const char *key, json_t *value, const char *text,
                       const char *meaning)
{
    if (!report || report->n == MOST_ROWS || json_object_set_new(report->object, key, value) != 0) {
        if (report) report->incomplete = 1;
        return;
    }
    row *at = &report->rows[report->n++];
    *at = (row){.key = key, .meaning = meaning};
    snprintf(at->text, sizeof at->text, "%s", text);
}

void hb_report_real(hb_report *report, const char *key, double value, const char *meaning)
{
    char text[TEXT] = "-";
    if (!isnan(value)) snprintf(text, sizeof text, "%.15g", value);
    report_add(report, key, isfinite(value) ? json_real(value) : json_null(), text, meaning);
}

void hb_report_integer(hb_report *report, const char *key, int64_t value, const char *meaning)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%" PRId64, value);
    report_add(report, key, json_integer(value), text, meaning);
}

void hb_report_unsigned(hb_report *report, const char *key, uint64_t value, const char *meaning)
{
    char text[TEXT];
    snprintf(text, sizeof text, "%" PRIu64, value);
    report_add(report, key, value <= INT64_MAX ? json_integer((int64_t)value) : json_string(text),
               text, meaning);
}

void hb_report_boolean(hb_report *report, const char *key, int value, const char *meaning)
{
    report_add(report, key, json_boolean(value), value ? "yes" : "no", meaning);
}

/* A text that is not UTF-8 (a file name may be anything) cannot stand in JSON: null then. */
void hb_report_text(hb_report *report, const char *key, const char *value, const char *meaning)
{
    json_t *text = json_string(value);
    report_add(report, key, text ? text : json_null(), value, meaning);
}

static void print_table(const hb_report *report, FILE *out)
{
    int key = 0, text = 0;
    for (int i = 0; i < report->n; i++) {
        const row *at = &report->rows[i];
        if ((int)strlen(at->key) > key) key = (int)strlen(at->key);
        if ((int)strlen(at->text) > text) text = (int)strlen(at->text);
    }
    for (int i = 0; i < report->n; i++) {
        const row *at = &report->rows[i];
        fprintf(out, "%-*s  %-*s  %s\n", key, at->key, text, at->text, at->meaning);
    }
}

hb_status hb_report_print(const hb_report *report, int as_json, FILE *out)
{
    if (!report || report->incomplete) return HB_ERROR_MEMORY;
    if (!as_json) {
        print_table(report, out);
        return HB_OK;
    }
    return hb_rows_print_json(json_incref(report->object), out);
}

hb_status hb_report_finish(hb_report *report, int as_json)
{
    const hb_status status = hb_report_print(report, as_json, stdout);
    hb_report_destroy(report);
    return status;
}

hb_short_number hb_report_quantity(double value)
{
    static const char *const units[] = {"", " k", " M", " G", " T", " P"};
    hb_short_number out;
    int unit = 0;
    /* 999.5 would be shown as 1e+03 with three digits */
    for (; value >= 999.5 && unit < 5; unit++) value /= 1000;
    snprintf(out.text, sizeof out.text, "%.3g%s", value, units[unit]);
    return out;
}
