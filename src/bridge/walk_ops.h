/* bridge/walk_ops.h: walks back from one point, and the operations of the kinds of steps they take.
 *
 * A walk starts at (x0, tau0) and goes back in tau. Its weight W and its position x are such that W
 * u(x, tau) has the mean u(x0, tau0) at every step. Bridges take the whole path at once (run). */
#pragma once

#include "base/context.h"
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "problem/gauge_formula.h"
#include "problem/time_cuts.h"

#include <heatball/problem.h>
#include <math.h>

/* What all walks of an estimator share. */
typedef struct hb_walk_problem {
    const hb_problem *problem;
    size_t d;
    double tau;          /* tau0 */
    int full_frame;      /* the frame is e^{-As} with the whole Jacobian; else with its diagonal */
    int linear;          /* the drift is linear: the frame is exact, a walk has one step */
    int gradient;        /* the drift is a gradient that does not depend on tau */
    int closed_form;     /* the last step needs no draw */
    const double *place; // (d), an initial density that is a single point; NULL: it is none
    int semidefinite;    /* the last Gaussian may have no spread in some direction */
    const double
        *exact; /* linear: the frame of the whole path, backward (linear_path.h), or NULL */
    const hb_time_cuts *cuts;      /* in tau: steps end there */
    const hb_gauge_formula *gauge; /* for bridges; NULL: there are none */
} hb_walk_problem;

/* Kinds of steps; those that are neither parametrix nor bridges end in parametrix steps. */
typedef enum hb_walk_kind {
    HB_WALK_PARAMETRIX,
    HB_WALK_GAUGE,
    HB_WALK_BALL, /* the gauge, on heat balls */
    HB_WALK_REVERSED,
    HB_WALK_BRIDGE /* no steps: Brownian bridges over the whole path */
} hb_walk_kind;

/* How to walk from a point; chosen by a pilot run. */
typedef struct hb_walk_plan {
    hb_walk_kind kind;
    double part;            /* reversed: of the potential, above 1/2 and at most 1 */
    double finish;          /* expected events below which the parametrix takes over; 0: 1 */
    double rate_multiplier; /* of the rates that the drift's curvature suggests */
    int points;             /* bridges: stratified times of a set, at most HB_BRIDGE_POINTS */
    double repeat;          /* bridges: probability of one more set of times, at most 0.22 */
    const double *ends; // (2, d): mean and variance of the ends of bridges, NULL: those of a free
                        // walk
} hb_walk_plan;

enum { HB_BRIDGE_POINTS = 16 };
enum { HB_BRIDGE_DIM = 12 };  /* full frames are no larger where walks go to a point */
enum { HB_WALK_BLOCK = 512 }; /* walks of a block */

/* What one thread works with; results are functions of (shared, plan, x0, seed, number). */
typedef struct hb_walk_block {
    hb_context *context;
    hb_walk_problem shared;
    size_t together;          /* walks that go together at most */
    const hb_walk_plan *plan; /* of the run under way, and its seed and first walk */
    uint64_t seed, first;
    double *size, *slope; // (BLOCK), (BLOCK, d)
    int sign[HB_WALK_BLOCK], lost[HB_WALK_BLOCK], outlier[HB_WALK_BLOCK];
    struct hb_bridges *bridges; /* NULL: there are none (bridge_estimator.c) */
} hb_walk_block;

/* The value of u is sign e^size, that of grad u is that times slope[d]. A lost walk has size -inf.
 * An outlier's value is that of positions which walks do not reach. */
typedef struct hb_walk_result {
    double size, *slope; // (d)
    int sign, lost, outlier;
} hb_walk_result;

static inline hb_walk_result hb_walk_block_result(const hb_walk_block *b, size_t i)
{
    return (hb_walk_result){b->size[i], b->slope + i * b->shared.d, b->sign[i], b->lost[i],
                            b->outlier[i]};
}

/* ---- one walk ---- */

/* Gauge: Q0 + q.y + h s, q in the row's gradient, and the curvature of Q at the probes. */
typedef struct hb_walk_reference {
    double value, heat, curvature; /* Q0, h, |Q''| */
} hb_walk_reference;

typedef struct hb_walk_ops hb_walk_ops;

