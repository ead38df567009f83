/* metrics/curl.h: norms of the Jacobian of a field and of its antisymmetric part, by
 * differences. */
#pragma once

#include <heatball/base.h>

typedef struct hb_jacobian {
    hb_context *context;
    size_t dim, probes; /* dim probes are the axes, fewer are normal, by seed and stream */
    uint64_t seed, stream;
    double step;
    /* s (n, dim) at x (n, dim), which belong to the points from number `first` on. */
    hb_status (*field)(void *user, size_t first, size_t n, const double *x, double *s);
    void *user;
    double *rotation, *size; // (n): |A|^2 with A = (J - J^T)/2, |J|^2
    double *change;          // (n): |A_2h - A_h|^2 of differences by h and 2h; NULL: h alone
} hb_jacobian;

/* Fills the norms at x (n, dim). */
hb_status hb_jacobian_norms(const hb_jacobian *jacobian, size_t n, const double *x);
