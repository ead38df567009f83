/* Judges of samples in many dimensions: neighbours, precision and recall, memorisation, artifacts and the
 * floor of the discrepancy, against plain double loops, cases that can be counted by hand, and closed
 * forms. */
#include "support.h"

enum { BIG = 256 };
static const hb_status bad = HB_ERROR_ARGUMENT;

static double *normals(hb_context *context, uint64_t stream, size_t n)
{
    double *x = malloc(n * sizeof *x);
    assert_non_null(x);
    assert_ok(context, hb_random_normal(context, 2385, stream, 0, n, x));
    return x;
}

static double squared(size_t dim, const double *a, const double *b)
{
    double sum = 0;
    for (size_t j = 0; j < dim; j++) sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

/* ---- neighbours ---- */

static void check_nearest(hb_context *context, int dim, size_t n, size_t m)
{
    const size_t d = (size_t)dim;
    double *x = normals(context, 1, n * d), *y = normals(context, 2, m * d);
    size_t *index = malloc(n * sizeof *index);
    double *distance = malloc(n * sizeof *distance);
    assert_true(index && distance);
    memcpy(x, y + (m - 1) * d, d * sizeof *x); /* row 0 is the last of y */
    assert_ok(context, hb_judge_nearest(context, dim, n, m, x, y, index, distance));
    assert_int_equal(index[0], m - 1);
    assert_true(distance[0] == 0);
    for (size_t i = 0; i < n; i++) {
        size_t best = 0;
        for (size_t k = 1; k < m; k++)
            if (squared(d, x + i * d, y + k * d) < squared(d, x + i * d, y + best * d)) best = k;
        assert_int_equal(index[i], best);
        assert_relative(distance[i], sqrt(squared(d, x + i * d, y + best * d)), 1e-13);
    }
    free(x);
    free(y);
    free(index);
    free(distance);
}

static void test_nearest_is_the_double_loop(void **state)
{
    hb_context *context = *state;
    check_nearest(context, 1, 7, 1);
    check_nearest(context, 2, 33, 4171);
    check_nearest(context, 7, 65, 1203);
    check_nearest(context, BIG, 41, 333);
    check_nearest(context, 9000, 3, 21); /* wider than a piece */
}

static void test_the_first_of_several_nearest(void **state)
{
    hb_context *context = *state;
    double y[40], distance;
    size_t index;
    for (size_t i = 0; i < 40; i++) y[i] = i % 5 == 3 ? 2.385 : 9;
    assert_ok(context, hb_judge_nearest(context, 1, 1, 40, &(double){2.5}, y, &index, &distance));
    assert_int_equal(index, 3);
    assert_near(distance, 0.115, 1e-15);
    assert_ok(context, hb_judge_nearest(context, 1, 1, 40, &(double){2.5}, y, NULL, NULL));
}

/* On a line, y = 0, 1, .., 9 and k = 2: radii are 1, at the two ends 2. So y covers [-2, 11]; of x =
 * -2.1, -2, 4.5, 11, 11.1, 30, 31, 32 three are inside. The radii of the first five of x are 6.6, 6.5,
 * 6.5, 6.5, 6.6, and cover all of y. */
static void test_precision_and_recall_by_hand(void **state)
{
    hb_context *context = *state;
    double y[10], precision, recall;
    const double x[8] = {-2.1, -2, 4.5, 11, 11.1, 30, 31, 32};
    for (int i = 0; i < 10; i++) y[i] = i;
    assert_ok(context, hb_judge_precision_recall(context, 1, 2, 8, 10, x, y, &precision, &recall));
    assert_near(precision, 3.0 / 8, 0);
    assert_near(recall, 1, 0);
    /* k = 1: the radii of x are 0.1, 0.1, 6.5, 0.1, 0.1, 1, 1, 1: 4.5 alone covers -2 .. 11 */
    assert_ok(context, hb_judge_precision_recall(context, 1, 1, 8, 10, x, y, &precision, &recall));
    assert_near(precision, 1.0 / 8, 0);
    assert_near(recall, 1, 0);
    const double far[4] = {-0.6, -0.5, 20, 20.2};
    assert_ok(context,
              hb_judge_precision_recall(context, 1, 1, 4, 10, far, y, &precision, &recall));
    assert_near(precision, 0.5, 0); /* -0.6 and -0.5 are within 1 of 0 */
    assert_near(recall, 0, 0);
    assert_ok(context, hb_judge_precision_recall(context, 1, 3, 10, 10, y, y, &precision, &recall));
    assert_near(precision, 1, 0);
    assert_near(recall, 1, 0);
}

/* The k-th of the distances to the others, by sorting them all. */
static double radius2(size_t d, size_t n, const double *x, size_t row, size_t k)
{
    double kept[128];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == row) continue;
        const double s = squared(d, x + i * d, x + row * d);
        size_t place = found < k ? found++ : k;
        for (; place > 0 && kept[place - 1] > s; place--)
            if (place < k) kept[place] = kept[place - 1];
        if (place < k) kept[place] = s;
    }
    return kept[k - 1];
}

