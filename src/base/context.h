/* base/context.h: what the library's own files see of a context, and the error macro HB_CHECK. */
#pragma once

#include <heatball/base.h>

struct hb_context {
    hb_context_settings settings;
    int threads;
    hb_isa isa;             /* never HB_ISA_AUTO */
    const double *deadline; /* of hb_seconds; NULL: none. Its children share it */
    /* in a process group: this rank does a part, and all agree at its end on how it went */
    int apart;
    /* calls of a user's function under way, which may use this context: no progress from inside */
    int muted;
    char message[512];
};

/* The message of the last hb_fail of this thread, for loops that keep that of one task; as long as
 * a context's. */
char *hb_last_message(void);
/* Stores the message and returns status; HB_ERROR_ARGUMENT without a context. Safe to call from
 * several threads; the last one wins. */
hb_status hb_fail(hb_context *context, hb_status status, const char *format, ...) HB_PRINTF(3, 4);

/* Hands a note to the log callback, if there is one. */
void hb_note(hb_context *context, const char *format, ...) HB_PRINTF(2, 3);

/* Seconds since some moment in the past. */
double hb_seconds(void);
/* 1 when there is a deadline and it is over: long tasks ask, and end with HB_ERROR_INTERRUPTED. */
int hb_is_late(const hb_context *context);
hb_status hb_fail_late(hb_context *context);

/* A context for a part of what context does: its settings and deadline, no progress, a message of
 * its own, so many threads (0: as many as context, and its process group; else it is for one task,
 * and has none). A plain value with nothing to destroy; context must outlive it. */
hb_context hb_context_child(const hb_context *context, int threads);
/* The end of a child's call: hands its message up when status is an error, and returns status. */
hb_status hb_context_adopt(hb_context *context, const hb_context *child, hb_status status);

/* Reports progress; HB_ERROR_INTERRUPTED when the callback asks to stop, or at the deadline. In
 * work that every rank of a process group does, nobody stops: the others would wait for it. There
 * hb_team_progress asks again. */
hb_status hb_progress(hb_context *context, const char *what, double done, double total);

/* Asks the callback whether the file may be read; every reader calls it before it opens a path. */
hb_status hb_reading(hb_context *context, const char *path);

/* Returns from the calling function with a message unless condition holds; without a context, with
 * HB_ERROR_ARGUMENT. */
#define HB_CHECK(context, condition, status, ...)                                                  \
    do {                                                                                           \
        if (!(context) || !(condition)) {                                                          \
            hb_fail((context), (status), __VA_ARGS__);                                             \
            return (context) ? (status) : HB_ERROR_ARGUMENT;                                       \
        }                                                                                          \
    } while (0)
