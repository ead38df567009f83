/* cli/rows.h: rows of numbers with named columns, as an aligned table, as JSON or in a file.
 *
 * A column is one number, or `width` numbers per row: in a table and a .csv file these are
 * score_1, score_2, .., with a suffix score_1_error, ..; in JSON one list under the key "score" or
 * "score_error". */
#pragma once

#include "session.h"

#include <heatball/file.h>
#include <jansson.h>

typedef struct hb_rows_column {
    const char *name, *suffix; /* suffix may be NULL */
    int width;                 /* 0: one number, no index in its name */
    const double *values;      // (n, width), or (n)
    const char *const *texts;  // (n), instead of values; not for .npy
    /* of the values, laid out as they are: a table shows the digits that they justify; `values`
     * itself: these are errors; NULL: nine digits */
    const double *errors;
    size_t stride; /* numbers from a row to the next; 0: width */
} hb_rows_column;

typedef struct hb_rows {
    size_t n;
    int n_columns;
    const hb_rows_column *columns; // (n_columns)
    int full;                      /* a table shows all digits */
    const char *comment;           /* a line before the names of a .csv; NULL: none */
} hb_rows;

void hb_rows_print(const hb_rows *rows, FILE *out);
json_t *hb_rows_time_json(double time); /* a number, or "inf": JSON has no infinite ones */
/* Keys of an object: a number, null where it is not finite; a count; an unsigned number, a text
 * above 2^63-1. */
void hb_rows_put(json_t *object, const char *key, double value);
void hb_rows_put_count(json_t *object, const char *key, size_t value);
void hb_rows_put_seed(json_t *object, uint64_t seed);
/* A list of objects, one per row; NULL: no memory. NaN and infinity become null. */
json_t *hb_rows_json(const hb_rows *rows);
/* .csv or .npy by the end of the name; HB_ERROR_ARGUMENT for another one. */
hb_status hb_rows_write(hb_session *session, const hb_rows *rows, const char *path);
hb_status hb_rows_check_path(hb_session *session, const char *path);

/* A table [n][columns], or [n] where columns is 0, that is written in pieces, .csv or .npy by
 * the end of the path; `name` gives the name of column i: a text of its own, or one in text. */
enum { HB_ROWS_NAME = 40 };
typedef const char *(*hb_rows_namer)(const void *user, int i, char text[HB_ROWS_NAME]);
hb_status hb_rows_begin(hb_writer *writer, const char *path, hb_dtype dtype, uint64_t n,
                        int columns, hb_rows_namer name, const void *user);
hb_status hb_rows_append(hb_writer *writer, const char *path, hb_dtype dtype, size_t n, int columns,
                         const void *rows);
/* The namer of x_1, x_2, .. */
const char *hb_rows_x(const void *user, int i, char text[HB_ROWS_NAME]);

/* Prints the object and releases it; NULL: HB_ERROR_MEMORY. */
hb_status hb_rows_print_json(json_t *object, FILE *out);
