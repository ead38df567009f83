/* problem/potential_rise.h: differences of the potential of a gradient drift. */
#ifndef HB_PROBLEM_POTENTIAL_RISE_H
#define HB_PROBLEM_POTENTIAL_RISE_H

#include <heatball/problem.h>

/* V(x[i]) - V(from[i]), n of them, x and from [n][d], where F = -grad V does not depend on tau:
 * from the potential's own program, or as the line integral of -F. NaN where it cannot be had. */
hb_status hb_potential_rise(hb_context *context, const hb_problem *problem, size_t n,
                            const double *from, const double *x, double *rise);

#endif
