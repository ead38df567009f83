/* studies/dimension/dimension.h: the parts of the study of losses by dimension.
 *
 *     dimension_plan.c      dimensions, rows, methods, costs of a step; the list of cells
 *     dimension_families.c  four families of Gaussian mixtures in any dimension
 *     dimension_run.c       one cell: data, training, errors, likelihood
 *     dimension_files.c     the cells as those of study_cells.h; the long table
 *     dimension_summary.c   geometric means, ratios and their standard errors; the printed table
 *     dimension_tables.c    the tables of the page; dimension_map.c: which loss is the best where
 *     dimension_claims.c    what is to be shown, and whether it is
 *     dimension_figures.c   ratios and likelihoods against the dimension
 *     dimension_study.c     the study itself */
#ifndef HB_STUDIES_DIMENSION_H
#define HB_STUDIES_DIMENSION_H

#include "study_cells.h"

#include <heatball/data.h>

enum {
    DIMENSION_DIMS = 6,
    DIMENSION_ROWS = 3,
    DIMENSION_TAUS = 4,
    DIMENSION_FAMILIES = 4,
    DIMENSION_TABLE_TAU = 2 /* the index of 0.3 */
};

typedef enum hb_dimension_method {
    DIMENSION_DSM,
    DIMENSION_DSM_TARGETS, /* with the averaged targets of fp and hb: what the others are compared with */
    DIMENSION_FP,
    DIMENSION_HB,
    DIMENSION_DSM_TIME, /* dsm-targets and fp in the time of hb, at the largest number of rows */
    DIMENSION_FP_TIME,
    DIMENSION_METHODS
} hb_dimension_method;

typedef struct hb_dimension_recipe {
    const char *name;
    int loss;        /* hb_loss */
    int target_rows; /* as in hb_train_settings */
    int step;        /* of which of the first four methods its step is */
    int equal_time;  /* 1: as many steps as hb's time allows */
} hb_dimension_recipe;
extern const hb_dimension_recipe hb_dimension_recipes[DIMENSION_METHODS];

extern const double hb_dimension_taus[DIMENSION_TAUS];
extern const char *const hb_dimension_families[DIMENSION_FAMILIES];
const char *hb_dimension_describe(int family); /* in a sentence */

/* How much work: the full study or --quick. */
typedef struct hb_dimension_size {
    uint64_t seed;
    int n_dims, dim[DIMENSION_DIMS];
    int n_rows, rows[DIMENSION_ROWS]; /* from small to large */
    int seeds, few_seeds;             /* with the largest number of rows; with the others */
    int steps, width;
    size_t judge; /* draws for an error */
    size_t test;  /* held-out rows for the likelihood */
} hb_dimension_size;

hb_dimension_size hb_dimension_choose_size(const hb_study_settings *settings);
/* Processor time of a step of one of the first four methods, in any unit. */
double hb_dimension_step_cost(int dim, int method);

/* ---- one cell ---- */

/* The numbers of a cell, by index; their names: hb_dimension_value_name. */
enum {
    DIMENSION_ERROR = 0,                                         /* + 2 tau + low */
    DIMENSION_LIKELIHOOD = DIMENSION_ERROR + 2 * DIMENSION_TAUS, /* mean ln p of the test rows */
    DIMENSION_LIKELIHOOD_EXACT,                                  /* the same of the true density */
    DIMENSION_VALUES,
    DIMENSION_EXCESS = DIMENSION_VALUES /* of comparisons: exact - model, in nats */
};
const char *hb_dimension_value_name(int index, char buffer[32]);

typedef struct hb_dimension_cell {
    int d, r, family, method, s; /* indices: of the dimension, rows, ... and the seed */
    uint64_t seed, steps;
    double cost;
    int done;
    double seconds; /* processor time of a training done now, for the printed table alone */
    double value[DIMENSION_VALUES];
} hb_dimension_cell;

/* The mixture of (family, dim, seed); to be given to hb_mixture_destroy. */
hb_status hb_dimension_mixture(hb_context *context, int family, int dim, uint64_t seed,
                               hb_mixture **out);

hb_status hb_dimension_do(hb_context *context, const hb_dimension_size *size,
                          hb_dimension_cell *cell);

/* ---- all cells ---- */

typedef struct hb_dimension_result {
    hb_dimension_size size;
    size_t n;
    hb_dimension_cell *cells; // (n), in the order in which they are done
    int *place;               // (dims, rows, families, methods, seeds): the cell, or -1
} hb_dimension_result;

/* Fills n, cells and place from the size: seed by seed, and within a seed the largest rows first.
 * Released by hb_dimension_release. */
hb_status hb_dimension_plan(hb_context *context, hb_dimension_result *result);
void hb_dimension_release(hb_dimension_result *result);
const hb_dimension_cell *hb_dimension_at(const hb_dimension_result *result, int d, int r,
                                         int family, int method, int s); /* NULL: none */
void hb_dimension_cell_name(const hb_dimension_size *size, const hb_dimension_cell *cell,
                            char name[64]);

/* Takes over what DIRECTORY has (resume), and does the rest. */
hb_status hb_dimension_do_all(hb_context *context, const char *directory, int resume,
                              hb_dimension_result *result);
hb_status hb_dimension_write_table(hb_context *context, const char *directory,
                                   const hb_dimension_result *result);

/* ---- results ---- */

/* Mean over families and seeds with its standard error (NaN for fewer than two). */
typedef struct hb_dimension_mean {
    int n;
    double mean, se;
} hb_dimension_mean;

/* Of ln(error) or, DIMENSION_EXCESS, of nats; other >= 0: of the difference to that method on the
 * same rows, so that exp(mean) is the geometric mean of the ratios. */
hb_dimension_mean hb_dimension_compare(const hb_dimension_result *result, int d, int r, int method,
                                       int other, int value);
int hb_dimension_largest(const hb_dimension_size *size); /* the index of the largest rows */
static inline int hb_dimension_low(int tau)
{
    return DIMENSION_ERROR + 2 * tau + 1;
}

void hb_dimension_print(FILE *table, const hb_dimension_result *result);
json_t *hb_dimension_settings_json(const hb_dimension_size *size);
json_t *hb_dimension_means_json(const hb_dimension_result *result);
json_t *hb_dimension_ratios_json(const hb_dimension_result *result);
void hb_dimension_tables(json_t *root, const hb_dimension_result *result);
void hb_dimension_map(json_t *root, const hb_dimension_result *result);
json_t *hb_dimension_claims(const hb_dimension_result *result);
hb_status hb_dimension_figures(hb_context *context, const hb_dimension_result *result,
                               const char *directory, FILE *table, json_t *captions);

extern const hb_study hb_dimension_study;

#endif
