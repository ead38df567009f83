/* walk/walk_steps.h: one walk in the middle of a block, and the laws of the ways in which it can step. */
#ifndef HB_WALK_WALK_STEPS_H
#define HB_WALK_WALK_STEPS_H

#include "base/linear_algebra.h"
#include "walk/walk_block.h"

#include <math.h>

/* Gauge: Q0 + q.y + h s, with q in the row's gradient, and the curvature of Q that the probes see. */
typedef struct hb_walk_reference {
    double value, heat, curvature; /* Q0, h, |Q''| */
} hb_walk_reference;

typedef struct hb_walk_law hb_walk_law;

typedef struct hb_walk {
    size_t number;          /* in the block */
    const hb_walk_law *way; /* of the next step */
    const hb_walk_law
        *owing; /* whose clock has rung; settled when the drift at the new place is known */
    int sign, lost, steps;
    int led, stray;    /* to a point: it is on its way there; it came from too far */
    double left;       /* tau that is left to go */
    double stop;       /* the next cut on its way; 0: the start */
    double log_weight; /* ln |W| */
    double rate;       /* of the last clock */
    double base_rate;  /* what the parametrix's rate is a multiple of here; infinite: not seen */
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
    double
        *gradient; // (d), owing: L^-T g, of the last Gaussian, or that of the reference potential
    double *expected; // (d), owing: the reference drift at the new place
    double *tangent;  // (matrix), dx/dx0
    double *frame;    // (matrix), owing: A of the frame
    double *entry;    // (d), where the gauge or the reversed walk was entered
    double *turn; // (matrix), dz/dx0 of a step to a point (walk_bridge.c); NULL: the start is none
} hb_walk_row;

/* Doubles of a frame's matrix. */
static inline size_t hb_walk_matrix(const hb_walk_problem *shared)
{
    return shared->full_frame ? shared->d * shared->d : shared->d;
}

static inline size_t hb_walk_row_size(const hb_walk_problem *shared)
{
    return 6 * shared->d + (shared->place ? 3 : 2) * hb_walk_matrix(shared);
}

/* Doubles of hb_walk_view.work. */
static inline size_t hb_walk_step_work(const hb_walk_problem *shared)
{
    const size_t d = shared->d;
    return hb_walk_matrix(shared) + 2 * d + (shared->full_frame ? 6 * d * d : d);
}

static inline hb_walk_row hb_walk_row_of(const hb_walk_problem *shared, double *row)
{
    const size_t d = shared->d, matrix = hb_walk_matrix(shared);
    return (hb_walk_row){row,
                         row + d,
                         row + 2 * d,
                         row + 3 * d,
                         row + 4 * d,
                         row + 5 * d,
                         row + 5 * d + matrix,
                         row + 5 * d + 2 * matrix,
                         shared->place ? row + 6 * d + 2 * matrix : NULL};
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

/* What a step is made of: the drift at a walk's place and at two probes x +- reach direction, draws. */
typedef struct hb_walk_view {
    const double *F, *divergence, *grad_divergence, *jacobian; // (d), (1), (d), (d, d)
    double reach;
    const double *probe_F;          // (2, d)
    const double *probe_divergence; // (2)
    const double *normals;          // (d, or hb_walk_ball_normals), of this step
    double uniform;                 /* of this step */
    double finesse;                 /* of the plan */
    double rate, most;              /* of its clock; the longest step, but for the parametrix */
    double *spread;                 // (matrix), the covariance of its Gaussian
    double *work;                   // (hb_walk_step_work)
} hb_walk_view;

/* A way to step, or to walk the whole way at once. */
struct hb_walk_law {
    double far;  /* expected rings of the way that is left, beyond which roulette is played */
    double part; /* of the potential that it takes out of u; 0: the plan's */
    size_t (*normals)(size_t d); /* of a step; NULL: d */
    double (*rate)(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
    /* 1 when it was the last one: then x holds the mean of the last Gaussian, and spread its covariance. */
    int (*step)(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
    /* What a ring of the last step is worth, at the new place. */
    void (*settle)(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
    /* NULL, or instead of all these: walks offset .. offset + n - 1 of the run, from x0, at most as many as step
     * together; what they cost, in steps, is added. */
    hb_status (*run)(hb_walk_block *block, const double *x0, size_t offset, size_t n,
                     double *steps);
};

extern const hb_walk_law hb_walk_parametrix, hb_walk_gauge, hb_walk_ball, hb_walk_reversed,
    hb_walk_march, hb_walk_led;

/* ---- shared by the ways: the rate of the parametrix, and what it is a multiple of ---- */

double hb_parametrix_base_rate(const hb_walk_problem *shared, const hb_walk *walk,
                               const hb_walk_view *view);
double hb_parametrix_rate(const hb_walk_problem *shared, const hb_walk *walk, double finesse);

/* ---- the linear frame: walk_frame.c ---- */

/* E, m, C over a lag s; flow 1: backward, -1: forward. */
void hb_walk_frame(const hb_walk_problem *shared, const hb_walk_view *view, double flow, double s,
                   double *E, double *m, double *C, double *work);
/* x += m + L g, C = L L' in the view's spread; z and y are kept in gradient and expected. 0: the walk is lost. */
int hb_walk_move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                 const double *m);
/* After a move, for settling: A, and b + A y in the place of y. */
void hb_walk_keep_frame(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *work);
/* tangent = E tangent */
void hb_walk_carry(const hb_walk_problem *shared, const double *E, double *tangent, double *work);
/* out = (J - A)' z, the slope of z.R */
void hb_walk_rest_slope(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *out);

/* ---- gauge steps: walk_gauge.c, walk_ball.c ---- */

double hb_gauge_rate(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
void hb_gauge_settle(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
size_t hb_walk_ball_normals(size_t d);

/* out += share tangent' vector: from a derivative by x to one by x0. */
void hb_walk_pull(const hb_walk_problem *shared, const double *tangent, double share,
                  const double *vector, double *out);
/* W times factor (of any sign), whose derivative by x0 is change[d]. */
void hb_walk_multiply(size_t d, hb_walk *walk, double *slope, double factor, const double *change);

#endif
