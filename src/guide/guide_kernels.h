/* guide/guide_kernels.h: a polynomial of few coordinates at a time, and its derivatives, at many
 * points; compiled once per instruction set.
 *
 *     P(q) = sum_i  (c1 q + c2 q^2 + c3 q^3 + c4 q^4 + c5 max(|q| - 3.5, 0)^4)(q_i)
 *          + sum_ij q_i q_j (c11 + c21 q_i + c12 q_j + c31 q_i^2 + c22 q_i q_j + c13 q_j^2)
 *          + sum_ij c q_i q_j                                     (pairs that are coupled weakly)
 *          + sum_ijk q_i q_j q_k (c + c1 q_i + c2 q_j + c3 q_k)
 * in this order of coefficients. Points lie in columns, q (dim, n), n a multiple of
 * HB_GUIDE_LANES. */
#pragma once

#include "base/cpu.h"
#include <stddef.h>

enum { HB_GUIDE_LANES = 8, HB_GUIDE_SINGLE = 5, HB_GUIDE_PAIR = 6, HB_GUIDE_TRIPLE = 4 };

/* Which coordinates stand together. */
typedef struct hb_guide_basis {
    size_t dim, pairs, weak, triples;
    int (*axes)[3]; // (pairs + weak + triples, 3): of the pairs two, of the triples three
    size_t n_terms; /* coefficients */
} hb_guide_basis;

typedef struct hb_guide_kernel {
    /* value[n] = P; slope and curvature (dim, n) = dP/dq_i and d2P/dq_i^2; both NULL: not wanted */
    void (*value)(const hb_guide_basis *basis, const double *c, size_t n, const double *q,
                  double *value, double *slope, double *curvature);
    /* turned (dim, n) = Hessian of P times a (dim, n); lean (dim, n) = gradient of sum_i w_i
     * d2P/dq_i^2 at fixed w (dim, n) */
    void (*turn)(const hb_guide_basis *basis, const double *c, size_t n, const double *q,
                 const double *a, const double *w, double *turned, double *lean);
} hb_guide_kernel;

HB_KERNELS(hb_guide_kernel, hb_guide_kernel)
