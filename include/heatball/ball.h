/* heatball/ball.h: the heat ball, its constants, kernels, exact samplers and cubature.
 * First tier: for users.
 *
 * Phi(y,s) = (4 pi s)^(-d/2) exp(-|y|^2/(4s)) is the heat kernel; s > 0 is time BACKWARD from the
 * anchor. The heat ball of radius r is E_r = {(y,s): s > 0, Phi(y,s) >= r^-d}; it spans
 * 0 < s < r^2/(4 pi). E_1 is the unit ball; y = r z, s = r^2 sigma carry it to E_r.
 *
 * Three measures live on E_1 (hb_measure):
 *     HB_MEASURE_KAPPA     |z|^2/(4 sigma^2)  the Watson measure, mass 1: a caloric function at the
 *                                             anchor is its mean under kappa
 *     HB_MEASURE_SOURCE    ln Phi(z,sigma)    mass C1/(2d): carries the source of the equation
 *     HB_MEASURE_GRADIENT  |z|/(2 sigma)      mass c_g/d: carries a source for the gradient
 * The samplers draw from each, normalised, exactly, from one Gaussian vector.
 *
 * Lift m: a function caloric in d variables is caloric in D = d+m. Every call takes (dim, lift),
 * works with the ball in D dimensions and keeps the first dim coordinates. lift = 0 is the plain
 * ball. docs/explanation/heat-ball.md derives all of this. */
#ifndef HEATBALL_BALL_H
#define HEATBALL_BALL_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HB_MAX_DIM 1000000 /* largest dim, and largest lift */

typedef enum hb_measure { HB_MEASURE_KAPPA, HB_MEASURE_SOURCE, HB_MEASURE_GRADIENT } hb_measure;

/* ---- geometry: plain functions of D = dim + lift, |y|^2 and s; no status, no allocation ---- */

/* ln(r^D Phi_D(y,s)) = -(D/2) ln(4 pi s/r^2) - |y|^2/(4s): the psi of the paper; positive inside
 * E_r, zero on its boundary, -inf for s <= 0. */
HB_API double hb_ball_psi(int dim, double radius, double y2, double s);
/* R(s)^2 = 2 D s ln(r^2/(4 pi s)) inside the ball's time span, else 0: |y|^2 <= R^2 inside. */
HB_API double hb_ball_radius_squared(int dim, double radius, double s);
HB_API int hb_ball_contains(int dim, double radius, double y2, double s); /* 1 or 0 */

/* ---- constants, closed form, stable up to dim + lift = 2 * HB_MAX_DIM ---- */

typedef struct hb_ball_constants {
    int dim, lift;
    double C1, C2, C3;      /* of the mean-value expansion: C2 = 2 D C1, C3 = C1/2 */
    double c_g;             /* of the gradient form */
    double volume;          /* |E_1|, in D+1 dimensions */
    double sigma_star;      /* 1/(4 pi e): where R(sigma) is largest */
    double r_max;           /* R(sigma_star) = sqrt(2D/(4 pi e)) */
    double mean_sigma;      /* E_kappa[sigma] = C1/4 */
    double source_mass;     /* C1/(2D) */
    double gradient_mass;   /* c_g/D */
    double cylinder_volume; /* |S|, S = {|z| <= r_max} x (0, 1/(4 pi)) */
    double cylinder_ratio;  /* |S|/|E_1| */
    double one_plus_chi2;   /* 1 + chi^2(kappa || uniform on S); infinite for D <= 2 */
    double C_d;             /* Gamma((d+1)/2)/Gamma(d/2) with d = dim: the paper's drift constant */
    double C_sharp;         /* 1/sqrt(pi): its sharp value in every dimension */
} hb_ball_constants;

HB_API hb_status hb_ball_constants_get(hb_context *context, int dim, int lift, size_t size,
                                       hb_ball_constants *out);

/* ---- kernels on E_r, zero outside ---- */

