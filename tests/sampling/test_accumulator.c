/* The accumulator of the sampling methods: moments against sums written out plainly, errors against the spread
 * over repetitions, and each flag provoked by a distribution that deserves it. */
#include "support.h"

#include "sampling/accumulator.h"
#include "sampling/spread.h"

enum { DIM = 2, N = 1000, MOST = 60 + 4 * 32 };

/* a = s e^(sZ - s^2/2) and two gradients that go with it. */
typedef struct units {
    double *a, *b; // (n), (n, DIM)
} units;

static units draw(hb_context *context, uint64_t stream, size_t n, double s)
{
    units u = {malloc(n * sizeof(double)), malloc(n * DIM * sizeof(double))};
    double *z = malloc(3 * n * sizeof(double));
    assert_ok(context, hb_random_normal(context, 5, stream, 0, 3 * n, z));
    for (size_t i = 0; i < n; i++) {
        u.a[i] = 2.385 * exp(s * z[3 * i] - s * s / 2);
        u.b[2 * i] = u.a[i] * (0.7 + 0.4 * z[3 * i + 1]);
        u.b[2 * i + 1] = -1.3 * u.a[i] + 0.9 * z[3 * i + 2];
    }
    free(z);
    return u;
}

static void drop(units u)
{
    free(u.a);
    free(u.b);
}

static hb_answer answer(const double *sums, double log_scale, double *score, double *se)
{
    hb_answer out;
    hb_accumulator_answer(DIM, sums, log_scale, &out, score, se);
    return out;
}

static void four_units_by_hand(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {1, 2, 0.5, -1};
    double sums[MOST], score, se;
    hb_answer out;
    assert_true(hb_accumulator_size(1) <= MOST);
    hb_accumulator_clear(1, sums);
    hb_accumulator_add(1, sums, 4, a, b);
    hb_accumulator_answer(1, sums, log(3.0), &out, &score, &se);
    assert_relative(out.density, 7.5, 1e-14);
    assert_relative(out.relative, 1.3925 * sqrt(5.0 / 12) / 2.5, 1e-14);
    assert_relative(out.effective, 100.0 / 30, 1e-14);
    assert_int_equal(out.flag, HB_FLAG_FEW);
    assert_true(isinf(out.density_se) && isinf(se));
    assert_true(hb_accumulator_units(sums) == 4);
}

/* Against the definitions, in two passes and long double. */
static void moments_are_those_of_the_definition(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    units u = draw(context, 1, N, 0.4);
    double sums[MOST], score[DIM], se[DIM];
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_add(DIM, sums, N, u.a, u.b);
    const double scale = -1.7;
    hb_answer out = answer(sums, scale, score, se);
    long double A = 0, B[DIM] = {0}, aa = 0, ab[DIM] = {0}, bb[DIM] = {0};
    for (int i = 0; i < N; i++) A += u.a[i] / (long double)N;
    for (int i = 0; i < N * DIM; i++) B[i % DIM] += u.b[i] / (long double)N;
    for (int i = 0; i < N; i++) {
        aa += (u.a[i] - A) * (u.a[i] - A) / (N - 1);
        for (int k = 0; k < DIM; k++) {
            ab[k] += (u.a[i] - A) * (u.b[i * DIM + k] - B[k]) / (N - 1);
            bb[k] += (u.b[i * DIM + k] - B[k]) * (u.b[i * DIM + k] - B[k]) / (N - 1);
        }
    }
    long double fourth = 0;
    for (int i = 0; i < N; i++) fourth += powl(u.a[i] - A, 4) / N;
    const long double variance = aa * (N - 1) / N, nu = 2 * N / (fourth / variance / variance - 1);
    const double wide = (double)(1 + 1.21L / nu + 1.44L / (nu * nu)); // Student's
    const double plain = (double)(sqrtl(aa / N) / A), e = wide * plain;
    const double v = (double)logl(A) + scale, density = exp(v);
    assert_true(wide > 1.0005);
    assert_int_equal(out.flag, HB_FLAG_NONE);
    assert_int_equal(out.score_flag, HB_FLAG_NONE);
    assert_relative(out.density, density, 1e-13);
    assert_relative(out.density_se, density * e, 1e-12);
    assert_relative(out.log_density, v + plain * plain / 2, 1e-12);
    assert_relative(out.log_density_se, e, 1e-12);
    assert_relative(out.entropy, density * v - density * plain * plain / 2, 1e-12);
    assert_relative(out.entropy_se, density * sqrt(e * e * (1 + v) * (1 + v) + e * e * e * e / 2),
                    1e-12);
    for (int k = 0; k < DIM; k++) {
        const long double S = B[k] / A;
        assert_relative(score[k], (double)(S - (S * aa - ab[k]) / (N * A * A)), 1e-12);
        const double square = (double)((bb[k] - 2 * S * ab[k] + S * S * aa) / N);
        assert_relative(se[k], wide * sqrt(square) / (double)A, 1e-10);
    }
    drop(u);
    hb_context_destroy(context);
}

