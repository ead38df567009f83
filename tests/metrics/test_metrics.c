/* The judge room: errors of scores against closed forms, the discrepancy against its direct double sum,
 * claimed errors against the spread over repetitions, known curls and known Helmholtz splits. */
#include "support.h"

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static hb_mixture *one_gaussian(hb_context *context, int dim)
{
    hb_mixture *mixture;
    double *m = take((size_t)dim, 8), *C = take((size_t)(dim * dim), 8), one = 1;
    for (int i = 0; i < dim; i++) C[i * dim + i] = 1;
    assert_ok(context, hb_mixture_create(context, dim, 1, &one, m, C, &mixture));
    free(m);
    free(C);
    return mixture;
}

/* Mean, and the sample variance of the mean's terms. */
static void moments(size_t n, const double *x, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (size_t i = 0; i < n; i++) *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) *variance += (x[i] - *mean) * (x[i] - *mean) / (double)(n - 1);
}

/* ---- score errors ---------------------------------------------------------------------------------- */

static int zero_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)x, (void)tau;
    memset(score, 0, n * *(size_t *)user * sizeof *score);
    return 0;
}

/* The score 0 of N(0, I) in the plane: e = |x|^2, exponential with mean 2. */
static void test_score_error_of_a_gaussian(void **state)
{
    hb_context *context = *state;
    hb_mixture *truth = one_gaussian(context, 2);
    hb_score_error e;
    size_t dim = 2;
    assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 1, 200000, 0.385, zero_score,
                                      &dim, sizeof e, &e));
    const double low = 2 * (1 + log(5));
    assert_near(e.tau, 0.385, 0);
    assert_near(e.all, 2, 5 * e.all_se);
    assert_near(e.low, low, 5 * e.low_se);
    assert_near(e.high, (2 - 0.2 * low) / 0.8, 5 * e.high_se);
    assert_true(e.all_se < 0.006 && e.low_se < 0.02 && e.high_se < 0.006);
    assert_relative(e.grid, -log(1e-4 * 2 * M_PI), 0.01); // half the square of the disc's radius
    hb_mixture_destroy(truth);
    dim = 3;
    truth = one_gaussian(context, 3);
    assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 1, 1000, 0, zero_score, &dim,
                                      sizeof e, &e));
    assert_true(isnan(e.grid));
    assert_near(e.all, 3, 5 * e.all_se);
    hb_mixture_destroy(truth);
}

static void test_claimed_score_errors_are_the_spread(void **state)
{
    hb_context *context = *state;
    enum { TIMES = 500, N = 1000 };
    hb_mixture *truth = one_gaussian(context, 2);
    double values[3][TIMES], claimed[3][TIMES];
    size_t dim = 2;
    for (int i = 0; i < TIMES; i++) {
        hb_score_error e;
        assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 100 + (uint64_t)i, N, 0,
                                          zero_score, &dim, sizeof e, &e));
        const double v[3] = {e.all, e.low, e.high}, se[3] = {e.all_se, e.low_se, e.high_se};
        for (int k = 0; k < 3; k++) {
            values[k][i] = v[k];
            claimed[k][i] = se[k] * se[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        double mean, variance, claim, unused;
        moments(TIMES, values[k], &mean, &variance);
        moments(TIMES, claimed[k], &claim, &unused);
        assert_relative(claim, variance, 5 * sqrt(2.5 / TIMES));
    }
    hb_mixture_destroy(truth);
}

typedef struct truth_and_shift {
    hb_context *context;
    const hb_mixture *mixture;
    double shift;
} truth_and_shift;

static int shifted_score(void *user, size_t n, const double *x, double tau, double *score)
{
    const truth_and_shift *t = user;
    if (hb_mixture_score(t->context, t->mixture, HB_PROCESS_VE, n, x, tau, NULL, score) != HB_OK)
        return 1;
    for (size_t i = 0; i < n; i++) score[2 * i + 1] += t->shift;
    return 0;
}

