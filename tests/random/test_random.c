/* The random room against Random123's own Philox, its published known answers, and a plain
 * long-double Box-Muller: every instruction set, every access pattern. */
#include "random/streams.h"
#include "support.h"

#include "random/philox.h"

#include <Random123/philox.h>

static const hb_isa ISAS[] = {HB_ISA_SCALAR, HB_ISA_SSE2, HB_ISA_AVX2, HB_ISA_AVX512};
enum { N_ISAS = 4, N = 20011 };
static const uint64_t SEED = 0x9d2c5680a3b1e7f4u, STREAM = 0xfeedf00d00000007u;

/* Runs body once per instruction set that this processor has. */
#define FOR_EACH_ISA(context)                                                                      \
    for (int isa_index = 0; isa_index < N_ISAS; isa_index++)                                       \
        for (hb_context *context = make_context(ISAS[isa_index], 1); context;                      \
             hb_context_destroy(context), context = NULL)

/* Known answers published with Random123 (kat_vectors, philox4x32, 10 rounds). */
static void known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    FOR_EACH_ISA(ctx)
    {
        const hb_vector_kernels *kernels = hb_vector_kernels_of(ISAS[isa_index]);
        for (size_t i = 0; i < 2; i++) {
            uint32_t words[4 * HB_BLOCK_GROUP];
            uint64_t seed = kat[i].key[0] | (uint64_t)kat[i].key[1] << 32;
            uint64_t block = kat[i].counter[0] | (uint64_t)kat[i].counter[1] << 32;
            uint64_t stream = kat[i].counter[2] | (uint64_t)kat[i].counter[3] << 32;
            kernels->words(seed, stream, block, HB_BLOCK_GROUP, words);
            assert_memory_equal(words, kat[i].answer, 16);
        }
        /* Counter and key of all ones: the last block of all, so the group wraps after it. */
        static const uint32_t ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
        uint32_t words[4 * HB_BLOCK_GROUP];
        kernels->words(UINT64_MAX, UINT64_MAX, UINT64_MAX, HB_BLOCK_GROUP, words);
        assert_memory_equal(words, ones, 16);
    }
}

static void reference_words(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4])
{
    philox4x32_ctr_t counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    philox4x32_ctr_t words = philox4x32(counter, key);
    memcpy(out, words.v, 16);
}

/* The halves of the block that draw i (two to a block) comes from. */
static void reference_halves(uint64_t i, uint64_t half[2])
{
    uint32_t words[4];
    reference_words(SEED, STREAM, i / 2, words);
    half[0] = words[0] | (uint64_t)words[1] << 32;
    half[1] = words[2] | (uint64_t)words[3] << 32;
}

static void words_follow_random123(void **state)
{
    (void)state;
    const uint64_t first = 0x1fffffff3u; /* blocks cross the carry into the high counter word */
    FOR_EACH_ISA(ctx)
    {
        uint32_t *words = malloc(N * sizeof *words);
        assert_ok(ctx, hb_random_words(ctx, SEED, STREAM, 4 * first + 3, N, words));
        for (uint64_t i = 0; i < N; i++) {
            uint32_t expected[4];
            reference_words(SEED, STREAM, first + (i + 3) / 4, expected);
            assert_int_equal(words[i], expected[(i + 3) % 4]);
        }
        free(words);
    }
}

static void uniforms_follow_their_definition(void **state)
{
    (void)state;
    FOR_EACH_ISA(ctx)
    {
        double *u = malloc(N * sizeof *u);
        assert_ok(ctx, hb_random_uniform(ctx, SEED, STREAM, 5, N, u));
        for (uint64_t i = 0; i < N; i++) {
            uint64_t half[2];
            reference_halves(i + 5, half);
            double expected = ((double)(half[(i + 5) % 2] >> 12) + 0.5) * 0x1p-52;
            assert_true(u[i] == expected && u[i] > 0 && u[i] < 1);
        }
        free(u);
    }
}

/* Normal i by the definition in random.h and docs/reference/random.md, in long double. */
static long double reference_normal(uint64_t i)
{
    uint64_t half[2];
    reference_halves(i, half);
    long double u = ((long double)(half[0] >> 12) + 0.5L) * 0x1p-52L;
    long double fraction = (long double)(half[1] >> 10 & 0xFFFFFFFFFFFFFu) * 0x1p-52L;
    long double angle = 1.57079632679489661923132169163975144L * (fraction + 0x1p-53L - 0.5L);
    long double r = sqrtl(-2 * logl(u)) * (half[1] >> 63 ? -1 : 1);
    int swap = half[1] >> 62 & 1;
    return r * ((int)(i % 2) == swap ? cosl(angle) : sinl(angle));
}

