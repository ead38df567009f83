/* grid/tensor_kernels.h: the exponentials of the tensor scheme, once per instruction set. */
#ifndef HB_GRID_TENSOR_KERNELS_H
#define HB_GRID_TENSOR_KERNELS_H

#include "base/cpu.h"

#include <stddef.h>

typedef struct hb_tensor_kernels {
    /* out[i] = exp((to[i] - from[i])/2). */
    void (*roots)(size_t n, const double *from, const double *to, double *out);
} hb_tensor_kernels;

HB_KERNELS(hb_tensor_kernels, hb_tensor_kernels)

#endif
