/* Rows of numbers for people, for programs and for files.
 *
 * The table has nine significant digits, columns aligned at the right. Errors have two there, and a
 * value beside one ends two places behind the error's first digit: 0.089216 with 0.00016. JSON and
 * .csv have seventeen, so that reading gives the same bits. A .npy file holds the same numbers as
 * the .csv, without names. */
#include "rows.h"
#include "points.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = HB_ROWS_NAME };

static int width_of(const hb_rows_column *column)
{
    return column->width ? column->width : 1;
}

/* Of all columns, or of numbers alone. */
static int count_cells(const hb_rows *rows, int texts)
{
    int n = 0;
    for (int c = 0; c < rows->n_columns; c++)
        if (texts || !rows->columns[c].texts) n += width_of(&rows->columns[c]);
    return n;
}

static void name_cell(const hb_rows_column *column, int index, char out[CELL])
{
    const char *suffix = column->suffix ? column->suffix : "";
    if (column->width)
        snprintf(out, CELL, "%s_%d%s", column->name, index + 1, suffix);
    else
        snprintf(out, CELL, "%s%s", column->name, suffix);
}

static size_t place_of(const hb_rows_column *column, size_t row, int index)
{
    return row * (column->stride ? column->stride : (size_t)width_of(column)) + (size_t)index;
}

static double cell_of(const hb_rows_column *column, size_t row, int index)
{
    return column->values[place_of(column, row, index)];
}

/* Significant digits of a value, from its error as it is printed. */
static int digits_of(double value, double error)
{
    char text[CELL];
    if (error == 0) return 15;
    if (!isfinite(error) || !isfinite(value) || value == 0) return 3;
    snprintf(text, sizeof text, "%.1e", error);
    const double digits =
        floor(log10(fabs(value))) - (double)strtol(strchr(text, 'e') + 1, NULL, 10) + 3;
    return (int)fmin(fmax(digits, 2), 17);
}

static int format_cell(const hb_rows *rows, const hb_rows_column *column, size_t row, int index,
                       char out[CELL])
{
    if (column->texts) return snprintf(out, CELL, "%s", column->texts[row]);
    const double value = cell_of(column, row, index);
    const int digits = rows->full        ? 17
                       : !column->errors ? 9
                       : column->errors == column->values
                           ? 2
                           : digits_of(value, column->errors[place_of(column, row, index)]);
    return isnan(value) ? snprintf(out, CELL, "nan") : snprintf(out, CELL, "%.*g", digits, value);
}

static int widest(const hb_rows *rows, const hb_rows_column *column, int index)
{
    char text[CELL];
    name_cell(column, index, text);
    int width = (int)strlen(text);
    for (size_t i = 0; i < rows->n; i++) {
        const int length = format_cell(rows, column, i, index, text);
        if (length > width) width = length;
    }
    return width;
}

void hb_rows_print(const hb_rows *rows, FILE *out)
{
    int *widths = malloc((size_t)count_cells(rows, 1) * sizeof *widths);
    if (!widths) return;
    int cell = 0;
    char name[CELL];
    for (int c = 0; c < rows->n_columns; c++)
        for (int k = 0; k < width_of(&rows->columns[c]); k++, cell++) {
            widths[cell] = widest(rows, &rows->columns[c], k);
            name_cell(&rows->columns[c], k, name);
            fprintf(out, "%s%*s", cell ? "  " : "", widths[cell], name);
        }
    fprintf(out, "\n");
    for (size_t i = 0; i < rows->n; i++, fprintf(out, "\n")) {
        cell = 0;
        for (int c = 0; c < rows->n_columns; c++)
            for (int k = 0; k < width_of(&rows->columns[c]); k++, cell++) {
                format_cell(rows, &rows->columns[c], i, k, name);
                fprintf(out, "%s%*s", cell ? "  " : "", widths[cell], name);
            }
    }
    free(widths);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *row_object(const hb_rows *rows, size_t row)
{
    json_t *object = json_object();
    for (int c = 0; object && c < rows->n_columns; c++) {
        const hb_rows_column *column = &rows->columns[c];
        char key[CELL];
        snprintf(key, sizeof key, "%s%s", column->name, column->suffix ? column->suffix : "");
        json_t *value = column->texts   ? json_string(column->texts[row])
                        : column->width ? json_array()
                                        : number(cell_of(column, row, 0));
        for (int k = 0; k < column->width; k++)
            json_array_append_new(value, number(cell_of(column, row, k)));
        json_object_set_new(object, key, value);
    }
    return object;
}

void hb_rows_put(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, number(value));
}

