/* The samplers against the slow formula: each draw made again, by the table at the top of
 * src/ball/sample.c, from public random numbers and libm; and against themselves in pieces, on
 * threads, in float and on every instruction set. The laws themselves are tested with SciPy in
 * tests/python/. */
#define SHARED_THREADS 2
#include "shared_context.h"

enum { COORDINATES, LIFT_PAIRS, LIFT_ODD, INNER, PAIRS };

static uint64_t stream(hb_measure measure, int dim, int lift, uint64_t use)
{
    return UINT64_C(1) << 63 | (uint64_t)measure << 60 | use << 56 | (uint64_t)lift << 24 |
           (uint64_t)dim;
}

static double uniform_at(uint64_t seed, uint64_t of_stream, uint64_t i)
{
    double x;
    assert_ok(CTX, hb_random_uniform(CTX, seed, of_stream, i, 1, &x));
    return x;
}

static double normal_at(uint64_t seed, uint64_t of_stream, uint64_t i)
{
    double x;
    assert_ok(CTX, hb_random_normal(CTX, seed, of_stream, i, 1, &x));
    return x;
}

/* Draw i by the table, one at a time. */
static void reference_draw(hb_measure measure, int dim, int lift, double radius, uint64_t seed,
                           uint64_t i, double *z, double *sigma)
{
    double norm = 0, inner, total, D = dim + lift;
    for (int j = 0; j < dim; j++) {
        z[j] = normal_at(seed, stream(measure, dim, lift, COORDINATES),
                         i * (uint64_t)dim + (uint64_t)j);
        norm += z[j] * z[j];
    }
    for (int k = 0; k < lift / 2; k++)
        norm -= 2 * log(uniform_at(seed, stream(measure, dim, lift, LIFT_PAIRS),
                                   i * (uint64_t)(lift / 2) + (uint64_t)k));
    if (lift % 2) norm += pow(normal_at(seed, stream(measure, dim, lift, LIFT_ODD), i), 2);
    const uint64_t pairs = stream(measure, dim, lift, PAIRS);
    if (measure == HB_MEASURE_GRADIENT) {
        inner = norm + pow(normal_at(seed, stream(measure, dim, lift, INNER), i), 2);
        total = inner - 2 * log(uniform_at(seed, pairs, i));
    } else {
        inner = norm - 2 * log(uniform_at(seed, pairs, 2 * i));
        total = inner - 2 * log(uniform_at(seed, pairs, 2 * i + 1));
    }
    double rate = measure == HB_MEASURE_KAPPA ? D : measure == HB_MEASURE_SOURCE ? D + 2 : D + 1;
    *sigma = exp(-total / rate) / (4 * M_PI);
    double scale = sqrt(2 * D / rate * *sigma);
    if (measure != HB_MEASURE_SOURCE) scale *= sqrt(inner / norm);
    for (int j = 0; j < dim; j++) z[j] *= radius * scale;
    *sigma *= radius * radius;
}

static void draws_follow_the_table(void **state)
{
    (void)state;
    static const int shape[][2] = {{1, 0},  {2, 0},  {3, 0},   {7, 0},    {8, 0},
                                   {16, 0}, {33, 0}, {1, 1},   {2, 1},    {2, 6},
                                   {3, 17}, {5, 40}, {257, 0}, {9000, 0}, {2, 20000}};
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
        for (hb_measure measure = HB_MEASURE_KAPPA; measure <= HB_MEASURE_GRADIENT; measure++) {
            const int dim = shape[k][0], lift = shape[k][1];
            const size_t n = dim + lift > 100 ? 3 : 41;
            const uint64_t first = 12345678901u;
            double *z = malloc(n * (size_t)dim * sizeof *z), *sigma = malloc(n * sizeof *sigma);
            double *expected = malloc((size_t)dim * sizeof *expected), expected_sigma;
            assert_ok(CTX, hb_ball_sample(CTX, measure, dim, lift, 77, first, n, 2.385, z, sigma));
            for (size_t i = 0; i < n; i++) {
                reference_draw(measure, dim, lift, 2.385, 77, first + i, expected, &expected_sigma);
                assert_true(fabs(sigma[i] / expected_sigma - 1) < 1e-13);
                for (int j = 0; j < dim; j++)
                    assert_true(fabs(z[i * (size_t)dim + (size_t)j] - expected[j]) <=
                                1e-13 * fabs(expected[j]));
            }
            free(z);
            free(sigma);
            free(expected);
        }
    }
}

