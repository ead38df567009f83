/* A writer whose file appears whole or not at all.
 *
 * In a team rank 0 writes, and the writers of the others are silent. They all hear at the end, and
 * where room is asked for, how it went; a write that fails on rank 0 is kept until then, so that no
 * rank leaves before the others.
 *
 * Bytes go to PATH.tmp-PID (created with O_EXCL in the directory of PATH); commit = flush, fsync,
 * rename, fsync of the directory. POSIX rename replaces PATH in one step, so a reader sees the old
 * file or the complete new one, and after a crash the disk holds one of the two.
 *
 * Small writes are collected in a buffer of BUFFER bytes; a write of at least that size passes
 * straight through, so that streams of large blocks are never copied.
 *
 * Three kinds of PATH need care. A symbolic link keeps its place: the file it points to is
 * replaced. A device or a pipe (/dev/null, /dev/full) has no "before", and renaming over it would
 * destroy it: it is written in place. A directory, or a file without permission to write, is
 * refused.
 *
 * A process that is killed leaves its PATH.tmp-PID. Each writer holds a lock (flock) on its
 * temporary, which ends with the process, also on another host of a network file system; who opens
 * PATH next removes the temporaries of PATH that nobody has locked and whose process is gone.
 *
 * Must reproduce: a killed or full-disk run leaves the old PATH, byte for byte
 * (tests/file/test_file.c). */
#include "file/writer.h"
#include "base/context.h"
#include "base/memory.h"
#include "base/team_tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, TEMPORARY_NAMES = 100, PATIENCE = 100 /* milliseconds */ };

struct hb_writer {
    hb_context *context;
    char *path;      /* as the caller gave it, for messages */
    char *target;    /* what is replaced: path with symbolic links followed */
    char *temporary; /* NULL: target is written in place */
    int descriptor;
    int silent;        /* another rank of the team writes */
    int parted;        /* all ranks write, each its part */
    int measures;      /* nothing is written, only counted */
    uint64_t before;   /* bytes that were written when it began to measure */
    int failed;        /* a write failed: commit refuses */
    uint64_t written;  /* bytes handed to hb_writer_write */
    uint64_t expected; /* value that written must have at commit; 0: any */
    size_t used;       /* bytes waiting in buffer */
    hb_status kept;    /* in a team: of the write that failed */
    char reason[512];
    char buffer[BUFFER];
};

hb_context *hb_writer_context(const hb_writer *writer)
{
    return writer ? writer->context : NULL;
}

static hb_status writer_find_space(hb_writer *writer, uint64_t bytes)
{
    struct statvfs space;
    if (!writer->temporary || fstatvfs(writer->descriptor, &space) != 0) return HB_OK;
    const double has = (double)space.f_bavail * (double)space.f_frsize;
    HB_CHECK(writer->context, (double)bytes <= has, HB_ERROR_FILE,
             "%.300s needs %.4g bytes; its file system has %.4g free", writer->path, (double)bytes,
             has);
    return HB_OK;
}

hb_status hb_writer_reserve(hb_writer *writer, uint64_t bytes)
{
    if (!writer) return HB_ERROR_ARGUMENT;
    return hb_context_settle(writer->context, writer_find_space(writer, bytes));
}

hb_status hb_writer_expect(hb_writer *writer, uint64_t bytes)
{
    writer->expected = writer->written + bytes;
    return hb_writer_reserve(writer, bytes);
}

locale_t hb_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void hb_locale_leave(locale_t previous)
{
    freelocale(uselocale(previous));
}

static void writer_destroy(hb_writer *writer)
{
    if (writer->descriptor >= 0) close(writer->descriptor);
    hb_context *context = writer->context;
    hb_release(context, writer->temporary);
    hb_release(context, writer->target);
    hb_release(context, writer->path);
    hb_release(context, writer);
}

/* The file behind a symbolic link; path itself when it is none, or when the link leads nowhere. */
static hb_status follow_links(hb_context *context, const char *path, char **target)
{
    struct stat link;
    char *real = lstat(path, &link) == 0 && S_ISLNK(link.st_mode) ? realpath(path, NULL) : NULL;
    hb_status status = hb_copy_string(context, real ? real : path, target);
    free(real);
    return status;
}

/* Whether a name is BASE.tmp-PID with an end such as .1, of a process that is gone. The process
 * itself may have the number of one that is gone; it has its own temporaries locked. */
static int is_abandoned(const char *name, const char *base, size_t length)
{
    static const char tag[] = ".tmp-";
    if (strncmp(name, base, length) != 0 || strncmp(name + length, tag, strlen(tag)) != 0) return 0;
    char *end;
    const long pid = strtol(name + length + strlen(tag), &end, 10);
    const int plain = end[strspn(end, ".0123456789")] == 0;
    if (end == name + length + strlen(tag) || (*end && *end != '.') || pid <= 0) return 0;
    return (plain && pid == (long)getpid()) || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
}

