/* path/ensemble.h: tamed Euler trajectories side by side: where mass goes before a method
 * begins. */
#pragma once

#include "base/memory.h"

#include <heatball/problem.h>

typedef struct hb_ensemble {
    hb_context *context;
    const hb_problem *problem;
    size_t n, d;
    size_t columns;       /* of the noise; d for scalar noise */
    int tensor;           /* the noise is no scalar: tau = t */
    double *x, *F;        // (n, d) positions, and the drift before the last step
    size_t per_draw;      /* normals of one draw: n times columns or d, the larger */
    double *normals;      // (per_draw)
    double *G, *previous; // (n, d, columns), (n, d); of a tensor
    hb_workspace work;
} hb_ensemble;

hb_status hb_ensemble_create(hb_context *context, const hb_problem *problem, size_t n,
                             hb_ensemble *out);
void hb_ensemble_destroy(hb_ensemble *ensemble);

/* normals[per_draw] = those from index `first` on. */
hb_status hb_ensemble_draw(hb_ensemble *ensemble, uint64_t first);

typedef struct hb_ensemble_move {
    double tau, step;
    double inflation;    /* of the noise; 1: as it is */
    uint64_t first;      /* index of the first normal */
    const double *reach; // (d) tensor noise k goes k/(1 + (k/reach)^2) far; NULL: all of it
} hb_ensemble_move;

hb_status hb_ensemble_step(hb_ensemble *ensemble, const hb_ensemble_move *move);

/* mean[d] and variance[d] of the positions. */
void hb_ensemble_moments(const hb_ensemble *ensemble, double *mean, double *variance);
/* lengths[dim] of x[n][dim], dim 1 to 3: (C^-1)_aa^-1/2 with C the covariance, the standard
 * deviation along an axis when the others are held; without that condition where C is singular. */
void hb_ensemble_lengths(size_t n, int dim, const double *x, double *lengths);
