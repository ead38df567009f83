/* base/sized.h: structs that can grow between a program and the library.
 *
 * A public struct only ever grows at its end. A program and the library may know different lengths
 * of it, so each passes its own: in `size`, the first field, where the library reads, and in the
 * argument before the pointer where it writes. What the program does not have keeps its default;
 * what the library does not know is refused. docs/reference/interface.md has the rules for users. */
#pragma once

#include "base/context.h"

#include <string.h>

/* Fills out[size] from the defaults[known] and sets its `size`. A size that no version had is kept
 * as it is, so that the struct is refused where it is used. */
void hb_sized_default(size_t known, const void *defaults, size_t size, void *out);
/* Copies what the caller has over the defaults in out[known]; given NULL: nothing.
 * HB_ERROR_ARGUMENT unless its `size` is oldest to known. */
hb_status hb_sized_read(hb_context *context, const char *type, size_t oldest, size_t known,
                        const void *given, void *out);
/* HB_ERROR_ARGUMENT unless out is there and size is oldest to known. */
hb_status hb_sized_check(hb_context *context, const char *type, size_t oldest, size_t known,
                         size_t size, const void *out);

/* type *out = the given settings, or the defaults. A type that has grown names its first length
 * instead of sizeof(type): offsetof of its first new field. */
#define HB_SIZED_READ(context, type, given, out)                                                   \
    HB_TRY((type##_default(sizeof(type), (out)),                                                   \
            hb_sized_read((context), #type, sizeof(type), sizeof(type), (given), (out))))
/* Refuses a result that cannot be written; then HB_SIZED_WRITE copies as much of it as the caller
 * has. */
#define HB_SIZED_CHECK(context, type, size, out)                                                   \
    HB_TRY(hb_sized_check((context), #type, sizeof(type), sizeof(type), (size), (out)))
#define HB_SIZED_WRITE(full, size, out) memcpy((out), &(full), (size))
