/* studies/bistable/bistable.h: the parts of the bistable study.
 *
 *     bistable_paths.c    trajectories of dX = (X - X^3) dt + dW to t = 1
 *     bistable_dsm.c      denoising score matching: kernel regression and Tweedie's formula
 *     bistable_ball.c     grid solutions, exact scores, heat-ball estimates
 *     bistable_rows.c     mean squared errors by region, with standard errors
 *     bistable_study.c    the study itself: table, files, numbers for the page */
#pragma once

#include "study_tools.h"

#include <heatball/grid.h>

#define BISTABLE_TIME 1.0     /* t* of the paper */
#define BISTABLE_TAU 0.5      /* tau = t/2 */
#define BISTABLE_NOISE 0.15   /* DSM's noise in the paper */
#define BISTABLE_RADIUS 0.3   /* the heat ball's radius in the paper */
#define BISTABLE_SADDLE 0.5   /* |x| up to here counts as the saddle region in the claims */
#define BISTABLE_BOX 6.0      /* the field lives on [-6, 6] */
#define BISTABLE_WIDE_BOX 7.0 /* the reference solution lives on [-7, 7] */

enum {
    BISTABLE_POINTS = 601,  /* x = -3, -2.99, .. 3 */
    BISTABLE_PATHS = 10000, /* trajectories of one DSM estimate, as in the paper */
    BISTABLE_STEPS = 200,   /* of the simulation */
    BISTABLE_NOISES = 9,
    BISTABLE_WIDTHS = 4,
    BISTABLE_RULE_WIDTH = 2, /* the index of 1 among the widths */
    BISTABLE_RADII = 7,
    BISTABLE_LIFTS = 3,
    BISTABLE_SWEEP_POINTS = 61, /* of the radius sweep: every tenth */
    BISTABLE_FINE = 3601        /* points of hb_bistable_density */
};

typedef enum hb_bistable_start {
    BISTABLE_STATIONARY,
    BISTABLE_GAUSSIAN,
    BISTABLE_STARTS
} hb_bistable_start;

/* The reference of an error: the stationary score 2x - 2x^3, or the exact score at t = 1. */
typedef enum hb_bistable_reference {
    BISTABLE_TO_STATIONARY,
    BISTABLE_TO_EXACT,
    BISTABLE_REFERENCES
} hb_bistable_reference;

typedef enum hb_bistable_region {
    BISTABLE_OVERALL,
    BISTABLE_CORE,
    BISTABLE_TAIL,
    BISTABLE_REGIONS
} hb_bistable_region;

typedef enum hb_bistable_method {
    BISTABLE_DSM,       /* noise 0.15, bandwidth by rule */
    BISTABLE_DSM_BEST,  /* the best noise and bandwidth, chosen with the exact score known */
    BISTABLE_DSM_LIMIT, /* noise 0.15, infinitely many trajectories */
    BISTABLE_BALL,      /* heat ball by Monte Carlo */
    BISTABLE_CUBATURE,  /* heat ball by cubature */
    BISTABLE_GRID,      /* the field's own score, without a ball */
    BISTABLE_LONG_TIME, /* the stationary score taken for the score at t = 1 */
    BISTABLE_METHODS
} hb_bistable_method;

extern const char *const hb_bistable_start_names[BISTABLE_STARTS];
extern const char *const hb_bistable_initial[BISTABLE_STARTS]; /* as a problem's `initial` */
extern const char *const hb_bistable_reference_names[BISTABLE_REFERENCES];
extern const char *const hb_bistable_method_names[BISTABLE_METHODS];
extern const double hb_bistable_noises[BISTABLE_NOISES];
extern const double hb_bistable_widths[BISTABLE_WIDTHS]; /* multiples of the rule's bandwidth */
extern const double hb_bistable_radii[BISTABLE_RADII];
extern const int hb_bistable_lifts[BISTABLE_LIFTS];

/* How much work: the full study or --quick. */
typedef struct hb_bistable_size {
    uint64_t seed;
    int runs;              /* repetitions of everything random */
    uint64_t pairs;        /* antithetic pairs of a heat-ball average */
    uint64_t sweep_pairs;  /* the same in the radius sweep */
    int degree;            /* of the cubature */
    int cells, wide_cells; /* of the field's grid and of the reference grid */
} hb_bistable_size;

/* Scores of one method from one start: runs of BISTABLE_POINTS values. */
typedef struct hb_bistable_curves {
    int runs;        /* 1 when nothing is random */
    double *score;   // (runs, BISTABLE_POINTS)
    double *claimed; // (BISTABLE_POINTS): claimed error, or NULL; of the last run
} hb_bistable_curves;

typedef struct hb_bistable_error { /* mean over points of the squared error, by region */
    double mse[BISTABLE_REGIONS], se[BISTABLE_REGIONS]; /* se: over runs; NaN for fewer than two */
} hb_bistable_error;

