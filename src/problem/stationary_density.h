/* problem/stationary_density.h: the stationary density of an autonomous gradient drift, in
 * closed form. */
#pragma once

#include "problem/initial/initial_ops.h"

#include <heatball/problem.h>

typedef struct hb_stationary hb_stationary;

/* 1: hb_stationary_create knows how: a gradient in d <= 3, or each F_i depends on x_i alone. */
int hb_stationary_is_known(const hb_problem *problem);
/* HB_ERROR_ARGUMENT when the density does not normalise. The problem must live as long as this. */
hb_status hb_stationary_create(hb_context *context, const hb_problem *problem, hb_stationary **out);
void hb_stationary_destroy(hb_context *context, hb_stationary *stationary);
/* ln u with its error and the score, which is F, at x[n][d]. */
hb_status hb_stationary_evaluate(hb_context *context, const hb_stationary *stationary, size_t n,
                                 const double *x, double *log_density, double *error,
                                 double *score);
/* In one dimension: where all but nothing of the mass is. */
void hb_stationary_box(const hb_stationary *stationary, double *low, double *high);
/* 1: interval arithmetic cannot exclude narrow features that were not looked at. */
int hb_stationary_is_flagged(const hb_stationary *stationary);

/* exp(int F_a dx) along an axis a, normalised. `own` is a problem of one dimension whose initial
 * data are this; box_density.c asks it for nothing else. */
typedef struct hb_stationary_line {
    hb_box_density box;
    hb_panels *path;         /* int F_a dx */
    const hb_problem *whole; /* of the drift */
    int axis;
} hb_stationary_line;
hb_status hb_stationary_line_create(hb_context *context, const hb_problem *whole, int axis,
                                    const hb_problem *own, hb_stationary_line *line);

/* The problem with another initial density, from its text. It shares all else with the problem,
 * which must live as long; hb_problem_borrowed_destroy gives back what is its own. */
hb_status hb_problem_borrow(hb_context *context, const hb_problem *problem, const char *initial,
                            hb_problem **out);
void hb_problem_borrowed_destroy(hb_context *context, hb_problem *borrowed);
