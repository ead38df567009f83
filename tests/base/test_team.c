/* Teams without MPI: processes of this test that share memory and a barrier do one call together, and each of them
 * must hold what one process alone has. A check that fails in a process ends it; the parent then ends the others. */
#include "support.h"

#include "base/context.h"
#include "base/team_tasks.h"
#include "file/writer.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 4, ROOM = 1 << 20, PATIENCE = 60 /* seconds */ };

typedef struct meeting {
    pthread_barrier_t barrier;
    char bytes[ROOM];
} meeting;

typedef struct member {
    hb_team team;
    meeting *shared;
    int gathers;
} member;

/* In a process of the team, where cmocka must not go on with the next test. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__,                      \
                    hb_context_rank(context), hb_context_ranks(context), #condition);              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define CHECK_OK(call)                                                                             \
    do {                                                                                           \
        if ((call) != HB_OK) fprintf(stderr, "%s\n", hb_context_message(context));                 \
        CHECK(hb_context_message(context)[0] == 0);                                                \
    } while (0)
#define CHECK_FAILS(call, status, text)                                                            \
    do {                                                                                           \
        CHECK((call) == (status));                                                                 \
        if (!strstr(hb_context_message(context), (text)))                                          \
            fprintf(stderr, "message: %s\n", hb_context_message(context));                         \
        CHECK(strstr(hb_context_message(context), (text)));                                        \
    } while (0)

static int gather(void *user, const size_t *bytes, void *buffer)
{
    member *m = user;
    size_t place = 0, total = 0;
    for (int r = 0; r < m->team.ranks; r++) {
        if (r < m->team.rank) place += bytes[r];
        total += bytes[r];
    }
    m->gathers++;
    if (total > ROOM) return 1;
    if (bytes[m->team.rank] > 0)
        memcpy(m->shared->bytes + place, (char *)buffer + place, bytes[m->team.rank]);
    pthread_barrier_wait(&m->shared->barrier);
    if (total > 0) memcpy(buffer, m->shared->bytes, total);
    pthread_barrier_wait(&m->shared->barrier);
    return 0;
}

typedef void (*body)(hb_context *context, const char *directory);

static int stops_when_told(void *user, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return *(const int *)user;
}

static int told; /* of this process: ask to stop */

static void run_member(meeting *shared, int rank, int ranks, body run, const char *directory)
{
    member m = {.team = {rank, ranks, 0, gather, NULL}, .shared = shared};
    m.team.user = &m;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = ranks == 2 ? 1 + rank : 1; /* it does not matter */
    settings.team = &m.team;
    settings.progress = stops_when_told;
    settings.progress_user = &told;
    hb_context *context;
    alarm(PATIENCE);
    if (hb_context_create(&settings, &context) != HB_OK) _exit(2);
    CHECK(hb_context_rank(context) == rank && hb_context_ranks(context) == ranks);
    run(context, directory);
    hb_context_destroy(context);
    _exit(0);
}

static void wait_for(int ranks, const pid_t *ids)
{
    int bad = 0;
    for (int left = ranks; left > 0; left--) {
        int outcome;
        waitpid(-1, &outcome, 0);
        if (outcome != 0 && !bad++)
            for (int r = 0; r < ranks; r++) kill(ids[r], SIGKILL);
    }
    if (bad) fail_msg("%d ranks: one failed", ranks);
}

static void run_team(int ranks, body run, const char *directory)
{
    pid_t ids[MOST];
    pthread_barrierattr_t attribute;
    meeting *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    pthread_barrierattr_init(&attribute);
    pthread_barrierattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attribute, (unsigned)ranks);
    fflush(NULL);
    for (int r = 0; r < ranks; r++) {
        ids[r] = fork();
        if (ids[r] == 0) run_member(shared, r, ranks, run, directory);
        assert_true(ids[r] > 0);
    }
    wait_for(ranks, ids);
    munmap(shared, sizeof *shared);
}

static void run_teams(body run)
{
    for (int ranks = 1; ranks <= MOST; ranks++) run_team(ranks, run, NULL);
}

/* ---- tasks ---- */

enum { TASKS = 13, WIDE = 3, SHORT = 5, GUARD = 7 };

