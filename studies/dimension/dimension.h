/* studies/dimension/dimension.h: the parts of the study of losses by dimension.
 *
 *     dimension_plan.c      dimensions, rows, methods, costs of a step; the list of cells
 *     dimension_families.c  four families of Gaussian mixtures in any dimension
 *     dimension_run.c       one cell: data, training, errors, likelihood
 *     dimension_summary.c   dimension.json; the printed table; numbers for the page
 *     dimension_study.c     the study itself, a comparison (compare/compare.h) */
#pragma once

#include "compare/compare.h"

#include <heatball/data.h>

enum {
    DIMENSION_DIMS = 6,
    DIMENSION_ROWS = 3,
    DIMENSION_TAUS = 4,
    DIMENSION_FAMILIES = 4,
    DIMENSION_SETS = DIMENSION_DIMS * DIMENSION_ROWS * DIMENSION_FAMILIES,
    DIMENSION_TABLE_TAU = 2 /* the index of 0.3 */
};

typedef enum hb_dimension_method {
    DIMENSION_DSM,
    DIMENSION_DSM_TARGETS, /* with the averaged targets of fp and hb: the reference of ratios */
    DIMENSION_FP,
    DIMENSION_HB,
    DIMENSION_DSM_TIME, /* dsm-targets and fp in the time of hb, at the largest number of rows */
    DIMENSION_FP_TIME,
    DIMENSION_METHODS
} hb_dimension_method;

extern const hb_recipe hb_dimension_recipes[DIMENSION_METHODS];

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
static inline const hb_dimension_size *hb_dimension_size_of(const hb_comparison *result)
{
    return result->size;
}
extern const hb_compared hb_dimension_compared;

/* A set of the comparison: indices of the dimension, of the rows, and a family; and back. */
static inline int hb_dimension_set(int d, int r, int family)
{
    return (d * DIMENSION_ROWS + r) * DIMENSION_FAMILIES + family;
}
static inline int hb_dimension_d(int set)
{
    return set / DIMENSION_FAMILIES / DIMENSION_ROWS;
}
static inline int hb_dimension_r(int set)
{
    return set / DIMENSION_FAMILIES % DIMENSION_ROWS;
}
/* Processor time of a step of a method, in any unit. */
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

/* The mixture of (family, dim, seed); to be given to hb_mixture_destroy. */
hb_status hb_dimension_mixture(hb_context *context, int family, int dim, uint64_t seed,
                               hb_mixture **out);

hb_status hb_dimension_do(hb_context *context, const hb_comparison *result, hb_trial *cell);
/* Seed by seed, and within a seed the largest rows first. */
void hb_dimension_plan(hb_comparison *result);

/* ---- results ---- */

/* Mean over families and seeds of ln(error) or, DIMENSION_EXCESS, of nats; other >= 0: of the
 * difference to that method on the same rows, so that exp(mean) is the geometric mean of the
 * ratios. */
hb_mean hb_dimension_compare(const hb_comparison *result, int d, int r, int method, int other,
                             int value);
double hb_dimension_term(const hb_trial *cell, int value);
int hb_dimension_largest(const hb_dimension_size *size); /* the index of the largest rows */
static inline int hb_dimension_low(int tau)
{
    return DIMENSION_ERROR + 2 * tau + 1;
}

void hb_dimension_print(FILE *table, const hb_comparison *result);
json_t *hb_dimension_settings_json(const hb_comparison *result);
json_t *hb_dimension_means_json(const hb_comparison *result);
json_t *hb_dimension_ratios_json(const hb_comparison *result);
/* Numbers for formulas of the page, beside those of hb_compare_find. */
int hb_dimension_find(const hb_comparison *result, const char *name, int n, const hb_value *v,
                      hb_value *out);

extern const hb_study hb_dimension_study;
