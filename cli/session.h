/* cli/session.h: what every command shares while it runs: the context made from the common options,
 * the signals, progress on stderr, and the one line that a failure prints.
 *
 * A command is an entry of the table in main.c. It gets its parsed values and returns a status; a
 * message of its own goes through hb_session_fail, otherwise the context's message is printed. */
#pragma once

#include "options.h"
#include "outputs.h"

#include <heatball/base.h>
#include <sys/types.h>

typedef struct hb_common {
    int threads, isa, quiet, help, version;
} hb_common;

extern const hb_option hb_session_options[]; /* of an hb_common */

/* Entries that more than one command has, so that they read the same everywhere. */
#define HB_OPTION_SEED(member, value)                                                              \
    HB_OPTION(UNSIGNED, "seed", "S", member,                                                       \
              "seed of the random numbers; the same seed gives bit-identical results",             \
              .fallback = (value))
#define HB_OPTION_JSON HB_OPTION(FLAG, "json", NULL, json, "print the result as one JSON object")

typedef struct hb_session hb_session;

typedef struct hb_command {
    const char *name, *summary; /* one line in heatball --help */
    const char *text;           /* of heatball NAME --help */
    const char *examples[6]; /* lines to type one after the other, the simplest first; then NULL */
    const hb_option *options;
    size_t size; /* of the struct that options fill */
    hb_status (*run)(hb_session *session, const void *values);
    int alone; /* in a team rank 0 does it, and the others wait */
} hb_command;

/* Installs the signal handlers and creates the context; a file that is read is refused when it
 * is one of the outputs, which the session owns from now on. On failure the session still
 * answers hb_session_message and hb_session_close. NULL: no memory. */
hb_session *hb_session_open(const char *command, const hb_common *common, hb_outputs *outputs,
                            hb_status *status);
void hb_session_close(hb_session *session); /* NULL is fine */

hb_context *hb_session_context(const hb_session *session);
/* One more file that this run will write, beside those of the options' tables; a figure is
 * three. */
hb_status hb_session_writes(hb_session *session, const char *option, const char *path, int figure);
/* Files DIRECTORY/NAME of -o, a list that ends with NULL; directory NULL: none. */
hb_status hb_session_writes_in(hb_session *session, const char *directory, const char *const *names,
                               int figures);
/* All inputs of the user have been opened: what is read from now on (a log, a state, a
 * checkpoint) is the run's own. */
void hb_session_inputs_end(hb_session *session);
/* A file that the command itself has read; HB_ERROR_ARGUMENT: it is an output, too. */
hb_status hb_session_reads(hb_session *session, const char *path);
int hb_session_quiet(const hb_session *session);
/* What rank 0 of a team does alone stands between these two: 1 where it is to be done, on a
 * context without a team. Then all ranks have its status. Without a team: 1, and the status as
 * it is. */
int hb_session_alone(hb_session *session, const char *what);
hb_status hb_session_together(hb_session *session, hb_status status);

/* Stores the message of this failure, one line, and returns status; refuse: HB_ERROR_ARGUMENT. */
hb_status hb_session_fail(hb_session *session, hb_status status, const char *format, ...)
    HB_PRINTF(3, 4);
hb_status hb_session_refuse(hb_session *session, const char *format, ...) HB_PRINTF(2, 3);
/* Returns from the function that checks, as HB_CHECK does in the library. */
#define HB_REFUSE_IF(session, condition, ...)                                                      \
    do {                                                                                           \
        if (condition) return hb_session_refuse((session), __VA_ARGS__);                           \
    } while (0)
/* The sentence to print for a failed status: the session's, else the context's, else the status's.
 */
const char *hb_session_message(const hb_session *session, hb_status status);

/* From now on the command itself counts its work, in units such as "rows", with
 * hb_session_progress; the library's reports, which are about a part of it, are not shown. */
void hb_session_count(hb_session *session, const char *what, const char *unit);
/* Words that the line of progress has behind the fraction that is done. */
void hb_session_detail(hb_session *session, const char *format, ...) HB_PRINTF(2, 3);
/* HB_ERROR_INTERRUPTED after SIGINT, SIGTERM or SIGHUP. */
hb_status hb_session_progress(hb_session *session, double done, double total);

/* The library's work from now on ends after so many seconds with HB_ERROR_INTERRUPTED; 0:
 * without a limit. */
void hb_session_limit(hb_session *session, double seconds);
/* The command has succeeded: where lines of progress were printed, the last one. */
void hb_session_done(const hb_session *session);
/* A process group that the second signal ends with the command; 0: none. */
void hb_session_helper(pid_t group);

/* A context for another thread of the command: one thread, no team, the session's instruction
 * set; it shows nothing and stops after the same signals. */
hb_status hb_session_worker(const hb_session *session, hb_context **context);
/* A progress callback of another context: shows nothing, and stops after the same signals. */
int hb_session_stops(void *user, const char *what, double done, double total);

/* Takes the progress line off the terminal, before something is printed on stdout. */
void hb_session_clear(hb_session *session);

double hb_session_now(void); /* seconds since some moment in the past */

/* Prints "heatball COMMAND: note: message" on stderr, unless the session is quiet. */
void hb_session_note(hb_session *session, const char *message);
/* Prints "heatball COMMAND: message" on stderr; control characters become '?', but a line break of
 * the library stays: below a wrong expression stand its text and a caret. */
void hb_session_complain(const char *command, const char *message);