/* What the tasks leave: rows of WIDE numbers; one letter each; SHORT numbers each, the last task fewer. */
typedef struct leavings {
    hb_context *context;
    size_t n, missing;
    int fails; /* this task, and the next one with another sentence; -1: none */
    double rows[TASKS][WIDE];
    char letters[TASKS];
    float ends[TASKS * SHORT + GUARD];
} leavings;

static hb_status leave(void *user, size_t i, int thread)
{
    leavings *l = user;
    (void)thread;
    if ((int)i == l->fails)
        return hb_fail(l->context, HB_ERROR_NUMERICAL, "task %zu has no number", i);
    if (l->fails >= 0 && (int)i == l->fails + 1)
        return hb_fail(l->context, HB_ERROR_DOMAIN, "task %zu is outside", i);
    for (size_t k = 0; k < WIDE; k++) l->rows[i][k] = sin((double)(i * WIDE + k));
    l->letters[i] = (char)('a' + i);
    for (size_t k = i * SHORT; k < (i + 1) * SHORT && k < l->n * SHORT - l->missing; k++)
        l->ends[k] = 1 / (float)(k + 1);
    return HB_OK;
}

typedef hb_status (*team_loop)(hb_context *context, const char *what, size_t n, hb_task task,
                               void *user, size_t n_left, const hb_left *left);

static hb_status run_tasks(hb_context *context, team_loop loop, size_t n, size_t missing, int fails,
                           leavings *l)
{
    memset(l, 0x5a, sizeof *l);
    l->context = context;
    l->n = n;
    l->missing = missing;
    l->fails = fails;
    for (size_t k = n * SHORT - missing; k < TASKS * SHORT + GUARD; k++) /* must stay its own */
        l->ends[k] = (float)(1000 + hb_context_rank(context));
    const hb_left left[] = {
        {l->rows, sizeof l->rows[0], 0},
        {l->letters, 1, 0},
        {l->ends, SHORT * sizeof(float), (n * SHORT - missing) * sizeof(float)}};
    return loop(context, "tasks", n, leave, l, 3, left);
}

static void compare_loops(hb_context *context, size_t n, size_t missing)
{
    static leavings alone, shared;
    const team_loop loops[] = {hb_team_for, hb_team_for_blocks};
    hb_context one = hb_context_child(context, 1); /* without the team */
    CHECK(run_tasks(&one, hb_team_for, n, missing, -1, &alone) == HB_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(run_tasks(context, loops[i], n, missing, -1, &shared));
        CHECK(memcmp(shared.rows, alone.rows, sizeof alone.rows) == 0);
        CHECK(memcmp(shared.letters, alone.letters, sizeof alone.letters) == 0);
        CHECK(memcmp(shared.ends, alone.ends, (n * SHORT - missing) * sizeof(float)) == 0);
        for (size_t k = n * SHORT - missing; k < TASKS * SHORT + GUARD; k++)
            CHECK(shared.ends[k] == (float)(1000 + hb_context_rank(context)));
    }
}

static void leave_all_sorts(hb_context *context, const char *directory)
{
    (void)directory;
    for (size_t n = 0; n <= TASKS; n++)
        for (size_t missing = 0; missing < (n ? SHORT : 1); missing++)
            compare_loops(context, n, missing);
    compare_loops(context, 4, 2 * SHORT); /* the last tasks have nothing to leave */
    compare_loops(context, 7, 3 * SHORT + 2);
}

static void every_rank_has_what_all_tasks_left(void **state)
{
    (void)state;
    run_teams(leave_all_sorts);
}

static hb_status do_nothing(void *user, size_t i, int thread)
{
    (void)user, (void)i, (void)thread;
    return HB_OK;
}

/* Shares follow one another and differ by one at most. */
static void share_rows(hb_context *context, const char *directory)
{
    const size_t ranks = (size_t)hb_context_ranks(context);
    (void)directory;
    for (size_t n = 0; n < 20; n++) {
        size_t own[2 * MOST] = {0}, *mine = own + 2 * hb_context_rank(context), end = 0;
        const hb_left left = {own, 2 * sizeof *own, 0};
        hb_team_share(context, n, &mine[0], &mine[1]);
        CHECK_OK(hb_team_gather(context, HB_OK, ranks, 1, &left));
        for (size_t r = 0; r < ranks; r++) {
            const size_t rows = own[2 * r + 1] - own[2 * r];
            CHECK(own[2 * r] == end && (rows == n / ranks || rows == n / ranks + 1));
            end = own[2 * r + 1];
        }
        CHECK(end == n);
    }
    CHECK_OK(hb_team_for(context, NULL, 9, do_nothing, NULL, 0, NULL)); /* nothing is left */
    CHECK_OK(hb_team_for_blocks(context, NULL, 9, do_nothing, NULL, 0, NULL));
}

