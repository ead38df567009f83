/* minimum-action bridges: bridges about the most probable path, against closed forms and the grid; the table they go by; where there are
 * none. */
#include "bridge/action_paths.h"
#include "bridge/bridge.h"
#include "bridge/bridge_series.h"
#include "walk_support.h"

static const char *const BISTABLE = "2*(x - x^3)";

static hb_walk_problem shared_of(const hb_problem *problem, double tau,
                                 const hb_gauge_formula *gauge)
{
    return (hb_walk_problem){.problem = problem,
                             .d = 1,
                             .tau = tau,
                             .gradient = 1,
                             .place = hb_problem_initial_place(problem),
                             .gauge = gauge};
}

/* The range that minimum-action bridges from x end in; whether there are any. */
static int range_of(const hb_walk_problem *shared, double x, double *range)
{
    hb_walk_block *block;
    int fit;
    assert_ok(CTX, hb_walk_block_create(CTX, shared, &block));
    assert_ok(CTX, hb_action_range(block, &x, range, &fit));
    hb_walk_block_destroy(block);
    return fit;
}

static walk_answer led(const hb_problem *problem, int points, double tau, double x, size_t walks)
{
    hb_gauge_formula *gauge;
    double range[2];
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    const hb_walk_problem shared = shared_of(problem, tau, gauge);
    assert_true(range_of(&shared, x, range));
    const hb_walk_plan plan = {.kind = HB_WALK_ACTION, .points = points, .ends = range};
    const walk_answer answer = forced_walks(&shared, &plan, &x, 17, walks);
    hb_gauge_formula_destroy(gauge);
    return answer;
}

/* X_0 = 1, X_1 = 2, q = 1/2 by hand, about both sets of times and about the first alone. */
static void test_series(void **state)
{
    (void)state;
    const double X[2] = {1, 2}, dX[2] = {0.5, 0.25};
    double slope, work[3];
    const double other = exp(-1) * (1 + (2 - 1) / 0.5);
    assert_near(hb_bridge_series(1, 1, X, dX, 0.5, &slope, work), 0.5 * (-1 + other), 1e-14);
    assert_near(hb_bridge_series_about(1, 1, X, dX, 0.5, &slope, work), -1, 1e-14);
    assert_near(slope, ((0.5 - 0.25) / 0.5 - 0.5 * -1) / -1, 1e-14);
}

/* F = -x has Q = x^2/4 - 1/2, so m = x0 cosh(s) + b sinh(s), and h is a Gaussian. */
static void test_way_of_ou(void **state)
{
    (void)state;
    static hb_action_paths paths;
    hb_problem *problem = walk_problem_of(1, "-x", "sqrt(2)", "gaussian(mean=1,var=0.5)");
    hb_gauge_formula *gauge;
    const double T = 0.5, x = 0.7;
    double range[2], c[HB_ACTION_ENDS];
    int fit;
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    const hb_walk_problem shared = shared_of(problem, T, gauge);
    assert_ok(CTX, hb_action_paths_range(CTX, &shared, x, &paths, range, &fit));
    assert_int_equal(fit, 1);
    assert_ok(CTX, hb_action_paths_find(CTX, &shared, x, range, &paths));
    for (int j = 0; j < HB_ACTION_ENDS; j++) {
        const double b = (paths.end[j] - x * cosh(T)) / sinh(T);
        for (int t = 0; t < HB_ACTION_TIMES; t++) {
            const double s = paths.time[t];
            assert_near(paths.path[j][t].position, x * cosh(s) + b * sinh(s), 2e-4 * (1 + fabs(b)));
            assert_near(paths.path[j][t].tangent, sinh(T - s) / sinh(T), 1e-4);
        }
        c[j] = 0.5 * paths.velocity[j][0];
    }
    assert_ok(CTX, hb_action_paths_aim(CTX, &shared, &paths, c));
    /* y given x: u0(y) times N(x; y e^-T, 1 - e^-2T) */
    const double wide = 1 - exp(-2 * T), precision = 1 / 0.5 + exp(-2 * T) / wide;
    const double mean = (1 / 0.5 + x * exp(-T) / wide) / precision;
    for (int k = 1; k < 20; k++) {
        size_t cell;
        double share, density;
        const double y = hb_action_end(&paths, k / 20., &cell, &share, &density), g = y - mean;
        assert_near(0.5 * erfc(-g * sqrt(0.5 * precision)), k / 20., 2e-3);
        assert_near(density, sqrt(precision / (2 * M_PI)) * exp(-0.5 * precision * g * g), 4e-3);
        /* d mean of y/dx, so that all ends see the same score */
        assert_near(paths.path[cell][HB_ACTION_LAGS].tangent, exp(-T) / wide / precision, 5e-3);
    }
    hb_gauge_formula_destroy(gauge);
    hb_problem_destroy(problem);
}

