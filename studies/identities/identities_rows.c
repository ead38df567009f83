/* The list of measured numbers. Every claim, table and figure of the study reads this list and
 * nothing else, and identities.csv is the list itself: whatever the page says can be checked from
 * one file. A number agrees with what it must be when they differ by at most 5 errors of the
 * measurement.
 *
 * For formulas of page_texts.json, over all rows of (check, item), or of the check alone:
 *     off errors largest slope   most |value - exact|, the same over error, |value|; slope in ln at
 *     agree below above grows    errors <= 5; value nowhere above, below exact; value only grows
 *     count first_at last_at first_share last_share    how many; of the first and the last row
 * over one row: value exact error distance zero one(check, item, dim, at), without at: any;
 * row_dim row_at row_value row_exact row_error(check, item, k); and of those of one dimension
 * at_largest error_at_largest most_errors(check, item, dim). */
#include "identities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AGREE 5.0

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

hb_status hb_identities_put(hb_identities *list, const char *check, const char *item, double dim,
                            double at, double value, double exact, double error)
{
    return hb_identities_add(list, &(hb_identity){check, item, dim, at, value, exact, error});
}

/* The next row of check and item from i on; list->n: there is none. */
static size_t rows_next(const hb_identities *list, const char *check, const char *item, size_t i)
{
    while (i < list->n && (strcmp(list->rows[i].check, check) != 0 ||
                           (item && strcmp(list->rows[i].item, item) != 0)))
        i++;
    return i;
}

/* ---- of all rows ---- */

typedef struct rows_seen {
    size_t n;
    const hb_identity *first, *last, *largest;
    double off, errors, most; /* infinite where a number is none */
    int below, above, grows;
    double sx, sy, sxx, sxy; /* ln at, ln |value - exact| */
} rows_seen;

/* Of two values the larger; a number that is none counts as infinite. */
static double rows_larger(double a, double b)
{
    return isnan(b) ? INFINITY : fmax(a, b);
}

static void rows_see(rows_seen *s, const hb_identity *row)
{
    const double off = fabs(row->value - row->exact), over = row->value - row->exact;
    const double x = log(row->at), y = log(off);
    if (s->n) s->grows &= row->value > s->last->value;
    if (!s->n++) s->first = s->largest = row;
    s->last = row;
    if (fabs(row->value) > fabs(s->largest->value)) s->largest = row;
    s->off = rows_larger(s->off, off);
    s->errors = rows_larger(s->errors, off / row->error);
    s->most = fmax(s->most, fabs(row->value));
    s->below &= over - AGREE * row->error <= 0;
    s->above &= -over - AGREE * row->error <= 0;
    s->sx += x, s->sy += y, s->sxx += x * x, s->sxy += x * y;
}

/* dim NaN: all dimensions. */
static rows_seen rows_look(const hb_identities *list, const char *check, const char *item,
                           double dim)
{
    rows_seen s = {.first = &MISSING, .last = &MISSING, .largest = &MISSING};
    s.most = NAN;
    s.below = s.above = s.grows = 1;
    for (size_t i = 0; (i = rows_next(list, check, item, i)) < list->n; i++)
        if (isnan(dim) || list->rows[i].dim == dim) rows_see(&s, &list->rows[i]);
    if (!s.n) s.off = s.errors = INFINITY;
    if (!s.n) s.below = s.above = s.grows = 0;
    return s;
}

typedef struct named {
    const char *name;
    double value;
} named;

static int rows_pick(size_t n, const named *all, const char *name, double *out)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, all[i].name) == 0) {
            *out = all[i].value;
            return 1;
        }
    return 0;
}

static int rows_find_all(const rows_seen *s, const char *name, double *out)
{
    const double n = (double)s->n;
    const named all[] = {{"off", s->off},
                         {"errors", s->errors},
                         {"largest", s->most},
                         {"slope", (n * s->sxy - s->sx * s->sy) / (n * s->sxx - s->sx * s->sx)},
                         {"agree", s->errors <= AGREE},
                         {"below", s->below},
                         {"above", s->above},
                         {"grows", s->grows},
                         {"count", n},
                         {"first_at", s->first->at},
                         {"last_at", s->last->at},
                         {"first_share", s->first->value / s->first->exact},
                         {"last_share", s->last->value / s->last->exact},
                         {"at_largest", s->largest->value},
                         {"error_at_largest", s->largest->error},
                         {"most_errors", s->errors}};
    return rows_pick(HB_COUNT(all), all, name, out);
}

/* ---- of one row ---- */

static int rows_find_one(const hb_identity *row, const char *name, double *out)
{
    const named all[] = {{"value", row->value},
                         {"exact", row->exact},
                         {"error", row->error},
                         {"distance", fabs(row->value - row->exact)},
                         {"zero", fabs(row->value) <= AGREE * row->error},
                         {"one", fabs(row->value - 1) <= AGREE * row->error},
                         {"row_dim", row->dim},
                         {"row_at", row->at},
                         {"row_value", row->value},
                         {"row_exact", row->exact},
                         {"row_error", row->error}};
    return rows_pick(HB_COUNT(all), all, name, out);
}

int hb_identities_find(const void *of, const char *name, int n, const hb_value *v, hb_value *out)
{
    const hb_identities *list = of;
    if (n == 0 || !v[0].text || (n > 1 && !v[1].text)) return 0;
    const char *item = n > 1 ? v[1].text : NULL;
    const int by_number = strncmp(name, "row_", 4) == 0;
    const rows_seen s = rows_look(list, v[0].text, item, n > 2 ? v[2].number : NAN);
    *out = (hb_value){NAN, NULL};
    if (rows_find_all(&s, name, &out->number)) return 1;
    const hb_identity *row = &MISSING;
    double k = 0;
    for (size_t i = 0; row == &MISSING && n > 2; i++, k++) {
        i = rows_next(list, v[0].text, item, i);
        if (i == list->n) break;
        const hb_identity *r = &list->rows[i];
        if (by_number ? k == v[2].number : r->dim == v[2].number && (n < 4 || r->at == v[3].number))
            row = r;
    }
    return rows_find_one(row, name, &out->number);
}
