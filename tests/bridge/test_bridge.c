/* Marches: bridges in the gauge, against closed forms, the grid and Feynman-Kac's own theorem on a point start; and where
 * there must be none. */
#include "bridge/bridge.h"
#include "bridge/bridge_series.h"
#include "problem/gauge_formula.h"
#include "walk_support.h"

static const hb_walk_plan FEW = {.kind = HB_WALK_BRIDGE, .points = 2, .repeat = 0.2};
static const hb_walk_plan MORE = {.kind = HB_WALK_BRIDGE, .points = 5, .repeat = 0.15};
static const char *const SOFT = "-x[i] + 2*x[i]/(1 + x[i]^2)";

/* OU from a Gaussian of variance var, or from a point with var 0: ln u and its slope. */
static void ou_answer(double x, double tau, double mean, double var, double *v, double *slope)
{
    const double m = mean * exp(-tau), s = var * exp(-2 * tau) + 1 - exp(-2 * tau);
    *v = -0.5 * ((x - m) * (x - m) / s + log(2 * M_PI * s));
    *slope = (m - x) / s;
}

static hb_problem *with_potential(int dim, const char *potential, const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.potential = potential;
    settings.noise = "sqrt(2)";
    settings.initial = initial;
    hb_problem *problem;
    assert_ok(CTX, hb_problem_create(CTX, &settings, &problem));
    return problem;
}

static hb_walk_problem shared_of(const hb_problem *problem, double tau,
                                 const hb_gauge_formula *gauge)
{
    return (hb_walk_problem){.problem = problem,
                             .d = (size_t)hb_problem_dim(problem),
                             .tau = tau,
                             .gradient = 1,
                             .place = hb_problem_initial_place(problem),
                             .gauge = gauge};
}

static walk_answer march(const hb_problem *problem, const hb_walk_plan *plan, double tau,
                         const double *x, size_t walks)
{
    hb_gauge_formula *gauge;
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    assert_non_null(gauge);
    const hb_walk_problem shared = shared_of(problem, tau, gauge);
    const walk_answer answer = forced_walks(&shared, plan, x, 21, walks);
    hb_gauge_formula_destroy(gauge);
    return answer;
}

/* Q(1.6) of 2 (x - x^3), its slope by hand, and the drift divided by g^2/2. */
static void test_formula(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "x - x^3", "1", "gaussian(mean=0,var=1)");
    hb_gauge_formula *gauge;
    const double x = 1.6;
    double Q[2], F;
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    assert_ok(CTX, hb_gauge_formula_run(CTX, gauge, 1, &x, Q));
    assert_ok(CTX, hb_gauge_formula_drift(CTX, gauge, 1, &x, &F));
    assert_near(Q[0], 1 - 2 * x * x - 2 * x * x * x * x + x * x * x * x * x * x, 1e-12);
    assert_near(Q[1], -4 * x - 8 * x * x * x + 6 * x * x * x * x * x, 1e-12);
    assert_near(F, 2 * (x - x * x * x), 1e-13);
    assert_int_equal(hb_gauge_formula_has_potential(gauge, 0), 0);
    hb_gauge_formula_destroy(gauge);
    hb_problem_destroy(problem);
}

/* No gradient, a kink, a time in the drift or in the noise: there is none. */
static void test_no_formula(void **state)
{
    (void)state;
    const char *const drifts[] = {"y, -x", "abs(x), y", "-x*cos(t), -y", "-x^3, -y"};
    for (int k = 0; k < 4; k++) {
        hb_problem *problem =
            walk_problem_of(2, drifts[k], k < 3 ? "1" : "1 + t", "gaussian(mean=0,var=1)");
        hb_gauge_formula *gauge;
        assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
        assert_null(gauge);
        hb_problem_destroy(problem);
    }
}

/* The potential typed and found along a line, ends of a free walk and fitted ones. */
static void test_ou(void **state)
{
    (void)state;
    const double tau = 0.5, x[1] = {0.7}, end[2] = {0.8, 0.35};
    double v, slope;
    ou_answer(x[0], tau, 1, 0.5, &v, &slope);
    for (int k = 0; k < 8; k++) {
        hb_problem *problem = k / 4
                                  ? with_potential(1, "x^2/2", "gaussian(mean=1,var=0.5)")
                                  : walk_problem_of(1, "-x", "sqrt(2)", "gaussian(mean=1,var=0.5)");
        hb_walk_plan plan = k % 2 ? MORE : FEW;
        if (k / 2 % 2) plan.ends = end;
        const walk_answer answer = march(problem, &plan, tau, x, 1 << 17);
        assert_true(answer.at.relative < 0.0018);
        assert_covers(&answer, 1, v, &slope, 4, 1e-9);
        hb_problem_destroy(problem);
    }
}

/* From a point, where every walk ends there, and from a box, whose walls no slope shows. */
static void test_other_starts(void **state)
{
    (void)state;
    const double tau = 0.4, x[1] = {0.7}, e = exp(tau), low = -0.9, high = 1.2;
    hb_problem *problem = walk_problem_of(1, "-x", "sqrt(2)", "point(-0.3)");
    double v, slope;
    ou_answer(x[0], tau, -0.3, 0, &v, &slope);
    walk_answer answer = march(problem, &FEW, tau, x, 1 << 16);
    assert_covers(&answer, 1, v, &slope, 4, 1e-9);
    hb_problem_destroy(problem);
    problem = walk_problem_of(1, "-x", "sqrt(2)", "uniform(-0.9 1.2)");
    const double s = sqrt(e * e - 1), a = (low - x[0] * e) / s, b = (high - x[0] * e) / s;
    const double inside = 0.5 * (erf(b / M_SQRT2) - erf(a / M_SQRT2));
    v = log(inside * e / (high - low));
    slope = e * (exp(-a * a / 2) - exp(-b * b / 2)) / sqrt(2 * M_PI) / s / inside;
    answer = march(problem, &MORE, tau, x, 1 << 18);
    assert_covers(&answer, 1, v, &slope, 4, 1e-9);
    hb_problem_destroy(problem);
}

