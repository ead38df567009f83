/* walk/walk_parts.h: the estimator of walks as its files share it. */
#pragma once

#include "bridge/bridge.h"
#include "sampling/estimator.h"
#include "walk/walk_block.h"
#include "walk/walk_linear.h"

enum {
    HB_WALKS_PER_ROUND = 8192,
    HB_ROUND_BLOCKS = HB_WALKS_PER_ROUND / HB_WALK_BLOCK,
    HB_LEAST_ROUND = 32, /* walks of a round, where the time is short */
    HB_HIDDEN_DIM = 16   /* beyond, no narrow parts are searched */
};

/* By how much ln u may be off where walks jump over narrow parts of the drift: walks in steps, and
 * bridges, which only look at the potential Q. 0: nothing narrow is known. */
typedef struct hb_hidden {
    double steps, bridges;
} hb_hidden;

typedef struct hb_walks {
    hb_context *context;
    hb_walk_problem shared;
    hb_walk_linear linear;
    hb_gauge_formula *gauge; /* that of shared */
    int breaks;              /* the drift or u0 has kinks or jumps, and nothing is in closed form */
    int far;        /* errors hold rounding, narrow parts, and that some points are far in a tail */
    int closed;     /* nothing is drawn: values and errors are these */
    double *values; // (n, 1 + d): ln u, score
    double *errors; // (n, 1 + d)
    uint64_t seed;
    size_t n;
    const double *points; // (n, d)
    double *log_scale;    // (n)
    hb_walk_plan *plans;  // (n)
    double *ends;         // (n, 2, d): where bridges end
    int n_threads;
    hb_context *alone;       // (n_threads)
    hb_walk_block **blocks;  // (n_threads)
    double *counted;         // (n_threads, HB_WALK_BLOCK, 1 + d)
    double *parts;           // (n, HB_ROUND_BLOCKS, accumulator)
    uint64_t round;          /* that is under way */
    size_t walks;            /* of a round, at each point */
    double begin;            /* of hb_seconds: when the pilot run began */
    const double *deadline;  /* the context's */
    double *seconds;         // (n): of one walk, in the pilot run
    unsigned char *unserved; // (n): no plan was tried to its end in the time
    unsigned char *stiff;    // (n): only reversed walks see all of a steep well
    hb_hidden *hidden;       // (n)
    const unsigned char *wanted;
    hb_workspace work;
} hb_walks;

/* walk_plan.c: what the problem allows; plans that compete, from short steps to long ones. */
hb_status hb_walks_describe(hb_walks *w, const hb_problem *problem, double tau);
enum { HB_REVERSED_PLANS = 4, HB_FRAME_PLANS = 3 }; /* the first of gradients; the last of all */
const hb_walk_plan *hb_walks_plans(const hb_walk_problem *shared, int *n);
const hb_walk_plan *hb_walks_bridge_plans(int *n);
int hb_walk_is_bridge(const hb_walk_plan *plan);

/* walk_pilot.c: a plan for each point, its log_scale and seconds; or values in closed form. */
hb_status hb_walks_pilot(hb_walks *w);

/* walk_flags.c: what walks may not see, before the pilot run; what that does to errors, after
 * it. */
hb_status hb_walks_look(hb_walks *w);
hb_status hb_walks_flag(hb_walks *w);
int hb_walks_is_hidden(double effect);
/* walk_hidden.c */
hb_status hb_walk_hidden(hb_context *context, const hb_walk_problem *shared, const double *x0,
                         hb_hidden *out);

/* walk_estimator.c: walks of point i by a plan, with the pilot run's seed or the estimate's; and
 * the last n of a thread into an accumulator, over e^scale. */
hb_status hb_walks_run(const hb_walks *w, int thread, size_t i, const hb_walk_plan *plan, int pilot,
                       uint64_t first, size_t n, double *steps);
uint64_t hb_walks_pilot_seed(const hb_walks *w, size_t i);
void hb_walks_count(const hb_walks *w, int thread, size_t n, double scale, double *sums);
