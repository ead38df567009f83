/* walk/lockstep.h: many walks that step together: what walk_block.c and walk_ends.c share. */
#pragma once

#include "walk/walk_block.h"
#include "walk/walk_steps.h"

typedef struct hb_lockstep {
    hb_walk_block base; /* first: a block of walks is the base of a lockstep */
    hb_workspace work;
    size_t live, n_normals; /* normals of a walk in a step */
    hb_walk walks[HB_WALK_BLOCK];
    double *rows;                                        // (together, row)
    double *x, *tau;                                     // (together, d), (together)
    double *F, *divergence, *grad_divergence, *jacobian; // (together, d), (.), (., d), (., d, d)
    double *probe, *probe_tau, *probe_F, *probe_divergence,
        *reach;                                // (together, 2, d) .. (together)
    double *normals, *uniforms;                // (BLOCK, n_normals), (BLOCK)
    double *rise;                              // (together)
    double *ends, *end_log, *end_slope;        // (together, 2, d), (together, 2), (together, 2, d)
    double *spread, *step_work, *average_work; // (hb_walk_matrix), ...
    size_t leaving[HB_WALK_BLOCK]; /* slots that leave the gauge, or that wait for a drawn end */
    size_t n_leaving;
} hb_lockstep;

/* Results of a walk that has ended. */
void hb_lockstep_store(hb_lockstep *b, const hb_walk *walk, double size, const double *slope);
void hb_lockstep_lose(hb_lockstep *b, const hb_walk *walk);
/* Slot i has taken its last step, a Gaussian of mean x and covariance b->spread: its value in
 * closed form, or a pair of ends drawn with normals g, for hb_lockstep_end_drawn. */
void hb_lockstep_end(hb_lockstep *b, size_t i, const double *g);
hb_status hb_lockstep_end_drawn(hb_lockstep *b);
