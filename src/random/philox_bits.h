/* random/philox_bits.h: Philox4x32-10 on many consecutive blocks, LANES of them in a vector.
 *
 * Philox (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A
 * block is the counter (c0,c1,c2,c3) = (block low, block high, stream low, stream high) after ten
 * rounds under the key (k0,k1) = seed. With the 64-bit products p0 = m0 c0 and p1 = m1 c2 a round
 * is
 *
 *     c0' = high(p1) ^ c1 ^ k0    c1' = low(p1)    c2' = high(p0) ^ c3 ^ k1    c3' = low(p0).
 *
 * Each word sits in the lower half of a 64-bit lane; the upper half holds rubbish, which the
 * multiply ignores. Must reproduce: counter 0, key 0 gives 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
 *
 * Eight vector operations a round, ten rounds: half of the time of a normal. Fewer, with the same
 * result:
 *   - Only c0 differs between blocks that share their upper word. So p1 of round 0 and p0 of round
 *     1 are the same for all, and p0 of round 0 grows by a constant from vector to vector.
 *   - Both halves of a product meet a key, the upper one at once, the lower one a round later. One
 *     xor of the product with both keys serves two rounds: p0 in even rounds, p1 in odd ones. Where
 *     a xor of three is one operation (AVX-512) keys cost nothing, and each round takes its own.
 * A round waits for the one before, and a processor looks ahead only so far. So CHAINS vectors go
 * through the rounds together, and the rounds are cut in two loops over the batch. */
#pragma once

#include "random/vector.h"

#include <stddef.h>

enum { PHILOX_CUT = 6 }; /* rounds of the first loop */

#define PHILOX_M0 UINT64_C(0xD2511F53)
#define PHILOX_M1 UINT64_C(0xCD9E8D57)
#define EACH_CHAIN _Pragma("GCC unroll 4") for (int j = 0; j < CHAINS; j++)

typedef struct philox_key {
    uint32_t k0[11], k1[11]; /* of each round, and 0 */
    vi with_p1[10], with_p0[10];
} philox_key;

INLINE void expand_key(uint64_t seed, philox_key *key)
{
    uint32_t *k0 = key->k0, *k1 = key->k1;
    for (uint32_t i = 0; i < 10; i++) {
        k0[i] = (uint32_t)seed + i * 0x9E3779B9u;
        k1[i] = (uint32_t)(seed >> 32) + i * 0xBB67AE85u;
    }
    k0[10] = k1[10] = 0;
    for (int i = 0; i < 10; i++) {
        key->with_p1[i] = vi_set(XOR3_IS_ONE ? k0[i] : (uint64_t)k0[i] << 32 | k0[i + 1]);
        key->with_p0[i] = vi_set(XOR3_IS_ONE ? k1[i] : (uint64_t)k1[i] << 32 | k1[i + 1]);
    }
}

/* The words of CHAINS vectors between two rounds. */
typedef struct philox_state {
    vi c0[CHAINS], c1[CHAINS], c2[CHAINS], c3[CHAINS];
} philox_state;

/* Round i. Unless a xor of three is one operation, c1 has its key already when i is even and c3
 * when i is odd. */
INLINE void philox_round(const philox_key *key, int i, philox_state *s)
{
    const vi m0 = vi_set(PHILOX_M0), m1 = vi_set(PHILOX_M1);
    vi p0[CHAINS], p1[CHAINS];
    EACH_CHAIN p1[j] = vi_multiply_low(s->c2[j], m1);
    EACH_CHAIN p0[j] = vi_multiply_low(s->c0[j], m0);
    if (XOR3_IS_ONE) {
        EACH_CHAIN s->c0[j] = vi_xor3(vi_shift_right(p1[j], 32), s->c1[j], key->with_p1[i]);
        EACH_CHAIN s->c2[j] = vi_xor3(vi_shift_right(p0[j], 32), s->c3[j], key->with_p0[i]);
    } else {
        if (i % 2 == 1)
            EACH_CHAIN p1[j] = vi_xor(p1[j], key->with_p1[i]);
        else
            EACH_CHAIN p0[j] = vi_xor(p0[j], key->with_p0[i]);
        EACH_CHAIN s->c0[j] = vi_xor(vi_shift_right(p1[j], 32), s->c1[j]);
        EACH_CHAIN s->c2[j] = vi_xor(vi_shift_right(p0[j], 32), s->c3[j]);
    }
    EACH_CHAIN s->c1[j] = p1[j];
    EACH_CHAIN s->c3[j] = p0[j];
}

/* Round 9, the words put together: (word 0 | word 1 << 32) and (word 2 | word 3 << 32). */
INLINE void philox_last_round(const philox_key *key, const philox_state *s, vi words[][4])
{
    const vi m0 = vi_set(PHILOX_M0), m1 = vi_set(PHILOX_M1), low = vi_set(0xFFFFFFFFu);
    const vi k0 = vi_set(key->k0[9]), k1 = vi_set(XOR3_IS_ONE ? key->k1[9] : 0);
    vi p0[CHAINS], p1[CHAINS], c1[CHAINS], c3[CHAINS];
    EACH_CHAIN p1[j] = vi_swap_halves(vi_multiply_low(s->c2[j], m1));
    EACH_CHAIN p0[j] = vi_swap_halves(vi_multiply_low(s->c0[j], m0));
    EACH_CHAIN c1[j] = vi_xor(vi_and(s->c1[j], low), k0);
    EACH_CHAIN c3[j] = XOR3_IS_ONE ? vi_xor(vi_and(s->c3[j], low), k1) : vi_and(s->c3[j], low);
    EACH_CHAIN words[j][0] = vi_xor(p1[j], c1[j]);
    EACH_CHAIN words[j][1] = vi_xor(p0[j], c3[j]);
}

