/* sampling/spread.h: running means and spreads of pairs (a, b[d]), one by one and merged.
 *
 * A spread is a flat array: mean a, mean b[d], then sums over the pairs of products of deviations
 * from the means: aa, ab[d], bb[d]. How many pairs there are is the caller's to keep. */
#ifndef HB_SAMPLING_SPREAD_H
#define HB_SAMPLING_SPREAD_H

#include <stddef.h>

size_t hb_spread_size(size_t d); /* doubles */
/* Adds a pair, which is the n-th. */
void hb_spread_add(size_t d, double *spread, double n, double a, const double *b);
/* Merges m other pairs, at least one, into n. */
void hb_spread_merge(size_t d, double *spread, double n, const double *other, double m);

#endif
