/* grid/grid_kept.h: a solved grid, and how its three meshes become one answer with an error. */
#pragma once

#include "grid/grid_box.h"
#include "grid/quintic_spline.h"

#include <heatball/grid.h>

enum { HB_GRID_MESHES = 3, HB_GRID_RUNS = 4, HB_GRID_MAX_LEVELS = 1001 };

/* ---- coordinates that grow with the density from a point (grid_scaled.c) ---- */

/* x = place + s(tau) xi, and a time sigma(tau) for xi. */
typedef struct hb_grid_scaling {
    const hb_problem *problem;
    size_t d;
    double place[3];
    double knee;               /* tau at which the size s stops growing; infinite: it does not */
    double tau_start, tau_end; /* sigma = 0 is at tau_start */
    double sigma_end;
} hb_grid_scaling;

double hb_scaling_size(const hb_grid_scaling *scaling, double tau); /* s */
/* Of tau in [tau_start, tau_end]. */
double hb_scaling_sigma(const hb_grid_scaling *scaling, double tau);

/* Breaks of the drift that cross the box low .. high of xi at some time: kinks are told, jumps are
 * refused. */
hb_status hb_scaling_flaws(hb_context *context, const hb_grid_scaling *scaling, const double *low,
                           const double *high, hb_layout_flaws *flaws);

/* ---- a solved grid ---- */

struct hb_grid {
    hb_context *context;
    hb_grid_info info;
    hb_mesh mesh[HB_GRID_RUNS]; /* h, 2h, 4h; 4h in a wider box, of size 0 when there is none */
    int cells_below[3];         /* of the wider box: its cells below the box */
    hb_layout_flaws flaws;
    int tensor;      /* the noise is a tensor */
    int noise_kinks; /* which has kinks */
    double tolerance;
    int least_steps; /* of the integration; 0: any */
    double strict;   /* part of the tolerance that the integration has */
    int stationary;  /* nothing depends on tau */
    int grown;       /* how often the chosen box became larger */
    int felt[3];     /* boundaries that requested points feel, by axis: 1 the lower, 2 the upper */
    double lost;     /* of a box that was given: the part of the initial mass that is not in it */
    double max_time, deadline; /* seconds that were given, and when they end by hb_seconds */
    int pulses;                /* drift or noise have narrow pulses in t */
    int asks_order;            /* how fast the meshes converge is not taken for granted */
    double peclet;             /* the largest Peclet number where the mass is (grid_peclet.c) */
    int n_levels;              /* kept values of tau, ascending */
    int listed;                /* 1: they were requested one by one; nothing is known in between */
    double tau[HB_GRID_MAX_LEVELS], place[HB_GRID_MAX_LEVELS];
    double shift;                        /* place = ln(tau + shift) */
    int unreliable_from;                 /* of listed levels: the first with something unresolved */
    double *v[HB_GRID_MAX_LEVELS];       // (mesh[0].size) spline coefficients
    double *v_error[HB_GRID_MAX_LEVELS]; // (mesh[2].size)
    double *slope_error[HB_GRID_MAX_LEVELS]; // (mesh[2].size, dim)
    /* An initial point: the solution is that of inner, in scaled coordinates; of the fields
     * above only info, n_levels and tau[0] are set. NULL: as it is. */
    hb_grid *inner;
    const hb_grid_scaling *scaling;
};

/* Sets info.unresolved when drift or noise do something within cells of the coarsest mesh, where
 * v[its size] has mass, that no node sees. The drift is checked for d > 1 (cell_check.c). */
hb_status hb_grid_check_cells(hb_grid *grid, const hb_problem *problem, const double *v);
/* The same for the drift in scaled coordinates, at the size of their end; d = 1 too. */
hb_status hb_grid_check_scaled(hb_grid *grid, const hb_grid_scaling *scaling, const double *v);
/* The same for the noise, when it jumps, and the flaw of kinks for kinks (tensor_check.c). */
hb_status hb_tensor_check_noise(hb_grid *grid, const hb_problem *problem, const double *v);
/* Raises grid->peclet to the largest |F_a| h_a/2 where v, of the coarsest mesh, has mass. */
hb_status hb_grid_find_peclet(hb_grid *grid, const hb_problem *problem, const double *v);

/* Combines v on the three meshes at one level: the coefficients of the extrapolated v replace
 * v[0], and the error estimates are filled. middle and coarse are overwritten. */
hb_status hb_grid_combine(hb_grid *grid, int level, double *middle, double *coarse);
/* Adds to the errors of a level what jumps of the drift between nodes do to slopes beside them. */
hb_status hb_grid_jump_errors(hb_grid *grid, const hb_problem *problem, int level);
