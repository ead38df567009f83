/* ball/ball_nodes.h: nodes on the unit heat ball for the three averages of the hierarchy, by Monte
 * Carlo and by cubature. */
#pragma once

#include <heatball/ball.h>

/* Which average: of F (kappa), of its source, of the source of the score. */
typedef enum hb_ball_nodes_kind {
    HB_BALL_NODES_VALUE,
    HB_BALL_NODES_SOURCE,
    HB_BALL_NODES_SCORE
} hb_ball_nodes_kind;

/* Node i stands at x0 + r y_i, tau0 - r^2 s_i. Random nodes are antithetic pairs, rows 2k (+) and
 * 2k+1 (-), and no weights. */
typedef struct hb_ball_nodes {
    size_t n;
    double *y, *s;  // (n, dim), (n)
    double *weight; // (n), of sum 1; cubature only
    double *arm;    // (n, dim); the score's source is r * mean(arm h_v)
} hb_ball_nodes;

/* What random nodes are drawn with. */
typedef struct hb_ball_nodes_draw {
    int dim, lift;
    double c_g;                  /* of the ball in dim + lift dimensions */
    uint64_t seeds[2];           /* of one point; see hb_ball_nodes_seeds */
    double *z, *sigma, *uniform; // (pairs, dim), (pairs), (pairs): scratch
} hb_ball_nodes_draw;

/* The seeds of point `index`: its draws depend on no other point. */
hb_status hb_ball_nodes_seeds(hb_context *context, uint64_t seed, uint64_t index,
                              uint64_t seeds[2]);
/* Pairs first .. first+pairs-1: 2*pairs nodes. */
hb_status hb_ball_nodes_random(hb_context *context, const hb_ball_nodes_draw *draw,
                               hb_ball_nodes_kind kind, uint64_t first, size_t pairs,
                               hb_ball_nodes *out);

/* A rule of cubature. */
typedef struct hb_ball_nodes_rule {
    hb_ball_nodes_kind kind;
    int dim, lift, degree;
    uint64_t seed; /* of its rotations */
} hb_ball_nodes_rule;

/* out[rotations]: its nodes in the random rotations first, first + 1 ..; rotation 0 leaves them as
 * they are. Each is to be destroyed. */
hb_status hb_ball_nodes_cubature(hb_context *context, const hb_ball_nodes_rule *rule, int first,
                                 int rotations, hb_ball_nodes *out);
void hb_ball_nodes_destroy(hb_context *context, hb_ball_nodes *unit); /* a zeroed one is fine */