static void test_score_error_of_a_shift(void **state)
{
    hb_context *context = *state;
    for (int set = 0; hb_data_names()[set]; set++) {
        hb_mixture *truth;
        hb_score_error e;
        assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &truth));
        truth_and_shift t = {context, truth, 0.3};
        assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_VE, 1, 40000, 0.1,
                                          shifted_score, &t, sizeof e, &e));
        assert_near(e.all, 0.09, 1e-12);
        assert_near(e.low, 0.09, 1e-12);
        assert_near(e.high, 0.09, 1e-12);
        assert_near(e.grid, 0.09, 1e-12);
        hb_mixture_destroy(truth);
    }
}

typedef struct seen_points {
    double x[200];
    size_t calls;
} seen_points;

static int remember_points(void *user, size_t n, const double *x, double tau, double *score)
{
    seen_points *seen = user;
    (void)tau;
    if (seen->calls++ == 0) memcpy(seen->x, x, sizeof seen->x);
    memset(score, 0, 2 * n * sizeof *score);
    return 0;
}

/* Who trains on the draws of a seed and judges with the same seed must not meet them again. */
static void test_judging_draws_are_not_the_data(void **state)
{
    hb_context *context = *state;
    hb_mixture *truth = one_gaussian(context, 2);
    hb_score_error e;
    seen_points seen = {{0}, 0};
    double x[200], product = 0;
    assert_ok(context, hb_mixture_sample(context, truth, 42, 0, 100, x, NULL));
    assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 42, 100, 0, remember_points,
                                      &seen, sizeof e, &e));
    for (int i = 0; i < 200; i++) product += x[i] * seen.x[i] / sqrt(200);
    assert_near(product, 0, 5);
    hb_mixture_destroy(truth);
}

static int failing_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user, (void)n, (void)x, (void)tau, (void)score;
    return 1;
}

static int nan_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user, (void)x, (void)tau;
    for (size_t i = 0; i < 2 * n; i++) score[i] = i == 2 * n - 1 ? NAN : 0;
    return 0;
}

static void test_refused_scores(void **state)
{
    hb_context *context = *state;
    hb_mixture *truth = one_gaussian(context, 2);
    hb_score_error e;
    assert_fails(
        context,
        hb_judge_score(context, truth, HB_PROCESS_OU, 1, 49, 0, zero_score, NULL, sizeof e, &e),
        HB_ERROR_ARGUMENT, "n is 49");
    assert_fails(
        context,
        hb_judge_score(context, truth, HB_PROCESS_OU, 1, 50, -1, zero_score, NULL, sizeof e, &e),
        HB_ERROR_ARGUMENT, "tau is -1");
    assert_fails(
        context,
        hb_judge_score(context, truth, HB_PROCESS_OU, 1, 50, 0, failing_score, NULL, sizeof e, &e),
        HB_ERROR_CALLBACK, "reported an error");
    assert_fails(
        context,
        hb_judge_score(context, truth, HB_PROCESS_OU, 1, 50, 0, nan_score, NULL, sizeof e, &e),
        HB_ERROR_NUMERICAL, "component 2 of the score to be evaluated is nan");
    hb_mixture_destroy(truth);
}

/* ---- discrepancy ------------------------------------------------------------------------------------- */

static double kernel(int dim, const double *a, const double *b, double h, int single)
{
    static const double widths[5] = {0.25, 0.5, 1, 2, 4};
    double squares = 0, sum = 0;
    for (int j = 0; j < dim; j++) squares += (a[j] - b[j]) * (a[j] - b[j]);
    if (single) return exp(-squares / (2 * h * h));
    for (int k = 0; k < 5; k++) sum += exp(-squares / (2 * widths[k] * widths[k] * h * h)) / 5;
    return sum;
}

static double mean_kernel(int dim, size_t n, const double *x, size_t m, const double *y, double h,
                          int single, int without_diagonal)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++)
            if (!without_diagonal || i != j)
                sum += kernel(dim, x + i * (size_t)dim, y + j * (size_t)dim, h, single);
    return sum / ((double)n * (double)(without_diagonal ? m - 1 : m));
}