/* With 2 points the sets of times have all to do. */
static void test_ou(void **state)
{
    (void)state;
    const double tau = 0.5, x = 0.7;
    const int points[] = {2, 16};
    for (int from_point = 0; from_point < 2; from_point++) {
        hb_problem *problem = walk_problem_of(1, "-x", "sqrt(2)",
                                              from_point ? "point(1)" : "gaussian(mean=1,var=0.5)");
        const double m = exp(-tau), wide = (from_point ? 0 : 0.5) * m * m + 1 - m * m;
        const double v = -0.5 * ((x - m) * (x - m) / wide + log(2 * M_PI * wide));
        const double slope = (m - x) / wide;
        for (int k = 0; k < 2; k++) {
            const walk_answer answer = led(problem, points[k], tau, x, 1 << 15);
            assert_true(answer.at.relative < (k ? 3e-4 : 2e-3));
            assert_covers(&answer, 1, v, &slope, 4, 1e-9);
        }
        hb_problem_destroy(problem);
    }
}

/* Where the gauge has no variance: the bulk, the tail, far ends of a wide start, two bumps, a point. */
static void test_steep_wells(void **state)
{
    (void)state;
    static const struct {
        const char *drift, *start;
        double tau, x, most;
    } cases[] = {{BISTABLE, "gaussian(mean=0,var=1)", 0.5, 0, 0.002},
                 {BISTABLE, "gaussian(mean=0,var=1)", 0.5, 1.6, 0.003},
                 {BISTABLE, "gaussian(mean=0,var=1)", 0.5, 2.3, 0.003},
                 {BISTABLE, "gaussian(mean=0.5,var=4)", 0.4, -1.1, 0.004},
                 {BISTABLE, "point(0.9)", 0.5, -0.6, 0.003},
                 {"-x^5 + sin(2*x)", "gaussian(mean=-0.4,var=0.3)", 0.2, 0.8, 0.004}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = walk_problem_of(1, cases[k].drift, "sqrt(2)", cases[k].start);
        double v, slope, tau;
        grid_answer(problem, cases[k].tau, 1, &cases[k].x, &v, &slope, &tau);
        const walk_answer answer = led(problem, 16, tau, cases[k].x, 1 << 15);
        assert_true(answer.at.relative < cases[k].most);
        assert_covers(&answer, 1, v, &slope, 4.5, 1e-6);
        hb_problem_destroy(problem);
    }
}

/* Long times, which may have several most probable paths, and boxes have none. */
static void test_none(void **state)
{
    (void)state;
    hb_walk_problem shared;
    hb_gauge_formula *gauge;
    double range[2];
    for (int k = 0; k < 4; k++) {
        hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)",
                                              k == 3 ? "uniform(-1 1)" : "gaussian(mean=0,var=1)");
        assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
        shared = shared_of(problem, k == 1 ? 0.6 : k == 2 ? 1.2 : 0.5, gauge);
        assert_int_equal(range_of(&shared, 0.5, range), k < 2);
        hb_gauge_formula_destroy(gauge);
        hb_problem_destroy(problem);
    }
}

/* The estimator takes them, and its bits do not depend on threads; a walk's not on its block. */
static void test_same_bits(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[3] = {0, 1, 1.6};
    walk_answer answer[2][3];
    char note[512];
    for (int k = 0; k < 2; k++) {
        hb_context_settings settings;
        hb_context *context;
        hb_context_settings_default(sizeof settings, &settings);
        settings.threads = k ? 3 : 1;
        assert_ok(NULL, hb_context_create(&settings, &context));
        estimate_walks(context, problem, 0.5, 3, 2, 3, x, answer[k], note);
        assert_non_null(strstr(note, "bridges about the most probable path at 3 of 3 points"));
        hb_context_destroy(context);
    }
    for (int i = 0; i < 3; i++) {
        assert_memory_equal(&answer[0][i].at.density, &answer[1][i].at.density, sizeof(double));
        assert_memory_equal(answer[0][i].score, answer[1][i].score, sizeof(double));
    }
    hb_problem_destroy(problem);
}

static void test_alone(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    hb_gauge_formula *gauge;
    hb_walk_block *block;
    const double x = 0.4;
    double steps, range[2], size[64], slope[64];
    int fit;
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    const hb_walk_problem shared = shared_of(problem, 0.5, gauge);
    assert_ok(CTX, hb_walk_block_create(CTX, &shared, &block));
    assert_ok(CTX, hb_action_range(block, &x, range, &fit));
    const hb_walk_plan plan = {.kind = HB_WALK_ACTION, .points = 16, .ends = range};
    assert_ok(CTX, hb_walk_block_run(block, &plan, &x, 8, 100, 64, &steps));
    for (size_t i = 0; i < 64; i++) {
        const hb_walk_result r = hb_walk_block_result(block, i);
        size[i] = r.size;
        slope[i] = *r.slope;
    }
    for (size_t i = 0; i < 64; i++) {
        assert_ok(CTX, hb_walk_block_run(block, &plan, &x, 8, 100 + i, 1, &steps));
        const hb_walk_result r = hb_walk_block_result(block, 0);
        assert_memory_equal(&r.size, size + i, sizeof(double));
        assert_memory_equal(r.slope, slope + i, sizeof(double));
    }
    hb_walk_block_destroy(block);
    hb_gauge_formula_destroy(gauge);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_series), cmocka_unit_test(test_way_of_ou),
        cmocka_unit_test(test_ou),     cmocka_unit_test(test_steep_wells),
        cmocka_unit_test(test_none),   cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
