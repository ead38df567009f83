/* NumPy's .npz: a ZIP file (APPNOTE.TXT of PKWARE, 6.3) of .npy files, stored as they are.
 *
 *     for each array   PK 3 4, its CRC-32, its name "t.npy", then the .npy itself
 *     at the end       PK 1 2 for each array: the same once more, with the offset of the first
 *                      PK 6 6, PK 6 7, PK 5 6: how many there are, and where
 * All sizes and offsets stand in the 64-bit fields (zip64, extra field 1), whatever they are, so
 * that there is one form and no limit. The date is 1 January 1980, the first that a ZIP knows:
 * the same numbers are the same bytes. A number to reproduce: the CRC-32 of "123456789" is
 * cbf43926. */
#include "base/context.h"
#include "base/memory.h"
#include "file/table.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum {
    MOST_ARRAYS = 4096,
    NAME = 64,
    VERSION = 45,    /* of the format, for zip64 */
    DAY_ONE = 0x0021 /* 1980-01-01 */
};
static const uint32_t IN_EXTRA = 0xffffffff;

typedef struct npz_entry {
    char name[NAME];
    uint32_t crc;
    uint64_t bytes, offset;
} npz_entry;

struct hb_npz {
    hb_context *context;
    hb_writer *writer;
    uint64_t place;   /* bytes written */
    hb_status status; /* of the first array that failed: then there is no file */
    int n, capacity;
    npz_entry *entries; // (capacity)
};

hb_status hb_npz_create(hb_context *context, const char *path, hb_npz **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of hb_npz_create is NULL");
    *out = NULL;
    hb_npz *npz;
    HB_TRY(HB_NEW_CLEARED(context, npz, 1));
    npz->context = context;
    const hb_status status = hb_writer_create(context, path, &npz->writer);
    if (status != HB_OK) hb_release(context, npz);
    *out = status == HB_OK ? npz : NULL;
    return status;
}

/* ---- records: little-endian numbers one after the other ---- */

typedef struct record {
    size_t used;
    unsigned char bytes[128 + NAME];
} record;

typedef struct field {
    int width; /* bytes */
    uint64_t value;
} field;

/* Fields up to one of width 0. */
static void record_put(record *r, const field *f)
{
    for (; f->width; f++)
        for (int k = 0; k < f->width; k++) r->bytes[r->used++] = (unsigned char)(f->value >> 8 * k);
}

static void record_put_text(record *r, const char *text)
{
    memcpy(r->bytes + r->used, text, strlen(text));
    r->used += strlen(text);
}

static hb_status npz_write(hb_npz *npz, size_t bytes, const void *data)
{
    npz->place += bytes;
    return hb_writer_write(npz->writer, bytes, data);
}

/* What the two headers of an array share, from the version to the length of the name. */
static void record_put_entry(record *r, const npz_entry *entry)
{
    record_put(r, (field[]){{2, VERSION},
                            {2, 0}, /* flags */
                            {2, 0}, /* stored */
                            {2, 0},
                            {2, DAY_ONE},
                            {4, entry->crc},
                            {4, IN_EXTRA},
                            {4, IN_EXTRA},
                            {2, strlen(entry->name)},
                            {0}});
}

static hb_status npz_write_local(hb_npz *npz, const npz_entry *entry)
{
    record r = {0};
    record_put(&r, (field[]){{4, 0x04034b50}, {0}});
    record_put_entry(&r, entry);
    record_put(&r, (field[]){{2, 20}, {0}}); /* of the extra field */
    record_put_text(&r, entry->name);
    record_put(&r, (field[]){{2, 1}, {2, 16}, {8, entry->bytes}, {8, entry->bytes}, {0}});
    return npz_write(npz, r.used, r.bytes);
}

static hb_status npz_write_central(hb_npz *npz, const npz_entry *entry)
{
    const uint64_t bytes = entry->bytes;
    record r = {0};
    record_put(&r, (field[]){{4, 0x02014b50}, {2, VERSION}, {0}});
    record_put_entry(&r, entry);
    /* extra field, comment, disk, attributes, offset */
    record_put(&r, (field[]){{2, 28}, {2, 0}, {2, 0}, {2, 0}, {4, 0}, {4, IN_EXTRA}, {0}});
    record_put_text(&r, entry->name);
    record_put(&r, (field[]){{2, 1}, {2, 24}, {8, bytes}, {8, bytes}, {8, entry->offset}, {0}});
    return npz_write(npz, r.used, r.bytes);
}

static hb_status npz_write_end(hb_npz *npz, uint64_t start)
{
    const uint64_t end = npz->place, n = (uint64_t)npz->n;
    record r = {0};
    record_put(
        &r, (field[]){{4, 0x06064b50}, {8, 44}, {2, VERSION}, {2, VERSION}, {4, 0}, {4, 0}, {0}});
    record_put(&r, (field[]){{8, n}, {8, n}, {8, end - start}, {8, start}, {0}});
    record_put(&r, (field[]){{4, 0x07064b50}, {4, 0}, {8, end}, {4, 1}, {0}});
    record_put(&r, (field[]){{4, 0x06054b50}, {2, 0}, {2, 0}, {2, n}, {2, n}, {0}});
    record_put(&r, (field[]){{4, IN_EXTRA}, {4, IN_EXTRA}, {2, 0}, {0}});
    return npz_write(npz, r.used, r.bytes);
}