static void test_discrepancy_is_the_double_sum(void **state)
{
    hb_context *context = *state;
    const size_t n = 137, m = 203;
    for (int dim = 1; dim <= 5; dim += (dim == 1 ? 1 : 3))
        for (int single = 0; single < 2; single++) {
            double *x = take(n * (size_t)dim, 8), *y = take(m * (size_t)dim, 8);
            hb_mmd d;
            assert_ok(context, hb_random_normal(context, 1, 1, 0, n * (size_t)dim, x));
            assert_ok(context, hb_random_uniform(context, 1, 2, 0, m * (size_t)dim, y));
            assert_ok(context, hb_judge_mmd(context, dim, single, n, m, x, y, sizeof d, &d));
            const double h = d.bandwidth;
            const double cross = mean_kernel(dim, n, x, m, y, h, single, 0);
            assert_near(d.mmd2,
                        mean_kernel(dim, n, x, n, x, h, single, 1) +
                            mean_kernel(dim, m, y, m, y, h, single, 1) - 2 * cross,
                        1e-13);
            assert_near(d.mmd * d.mmd,
                        mean_kernel(dim, n, x, n, x, h, single, 0) +
                            mean_kernel(dim, m, y, m, y, h, single, 0) - 2 * cross,
                        1e-13);
            assert_ok(context, hb_judge_mmd(context, dim, single, n, n, x, x, sizeof d, &d));
            assert_near(d.mmd, 0, 1e-7);
            free(x);
            free(y);
        }
}

/* The width: distances 1, 2, 3, 4, 6, 7 have the median 3.5. */
static void test_bandwidth_is_the_median_distance(void **state)
{
    hb_context *context = *state;
    const double y[4] = {0, 1, 4, 7 - 1e-13}, x[4] = {0.2, 0.3, 0.4, 0.5}, same[4] = {1, 1, 1, 1};
    hb_mmd d;
    assert_ok(context, hb_judge_mmd(context, 1, 0, 4, 4, x, y, sizeof d, &d));
    assert_near(d.bandwidth, 3.5, 1e-12); // 1 3 3 4 6 7
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(context, hb_judge_mmd(context, 1, 0, 4, 4, x, same, sizeof d, &d), bad,
                 "median distance is 0");
    assert_fails(context, hb_judge_mmd(context, 1, 0, 3, 4, x, y, sizeof d, &d), bad,
                 "x has 3 rows");
    assert_fails(context, hb_judge_mmd(context, 0, 0, 4, 4, x, y, sizeof d, &d), bad, "dim is 0");
    const double wrong[4] = {1, 2, NAN, 4};
    assert_fails(context, hb_judge_mmd(context, 2, 0, 4, 2, (double[8]){0}, wrong, sizeof d, &d),
                 bad, "y has 2 rows");
    assert_fails(context, hb_judge_mmd(context, 1, 0, 4, 4, x, wrong, sizeof d, &d), bad,
                 "nan in row 3, column 1");
}

/* Two samples of laws that differ by `shift`, many times: the mean, its error, and how many times the
 * spread the mean of the claimed variances is. */
static double claimed_over_spread(hb_context *context, double shift, double *mean, double *error)
{
    enum { TIMES = 600, N = 120, M = 170 };
    double values[TIMES], claimed[TIMES], variance, claim, unused, x[2 * N], y[2 * M];
    for (uint64_t i = 0; i < TIMES; i++) {
        hb_mmd d;
        assert_ok(context, hb_random_normal(context, i, 5, 0, 2 * N, x));
        assert_ok(context, hb_random_normal(context, i, 6, 0, 2 * M, y));
        for (int k = 0; k < N; k++) x[2 * k] += shift;
        assert_ok(context, hb_judge_mmd(context, 2, 0, N, M, x, y, sizeof d, &d));
        values[i] = d.mmd2;
        claimed[i] = d.mmd2_se * d.mmd2_se;
    }
    moments(TIMES, values, mean, &variance);
    moments(TIMES, claimed, &claim, &unused);
    *error = sqrt(variance / TIMES);
    return claim / variance;
}

/* Equal laws: the estimate of the vanishing first order counts when positive, which adds about half. */
static void test_claimed_discrepancy_errors_are_the_spread(void **state)
{
    double mean, error;
    const double equal = claimed_over_spread(*state, 0, &mean, &error);
    assert_true(equal > 1 && equal < 2);
    assert_near(mean, 0, 5 * error);
    assert_near(claimed_over_spread(*state, 0.7, &mean, &error), 1, 5 * sqrt(3.0 / 600));
    assert_true(mean > 20 * error);
}