/* All draws lie in the ball of radius r in D dimensions: psi >= 0. */
static void draws_lie_in_the_ball(void **state)
{
    (void)state;
    enum { N = 100000 };
    static const int dims[] = {1, 2, 5, 64};
    for (size_t k = 0; k < 4; k++) {
        const int dim = dims[k];
        double *z = malloc((size_t)N * (size_t)dim * sizeof *z), *sigma = malloc(N * sizeof *sigma);
        for (hb_measure measure = HB_MEASURE_KAPPA; measure <= HB_MEASURE_GRADIENT; measure++) {
            assert_ok(CTX, hb_ball_sample(CTX, measure, dim, 0, 5, 0, N, 0.793, z, sigma));
            for (size_t i = 0; i < N; i++) {
                double y2 = 0;
                for (size_t j = 0; j < (size_t)dim; j++)
                    y2 += z[i * (size_t)dim + j] * z[i * (size_t)dim + j];
                assert_true(hb_ball_psi(dim, 0.793, y2, sigma[i]) > -1e-12 * dim);
            }
        }
        free(z);
        free(sigma);
    }
}

/* Pieces, threads and the row layout leave every bit as it was; float rows are the rounded ones. */
static void layout_does_not_matter(void **state)
{
    (void)state;
    enum { N = 40009 };
    static const int shape[][2] = {{2, 0}, {3, 0}, {16, 3}, {5, 8}};
    hb_context *five = make_context(HB_ISA_AUTO, 5);
    for (size_t k = 0; k < 4; k++) {
        const int dim = shape[k][0], lift = shape[k][1];
        const size_t row = (size_t)dim + 1;
        double *z = malloc(N * (size_t)dim * sizeof *z), *sigma = malloc(N * sizeof *sigma);
        double *rows = malloc(N * row * sizeof *rows);
        float *rows_f32 = malloc(N * row * sizeof *rows_f32);
        for (hb_measure m = HB_MEASURE_KAPPA; m <= HB_MEASURE_GRADIENT; m++) {
            assert_ok(CTX, hb_ball_sample(CTX, m, dim, lift, 9, 3, N, 1.3, z, sigma));
            assert_ok(five, hb_ball_sample_rows(five, m, dim, lift, 9, 3, N, 1.3, rows));
            for (size_t i = 0; i < N; i++) {
                assert_memory_equal(rows + i * row, z + i * (size_t)dim, (row - 1) * sizeof *z);
                assert_true(rows[i * row + row - 1] == sigma[i]);
            }
            assert_ok(five, hb_ball_sample_rows_f32(five, m, dim, lift, 9, 3, N, 1.3, rows_f32));
            for (size_t i = 0; i < N * row; i++) assert_true(rows_f32[i] == (float)rows[i]);
            for (size_t at = 0, piece = 1; at < N; at += piece, piece = piece * 11 % 4999 + 1) {
                if (piece > N - at) piece = N - at;
                assert_ok(CTX, hb_ball_sample(CTX, m, dim, lift, 9, 3 + at, piece, 1.3, z, sigma));
                for (size_t i = 0; i < piece; i++)
                    assert_true(rows[(at + i) * row + row - 1] == sigma[i] &&
                                rows[(at + i) * row] == z[i * (size_t)dim]);
            }
        }
        free(z);
        free(sigma);
        free(rows);
        free(rows_f32);
    }
    hb_context_destroy(five);
}