static void merging_gives_what_adding_gives(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    units u = draw(context, 2, N, 0.6);
    double whole[MOST], parts[MOST], part[MOST], score[2][DIM], se[2][DIM];
    hb_accumulator_clear(DIM, whole);
    hb_accumulator_add(DIM, whole, N, u.a, u.b);
    hb_accumulator_lose(whole, 3);
    hb_accumulator_clear(DIM, parts);
    const size_t ends[] = {0, 1, 1, 137, 500, N};
    for (int k = 0; k < 5; k++) {
        hb_accumulator_clear(DIM, part);
        hb_accumulator_add(DIM, part, ends[k + 1] - ends[k], u.a + ends[k], u.b + ends[k] * DIM);
        if (k == 3) hb_accumulator_lose(part, 3);
        hb_accumulator_merge(DIM, parts, part);
    }
    for (size_t k = 0; k < hb_accumulator_size(DIM); k++)
        assert_near(parts[k], whole[k], 1e-11 * (1 + fabs(whole[k])));
    hb_answer a = answer(whole, 0, score[0], se[0]), b = answer(parts, 0, score[1], se[1]);
    assert_true(b.units == N && b.lost == 3 && a.tail_index == b.tail_index);
    drop(u);
    hb_context_destroy(context);
}

/* Differences 1, 2, 3 with A = 10: mean 2, its error^2 1/3; and the same in two parts. */
static void differences_beyond_noise_are_claimed(void **state)
{
    (void)state;
    const double da[] = {1, 2, 3}, db[] = {5, 5, 5};
    double whole[16] = {0}, parts[16] = {0}, part[16] = {0};
    assert_true(hb_bias_size(1) <= 16);
    hb_bias_differ(1, whole, 3, da, db);
    assert_relative(hb_bias_density(1, whole, 10), sqrt(11.0 / 3) / 10, 1e-14);
    assert_relative(hb_bias_score(1, whole, 10, 0, 0), 0.5, 1e-14);
    assert_near(hb_bias_score(1, whole, 10, 0, 2), 0, 1e-14); // 5 - 2*2 = 1 with error 2/sqrt(3)
    hb_bias_differ(1, parts, 1, da, db);
    hb_bias_differ(1, part, 2, da + 1, db + 1);
    hb_bias_merge(1, parts, part);
    for (int k = 0; k < 6; k++) assert_near(parts[k], whole[k], 1e-14);

    hb_context *context;
    assert_ok(NULL, hb_context_create(NULL, &context));
    const units u = draw(context, 77, N, 0.3);
    double sums[MOST], score[DIM], se[DIM], plain[DIM], *none = calloc(N * (1 + DIM), sizeof *none);
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_add(DIM, sums, N, u.a, u.b);
    const hb_answer before = answer(sums, 0, score, plain);
    for (int i = 0; i < N; i++) none[i] = 0.02 * 2.385; // all alike: 2 % of the density, no noise
    hb_accumulator_differ(DIM, sums, N, none, none + N);
    hb_answer after = answer(sums, 0, score, se);
    assert_near(after.relative, hypot(before.relative, 0.02), 4e-4);
    assert_true(after.flag == HB_FLAG_NONE && fabs(after.bias - 0.02) < 4e-4);
    for (int i = 0; i < N; i++) none[i] = 0.2 * 2.385;
    hb_accumulator_differ(DIM, sums, N, none, none + N);
    after = answer(sums, 0, score, se);
    assert_int_equal(after.flag, HB_FLAG_COARSE);
    assert_true(isinf(after.density_se) && isinf(se[0]));
    free(none);
    drop(u);
    hb_context_destroy(context);
}

/* Over REPEATS repetitions the reported error is the real spread, and nothing is off by more than 5 errors
 * of the mean: density 2.385 e^scale, scores 0.7 and -1.3. */
