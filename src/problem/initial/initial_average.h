/* problem/initial/initial_average.h: what other rooms ask of an initial density beyond
 * heatball/problem.h: its facts, and its mean under a Gaussian in closed form. */
#pragma once

#include "formula/expression.h"

#include <heatball/problem.h>

typedef struct hb_initial_facts {
    int smooth; /* quadratures over it converge fast */
    int box;    /* constant on the box of its mass, 0 elsewhere: no slope shows the walls */
    int serial; /* it and its draws may be asked by one thread at a time */
    int broken; /* its formula has kinks or jumps, 1, or poles, 2 */
    int jumps;  /* it jumps, or rises where its formula is narrow: draws do not see its slope */
    int point; /* all mass in one place (hb_problem_initial_place): there is no density at time 0 */
} hb_initial_facts;
/* All 0 for a problem without an initial density. */
const hb_initial_facts *hb_problem_initial_facts(const hb_problem *problem);

/* The part by which smoothing of samples raises the variance of each axis; 0: no samples. */
double hb_problem_initial_smoothing(const hb_problem *problem);

/* x0[d] of a start that is a point; NULL: it is none. */
const double *hb_problem_initial_place(const hb_problem *problem);
/* ln of the mass that an axis, 0 .. d-1, has between low and high, where the axes are
 * independent; *known: 0 when that is not known. */
hb_status hb_problem_initial_axis_mass(hb_context *context, const hb_problem *problem, int axis,
                                       double low, double high, int *known, double *log_mass);
/* The smallest standard deviation along an axis of a part of the density; infinite: not known. */
double hb_problem_initial_narrowest(const hb_problem *problem, int axis);
/* The largest ln u along an axis of a start that is averaged by draws; -inf: not known. */
double hb_problem_initial_most(const hb_problem *problem, int axis);
/* x ~ N(mean, C): variance[d] when C is diagonal, else covariance[d][d] (the other is NULL). */
typedef struct hb_gaussian {
    const double *mean;       // (d)
    const double *variance;   // (d)
    const double *covariance; // (d, d)
} hb_gaussian;

/* 1 when E[u(x,0)] has a closed form: sums of Gaussians for every C, uniform for diagonal C. */
int hb_initial_average_is_closed(const hb_problem *problem, int diagonal);
/* Doubles of work that hb_initial_average needs. */
size_t hb_initial_average_work(const hb_problem *problem);
/* ln E[u(x,0)] and its gradient[d] by the mean. -inf with a zero gradient where it is below double
 * (uniform only). NaN when C plus the initial covariance is not positive definite. */
void hb_initial_average(const hb_problem *problem, const hb_gaussian *gaussian, double *work,
                        double *log_value, double *gradient);

/* Whether the density after x -> G x + shift + N(0, D) is known (sums of Gaussians): its ln at x
 * and gradient[d]. G and D are (d, d), row by row; work: hb_initial_moved_work. */
int hb_initial_moves(const hb_problem *problem);
size_t hb_initial_moved_work(const hb_problem *problem);
void hb_initial_moved(const hb_problem *problem, const double *G, const double *shift,
                      const double *D, const double *x, double *work, double *log_value,
                      double *gradient);
