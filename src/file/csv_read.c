/* Reading tables of numbers as text.
 *
 * A line is cut at its commas, else at its semicolons, else at blanks, and each field must be a
 * number as strtod takes it in the C locale. The first line that is not blank may be a header:
 * it is one when none of its fields is a number or a word for a missing one (NA); a line with
 * some of each is refused, since it may be data with a gap. Names of a header may stand in
 * quotes (RFC 4180). Blank lines and lines that open with # (numpy.savetxt writes its header so)
 * are skipped. What cannot be read is named with its line and column. Values go into a block
 * that doubles when it is full, so that any length is read in one pass. Must reproduce: what
 * hb_writer_csv_rows wrote comes back with the same bits. */
#include "base/context.h"
#include "base/memory.h"
#include "file/input.h"
#include "file/table.h"
#include "file/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { POLL_BYTES = 1 << 22 };

typedef struct csv_table {
    hb_context *context;
    const char *path;
    double *values; // (used)
    size_t used, capacity, columns, line;
    char *text; /* the line, (text_capacity) */
    size_t text_capacity, unpolled;
    char **fields; // (field_capacity): places in text
    size_t field_capacity;
    char *names; /* of the header, one after the other; or NULL */
} csv_table;

/* ---- lines and fields ----------------------------------------------------------------------- */

/* One line without its end into table->text: 1, 0 at the end of the file, or -1 with *status
 * set. */
static int csv_read_line(csv_table *table, FILE *file, hb_status *status)
{
    size_t n = 0, column = 1;
    int c;
    table->line++;
    while ((c = getc_unlocked(file)) != EOF && c != '\n') {
        if (n + 1 >= table->text_capacity) {
            const size_t capacity = table->text_capacity ? 2 * table->text_capacity : 4096;
            char *text = realloc(table->text, capacity);
            *status = text ? hb_progress(table->context, "reading", 0, 1)
                           : hb_fail(table->context, HB_ERROR_MEMORY, "no memory to read %.300s",
                                     table->path);
            if (text) {
                table->text = text;
                table->text_capacity = capacity;
            }
            if (*status != HB_OK) return -1;
        }
        if (c == 0) {
            *status = hb_fail(table->context, HB_ERROR_FORMAT,
                              "%.300s, line %zu, column %zu: a zero byte; the file is no text",
                              table->path, table->line, column);
            return -1;
        }
        column += c == ',' || c == ';';
        table->text[n++] = (char)c;
    }
    if (c == EOF && (n == 0 || ferror(file))) return 0;
    if (table->text) table->text[n] = '\0';
    table->unpolled += n + 1;
    if (table->unpolled < POLL_BYTES) return 1;
    table->unpolled = 0;
    *status = hb_progress(table->context, "reading", 0, 1);
    return *status == HB_OK ? 1 : -1;
}

static char separator_of(const char *line)
{
    return strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : ' ';
}

/* Cuts blanks off both sides. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length && strchr(" \t\r", text[length - 1])) text[--length] = '\0';
    return text;
}

/* The end of a field: past a text in quotes, then at the separator or the line's end. */
static char *end_of(char *field, char separator)
{
    char *at = field + strspn(field, " \t");
    if (*at == '"')
        for (at++; *at && (at[0] != '"' || at[1] == '"'); at++) at += at[0] == '"';
    for (; *at && *at != separator && (separator != ' ' || *at != '\t'); at++) continue;
    return at;
}

static hb_status csv_split(csv_table *table, char *line, size_t *count)
{
    const char separator = separator_of(line);
    for (*count = 0;;) {
        if (*count == table->field_capacity) {
            const size_t capacity = table->field_capacity ? 2 * table->field_capacity : 64;
            char **fields = realloc(table->fields, capacity * sizeof *fields);
            HB_CHECK(table->context, fields, HB_ERROR_MEMORY, "no memory to read %.300s",
                     table->path);
            table->fields = fields;
            table->field_capacity = capacity;
        }
        if (separator == ' ') line += strspn(line, " \t");
        char *end = end_of(line, separator);
        const int last = *end == '\0';
        *end = '\0';
        table->fields[(*count)++] = trim(line);
        if (last) return HB_OK;
        line = end + 1;
    }
}

/* ---- numbers -------------------------------------------------------------------------------- */

static int is_number(const char *field, double *value)
{
    char *end;
    *value = strtod(field, &end);
    return end != field && *end == '\0';
}

static int is_missing(const char *field)
{
    static const char *const words[] = {"", "NA", "N/A", "NULL", "None", "-", "?", "."};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcasecmp(field, words[i])) return 1;
    return 0;
}

static hb_status csv_append(csv_table *table, double value)
{
    if (table->used == table->capacity) {
        const size_t capacity = table->capacity ? 2 * table->capacity : 1024;
        void *memory;
        HB_TRY(hb_allocate(table->context, capacity, sizeof(double), &memory));
        if (table->used) memcpy(memory, table->values, table->used * sizeof(double));
        hb_release(table->context, table->values);
        table->values = memory;
        table->capacity = capacity;
    }
    table->values[table->used++] = value;
    return HB_OK;
}

