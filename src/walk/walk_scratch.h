/* walk/walk_scratch.h: what walk_block.c and walk_ends.c share. */
#ifndef HB_WALK_WALK_SCRATCH_H
#define HB_WALK_WALK_SCRATCH_H

#include "base/context.h"
#include "base/memory.h"
#include "walk/walk_steps.h"

struct hb_walk_block {
    hb_context *context;
    hb_walk_problem shared;
    hb_workspace work;
    size_t together;          /* walks that step together at most */
    const hb_walk_plan *plan; /* of the run under way, and its seed and first walk */
    uint64_t seed, first;
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
    double *size, *slope;                      // (BLOCK), (BLOCK, d): results
    int sign[HB_WALK_BLOCK], lost[HB_WALK_BLOCK], stray[HB_WALK_BLOCK];
    size_t leaving[HB_WALK_BLOCK]; /* slots that leave the gauge, or that wait for a drawn end */
    size_t n_leaving;
    struct hb_march *march; /* NULL: there are none (walk_march.c) */
    struct hb_led *led;     /* the same (walk_led.c) */
};

/* Results of a walk that has ended. */
void hb_walk_store(hb_walk_block *b, const hb_walk *walk, double size, const double *slope);
void hb_walk_lose(hb_walk_block *b, const hb_walk *walk);
/* Slot i has taken its last step: its last Gaussian has the mean x and the covariance b->spread. Its value is
 * had in closed form, or a pair of ends is drawn with normals g, for hb_walk_end_drawn. */
void hb_walk_end(hb_walk_block *b, size_t i, const double *g);
hb_status hb_walk_end_drawn(hb_walk_block *b);

#endif
