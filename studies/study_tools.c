/* Helpers of the studies. They see only the public headers, jansson and POSIX. */
#include "study_tools.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

hb_status hb_study_fail(hb_context *context, hb_status status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text) { /* cut off: not inside a character */
        char *end = text + sizeof text - 1;
        while (end > text && (end[-1] & 0xc0) == 0x80) end--;
        if (end > text) end[-1] = '\0';
    }
    return hb_context_fail(context, status, text);
}

void hb_study_print(FILE *table, const char *format, ...)
{
    if (!table) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(table, format, arguments);
    va_end(arguments);
}

hb_status hb_study_allocate(hb_context *context, size_t count, size_t size, void *pointer)
{
    void *memory = calloc(count ? count : 1, size);
    memcpy(pointer, &memory, sizeof memory); // a pointer to any type of item
    if (memory) return HB_OK;
    return hb_study_fail(context, HB_ERROR_MEMORY, "no memory for %zu items of %zu bytes", count,
                         size);
}

double hb_study_mean(size_t n, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

hb_status hb_study_path(hb_context *context, const char *directory, const char *name, char **out)
{
    if (asprintf(out, "%s/%s", directory, name) >= 0) return HB_OK;
    *out = NULL;
    return hb_study_fail(context, HB_ERROR_MEMORY, "no memory for the name of a file");
}

hb_status hb_study_make_directory(hb_context *context, const char *path)
{
    if (!path || !path[0])
        return hb_study_fail(context, HB_ERROR_PATH, "the name of the directory is empty");
    char *part = strdup(path);
    if (!part) return hb_study_fail(context, HB_ERROR_MEMORY, "no memory for the name of a file");
    int error = 0;
    for (char *end = part + 1; !error; end++) {
        const char c = *end;
        if (c != '/' && c != '\0') continue;
        *end = '\0';
        struct stat existing;
        if (mkdir(part, 0777) != 0)
            error = stat(part, &existing) != 0 ? errno : S_ISDIR(existing.st_mode) ? 0 : ENOTDIR;
        if (c == '\0') break;
        if (!error) *end = c;
    }
    hb_status status = HB_OK;
    if (error)
        status = hb_study_fail(context, HB_ERROR_PATH, "cannot make the directory %s: %s", part,
                               strerror(error));
    free(part);
    return status;
}

hb_status hb_study_write_bytes(hb_context *context, const char *directory, const char *name,
                               size_t size, const char *text)
{
    char *path;
    hb_writer *writer;
    HB_TRY(hb_study_path(context, directory, name, &path));
    hb_status status = hb_writer_create(context, path, &writer);
    free(path);
    HB_TRY(status);
    status = hb_writer_write(writer, size, text);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}

hb_status hb_study_write_text(hb_context *context, const char *directory, const char *name,
                              hb_study_text_writer *write, const void *user)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    hb_status status = file ? write(context, file, user) : HB_OK;
    if (!file || fclose(file) != 0)
        status = hb_study_fail(context, HB_ERROR_MEMORY, "no memory for %s", name);
    if (status == HB_OK) status = hb_study_write_bytes(context, directory, name, size, text);
    free(text);
    return status;
}

