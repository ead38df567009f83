/* The context: settings checked once, the message of the last failure, and the callbacks.
 *
 * Nothing here is global. hb_fail is the only way a message comes to be, and it copies its text, so
 * arguments may be temporaries. */
#include "base/context.h"
#include "base/cpu.h"
#include "base/memory.h"
#include "base/sized.h"

#include <heatball/team.h>

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *hb_version(void)
{
    return HB_VERSION;
}

const char *hb_status_name(hb_status status)
{
    switch (status) {
#define HB_STATUS_NAME(name, value, text)                                                          \
    case name: return #name;
        HB_STATUS_LIST(HB_STATUS_NAME)
#undef HB_STATUS_NAME
    }
    return "HB_UNKNOWN";
}

const char *hb_status_text(hb_status status)
{
    switch (status) {
#define HB_STATUS_TEXT(name, value, text)                                                          \
    case name: return text;
        HB_STATUS_LIST(HB_STATUS_TEXT)
#undef HB_STATUS_TEXT
    }
    return "not a status of this library";
}

static void *allocate_with_malloc(void *user, size_t bytes)
{
    (void)user;
    return malloc(bytes);
}

static void release_with_free(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void hb_context_settings_default(size_t size, hb_context_settings *settings)
{
    const hb_context_settings defaults = {.isa = HB_ISA_AUTO};
    hb_sized_default(sizeof defaults, &defaults, size, settings);
}

hb_status hb_context_create(const hb_context_settings *settings, hb_context **out)
{
    if (!out) return HB_ERROR_ARGUMENT;
    *out = NULL;
    hb_context none = {0}, *context = &none; // for a message that nobody reads
    hb_context_settings chosen;
    hb_context_settings_default(sizeof chosen, &chosen);
    HB_TRY(hb_sized_read(context, "hb_context_settings", offsetof(hb_context_settings, team),
                         sizeof chosen, settings, &chosen));
    if (chosen.threads < 0 || chosen.threads > HB_MAX_THREADS) return HB_ERROR_ARGUMENT;
    if (chosen.isa < HB_ISA_AUTO || chosen.isa > HB_ISA_AVX512) return HB_ERROR_ARGUMENT;
    if (!chosen.allocate != !chosen.release) return HB_ERROR_ARGUMENT;
    const hb_team *team = chosen.team;
    if (team && (!team->gather || team->rank < 0 || team->rank >= team->ranks || team->threads < 0))
        return HB_ERROR_ARGUMENT;
    if (!hb_cpu_has((hb_isa)chosen.isa)) return HB_ERROR_UNAVAILABLE;
    if (!chosen.allocate) {
        chosen.allocate = allocate_with_malloc;
        chosen.release = release_with_free;
    }
    context = chosen.allocate(chosen.allocator_user, sizeof *context);
    if (!context) return HB_ERROR_MEMORY;
    memset(context, 0, sizeof *context);
    context->settings = chosen;
    const int cores = team && team->threads ? team->threads : omp_get_max_threads();
    context->threads = chosen.threads ? chosen.threads : cores;
    context->isa = chosen.isa == HB_ISA_AUTO ? hb_cpu_best() : (hb_isa)chosen.isa;
    *out = context;
    return HB_OK;
}

void hb_context_destroy(hb_context *context)
{
    if (context) context->settings.release(context->settings.allocator_user, context);
}

void hb_context_release(hb_context *context, void *memory)
{
    if (context) hb_release(context, memory);
}

const char *hb_context_message(const hb_context *context)
{
    return context ? context->message : "";
}

hb_status hb_context_fail(hb_context *context, hb_status status, const char *message)
{
    return hb_fail(context, status, "%s", message ? message : hb_status_text(status));
}

int hb_context_threads(const hb_context *context)
{
    return context ? context->threads : 0;
}

const char *hb_context_isa(const hb_context *context)
{
    return context ? hb_cpu_name(context->isa) : "";
}

/* The sign of a nan says nothing, and printf shows it. */
static void print(size_t size, char *text, const char *format, va_list arguments)
{
    vsnprintf(text, size, format, arguments);
    for (char *at = text; (at = strstr(at, "-nan")); at++) memmove(at, at + 1, strlen(at));
}

static _Thread_local char last_message[sizeof((hb_context *)0)->message];

char *hb_last_message(void)
{
    return last_message;
}

hb_status hb_fail(hb_context *context, hb_status status, const char *format, ...)
{
    if (!context) return HB_ERROR_ARGUMENT;
    char text[sizeof context->message];
    va_list arguments;
    va_start(arguments, format);
    print(sizeof text, text, format, arguments);
    va_end(arguments);
#pragma omp critical(hb_message)
    memcpy(context->message, text, sizeof text);
    memcpy(last_message, text, sizeof text);
    return status;
}

void hb_note(hb_context *context, const char *format, ...)
{
    if (!context->settings.log) return;
    char text[sizeof context->message];
    va_list arguments;
    va_start(arguments, format);
    print(sizeof text, text, format, arguments);
    va_end(arguments);
    context->settings.log(context->settings.log_user, text);
}

double hb_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int hb_is_late(const hb_context *context)
{
    return context->deadline && hb_seconds() > *context->deadline;
}

hb_status hb_fail_late(hb_context *context)
{
    return hb_fail(context, HB_ERROR_INTERRUPTED, "the time limit is reached");
}

hb_context hb_context_child(const hb_context *context, int threads)
{
    hb_context child = {.settings = context->settings,
                        .threads = threads > 0 ? threads : context->threads,
                        .isa = context->isa,
                        .deadline = context->deadline};
    child.settings.progress = NULL;
    if (threads > 0) child.settings.team = NULL;
    return child;
}

hb_status hb_context_adopt(hb_context *context, const hb_context *child, hb_status status)
{
    return status != HB_OK && child->message[0] ? hb_fail(context, status, "%s", child->message)
                                                : status;
}

hb_status hb_progress(hb_context *context, const char *what, double done, double total)
{
    const hb_context_settings *settings = &context->settings;
    const int may_stop = context->apart || hb_context_ranks(context) == 1;
    if (may_stop && hb_is_late(context)) return hb_fail_late(context);
    if (settings->progress && !context->muted &&
        settings->progress(settings->progress_user, what, done, total) && may_stop)
        return hb_fail(context, HB_ERROR_INTERRUPTED, "%s: stopped by request", what);
    return HB_OK;
}

hb_status hb_reading(hb_context *context, const char *path)
{
    const hb_context_settings *settings = &context->settings;
    if (!settings->reading) return HB_OK;
    return (hb_status)settings->reading(settings->reading_user, path);
}

hb_status hb_context_progress(hb_context *context, const char *what, double done, double total)
{
    HB_CHECK(context, what, HB_ERROR_ARGUMENT, "progress has no name (NULL)");
    const int apart = context->apart;
    context->apart = 1; // the caller agrees with the other ranks
    const hb_status status = hb_progress(context, what, done, total);
    context->apart = apart;
    return status;
}
