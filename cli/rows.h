/* cli/rows.h: rows of numbers with named columns, as an aligned table, as JSON or in a file.
 *
 * A column is one number, or `width` numbers per row: in a table and a .csv file these are score_1,
 * score_2, .., with a suffix score_1_se, ..; in JSON one list under the key "score" or "score_se". */
#ifndef HB_CLI_ROWS_H
#define HB_CLI_ROWS_H

#include "session.h"

#include <jansson.h>

typedef struct hb_rows_column {
    const char *name, *suffix; /* suffix may be NULL */
    int width;                 /* 0: one number, no index in its name */
    const double *values;      // (n, width), or (n)
    const char *const *texts;  // (n), instead of values; not for files
} hb_rows_column;

typedef struct hb_rows {
    size_t n;
    int n_columns;
    const hb_rows_column *columns; // (n_columns)
} hb_rows;

void hb_rows_print(const hb_rows *rows, FILE *out);
json_t *hb_rows_time_json(double time); /* a number, or "inf": JSON has no infinite ones */
/* A list of objects, one per row; NULL: no memory. NaN and infinity become null. */
json_t *hb_rows_json(const hb_rows *rows);
/* .csv or .npy by the end of the name; HB_ERROR_ARGUMENT for another one. */
hb_status hb_rows_write(hb_session *session, const hb_rows *rows, const char *path);
hb_status hb_rows_check_path(hb_session *session, const char *path);

/* Prints the object and releases it; NULL: HB_ERROR_MEMORY. */
hb_status hb_rows_print_json(json_t *object, FILE *out);

#endif
