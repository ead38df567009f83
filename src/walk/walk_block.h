/* walk/walk_block.h: a block of walks from one point, by any kind of steps. */
#pragma once

#include "bridge/walk_ops.h"

/* context: of this thread's own, outlives the block; its deadline interrupts a run. */
hb_status hb_walk_block_create(hb_context *context, const hb_walk_problem *shared,
                               hb_walk_block **out);
void hb_walk_block_destroy(hb_walk_block *block); /* NULL is fine */

/* Walks first .. first+n-1 (n <= HB_WALK_BLOCK) from x0. *steps is the sum of their steps. */
hb_status hb_walk_block_run(hb_walk_block *block, const hb_walk_plan *plan, const double *x0,
                            uint64_t seed, uint64_t first, size_t n, double *steps);