static hb_status write_root(hb_context *context, FILE *file, const void *user)
{
    (void)context; /* a failure shows when the file is closed */
    json_dumpf(user, file, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    fputc('\n', file);
    return HB_OK;
}

hb_status hb_study_write_json(hb_context *context, const char *directory, const char *name,
                              json_t *root)
{
    const hb_status status = hb_study_write_text(context, directory, name, write_root, root);
    json_decref(root);
    return status;
}

hb_status hb_study_write_csv(hb_context *context, const char *directory, const char *name,
                             const char *columns, size_t n,
                             hb_status (*write)(hb_writer *writer, const void *user, size_t i),
                             const void *user)
{
    char *path;
    hb_writer *writer;
    HB_TRY(hb_study_path(context, directory, name, &path));
    hb_status status = hb_writer_create(context, path, &writer);
    free(path);
    if (status == HB_OK) status = hb_writer_printf(writer, "%s\n", columns);
    for (size_t i = 0; i < n && status == HB_OK; i++) status = write(writer, user, i);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}

hb_status hb_study_write_numbers(hb_writer *writer, size_t n, const double *numbers)
{
    for (size_t i = 0; i < n; i++) {
        if (!isnan(numbers[i])) HB_TRY(hb_writer_printf(writer, "%.17g", numbers[i]));
        HB_TRY(hb_writer_printf(writer, i + 1 < n ? "," : "\n"));
    }
    return HB_OK;
}

json_t *hb_study_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *hb_study_text(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *text = json_vsprintf(format, arguments);
    va_end(arguments);
    return text;
}

json_t *hb_study_begin(const hb_study *study, const hb_study_settings *settings)
{
    json_t *root = json_object();
    char seeds[32] = "", part[64] = "";
    if (settings->part) snprintf(part, sizeof part, " --part %.50s", settings->part);
    if (settings->seeds > 0) snprintf(seeds, sizeof seeds, " --seeds %d", settings->seeds);
    json_object_set_new(root, "study", json_string(study->name));
    json_object_set_new(root, "title", json_string(study->title));
    json_object_set_new(root, "version", json_string(hb_version()));
    json_object_set_new(root, "seed", hb_study_text("%llu", (unsigned long long)settings->seed));
    json_object_set_new(root, "command",
                        hb_study_text("heatball study %s%s%s%s --seed %llu -o %s", study->name,
                                      settings->quick ? " --quick" : "", seeds, part,
                                      (unsigned long long)settings->seed, study->name));
    return root;
}

/* ---- texts of the page ---- */

static json_t *texts;

static void load_texts(void)
{
    texts = json_loadb((const char *)hb_page_texts, hb_page_texts_size, 0, NULL);
}

const json_t *hb_study_texts(const char *kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_texts);
    return json_object_get(texts, kind);
}

static const json_t *texts_of(const char *kind, const char *key)
{
    return json_object_get(hb_study_texts(kind), key);
}

/* ---- places of a text ---- */

typedef struct filling {
    const hb_fill *fill;
    size_t numbers, words; /* used so far */
    double last;           /* number */
} filling;

static double fill_number(filling *f)
{
    f->last = f->fill && f->numbers < f->fill->n ? f->fill->numbers[f->numbers++] : NAN;
    return f->last;
}

static const char *fill_word(filling *f)
{
    const char *word = f->fill ? f->fill->words[f->words] : NULL;
    f->words += word != NULL;
    return word ? word : "?";
}

/* The texts between the braces: at is behind the first of them; returns what follows the last. */
static const char *fill_choice(FILE *out, const char *at, filling *f)
{
    const size_t whole = strcspn(at, "}");
    const char *end = at + whole;
    if (strcspn(at, "|") > whole) { /* one text: a plural */
        if (f->last != 1) fprintf(out, "%.*s", (int)whole, at);
        return end + (*end != 0);
    }
    double left = fill_number(f);
    for (; left >= 1 && at < end; left--) at += strcspn(at, "|}") + 1;
    fprintf(out, "%.*s", (int)(at < end ? strcspn(at, "|}") : 0), at);
    return end + (*end != 0);
}

/* A place for a number or a word, or a percent sign. */
static const char *fill_place(FILE *out, const char *at, filling *f)
{
    char format[16];
    const size_t length = strspn(at + 1, "+.0123456789") + 2;
    const char kind = at[length - 1];
    if (at[1] == '{') return fill_choice(out, at + 2, f);
    if (!kind || !strchr("dfges", kind) || length >= sizeof format) {
        fputc('%', out);
        return at + 1;
    }
    snprintf(format, sizeof format, "%.*s%c", (int)(length - 1), at, kind);
    if (kind == 's')
        fprintf(out, "%s", fill_word(f));
    else if (!f->fill || f->numbers == f->fill->n)
        fputc('?', out);
    else if (kind == 'd')
        fprintf(out, "%.0f", fill_number(f));
    else
        fprintf(out, format, fill_number(f));
    return at + length;
}

/* NULL: null. */
static json_t *fill_text(const char *text, filling *f)
{
    char *filled = NULL;
    size_t size = 0;
    FILE *out = text ? open_memstream(&filled, &size) : NULL;
    if (!out) return json_null();
    while (*text) {
        if (*text == '%')
            text = fill_place(out, text, f);
        else
            fputc(*text++, out);
    }
    fclose(out);
    json_t *string = json_string(filled);
    free(filled);
    return string;
}

json_t *hb_study_fill(const char *text, const hb_fill *fill)
{
    filling f = {.fill = fill};
    return fill_text(text, &f);
}

