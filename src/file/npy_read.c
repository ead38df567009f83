/* Reading NumPy's .npy files (NEP 1), and the choice of a reader by the end of the name.
 *
 *     bytes 0..5   93 'N' 'U' 'M' 'P' 'Y'
 *     bytes 6, 7   version: 1, 2 or 3
 *     then         length of the header, little-endian, 2 bytes in version 1 and 4 later
 *     then         {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), }, then the values
 * The header is a Python dictionary; only its three keys are looked for. The length of a regular
 * file is compared with what the shape promises before memory is asked for, so that a damaged
 * header cannot ask for the whole machine. All values become double. Must reproduce: numpy.save
 * of arange(24, dtype='i4').reshape(2, 3, 4) gives 0 .. 23. */
#include "base/context.h"
#include "base/memory.h"
#include "file/input.h"
#include "file/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_HEADER = 1 << 16, BLOCK_VALUES = 4096 };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are read as they are in memory");

typedef enum npy_type { TYPE_F8, TYPE_F4, TYPE_I8, TYPE_I4, TYPE_U1, N_TYPES } npy_type;

static const struct {
    const char *descr;
    size_t bytes;
} types[N_TYPES] = {{"<f8", 8}, {"<f4", 4}, {"<i8", 8}, {"<i4", 4}, {"|u1", 1}};

/* ---- the header ----------------------------------------------------------------------------- */

static hb_status npy_read_header(hb_context *context, const char *path, FILE *file, char *header)
{
    unsigned char start[12];
    HB_CHECK(context, fread(start, 1, 10, file) == 10 && !memcmp(start, "\x93NUMPY", 6),
             HB_ERROR_FORMAT, "%s is not a .npy file: it does not open with \\x93NUMPY", path);
    HB_CHECK(context, start[6] >= 1 && start[6] <= 3, HB_ERROR_FORMAT,
             "%s is a .npy file of version %d; versions 1 to 3 are known", path, start[6]);
    size_t length = (size_t)start[8] | (size_t)start[9] << 8;
    if (start[6] > 1) {
        HB_CHECK(context, fread(start + 10, 1, 2, file) == 2, HB_ERROR_FORMAT,
                 "%s is cut short in its header", path);
        length |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
    }
    HB_CHECK(context, length < MAX_HEADER, HB_ERROR_FORMAT,
             "%s: its header has %zu bytes; at most %d are allowed", path, length, MAX_HEADER - 1);
    HB_CHECK(context, fread(header, 1, length, file) == length, HB_ERROR_FORMAT,
             "%s is cut short in its header", path);
    header[length] = '\0';
    return HB_OK;
}

/* What follows 'key': in the header, or NULL. */
static const char *value_of(const char *header, const char *key)
{
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, "'\" ");
    if (*at != ':') return NULL;
    return at + 1 + strspn(at + 1, " ");
}

static hb_status npy_parse_type(hb_context *context, const char *path, const char *header,
                                npy_type *type)
{
    const char *descr = value_of(header, "descr");
    HB_CHECK(context, descr && (*descr == '\'' || *descr == '"'), HB_ERROR_FORMAT,
             "%s: its values are records or its header has no descr; plain numbers are needed",
             path);
    const int length = (int)strcspn(descr + 1, "'\"");
    for (int i = 0; i < N_TYPES; i++) {
        *type = (npy_type)i;
        if (length == 3 && !strncmp(descr + 1, types[i].descr, 3)) return HB_OK;
    }
    return hb_fail(context, HB_ERROR_FORMAT,
                   "%s holds values of type %.*s; it must be <f8, <f4, <i8, <i4 or |u1", path,
                   length, descr + 1);
}

static hb_status npy_parse_shape(hb_context *context, const char *path, const char *header,
                                 int *n_axes, uint64_t *shape)
{
    const char *at = value_of(header, "shape");
    HB_CHECK(context, at && *at == '(', HB_ERROR_FORMAT, "%s: its header has no shape", path);
    *n_axes = 0;
    for (int i = 0; i < HB_TABLE_AXES; i++) shape[i] = 1;
    for (at++; *at != ')'; at += strspn(at, " ,")) {
        char *end;
        errno = 0;
        const uint64_t length = strtoull(at, &end, 10);
        HB_CHECK(context, *at >= '0' && *at <= '9' && end != at && errno == 0, HB_ERROR_FORMAT,
                 "%s: its shape cannot be read", path);
        HB_CHECK(context, *n_axes < HB_TABLE_AXES, HB_ERROR_FORMAT,
                 "%s has more than %d axes; it must have 1 to %d", path, HB_TABLE_AXES,
                 HB_TABLE_AXES);
        shape[(*n_axes)++] = length;
        at = end;
    }
    HB_CHECK(context, *n_axes >= 1, HB_ERROR_FORMAT, "%s has 0 axes; it must have 1 to %d", path,
             HB_TABLE_AXES);
    return HB_OK;
}

