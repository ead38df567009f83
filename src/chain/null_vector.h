/* chain/null_vector.h: the stationary distribution of a chain, without time steps. */
#pragma once

#include "chain/chain_rates.h"

/* v[size] = ln u with rate 0 and mass 1, by elimination. core[dim] is a point that is not too
 * deep in the tails. relaxation, where it is not NULL, becomes the tau in which the slowest part
 * of any other density falls by e. HB_ERROR_NUMERICAL when parts of the mesh do not meet. */
hb_status hb_null_vector(const hb_mesh *mesh, const hb_chain_rates *rates, const double *core,
                         double *v, double *relaxation);
/* Bytes that this takes, and its operations. */
double hb_null_vector_bytes(const hb_mesh *mesh);
double hb_null_vector_work(const hb_mesh *mesh);

/* The same from a guess v[size], where elimination would take too long, by cycles over coarser
 * and coarser chains. *left: what ln u may still lack where the density is not small.
 * HB_ERROR_NUMERICAL when the cycles do not converge. */
hb_status hb_chain_levels(const hb_mesh *mesh, const hb_chain_rates *rates, double *v,
                          double *left);
