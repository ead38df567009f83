/* estimate/solution.h: the result of hb_solve while it is being filled. */
#ifndef HB_ESTIMATE_SOLUTION_H
#define HB_ESTIMATE_SOLUTION_H

#include <heatball/solve.h>

enum { HB_N_COLUMNS = HB_ENTROPY_DENSITY_SE + 1 };

struct hb_solution {
    hb_context *context;
    size_t n;
    int dim;
    double tau;
    const char *method; /* a literal */
    char note[400];
    double *columns[HB_N_COLUMNS]; // (n), scores (n, dim); one block, owned by columns[0]
};

hb_status hb_solution_create(hb_context *context, size_t n, int dim, hb_solution **out);

#endif
