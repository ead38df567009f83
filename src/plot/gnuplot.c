/* Runs gnuplot as a child process, without a shell.
 *
 * The child works in the figure's directory, reads nothing from the user's own settings (-d),
 * writes the picture to its standard output and complaints to its standard error. We read both
 * pipes in one poll loop: the picture goes through an atomic writer, so that a half picture never
 * gets its name, and the complaints go into the error message when gnuplot fails (else into a
 * note). */
#include "base/context.h"
#include "base/team_tasks.h"
#include "plot/animation.h"

#include <heatball/file.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { HEAD = 512 }; /* bytes; the <svg tag starts within them */

typedef struct child {
    pid_t pid;
    int output, complaints; /* reading ends */
    char text[400];         /* the beginning of the complaints */
    size_t used;
    size_t written; /* bytes of the picture */
} child;

/* Starts gnuplot with its standard output and error at the given pipes. Returns an errno value. */
static int gnuplot_spawn(const char *directory, const char *script, const char *format, int output,
                         int complaints, pid_t *pid)
{
    char setting[32], name[] = "gnuplot", defaults[] = "-d", evaluate[] = "-e", file[256];
    snprintf(setting, sizeof setting, "format='%s'", format);
    snprintf(file, sizeof file, "./%s", script); /* a name that starts with - is no option */
    char *const arguments[] = {name, defaults, evaluate, setting, file, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (!error) error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (!error) error = posix_spawn_file_actions_adddup2(&actions, complaints, 2);
    if (!error) error = posix_spawnp(pid, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static hb_status gnuplot_start(hb_context *context, const char *directory, const char *script,
                               const char *format, child *out)
{
    int output[2], complaints[2];
    *out = (child){.pid = -1, .output = -1, .complaints = -1};
    HB_CHECK(context, pipe2(output, O_CLOEXEC) == 0, HB_ERROR_FILE, "cannot open a pipe: %s",
             strerror(errno));
    int error = pipe2(complaints, O_CLOEXEC) == 0 ? 0 : errno;
    if (!error) {
        error = gnuplot_spawn(directory, script, format, output[1], complaints[1], &out->pid);
        close(complaints[1]);
        if (error) close(complaints[0]);
    }
    close(output[1]);
    if (error) close(output[0]);
    HB_CHECK(context, !error, HB_ERROR_UNAVAILABLE,
             "gnuplot cannot be started (%s); install gnuplot-nox and run it on %s/%s",
             strerror(error), directory, script);
    out->output = output[0];
    out->complaints = complaints[0];
    return HB_OK;
}

/* gnuplot's SVG leaves it to the reader whether the blanks around a change of font count, and some
 * programs drop them; the tag at the head of a picture gets the attribute that says they do. */
static hb_status gnuplot_write_head(hb_writer *writer, const char *block, size_t n)
{
    static const char tag[] = "<svg ", space[] = "xml:space=\"preserve\" ";
    const char *svg = memmem(block, n, tag, strlen(tag));
    if (!svg) return hb_writer_write(writer, n, block);
    const size_t head = (size_t)(svg - block) + strlen(tag);
    HB_TRY(hb_writer_write(writer, head, block));
    HB_TRY(hb_writer_write(writer, strlen(space), space));
    return hb_writer_write(writer, n - head, block + head);
}

/* Moves what is ready on one pipe; *descriptor becomes -1 at its end. */
static hb_status gnuplot_drain(child *gnuplot, int *descriptor, hb_writer *writer)
{
    char block[1 << 16];
    ssize_t n = read(*descriptor, block, sizeof block);
    if (n < 0 && errno == EINTR) return HB_OK;
    if (n <= 0) {
        close(*descriptor);
        *descriptor = -1;
        return HB_OK;
    }
    if (descriptor == &gnuplot->output) {
        const int head = gnuplot->written < HEAD;
        gnuplot->written += (size_t)n;
        return head ? gnuplot_write_head(writer, block, (size_t)n)
                    : hb_writer_write(writer, (size_t)n, block);
    }
    const size_t capacity = sizeof gnuplot->text - 1 - gnuplot->used;
    const size_t take = (size_t)n < capacity ? (size_t)n : capacity;
    memcpy(gnuplot->text + gnuplot->used, block, take);
    gnuplot->used += take;
    return HB_OK;
}

/* Reads both pipes to their ends, then waits; *code is gnuplot's exit code, or -1. */
static hb_status gnuplot_collect(child *gnuplot, hb_writer *writer, int *code)
{
    hb_status status = HB_OK;
    while (gnuplot->output >= 0 || gnuplot->complaints >= 0) {
        struct pollfd pipes[] = {{gnuplot->output, POLLIN, 0}, {gnuplot->complaints, POLLIN, 0}};
        if (poll(pipes, 2, -1) < 0) continue; /* EINTR */
        for (int i = 0; i < 2; i++) {
            if (!pipes[i].revents) continue;
            hb_status drained =
                gnuplot_drain(gnuplot, i ? &gnuplot->complaints : &gnuplot->output, writer);
            if (status == HB_OK) status = drained;
        }
    }
    int state = -1;
    while (waitpid(gnuplot->pid, &state, 0) < 0 && errno == EINTR) continue;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return status;
}

/* The complaints on one line, for the message. */
static const char *complaints_of(child *gnuplot)
{
    for (char *c = gnuplot->text; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
    const char *text = gnuplot->text + strspn(gnuplot->text, " ");
    return *text ? text : "it wrote no picture";
}

static hb_status gnuplot_run_here(hb_context *context, const char *directory, const char *script,
                                  const char *format, const char *path)
{
    child gnuplot;
    HB_TRY(gnuplot_start(context, directory, script, format, &gnuplot));
    hb_writer *writer = NULL;
    int code;
    hb_status status = hb_writer_create(context, path, &writer);
    if (status != HB_OK) { /* let the child end on a closed pipe */
        close(gnuplot.output);
        gnuplot.output = -1;
    }
    hb_status collected = gnuplot_collect(&gnuplot, writer, &code);
    if (status == HB_OK) status = collected;
    if (status == HB_OK && (code != 0 || gnuplot.written == 0))
        status = hb_fail(context, HB_ERROR_FILE, "gnuplot failed on %s/%s: %s", directory, script,
                         complaints_of(&gnuplot));
    if (status == HB_OK && gnuplot.used > 0)
        hb_note(context, "gnuplot on %s/%s: %s", directory, script, complaints_of(&gnuplot));
    HB_TRY(hb_writer_close(writer, status));
    return strcmp(format, "png") == 0 ? hb_picture_reduce(context, path) : HB_OK;
}

/* In a team rank 0 draws, alone. */
hb_status hb_gnuplot_run(hb_context *context, const char *directory, const char *script,
                         const char *format, const char *path)
{
    if (hb_context_ranks(context) == 1)
        return gnuplot_run_here(context, directory, script, format, path);
    hb_status status = HB_OK;
    if (hb_team_is_first(context)) {
        hb_context alone = hb_context_child(context, 1);
        status = hb_context_adopt(context, &alone,
                                  gnuplot_run_here(&alone, directory, script, format, path));
    }
    return hb_context_settle(context, status);
}
