/* base/memory.h: aligned memory from the context's allocator, and workspaces carved from one block.
 *
 *     hb_workspace work;
 *     HB_TRY(hb_workspace_create(ctx, hb_workspace_need(n * d, sizeof(double)) + ..., &work));
 *     double *x = hb_workspace_take(&work, n * d, sizeof(double)); // (n, d)
 *     ...
 *     hb_workspace_destroy(&work);  */
#ifndef HB_BASE_MEMORY_H
#define HB_BASE_MEMORY_H

#include <heatball/base.h>

#define HB_ALIGNMENT 64 /* bytes: a cache line, and a vector of AVX-512 */

/* count * size bytes on a 64-byte boundary, not cleared. HB_ERROR_MEMORY on failure or overflow. */
hb_status hb_allocate(hb_context *context, size_t count, size_t size, void **out);
void hb_release(hb_context *context, void *memory); /* NULL is fine */

/* A copy of a string, to be released with hb_release. */
hb_status hb_copy_string(hb_context *context, const char *text, char **out);

typedef struct hb_workspace {
    hb_context *context;
    unsigned char *memory;
    size_t size, used;
} hb_workspace;

/* Bytes that an array takes in a workspace; SIZE_MAX when it does not fit, and sums stay there. */
size_t hb_workspace_need(size_t count, size_t size);
size_t hb_workspace_add(size_t a, size_t b);
hb_status hb_workspace_create(hb_context *context, size_t bytes, hb_workspace *out);
void *hb_workspace_take(hb_workspace *work, size_t count, size_t size); /* 64-byte aligned */
void hb_workspace_destroy(hb_workspace *work);                          /* a zeroed one is fine */

#endif
