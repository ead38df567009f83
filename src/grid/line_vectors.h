/* grid/line_vectors.h: what CVODE works with: vectors with fast sums, and the direct solver of d = 1. */
#ifndef HB_GRID_LINE_VECTORS_H
#define HB_GRID_LINE_VECTORS_H

#include "grid/fitted_scheme.h"

#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nvector.h>

/* A serial vector of SUNDIALS whose commonest operations are ours; NULL without memory. */
N_Vector hb_grid_vector_create(size_t size, SUNContext sun);
/* Solves (I - gamma J) x = b by the preconditioner of the scheme, which is exact in d = 1. */
SUNLinearSolver hb_grid_line_solver_create(const hb_scheme *scheme, SUNContext sun);

#endif
