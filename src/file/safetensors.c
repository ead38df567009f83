/* Writing and reading .safetensors (the format of Hugging Face's library of that name, version
 * 0.4).
 *
 * A file is trusted in nothing: the header's length is compared with the file's before memory is
 * asked for, every array must lie inside the file and have the bytes that its shape says, and
 * the arrays together must cover the data without gap or overlap, which the format demands. Then
 * the file cannot have been cut or lengthened. Files written here have among their texts
 * `checksum`, the sum (base/checksum.h, 16 hexadecimal digits) of all bytes of the file, length,
 * header and arrays, with the digits themselves taken as zeros, so that a changed bit is seen
 * wherever it is. Files of version 0.1 have `crc32`, of the arrays alone. Whoever reads a file
 * says whether it must have a sum (hb_safetensors_format). JSON is jansson's; names that occur
 * twice are refused. Must reproduce: one array {1, 2} of F32 named "a" has "shape":[2] and 8
 * bytes of data. */
#include "file/safetensors.h"
#include "base/checksum.h"
#include "base/context.h"
#include "base/memory.h"
#include "file/half.h"
#include "file/input.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values are stored as they are in memory");

enum { MAX_HEADER_BYTES = 1 << 26, HEADER_ALIGNMENT = 8, SUM_DIGITS = 16, CRC_DIGITS = 8 };

static const char SUM_KEY[] = "checksum", NO_SUM[] = "0000000000000000", CRC_KEY[] = "crc32";

static const char *const dtype_names[] = {[HB_DTYPE_F64] = "F64", [HB_DTYPE_F32] = "F32"};

static size_t bytes_of(hb_dtype dtype, int half)
{
    if (half) return 2;
    return dtype == HB_DTYPE_F64 ? 8 : 4;
}

static const char *name_of(hb_dtype dtype, int half)
{
    return half ? "F16" : dtype_names[dtype];
}

/* ---- writing ---- */

static uint64_t tensor_bytes(const hb_tensor *tensor)
{
    return tensor->shape[0] * (tensor->axes == 2 ? tensor->shape[1] : 1) *
           bytes_of(tensor->dtype, tensor->half);
}

/* Hands the bytes of the array in the file to `take`, in pieces when they have to be made. */
static hb_status give_bytes(const hb_tensor *tensor,
                            hb_status (*take)(void *user, const void *bytes, size_t size),
                            void *user)
{
    enum { PIECE = 4096 };
    if (!tensor->half) return take(user, tensor->data, tensor_bytes(tensor));
    const float *value = tensor->data;
    uint16_t piece[PIECE];
    size_t left = tensor_bytes(tensor) / sizeof *piece;
    while (left > 0) {
        const size_t n = left < PIECE ? left : PIECE;
        for (size_t i = 0; i < n; i++) piece[i] = hb_half_of(value[i]);
        HB_TRY(take(user, piece, n * sizeof *piece));
        value += n;
        left -= n;
    }
    return HB_OK;
}

static json_t *shape_json(const hb_tensor *tensor)
{
    json_t *shape = json_array();
    int failed = !shape;
    for (int i = 0; i < tensor->axes; i++)
        failed |= json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i])) != 0;
    if (!failed) return shape;
    json_decref(shape);
    return NULL;
}

/* NULL: no memory. */
static json_t *tensor_json(const hb_tensor *tensor, uint64_t first)
{
    const json_int_t begin = (json_int_t)first, size = (json_int_t)tensor_bytes(tensor);
    json_t *shape = shape_json(tensor);
    if (!shape) return NULL;
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", name_of(tensor->dtype, tensor->half), "shape",
                     shape, "data_offsets", begin, begin + size);
}

/* The texts, and the sum as zeros; NULL: no memory. */
static json_t *texts_json(size_t n, const hb_metadata *metadata)
{
    json_t *about = json_object();
    int failed = !about;
    for (size_t i = 0; i < n; i++)
        failed |= json_object_set_new(about, metadata[i].key, json_string(metadata[i].value)) != 0;
    failed |= json_object_set_new(about, SUM_KEY, json_string(NO_SUM)) != 0;
    if (!failed) return about;
    json_decref(about);
    return NULL;
}