typedef struct hb_walk {
    size_t number;              /* in the block */
    const hb_walk_ops *ops;     /* of the next step */
    const hb_walk_ops *pending; /* whose correction is applied when the drift at x is known */
    int sign, lost, steps;
    int conditioned, outlier; /* to a point: steps lead there; it came from too far */
    double left;              /* tau that is left to go */
    double stop;              /* the next cut on its path; 0: the initial time */
    double log_weight;        /* ln |W| */
    double rate;              /* of the last event time */
    double base_rate;         /* that the parametrix's rate is a multiple of; infinite: not seen */
    hb_walk_reference seen;   /* gauge */
    double part;              /* of the potential that is taken out of u: u = e^{-part V} f */
    double reference;         /* gauge: the reference potential at x; reversed: P0 */
    double trace;             /* reversed: tr A */
    double factor;            /* gauge: of the reference's difference to the potential there */
    double *row;              /* the arrays below */
} hb_walk;

/* Arrays in a walk's row. matrix: d or d*d, as the frame is. */
typedef struct hb_walk_row {
    double *x;         // (d)
    double *direction; // (d), the last normals: where to probe next
    double *slope;     // (d), d ln|W|/dx0
    double *gradient;  // (d), pending: L^-T g of the last Gaussian, or of the reference potential
    double *expected;  // (d), pending: the reference drift at x
    double *tangent;   // (matrix), dx/dx0
    double *frame;     // (matrix), pending: A of the frame
    double *entry;     // (d), where the gauge or the reversed walk was entered
    double *turn;      // (matrix), dz/dx0 of a step to a point (bridge_step.c), or NULL
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
    return (hb_walk_row){.x = row,
                         .direction = row + d,
                         .slope = row + 2 * d,
                         .gradient = row + 3 * d,
                         .expected = row + 4 * d,
                         .tangent = row + 5 * d,
                         .frame = row + 5 * d + matrix,
                         .entry = row + 5 * d + 2 * matrix,
                         .turn = shared->place ? row + 6 * d + 2 * matrix : NULL};
}

/* What a step is made of: the drift at x and at two probes x +- reach direction, draws. */
typedef struct hb_walk_view {
    const double *F, *divergence, *grad_divergence, *jacobian; // (d), (1), (d), (d, d)
    double reach;
    const double *probe_F;          // (2, d)
    const double *probe_divergence; // (2)
    const double *normals;          // (d, or hb_walk_ball_normals), of this step
    double uniform;                 /* of this step */
    double rate_multiplier;         /* of the plan */
    double rate, most; /* of its event time; the longest step, but for the parametrix */
    double *spread;    // (matrix), the covariance of its Gaussian
    double *work;      // (hb_walk_step_work)
} hb_walk_view;

/* ---- a kind of steps, or of whole walks ---- */

struct hb_walk_ops {
    double far;  /* expected events of what is left, beyond which roulette is played */
    double part; /* of the potential that it takes out of u; 0: the plan's */
    size_t (*normals)(size_t d); /* of a step; NULL: d */
    double (*rate)(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
    /* 1 when it was the last: then x holds the mean of the last Gaussian, spread its covariance. */
    int (*step)(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
    /* What an event of the last step is worth, at the new x. */
    void (*apply_correction)(const hb_walk_problem *shared, hb_walk *walk,
                             const hb_walk_view *view);
    /* NULL, or instead of all these: walks offset .. offset + n - 1 of the run, from x0, at most
     * `together`; what they cost, in steps of the parametrix, is added to *steps. */
    hb_status (*run)(hb_walk_block *block, const double *x0, size_t offset, size_t n,
                     double *steps);
};

extern const hb_walk_ops hb_walk_bridge;

/* E, m, C of the linearised drift over a lag s; flow 1: backward, -1: forward (linear_model.c). */
void hb_walk_frame(const hb_walk_problem *shared, const hb_walk_view *view, double flow, double s,
                   double *E, double *m, double *C, double *work);

/* ln u0 and its gradient at x[n][d], by one thread at a time where the density needs that. */
hb_status hb_walk_initial(hb_context *context, const hb_problem *problem, size_t n, const double *x,
                          double *log_value, double *slope);

/* fmin and fmax without their care for NaN, which costs a call. */
static inline double hb_walk_least(double a, double b)
{
    return a < b ? a : b;
}

static inline double hb_walk_most(double a, double b)
{
    return a > b ? a : b;
}
