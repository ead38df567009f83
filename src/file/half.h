/* file/half.h: numbers of 16 bits (binary16 of IEEE 754) for files that have to be small.
 *
 * 11 bits of precision, up to 65504. To the nearest, ties to even; what is larger becomes
 * infinite, and what is below 2^-25 becomes 0. */
#pragma once

#include <stdint.h>

uint16_t hb_half_of(float value);
float hb_half_value(uint16_t half);