/* NULL: no memory. */
static json_t *header_json(size_t n_metadata, const hb_metadata *metadata, size_t n_tensors,
                           const hb_tensor *tensors)
{
    json_t *header = json_object();
    uint64_t first = 0;
    int failed = json_object_set_new(header, "__metadata__", texts_json(n_metadata, metadata)) != 0;
    for (size_t i = 0; i < n_tensors; i++) {
        failed |=
            json_object_set_new(header, tensors[i].name, tensor_json(&tensors[i], first)) != 0;
        first += tensor_bytes(&tensors[i]);
    }
    if (!failed) return header;
    json_decref(header);
    return NULL;
}

/* The text of the header, without its padding. jansson's json_dumps forgets keys for which it
 * had no memory (2.14); json_dumpb writes where it is told. */
static hb_status header_text(hb_context *context, const char *path, json_t *header, char **out)
{
    const size_t flags = JSON_COMPACT | JSON_PRESERVE_ORDER;
    const size_t size = header ? json_dumpb(header, NULL, 0, flags) : 0;
    HB_CHECK(context, size > 0, HB_ERROR_MEMORY, "no memory for the header of %s", path);
    HB_TRY(HB_NEW(context, *out, size + 1));
    (*out)[size] = '\0';
    HB_CHECK(context, json_dumpb(header, *out, size, flags) == size, HB_ERROR_MEMORY,
             "no memory for the header of %s", path);
    return HB_OK;
}

/* Where the digits of the sum are in a header, whose text they are; NULL: nowhere. A text of the
 * file cannot look like this: its quotation marks are escaped. */
static char *find_digits(char *header, size_t length, const char *digits)
{
    char pattern[32 + SUM_DIGITS];
    const int lead = snprintf(pattern, sizeof pattern, "\"%s\":\"", SUM_KEY);
    if (strlen(digits) != SUM_DIGITS) return NULL;
    snprintf(pattern + lead, sizeof pattern - (size_t)lead, "%s\"", digits);
    char *at = memmem(header, length, pattern, strlen(pattern));
    return at ? at + lead : NULL;
}

static void sum_text(uint64_t sum, char *digits)
{
    char text[SUM_DIGITS + 1];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)sum);
    memcpy(digits, text, SUM_DIGITS);
}

static hb_status add_to_sum(void *sum, const void *bytes, size_t size)
{
    *(uint64_t *)sum = hb_checksum(*(uint64_t *)sum, bytes, size);
    return HB_OK;
}

static hb_status tensors_write_bytes(void *writer, const void *bytes, size_t size)
{
    return hb_writer_write(writer, size, bytes);
}

/* The file's bytes in their order; header: padded with blanks, so that the arrays start on a
 * multiple of 8 bytes. */
