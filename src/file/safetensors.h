/* file/safetensors.h: named arrays of numbers with text about them in one file (.safetensors).
 *
 *     8 bytes       length H of the header, little-endian
 *     H bytes       JSON: {"__metadata__": {key: text, ...},
 *                     name: {"dtype": "F32", "shape": [3, 5], "data_offsets": [first, end]}, ...}
 *     the rest      the arrays, little-endian, row by row, without gaps
 * F32 and F64 are known here, and F16 for arrays that are floats in memory. */
#pragma once

#include <heatball/file.h>

typedef struct hb_tensor {
    const char *name;
    hb_dtype dtype;
    int axes; /* 1 or 2 */
    uint64_t shape[2];
    const void *data;
    int half; /* 1: floats that the file keeps as F16, to the nearest (file/half.h) */
} hb_tensor;

typedef struct hb_metadata {
    const char *key, *value; /* UTF-8 */
} hb_metadata;

hb_status hb_safetensors_write(hb_context *context, const char *path, size_t n_metadata,
                               const hb_metadata *metadata, size_t n_tensors,
                               const hb_tensor *tensors);

typedef struct hb_safetensors hb_safetensors;

/* Reads the whole file and checks it: HB_ERROR_PATH when it cannot be opened, HB_ERROR_FORMAT, with
 * the reason, when it is something else, cut short or damaged. */
hb_status hb_safetensors_read(hb_context *context, const char *path, hb_safetensors **out);
void hb_safetensors_destroy(hb_safetensors *file);
/* HB_ERROR_FORMAT unless the text `format` is "heatball WHAT 2", which must have the check sum
 * of the whole file, or "heatball WHAT 1", from before there was one. */
hb_status hb_safetensors_format(hb_context *context, const hb_safetensors *file, const char *what);
const char *hb_safetensors_path(const hb_safetensors *file);
const char *hb_safetensors_text(const hb_safetensors *file, const char *key); /* NULL: not there */
/* The array of this name, dtype and number of values, copied to values; HB_ERROR_FORMAT when it is
 * not there, is another or has a value that is not finite. An array of F16 is read as F32. */
hb_status hb_safetensors_copy(hb_context *context, const hb_safetensors *file, const char *name,
                              hb_dtype dtype, uint64_t count, void *values);
/* Its number of values; 0 when there is none. */
uint64_t hb_safetensors_count(const hb_safetensors *file, const char *name);
/* Whether the file keeps it as F16. */
int hb_safetensors_half(const hb_safetensors *file, const char *name);
