/* file/writer.h: what the formats of this module share with the writer. */
#pragma once

#include <heatball/file.h>
#include <locale.h>

hb_context *hb_writer_context(const hb_writer *writer);

/* Announces that exactly `bytes` more bytes follow; commit refuses the file otherwise.
 * HB_ERROR_FILE when the file system has not so many. */
hb_status hb_writer_expect(hb_writer *writer, uint64_t bytes);

/* Writes text as one field of a .csv; quoted (RFC 4180) when it holds a comma, a quote or a line
 * break. */
hb_status hb_csv_text(hb_writer *writer, const char *text);

/* Numbers have a decimal point in files, whatever the locale of the host program. Between the two
 * calls printf of this thread follows the C locale. */
locale_t hb_locale_enter(void);
void hb_locale_leave(locale_t previous);
