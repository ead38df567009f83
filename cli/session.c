/* The run of a command: context, signals, progress.
 *
 * The first signal only sets a flag. The library asks the progress callback between pieces of
 * its work, and the callback answers with the flag; so a run stops at a known place, its writer
 * removes the temporary file, and the exit code is 1. A second signal ends the process at once;
 * what it leaves is removed by the next writer of the same file. SIGPIPE and SIGXFSZ are
 * ignored, which turns a closed pipe and a file size limit into errors of write(2) that are
 * reported like a full disk.
 *
 * Progress: percent, rate and time left. On a terminal one line is rewritten ten times a second;
 * elsewhere plain lines come every five seconds. Nothing is shown in the first half second. How
 * many stages a run has is not known in advance, and after e seconds a stage of some seconds may
 * still follow: a stage that begins at the part b of the whole goes on from there, b + (1 - b)
 * e/(e + 5) done/total. So the number never falls, and 100 % is the end. A command that counts
 * its work itself knows all of it. */
#include "session.h"
#include "report.h"
#include "session_team.h"

#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static const double FIRST_SHOWN = 0.5, TERMINAL_PERIOD = 0.1, PLAIN_PERIOD = 5; /* seconds */
static const double NEXT_STAGE = 5; /* seconds of a stage that may follow */

struct hb_session {
    const char *command;
    hb_context *context;
    hb_context_settings settings; /* of the context */
    hb_context *team;             /* the context, while another one stands for it */
    int quiet, terminal;
    const char *own_what, *unit; /* set by hb_session_count */
    char what[80];               /* the stage that is being timed */
    char detail[80];             /* set by hb_session_detail; "": none */
    double start, start_done, last_done, next_shown;
    double opened;      /* when the session began */
    double base, shown; /* parts of the whole: before the stage, and shown so far */
    double limit;       /* when the clock passes it the library stops; 0: never */
    int line_open;      /* a progress line stands on the terminal */
    hb_outputs *outputs;
    int inputs_ended;
    char message[HB_OPTIONS_MESSAGE];
};

static const char *const isa_names[] = {"auto", "avx512", "avx2", "sse2", "scalar", NULL};
static const hb_isa isa_codes[] = {HB_ISA_AUTO, HB_ISA_AVX512, HB_ISA_AVX2, HB_ISA_SSE2,
                                   HB_ISA_SCALAR};

#define VALUES hb_common
const hb_option hb_session_options[] = {
    HB_OPTION(INTEGER, "threads", "K", threads,
              "number of threads, 0 for one per core; it does not change the result",
              .max = HB_MAX_THREADS, .fallback = "0", .rules = HB_OPTION_APART),
    HB_OPTION(CHOICE, "isa", "SET", isa, "instruction set of the vector kernels, for tests",
              .choices = isa_names, .rules = HB_OPTION_HIDDEN, .fallback = "auto"),
    HB_OPTION(FLAG, "quiet", NULL, quiet, "no progress, no notes, no summary", .letter = 'q'),
    HB_OPTION(FLAG, "help", NULL, help, "print this page and exit", .letter = 'h'),
    HB_OPTION(FLAG, "version", NULL, version, "print the version and exit"),
    {0}};

/* ---- signals ---- */

static volatile sig_atomic_t stop_requested, helper_group;

static void request_stop(int number)
{
    if (stop_requested) {
        if (helper_group > 0) kill(-helper_group, SIGKILL);
        signal(number, SIG_DFL);
        raise(number);
    }
    stop_requested = 1;
}

/* SIGINT and SIGTERM are handled even where a shell had them ignored (jobs in the background);
 * SIGHUP stays ignored under nohup. */
