/* heatball/grid.h: the Fokker-Planck equation on a grid, d = 1, 2, 3: the reference answer.
 * Second tier: for bindings and tools.
 *
 * du/dtau = Lap u - div(F u) by the exponentially fitted finite-volume scheme (Scharfetter-Gummel)
 * on a box with no flux through its boundary: positive, and mass is conserved. The unknown is v =
 * ln u, so that tails are as accurate as the core region where u itself would vanish. Time
 * integration by SUNDIALS (CVODE). Three grids, h, 2h and 4h, are solved and extrapolated; their
 * differences give the reported error. docs/explanation/grid.md. */
#ifndef HEATBALL_GRID_H
#define HEATBALL_GRID_H

#include <heatball/field.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_grid hb_grid;

typedef struct hb_grid_settings {
    size_t size; /* set by hb_grid_settings_default */
    /* cells per axis of the finest grid, at least 32, rounded up to a multiple of 4; 0 (default):
     * chosen */
    int points[3];
    double low[3], high[3]; /* the box; NaN (default): chosen from the problem and `at` */
    /* of the time integration, in v; 0 (default): 1e-9, 1e-7 and 1e-6 in one, two and three
     * dimensions */
    double tolerance;
    /* keep the solution from this tau on, for evaluation in between; NaN (default): keep the end
     * only */
    double keep_from;
    /* seconds that the integration may take, then HB_ERROR_NUMERICAL with how far it came; 0
     * (default): no limit */
    double max_time;
    /* up to 1000 values of tau, rising and above 0, at which the solution is kept beside the end;
     * instead of keep_from, and then nothing is known in between */
    size_t n_keep;
    const double *keep; /* [n_keep]; NULL (default): none */
} hb_grid_settings;

typedef struct hb_grid_info {
    int dim;
    int points[3];
    double low[3], high[3];
    double tau;          /* the end */
    double mass_error;   /* |1 - integral of u| at the end, before anything is normalised */
    double boundary_log; /* largest v on the boundary minus largest v: how little mass is near it */
    int steps;           /* of the time integration, all grids */
    int breaks_between;  /* 1: the drift has jumps or kinks that no node is on; errors say so */
    int unresolved; /* 1: it varies within cells more than the grid follows; errors are infinite */
    /* the least tau that is kept: the first of `keep` that the mesh can resolve from an initial
     * density that is rough */
    double kept_from;
    /* time inf: the tau in which the slowest part of another start falls by e, on the coarsest
     * grid; NaN at finite times */
    double relaxation;
} hb_grid_info;

HB_API void hb_grid_settings_default(size_t size, hb_grid_settings *settings);
/* Solves from tau = 0 to tau(time); for time = INFINITY the stationary density of a drift and a
 * noise that do not depend on t, which is the same at all tau (docs/explanation/stationary.md). at[n_at][dim]
 * (may be NULL) are points that the box must hold. HB_ERROR_ARGUMENT: dim > 3, a box that misses a
 * point or the initial mass; HB_ERROR_MEMORY: the grid does not fit; HB_ERROR_NUMERICAL: the
 * integration failed, with the reason. */
HB_API hb_status hb_grid_solve(hb_context *context, const hb_problem *problem,
                               const hb_grid_settings *settings, size_t n_at, const double *at,
                               double time, hb_grid **out);
HB_API void hb_grid_destroy(hb_grid *grid);
/* HB_ERROR_ARGUMENT for a grid that is NULL. */
HB_API hb_status hb_grid_info_get(const hb_grid *grid, size_t size, hb_grid_info *out);

/* v = ln u and its gradient at n points and one tau (the end, any tau >= keep_from, or one of
 * keep), each with an error estimate from refinement; any output may be NULL. */
HB_API hb_status hb_grid_evaluate(hb_context *context, const hb_grid *grid, size_t n,
                                  const double *x, double tau, double *v, double *v_error,
                                  double *gradient, double *gradient_error);
/* The grid solution as a field on [keep_from, end]; valid while the grid lives. */
HB_API void hb_grid_field(const hb_grid *grid, hb_field *out);

#ifdef __cplusplus
}
#endif
#endif
