/* What the C tests share: cmocka, a context by instruction set, distances in ulp. */
#ifndef HB_TESTS_SUPPORT_H
#define HB_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <heatball/heatball.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A context with the given isa and threads (0: all); NULL when this processor lacks the isa. */
static inline hb_context *make_context(hb_isa isa, int threads)
{
    hb_settings settings;
    hb_settings_default(&settings);
    settings.isa = isa;
    settings.threads = threads;
    hb_context *context = NULL;
    hb_status status = hb_context_create(&context, &settings);
    assert_true(status == HB_OK || status == HB_ERROR_UNAVAILABLE);
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

#endif