typedef struct hb_bistable_row {
    hb_bistable_method method;
    hb_bistable_start start;
    hb_bistable_reference reference;
    hb_bistable_error error;
    double claimed;                 /* mean of the squared claimed errors, or NaN */
    double paper[BISTABLE_REGIONS]; /* NaN: the paper has none */
    int runs;
} hb_bistable_row;

/* DSM at one noise: overall error against the exact score, over the runs. */
typedef struct hb_bistable_noise_point {
    double mse[BISTABLE_WIDTHS], se[BISTABLE_WIDTHS]; /* by bandwidth */
    double limit;                                     /* with infinitely many trajectories */
} hb_bistable_noise_point;

/* Heat ball at one radius and lift: overall error against the exact score. */
typedef struct hb_bistable_radius_point {
    double radius;
    int lift;
    double mse, mse_se, claimed; /* Monte Carlo */
    double cubature, cubature_claimed;
} hb_bistable_radius_point;

/* Share of bias and noise in DSM's error where |x| <= BISTABLE_SADDLE, mean over points. */
typedef struct hb_bistable_saddle {
    double mse, bias2, variance, limit_bias2;
} hb_bistable_saddle;

/* All that one start gives. */
typedef struct hb_bistable_case {
    double start_density[BISTABLE_POINTS], density[BISTABLE_POINTS]; /* at t = 0 and 1 */
    double exact[BISTABLE_POINTS], exact_error[BISTABLE_POINTS];     /* score at t = 1 */
    hb_bistable_curves curves[BISTABLE_METHODS];
    hb_bistable_noise_point noise[BISTABLE_NOISES];
    int best_noise, best_width; /* indices of BISTABLE_DSM_BEST */
    double bandwidth;           /* the rule's, noise 0.15, mean over the runs */
    double farthest;            /* largest |x| of the trajectories' ends, mean over the runs */
    hb_bistable_saddle saddle;
    hb_bistable_radius_point radius[BISTABLE_LIFTS][BISTABLE_RADII]; /* Gaussian start only */
    hb_grid_info field, reference;                                   /* of the two grids */
} hb_bistable_case;

enum { BISTABLE_ROWS = BISTABLE_METHODS * BISTABLE_STARTS * BISTABLE_REFERENCES };

typedef struct hb_bistable_result {
    hb_bistable_size size, full;                            /* full: without --quick */
    double x[BISTABLE_POINTS], stationary[BISTABLE_POINTS]; /* 2x - 2x^3 */
    hb_bistable_case cases[BISTABLE_STARTS];
    hb_bistable_row rows[BISTABLE_ROWS];
    double done; /* for the progress: points of single runs */
} hb_bistable_result;

/* Reports that so many points of single runs are estimated. */
hb_status hb_bistable_progress(hb_context *context, hb_bistable_result *result, double points);

/* ---- paths ---- */

/* The ends x[BISTABLE_PATHS] at t = 1 of the trajectories of one run. */
hb_status hb_bistable_paths(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                            uint64_t seed, int run, double *x);

/* ---- DSM ---- */

/* v = ln p at t = 1 on n equally spaced points, for the limit of infinitely many trajectories. */
typedef struct hb_bistable_density {
    size_t n;
    double *x, *log_density; // (n)
} hb_bistable_density;

/* Fills DSM, DSM_BEST, DSM_LIMIT, noise, saddle of the case; needs its exact score. */
hb_status hb_bistable_dsm(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                          const hb_bistable_density *density, hb_bistable_result *result);

/* ---- grids and heat balls ---- */

/* Fills the densities, the exact score, and the heat-ball methods of the case, and `density`, whose
 * arrays the caller gives (n points from -BISTABLE_BOX to BISTABLE_BOX). */
hb_status hb_bistable_ball(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                           hb_bistable_density *density, hb_bistable_result *result);

/* ---- errors ---- */

/* Mean and spread of values that come one by one (Welford's recurrence). */
typedef struct hb_bistable_tally {
    int n;
    double mean, squares;
} hb_bistable_tally;

void hb_bistable_add(hb_bistable_tally *tally, double value);
double hb_bistable_standard_error(const hb_bistable_tally *tally); /* of the mean; NaN for n < 2 */
double hb_bistable_mean_square(const double *x, int n);
/* Mean over the n points x of a region of (a - b)^2. */
double hb_bistable_mse(hb_bistable_region region, int n, const double *x, const double *a,
                       const double *b);
hb_status hb_bistable_allocate_curves(hb_context *context, hb_bistable_case *c,
                                      hb_bistable_method method, int runs, int claims);
void hb_bistable_release_curves(hb_bistable_result *result);
void hb_bistable_rows(hb_bistable_result *result);
const hb_bistable_row *hb_bistable_find(const hb_bistable_result *result, hb_bistable_method method,
                                        hb_bistable_start start, hb_bistable_reference reference);

extern const hb_study hb_bistable_study;
