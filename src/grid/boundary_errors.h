/* grid/boundary_errors.h: what a box loses, and what its boundaries turn back. */
#pragma once

#include "grid/grid_kept.h"

/* The largest v on the boundary less the largest of all. */
double hb_grid_boundary_height(const hb_mesh *mesh, const double *v);

/* How the errors of refinement become those that are reported. */
typedef struct hb_error_rule {
    double v_factor, slope_factor;
    double height;  /* of the boundary, hb_grid_boundary_height; what it turns back is added */
    double lost;    /* the mass that the box lacks, which is added too */
    double most;    /* error of v above which nothing is known */
    double deepest; /* depth below the maximum beyond which nothing is known */
    size_t layer;   /* cells at the boundary of which nothing is known */
} hb_error_rule;

/* Of a box that was given; height: the largest up to this tau. Of tensor noise. */
hb_error_rule hb_boundary_rule(const hb_grid *grid, double height);
hb_error_rule hb_tensor_rule(const hb_grid *grid, double height);
/* hb_grid_combine, and then the rule; NULL: none. */
hb_status hb_grid_combine_by(hb_grid *grid, int level, const hb_error_rule *rule, double *middle,
                             double *coarse);

/* The mesh 4h in a box that is wider by WIDER of its span on each side:
 * grid->mesh[HB_GRID_MESHES]. */
void hb_grid_widen(hb_grid *grid);
/* wider[size of that mesh] becomes, on the coarsest mesh, its v less coarse[size], but for
 * errors of the time integration. */
void hb_grid_boundary_parts(const hb_grid *grid, const double *coarse, double *wider);
/* Adds them to the errors of a level. */
void hb_grid_add_boundary_parts(hb_grid *grid, int level, const double *parts);
/* The largest of them in the cell of a point; 0 outside of the box. */
double hb_grid_boundary_part_at(const hb_grid *grid, const double *parts, const double *x);
