/* grid/scheme.h: a scheme for v = ln u on a mesh: rates, and linear systems with their Jacobian. */
#pragma once

#include "base/thread_pool.h"
#include "grid/grid_mesh.h"

#include <heatball/problem.h>

typedef struct hb_scheme hb_scheme;

/* The exponentially fitted scheme for scalar noise, finite volumes for a tensor. The problem
 * must live as long as the scheme. Large meshes in d = 3 are worked on by as many threads as the
 * context has, which share every pass; others by the calling thread. Bits do not depend on it.
 * breaks: edges that a break of the drift cuts take the mean of F from many points. */
hb_status hb_scheme_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           int breaks, hb_scheme **out);
void hb_scheme_destroy(hb_scheme *scheme);
const hb_mesh *hb_scheme_mesh(const hb_scheme *scheme);
/* Who shares a pass; NULL: the calling thread does all. */
hb_thread_pool *hb_scheme_pool(hb_scheme *scheme);
/* Changes initial v[size] at *tau to data that the scheme can start from. */
void hb_scheme_adapt_start(const hb_scheme *scheme, double *v, double *tau);
/* rate[size] = dv/dtau at v[size]; *finite is 0 when a rate left the range of double. */
hb_status hb_scheme_rate(hb_scheme *scheme, double tau, const double *v, double *rate, int *finite);
/* J = sum of J_axis is the Jacobian at the v of the last call of hb_scheme_rate: out += J_axis
 * x. */
void hb_scheme_add_product(hb_scheme *scheme, int axis, const double *x, double *out);
/* I - gamma J is what the calls below are about. */
void hb_scheme_set_gamma(hb_scheme *scheme, double gamma);
/* d = 1: x = (I - gamma J)^-1 b. */
void hb_scheme_solve_line(hb_scheme *scheme, const double *b, double *x);

/* d = 2, 3: the directions of GMRES, in float. With L = I - gamma J_0, P the product of I -
 * gamma J_a over the other axes and <x, y> = sum of w^2 x y: */
typedef struct hb_directions {
    const double *weights; // (size) w
    float *const *y;       // (.., size)
    float *const *s;       // (.., size)
    double *products;
} hb_directions;

/* y_0 = P^-1 b,  products[0] = <y_0, y_0>. */
void hb_scheme_begin(hb_scheme *scheme, const double *b, const hb_directions *directions);
/* y_k -= sum of factors_j y_j over j < k,  s_k = L^-1 y_k,  y_{k+1} = P^-1 (I - gamma J) s_k -
 * y_k and products[j] = <y_{k+1}, y_j> for j = 0 .. k+1. */
void hb_scheme_extend(hb_scheme *scheme, int k, const double *factors,
                      const hb_directions *directions);
/* x = sum of factors_j s_j over j < used. */
void hb_scheme_combine(hb_scheme *scheme, int used, const double *factors,
                       const hb_directions *directions, double *x);
