/* Vectors for CVODE.
 *
 * SUNDIALS has vectors with OpenMP, but their sums depend on the number of threads, and Debian's
 * loops add one term after the other, which the compiler may not reorder. So the operations that
 * take time are here: over blocks of BLOCK entries, which threads share; a sum runs within a block
 * in eight interleaved partial sums, and the sums of the blocks are added in their order, so that
 * bits do not depend on threads. CVODE's history is corrected in one pass. The rest is SUNDIALS's
 * own (nvector_serial).
 *
 * The norm is max(sqrt(mean of (x w)^2), max |x w|/PEAK). The first alone does not see a single
 * node among a million: the corner of a box in d = 3 could fall by 20 units of v from its
 * neighbours, whose weights exp(v_j - v_i) then stopped Newton's method (96 cells per axis,
 * three coupled double wells). */
#include "grid/krylov_solver.h"

#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdlib.h>

enum {
    LANES = 8,
    BLOCK = 4096,
    TOGETHER = 4, /* blocks of a task */
    WAVE = 1024   /* blocks whose sums are held at once */
};

static const double PEAK = 100; /* times the norm that a single entry may have */

/* SUNDIALS's own content, and behind it what it does not know. */
typedef struct content {
    struct _N_VectorContent_Serial serial;
    hb_crew *crew;
} content;

static hb_crew *vector_crew(N_Vector x)
{
    return ((content *)x->content)->crew;
}

/* ---- blocks ---- */

typedef struct block_job {
    hb_vector_map map;
    void *user;
    size_t size;
} block_job;

static hb_status vector_block_task(void *user, size_t index, int thread)
{
    const block_job *job = user;
    const size_t most = (size_t)BLOCK * TOGETHER, first = index * most, rest = job->size - first;
    (void)thread;
    job->map(job->user, first, rest < most ? rest : most);
    return HB_OK;
}

void hb_grid_vector_map(N_Vector x, hb_vector_map map, void *user)
{
    const size_t size = (size_t)NV_LENGTH_S(x), most = (size_t)BLOCK * TOGETHER;
    block_job job = {map, user, size};
    hb_crew_run(vector_crew(x), (size + most - 1) / most, vector_block_task, &job);
}

/* ---- operations ---- */

typedef struct vector_job {
    double p, q;
    const double *a, *b;
    double *c;
    size_t size;
    int count;
    const double *factors;
    N_Vector *from, *to;
    double *sums; // (WAVE)
    double *most; // (WAVE)
    size_t offset;
} vector_job;

/* c = p a + q b; c may be a or b. */
static void vector_sum_map(void *user, size_t first, size_t count)
{
    const vector_job *job = user;
    const double p = job->p, q = job->q, *a = job->a + first, *b = job->b + first;
    double *c = job->c + first;
    const size_t whole = count - count % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        double sums[LANES];
        for (size_t k = 0; k < LANES; k++) sums[k] = p * a[i + k] + q * b[i + k];
        for (size_t k = 0; k < LANES; k++) c[i + k] = sums[k];
    }
    for (size_t i = whole; i < count; i++) c[i] = p * a[i] + q * b[i];
}

static void vector_linear_sum(double p, N_Vector x, double q, N_Vector y, N_Vector z)
{
    vector_job job = {.p = p, .q = q, .a = NV_DATA_S(x), .b = NV_DATA_S(y), .c = NV_DATA_S(z)};
    hb_grid_vector_map(z, vector_sum_map, &job);
}

static void vector_scale_map(void *user, size_t first, size_t count)
{
    const vector_job *job = user;
    for (size_t i = first; i < first + count; i++) job->c[i] = job->p * job->a[i];
}

static void vector_scale(double p, N_Vector x, N_Vector z)
{
    vector_job job = {.p = p, .a = NV_DATA_S(x), .c = NV_DATA_S(z)};
    hb_grid_vector_map(z, vector_scale_map, &job);
}

static void vector_fill_map(void *user, size_t first, size_t count)
{
    const vector_job *job = user;
    for (size_t i = first; i < first + count; i++) job->c[i] = job->p;
}

