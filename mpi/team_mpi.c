/* libheatball-mpi.so: a team whose gather is MPI_Allgatherv on bytes.
 *
 * Counts of MPI are int, so a gather of 2^31 bytes or more goes rank by rank and piece by piece as broadcasts.
 *
 * Threads of a rank: mpirun binds ranks to cores, to sockets or not at all. Ranks of one machine tell each other the
 * cores that they may use; a rank has the number of its cores over the number of ranks that may use one of them. So
 * four ranks on a machine of eight cores have two threads each when nothing is bound, and as many as each was given
 * when they are.
 *
 * With HEATBALL_MPI_TRAFFIC=1 in the environment each rank says at its end what it was sent. */
#include <heatball/mpi.h>

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIECE = 1 << 30 };

typedef struct mpi_team {
    hb_team team; /* first: it is what others hold */
    MPI_Comm comm;
    int finalises;
    int *counts, *places; // (ranks)
    uint64_t bytes, gathers;
} mpi_team;

/* ---- gathering ---- */

static int gather_small(mpi_team *t, const size_t *bytes, void *buffer)
{
    size_t place = 0;
    for (int r = 0; r < t->team.ranks; r++) {
        t->counts[r] = (int)bytes[r];
        t->places[r] = (int)place;
        place += bytes[r];
    }
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, buffer, t->counts, t->places, MPI_BYTE,
                          t->comm) != MPI_SUCCESS;
}

static int gather_large(mpi_team *t, const size_t *bytes, char *buffer)
{
    for (int r = 0; r < t->team.ranks; r++)
        for (size_t left = bytes[r]; left > 0;) {
            const int now = left < PIECE ? (int)left : PIECE;
            if (MPI_Bcast(buffer, now, MPI_BYTE, r, t->comm) != MPI_SUCCESS) return 1;
            buffer += now;
            left -= (size_t)now;
        }
    return 0;
}

static int gather(void *user, const size_t *bytes, void *buffer)
{
    mpi_team *t = user;
    size_t total = 0;
    for (int r = 0; r < t->team.ranks; r++) total += bytes[r];
    t->bytes += total - bytes[t->team.rank];
    t->gathers++;
    if (total <= INT_MAX) return gather_small(t, bytes, buffer);
    return gather_large(t, bytes, buffer);
}

/* ---- threads ---- */

static int cores_of_rank(MPI_Comm comm)
{
    MPI_Comm machine;
    cpu_set_t own, both;
    int ranks, sharing = 0;
    if (sched_getaffinity(0, sizeof own, &own) != 0) return 0;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) != MPI_SUCCESS)
        return 0;
    MPI_Comm_size(machine, &ranks);
    cpu_set_t *all = calloc((size_t)ranks, sizeof own);
    if (all) {
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, machine);
        for (int r = 0; r < ranks; r++) {
            CPU_AND(&both, &own, &all[r]);
            sharing += CPU_COUNT(&both) > 0;
        }
    }
    free(all);
    MPI_Comm_free(&machine);
    const int threads = sharing > 0 ? CPU_COUNT(&own) / sharing : 1;
    return threads > 0 ? threads : 1;
}

/* ---- made and destroyed ---- */

static int initialise(int *started)
{
    int done = 0, level;
    *started = 0;
    if (MPI_Finalized(&done) != MPI_SUCCESS || done) return 1;
    if (MPI_Initialized(&done) != MPI_SUCCESS) return 1;
    if (done) return 0;
    *started = 1;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS;
}

hb_status hb_team_mpi(const void *communicator, hb_team **out)
{
    if (!out) return HB_ERROR_ARGUMENT;
    *out = NULL;
    int started;
    if (initialise(&started)) return HB_ERROR_UNAVAILABLE;
    mpi_team *t = calloc(1, sizeof *t);
    if (!t) return HB_ERROR_MEMORY;
    const MPI_Comm from = communicator ? *(const MPI_Comm *)communicator : MPI_COMM_WORLD;
    t->finalises = started;
    if (MPI_Comm_dup(from, &t->comm) != MPI_SUCCESS) {
        free(t);
        return HB_ERROR_UNAVAILABLE;
    }
    MPI_Comm_rank(t->comm, &t->team.rank);
    MPI_Comm_size(t->comm, &t->team.ranks);
    t->counts = calloc((size_t)t->team.ranks * 2, sizeof *t->counts);
    if (!t->counts) {
        hb_team_mpi_destroy(&t->team);
        return HB_ERROR_MEMORY;
    }
    t->places = t->counts + t->team.ranks;
    t->team.threads = cores_of_rank(t->comm);
    t->team.gather = gather;
    t->team.user = t;
    *out = &t->team;
    return HB_OK;
}

static void say_traffic(const mpi_team *t)
{
    const char *asked = getenv("HEATBALL_MPI_TRAFFIC");
    if (asked && strcmp(asked, "1") == 0)
        fprintf(stderr, "heatball: rank %d of %d was sent %llu bytes in %llu gathers\n",
                t->team.rank, t->team.ranks, (unsigned long long)t->bytes,
                (unsigned long long)t->gathers);
}

void hb_team_mpi_destroy(hb_team *team)
{
    mpi_team *t = (mpi_team *)(void *)team;
    int ended = 0;
    if (!t) return;
    say_traffic(t);
    MPI_Finalized(&ended); // by the program, before it came here
    if (!ended) MPI_Comm_free(&t->comm);
    if (!ended && t->finalises) MPI_Finalize();
    free(t->counts);
    free(t);
}

/* ---- faults ---- */

int hb_team_mpi_alone(hb_team *team, double seconds)
{
    mpi_team *t = (mpi_team *)(void *)team;
    const struct timespec pause = {.tv_nsec = 10000000};
    MPI_Request request;
    int here = 0;
    if (!t) return 0;
    if (MPI_Ibarrier(t->comm, &request) != MPI_SUCCESS) return 1;
    for (const double end = MPI_Wtime() + seconds; !here && MPI_Wtime() < end;) {
        if (MPI_Test(&request, &here, MPI_STATUS_IGNORE) != MPI_SUCCESS) return 1;
        if (!here) nanosleep(&pause, NULL);
    }
    return !here;
}

void hb_team_mpi_abort(hb_team *team, int code)
{
    mpi_team *t = (mpi_team *)(void *)team;
    if (t) MPI_Abort(t->comm, code);
}

void hb_team_mpi_traffic(const hb_team *team, uint64_t *bytes, uint64_t *gathers)
{
    const mpi_team *t = (const mpi_team *)(const void *)team;
    if (bytes) *bytes = t ? t->bytes : 0;
    if (gathers) *gathers = t ? t->gathers : 0;
}