/* Removes a regular file of the directory unless a writer has it locked. */
static void remove_unlocked(int directory, const char *name)
{
    const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    struct stat info;
    const int descriptor = openat(directory, name, flags);
    if (descriptor < 0) return;
    if (fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
        flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        unlinkat(directory, name, 0);
    close(descriptor);
}

/* The name of the directory of a path, to be given to free(); NULL: no memory. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
}

/* Removes what killed processes left of this target. */
static void remove_abandoned(const char *target)
{
    const char *slash = strrchr(target, '/'), *base = slash ? slash + 1 : target;
    char *name = directory_of(target);
    DIR *directory = name ? opendir(name) : NULL;
    const size_t length = strlen(base);
    for (struct dirent *e; directory && (e = readdir(directory));)
        if (is_abandoned(e->d_name, base, length)) remove_unlocked(dirfd(directory), e->d_name);
    if (directory) closedir(directory);
    free(name);
}

/* Locks a new temporary; 0 when another process took it for an abandoned one first. Where a file
 * system has no locks, nobody removes by them. */
static int lock_temporary(int descriptor)
{
    struct stat info;
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return 0;
    return fstat(descriptor, &info) != 0 || info.st_nlink > 0;
}

/* Creates target.tmp-PID, or target.tmp-PID.1 and so on while another writer holds the name. */
static hb_status writer_open_temporary(hb_writer *writer, mode_t mode)
{
    const size_t bytes = strlen(writer->target) + 64;
    HB_TRY(HB_NEW(writer->context, writer->temporary, bytes));
    remove_abandoned(writer->target);
    int n = snprintf(writer->temporary, bytes, "%s.tmp-%ld", writer->target, (long)getpid());
    for (int i = 0; i < TEMPORARY_NAMES; i++) {
        if (i > 0) snprintf(writer->temporary + n, bytes - (size_t)n, ".%d", i);
        writer->descriptor =
            open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
        if (writer->descriptor < 0 && errno != EEXIST) break;
        if (writer->descriptor >= 0 && lock_temporary(writer->descriptor)) break;
        if (writer->descriptor >= 0) close(writer->descriptor);
        writer->descriptor = -1;
    }
    HB_CHECK(writer->context, writer->descriptor >= 0, HB_ERROR_PATH, "cannot create %s: %s",
             writer->path, strerror(errno));
    return HB_OK;
}

/* A device or a pipe, opened without waiting: a pipe without a reader is tried again until it has
 * one or a stop is asked for. */
static hb_status writer_open_in_place(hb_writer *writer)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    for (;;) {
        writer->descriptor = open(writer->target, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (writer->descriptor >= 0) return HB_OK;
        HB_CHECK(writer->context, errno == ENXIO, HB_ERROR_PATH, "cannot open %s: %s", writer->path,
                 strerror(errno));
        HB_TRY(hb_context_progress(writer->context, "waiting for a reader", 0, 1));
        nanosleep(&pause, NULL);
    }
}

static hb_status writer_open_target(hb_writer *writer)
{
    hb_context *context = writer->context;
    struct stat old;
    if (stat(writer->target, &old) != 0) return writer_open_temporary(writer, 0666);
    HB_CHECK(context, !S_ISDIR(old.st_mode), HB_ERROR_PATH,
             "cannot write %s: it is a directory; give the name of a file", writer->path);
    HB_CHECK(context, access(writer->target, W_OK) == 0, HB_ERROR_PATH, "cannot write %s: %s",
             writer->path, strerror(errno));
    if (!S_ISREG(old.st_mode)) return writer_open_in_place(writer);
    HB_TRY(writer_open_temporary(writer, old.st_mode));
    fchmod(writer->descriptor, old.st_mode & 0777); /* the old permissions, past the umask */
    return HB_OK;
}

hb_status hb_writer_create(hb_context *context, const char *path, hb_writer **out)
{
    HB_CHECK(context, out, HB_ERROR_ARGUMENT, "the output of a writer is NULL");
    *out = NULL;
    HB_CHECK(context, path && path[0], HB_ERROR_PATH, "the path is empty; give the name of a file");
    hb_writer *writer;
    HB_TRY(HB_NEW(context, writer, 1));
    memset(writer, 0, offsetof(hb_writer, buffer));
    writer->context = context;
    writer->descriptor = -1;
    hb_status status = hb_copy_string(context, path, &writer->path);
    writer->silent = !hb_team_is_first(context);
    if (status == HB_OK && !writer->silent) status = follow_links(context, path, &writer->target);
    if (status == HB_OK && !writer->silent) status = writer_open_target(writer);
    status = hb_context_settle(context, status);
    if (status != HB_OK) {
        if (writer->temporary && writer->descriptor >= 0) unlink(writer->temporary);
        writer_destroy(writer);
        return status;
    }
    *out = writer;
    return HB_OK;
}

static hb_status writer_fail(hb_writer *writer, const char *what)
{
    writer->failed = 1;
    return hb_fail(writer->context, HB_ERROR_FILE, "%s %s failed: %s", what, writer->path,
                   strerror(errno));
}

static hb_status writer_write_through(hb_writer *writer, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(writer->descriptor, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) {
            struct pollfd ready = {writer->descriptor, POLLOUT, 0};
            writer->failed = 1; /* unless the wait ends well */
            HB_TRY(hb_context_progress(writer->context, "waiting for a reader", 0, 1));
            writer->failed = 0;
            poll(&ready, 1, PATIENCE);
            continue;
        }
        if (n == 0) errno = EIO; /* no file takes nothing for ever */
        if (n <= 0) return writer_fail(writer, "writing");
        data += n;
        bytes -= (size_t)n;
    }
    return HB_OK;
}