static void shares_are_even_and_in_order(void **state)
{
    (void)state;
    run_teams(share_rows);
}

/* ---- failures, the clock, a stop ---- */

static void fail_together(hb_context *context, const char *directory)
{
    static leavings l;
    const team_loop loops[] = {hb_team_for, hb_team_for_blocks};
    (void)directory;
    for (int i = 0; i < 2; i++)
        for (int fails = 0; fails < 9; fails++) {
            char own[512] = "", first[512];
            const hb_status status = run_tasks(context, loops[i], 9, 0, fails, &l);
            hb_status agreed = status;
            CHECK(status == HB_ERROR_NUMERICAL || (status == HB_ERROR_DOMAIN && fails < 8));
            memcpy(own, hb_context_message(context), sizeof own);
            CHECK(strstr(own, status == HB_ERROR_DOMAIN ? "is outside" : "has no number"));
            memcpy(first, own, sizeof own);
            CHECK(hb_context_agree(context, sizeof agreed, &agreed) == HB_OK && agreed == status);
            CHECK(hb_context_agree(context, sizeof first, first) == HB_OK);
            CHECK(strcmp(first, own) == 0);
        }
}

static hb_status fail_when_first(void *user, size_t i, int thread)
{
    (void)thread;
    if (i != 0) return HB_OK;
    return hb_fail(user, HB_ERROR_CALLBACK, "the first one: %d %%", 7);
}

static void settle(hb_context *context, const char *directory)
{
    const int rank = hb_context_rank(context), ranks = hb_context_ranks(context);
    double value[2] = {rank + 0.5, -rank};
    char text[32];
    (void)directory;
    CHECK_OK(hb_context_agree(context, sizeof value, value));
    CHECK(value[0] == 0.5 && value[1] == 0);
    CHECK_OK(hb_context_agree(context, 0, NULL));
    CHECK_OK(hb_context_settle(context, HB_OK));
    CHECK_FAILS(hb_team_for(context, NULL, 9, fail_when_first, context, 0, NULL), HB_ERROR_CALLBACK,
                "the first one: 7 %");
    for (int r = 0; r < ranks; r++) { /* r and all above fail: r is heard */
        hb_status status = HB_OK;
        snprintf(text, sizeof text, "rank %d", r);
        if (rank >= r)
            status =
                hb_fail(context, rank == r ? HB_ERROR_FORMAT : HB_ERROR_MEMORY, "rank %d", rank);
        CHECK_FAILS(hb_context_settle(context, status), HB_ERROR_FORMAT, text);
    }
    CHECK_FAILS(hb_context_agree(context, 3, NULL), HB_ERROR_ARGUMENT, "NULL");
}

static void a_failure_of_one_rank_is_that_of_all(void **state)
{
    (void)state;
    run_teams(fail_together);
    run_teams(settle);
}

static void stop_together(hb_context *context, const char *directory)
{
    static leavings l;
    const int rank = hb_context_rank(context), ranks = hb_context_ranks(context);
    const member *m = context->settings.team->user;
    double end = hb_seconds() + 1000;
    /* what every rank does is not cut short by one of them */
    const hb_status same = ranks == 1 ? HB_ERROR_INTERRUPTED : HB_OK;
    (void)directory;
    const int before = m->gathers;
    CHECK(!hb_team_late(context) && m->gathers == before); /* without a deadline nobody is asked */
    context->deadline = &end;
    CHECK(!hb_team_late(context));
    CHECK_OK(hb_team_progress(context, "work", 1, 2));
    for (int late = 0; late < ranks; late++) {
        end = rank == late ? hb_seconds() - 1 : hb_seconds() + 1000;
        CHECK(hb_parallel_for(context, "same", 9, do_nothing, NULL) == same);
        CHECK(hb_team_late(context));
        CHECK_FAILS(hb_team_progress(context, "work", 1, 2), HB_ERROR_INTERRUPTED, "time");
    }
    context->deadline = NULL;
    for (int asked = 0; asked < ranks; asked++) {
        told = rank == asked;
        CHECK(hb_parallel_for(context, "same", 9, do_nothing, NULL) == same);
        CHECK_FAILS(hb_team_progress(context, "work", 1, 2), HB_ERROR_INTERRUPTED,
                    "work: stopped by request");
        hb_fail(context, HB_OK, "%s", "");
        CHECK_FAILS(run_tasks(context, hb_team_for, 9, 0, -1, &l), HB_ERROR_INTERRUPTED,
                    "tasks: stopped by request");
        hb_fail(context, HB_OK, "%s", "");
        CHECK_FAILS(run_tasks(context, hb_team_for_blocks, 9, 0, -1, &l), HB_ERROR_INTERRUPTED,
                    "tasks: stopped by request");
    }
    told = 0;
    hb_fail(context, HB_OK, "%s", "");
    CHECK_OK(run_tasks(context, hb_team_for, 9, 0, -1, &l));
}

