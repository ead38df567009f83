/* grid/krylov_solver.h: the linear systems of CVODE's Newton iterations. */
#ifndef HB_GRID_KRYLOV_SOLVER_H
#define HB_GRID_KRYLOV_SOLVER_H

#include "grid/scheme.h"

#include <sundials/sundials_linearsolver.h>

enum { HB_KRYLOV_MOST = 12 }; /* directions */

/* Solves (I - gamma J) x = b with J and gamma of the moment; cvode tells gamma. Memory
 * from the context; NULL without. The scheme is not owned. */
SUNLinearSolver hb_krylov_create(hb_context *context, hb_scheme *scheme, void *cvode,
                                 SUNContext sun);

#endif