static double share_covered(size_t d, size_t n, const double *x, size_t m, const double *y,
                            size_t k)
{
    size_t inside = 0;
    for (size_t i = 0; i < n; i++) {
        int in = 0;
        for (size_t j = 0; j < m && !in; j++)
            in = squared(d, x + i * d, y + j * d) <= radius2(d, m, y, j, k);
        inside += (size_t)in;
    }
    return (double)inside / (double)n;
}

static void test_precision_and_recall_are_the_double_loop(void **state)
{
    hb_context *context = *state;
    enum { D = 5, N = 83, M = 61 };
    double *x = normals(context, 3, N * D), *y = normals(context, 4, M * D), precision, recall;
    for (size_t i = 0; i < N * D; i++) x[i] *= 1.385;
    for (int k = 1; k <= 5; k += 2) {
        assert_ok(context,
                  hb_judge_precision_recall(context, D, k, N, M, x, y, &precision, &recall));
        assert_near(precision, share_covered(D, N, x, M, y, (size_t)k), 0);
        assert_near(recall, share_covered(D, M, y, N, x, (size_t)k), 0);
        assert_true(precision < 1 && recall > 0);
    }
    free(x);
    free(y);
}

/* Training rows at 0, 10, 20, .., held-out rows 1 .. 100 hundredths away from them, in order; generated
 * rows 0.25 away, and copies. */
static void test_memorisation_by_hand(void **state)
{
    hb_context *context = *state;
    enum { N = 100 };
    double t[N], held[N], x[N];
    hb_memorisation m;
    for (int i = 0; i < N; i++) {
        t[i] = 10 * i;
        held[i] = t[i] + 0.01 * (i + 1);
        x[i] = t[i] - (i < 3 ? 0 : 0.25);
    }
    assert_ok(context, hb_judge_memorisation(context, 1, N, N, N, x, held, t, sizeof m, &m));
    assert_near(m.median, 0.25, 1e-12);
    assert_near(m.real_median, 0.505, 1e-12);
    assert_near(m.ratio, 0.25 / 0.505, 1e-12);
    assert_near(m.near, 0.0199, 1e-12); /* 0.99 of the way from 0.01 to 0.02 */
    assert_near(m.fraction, 0.03, 0);
    assert_ok(context, hb_judge_memorisation(context, 1, N, N, N, t, held, t, sizeof m, &m));
    assert_near(m.ratio, 0, 0);
    assert_near(m.fraction, 1, 0);
    assert_fails(context, hb_judge_memorisation(context, 1, N, N, N, x, t, t, sizeof m, &m), bad,
                 "held-out rows must not be training rows");
}

/* ---- artifacts ---- */

static void put(double *image, size_t row, size_t column, double value)
{
    image[row * 16 + column] = value;
}