static hb_status npy_parse_header(hb_context *context, const char *path, const char *header,
                                  npy_type *type, int *n_axes, uint64_t *shape)
{
    HB_TRY(npy_parse_type(context, path, header, type));
    const char *order = value_of(header, "fortran_order");
    HB_CHECK(context, order, HB_ERROR_FORMAT, "%s: its header has no fortran_order", path);
    HB_TRY(npy_parse_shape(context, path, header, n_axes, shape));
    HB_CHECK(context, !strncmp(order, "False", 5) || *n_axes == 1, HB_ERROR_FORMAT,
             "%s is in Fortran order; save it with numpy.ascontiguousarray", path);
    return HB_OK;
}

/* ---- the values ----------------------------------------------------------------------------- */

static hb_status npy_count(hb_context *context, const char *path, FILE *file, size_t bytes,
                           const uint64_t *shape, size_t *count)
{
    uint64_t n = 1;
    for (int i = 0; i < HB_TABLE_AXES; i++) {
        HB_CHECK(context, shape[i] == 0 || n <= (uint64_t)INT64_MAX / 8 / shape[i], HB_ERROR_FORMAT,
                 "%s: its shape needs more than 2^63 bytes", path);
        n *= shape[i];
    }
    struct stat info;
    if (fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode)) {
        const uint64_t here = (uint64_t)ftell(file), size = (uint64_t)info.st_size;
        HB_CHECK(context, size >= here && (size - here) / bytes >= n, HB_ERROR_FORMAT,
                 "%s is cut short: its header promises %llu values, it has %llu", path,
                 (unsigned long long)n, (unsigned long long)((size - here) / bytes));
    }
    *count = (size_t)n;
    return HB_OK;
}

static void npy_widen(npy_type type, size_t n, const unsigned char *raw, double *out)
{
    for (size_t i = 0; i < n; i++) {
        float f;
        int64_t i8;
        int32_t i4;
        switch (type) {
        case TYPE_F4: out[i] = (memcpy(&f, raw + 4 * i, 4), (double)f); break;
        case TYPE_I8: out[i] = (memcpy(&i8, raw + 8 * i, 8), (double)i8); break;
        case TYPE_I4: out[i] = (memcpy(&i4, raw + 4 * i, 4), (double)i4); break;
        case TYPE_U1: out[i] = raw[i]; break;
        default: memcpy(out + i, raw + 8 * i, 8);
        }
    }
}

static hb_status npy_read_values(hb_context *context, const char *path, FILE *file, npy_type type,
                                 size_t count, double *values)
{
    unsigned char raw[BLOCK_VALUES * 8];
    for (size_t done = 0; done < count;) {
        const size_t want = count - done < BLOCK_VALUES ? count - done : BLOCK_VALUES;
        const size_t got = fread(raw, types[type].bytes, want, file);
        if (ferror(file)) return hb_input_failed(context, path);
        HB_CHECK(context, got == want, HB_ERROR_FORMAT,
                 "%s is cut short: its header promises %zu values, it has %zu", path, count,
                 done + got);
        npy_widen(type, want, raw, values + done);
        done += want;
    }
    return HB_OK;
}

hb_status hb_npy_read(hb_context *context, const char *path, FILE *file, int *n_axes,
                      uint64_t *shape, double **values)
{
    char header[MAX_HEADER];
    npy_type type;
    size_t count;
    const hb_status begun = npy_read_header(context, path, file, header);
    if (begun != HB_OK) return ferror(file) ? hb_input_failed(context, path) : begun;
    HB_TRY(npy_parse_header(context, path, header, &type, n_axes, shape));
    HB_TRY(npy_count(context, path, file, types[type].bytes, shape, &count));
    void *memory;
    HB_TRY(hb_allocate(context, count, sizeof(double), &memory));
    const hb_status status = npy_read_values(context, path, file, type, count, memory);
    if (status == HB_OK) *values = memory;
    if (status != HB_OK) hb_release(context, memory);
    return status;
}

/* ---- any table ------------------------------------------------------------------------------ */

hb_status hb_table_read(hb_context *context, const char *path, int *n_axes, uint64_t shape[4],
                        double **values)
{
    return hb_table_read_named(context, path, n_axes, shape, values, NULL);
}

hb_status hb_table_read_named(hb_context *context, const char *path, int *n_axes, uint64_t shape[4],
                              double **values, char **names)
{
    if (values) *values = NULL;
    if (names) *names = NULL;
    HB_CHECK(context, path && path[0] && n_axes && shape && values, HB_ERROR_ARGUMENT,
             "the path or an output of a table to read is empty");
    const char *end = strrchr(path, '.');
    const int npy = end && !strcasecmp(end, ".npy"), csv = end && !strcasecmp(end, ".csv");
    HB_CHECK(context, npy || csv, HB_ERROR_FORMAT,
             "%s is neither .npy nor .csv; the end of the name says how to read a file", path);
    FILE *file;
    HB_TRY(hb_input_open(context, path, &file));
    const hb_status status = npy ? hb_npy_read(context, path, file, n_axes, shape, values)
                                 : hb_csv_read(context, path, file, n_axes, shape, values, names);
    fclose(file);
    return status;
}
