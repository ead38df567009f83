/* random/philox.h: the vector kernels of one instruction set, as a table of functions.
 *
 * All take block numbers, not draw numbers: random.c maps draws to blocks and handles the ragged
 * ends. n_blocks is a multiple of HB_BLOCK_GROUP; outputs need no alignment. */
#pragma once

#include "base/cpu.h"

enum {
    HB_BLOCK_GROUP = 32, /* blocks that every kernel treats together */
    HB_VECTOR_GROUP = 8  /* doubles, likewise */
};

typedef struct hb_vector_kernels {
    /* words (n_blocks, 4) */
    void (*words)(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, uint32_t *out);
    /* doubles (n_blocks, 2), floats (n_blocks, 4) */
    void (*uniform)(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, double *out);
    void (*normal)(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, double *out);
    void (*uniform_f32)(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks,
                        float *out);
    void (*normal_f32)(uint64_t seed, uint64_t stream, uint64_t block, size_t n_blocks, float *out);
    /* x[i] <- exp(x[i]); x[i] <- -2 ln x[i] for normal x in (0,1); n a multiple of
     * HB_VECTOR_GROUP */
    void (*exp)(size_t n, double *x);
    void (*minus_two_log)(size_t n, double *x);
} hb_vector_kernels;

HB_KERNELS(hb_vector_kernels, hb_vector_kernels)