static void test_specks_by_hand(void **state)
{
    hb_context *context = *state;
    enum { N = 6 };
    double x[N][BIG];
    size_t specks[N], affected;
    for (size_t p = 0; p < BIG; p++) {
        x[0][p] = 0.01 * (double)(p / 16 + p % 16); /* a ramp */
        x[1][p] = p % 16 == 5 ? 1 : 0;              /* a line one pixel wide */
        x[2][p] = 0;                                /* two white pixels, one in a corner */
        x[3][p] = p % 16 < 8 ? 1 : 0.2;             /* a black pixel in the white half */
        x[4][p] = p % 16 < 8 ? 1 : 0;               /* an edge */
        x[5][p] = 0;                                /* two neighbours */
    }
    put(x[2], 7, 4, 1);
    put(x[2], 0, 0, 0.7);
    put(x[3], 9, 3, 0);
    put(x[5], 3, 3, 0.9);
    put(x[5], 3, 4, 0.6);
    const size_t by_median[N] = {0, 16, 2, 1, 0, 2}, isolated[N] = {0, 0, 2, 1, 0, 1};
    assert_ok(context, hb_judge_artifacts(context, HB_SPECK_MEDIAN, 16, 16, 2, N, 0.5, x[0], specks,
                                          &affected));
    for (size_t i = 0; i < N; i++) assert_int_equal(specks[i], by_median[i]);
    assert_int_equal(affected, 3);
    assert_ok(context, hb_judge_artifacts(context, HB_SPECK_ISOLATED, 16, 16, 1, N, 0.25, x[0],
                                          specks, &affected));
    for (size_t i = 0; i < N; i++) assert_int_equal(specks[i], isolated[i]);
    assert_int_equal(affected, 3);
    /* the ramp: a pixel differs from its median only at the edges, but for two corners */
    assert_ok(context, hb_judge_artifacts(context, HB_SPECK_MEDIAN, 16, 16, 1, 1, 1e-12, x[0],
                                          specks, NULL));
    assert_int_equal(specks[0], 58);
}

/* Noise planted in smooth images is found, and in those alone. */
static void test_planted_noise(void **state)
{
    hb_context *context = *state;
    enum { N = 200, PLANTED = 4 };
    double *x = normals(context, 5, N * BIG), u[N * PLANTED];
    size_t specks[N], affected;
    for (size_t i = 0; i < N; i++)
        for (size_t p = 0; p < BIG; p++) {
            const double r = hypot((double)(p / 16) - 7.4, (double)(p % 16) - 7.7) - 4.385;
            x[i * BIG + p] = 1 / (1 + exp(2 * r)) + 0.004 * x[i * BIG + p];
        }
    assert_ok(context, hb_judge_artifacts(context, HB_SPECK_MEDIAN, 16, 16, 1, N, 0.3, x, specks,
                                          &affected));
    assert_int_equal(affected, 0);
    assert_ok(context, hb_random_uniform(context, 2385, 6, 0, N * PLANTED, u));
    for (size_t i = 0; i < N; i += 2)
        for (size_t k = 0; k < PLANTED; k++) { /* one in each quarter */
            const size_t row = 8 * (k / 2) + 1 + (size_t)(6 * u[i * PLANTED + k]);
            const size_t column = 8 * (k % 2) + 3;
            double *pixel = &x[i * BIG + row * 16 + column];
            *pixel = *pixel > 0.5 ? 0 : 1;
        }
    assert_ok(context, hb_judge_artifacts(context, HB_SPECK_MEDIAN, 16, 16, PLANTED, N, 0.3, x,
                                          specks, &affected));
    assert_int_equal(affected, N / 2);
    for (size_t i = 0; i < N; i++) assert_int_equal(specks[i], i % 2 ? 0 : PLANTED);
    free(x);
}

/* By definition: at theta the share is kept, a little below it is not. */
static void test_threshold_keeps_its_share(void **state)
{
    hb_context *context = *state;
    enum { N = 301, H = 5, W = 9 };
    double *x = normals(context, 7, N * H * W), theta;
    size_t affected;
    for (int least = 1; least <= 3; least++)
        for (int kind = HB_SPECK_MEDIAN; kind <= HB_SPECK_ISOLATED; kind++) {
            const hb_speck speck = (hb_speck)kind;
            assert_ok(context,
                      hb_judge_artifacts_threshold(context, speck, H, W, least, N, 0.1, x, &theta));
            assert_ok(context, hb_judge_artifacts(context, speck, H, W, least, N, theta, x, NULL,
                                                  &affected));
            assert_int_equal(affected, 30);
            assert_ok(context, hb_judge_artifacts(context, speck, H, W, least, N,
                                                  theta * (1 - 1e-12), x, NULL, &affected));
            assert_int_equal(affected, 31);
        }
    assert_ok(context, hb_judge_artifacts_threshold(context, HB_SPECK_MEDIAN, H, W, H * W + 1, N,
                                                    0.1, x, &theta));
    assert_near(theta, 0, 0);
    free(x);
}