static void a_stop_of_one_rank_is_that_of_all(void **state)
{
    (void)state;
    run_teams(stop_together);
}

static int lose(void *user, const size_t *bytes, void *buffer)
{
    (void)user, (void)bytes, (void)buffer;
    return 1;
}

static void lose_a_rank(hb_context *context, const char *directory)
{
    static leavings l;
    hb_team team = {1, 3, 0, lose, NULL};
    int value = 4;
    (void)directory;
    context->settings.team = &team;
    CHECK_FAILS(hb_context_agree(context, sizeof value, &value), HB_ERROR_UNAVAILABLE,
                "rank 1 of 3: another rank is lost");
    CHECK(hb_context_settle(context, HB_OK) == HB_ERROR_UNAVAILABLE);
    CHECK(hb_context_settle(context, HB_ERROR_MEMORY) == HB_ERROR_UNAVAILABLE);
    CHECK(run_tasks(context, hb_team_for, 9, 0, -1, &l) == HB_ERROR_UNAVAILABLE);
    CHECK(run_tasks(context, hb_team_for_blocks, 9, 0, -1, &l) == HB_ERROR_UNAVAILABLE);
}

static void a_lost_rank_is_reported(void **state)
{
    (void)state;
    run_team(1, lose_a_rank, NULL);
}

/* ---- settings ---- */

static void bad_teams_are_refused(void **state)
{
    (void)state;
    const hb_team bad[] = {{0, 2, 0, NULL, NULL}, {-1, 2, 0, lose, NULL}, {2, 2, 0, lose, NULL},
                           {0, 0, 0, lose, NULL}, {0, -1, 0, lose, NULL}, {0, 2, -1, lose, NULL}};
    hb_context_settings settings;
    hb_context *context;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hb_context_settings_default(sizeof settings, &settings);
        settings.team = &bad[i];
        assert_int_equal(hb_context_create(&settings, &context), HB_ERROR_ARGUMENT);
        assert_null(context);
    }
    const hb_team good = {2, 3, 5, lose, NULL};
    settings.team = &good;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    assert_int_equal(hb_context_threads(context), 5); /* the cores of the rank */
    hb_context_destroy(context);
    settings.threads = 2; /* what is asked for counts more */
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    assert_int_equal(hb_context_threads(context), 2);
    hb_context_destroy(context);
    assert_int_equal(hb_context_rank(NULL), 0);
    assert_int_equal(hb_context_ranks(NULL), 1);
}

/* ---- files ---- */

static int open_directory(void **state)
{
    static char name[64];
    snprintf(name, sizeof name, "/tmp/heatball_team_XXXXXX");
    *state = mkdtemp(name);
    return *state == NULL;
}

static int entries(const char *directory)
{
    int n = -2; /* . and .. */
    DIR *list = opendir(directory);
    while (list && readdir(list)) n++;
    if (list) closedir(list);
    return n;
}

static int close_directory(void **state)
{
    return rmdir(*state);
}

/* Does the file hold exactly these bytes? */
static int holds(const char *path, size_t bytes, const char *expected)
{
    char *data = malloc(bytes + 1);
    FILE *file = fopen(path, "rb");
    const int same = data && file && fread(data, 1, bytes + 1, file) == bytes &&
                     memcmp(data, expected, bytes) == 0;
    if (file) fclose(file);
    free(data);
    return same;
}

