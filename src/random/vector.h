/* random/vector.h: the few vector operations that the kernels need, one set per instruction set.
 *
 * LANES doubles or 64-bit integers in vd and vi; 2*LANES floats in vf (LANES 1: one float). A file
 * that includes this is compiled once per instruction set with HB_VECTOR_<isa> defined; everything
 * is static inline, so nothing leaks between the sets.
 *
 * vd_sum_halves adds the eight doubles of 8/LANES vectors: the upper half to the lower, until one
 * is left.
 *
 * Bits: fma is one rounding on AVX2 and AVX-512, two on SSE2 and scalar; all else is IEEE and lane
 * by lane. SLEEF's "finz" (with FMA) and "cinz" (without) functions are bit-reproducible within
 * their class, so there are two classes of results, {avx2, avx512} and {sse2, scalar}. vd_min and
 * vd_max give their second argument where one is NaN. */
#pragma once

#include <math.h>
#include <sleef.h>
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline)) /* a loop whose constants stay in registers */

#if defined(HB_VECTOR_avx512) || defined(HB_VECTOR_avx2) || defined(HB_VECTOR_sse2)
/* Names that differ by the width of a vector alone; each set below has MM and SI. */
#define vd_set MM(set1_pd)
#define vd_add MM(add_pd)
#define vd_sub MM(sub_pd)
#define vd_mul MM(mul_pd)
#define vd_div MM(div_pd)
#define vd_sqrt MM(sqrt_pd)
#define vd_load MM(loadu_pd)
#define vd_min MM(min_pd)
#define vd_max MM(max_pd)
#define vd_store MM(storeu_pd)
#define vd_bits SI(castpd)
#define vi_add MM(add_epi64)
#define vi_shift_right(x, n) MM(srli_epi64)(x, n)
#define vi_shift_left(x, n) MM(slli_epi64)(x, n)
#define vi_multiply_low MM(mul_epu32)
#define vi_load(p) SI(loadu)((const vi *)(p))
#define vi_store(p, x) SI(storeu)((vi *)(p), x)
#define vi_and SI(and)
#define vi_or SI(or)
#define vi_xor SI(xor)
#define vf_set MM(set1_ps)
#define vf_add MM(add_ps)
#define vf_mul MM(mul_ps)
#define vf_min MM(min_ps)
#define vf_sqrt MM(sqrt_ps)
#define vf_load MM(loadu_ps)
#define vf_store MM(storeu_ps)
#define vf_from_int(p) MM(cvtepi32_ps)(vi_load(p))
#endif