static hb_status writer_flush(hb_writer *writer)
{
    size_t bytes = writer->used;
    writer->used = 0;
    return writer_write_through(writer, writer->buffer, bytes);
}

static hb_status writer_write_bytes(hb_writer *writer, size_t bytes, const void *data)
{
    HB_CHECK(writer->context, !writer->failed, HB_ERROR_FILE, "writing %s failed before",
             writer->path);
    writer->written += bytes;
    if (bytes > BUFFER - writer->used) HB_TRY(writer_flush(writer));
    if (bytes >= BUFFER) return writer_write_through(writer, data, bytes);
    if (bytes > 0) memcpy(writer->buffer + writer->used, data, bytes);
    writer->used += bytes;
    return HB_OK;
}

hb_status hb_writer_write(hb_writer *writer, size_t bytes, const void *data)
{
    if (!writer || (!data && bytes > 0)) return HB_ERROR_ARGUMENT;
    hb_context *context = writer->context;
    if (writer->silent || writer->measures || writer->kept != HB_OK) {
        writer->written += bytes;
        return HB_OK;
    }
    const hb_status status = writer_write_bytes(writer, bytes, data);
    if (status == HB_OK || hb_context_ranks(context) == 1) return status;
    writer->kept = status;
    memcpy(writer->reason, context->message, sizeof writer->reason);
    return HB_OK;
}

uint64_t hb_writer_measure(hb_writer *writer, int on)
{
    if (!writer) return 0;
    const uint64_t counted = writer->measures ? writer->written - writer->before : 0;
    if (writer->measures) writer->written = writer->before;
    writer->before = writer->written;
    writer->measures = on;
    return counted;
}

/* The name of rank 0's temporary on all ranks. */
static hb_status writer_agree_name(hb_writer *writer, char **name)
{
    hb_context *context = writer->context;
    uint64_t length = writer->temporary ? strlen(writer->temporary) + 1 : 0;
    HB_TRY(hb_context_agree(context, sizeof length, &length));
    HB_CHECK(context, length > 0, HB_ERROR_ARGUMENT,
             "%s is no file; several processes cannot write it together", writer->path);
    HB_TRY(HB_NEW(context, *name, length));
    if (writer->temporary) memcpy(*name, writer->temporary, length);
    return hb_context_agree(context, length, *name);
}

/* Where this rank's part begins: behind what rank 0 has written, and the parts of the ranks
 * before. */
static hb_status writer_find_place(hb_writer *writer, uint64_t bytes, uint64_t *place,
                                   uint64_t *end)
{
    hb_context *context = writer->context;
    const size_t ranks = (size_t)hb_context_ranks(context);
    void *memory;
    HB_TRY(hb_allocate(context, ranks, sizeof(uint64_t), &memory));
    uint64_t *all = memory, head = writer->written;
    const hb_left one = {all, sizeof *all, 0};
    all[hb_context_rank(context)] = bytes;
    hb_status status = hb_team_gather(context, HB_OK, ranks, 1, &one);
    if (status == HB_OK) status = hb_context_agree(context, sizeof head, &head);
    *place = *end = head;
    for (size_t r = 0; r < ranks; r++) {
        if (r < (size_t)hb_context_rank(context)) *place += all[r];
        *end += all[r];
    }
    hb_release(context, all);
    return status;
}

