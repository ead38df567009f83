/* base/team_tasks.h: tasks over the ranks of a process group, and what all ranks must agree on.
 * Without one all of it is what base/parallel.h does. */
#pragma once

#include "base/parallel.h"

#include <heatball/team.h>

/* What tasks leave behind: task i writes `bytes` bytes at base + i*bytes, and nothing else that is
 * read later. The last ones end at `total` bytes; 0: all have all theirs. */
typedef struct hb_left {
    void *base;
    size_t bytes, total;
} hb_left;

/* hb_parallel_for with the tasks over all ranks, task i on rank i modulo ranks; then every rank has
 * what all tasks left. On failure the status and the message of the failed rank are those of
 * all. */
hb_status hb_team_for(hb_context *context, const char *what, size_t n, hb_task task, void *user,
                      size_t n_left, const hb_left *left);
/* The same with neighbouring tasks on one rank, for large results: they are gathered where they
 * lie. */
hb_status hb_team_for_blocks(hb_context *context, const char *what, size_t n, hb_task task,
                             void *user, size_t n_left, const hb_left *left);
/* For work on rows that each rank does in its own way: the rows first .. last-1 of n are this
 * rank's; then all agree on how it went, and have the rows of all. */
void hb_team_share(hb_context *context, size_t n, size_t *first, size_t *last);
hb_status hb_team_gather(hb_context *context, hb_status status, size_t n, size_t n_left,
                         const hb_left *left);

/* Is any rank late? Without a deadline nothing is asked. */
int hb_team_late(hb_context *context);
/* hb_progress between tasks: a stop that one rank was asked for stops all. */
hb_status hb_team_progress(hb_context *context, const char *what, double done, double total);

static inline int hb_team_is_first(const hb_context *context)
{
    return hb_context_rank(context) == 0;
}
