/* heatball/balls.h: heat balls behind anchors, as nodes for the values of a function of yours.
 * First tier: for users.
 *
 * A density p(x,tau) under dx = F dtau + sqrt(2) dW, F = -x (OU), 0 (VE) or a drift of yours, is at
 * every anchor (x0, tau0) a weighted mean of itself over m nodes of a heat ball behind it. For v =
 * ln p, at the nodes j and at the anchor 0,
 *     R = v_0 - ln sum_j weight_j exp(shift_j + v_j),                      (_KIND_LOG_DENSITY)
 * and for its score s = grad v, with S_j = factor_j s_j,
 *     R = S_0 - sum_j weight_j S_j                                         (_KIND_SCORE)
 *         - sum_j arm_weight_j arm_j (|S_j|^2 - drift_j.S_j - rate_j)
 * are 0 up to the error of the nodes, a vector for the score. Only values at points are needed, so
 * that the function may live anywhere. scale R is the scaled residual, which tends to b/2 times the
 * residual of the Fokker-Planck equation as balls shrink (b^(3/2)/2 times its gradient, for a
 * score); b: the variance of the process's noise at tau0, `noise`. The losses of hb_train are made
 * of these calls. docs/howto/own-network.md derives them.
 *
 * With a reference, a Gaussian N(mean, covariance) at tau = 0 that the process carries along (OU,
 * VE and linear drifts without time), the function is what is beyond it, w = v - v_ref or q = s -
 * s_ref, and R is 0 at w = 0 whatever the nodes are:
 *     R = w_0 - ln sum_j weight_j exp(shift_j + w_j),
 *     R = Q_0 - sum_j weight_j Q_j
 *         - sum_j arm_weight_j arm_j (2 S_ref,j.Q_j + |Q_j|^2 - drift_j.Q_j),     Q = factor q.
 *
 * The nodes: a rule that is exact to parabolic degree `degree` in one of up to 64 random rotations;
 * or `pairs` antithetic pairs of draws from the measures themselves; or, for many dimensions, few
 * directions. */
#ifndef HEATBALL_BALLS_H
#define HEATBALL_BALLS_H

#include <heatball/data.h>
#include <heatball/problem.h>
#include <heatball/settings.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_balls_kind { HB_BALLS_KIND_LOG_DENSITY, HB_BALLS_KIND_SCORE } hb_balls_kind;

typedef struct hb_balls_settings {
    size_t size; /* set by hb_balls_settings_default */
    int kind;    /* hb_balls_kind; default HB_BALLS_KIND_LOG_DENSITY */
    int process; /* hb_process; default HB_PROCESS_OU */
    /* 3 (default) to 20: nodes of a rule of that degree. 3: 2 dim nodes of one shell, that of the
     * losses, up to dim 2048; above 3 up to dim 64. 0: pairs or directions */
    int degree;
    int pairs; /* with degree 0: antithetic pairs of each measure */
    /* with degree and pairs 0: 3 + 2 directions nodes along the slope and so many random
     * directions; log-densities under OU and VE, dim 2 and above */
    int directions;
    /* f: the ball has the fraction f of the time that there is, r^2 = 4 pi f s0; NaN (default): as
     * the losses have it, min(0.03, 0.16/dim), with directions 0.128/dim */
    double time_fraction;
    uint64_t seed;                   /* default 1 */
    const hb_problem *drift;         /* of HB_PROCESS_DRIFT: its drift, in x and its tau */
    const double *mean, *covariance; /* of the reference: [dim], [dim][dim]; NULL (default): none */
} hb_balls_settings;

HB_API void hb_balls_settings_default(size_t size, hb_balls_settings *settings);
HB_API const hb_setting *hb_balls_setting(size_t index); /* as hb_train_setting */

typedef struct hb_balls hb_balls; /* destroy it before its context */

/* The rule, ready for anchors. The drift must live as long; mean and covariance are copied. */
HB_API hb_status hb_balls_create(hb_context *context, const hb_balls_settings *settings, int dim,
                                 hb_balls **out);
HB_API void hb_balls_destroy(hb_balls *balls);
HB_API size_t hb_balls_nodes(const hb_balls *balls); /* m, of each ball */
HB_API double hb_balls_share(const hb_balls *balls); /* f */

/* Arrays of the caller to fill: size is sizeof(hb_balls_values); any may be NULL. */
typedef struct hb_balls_values {
    size_t size;
    double *x, *tau;                /* [n][m][dim], [n][m]: the nodes */
    double *weight, *shift;         /* [n][m] */
    double *arm, *arm_weight;       /* [n][m][dim], [n][m]; of scores */
    double *factor, *factor0;       /* [n][m], [n]; of scores */
    double *drift, *rate;           /* [n][m][dim], [n][m]; of scores, 0 under OU and VE */
    double *scale, *radius, *noise; /* [n]: the scaled residual over R; r; b */
    double *reference, *reference0; /* v_ref: [n][m], [n]; of scores s_ref: [n][m][dim], [n][dim] */
} hb_balls_values;

/* The balls behind the anchors x[n][dim], tau[n] > 0 (OU: at most 300). What is random follows from
 * the seed and first + i for anchor i alone. slope[n][dim] (may be NULL: a random direction): that
 * of grad w at the anchors, any length, which few directions hold exactly. reference_slope[n][dim]
 * (may be NULL: that of the settings, or 0): grad v_ref of a reference of the caller's, of which
 * few directions need no more. */
HB_API hb_status hb_balls_place(hb_context *context, const hb_balls *balls, uint64_t first,
                                size_t n, const double *x, const double *tau, const double *slope,
                                const double *reference_slope, hb_balls_values *out);

#ifdef __cplusplus
}
#endif
#endif
