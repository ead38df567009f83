/* Aligned memory over any allocator: ask for 64 bytes more plus a pointer, step up to the boundary,
 * and keep what the allocator gave just before the aligned block. */
#include "base/memory.h"
#include "base/context.h"

#include <string.h>

enum { FIRST_CAPACITY = 64 }; /* of arrays that grow */

hb_status hb_allocate(hb_context *context, size_t count, size_t size, void **out)
{
    *out = NULL;
    const size_t extra = HB_ALIGNMENT + sizeof(void *);
    HB_CHECK(context, size == 0 || count <= (SIZE_MAX - extra) / size, HB_ERROR_MEMORY,
             "%zu items of %zu bytes are more than this machine can address", count, size);
    void *raw = context->settings.allocate(context->settings.allocator_user, count * size + extra);
    HB_CHECK(context, raw != NULL, HB_ERROR_MEMORY, "no memory for %zu items of %zu bytes", count,
             size);
    uintptr_t aligned = ((uintptr_t)raw + extra) & ~(uintptr_t)(HB_ALIGNMENT - 1);
    ((void **)aligned)[-1] = raw;
    *out = (void *)aligned;
    return HB_OK;
}

void hb_release(hb_context *context, void *memory)
{
    if (memory) context->settings.release(context->settings.allocator_user, ((void **)memory)[-1]);
}

hb_status hb_allocate_to(hb_context *context, size_t count, size_t size, int clear, void *pointer)
{
    void *memory;
    const hb_status status = hb_allocate(context, count, size, &memory);
    if (memory && clear) memset(memory, 0, count * size);
    memcpy(pointer, &memory, sizeof memory); // a pointer to any type of item
    return status;
}

hb_status hb_grow(hb_context *context, void *array, int count, int *capacity, size_t size)
{
    if (count < *capacity) return HB_OK;
    const int larger = *capacity ? 2 * *capacity : FIRST_CAPACITY;
    void *memory, *before;
    memcpy(&before, array, sizeof before);
    HB_TRY(hb_allocate(context, (size_t)larger, size, &memory));
    if (count) memcpy(memory, before, (size_t)count * size);
    hb_release(context, before);
    memcpy(array, &memory, sizeof memory);
    *capacity = larger;
    return HB_OK;
}

hb_status hb_copy_string(hb_context *context, const char *text, char **out)
{
    size_t bytes = strlen(text) + 1;
    void *memory;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    *out = memcpy(memory, text, bytes);
    return HB_OK;
}

/* ---- workspaces: sizes are added up first, then taken one after another ---- */

/* Bytes of an array; SIZE_MAX when it does not fit, and sums stay there. */
static size_t array_bytes(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - HB_ALIGNMENT) / size) return SIZE_MAX;
    return (count * size + HB_ALIGNMENT - 1) & ~(size_t)(HB_ALIGNMENT - 1);
}

static size_t memory_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

static hb_status workspace_create(hb_context *context, size_t bytes, hb_workspace *out)
{
    memset(out, 0, sizeof *out);
    void *memory;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    out->context = context;
    out->memory = memory;
    out->size = bytes;
    return HB_OK;
}

/* pointer: the address of a pointer to any type of object. */
static void workspace_take(hb_workspace *work, size_t count, size_t size, void *pointer)
{
    const void *array = work->memory + work->used;
    memcpy(pointer, &array, sizeof array);
    work->used += array_bytes(count, size);
}

size_t hb_workspace_bytes(size_t n, const hb_array *arrays)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (arrays[i].at) bytes = memory_add(bytes, array_bytes(arrays[i].count, arrays[i].size));
    return bytes;
}

hb_status hb_workspace_carve(hb_context *context, size_t n, const hb_array *arrays,
                             hb_workspace *out)
{
    HB_TRY(workspace_create(context, hb_workspace_bytes(n, arrays), out));
    for (size_t i = 0; i < n; i++)
        if (arrays[i].at) workspace_take(out, arrays[i].count, arrays[i].size, arrays[i].at);
    return HB_OK;
}

hb_status hb_workspace_carve_each(hb_context *context, void *structs, size_t n, size_t size,
                                  size_t n_members, const hb_member *members, hb_workspace *out)
{
    size_t each = 0;
    for (size_t i = 0; i < n_members; i++)
        each = memory_add(each, array_bytes(members[i].count, members[i].size));
    HB_TRY(workspace_create(context, memory_add(array_bytes(n, size), array_bytes(n, each)), out));
    unsigned char *first;
    workspace_take(out, n, size, &first);
    memset(first, 0, n * size);
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < n_members; i++)
            workspace_take(out, members[i].count, members[i].size,
                           first + k * size + members[i].offset);
    memcpy(structs, &first, sizeof first);
    return HB_OK;
}

void hb_workspace_destroy(hb_workspace *work)
{
    if (work->memory) hb_release(work->context, work->memory);
    memset(work, 0, sizeof *work);
}