static hb_status csv_refuse(const csv_table *table, size_t column, int last, const char *field)
{
    const char *why = field[0] == '"'     ? "stands in quotes; numbers stand without"
                      : is_missing(field) ? "is no number; leave out rows with gaps"
                                          : "is no number; encode this column or leave it out";
    if (!field[0])
        return hb_fail(table->context, HB_ERROR_FORMAT, "%.300s, line %zu, column %zu: %s",
                       table->path, table->line, column,
                       last ? "nothing stands after the last separator"
                            : "the field is empty; leave out rows with gaps");
    return hb_fail(table->context, HB_ERROR_FORMAT, "%.300s, line %zu, column %zu: '%.40s' %s",
                   table->path, table->line, column, field, why);
}

static hb_status csv_take_row(csv_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value;
        if (!is_number(table->fields[i], &value))
            return csv_refuse(table, i + 1, i > 0 && i + 1 == count, table->fields[i]);
        HB_TRY(csv_append(table, value));
    }
    if (table->columns == 0) table->columns = count;
    HB_CHECK(table->context, count == table->columns, HB_ERROR_FORMAT,
             "%.300s, line %zu: %zu numbers; the lines before have %zu", table->path, table->line,
             count, table->columns);
    return HB_OK;
}

/* ---- the header ----------------------------------------------------------------------------- */

/* A name without its quotes, in place. */
static void unquote(char *name)
{
    const size_t length = strlen(name);
    if (length < 2 || name[0] != '"' || name[length - 1] != '"') return;
    char *to = name;
    for (const char *from = name + 1; from < name + length - 1; from++) {
        *to++ = *from;
        from += from[0] == '"' && from[1] == '"';
    }
    *to = '\0';
}

static hb_status csv_keep_names(csv_table *table, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        unquote(table->fields[i]);
        bytes += strlen(table->fields[i]) + 1;
    }
    void *memory;
    HB_TRY(hb_allocate(table->context, bytes, 1, &memory));
    char *to = table->names = memory;
    for (size_t i = 0; i < count; i++) to = stpcpy(to, table->fields[i]) + 1;
    table->columns = count;
    return HB_OK;
}

/* The first line: names when no field is a number and one is a word, else numbers. */
static hb_status csv_take_first(csv_table *table, size_t count)
{
    size_t numbers = 0, words = 0;
    double value;
    for (size_t i = 0; i < count; i++) {
        const int number = is_number(table->fields[i], &value);
        numbers += (size_t)number;
        words += !number && !is_missing(table->fields[i]);
    }
    return numbers == 0 && words > 0 ? csv_keep_names(table, count) : csv_take_row(table, count);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* A header of another number of fields than the rows names nothing. */
static void csv_check_names(csv_table *table, size_t count)
{
    if (!table->names || table->used > 0 || count == table->columns) return;
    hb_release(table->context, table->names);
    table->names = NULL;
    table->columns = 0;
}

static hb_status csv_read_rows(csv_table *table, FILE *file)
{
    hb_status status = HB_OK;
    int first = 1, more;
    errno = 0;
    while (status == HB_OK && (more = csv_read_line(table, file, &status)) > 0) {
        char *line = table->text;
        if (!line) continue; // an empty line at the very beginning
        if (table->line == 1 && !strncmp(line, "\xef\xbb\xbf", 3)) line += 3; // byte-order mark
        line = trim(line);
        if (*line == '\0' || *line == '#') continue;
        size_t count;
        status = csv_split(table, line, &count);
        if (status == HB_OK && !first) csv_check_names(table, count);
        if (status == HB_OK) status = (first ? csv_take_first : csv_take_row)(table, count);
        first = 0;
    }
    if (status != HB_OK) return status;
    if (ferror(file)) return hb_input_failed(table->context, table->path);
    HB_CHECK(table->context, table->used > 0, HB_ERROR_FORMAT, "%.300s holds no numbers",
             table->path);
    return HB_OK;
}

hb_status hb_csv_read(hb_context *context, const char *path, FILE *file, int *n_axes,
                      uint64_t *shape, double **values, char **names)
{
    csv_table table = {.context = context, .path = path};
    locale_t locale = hb_locale_enter();
    const hb_status status = csv_read_rows(&table, file);
    hb_locale_leave(locale);
    free(table.text);
    free(table.fields);
    if (status != HB_OK) hb_release(context, table.values);
    if (status != HB_OK || !names) hb_release(context, table.names);
    if (status != HB_OK) return status;
    *n_axes = 2;
    shape[0] = table.used / table.columns;
    shape[1] = table.columns;
    shape[2] = shape[3] = 1;
    *values = table.values;
    if (names) *names = table.names;
    return HB_OK;
}
