/* grid/grid_kept.h: a solved grid, and how its three meshes become one answer with an error. */
#ifndef HB_GRID_GRID_KEPT_H
#define HB_GRID_GRID_KEPT_H

#include "grid/grid_layout.h"
#include "grid/quintic_spline.h"

#include <heatball/grid.h>

enum { HB_GRID_MESHES = 3, HB_GRID_MAX_LEVELS = 25 };

struct hb_grid {
    hb_context *context;
    hb_grid_info info;
    hb_mesh mesh[HB_GRID_MESHES]; /* h, 2h, 4h */
    hb_layout_flaws flaws;
    int tensor;      /* the noise is a tensor */
    int noise_kinks; /* which has kinks */
    double tolerance;
    double max_time, deadline; /* seconds that were given, and when they end by hb_seconds */
    int n_levels;              /* kept values of tau, ascending */
    double tau[HB_GRID_MAX_LEVELS], place[HB_GRID_MAX_LEVELS];
    double shift;                            /* place = ln(tau + shift) */
    double *v[HB_GRID_MAX_LEVELS];           // (mesh[0].size) spline coefficients
    double *v_error[HB_GRID_MAX_LEVELS];     // (mesh[2].size)
    double *slope_error[HB_GRID_MAX_LEVELS]; // (mesh[2].size, dim)
};

/* Sets info.unresolved when the drift does something within cells of the coarsest mesh, where v[its size]
 * has mass, that no node sees; d > 1. */
hb_status hb_grid_check_cells(hb_grid *grid, const hb_problem *problem, const double *v);

/* Combines v on the three meshes at one level: the coefficients of the extrapolated v replace v[0], and
 * the error estimates are filled. mass and boundary of `info` are set from the finest mesh. */
hb_status hb_grid_combine(hb_grid *grid, int level, double *middle, double *coarse);
/* Adds to the errors of a level what jumps of the drift between nodes do to slopes beside them. */
hb_status hb_grid_jump_errors(hb_grid *grid, const hb_problem *problem, int level);

#endif