/* ---- discrepancy in 256 dimensions ---- */

/* E k = prod over coordinates: for N(0, I) against N(mean, I) and one width h,
 *     E exp(-|a-b|^2/(2h^2)) = (h^2/(h^2+2))^(d/2) exp(-|mean|^2/(2(h^2+2))). */
static void test_discrepancy_of_normals(void **state)
{
    hb_context *context = *state;
    enum { N = 1500 };
    double *x = normals(context, 8, N * BIG), *y = normals(context, 9, N * BIG);
    const double mean = 0.11, length2 = BIG * mean * mean;
    hb_mmd d;
    assert_ok(context, hb_judge_mmd(context, BIG, 1, N, N, x, y, sizeof d, &d));
    assert_near(d.mmd2, 0, 5 * d.mmd2_se);
    assert_near(d.bandwidth, sqrt(2 * BIG), 0.05 * sqrt(2 * BIG));
    const double noise = d.mmd2_se;
    for (size_t i = 0; i < N * BIG; i++) x[i] += mean;
    assert_ok(context, hb_judge_mmd(context, BIG, 1, N, N, x, y, sizeof d, &d));
    const double h2 = d.bandwidth * d.bandwidth;
    const double exact = 2 * pow(h2 / (h2 + 2), BIG / 2) * -expm1(-length2 / (2 * (h2 + 2)));
    assert_near(d.mmd2, exact, 5 * d.mmd2_se);
    assert_true(exact > 20 * d.mmd2_se && noise < 1e-4);
    free(x);
    free(y);
}

/* Of 2000 rows 0, 1, .., 1999 every second one counts: among 1000 of them n - k pairs are 2 k apart. */
static void test_width_is_of_evenly_spaced_rows(void **state)
{
    hb_context *context = *state;
    enum { M = 2000, N = 1000 };
    double y[M];
    hb_mmd d;
    for (int i = 0; i < M; i++) y[i] = i;
    size_t below = 0;
    int k = 0;
    while (below < N * (N - 1) / 4) below += (size_t)(N - ++k);
    assert_ok(context, hb_judge_mmd(context, 1, 0, 4, M, y, y, sizeof d, &d));
    assert_near(d.bandwidth, 2 * k, 1e-12);
}

