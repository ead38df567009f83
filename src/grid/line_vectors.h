/* grid/line_vectors.h: vectors for CVODE. */
#ifndef HB_GRID_LINE_VECTORS_H
#define HB_GRID_LINE_VECTORS_H

#include <stddef.h>
#include <sundials/sundials_nvector.h>

/* A serial vector of SUNDIALS whose commonest operations are ours; NULL without memory. */
N_Vector hb_grid_vector_create(size_t size, SUNContext sun);

#endif
