/* grid/tensor_noise.h: steps of particles with a noise that is a tensor. */
#ifndef HB_GRID_TENSOR_NOISE_H
#define HB_GRID_TENSOR_NOISE_H

#include <heatball/problem.h>

/* Columns of the noise: normals per particle and step; dim for scalar noise. */
size_t hb_tensor_columns(const hb_problem *problem);
/* x[n][dim] += size G(x,t) normals[n][columns]; G[n][dim][columns] is scratch. */
hb_status hb_tensor_kick(hb_context *context, const hb_problem *problem, size_t n, double t,
                         double size, const double *normals, double *G, double *x);
/* lengths[dim]: the deviations along the axes when the others are held, (C^-1)_aa^-1/2 with C the covariance
 * of x[n][dim]; the deviations themselves where C is singular. */
void hb_tensor_lengths(size_t n, int dim, const double *x, double *lengths);

#endif
