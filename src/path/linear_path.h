/* path/linear_path.h: the Gaussian that a linear drift makes over the whole path. */
#pragma once

#include <heatball/problem.h>

/* Doubles of one frame: E, C (d, d), n (d), w. */
size_t hb_linear_path_size(size_t d);

/* For a drift c + A x at every tau, A and c functions of tau. flow 1: backward from tau to 0,
 * x' = E x + n + noise of covariance C, and the factor e^-w (linear_path.c); flow -1: forward from
 * 0 to tau, w without use. fine and rough are two frames by rules of different length: what they
 * differ by is larger than the error of fine. *found is 0 when the rule would need too many steps
 * or the frame leaves the doubles. */
hb_status hb_linear_path(hb_context *context, const hb_problem *problem, double tau, double flow,
                         double *fine, double *rough, int *found);

/* P at the nodes of a piece, P' = h P A, from 1 at one of its ends to `end` at the other, by
 * collocation:
 *     P_j = 1 + h sum_k rule_jk P_k A_k,     end = 1 + h sum_k weight_k P_k A_k,
 * in rounds that gain a factor |A|h/k each, until they change by no more than `tolerance`. */
typedef struct hb_propagator {
    size_t d, n;                 /* nodes */
    const double *rule, *weight; // (n, n), (n): of hb_collocation
    double tolerance;
    int rounds;                  /* at most */
    double *P, *PA, *work, *end; // (n, d, d) twice, (d, d) twice
} hb_propagator;

/* A: (n, d, d). context: NULL, or one that hears a stop. */
hb_status hb_propagate(hb_context *context, const hb_propagator *p, double h, const double *A);
