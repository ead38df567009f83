/* Ranks that go through one program in step.
 *
 * All ranks hold the same state and run the same code; only the tasks of hb_team_for are done by
 * one rank each. Task i is done by rank i % ranks: neighbouring tasks cost about the same, and some
 * (points that want no more walks) cost nothing, so ranks have about the same to do. What the tasks
 * left is packed, gathered in the order of the ranks, and put back to its place. Before that the
 * ranks agree on how it went: a few bytes, and a message where one failed, so that no rank waits
 * for one that has left.
 *
 * Bytes on the wire of a call: ranks * sizeof(int32_t) + what the tasks left (docs/howto/cluster.md). */
#include "base/team_tasks.h"
#include "base/context.h"
#include "base/memory.h"

#include <string.h>

const hb_team *hb_context_team(const hb_context *context)
{
    return context ? context->settings.team : NULL;
}

int hb_context_rank(const hb_context *context)
{
    return context && context->settings.team ? context->settings.team->rank : 0;
}

int hb_context_ranks(const hb_context *context)
{
    return context && context->settings.team ? context->settings.team->ranks : 1;
}

/* ---- gathering ---- */

static hb_status team_gather(hb_context *context, const size_t *bytes, void *buffer)
{
    const hb_team *team = context->settings.team;
    if (team->gather(team->user, bytes, buffer) == 0) return HB_OK;
    return hb_fail(context, HB_ERROR_UNAVAILABLE, "rank %d of %d: another rank is lost", team->rank,
                   team->ranks);
}

/* So many bytes from rank 0, and from each of the others. */
static hb_status team_gather_each(hb_context *context, size_t first, size_t others, void *buffer)
{
    const int ranks = hb_context_ranks(context);
    size_t *counts;
    HB_TRY(HB_NEW(context, counts, (size_t)ranks));
    for (int r = 0; r < ranks; r++) counts[r] = r == 0 ? first : others;
    const hb_status status = team_gather(context, counts, buffer);
    hb_release(context, counts);
    return status;
}

hb_status hb_context_agree(hb_context *context, size_t bytes, void *value)
{
    HB_CHECK(context, value || bytes == 0, HB_ERROR_ARGUMENT, "the value to agree on is NULL");
    return hb_context_ranks(context) == 1 ? HB_OK : team_gather_each(context, bytes, 0, value);
}

/* ---- how it went ---- */

static hb_status team_share_message(hb_context *context, int failed, hb_status status)
{
    const size_t size = sizeof context->message;
    const int ranks = hb_context_ranks(context);
    void *memory;
    HB_TRY(hb_allocate(context, (size_t)ranks, size, &memory));
    char *messages = memory;
    memcpy(messages + (size_t)hb_context_rank(context) * size, context->message, size);
    const hb_status shared = team_gather_each(context, size, size, messages);
    if (shared == HB_OK) hb_fail(context, status, "%s", messages + (size_t)failed * size);
    hb_release(context, messages);
    return shared == HB_OK ? status : shared;
}

hb_status hb_context_settle(hb_context *context, hb_status status)
{
    const int ranks = hb_context_ranks(context);
    if (!context) return HB_ERROR_ARGUMENT;
    if (ranks == 1) return status;
    int32_t *all;
    HB_TRY(HB_NEW(context, all, (size_t)ranks));
    all[hb_context_rank(context)] = (int32_t)status;
    hb_status first = team_gather_each(context, sizeof *all, sizeof *all, all);
    int failed = 0;
    while (first == HB_OK && failed < ranks && all[failed] == HB_OK) failed++;
    if (first == HB_OK && failed < ranks)
        first = team_share_message(context, failed, (hb_status)all[failed]);
    hb_release(context, all);
    return first;
}

/* ---- the time and the user ---- */

int hb_team_late(hb_context *context)
{
    const int late = hb_is_late(context);
    if (!context->deadline || hb_context_ranks(context) == 1) return late;
    hb_context quiet = hb_context_child(context, 0);
    return hb_context_settle(&quiet, late ? HB_ERROR_INTERRUPTED : HB_OK) != HB_OK;
}

hb_status hb_team_progress(hb_context *context, const char *what, double done, double total)
{
    return hb_context_settle(context, hb_context_progress(context, what, done, total));
}

/* ---- tasks ---- */

typedef struct own_tasks {
    hb_task task;
    void *user;
    size_t first, step;
} own_tasks;

static hb_status run_own(void *user, size_t index, int thread)
{
    const own_tasks *own = user;
    return own->task(own->user, own->first + index * own->step, thread);
}

/* Tasks of a rank when they are dealt out one by one. */
static size_t team_dealt(size_t n, size_t rank, size_t ranks)
{
    return rank < n ? (n - rank + ranks - 1) / ranks : 0;
}

