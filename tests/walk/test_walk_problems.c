/* Backward walks on nonlinear drifts against the grid's solution, the coverage of their intervals,
 * and what they say when they fail. */
#include "walk_support.h"

static const char *const BISTABLE = "2*(x - x^3)";

static void test_bistable(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[3] = {0, 1, 1.6};
    compare_with_grid(problem, 0.5, 6, 3, x, 0.01, 1e-4);
    hb_problem_destroy(problem);
}

/* Few and long steps, where what the clocks event for is a large part of the answer. */
static void test_long_steps(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[1] = {1.2};
    double v, gradient, tau;
    grid_answer(problem, 0.1, 1, x, &v, &gradient, &tau);
    const hb_walk_plan plans[] = {{.rate_multiplier = 1},
                                  {.kind = HB_WALK_GAUGE, .rate_multiplier = 8}};
    for (int k = 0; k < 2; k++) {
        const hb_walk_problem shared = {
            .problem = problem, .d = 1, .tau = tau, .gradient = k, .closed_form = 1};
        const walk_answer answer = forced_walks(&shared, plans + k, x, 21, 1 << 18);
        assert_true(answer.at.relative < 0.004);
        assert_covers(&answer, 1, v, &gradient, 4, 1e-4);
    }
    hb_problem_destroy(problem);
}

/* The stationary density stays: u(x,tau) = u(x,0), by ends that are drawn. */
static void test_stationary_start(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "x - x^3", "1", "stationary");
    const double x[2] = {0.6, 1.2};
    double v[2], gradient[2];
    walk_answer answer[2];
    char note[512];
    assert_ok(CTX, hb_problem_initial(CTX, problem, 2, x, v, gradient));
    estimate_walks(CTX, problem, 0.3, 2, 4, 2, x, answer, note);
    assert_true(strstr(note, "drawn") || strstr(note, "Brownian bridges"));
    for (int i = 0; i < 2; i++) {
        assert_true(answer[i].at.relative > 1e-5 && answer[i].at.relative < 0.02);
        assert_covers(answer + i, 1, v[i], gradient + i, 4.5, 1e-9);
    }
    hb_problem_destroy(problem);
}

/* A mixture, written to a file, in the two wells. */
static void test_mixture_start(void **state)
{
    (void)state;
    const char *path = "/tmp/heatball_walk_mixture.csv";
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("weight,mean_1,var_1\n0.3,-0.8,0.2\n0.7,0.9,0.35\n", file);
    fclose(file);
    hb_problem *problem =
        walk_problem_of(1, BISTABLE, "sqrt(2)", "mixture(/tmp/heatball_walk_mixture.csv)");
    const double x[2] = {-0.2, 1.1};
    compare_with_grid(problem, 0.2, 4, 2, x, 0.01, 1e-4);
    hb_problem_destroy(problem);
    remove(path);
}

/* Drift and noise that depend on time. */
static void test_time_dependent(void **state)
{
    (void)state;
    hb_problem *problem =
        walk_problem_of(1, "sin(2*x)*cos(t)", "0.7 + 0.3*sin(3*t)", "gaussian(mean=0.4,var=0.3)");
    const double x[2] = {0.1, 1.2};
    compare_with_grid(problem, 0.5, 8, 2, x, 0.02, 1e-4);
    hb_problem_destroy(problem);
}

/* A limit cycle: no gradient, the full frame. */
static void test_van_der_pol(void **state)
{
    (void)state;
    hb_problem *problem =
        walk_problem_of(2, "y, 1.5*(1 - x^2)*y - x", "0.5", "gaussian(mean=1 0,var=0.2)");
    const double x[4] = {1, 0, 0.5, 0.5};
    compare_with_grid(problem, 0.6, 8, 2, x, 0.01, 2e-3);
    hb_problem_destroy(problem);
}

/* ---- the reported errors --------------------------------------------------------------------- */

enum { REPETITIONS = 200 };

static int holds(double estimate, double error, double truth)
{
    return fabs(estimate - truth) <= 1.96 * error;
}

/* 95 % intervals hold the truth in 90 to 99 of 100 repetitions, for each quantity. */
static void assert_coverage(const hb_walk_problem *shared, const hb_walk_plan *plan,
                            const double *x, size_t walks, double v, const double *gradient)
{
    int counts[5] = {0};
    const double u = exp(v);
    for (uint64_t k = 0; k < REPETITIONS; k++) {
        const walk_answer w = forced_walks(shared, plan, x, 1000 + k, walks);
        assert_int_equal(w.at.flag, HB_FLAG_NONE);
        counts[0] += holds(w.at.density, w.at.density_se, u);
        counts[1] += holds(w.at.log_density, w.at.log_density_se, v);
        counts[2] += holds(w.at.entropy, w.at.entropy_se, u * v);
        for (size_t i = 0; i < shared->d; i++)
            counts[3 + i] += holds(w.score[i], w.score_se[i], gradient[i]);
    }
    for (size_t i = 0; i < 3 + shared->d; i++)
        if (counts[i] < 180 || counts[i] > 198)
            fail_msg("quantity %zu: %d of %d intervals hold the truth", i, counts[i], REPETITIONS);
}

