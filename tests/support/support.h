/* What the C tests share: cmocka, contexts by instruction set and with an allocator that fails,
 * distances in ulp. */
#ifndef HB_TESTS_SUPPORT_H
#define HB_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <heatball/heatball.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What HB_ISA_AUTO means in a test: the widest, or what HEATBALL_TEST_ISA names (tests/run.py). */
static inline hb_isa isa_under_test(void)
{
    static const char *const names[] = {"auto", "scalar", "sse2", "avx2", "avx512"};
    const char *wanted = getenv("HEATBALL_TEST_ISA");
    for (int isa = HB_ISA_AUTO; wanted && isa <= HB_ISA_AVX512; isa++)
        if (strcmp(wanted, names[isa]) == 0) return (hb_isa)isa;
    assert_null(wanted);
    return HB_ISA_AUTO;
}

/* A context with the given isa and threads (0: all); NULL when this processor lacks the isa. */
static inline hb_context *make_context(hb_isa isa, int threads)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.isa = isa == HB_ISA_AUTO ? isa_under_test() : isa;
    settings.threads = threads;
    hb_context *context = NULL;
    hb_status status = hb_context_create(&settings, &context);
    assert_true(status == HB_OK || status == HB_ERROR_UNAVAILABLE);
    return context;
}

/* For cmocka_run_group_tests: *state is a context with one thread, or two. */
static inline int open_context(void **state)
{
    *state = make_context(HB_ISA_AUTO, 1);
    return *state == NULL;
}

static inline int open_threads(void **state)
{
    *state = make_context(HB_ISA_AUTO, 2);
    return *state == NULL;
}

static inline int close_context(void **state)
{
    hb_context_destroy(*state);
    return 0;
}

/* An allocator that counts, and fails when its allowance is used up. */
typedef struct memory_count {
    atomic_int live, allowance;
} memory_count;

static inline void *counting_allocate(void *user, size_t bytes)
{
    memory_count *c = user;
    if (atomic_fetch_sub(&c->allowance, 1) <= 0) return NULL;
    atomic_fetch_add(&c->live, 1);
    return malloc(bytes);
}

static inline void counting_release(void *user, void *memory)
{
    atomic_fetch_sub(&((memory_count *)user)->live, 1);
    free(memory);
}

/* NULL when the allowance is 0: the context itself is the first thing alive. */
static inline hb_context *counting_context(memory_count *c)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.allocate = counting_allocate;
    settings.release = counting_release;
    settings.allocator_user = c;
    hb_context *context = NULL;
    hb_context_create(&settings, &context);
    return context;
}

/* Fails with the library's own message. */
#define assert_ok(context, call)                                                                   \
    do {                                                                                           \
        hb_status assert_ok_status = (call);                                                       \
        if (assert_ok_status != HB_OK)                                                             \
            fail_msg("%s: %s", hb_status_name(assert_ok_status), hb_context_message(context));     \
    } while (0)

/* The call must fail with this status and a message that contains the text. */
#define assert_fails(context, call, status, text)                                                  \
    do {                                                                                           \
        assert_int_equal((call), (status));                                                        \
        if (!strstr(hb_context_message(context), (text)))                                          \
            fail_msg("message is '%s', expected '%s' in it", hb_context_message(context), (text)); \
    } while (0)

/* |x - exact| <= tolerance; the second relative to exact. A NaN fails. */
static inline void assert_near(double x, double exact, double tolerance)
{
    if (!(fabs(x - exact) <= tolerance))
        fail_msg("%.17g is not %.17g: error %.2e", x, exact, x - exact);
}

static inline void assert_relative(double x, double exact, double tolerance)
{
    if (!(fabs(x - exact) <= tolerance * fabs(exact)))
        fail_msg("%.17g is not %.17g: relative error %.2e", x, exact, x / exact - 1);
}

/* |x - exact| in units of the last place of exact. */
static inline double ulp_distance(double x, long double exact)
{
    double near = fabs((double)exact);
    double ulp = nextafter(near, INFINITY) - near;
    return (double)(fabsl((long double)x - exact) / ulp);
}

static inline double ulp_distance_f32(float x, double exact)
{
    float near = fabsf((float)exact);
    float ulp = nextafterf(near, INFINITY) - near;
    return fabs((double)x - exact) / ulp;
}

/* f = 2 (x - x^3) in one dimension, as a function of the caller. */
static inline int bistable_callback(void *user, size_t n, const double *x, const double *t,
                                    double *f, double *jacobian)
{
    (void)user, (void)t;
    for (size_t i = 0; i < n; i++) {
        f[i] = 2 * (x[i] - x[i] * x[i] * x[i]);
        if (jacobian) jacobian[i] = 2 - 6 * x[i] * x[i];
    }
    return 0;
}

#endif
