/* walk/walk_block.h: backward walks from one point, many in lockstep.
 *
 * A walk starts at (x0, tau0) and goes back in tau step by step. Its weight W and its
 * place x are such that W u(x, tau) has the mean u(x0, tau0) at every step. */
#ifndef HB_WALK_WALK_BLOCK_H
#define HB_WALK_WALK_BLOCK_H

#include "problem/gauge_formula.h"
#include "problem/time_cuts.h"

#include <heatball/problem.h>

/* What all walks of an estimator share. */
typedef struct hb_walk_problem {
    const hb_problem *problem;
    size_t d;
    double tau;      /* tau0 */
    int full_frame;  /* the frame is e^{-As} with the whole Jacobian; else with its diagonal */
    int linear;      /* the drift is linear: the frame is exact, a walk has one step */
    int gradient;    /* the drift is a gradient that does not depend on tau */
    int closed_form; /* the last step needs no draw */
    const double
        *place; /* (d), a start that is a single point: walks are led to it; NULL: it is none */
    int semidefinite;    /* the last Gaussian may have no spread in some direction */
    const double *exact; /* linear: the frame of the whole way, backward (linear_way.h), or NULL */
    const hb_time_cuts *cuts;      /* in tau: steps end there */
    const hb_gauge_formula *gauge; /* for marches; NULL: there are none */
} hb_walk_problem;

/* Ways to step, one law each (walk_steps.h). All others go on until the parametrix can finish. */
typedef enum hb_walk_way {
    HB_WALK_PARAMETRIX,
    HB_WALK_GAUGE,
    HB_WALK_BALL, /* the gauge, on heat balls */
    HB_WALK_REVERSED,
    HB_WALK_MARCH, /* no steps: bridges over the whole way */
    HB_WALK_LED    /* on the line: bridges about the likeliest way */
} hb_walk_way;

/* How to walk from a point; chosen by a pilot. */
typedef struct hb_walk_plan {
    hb_walk_way way;
    double part;    /* reversed: of the potential, above 1/2 and at most 1 */
    double finish;  /* expected rings below which the parametrix takes over; 0: 1 */
    double finesse; /* rates of the clocks, in units of what the drift's curvature suggests */
    int points;     /* march: of a comb, at most HB_MARCH_POINTS */
    double again;   /* march: share of the walks that have one more comb, at most 0.22 */
    const double *
        end; // (2, d), march: mean and variance of the ends; NULL: those of a free walk. Led: the range of ends
} hb_walk_plan;

enum { HB_MARCH_POINTS = 16, HB_LED_POINTS = 32 };

/* Full frames are no larger where walks are led to a point. */
enum { HB_WALK_BRIDGE_DIM = 12 };

typedef struct hb_walk_block hb_walk_block; /* what one thread works with */

enum { HB_WALK_BLOCK = 512 }; /* walks in lockstep */

/* context: a child of this thread's own, which outlives the block; its deadline breaks a run off with
 * HB_ERROR_INTERRUPTED. */
hb_status hb_walk_block_create(hb_context *context, const hb_walk_problem *shared,
                               hb_walk_block **out);
void hb_walk_block_destroy(hb_walk_block *block); /* NULL is fine */

/* Results of a walk: the value of u is sign e^size, that of grad u is that times slope[d]. A lost
 * walk has size -inf and lost != 0. A stray's value is that of places which walks do not come to. */
typedef struct hb_walk_result {
    double size, *slope; // (d)
    int sign, lost, stray;
} hb_walk_result;

/* Walks first .. first+n-1 (n <= HB_WALK_BLOCK) from x0: functions of (shared, plan, x0, seed,
 * number). *steps is their sum. */
hb_status hb_walk_block_run(hb_walk_block *block, const hb_walk_plan *plan, const double *x0,
                            uint64_t seed, uint64_t first, size_t n, double *steps);
hb_walk_result hb_walk_block_result(const hb_walk_block *block, size_t i);

#endif
