/* Monomials x^alpha and their means over the unit sphere, for the tests of rules. */
#ifndef HB_TESTS_MONOMIALS_H
#define HB_TESTS_MONOMIALS_H

#include "support.h"

/* The mean of omega^alpha over the unit sphere of R^d: zero when a power is odd, else
 * Gamma(d/2)/Gamma((d+|alpha|)/2) prod Gamma((alpha_i+1)/2)/Gamma(1/2). */
static inline double sphere_moment(int d, const int *alpha)
{
    double log_moment = lgamma(0.5 * d);
    int total = 0;
    for (int i = 0; i < d; i++) {
        if (alpha[i] % 2) return 0;
        log_moment += lgamma(0.5 * (alpha[i] + 1)) - lgamma(0.5);
        total += alpha[i];
    }
    return exp(log_moment - lgamma(0.5 * (d + total)));
}

/* The next multi-index of |alpha| <= degree; 0 after the last. */
static inline int next_index(int d, int degree, int *alpha)
{
    int total = 0;
    for (int i = 0; i < d; i++) total += alpha[i];
    for (int i = 0; i < d; i++) {
        if (total < degree) {
            alpha[i]++;
            return 1;
        }
        total -= alpha[i];
        alpha[i] = 0;
    }
    return 0;
}

static inline double monomial(int d, const int *alpha, const double *x)
{
    double product = 1;
    for (int i = 0; i < d; i++)
        for (int k = 0; k < alpha[i]; k++) product *= x[i];
    return product;
}

#endif
