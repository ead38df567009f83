/* heatball/mpi.h: a process group over MPI, in a library of its own, libheatball-mpi.so.
 * libheatball does not need it; the command loads it under mpirun or srun.
 * Second tier: for bindings and tools.
 *
 *     #include <heatball/mpi.h>          cc ... -lheatball -lheatball-mpi
 *     hb_team *team;
 *     hb_team_mpi(NULL, &team);          initialises MPI if nobody has
 *     settings.team = team; ...
 *     hb_context_destroy(context);
 *     hb_team_mpi_destroy(team);         finalises MPI if hb_team_mpi initialised it
 */
#ifndef HEATBALL_MPI_H
#define HEATBALL_MPI_H

#include <heatball/team.h>

#ifdef __cplusplus
extern "C" {
#endif

/* communicator: the address of an MPI_Comm, whose ranks are the process group; it is duplicated.
 * NULL: MPI_COMM_WORLD. HB_ERROR_UNAVAILABLE: MPI cannot be initialised, or has ended. All ranks
 * must call it. team->threads is the number of cores of this rank, shared fairly with the ranks on
 * the same machine that have the same ones. */
HB_API hb_status hb_team_mpi(const void *communicator, hb_team **out);
HB_API void hb_team_mpi_destroy(hb_team *team); /* NULL is fine; all ranks must call it */

/* The end of a rank that has failed: 0 when all ranks come here within so many seconds, so that
 * they failed together. */
HB_API int hb_team_mpi_alone(hb_team *team, double seconds);
/* Ends all ranks at once. */
HB_API void hb_team_mpi_abort(hb_team *team, int code);
/* Bytes that gathers have moved to this rank, and their number; either may be NULL. */
HB_API void hb_team_mpi_traffic(const hb_team *team, uint64_t *bytes, uint64_t *gathers);

#ifdef __cplusplus
}
#endif
#endif
