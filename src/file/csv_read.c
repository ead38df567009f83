/* Reading tables of numbers as text.
 *
 * A line is cut at its commas, else at its semicolons, else at blanks, and each field must be a number
 * as strtod takes it in the C locale. The first line that is not blank may be a header: it is one when
 * some field is no number. Blank lines and lines that open with # (numpy.savetxt writes its header so)
 * are skipped. Values go into a block that doubles when it is full, so that any length is read in one
 * pass. Must reproduce: what hb_csv_rows wrote comes back with the same bits. */
#include "base/context.h"
#include "base/memory.h"
#include "file/table.h"
#include "file/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct csv_table {
    hb_context *context;
    const char *path;
    double *values; // (used)
    size_t used, room, columns, line;
} csv_table;

static hb_status append(csv_table *table, double value)
{
    if (table->used == table->room) {
        const size_t room = table->room ? 2 * table->room : 1024;
        void *memory;
        HB_TRY(hb_allocate(table->context, room, sizeof(double), &memory));
        if (table->used) memcpy(memory, table->values, table->used * sizeof(double));
        hb_release(table->context, table->values);
        table->values = memory;
        table->room = room;
    }
    table->values[table->used++] = value;
    return HB_OK;
}

static char separator_of(const char *line)
{
    return strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
}

/* Takes one field and its separator off the line: 1 and the number, 0 when it is no number. */
static int take_number(char **line, char separator, double *value)
{
    char *end;
    *value = strtod(*line, &end);
    if (end == *line) return 0;
    end += strspn(end, " \t");
    if (*end == separator && separator != ' ') {
        end++;
        end += strspn(end, " \t");
        if (*end == '\0') return 0; // nothing after the last separator
    } else if (*end != '\0' && (separator != ' ' || end[-1] > ' ')) {
        return 0;
    }
    *line = end;
    return 1;
}

static int is_all_numbers(const char *text)
{
    double value;
    char *line = (char *)text; // take_number moves the pointer and leaves the text
    const char separator = separator_of(line);
    while (*line)
        if (!take_number(&line, separator, &value)) return 0;
    return 1;
}

/* Cuts blanks and the line's end off both sides. */
static char *trim(char *line)
{
    line += strspn(line, " \t");
    size_t length = strlen(line);
    while (length && strchr(" \t\r\n", line[length - 1])) line[--length] = '\0';
    return line;
}

static hb_status read_row(csv_table *table, char *line)
{
    const char separator = separator_of(line);
    size_t columns = 0;
    for (; *line; columns++) {
        double value;
        const char *field = line;
        HB_CHECK(table->context, take_number(&line, separator, &value), HB_ERROR_FORMAT,
                 "%s, line %zu: '%.24s' where number %zu of the line was expected", table->path,
                 table->line, field, columns + 1);
        HB_TRY(append(table, value));
    }
    if (table->columns == 0) table->columns = columns;
    HB_CHECK(table->context, columns == table->columns, HB_ERROR_FORMAT,
             "%s, line %zu: %zu numbers; the lines before have %zu", table->path, table->line,
             columns, table->columns);
    return HB_OK;
}

static hb_status read_rows(csv_table *table, FILE *file)
{
    char *buffer = NULL;
    size_t size = 0;
    hb_status status = HB_OK;
    int first = 1;
    errno = 0;
    while (status == HB_OK && getline(&buffer, &size, file) >= 0) {
        const int mark = table->line++ == 0 && !strncmp(buffer, "\xef\xbb\xbf", 3);
        char *line = trim(buffer + (mark ? 3 : 0)); // without a byte-order mark
        if (*line == '\0' || *line == '#') continue;
        if (!first || is_all_numbers(line)) status = read_row(table, line);
        first = 0;
    }
    free(buffer);
    if (status != HB_OK) return status;
    HB_CHECK(table->context, !ferror(file) && errno != ENOMEM, HB_ERROR_FILE,
             "reading %s failed: %s", table->path, strerror(errno));
    HB_CHECK(table->context, table->used > 0, HB_ERROR_FORMAT, "%s holds no numbers", table->path);
    return HB_OK;
}

hb_status hb_csv_read(hb_context *context, const char *path, FILE *file, int *n_axes,
                      uint64_t *shape, double **values)
{
    csv_table table = {.context = context, .path = path};
    locale_t locale = hb_locale_enter();
    const hb_status status = read_rows(&table, file);
    hb_locale_leave(locale);
    if (status != HB_OK) {
        hb_release(context, table.values);
        return status;
    }
    *n_axes = 2;
    shape[0] = table.used / table.columns;
    shape[1] = table.columns;
    shape[2] = shape[3] = 1;
    *values = table.values;
    return HB_OK;
}