static void instruction_sets_agree(void **state)
{
    (void)state;
    static const hb_isa isa[] = {HB_ISA_SCALAR, HB_ISA_SSE2, HB_ISA_AVX2, HB_ISA_AVX512};
    enum { N = 3001, DIM = 11 };
    for (int dim = 2; dim <= DIM; dim += DIM - 2) {
        double *rows[4] = {0};
        for (int k = 0; k < 4; k++) {
            hb_context *ctx = make_context(isa[k], 1);
            if (!ctx) continue;
            rows[k] = malloc(N * (DIM + 1) * sizeof *rows[k]);
            assert_ok(ctx, hb_ball_sample_rows(ctx, HB_MEASURE_KAPPA, dim, 5 * (dim > 2), 4, 0, N,
                                               1, rows[k]));
            hb_context_destroy(ctx);
        }
        const size_t count = N * ((size_t)dim + 1);
        if (rows[1]) assert_memory_equal(rows[0], rows[1], count * sizeof(double));
        if (rows[2] && rows[3]) assert_memory_equal(rows[2], rows[3], count * sizeof(double));
        for (size_t i = 0; i < count && rows[2]; i++)
            assert_true(fabs(rows[0][i] - rows[2][i]) <= 2e-14 * fabs(rows[0][i]));
        for (int k = 0; k < 4; k++) free(rows[k]);
    }
}

/* E[sigma] = C1/4 under kappa in very high dimension, and no overflow on the way. */
static void high_dimension(void **state)
{
    (void)state;
    enum { N = 200 };
    double sigma[N], mean = 0;
    hb_ball_constants constants;
    assert_ok(CTX, hb_ball_constants_get(CTX, HB_MAX_DIM, 0, sizeof constants, &constants));
    assert_ok(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, HB_MAX_DIM, 0, 3, 0, N, 1, NULL, sigma));
    for (int i = 0; i < N; i++) mean += sigma[i] / N;
    /* sd of sigma is about sigma sqrt(2/D) */
    assert_true(fabs(mean / constants.mean_sigma - 1) < 5 * sqrt(2.0 / HB_MAX_DIM / N));
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    double x[8];
    assert_fails(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 0, 0, 1, 0, 1, 1, x, x),
                 HB_ERROR_ARGUMENT, "dim is 0");
    assert_fails(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, -1, 1, 0, 1, 1, x, x),
                 HB_ERROR_ARGUMENT, "lift is -1");
    assert_fails(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 1, 0, 1, NAN, x, x),
                 HB_ERROR_ARGUMENT, "radius is nan");
    assert_fails(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 1, 0, 1, 1e-200, x, x),
                 HB_ERROR_ARGUMENT, "radius is 1e-200");
    assert_fails(CTX, hb_ball_sample(CTX, (hb_measure)3, 2, 0, 1, 0, 1, 1, x, x), HB_ERROR_ARGUMENT,
                 "measure");
    assert_fails(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 1, UINT64_MAX / 2, 1, 1, x, x),
                 HB_ERROR_ARGUMENT, "beyond");
    assert_fails(CTX, hb_ball_sample_rows(CTX, HB_MEASURE_KAPPA, 2, 0, 1, 0, 1, 1, NULL),
                 HB_ERROR_ARGUMENT, "NULL");
    assert_ok(CTX,
              hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 1, UINT64_MAX / 2 - 1, 1, 1, x, x + 2));
    assert_ok(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 1, 0, 0, 1, NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_follow_the_table), cmocka_unit_test(draws_lie_in_the_ball),
        cmocka_unit_test(layout_does_not_matter), cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(high_dimension),         cmocka_unit_test(bad_requests_are_refused),
    };
    return cmocka_run_group_tests_name("sample", tests, create_shared, destroy_shared);
}