#if defined(HB_VECTOR_avx512)
#include <immintrin.h>
#define LANES 8
#define CHAINS 4
#define XOR3_IS_ONE 1
#define ISA_NAME(x) x##_avx512
#define MM(operation) _mm512_##operation
#define SI(operation) _mm512_##operation##_si512
typedef __m512d vd;
typedef __m512i vi;
typedef __m512 vf;
#define vd_from_floats(p) _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define vd_to_floats(p, x) _mm256_storeu_ps(p, _mm512_cvtpd_ps(x))
#define vi_as_vd _mm512_castsi512_pd
#define vd_exp Sleef_finz_expd8_u10avx512f
#define vf_log Sleef_finz_logf16_u35avx512f
#define vf_sincospi Sleef_finz_sincospif16_u05avx512f
typedef Sleef___m512_2 vf_pair;
INLINE vi vi_set(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}
#define vi_swap_halves(x) _mm512_shuffle_epi32(x, (_MM_PERM_ENUM)0xB1)
INLINE vi vi_xor3(vi a, vi b, vi c)
{
    return _mm512_ternarylogic_epi64(a, b, c, 0x96);
}
INLINE vd vd_fma(vd a, vd b, vd c)
{
    return _mm512_fmadd_pd(a, b, c);
}
INLINE vd vd_select(vi sign, vd if_clear, vd if_set)
{
    return _mm512_mask_blend_pd(_mm512_movepi64_mask(sign), if_clear, if_set);
}
INLINE double vd_sum_halves(const vd p[1])
{
    const __m256d four =
        _mm256_add_pd(_mm512_castpd512_pd256(p[0]), _mm512_extractf64x4_pd(p[0], 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
INLINE void vd_store_pairs(double *out, vd a, vd b)
{
    const vi low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const vi high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    vd_store(out, _mm512_permutex2var_pd(a, low, b));
    vd_store(out + 8, _mm512_permutex2var_pd(a, high, b));
}

#elif defined(HB_VECTOR_avx2)
#include <immintrin.h>
#define LANES 4
#define CHAINS 2
#define XOR3_IS_ONE 0
#define ISA_NAME(x) x##_avx2
#define MM(operation) _mm256_##operation
#define SI(operation) _mm256_##operation##_si256
typedef __m256d vd;
typedef __m256i vi;
typedef __m256 vf;
#define vd_from_floats(p) _mm256_cvtps_pd(_mm_loadu_ps(p))
#define vd_to_floats(p, x) _mm_storeu_ps(p, _mm256_cvtpd_ps(x))
#define vi_as_vd _mm256_castsi256_pd
#define vd_exp Sleef_finz_expd4_u10avx2
#define vf_log Sleef_finz_logf8_u35avx2
#define vf_sincospi Sleef_finz_sincospif8_u05avx2
typedef Sleef___m256_2 vf_pair;
INLINE vi vi_set(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}
#define vi_swap_halves(x) _mm256_shuffle_epi32(x, 0xB1)
INLINE vi vi_xor3(vi a, vi b, vi c)
{
    return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}
INLINE vd vd_fma(vd a, vd b, vd c)
{
    return _mm256_fmadd_pd(a, b, c);
}
INLINE vd vd_select(vi sign, vd if_clear, vd if_set)
{
    return _mm256_blendv_pd(if_clear, if_set, vi_as_vd(sign));
}
INLINE double vd_sum_halves(const vd p[2])
{
    const __m256d four = _mm256_add_pd(p[0], p[1]);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
INLINE void vd_store_pairs(double *out, vd a, vd b)
{
    vd low = _mm256_unpacklo_pd(a, b), high = _mm256_unpackhi_pd(a, b);
    vd_store(out, _mm256_permute2f128_pd(low, high, 0x20));
    vd_store(out + 4, _mm256_permute2f128_pd(low, high, 0x31));
}

#elif defined(HB_VECTOR_sse2)
#include <emmintrin.h>
#define LANES 2
#define CHAINS 2
#define XOR3_IS_ONE 0
#define ISA_NAME(x) x##_sse2
#define MM(operation) _mm_##operation
#define SI(operation) _mm_##operation##_si128
typedef __m128d vd;
typedef __m128i vi;
typedef __m128 vf;
#define vd_from_floats(p) _mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(p))))
#define vd_to_floats(p, x) _mm_storel_epi64((__m128i *)(p), _mm_castps_si128(_mm_cvtpd_ps(x)))
#define vi_as_vd _mm_castsi128_pd
#define vd_exp Sleef_cinz_expd2_u10sse2
#define vf_log Sleef_cinz_logf4_u35sse2
#define vf_sincospi Sleef_cinz_sincospif4_u05sse2
typedef Sleef___m128_2 vf_pair;
INLINE vi vi_set(uint64_t x)
{
    return _mm_set1_epi64x((long long)x);
}
#define vi_swap_halves(x) _mm_shuffle_epi32(x, 0xB1)
INLINE vi vi_xor3(vi a, vi b, vi c)
{
    return _mm_xor_si128(_mm_xor_si128(a, b), c);
}
INLINE vd vd_fma(vd a, vd b, vd c)
{
    return _mm_add_pd(_mm_mul_pd(a, b), c);
}
INLINE vd vd_select(vi sign, vd if_clear, vd if_set)
{
    vd mask = vi_as_vd(_mm_shuffle_epi32(_mm_srai_epi32(sign, 31), 0xF5));
    return _mm_or_pd(_mm_and_pd(mask, if_set), _mm_andnot_pd(mask, if_clear));
}
INLINE double vd_sum_halves(const vd p[4])
{
    const vd two = _mm_add_pd(_mm_add_pd(p[0], p[2]), _mm_add_pd(p[1], p[3]));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
INLINE void vd_store_pairs(double *out, vd a, vd b)
{
    vd_store(out, _mm_unpacklo_pd(a, b));
    vd_store(out + 2, _mm_unpackhi_pd(a, b));
}

#else /* HB_VECTOR_scalar: any processor */
#define LANES 1
#define CHAINS 2
#define XOR3_IS_ONE 0
#define ISA_NAME(x) x##_scalar
typedef double vd;
typedef uint64_t vi;
typedef float vf;
#define vd_set(x) (x)
#define vd_add(a, b) ((a) + (b))
#define vd_sub(a, b) ((a) - (b))
#define vd_mul(a, b) ((a) * (b))
#define vd_div(a, b) ((a) / (b))
#define vd_sqrt(a) sqrt(a)
#define vd_load(p) (*(p))
#define vd_min(a, b) ((a) < (b) ? (a) : (b))
#define vd_max(a, b) ((a) > (b) ? (a) : (b))
#define vd_store(p, x) (*(p) = (x))
#define vd_from_floats(p) ((double)*(p))
#define vd_to_floats(p, x) (*(p) = (float)(x))
#define vi_load(p) (*(p))
#define vi_store(p, x) (*(p) = (x))
#define vi_set(x) ((uint64_t)(x))
#define vi_add(a, b) ((a) + (b))
#define vi_and(a, b) ((a) & (b))
#define vi_or(a, b) ((a) | (b))
#define vi_xor(a, b) ((a) ^ (b))
#define vi_xor3(a, b, c) ((a) ^ (b) ^ (c))
#define vi_swap_halves(x) ((x) >> 32 | (x) << 32)
#define vi_shift_right(x, n) ((x) >> (n))
#define vi_shift_left(x, n) ((x) << (n))
#define vi_multiply_low(a, b) ((uint64_t)(uint32_t)(a) * (uint32_t)(b))
#define vd_exp Sleef_cinz_expd1_u10purec
#define vf_log Sleef_cinz_logf1_u35purec
#define vf_sincospi Sleef_cinz_sincospif1_u05purec
typedef Sleef_float_2 vf_pair;
#define vf_set(x) (x)
#define vf_add(a, b) ((a) + (b))
#define vf_mul(a, b) ((a) * (b))
#define vf_min(a, b) ((a) < (b) ? (a) : (b))
#define vf_sqrt(a) sqrtf(a)
#define vf_load(p) (*(p))
#define vf_store(p, x) (*(p) = (x))
#define vf_from_int(p) ((float)*(p))
INLINE uint64_t vd_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE double vi_as_vd(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
INLINE double vd_fma(double a, double b, double c)
{
    return a * b + c;
}
INLINE double vd_select(uint64_t sign, double if_clear, double if_set)
{
    return sign >> 63 ? if_set : if_clear;
}
INLINE double vd_sum_halves(const double p[8])
{
    const double even = (p[0] + p[4]) + (p[2] + p[6]), odd = (p[1] + p[5]) + (p[3] + p[7]);
    return even + odd;
}
INLINE void vd_store_pairs(double *out, double a, double b)
{
    out[0] = a;
    out[1] = b;
}
#endif

/* The words of a and b, lower before upper, LANES times (a, b). */
INLINE void vi_store_words(uint32_t *out, vi a, vi b)
{
#if LANES > 1
    vd_store_pairs((double *)out, vi_as_vd(a), vi_as_vd(b));
#else
    out[0] = (uint32_t)a;
    out[1] = (uint32_t)(a >> 32);
    out[2] = (uint32_t)b;
    out[3] = (uint32_t)(b >> 32);
#endif
}

#define FLOAT_LANES (LANES == 1 ? 1 : 2 * LANES)

/* Eight floats, on any instruction set; and the transpose of eight rows of eight: to[k * pad + r] =
 * from[r * n + k]. */
typedef float vf8 __attribute__((vector_size(32)));
#define vf8_mix(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
INLINE void vf8_transpose(const float *from, size_t n, float *to, size_t pad)
{
    vf8 r[8], pair[8], four[8];
    for (size_t i = 0; i < 8; i++) memcpy(&r[i], from + i * n, sizeof r[i]);
    for (size_t i = 0; i < 8; i += 2) {
        pair[i] = vf8_mix(r[i], r[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        pair[i + 1] = vf8_mix(r[i], r[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (size_t i = 0; i < 8; i += 4)
        for (size_t k = 0; k < 2; k++) {
            four[i + 2 * k] = vf8_mix(pair[i + k], pair[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            four[i + 2 * k + 1] = vf8_mix(pair[i + k], pair[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (size_t k = 0; k < 4; k++) {
        r[k] = vf8_mix(four[k], four[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        r[k + 4] = vf8_mix(four[k], four[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (size_t k = 0; k < 8; k++) memcpy(to + k * pad, &r[k], sizeof r[k]);
}