static void normals_follow_long_double(void **state)
{
    (void)state;
    FOR_EACH_ISA(ctx)
    {
        double *x = malloc(N * sizeof *x), worst = 0;
        assert_ok(ctx, hb_random_normal(ctx, SEED, STREAM, 7, N, x));
        for (uint64_t i = 0; i < N; i++)
            worst = fmax(worst, ulp_distance(x[i], reference_normal(i + 7)));
        print_message("%s: normals within %.2f ulp\n", hb_context_isa(ctx), worst);
        assert_true(worst < 4);
        free(x);
    }
}

/* The logarithm where it is hard: next to 1, at the cut of mantissas, at the smallest uniform. */
static void logarithm_at_its_corners(void **state)
{
    (void)state;
    double corner[HB_BLOCK_GROUP];
    for (int i = 0; i < HB_BLOCK_GROUP; i++) corner[i] = 0.7071067811865475 + (i - 16) * 0x1p-53;
    corner[0] = 0x1p-53;
    corner[1] = 1 - 0x1p-53;
    corner[2] = 1 - 0x1p-30;
    corner[3] = 0.5;
    corner[4] = 0x1p-1022;
    corner[5] = 3 * 0x1p-53;
    FOR_EACH_ISA(ctx)
    {
        double x[HB_BLOCK_GROUP];
        memcpy(x, corner, sizeof x);
        hb_vector_kernels_of(ISAS[isa_index])->minus_two_log(HB_BLOCK_GROUP, x);
        for (int i = 0; i < HB_BLOCK_GROUP; i++)
            assert_true(ulp_distance(x[i], -2 * logl((long double)corner[i])) < 2);
    }
}

static void float_normals_follow_their_definition(void **state)
{
    (void)state;
    FOR_EACH_ISA(ctx)
    {
        float *x = malloc(N * sizeof *x), *u = malloc(N * sizeof *u);
        double worst = 0;
        assert_ok(ctx, hb_random_normal_f32(ctx, SEED, STREAM, 9, N, x));
        assert_ok(ctx, hb_random_uniform_f32(ctx, SEED, STREAM, 9, N, u));
        for (uint64_t i = 0; i < N; i++) {
            uint32_t w[4];
            reference_words(SEED, STREAM, (i + 9) / 4, w);
            uint32_t radius = w[(i + 9) % 4 & 2u], angle = w[((i + 9) % 4 & 2u) + 1];
            float v = ((float)(radius & 0x7fffffffu) + 0.5f) * 0x1p-31f;
            double r = sqrt(-2 * log((double)fminf(v, 1 - 0x1p-24f)));
            double turn = M_PI * ((float)(int32_t)angle * 0x1p-31f);
            worst = fmax(worst, ulp_distance_f32(x[i], r * ((i + 9) % 2 ? sin(turn) : cos(turn))));
            assert_true(u[i] == ((float)(w[(i + 9) % 4] >> 9) + 0.5f) * 0x1p-23f);
        }
        print_message("%s: float normals within %.2f ulp\n", hb_context_isa(ctx), worst);
        assert_true(worst < 4);
        free(x);
        free(u);
    }
}

/* AVX2 and AVX-512 give the same bits, and so do SSE2 and scalar. */
static void instruction_sets_agree(void **state)
{
    (void)state;
    static const hb_isa pair[2][2] = {{HB_ISA_SCALAR, HB_ISA_SSE2}, {HB_ISA_AVX2, HB_ISA_AVX512}};
    for (int i = 0; i < 2; i++) {
        hb_context *a = make_context(pair[i][0], 1), *b = make_context(pair[i][1], 1);
        if (a && b) {
            double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
            float *p = malloc(N * sizeof *p), *q = malloc(N * sizeof *q);
            assert_ok(a, hb_random_normal(a, SEED, STREAM, 3, N, x));
            assert_ok(b, hb_random_normal(b, SEED, STREAM, 3, N, y));
            assert_ok(a, hb_random_normal_f32(a, SEED, STREAM, 3, N, p));
            assert_ok(b, hb_random_normal_f32(b, SEED, STREAM, 3, N, q));
            assert_memory_equal(x, y, N * sizeof *x);
            assert_memory_equal(p, q, N * sizeof *p);
            free(x);
            free(y);
            free(p);
            free(q);
        }
        hb_context_destroy(a);
        hb_context_destroy(b);
    }
}

