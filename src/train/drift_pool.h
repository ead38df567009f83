/* train/drift_pool.h: paths of a user's drift for the steps of a training.
 *
 * tau takes `levels` values, geometric from tau_min to tau_max. At level k a sample is made from a
 * path at tau_k - lag_k by one symmetric step over the lag (drift_draw.c): half the drift, all the
 * noise, half the drift. The pool holds the paths after the first half. */
#pragma once

#include "train/trainer.h"

enum { HB_POOL_LEVELS = 96, HB_POOL_GROUP = 8 };

struct hb_pool {
    size_t members;
    double tau[HB_POOL_LEVELS], lag[HB_POOL_LEVELS];
    double size;         /* of the drift's Jacobian along the paths */
    double strength;     /* mean of |F|^2 along them */
    double *start;       // (n, dim): the data in a random order
    int *labels;         // (n): theirs, NULL without classes
    float *from;         // (levels, members, dim)
    float *half_squares; // (levels, members): |from|^2/2
    int *member_labels;  // (members), NULL without classes
    uint64_t generation; /* + 1; 0: none yet */
    hb_workspace work;
};

/* The pool's arrays, its lags, and the model's reference and end points. */
hb_status hb_pool_create(hb_trainer *trainer);
void hb_pool_destroy(hb_trainer *trainer);
/* New paths when the step opens a new generation. */
hb_status hb_pool_refresh(hb_trainer *trainer);

/* Moments of the paths at knots in ln tau, their rates, and draws at tau_max, into the model. */
hb_status hb_pool_set_reference(hb_trainer *trainer);
/* pool->size = (mean |J|^4)^(1/4) along a few paths, |J| the largest sum of a row of |dF_i/dx_j|,
 * and pool->strength. */
hb_status hb_pool_drift_size(hb_trainer *trainer);
/* Paths first .. first+n-1 at rising times, x (n_times, n, dim), in parallel; a path that is lost
 * is replaced by its neighbour, and HB_ERROR_NUMERICAL when many are. */
hb_status hb_pool_paths(hb_trainer *trainer, double step, size_t n_times, const double *times,
                        uint64_t first, size_t n, double *x);

/* F (n, dim), its divergence (n), grad div F (n, dim) and Jacobian dF_i/dx_j (n, dim, dim) at x;
 * each may be NULL. Values that are not finite are handed out. */
hb_status hb_drift_at(hb_context *context, const hb_problem *drift, size_t n, const double *x,
                      double *F, double *divergence, double *grad_divergence, double *jacobian);
/* x (n, dim) carried along dx/dh = F by one step of the classical Runge-Kutta scheme; scratch (3,
 * n, dim). */
hb_status hb_drift_flow(hb_context *context, const hb_problem *drift, size_t n, size_t dim,
                        double h, double *x, double *scratch);
