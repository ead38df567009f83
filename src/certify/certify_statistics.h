/* certify/certify_statistics.h: tails of distributions, means with errors, and tests by random
 * signs. */
#pragma once

#include <heatball/base.h>

/* P(X > x) of a standard normal, of Student's t with so many degrees of freedom, of a gamma
 * distribution of this shape and scale 1, and of chi squared. */
double hb_normal_tail(double x);
double hb_student_tail(double degrees, double x);
double hb_gamma_tail(double shape, double x);
double hb_chi2_tail(double degrees, double x);

typedef struct hb_estimate {
    double value, error; /* a mean and its standard error, or a ratio of means */
    double skew;         /* of what is averaged */
} hb_estimate;
hb_estimate hb_estimate_mean(size_t n, const double *values);
hb_estimate hb_estimate_ratio(size_t n, const double *above, const double *below);
/* a - b of independent means over equally many values. */
hb_estimate hb_estimate_difference(hb_estimate a, hb_estimate b);
/* p-value of |value| <= tolerance (two-sided with 0) and of value <= tolerance, n values behind
 * it. */
double hb_estimate_p(hb_estimate estimate, size_t n, double tolerance);
double hb_estimate_p_above(hb_estimate estimate, size_t n, double tolerance);
/* The c for which first + c (second - first) has the least variance over n rows. */
double hb_estimate_mix(size_t n, const double *first, const double *second);

/* U = sum over i != j of K_ij (n, n) symmetric, and its distribution when row i has a random sign
 * e_i: sum e_i e_j K_ij. With `halves`, the first half of the rows has +1 and the second -1 in U,
 * and the signs are a random half of each. */
typedef struct hb_signs {
    double U, deviation, upper; /* standard deviation and 95 % quantile of that distribution */
    double p_value; /* P(it >= U - shift): by rank, in the tail by a gamma distribution */
} hb_signs;
hb_status hb_signs_test(hb_context *context, int halves, uint64_t seed, uint64_t stream, size_t n,
                        const double *K, double shift, hb_signs *out);
