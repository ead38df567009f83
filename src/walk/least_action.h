/* walk/least_action.h: on the line, the likeliest ways from a point to where walks end, and how likely the ends are. */
#ifndef HB_WALK_LEAST_ACTION_H
#define HB_WALK_LEAST_ACTION_H

#include "walk/walk_block.h"

enum {
    HB_LEAD_CELLS = 48, /* between ends */
    HB_LEAD_ENDS = HB_LEAD_CELLS + 1,
    HB_LEAD_LAGS = 64, /* between times */
    HB_LEAD_TIMES = HB_LEAD_LAGS + 1,
    HB_LEAD_FINE = 16 /* pieces of a cell, for the density of ends */
};

/* A way m at one time s, k = dm/dx: how it moves with x, and the clock c of what bridges leave it by. */
typedef struct hb_lead_node {
    double place, bend;              /* m, m'' */
    double tangent, twist;           /* k, k'' */
    double sink, sink_rise;          /* Q(m), k Q'(m) */
    double clock, pace, surge, jerk; /* c, c', c'', c''' */
    double slope, curvature;         /* Q'(m), Q''(m) */
} hb_lead_node;

/* Ways between ends are mixed: (1 - w) m_j + w m_(j+1), and so are k and what stands for Q(m) in the sums. */
typedef struct hb_lead {
    int aimed;
    double x, low, high, T;
    double time[HB_LEAD_TIMES]; /* T r^2 (3 - 2r), r in equal steps */
    hb_lead_node way[HB_LEAD_ENDS][HB_LEAD_TIMES];
    double end[HB_LEAD_ENDS];
    double rise[HB_LEAD_ENDS]; /* V(end) - V(x) */
    /* int of the sinks above, as they are mixed; int m'^2/4 and, with the next way, int m_j' m_(j+1)'/4 */
    double sink[HB_LEAD_ENDS], sink_rise[HB_LEAD_ENDS];
    double speed[HB_LEAD_ENDS], speed_next[HB_LEAD_ENDS];
    /* int k' m'/2: of a way, of k with the next m, of the next k with m */
    double turn[HB_LEAD_ENDS], turn_up[HB_LEAD_ENDS], turn_down[HB_LEAD_ENDS];
    double drift;                                     /* F(x) */
    double density[HB_LEAD_CELLS * HB_LEAD_FINE + 1]; /* of ends, linear in between */
    double below[HB_LEAD_CELLS * HB_LEAD_FINE + 1];   /* its integral */
    double log_target[HB_LEAD_ENDS];              /* ln h - ln u0 at the ends, up to a constant */
    double velocity[HB_LEAD_ENDS][HB_LEAD_TIMES]; /* m' */
    double tangent_velocity[HB_LEAD_ENDS][HB_LEAD_TIMES]; /* k' */
    double log_width[HB_LEAD_ENDS];                       /* ln E[e^{-int Q'' Z^2/2}] */
} hb_lead;

/* range[2]: the ends that count for x; *fit: 0 where ways may be many, or the start is none that is known well enough. */
hb_status hb_lead_range(hb_context *context, const hb_walk_problem *shared, double x, hb_lead *lead,
                        double *range, int *fit);
/* The ways from x, with k = 0 at their ends, and log_target; nothing is done where they are aimed already. */
hb_status hb_lead_lay(hb_context *context, const hb_walk_problem *shared, double x,
                      const double *range, hb_lead *lead);
/* h from log_target, which may have been mended; k, with c[HB_LEAD_ENDS], the parts of d ln K/dx that depend on ends. */
hb_status hb_lead_aim(hb_context *context, const hb_walk_problem *shared, hb_lead *lead,
                      const double *c);

/* An end for a uniform number: its cell, its share of the next way, and the density there. */
double hb_lead_end(const hb_lead *lead, double uniform, size_t *cell, double *share,
                   double *density);

#endif