static hb_status give_file(const char *header, uint64_t length, size_t n_tensors,
                           const hb_tensor *tensors,
                           hb_status (*take)(void *user, const void *bytes, size_t size),
                           void *user)
{
    const uint64_t padded = (length + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT;
    HB_TRY(take(user, &padded, sizeof padded));
    HB_TRY(take(user, header, length));
    HB_TRY(take(user, "        ", padded - length));
    for (size_t i = 0; i < n_tensors; i++) HB_TRY(give_bytes(&tensors[i], take, user));
    return HB_OK;
}

/* Puts the sum in the place of its zeros. */
static hb_status tensors_seal(hb_context *context, char *header, size_t n_tensors,
                              const hb_tensor *tensors)
{
    uint64_t sum = HB_CHECKSUM_START;
    char *digits = find_digits(header, strlen(header), NO_SUM);
    HB_CHECK(context, digits, HB_ERROR_FORMAT, "the header has no place for its check sum");
    HB_TRY(give_file(header, strlen(header), n_tensors, tensors, add_to_sum, &sum));
    sum_text(sum, digits);
    return HB_OK;
}

static hb_status tensors_write_file(hb_context *context, const char *path, const char *header,
                                    size_t n_tensors, const hb_tensor *tensors)
{
    hb_writer *writer;
    HB_TRY(hb_writer_create(context, path, &writer));
    const hb_status status =
        give_file(header, strlen(header), n_tensors, tensors, tensors_write_bytes, writer);
    return hb_writer_close(writer, status);
}

hb_status hb_safetensors_write(hb_context *context, const char *path, size_t n_metadata,
                               const hb_metadata *metadata, size_t n_tensors,
                               const hb_tensor *tensors)
{
    json_t *json = header_json(n_metadata, metadata, n_tensors, tensors);
    char *header = NULL;
    hb_status status = header_text(context, path, json, &header);
    json_decref(json);
    if (status == HB_OK) status = tensors_seal(context, header, n_tensors, tensors);
    if (status == HB_OK) status = tensors_write_file(context, path, header, n_tensors, tensors);
    hb_release(context, header);
    return status;
}

/* ---- reading ---- */

typedef struct found_tensor {
    const char *name;
    hb_dtype dtype; /* in memory: F32 for the F16 of a file */
    int half;
    uint64_t first, count;
} found_tensor;

static uint64_t bytes_of_found(const found_tensor *tensor)
{
    return tensor->count * bytes_of(tensor->dtype, tensor->half);
}

struct hb_safetensors {
    hb_context *context;
    char *path;
    json_t *header;
    unsigned char *data; // (bytes)
    uint64_t bytes;
    found_tensor *tensors; // (n_tensors)
    size_t n_tensors;
};

void hb_safetensors_destroy(hb_safetensors *file)
{
    if (!file) return;
    json_decref(file->header);
    hb_release(file->context, file->data);
    hb_release(file->context, file->tensors);
    hb_release(file->context, file->path);
    hb_release(file->context, file);
}

static hb_status tensors_read_bytes(hb_safetensors *file, FILE *stream, char **header,
                                    uint64_t *length)
{
    hb_context *context = file->context;
    struct stat about;
    HB_CHECK(context, fstat(fileno(stream), &about) == 0 && S_ISREG(about.st_mode), HB_ERROR_FORMAT,
             "%s is not a regular file", file->path);
    const uint64_t size = (uint64_t)about.st_size;
    HB_CHECK(context, size > 8 && fread(length, 8, 1, stream) == 1 && *length >= 2, HB_ERROR_FORMAT,
             "%s is not a .safetensors file: it is too short", file->path);
    HB_CHECK(context, *length <= MAX_HEADER_BYTES, HB_ERROR_FORMAT,
             "%s is not a .safetensors file: its first 8 bytes are no length of a header",
             file->path);
    HB_CHECK(context, *length <= size - 8, HB_ERROR_FORMAT, "%s is cut short in its header",
             file->path);
    HB_TRY(HB_NEW(context, *header, *length));
    file->bytes = size - 8 - *length;
    HB_TRY(HB_NEW(context, file->data, file->bytes));
    HB_CHECK(context,
             fread(*header, 1, *length, stream) == *length &&
                 fread(file->data, 1, file->bytes, stream) == file->bytes,
             HB_ERROR_FILE, "%s: reading failed", file->path);
    return HB_OK;
}

static hb_status tensors_parse_header(hb_safetensors *file, const char *header, uint64_t length)
{
    json_error_t error;
    file->header = json_loadb(header, length, JSON_REJECT_DUPLICATES, &error);
    HB_CHECK(file->context, file->header, HB_ERROR_FORMAT,
             "%s: its header is not JSON (%s at byte %d)", file->path, error.text, error.position);
    HB_CHECK(file->context, json_is_object(file->header), HB_ERROR_FORMAT,
             "%s: its header is not a JSON object", file->path);
    const char *key;
    json_t *value, *about = json_object_get(file->header, "__metadata__");
    HB_CHECK(file->context, !about || json_is_object(about), HB_ERROR_FORMAT,
             "%s: its __metadata__ is not an object", file->path);
    json_object_foreach(about, key, value)
        HB_CHECK(file->context, json_is_string(value), HB_ERROR_FORMAT,
                 "%s: metadata %s is not a text", file->path, key);
    return HB_OK;
}

/* Product of the shape's lengths; HB_ERROR_FORMAT when one is no whole number or the product is
 * large. */
static hb_status tensors_count(const hb_safetensors *file, const char *name, const json_t *shape,
                               uint64_t *count)
{
    *count = 1;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *length = json_array_get(shape, i);
        const json_int_t value = json_integer_value(length);
        HB_CHECK(file->context,
                 json_is_integer(length) && value >= 0 &&
                     (value == 0 || *count <= UINT64_MAX / 16 / (uint64_t)value),
                 HB_ERROR_FORMAT, "%s: the shape of %s cannot be read", file->path, name);
        *count *= (uint64_t)value;
    }
    return HB_OK;
}

