/* walk/walk_steps.h: one walk in the middle of a block, and the kinds of step that it can take.
 * */
#ifndef HB_WALK_WALK_STEPS_H
#define HB_WALK_WALK_STEPS_H

#include "base/linear_algebra.h"
#include "walk/walk_block.h"

#include <math.h>

/* What the clock has rung for, and is settled when the drift at the new place is known. */
typedef enum hb_walk_pending {
    HB_PENDING_NOTHING,
    HB_PENDING_PARAMETRIX,
    HB_PENDING_GAUGE,
    HB_PENDING_REVERSED
} hb_walk_pending;

/* Gauge: Q0 + q.y + h s, with q in the row's arm, and the curvature of Q that the probes see. */
typedef struct hb_walk_reference {
    double value, heat, curvature; /* Q0, h, |Q''| */
} hb_walk_reference;

typedef struct hb_walk {
    size_t number;   /* in the block */
    hb_walk_way way; /* of the next step */
    hb_walk_pending pending;
    int sign, lost, steps;
    double left;       /* tau that is left to go */
    double log_weight; /* ln |W| */
    double rate;       /* of the last clock */
    double pace;       /* what the parametrix's rate is a multiple of here; infinite: not seen */
    hb_walk_reference seen; /* gauge */
    double part;            /* of the potential that is taken out of u: u = e^{-part V} f */
    double reference;       /* gauge: the reference potential at the new place; reversed: P0 */
    double trace;           /* reversed: tr A */
    double share;           /* gauge: what its difference to the potential there is multiplied by */
    double *row;            /* the arrays below */
} hb_walk;

/* Arrays in a walk's row. matrix: d or d*d, as the frame is. */
typedef struct hb_walk_row {
    double *x;         // (d)
    double *direction; // (d), the last normals: where to probe next
    double *slope;     // (d), d ln|W|/dx0
    double *arm;       // (d), pending: L^-T g, or grad of the reference potential
    double *expected;  // (d), pending: the reference drift at the new place
    double *tangent;   // (matrix), dx/dx0
    double *frame;     // (matrix), pending: A of the frame
    double *entry;     // (d), where the gauge or the reversed walk was entered
} hb_walk_row;

size_t hb_walk_row_size(const hb_walk_problem *shared);

static inline hb_walk_row hb_walk_row_of(const hb_walk_problem *shared, double *row)
{
    const size_t d = shared->d, matrix = shared->full_frame ? d * d : d;
    return (hb_walk_row){row,         row + d,     row + 2 * d,          row + 3 * d,
                         row + 4 * d, row + 5 * d, row + 5 * d + matrix, row + 5 * d + 2 * matrix};
}

/* fmin and fmax without their care for NaN, which costs a call. */
static inline double hb_walk_least(double a, double b)
{
    return a < b ? a : b;
}

static inline double hb_walk_most(double a, double b)
{
    return a > b ? a : b;
}

/* The drift at a walk's place, and at two probes x +- reach direction. */
typedef struct hb_walk_view {
    const double *F, *divergence, *grad_divergence, *jacobian; // (d), (1), (d), (d, d)
    double reach;
    const double *probe_F;          // (2, d)
    const double *probe_divergence; // (2)
    const double *normals;          // (d, or hb_walk_ball_normals), of this step
    double uniform;                 /* of this step */
    double *work;                   // (hb_walk_step_work)
} hb_walk_view;

size_t hb_walk_step_work(const hb_walk_problem *shared);

/* ---- parametrix steps in the linear frame: walk_parametrix.c ---- */

/* What the rate of the clock is a multiple of, and the rate. */
double hb_parametrix_pace(const hb_walk_problem *shared, const hb_walk *walk,
                          const hb_walk_view *view);
double hb_parametrix_rate(const hb_walk_problem *shared, const hb_walk *walk, double finesse);
/* That of the reversed walk, walk_reversed.c. */
double hb_reversed_rate(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double finesse);
void hb_reversed_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                      double rate, double most, double *spread);
void hb_reversed_settle(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
/* Takes a step; 1 when it is the last one. Then x holds the mean of the last Gaussian, and
 * spread(matrix) its covariance. */
int hb_parametrix_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                       double rate, double *spread);
void hb_parametrix_settle(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);

/* ---- the linear frame: walk_frame.c ---- */

/* E, m, C over a lag s; flow 1: backward, -1: forward. */
void hb_walk_frame(const hb_walk_problem *shared, const hb_walk_view *view, double flow, double s,
                   double *E, double *m, double *C, double *work);
/* x += m + L g; z and y are kept in arm and expected. 0: the walk is lost. */
int hb_walk_move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                 const double *m, double *C);
/* After a move, for settling: A, and b + A y in the place of y. */
void hb_walk_keep_frame(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *work);
/* tangent = E tangent */
void hb_walk_turn(const hb_walk_problem *shared, const double *E, double *tangent, double *work);
/* out = (J - A)' z */
void hb_walk_arm_slope(const hb_walk_problem *shared, const hb_walk *walk, const hb_walk_view *view,
                       double *out);

/* ---- gauge steps: walk_gauge.c, walk_ball.c ---- */

hb_walk_reference hb_gauge_reference(const hb_walk_problem *shared, const hb_walk *walk,
                                     const hb_walk_view *view);
double hb_gauge_rate(const hb_walk_problem *shared, const hb_walk *walk, double finesse);
/* Both take a step of at most `most`, from walk->seen. */
void hb_gauge_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                   double rate, double most);
void hb_ball_step(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                  double rate, double most);
void hb_gauge_settle(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
/* The ball is one of d + lift dimensions. */
size_t hb_walk_ball_lift(size_t d);
size_t hb_walk_ball_normals(size_t d);

/* out += share tangent' vector: from a derivative by x to one by x0. */
void hb_walk_pull(const hb_walk_problem *shared, const double *tangent, double share,
                  const double *vector, double *out);
/* W times factor (of any sign), whose derivative by x0 is change[d]. */
void hb_walk_multiply(size_t d, hb_walk *walk, double *slope, double factor, const double *change);

#endif
