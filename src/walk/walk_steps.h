/* walk/walk_steps.h: the kinds of steps from event to event, and what they share. */
#pragma once

#include "bridge/walk_ops.h"

extern const hb_walk_ops hb_walk_parametrix, hb_walk_gauge, hb_walk_ball, hb_walk_reversed;

/* ---- the rate of the parametrix, and what it is a multiple of ---- */

double hb_parametrix_base_rate(const hb_walk_problem *shared, const hb_walk *walk,
                               const hb_walk_view *view);
double hb_parametrix_rate(const hb_walk_problem *shared, const hb_walk *walk,
                          double rate_multiplier);

/* ---- the linear frame: walk_frame.c ---- */

/* x += m + L g, C = L L' in the view's spread; z, y go to gradient, expected. 0: it is lost. */
int hb_walk_move(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view,
                 const double *m);
/* After a move, for the correction: A, and b + A y in the place of y. */
void hb_walk_keep_frame(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *work);
/* tangent = E tangent */
void hb_walk_carry(const hb_walk_problem *shared, const double *E, double *tangent, double *work);
/* out = (J - A)' z, the slope of z.R */
void hb_walk_rest_slope(const hb_walk_problem *shared, const hb_walk *walk,
                        const hb_walk_view *view, double *out);
/* out += factor tangent' vector: from a derivative by x to one by x0. */
void hb_walk_pull(const hb_walk_problem *shared, const double *tangent, double factor,
                  const double *vector, double *out);
/* W times factor (of any sign), whose derivative by x0 is change[d]. */
void hb_walk_multiply(size_t d, hb_walk *walk, double *slope, double factor, const double *change);

/* ---- gauge steps: walk_gauge.c, walk_ball.c ---- */

double hb_gauge_rate(const hb_walk_problem *shared, hb_walk *walk, const hb_walk_view *view);
void hb_gauge_apply_correction(const hb_walk_problem *shared, hb_walk *walk,
                               const hb_walk_view *view);
size_t hb_walk_ball_normals(size_t d);
