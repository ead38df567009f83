/* studies/density/density.h: the parts of the study of log-densities.
 *
 *     density_sets.c    mixtures and the Mueller-Brown potential: draws, log-densities at every tau
 *     density_fits.c    estimates that are no networks: a mixture by EM, a kernel estimate
 *     density_forces.c  wells, barriers, mass where there is none, Langevin dynamics
 *     density_run.c     one trial: data, training or fit, errors of log-densities
 *     density_study.c   sets, methods, costs; the study itself, a comparison (compare/compare.h) */
#pragma once

#include "compare/compare.h"

#include <heatball/data.h>

enum { DENSITY_SETS = 23, DENSITY_TWO = 21, DENSITY_MULLER = 22 };
enum { DENSITY_MOST_MODES = 50 };
enum { DENSITY_TAUS = 5, DENSITY_LINE = 121 /* points of the path between the wells */ };
#define DENSITY_TAU_MIN 1e-3                       /* of the trainings */
#define DENSITY_FIRST_TEST (UINT64_C(1) << 20)     /* of the held-out draws */
extern const double hb_density_taus[DENSITY_TAUS]; /* the first is DENSITY_TAU_MIN */

/* In the order of hb_density_recipes; em and kde are no networks. */
enum { DENSITY_DSM, DENSITY_DSM_TARGETS, DENSITY_FP, DENSITY_HB, DENSITY_DSM_TIME };
enum { DENSITY_EM = 5, DENSITY_KDE, DENSITY_METHODS };
extern const hb_recipe hb_density_recipes[DENSITY_METHODS];

typedef struct hb_density_set {
    const char *family;   /* or the name of a set of the library */
    int dim, rows, modes; /* modes: whose weights are judged */
    double distance; /* mean distance of two centres in standard deviations of the second mode */
    const double *weight, *deviation; // (modes); NULL: weights drawn; all 1
} hb_density_set;
extern const hb_density_set hb_density_sets[DENSITY_SETS];

/* How much work: the full study or --quick. */
typedef struct hb_density_size {
    uint64_t seed;
    int sets; /* a bit for each */
    int seeds, steps, width;
    int rows;           /* at most so many of a data set */
    size_t judge, test; /* draws of an error; the first so many of them go through the ODE */
    size_t check;       /* samples of hb_model_density_check */
    int lattice;        /* points per axis of a mesh of the plane */
    int chains, moves;  /* of Langevin dynamics */
} hb_density_size;
#define hb_density_size_of(result) ((const hb_density_size *)(result)->size)
#define hb_density_has(result, set) (hb_density_size_of(result)->sets >> (set)&1)

/* ---- truth ---- */

/* The true density of a set: a mixture, to be destroyed; NULL: the Mueller-Brown potential. */
hb_status hb_density_truth(hb_context *context, int set, uint64_t seed, hb_mixture **out);
/* x[n][dim] of the density at tau, and the mode of each (may be NULL; of mixtures); first: 0 for data, DENSITY_FIRST_TEST for held-out draws. */
hb_status hb_density_draw(hb_context *context, const hb_mixture *truth, uint64_t seed,
                          uint64_t first, size_t n, double tau, double *x, int *mode);
/* ln u(x,tau)[n] and its gradient[n][dim] (may be NULL). */
hb_status hb_density_exact(hb_context *context, const hb_mixture *truth, size_t n, const double *x,
                           double tau, double *v, double *score);
/* Mueller-Brown: z = (x - centre)/scale. */
extern const double hb_density_centre[2], hb_density_scale;

/* ---- estimates ---- */

/* A density at every tau: a network, a mixture or a kernel estimate. */
typedef struct hb_density_estimate {
    int dim;
    hb_model *model;
    hb_mixture *mixture;
    size_t n;                        /* of a kernel estimate */
    double variance, *rows, *square; // (dim, n), (n)
} hb_density_estimate;
hb_status hb_density_at(hb_context *context, const hb_density_estimate *e, size_t n,
                        const double *x, double tau, double *v, double *score);
hb_status hb_density_fit_em(hb_context *context, uint64_t seed, size_t n, const double *x,
                            hb_density_estimate *out);
hb_status hb_density_fit_kde(hb_context *context, size_t n, const double *x,
                             hb_density_estimate *out);

/* ---- one trial ---- */

/* Indices of values, + tau where there is one for each; their names: hb_density_value_name. */
enum { DENSITY_WEIGHTS, DENSITY_MEAN = 5, DENSITY_SD = 10, DENSITY_SCORE = 15 };
enum { DENSITY_LOW_MEAN = 20, DENSITY_LOW_SD, DENSITY_NLL_PASS, DENSITY_NLL_ODE };
enum { DENSITY_NLL_EXACT = 24, DENSITY_COVERS, DENSITY_COVERS_TRUTH, DENSITY_KNOWN };
enum { DENSITY_LOG_NORMALISER = 28, DENSITY_OCCUPATION, DENSITY_BARRIER, DENSITY_BARRIER_EXACT };
enum { DENSITY_SPURIOUS = 32, DENSITY_LANGEVIN_SPURIOUS, DENSITY_LANGEVIN_LN_P, DENSITY_EFFECTIVE };
enum { DENSITY_VALUES = 36 };
hb_value_name hb_density_value_name;
/* (2, DENSITY_LINE), behind the values: ln of estimate and truth along the path; NaN: none. */
#define hb_density_line_of(trial) ((trial)->value + DENSITY_VALUES)
hb_status hb_density_do(hb_context *context, const hb_comparison *result, hb_trial *trial);
/* The part of the two sets with wells. */
hb_status hb_density_forces(hb_context *context, const hb_density_size *size,
                            const hb_mixture *truth, const hb_density_estimate *estimate,
                            hb_trial *trial);

extern const hb_study hb_density_study;
