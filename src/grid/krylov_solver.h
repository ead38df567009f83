/* grid/krylov_solver.h: what CVODE works with: its linear systems and its vectors. */
#pragma once

#include "grid/scheme.h"

#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_nvector.h>

enum { HB_KRYLOV_MOST = 12 }; /* directions */

/* Solves (I - gamma J) x = b with J and gamma of the moment; cvode tells gamma. Memory
 * from the context; NULL without. The scheme is not owned. */
SUNLinearSolver hb_krylov_create(hb_context *context, hb_scheme *scheme, void *cvode,
                                 SUNContext sun);

/* ---- vectors with fast sums, worked on by threads (line_vectors.c) ---- */

/* Clones are like it. The pool shares what there is to do on long vectors, and must outlive them
 * all; it may be NULL. NULL without memory. */
N_Vector hb_grid_vector_create(hb_thread_pool *pool, size_t size, SUNContext sun);

/* out_i = f(x_i) for a vector's entries first .. first+count-1, by the pool of x. */
typedef void (*hb_vector_map)(void *user, size_t first, size_t count);
void hb_grid_vector_map(N_Vector x, hb_vector_map map, void *user);
