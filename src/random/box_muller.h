/* random/box_muller.h: the parts of a normal pair, a vector of them at a time.
 *
 * Box and Muller's r cos(angle), r sin(angle), r = sqrt(-2 ln u). General-purpose log and sincos
 * spend half their time on arguments that cannot occur here. So:
 *   u = (k + 1/2) 2^-52 in (0,1):  u = 2^e m, m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f/(2+f),
 *       ln u = e ln2 + f - f^2/2 + s (f^2/2 + z R(z)), z = s^2, R a minimax polynomial;
 *   angle: two bits choose one of four right-angled wedges, 52 bits a place y in (-1/2, 1/2) in it;
 *       sin and cos of (pi/2) y are polynomials, with no reduction and no special case.
 * tools/coefficients.py computes the polynomials. Error: 3.2 ulp at most over 4 million normals (4
 * is the tested bound).
 *
 * A step waits long for the one before it; the processor fills the time with the next vectors, as
 * far as it looks ahead. So callers make a batch of logarithms and then a batch of directions, in
 * two short loops, not both in one long one.
 *
 * All inline and static: include it only in files that are compiled once per instruction set. */
#pragma once

#include "random/vector.h"

/* (top 52 bits + 1/2) 2^-52, through a mantissa in [1,2). */
INLINE vd unit_interval(vi bits)
{
    vi one = vi_or(vi_shift_right(bits, 12), vi_set(0x3FF0000000000000u));
    return vd_sub(vi_as_vd(one), vd_set(1.0 - 0x1p-53));
}

/* -2 ln x for normal x in (0,1). Every term is twice as large from the start, which changes no
 * rounding; 2 f and e ln2 (its first piece) are exact, so fused or not the result is the same. */
INLINE vd minus_two_log_of(vd x)
{
    /* Adding 1 - sqrt(1/2) in the exponent's scale puts the cut of mantissas at sqrt(1/2). */
    const vi t = vi_add(vd_bits(x), vi_set(0x3FF0000000000000u - 0x3FE6A09E667F3BCDu));
    const vd biased = vi_as_vd(vi_or(vi_shift_right(t, 52), vi_set(0x4330000000000000u)));
    const vd e = vd_sub(biased, vd_set(0x1p52 + 1023.0));
    const vi mantissa = vi_and(t, vi_set(0x000FFFFFFFFFFFFFu));
    const vd m = vi_as_vd(vi_add(mantissa, vi_set(0x3FE6A09E667F3BCDu)));
    const vd f = vd_sub(m, vd_set(1.0));
    const vd s = vd_div(f, vd_add(m, vd_set(1.0)));
    const vd h = vd_mul(f, f), z = vd_mul(s, s), w = vd_mul(z, z);
    vd p = vd_fma(vd_set(2 * 0x1.2f0d940946615p-3), w,
                  vd_fma(vd_set(2 * 0x1.39a0f473c40edp-3), z, vd_set(2 * 0x1.7466463274ebbp-3)));
    p = vd_fma(p, w, vd_fma(vd_set(2 * 0x1.c71c51e7d6ff4p-3), z, vd_set(2 * 0x1.2492494217d16p-2)));
    p = vd_fma(p, w, vd_fma(vd_set(2 * 0x1.999999997fb2dp-2), z, vd_set(2 * 0x1.5555555555593p-1)));
    p = vd_fma(z, p, h);
    /* ln2 in two pieces: the first has 32 bits, so e times it is exact. */
    p = vd_fma(s, p, vd_mul(e, vd_set(2 * 0x1.a39ef35793c76p-33)));
    p = vd_fma(f, vd_set(-2.0), vd_sub(h, p));
    return vd_fma(e, vd_set(-2 * 0x1.62e42feep-1), p);
}

/* cos and sin of a uniform angle, up to a common sign: a wedge of width pi/2 around the first axis,
 * or, when bit 62 is set, around the second. */
INLINE void direction(vi bits, vd *cosine, vd *sine)
{
    const vi place = vi_and(vi_shift_right(bits, 10), vi_set(0x000FFFFFFFFFFFFFu));
    const vd one = vi_as_vd(vi_or(place, vi_set(0x3FF0000000000000u)));
    const vd y = vd_add(vd_sub(one, vd_set(1.5)), vd_set(0x1p-53));
    const vd z = vd_mul(y, y), w = vd_mul(z, z);
    vd a = vd_fma(vd_set(0x1.e3eed62bb5018p-25), z, vd_set(-0x1.e30063a1b8c00p-19));
    vd b = vd_fma(vd_set(-0x1.b263c3fefed7ap-28), w,
                  vd_fma(vd_set(0x1.f9cc40afd426fp-22), z, vd_set(-0x1.a6d1ec7e10ed2p-16)));
    a = vd_fma(a, w, vd_fma(vd_set(0x1.50782fca3af0ap-13), z, vd_set(-0x1.32d2cce2d538ap-8)));
    b = vd_fma(b, w, vd_fma(vd_set(0x1.e1f5068367baep-11), z, vd_set(-0x1.55d3c7e3c9280p-6)));
    a = vd_fma(a, w, vd_fma(vd_set(0x1.466bc67758700p-4), z, vd_set(-0x1.4abbce625be41p-1)));
    b = vd_fma(b, w, vd_fma(vd_set(0x1.03c1f081b5aaep-2), z, vd_set(-0x1.3bd3cc9be45dep+0)));
    a = vd_mul(y, vd_fma(z, a, vd_set(0x1.921fb54442d18p+0)));
    b = vd_fma(z, b, vd_set(1.0));
    const vi swap = vi_shift_left(bits, 1);
    *cosine = vd_select(swap, b, a);
    *sine = vd_select(swap, a, b);
}

/* Gives x the sign that bit 63 of bits asks for: turns the wedge by pi. */
INLINE vd flip(vd x, vi bits)
{
    return vi_as_vd(vi_xor(vd_bits(x), vi_and(bits, vi_set(0x8000000000000000u))));
}