static hb_status tensors_parse(const hb_safetensors *file, const char *name, json_t *entry,
                               found_tensor *out)
{
    hb_context *context = file->context;
    const char *dtype;
    json_t *shape;
    json_int_t first, end;
    HB_CHECK(context,
             json_unpack(entry, "{s:s, s:o, s:[I, I]}", "dtype", &dtype, "shape", &shape,
                         "data_offsets", &first, &end) == 0 &&
                 json_is_array(shape),
             HB_ERROR_FORMAT, "%s: the entry of %s has no dtype, shape or data_offsets", file->path,
             name);
    *out = (found_tensor){.name = name, .first = (uint64_t)first};
    out->half = !strcmp(dtype, "F16");
    out->dtype = !strcmp(dtype, "F64") ? HB_DTYPE_F64 : HB_DTYPE_F32;
    HB_CHECK(context, !strcmp(dtype, name_of(out->dtype, out->half)), HB_ERROR_FORMAT,
             "%s: %s holds values of type %s; F16, F32 and F64 are known", file->path, name, dtype);
    HB_TRY(tensors_count(file, name, shape, &out->count));
    HB_CHECK(context, first >= 0 && end >= first && (uint64_t)end <= file->bytes, HB_ERROR_FORMAT,
             "%s: %s ends at byte %lld of the data, which has %llu: the file was cut short",
             file->path, name, (long long)end, (unsigned long long)file->bytes);
    HB_CHECK(context, (uint64_t)(end - first) == bytes_of_found(out), HB_ERROR_FORMAT,
             "%s: %s has %lld bytes, but its shape needs %llu", file->path, name,
             (long long)(end - first), (unsigned long long)bytes_of_found(out));
    return HB_OK;
}

static int by_place(const void *a, const void *b)
{
    const found_tensor *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->count > 0) - (y->count > 0); /* empty ones first */
}

static hb_status tensors_parse_all(hb_safetensors *file)
{
    const char *key;
    json_t *entry;
    HB_TRY(HB_NEW(file->context, file->tensors, json_object_size(file->header) + 1));
    json_object_foreach(file->header, key, entry)
    {
        if (!strcmp(key, "__metadata__")) continue;
        HB_TRY(tensors_parse(file, key, entry, &file->tensors[file->n_tensors]));
        file->n_tensors++;
    }
    qsort(file->tensors, file->n_tensors, sizeof *file->tensors, by_place);
    uint64_t end = 0;
    for (size_t i = 0; i < file->n_tensors; i++) {
        const found_tensor *t = &file->tensors[i];
        HB_CHECK(file->context, t->first == end, HB_ERROR_FORMAT,
                 "%s: %s starts at byte %llu of the data, but the array before it ends at %llu",
                 file->path, t->name, (unsigned long long)t->first, (unsigned long long)end);
        end = t->first + bytes_of_found(t);
    }
    HB_CHECK(file->context, end == file->bytes, HB_ERROR_FORMAT,
             "%s: %llu bytes follow its last array", file->path,
             (unsigned long long)(file->bytes - end));
    return HB_OK;
}

static hb_status tensors_check_crc(const hb_safetensors *file, const char *expected)
{
    char found[CRC_DIGITS + 1];
    const uLong crc = crc32_z(crc32_z(0, NULL, 0), file->data, file->bytes);
    snprintf(found, sizeof found, "%08lx", crc & 0xfffffffful);
    HB_CHECK(file->context, !strcmp(expected, found), HB_ERROR_FORMAT,
             "%s is damaged: the CRC-32 of its arrays is %s; it was %.8s when it was written",
             file->path, found, expected);
    return HB_OK;
}

/* The digits in the header become zeros. */
static hb_status tensors_check_sum(const hb_safetensors *file, const char *expected, char *header,
                                   uint64_t length)
{
    char *digits = find_digits(header, length, expected), found[SUM_DIGITS + 1] = "";
    HB_CHECK(file->context, digits, HB_ERROR_FORMAT,
             "%s is damaged: its check sum '%.20s' is not as it was written", file->path, expected);
    memcpy(digits, NO_SUM, SUM_DIGITS);
    uint64_t sum = hb_checksum(HB_CHECKSUM_START, &length, sizeof length);
    sum = hb_checksum(sum, header, length);
    sum_text(hb_checksum(sum, file->data, file->bytes), found);
    HB_CHECK(file->context, !strcmp(expected, found), HB_ERROR_FORMAT,
             "%s is damaged: the check sum of its bytes is %s; it was %s when it was written",
             file->path, found, expected);
    return HB_OK;
}

static hb_status tensors_check_sums(const hb_safetensors *file, char *header, uint64_t length)
{
    const char *sum = hb_safetensors_text(file, SUM_KEY), *crc = hb_safetensors_text(file, CRC_KEY);
    if (sum) HB_TRY(tensors_check_sum(file, sum, header, length));
    return crc ? tensors_check_crc(file, crc) : HB_OK;
}

