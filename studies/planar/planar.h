/* studies/planar/planar.h: the parts of the planar study.
 *
 *     planar_plan.c     sets, methods, sizes; the list of runs
 *     planar_run.c      one run: data, training with its curves, judging
 *     planar_residual.c the parabolic residual of a model at held-out draws
 *     planar_floor.c    the error that comes from the number of rows alone
 *     planar_files.c    the files of the runs: settings, curves, models
 *     planar_summary.c  the rows of planar.json; the printed table
 *     planar_numbers.c  numbers for the formulas of the page; what truncation does
 *     planar_fields.c   figures of score fields, Helmholtz split, samples
 *     planar_study.c    the study itself, a comparison (compare/compare.h) */
#pragma once

#include "compare/compare.h"

#include <heatball/metrics.h>
#include <heatball/model.h>

enum {
    PLANAR_SETS = 8,
    PLANAR_TAUS = 4,        /* at which a finished model is judged */
    PLANAR_CURVE_TAUS = 5,  /* at which it is watched */
    PLANAR_REGIONS = 4,     /* all, low, high, grid */
    PLANAR_MOMENTS = 20,    /* of the curves */
    PLANAR_WATCH_EVERY = 20 /* steps; numbers of steps are multiples of it */
};

typedef enum hb_planar_method {
    PLANAR_DSM,
    PLANAR_DSM_TARGETS, /* dsm with hb's averaged targets: hb without the constraint */
    PLANAR_FP,
    PLANAR_FP_TARGETS, /* fp with the same targets */
    PLANAR_HB,
    PLANAR_HB_PAPER,
    PLANAR_DSM_TIME, /* dsm-targets and fp-targets with as much time as hb */
    PLANAR_FP_TIME,
    PLANAR_DSM_SCORE,    /* dsm with the score head: a field that need not be a gradient */
    PLANAR_HB_HELMHOLTZ, /* hb with the helmholtz head */
    PLANAR_METHODS
} hb_planar_method;
enum { PLANAR_MAIN = PLANAR_HB + 1 }; /* the first ones, with all seeds */
/* The paper's three: dsm, fp, hb, in the order of its numbers. */
enum { PLANAR_PAPER_METHODS = 3 };
extern const int hb_planar_paper_methods[PLANAR_PAPER_METHODS];

typedef struct hb_planar_set {
    const char *name;
    int batch, mixture;     /* mixture: a few Gaussians, not a curve */
    double sigma_max;       /* of hb-paper */
    double paper[3];        /* the paper's error at tau = 0.3: DSM, FP, HB; NaN: none */
    double paper_global[2]; /* its change against DSM in percent, HB and FP, everywhere */
    double paper_low[2];    /* the same in the low-density region */
    double paper_mmd;
} hb_planar_set;
extern const hb_planar_set hb_planar_sets[PLANAR_SETS];

extern const hb_recipe hb_planar_recipes[PLANAR_METHODS];

extern const double hb_planar_taus[PLANAR_TAUS];             /* 0.1, 0.3, 0.5, 0.8 */
extern const double hb_planar_curve_taus[PLANAR_CURVE_TAUS]; /* 0.1, 0.2, 0.3, 0.5, 0.8 */
extern const char *const hb_planar_regions[PLANAR_REGIONS];
enum { PLANAR_TAU_TABLE = 1 };       /* the index of 0.3 among the taus */
enum { PLANAR_TAU_TABLE_CURVE = 2 }; /* and among those of the curves */

/* How much work: the full study or --quick. */
typedef struct hb_planar_size {
    uint64_t seed;
    int sets;                      /* a bit for each set */
    int seeds, rows;               /* repetitions; rows of data */
    int epoch_rows;                /* of an epoch, which decides the number of steps */
    int epochs, width;             /* of the training */
    size_t judge;                  /* draws for an error at the end */
    size_t watch;                  /* and for a point of a curve */
    size_t samples;                /* generated, and of each sample of real data */
    int generate_steps;            /* of Heun's method */
    size_t anchors, watch_anchors; /* of a residual, at the end and in a curve */
} hb_planar_size;

hb_planar_size hb_planar_choose_size(const hb_study_settings *settings);
static inline const hb_planar_size *hb_planar_size_of(const hb_comparison *result)
{
    return result->size;
}
extern const hb_compared hb_planar_compared;
void hb_planar_plan(hb_comparison *result);

/* ---- one run ---- */

