/* base/crew.h: threads that stay, for loops of tasks so short that starting threads would cost more than they do. */
#ifndef HB_BASE_CREW_H
#define HB_BASE_CREW_H

#include "base/parallel.h"

typedef struct hb_crew hb_crew;

/* The calling thread and threads-1 others, which wait for work. Where threads cannot be had there are fewer. */
hb_status hb_crew_create(hb_context *context, int threads, hb_crew **out);
void hb_crew_destroy(hb_crew *crew);      /* NULL is fine */
int hb_crew_threads(const hb_crew *crew); /* 1 for NULL */
/* Runs tasks 0 .. n-1, each once, in any order, and returns the status of the failed task with the lowest index, if
 * one failed; the calling thread is 0. With NULL the calling thread does all. From the thread that made the crew. */
hb_status hb_crew_run(hb_crew *crew, size_t n, hb_task task, void *user);

#endif
