/* What the paper says, beside what the rows show. Claims and tables are rows of page_texts.json:
 * which numbers of the list they show ("values", "cells"), and the conditions under which a claim
 * "holds" or, when it does not as it stands, holds "corrected". A number agrees with what it must
 * be when they differ by at most 5 errors of the measurement.
 *
 * A number is called OP:CHECK:ITEM[:DIM[:AT]], for example
 *     value, exact, error, distance    of one row
 *     off, most, errors, slope         of all rows (identities.h)
 *     agree, zero, one                 1 when errors <= 5; when the row agrees with 0, with 1
 * also "100*NUMBER", "NUMBER over NUMBER", "NUMBER max NUMBER". A condition is a number that must
 * not be 0, or "NUMBER < BOUND", "NUMBER > BOUND"; of two with "or" one suffices. */
#include "identities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 5, LONGEST = 64 };
typedef char parts_of[PARTS][LONGEST];

/* ---- numbers of several rows ---- */

/* Is ±value nowhere above ±exact by more than 5 errors? */
static int stays_within(const hb_identity *const *rows, size_t n, double sign)
{
    for (size_t i = 0; i < n; i++)
        if (!(sign * (rows[i]->value - rows[i]->exact) - 5 * rows[i]->error <= 0)) return 0;
    return n > 0;
}

/* The smallest, over the terms left out, of the largest residual that this leaves. */
static double least_power(const hb_identities *list)
{
    static const char *const items[] = {"u without u div F",   "u without F.grad u",
                                        "v without |grad v|²", "v without F.grad v",
                                        "v without div F",     "w without u|grad v|²"};
    double least = INFINITY;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        const double off = hb_identities_off(list, "wrong source", items[i]);
        least = fmin(least, isfinite(off) ? off : 0); /* a missing number has no power */
    }
    return least;
}

static double number_of_rows(const hb_identities *list, parts_of p)
{
    const hb_identity *rows[IDENTITIES_MOST];
    const size_t n = hb_identities_select(list, p[1], p[2], rows);
    const hb_identity *first = n ? rows[0] : NULL, *last = n ? rows[n - 1] : NULL;
    int grows = n > 0;
    for (size_t i = 1; i < n; i++) grows &= rows[i]->value > rows[i - 1]->value;
    return strcmp(p[0], "count") == 0         ? (double)n
           : strcmp(p[0], "grows") == 0       ? grows
           : strcmp(p[0], "below") == 0       ? stays_within(rows, n, 1)
           : strcmp(p[0], "above") == 0       ? stays_within(rows, n, -1)
           : !n                               ? NAN
           : strcmp(p[0], "first at") == 0    ? first->at
           : strcmp(p[0], "last at") == 0     ? last->at
           : strcmp(p[0], "first share") == 0 ? first->value / first->exact
           : strcmp(p[0], "last share") == 0  ? last->value / last->exact
                                              : NAN;
}

/* ---- numbers by name ---- */

static const hb_identity *row_of(const hb_identities *list, parts_of p)
{
    return hb_identities_find(list, p[1], p[2], strtod(p[3], NULL),
                              p[4][0] ? strtod(p[4], NULL) : NAN);
}

static double number_of_parts(const hb_identities *list, parts_of p)
{
    static const struct {
        const char *name;
        double (*of)(const hb_identities *list, const char *check, const char *item);
    } all[] = {{"off", hb_identities_off},
               {"most", hb_identities_most},
               {"errors", hb_identities_errors},
               {"slope", hb_identities_slope}};
    const char *item = p[2][0] ? p[2] : NULL;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(p[0], all[i].name) == 0) return all[i].of(list, p[1], item);
    if (strcmp(p[0], "agree") == 0) return hb_identities_agree(list, p[1], item);
    if (strcmp(p[0], "power") == 0) return least_power(list);
    const hb_identity *row = row_of(list, p);
    return strcmp(p[0], "value") == 0      ? row->value
           : strcmp(p[0], "exact") == 0    ? row->exact
           : strcmp(p[0], "error") == 0    ? row->error
           : strcmp(p[0], "distance") == 0 ? fabs(row->value - row->exact)
           : strcmp(p[0], "zero") == 0     ? fabs(row->value) <= IDENTITIES_AGREE * row->error
           : strcmp(p[0], "one") == 0      ? fabs(row->value - 1) <= IDENTITIES_AGREE * row->error
                                           : number_of_rows(list, p);
}

static void split(const char *name, parts_of p)
{
    memset(p, 0, sizeof(parts_of));
    for (int i = 0; i < PARTS && *name; i++) {
        snprintf(p[i], LONGEST, "%.*s", (int)strcspn(name, ":"), name);
        name += strcspn(name, ":");
        name += *name == ':';
    }
}

