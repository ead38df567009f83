/* heatball/model.h: a score network with everything that is needed to use it.
 * First tier: for users.
 *
 * A model holds a network, the process that it was trained for, the scaling of the data and a
 * Gaussian reference carried along by the process, so that its tails are right before it has learnt
 * anything:
 *     z_j = (x_j - shift_j)/scale_j           rows as the network sees them; tau is theirs
 *     v_ref(z,tau) = ln N(z; m_tau, C_tau)    the data's mean and covariance under the process
 *     energy      v = v_ref + k(tau) N(z^, phi(tau)),  s = grad v,  z^ = (z - m_tau)/sigma_tau
 *     score       s = grad v_ref + (k(tau)/sqrt(b_tau)) N,  b_tau: variance of the process's noise
 *                 (dim <= 3; above, N works in the data's axes: docs/reference/models.md)
 *     helmholtz   dim 2: s = grad v_ref + grad(k N_1) + rot(k N_2),  rot f = (df/dy, -df/dx)
 * sigma_tau^2 = trace(C_tau)/dim; k(tau) = e^{-2 tau} for OU, 1/(1 + 2 tau/sigma_0^2) for VE, 1 for
 * a user's drift, whose m_tau and C_tau are moments of simulated paths and whose text it keeps;
 * phi: features of ln tau. Scores and log-densities are those of x: s_j/scale_j, and minus the sum
 * of the ln scale_j. A model of an SDE as typed, dx = F dt + G dW, has z in coordinates in which G
 * is sqrt(2), and its tau is t; outside of the domain of the process (x <= 0 under noise 0.2*x) its
 * log-density is -inf and its score NaN. docs/reference/models.md. */
#ifndef HEATBALL_MODEL_H
#define HEATBALL_MODEL_H

#include <heatball/data.h>
#include <heatball/field.h>
#include <heatball/problem.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_model hb_model;

/* The map from rows of data to z: none; the mean and one scale, the root of the mean variance, for
 * all columns; the mean and the standard deviation of each column; the same behind a map of each
 * column that heavy tails or a bound call for (train/column_maps.c): logarithm, arsinh or logit,
 * which AUTO and MAPS both name; or by what the data are: none for a process with a drift of the
 * user, whose drift has their units, one scale for images, else one for each column. */
typedef enum hb_standardise {
    HB_STANDARDISE_BY_KIND = -1,
    HB_STANDARDISE_NO = 0,
    HB_STANDARDISE_COMMON = 1,
    HB_STANDARDISE_AXIS = 2,
    HB_STANDARDISE_MAPS = 3,
    HB_STANDARDISE_AUTO = 4
} hb_standardise;

typedef enum hb_head { HB_HEAD_SCORE, HB_HEAD_ENERGY, HB_HEAD_HELMHOLTZ } hb_head;

typedef struct hb_model_info {
    int dim, classes; /* classes 0: no labels */
    int head;         /* hb_head */
    int process;      /* hb_process */
    int width, depth, skip, time_features;
    double scale;            /* of the data, the geometric mean of scale_j; tau is that of z */
    double tau_min, tau_max; /* trained range */
    size_t parameters;
    char loss[16]; /* "dsm", "fp", "hb", "hb-paper" */
    uint64_t seed, steps;
    int image_height, image_width; /* rows are images [height][width]; 0: they are not */
    double pixel_low, pixel_high;  /* values of black and white in them; 0, 0: not images */
    int half;                      /* 1: weights of 16 bits, in a file of half the size */
    uint64_t samples;              /* of the training data; 0: not known (files of before 0.3) */
} hb_model_info;

/* Averaged weights of a finished training; .safetensors with all settings in its metadata. A file
 * that is not one of ours, is cut short or was changed is refused with the reason. */
HB_API hb_status hb_model_load(hb_context *context, const char *path, hb_model **out);
HB_API hb_status hb_model_save(hb_context *context, const hb_model *model, const char *path);
HB_API void hb_model_destroy(hb_model *model);
/* HB_ERROR_ARGUMENT, and all 0, for a model that is NULL. */
HB_API hb_status hb_model_info_get(const hb_model *model, size_t size, hb_model_info *out);

/* At x[n][dim] and tau[n]; labels[n] (NULL: none; -1: no class). Bit-identical for any number of
 * threads, and for a point whatever the other points are. */
HB_API hb_status hb_model_score(hb_context *context, const hb_model *model, size_t n,
                                const double *x, const double *tau, const int *labels,
                                double *score);
/* ln u(x,tau)[n] and its gradient[n][dim] (may be NULL): energy head only. It is normalised as well
 * as it was learnt. */
HB_API hb_status hb_model_log_density(hb_context *context, const hb_model *model, size_t n,
                                      const double *x, const double *tau, const int *labels,
                                      double *log_density, double *gradient);
/* score[n][dim] (may be NULL) and div s[n]: exact with probes 0, else the mean over so many random
 * probes (Hutchinson; signs, a function of (seed, point)). For likelihoods. */
HB_API hb_status hb_model_divergence(hb_context *context, const hb_model *model, int probes,
                                     uint64_t seed, size_t n, const double *x, const double *tau,
                                     const int *labels, double *score, double *divergence);
/* The energy head as a field v(z,tau) of hb_mean_residual, in the model's coordinates z (below);
 * valid while the model lives. Residuals of ln u do not change with the coordinates. */
HB_API hb_status hb_model_field(hb_context *context, const hb_model *model, hb_field *out);
/* z[n][dim] = (x - shift)/scale of x[n][dim]; of a model of an SDE as typed or of mapped columns
 * its transformed coordinates, NaN outside of their domain; z may be x. Nothing with a NULL. And
 * back. */
HB_API void hb_model_standardise(const hb_model *model, size_t n, const double *x, double *z);
HB_API void hb_model_to_data(const hb_model *model, size_t n, const double *z, double *x);
/* hb_model_score and hb_model_log_density in the coordinates z, in which the process is. */
HB_API hb_status hb_model_score_of_z(hb_context *context, const hb_model *model, size_t n,
                                     const double *z, const double *tau, const int *labels,
                                     double *score);
HB_API hb_status hb_model_log_density_of_z(hb_context *context, const hb_model *model, size_t n,
                                           const double *z, const double *tau, const int *labels,
                                           double *log_density, double *gradient);
/* The maps of the columns, as "ln price, arsinh((y - 2)/3)"; "" where they are only shifted and
 * scaled. Lives as long as the model. */
HB_API const char *hb_model_maps(const hb_model *model);
/* Its shift[dim] and scale[dim]; either may be NULL. */
HB_API void hb_model_scales(const hb_model *model, double *shift, double *scale);

/* dz = F dtau + sqrt(2) dW of a model of a drift as a problem in z, without an initial density;
 * NULL: ou or ve. Its text (hb_problem_text) is that of the training, and hb_problem_frame tells z.
 * Lives as long as the model. */
HB_API const hb_problem *hb_model_problem(const hb_model *model);

/* The name of column j, 0 .. dim-1, which lives as long as the model; NULL: it has none. */
HB_API const char *hb_model_column_name(const hb_model *model, int j);

/* A model at one label (-1: none) as a score to be evaluated: hb_model_view_score with a view as
 * its user is an hb_score_callback. */
typedef struct hb_model_view {
    hb_context *context;
    const hb_model *model;
    int label;
} hb_model_view;
HB_API int hb_model_view_score(void *view, size_t n, const double *x, double tau, double *score);

#ifdef __cplusplus
}
#endif
#endif
