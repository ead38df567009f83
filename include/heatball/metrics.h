/* heatball/metrics.h: how good a score, a set of samples or a field is.
 * Second tier: for bindings and tools.
 *
 * Everything is measured on plain arrays, so that it serves any model. docs/reference/metrics.md. */
#ifndef HEATBALL_METRICS_H
#define HEATBALL_METRICS_H

#include <heatball/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A score to be evaluated: score[n][dim] at x[n][dim] and one tau. A non-zero return is an
 * error. */
typedef int (*hb_score_callback)(void *user, size_t n, const double *x, double tau, double *score);

/* Mean |s - s_exact|^2 over n draws of u(.,tau): over all, over the fifth of the draws with the
 * lowest density (the lowest 20 % of probability mass), over the rest, and, in two dimensions, over
 * those points of a lattice of 161 x 161 with u > 1e-4 (grid; NaN in other dimensions); the first
 * three with standard errors, which count that the border between low and high is itself estimated.
 * n >= 50. The draws are independent of those of hb_mixture_sample with the same seed. The callback
 * is called from the calling thread, with at most 16384 points at a time. */
typedef struct hb_score_error {
    double tau, all, all_se, low, low_se, high, high_se, grid;
} hb_score_error;
HB_API hb_status hb_judge_score(hb_context *context, const hb_mixture *truth, hb_process process,
                                uint64_t seed, size_t n, double tau, hb_score_callback score,
                                void *user, size_t size, hb_score_error *out);

/* Maximum mean discrepancy of x[n][dim] and y[m][dim] with the kernel
 *     k(a,b) = mean over c in {1/4, 1/2, 1, 2, 4} of exp(-|a-b|^2/(2 c^2 h^2)),
 * h the median distance among up to 1000 rows of y, evenly spaced; or, single != 0, c = 1 alone.
 * mmd2 is the unbiased estimate of the square (it can be negative), mmd the biased one's root,
 * mmd2_se by the variance of its U-statistic (first and second order, so also where the
 * distributions are equal). n, m >= 4. */
typedef struct hb_mmd {
    double mmd, mmd2, mmd2_se, bandwidth;
} hb_mmd;
HB_API hb_status hb_judge_mmd(hb_context *context, int dim, int single, size_t n, size_t m,
                              const double *x, const double *y, size_t size, hb_mmd *out);

/* What hb_judge_mmd gives when nothing is wrong: `times` times, n rows drawn without repetition
 * from a[n_a][dim] against m rows drawn likewise from b[n_b][dim] (of the rows of a and of b, as x
 * and y there), by (seed, time). mmd and mmd2 are means over the times, mmd_upper and mmd2_upper
 * the 95 % quantiles. 4 <= n <= n_a, 4 <= m <= n_b, times 20 to 100000. */
typedef struct hb_mmd_floor {
    double mmd, mmd_upper, mmd2, mmd2_upper;
} hb_mmd_floor;
HB_API hb_status hb_judge_mmd_floor(hb_context *context, int dim, int single, int times,
                                    uint64_t seed, size_t n_a, size_t n_b, size_t n, size_t m,
                                    const double *a, const double *b, size_t size,
                                    hb_mmd_floor *out);

/* Kolmogorov's distance of x[n][dim] and y[m][dim] in each column: distance[dim], the largest
 * difference of the two fractions of rows below a value; it does not depend on the columns' units.
 * floor (may be NULL): what rows of equal distributions exceed in any of the columns with
 * probability 5 % at most. n, m >= 1. */
HB_API hb_status hb_judge_kolmogorov(hb_context *context, int dim, size_t n, size_t m,
                                     const double *x, const double *y, double *distance,
                                     double *floor);

/* ---- samples in many dimensions: images ---- */

/* The nearest row of y[m][dim] to each row of x[n][dim]: index[n] (the first of several) and
 * Euclidean distance[n]; either may be NULL. n >= 1, m >= 1, numbers finite; likewise below. */
HB_API hb_status hb_judge_nearest(hb_context *context, int dim, size_t n, size_t m, const double *x,
                                  const double *y, size_t *index, double *distance);

/* Precision and recall of generated rows x[n][dim] against real rows y[m][dim] (Kynkaanniemi et
 * al., 2019): precision is the fraction of x within the k-th neighbour's distance of some row of y,
 * that distance taken among y; recall is the same with x and y exchanged. k 1 to 100 (3 is usual),
 * n, m > k. */