static void test_floor(void **state)
{
    hb_context *context = *state;
    enum { POOL = 400, N = 60, M = 75, TIMES = 100, D = 8 };
    double *a = normals(context, 10, POOL * D), *b = normals(context, 11, POOL * D);
    hb_mmd_floor f, again, moved;
    hb_mmd one;
    assert_ok(context, hb_judge_mmd(context, D, 0, N, M, a, b, sizeof one, &one));
    assert_ok(context,
              hb_judge_mmd_floor(context, D, 0, TIMES, 42, POOL, POOL, N, M, a, b, sizeof f, &f));
    /* pools of 400 rows differ themselves: their own discrepancy is the mean */
    hb_mmd pools;
    assert_ok(context, hb_judge_mmd(context, D, 0, POOL, POOL, a, b, sizeof pools, &pools));
    assert_near(f.mmd2, pools.mmd2, 5 * one.mmd2_se / sqrt(TIMES));
    assert_true(f.mmd2_upper > f.mmd2 + one.mmd2_se && f.mmd2_upper < f.mmd2 + 3 * one.mmd2_se);
    assert_true(f.mmd_upper > f.mmd && f.mmd_upper < 1.5 * f.mmd);
    assert_ok(context, hb_judge_mmd_floor(context, D, 0, TIMES, 43, POOL, POOL, N, M, a, b,
                                          sizeof again, &again));
    assert_true(again.mmd != f.mmd);
    /* one pool on both sides: the same rows twice would have mmd 0 */
    assert_ok(context, hb_judge_mmd_floor(context, D, 0, 20, 42, POOL, POOL, N, N, a, a,
                                          sizeof again, &again));
    assert_true(again.mmd > 0.5 * f.mmd);
    /* a moved law: the floor is no longer that of equal laws */
    for (size_t i = 0; i < POOL * D; i++) a[i] += 0.385;
    assert_ok(context, hb_judge_mmd_floor(context, D, 0, TIMES, 42, POOL, POOL, N, M, a, b,
                                          sizeof moved, &moved));
    assert_true(moved.mmd2 > f.mmd2_upper);
    /* all rows of the pools: each time the same, whatever the order, up to rounding */
    assert_ok(context, hb_judge_mmd_floor(context, D, 1, 20, 42, N, POOL, N, POOL, a, b,
                                          sizeof again, &again));
    assert_ok(context, hb_judge_mmd(context, D, 1, N, POOL, a, b, sizeof one, &one));
    assert_relative(again.mmd, one.mmd, 1e-12);
    assert_relative(again.mmd2_upper, one.mmd2, 1e-12);
    assert_fails(
        context,
        hb_judge_mmd_floor(context, D, 0, 20, 1, POOL, POOL, POOL + 1, M, a, b, sizeof f, &f), bad,
        "n is 401; it must be 4 to the 400 rows of a");
    assert_fails(context,
                 hb_judge_mmd_floor(context, D, 0, 20, 1, POOL, POOL, N, 3, a, b, sizeof f, &f),
                 bad, "m is 3");
    assert_fails(context,
                 hb_judge_mmd_floor(context, D, 0, 19, 1, POOL, POOL, N, M, a, b, sizeof f, &f),
                 bad, "times is 19; it must be 20 to 100000");
    free(a);
    free(b);
}

/* ---- bits, refusals, memory ---- */

enum { ROWS = 211, OTHERS = 163 };

typedef struct found {
    size_t index[ROWS], specks[ROWS];
    double distance[ROWS], precision, recall, theta;
    hb_memorisation memory;
    hb_mmd_floor floor;
} found;

static hb_status judge_all(hb_context *context, const double *x, const double *y, found *f)
{
    hb_status status = hb_judge_nearest(context, BIG, ROWS, OTHERS, x, y, f->index, f->distance);
    if (status == HB_OK)
        status = hb_judge_precision_recall(context, BIG, 3, ROWS, OTHERS, x, y, &f->precision,
                                           &f->recall);
    if (status == HB_OK)
        status = hb_judge_memorisation(context, BIG, 100, 111, OTHERS, x, x + 100 * BIG, y,
                                       sizeof f->memory, &f->memory);
    if (status == HB_OK)
        status = hb_judge_artifacts_threshold(context, HB_SPECK_ISOLATED, 16, 16, 2, ROWS, 0.05, x,
                                              &f->theta);
    if (status == HB_OK)
        status = hb_judge_artifacts(context, HB_SPECK_MEDIAN, 16, 16, 2, ROWS, 2.385, x, f->specks,
                                    NULL);
    if (status == HB_OK)
        status = hb_judge_mmd_floor(context, BIG, 0, 20, 1, ROWS, OTHERS, 50, 40, x, y,
                                    sizeof f->floor, &f->floor);
    return status;
}

static void test_same_bits(void **state)
{
    double *x = normals(*state, 12, ROWS * BIG), *y = normals(*state, 13, OTHERS * BIG);
    static found first, other;
    memset(&first, 0, sizeof first);
    assert_ok(*state, judge_all(*state, x, y, &first));
    assert_true(first.precision > 0 && first.precision < 1);
    for (int threads = 2; threads <= 3; threads++) {
        hb_context *context = make_context(HB_ISA_AUTO, threads);
        memset(&other, 0, sizeof other);
        assert_ok(context, judge_all(context, x, y, &other));
        assert_memory_equal(&first, &other, sizeof first);
        hb_context_destroy(context);
    }
    hb_context *narrow = make_context(HB_ISA_AVX2, 1), *wide = make_context(HB_ISA_AVX512, 1);
    if (narrow && wide) {
        assert_ok(narrow, judge_all(narrow, x, y, &first));
        assert_ok(wide, judge_all(wide, x, y, &other));
        assert_memory_equal(&first, &other, sizeof first);
    }
    hb_context_destroy(narrow);
    hb_context_destroy(wide);
    hb_context *plain = make_context(HB_ISA_SCALAR, 1);
    assert_ok(plain, judge_all(plain, x, y, &other));
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(first.index[i], other.index[i]);
        assert_relative(other.distance[i], first.distance[i], 1e-14);
    }
    hb_context *pairs = make_context(HB_ISA_SSE2, 1);
    if (pairs) {
        assert_ok(pairs, judge_all(pairs, x, y, &first));
        assert_memory_equal(&first, &other, sizeof first);
    }
    hb_context_destroy(pairs);
    hb_context_destroy(plain);
    free(x);
    free(y);
}

