/* metrics/squared_distances.h: squared distances of one point to STRIPS vectors of others, for the files
 * that are compiled once per instruction set. Each sum runs over the coordinates in order; the strips
 * only keep the multipliers busy, so their number changes no bit. */
#ifndef HB_METRICS_SQUARED_DISTANCES_H
#define HB_METRICS_SQUARED_DISTANCES_H

#include "random/vector.h"

#include <stddef.h>

enum { STRIPS = 4 };

/* One vector of columns: b (dim, stride). */
INLINE vd squared_distance(size_t dim, const double *a, size_t stride, const double *b)
{
    vd sum = vd_set(0);
    for (size_t j = 0; j < dim; j++) {
        const vd away = vd_sub(vd_load(b + j * stride), vd_set(a[j]));
        sum = vd_fma(away, away, sum);
    }
    return sum;
}

/* STRIPS of them, `step` columns apart. */
INLINE void squared_distances(size_t dim, const double *a, size_t stride, const double *b,
                              size_t step, vd out[STRIPS])
{
    vd sum[STRIPS];
    for (int s = 0; s < STRIPS; s++) sum[s] = vd_set(0);
    for (size_t j = 0; j < dim; j++) {
        const vd point = vd_set(a[j]);
        for (int s = 0; s < STRIPS; s++) {
            const vd away = vd_sub(vd_load(b + j * stride + (size_t)s * step), point);
            sum[s] = vd_fma(away, away, sum[s]);
        }
    }
    for (int s = 0; s < STRIPS; s++) out[s] = sum[s];
}

#endif
