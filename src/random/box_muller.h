/* random/box_muller.h: Philox4x32-10 and the parts of a normal pair, LANES blocks at a time.
 *
 * Philox (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A
 * block is the counter (c0,c1,c2,c3) = (block low, block high, stream low, stream high) after ten
 * rounds under the key (k0,k1) = seed. Each 32-bit word sits in a 64-bit lane; the upper halves
 * hold rubbish, which the 32 x 32 -> 64 multiply ignores. Must reproduce: counter 0, key 0 gives
 * 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
 *
 * Normals: Box and Muller's r cos(angle), r sin(angle), r = sqrt(-2 ln u). General-purpose log and
 * sincos spend half their time on arguments that cannot occur here. So:
 *   u = (k + 1/2) 2^-52 in (0,1):  u = 2^e m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f/(2+f),
 *       ln u = e ln2 + f - f^2/2 + s (f^2/2 + z R(z)), z = s^2, R a minimax polynomial;
 *   angle: two bits choose one of four right-angled wedges, 52 bits a place y in (-1/2, 1/2) in it;
 *       sin and cos of (pi/2) y are polynomials, with no reduction and no special case.
 * tools/coefficients.py computes the polynomials. Error: 3.2 ulp at most over 4 million normals (4
 * is the tested bound). Steps are written over arrays of GROUP vectors so that several independent
 * chains fill the processor's pipelines; one at a time runs at two thirds of the speed.
 *
 * All inline and static: include it only in files that are compiled once per instruction set. */
#ifndef HB_RANDOM_BOX_MULLER_H
#define HB_RANDOM_BOX_MULLER_H

#include "random/vector.h"

enum {
    GROUP = 4,           /* vectors treated together */
    STEP = GROUP * LANES /* blocks per step; divides HB_BLOCK_GROUP */
};