static void test_discrepancy_bits(void **state)
{
    (void)state;
    const hb_isa isas[] = {HB_ISA_AVX512, HB_ISA_AVX2, HB_ISA_SSE2,
                           HB_ISA_SCALAR, HB_ISA_AUTO, HB_ISA_AUTO};
    hb_mmd d[6];
    int have[6];
    static double x[2 * 900], y[2 * 1100];
    for (int i = 0; i < 6; i++) {
        hb_context *context = make_context(isas[i], i == 5 ? 4 : 1);
        have[i] = context != NULL;
        if (!have[i]) continue;
        if (!have[0] || i == 0) { // the same input for all: normals differ between classes
            assert_ok(context, hb_random_normal(context, 1, 5, 0, 1800, x));
            assert_ok(context, hb_random_normal(context, 1, 6, 0, 2200, y));
        }
        assert_ok(context, hb_judge_mmd(context, 2, 0, 900, 1100, x, y, sizeof d[i], &d[i]));
        hb_context_destroy(context);
    }
    assert_memory_equal(&d[4], &d[5], sizeof d[4]);
    if (have[0] && have[1]) assert_memory_equal(&d[0], &d[1], sizeof d[0]);
    if (have[0] && have[2]) {
        assert_memory_equal(&d[2], &d[3], sizeof d[2]);
        assert_near(d[0].mmd2, d[2].mmd2, 1e-14);
    }
}

/* ---- modes --------------------------------------------------------------------------------------------- */

static void test_modes(void **state)
{
    hb_context *context = *state;
    enum { N = 40000 };
    static double x[2 * N];
    static int component[N];
    for (int set = 0; hb_data_names()[set]; set++) {
        hb_mixture *truth;
        assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &truth));
        int *mode_of = take(hb_mixture_count(truth), sizeof *mode_of);
        const int modes = hb_mixture_modes(truth, mode_of);
        size_t counts[8], outliers, kept = 0, true_counts[8] = {0};
        int found;
        assert_ok(context, hb_mixture_sample(context, truth, 1, 0, N, x, component));
        assert_ok(context, hb_judge_modes(context, truth, N, x, counts, &outliers, &found));
        assert_int_equal(found, modes);
        assert_true(outliers <= 14); // 2.3 are expected of one Gaussian, fewer when others are near
        for (int i = 0; i < N; i++) true_counts[mode_of[component[i]]]++;
        for (int k = 0; k < modes; k++) // neighbours share a few
            assert_near((double)counts[k], (double)true_counts[k], 0.02 * N);
        for (size_t i = 0; i < N; i++) { // without the first mode
            if (mode_of[component[i]] == 0) continue;
            x[2 * kept] = x[2 * i];
            x[2 * kept + 1] = x[2 * i + 1];
            kept++;
        }
        assert_ok(context, hb_judge_modes(context, truth, kept, x, counts, NULL, &found));
        assert_int_equal(found, modes - 1);
        for (size_t i = 0; i < 2 * 100; i++) x[i] = 90;
        assert_ok(context, hb_judge_modes(context, truth, 100, x, NULL, &outliers, &found));
        assert_int_equal(outliers, 100);
        assert_int_equal(found, 0);
        free(mode_of);
        hb_mixture_destroy(truth);
    }
}

/* 0.9 N(-1, 1) and 0.1 N(1, 1) are equally likely at x = ln(9)/2 = 1.0986; 0.5 N(0, 1) and 0.5 N(0, 9) where
 * x^2 (1 - 1/9) = 2 ln 3, at 1.5723. */
