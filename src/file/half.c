/* binary16 from and to float, by the bits, so that every compiler gives the same.
 *
 *     sign 1 bit, exponent 5 bits (bias 15), fraction 10 bits; a float has 1, 8 (bias 127) and 23
 * Below 2^-14 a half has the fixed step 2^-24. Rounding adds just under half of the last place that
 * stays, and one more when that place is odd; a carry then goes into the exponent, as it should.
 * Numbers to reproduce: 1 is 0x3c00, 65504 is 0x7bff, 2^-24 is 0x0001. */
#include "file/half.h"

#include <math.h>
#include <string.h>

enum { FRACTION = 10, DROPPED = 23 - FRACTION };

static const uint32_t SIGN = 0x80000000u;
static const uint32_t FLOAT_INFINITY = 0x7f800000u;
static const uint32_t LEAST_NORMAL = (127u - 14) << 23; /* 2^-14 */
static const uint16_t HALF_INFINITY = 0x7c00, HALF_NAN = 0x7e00;

uint16_t hb_half_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)((bits & SIGN) >> 16);
    const uint32_t size = bits & ~SIGN;
    if (size > FLOAT_INFINITY) return sign | HALF_NAN;
    if (size < LEAST_NORMAL) /* nearbyint: ties to even; 1024 is the least normal number itself */
        return sign | (uint16_t)nearbyint(fabs((double)value) * 0x1p24);
    const uint32_t odd = size >> DROPPED & 1;
    const uint32_t rounded = size + ((1u << (DROPPED - 1)) - 1) + odd;
    const uint32_t half = (rounded >> DROPPED) - ((127u - 15) << FRACTION);
    return sign | (half < HALF_INFINITY ? (uint16_t)half : HALF_INFINITY);
}

float hb_half_value(uint16_t half)
{
    const int exponent = half >> FRACTION & 31, fraction = half & ((1 << FRACTION) - 1);
    double value = ldexp(fraction, -24);
    if (exponent == 31)
        value = fraction ? NAN : INFINITY;
    else if (exponent > 0)
        value = ldexp(1024 + fraction, exponent - 25);
    return (float)(half >> 15 ? -value : value);
}