static void install_handlers(void)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART | SA_NODEFER},
                     before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, &before);
    if (before.sa_handler == SIG_IGN) sigaction(SIGHUP, &before, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

void hb_session_helper(pid_t group)
{
    helper_group = group;
}

/* ---- progress ---- */

double hb_session_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void hb_session_clear(hb_session *session)
{
    if (session->line_open) fputs("\r\033[K", stderr);
    session->line_open = 0;
}

static void start_stage(hb_session *session, const char *what, double done, double now)
{
    snprintf(session->what, sizeof session->what, "%s", what);
    session->start = now;
    session->start_done = done;
    session->base = session->shown;
    session->next_shown = now + (session->terminal ? FIRST_SHOWN : PLAIN_PERIOD);
}

static void format_left(double seconds, size_t size, char *out)
{
    if (!(seconds < 1e8)) {
        snprintf(out, size, "?");
        return;
    }
    const long s = lround(ceil(seconds));
    if (s >= 3600)
        snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
}

/* The letters that fit into a line of the terminal: a line that is longer would be wrapped, and a
 * carriage return could not take it back. One that is too long loses the command's name first. */
static int terminal_width(void)
{
    struct winsize size;
    const int known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return known ? size.ws_col - 1 : 79;
}

static void show_progress(hb_session *session, const char *what, double done, double total)
{
    if (session->quiet || !(done > 0)) return;
    const double now = hb_session_now();
    if (strncmp(what, session->what, sizeof session->what - 1) != 0 || done < session->last_done)
        start_stage(session, what, done, now);
    session->last_done = done;
    if (now < session->next_shown) return;
    session->next_shown = now + (session->terminal ? TERMINAL_PERIOD : PLAIN_PERIOD);
    const double rate = (done - session->start_done) / (now - session->start);
    const double elapsed = now - session->opened;
    const double known = session->own_what ? 1 : elapsed / (elapsed + NEXT_STAGE);
    const double part = session->base + known * (1 - session->base) * fmin(done / total, 1);
    session->shown = fmax(session->shown, part);
    char left[32], speed[64] = ""; // none for work that is counted as a part of 1
    format_left((total - done) / rate, sizeof left, left);
    if (total > 1)
        snprintf(speed, sizeof speed, " %s%s%s/s,", hb_report_quantity(rate).text,
                 session->unit ? " " : "", session->unit ? session->unit : "");
    char line[400], name[64];
    const int prefix = snprintf(name, sizeof name, "heatball %s: ", session->command);
    const int length = snprintf(line, sizeof line, "%s%s %.1f %%,%s%s%s %s left", name,
                                session->what, floor(1000 * session->shown) / 10,
                                session->detail[0] ? " " : "", session->detail, speed, left);
    const int width = terminal_width(), without = length > width ? prefix : 0;
    if (session->terminal)
        fprintf(stderr, "\r%.*s\033[K", width, line + without);
    else
        fprintf(stderr, "%s\n", line);
    session->line_open = session->terminal;
    fflush(stderr);
}

static int library_progress(void *user, const char *what, double done, double total)
{
    hb_session *session = user;
    if (!session->own_what) show_progress(session, what, done, total);
    return stop_requested || (session->limit > 0 && hb_session_now() > session->limit);
}

void hb_session_limit(hb_session *session, double seconds)
{
    session->limit = seconds > 0 ? hb_session_now() + seconds : 0;
}

void hb_session_done(const hb_session *session)
{
    if (session->shown > 0 && !session->terminal && !session->quiet)
        fprintf(stderr, "heatball %s: 100.0 %%, 0:00 left\n", session->command);
}

int hb_session_stops(void *user, const char *what, double done, double total)
{
    (void)user, (void)what, (void)done, (void)total;
    return stop_requested;
}

hb_status hb_session_worker(const hb_session *session, hb_context **context)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 1;
    settings.isa = session->settings.isa;
    settings.progress = hb_session_stops;
    return hb_context_create(&settings, context);
}

static void library_note(void *user, const char *message)
{
    hb_session *session = user;
    if (session->quiet) return;
    hb_session_clear(session);
    fprintf(stderr, "heatball %s: note: %s\n", session->command, message);
}

hb_status hb_session_reads(hb_session *session, const char *path)
{
    if (session->inputs_ended) return HB_OK;
    const hb_status status = hb_outputs_check_input(session->outputs, path, session->message);
    if (status != HB_OK || hb_context_ranks(session->context) == 1) return status;
    return hb_command_team_compare_file(session->context, path);
}

static int library_reading(void *user, const char *path)
{
    return hb_session_reads(user, path);
}

hb_status hb_session_writes(hb_session *session, const char *option, const char *path, int figure)
{
    return (figure ? hb_outputs_add_figure : hb_outputs_add)(session->outputs, option, path,
                                                             session->message);
}

hb_status hb_session_writes_in(hb_session *session, const char *directory, const char *const *names,
                               int figures)
{
    hb_status status = HB_OK;
    for (; directory && *names && status == HB_OK; names++) {
        char *path;
        if (asprintf(&path, "%s/%s", directory, *names) < 0) return HB_ERROR_MEMORY;
        status = hb_session_writes(session, "-o", path, figures);
        free(path);
    }
    return status;
}

void hb_session_inputs_end(hb_session *session)
{
    session->inputs_ended = 1;
}

void hb_session_count(hb_session *session, const char *what, const char *unit)
{
    session->own_what = what;
    session->unit = unit;
    start_stage(session, what, 0, hb_session_now());
}

