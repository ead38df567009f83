/* grid/tensor_scheme.h: the scheme for noise that is a tensor D(x,t): rates of v = ln u, and
 * what of their Jacobian is not along lines. It is part of an hb_scheme, which solves along
 * lines. */
#pragma once

#include "grid/grid_mesh.h"

#include <heatball/problem.h>

typedef struct hb_tensor hb_tensor;

/* 1 when the problem's noise is no scalar: tau = t, and D is asked of hb_problem_diffusion. */
int hb_tensor_is_needed(const hb_problem *problem);
/* 1 when neither drift nor noise depends on the time. */
int hb_tensor_is_steady(const hb_problem *problem);

/* The problem and the mesh must live as long as the tensor. */
hb_status hb_tensor_create(hb_context *context, const hb_problem *problem, const hb_mesh *mesh,
                           hb_tensor **out);
void hb_tensor_destroy(hb_tensor *tensor); /* NULL is fine */
/* rate[size] = dv/dt at v[size], and with it the Jacobian along lines: entry i of upper[axis] and
 * lower[axis] belongs to the edge from node i upward. */
hb_status hb_tensor_rate(hb_tensor *tensor, double t, const double *v, double *rate);
/* out += C x, the part of the Jacobian of the last rate that is not along lines. */
void hb_tensor_add_coupling(hb_tensor *tensor, const double *x, double *out);
/* The depth at which initial data have a floor, and are held up by the rates; by dimension. */
static const double HB_TENSOR_DEEPEST[] = {100, 60, 50};
