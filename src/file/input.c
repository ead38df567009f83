/* Files that are read: announced, then opened so that a stop is never waited for.
 *
 * Regular files are plain. A pipe or a device (a FIFO without a writer, a terminal, /dev/zero)
 * may keep a reader for ever: it is opened without blocking, and before each read the descriptor
 * is polled for at most PATIENCE milliseconds at a time, with hb_progress asked in between; so
 * an interrupt ends the run within a tenth of a second. What reads a descriptor by itself (zlib)
 * gets such a stream as a copy in a file without a name. Must reproduce: a FIFO that nobody
 * writes to is left on the first signal (tests/cli/test_cli_files.py). */
#include "file/input.h"
#include "base/context.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE = 100, PIECE = 1 << 16 };

/* What the stream of a pipe or a device knows. */
typedef struct slow_input {
    hb_context *context;
    int descriptor;
} slow_input;

/* Bytes that are there, 0 at the end, -1 with errno set; EINTR: a stop is asked for. */
static ssize_t read_slowly(void *user, char *out, size_t capacity)
{
    slow_input *s = user;
    for (;;) {
        if (hb_context_progress(s->context, "reading", 0, 1) != HB_OK) {
            errno = EINTR;
            return -1;
        }
        struct pollfd ready = {s->descriptor, POLLIN, 0};
        if (poll(&ready, 1, PATIENCE) <= 0) continue;
        const ssize_t n = read(s->descriptor, out, capacity);
        if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return n;
    }
}

static int close_slowly(void *user)
{
    slow_input *s = user;
    const int result = close(s->descriptor);
    free(s);
    return result;
}

static hb_status input_open_path(hb_context *context, const char *path, int *descriptor,
                                 int *regular)
{
    struct stat info;
    HB_TRY(hb_reading(context, path));
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    HB_CHECK(context, *descriptor >= 0, HB_ERROR_PATH, "cannot open %.300s: %s", path,
             strerror(errno));
    const int known = fstat(*descriptor, &info) == 0;
    *regular = known && S_ISREG(info.st_mode);
    if (!known || !S_ISDIR(info.st_mode)) return HB_OK;
    close(*descriptor);
    return hb_fail(context, HB_ERROR_PATH, "cannot read %.300s: it is a directory", path);
}

/* A stream that polls; takes the descriptor. */
static FILE *open_slowly(hb_context *context, int descriptor)
{
    const cookie_io_functions_t calls = {.read = read_slowly, .close = close_slowly};
    slow_input *s = malloc(sizeof *s);
    if (!s) return NULL;
    *s = (slow_input){.context = context, .descriptor = descriptor};
    FILE *file = fopencookie(s, "rb", calls);
    if (!file) free(s);
    return file;
}

hb_status hb_input_open(hb_context *context, const char *path, FILE **out)
{
    int descriptor, regular;
    *out = NULL;
    HB_TRY(input_open_path(context, path, &descriptor, &regular));
    *out = regular ? fdopen(descriptor, "rb") : open_slowly(context, descriptor);
    if (*out) return HB_OK;
    close(descriptor);
    return hb_fail(context, HB_ERROR_MEMORY, "no memory to read %.300s", path);
}

hb_status hb_input_failed(hb_context *context, const char *path)
{
    const int reason = errno;
    HB_TRY(hb_progress(context, "reading", 0, 1));
    return hb_fail(context, HB_ERROR_FILE, "reading %.300s failed: %s", path, strerror(reason));
}

/* Copies all that comes from a pipe into a file without a name. */
static hb_status copy_slowly(hb_context *context, const char *path, int from, FILE *to)
{
    slow_input s = {.context = context, .descriptor = from};
    char piece[PIECE];
    uint64_t total = 0;
    for (ssize_t n; (n = read_slowly(&s, piece, sizeof piece)) != 0; total += (uint64_t)n) {
        if (n < 0) return hb_input_failed(context, path);
        HB_CHECK(context, total < HB_INPUT_MOST, HB_ERROR_FORMAT,
                 "%.300s gives more than %llu bytes; copy it to a file", path,
                 (unsigned long long)HB_INPUT_MOST);
        HB_CHECK(context, fwrite(piece, 1, (size_t)n, to) == (size_t)n, HB_ERROR_FILE,
                 "%.300s cannot be copied to a temporary file: %s", path, strerror(errno));
    }
    HB_CHECK(context, fflush(to) == 0 && lseek(fileno(to), 0, SEEK_SET) == 0, HB_ERROR_FILE,
             "%.300s cannot be copied to a temporary file: %s", path, strerror(errno));
    return HB_OK;
}

hb_status hb_input_descriptor(hb_context *context, const char *path, int *out)
{
    int descriptor, regular;
    HB_TRY(input_open_path(context, path, &descriptor, &regular));
    *out = descriptor;
    if (regular) return HB_OK;
    struct stat info;
    const int device = fstat(descriptor, &info) == 0 && S_ISCHR(info.st_mode);
    FILE *copy = device ? NULL : tmpfile();
    hb_status status =
        device ? hb_fail(context, HB_ERROR_FORMAT,
                         "%.300s is a device; copy what it gives to a file", path)
        : copy ? copy_slowly(context, path, descriptor, copy)
               : hb_fail(context, HB_ERROR_FILE, "%.300s cannot be copied to a temporary file: %s",
                         path, strerror(errno));
    *out = status == HB_OK ? fcntl(fileno(copy), F_DUPFD_CLOEXEC, 0) : -1;
    if (copy) fclose(copy);
    close(descriptor);
    if (status == HB_OK && *out < 0)
        status = hb_fail(context, HB_ERROR_FILE, "cannot read %.300s: %s", path, strerror(errno));
    return status;
}
