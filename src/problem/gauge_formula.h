/* problem/gauge_formula.h: what is left of a gradient drift that does not depend on tau after u
 * = e^{-V/2} psi. */
#pragma once

#include <heatball/problem.h>

typedef struct hb_gauge_formula hb_gauge_formula;

/* *out is NULL where there is none: the drift is no formula, no gradient, depends on tau, has
 * kinks or jumps, or too many derivatives. Threads may share it as long as the problem lives. */
hb_status hb_gauge_formula_create(hb_context *context, const hb_problem *problem,
                                  hb_gauge_formula **out);
void hb_gauge_formula_destroy(hb_gauge_formula *formula); /* NULL is fine */

/* out[n][1 + d]: Q = |F|^2/4 + div F/2 and its gradient. What is not finite stays so. */
hb_status hb_gauge_formula_run(hb_context *context, const hb_gauge_formula *formula, size_t n,
                               const double *x, double *out);
/* F[n][d] */
hb_status hb_gauge_formula_drift(hb_context *context, const hb_gauge_formula *formula, size_t n,
                                 const double *x, double *F);
/* V(x[i]) - V(from[i]) of n pairs (potential_rise.h); formula may be NULL. */
hb_status hb_gauge_formula_rise(hb_context *context, const hb_gauge_formula *formula,
                                const hb_problem *problem, size_t n, const double *from,
                                const double *x, double *rise);
/* V up to a constant, F = -grad V. Has: V was typed, or must not be left to random points since
 * parts of F are narrower than `length`. */
int hb_gauge_formula_has_potential(const hb_gauge_formula *formula, double length);
hb_status hb_gauge_formula_potential(hb_context *context, const hb_gauge_formula *formula, size_t n,
                                     const double *x, double *V);
