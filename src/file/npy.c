/* NumPy's .npy format, version 1.0 (numpy.lib.format; NEP 1).
 *
 *     bytes 0..5   93 'N' 'U' 'M' 'P' 'Y'
 *     bytes 6, 7   version 1, 0
 *     bytes 8, 9   length of the header text, little-endian
 *     then         {'descr': '<f8', 'fortran_order': False, 'shape': (3, 5), } spaces, newline
 * The spaces fill up to a multiple of 64 bytes, so that the data that follows is aligned for any
 * vector load from a memory map. Must reproduce: 128 bytes for float64 (200000, 8). */
#include "base/context.h"
#include "file/table.h"
#include "file/writer.h"

#include <stdio.h>
#include <string.h>

enum { PREFIX = 10, ALIGNMENT = 64, MAX_AXES = 32, HEADER = HB_NPY_HEADER - ALIGNMENT };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values are written as they are in memory");

/* Appends the shape as a Python tuple, (), (3,) or (3, 5); returns the new length. */
static int append_shape(char *text, int length, int n_axes, const uint64_t *shape)
{
    length += snprintf(text + length, (size_t)(HEADER - length), "(");
    for (int i = 0; i < n_axes; i++) {
        const char *comma = n_axes == 1 ? "," : i + 1 < n_axes ? ", " : "";
        length += snprintf(text + length, (size_t)(HEADER - length), "%llu%s",
                           (unsigned long long)shape[i], comma);
    }
    return length + snprintf(text + length, (size_t)(HEADER - length), ")");
}

static hb_status count_bytes(hb_context *context, hb_dtype dtype, int n_axes, const uint64_t *shape,
                             uint64_t *bytes)
{
    *bytes = dtype == HB_DTYPE_F64 ? 8 : 4;
    for (int i = 0; i < n_axes; i++) {
        HB_CHECK(context, shape[i] == 0 || *bytes <= INT64_MAX / shape[i], HB_ERROR_ARGUMENT,
                 "the shape of the array needs more than 2^63 bytes");
        *bytes *= shape[i];
    }
    return HB_OK;
}

size_t hb_npy_header(hb_dtype dtype, int n_axes, const uint64_t *shape, char *header)
{
    static const char start[PREFIX] = "\x93NUMPY\x01";
    memset(header, 0, HB_NPY_HEADER);
    memcpy(header, start, sizeof start);
    int length = PREFIX + snprintf(header + PREFIX, HEADER - PREFIX,
                                   "{'descr': '%s', 'fortran_order': False, 'shape': ",
                                   dtype == HB_DTYPE_F64 ? "<f8" : "<f4");
    length = append_shape(header, length, n_axes, shape);
    length += snprintf(header + length, (size_t)(HEADER - length), ", }");
    const int total = (length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(header + length, ' ', (size_t)(total - length - 1));
    header[total - 1] = '\n';
    header[8] = (char)((total - PREFIX) & 0xff);
    header[9] = (char)((total - PREFIX) >> 8);
    return (size_t)total;
}

hb_status hb_writer_npy_begin(hb_writer *writer, hb_dtype dtype, int n_axes, const uint64_t *shape)
{
    hb_context *context = hb_writer_context(writer);
    HB_CHECK(context, dtype == HB_DTYPE_F64 || dtype == HB_DTYPE_F32, HB_ERROR_ARGUMENT,
             "dtype is %d; it must be HB_DTYPE_F64 or HB_DTYPE_F32", (int)dtype);
    HB_CHECK(context, n_axes >= 0 && n_axes <= MAX_AXES && (shape || n_axes == 0),
             HB_ERROR_ARGUMENT, "n_axes is %d; it must be 0 to %d", n_axes, MAX_AXES);
    uint64_t bytes;
    HB_TRY(count_bytes(context, dtype, n_axes, shape, &bytes));
    char header[HB_NPY_HEADER];
    const size_t total = hb_npy_header(dtype, n_axes, shape, header);
    HB_TRY(hb_writer_write(writer, total, header));
    return hb_writer_expect(writer, bytes);
}
