/* heatball/random.h: counter-based random numbers.
 * Second tier: for bindings and tools.
 *
 * A draw is a function of (seed, stream, index) and nothing else: there is no generator object and
 * no state. Asking for draws first .. first+n-1 in one call, in pieces, or on any number of threads
 * gives bit-identical results. Distinct seeds, and distinct streams of one seed, are independent.
 *
 * Bits come from Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011): key = seed (64 bits), counter =
 * (block, stream), low word first. Block b of a stream yields four 32-bit words, and from them
 *     words     4b .. 4b+3
 *     uniforms  2b, 2b+1      (k + 1/2) 2^-52, k = top 52 bits of a 64-bit half: never 0, never 1
 *     normals   2b, 2b+1      Box-Muller: the first half gives the radius, the second the angle
 *     float uniforms and normals 4b .. 4b+3
 * docs/reference/random.md writes the map out so that others can reproduce it. */
#ifndef HEATBALL_RANDOM_H
#define HEATBALL_RANDOM_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All fill out[0..n-1] with draws first .. first+n-1; n = 0 is fine. HB_ERROR_ARGUMENT when out is
 * NULL with n > 0 or first+n leaves 64 bits. */
HB_API hb_status hb_random_words(hb_context *context, uint64_t seed, uint64_t stream,
                                 uint64_t first, size_t n, uint32_t *out);
HB_API hb_status hb_random_uniform(hb_context *context, uint64_t seed, uint64_t stream,
                                   uint64_t first, size_t n, double *out);
HB_API hb_status hb_random_normal(hb_context *context, uint64_t seed, uint64_t stream,
                                  uint64_t first, size_t n, double *out);
HB_API hb_status hb_random_uniform_f32(hb_context *context, uint64_t seed, uint64_t stream,
                                       uint64_t first, size_t n, float *out);
HB_API hb_status hb_random_normal_f32(hb_context *context, uint64_t seed, uint64_t stream,
                                      uint64_t first, size_t n, float *out);

#ifdef __cplusplus
}
#endif
#endif
