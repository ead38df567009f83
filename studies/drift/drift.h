/* studies/drift/drift.h: the parts of the study of nonlinear drifts.
 *
 *     drift_problems.c  the seven processes, as problems of the library
 *     drift_plan.c      methods, sizes, costs of a step; the list of runs
 *     drift_truth.c     draws of the density and its exact score there, by the grid
 *     drift_run.c       one run: rows, training, judging
 *     drift_files.c     runs and truths as cells; the long table
 *     drift_summary.c   means and ratios over seeds; drift.json; the printed table
 *     drift_tables.c    the tables of the page
 *     drift_claims.c    claims and verdicts
 *     drift_figures.c   errors, density along a line, ratios
 *     drift_study.c     the study itself */
#ifndef HB_STUDIES_DRIFT_H
#define HB_STUDIES_DRIFT_H

#include "study_cells.h"

#include <heatball/model.h>
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
/* The 1-D well of the rotated chains, with its start; R[dim][dim]: row i is the direction of well i. */
hb_status hb_drift_well(hb_context *context, hb_problem **out);
hb_status hb_drift_rotation(hb_context *context, int dim, double *R);

typedef struct hb_drift_recipe {
    const char *name, *label;
    int loss, target_rows;
    int as_long_as; /* the method whose time it gets, or -1 */
} hb_drift_recipe;
extern const hb_drift_recipe hb_drift_recipes[DRIFT_METHODS];

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

typedef struct hb_drift_run {
    int problem, method, seed_index;
    uint64_t seed, steps;
    int done;
    double seconds;
    double value[DRIFT_VALUES];
    double line[DRIFT_LINE]; /* density of the model along the line, its mass made 1; NaN: none */
} hb_drift_run;

/* Seed by seed; *runs is to be given to free(). */
hb_status hb_drift_plan(hb_context *context, const hb_drift_size *size, size_t *n,
                        hb_drift_run **runs);
void hb_drift_run_name(const hb_drift_run *run, char name[64]);
hb_status hb_drift_do(hb_context *context, const hb_drift_size *size, const hb_drift_truth *truth,
                      hb_drift_run *run);

/* ---- all ---- */

typedef struct hb_drift_mean {
    int n; /* seeds; 0: not run */
    double mean[DRIFT_VALUES], se[DRIFT_VALUES];
    double seconds;
} hb_drift_mean;

typedef struct hb_drift_result {
    hb_drift_size size;
    const char *runs_directory;
    hb_drift_truth truth[DRIFT_PROBLEMS];
    size_t n;
    hb_drift_run *runs;
    hb_drift_mean mean[DRIFT_PROBLEMS][DRIFT_METHODS];
} hb_drift_result;

hb_status hb_drift_truths(hb_context *context, hb_drift_result *result);
hb_status hb_drift_do_all(hb_context *context, int resume, hb_drift_result *result);
hb_status hb_drift_write_table(hb_context *context, const char *directory,
                               const hb_drift_result *result);

/* Of one number of `method` in units of `other`, geometric: over the seeds of one problem, or (problem
 * -1) over problems and seeds. se: of the logarithm, over seeds; spread: its standard deviation over
 * problems. */
typedef struct hb_drift_ratio {
    int n; /* problems */
    double mean, se, spread, least, most;
} hb_drift_ratio;
hb_drift_ratio hb_drift_compare(const hb_drift_result *result, int problem, int method, int other,
                                int value);

void hb_drift_average(hb_drift_result *result);
int hb_drift_has(const hb_drift_result *result, int problem);
void hb_drift_print(FILE *table, const hb_drift_result *result);
json_t *hb_drift_settings_json(const hb_drift_size *size);
json_t *hb_drift_rows_json(const hb_drift_result *result);
void hb_drift_tables(json_t *root, const hb_drift_result *result);
json_t *hb_drift_claims(const hb_drift_result *result);
hb_status hb_drift_figures(hb_context *context, const hb_drift_result *result,
                           const char *directory, FILE *table, json_t *captions);

extern const hb_study hb_drift_study;

#endif
