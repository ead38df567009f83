/* ball/shells.h: the radial half of a cubature rule. A shell is a sphere of nodes at one time,
 *     sigma = e^-L/(4 pi),   |z|^2 = 2 D sigma L q,   L > 0,  0 <= q <= 1,
 * with a weight. L, q and the direction of z are independent under each measure on the heat ball.
 */
#pragma once

#include <heatball/ball.h>

/* L ~ Gamma(shape, rate); q = t * kept: t ~ Beta(a, b) is |z|^2/R^2 in D dimensions, and the share
 * ~ Beta(dim/2, lift/2) of it lies in the first dim coordinates (all of it when lift = 0). */
typedef struct hb_shell_law {
    double shape, rate, a, b, kept, dropped;
} hb_shell_law;

typedef struct hb_shells {
    hb_context *context;
    size_t n;
    double *L, *q, *weight; // (n) each
} hb_shells;

void hb_shells_law(hb_measure measure, int dim, int lift, hb_shell_law *out);

/* Gauss rules in L, t and the share: n_time * n_radius * n_kept shells (n_kept = 1 without lift).
 */
hb_status hb_shells_product(hb_context *context, const hb_shell_law *law, int n_time, int n_radius,
                            int n_kept, hb_shells *out);
/* Few shells that match E[sigma^a |z|^(2b)] for all a+b <= K: at most (K+1)(K+2)/2 of them. */
hb_status hb_shells_exact(hb_context *context, const hb_shell_law *law, int K, hb_shells *out);
void hb_shells_destroy(hb_shells *shells); /* a zeroed one is fine */

/* cubature.c: as hb_cubature_exact, for a measure under which L, q and the direction are
 * independent with the given law; dim, lift and degree (0 to 20) have been checked. */
hb_status hb_cubature_exact_law(hb_context *context, const hb_shell_law *law, int dim, int lift,
                                int degree, hb_cubature **out);
