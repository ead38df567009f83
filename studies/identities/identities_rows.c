/* The list of measured numbers. Every claim, table and figure of the study reads this list and
 * nothing else, and identities.csv is the list itself: whatever the page says can be checked from
 * one file. */
#include "identities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const hb_identity MISSING = {"", "", NAN, NAN, NAN, NAN, NAN};

hb_status hb_identities_add(hb_identities *list, const hb_identity *row)
{
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 256;
        hb_identity *rows = realloc(list->rows, capacity * sizeof *rows);
        if (!rows)
            return hb_study_fail(list->context, HB_ERROR_MEMORY, "no memory for %zu rows",
                                 capacity);
        list->rows = rows;
        list->capacity = capacity;
    }
    list->rows[list->n++] = *row;
    return HB_OK;
}

static int is_of(const hb_identity *row, const char *check, const char *item)
{
    return strcmp(row->check, check) == 0 && (!item || strcmp(row->item, item) == 0);
}

size_t hb_identities_select(const hb_identities *list, const char *check, const char *item,
                            const hb_identity *out[IDENTITIES_MOST])
{
    size_t n = 0;
    for (size_t i = 0; i < list->n && n < IDENTITIES_MOST; i++)
        if (is_of(&list->rows[i], check, item)) out[n++] = &list->rows[i];
    return n;
}

const hb_identity *hb_identities_find(const hb_identities *list, const char *check,
                                      const char *item, double dim, double at)
{
    for (size_t i = 0; i < list->n; i++) {
        const hb_identity *row = &list->rows[i];
        if (is_of(row, check, item) && row->dim == dim && (isnan(at) || row->at == at)) return row;
    }
    return &MISSING;
}

static double off(const hb_identity *row)
{
    return fabs(row->value - row->exact);
}

/* Of two values the larger; a number that is none counts as infinite. */
static double larger(double a, double b)
{
    return isnan(b) ? INFINITY : fmax(a, b);
}

double hb_identities_off(const hb_identities *list, const char *check, const char *item)
{
    double most = -1;
    for (size_t i = 0; i < list->n; i++)
        if (is_of(&list->rows[i], check, item)) most = larger(most, off(&list->rows[i]));
    return most < 0 ? INFINITY : most;
}

double hb_identities_errors(const hb_identities *list, const char *check, const char *item)
{
    double most = -1;
    for (size_t i = 0; i < list->n; i++)
        if (is_of(&list->rows[i], check, item))
            most = larger(most, off(&list->rows[i]) / list->rows[i].error);
    return most < 0 ? INFINITY : most;
}

int hb_identities_agree(const hb_identities *list, const char *check, const char *item)
{
    return hb_identities_errors(list, check, item) <= IDENTITIES_AGREE;
}

double hb_identities_most(const hb_identities *list, const char *check, const char *item)
{
    double most = NAN;
    for (size_t i = 0; i < list->n; i++)
        if (is_of(&list->rows[i], check, item)) most = fmax(most, fabs(list->rows[i].value));
    return most;
}

double hb_identities_value(const hb_identities *list, const char *check, const char *item,
                           double dim, double at)
{
    return hb_identities_find(list, check, item, dim, at)->value;
}

double hb_identities_slope(const hb_identities *list, const char *check, const char *item)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (!is_of(&list->rows[i], check, item)) continue;
        const double x = log(list->rows[i].at), y = log(off(&list->rows[i]));
        n++, sx += x, sy += y, sxx += x * x, sxy += x * y;
    }
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}
