/* metrics/distance_kernels.h: squared distances and kernel sums of one point against many, once per
 * instruction set. */
#pragma once

#include "base/cpu.h"

enum { HB_MMD_LANES = 8 }; /* columns come in multiples of this, and sums have so many parts */

/* out[count] = |a - b_i|^2 for the point a (dim) and points b in columns (dim, count). */
typedef void (*hb_distance_kernel)(size_t dim, const double *a, size_t count, const double *b,
                                   double *out);
/* Adds, for the point a (dim) and the points b in columns (dim, stride), count of them, k(a, b)
 * into sum[HB_MMD_LANES] and k^2 into squares[HB_MMD_LANES], column j into part j mod HB_MMD_LANES.
 * scale = 1/(2 h^2); single: k = exp(-scale |a-b|^2), else the mean over the five widths. A column
 * of infinities adds 0. */
typedef void (*hb_mmd_kernel)(size_t dim, const double *a, size_t count, size_t stride,
                              const double *b, double scale, int single, double *sum,
                              double *squares);

HB_KERNELS(hb_distance_kernel, hb_distance_kernel)
HB_KERNELS(hb_mmd_kernel, hb_mmd_kernel)
