/* Trajectories and the cell list: matrix functions against closed forms, exact transitions and Heun's scheme
 * against the moments of linear SDEs, its weak order, steep drifts, lost paths, neighbours by brute force. */
#include "base/linear_algebra.h"
#include "base/memory.h"
#include "particle/cell_list.h"
#include "particle_support.h"
#include "path/trajectories.h"

#include <heatball/random.h>

/* ---- matrix functions ---- */

static void a_rotation_that_shrinks_has_closed_forms(void **state)
{
    (void)state;
    const double a = -2.385, w = 3.17, s = 0.83;
    const double A[4] = {a, w, -w, a};
    double E[4], K[4], C[4], work[HB_LINEAR_WORK(2)];
    hb_linear_functions(2, A, s, E, K, C, work);
    const double grow = exp(-a * s), wide = -expm1(-2 * a * s) / a; // 2 int e^(-2av)
    assert_relative(E[0], grow * cos(w * s), 1e-12);
    assert_relative(E[1], -grow * sin(w * s), 1e-12);
    assert_relative(C[0], wide, 1e-12);
    assert_relative(C[3], wide, 1e-12);
    assert_near(C[1], 0, 1e-11);
    /* A K = I - E */
    assert_near(a * K[0] + w * K[2], 1 - E[0], 1e-11);
    assert_near(a * K[1] + w * K[3], -E[1], 1e-11);
}

static void a_nilpotent_matrix_has_polynomials(void **state)
{
    (void)state;
    const double s = 1.7, A[4] = {0, 2.5, 0, 0};
    double E[4], K[4], C[4], work[HB_LINEAR_WORK(2)];
    hb_linear_functions(2, A, s, E, K, C, work);
    assert_relative(E[1], -2.5 * s, 1e-13);
    assert_relative(K[1], -2.5 * s * s / 2, 1e-13);
    assert_relative(C[0], 2 * s + 2 * 6.25 * s * s * s / 3, 1e-13);
    assert_relative(C[1], -2.5 * s * s, 1e-13);
    assert_relative(C[3], 2 * s, 1e-13);
}

/* ---- linear drifts ---- */

static void linear_drifts_are_recognised(void **state)
{
    (void)state;
    static const struct {
        const char *drift, *noise;
        int linear;
    } cases[] = {{"0.4 - 1.3*x + 2*y, -2*x - 0.5*y", "0.7", 1},
                 {"-x + 0.001*x^2, -y", "1", 0},
                 {"-x + 1e-6*sin(y), -y", "1", 0},
                 {"-x, -abs(y)", "1", 0},
                 {"-x, -y", "1 + t", 0},
                 {"min(-x, 200), -y", "1", 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = parse(cases[k].drift, cases[k].noise, "gaussian(mean=0,var=1)");
        hb_linear_drift drift;
        assert_ok(context, hb_linear_drift_find(context, problem, &drift));
        assert_int_equal(drift.A != NULL, cases[k].linear);
        if (k == 0) { // F = f/(g^2/2)
            assert_relative(drift.A[1], 2 / 0.245, 1e-12);
            assert_relative(drift.c[0], 0.4 / 0.245, 1e-12);
        }
        hb_release(context, drift.A);
        hb_problem_destroy(problem);
    }
}

enum { PATHS = 40000 };

/* Mean and variance of coordinate k of x[PATHS][d], within 5 standard errors. */
static void assert_moments(const double *x, size_t d, size_t k, double mean, double variance)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < PATHS; i++) {
        sum += x[i * d + k];
        squares += (x[i * d + k] - mean) * (x[i * d + k] - mean);
    }
    assert_near(sum / PATHS, mean, 5 * sqrt(variance / PATHS));
    assert_near(squares / PATHS, variance, 5 * variance * sqrt(2.0 / PATHS));
}

/* Shrinking rotation about a centre: exact transitions and Heun's scheme. From N(m, v): the mean turns and
 * shrinks about the centre, the variance is v e^-2at + (1 - e^-2at)/a. */