typedef enum hb_kernel {
    HB_KERNEL_HEAT,     /* Phi(y,s), for every s > 0 */
    HB_KERNEL_WATSON,   /* |y|^2/(4 s^2 r^d): density of kappa on E_r, integral 1 */
    HB_KERNEL_SOURCE,   /* psi = ln(r^d Phi), integral C1 r^(d+2)/(2d) */
    HB_KERNEL_GRADIENT, /* |y|/(2s) = |grad psi|, integral c_g r^(d+1)/d */
    HB_KERNEL_GREEN,    /* G_r = Phi - r^-d (1 + ln(r^d Phi)), integral C1 r^2/4 */
    HB_KERNEL_DRIFT     /* Phi - r^-d; grad_y G_r = -y/(2s) (Phi - r^-d) */
} hb_kernel;

/* out[i] = kernel(y[i], s[i]); y is [n][dim], s and out are [n]. A value too large for double is
 * +inf (Phi near its pole); the radius must be positive and finite. */
HB_API hb_status hb_ball_kernel(hb_context *context, hb_kernel kernel, int dim, size_t n,
                                double radius, const double *y, const double *s, double *out);

/* ---- exact samplers ---- */

/* Draws first .. first+n-1 of the measure on E_r: z is [n][dim] (already times radius), sigma [n]
 * (already times radius^2). Draw i is a function of (measure, dim, lift, radius, seed, i) alone.
 * Either output may be NULL when it is not wanted. */
HB_API hb_status hb_ball_sample(hb_context *context, hb_measure measure, int dim, int lift,
                                uint64_t seed, uint64_t first, size_t n, double radius, double *z,
                                double *sigma);
/* The same draws as rows z_1 .. z_dim, sigma of an [n][dim+1] array; _f32: rounded to float. */
HB_API hb_status hb_ball_sample_rows(hb_context *context, hb_measure measure, int dim, int lift,
                                     uint64_t seed, uint64_t first, size_t n, double radius,
                                     double *rows);
HB_API hb_status hb_ball_sample_rows_f32(hb_context *context, hb_measure measure, int dim, int lift,
                                         uint64_t seed, uint64_t first, size_t n, double radius,
                                         float *rows);

/* ---- cubature for small dim ---- */

typedef struct hb_cubature hb_cubature; /* destroy it before its context */

/* Product rule of n_time x n_radius x (sphere rule) nodes for kappa, source or gradient on E_1:
 * Gauss-Laguerre in L = -ln(4 pi sigma), Gauss-Jacobi in |z|^2/R^2, and a rule on the sphere that
 * is exact for polynomials of degree `degree` in the direction. Weights are positive and sum to 1.
 * Exact for L^a t^b p(direction), a <= 2 n_time - 1, b <= 2 n_radius - 1. n_time and n_radius are 1
 * to 128, degree 0 to 200; at most 10^7 nodes. */
HB_API hb_status hb_cubature_product(hb_context *context, hb_measure measure, int dim, int lift,
                                     int n_time, int n_radius, int degree, hb_cubature **out);
/* Rule that is exact for all polynomials z^alpha sigma^a of parabolic degree |alpha| + 2a <=
 * degree; the shells are recombined from a fine product rule, weights positive, sum 1. */
HB_API hb_status hb_cubature_exact(hb_context *context, hb_measure measure, int dim, int lift,
                                   int degree, hb_cubature **out);
HB_API void hb_cubature_destroy(hb_cubature *rule);
HB_API size_t hb_cubature_size(const hb_cubature *rule);
HB_API int hb_cubature_dim(const hb_cubature *rule);
/* Nodes of the unit ball: z [size][dim], sigma [size], weight [size]; any may be NULL.
 * turned = 0: as built. Otherwise all z are turned by a random orthogonal matrix (Haar on O(dim)),
 * a function of (seed, index), which keeps the rule's exactness and removes its preferred axes. */
HB_API hb_status hb_cubature_nodes(hb_context *context, const hb_cubature *rule, int turned,
                                   uint64_t seed, uint64_t index, double *z, double *sigma,
                                   double *weight);

#ifdef __cplusplus
}
#endif
#endif
