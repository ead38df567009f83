/* walk/walk_scratch.h: the memory of a block of walks, for walk_block.c and walk_ends.c only. */
#ifndef HB_WALK_WALK_SCRATCH_H
#define HB_WALK_WALK_SCRATCH_H

#include "base/context.h"
#include "base/memory.h"
#include "walk/walk_steps.h"

struct hb_walk_block {
    hb_context context; /* the caller's, with one thread and without progress */
    hb_walk_problem shared;
    hb_workspace work;
    size_t together;                /* walks that step together at most */
    size_t live, matrix, n_normals; /* normals of a walk in a step */
    hb_walk walks[HB_WALK_BLOCK];
    double *rows;                                        // (together, row)
    double *x, *tau;                                     // (together, d), (together)
    double *F, *divergence, *grad_divergence, *jacobian; // (together, d), (.), (., d), (., d, d)
    double *probe, *probe_tau, *probe_F, *probe_divergence,
        *reach;                                // (together, 2, d) .. (together)
    double *normals, *uniforms;                // (BLOCK, n_normals), (BLOCK)
    double *rise;                              // (together)
    double *ends, *end_log, *end_slope;        // (together, 2, d), (together, 2), (together, 2, d)
    double *spread, *step_work, *average_work; // (matrix), ...
    double *size, *slope;                      // (BLOCK), (BLOCK, d): results
    int sign[HB_WALK_BLOCK], lost[HB_WALK_BLOCK], stray[HB_WALK_BLOCK];
    size_t leaving[HB_WALK_BLOCK]; /* slots that leave the gauge, or that wait for a drawn end */
    size_t n_leaving;
};

/* Results of a walk that has ended. */
void hb_walk_store(hb_walk_block *b, const hb_walk *walk, double size, const double *slope);
void hb_walk_lose(hb_walk_block *b, const hb_walk *walk);
/* Its last Gaussian has the mean x and the covariance b->spread. */
void hb_walk_finish_closed(hb_walk_block *b, hb_walk *walk);
/* Or a pair is drawn, ends[2][d]; 0 when it cannot be. */
int hb_walk_place_ends(const hb_walk_block *b, const double *mean, const double *g, double *ends);
/* The pairs of ends of the leaving walks are in b->ends, in their order. */
hb_status hb_walk_finish_drawn(hb_walk_block *b);

#endif