static void test_the_most_likely_component(void **state)
{
    hb_context *context = *state;
    const double w[2][2] = {{9, 1}, {1, 1}}, m[2][2] = {{-1, 1}, {0, 0}},
                 C[2][2] = {{1, 1}, {1, 9}};
    const double x[2][2] = {{1.09, 1.11}, {1.56, 1.58}};
    for (int k = 0; k < 2; k++) {
        hb_mixture *truth;
        size_t counts[2];
        assert_ok(context, hb_mixture_create(context, 1, 2, w[k], m[k], C[k], &truth));
        for (int i = 0; i < 2; i++) {
            assert_ok(context, hb_judge_modes(context, truth, 1, &x[k][i], counts, NULL, NULL));
            assert_int_equal(counts[i], 1);
        }
        hb_mixture_destroy(truth);
    }
}

/* P(|z| > sqrt(dim) + 3): 6.3e-5 on a line, 5.85e-5 in the plane, 2.2e-5 in 30 dimensions (SciPy's chi). */
static void test_share_of_outliers(void **state)
{
    hb_context *context = *state;
    enum { N = 400000 };
    const double shares[2] = {6.334248366623996e-05, 5.8498e-05};
    double *x = take(2 * N, 8);
    for (int dim = 1; dim <= 2; dim++) {
        hb_mixture *truth = one_gaussian(context, dim);
        size_t outliers;
        assert_ok(context, hb_mixture_sample(context, truth, 2, 0, N, x, NULL));
        assert_ok(context, hb_judge_modes(context, truth, N, x, NULL, &outliers, NULL));
        assert_near((double)outliers, N * shares[dim - 1], 5 * sqrt(N * shares[dim - 1]));
        hb_mixture_destroy(truth);
    }
    free(x);
}

/* ---- curl ------------------------------------------------------------------------------------------------ */

static int linear_field(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)tau;
    const double *matrix = user; // dim, then (dim, dim)
    const size_t d = (size_t)matrix[0];
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < d; r++) {
            score[i * d + r] = 0;
            for (size_t c = 0; c < d; c++) score[i * d + r] += matrix[1 + r * d + c] * x[i * d + c];
        }
    return 0;
}

static void test_curl_of_linear_fields(void **state)
{
    hb_context *context = *state;
    enum { N = 50, D = 12 };
    double x[N * D], curl, se;
    assert_ok(context, hb_random_normal(context, 1, 5, 0, N * D, x));
    double shear[] = {2, 1, 2, 0, -1}, turn[] = {2, 0, -1.7, 1.7, 0},
           saddle[] = {2, 0, 1.7, 1.7, 0.3};
    assert_ok(context, hb_judge_curl(context, 2, 0, 1, N, x, 0, linear_field, shear, &curl, &se));
    assert_near(curl, 1.0 / 3, 1e-9);
    assert_near(se, 0, 1e-9);
    assert_ok(context, hb_judge_curl(context, 2, 5, 1, N, x, 0, linear_field, turn, &curl, NULL));
    assert_near(curl, 1, 1e-9);
    assert_ok(context, hb_judge_curl(context, 2, 0, 1, N, x, 0, linear_field, saddle, &curl, &se));
    assert_near(curl, 0, 1e-15);
}

/* In 12 dimensions by three probes: the closed form at five errors, and the errors are the spread. */
static void test_curl_by_probes(void **state)
{
    hb_context *context = *state;
    enum { N = 100, D = 12, TIMES = 400 };
    static double x[N * D];
    double matrix[1 + D * D] = {D}, part = 0, size = 0, values[TIMES], claimed[TIMES];
    assert_ok(context, hb_random_normal(context, 1, 5, 0, N * D, x));
    assert_ok(context, hb_random_normal(context, 1, 6, 0, D * D, matrix + 1));
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            const double a = matrix[1 + i * D + j], b = matrix[1 + j * D + i];
            part += (a - b) * (a - b) / 4;
            size += a * a;
        }
    for (uint64_t i = 0; i < TIMES; i++) {
        assert_ok(context, hb_judge_curl(context, D, 3, i, N, x, 0, linear_field, matrix,
                                         &values[i], &claimed[i]));
        claimed[i] *= claimed[i];
    }
    double mean, variance, claim, unused;
    moments(TIMES, values, &mean, &variance);
    moments(TIMES, claimed, &claim, &unused);
    assert_near(mean, part / size, 5 * sqrt(variance / TIMES) + 0.002); // a ratio is biased by 1/N
    assert_relative(claim, variance, 5 * sqrt(3.0 / TIMES));
}

