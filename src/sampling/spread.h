/* sampling/spread.h: running means and spreads of pairs (a, b[d]), one by one and merged.
 *
 * A spread is a flat array: mean a, mean b[d], then sums over the pairs of products of deviations
 * from the means: aa, ab[d], bb[d]. How many pairs there are is the caller's to keep. */
#pragma once

#include <stddef.h>

size_t hb_spread_size(size_t d); /* doubles */
/* Adds a pair, which is the n-th. */
void hb_spread_add(size_t d, double *spread, double n, double a, const double *b);
/* Merges m other pairs, at least one, into n. */
void hb_spread_merge(size_t d, double *spread, double n, const double *other, double m);

/* ---- bias: units with differences, then their spread ---- */

size_t hb_bias_size(size_t d); /* doubles */
/* n units gave these differences, da[n] and db[n][d], between a rule and a coarser one. */
void hb_bias_differ(size_t d, double *bias, size_t n, const double *da, const double *db);
void hb_bias_merge(size_t d, double *bias, const double *other);

/* The bias of the density, relative, where a has the mean A. */
double hb_bias_density(size_t d, const double *bias, double A);
/* Of component k of the score, which is S. */
double hb_bias_score(size_t d, const double *bias, double A, size_t k, double S);