static void test_no_memory(void **state)
{
    double *x = normals(*state, 12, ROWS * BIG), *y = normals(*state, 13, OTHERS * BIG);
    static found f;
    int allowance = 1;
    for (hb_status status = HB_ERROR_MEMORY; status != HB_OK; allowance++) {
        memory_count count = {.allowance = allowance};
        hb_context *context = counting_context(&count);
        if (!context) continue;
        status = judge_all(context, x, y, &f);
        assert_true(status == HB_OK || status == HB_ERROR_MEMORY);
        hb_context_destroy(context);
        assert_int_equal(count.live, 0);
    }
    assert_true(allowance > 10);
    free(x);
    free(y);
}

static void test_refusals(void **state)
{
    hb_context *context = *state;
    double x[64] = {0}, y[64] = {1, 2, 3}, a, b;
    size_t index;
    assert_fails(context, hb_judge_nearest(context, 0, 1, 1, x, y, &index, &a), bad, "dim is 0");
    assert_fails(context, hb_judge_nearest(context, 2, 1, 0, x, y, &index, &a), bad,
                 "y has 0 rows; it must have at least 1");
    assert_fails(context, hb_judge_precision_recall(context, 1, 0, 9, 9, x, y, &a, &b), bad,
                 "k is 0; it must be 1 to 100");
    assert_fails(context, hb_judge_precision_recall(context, 1, 3, 3, 9, x, y, &a, &b), bad,
                 "x has 3 rows; it must have at least 4");
    assert_fails(context,
                 hb_judge_artifacts(context, HB_SPECK_MEDIAN, 2, 16, 1, 1, 0.1, x, NULL, NULL), bad,
                 "images are 2 by 16 pixels; sides must be 3 to 65536");
    assert_fails(context, hb_judge_artifacts(context, (hb_speck)7, 4, 4, 1, 1, 0.1, x, NULL, NULL),
                 bad, "kind is 7");
    assert_fails(context,
                 hb_judge_artifacts(context, HB_SPECK_MEDIAN, 4, 4, 1, 1, NAN, x, NULL, NULL), bad,
                 "theta is nan");
    assert_fails(context,
                 hb_judge_artifacts(context, HB_SPECK_MEDIAN, 4, 4, 0, 1, 0, x, NULL, NULL), bad,
                 "least is 0");
    assert_fails(context,
                 hb_judge_artifacts_threshold(context, HB_SPECK_MEDIAN, 4, 4, 1, 1, 1, x, &a), bad,
                 "fraction is 1");
    x[17] = INFINITY;
    assert_fails(context, hb_judge_nearest(context, 4, 5, 1, x, y, &index, &a), bad,
                 "inf in row 5, column 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_is_the_double_loop),
        cmocka_unit_test(test_the_first_of_several_nearest),
        cmocka_unit_test(test_precision_and_recall_by_hand),
        cmocka_unit_test(test_precision_and_recall_are_the_double_loop),
        cmocka_unit_test(test_memorisation_by_hand),
        cmocka_unit_test(test_specks_by_hand),
        cmocka_unit_test(test_planted_noise),
        cmocka_unit_test(test_threshold_keeps_its_share),
        cmocka_unit_test(test_discrepancy_of_normals),
        cmocka_unit_test(test_width_is_of_evenly_spaced_rows),
        cmocka_unit_test(test_floor),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
