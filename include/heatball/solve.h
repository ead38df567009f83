/* heatball/solve.h: density, log-density, score and entropy density at points, from one call. */
#ifndef HEATBALL_SOLVE_H
#define HEATBALL_SOLVE_H

#include <heatball/estimate.h>
#include <heatball/grid.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_method { HB_METHOD_AUTO, HB_METHOD_GRID, HB_METHOD_MEANVALUE } hb_method;

typedef struct hb_solve_settings {
    int method;            /* hb_method; default HB_METHOD_AUTO */
    double time;           /* t at which to solve; NaN (default): the problem's own */
    hb_mean_settings mean; /* radius, lift, samples, degree, seed of meanvalue */
    hb_grid_settings grid;
} hb_solve_settings;

typedef struct hb_solution hb_solution;

/* Columns of a solution; score and score_se have dim values per point. */
typedef enum hb_column {
    HB_DENSITY,
    HB_DENSITY_SE,
    HB_LOG_DENSITY,
    HB_LOG_DENSITY_SE,
    HB_SCORE,
    HB_SCORE_SE,
    HB_ENTROPY_DENSITY,
    HB_ENTROPY_DENSITY_SE
} hb_column;

HB_API void hb_solve_settings_default(hb_solve_settings *settings);
/* points is [n][dim]. The `_se` columns of the grid are errors from refinement, those of meanvalue the
 * standard errors of the averages combined with the grid's. Where the density is below the range of
 * double it is 0, and its logarithm is right. */
HB_API hb_status hb_solve(hb_context *context, const hb_problem *problem,
                          const hb_solve_settings *settings, size_t n, const double *points,
                          hb_solution **out);
HB_API void hb_solution_destroy(hb_solution *solution);
HB_API size_t hb_solution_size(const hb_solution *solution);
HB_API int hb_solution_dim(const hb_solution *solution);
HB_API double hb_solution_tau(const hb_solution *solution);
/* "grid", "meanvalue"; "initial" at time 0 */
HB_API const char *hb_solution_method(const hb_solution *solution);
HB_API const char *hb_solution_note(const hb_solution *solution); /* what was chosen and why */
/* [size] or, for scores, [size][dim]; valid while the solution lives; NULL for an unknown column. */
HB_API const double *hb_solution_values(const hb_solution *solution, hb_column column);

/* hb_residual of the grid solution at the settings' time: [n][n_radii] each; any may be NULL. */
HB_API hb_status hb_solve_residual(hb_context *context, const hb_problem *problem,
                                   const hb_solve_settings *settings, hb_quantity quantity,
                                   size_t n, const double *points, int n_radii, const double *radii,
                                   double *residual, double *residual_se, double *scaled,
                                   double *scaled_se);

#ifdef __cplusplus
}
#endif
#endif