void hb_session_detail(hb_session *session, const char *format, ...)
{
    if (session->quiet || hb_session_now() < session->next_shown) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(session->detail, sizeof session->detail - 1, format, arguments);
    va_end(arguments);
    if (length > 0) strcat(session->detail, ",");
}

hb_status hb_session_progress(hb_session *session, double done, double total)
{
    show_progress(session, session->own_what, done, total);
    return stop_requested ? HB_ERROR_INTERRUPTED : HB_OK;
}

/* ---- opening, closing, complaining ---- */

hb_session *hb_session_open(const char *command, const hb_common *common, hb_outputs *outputs,
                            hb_status *status)
{
    hb_session *session = calloc(1, sizeof *session);
    *status = HB_ERROR_MEMORY;
    if (!session) {
        hb_outputs_destroy(outputs);
        return NULL;
    }
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    session->outputs = outputs;
    session->command = command;
    session->opened = hb_session_now();
    settings.team = hb_command_team();
    session->quiet = common->quiet || (settings.team && settings.team->rank > 0);
    session->terminal = isatty(STDERR_FILENO);
    install_handlers();
    settings.threads = common->threads;
    settings.isa = isa_codes[common->isa];
    settings.progress = library_progress;
    settings.log = library_note;
    settings.reading = library_reading;
    settings.progress_user = settings.log_user = settings.reading_user = session;
    session->settings = settings;
    *status = hb_context_create(&settings, &session->context);
    if (*status == HB_ERROR_UNAVAILABLE)
        hb_session_fail(session, *status,
                        "--isa is %s, which this processor lacks; auto always works",
                        isa_names[common->isa]);
    if (*status == HB_OK && settings.team) *status = hb_command_team_compare(session->context);
    return session;
}

void hb_session_close(hb_session *session)
{
    if (!session) return;
    hb_session_clear(session);
    hb_context_destroy(session->context);
    hb_outputs_destroy(session->outputs);
    free(session);
}

int hb_session_alone(hb_session *session, const char *what)
{
    hb_context_settings settings = session->settings;
    hb_context *context;
    if (hb_context_ranks(session->context) == 1) return 1;
    if (hb_context_rank(session->context) > 0) return 0;
    settings.team = NULL;
    settings.threads = hb_context_threads(session->context);
    if (hb_context_create(&settings, &context) != HB_OK) return 1; /* with the one that there is */
    session->team = session->context;
    session->context = context;
    if (what && !session->quiet)
        fprintf(stderr, "heatball %s: note: %s is done by rank 0 alone, on %d thread%s\n",
                session->command, what, settings.threads, settings.threads == 1 ? "" : "s");
    return 1;
}

hb_status hb_session_together(hb_session *session, hb_status status)
{
    if (session->team) {
        char message[HB_OPTIONS_MESSAGE];
        snprintf(message, sizeof message, "%s", hb_session_message(session, status));
        hb_context_destroy(session->context);
        session->context = session->team;
        session->team = NULL;
        if (status != HB_OK) hb_context_fail(session->context, status, message);
    }
    return hb_context_settle(session->context, status);
}

hb_context *hb_session_context(const hb_session *session)
{
    return session->context;
}

int hb_session_quiet(const hb_session *session)
{
    return session->quiet;
}

static void session_keep_message(hb_session *session, const char *format, va_list arguments)
{
    vsnprintf(session->message, sizeof session->message, format, arguments);
    hb_options_clean(session->message);
}

hb_status hb_session_fail(hb_session *session, hb_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    session_keep_message(session, format, arguments);
    va_end(arguments);
    return status;
}

hb_status hb_session_refuse(hb_session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    session_keep_message(session, format, arguments);
    va_end(arguments);
    return HB_ERROR_ARGUMENT;
}

const char *hb_session_message(const hb_session *session, hb_status status)
{
    if (session && session->message[0]) return session->message;
    if (status == HB_ERROR_INTERRUPTED) return "interrupted";
    const char *message = session ? hb_context_message(session->context) : "";
    return message[0] ? message : hb_status_text(status);
}

void hb_session_note(hb_session *session, const char *message)
{
    hb_session_clear(session);
    if (!session->quiet) fprintf(stderr, "heatball %s: note: %s\n", session->command, message);
}

void hb_session_complain(const char *command, const char *message)
{
    char line[HB_OPTIONS_MESSAGE + 200];
    snprintf(line, sizeof line, "heatball%s%s: %s", *command ? " " : "", command, message);
    for (char *c = line; *c; c++)
        if (iscntrl((unsigned char)*c) && *c != '\n') *c = '?';
    if (!hb_command_team_keeps(line)) fprintf(stderr, "%s\n", line);
}
