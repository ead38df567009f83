/* problem/potential_rise.h: differences of the potential of a gradient drift. */
#pragma once

#include <heatball/problem.h>

/* Cells in which the drift hides nothing from quadrature, by axis, and V at their borders. */
typedef struct hb_potential_cells hb_potential_cells;

/* *out is NULL where F_i depends on more than x_i, nothing is narrow, or V was typed. */
hb_status hb_potential_cells_create(hb_context *context, const hb_problem *problem,
                                    hb_potential_cells **out);
void hb_potential_cells_destroy(hb_potential_cells *cells); /* NULL is fine */
/* The length of the shortest cell; infinite where cells is NULL. */
double hb_potential_cells_least(const hb_potential_cells *cells);

/* V(x[i]) - V(from[i]), n of them, x and from [n][d], where F = -grad V does not depend on tau:
 * from the potential's own program, or as the line integral of -F. NaN where it cannot be had.
 * cells: NULL, or of the same drift. */
hb_status hb_potential_rise(hb_context *context, const hb_problem *problem,
                            const hb_potential_cells *cells, size_t n, const double *from,
                            const double *x, double *rise);
