/* problem/drift_facts.h: what is known about a drift, derived from its formula.
 *
 * A fact that is 1 holds everywhere; 0 means that it does not hold or is not known, and the
 * general way must be taken. Of a callback only what its author declares is known. */
#pragma once

#include "formula/breaks.h"
#include "formula/features.h"

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
/* F[d] and arguments[n_breaks] (each may be NULL) hold all values of F and of the breaks'
 * arguments in the box x[d] for tau in the interval. All numbers for a callback. */
hb_status hb_problem_ranges(hb_context *context, const hb_problem *problem, const hb_interval *x,
                            hb_interval tau, hb_interval *F, hb_interval *arguments);
/* Cells of axis 0 .. d - 1 on which no component of the drift hides a narrow feature, for the other
 * coordinates in range[d] (NULL: all reals). All zero for callbacks. */
hb_status hb_problem_features(hb_context *context, const hb_problem *problem, int axis,
                              const hb_interval *range, hb_features *out);

/* out[n][d] = J' b of b[n][d] at x[n][d] and tau[n], J = dF_i/dx_j; sparse for formulas. What is not
 * finite is handed out as it is. */
hb_status hb_problem_drift_turned(hb_context *context, const hb_problem *problem, size_t n,
                                  const double *x, const double *tau, const double *b, double *out);

/* f[n][d] as it was given, its jacobian[n][d][d] (NULL: not wanted) at x[n][d] and the times t[n],
 * and rate[n] = g^2/2. What is not finite is handed out as it is. */
hb_status hb_problem_raw_drift(hb_context *context, const hb_problem *problem, size_t n,
                               const double *x, const double *t, double *f, double *jacobian,
                               double *rate);
/* 1 when no derivative of f by x depends on t, by its text; 0 for callbacks. */
int hb_problem_jacobian_is_timeless(const hb_problem *problem);