/* The block numbers block .. block+LANES-1. */
INLINE vi consecutive(uint64_t block)
{
    static const uint64_t lane[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return vi_add(vi_set(block), vi_load(lane));
}

/* Rounds 0 to 2 from any counter. */
INLINE void philox_first_rounds(const philox_key *key, uint64_t stream, uint64_t block,
                                philox_state *s)
{
    const vi k0 = vi_set(XOR3_IS_ONE ? 0 : key->k0[0]);
    EACH_CHAIN s->c0[j] = consecutive(block + (uint64_t)j * LANES);
    EACH_CHAIN s->c1[j] = vi_xor(vi_shift_right(s->c0[j], 32), k0);
    EACH_CHAIN s->c2[j] = vi_set(stream);
    EACH_CHAIN s->c3[j] = vi_set(stream >> 32);
    for (int i = 0; i < 3; i++) philox_round(key, i, s);
}

/* What rounds 0 to 2 have in common for blocks with one upper word: the parts of c2 in rounds 1 and
 * 2 that are the same for all, and what p1 of round 1 and p0 of round 2 are xored with. */
typedef struct philox_shared {
    vi c2_of_1, c2_of_2, with_p1, with_p0;
} philox_shared;

INLINE philox_shared philox_share(const philox_key *key, uint64_t stream, uint64_t block)
{
    const uint32_t *k0 = key->k0, *k1 = key->k1;
    const uint64_t p1 = PHILOX_M1 * (uint32_t)stream;
    const uint64_t p0 = PHILOX_M0 * ((uint32_t)(p1 >> 32) ^ (uint32_t)(block >> 32) ^ k0[0]);
    return (philox_shared){
        .c2_of_1 = vi_set((uint32_t)(stream >> 32) ^ k1[0]),
        .c2_of_2 = vi_set((uint32_t)(p0 >> 32) ^ k1[1]),
        .with_p1 = vi_set((uint64_t)((uint32_t)p1 ^ k0[1]) << 32 | k0[2]),
        .with_p0 = vi_set((uint64_t)((uint32_t)p0 ^ k1[2]) << 32 | (XOR3_IS_ONE ? 0 : k1[3])),
    };
}

/* Rounds 0 to 2 from p0 of round 0. */
INLINE void philox_first_shared(const philox_shared *shared, const vi p0[CHAINS], philox_state *s)
{
    const vi m0 = vi_set(PHILOX_M0), m1 = vi_set(PHILOX_M1);
    EACH_CHAIN s->c2[j] = vi_xor(vi_shift_right(p0[j], 32), shared->c2_of_1);
    EACH_CHAIN s->c1[j] = vi_xor(vi_multiply_low(s->c2[j], m1), shared->with_p1);
    EACH_CHAIN s->c0[j] = vi_shift_right(s->c1[j], 32);
    EACH_CHAIN s->c2[j] = vi_xor(p0[j], shared->c2_of_2);
    EACH_CHAIN s->c3[j] = vi_xor(vi_multiply_low(s->c0[j], m0), shared->with_p0);
    EACH_CHAIN s->c2[j] = vi_multiply_low(s->c2[j], m1);
    EACH_CHAIN s->c0[j] = vi_xor(vi_shift_right(s->c2[j], 32), s->c1[j]);
    EACH_CHAIN s->c1[j] = s->c2[j];
    EACH_CHAIN s->c2[j] = vi_shift_right(s->c3[j], 32);
}

APART void philox_first_loop(const philox_key *key, uint64_t stream, uint64_t block, size_t n,
                             vi words[][4])
{
    const int shared = block >> 32 == (block + n - 1) >> 32;
    const philox_shared common = philox_share(key, stream, block);
    vi p0[CHAINS];
    EACH_CHAIN p0[j] = vi_multiply_low(consecutive(block + (uint64_t)j * LANES), vi_set(PHILOX_M0));
    for (size_t i = 0; i < n; i += (size_t)CHAINS * LANES, words += CHAINS) {
        philox_state s;
        if (shared)
            philox_first_shared(&common, p0, &s);
        else
            philox_first_rounds(key, stream, block + i, &s);
        EACH_CHAIN p0[j] = vi_add(p0[j], vi_set(PHILOX_M0 * CHAINS * LANES));
        _Pragma("GCC unroll 6") for (int r = 3; r < PHILOX_CUT; r++) philox_round(key, r, &s);
        EACH_CHAIN words[j][0] = s.c0[j];
        EACH_CHAIN words[j][1] = s.c1[j];
        EACH_CHAIN words[j][2] = s.c2[j];
        EACH_CHAIN words[j][3] = s.c3[j];
    }
}

/* The halves (word 0 | word 1 << 32), (word 2 | word 3 << 32) of blocks block .. block+n-1 in
 * words[i][0] and words[i][1], LANES blocks in a vector; n is a multiple of HB_BLOCK_GROUP. */
APART void philox_bits(const philox_key *key, uint64_t stream, uint64_t block, size_t n,
                       vi words[][4])
{
    philox_first_loop(key, stream, block, n, words);
    for (size_t i = 0; i < n; i += (size_t)CHAINS * LANES, words += CHAINS) {
        philox_state s;
        EACH_CHAIN s.c0[j] = words[j][0];
        EACH_CHAIN s.c1[j] = words[j][1];
        EACH_CHAIN s.c2[j] = words[j][2];
        EACH_CHAIN s.c3[j] = words[j][3];
        _Pragma("GCC unroll 6") for (int r = PHILOX_CUT; r < 9; r++) philox_round(key, r, &s);
        philox_last_round(key, &s, words);
    }
}
