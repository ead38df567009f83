/* studies/drift/drift.h: the parts of the study of nonlinear drifts.
 *
 *     drift_problems.c  the seven processes, as problems of the library
 *     drift_plan.c      methods, sizes, costs of a step; the list of runs
 *     drift_truth.c     draws of the density and its exact score there, by the grid
 *     drift_run.c       one run: rows, training, judging
 *     drift_files.c     truths as cells; what the files of runs hold
 *     drift_summary.c   ratios over processes; numbers for the page; drift.json; the printed table
 *     drift_study.c     the study itself, a comparison (compare/compare.h) */
#pragma once

#include "compare/compare.h"

#include <heatball/problem.h>

enum {
    DRIFT_PROBLEMS = 7,
    DRIFT_PLANAR = 4, /* the first so many are in the plane */
    DRIFT_TAUS = 3,
    DRIFT_REGIONS = 2, /* all, low */
    DRIFT_LINE = 121,  /* points of the line of the density */
    DRIFT_MOST_DIM = 16,
    DRIFT_TAU_TABLE = 1 /* the index of 0.3 */
};
extern const double hb_drift_taus[DRIFT_TAUS]; /* 0.1, 0.3, 1 */
extern const char *const hb_drift_regions[DRIFT_REGIONS];

typedef enum hb_drift_method {
    DRIFT_DSM,
    DRIFT_DSM_TARGETS, /* with the averaged targets that all below have too */
    DRIFT_FP,
    DRIFT_HB,
    DRIFT_DSM_TIME, /* DSM_TARGETS with as much time as hb */
    DRIFT_FP_TIME,
    DRIFT_METHODS
} hb_drift_method;

typedef struct hb_drift_process {
    const char *name, *title;
    int dim;
    const char *drift, *potential; /* one of them; both NULL: wells in a rotated frame */
    const char *initial;           /* of the plane */
    double low[2], high[2];        /* of the plane: the box in which a model is normalised */
    double from[2], to[2];         /* of the plane: the ends of the line through the modes */
    double cost[DRIFT_METHODS];    /* processor time of a step, in steps of dsm */
} hb_drift_process;
extern const hb_drift_process hb_drift_processes[DRIFT_PROBLEMS];

/* dx = F dtau + sqrt(2) dW with its start; tau is the time. */
hb_status hb_drift_problem(hb_context *context, int problem, hb_problem **out);
/* The 1-D well of the rotated chains, with its start; R[dim][dim]: row i is the direction of well
 * i. */
hb_status hb_drift_well(hb_context *context, hb_problem **out);
hb_status hb_drift_rotation(hb_context *context, int dim, double *R);

extern const hb_recipe hb_drift_recipes[DRIFT_METHODS];

typedef struct hb_drift_size {
    uint64_t seed;
    int problems; /* a bit for each */
    int seeds, rows, width;
    uint64_t steps;
    double tau_max; /* of the trainings: beyond the last tau that is judged */
    size_t judge;   /* draws of an error, per tau */
    size_t anchors; /* of a residual, per tau */
    uint64_t pairs; /* of an average over a ball above three dimensions */
    int lattice;    /* points per axis of the box of a model's mass */
} hb_drift_size;
hb_drift_size hb_drift_choose_size(const hb_study_settings *settings);
static inline const hb_drift_size *hb_drift_size_of(const hb_comparison *result)
{
    return result->size;
}
extern const hb_compared hb_drift_compared;

/* ---- truth ---- */

typedef struct hb_drift_truth {
    size_t n;          /* draws per tau; 0: not there */
    double *x, *score; // (taus, n, dim); one block, x to be given to free()
    char *low;         // (taus, n): the fifth with the lowest density
    double claimed
        [DRIFT_TAUS]; /* mean over the draws of |error of the score|^2, as the grid claims it */
    double line[DRIFT_LINE]; /* ln u along the line at tau = 0.3 (plane) */
    double line_error[DRIFT_LINE];
} hb_drift_truth;
hb_status hb_drift_find_truth(hb_context *context, const hb_drift_size *size, int problem,
                              hb_drift_truth *out);
void hb_drift_truth_release(hb_drift_truth *truth);
static inline hb_drift_truth *hb_drift_truths_of(const hb_comparison *result) // (DRIFT_PROBLEMS)
{
    return result->user;
}
/* Makes all of them; their files show some numbers. */
hb_status hb_drift_truths(hb_context *context, hb_comparison *result);
/* Points k = 0 .. DRIFT_LINE-1 of the line of a planar problem: x[DRIFT_LINE][2]. */
void hb_drift_line(int problem, double *x);

/* ---- one run ---- */

enum {
    DRIFT_ERROR = 0,                                           /* + DRIFT_REGIONS * tau + region */
    DRIFT_RESIDUAL = DRIFT_ERROR + DRIFT_TAUS * DRIFT_REGIONS, /* + tau: rms of the scaled one */
    DRIFT_MASS =
        DRIFT_RESIDUAL + DRIFT_TAUS, /* integral of e^v over the box at tau = 0.3 (plane) */
    DRIFT_VALUES
};
hb_value_name hb_drift_value_name;

/* (DRIFT_LINE), behind the values: density of the model along the line, its mass made 1; NaN:
 * none. */
static inline double *hb_drift_line_of(const hb_trial *run)
{
    return run->value + DRIFT_VALUES;
}

void hb_drift_plan(hb_comparison *result); /* seed by seed */
hb_status hb_drift_do(hb_context *context, const hb_comparison *result, hb_trial *run);
/* What hb_drift_compared says of the files of runs. */
void hb_drift_describe(const hb_comparison *result, const hb_trial *run, size_t n, char *text);
void hb_drift_put(json_t *root, const hb_trial *run);
int hb_drift_take(const hb_comparison *result, const json_t *root, hb_trial *run);

/* ---- results ---- */

/* Of one number of `method` in units of `other`, geometric: over the seeds of one problem, or
 * (problem -1) over problems and seeds. se: of the logarithm, over seeds; spread: its standard
 * deviation over problems. */
typedef struct hb_drift_ratio {
    int n; /* problems */
    double mean, se, spread, least, most;
} hb_drift_ratio;
hb_drift_ratio hb_drift_compare(const hb_comparison *result, int problem, int method, int other,
                                int value);

int hb_drift_has(const hb_comparison *result, int problem);
void hb_drift_print(FILE *table, const hb_comparison *result);
json_t *hb_drift_settings_json(const hb_comparison *result);
json_t *hb_drift_rows_json(const hb_comparison *result);
/* Numbers for formulas of the page, beside those of hb_compare_find. */
int hb_drift_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                  hb_value *out);

extern const hb_study hb_drift_study;
