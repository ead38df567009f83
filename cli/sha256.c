/* SHA-256 (NIST, FIPS 180-4, 2015): 256 bits that tell whether a file is the one that was meant.
 *
 * The message is cut into blocks of 64 bytes, the last filled up with a bit 1, zeros and the length in bits.
 * A block's 16 words are extended to 64 by W_t = s1(W_{t-2}) + W_{t-7} + s0(W_{t-15}) + W_{t-16}, and each
 * turns the eight words a .. h of the state once. The constants are the first 32 bits of the fractions of
 * the cube roots (K) and square roots (the first state) of the first 64 and 8 primes; sums are modulo 2^32.
 * A number to reproduce: "abc" gives ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c b410ff61
 * f20015ad. */
#include "sha256.h"

#include <string.h>

enum { BLOCK = 64, WORDS = 16, ROUNDS = 64 };

static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void extend(const unsigned char *block, uint32_t W[ROUNDS])
{
    for (int t = 0; t < WORDS; t++) {
        const unsigned char *b = block + 4 * t;
        W[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
    }
    for (int t = WORDS; t < ROUNDS; t++) {
        const uint32_t p = W[t - 15], q = W[t - 2];
        const uint32_t s0 = turn(p, 7) ^ turn(p, 18) ^ p >> 3;
        const uint32_t s1 = turn(q, 17) ^ turn(q, 19) ^ q >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

static void take_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t W[ROUNDS];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    extend(block, W);
    for (int t = 0; t < ROUNDS; t++) {
        const uint32_t S1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
        const uint32_t S0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
        const uint32_t first = h + S1 + ((e & f) ^ (~e & g)) + K[t] + W[t];
        const uint32_t second = S0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    const uint32_t turned[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++) state[i] += turned[i];
}

void hb_sha256_begin(hb_sha256 *sum)
{
    *sum = (hb_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void hb_sha256_add(hb_sha256 *sum, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    while (bytes > 0) {
        const size_t used = (size_t)(sum->bytes % BLOCK);
        const size_t take = bytes < BLOCK - used ? bytes : BLOCK - used;
        memcpy(sum->block + used, at, take);
        sum->bytes += take;
        at += take;
        bytes -= take;
        if (sum->bytes % BLOCK == 0) take_block(sum->state, sum->block);
    }
}

void hb_sha256_end(hb_sha256 *sum, char text[65])
{
    static const unsigned char filling[BLOCK] = {0x80};
    static const char digits[] = "0123456789abcdef";
    const uint64_t bits = 8 * sum->bytes;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    const size_t used = (size_t)(sum->bytes % BLOCK);
    hb_sha256_add(sum, filling, used < BLOCK - 8 ? BLOCK - 8 - used : 2 * BLOCK - 8 - used);
    hb_sha256_add(sum, length, 8);
    for (int i = 0; i < 64; i++) text[i] = digits[sum->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    text[64] = 0;
}
