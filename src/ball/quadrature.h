/* ball/quadrature.h: Gauss rules for the Gamma and Beta distributions, by Golub and Welsch. */
#pragma once

#include <heatball/base.h>

#define HB_QUADRATURE_MAX 512 /* largest number of nodes */

/* n nodes in increasing order and n weights of sum 1; exact for polynomials of degree 2n-1. */

/* Gamma(shape, rate): density proportional to x^(shape-1) e^(-rate x), x > 0. */
hb_status hb_quadrature_gamma(hb_context *context, double shape, double rate, int n, double *nodes,
                              double *weights);
/* Beta(a, b): density proportional to x^(a-1) (1-x)^(b-1), 0 < x < 1. */
hb_status hb_quadrature_beta(hb_context *context, double a, double b, int n, double *nodes,
                             double *weights);

/* For collocation at n nodes on (0, 1), of a rule with these weights: out[j][k], the integral of
 * node k's Lagrange polynomial from 0 to node j, or, ahead, from node j to 1. */
void hb_collocation(int n, const double *node, const double *weight, int ahead, double *out);
