/* problem/transform/axis_map.h: one axis in coordinates in which its noise does not depend on x. */
#pragma once

#include "formula/axis_table.h"

typedef enum hb_axis_kind {
    HB_AXIS_SAME, /* x = y,                    b = 1 */
    HB_AXIS_RISE, /* x = center + exp(y),      b = x - center,          x > center */
    HB_AXIS_FALL, /* x = center - exp(-y),     b = center - x,          x < center */
    HB_AXIS_TANH, /* x = center + w tanh(w y), b = w^2 - (x - center)^2, |x - center| < w */
    HB_AXIS_SINH, /* x = center + w sinh(y),   b = sqrt(w^2 + (x - center)^2) */
    HB_AXIS_TABLE /* any other b between two positive numbers: axis_table.h */
} hb_axis_kind;

/* dx/dy = b(x) > 0 in low < x < high, and y takes all numbers. */
typedef struct hb_axis_map {
    hb_axis_kind kind;
    double center, width;
    double shift; /* y is so much less than the formula above says; 0 in a problem */
    double low, high;
    hb_axis_table *table; /* owned by the transform; NULL: none */
} hb_axis_map;

typedef enum hb_axis_end {
    HB_AXIS_FOUND,
    HB_AXIS_UNKNOWN, /* no closed form, or y ends where x does not */
    HB_AXIS_BOUNDARY /* the noise vanishes within reach: y ends at a finite value */
} hb_axis_end;

/* The map of a noise in x_axis alone, up to a factor; inside: where the mass is, NaN: unknown. */
hb_status hb_axis_map_find(hb_context *context, hb_graph *graph, hb_node noise, int axis,
                           double inside, hb_axis_map *out, hb_axis_end *end);
double hb_axis_anchor(const hb_axis_map *map);         /* x of y = 0 */
int hb_axis_holds(const hb_axis_map *map, double x);   /* x is in the domain */
double hb_axis_to_y(const hb_axis_map *map, double x); /* NaN outside */
double hb_axis_to_x(const hb_axis_map *map, double y);
double hb_axis_log_noise(const hb_axis_map *map, double y); /* ln b */
void hb_axis_noise(const hb_axis_map *map, double x, double *b, double *slope);
double hb_axis_noise_bend(const hb_axis_map *map, double x); /* the second derivative of b */
/* x, b and db/dx as nodes of y. */
hb_node hb_axis_x_node(const hb_axis_map *map, hb_graph *graph, hb_node y);
hb_node hb_axis_b_node(const hb_axis_map *map, hb_graph *graph, hb_node y);
hb_node hb_axis_slope_node(const hb_axis_map *map, hb_graph *graph, hb_node y);
/* "y = ln x"; name: of x, as in "x1". */
void hb_axis_text(const hb_axis_map *map, const char *name, size_t size, char *text);

/* 1: the rules of algebra make the formula 0. */
hb_status hb_formula_is_zero(hb_context *context, const hb_graph *graph, hb_node node, int *yes);
/* Kinks and jumps of a formula: derivatives that are 0 say nothing of it then. */
typedef enum hb_formula_break {
    HB_BREAKS_IN_X,
    HB_BREAKS_IN_TIME,
    HB_JUMPS_IN_TIME
} hb_formula_break;
hb_status hb_formula_has_breaks(hb_context *context, const hb_graph *graph, hb_node node,
                                hb_formula_break kind, int *yes);
/* The number that a formula is at x = 0, t = 0; NaN: it is none. */
hb_status hb_formula_at_zero(hb_context *context, hb_graph *graph, hb_node node, double *value);
hb_node hb_formula_without_factor(const hb_graph *graph, hb_node node); /* that is a number */