/* The entry's text, or that of the claim it names, with its places filled; null: there is none. */
static json_t *text_of(const json_t *entry, const char *field, filling *f)
{
    const char *as = json_string_value(json_object_get(entry, "as"));
    if (as && !json_object_get(entry, field)) entry = texts_of("claims", as);
    return fill_text(json_string_value(json_object_get(entry, field)), f);
}

void hb_study_claim(json_t *claims, const char *key, hb_claim_verdict verdict, const hb_fill *fill)
{
    static const char *const verdicts[] = {"holds", "holds with a correction", "does not hold"};
    const json_t *claim = texts_of("claims", key);
    const json_int_t correction = json_integer_value(json_object_get(claim, "correction"));
    filling f = {.fill = fill}, none = {0};
    json_t *entry = json_object();
    json_object_set_new(entry, "id", json_string(strchr(key, '/') + 1));
    json_object_set_new(entry, "source",
                        json_string(json_object_get(claim, "source") ? "heatball" : "paper"));
    json_object_set_new(entry, "statement", text_of(claim, "statement", &none));
    json_object_set_new(entry, "paper", text_of(claim, "paper", &f));
    json_object_set_new(entry, "ours", text_of(claim, "ours", &f));
    json_object_set_new(entry, "verdict", json_string(verdicts[verdict]));
    json_object_set_new(entry, "why", text_of(claim, "why", &f));
    json_object_set_new(entry, "figure", text_of(claim, "figure", &none));
    json_object_set_new(entry, "table", text_of(claim, "table", &none));
    json_object_set_new(entry, "place", text_of(claim, "place", &none));
    if (correction) json_object_set_new(entry, "correction", json_integer(correction));
    json_array_append_new(claims, entry);
}

/* root[key], an array, made when it is missing. */
static json_t *list_of(json_t *root, const char *key)
{
    if (!json_object_get(root, key)) json_object_set_new(root, key, json_array());
    return json_object_get(root, key);
}

/* Up to the next '|' that is not in braces. */
static size_t cell_length(const char *at)
{
    size_t n = 0;
    while (at[n] && at[n] != '|') n += at[n] == '{' ? strcspn(at + n, "}") : 1;
    return n;
}

/* The cells of a row, separated by '|', of which each takes its values. */
static json_t *row_of(const char *cells, filling *f)
{
    json_t *row = json_array();
    for (const char *at = cells; at; at = at[cell_length(at)] ? at + cell_length(at) + 1 : NULL) {
        char cell[256];
        const size_t first = f->numbers;
        snprintf(cell, sizeof cell, "%.*s", (int)cell_length(at), at);
        json_t *text = fill_text(cell, f);
        if (f->numbers > first && isnan(f->fill->numbers[first])) json_string_set(text, "");
        json_array_append_new(row, text);
    }
    return row;
}

json_t *hb_study_table(json_t *root, const char *name, json_t *rows, const hb_fill *fill)
{
    const json_t *table = texts_of("tables", name);
    filling f = {.fill = fill};
    json_t *entry = json_object(), *titles = json_array(), *cells;
    size_t i;
    if (!rows) rows = json_array();
    json_array_foreach(json_object_get(table, "rows"), i, cells)
        json_array_append_new(rows, row_of(json_string_value(cells), &f));
    const char *at = json_string_value(json_object_get(table, "columns"));
    for (; at; at = strchr(at, '|'), at = at ? at + 1 : NULL)
        json_array_append_new(titles, json_stringn(at, strcspn(at, "|")));
    json_object_set_new(entry, "name", json_string(name));
    json_object_set_new(entry, "title", text_of(table, "title", &f));
    json_object_set_new(entry, "place", text_of(table, "place", &f));
    json_object_set_new(entry, "columns", titles);
    json_object_set_new(entry, "rows", rows);
    json_object_set_new(entry, "note", text_of(table, "note", &f));
    json_array_append_new(list_of(root, "tables"), entry);
    return entry;
}

void hb_study_caption(json_t *figures, const char *name, const hb_fill *fill)
{
    filling f = {.fill = fill};
    const json_t *figure = texts_of("figures", name);
    json_array_append_new(figures, json_pack("{s:s,s:o,s:o}", "name", name, "caption",
                                             text_of(figure, "caption", &f), "place",
                                             text_of(figure, "place", &f)));
}

int hb_study_by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