static hb_status tensors_read_all(hb_safetensors *file, FILE *stream)
{
    char *header = NULL;
    uint64_t length = 0;
    hb_status status = tensors_read_bytes(file, stream, &header, &length);
    if (status == HB_OK) status = tensors_parse_header(file, header, length);
    if (status == HB_OK) status = tensors_parse_all(file);
    if (status == HB_OK) status = tensors_check_sums(file, header, length);
    hb_release(file->context, header);
    return status;
}

hb_status hb_safetensors_read(hb_context *context, const char *path, hb_safetensors **out)
{
    hb_safetensors *file;
    HB_TRY(HB_NEW(context, file, 1));
    *file = (hb_safetensors){.context = context};
    hb_status status = hb_copy_string(context, path, &file->path);
    FILE *stream = NULL;
    if (status == HB_OK) status = hb_input_open(context, path, &stream);
    if (status == HB_OK) status = tensors_read_all(file, stream);
    if (stream) fclose(stream);
    if (status != HB_OK)
        hb_safetensors_destroy(file);
    else
        *out = file;
    return status;
}

const char *hb_safetensors_path(const hb_safetensors *file)
{
    return file->path;
}

const char *hb_safetensors_text(const hb_safetensors *file, const char *key)
{
    return json_string_value(json_object_get(json_object_get(file->header, "__metadata__"), key));
}

hb_status hb_safetensors_format(hb_context *context, const hb_safetensors *file, const char *what)
{
    char old[40], new[40];
    const char *format = hb_safetensors_text(file, "format");
    snprintf(old, sizeof old, "heatball %s 1", what);
    snprintf(new, sizeof new, "heatball %s 2", what);
    HB_CHECK(context, format && (!strcmp(format, old) || !strcmp(format, new)), HB_ERROR_FORMAT,
             "%s is not a %s of heatball: its metadata format is '%.40s', not '%s'", file->path,
             what, format ? format : "", new);
    HB_CHECK(context, !strcmp(format, old) || hb_safetensors_text(file, SUM_KEY), HB_ERROR_FORMAT,
             "%s is damaged: a file of format '%s' has a check sum, and it has none", file->path,
             format);
    return HB_OK;
}

static const found_tensor *tensors_find(const hb_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name)) return &file->tensors[i];
    return NULL;
}

uint64_t hb_safetensors_count(const hb_safetensors *file, const char *name)
{
    const found_tensor *tensor = tensors_find(file, name);
    return tensor ? tensor->count : 0;
}

int hb_safetensors_half(const hb_safetensors *file, const char *name)
{
    const found_tensor *tensor = tensors_find(file, name);
    return tensor && tensor->half;
}

static void copy_values(const hb_safetensors *file, const found_tensor *tensor, void *values)
{
    const unsigned char *from = file->data + tensor->first;
    if (!tensor->half) {
        memcpy(values, from, bytes_of_found(tensor));
        return;
    }
    float *out = values;
    for (uint64_t i = 0; i < tensor->count; i++) {
        uint16_t half;
        memcpy(&half, from + i * sizeof half, sizeof half);
        out[i] = hb_half_value(half);
    }
}

hb_status hb_safetensors_copy(hb_context *context, const hb_safetensors *file, const char *name,
                              hb_dtype dtype, uint64_t count, void *values)
{
    const found_tensor *tensor = tensors_find(file, name);
    HB_CHECK(context, tensor, HB_ERROR_FORMAT, "%s has no array %s", file->path, name);
    HB_CHECK(context, tensor->dtype == dtype, HB_ERROR_FORMAT,
             "%s: %s is of type %s; it must be %s", file->path, name,
             name_of(tensor->dtype, tensor->half), dtype_names[dtype]);
    HB_CHECK(context, tensor->count == count, HB_ERROR_FORMAT,
             "%s: %s has %llu values; it must have %llu", file->path, name,
             (unsigned long long)tensor->count, (unsigned long long)count);
    copy_values(file, tensor, values);
    for (uint64_t i = 0; i < count; i++) {
        const double value = dtype == HB_DTYPE_F64 ? ((const double *)values)[i]
                                                   : (double)((const float *)values)[i];
        HB_CHECK(context, isfinite(value), HB_ERROR_FORMAT,
                 "%s: value %llu of %s is %g; the file is damaged", file->path,
                 (unsigned long long)i + 1, name, value);
    }
    return HB_OK;
}
