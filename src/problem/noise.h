/* problem/noise.h: what kind of noise a problem has left when its transform has done what it can.
 *
 * A transform (transform.h) turns most noises into the one that all methods know: in its
 * coordinates the problem is dy = F dtau + sqrt(2) dW, HB_NOISE_SCALAR. The others have tau = t,
 * F = f and the tensor D = G G'/2: du/dt = -div(f u) + sum_ij d_i d_j (D_ij u). */
#pragma once

#include "formula/range_tape.h"

#include <heatball/problem.h>

typedef enum hb_noise_kind {
    HB_NOISE_SCALAR, /* isotropic in the coordinates of the transform */
    HB_NOISE_MATRIX, /* G(t), d x m, of rank below d, or d too large; tau = t */
    HB_NOISE_FIELD   /* G(x,t); tau = t */
} hb_noise_kind;

hb_noise_kind hb_problem_noise_kind(const hb_problem *problem);
int hb_problem_noise_columns(const hb_problem *problem);     /* m */
int hb_problem_noise_is_constant(const hb_problem *problem); /* G does not depend on t */
/* G[n][d][m] at x[n][d] and time t; of a MATRIX x may be NULL and n is 1. */
hb_status hb_problem_noise_factor(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, double t, double *G);
/* All values of G[d][m] for x in the box [d] at time t, and how many intervals `work` has (NULL:
 * only that); 0: they are not known, the noise is a callback or one number. */
size_t hb_problem_noise_ranges(const hb_problem *problem, const hb_interval *x, double t,
                               hb_interval *work, hb_interval *G);
/* D[n][d][d] = G G'/2, and its divergence[n][d], sum_j dD_ij/dx_j (NULL: not wanted), as above. */
hb_status hb_problem_diffusion(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, double t, double *D, double *divergence);
