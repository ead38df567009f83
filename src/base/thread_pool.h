/* base/thread_pool.h: threads that stay, for loops of tasks so short that starting threads would
 * cost more than they do. */
#pragma once

#include "base/parallel.h"

typedef struct hb_thread_pool hb_thread_pool;

/* The calling thread and threads-1 others, which wait for work. Where threads cannot be had there
 * are fewer. */
hb_status hb_thread_pool_create(hb_context *context, int threads, hb_thread_pool **out);
void hb_thread_pool_destroy(hb_thread_pool *pool);      /* NULL is fine */
int hb_thread_pool_threads(const hb_thread_pool *pool); /* 1 for NULL */
/* Runs tasks 0 .. n-1, each once, in any order, and returns the status of the failed task with the
 * lowest index, if one failed; the calling thread is 0. With NULL the calling thread does all. From
 * the thread that made the pool. */
hb_status hb_thread_pool_run(hb_thread_pool *pool, size_t n, hb_task task, void *user);
