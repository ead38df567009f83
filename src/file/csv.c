/* Comma-separated text that gives the same bits when it is read back.
 *
 * 17 significant digits identify a double and 9 a float (Steele and White, 1990; IEEE 754-2008,
 * section 5.12.2). Rows are formatted into a block of BLOCK bytes and handed on a block at a time.
 * Must reproduce: 2.385 -> 2.3849999999999998, 2.385f -> 2.38499999. */
#include "base/context.h"
#include "file/writer.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 1 << 16, FIELD = 32 /* "-1.2345678901234567e-308," and its end */ };

hb_status hb_csv_text(hb_writer *writer, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) return hb_writer_write(writer, strlen(text), text);
    HB_TRY(hb_writer_write(writer, 1, "\""));
    for (const char *c = text; *c; c++)
        HB_TRY(hb_writer_write(writer, *c == '"' ? 2 : 1, *c == '"' ? "\"\"" : c));
    return hb_writer_write(writer, 1, "\"");
}

/* Most numbers have all their digits; a comma or a line's end follows each. */
hb_status hb_writer_csv_begin(hb_writer *writer, hb_dtype dtype, uint64_t n, int n_columns)
{
    const double bytes = (dtype == HB_DTYPE_F32 ? 10.0 : 18.0) * (double)n * n_columns;
    return hb_writer_reserve(writer, bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX);
}

hb_status hb_writer_csv_header(hb_writer *writer, int n_columns, const char *const *names)
{
    if (!names) return HB_OK;
    for (int i = 0; i < n_columns; i++) {
        HB_TRY(hb_csv_text(writer, names[i]));
        HB_TRY(hb_writer_write(writer, 1, i + 1 < n_columns ? "," : "\n"));
    }
    return HB_OK;
}

static int format_value(char *text, hb_dtype dtype, const void *rows, size_t index)
{
    if (dtype == HB_DTYPE_F32)
        return snprintf(text, FIELD, "%.9g", (double)((const float *)rows)[index]);
    return snprintf(text, FIELD, "%.17g", ((const double *)rows)[index]);
}

static hb_status format_rows(hb_writer *writer, hb_dtype dtype, size_t n, size_t n_columns,
                             const void *rows)
{
    char block[BLOCK];
    size_t used = 0;
    for (size_t i = 0; i < n * n_columns; i++) {
        used += (size_t)format_value(block + used, dtype, rows, i);
        block[used++] = (i + 1) % n_columns ? ',' : '\n';
        if (used <= BLOCK - FIELD) continue;
        HB_TRY(hb_writer_write(writer, used, block));
        used = 0;
    }
    return hb_writer_write(writer, used, block);
}

hb_status hb_writer_csv_rows(hb_writer *writer, hb_dtype dtype, size_t n, int n_columns,
                             const void *rows)
{
    hb_context *context = hb_writer_context(writer);
    HB_CHECK(context, dtype == HB_DTYPE_F64 || dtype == HB_DTYPE_F32, HB_ERROR_ARGUMENT,
             "dtype is %d; it must be HB_DTYPE_F64 or HB_DTYPE_F32", (int)dtype);
    HB_CHECK(context, n_columns >= 1, HB_ERROR_ARGUMENT, "n_columns is %d; it must be at least 1",
             n_columns);
    locale_t locale = hb_locale_enter();
    hb_status status = format_rows(writer, dtype, n, (size_t)n_columns, rows);
    hb_locale_leave(locale);
    return status;
}