static double number_of(const hb_identities *list, const char *name)
{
    static const char *const words[] = {" over ", " max "};
    char left[160];
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(name, words[i]);
        if (!at) continue;
        snprintf(left, sizeof left, "%.*s", (int)(at - name), name);
        const double a = number_of(list, left), b = number_of(list, at + strlen(words[i]));
        return i ? fmax(a, b) : a / b;
    }
    char *end;
    const double factor = strtod(name, &end);
    if (end != name && *end == '\0') return factor;
    if (end != name && *end == '*') return factor * number_of(list, end + 1);
    parts_of p;
    split(name, p);
    return number_of_parts(list, p);
}

/* ---- claims ---- */

static int is_met(const hb_identities *list, const char *condition)
{
    char name[160];
    const char * or = strstr(condition, " or ");
    if (or) {
        snprintf(name, sizeof name, "%.*s", (int)(or -condition), condition);
        return is_met(list, name) || is_met(list, or +4);
    }
    const size_t length = strcspn(condition, "<>");
    snprintf(name, sizeof name, "%.*s", (int)length, condition);
    if (!condition[length]) return number_of(list, name) != 0;
    name[length - 1] = '\0'; /* the space */
    const double number = number_of(list, name), bound = strtod(condition + length + 1, NULL);
    return condition[length] == '<' ? number < bound : number > bound;
}

/* All conditions of the list; 0: there is none. */
static int are_met(const hb_identities *list, const json_t *conditions)
{
    size_t i;
    json_t *condition;
    json_array_foreach(conditions, i,
                       condition) if (!is_met(list, json_string_value(condition))) return 0;
    return i > 0;
}

json_t *hb_identities_claims(const hb_identities *list)
{
    enum { MOST = 16 };
    json_t *claims = json_array();
    const json_t *texts = hb_study_texts("claims");
    const char *key;
    json_t *claim, *value;
    json_object_foreach((json_t *)texts, key, claim)
    {
        double numbers[MOST];
        size_t n;
        if (strncmp(key, "identities/", 11) != 0) continue;
        json_array_foreach(json_object_get(claim, "values"), n, value) if (n < MOST) numbers[n] =
            number_of(list, json_string_value(value));
        hb_study_claim(claims, key,
                       hb_study_verdict(are_met(list, json_object_get(claim, "holds")),
                                        are_met(list, json_object_get(claim, "corrected"))),
                       &(const hb_fill){numbers, n, (const char *const[]){NULL}});
    }
    return claims;
}

/* ---- tables ---- */

/* "value ± error" with the error's first digits. */
static json_t *with_error(const hb_identity *row)
{
    if (isnan(row->value)) return json_string("");
    const int digits = (int)fmax(0, 1 - floor(log10(row->error)));
    return hb_study_text("%.*f ± %.*f", digits, row->value, digits, row->error);
}

/* A cell "FORMAT NUMBER", or "± CHECK:ITEM:DIM:AT"; @ stands for the number of the row. */
static json_t *cell_of(const hb_identities *list, const char *cell, double row)
{
    char name[160], format[16];
    const char *at = strchr(cell, ' ') + 1, *mark = strchr(at, '@');
    if (mark)
        snprintf(name, sizeof name, "%.*s%.17g%s", (int)(mark - at), at, row, mark + 1);
    else
        snprintf(name, sizeof name, "%s", at);
    snprintf(format, sizeof format, "%.*s", (int)(at - 1 - cell), cell);
    if (format[0] == '%') return hb_study_fill(format, HB_FILL(number_of(list, name)));
    parts_of p;
    split(name, p);
    memmove(p[1], p[0], sizeof(parts_of) - sizeof p[0]); /* no operation */
    return with_error(row_of(list, p));
}

void hb_identities_table(const hb_identities *list, json_t *root, const char *name,
                         const hb_fill *fill)
{
    const json_t *table = json_object_get(hb_study_texts("tables"), name);
    const json_t *over = json_object_get(table, "over"), *cells = json_object_get(table, "cells");
    json_t *rows = json_array();
    for (size_t i = 0; i < json_array_size(over); i++) {
        json_t *row = json_array();
        json_array_append_new(rows, row);
        for (size_t k = 0; k < json_array_size(cells); k++)
            json_array_append_new(row, cell_of(list, json_string_value(json_array_get(cells, k)),
                                               json_number_value(json_array_get(over, i))));
    }
    hb_study_table(root, name, rows, fill);
}