/* ---- arrays ---- */

static hb_status npz_check(hb_npz *npz, const char *name, int n_axes, const uint64_t *shape,
                           const double *values, uint64_t *count)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    HB_CHECK(
        npz->context,
        name && name[0] && name[0] != '.' && strlen(name) + 5 <= NAME &&
            strspn(name, letters) == strlen(name),
        HB_ERROR_ARGUMENT,
        "the name of an array is '%.60s'; it must be 1 to %d letters, digits, '_', '-' and '.', "
        "and not begin with '.'",
        name ? name : "", NAME - 5);
    for (int k = 0; k < npz->n; k++)
        HB_CHECK(npz->context,
                 strncmp(npz->entries[k].name, name, strlen(name)) != 0 ||
                     strcmp(npz->entries[k].name + strlen(name), ".npy") != 0,
                 HB_ERROR_ARGUMENT, "the array %s is given twice", name);
    HB_CHECK(npz->context, n_axes >= 0 && n_axes <= 32 && (shape || n_axes == 0), HB_ERROR_ARGUMENT,
             "n_axes is %d; it must be 0 to 32", n_axes);
    *count = 1;
    for (int a = 0; a < n_axes; a++) {
        HB_CHECK(npz->context, shape[a] == 0 || *count <= INT64_MAX / 8 / shape[a],
                 HB_ERROR_ARGUMENT, "the array %s needs more than 2^63 bytes", name);
        *count *= shape[a];
    }
    HB_CHECK(npz->context, values || *count == 0, HB_ERROR_ARGUMENT, "the array %s is NULL", name);
    return HB_OK;
}

static hb_status npz_next_entry(hb_npz *npz, npz_entry **out)
{
    HB_CHECK(npz->context, npz->n < MOST_ARRAYS, HB_ERROR_ARGUMENT,
             "a .npz file has at most %d arrays here", MOST_ARRAYS);
    if (npz->n == npz->capacity) {
        const int capacity = npz->capacity ? 2 * npz->capacity : 16;
        void *memory;
        HB_TRY(hb_allocate(npz->context, (size_t)capacity, sizeof(npz_entry), &memory));
        if (npz->n > 0) memcpy(memory, npz->entries, (size_t)npz->n * sizeof(npz_entry));
        hb_release(npz->context, npz->entries);
        npz->entries = memory;
        npz->capacity = capacity;
    }
    *out = &npz->entries[npz->n++];
    return HB_OK;
}

static hb_status npz_add(hb_npz *npz, int n_axes, const char *name, const uint64_t *shape,
                         const double *values)
{
    char header[HB_NPY_HEADER];
    uint64_t count;
    npz_entry *entry;
    HB_TRY(npz_check(npz, name, n_axes, shape, values, &count));
    HB_TRY(npz_next_entry(npz, &entry));
    const size_t head = hb_npy_header(HB_DTYPE_F64, n_axes, shape, header);
    const size_t body = (size_t)count * sizeof(double);
    *entry = (npz_entry){.bytes = head + body, .offset = npz->place};
    snprintf(entry->name, sizeof entry->name, "%s.npy", name);
    uLong crc = crc32_z(0, (const Bytef *)header, head);
    if (body > 0) crc = crc32_z(crc, (const Bytef *)values, body);
    entry->crc = (uint32_t)crc;
    HB_TRY(hb_writer_reserve(npz->writer, entry->bytes));
    HB_TRY(npz_write_local(npz, entry));
    HB_TRY(npz_write(npz, head, header));
    return body > 0 ? npz_write(npz, body, values) : HB_OK;
}

hb_status hb_npz_add(hb_npz *npz, int n_axes, const char *name, const uint64_t *shape,
                     const double *values)
{
    if (!npz) return HB_ERROR_ARGUMENT;
    const hb_status status = npz_add(npz, n_axes, name, shape, values);
    if (npz->status == HB_OK) npz->status = status;
    return status;
}

/* ---- the end ---- */

static void npz_release(hb_npz *npz)
{
    hb_context *context = npz->context;
    hb_release(context, npz->entries);
    hb_release(context, npz);
}

hb_status hb_npz_commit(hb_npz *npz)
{
    if (!npz) return HB_OK;
    const uint64_t start = npz->place;
    hb_status status = npz->status;
    for (int k = 0; k < npz->n && status == HB_OK; k++)
        status = npz_write_central(npz, &npz->entries[k]);
    if (status == HB_OK) status = npz_write_end(npz, start);
    status = hb_writer_close(npz->writer, status);
    npz_release(npz);
    return status;
}

void hb_npz_abort(hb_npz *npz)
{
    if (!npz) return;
    hb_writer_abort(npz->writer);
    npz_release(npz);
}
