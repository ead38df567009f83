/* grid/grid_request.h: what is asked of a grid, and the steps to a solved one that all solutions
 * share. */
#pragma once

#include "grid/grid_kept.h"

typedef struct hb_grid_request {
    hb_context *context;
    const hb_problem *problem;
    hb_grid_settings settings;
    double tau_end; /* 1 for a stationary density, where nothing depends on it */
    size_t n_at;
    const double *at; // (n_at, dim)
    double deadline;  /* by hb_seconds */
} hb_grid_request;

/* Reads the settings of a public call; tau_end and the deadline are set later. */
hb_status hb_grid_request_read(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               hb_grid_request *out);
double hb_grid_deadline(double max_time); /* by hb_seconds; 0: none */
hb_status hb_grid_request_check(const hb_grid_request *request);
/* 1 when box and points are given, so that nothing is left to choose; then box->width is set. */
int hb_grid_request_is_complete(const hb_grid_request *request, hb_grid_box *box);
/* 1 when a boundary is given. */
int hb_grid_request_has_boundary(const hb_grid_request *request);
/* What the user gives replaces the chosen box; points outside of it are refused. */
hb_status hb_grid_request_box(const hb_grid_request *request, hb_grid_box *box);
/* The cells of an axis: those that are given, or else `wanted`, as a multiple of 4. */
int hb_grid_request_cells(const hb_grid_request *request, int axis, double wanted);
/* The cells that a span wants, `finer` times the default, within the limits of the dimension. */
double hb_grid_default_cells(const hb_problem *problem, double span, double width, double finer);
/* Whether the cells that such a box wants are as many as a grid takes, or the user has asked
 * for. */
int hb_grid_fits(int dim, const int *points, const hb_grid_box *box);

/* A grid without meshes. */
hb_status hb_grid_create(const hb_grid_request *request, hb_grid **out);
/* hb_grid_layout of the box: axes[dim], and the flaws of the grid. */
hb_status hb_grid_lay_axes(const hb_grid_request *request, const hb_grid_box *box, const int *cells,
                           hb_axis *axes, hb_grid *grid);
/* The meshes h, 2h and 4h of these axes, the tolerance, and info. */
void hb_grid_set_meshes(const hb_grid_request *request, const hb_grid_box *box, const hb_axis *axes,
                        hb_grid *grid);
/* Refuses what does not fit in memory: the levels, and `bytes` to solve. Then allocates the
 * answer. */
hb_status hb_grid_allocate(hb_grid *grid, double bytes);
/* Arrays [level][size] of one mesh from one block, out[0]. */
hb_status hb_grid_allocate_levels(hb_grid *grid, size_t size, double **out);
/* Mass and boundary of info, from v[mesh[0].size]. */
void hb_grid_set_info(hb_grid *grid, const double *v);