/* X_0 = 1, X_1 = 2, q = 1/2 by hand: pivots of value -1 and 3/e, and their derivatives. */
static void test_series_by_hand(void **state)
{
    (void)state;
    const double X[2] = {1, 2}, dX[2] = {0.5, 0.25}, sum = -1 + 3 * exp(-1);
    double slope, work[3];
    assert_near(hb_bridge_series(1, 1, X, dX, 0.5, &slope, work), 0.5 * sum, 1e-14);
    assert_near(slope, (1 - 1.25 * exp(-1)) / sum, 1e-13);
}

/* In a single set of times of one point the series is at work in each walk that has more of them: without it e^{-X} alone is
 * off by many errors. Soft wells on the line against the grid. */
static void test_series(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, SOFT, "sqrt(2)", "gaussian(mean=0.3,var=0.4)");
    const double x[1] = {0.4}, end[2] = {0.35, 0.3};
    double v, gradient, tau;
    grid_answer(problem, 1.5, 1, x, &v, &gradient, &tau);
    const hb_walk_plan one = {.kind = HB_WALK_BRIDGE, .points = 1, .repeat = 0.22, .ends = end};
    const walk_answer answer = march(problem, &one, tau, x, 1 << 18);
    assert_covers(&answer, 1, v, &gradient, 4, 1e-6);
    hb_problem_destroy(problem);
}

/* The estimator takes them for soft wells, which do not know each other, in one, three and six dimensions. */
static void test_soft_wells(void **state)
{
    (void)state;
    const int dims[] = {1, 3, 6};
    double places[2] = {1, -0.4}, v1[2], slope1[2], tau;
    hb_problem *line = walk_problem_of(1, SOFT, "sqrt(2)", "gaussian(mean=0.3,var=0.4)");
    grid_answer(line, 0.5, 2, places, v1, slope1, &tau);
    hb_problem_destroy(line);
    for (int k = 0; k < 3; k++) {
        const int d = dims[k];
        double x[6], slope[6], v = 0;
        char note[512];
        walk_answer answer;
        for (int i = 0; i < d; i++) {
            x[i] = places[i % 2];
            slope[i] = slope1[i % 2];
            v += v1[i % 2];
        }
        hb_problem *problem = walk_problem_of(d, SOFT, "sqrt(2)", "gaussian(mean=0.3,var=0.4)");
        estimate_walks(CTX, problem, tau, 3, 4, 1, x, &answer, note);
        assert_non_null(strstr(note, "Brownian bridges at 1 of 1 points"));
        assert_true(answer.at.relative < 0.004);
        assert_covers(&answer, d, v, slope, 4, 1e-6);
        hb_problem_destroy(problem);
    }
}

/* Where V grows as x^4 the weights of far ends have no second moment. */
static void test_heavy_ends(void **state)
{
    (void)state;
    const char *const drifts[] = {"2*(x - x^3)", "-x"};
    for (int k = 0; k < 2; k++) {
        hb_problem *problem = walk_problem_of(1, drifts[k], "sqrt(2)", "gaussian(mean=0,var=1)");
        hb_gauge_formula *gauge;
        hb_walk_block *block;
        const double x = 1;
        double guide[2];
        int fit;
        assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
        const hb_walk_problem shared = shared_of(problem, 0.5, gauge);
        assert_ok(CTX, hb_walk_block_create(CTX, &shared, &block));
        assert_ok(CTX, hb_bridge_fit_ends(block, &x, 5, guide, &fit));
        assert_int_equal(fit, k);
        hb_walk_block_destroy(block);
        hb_gauge_formula_destroy(gauge);
        hb_problem_destroy(problem);
    }
}

/* The bits of a walk depend neither on the block that it is in nor on the walks beside it. */
static void test_alone(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(2, SOFT, "sqrt(2)", "gaussian(mean=0.3,var=0.4)");
    hb_gauge_formula *gauge;
    hb_walk_block *block;
    const double x[2] = {0.4, -0.2};
    double steps, size[40], slope[80];
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    const hb_walk_problem shared = shared_of(problem, 0.5, gauge);
    assert_ok(CTX, hb_walk_block_create(CTX, &shared, &block));
    assert_ok(CTX, hb_walk_block_run(block, &MORE, x, 8, 100, 40, &steps));
    for (size_t i = 0; i < 40; i++) {
        const hb_walk_result r = hb_walk_block_result(block, i);
        size[i] = r.size;
        memcpy(slope + 2 * i, r.slope, 2 * sizeof(double));
    }
    for (size_t i = 0; i < 40; i++) {
        assert_ok(CTX, hb_walk_block_run(block, &MORE, x, 8, 100 + i, 1, &steps));
        const hb_walk_result r = hb_walk_block_result(block, 0);
        assert_memory_equal(&r.size, size + i, sizeof(double));
        assert_memory_equal(r.slope, slope + 2 * i, 2 * sizeof(double));
    }
    hb_walk_block_destroy(block);
    hb_gauge_formula_destroy(gauge);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formula),
        cmocka_unit_test(test_no_formula),
        cmocka_unit_test(test_ou),
        cmocka_unit_test(test_other_starts),
        cmocka_unit_test(test_series_by_hand),
        cmocka_unit_test(test_series),
        cmocka_unit_test(test_soft_wells),
        cmocka_unit_test(test_heavy_ends),
        cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
