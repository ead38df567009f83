/* formula/axis_table.h: Lamperti's coordinate of a noise that has no closed form, as a table. */
#pragma once

#include "formula/expression.h"

typedef struct hb_axis_table hb_axis_table;

/* Of the noise b/b(center), where b has one variable; y = 0 at the center. *found 0: b is not
 * proved to lie between two positive numbers, or is not smooth enough. */
hb_status hb_axis_table_create(hb_context *context, hb_graph *graph, hb_node noise, double center,
                               hb_axis_table **out, int *found);
void hb_axis_table_destroy(hb_context *context, hb_axis_table *table);

double hb_axis_table_x(const hb_axis_table *table, double y);
double hb_axis_table_y(const hb_axis_table *table, double x);
/* 1: x(y) is the integral of the noise at x; 0: it is a straight line there. */
int hb_axis_table_reaches(const hb_axis_table *table, double x);
/* b(x), normalised, and its slope. */
void hb_axis_table_noise(const hb_axis_table *table, double x, double *b, double *slope);
double hb_axis_table_bend(const hb_axis_table *table, double x); /* its second derivative */
/* b and its slope as nodes of x, which is hb_build_mapped of y. */
hb_node hb_axis_table_b_node(const hb_axis_table *table, hb_graph *graph, hb_node x);
hb_node hb_axis_table_slope_node(const hb_axis_table *table, hb_graph *graph, hb_node x);
