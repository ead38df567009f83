/* path/linear_way.h: the Gaussian that a linear drift makes over the whole way. */
#ifndef HB_PATH_LINEAR_WAY_H
#define HB_PATH_LINEAR_WAY_H

#include <heatball/problem.h>

/* Doubles of one frame: E, C (d, d), n (d), w. */
size_t hb_linear_way_size(size_t d);

/* For a drift c + A x at every tau, A and c functions of tau. flow 1: backward from tau to 0,
 * x' = E x + n + noise of covariance C, and the factor e^-w (linear_way.c); flow -1: forward from 0
 * to tau, w without use. fine and rough are two frames by rules of different length: what they
 * differ by is larger than the error of fine. *found is 0 when the rule would need too many steps
 * or the frame leaves the doubles. */
hb_status hb_linear_way(hb_context *context, const hb_problem *problem, double tau, double flow,
                        double *fine, double *rough, int *found);

#endif
