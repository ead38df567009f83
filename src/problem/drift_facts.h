/* problem/drift_facts.h: what is known about a drift, derived from its formula.
 *
 * A fact that is 1 holds everywhere; 0 means that it does not hold or is not known, and the general way
 * must be taken. Of a callback only what its author declares is known. */
#ifndef HB_PROBLEM_DRIFT_FACTS_H
#define HB_PROBLEM_DRIFT_FACTS_H

#include "formula/breaks.h"
#include "formula/range_tape.h"

#include <heatball/problem.h>

/* F is smooth but where one of the arguments is 0. */
typedef struct hb_drift_break {
    hb_break_kind kind;
    int axis;     /* 1 .. d: the argument depends on this coordinate alone; 0: on several */
    int moves;    /* the argument depends on t */
    int argument; /* its node in the drift's graph */
} hb_drift_break;

typedef struct hb_drift_facts {
    int is_formula; /* 1: breaks and ranges are known; 0: a callback */
    int autonomous; /* F does not depend on tau */
    int affine;     /* F = A(tau) x + c(tau): the Jacobian, and F at the origin */
    int gradient;   /* F = -grad V */
    int separable;  /* F_i depends on x_i and tau alone */
    int steady;     /* F does not jump in time by itself (sign(t - 1)) */
    int n_breaks;
    hb_drift_break *breaks; // (n_breaks)
} hb_drift_facts;

const hb_drift_facts *hb_problem_facts(const hb_problem *problem);

/* The arguments of the breaks, values[n][n_breaks], at x[n][d] and one tau. */
hb_status hb_problem_break_values(hb_context *context, const hb_problem *problem, double tau,
                                  size_t n, const double *x, double *values);
/* F[d] and arguments[n_breaks] (each may be NULL) hold all values of F and of the breaks' arguments in
 * the box x[d] for tau in the interval. All numbers for a callback. */
hb_status hb_problem_ranges(hb_context *context, const hb_problem *problem, const hb_interval *x,
                            hb_interval tau, hb_interval *F, hb_interval *arguments);

#endif
