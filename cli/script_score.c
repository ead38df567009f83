/* A score that a Python script computes: the command starts the interpreter and speaks with it
 * over two pipes.
 *
 * To the script, on its descriptor 3: n and dim as 64-bit numbers, then x[n][dim] and tau[n] as
 * doubles. From it, on 4: a kind (0 a score, 1 a log-density, 2 an error) and a length in bytes,
 * both 64-bit, then the values or the sentence. All numbers are of this machine. What the script
 * prints goes to stderr, and so does the traceback of an exception.
 *
 * The script has a process group of its own, which the command ends when it closes the script
 * and with its second signal; a command that is killed takes the script with it
 * (PR_SET_PDEATHSIG). The command looks for a signal while it waits, and for the script's end: a
 * child of the script may hold the pipe, and a script may close it and go on. */
#include "script_score.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { TO_SCRIPT = 3, FROM_SCRIPT = 4, MESSAGE = 480 };
enum { WAIT = 100 /* milliseconds */, LAST_WAITS = 5 };
enum { KIND_SCORE, KIND_DENSITY, KIND_ERROR };

static const char SCRIPT[] =
    "import importlib, importlib.util, os, signal, struct, sys, traceback\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    "try:\n"
    "    import ctypes\n"
    "    ctypes.CDLL(None).prctl(1, 9)\n"
    "except Exception:\n"
    "    pass\n"
    "sys.stdout = sys.stderr\n"
    "given, made = os.fdopen(3, 'rb'), os.fdopen(4, 'wb')\n"
    "def fail(text):\n"
    "    text = ' '.join(text.split()).encode(errors='replace')[:400]\n"
    "    made.write(struct.pack('=qq', 2, len(text)) + text)\n"
    "    made.flush()\n"
    "    sys.exit(0)\n"
    "def caught(error):\n"
    "    traceback.print_exc()\n"
    "    sys.stderr.flush()\n"
    "    fail(type(error).__name__ + ': ' + str(error))\n"
    "try:\n"
    "    import numpy as np\n"
    "except ImportError:\n"
    "    fail(sys.executable + ' has no NumPy, which --score needs; name another interpreter with "
    "--python')\n"
    "try:\n"
    "    place, _, name = sys.argv[1].rpartition(':')\n"
    "    if place.endswith('.py'):\n"
    "        sys.path.insert(0, os.path.dirname(os.path.abspath(place)))\n"
    "        spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)\n"
    "        module = importlib.util.module_from_spec(spec)\n"
    "        sys.modules[spec.name] = module\n"
    "        spec.loader.exec_module(module)\n"
    "    else:\n"
    "        sys.path.insert(0, os.getcwd())\n"
    "        module = importlib.import_module(place)\n"
    "    f = module\n"
    "    for part in name.split('.'):\n"
    "        f = getattr(f, part)\n"
    "except BaseException as error:\n"
    "    caught(error)\n"
    "if not callable(f):\n"
    "    fail(name + ' of ' + place + ' is no function')\n"
    "while True:\n"
    "    head = given.read(16)\n"
    "    if len(head) < 16:\n"
    "        break\n"
    "    n, dim = struct.unpack('=qq', head)\n"
    "    x = np.frombuffer(given.read(8 * n * dim)).reshape(n, dim).copy()\n"
    "    tau = np.frombuffer(given.read(8 * n)).copy()\n"
    "    try:\n"
    "        values = f(x, tau)\n"
    "        for method in ('detach', 'cpu'):\n"
    "            if callable(getattr(values, method, None)):\n"
    "                values = getattr(values, method)()\n"
    "        if str(getattr(values, 'dtype', '')) == 'torch.bfloat16':\n"
    "            values = values.double()\n"
    "        masked, values = np.ma.is_masked(values), np.asarray(values)\n"
    "        real = values.dtype.kind in 'fiub' and not masked\n"
    "        values = values.astype(np.float64) if real else values\n"
    "    except BaseException as error:\n"
    "        caught(error)\n"
    "    if not real:\n"
    "        fail('%s returned %s; it must return real numbers' % (name, 'masked entries' if "
    "masked\n"
    "             else 'values of dtype ' + str(values.dtype)))\n"
    "    if values.shape not in ((n, dim), (n,)):\n"
    "        fail('%s returned shape %s for x of shape %s; it must be %s, a score, or %s, a '\n"
    "             'log-density' % (name, values.shape, (n, dim), (n, dim), (n,)))\n"
    "    made.write(struct.pack('=qq', int(values.shape == (n,)), values.nbytes))\n"
    "    made.write(values.tobytes())\n"
    "    made.flush()\n";

