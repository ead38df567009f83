/* grid/scheme_kernels.h: the loops of the fitted scheme over one strand (grid_mesh.h), once per
 * instruction set.
 *
 * Arrays have n rows of `pad` entries. Row k of an array over edges is the edge from node k to node
 * k + 1, and its last row is 0. With pad = 1 there is space for HB_STRAND_LANES entries behind the end. */
#ifndef HB_GRID_SCHEME_KERNELS_H
#define HB_GRID_SCHEME_KERNELS_H

#include "base/cpu.h"
#include "grid/grid_mesh.h"

typedef struct hb_scheme_kernels {
    /* upper = gain_up e and lower = gain_down/e with e = exp(v_{k+1} - v_k); v is also read behind
     * the end when pad = 1. */
    void (*edges)(size_t n, size_t pad, const double *v, const double *gain_up,
                  const double *gain_down, double *upper, double *lower);
    /* The inverse pivots of I - gamma J. */
    void (*pivots)(size_t n, size_t pad, double gamma, const double *upper, const double *lower,
                   double *pivot);
    /* x becomes (I - gamma J)^-1 x. */
    void (*solve)(size_t n, size_t pad, double gamma, const double *upper, const double *lower,
                  const double *pivot, double *x);
} hb_scheme_kernels;

HB_KERNELS(hb_scheme_kernels, hb_scheme_kernels)

#endif