static hb_status writer_open_part(hb_writer *writer, const char *name, uint64_t place)
{
    if (!hb_team_is_first(writer->context)) writer->descriptor = open(name, O_WRONLY | O_CLOEXEC);
    if (writer->descriptor < 0 || lseek(writer->descriptor, (off_t)place, SEEK_SET) < 0)
        return writer_fail(writer, "opening");
    writer->silent = 0;
    writer->parted = 1;
    return HB_OK;
}

hb_status hb_writer_part(hb_writer *writer, uint64_t bytes)
{
    if (!writer) return HB_ERROR_ARGUMENT;
    hb_context *context = writer->context;
    char *name = NULL;
    uint64_t place, end;
    if (hb_context_ranks(context) == 1) return HB_OK;
    const uint64_t expected = writer->expected;
    hb_status status = writer_agree_name(writer, &name);
    if (status == HB_OK) status = writer_find_place(writer, bytes, &place, &end);
    if (status == HB_OK) {
        status = expected == 0 || end == expected
                     ? HB_OK
                     : hb_fail(context, HB_ERROR_ARGUMENT,
                               "%s: parts end at %llu bytes; its header promises %llu",
                               writer->path, (unsigned long long)end, (unsigned long long)expected);
        if (status == HB_OK) status = writer->silent ? HB_OK : writer_flush(writer);
        if (status == HB_OK) status = writer_open_part(writer, name, place);
        status = hb_context_settle(context, status);
        writer->expected = writer->written + bytes;
    }
    hb_release(context, name);
    return status;
}

hb_status hb_writer_printf(hb_writer *writer, const char *format, ...)
{
    if (!writer || !format) return HB_ERROR_ARGUMENT;
    char small[1024];
    char *text = NULL;
    va_list arguments;
    locale_t locale = hb_locale_enter();
    va_start(arguments, format);
    int n = vsnprintf(small, sizeof small, format, arguments);
    va_end(arguments);
    if (n >= (int)sizeof small) {
        va_start(arguments, format);
        n = vasprintf(&text, format, arguments);
        va_end(arguments);
    }
    hb_locale_leave(locale);
    HB_CHECK(writer->context, n >= 0, HB_ERROR_FILE, "cannot format a line of %s: %s", writer->path,
             strerror(errno));
    hb_status status = hb_writer_write(writer, (size_t)n, text ? text : small);
    free(text);
    return status;
}

/* Makes the rename itself durable. Directories that cannot be opened or synchronised (permission,
 * some network file systems) are left to the system. */
static void synchronise_directory(const char *path)
{
    char *name = directory_of(path);
    int descriptor = name ? open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
    free(name);
}

/* What this rank has written is on the disk. */
static hb_status writer_finish_bytes(hb_writer *writer)
{
    hb_context *context = writer->context;
    if (writer->kept != HB_OK) return hb_fail(context, writer->kept, "%s", writer->reason);
    HB_CHECK(context, !writer->failed, HB_ERROR_FILE, "writing %s failed before", writer->path);
    HB_CHECK(context, writer->expected == 0 || writer->written == writer->expected,
             HB_ERROR_ARGUMENT, "%s: %llu bytes were written; its header promises %llu",
             writer->path, (unsigned long long)writer->written,
             (unsigned long long)writer->expected);
    if (writer->silent) return HB_OK;
    HB_TRY(writer_flush(writer));
    if (fsync(writer->descriptor) != 0 && (writer->temporary || writer->parted))
        return writer_fail(writer, "writing");
    return HB_OK;
}

static hb_status writer_finish(hb_writer *writer)
{
    hb_status status = writer_finish_bytes(writer);
    if (writer->parted) status = hb_context_settle(writer->context, status);
    HB_TRY(status);
    if (!hb_team_is_first(writer->context)) return HB_OK;
    int descriptor = writer->descriptor;
    writer->descriptor = writer->temporary ? dup(descriptor) : -1; /* keeps the lock */
    if (close(descriptor) != 0) return writer_fail(writer, "closing");
    if (!writer->temporary) return HB_OK;
    if (rename(writer->temporary, writer->target) != 0) return writer_fail(writer, "renaming to");
    synchronise_directory(writer->target);
    return HB_OK;
}

hb_status hb_writer_commit(hb_writer *writer)
{
    if (!writer) return HB_OK;
    hb_status status = hb_context_settle(writer->context, writer_finish(writer));
    if (status != HB_OK) {
        hb_writer_abort(writer);
        return status;
    }
    writer_destroy(writer);
    return HB_OK;
}

void hb_writer_abort(hb_writer *writer)
{
    if (!writer) return;
    if (writer->temporary) unlink(writer->temporary);
    writer_destroy(writer);
}

hb_status hb_writer_close(hb_writer *writer, hb_status status)
{
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}
