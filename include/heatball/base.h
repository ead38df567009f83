/* heatball/base.h: status codes, the context, and what every call shares.
 * First tier: for users.
 *
 * Every fallible function returns an hb_status. HB_OK is zero. On any other value the outputs are
 * unspecified, nothing is leaked, and hb_context_message() holds one sentence that says what went
 * wrong, where, and what is allowed. The library never prints, exits or aborts.
 *
 * A context holds what calls share: the number of threads, the instruction set, the allocator and
 * the callbacks. It has no random state: randomness is an argument (see random.h). One context
 * serves one calling thread at a time; different contexts are independent of each other.
 *
 *     hb_context *ctx;
 *     if (hb_context_create(NULL, &ctx) != HB_OK) ...
 *     if (hb_ball_sample(ctx, HB_MEASURE_KAPPA, 7, 0, 1, 0, n, 1.0, z, sigma) != HB_OK)
 *         fprintf(stderr, "%s\n", hb_context_message(ctx));
 *     hb_context_destroy(ctx);
 *
 * Conventions of all headers (docs/reference/interface.md): arrays are row-major, x is [n][d]; double unless
 * the name ends in _f32. Arguments come in the order context, handle, settings, integers, inputs,
 * outputs. Settings may be NULL: the defaults. A context that is NULL gives HB_ERROR_ARGUMENT. A
 * struct that is written has its sizeof before it. An output array never overlaps an input array;
 * destroy(NULL) is fine. Results are bit-identical on any number of threads. */
#ifndef HEATBALL_BASE_H
#define HEATBALL_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HB_API __attribute__((visibility("default")))
#define HB_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define HB_API
#define HB_PRINTF(text, first)
#endif

#define HB_VERSION "0.3.0"

/* The one list of status codes: name, value, meaning. */
#define HB_STATUS_LIST(X)                                                                          \
    X(HB_OK, 0, "success")                                                                         \
    X(HB_ERROR_ARGUMENT, 1, "an argument is outside its allowed range")                            \
    X(HB_ERROR_MEMORY, 2, "memory could not be had")                                               \
    X(HB_ERROR_PATH, 3, "a path cannot be opened")                                                 \
    X(HB_ERROR_FILE, 4, "reading or writing a file failed")                                        \
    X(HB_ERROR_FORMAT, 5, "a file is not in the expected format")                                  \
    X(HB_ERROR_INTERRUPTED, 6, "the progress callback asked to stop")                              \
    X(HB_ERROR_NUMERICAL, 7, "a computation did not converge or left the range of double")         \
    X(HB_ERROR_UNAVAILABLE, 8, "a program or an instruction set that is needed is missing")        \
    X(HB_ERROR_CALLBACK, 9, "a callback reported failure")                                         \
    X(HB_ERROR_DOMAIN, 10, "a drift is not finite at a point where it is needed")

typedef enum hb_status {
#define HB_STATUS_ENUM(name, value, text) name = (value),
    HB_STATUS_LIST(HB_STATUS_ENUM)
#undef HB_STATUS_ENUM
} hb_status;

/* Returns from the calling function, whose own type is hb_status, when call fails; the message is
 * already on the context. */
#define HB_TRY(call)                                                                               \
    do {                                                                                           \
        hb_status hb_try_status = (call);                                                          \
        if (hb_try_status != HB_OK) return hb_try_status;                                          \
    } while (0)

/* Instruction sets of the vector kernels. AVX2 (with FMA) and AVX-512 give bit-identical results;
 * SSE2 and the scalar kernels differ from them by at most 4 units in the last place of a normal. */
typedef enum hb_isa { HB_ISA_AUTO, HB_ISA_SCALAR, HB_ISA_SSE2, HB_ISA_AVX2, HB_ISA_AVX512 } hb_isa;

/* Settings of a context; fill with hb_context_settings_default, then change what you need.
 * A NULL callback is fine and means the default. */
typedef struct hb_context_settings {
    size_t size; /* set by hb_context_settings_default */
    int threads; /* 0 (default): one per core that the process may use; at most HB_MAX_THREADS */
    int isa;     /* hb_isa; HB_ISA_AUTO (default): the widest that this processor has */
    /* Allocator. Must return memory aligned for any type, or NULL; release(NULL) is never called.
     * Both may be called from several threads at once. */
    void *(*allocate)(void *user, size_t bytes);
    void (*release)(void *user, void *memory);
    void *allocator_user;
    /* Called now and then from the calling thread during long work; done goes from 0 to total.
     * A non-zero return asks to stop: the call then returns HB_ERROR_INTERRUPTED. */
    int (*progress)(void *user, const char *what, double done, double total);
    void *progress_user;
    /* Notes that are no errors (a figure without gnuplot, say); default: dropped. */
    void (*log)(void *user, const char *message);
    void *log_user;
    /* Called before a file is opened for reading, a hb_status: other than HB_OK refuses the file
     * with that status and with the sentence that the callback gave to hb_context_fail. A program
     * that will write files learns here which paths it must not replace. */
    int (*reading)(void *user, const char *path);
    void *reading_user;
    /* The processes that do the calls together (heatball/team.h); it must outlive the context.
     * Default: NULL, this process alone. */
    const struct hb_team *team;
} hb_context_settings;

#define HB_MAX_THREADS 1024

typedef struct hb_context hb_context;

HB_API const char *hb_version(void);
HB_API const char *hb_status_name(hb_status status); /* "HB_ERROR_ARGUMENT" */
HB_API const char *hb_status_text(hb_status status); /* "an argument is outside ..." */

/* hb_context_settings_default(sizeof settings, &settings); likewise for all other settings. */
HB_API void hb_context_settings_default(size_t size, hb_context_settings *settings);

/* Creates a context; settings NULL means all defaults. HB_ERROR_ARGUMENT: threads out of range,
 * an unknown isa or size; HB_ERROR_UNAVAILABLE: this processor lacks the isa; then *out is NULL. */
HB_API hb_status hb_context_create(const hb_context_settings *settings, hb_context **out);
HB_API void hb_context_destroy(hb_context *context);

/* Releases an array that a function of this context has handed out; NULL is fine. */
HB_API void hb_context_release(hb_context *context, void *memory);

/* The message of the last failed call on this context, "" if none; valid until the next call. */
HB_API const char *hb_context_message(const hb_context *context);
/* For code above the library (callbacks, studies, bindings): stores one sentence (cut at 511 bytes)
 * as the context's message and returns status. */
HB_API hb_status hb_context_fail(hb_context *context, hb_status status, const char *message);
/* For the same: reports progress as a call of the library would; HB_ERROR_INTERRUPTED when the
 * callback asks to stop. */
HB_API hb_status hb_context_progress(hb_context *context, const char *what, double done,
                                     double total);
HB_API int hb_context_threads(const hb_context *context);
HB_API const char *
hb_context_isa(const hb_context *context); /* "avx512", "avx2", "sse2", "scalar" */

#ifdef __cplusplus
}
#endif
#endif
