/* studies/sampler/sampler.h: the parts of the sampler study.
 *
 *     sampler_laws.c     exact moments, densities and distribution functions
 *     sampler_draws.c    the draws of one dimension, reduced to run statistics and two samples
 *     sampler_study.c    the study itself: rows, numbers for the page, table, files */
#pragma once

#include "study_tools.h"

#include <heatball/ball.h>

enum {
    SAMPLER_N = 2000, /* samples of one run, as in the paper */
    SAMPLER_M = 80,   /* runs */
    SAMPLER_DRAWS = SAMPLER_N * SAMPLER_M,
    SAMPLER_DIMS = 9, /* 4, 8, .. 1024 */
    SAMPLER_BINS = 40
};

/* ---- exact laws ---- */

/* E_q[w^k f^p] under the uniform proposal q on the cylinder, f = |z|^2/(2 sigma); infinite when
 * 2(k-1) >= dim. */
double hb_sampler_moment(const hb_ball_constants *ball, int k, int p);
/* N Var of the uniform estimator of f, and the excess kurtosis of one weighted term. */
double hb_sampler_uniform_variance(const hb_ball_constants *ball);
double hb_sampler_uniform_excess(const hb_ball_constants *ball);
/* E[ESS]/ESS_exact - 1 to order 1/n for n uniform draws: ESS is a ratio, and biased. */
double hb_sampler_ess_bias(const hb_ball_constants *ball, int n);

/* One of the two concentration laws: a quantity, its exact law at dim, and its limit. */
typedef struct hb_sampler_law {
    const char *name; /* "radial": d(1-t); "temporal": sqrt(d)(sigma - sigma_star) */
    double (*exact_cdf)(int dim, double x);
    double (*limit_cdf)(double x);
    double (*exact_density)(int dim, double x);
    double (*limit_density)(double x);
    double low, high; /* the range of its histograms */
} hb_sampler_law;

enum { SAMPLER_RADIAL, SAMPLER_TEMPORAL, SAMPLER_LAWS };
extern const hb_sampler_law hb_sampler_laws[SAMPLER_LAWS];

/* sup |exact - limit| over a fine grid of the histogram's range, widened. */
double hb_sampler_law_distance(const hb_sampler_law *law, int dim);

/* ---- one dimension ---- */

/* Columns of sampler.csv, fields of a row, keys of sampler.json: one list. */
#define SAMPLER_COLUMNS(X)                                                                         \
    X(dim)                                                                                         \
    X(direct_mean)           /* over all draws; exact d+2 */                                       \
    X(direct_mean_z)         /* (measured - exact)/(exact standard error), here and below */       \
    X(direct_variance)       /* across the M runs */                                               \
    X(direct_variance_se)    /* jackknife */                                                       \
    X(direct_variance_exact) /* 2(d+2)/N */                                                        \
    X(direct_variance_z)                                                                           \
    X(direct_ess) /* all weights are 1 */                                                          \
    X(uniform_mean)                                                                                \
    X(uniform_mean_z)                                                                              \
    X(uniform_variance)                                                                            \
    X(uniform_variance_se)                                                                         \
    X(uniform_variance_exact)                                                                      \
    X(uniform_variance_z) /* empty where the fourth moment rules out a normal error */             \
    X(uniform_ess)        /* mean over the runs */                                                 \
    X(uniform_ess_se)                                                                              \
    X(uniform_ess_exact)    /* N/(1+chi2) */                                                       \
    X(uniform_ess_expected) /* the same with the bias of order 1/N */                              \
    X(uniform_ess_z)        /* against uniform_ess_expected; empty as above */                     \
    X(one_plus_chi2)                                                                               \
    X(inside)       /* fraction of the cylinder's points inside the ball */                        \
    X(inside_exact) /* |E_1|/|S| */                                                                \
    X(inside_z)                                                                                    \
    X(cylinder_ratio)        /* |S|/|E_1| */                                                       \
    X(cylinder_growth)       /* |S|/|E_1| over (e/(2 sqrt(pi))) sqrt(d) */                         \
    X(radial_ks_exact)       /* Kolmogorov distance of the draws to the exact law */               \
    X(radial_ks_limit)       /* and to the limit law */                                            \
    X(radial_limit_distance) /* of the exact law to the limit law */                               \
    X(temporal_ks_exact)                                                                           \
    X(temporal_ks_limit)                                                                           \
    X(temporal_limit_distance)                                                                     \
    X(temporal_variance) /* of sqrt(d)(sigma - sigma_star); limit 2 sigma_star^2 */

typedef struct hb_sampler_row {
#define SAMPLER_FIELD(name) double name;
    SAMPLER_COLUMNS(SAMPLER_FIELD)
#undef SAMPLER_FIELD
    double counts[SAMPLER_LAWS][SAMPLER_BINS]; /* histograms over the ranges of the laws */
} hb_sampler_row;

/* Draws and measures one dimension. */
hb_status hb_sampler_measure(hb_context *context, int dim, uint64_t seed, hb_sampler_row *row);

extern const hb_study hb_sampler_study;
