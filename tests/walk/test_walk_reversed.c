/* Reversed walks: against the grid on the line and in the plane; in three, six and ten dimensions,
 * where wells that do not know each other have the product of solutions on the line. */
#include "walk_support.h"

static const char *const BISTABLE = "2*(x - x^3)";
static const hb_walk_plan WHOLE = {
    .kind = HB_WALK_REVERSED, .part = 1, .rate_multiplier = 8, .finish = 2};
static const hb_walk_plan THREE_QUARTERS = {
    .kind = HB_WALK_REVERSED, .part = 0.75, .rate_multiplier = 8, .finish = 2};

static hb_problem *chain(int dim, const char *potential)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.potential = potential;
    settings.noise = "0.8";
    settings.initial = "gaussian(mean=0,var=0.5)";
    hb_problem *problem;
    assert_ok(CTX, hb_problem_create(CTX, &settings, &problem));
    return problem;
}

/* Two steep wells at tau = 0.5: both parts of the potential, density and score. */
static void test_bistable(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[3] = {0.2, 1, 1.6};
    double v[3], gradient[3], tau;
    grid_answer(problem, 0.5, 3, x, v, gradient, &tau);
    const hb_walk_problem shared = {
        .problem = problem, .d = 1, .tau = tau, .gradient = 1, .closed_form = 1};
    for (int k = 0; k < 6; k++) {
        const walk_answer answer =
            forced_walks(&shared, k % 2 ? &WHOLE : &THREE_QUARTERS, x + k / 2, 17, 1 << 15);
        assert_true(answer.at.relative < 0.007);
        assert_covers(&answer, 1, v[k / 2], gradient + k / 2, 4, 1e-4);
    }
    hb_problem_destroy(problem);
}

/* Every reversed W u0 e^(p V) has the mean that keeps the stationary density; by ends that are
 * drawn. */
static void test_stationary_density_stays(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "x - x^3", "1", "stationary");
    const double x[1] = {1.2};
    double v, gradient;
    assert_ok(CTX, hb_problem_initial(CTX, problem, 1, x, &v, &gradient));
    const hb_walk_problem shared = {.problem = problem, .d = 1, .tau = 0.6, .gradient = 1};
    for (int k = 0; k < 2; k++) {
        const walk_answer answer =
            forced_walks(&shared, k ? &WHOLE : &THREE_QUARTERS, x, 4, 1 << 15);
        assert_true(answer.at.relative > 1e-5 && answer.at.relative < 0.01);
        assert_covers(&answer, 1, v, &gradient, 4.5, 1e-9);
    }
    hb_problem_destroy(problem);
}

/* Both parts of the potential, in the diagonal frame and in the full one, against ln u and its
 * gradient. */
static void assert_both_frames(const hb_problem *problem, double tau, const double *x, size_t walks,
                               double most_relative, double v, const double *gradient, double known)
{
    const int dim = hb_problem_dim(problem);
    for (int k = 0; k < 4; k++) {
        const hb_walk_problem shared = {.problem = problem,
                                        .d = (size_t)dim,
                                        .tau = tau,
                                        .full_frame = k / 2,
                                        .gradient = 1,
                                        .closed_form = 1};
        const walk_answer answer =
            forced_walks(&shared, k % 2 ? &WHOLE : &THREE_QUARTERS, x, 9, walks);
        assert_true(answer.at.relative < most_relative);
        assert_covers(&answer, dim, v, gradient, 4, known);
    }
}

/* Two wells that pull at each other, against the grid. */
static void test_chain_in_the_plane(void **state)
{
    (void)state;
    hb_problem *problem = chain(2, "sum(j, 1, d, x[j]^4/4 - x[j]^2/2 + 0.25*(x[j+1] - x[j])^2)");
    const double x[2] = {0.7, -0.3};
    double v, gradient[2], tau;
    grid_answer(problem, 0.8, 1, x, &v, gradient, &tau);
    assert_both_frames(problem, tau, x, 1 << 14, 0.012, v, gradient, 2e-3);
    hb_problem_destroy(problem);
}

/* Three wells in turned coordinates y = T x: all coordinates of the drift depend on all, and ln u
 * is still the sum of three solutions on the line, its gradient T' times theirs. */
static void test_turned_wells_in_space(void **state)
{
    (void)state;
    const double T[9] = {2. / 3, 2. / 3, 1. / 3, -2. / 3, 1. / 3, 2. / 3, 1. / 3, -2. / 3, 2. / 3};
    hb_problem *line = walk_problem_of(1, "x - x^3", "0.8", "gaussian(mean=0,var=0.5)");
    hb_problem *problem =
        chain(3, "((2*x[1] + 2*x[2] + x[3])^4 + (x[2] + 2*x[3] - 2*x[1])^4"
                 " + (x[1] - 2*x[2] + 2*x[3])^4)/324 - (x[1]^2 + x[2]^2 + x[3]^2)/2");
    const double x[3] = {0.7, -0.3, 1.1};
    double y[3] = {0}, v[3], slope[3], gradient[3] = {0}, tau;
    for (int k = 0; k < 9; k++) y[k / 3] += T[k] * x[k % 3];
    grid_answer(line, 0.8, 3, y, v, slope, &tau);
    for (int k = 0; k < 9; k++) gradient[k % 3] += T[k] * slope[k / 3];
    assert_both_frames(problem, tau, x, 1 << 14, 0.03, v[0] + v[1] + v[2], gradient, 1e-4);
    hb_problem_destroy(problem);
    hb_problem_destroy(line);
}

/* d wells side by side: ln u is a sum of solutions on the line. */
static void wells_against_lines(int dim, int rounds, double most_relative)
{
    hb_problem *line = walk_problem_of(1, "x - x^3", "0.8", "gaussian(mean=0,var=0.5)");
    hb_problem *problem = chain(dim, "sum(j, 1, d, x[j]^4/4 - x[j]^2/2)");
    double x[WALK_DIM], v[WALK_DIM], gradient[WALK_DIM], tau, sum = 0;
    char note[512];
    walk_answer answer;
    for (int i = 0; i < dim; i++) x[i] = 0.9 - 0.13 * i;
    grid_answer(line, 1, (size_t)dim, x, v, gradient, &tau);
    for (int i = 0; i < dim; i++) sum += v[i];
    estimate_walks(CTX, problem, tau, 5, rounds, 1, x, &answer, note);
    assert_true(answer.at.relative < most_relative);
    assert_covers(&answer, dim, sum, gradient, 4, 1e-4);
    hb_problem_destroy(problem);
    hb_problem_destroy(line);
}

static void test_six_wells(void **state)
{
    (void)state;
    wells_against_lines(6, 2, 0.02);
}

static void test_ten_wells(void **state)
{
    (void)state;
    wells_against_lines(10, 3, 0.06);
}

static void test_estimator_names_it(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, BISTABLE, "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[1] = {1.6};
    char note[512];
    walk_answer answer;
    estimate_walks(CTX, problem, 1.2, 3, 1, 1, x, &answer, note);
    assert_non_null(strstr(note, "reversed at 1 of 1 points"));
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bistable),           cmocka_unit_test(test_stationary_density_stays),
        cmocka_unit_test(test_chain_in_the_plane), cmocka_unit_test(test_turned_wells_in_space),
        cmocka_unit_test(test_six_wells),          cmocka_unit_test(test_ten_wells),
        cmocka_unit_test(test_estimator_names_it),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
