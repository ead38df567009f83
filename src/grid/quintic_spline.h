/* grid/quintic_spline.h: C4 interpolation on a mesh, tensor products of quintic B-splines. */
#pragma once

#include "grid/grid_mesh.h"

enum { HB_SPLINE_ORDER = 6, HB_SPLINE_NODES = 9 /* least number of nodes per axis */ };

/* Turns values[size] at the nodes into coefficients, in place. */
hb_status hb_spline_fit(hb_context *context, const hb_mesh *mesh, double *values);

/* Where a point lies, and the basis functions that do not vanish there. */
typedef struct hb_spline_place {
    size_t first; /* index of the first coefficient of the block of 6^dim */
    double basis[3][HB_SPLINE_ORDER], slope[3][HB_SPLINE_ORDER];
} hb_spline_place;

void hb_spline_locate(const hb_mesh *mesh, const double *x, hb_spline_place *out);
/* The value at a place; gradient[dim] may be NULL. */
double hb_spline_value(const hb_mesh *mesh, const double *coefficients,
                       const hb_spline_place *place, double *gradient);

/* The value at x[dim]. */
double hb_spline_at(const hb_mesh *mesh, const double *coefficients, const double *x);
