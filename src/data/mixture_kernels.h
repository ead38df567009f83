/* data/mixture_kernels.h: the sum over components at many points, once per instruction set. */
#pragma once

#include "base/cpu.h"

enum { HB_MIXTURE_LANES = 8 }; /* points come in multiples of this */

/* A mixture ready for evaluation. Component k takes hb_packed_size doubles:
 *     ln w_k - ln det(2 pi C_k)/2,   m_k (dim),   A_k (dim, dim) with A_k^T A_k = C_k^-1. */
typedef struct hb_packed_mixture {
    size_t dim, count;
    const double *components; // (count, 1 + dim + dim^2)
} hb_packed_mixture;

static inline size_t hb_packed_size(size_t dim)
{
    return 1 + dim + dim * dim;
}

/* Scratch that one call needs, in doubles. */
static inline size_t hb_mixture_scratch(size_t dim, size_t count)
{
    return HB_MIXTURE_LANES * (count + 2 * dim);
}

/* At n points, n a multiple of HB_MIXTURE_LANES, in columns x (dim, n): ln u = largest[n] + ln
 * sum[n]; gradient (dim, n), not computed when NULL. */
typedef void (*hb_mixture_kernel)(const hb_packed_mixture *mixture, size_t n, const double *x,
                                  double *scratch, double *largest, double *sum, double *gradient);

HB_KERNELS(hb_mixture_kernel, hb_mixture_kernel)