static void linear_paths_have_the_right_moments(void **state)
{
    (void)state;
    const double a = 1.3, w = 2.1, T = 0.7, m = 0.8, v = 0.35, times[] = {0.2, T};
    hb_problem *problem = parse("1.3 - 1.3*x - 2.1*y, -2.1 + 2.1*x - 1.3*y", "sqrt(2)",
                                "gaussian(mean=0.8 0,var=0.35)");
    double *x = malloc(2 * PATHS * 2 * sizeof *x);
    hb_path_plan plan = {.problem = problem, .seed = 3, .dim = 2, .n_times = 2, .times = times};
    plan.step = T / 40;
    for (int exact = 0; exact < 2; exact++) { // the centre is (1, 0)
        if (exact) assert_ok(context, hb_linear_drift_find(context, problem, &plan.linear));
        assert_ok(context, hb_path_transitions(context, &plan));
        assert_ok(context, hb_paths_simulate(context, &plan, 0, PATHS, PATHS, x, NULL));
        for (int k = 0; k < 2; k++) {
            const double t = times[k], fall = exp(-a * t), gap = m - 1;
            const double variance = v * fall * fall + (1 - fall * fall) / a;
            assert_moments(x + k * PATHS * 2, 2, 0, 1 + fall * gap * cos(w * t), variance);
            assert_moments(x + k * PATHS * 2, 2, 1, fall * gap * sin(w * t), variance);
        }
        hb_release(context, plan.transitions);
    }
    hb_release(context, plan.linear.A);
    free(x);
    hb_problem_destroy(problem);
}

/* ---- Heun's scheme ---- */

/* Mean of x^2 with step h minus that with 2h, common noise. */
static double twin_difference(hb_problem *problem, double T, double h, size_t n)
{
    double *x = malloc(2 * n * sizeof *x), sum = 0;
    hb_path_plan plan = {.problem = problem, .seed = 5, .dim = 1, .n_times = 1, .times = &T};
    plan.step = h;
    assert_ok(context, hb_paths_simulate(context, &plan, 0, n, n, x, x + n));
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i] - x[n + i] * x[n + i];
    free(x);
    return sum / (double)n;
}

/* With weak order 2 the difference falls by 4 when h is halved. */
static void the_weak_order_is_two(void **state)
{
    (void)state;
    hb_problem *problem = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=1.2,var=0.04)");
    const double coarse = twin_difference(problem, 0.5, 1.0 / 64, 400000);
    const double fine = twin_difference(problem, 0.5, 1.0 / 128, 400000);
    const double order = log2(coarse / fine);
    if (!(order > 1.6 && order < 2.4))
        fail_msg("the order is %.2f (differences %.2e, %.2e)", order, coarse, fine);
    hb_problem_destroy(problem);
}

/* Far out a cubic drift has slopes of hundreds: steps of 1/4 would explode at once. The stationary
 * density exp(x^2 - x^4/2) has E x^2 = 0.8935 (quadrature), and relaxation from far is fast. */
static void steep_drifts_do_not_explode(void **state)
{
    (void)state;
    hb_problem *problem = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=0,var=25)");
    const double T = 3;
    double *x = malloc(PATHS * sizeof *x), sum = 0, top = 0, bottom = 0;
    hb_path_plan plan = {.problem = problem, .seed = 5, .dim = 1, .n_times = 1, .times = &T};
    plan.step = 0.05;
    assert_ok(context, hb_paths_simulate(context, &plan, 0, PATHS, PATHS, x, NULL));
    for (size_t i = 0; i < PATHS; i++) {
        assert_true(isfinite(x[i]));
        sum += x[i] * x[i] / PATHS;
    }
    for (int k = -6000; k <= 6000; k++) {
        const double y = k * 0.001, p = exp(y * y - y * y * y * y / 2);
        top += y * y * p;
        bottom += p;
    }
    assert_near(sum, top / bottom, 0.02);
    free(x);
    hb_problem_destroy(problem);
}