static void claimed_errors_are_the_spread(void **state)
{
    (void)state;
    enum { REPEATS = 400, PART = 250, QUANTITIES = 5 };
    hb_context *context = make_context(HB_ISA_AUTO, 0);
    const double scale = 0.3, u = 2.385 * exp(scale);
    const double truth[QUANTITIES] = {u, log(u), u * log(u), 0.7, -1.3};
    double sum[QUANTITIES] = {0}, square[QUANTITIES] = {0}, claimed[QUANTITIES] = {0};
    for (int r = 0; r < REPEATS; r++) {
        units drawn = draw(context, 1000 + (uint64_t)r, PART, 0.5);
        double sums[MOST], score[DIM], se[DIM];
        hb_accumulator_clear(DIM, sums);
        hb_accumulator_add(DIM, sums, PART, drawn.a, drawn.b);
        const hb_answer out = answer(sums, scale, score, se);
        assert_int_equal(out.flag, HB_FLAG_NONE);
        const double value[] = {out.density, out.log_density, out.entropy, score[0], score[1]};
        const double error[] = {out.density_se, out.log_density_se, out.entropy_se, se[0], se[1]};
        for (int q = 0; q < QUANTITIES; q++) {
            sum[q] += (value[q] - truth[q]) / REPEATS;
            square[q] += (value[q] - truth[q]) * (value[q] - truth[q]) / REPEATS;
            claimed[q] += error[q] * error[q] / REPEATS;
        }
        drop(drawn);
    }
    for (int q = 0; q < QUANTITIES; q++) {
        assert_near(sum[q], 0, 5 * sqrt(square[q] / REPEATS));
        assert_near(sqrt(claimed[q] / square[q]), 1, 5 / sqrt(2.0 * REPEATS));
    }
    hb_context_destroy(context);
}

static void a_tiny_density_keeps_its_logarithm(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    units u = draw(context, 3, N, 0.2);
    double sums[MOST], score[DIM], se[DIM];
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_add(DIM, sums, N, u.a, u.b);
    const hb_answer out = answer(sums, -2000, score, se);
    assert_int_equal(out.flag, HB_FLAG_NONE);
    assert_near(out.log_density, log(2.385) - 2000, 0.05);
    assert_true(out.density == 0 && out.entropy == 0 && out.density_se == 0 && out.relative < 0.01);
    drop(u);
    hb_context_destroy(context);
}

/* ---- flags ---- */

static hb_answer answer_of_values(size_t n, const double *a, const double *b, double lost)
{
    double sums[MOST], score[DIM], se[DIM];
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_add(DIM, sums, n, a, b);
    hb_accumulator_lose(sums, lost);
    const hb_answer out = answer(sums, 0, score, se);
    assert_true((out.flag == HB_FLAG_NONE) == isfinite(out.density_se));
    assert_true((out.flag == HB_FLAG_NONE) == isfinite(out.log_density_se));
    assert_true((out.score_flag == HB_FLAG_NONE) == isfinite(se[0]));
    for (int k = 0; k < DIM; k++) assert_false(isnan(score[k]) && signbit(score[k])); /* "-nan" */
    assert_false(isnan(out.log_density) && signbit(out.log_density));
    return out;
}

/* a = U^(-1/index): a tail with this index. */
static void fill_tail(hb_context *context, size_t n, double index, double *a)
{
    assert_ok(context, hb_random_uniform(context, 7, 1, 0, n, a));
    for (size_t i = 0; i < n; i++) a[i] = pow(1 - a[i], -1 / index);
}

static void each_doubt_is_raised(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    hb_context *context = make_context(HB_ISA_AUTO, 0);
    double *a = calloc(MANY, sizeof *a), *b = calloc(MANY * DIM, sizeof *b);
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_NOTHING);
    assert_int_equal(answer_of_values(0, a, b, 0).flag, HB_FLAG_NOTHING);
    assert_int_equal(answer_of_values(MANY, a, b, MANY - 1).flag, HB_FLAG_NOTHING);
    assert_int_equal(answer_of_values(MANY, a, b, MANY).flag, HB_FLAG_LOST);
    for (int i = 0; i < 20; i++) a[i * 37] = 1.7; /* 20 of MANY count */
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_FEW);
    for (int i = 0; i < 200; i++) a[i * 37] = 1.7;
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_NONE);
    for (int i = 0; i < 200; i += 2) a[i * 37] = -1.6; /* the mean is 0.05 +- 0.12 */
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_NEGATIVE);
    fill_tail(context, MANY, 1.2, a);
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_HEAVY);
    for (int i = 0; i < MANY; i++) a[i] = pow((i + 0.5) / MANY, -1 / 1.35); /* none has 5 % */
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_HEAVY);
    fill_tail(context, MANY, 4, a);
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_NONE);
    a[5] = 1e4; /* a share of 7 % */
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_HEAVY);
    a[5] = NAN;
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_HEAVY);
    a[5] = 1e300;
    assert_int_equal(answer_of_values(MANY, a, b, 0).flag, HB_FLAG_HEAVY);
    a[5] = 1;
    assert_int_equal(answer_of_values(MANY, a, b, 20).flag, HB_FLAG_NONE);
    assert_int_equal(answer_of_values(MANY, a, b, 2000).flag, HB_FLAG_LOST);
    free(a);
    free(b);
    hb_context_destroy(context);
}

