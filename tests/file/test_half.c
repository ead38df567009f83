/* Numbers of 16 bits against the processor's own conversion (F16C), where it has one: every half, and
 * floats at, beside and between all of them; and fixed numbers of IEEE 754 everywhere. */
#include "support.h"

#include "file/half.h"

#include <immintrin.h>
#include <math.h>

enum { HALVES = 1 << 16 };

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void fixed_numbers(void **state)
{
    (void)state;
    static const struct {
        float value;
        uint16_t half;
    } known[] = {{0.0f, 0},
                 {-0.0f, 0x8000},
                 {1.0f, 0x3c00},
                 {-2.0f, 0xc000},
                 {65504.0f, 0x7bff},
                 {65519.996f, 0x7bff},
                 {65520.0f, 0x7c00},
                 {0x1p-14f, 0x0400},
                 {0x1p-24f, 0x0001},
                 {0x1p-25f, 0}, /* a tie, to even */
                 {0x1.8p-24f, 0x0002},
                 {0.333251953125f, 0x3555},
                 {1.00048828125f, 0x3c00},  /* a tie, down to even */
                 {1.00146484375f, 0x3c02}}; /* a tie, up to even */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(hb_half_of(known[i].value), known[i].half);
    assert_true(isnan(hb_half_value(hb_half_of(NAN))));
    assert_true(hb_half_value(hb_half_of(-INFINITY)) == -INFINITY);
}

__attribute__((target("f16c"))) static void compare_values(void)
{
    for (unsigned h = 0; h < HALVES; h++) {
        const float ours = hb_half_value((uint16_t)h), theirs = _cvtsh_ss((uint16_t)h);
        if (isnan(theirs))
            assert_true(isnan(ours));
        else
            assert_int_equal(bits_of(ours), bits_of(theirs));
    }
}

__attribute__((target("f16c"))) static void compare_rounding(float value)
{
    const uint16_t theirs = _cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT);
    if (!isnan(value)) assert_int_equal(hb_half_of(value), theirs);
}

static void every_half_as_the_processor(void **state)
{
    (void)state;
    if (!__builtin_cpu_supports("avx2"))
        skip(); /* all with it have F16C, whose name clang 14 lacks */
    compare_values();
    for (unsigned h = 0; h < HALVES; h++) {
        const float value = hb_half_value((uint16_t)h), next = hb_half_value((uint16_t)(h + 1));
        const float middle = (float)(((double)value + (double)next) / 2);
        const float near[] = {value, middle};
        for (int k = 0; k < 2; k++) {
            compare_rounding(near[k]);
            compare_rounding(nextafterf(near[k], INFINITY));
            compare_rounding(nextafterf(near[k], -INFINITY));
        }
    }
    uint32_t bits = 2463534242u; /* xorshift: bit patterns of all sizes */
    for (int i = 0; i < 1000000; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        compare_rounding(float_of(bits));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_numbers),
        cmocka_unit_test(every_half_as_the_processor),
    };
    return cmocka_run_group_tests_name("half", tests, NULL, NULL);
}
