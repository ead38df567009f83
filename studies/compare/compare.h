/* studies/compare/compare.h: studies that compare trainings: data sets x methods x seeds.
 *
 *     compare.c          trials, their files (study_cells.h), NAME.csv, the run of such a study
 *     compare_results.c  means and ratios over seeds with standard errors, as numbers and texts
 *
 * A study says what it compares by one hb_compared: its sets by index, its methods as a table, the
 * numbers of a trial by name, and functions for what is its own: a plan, a training with its
 * metrics, figures and results. Everything is made from the files of the trials, so a study that
 * was stopped resumes with --resume and loses only the trials that were under way. */
#pragma once

#include "study_cells.h"

#include <heatball/train.h>

/* A method: how a network is trained. */
typedef struct hb_recipe {
    const char *name, *label;
    int color;       /* of the figures' palette */
    int loss, head;  /* hb_loss, hb_head */
    int target_rows; /* as in hb_train_settings */
    int as_long_as;  /* the method whose time it gets, or -1: as many steps as all */
    int seeds;       /* at most so many; 0: all */
    double cost;     /* processor time of a step in steps of the first method */
    double share;    /* of the steps */
} hb_recipe;

/* One training. */
typedef struct hb_trial {
    int set, method, seed_index;
    uint64_t seed, steps;
    double cost;    /* expected time in any unit */
    int done;       /* its numbers are known */
    double seconds; /* processor time of a training done now: printed, in no file */
    double *value;  // (n_values + n_more)
} hb_trial;

typedef struct hb_compared hb_compared;

typedef struct hb_comparison {
    const hb_compared *of;
    const void *size; /* how much work: the study's own settings */
    void *user;       /* what its trainings share */
    uint64_t first_seed;
    int seeds;
    char *directory; /* of the files of the trials */
    size_t n;
    hb_trial *trials;   // (n), in the order of the plan
    double *values;     // of the trials
    int *place;         // (n_sets, n_methods, seeds): the trial, or -1
    const void *full;   /* the size without --quick, for the page */
    char seed_text[24]; /* first_seed */
} hb_comparison;

struct hb_compared {
    const hb_study *study;
    const char *format;  /* "planar-2": to be raised when the same settings mean other numbers */
    const char *folder;  /* of the files of the trials: "runs" */
    const char *columns; /* of NAME.csv, separated by commas */
    int in_order;        /* 1: trials start in the order of the plan; 0: long ones first */
    int n_sets, n_methods;
    const hb_recipe *recipes; // (n_methods)
    int n_values, n_more;     /* named numbers of a trial; others, kept by put and take */
    hb_value_name *value_name;
    /* The name of a set, its parts separated by '-' (files) or ',' (NAME.csv). */
    void (*set_name)(const hb_comparison *c, int set, char separator, char name[48]);
    /* All that the numbers of a trial depend on, in one line. */
    void (*describe)(const hb_comparison *c, const hb_trial *trial, size_t size, char *text);
    void (*plan)(hb_comparison *c); /* calls hb_compare_add */
    hb_status (*prepare)(hb_context *context,
                         hb_comparison *c); /* before the trials; NULL: nothing */
    hb_status (*run)(hb_context *context, const hb_comparison *c, hb_trial *trial);
    /* The other numbers of a trial, to its file and back; take: 0 when something is missing. NULL:
     * there are none. */
    void (*put)(json_t *root, const hb_trial *trial);
    int (*take)(const hb_comparison *c, const json_t *root, hb_trial *trial);
    hb_status (*write_more)(hb_writer *writer, const hb_comparison *c, const hb_trial *trial);
    /* What ratios and logarithmic means are of; NULL: the logarithm of the number. */
    double (*term)(const hb_trial *trial, int value);
    void (*print)(FILE *table, const hb_comparison *c);
    hb_status (*figures)(hb_gallery *gallery,
                         const hb_comparison *c); /* those that are no data; NULL */
    json_t *(*settings)(const hb_comparison *c);
    void (*results)(json_t *root, const hb_comparison *c); /* rows, tables that are no data */
    /* For formulas of the page: the size's fields by name; what else has a name. */
    size_t n_fields;
    const hb_field_of *fields;
    int (*find)(const hb_comparison *c, const char *name, int n, const hb_value *v, hb_value *out);
};

/* ---- trials ---- */

/* Makes the plan: of, size, first_seed and seeds are given. Released by hb_compare_release. */
hb_status hb_compare_plan(hb_context *context, hb_comparison *c);
void hb_compare_add(hb_comparison *c, int set, int method, int seed_index, double steps,
                    double cost);
void hb_compare_release(hb_comparison *c);
/* NULL: there is none. */
const hb_trial *hb_compare_at(const hb_comparison *c, int set, int method, int seed_index);
void hb_compare_name(const hb_comparison *c, const hb_trial *trial, char name[64]);
/* Settings of the trial's training: anchors from tau = 0.02 on, all else by default. */
void hb_compare_train_settings(const hb_comparison *c, const hb_trial *trial, int width,
                               hb_train_settings *out);
/* Takes over the trials whose files are there with these settings; does the others; NAME.csv. */
hb_status hb_compare_read(hb_context *context, hb_comparison *c);
hb_status hb_compare_do(hb_context *context, hb_comparison *c);
hb_status hb_compare_write_table(hb_context *context, const char *directory,
                                 const hb_comparison *c);
hb_status hb_compare_write_number(hb_writer *writer, const hb_comparison *c, const hb_trial *trial,
                                  uint64_t step, const char *quantity, double value);
/* The whole study: of, size, first_seed, seeds and user are given. */
hb_status hb_compare_study(hb_context *context, const hb_study_settings *settings, FILE *table,
                           hb_comparison *c);

/* ---- results ---- */

/* A mean with its standard error, sqrt(variance/n); NaN for fewer than two numbers. */
typedef struct hb_mean {
    int n;
    double mean, se;
} hb_mean;

/* Of a number over the seeds of a set and method. */
hb_mean hb_compare_mean(const hb_comparison *c, int set, int method, int value);
double hb_compare_value(const hb_comparison *c, int set, int method,
                        int value); /* the mean alone */
/* The same over the seeds that another method has too. */
double hb_compare_common(const hb_comparison *c, int set, int method, int other, int value);
/* Of the term of a number over n sets from `set` on and over seeds; other >= 0: of its difference
 * to that of the other method with the same set and seed, so that exp(mean) is the geometric mean
 * of ratios. */
hb_mean hb_compare_logs(const hb_comparison *c, int set, int n, int method, int other, int value);
/* Mean of the seconds of trainings done now, over n sets; 0: none. */
double hb_compare_seconds(const hb_comparison *c, int set, int n, int method);

/* Numbers for formulas, beside those of the study: methods and values by name, with '_' for '-';
 *     value value_se seeds_of(set, method, value)   mean over seeds, its error, how many
 *     common(set, method, other, value)   the mean over the seeds that the other has too
 *     logs logs_se(set, n, method, other, value)   hb_compare_logs
 *     has steps(set, method)   method label color cost target_rows(method)
 *     seed_text (a word) FIELD full_FIELD   of the size */
int hb_compare_find(const void *comparison, const char *name, int n, const hb_value *v,
                    hb_value *out);
/* {NAME: {mean, se}} over all named numbers. */
json_t *hb_compare_values_json(const hb_comparison *c, int set, int method);