static void test_curl_of_a_score(void **state)
{
    hb_context *context = *state;
    enum { N = 500 };
    double x[2 * N], curl, se;
    for (int set = 0; hb_data_names()[set]; set++) {
        hb_mixture *truth;
        assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &truth));
        truth_and_shift t = {context, truth, 0};
        assert_ok(context,
                  hb_mixture_sample_at(context, truth, HB_PROCESS_VE, 1, 0, N, 0.1, x, NULL));
        assert_ok(context,
                  hb_judge_curl(context, 2, 0, 1, N, x, 0.1, shifted_score, &t, &curl, &se));
        assert_true(curl >= 0 && curl < 1e-9);
        hb_mixture_destroy(truth);
    }
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(context, hb_judge_curl(context, 1, 0, 1, N, x, 0, zero_score, NULL, &curl, &se),
                 bad, "dim is 1");
    assert_fails(context, hb_judge_curl(context, 2, 1, 1, N, x, 0, zero_score, NULL, &curl, &se),
                 bad, "probes is 1");
    assert_fails(context, hb_judge_curl(context, 2, 0, 1, 1, x, 0, zero_score, NULL, &curl, &se),
                 bad, "n is 1");
    assert_fails(context, hb_judge_curl(context, 2, 0, 1, N, x, 0, nan_score, NULL, &curl, &se),
                 HB_ERROR_NUMERICAL, "is nan near point 500");
    assert_fails(context, hb_judge_curl(context, 2, 0, 1, N, x, 0, failing_score, NULL, &curl, &se),
                 HB_ERROR_CALLBACK, "reported");
    memset(x, 0, sizeof x);
    assert_fails(context, hb_judge_curl(context, 2, 0, 1, N, x, 0, zero_score, NULL, &curl, &se),
                 bad, "differ");
}

/* ---- Helmholtz --------------------------------------------------------------------------------------------- */

typedef struct box_field {
    int nx, ny;
    double hx, hy;
    double *f, *g, *r; // (ny, nx, 2): field, gradient, rotation
    double mass[2];
} box_field;

static box_field make_box(int nx, int ny, double width, double height)
{
    const size_t n = (size_t)(2 * nx * ny);
    return (box_field){nx, ny, width / nx, height / ny, take(n, 8), take(n, 8), take(n, 8), {0, 0}};
}

static void free_box(box_field *b)
{
    free(b->f);
    free(b->g);
    free(b->r);
}

static void split_box(hb_context *context, box_field *b)
{
    assert_ok(context, hb_judge_helmholtz(context, b->nx, b->ny, b->hx, b->hy, b->f, b->g, b->r,
                                          &b->mass[0], &b->mass[1]));
    assert_near(b->mass[0] + b->mass[1], 1, 1e-14);
}

static void place(const box_field *b, int p, double *x, double *y)
{
    *x = b->hx * (p % b->nx + 0.5 - b->nx / 2.0);
    *y = b->hy * (p / b->nx + 0.5 - b->ny / 2.0);
}

/* grad of a A exp(-r^2/2s^2) plus rotation of a B exp(..): integrals of squares are pi A^2 and pi B^2. */
static void test_split_of_two_bumps(void **state)
{
    hb_context *context = *state;
    box_field b = make_box(150, 120, 9, 8);
    double *exact = take((size_t)(2 * b.nx * b.ny), 8);
    const double A = 1.3, B = 0.7, s = 0.6, q = 0.5;
    for (int p = 0; p < b.nx * b.ny; p++) {
        double x, y;
        place(&b, p, &x, &y);
        const double u = x - 0.5, v = y + 0.3, w = x + 0.4, z = y - 0.2;
        const double bump = A * exp(-(u * u + v * v) / (2 * s * s)) / (s * s);
        const double whirl = B * exp(-(w * w + z * z) / (2 * q * q)) / (q * q);
        exact[2 * p] = -u * bump;
        exact[2 * p + 1] = -v * bump;
        b.f[2 * p] = exact[2 * p] - z * whirl + 0.25;
        b.f[2 * p + 1] = exact[2 * p + 1] + w * whirl - 0.75;
    }
    split_box(context, &b);
    assert_near(b.mass[1], B * B / (A * A + B * B), 2e-6);
    for (int i = 0; i < 2 * b.nx * b.ny; i++) {
        assert_near(b.g[i], exact[i], 3e-4);
        assert_near(b.g[i] + b.r[i], b.f[i] - (i % 2 ? -0.75 : 0.25), 1e-9); // bumps have mean 0
    }
    free(exact);
    free_box(&b);
}

