/* grid/line_vectors.h: vectors for CVODE with fast sums, worked on by threads. */
#ifndef HB_GRID_LINE_VECTORS_H
#define HB_GRID_LINE_VECTORS_H

#include "base/thread_pool.h"

#include <sundials/sundials_nvector.h>

/* Clones are like it. The pool shares what there is to do on long vectors, and must outlive them all; it may be NULL.
 * NULL without memory. */
N_Vector hb_grid_vector_create(hb_thread_pool *pool, size_t size, SUNContext sun);

/* out_i = f(x_i) for a vector's entries first .. first+count-1, by the pool of x. */
typedef void (*hb_vector_map)(void *user, size_t first, size_t count);
void hb_grid_vector_map(N_Vector x, hb_vector_map map, void *user);

#endif
