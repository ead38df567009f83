/* heatball/estimate.h: the mean-value hierarchy on a field, with error bars.
 * Second tier: for bindings and tools.
 *
 * For F = u, v = ln u, w = u ln u with sources h_F (docs/explanation/mean-value.md), any radius r with
 * r^2 < 4 pi (tau0 - tau_min), and D = dim + lift:
 *     F(x0,tau0) = E_kappa[F(x0 + r z, tau0 - r^2 sigma)]
 *                  + (C1 r^2/4) E_source[h_F(x0 + rho z, .)],   rho = r sqrt(U)
 *     S(x0,tau0) = E_kappa[grad v] + c_g r E_gradient[ghat h_v(x0 + rho z, .)],   rho = r U
 * The averages are taken by Monte Carlo (antithetic pairs, unit weights) or by cubature. */
#ifndef HEATBALL_ESTIMATE_H
#define HEATBALL_ESTIMATE_H

#include <heatball/field.h>
#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_quantity { HB_QUANTITY_U, HB_QUANTITY_V, HB_QUANTITY_W } hb_quantity;

typedef struct hb_mean_settings {
    size_t size;   /* set by hb_mean_settings_default */
    double radius; /* 0 (default): chosen by the written rule of docs/explanation/mean-value.md */
    int lift;      /* default 0 */
    uint64_t samples; /* antithetic pairs per point and average; default 10000 */
    /* 2 to 20: cubature of this degree instead of Monte Carlo (small dim); -1: Monte Carlo; 0
     * (default): Monte Carlo, but degree 8 for hb_mean_residual in dim <= 3 */
    int degree;
    uint64_t seed; /* default 1 */
    int quantity;  /* hb_quantity, of residuals; default HB_QUANTITY_V */
} hb_mean_settings;

HB_API void hb_mean_settings_default(size_t size, hb_mean_settings *settings);
HB_API const hb_setting *hb_mean_setting(size_t index); /* as hb_train_setting */

/* Arrays of the caller to fill: size is sizeof(hb_mean_values); each [n] or [n][dim], any may be
 * NULL. Standard errors of Monte Carlo are those of the mean over pairs; of cubature, the spread
 * over random rotations and two degrees. */
typedef struct hb_mean_values {
    size_t size;
    double *u, *u_se, *v, *v_se, *w, *w_se;
    double *score, *score_se;
    double *radius; /* the radius that was used */
} hb_mean_values;

HB_API hb_status hb_mean_value(hb_context *context, const hb_problem *problem,
                               const hb_field *field, const hb_mean_settings *settings, size_t n,
                               const double *x, double tau, hb_mean_values *out);

/* J(r) = 4 u(x0,tau0) for every r (the paper's monotonicity functional): J and its standard error
 * for n_radii radii at one point. */
HB_API hb_status hb_mean_monotonicity(hb_context *context, const hb_problem *problem,
                                      const hb_field *field, const hb_mean_settings *settings,
                                      int n_radii, const double *x, double tau, const double *radii,
                                      double *J, double *J_se);

/* Arrays of the caller to fill: size is sizeof(hb_residual_values); each [n][n_radii], any may be
 * NULL. */
typedef struct hb_residual_values {
    size_t size;
    double *residual, *residual_se;
    double *scaled, *scaled_se; /* the same times 4/(C1 r^2) */
} hb_residual_values;

/* R_r = F - E_kappa[F] - (C1 r^2/4) E_source[h_F], zero for every r when the field solves the
 * equation; 4 R_r/(C1 r^2) tends to the pointwise residual (d_tau - Lap)F - h_F as r -> 0.
 * The settings' radius does not count. */
HB_API hb_status hb_mean_residual(hb_context *context, const hb_problem *problem,
                                  const hb_field *field, const hb_mean_settings *settings, size_t n,
                                  int n_radii, const double *x, double tau, const double *radii,
                                  hb_residual_values *out);

#ifdef __cplusplus
}
#endif
#endif
