/* bridge/action_paths.h: minimum-action paths from a point in one dimension, and their ends. */
#pragma once

#include "bridge/walk_ops.h"

enum {
    HB_ACTION_CELLS = 48, /* between ends */
    HB_ACTION_ENDS = HB_ACTION_CELLS + 1,
    HB_ACTION_LAGS = 64, /* between times */
    HB_ACTION_TIMES = HB_ACTION_LAGS + 1,
    HB_ACTION_FINE = 16 /* pieces of a cell, for the density of ends */
};

/* A path m at one time s, k = dm/dx, and the time c of the bridges beside it. */
typedef struct hb_action_node {
    double position, position_2;                /* m, m'' */
    double tangent, tangent_2;                  /* k, k'' */
    double potential, potential_rise;           /* Q(m), k Q'(m) */
    double bridge_time, time_1, time_2, time_3; /* c, c', c'', c''' */
    double slope, curvature;                    /* Q'(m), Q''(m) */
} hb_action_node;

/* Between ends, paths, k and Q(m) in the sums are mixed: (1 - w) m_j + w m_(j+1). */
typedef struct hb_action_paths {
    int aimed;
    double x, low, high, T;
    double time[HB_ACTION_TIMES]; /* T r^2 (3 - 2r), r in equal steps */
    hb_action_node path[HB_ACTION_ENDS][HB_ACTION_TIMES];
    double end[HB_ACTION_ENDS];
    double rise[HB_ACTION_ENDS]; /* V(end) - V(x) */
    /* int of the potentials above; int m'^2/4 and, with the next path, int m_j' m_(j+1)'/4 */
    double potential[HB_ACTION_ENDS], potential_rise[HB_ACTION_ENDS];
    double speed[HB_ACTION_ENDS], speed_next[HB_ACTION_ENDS];
    /* int k' m'/2: of a path, of k with the next m, of the next k with m */
    double turn[HB_ACTION_ENDS], turn_up[HB_ACTION_ENDS], turn_down[HB_ACTION_ENDS];
    double drift;                                         /* F(x) */
    double density[HB_ACTION_CELLS * HB_ACTION_FINE + 1]; /* of ends, linear in between */
    double below[HB_ACTION_CELLS * HB_ACTION_FINE + 1];   /* its integral */
    double log_target[HB_ACTION_ENDS]; /* ln h - ln u0 at the ends, up to a constant */
    double velocity[HB_ACTION_ENDS][HB_ACTION_TIMES];         /* m' */
    double tangent_velocity[HB_ACTION_ENDS][HB_ACTION_TIMES]; /* k' */
    double log_width[HB_ACTION_ENDS];                         /* ln E[e^{-int Q'' Z^2/2}] */
} hb_action_paths;

/* range[2]: the ends that count for x; *fit: 0 where paths may be many, or u0 is not resolved. */
hb_status hb_action_paths_range(hb_context *context, const hb_walk_problem *shared, double x,
                                hb_action_paths *paths, double *range, int *fit);
/* The paths from x, with k = 0 at their ends, and log_target; nothing where they are aimed. */
hb_status hb_action_paths_find(hb_context *context, const hb_walk_problem *shared, double x,
                               const double *range, hb_action_paths *paths);
/* h from log_target, which may be corrected; k, with c[HB_ACTION_ENDS], what ends do to d ln
 * K/dx. */
hb_status hb_action_paths_aim(hb_context *context, const hb_walk_problem *shared,
                              hb_action_paths *paths, const double *c);

/* An end for a uniform number: its cell, its fraction of the next path, and the density there. */
double hb_action_end(const hb_action_paths *paths, double uniform, size_t *cell, double *fraction,
                     double *density);
