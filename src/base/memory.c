/* Aligned memory over any allocator: ask for 64 bytes more plus a pointer, step up to the boundary,
 * and keep what the allocator gave just before the aligned block. */
#include "base/memory.h"
#include "base/context.h"

#include <assert.h>
#include <string.h>

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

hb_status hb_copy_string(hb_context *context, const char *text, char **out)
{
    size_t bytes = strlen(text) + 1;
    void *memory;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    *out = memcpy(memory, text, bytes);
    return HB_OK;
}

size_t hb_workspace_need(size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX - HB_ALIGNMENT) / size) return SIZE_MAX;
    return (count * size + HB_ALIGNMENT - 1) & ~(size_t)(HB_ALIGNMENT - 1);
}

size_t hb_workspace_add(size_t a, size_t b)
{
    return a > SIZE_MAX - b ? SIZE_MAX : a + b;
}

hb_status hb_workspace_create(hb_context *context, size_t bytes, hb_workspace *out)
{
    memset(out, 0, sizeof *out);
    void *memory;
    HB_TRY(hb_allocate(context, bytes, 1, &memory));
    out->context = context;
    out->memory = memory;
    out->size = bytes;
    return HB_OK;
}

size_t hb_workspace_bytes(size_t n, const hb_array *arrays)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        if (arrays[i].at)
            bytes = hb_workspace_add(bytes, hb_workspace_need(arrays[i].count, arrays[i].size));
    return bytes;
}

hb_status hb_workspace_carve(hb_context *context, size_t n, const hb_array *arrays,
                             hb_workspace *out)
{
    HB_TRY(hb_workspace_create(context, hb_workspace_bytes(n, arrays), out));
    for (size_t i = 0; i < n; i++) {
        if (!arrays[i].at) continue;
        void *array = hb_workspace_take(out, arrays[i].count, arrays[i].size);
        memcpy(arrays[i].at, &array, sizeof array); // a pointer to any type of object
    }
    return HB_OK;
}

void *hb_workspace_take(hb_workspace *work, size_t count, size_t size)
{
    size_t bytes = hb_workspace_need(count, size);
    assert(bytes <= work->size - work->used);
    void *memory = work->memory + work->used;
    work->used += bytes;
    return memory;
}

void hb_workspace_destroy(hb_workspace *work)
{
    if (work->memory) hb_release(work->context, work->memory);
    memset(work, 0, sizeof *work);
}
