/* problem/initial/initial_formula.h: a start that is a formula in x, in the coordinates of a transform. */
#ifndef HB_PROBLEM_INITIAL_FORMULA_H
#define HB_PROBLEM_INITIAL_FORMULA_H

#include "problem/problem_parts.h"

/* Makes problem->initial from the formula of problem->outside, where it is a Gaussian in y, or a product of densities
 * on the line; L[d][d]: the transform's at time 0. *taken: 0 when it is neither. */
hb_status hb_initial_take_formula(hb_context *context, hb_problem *problem, const double *L,
                                  int *taken);

#endif
