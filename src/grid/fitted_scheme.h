/* grid/fitted_scheme.h: the exponentially fitted scheme for v = ln u on a mesh. */
#ifndef HB_GRID_FITTED_SCHEME_H
#define HB_GRID_FITTED_SCHEME_H

#include "grid/grid_mesh.h"

#include <heatball/problem.h>

typedef struct hb_scheme hb_scheme;

/* The problem and the mesh must live as long as the scheme. */
hb_status hb_scheme_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_scheme **out);
/* From now on edges that a break of the drift cuts take the mean of F from many points. */
hb_status hb_scheme_mind_breaks(hb_scheme *scheme);
void hb_scheme_destroy(hb_scheme *scheme);
const hb_mesh *hb_scheme_mesh(const hb_scheme *scheme);
/* rate[size] = dv/dtau at v[size]; *finite is 0 when a rate left the range of double. */
hb_status hb_scheme_rate(hb_scheme *scheme, double tau, const double *v, double *rate, int *finite);
/* J = sum of J_axis is the Jacobian at the v of the last call of hb_scheme_rate; this factors
 * I - gamma J_axis for every axis. */
void hb_scheme_factor(hb_scheme *scheme, double gamma);
/* out = J x; out may not be x. */
void hb_scheme_apply(hb_scheme *scheme, const double *x, double *out);
/* out = (I - gamma J_axis)^-1 x; out may be x. */
void hb_scheme_solve(hb_scheme *scheme, int axis, const double *x, double *out);
/* For d = 2, 3 and P the product of I - gamma J_axis over all axes but the last, L = I - gamma J_last:
 *     solved = L^-1 y,   change = P^-1 (I - gamma J) L^-1 y - y. */
void hb_scheme_change(hb_scheme *scheme, const double *y, double *solved, double *change);
/* B(z) = z/(exp(z) - 1) and B(-z) = z + B(z), without cancellation. */
void hb_bernoulli(double z, double *plain, double *mirrored);
/* Bytes that a scheme on this mesh takes. */
double hb_scheme_bytes(const hb_mesh *mesh);

#endif