void hb_team_share(hb_context *context, size_t n, size_t *first, size_t *last)
{
    const size_t rank = (size_t)hb_context_rank(context), ranks = (size_t)hb_context_ranks(context);
    *first = n / ranks * rank + (rank < n % ranks ? rank : n % ranks);
    *last = *first + n / ranks + (rank < n % ranks);
    context->apart = 1;
}

/* Bytes of task i. */
static size_t left_bytes(const hb_left *left, size_t i)
{
    const size_t before = i * left->bytes;
    if (left->total == 0) return left->bytes;
    if (before >= left->total) return 0;
    return left->total - before < left->bytes ? left->total - before : left->bytes;
}

static size_t left_bytes_of_rank(size_t n_left, const hb_left *left, size_t n, size_t rank,
                                 size_t ranks)
{
    size_t bytes = 0;
    for (size_t k = 0; k < n_left; k++)
        for (size_t i = rank; i < n; i += ranks) bytes += left_bytes(&left[k], i);
    return bytes;
}

/* Between the arrays and a buffer: what the tasks of a rank left, array by array. Returns the
 * end. */
static char *team_move(size_t n_left, const hb_left *left, size_t n, size_t rank, size_t ranks,
                       char *buffer, int back)
{
    for (size_t k = 0; k < n_left; k++)
        for (size_t i = rank; i < n; i += ranks) {
            char *place = (char *)left[k].base + i * left[k].bytes;
            const size_t bytes = left_bytes(&left[k], i);
            if (bytes > 0) memcpy(back ? place : buffer, back ? buffer : place, bytes);
            buffer += bytes;
        }
    return buffer;
}

static hb_status team_gather_dealt(hb_context *context, size_t n, size_t n_left,
                                   const hb_left *left)
{
    const size_t ranks = (size_t)hb_context_ranks(context), rank = (size_t)hb_context_rank(context);
    size_t total = 0, before = 0, *counts;
    hb_workspace work;
    char *buffer;
    for (size_t r = 0; r < ranks; r++) total += left_bytes_of_rank(n_left, left, n, r, ranks);
    if (total == 0) return HB_OK;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(counts, ranks), HB_ARRAY(buffer, total)));
    for (size_t r = 0; r < ranks; r++) {
        counts[r] = left_bytes_of_rank(n_left, left, n, r, ranks);
        if (r < rank) before += counts[r];
    }
    team_move(n_left, left, n, rank, ranks, buffer + before, 0);
    const hb_status status = team_gather(context, counts, buffer);
    char *from = buffer;
    for (size_t r = 0; r < ranks && status == HB_OK; r++)
        from = r == rank ? from + counts[r] : team_move(n_left, left, n, r, ranks, from, 1);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_team_for(hb_context *context, const char *what, size_t n, hb_task task, void *user,
                      size_t n_left, const hb_left *left)
{
    const size_t ranks = (size_t)hb_context_ranks(context);
    if (ranks == 1) return hb_parallel_for(context, what, n, task, user);
    own_tasks own = {task, user, (size_t)hb_context_rank(context), ranks};
    context->apart = 1;
    const hb_status status =
        hb_parallel_for(context, what, team_dealt(n, own.first, ranks), run_own, &own);
    context->apart = 0;
    HB_TRY(hb_context_settle(context, status));
    return team_gather_dealt(context, n, n_left, left);
}

static hb_status team_gather_blocks(hb_context *context, size_t n, const hb_left *left)
{
    const size_t ranks = (size_t)hb_context_ranks(context);
    size_t *counts;
    HB_TRY(HB_NEW(context, counts, ranks));
    for (size_t r = 0, i = 0; r < ranks; r++) {
        const size_t last = i + n / ranks + (r < n % ranks);
        for (counts[r] = 0; i < last; i++) counts[r] += left_bytes(left, i);
    }
    const hb_status status = team_gather(context, counts, left->base);
    hb_release(context, counts);
    return status;
}

hb_status hb_team_gather(hb_context *context, hb_status status, size_t n, size_t n_left,
                         const hb_left *left)
{
    context->apart = 0;
    if (hb_context_ranks(context) == 1) return status;
    HB_TRY(hb_context_settle(context, status));
    for (size_t k = 0; k < n_left; k++) HB_TRY(team_gather_blocks(context, n, &left[k]));
    return HB_OK;
}

hb_status hb_team_for_blocks(hb_context *context, const char *what, size_t n, hb_task task,
                             void *user, size_t n_left, const hb_left *left)
{
    size_t first, last;
    if (hb_context_ranks(context) == 1) return hb_parallel_for(context, what, n, task, user);
    hb_team_share(context, n, &first, &last);
    own_tasks own = {task, user, first, 1};
    const hb_status status = hb_parallel_for(context, what, last - first, run_own, &own);
    return hb_team_gather(context, status, n, n_left, left);
}
