/* Tasks and sums on OpenMP threads.
 *
 * The tree sum: chunk sums arrive in order of their index, and are merged like the carries of a
 * binary counter. After chunk c, level l holds the sum of 2^l chunks exactly when bit l of c+1 is
 * set. The order of additions is fixed by the index alone; threads only decide who computes a
 * chunk. Chunks go in waves so that memory stays bounded for any n. */
#include "base/parallel.h"
#include "base/context.h"
#include "base/memory.h"

#include <omp.h>
#include <stdatomic.h>
#include <string.h>

enum { WAVE = 256, LEVELS = 64 };

/* Runs tasks 0 .. n-1; progress counts them as before+1 .. before+n of total. */
static hb_status run_tasks(hb_context *context, const char *what, size_t n, size_t before,
                           size_t total, hb_task task, void *user)
{
    atomic_size_t next = 0, done = 0;
    atomic_int stop = 0;
    hb_status first_status = HB_OK;
    size_t first_index = n;
    char message[sizeof context->message] =
        ""; /* of the first task that failed: others write theirs too */
    const int threads = (size_t)context->threads < n ? context->threads : (n ? (int)n : 1);
#pragma omp parallel num_threads(threads)
    {
        const int thread = omp_get_thread_num();
        size_t index;
        while (!atomic_load(&stop) && (index = atomic_fetch_add(&next, 1)) < n) {
            hb_last_message()[0] = 0;
            hb_status status = task(user, index, thread);
            size_t finished = atomic_fetch_add(&done, 1) + 1;
            if (status == HB_OK && what && thread == 0)
                status = hb_progress(context, what, (double)(before + finished), (double)total);
            if (status == HB_OK) continue;
            atomic_store(&stop, 1);
#pragma omp critical(hb_parallel_status)
            if (index < first_index) {
                first_index = index;
                first_status = status;
                memcpy(message, hb_last_message(), sizeof message);
            }
        }
    }
    if (message[0]) memcpy(context->message, message, sizeof message);
    /* Thread 0 may have got no task at all: the caller still hears of the end, and may stop
     * there. */
    if (first_status == HB_OK && what && n > 0)
        first_status = hb_progress(context, what, (double)(before + n), (double)total);
    return first_status;
}

hb_status hb_parallel_for(hb_context *context, const char *what, size_t n, hb_task task, void *user)
{
    return run_tasks(context, what, n, 0, n, task, user);
}

typedef struct sum_wave {
    size_t n, chunk, first_chunk;
    int width;
    hb_partial partial;
    void *user;
    double *sums; // (WAVE, width)
} sum_wave;

static hb_status sum_chunk(void *user, size_t index, int thread)
{
    sum_wave *wave = user;
    size_t first = (wave->first_chunk + index) * wave->chunk;
    size_t count = wave->n - first < wave->chunk ? wave->n - first : wave->chunk;
    double *sums = wave->sums + index * (size_t)wave->width;
    memset(sums, 0, (size_t)wave->width * sizeof *sums);
    return wave->partial(wave->user, first, count, thread, sums);
}

/* Merges one chunk's sums into the binary counter: levels (LEVELS, width). */
static void carry(double *levels, int width, size_t chunk_index, double *sums)
{
    int level = 0;
    for (size_t bits = chunk_index; bits & 1; bits >>= 1, level++) {
        const double *held = levels + (size_t)level * (size_t)width;
        for (int i = 0; i < width; i++) sums[i] = held[i] + sums[i];
    }
    memcpy(levels + (size_t)level * (size_t)width, sums, (size_t)width * sizeof *sums);
}

/* Adds the levels that are set, from the lowest (latest chunks) up. */
static void collect(const double *levels, int width, size_t n_chunks, double *out)
{
    memset(out, 0, (size_t)width * sizeof *out);
    for (int level = 0; level < LEVELS; level++) {
        if (!(n_chunks >> level & 1)) continue;
        const double *held = levels + (size_t)level * (size_t)width;
        for (int i = 0; i < width; i++) out[i] = held[i] + out[i];
    }
}

hb_status hb_parallel_sum(hb_context *context, const char *what, size_t n, size_t chunk, int width,
                          hb_partial partial, void *user, double *out)
{
    const size_t n_chunks = n / chunk + (n % chunk != 0);
    const size_t row = (size_t)width;
    sum_wave wave = {.n = n, .chunk = chunk, .width = width, .partial = partial, .user = user};
    hb_workspace work;
    double *levels; // (LEVELS, row)
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(wave.sums, WAVE * row),
                        HB_ARRAY(levels, LEVELS * row)));
    hb_status status = HB_OK;
    for (size_t first = 0; first < n_chunks && status == HB_OK; first += WAVE) {
        size_t count = n_chunks - first < WAVE ? n_chunks - first : WAVE;
        wave.first_chunk = first;
        status = run_tasks(context, what, count, first, n_chunks, sum_chunk, &wave);
        for (size_t i = 0; i < count && status == HB_OK; i++)
            carry(levels, width, first + i, wave.sums + i * row);
    }
    if (status == HB_OK) collect(levels, width, n_chunks, out);
    hb_workspace_destroy(&work);
    return status;
}
