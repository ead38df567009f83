/* metrics/distance_kernels.h: squared distances of one point to many, once per instruction set. */
#ifndef HB_METRICS_DISTANCE_KERNELS_H
#define HB_METRICS_DISTANCE_KERNELS_H

#include "base/cpu.h"

/* out[count] = |a - b_i|^2 for the point a (dim) and points b in columns (dim, count); count is a
 * multiple of HB_MMD_LANES (mmd_kernels.h). */
typedef void (*hb_distance_kernel)(size_t dim, const double *a, size_t count, const double *b,
                                   double *out);

HB_KERNELS(hb_distance_kernel, hb_distance_kernel)

#endif