/* 480 units of 0.05, 29 near 1.15, and three of `large`: no single one has 5 %, and the tail is not heavy by
 * Hill's index, but with large = 3.2 the spread is that of the three: nu = 27. */
static void an_error_that_rests_on_three_units_is_doubted(void **state)
{
    (void)state;
    enum { MANY = 512 };
    double a[MANY], b[MANY * DIM] = {0};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < MANY; i++)
            a[i] = i < 3 ? (k ? 3.2 : 2.0) : i < 32 ? 1 + 0.01 * i : 0.05;
        const hb_answer out = answer_of_values(MANY, a, b, 0);
        assert_true(out.tail_index > 3 && out.effective > 50);
        assert_true((out.freedom < 30) == (k == 1));
        assert_int_equal(out.flag, k ? HB_FLAG_HEAVY : HB_FLAG_NONE);
    }
}

/* Half of sum |a| is the bound, also when it comes from two parts. */
static void strays_are_doubted(void **state)
{
    (void)state;
    const double a[] = {1.5, 2.385, 1.9}, b[3 * DIM] = {0};
    double sums[MOST], other[MOST], score[DIM], se[DIM], sum = 0;
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_clear(DIM, other);
    for (int k = 0; k < 500; k++) {
        hb_accumulator_add(DIM, k % 2 ? sums : other, 3, a, b);
        sum += a[0] + a[1] + a[2];
    }
    hb_accumulator_outlier(sums, 0.3 * sum);
    hb_accumulator_outlier(other, 0.19 * sum);
    hb_accumulator_merge(DIM, sums, other);
    assert_int_equal(answer(sums, 0, score, se).flag, HB_FLAG_NONE);
    hb_accumulator_outlier(sums, 0.02 * sum);
    assert_int_equal(answer(sums, 0, score, se).flag, HB_FLAG_OUTLIERS);
    assert_true(isinf(se[0]));
}

/* A density that is well known, with gradients whose tail has no variance: only the score is flagged. */
static void the_score_has_doubts_of_its_own(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    hb_context *context = make_context(HB_ISA_AUTO, 0);
    double *a = calloc(MANY, sizeof *a), *b = calloc(MANY * DIM, sizeof *b);
    for (int i = 0; i < MANY; i++) a[i] = 1 + 0.1 * (i % 7);
    hb_answer out = answer_of_values(MANY, a, b, 0);
    assert_int_equal(out.score_flag, HB_FLAG_NONE); /* all gradients 0: flat */
    fill_tail(context, MANY * DIM, 0.9, b);
    out = answer_of_values(MANY, a, b, 0);
    assert_int_equal(out.flag, HB_FLAG_NONE);
    assert_int_equal(out.score_flag, HB_FLAG_HEAVY);
    free(a);
    free(b);
    hb_context_destroy(context);
}

/* ---- other units decide ---- */

typedef struct diagnosed {
    hb_answer at;
    double score[DIM], score_se[DIM];
} diagnosed;

/* n values in `accumulator`, m in the diagnostic sample, all gradients 0. */
static diagnosed watch_values(size_t n, const double *a, size_t m, const double *other,
                              double parts)
{
    double sums[MOST], watch[MOST], *b = calloc((n + m) * DIM, sizeof *b);
    diagnosed out;
    hb_accumulator_clear(DIM, sums);
    hb_accumulator_clear(DIM, watch);
    hb_accumulator_add(DIM, sums, n, a, b);
    hb_accumulator_add(DIM, watch, m, other, b);
    hb_accumulator_diagnosed(DIM, sums, watch, parts, 0, &out.at, out.score, out.score_se);
    free(b);
    return out;
}

