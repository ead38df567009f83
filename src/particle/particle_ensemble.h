/* particle/particle_ensemble.h: batches of whole trajectories at the times of kernels, sorted. */
#pragma once

#include "base/memory.h"
#include "particle/cell_list.h"
#include "path/trajectories.h"

/* Trajectories of the user: paths[n_paths][n_times][dim], at tau[n_times]. */
typedef struct hb_given_paths {
    size_t n_paths, n_times;
    const double *paths, *tau;
} hb_given_paths;

typedef struct hb_particle_ensemble {
    hb_context *context;
    hb_path_plan plan;
    hb_given_paths given; /* n_paths = 0: simulated */
    size_t *column;       // (n_times): which of the user's times each time is
    size_t batches, batch_size;
    int twins, with_drift;
    double *x[2], *F[2];    // (n_times, paths, d) each; [1]: the coarse twins
    hb_cell_list *lists[2]; // (n_times) each
    uint32_t *cells;        // (n_times, paths): for sorting
    double *lost;           // (batches): trajectories
    hb_context *alone;      // (threads): a child for each thread
    uint64_t first;
    size_t filled; /* batches of the last fill */
    hb_workspace work;
} hb_particle_ensemble;

/* plan is copied, with its times; its transitions are made here. */
hb_status hb_particle_ensemble_create(hb_context *context, const hb_path_plan *plan,
                                      const hb_given_paths *given, size_t batches,
                                      size_t batch_size, int twins, int with_drift,
                                      hb_particle_ensemble *out);
void hb_particle_ensemble_destroy(hb_particle_ensemble *ensemble);
/* Batches of trajectories from `first` on: lists and lost are those of them. */
hb_status hb_particle_ensemble_fill(hb_particle_ensemble *ensemble, uint64_t first, size_t batches);
