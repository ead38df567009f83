/* mean/ball_rule.h: hb_balls inside: nodes on the unit ball, and which of them an anchor has. */
#pragma once

#include "ball/ball_nodes.h"
#include "base/context.h"
#include "mean/ball_reference.h"

#include <heatball/balls.h>

/* The rule of degree 3 is the 2 dim points +-rho q_i of one shell, rho^2 = E_kappa|z|^2, at sigma =
 * E_kappa sigma, q_i the columns of one of HB_BALL_ROTATIONS rotations Q. Its nodes serve the
 * averages with arms as well, with arms y/2, since E[y.arm] = E_kappa|y|^2/2. Above
 * HB_BALL_MOST_DIM, where rotations fill the memory, fewer are kept, and each anchor takes D Q with
 * signs D of its own in the place of Q; HB_BALL_LAST_DIM is the end. */
enum { HB_BALL_MOST_DIM = 64, HB_BALL_LAST_DIM = 2048, HB_BALL_ROTATIONS = 64 };

/* The streams of nodes, from HB_STREAM_TRAIN on: trainings had them first. */
enum { HB_BALL_STREAM = 6, HB_BALL_STREAM_AHEAD };

struct hb_balls {
    hb_context *context;
    /* with what they leave open chosen; mean and covariance are in reference */
    hb_balls_settings settings;
    size_t dim, nodes;
    size_t n_value, n_arm; /* nodes of kappa, and of the arms; n_arm 0: those of kappa serve both */
    double C1, c_g;
    double to_scaled; /* 4 s_0/(C1 r^2) = 1/(pi f C1), of OU and VE */
    uint32_t rotations;
    hb_ball_nodes value[HB_BALL_ROTATIONS], arm[HB_BALL_ROTATIONS]; /* zeros: none */
    hb_ball_reference reference;
};

/* What one task places balls with. */
typedef struct hb_ball_scratch {
    hb_context alone;
    hb_ball_nodes value, arm; /* turned, or drawn */
    hb_ball_nodes_draw draw;
    double *x, *tau, *weight, *shift;         // one ball's, where the caller has none
    double *F, *divergence;                   // (nodes, dim), (nodes)
    double *basis;                            // (1 + directions, dim)
    double *drift0, *divergence0, *jacobian0; // (anchors, dim), (anchors), (anchors, dim, dim)
    hb_ball_moments moments;
    hb_workspace arrays;
} hb_ball_scratch;

/* The nodes of anchor `number`; each may be made of the scratch. arm NULL: none. */
hb_status hb_ball_rule_nodes(const hb_balls *balls, uint64_t number, hb_ball_scratch *scratch,
                             const hb_ball_nodes **value, const hb_ball_nodes **arm);

/* An anchor and where its ball goes: arrays of its own, (m, ...); those that are not wanted are
 * NULL, but for x, tau, weight and shift. */
typedef struct hb_ball_anchor {
    uint64_t number;
    size_t local;                               /* its place among the task's */
    const double *x0, *slope, *reference_slope; // (dim) each
    double tau0;
    hb_balls_values out;
} hb_ball_anchor;

/* OU and VE; few directions under them; a drift. */
hb_status hb_ball_place_linear(const hb_balls *balls, const hb_ball_anchor *anchor,
                               hb_ball_scratch *scratch);
hb_status hb_ball_place_directions(const hb_balls *balls, const hb_ball_anchor *anchor,
                                   hb_ball_scratch *scratch);
/* drift0, divergence0, jacobian0 at the task's anchors, which the next needs. */
hb_status hb_ball_drift_at(const hb_balls *balls, size_t n, const double *x, const double *tau,
                           hb_ball_scratch *scratch);
hb_status hb_ball_place_drift(const hb_balls *balls, const hb_ball_anchor *anchor,
                              hb_ball_scratch *scratch);

/* OU and VE: a and b at tau, the time of the frame there, tau at a time of the frame, and the
 * ball's radius. */
void hb_ball_level(int process, double tau, double *a, double *b);
double hb_ball_frame_time(double a, double b);
double hb_ball_tau(int process, double s);
double hb_ball_radius(double share, double s0);
