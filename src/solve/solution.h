/* solve/solution.h: the result of hb_solve while it is being filled. */
#pragma once

#include "base/memory.h"
#include <heatball/solve.h>

enum { HB_N_COLUMNS = HB_COLUMN_ENTROPY_DENSITY_ERROR + 1, HB_NOTE = 2000 };

struct hb_solution {
    hb_context *context;
    size_t n;                  /* points */
    const hb_problem *problem; /* where it has a transform, which the grids need; else NULL */
    int dim;
    double tau; /* of the last time */
    size_t n_times;
    double *times, *taus; // (n_times)
    const char *method;   /* a literal */
    const char *unread; /* likewise: a setting that was given and the chosen method does not read */
    char note[HB_NOTE];
    double *columns[HB_N_COLUMNS]; // (n_times, n), scores (n_times, n, dim)
    const char **point_methods;    // (n_times, n), literals; NULL: method
    const char **error_kinds;      // (n_times, n), literals of method.h
    uint64_t *samples;             // (n_times, n)
    char **warnings;               // (n_times, n), each owned, or NULL
    hb_workspace work;
    struct hb_guide *guide;   /* owned; of guided walks at one time; NULL: there is none */
    const hb_problem *solved; /* by these walks, and their settings */
    hb_sampling_settings sampling;
    hb_grid *grid;   /* owned; that of the last time; NULL when there is none */
    hb_grid **grids; // (n_times), owned but the last one, neighbours may be one; NULL: none
};

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out);
hb_status hb_solution_create_times(hb_context *context, size_t n_times, const double *times,
                                   size_t n, int dim, hb_solution **out);
/* The rows of one time as a solution of their own, which owns nothing but its grid and must not be
 * destroyed. */
hb_solution hb_solution_view(const hb_solution *solution, size_t time_index);
/* At the end: a row whose error is infinite and whose values contradict one another (a density
 * below 0, ln of it and the log-density more than 1 apart) is NaN in all of them, and no density is
 * -0. */
void hb_solution_finish(hb_solution *solution);

size_t hb_column_width(int column, int dim); /* numbers of a row: dim for scores, else 1 */
/* The same value, and the same error, in all columns of a row. */
void hb_solution_set_row(hb_solution *solution, size_t row, double value, double error);
/* The kind of the errors of all rows that have none yet. */
void hb_solution_set_error_kind(hb_solution *solution, const char *kind);
/* Infinite errors in all columns of a row, with the reason. */
hb_status hb_solution_flag(hb_solution *solution, size_t row, const char *reason);
/* Replaces the warning of a row. */
hb_status hb_solution_warn(hb_solution *solution, size_t row, const char *format, ...)
    HB_PRINTF(3, 4);
void hb_solution_drop_warnings(hb_solution *solution);
/* Appends to the note. */
void hb_solution_add_note(hb_solution *solution, const char *format, ...) HB_PRINTF(2, 3);