void hb_rows_put_count(json_t *object, const char *key, size_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

void hb_rows_put_seed(json_t *object, uint64_t seed)
{
    json_object_set_new(object, "seed",
                        seed > INT64_MAX ? json_sprintf("%" PRIu64, seed)
                                         : json_integer((json_int_t)seed));
}

json_t *hb_rows_time_json(double time)
{
    return isfinite(time) ? json_real(time) : json_string("inf");
}

json_t *hb_rows_json(const hb_rows *rows)
{
    json_t *list = json_array();
    for (size_t i = 0; list && i < rows->n; i++)
        if (json_array_append_new(list, row_object(rows, i)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

hb_status hb_rows_print_json(json_t *object, FILE *out)
{
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (!text) return HB_ERROR_MEMORY;
    fprintf(out, "%s\n", text);
    free(text);
    return HB_OK;
}

hb_status hb_rows_check_path(hb_session *session, const char *path)
{
    if (!path || hb_points_is_table(path)) return HB_OK;
    return hb_session_refuse(session, "-o is %.200s; the name must end in .csv or .npy", path);
}

static const char *rows_name(const void *user, int i, char text[HB_ROWS_NAME])
{
    const hb_rows_column *column = ((const hb_rows *)user)->columns;
    for (; i >= width_of(column); column++) i -= width_of(column);
    name_cell(column, i, text);
    return text;
}

const char *hb_rows_x(const void *user, int i, char text[HB_ROWS_NAME])
{
    (void)user;
    snprintf(text, HB_ROWS_NAME, "x_%d", i + 1);
    return text;
}

/* The names of all columns; one block holds the pointers and the texts. */
static hb_status write_names(hb_writer *writer, int n, hb_rows_namer name, const void *user)
{
    const char **names = malloc((size_t)n * (sizeof *names + HB_ROWS_NAME));
    if (!names) return HB_ERROR_MEMORY;
    char *text = (char *)(names + n);
    for (int i = 0; i < n; i++, text += HB_ROWS_NAME) names[i] = name(user, i, text);
    const hb_status status = hb_writer_csv_header(writer, n, names);
    free(names);
    return status;
}

hb_status hb_rows_begin(hb_writer *writer, const char *path, hb_dtype dtype, uint64_t n,
                        int columns, hb_rows_namer name, const void *user)
{
    const uint64_t shape[] = {n, (uint64_t)columns};
    const int cells = columns ? columns : 1;
    if (!hb_points_has_extension(path, ".csv"))
        return hb_writer_npy_begin(writer, dtype, columns ? 2 : 1, shape);
    HB_TRY(hb_writer_csv_begin(writer, dtype, n, cells));
    return write_names(writer, cells, name, user);
}

hb_status hb_rows_append(hb_writer *writer, const char *path, hb_dtype dtype, size_t n, int columns,
                         const void *rows)
{
    const int cells = columns ? columns : 1;
    if (hb_points_has_extension(path, ".csv"))
        return hb_writer_csv_rows(writer, dtype, n, cells, rows);
    const size_t size = dtype == HB_DTYPE_F64 ? sizeof(double) : sizeof(float);
    return hb_writer_write(writer, n * (size_t)cells * size, rows);
}

/* Numbers one after the other, or text with commas between. */
static hb_status write_rows(const hb_rows *rows, hb_writer *writer, int is_text, int cells)
{
    char *line = malloc((size_t)cells * CELL + 2);
    hb_status status = line ? HB_OK : HB_ERROR_MEMORY;
    for (size_t i = 0; status == HB_OK && i < rows->n; i++) {
        char *to = line;
        for (int c = 0; c < rows->n_columns; c++) {
            const hb_rows_column *column = &rows->columns[c];
            for (int k = 0; k < width_of(column) && (is_text || !column->texts); k++) {
                const double value = column->texts ? 0 : cell_of(column, i, k);
                if (column->texts)
                    to += snprintf(to, CELL, "%s,", column->texts[i]);
                else if (is_text)
                    to += snprintf(to, CELL, "%.17g,", value);
                else
                    to = (char *)memcpy(to, &value, sizeof value) + sizeof value;
            }
        }
        if (is_text) to[-1] = '\n';
        status = hb_writer_write(writer, (size_t)(to - line), line);
    }
    free(line);
    return status;
}

hb_status hb_rows_write(hb_session *session, const hb_rows *rows, const char *path)
{
    const int is_text = hb_points_has_extension(path, ".csv");
    const int cells = count_cells(rows, is_text);
    hb_status status = HB_OK;
    hb_writer *writer;
    HB_TRY(hb_writer_create(hb_session_context(session), path, &writer));
    if (is_text && rows->comment) {
        status = hb_writer_write(writer, strlen(rows->comment), rows->comment);
        if (status == HB_OK) status = hb_writer_write(writer, 1, "\n");
    }
    if (status == HB_OK)
        status = hb_rows_begin(writer, path, HB_DTYPE_F64, rows->n, cells, rows_name, rows);
    if (status == HB_OK) status = write_rows(rows, writer, is_text, cells);
    return hb_writer_close(writer, status);
}
