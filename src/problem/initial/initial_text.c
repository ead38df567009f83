/* The texts of initial densities: pieces, numbers, files.
 *
 * Numbers are separated by blanks, arguments by commas. A relative file name starts at the
 * directory that is given. To reproduce: "1 -0.5" are two numbers in every locale. */
#include "base/context.h"
#include "base/memory.h"
#include "file/writer.h"
#include "problem/initial/initial_ops.h"

#include <heatball/file.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hb_text_trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) text[--length] = '\0';
    return text;
}

hb_status hb_text_numbers(hb_context *context, const char *what, const char *text, size_t *count,
                          double **values)
{
    HB_TRY(HB_NEW(context, *values, strlen(text) / 2 + 1));
    hb_status status = HB_OK;
    locale_t locale = hb_locale_enter();
    *count = 0;
    for (const char *at = text; *at && status == HB_OK; at += strspn(at, " \t\r\n")) {
        char *end;
        const double value = strtod(at, &end);
        if (end == at || (*end && !strchr(" \t\r\n", *end)) || !isfinite(value))
            status = hb_fail(context, HB_ERROR_ARGUMENT,
                             "%s: '%.40s' where a finite number was expected", what, at);
        (*values)[(*count)++] = value;
        at = end;
    }
    hb_locale_leave(locale);
    if (status == HB_OK) return HB_OK;
    hb_release(context, *values);
    *values = NULL;
    return status;
}

char *hb_text_piece(char **rest)
{
    if (!*rest) return NULL;
    char *piece = *rest, *comma = strchr(piece, ',');
    *rest = comma ? comma + 1 : NULL;
    if (comma) *comma = '\0';
    return hb_text_trim(piece);
}

hb_status hb_initial_read_file(const hb_initial_text *s, uint64_t *rows, uint64_t *columns,
                               double **values)
{
    HB_CHECK(s->context, s->arguments && s->arguments[0], HB_ERROR_ARGUMENT,
             "%s needs a file: %s(FILE)", s->name, s->name);
    const char *directory = s->arguments[0] == '/' || !s->directory ? "" : s->directory;
    const size_t bytes = strlen(directory) + strlen(s->arguments) + 2;
    void *path;
    HB_TRY(hb_allocate(s->context, bytes, 1, &path));
    snprintf(path, bytes, "%s%s%s", directory, directory[0] ? "/" : "", s->arguments);
    int n_axes = 0;
    uint64_t shape[4] = {0};
    hb_status status = hb_table_read(s->context, path, &n_axes, shape, values);
    hb_release(s->context, path);
    if (status != HB_OK) return status;
    *rows = shape[0];
    *columns = shape[1];
    if (n_axes <= 2 && shape[0] > 0) return HB_OK;
    hb_release(s->context, *values);
    *values = NULL;
    return hb_fail(s->context, HB_ERROR_ARGUMENT,
                   "%s: %s has %d axes and %llu rows; a table with rows is needed", s->name,
                   s->arguments, n_axes, (unsigned long long)shape[0]);
}
