/* grid/scheme_kernels.h: the loops of the fitted scheme, once per instruction set.
 *
 * Rates are double. What Newton's linear systems need is float in d = 2, 3 (scheme_lines.c). */
#pragma once

#include "base/cpu.h"

#include <stddef.h>

#define HB_LARGEST_RATE 1e300 /* beyond it v changes too fast */

typedef struct hb_scheme_kernels {
    /* d = 1. upper = gain_up e and lower = gain_down/e with e = exp(v_{k+1} - v_k), k = 0 ..
     * n-2. */
    void (*line_edges)(size_t n, const double *v, const double *gain_up, const double *gain_down,
                       double *upper, double *lower);
    /* The inverse pivots of I - gamma J, and x becomes (I - gamma J)^-1 x. */
    void (*line_pivots)(size_t n, double gamma, const double *upper, const double *lower,
                        double *pivot);
    void (*line_solve)(size_t n, double gamma, const double *upper, const double *lower,
                       const double *pivot, double *x);

    /* The edges from nodes i to i + shift, i = 0 .. count-1: rate_i += upper, rate_{i+shift} +=
     * lower (or down_i = lower, where down is not NULL), and both are kept. An edge that does
     * not exist has gains 0. */
    void (*edges)(size_t count, size_t shift, const double *v, const double *gain_up,
                  const double *gain_down, double *rate, double *down, float *upper, float *lower);
    /* Only the lower ones, added to rate[count], which is that of the nodes i + shift, and kept. */
    void (*lower_edges)(size_t count, size_t shift, const double *v, const double *gain_down,
                        double *rate, float *lower);
    /* rate = -drain; and at the end rate_{i+1} += down_i, and 1 if all rates are numbers that
     * are not too large. */
    void (*drained)(size_t count, const double *drain, double *rate);
    int (*finish)(size_t count, const double *down, double *rate);
    /* out[i] = exp((to[i] - from[i])/2): the tensor scheme. */
    void (*roots)(size_t count, const double *from, const double *to, double *out);
    /* Weights as floats: what is tiny is 0, and nothing is infinite. */
    void (*weights)(size_t count, const double *from, float *to);
    /* x becomes (I - gamma J)^-1 x along `width` lines of n nodes side by side; rows of x, upper
     * and lower are `step` apart. ratio[n][width] and carry[width] are scratch. */
    void (*solve)(size_t n, size_t width, size_t step, float gamma, const float *upper,
                  const float *lower, float *x, float *ratio, float *carry);
    /* out = y - s - gamma J s for the edges from i to i + shift, i + shift < count; count is at
     * least 2 shift. */
    void (*couple)(size_t count, size_t shift, float gamma, const float *upper, const float *lower,
                   const float *y, const float *s, float *out);
    /* Over `count` entries: y -= p x, out = x - y, and out = x - gamma product. */
    void (*subtract)(size_t count, float p, const float *x, float *y);
    void (*difference)(size_t count, const float *x, const float *y, float *out);
    void (*residual)(size_t count, double gamma, const float *x, const double *product, float *out);
    void (*narrow)(size_t count, const double *from, float *to);
    void (*narrow_scaled)(size_t count, const float *scale, const double *from, float *to);
    /* most and next become the two largest of what they are and upper + lower (NULL: 0). */
    void (*two_largest)(size_t count, const float *upper, const float *lower, float *most,
                        float *next);
    /* scale = 1/max(1, gamma scale/2); 1 when one is below 1. x = scale x; out -= (1 - scale) x. */
    int (*scales)(size_t count, float gamma, float *scale);
    void (*multiply)(size_t count, const float *scale, float *x);
    void (*damp)(size_t count, const float *scale, const float *x, float *out);
    /* out = sum of factors_j x_j over j < n, for `count` entries from `first` on. */
    void (*combine)(size_t first, size_t count, int n, const double *factors, float *const *x,
                    double *out);
    /* to[k * pad + r] = from[r * n + k] for r < lines and k < n, 0 for r from lines to pad-1;
     * and back. */
    void (*to_lines)(size_t lines, size_t n, const float *from, size_t pad, float *to);
    void (*from_lines)(size_t lines, size_t n, const float *from, size_t pad, float *to);
    /* sums[j] = sum of (w x)(w y_j) over `count` entries from `first` on, j < n, in an order
     * that does not depend on the instruction set. */
    void (*products)(size_t first, size_t count, const double *w, const float *x, int n,
                     float *const *y, double *sums);
} hb_scheme_kernels;

HB_KERNELS(hb_scheme_kernels, hb_scheme_kernels)
