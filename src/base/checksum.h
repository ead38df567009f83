/* base/checksum.h: a sum of bytes, by which files are found damaged and runs are told apart.
 *
 * FNV-1a of 64 bits (G. Fowler, L. C. Noll, K.-P. Vo): sum = (sum xor byte) * 1099511628211 for
 * every byte. Each step is one-to-one in the sum and in the byte, so one changed byte always
 * changes the result; of other damage one case in 2^64 is missed. It is no defence against intent.
 * Sums of pieces continue from one another. A number to reproduce: "a" gives af63dc4c8601ec8c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HB_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
#define HB_CHECKSUM_FACTOR UINT64_C(0x100000001b3)

/* sum: HB_CHECKSUM_START, or that of the bytes before. */
static inline uint64_t hb_checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < bytes; i++) sum = (sum ^ byte[i]) * HB_CHECKSUM_FACTOR;
    return sum;
}
