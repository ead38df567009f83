/* heatball/judge.h: how good a score, a set of samples or a field is.
 *
 * Everything is measured on plain arrays, so that it serves any model. docs/judge.md. */
#ifndef HEATBALL_JUDGE_H
#define HEATBALL_JUDGE_H

#include <heatball/data.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A score to be judged: score[n][dim] at x[n][dim] and one tau. A non-zero return is an error. */
typedef int (*hb_score_callback)(void *user, size_t n, const double *x, double tau, double *score);

/* Mean |s - s_exact|^2 over n draws of u(.,tau): over all, over the fifth of the draws with the lowest
 * density (the lowest 20 % of probability mass), over the rest, and, in the plane, over those points of a
 * lattice of 161 x 161 with u > 1e-4 (grid; NaN in other dimensions); the first three with standard
 * errors, which count that the border between low and high is itself estimated. n >= 50. The draws are
 * independent of those of hb_mixture_sample with the same seed. The callback is called from the calling
 * thread, with at most 16384 points at a time. */
typedef struct hb_score_error {
    double tau, all, all_se, low, low_se, high, high_se, grid;
} hb_score_error;
HB_API hb_status hb_judge_score(hb_context *context, const hb_mixture *truth, hb_process process,
                                double tau, uint64_t seed, size_t n, hb_score_callback score,
                                void *user, hb_score_error *out);

/* Maximum mean discrepancy of x[n][dim] and y[m][dim] with the kernel
 *     k(a,b) = mean over c in {1/4, 1/2, 1, 2, 4} of exp(-|a-b|^2/(2 c^2 h^2)),
 * h the median distance among up to 1000 rows of y, evenly spaced; or, single != 0, c = 1 alone. mmd2 is
 * the unbiased estimate of the square (it can be negative), mmd the biased one's root, mmd2_se by the
 * variance of its U-statistic (first and second order, so also where the laws are equal). n, m >= 4. */
typedef struct hb_mmd {
    double mmd, mmd2, mmd2_se, bandwidth;
} hb_mmd;
HB_API hb_status hb_judge_mmd(hb_context *context, int dim, size_t n, const double *x, size_t m,
                              const double *y, int single, hb_mmd *out);

/* Which modes of a mixture the rows fall on: counts[modes], each row with the component that most
 * likely made it, if it is within sqrt(dim) + 3 of its standard deviations (4 on a line; one draw in
 * 17000 in the plane is not); outliers: the rest. found: modes with at least a tenth of the share they
 * should have. Any output may be NULL. */
HB_API hb_status hb_judge_modes(hb_context *context, const hb_mixture *truth, size_t n,
                                const double *x, size_t *counts, size_t *outliers, int *found);

/* Curl mass of a field in any dimension: E |J - J^T|^2 / (4 E |J|^2) (Frobenius) over points, J by
 * central differences: 0 for a gradient, 1 for a pure rotation. probes: 0, or dim and more: J in full,
 * 2 dim evaluations per point; 2 .. dim-1: along so many random directions, 2 probes evaluations, the
 * same expectations. The step is 1e-3 of the root mean square deviation of the points. */
HB_API hb_status hb_judge_curl(hb_context *context, int dim, size_t n, const double *x, double tau,
                               uint64_t seed, int probes, hb_score_callback score, void *user,
                               double *curl, double *curl_se);

/* Helmholtz split of a field on a regular grid of nx x ny points (8 to 4096), field[ny][nx][2], spacing
 * hx, hy:  field - mean = gradient + rotation,  gradient = grad phi, rotation = (d chi/dy, -d chi/dx).
 * The gradient is the nearest one in the mean square over the box (the field need not be periodic nor
 * vanish at the walls); the rotation has no flow through the walls. By FFT; docs/judge.md says how well.
 * Masses are |gradient|^2 and |rotation|^2 as shares of their sum; gradient[ny][nx][2] and
 * rotation[ny][nx][2] add up to field - mean. Any output may be NULL. */
HB_API hb_status hb_judge_helmholtz(hb_context *context, int nx, int ny, double hx, double hy,
                                    const double *field, double *gradient, double *rotation,
                                    double *gradient_mass, double *rotation_mass);

#ifdef __cplusplus
}
#endif
#endif