/* One call on one thread, pieces of awkward sizes, and five threads: the same bits. */
static void pieces_and_threads_do_not_matter(void **state)
{
    (void)state;
    enum { MANY = 300007 };
    hb_context *one = make_context(HB_ISA_AUTO, 1), *five = make_context(HB_ISA_AUTO, 5);
    double *x = malloc(MANY * sizeof *x), *y = malloc(MANY * sizeof *y);
    assert_ok(one, hb_random_normal(one, 11, 2, 1, MANY, x));
    assert_ok(five, hb_random_normal(five, 11, 2, 1, MANY, y));
    assert_memory_equal(x, y, MANY * sizeof *x);
    memset(y, 0, MANY * sizeof *y);
    for (size_t at = 0, piece = 1; at < MANY; at += piece, piece = piece * 7 % 1009 + 1) {
        if (piece > MANY - at) piece = MANY - at;
        assert_ok(one, hb_random_normal(one, 11, 2, 1 + at, piece, y + at));
    }
    assert_memory_equal(x, y, MANY * sizeof *x);
    free(x);
    free(y);
    hb_context_destroy(one);
    hb_context_destroy(five);
}

/* Moments 1 to 6 of 2 million normals at 5 standard errors: mean of x^k has variance
 * (2k-1)!! - ((k-1)!!)^2 [k even], (2k-1)!! [k odd]. */
static void normal_moments(void **state)
{
    (void)state;
    enum { MANY = 2000000 };
    static const double mean[7] = {1, 0, 1, 0, 3, 0, 15};
    static const double variance[7] = {0, 1, 2, 15, 96, 945, 10395 - 225};
    hb_context *ctx = make_context(HB_ISA_AUTO, 2);
    double *x = malloc(MANY * sizeof *x), sum[7] = {0};
    assert_ok(ctx, hb_random_normal(ctx, 2385, 17, 0, MANY, x));
    for (size_t i = 0; i < MANY; i++)
        for (int k = 1; k <= 6; k++) sum[k] += pow(x[i], k);
    for (int k = 1; k <= 6; k++)
        assert_true(fabs(sum[k] / MANY - mean[k]) < 5 * sqrt(variance[k] / MANY));
    free(x);
    hb_context_destroy(ctx);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    hb_context *ctx = make_context(HB_ISA_AUTO, 0);
    double x;
    assert_fails(ctx, hb_random_normal(ctx, 1, 0, UINT64_MAX, 1, &x), HB_ERROR_ARGUMENT, "2^64");
    assert_fails(ctx, hb_random_normal(ctx, 1, 0, 0, 3, NULL), HB_ERROR_ARGUMENT, "NULL");
    assert_ok(ctx, hb_random_normal(ctx, 1, 0, 0, 0, NULL));
    hb_context_destroy(ctx);
}

/* ---- streams ---- */

typedef struct range {
    const char *name;
    uint64_t first, count;
} range;

#define RANGE(name, first, count) {#name, UINT64_C(first), count},
static const range RANGES[] = {HB_STREAMS(RANGE)};
#undef RANGE

/* No two uses of a seed have the same draws, and none has those of a caller. */
static void streams_do_not_meet(void **state)
{
    (void)state;
    const size_t n = sizeof RANGES / sizeof *RANGES;
    assert_true(n > 20);
    for (size_t i = 0; i < n; i++) {
        assert_true(RANGES[i].first >> 63 == 1 && RANGES[i].count > 0);
        assert_true(RANGES[i].first + (RANGES[i].count - 1) >= RANGES[i].first);
        for (size_t j = 0; j < i; j++) {
            const range *low = RANGES[i].first < RANGES[j].first ? &RANGES[i] : &RANGES[j];
            const range *high = low == &RANGES[i] ? &RANGES[j] : &RANGES[i];
            if (high->first - low->first < low->count)
                fail_msg("the streams %s and %s meet", low->name, high->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(words_follow_random123),
        cmocka_unit_test(uniforms_follow_their_definition),
        cmocka_unit_test(normals_follow_long_double),
        cmocka_unit_test(logarithm_at_its_corners),
        cmocka_unit_test(float_normals_follow_their_definition),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(pieces_and_threads_do_not_matter),
        cmocka_unit_test(normal_moments),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(streams_do_not_meet),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
