/* grid/null_vector.h: what a scheme leaves unchanged, without time steps. */
#ifndef HB_GRID_NULL_VECTOR_H
#define HB_GRID_NULL_VECTOR_H

#include "grid/chain_rates.h"

/* v[size] = ln u with rate 0 and mass 1, by elimination. bulk[dim] is a point that
 * is not too deep in the tails. relaxation, where it is not NULL, becomes the tau in which the
 * slowest part of any other start falls by e. hints: chain_rates.h, of a
 * tensor; else NULL. HB_ERROR_NUMERICAL when parts of the mesh do not meet. */
hb_status hb_null_vector(hb_context *context, hb_scheme *scheme, hb_chain_hints *hints,
                         const double *bulk, double *v, double *relaxation);
/* The same from the rates of a chain on the nodes of a mesh. */
hb_status hb_null_vector_of(hb_context *context, const hb_mesh *mesh, const hb_chain_rates *rates,
                            const double *bulk, double *v);
/* Bytes that this takes, and its operations. */
double hb_null_vector_bytes(const hb_mesh *mesh);
double hb_null_vector_work(const hb_mesh *mesh);

#endif
