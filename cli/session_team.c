/* The command under mpirun or srun.
 *
 * A process learns from its environment that it is one of several: OMPI_COMM_WORLD_SIZE (Open
 * MPI), PMI_SIZE (MPICH and others), SLURM_STEP_NUM_TASKS in a step of Slurm. Only then
 * libheatball-mpi.so is loaded: by the name in HEATBALL_MPI, from beside the command's own
 * library, or from where the system looks. A serial run makes no call of MPI. Without the
 * library the command refuses: n processes side by side would each do everything and write the
 * same files.
 *
 * Rank 0 alone prints. A failure that all ranks share is one line, of rank 0; a rank that fails
 * alone (its memory, its disk) waits a while for the others, then says so itself and ends the
 * job, so that nobody waits for it for ever. */
#include "session_team.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double PATIENCE = 5; /* seconds until a rank that fails takes itself to be alone */

static struct {
    void *library;
    hb_team *team;
    hb_status (*create)(const void *communicator, hb_team **out);
    void (*destroy)(hb_team *team);
    int (*alone)(hb_team *team, double seconds);
    void (*abort)(hb_team *team, int code);
    uint64_t sum;    /* of version and arguments */
    char line[1200]; /* what a rank other than 0 has not printed */
} own;

static const uint64_t START = UINT64_C(0xcbf29ce484222325);

/* FNV-1a. */
static uint64_t team_add_bytes(uint64_t sum, const void *data, size_t n)
{
    const unsigned char *byte = data;
    for (size_t i = 0; i < n; i++) sum = (sum ^ byte[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static int team_number(const char *name)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : 0;
}

static int team_processes(void)
{
    const int sizes[] = {team_number("OMPI_COMM_WORLD_SIZE"), team_number("PMI_SIZE"),
                         getenv("SLURM_STEP_ID") ? team_number("SLURM_STEP_NUM_TASKS") : 0};
    int most = 1;
    for (int i = 0; i < 3; i++)
        if (sizes[i] > most) most = sizes[i];
    return most;
}

static int team_find(const char *name, void *function)
{
    void *found = dlsym(own.library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static int team_load(void)
{
    const char *path = getenv("HEATBALL_MPI");
    own.library = dlopen(path && *path ? path : "libheatball-mpi.so", RTLD_NOW | RTLD_GLOBAL);
    return own.library && team_find("hb_team_mpi", &own.create) &&
           team_find("hb_team_mpi_destroy", &own.destroy) &&
           team_find("hb_team_mpi_alone", &own.alone) && team_find("hb_team_mpi_abort", &own.abort);
}

hb_status hb_command_team_join(int argc, char **argv, char *message)
{
    const int ranks = team_processes();
    if (ranks == 1) return HB_OK;
    if (!team_load()) {
        const char *reason = dlerror();
        const int rank = team_number("OMPI_COMM_WORLD_RANK") + team_number("PMI_RANK") +
                         team_number("SLURM_PROCID");
        snprintf(message, 512,
                 "this is one of %d processes, and libheatball-mpi.so, which makes them one run, "
                 "cannot be loaded (%.200s); install Open MPI (libopenmpi-dev), build again, or "
                 "start one process",
                 ranks, reason ? reason : "it lacks a function");
        if (rank > 0) { /* the first to end ends all: rank 0 speaks before, and alone */
            message[0] = '\0';
            sleep(1);
        }
        return HB_ERROR_UNAVAILABLE;
    }
    const hb_status status = own.create(NULL, &own.team);
    if (status != HB_OK) {
        snprintf(message, 512, "MPI cannot be started: %s", hb_status_text(status));
        return HB_ERROR_UNAVAILABLE;
    }
    if (own.team->ranks == 1) {
        snprintf(
            message, 512,
            "this is one of %d processes, but for MPI each of them is alone; start them with the "
            "mpirun of the MPI that libheatball-mpi.so was built with, or with srun --mpi=pmix",
            ranks);
        return HB_ERROR_UNAVAILABLE;
    }
    own.sum = team_add_bytes(START, hb_version(), strlen(hb_version()));
    for (int i = 1; i < argc; i++) own.sum = team_add_bytes(own.sum, argv[i], strlen(argv[i]) + 1);
    if (own.team->rank > 0 && !freopen("/dev/null", "w", stdout)) return HB_ERROR_FILE;
    return HB_OK;
}

/* Is it the number of rank 0? If not, on any rank, all fail with what. */
static hb_status team_compare(hb_context *context, uint64_t sum, const char *what)
{
    uint64_t first = sum;
    char message[512];
    HB_TRY(hb_context_agree(context, sizeof first, &first));
    snprintf(message, sizeof message, "rank %d of %d %s", hb_context_rank(context),
             hb_context_ranks(context), what);
    return hb_context_settle(
        context, first == sum ? HB_OK : hb_context_fail(context, HB_ERROR_ARGUMENT, message));
}

hb_status hb_command_team_compare(hb_context *context)
{
    const char *isa = hb_context_isa(context);
    HB_TRY(team_compare(
        context, team_add_bytes(START, isa, strlen(isa)),
        "has another instruction set than rank 0; give all of them the same with --isa, "
        "and networks also with ONEDNN_MAX_CPU_ISA"));
    return team_compare(context, own.sum,
                        "was started with other arguments or another version than rank 0");
}

hb_status hb_command_team_compare_file(hb_context *context, const char *path)
{
    static char block[1 << 16];
    char what[500];
    uint64_t sum = START;
    size_t n;
    struct stat info;
    FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    while (file && (n = fread(block, 1, sizeof block, file)) > 0)
        sum = team_add_bytes(sum, block, n);
    if (file) fclose(file);
    snprintf(what, sizeof what, "has other bytes in %.300s than rank 0", path);
    return team_compare(context, file ? sum : 0, what);
}

const hb_team *hb_command_team(void)
{
    return own.team;
}

int hb_command_team_keeps(const char *line)
{
    if (!own.team || own.team->rank == 0) return 0;
    snprintf(own.line, sizeof own.line, "%s", line);
    return 1;
}

void hb_command_team_leave(int code)
{
    if (!own.team) return;
    if (code != 0 && own.alone(own.team, PATIENCE)) {
        fprintf(stderr, "%s%sheatball: rank %d of %d has failed, and ends the others\n", own.line,
                own.line[0] ? "\n" : "", own.team->rank, own.team->ranks);
        fflush(stderr);
        own.abort(own.team, code);
    }
    own.destroy(own.team);
    own.team = NULL;
}