/* Saint-Venant's torsion of a square: 6 x 0.140577 of (-y, x) is rotation without flow through the walls. */
static void test_split_of_a_rigid_rotation(void **state)
{
    hb_context *context = *state;
    double mass[2];
    for (int k = 0; k < 2; k++) {
        box_field b = make_box(64 << k, 64 << k, 3.1, 3.1);
        for (int p = 0; p < b.nx * b.ny; p++) {
            double x, y;
            place(&b, p, &x, &y);
            b.f[2 * p] = -y;
            b.f[2 * p + 1] = x;
        }
        split_box(context, &b);
        mass[k] = b.mass[1];
        free_box(&b);
    }
    assert_near(mass[1], 6 * 0.14057701, 1e-4);
    assert_near((4 * mass[1] - mass[0]) / 3, 6 * 0.14057701, 2e-6); // the error is of order h^2
}

/* Scores are gradients, also on boxes that they are not small on the walls of; so are affine saddles. */
static void test_split_of_scores(void **state)
{
    hb_context *context = *state;
    box_field b = make_box(128, 96, 8, 8);
    const int n = b.nx * b.ny;
    double *x = take((size_t)(2 * n), 8);
    for (int p = 0; p < n; p++) place(&b, p, &x[2 * p], &x[2 * p + 1]);
    for (int set = 0; hb_data_names()[set]; set++) {
        hb_mixture *truth;
        assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &truth));
        assert_ok(context,
                  hb_mixture_score(context, truth, HB_PROCESS_OU, (size_t)n, x, 0.5, NULL, b.f));
        split_box(context, &b);
        assert_true(b.mass[1] < 1e-5);
        hb_mixture_destroy(truth);
    }
    for (int p = 0; p < n; p++) {
        b.f[2 * p] = 0.4 * x[2 * p] + 1.1 * x[2 * p + 1] - 3;
        b.f[2 * p + 1] = 1.1 * x[2 * p] - 0.9 * x[2 * p + 1];
    }
    split_box(context, &b);
    assert_near(b.mass[1], 0, 1e-13);
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(context, hb_judge_helmholtz(context, 7, 96, 1, 1, b.f, NULL, NULL, NULL, NULL),
                 bad, "7 x 96");
    assert_fails(context, hb_judge_helmholtz(context, 128, 96, 0, 1, b.f, NULL, NULL, NULL, NULL),
                 bad, "spacing");
    b.f[2 * (128 * 3 + 5)] = INFINITY;
    assert_fails(context, hb_judge_helmholtz(context, 128, 96, 1, 1, b.f, NULL, NULL, NULL, NULL),
                 bad, "inf at column 6 of row 4");
    free(x);
    free_box(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score_error_of_a_gaussian),
        cmocka_unit_test(test_claimed_score_errors_are_the_spread),
        cmocka_unit_test(test_score_error_of_a_shift),
        cmocka_unit_test(test_judging_draws_are_not_the_data),
        cmocka_unit_test(test_refused_scores),
        cmocka_unit_test(test_discrepancy_is_the_double_sum),
        cmocka_unit_test(test_bandwidth_is_the_median_distance),
        cmocka_unit_test(test_claimed_discrepancy_errors_are_the_spread),
        cmocka_unit_test(test_discrepancy_bits),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_the_most_likely_component),
        cmocka_unit_test(test_share_of_outliers),
        cmocka_unit_test(test_curl_of_linear_fields),
        cmocka_unit_test(test_curl_by_probes),
        cmocka_unit_test(test_curl_of_a_score),
        cmocka_unit_test(test_split_of_two_bumps),
        cmocka_unit_test(test_split_of_a_rigid_rotation),
        cmocka_unit_test(test_split_of_scores),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
