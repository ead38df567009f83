/* grid/grid_box.h: where the mass goes, and how fine it is. */
#pragma once

#include "grid/grid_mesh.h"

#include <heatball/field.h>
#include <heatball/problem.h>

typedef struct hb_grid_box {
    double low[3], high[3];
    double width[3];                    /* the finest length of the density along each axis */
    double inner_low[3], inner_high[3]; /* chain/stationary_box.c: where nearly all mass is */
} hb_grid_box;

/* A solution to start from at some tau > 0: about N(place, width^2). */
typedef struct hb_grid_from {
    const hb_field *field;
    double tau;
    double place[3], width;
} hb_grid_from;

/* From particles between 0 and tau_end, and the points at[n_at][dim]. from NULL: the initial
 * density. late: the part of the time after which tails count, 1/2 where tau itself is the time.
 * step: the longest of the particles; 0: 1/256 of the time. */
hb_status hb_grid_box_choose(hb_context *context, const hb_problem *problem,
                             const hb_grid_from *from, double late, double step, double tau_end,
                             size_t n_at, const double *at, hb_grid_box *out);

/* Requested points, and what is known of the particles: their largest drift, and deviation[dim]. */
typedef struct hb_box_points {
    size_t n;
    const double *at; // (n, dim)
    double tau;
    double most_drift;
    const double *deviation; // (dim)
} hb_box_points;

/* Extends the box to the points with a margin. A point that lies some box widths away, or where
 * the drift is many times that of the particles, is left out: a mesh that reached there would
 * spend all its time on a density of e^-1000. */
hb_status hb_grid_box_hold(hb_context *context, const hb_problem *problem,
                           const hb_box_points *points, hb_grid_box *box);

/* ---- where the nodes go in it (grid_layout.c) ---- */

/* What the drift does that no mesh of this layout follows. */
typedef struct hb_layout_flaws {
    int jumps; /* it jumps between nodes: across slanted or moving surfaces, or too many of them */
    int kinks; /* it has kinks between nodes */
    int unresolved; /* it varies within a cell more than any mesh that fits can follow */
} hb_layout_flaws;

/* axes[d] for about cells[d] cells (multiples of 4) in the box. */
hb_status hb_grid_layout(hb_context *context, const hb_problem *problem, double tau_end,
                         const double *low, const double *high, const int *cells, hb_axis *axes,
                         hb_layout_flaws *flaws);