struct hb_script {
    hb_session *session;
    const char *target;
    pid_t process; /* 0: none */
    pid_t group;   /* of it and of what it has started */
    int status;    /* of its end */
    int to, from;  /* -1: closed */
    int dim, kind; /* kind -1: not known yet */
    double limit;  /* of hb_session_now; 0: none */
    char message[MESSAGE];
};

/* ---- the process ---- */

static int script_fail(hb_script *script, const char *format, ...) HB_PRINTF(2, 3);

static int script_fail(hb_script *script, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(script->message, sizeof script->message, format, arguments);
    va_end(arguments);
    return 1;
}

/* Two descriptors above those that the script gets, closed on exec. */
static int open_pipe(int ends[2])
{
    int low[2];
    if (pipe(low) != 0) return 0;
    for (int k = 0; k < 2; k++) {
        ends[k] = fcntl(low[k], F_DUPFD_CLOEXEC, FROM_SCRIPT + 1);
        close(low[k]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static int script_start(hb_script *script, const char *program)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    char option[] = "-c";
    char *const arguments[] = {(char *)(uintptr_t)program, option, (char *)(uintptr_t)SCRIPT,
                               (char *)(uintptr_t)script->target, NULL};
    posix_spawn_file_actions_t actions;
    if (!open_pipe(to) || !open_pipe(from))
        return script_fail(script, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1); /* of extensions and children too */
    posix_spawn_file_actions_adddup2(&actions, to[0], TO_SCRIPT);
    posix_spawn_file_actions_adddup2(&actions, from[1], FROM_SCRIPT);
    posix_spawnattr_t own_group;
    posix_spawnattr_init(&own_group);
    posix_spawnattr_setflags(&own_group, POSIX_SPAWN_SETPGROUP);
    const int error =
        posix_spawnp(&script->process, program, &actions, &own_group, arguments, environ);
    posix_spawnattr_destroy(&own_group);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    script->to = to[1];
    script->from = from[0];
    fcntl(script->to, F_SETFL, O_NONBLOCK); /* a long write could not be stopped */
    script->group = script->process;
    if (error == 0) hb_session_helper(script->group);
    if (error == 0) return 0;
    script->process = script->group = 0;
    return script_fail(script, "%.200s cannot be started: %s", program, strerror(error));
}

/* Whether the process has ended by itself; how is kept. */
static int script_is_over(hb_script *script)
{
    if (script->process > 0 &&
        waitpid(script->process, &script->status, WNOHANG) == script->process)
        script->process = 0;
    return script->process == 0;
}

/* Of a script that answers no more: how it ended, or that it goes on without its pipe. */
static int script_ended(hb_script *script)
{
    for (int k = 0; k < LAST_WAITS && !script_is_over(script); k++) poll(NULL, 0, WAIT);
    const int status = script->status;
    if (!script_is_over(script))
        return script_fail(script,
                           "%.200s: it closed descriptor %d, which is the command's, and continued",
                           script->target, FROM_SCRIPT);
    if (WIFSIGNALED(status))
        return script_fail(script, "%.200s: its process was ended by signal %d", script->target,
                           WTERMSIG(status));
    return script_fail(script, "%.200s: its process ended with status %d", script->target,
                       WEXITSTATUS(status));
}

void hb_script_close(hb_script *script)
{
    if (!script) return;
    if (script->group > 0) kill(-script->group, SIGKILL); /* first: no traceback of a broken pipe */
    if (script->process > 0) waitpid(script->process, NULL, 0);
    if (script->to >= 0) close(script->to);
    if (script->from >= 0) close(script->from);
    hb_session_helper(0);
    free(script);
}

/* ---- bytes ---- */

/* Until the descriptor is ready, the script has ended, or a signal asks the command to stop. */
static int script_wait(hb_script *script, int descriptor, short event)
{
    struct pollfd one = {.fd = descriptor, .events = event};
    for (;;) {
        if (hb_session_stops(script->session, NULL, 0, 0)) return script_fail(script, "stopped");
        if (script->limit > 0 && hb_session_now() > script->limit)
            return script_fail(script, "%.200s: no answer before the end of --max-time",
                               script->target);
        const int ready = poll(&one, 1, WAIT);
        if (ready > 0) return 0;
        if (ready == 0 && script_is_over(script)) return script_ended(script);
        if (ready < 0 && errno != EINTR) return script_fail(script, "poll: %s", strerror(errno));
    }
}

static int send_bytes(hb_script *script, size_t bytes, const void *data)
{
    for (const char *at = data; bytes > 0;) {
        if (script_wait(script, script->to, POLLOUT)) return 1;
        const ssize_t n = write(script->to, at, bytes < 65536 ? bytes : 65536);
        if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (n <= 0) return 2;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int get_bytes(hb_script *script, size_t bytes, void *data)
{
    for (char *at = data; bytes > 0;) {
        if (script_wait(script, script->from, POLLIN)) return 1;
        const ssize_t n = read(script->from, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return script_ended(script);
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* ---- one call ---- */

static int send_question(hb_script *script, size_t n, const double *x, const double *tau)
{
    const int64_t head[] = {(int64_t)n, script->dim};
    int sent = send_bytes(script, sizeof head, head);
    if (!sent) sent = send_bytes(script, n * (size_t)script->dim * sizeof *x, x);
    if (!sent) sent = send_bytes(script, n * sizeof *tau, tau);
    return sent == 1; /* a script that has ended has said why: its answer tells */
}

static int script_read_error(hb_script *script, int64_t bytes)
{
    char text[MESSAGE / 2 + 200] = "";
    if (bytes < 0 || (size_t)bytes >= sizeof text)
        return script_fail(script, "%.200s: its answer makes no sense", script->target);
    if (get_bytes(script, (size_t)bytes, text)) return 1;
    return script_fail(script, "%.100s: %.370s", script->target, text);
}

int hb_script_ask(void *user, size_t n, const double *x, const double *tau, double *out)
{
    hb_script *script = user;
    int64_t head[2];
    script->message[0] = '\0';
    if (send_question(script, n, x, tau) || get_bytes(script, sizeof head, head)) return 1;
    if (head[0] == KIND_ERROR) return script_read_error(script, head[1]);
    if (head[0] != KIND_SCORE && head[0] != KIND_DENSITY)
        return script_fail(script,
                           "%.200s: what is on descriptor %d, which is the command's, is no answer",
                           script->target, FROM_SCRIPT);
    if (script->kind < 0) script->kind = head[0] == KIND_DENSITY;
    const size_t width = script->kind == KIND_DENSITY ? 1 : (size_t)script->dim;
    if (head[0] != script->kind || head[1] != (int64_t)(n * width * sizeof *out))
        return script_fail(script, "%.200s returned a score and a log-density in turn",
                           script->target);
    return get_bytes(script, n * width * sizeof *out, out);
}

const char *hb_script_message(const hb_script *script)
{
    return script ? script->message : "";
}

/* A script that is not there is a wrong input, and needs no traceback; modules are found by
 * Python. */
static hb_status script_check_file(hb_session *session, const char *target, size_t length)
{
    char path[4096];
    if (length < 3 || length >= sizeof path || strncmp(target + length - 3, ".py", 3) != 0)
        return HB_OK;
    snprintf(path, sizeof path, "%.*s", (int)length, target);
    if (access(path, R_OK) == 0) return HB_OK;
    return hb_session_refuse(session, "--score: cannot open %.300s: %s", path, strerror(errno));
}

hb_status hb_script_open(hb_session *session, const char *program, const char *target, int dim,
                         const double *x, double tau, double limit, int *is_density,
                         hb_script **out)
{
    hb_script *script = *out = calloc(1, sizeof *script);
    if (!script) return HB_ERROR_MEMORY;
    *script = (hb_script){.session = session,
                          .target = target,
                          .to = -1,
                          .from = -1,
                          .dim = dim,
                          .kind = -1,
                          .limit = limit};
    const char *colon = strrchr(target, ':');
    HB_REFUSE_IF(session, !colon || colon == target || !colon[1],
                 "--score is %.200s; it must be MODULE:FUNCTION or FILE.py:FUNCTION", target);
    HB_TRY(script_check_file(session, target, (size_t)(colon - target)));
    double *values = malloc((size_t)dim * sizeof *values); // (dim)
    if (!values) return HB_ERROR_MEMORY;
    const int failed = script_start(script, program) || hb_script_ask(script, 1, x, &tau, values);
    free(values);
    *is_density = script->kind == KIND_DENSITY;
    if (failed && hb_session_stops(session, NULL, 0, 0)) return HB_ERROR_INTERRUPTED;
    return failed ? hb_session_fail(session, HB_ERROR_CALLBACK, "--score: %s", script->message)
                  : HB_OK;
}
