/* grid/chain_levels.h: the stationary law of a chain from a guess, where elimination would take too long. */
#ifndef HB_GRID_CHAIN_LEVELS_H
#define HB_GRID_CHAIN_LEVELS_H

#include "grid/chain_rates.h"

/* v[size] = ln u with mass 1, from a guess, by cycles over coarser and coarser chains. *left: what ln u may still lack where
 * the density is not small. HB_ERROR_NUMERICAL when the cycles do not converge. */
hb_status hb_chain_levels(hb_context *context, const hb_mesh *mesh, const hb_chain_rates *rates,
                          double *v, double *left);

#endif