static void a_pair_by_hand(void **state)
{
    (void)state;
    const double a[] = {1, 3}, b[] = {2, 8}, expected[] = {2, 5, 2, 6, 18};
    double one[5] = {0}, other[5] = {0};
    assert_int_equal(hb_spread_size(1), 5);
    hb_spread_add(1, one, 1, a[0], b);
    hb_spread_add(1, other, 1, a[1], b + 1);
    hb_spread_merge(1, one, 1, other, 1);
    assert_memory_equal(one, expected, sizeof expected);
    hb_spread_add(1, other, 2, a[0], b);
    assert_memory_equal(other, expected, sizeof expected);
}

/* A value that outweighs the averaged units raises no flag, and one in the diagnostic sample does; one that is not finite
 * always does. */
static void the_averaged_units_do_not_decide(void **state)
{
    (void)state;
    enum { MANY = 8192, FEWER = MANY / 4 };
    double *a = malloc(MANY * sizeof *a), *other = malloc(FEWER * sizeof *other);
    for (int i = 0; i < MANY; i++) a[i] = 1 + 0.1 * (i % 7);
    for (int i = 0; i < FEWER; i++) other[i] = 1 + 0.1 * (i % 7);
    const diagnosed fine = watch_values(MANY, a, FEWER, other, 1);
    assert_int_equal(fine.at.flag, HB_FLAG_NONE);
    assert_relative(fine.at.effective, 4 * FEWER * (1.69 / 1.73), 1e-3);
    a[77] = 0.2 * MANY;
    assert_int_equal(watch_values(MANY, a, FEWER, other, 1).at.flag, HB_FLAG_NONE);
    assert_int_equal(watch_values(MANY, a, MANY, a, 1).at.flag, HB_FLAG_HEAVY);
    other[77] = 0.2 * FEWER;
    assert_int_equal(watch_values(MANY, a, FEWER, other, 1).at.flag, HB_FLAG_HEAVY);
    other[77] = 1;
    a[77] = INFINITY;
    assert_int_equal(watch_values(MANY, a, FEWER, other, 1).at.flag, HB_FLAG_HEAVY);
    free(a);
    free(other);
}

/* 64 of 2048: an index of 1.5 is flagged, which the 32 largest with two errors do not see, and one of 3 is not. */
static void the_watch_is_strict_about_tails(void **state)
{
    (void)state;
    enum { FEWER = 2048 };
    double a[FEWER], other[FEWER];
    for (int i = 0; i < FEWER; i++) a[i] = 1 + 0.1 * (i % 7);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < FEWER; i++) other[i] = pow((i + 0.5) / FEWER, -1 / (k ? 3.0 : 1.5));
        const diagnosed out = watch_values(FEWER, a, FEWER, other, 1);
        assert_int_equal(out.at.flag, k ? HB_FLAG_NONE : HB_FLAG_HEAVY);
        assert_true((out.at.tail_index < 2) == (k == 0));
        const double own[DIM * FEWER] = {0};
        double sums[MOST], score[DIM], se[DIM];
        hb_accumulator_clear(DIM, sums);
        hb_accumulator_add(DIM, sums, FEWER, other, own);
        assert_true(answer(sums, 0, score, se).tail_index > 2);
    }
}

/* Units a quarter as large: their relative variance is 4 times as large. Of 128 units of 0 and 1, 32 are 1, so
 * v = 3; 128/(1 + 3/4) of the averaged ones are effective. */
static void smaller_units_count_as_parts(void **state)
{
    (void)state;
    enum { UNITS = 128 };
    double a[UNITS], other[UNITS];
    for (int i = 0; i < UNITS; i++) {
        a[i] = 1 + 0.1 * (i % 7);
        other[i] = i % 4 == 0;
    }
    assert_relative(watch_values(UNITS, a, UNITS, other, 4).at.effective, UNITS / 1.75, 1e-14);
    assert_relative(watch_values(UNITS, a, UNITS, other, 1).at.effective, UNITS / 4.0, 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_units_by_hand),
        cmocka_unit_test(moments_are_those_of_the_definition),
        cmocka_unit_test(merging_gives_what_adding_gives),
        cmocka_unit_test(differences_beyond_noise_are_claimed),
        cmocka_unit_test(claimed_errors_are_the_spread),
        cmocka_unit_test(a_tiny_density_keeps_its_logarithm),
        cmocka_unit_test(each_doubt_is_raised),
        cmocka_unit_test(an_error_that_rests_on_three_units_is_doubted),
        cmocka_unit_test(strays_are_doubted),
        cmocka_unit_test(the_score_has_doubts_of_its_own),
        cmocka_unit_test(a_pair_by_hand),
        cmocka_unit_test(the_averaged_units_do_not_decide),
        cmocka_unit_test(the_watch_is_strict_about_tails),
        cmocka_unit_test(smaller_units_count_as_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