static void test_coverage_of_the_gauge(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[1] = {0.9};
    double v, gradient, tau;
    grid_answer(problem, 0.1, 1, x, &v, &gradient, &tau);
    const hb_walk_problem shared = {
        .problem = problem, .d = 1, .tau = tau, .gradient = 1, .closed_form = 1};
    assert_coverage(&shared, &(hb_walk_plan){.kind = HB_WALK_GAUGE, .rate_multiplier = 8}, x, 1024,
                    v, &gradient);
    hb_problem_destroy(problem);
}

static void test_coverage_of_the_reversed_walk(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[1] = {0.9};
    double v, gradient, tau;
    grid_answer(problem, 0.15, 1, x, &v, &gradient, &tau);
    const hb_walk_problem shared = {
        .problem = problem, .d = 1, .tau = tau, .gradient = 1, .closed_form = 1};
    const hb_walk_plan plan = {
        .kind = HB_WALK_REVERSED, .part = 0.75, .rate_multiplier = 8, .finish = 2};
    assert_coverage(&shared, &plan, x, 1024, v, &gradient);
    hb_problem_destroy(problem);
}

static void test_coverage_of_the_parametrix(void **state)
{
    (void)state;
    hb_problem *problem =
        walk_problem_of(2, "y, 1.5*(1 - x^2)*y - x", "0.5", "gaussian(mean=1 0,var=0.2)");
    const double x[2] = {1, 0.3};
    double v, gradient[2], tau;
    grid_answer(problem, 0.3, 1, x, &v, gradient, &tau);
    const hb_walk_problem shared = {
        .problem = problem, .d = 2, .tau = tau, .full_frame = 1, .closed_form = 1};
    assert_coverage(&shared, &(hb_walk_plan){.rate_multiplier = 2}, x, 1024, v, gradient);
    hb_problem_destroy(problem);
}

/* ---- failures ------------------------------------------------------------------------------- */

/* Each case must be flagged: by a flag, with infinite errors; never a number with a small error.
 * */
static void assert_flagged(const char *drift, double tau, double x)
{
    hb_problem *problem = walk_problem_of(1, drift, "sqrt(2)", "gaussian(mean=2,var=0.1)");
    walk_answer answer;
    estimate_walks(CTX, problem, tau, 1, 1, 1, &x, &answer, NULL);
    if (answer.at.flag == HB_FLAG_NONE)
        fail_msg("%s at %g: %g +- %g is not flagged", drift, x, answer.at.density,
                 answer.at.density_se);
    assert_true(isinf(answer.at.density_se));
    hb_problem_destroy(problem);
}

static void test_failures_are_flagged(void **state)
{
    (void)state;
    assert_flagged("log(x)", 0.3, -1);   // outside the domain of the drift
    assert_flagged("log(x)", 2, 0.05);   // walks leave it
    assert_flagged("-x^5", 0.5, 4.5);    // a density far below 1e-300 behind a steep drift
    assert_flagged("-exp(9*x)", 0.5, 4); // explodes
}

/* A drift that is a function of the caller's is walked as text is. */
static void test_callback_drift(void **state)
{
    (void)state;
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 1;
    settings.drift_callback = bistable_callback;
    settings.drift_has_jacobian = 1;
    settings.noise = "sqrt(2)";
    settings.initial = "gaussian(mean=0,var=1)";
    hb_problem *problem;
    assert_ok(CTX, hb_problem_create(CTX, &settings, &problem));
    const double x[1] = {0.5};
    compare_with_grid(problem, 0.1, 2, 1, x, 0.01, 1e-4);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bistable),
        cmocka_unit_test(test_long_steps),
        cmocka_unit_test(test_stationary_start),
        cmocka_unit_test(test_mixture_start),
        cmocka_unit_test(test_time_dependent),
        cmocka_unit_test(test_van_der_pol),
        cmocka_unit_test(test_coverage_of_the_gauge),
        cmocka_unit_test(test_coverage_of_the_reversed_walk),
        cmocka_unit_test(test_coverage_of_the_parametrix),
        cmocka_unit_test(test_failures_are_flagged),
        cmocka_unit_test(test_callback_drift),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
