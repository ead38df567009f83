/* base/memory.h: aligned memory from the context's allocator, and workspaces carved from one block.
 *
 *     double *x, *tau; // (n, d), (n)
 *     hb_workspace work;
 *     HB_TRY(HB_WORKSPACE(ctx, &work, HB_ARRAY(x, n * d), HB_ARRAY(tau, n)));
 *     ...
 *     hb_workspace_destroy(&work);  */
#pragma once

#include <heatball/base.h>
#include <stddef.h>

#define HB_ALIGNMENT 64 /* bytes: a cache line, and a vector of AVX-512 */

/* count * size bytes on a 64-byte boundary, not cleared. HB_ERROR_MEMORY on failure or overflow. */
hb_status hb_allocate(hb_context *context, size_t count, size_t size, void **out);
void hb_release(hb_context *context, void *memory); /* NULL is fine */
/* Points `pointer` to an array of count items of its type; NULL on failure. CLEARED: all are 0. */
#define HB_NEW(context, pointer, count)                                                            \
    hb_allocate_to((context), (count), sizeof *(pointer), 0, &(pointer))
#define HB_NEW_CLEARED(context, pointer, count)                                                    \
    hb_allocate_to((context), (count), sizeof *(pointer), 1, &(pointer))
hb_status hb_allocate_to(hb_context *context, size_t count, size_t size, int clear, void *pointer);

/* Makes room for item number `count`; an array that is full is moved, to twice its capacity. */
#define HB_GROW(context, array, count, capacity)                                                   \
    hb_grow((context), &(array), (count), &(capacity), sizeof *(array))
hb_status hb_grow(hb_context *context, void *array, int count, int *capacity, size_t size);

/* A copy of a string, to be released with hb_release. */
hb_status hb_copy_string(hb_context *context, const char *text, char **out);

typedef struct hb_workspace {
    hb_context *context;
    unsigned char *memory;
    size_t size, used;
} hb_workspace;

/* A row of the table of a workspace: the array that pointer is to point to. */
typedef struct hb_array {
    void *at; /* the address of the pointer; NULL: no array is wanted */
    size_t count, size;
} hb_array;
#define HB_ARRAY(pointer, count)                                                                   \
    {                                                                                              \
        &(pointer), (count), sizeof *(pointer)                                                     \
    }
/* Only if wanted; else the pointer stays what it is. */
#define HB_ARRAY_IF(wanted, pointer, count)                                                        \
    {                                                                                              \
        (wanted) ? (void *)&(pointer) : NULL, (count), sizeof *(pointer)                           \
    }
/* One block for all arrays of a table, and every pointer set; HB_ERROR_MEMORY also on overflow. */
#define HB_WORKSPACE(context, work, ...)                                                           \
    hb_workspace_carve((context), sizeof((hb_array[]){__VA_ARGS__}) / sizeof(hb_array),            \
                       (hb_array[]){__VA_ARGS__}, (work))
hb_status hb_workspace_carve(hb_context *context, size_t n, const hb_array *arrays,
                             hb_workspace *out);
size_t hb_workspace_bytes(size_t n, const hb_array *arrays); /* that it takes; SIZE_MAX: too many */

/* A row of the table of an array of structs: the array that a member of each is to point to. */
typedef struct hb_member {
    size_t offset, count, size;
} hb_member;
#define HB_MEMBER(type, member, count)                                                             \
    {                                                                                              \
        offsetof(type, member), (count), sizeof *((type *)NULL)->member                            \
    }
/* One block for n structs, which are cleared, and for the arrays of each: what threads work
 * with. */
#define HB_WORKSPACE_EACH(context, work, structs, n, ...)                                          \
    hb_workspace_carve_each((context), &(structs), (n), sizeof *(structs),                         \
                            sizeof((hb_member[]){__VA_ARGS__}) / sizeof(hb_member),                \
                            (hb_member[]){__VA_ARGS__}, (work))
hb_status hb_workspace_carve_each(hb_context *context, void *structs, size_t n, size_t size,
                                  size_t n_members, const hb_member *members, hb_workspace *out);

void hb_workspace_destroy(hb_workspace *work); /* a zeroed one is fine */
