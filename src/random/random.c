/* Draws by index: the map from draw numbers to Philox blocks, ragged ends, and threads.
 *
 * A kernel fills whole groups of HB_BLOCK_GROUP blocks. A request first .. first+n-1 becomes: the
 * draws up to the next block boundary through a small buffer, whole groups straight into the
 * output, and the rest through the buffer again. Which draws share a kernel call never changes
 * their bits, since each block is a function of its own counter; so pieces and threads do not
 * matter. */
#include "base/context.h"
#include "base/parallel.h"
#include "random/fill.h"

#include <heatball/random.h>
#include <string.h>

/* One kernel behind one face: draws of `size` bytes, `per_block` of them in a block. */
typedef void (*block_kernel)(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,
                             uint64_t block, size_t n_blocks, void *out);

typedef struct draw_kind {
    block_kernel fill;
    size_t size, per_block;
} draw_kind;

#define DRAW_KIND(name, type, count)                                                               \
    static void name##_blocks(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,    \
                              uint64_t block, size_t n_blocks, void *out)                          \
    {                                                                                              \
        kernels->name(seed, stream, block, n_blocks, out);                                         \
    }                                                                                              \
    static const draw_kind name##_kind = {name##_blocks, sizeof(type), count};

DRAW_KIND(words, uint32_t, 4)
DRAW_KIND(uniform, double, 2)
DRAW_KIND(normal, double, 2)
DRAW_KIND(uniform_f32, float, 4)
DRAW_KIND(normal_f32, float, 4)

enum { MAX_DRAW_BYTES = 16 }; /* of one block: four words or two doubles */

/* Copies up to n draws from `first` on, out of one group of blocks; returns how many. */
static size_t fill_through_buffer(const draw_kind *kind, const hb_vector_kernels *kernels,
                                  uint64_t seed, uint64_t stream, uint64_t first, size_t n,
                                  unsigned char *out)
{
    unsigned char buffer[HB_BLOCK_GROUP * MAX_DRAW_BYTES];
    const size_t skip = (size_t)(first % kind->per_block);
    const size_t held = HB_BLOCK_GROUP * kind->per_block - skip;
    const size_t count = n < held ? n : held;
    kind->fill(kernels, seed, stream, first / kind->per_block, HB_BLOCK_GROUP, buffer);
    memcpy(out, buffer + skip * kind->size, count * kind->size);
    return count;
}

static void random_fill(const draw_kind *kind, const hb_vector_kernels *kernels, uint64_t seed,
                        uint64_t stream, uint64_t first, size_t n, unsigned char *out)
{
    const size_t group = HB_BLOCK_GROUP * kind->per_block;
    while (n > 0) {
        size_t count;
        if (first % kind->per_block != 0 || n < group) {
            count = fill_through_buffer(kind, kernels, seed, stream, first, n, out);
        } else {
            count = n / group * group;
            kind->fill(kernels, seed, stream, first / kind->per_block, count / kind->per_block,
                       out);
        }
        first += count;
        n -= count;
        out += count * kind->size;
    }
}

void hb_fill_uniform(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,
                     uint64_t first, size_t n, double *out)
{
    random_fill(&uniform_kind, kernels, seed, stream, first, n, (unsigned char *)out);
}

void hb_fill_normal(const hb_vector_kernels *kernels, uint64_t seed, uint64_t stream,
                    uint64_t first, size_t n, double *out)
{
    random_fill(&normal_kind, kernels, seed, stream, first, n, (unsigned char *)out);
}

/* ---- the public calls: the same on the context's threads ---- */

enum { DRAWS_PER_TASK = 1 << 16 };

typedef struct request {
    const draw_kind *kind;
    const hb_vector_kernels *kernels;
    uint64_t seed, stream, first;
    size_t n;
    unsigned char *out;
} request;

static hb_status fill_task(void *user, size_t index, int thread)
{
    (void)thread;
    const request *r = user;
    const size_t start = index * DRAWS_PER_TASK;
    const size_t count = r->n - start < DRAWS_PER_TASK ? r->n - start : DRAWS_PER_TASK;
    random_fill(r->kind, r->kernels, r->seed, r->stream, r->first + start, count,
                r->out + start * r->kind->size);
    return HB_OK;
}

static hb_status random_draw(hb_context *context, const draw_kind *kind, uint64_t seed,
                             uint64_t stream, uint64_t first, size_t n, void *out)
{
    HB_CHECK(context, out != NULL || n == 0, HB_ERROR_ARGUMENT,
             "out is NULL; it must hold %zu draws", n);
    HB_CHECK(context, n <= UINT64_MAX - first, HB_ERROR_ARGUMENT,
             "first is %llu; first + n must be below 2^64", (unsigned long long)first);
    request r = {kind, hb_vector_kernels_of(context->isa), seed, stream, first, n, out};
    return hb_parallel_for(context, "random", n / DRAWS_PER_TASK + (n % DRAWS_PER_TASK != 0),
                           fill_task, &r);
}

hb_status hb_random_words(hb_context *context, uint64_t seed, uint64_t stream, uint64_t first,
                          size_t n, uint32_t *out)
{
    return random_draw(context, &words_kind, seed, stream, first, n, out);
}

hb_status hb_random_uniform(hb_context *context, uint64_t seed, uint64_t stream, uint64_t first,
                            size_t n, double *out)
{
    return random_draw(context, &uniform_kind, seed, stream, first, n, out);
}

hb_status hb_random_normal(hb_context *context, uint64_t seed, uint64_t stream, uint64_t first,
                           size_t n, double *out)
{
    return random_draw(context, &normal_kind, seed, stream, first, n, out);
}

hb_status hb_random_uniform_f32(hb_context *context, uint64_t seed, uint64_t stream, uint64_t first,
                                size_t n, float *out)
{
    return random_draw(context, &uniform_f32_kind, seed, stream, first, n, out);
}

hb_status hb_random_normal_f32(hb_context *context, uint64_t seed, uint64_t stream, uint64_t first,
                               size_t n, float *out)
{
    return random_draw(context, &normal_f32_kind, seed, stream, first, n, out);
}
