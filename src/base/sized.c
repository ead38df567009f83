/* Structs that can grow: see sized.h. A size is the length of the struct in the caller's
 * program. */
#include "base/sized.h"

#include <string.h>

void hb_sized_default(size_t known, const void *defaults, size_t size, void *out)
{
    if (!out || size < sizeof size) return;
    memset(out, 0, size);
    memcpy(out, defaults, size < known ? size : known);
    memcpy(out, &size, sizeof size);
}

static hb_status check_size(hb_context *context, const char *type, size_t oldest, size_t known,
                            size_t size)
{
    HB_CHECK(context, size >= oldest, HB_ERROR_ARGUMENT,
             "the size of %s is %zu; it must be its sizeof, at least %zu (settings: fill them with "
             "their _default function)",
             type, size, oldest);
    HB_CHECK(
        context, size <= known, HB_ERROR_ARGUMENT,
        "the size of %s is %zu, and this library (%s) knows %zu bytes of it; the program needs a "
        "newer library",
        type, size, HB_VERSION, known);
    return HB_OK;
}

hb_status hb_sized_read(hb_context *context, const char *type, size_t oldest, size_t known,
                        const void *given, void *out)
{
    if (!given) return HB_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    HB_TRY(check_size(context, type, oldest, known, size));
    memcpy(out, given, size);
    memcpy(out, &known, sizeof known);
    return HB_OK;
}

hb_status hb_sized_check(hb_context *context, const char *type, size_t oldest, size_t known,
                         size_t size, const void *out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "there is no place for %s (NULL)", type);
    return check_size(context, type, oldest, known, size);
}