/* The numbers of a finished run, by index; their names: hb_planar_value_name. */
enum {
    PLANAR_ERROR = 0, /* + PLANAR_REGIONS * tau + region */
    PLANAR_RESIDUAL =
        PLANAR_ERROR + PLANAR_TAUS * PLANAR_REGIONS,     /* + tau: rms of the scaled one */
    PLANAR_RESIDUAL_RAW = PLANAR_RESIDUAL + PLANAR_TAUS, /* rms of R_r at tau = 0.3 */
    PLANAR_MMD,            /* generated against held-out data, mean over held-out samples */
    PLANAR_MMD_FLOOR,      /* held-out samples against each other */
    PLANAR_MODES,          /* there are */
    PLANAR_MODES_FOUND,    /* by the generated samples */
    PLANAR_POOREST,        /* least share of a mode, of what it should be */
    PLANAR_OUTLIERS,       /* share of the generated samples */
    PLANAR_CURL,           /* curl mass at tau = 0.5 on draws */
    PLANAR_ROTATION,       /* rotational mass on [-3,3]^2 at tau = 0.5, by FFT */
    PLANAR_ROTATION_EXACT, /* the same of the exact score: what the method itself adds */
    PLANAR_TANGENTIAL,     /* share of |s|^2 across the radius, on draws at tau = 0.3 */
    PLANAR_TANGENTIAL_EXACT,
    PLANAR_FLOOR,     /* error at tau = 0.3 of the exact score of the data's rows, everywhere */
    PLANAR_FLOOR_LOW, /* and in the low-density region */
    PLANAR_VALUES
};
const char *hb_planar_value_name(int index, char buffer[32]);

/* A moment of the training. */
typedef struct hb_planar_moment {
    double step;                        /* 0: not seen */
    double error[PLANAR_CURVE_TAUS][3]; /* all, low, high */
    double residual;                    /* rms of the scaled one at tau = 0.3 */
} hb_planar_moment;

enum { PLANAR_MOMENT = sizeof(hb_planar_moment) / sizeof(double) };
/* (PLANAR_MOMENTS): behind the values of a run. */
static inline hb_planar_moment *hb_planar_curve(const hb_trial *run)
{
    return (hb_planar_moment *)(run->value + PLANAR_VALUES);
}

/* Mean |s - exact|^2 at x[n][2], over all and over those marked low, of the score s that the rows
 * themselves have after OU's noise of tau. */
void hb_planar_floor(size_t rows, const double *data, double tau, size_t n, const double *x,
                     const double *exact, const char *low, double *error_all, double *error_low);

/* The steps of moment k of a run. */
uint64_t hb_planar_moment_step(uint64_t steps, int k);

/* Trains, judges, and leaves the model beside its file. */
hb_status hb_planar_do(hb_context *context, const hb_comparison *result, hb_trial *run);
hb_status hb_planar_model_path(hb_context *context, const hb_comparison *result,
                               const hb_trial *run, char **path); /* to be given to free() */

/* Samples of a model as all runs are judged by: x[n][2]. */
hb_status hb_planar_generate(hb_context *context, const hb_planar_size *size, const hb_model *model,
                             uint64_t seed, size_t n, double *x);

/* Root mean square over n draws at tau of the scaled residual and (may be NULL) of R_r itself, with
 * r^2 = pi tau/2: the ball reaches back by tau/8. */
hb_status hb_planar_residual(hb_context *context, const hb_mixture *truth, const hb_model *model,
                             double tau, uint64_t seed, size_t n, double *scaled, double *raw);

/* What hb_planar_compared says of its files. */
void hb_planar_describe(const hb_comparison *result, const hb_trial *run, size_t n, char *text);
void hb_planar_put(json_t *root, const hb_trial *run);
int hb_planar_take(const hb_comparison *result, const json_t *root, hb_trial *run);
hb_status hb_planar_write_curve(hb_writer *writer, const hb_comparison *result,
                                const hb_trial *run);

/* ---- results ---- */

/* The error at the table's tau. */
double hb_planar_error(const hb_comparison *result, int set, int method, int region);
/* MMD in units of real against real. */
double hb_planar_units(const hb_comparison *result, int set, int method);
int hb_planar_has(const hb_comparison *result, int set);
/* The place of a method among the paper's; -1: it is none of them. */
int hb_planar_paper_place(int method);

void hb_planar_print(FILE *table, const hb_comparison *result);
json_t *hb_planar_settings_json(const hb_comparison *result);
json_t *hb_planar_rows_json(const hb_comparison *result);
/* Numbers for formulas of the page, beside those of hb_compare_find. */
int hb_planar_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                   hb_value *out);
/* Figures that a run of these sets has; captions in the same order. */
hb_status hb_planar_field_figures(hb_gallery *gallery, const hb_comparison *result);

extern const hb_study hb_planar_study;
