/* solve/solution.h: the result of hb_solve while it is being filled. */
#ifndef HB_SOLVE_SOLUTION_H
#define HB_SOLVE_SOLUTION_H

#include "base/memory.h"
#include <heatball/solve.h>

enum { HB_N_COLUMNS = HB_COLUMN_ENTROPY_DENSITY_SE + 1, HB_NOTE = 2000 };

struct hb_solution {
    hb_context *context;
    size_t n;
    int dim;
    double tau;
    const char *method; /* a literal */
    char note[HB_NOTE];
    double *columns[HB_N_COLUMNS]; // (n), scores (n, dim)
    const char **point_methods;    // (n), literals; NULL: method
    uint64_t *samples;             // (n)
    char **warnings;               // (n), each owned, or NULL
    hb_workspace work;
    hb_grid *grid; /* owned; NULL when there is none */
};

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out);
/* Replaces the warning of a point. */
hb_status hb_solution_warn(hb_solution *solution, size_t point, const char *format, ...)
    HB_PRINTF(3, 4);

#endif
