/* heatball/team.h: several processes that do one call together.
 * Second tier: for bindings and tools.
 *
 * Every process (rank) of a process group makes the same calls with the same arguments. Long work
 * inside them is cut into tasks; each rank does its own and then gathers those of all others, so
 * that all ranks continue with equal values, and the result is bit-identical to that of one
 * process, for any number of ranks and threads. Sums are formed by each rank in the order of the
 * tasks, never by the network.
 *
 *     hb_context_settings settings;
 *     hb_context_settings_default(sizeof settings, &settings);
 *     settings.team = team;                      by hb_team_mpi of heatball/mpi.h, or your own
 *     hb_context_create(&settings, &context);    then as ever, on all ranks
 *
 * Files are written by rank 0 alone; readers on all ranks find them when the call that writes has
 * ended. The library itself knows of no network: a process group is a number of ranks and one
 * function. docs/howto/cluster.md. */
#ifndef HEATBALL_TEAM_H
#define HEATBALL_TEAM_H

#include <heatball/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_team {
    int rank, ranks; /* 0 <= rank < ranks */
    int threads;     /* that this rank has cores for; 0: as many as the process may use */
    /* Brings together bytes[r] bytes of every rank r, one after the other in the order of the
     * ranks: buffer holds those of this rank at their place and gets the others'. Called by all
     * ranks in the same order with equal sizes, by the thread that called the library. Non-zero: a
     * rank is lost. */
    int (*gather)(void *user, const size_t *bytes, void *buffer);
    void *user;
} hb_team;

HB_API const hb_team *hb_context_team(const hb_context *context); /* NULL without a process group */
HB_API int hb_context_rank(const hb_context *context);            /* 0 without a process group */
HB_API int hb_context_ranks(const hb_context *context);           /* 1 without a process group */

/* For code above the library that acts on the time, on a signal or on a file: the value that rank 0
 * has. All ranks must call it. */
HB_API hb_status hb_context_agree(hb_context *context, size_t bytes, void *value);
/* The same for an outcome: HB_OK when all ranks have HB_OK; else the status of the first rank that
 * has another one, and its message, on all ranks. */
HB_API hb_status hb_context_settle(hb_context *context, hb_status status);

#ifdef __cplusplus
}
#endif
#endif