/* The block numbers block .. block+LANES-1. */
INLINE vi consecutive(uint64_t block)
{
    static const uint64_t lane[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return vi_add(vi_set(block), vi_load(lane));
}

#define EACH _Pragma("GCC unroll 4") for (int j = 0; j < GROUP; j++)

/* ---- bits ---- */

typedef struct philox_key {
    vi round[10][2];
} philox_key;

INLINE void expand_key(uint64_t seed, philox_key *key)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < 10; i++) {
        key->round[i][0] = vi_set(k0);
        key->round[i][1] = vi_set(k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

/* The halves (word 0 | word 1 << 32) and (word 2 | word 3 << 32) of LANES blocks. */
INLINE void philox(vi block, uint64_t stream, const philox_key *key, vi *first, vi *second)
{
    const vi m0 = vi_set(0xD2511F53u), m1 = vi_set(0xCD9E8D57u), low = vi_set(0xFFFFFFFFu);
    vi c0 = block, c1 = vi_shift_right(block, 32);
    vi c2 = vi_set(stream), c3 = vi_set(stream >> 32);
    _Pragma("GCC unroll 10") for (int i = 0; i < 10; i++)
    {
        vi p0 = vi_multiply_low(c0, m0), p1 = vi_multiply_low(c2, m1);
        c0 = vi_xor3(vi_shift_right(p1, 32), c1, key->round[i][0]);
        c2 = vi_xor3(vi_shift_right(p0, 32), c3, key->round[i][1]);
        c1 = p1;
        c3 = p0;
    }
    *first = vi_or(vi_and(c0, low), vi_shift_left(c1, 32));
    *second = vi_or(vi_and(c2, low), vi_shift_left(c3, 32));
}

/* ---- doubles ---- */

/* (top 52 bits + 1/2) 2^-52, through a mantissa in [1,2). */
INLINE vd unit_interval(vi bits)
{
    vi one = vi_or(vi_shift_right(bits, 12), vi_set(0x3FF0000000000000u));
    return vd_sub(vi_as_vd(one), vd_set(1.0 - 0x1p-53));
}

/* x <- -2 ln x for GROUP vectors of x in (0,1), normal numbers. */
INLINE void minus_two_log_group(vd x[GROUP])
{
    vd e[GROUP], f[GROUP], s[GROUP], z[GROUP], w[GROUP], h[GROUP], p[GROUP];
    vi t[GROUP];
    /* Adding 1 - sqrt(1/2) in the exponent's scale puts the cut of mantissas at sqrt(1/2). */
    EACH t[j] = vi_add(vd_bits(x[j]), vi_set(0x3FF0000000000000u - 0x3FE6A09E667F3BCDu));
    EACH e[j] = vi_as_vd(vi_or(vi_shift_right(t[j], 52), vi_set(0x4330000000000000u)));
    EACH e[j] = vd_sub(e[j], vd_set(0x1p52 + 1023.0));
    EACH t[j] = vi_and(t[j], vi_set(0x000FFFFFFFFFFFFFu));
    EACH x[j] = vi_as_vd(vi_add(t[j], vi_set(0x3FE6A09E667F3BCDu)));
    EACH f[j] = vd_sub(x[j], vd_set(1.0));
    EACH s[j] = vd_div(f[j], vd_add(x[j], vd_set(1.0)));
    EACH h[j] = vd_mul(vd_mul(vd_set(0.5), f[j]), f[j]);
    EACH z[j] = vd_mul(s[j], s[j]);
    EACH w[j] = vd_mul(z[j], z[j]);
    EACH p[j] = vd_fma(vd_set(0x1.2f0d940946615p-3), w[j],
                       vd_fma(vd_set(0x1.39a0f473c40edp-3), z[j], vd_set(0x1.7466463274ebbp-3)));
    EACH p[j] = vd_fma(p[j], w[j],
                       vd_fma(vd_set(0x1.c71c51e7d6ff4p-3), z[j], vd_set(0x1.2492494217d16p-2)));
    EACH p[j] = vd_fma(p[j], w[j],
                       vd_fma(vd_set(0x1.999999997fb2dp-2), z[j], vd_set(0x1.5555555555593p-1)));
    EACH p[j] = vd_fma(z[j], p[j], h[j]);
    /* ln2 in two pieces: the first has 32 bits, so e times it is exact. */
    EACH p[j] = vd_fma(s[j], p[j], vd_mul(e[j], vd_set(0x1.a39ef35793c76p-33)));
    EACH p[j] = vd_sub(vd_sub(h[j], p[j]), f[j]);
    EACH p[j] = vd_sub(p[j], vd_mul(e[j], vd_set(0x1.62e42feep-1)));
    EACH x[j] = vd_add(p[j], p[j]);
}

/* cos and sin of a uniform angle, up to a common sign: a wedge of width pi/2 around the first axis,
 * or, when bit 62 is set, around the second. */
INLINE void direction_group(vi half[][2], vd cosine[GROUP], vd sine[GROUP])
{
    vd y[GROUP], z[GROUP], w[GROUP], a[GROUP], b[GROUP];
    EACH y[j] = vi_as_vd(vi_or(vi_and(vi_shift_right(half[j][1], 10), vi_set(0x000FFFFFFFFFFFFFu)),
                               vi_set(0x3FF0000000000000u)));
    EACH y[j] = vd_add(vd_sub(y[j], vd_set(1.5)), vd_set(0x1p-53));
    EACH z[j] = vd_mul(y[j], y[j]);
    EACH w[j] = vd_mul(z[j], z[j]);
    EACH a[j] = vd_fma(vd_set(0x1.e3eed62bb5018p-25), z[j], vd_set(-0x1.e30063a1b8c00p-19));
    EACH b[j] = vd_fma(vd_set(-0x1.b263c3fefed7ap-28), w[j],
                       vd_fma(vd_set(0x1.f9cc40afd426fp-22), z[j], vd_set(-0x1.a6d1ec7e10ed2p-16)));
    EACH a[j] = vd_fma(a[j], w[j],
                       vd_fma(vd_set(0x1.50782fca3af0ap-13), z[j], vd_set(-0x1.32d2cce2d538ap-8)));
    EACH b[j] = vd_fma(b[j], w[j],
                       vd_fma(vd_set(0x1.e1f5068367baep-11), z[j], vd_set(-0x1.55d3c7e3c9280p-6)));
    EACH a[j] = vd_fma(a[j], w[j],
                       vd_fma(vd_set(0x1.466bc67758700p-4), z[j], vd_set(-0x1.4abbce625be41p-1)));
    EACH b[j] = vd_fma(b[j], w[j],
                       vd_fma(vd_set(0x1.03c1f081b5aaep-2), z[j], vd_set(-0x1.3bd3cc9be45dep+0)));
    EACH a[j] = vd_fma(z[j], a[j], vd_set(0x1.921fb54442d18p+0));
    EACH a[j] = vd_mul(y[j], a[j]);
    EACH b[j] = vd_fma(z[j], b[j], vd_set(1.0));
    EACH
    {
        vi swap = vi_shift_left(half[j][1], 1);
        cosine[j] = vd_select(swap, b[j], a[j]);
        sine[j] = vd_select(swap, a[j], b[j]);
    }
}

/* Gives x the sign that bit 63 of bits asks for: turns the wedge by pi. */
INLINE vd flip(vd x, vi bits)
{
    return vi_as_vd(vi_xor(vd_bits(x), vi_and(bits, vi_set(0x8000000000000000u))));
}

#endif
