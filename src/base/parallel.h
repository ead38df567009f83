/* base/parallel.h: loops over tasks on the context's threads, and sums that do not depend on how
 * many there are. */
#pragma once

#include <heatball/base.h>

/* Does task `index`; thread is 0 .. hb_context_threads()-1 and may index private workspaces. */
typedef hb_status (*hb_task)(void *user, size_t index, int thread);

/* Runs tasks 0 .. n-1, each once, in any order. On failure the remaining tasks are skipped and the
 * status of the failed task with the lowest index is returned. what names the work for progress;
 * with NULL none is reported. */
hb_status hb_parallel_for(hb_context *context, const char *what, size_t n, hb_task task,
                          void *user);

/* Adds into sums[width] (zeroed before the call) the terms first .. first+count-1. */
typedef hb_status (*hb_partial)(void *user, size_t first, size_t count, int thread, double *sums);

/* out[width] = sum over terms 0 .. n-1. Terms are summed in chunks of `chunk` by partial, and chunk
 * sums by a binary tree over their index: the result is a function of (n, chunk, terms) alone, the
 * bit-identical for every number of threads, with rounding error O(log(n/chunk)). */
hb_status hb_parallel_sum(hb_context *context, const char *what, size_t n, size_t chunk, int width,
                          hb_partial partial, void *user, double *out);
