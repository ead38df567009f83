/* Likelihoods of a score that has no divergence: differences along axes and along probes, and their errors, against
 * Gaussians in closed form and mixtures. */
#include "generate_support.h"

enum { N = 60 };

static double exact_gaussian(int process, double tau, const double *x)
{
    const double a = a_of(process, tau);
    double away[2] = {x[0] - a * MEAN[0], x[1] - a * MEAN[1]}, value = -log(2 * M_PI);
    turn(away, 1, away);
    for (int j = 0; j < 2; j++) {
        const double v = a * a * LAMBDA[j] + b_of(process, tau);
        value -= 0.5 * (away[j] * away[j] / v + log(v));
    }
    return value;
}

static void draw(hb_context *context, double *x)
{
    assert_ok(context, hb_random_normal(context, 1, 1, 0, 2 * N, x));
}

/* The same in single precision. */
static int single_score(void *user, size_t n, const double *x, double tau, double *score)
{
    double y[2];
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j < 2; j++) y[j] = (double)(float)x[2 * i + (size_t)j];
        gaussian_score(user, 1, y, tau, score + 2 * i);
        for (size_t j = 2 * i; j < 2 * i + 2; j++) score[j] = (double)(float)score[j];
    }
    return 0;
}

static void test_axes(void **state)
{
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
        double C[4], x[2 * N], found[N], error[2 * N], given[N];
        hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
        draw(*state, x);
        assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, gaussian_score, NULL,
                                                 &process, found, error));
        assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, NULL, gaussian_divergence,
                                                 &process, given, NULL));
        for (size_t i = 0; i < N; i++) {
            const double truth = exact_gaussian(process, s.tau_min, x + 2 * i);
            assert_near(found[i], given[i], 1e-7 * (1 + fabs(truth)));
            assert_near(found[i], truth, 3 * error[2 * i + 1]);
            assert_true(error[2 * i] == 0 && error[2 * i + 1] < 2e-4 * (1 + fabs(truth)));
        }
    }
}

static void test_single_precision(void **state)
{
    double C[4], x[2 * N], found[N], error[2 * N];
    int process = HB_PROCESS_OU;
    hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
    draw(*state, x);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, single_score, NULL, &process,
                                             found, error));
    for (size_t i = 0; i < N; i++) {
        const double truth = exact_gaussian(process, s.tau_min, x + 2 * i);
        assert_near(found[i], truth, 1e-3 * (1 + fabs(truth)));
        assert_near(found[i], truth, 3 * error[2 * i + 1]);
    }
}

/* In the plane v^T J v takes two values, so that with many probes the mean is nearly normal. */
static void test_probes(void **state)
{
    enum { PROBES = 40 };
    double C[4], x[2 * N], found[N], error[2 * N], pieces[N], bits[2 * N];
    int process = HB_PROCESS_OU, inside = 0;
    hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
    s.ode_tolerance = 1e-3;
    draw(*state, x);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, PROBES, N, x, gaussian_score, NULL,
                                             &process, found, error));
    for (size_t i = 0; i < N; i++) {
        const double away = found[i] - exact_gaussian(process, s.tau_min, x + 2 * i);
        assert_true(error[2 * i] > 0);
        inside += fabs(away) < 1.96 * hypot(error[2 * i], error[2 * i + 1]);
    }
    assert_true(inside >= N - 11); /* 3 expected outside, five deviations more */
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, PROBES, 7, x, gaussian_score, NULL,
                                             &process, pieces, bits));
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, PROBES, N - 7, x + 14, gaussian_score,
                                             NULL, &process, pieces + 7, bits + 14));
    assert_memory_equal(found, pieces, sizeof found);
    assert_memory_equal(error, bits, sizeof error);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 1, 2, x, gaussian_score, NULL, &process,
                                             found, error));
    assert_true(isinf(error[0]) && isfinite(error[1])); /* one probe has no spread */
}

/* The law at tau_max is wrong with moments of other data, and the error says so; without moments it is fitted to the
 * score, which for Gaussian data is exact. */
static void test_start(void **state)
{
    const double other[] = {0, 0}, identity[] = {1, 0, 0, 1};
    double C[4], x[2 * N], found[N], error[2 * N], median = 0;
    int process = HB_PROCESS_OU;
    hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
    s.mean = other;
    s.covariance = identity;
    draw(*state, x);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, gaussian_score, NULL, &process,
                                             found, error));
    for (size_t i = 0; i < N; i++) {
        const double away = fabs(found[i] - exact_gaussian(process, s.tau_min, x + 2 * i));
        median += away / N;
        assert_true(away < 3 * error[2 * i + 1]);
    }
    assert_true(median > 1e-3);
    s.mean = s.covariance = NULL;
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, gaussian_score, NULL, &process,
                                             found, error));
    for (size_t i = 0; i < N; i++) {
        const double truth = exact_gaussian(process, s.tau_min, x + 2 * i);
        assert_near(found[i], truth, 3 * error[2 * i + 1]);
        assert_true(error[2 * i + 1] < 1e-3 * (1 + fabs(truth)));
    }
}

static int failing_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)n, (void)x, (void)tau, (void)score;
    return hb_context_fail(user, HB_ERROR_CALLBACK, "no more scores") != HB_OK;
}

static void test_refusals(void **state)
{
    double x[4] = {0, 1, 2, NAN}, out[2], error[4], C[4];
    int process = HB_PROCESS_OU;
    hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
    assert_fails(
        *state,
        hb_generate_likelihood(*state, &s, 2, 0, 2, x, gaussian_score, NULL, &process, out, error),
        HB_ERROR_ARGUMENT, "row 2, column 2 of x is nan");
    assert_fails(*state,
                 hb_generate_likelihood(*state, &s, 2, 0, 1, x, NULL, NULL, NULL, out, error),
                 HB_ERROR_ARGUMENT, "score and divergence");
    assert_fails(
        *state,
        hb_generate_likelihood(*state, &s, 2, -1, 1, x, gaussian_score, NULL, &process, out, error),
        HB_ERROR_ARGUMENT, "probes is -1");
    assert_fails(*state,
                 hb_generate_likelihood(*state, &s, 2, 3, 1, x, gaussian_score, gaussian_divergence,
                                        &process, out, error),
                 HB_ERROR_ARGUMENT, "probes is 3, but there is a divergence");
    assert_fails(
        *state,
        hb_generate_likelihood(*state, &s, 2, 0, 1, x, failing_score, NULL, *state, out, error),
        HB_ERROR_CALLBACK, "no more scores");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_axes),     cmocka_unit_test(test_single_precision),
        cmocka_unit_test(test_probes),   cmocka_unit_test(test_start),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
