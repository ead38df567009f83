/* heatball/data.h: data to learn from: the paper's planar sets with exact scores, and the user's
 * own.
 * First tier: for users.
 *
 * Each named set is a Gaussian mixture (a manifold: many small components), so that its density and
 * score are exact at every tau of the Ornstein-Uhlenbeck process dx = -x dtau + sqrt(2) dW (OU) and
 * of the variance-exploding one dx = sqrt(2) dW (VE): components stay Gaussian. docs/reference/datasets.md
 * has the table. */
#ifndef HEATBALL_DATA_H
#define HEATBALL_DATA_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_process { HB_PROCESS_OU, HB_PROCESS_VE, HB_PROCESS_DRIFT } hb_process;

/* ---- Gaussian mixtures ---- */

typedef struct hb_mixture hb_mixture;

/* weights[count] (positive, any scale), means[count][dim], covariances[count][dim][dim] (symmetric,
 * positive definite; all numbers below 1e100 in size, variances above 1e-100). Copied. Each
 * component is a mode of its own. Destroy the mixture before its context. */
HB_API hb_status hb_mixture_create(hb_context *context, int dim, size_t count,
                                   const double *weights, const double *means,
                                   const double *covariances, hb_mixture **out);
/* A set by its name, one of hb_data_names; HB_ERROR_ARGUMENT lists them. */
HB_API hb_status hb_mixture_named(hb_context *context, const char *name, hb_mixture **out);
HB_API void hb_mixture_destroy(hb_mixture *mixture);
HB_API int hb_mixture_dim(const hb_mixture *mixture);
HB_API size_t hb_mixture_count(const hb_mixture *mixture);
/* The component's weight (sum 1), mean[dim], covariance[dim][dim]; each output may be NULL. */
HB_API hb_status hb_mixture_component(hb_context *context, const hb_mixture *mixture, size_t k,
                                      double *weight, double *mean, double *covariance);
/* Mean[dim] and covariance[dim][dim] of the whole. */
HB_API void hb_mixture_moments(const hb_mixture *mixture, double *mean, double *covariance);
/* Draws first .. first+n-1: x[n][dim], component[n] (may be NULL). Draw i is a function of
 * (mixture, seed, i). */
HB_API hb_status hb_mixture_sample(hb_context *context, const hb_mixture *mixture, uint64_t seed,
                                   uint64_t first, size_t n, double *x, int *component);
/* The same of u(.,tau) under OU or VE; draw i has the same component and the same normals at all
 * tau, so it moves continuously with tau (it is not a path of the process). */
HB_API hb_status hb_mixture_sample_at(hb_context *context, const hb_mixture *mixture,
                                      hb_process process, uint64_t seed, uint64_t first, size_t n,
                                      double tau, double *x, int *component);
/* ln u(x,tau)[n] and its gradient[n][dim] (either may be NULL) under OU or VE at one tau >= 0.
 * Points must be finite, below 1e100 in size; the logarithm is finite however small u is. */
HB_API hb_status hb_mixture_score(hb_context *context, const hb_mixture *mixture,
                                  hb_process process, size_t n, const double *x, double tau,
                                  double *log_density, double *score);
/* The same with a tau[n] for each point. */
HB_API hb_status hb_mixture_score_each(hb_context *context, const hb_mixture *mixture,
                                       hb_process process, size_t n, const double *x,
                                       const double *tau, double *log_density, double *score);
/* How many parts people would count, and the part of each component, mode_of[count] (may be NULL):
 * the components of the three Gaussian mixtures, the arms, moons and rings of the other sets (1 for
 * ring). */
HB_API int hb_mixture_modes(const hb_mixture *mixture, int *mode_of);

/* "asymmetric_gmm", ..., NULL. */
HB_API const char *const *hb_data_names(void);
HB_API const char *hb_data_describe(const char *name); /* one line; NULL when unknown */

/* ---- the user's own ---- */

/* Rows of a .npy or .csv file, [n][dim], read as double. Refused with HB_ERROR_FORMAT, in words:
 * nan or inf (with its row and column, counted from 1), fewer than 2 rows, another number of axes
 * than 2. *x is released with hb_context_release. */
HB_API hb_status hb_data_read(hb_context *context, const char *path, int *dim, size_t *n,
                              double **x);
/* The same with the names of the columns, dim texts, each ended by a zero, one after the other;
 * NULL where the file has none. Released with hb_context_release. */
HB_API hb_status hb_data_read_named(hb_context *context, const char *path, int *dim, size_t *n,
                                    double **x, char **names);
/* A permutation of 0 .. n-1 that depends on (n, seed) alone: order[n]. Rows order[0 .. n-held-1]
 * are for training, the last `held` are held out. */
HB_API hb_status hb_data_split(hb_context *context, uint64_t seed, size_t n, size_t *order);

#ifdef __cplusplus
}
#endif
#endif
