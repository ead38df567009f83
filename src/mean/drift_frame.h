/* mean/drift_frame.h: heat balls behind an anchor of a process with a drift, as nodes with signed
 * weights. */
#pragma once

#include "ball/ball_nodes.h"

#include <heatball/problem.h>

/* The frame at an anchor (x0, tau0): drift = F(x0), growth = div F(x0)/dim. */
typedef struct hb_drift_frame {
    const hb_problem *problem;
    size_t dim;
    const double *x0, *drift; // (dim) each
    double tau0, growth;
    double radius;
} hb_drift_frame;

/* For any solution u = e^v of du/dtau = Lap u - div(F u):
 *     1 = sum_j weight_j exp(v(z_j, tau_j) + shift_j - v(x0, tau0)),  up to the nodes' error. */
typedef struct hb_drift_nodes {
    double *z, *tau, *shift, *weight; // (n, dim), (n), (n), (n)
} hb_drift_nodes;

/* For its score s, with S_j = factor_j s_j:
 *     s_0 = sum_j weight_j S_j + sum_j arm_weight_j arm_j (|S_j|^2 - turn_j.S_j - rate_j).
 * Any may be NULL. */
typedef struct hb_drift_arms {
    double *arm, *arm_weight;     // (n, dim), (n)
    double *factor, *turn, *rate; // (n), (n, dim), (n)
} hb_drift_arms;

/* Lap_y time of tau0 in the frame: the ball must have radius^2 < 4 pi times it. */
double hb_drift_frame_time(double growth, double tau0);
/* The first n_value nodes are those of `value` (kappa), the next n_arm of `arm` (the slope
 * measure); without weights all have the same. arm NULL: the nodes of `value` serve both averages,
 * with arms y/2, to parabolic degree 3. F: scratch (n_arm, or without arm n_value, dim). */
hb_status hb_drift_frame_place(hb_context *alone, const hb_drift_frame *frame,
                               const hb_ball_nodes *value, size_t n_value, const hb_ball_nodes *arm,
                               size_t n_arm, double *F, const hb_drift_nodes *out);