static void paths_that_explode_or_leave_the_domain_are_lost(void **state)
{
    (void)state;
    const char *drifts[] = {"x^3", "log(x - 0.2)"};
    const char *starts[] = {"gaussian(mean=0,var=1)", "gaussian(mean=2,var=0.01)"};
    const double T = 2;
    for (int k = 0; k < 2; k++) {
        hb_problem *problem = parse(drifts[k], "1", starts[k]);
        double x[500];
        size_t lost = 0;
        hb_path_plan plan = {.problem = problem, .seed = 5, .dim = 1, .n_times = 1, .times = &T};
        plan.step = 0.05;
        assert_ok(context, hb_paths_simulate(context, &plan, 0, 500, 500, x, NULL));
        for (size_t i = 0; i < 500; i++) lost += isnan(x[i]) != 0;
        assert_true(lost > 20 && lost < 500);
        hb_problem_destroy(problem);
    }
}

/* ---- the cell list ---- */

typedef struct near_ones {
    const hb_cell_list *list;
    const double *centre, *half;
    size_t inside, seen;
} near_ones;

static int is_inside(const near_ones *n, const double *x)
{
    for (size_t k = 0; k < n->list->axes; k++)
        if (fabs(x[k] - n->centre[k]) > n->half[k]) return 0;
    return 1;
}

static void count_run(void *user, hb_cell_run run)
{
    near_ones *n = user;
    n->seen += run.last - run.first;
    for (size_t i = run.first; i < run.last; i++)
        n->inside += (size_t)is_inside(n, n->list->x + i * n->list->dim);
}

static void cells_hold_every_neighbour_once(void **state)
{
    (void)state;
    enum { N = 3000 };
    for (size_t d = 1; d <= 5; d++) {
        double x[N * 5], centre[5], half[5];
        uint32_t scratch[N];
        void *memory;
        assert_ok(context, hb_random_normal(context, 4, 1, 0, N * d, x));
        x[7 * d] = NAN;
        x[11 * d] = 1e60; // a path about to explode
        hb_cell_list list;
        make_cell_list(N, d, &list, &memory);
        hb_cell_list_build(N, d, x, x, 100, scratch, &list);
        assert_int_equal(list.n, N - 1);
        for (int trial = 0; trial < 40; trial++) {
            near_ones n = {.list = &list, .centre = centre, .half = half};
            size_t inside = 0;
            assert_ok(context, hb_random_normal(context, 5, 1, (uint64_t)trial * 6, d, centre));
            for (size_t k = 0; k < d; k++) half[k] = trial % 2 ? 0.15 : 2.385 * (trial % 7);
            hb_cell_list_visit(&list, centre, half, count_run, &n);
            for (size_t i = 0; i < N; i++) inside += (size_t)(i != 7 && is_inside(&n, x + i * d));
            assert_int_equal(n.inside, inside);
            if (trial % 2) assert_true(n.seen < N / 4);
        }
        for (size_t row = 0; row < list.n; row += 17) { // rows, drifts and owners belong together
            size_t i = 0;
            while (i < N && x[i * d] != list.x[row * d]) i++;
            assert_int_equal(list.owner[row], i / 100);
            assert_memory_equal(list.F + row * d, x + i * d, d * sizeof *x);
        }
        hb_release(context, memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rotation_that_shrinks_has_closed_forms),
        cmocka_unit_test(a_nilpotent_matrix_has_polynomials),
        cmocka_unit_test(linear_drifts_are_recognised),
        cmocka_unit_test(linear_paths_have_the_right_moments),
        cmocka_unit_test(the_weak_order_is_two),
        cmocka_unit_test(steep_drifts_do_not_explode),
        cmocka_unit_test(paths_that_explode_or_leave_the_domain_are_lost),
        cmocka_unit_test(cells_hold_every_neighbour_once),
    };
    return cmocka_run_group_tests_name("trajectories", tests, set_up, tear_down);
}