static void write_by_the_first(hb_context *context, const char *directory)
{
    const int rank = hb_context_rank(context);
    char path[128], text[64];
    hb_writer *writer;
    snprintf(path, sizeof path, "%s/first", directory);
    CHECK_OK(hb_writer_create(context, path, &writer));
    CHECK_OK(hb_writer_printf(writer, "rank %d\n", rank));
    CHECK_OK(hb_writer_expect(writer, 3));
    CHECK_OK(hb_writer_write(writer, 3, rank == 0 ? "abc" : "xyz"));
    CHECK_OK(hb_writer_commit(writer));
    CHECK(holds(path, 10, "rank 0\nabc")); /* there for all */
    CHECK_OK(hb_writer_create(context, path, &writer));
    CHECK_OK(hb_writer_write(writer, 3, "new"));
    hb_writer_abort(writer);
    CHECK_OK(hb_context_settle(context, HB_OK));
    CHECK(holds(path, 10, "rank 0\nabc") && entries(directory) == 1);
    CHECK_OK(hb_context_settle(context, HB_OK));
    if (rank == 0) unlink(path);
    snprintf(path, sizeof path, "%s/missing/f", directory);
    snprintf(text, sizeof text, "missing/f: No such file");
    CHECK_FAILS(hb_writer_create(context, path, &writer), HB_ERROR_PATH, text);
    CHECK(!writer);
}

static void files_are_those_of_rank_0(void **state)
{
    for (int ranks = 1; ranks <= MOST; ranks++) {
        run_team(ranks, write_by_the_first, *state);
        assert_int_equal(entries(*state), 0);
    }
}

/* Parts of lengths that grow with the rank; the second one is longer than a writer's buffer, and one is empty. */
enum { PART = 70001, WHOLE = MOST * PART };

static size_t part_bytes(int rank)
{
    static const size_t bytes[MOST] = {11, PART, 0, 977};
    return bytes[rank];
}

static size_t fill_parts(int ranks, char *whole)
{
    size_t n = 0;
    memcpy(whole, "head", 4);
    n += 4;
    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < part_bytes(r); i++) whole[n++] = (char)(r * 31 + (int)(i % 97));
    return n;
}

/* Writes this rank's part of fill_parts in pieces. */
static void write_part(hb_context *context, hb_writer *writer, const char *whole)
{
    const size_t bytes = part_bytes(hb_context_rank(context));
    size_t place = 4;
    for (int r = 0; r < hb_context_rank(context); r++) place += part_bytes(r);
    for (size_t done = 0, now; done < bytes; done += now) {
        now = bytes - done < 1000 ? bytes - done : (done ? bytes - done : 1000);
        CHECK_OK(hb_writer_write(writer, now, whole + place + done));
    }
}

static void write_parts(hb_context *context, const char *directory)
{
    static char whole[WHOLE];
    const int rank = hb_context_rank(context), ranks = hb_context_ranks(context);
    const size_t total = fill_parts(ranks, whole), own = part_bytes(rank);
    char path[128];
    hb_writer *writer;
    snprintf(path, sizeof path, "%s/parts", directory);
    for (int expects = 0; expects < 2; expects++) {
        CHECK_OK(hb_writer_create(context, path, &writer));
        CHECK_OK(hb_writer_write(writer, 4, "head"));
        if (expects) CHECK_OK(hb_writer_expect(writer, total - 4));
        hb_writer_measure(writer, 1);
        write_part(context, writer, whole);
        CHECK(hb_writer_measure(writer, 0) == own);
        CHECK_OK(hb_writer_part(writer, own));
        write_part(context, writer, whole);
        CHECK_OK(hb_writer_commit(writer));
        CHECK(holds(path, total, whole) && entries(directory) == 1);
        CHECK_OK(hb_context_settle(context, HB_OK));
        if (rank == 0) unlink(path);
    }
    if (ranks == 1) return;
    /* other bytes than the header promises */
    CHECK_OK(hb_writer_create(context, path, &writer));
    CHECK_OK(hb_writer_write(writer, 4, "head"));
    CHECK_OK(hb_writer_expect(writer, total - 3));
    CHECK_FAILS(hb_writer_part(writer, own), HB_ERROR_ARGUMENT, "its header promises");
    hb_writer_abort(writer);
    hb_fail(context, HB_OK, "%s", "");
    /* a part that one rank does not fill */
    CHECK_OK(hb_writer_create(context, path, &writer));
    CHECK_OK(hb_writer_write(writer, 4, "head"));
    CHECK_OK(hb_writer_part(writer, 10));
    CHECK_OK(hb_writer_write(writer, rank == 1 ? 9 : 10, "0123456789"));
    CHECK_FAILS(hb_writer_commit(writer), HB_ERROR_ARGUMENT, "bytes were written");
    CHECK_FAILS(hb_context_settle(context, HB_ERROR_ARGUMENT), HB_ERROR_ARGUMENT, "");
    CHECK(entries(directory) == 0);
    hb_fail(context, HB_OK, "%s", "");
    /* a device has no parts */
    CHECK_OK(hb_writer_create(context, "/dev/null", &writer));
    CHECK_FAILS(hb_writer_part(writer, own), HB_ERROR_ARGUMENT, "/dev/null is no file");
    hb_writer_abort(writer);
}

