/* bridge/bridge_series.h: draws of bridges, how often a path is looked at, and the power series
 * that makes e^{-int Q} out of sets of times. */
#pragma once

#include "bridge/walk_ops.h"

enum { HB_BRIDGE_REPEATS = 24 };   /* 0.22^24 < 2^-52: there are no more */
enum { HB_BRIDGE_USES_MORE = 32 }; /* of draws; then one for each further set of times */

/* ---- draws: numbers of the walk, in a stream for each use ---- */

/* Of walks offset + walk .. of the run under way, n of them. */
void hb_bridge_normals(const hb_walk_block *b, uint64_t use, size_t walk, size_t n, size_t width,
                       double *out);
void hb_bridge_uniforms(const hb_walk_block *b, uint64_t use, size_t walk, size_t n, double *out);

/* Further sets of times of a walk: repeat^k of all have k or more. */
size_t hb_bridge_repeats(double uniform, double repeat);

/* ---- e^{-int Q} ---- */

/* The mean over pivots p = X[0 .. K] of e^{X_0 - p} sum_j e_j/(C(K,j) j! q^j), and its derivative
 * over it. X[1 + K], dX[1 + K][d]; slope[d], work[(K + 2) d]. */
double hb_bridge_series(size_t d, size_t K, const double *X, const double *dX, double q,
                        double *slope, double *work);

/* Walk k is worth value e^size; slope is added to that of its end, which is in b->slope. */
void hb_bridge_store(hb_walk_block *b, size_t k, double size, double value, const double *slope);