HB_API hb_status hb_judge_precision_recall(hb_context *context, int dim, int k, size_t n, size_t m,
                                           const double *x, const double *y, double *precision,
                                           double *recall);

/* Whether a model repeats its training rows t[n_t][dim]: distances to the nearest of them from
 * generated rows x[n][dim], beside those from held-out real rows y[m][dim]. ratio: of the medians,
 * 1 when generated rows are as far as real ones, 0 when they are copies; near: the 1st percentile
 * of the real distances; fraction: of the generated rows that are nearer than that, 0.01 when they are
 * as real ones. */
typedef struct hb_memorisation {
    double median, real_median, ratio, near, fraction;
} hb_memorisation;
HB_API hb_status hb_judge_memorisation(hb_context *context, int dim, size_t n, size_t m, size_t n_t,
                                       const double *x, const double *y, const double *t,
                                       size_t size, hb_memorisation *out);

/* Salt-and-pepper artifacts of images x[n][height][width]: specks[n] counts the pixels of an image
 * whose strength is above theta, affected the images with at least `least` of them; either may be
 * NULL. The strength of a pixel p with the 8 around it (images continue beyond their edges as in a
 * mirror):
 *     HB_SPECK_MEDIAN    |p - median of the nine|: single pixels of high contrast
 *     HB_SPECK_ISOLATED  how far p is above the highest or below the lowest of the 8, else 0: grain
 * Sides 3 to 65536, least >= 1, theta >= 0. */
typedef enum hb_speck { HB_SPECK_MEDIAN, HB_SPECK_ISOLATED } hb_speck;
HB_API hb_status hb_judge_artifacts(hb_context *context, hb_speck kind, int height, int width,
                                    int least, size_t n, double theta, const double *x,
                                    size_t *specks, size_t *affected);
/* The smallest theta for which at most the given fraction (0 <= fraction < 1) of real images is
 * affected. */
HB_API hb_status hb_judge_artifacts_threshold(hb_context *context, hb_speck kind, int height,
                                              int width, int least, size_t n, double fraction,
                                              const double *x, double *theta);

/* ---- mixtures and fields ---- */

/* Which modes of a mixture the rows fall on: counts[modes], each row with the component that most
 * likely made it, if it is within sqrt(dim) + 3 of its standard deviations (4 in one dimension; one
 * draw in 17000 in two dimensions is not); outliers: the rest. found: modes with at least a tenth
 * of the fraction they should have. Any output may be NULL. */
HB_API hb_status hb_judge_modes(hb_context *context, const hb_mixture *truth, size_t n,
                                const double *x, size_t *counts, size_t *outliers, int *found);

/* Curl mass of a field in any dimension: E |J - J^T|^2 / (4 E |J|^2) (Frobenius) over points, J by
 * central differences: 0 for a gradient, 1 for a pure rotation. probes: 0, or dim and more: J in
 * full, 2 dim evaluations per point; 2 .. dim-1: along so many random directions, 2 probes
 * evaluations, the same expectations. The step is 1e-3 of the root mean square deviation of the
 * points. */
HB_API hb_status hb_judge_curl(hb_context *context, int dim, int probes, uint64_t seed, size_t n,
                               const double *x, double tau, hb_score_callback score, void *user,
                               double *curl, double *curl_se);

/* Helmholtz split of a field on a regular grid of nx x ny points (8 to 4096), field[ny][nx][2],
 * spacing hx, hy:  field - mean = gradient + rotation,  gradient = grad phi, rotation = (d chi/dy,
 * -d chi/dx). The gradient is the nearest one in the mean square over the box (the field need not
 * be periodic nor vanish at the boundary); the rotation has no flow through the boundary. By FFT;
 * docs/reference/metrics.md says how well. Masses are |gradient|^2 and |rotation|^2 as fractions of their sum;
 * gradient[ny][nx][2] and rotation[ny][nx][2] add up to field - mean. Any output may be NULL. */
HB_API hb_status hb_judge_helmholtz(hb_context *context, int nx, int ny, double hx, double hy,
                                    const double *field, double *gradient, double *rotation,
                                    double *gradient_mass, double *rotation_mass);

#ifdef __cplusplus
}
#endif
#endif