static void parts_of_a_file_are_in_the_order_of_the_ranks(void **state)
{
    for (int ranks = 1; ranks <= MOST; ranks++) {
        run_team(ranks, write_parts, *state);
        assert_int_equal(entries(*state), 0);
    }
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

/* One rank after the other may write only little: all hear of it at the end, and no file is left. */
static void write_without_room(hb_context *context, const char *directory)
{
    static char whole[WHOLE];
    const int rank = hb_context_rank(context), ranks = hb_context_ranks(context);
    char path[128], text[512], first[512];
    hb_writer *writer;
    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof path, "%s/full", directory);
    for (int poor = 0; poor < ranks; poor++) {
        if (rank == poor) limit_files(8);
        hb_fail(context, HB_OK, "%s", "");
        CHECK_OK(hb_writer_create(context, path, &writer));
        CHECK(hb_writer_write(writer, 4, "head") == HB_OK);
        CHECK_OK(hb_writer_part(writer, PART));
        CHECK(hb_writer_write(writer, PART, whole) == (ranks == 1 ? HB_ERROR_FILE : HB_OK));
        CHECK(hb_writer_write(writer, 0, whole) == (ranks == 1 ? HB_ERROR_FILE : HB_OK));
        CHECK_FAILS(hb_writer_commit(writer), HB_ERROR_FILE, "full failed");
        memcpy(text, hb_context_message(context), sizeof text);
        memcpy(first, text, sizeof text);
        CHECK(hb_context_agree(context, sizeof first, first) == HB_OK && strcmp(first, text) == 0);
        CHECK(entries(directory) == 0);
        CHECK(hb_context_settle(context, HB_OK) == HB_OK);
        limit_files(RLIM_INFINITY);
    }
    hb_fail(context, HB_OK, "%s", "");
    if (rank == 0) limit_files(8); /* without parts */
    CHECK_OK(hb_writer_create(context, path, &writer));
    for (int i = 0; i < 3; i++)
        CHECK(hb_writer_write(writer, PART, whole) == (ranks == 1 ? HB_ERROR_FILE : HB_OK));
    CHECK_FAILS(hb_writer_commit(writer), HB_ERROR_FILE, "full failed");
    limit_files(RLIM_INFINITY);
    CHECK(hb_context_settle(context, HB_OK) == HB_OK);
    CHECK(entries(directory) == 0);
}

static void a_write_that_fails_on_one_rank_leaves_no_file(void **state)
{
    for (int ranks = 1; ranks <= MOST; ranks++) {
        run_team(ranks, write_without_room, *state);
        assert_int_equal(entries(*state), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_has_what_all_tasks_left),
        cmocka_unit_test(shares_are_even_and_in_order),
        cmocka_unit_test(a_failure_of_one_rank_is_that_of_all),
        cmocka_unit_test(a_stop_of_one_rank_is_that_of_all),
        cmocka_unit_test(a_lost_rank_is_reported),
        cmocka_unit_test(bad_teams_are_refused),
        cmocka_unit_test(files_are_those_of_rank_0),
        cmocka_unit_test(parts_of_a_file_are_in_the_order_of_the_ranks),
        cmocka_unit_test(a_write_that_fails_on_one_rank_leaves_no_file),
    };
    return cmocka_run_group_tests_name("team", tests, open_directory, close_directory);
}
