/* The names of a model's columns, from the header of the .csv file that it was trained on.
 *
 * They come as dim texts, each ended by a zero, one after the other, and are kept so; in a file
 * they are one text of the metadata, "columns", with a line for each. A name is UTF-8 of at most
 * 200 bytes without control characters, so that a line is a name, JSON can hold it and a terminal
 * shows it. A number to reproduce: "a", "b,c" is the 6 bytes a 0 b , c 0 here and a \n b , c in a
 * file. */
#include "base/context.h"
#include "net/model_file.h"

#include <string.h>

enum { MOST_NAME = 200, MOST_TAIL = 3 };

/* ---- what a name may be ---- */

/* Bytes after the first one of a letter in UTF-8; -1: no letter opens so. */
static int name_tail(unsigned char first)
{
    if (first < 0x80) return first < 0x20 || first == 0x7f ? -1 : 0;
    if (first >= 0xc2 && first < 0xe0) return 1;
    if (first >= 0xe0 && first < 0xf0) return 2;
    return first >= 0xf0 && first < 0xf5 ? MOST_TAIL : -1;
}

/* Encodings that are longer than needed, surrogates and what is beyond U+10FFFF differ by the
 * second byte; C2 80 to C2 9F are control characters. */
static int name_second_is_right(unsigned char first, unsigned char second)
{
    const unsigned char low = first == 0xe0 || first == 0xc2 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    return second >= low && second <= high;
}

static int name_is_text(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char first = (unsigned char)name[i];
        const int tail = name_tail(first);
        if (tail < 0 || (size_t)tail >= length - i) return 0;
        if (tail > 0 && !name_second_is_right(first, (unsigned char)name[i + 1])) return 0;
        for (int k = 0; k < tail; k++)
            if (((unsigned char)name[++i] & 0xc0) != 0x80) return 0;
    }
    return 1;
}

static hb_status name_check(hb_context *context, int column, const char *name, size_t length)
{
    HB_CHECK(context, length <= MOST_NAME, HB_ERROR_ARGUMENT,
             "the name of column %d has %zu bytes; at most %d are allowed", column, length,
             MOST_NAME);
    HB_CHECK(context, name_is_text(name, length), HB_ERROR_ARGUMENT,
             "the name of column %d is not text in UTF-8 without control characters", column);
    return HB_OK;
}

/* ---- kept by a model ---- */

hb_status hb_model_set_columns(hb_context *context, hb_model *model, const char *names)
{
    void *memory;
    const char *end = names;
    for (int j = 0; j < model->info.dim; j++) {
        const size_t length = strnlen(end, MOST_NAME + 1);
        HB_TRY(name_check(context, j + 1, end, length > MOST_NAME ? strlen(end) : length));
        end += length + 1;
    }
    const size_t bytes = (size_t)(end - names);
    const size_t d = (size_t)model->info.dim;
    HB_TRY(hb_allocate(context, d * sizeof(char *) + 2 * bytes, 1, &memory));
    hb_release(model->context, model->columns);
    model->columns = memory;
    char *text = memcpy(model->columns + d, names, bytes);
    model->columns_text = memcpy(text + bytes, names, bytes);
    for (size_t j = 0; j < d; j++, text += strlen(text) + 1) model->columns[j] = text;
    for (size_t i = 0; i + 1 < bytes; i++)
        if (!model->columns_text[i]) model->columns_text[i] = '\n';
    return HB_OK;
}

const char *hb_model_column_name(const hb_model *model, int j)
{
    if (!model || !model->columns || j < 0 || j >= model->info.dim) return NULL;
    return model->columns[j];
}

/* ---- from a file ---- */

/* The lines of `text`, which is changed, are the names. */
static hb_status columns_take_lines(hb_context *context, const char *path, char *text,
                                    hb_model *model)
{
    int lines = 1;
    for (char *at = text; (at = strchr(at, '\n')); lines++) *at++ = '\0';
    HB_CHECK(context, lines == model->info.dim, HB_ERROR_FORMAT,
             "%s: its metadata columns has %d names; its dim is %d", path, lines, model->info.dim);
    if (hb_model_set_columns(context, model, text) == HB_OK) return HB_OK;
    return hb_fail(context, HB_ERROR_FORMAT,
                   "%s: a name in its metadata columns is too long or no text", path);
}

hb_status hb_model_columns_read(hb_context *context, const hb_safetensors *file, hb_model *model)
{
    char *copy;
    const char *text = hb_safetensors_text(file, "columns");
    if (!text) return HB_OK;
    HB_TRY(hb_copy_string(context, text, &copy));
    const hb_status status = columns_take_lines(context, hb_safetensors_path(file), copy, model);
    hb_release(context, copy);
    return status;
}