static void vector_fill(double p, N_Vector z)
{
    vector_job job = {.p = p, .c = NV_DATA_S(z)};
    hb_grid_vector_map(z, vector_fill_map, &job);
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The sum of (a b)^2 and its largest term. */
static double vector_block_norm(size_t n, const double *a, const double *b, double *most)
{
    const size_t whole = n - n % LANES;
    double sums[LANES] = {0}, largest[LANES] = {0}, total = 0;
    *most = 0;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            const double square = a[i + k] * b[i + k] * (a[i + k] * b[i + k]);
            sums[k] += square;
            largest[k] = larger(square, largest[k]);
        }
    for (size_t i = whole; i < n; i++) {
        const double square = a[i] * b[i] * (a[i] * b[i]);
        total += square;
        *most = larger(square, *most);
    }
    for (int k = 0; k < LANES; k++) total += sums[k];
    for (int k = 0; k < LANES; k++) *most = larger(largest[k], *most);
    return total;
}

/* The sums and largest terms of the blocks of a wave, each to its place. */
static hb_status vector_norm_task(void *user, size_t index, int thread)
{
    const vector_job *job = user;
    const size_t size = job->size;
    (void)thread;
    for (size_t k = 0; k < TOGETHER; k++) {
        const size_t block = index * TOGETHER + k, first = (job->offset + block) * BLOCK;
        if (block >= WAVE || first >= size) break;
        const size_t n = size - first < BLOCK ? size - first : BLOCK;
        job->sums[block] = vector_block_norm(n, job->a + first, job->b + first, &job->most[block]);
    }
    return HB_OK;
}

static double vector_weighted_norm(N_Vector x, N_Vector w)
{
    const size_t size = (size_t)NV_LENGTH_S(x), blocks = (size + BLOCK - 1) / BLOCK;
    double sums[WAVE], most[WAVE], total = 0, peak = 0;
    vector_job job = {
        .a = NV_DATA_S(x), .b = NV_DATA_S(w), .size = size, .sums = sums, .most = most};
    for (; job.offset < blocks; job.offset += WAVE) {
        const size_t wave = blocks - job.offset < WAVE ? blocks - job.offset : WAVE;
        const size_t tasks = (wave + TOGETHER - 1) / TOGETHER;
        hb_crew_run(vector_crew(x), tasks, vector_norm_task, &job);
        for (size_t i = 0; i < wave; i++) total += sums[i];
        for (size_t i = 0; i < wave; i++) peak = larger(most[i], peak);
    }
    const double mean = sqrt(total / (double)size), single = sqrt(peak) / PEAK;
    return single > mean ? single : mean; /* NaN where the mean is */
}

/* Block by block, so that x is read from memory once. */
static void vector_multi_map(void *user, size_t first, size_t count)
{
    const vector_job *job = user;
    for (size_t begin = first; begin < first + count; begin += BLOCK) {
        const size_t rest = first + count - begin, n = rest < BLOCK ? rest : BLOCK;
        const double *a = job->a + begin;
        for (int j = 0; j < job->count; j++) {
            const double p = job->factors[j], *b = NV_DATA_S(job->from[j]) + begin;
            double *c = NV_DATA_S(job->to[j]) + begin;
            for (size_t i = 0; i < n; i++) c[i] = p * a[i] + b[i];
        }
    }
}

/* to[j] = factors[j] x + from[j]: the correction of CVODE's whole history. */
static int vector_scale_add_multi(int count, double *factors, N_Vector x, N_Vector *from,
                                  N_Vector *to)
{
    vector_job job = {
        .count = count, .factors = factors, .a = NV_DATA_S(x), .from = from, .to = to};
    hb_grid_vector_map(x, vector_multi_map, &job);
    return 0;
}

/* ---- creation ---- */

static N_Vector vector_clone(N_Vector x)
{
    return hb_grid_vector_create(vector_crew(x), (size_t)NV_LENGTH_S(x), x->sunctx);
}

/* SUNDIALS frees the content, with free. */
N_Vector hb_grid_vector_create(hb_crew *crew, size_t size, SUNContext sun)
{
    N_Vector vector = N_VNew_Serial((sunindextype)size, sun);
    if (!vector) return NULL;
    content *larger = realloc(vector->content, sizeof *larger);
    if (!larger) {
        N_VDestroy(vector);
        return NULL;
    }
    larger->crew = crew;
    vector->content = larger;
    vector->ops->nvclone = vector_clone;
    vector->ops->nvlinearsum = vector_linear_sum;
    vector->ops->nvconst = vector_fill;
    vector->ops->nvscale = vector_scale;
    vector->ops->nvwrmsnorm = vector_weighted_norm;
    vector->ops->nvscaleaddmulti = vector_scale_add_multi;
    return vector;
}
