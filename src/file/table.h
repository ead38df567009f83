/* file/table.h: the readers behind hb_table_read, one for each format. */
#pragma once

#include <heatball/file.h>
#include <stdio.h>

#define HB_TABLE_AXES 4
#define HB_NPY_HEADER 1088 /* bytes that the header of a .npy file has room for */

/* The header that hb_writer_npy_begin writes, into header[HB_NPY_HEADER]; returns its length. */
size_t hb_npy_header(hb_dtype dtype, int n_axes, const uint64_t *shape, char *header);

/* file stands at its beginning; path is for messages. *values is set only on success. */
hb_status hb_npy_read(hb_context *context, const char *path, FILE *file, int *n_axes,
                      uint64_t *shape, double **values);
/* names: NULL, or where the names of a header go, shape[1] texts one after the other; NULL: no
 * header. */
hb_status hb_csv_read(hb_context *context, const char *path, FILE *file, int *n_axes,
                      uint64_t *shape, double **values, char **names);
