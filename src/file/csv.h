/* file/csv.h: one field of comma-separated text, for the rooms above that mix text and numbers. */
#ifndef HB_FILE_CSV_H
#define HB_FILE_CSV_H

#include <heatball/file.h>

/* Writes text as one field; quoted (RFC 4180) when it holds a comma, a quote or a line break. */
hb_status hb_csv_text(hb_writer *writer, const char *text);

#endif
