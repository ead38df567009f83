/* Several times in one solve: columns by time and point against the closed form of Ornstein-Uhlenbeck, the same time
 * alone, times as text and in problem files, the grid behind a solution, and every refusal.
 *
 * dx = -x dt + sqrt(2) dW from N(0, 1) stays N(0, 1); from N(1, s) it is N(e^-t, 1 + (s - 1) e^-2t). */
#include "support.h"

#include <stdio.h>

enum { N_TIMES = 5, N_POINTS = 3 };
static const double TIMES[N_TIMES] = {1, 0.1, 0, 3, 0.1}; /* any order, 0 and one twice */
static const double POINTS[N_POINTS] = {-0.6, 0.25, 1.4};
static const double VAR = 0.3;

typedef struct fixture {
    hb_context *context;
    hb_problem *problem;
    hb_solve_settings settings;
    hb_sampling_settings sampling;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (hb_context_create(NULL, &f->context) != HB_OK) return -1;
    hb_solve_settings_default(sizeof f->settings, &f->settings);
    hb_sampling_settings_default(sizeof f->sampling, &f->sampling);
    f->settings.sampling = &f->sampling;
    f->settings.n_times = N_TIMES;
    f->settings.times = TIMES;
    return (int)hb_problem_parse(f->context, "-x", "sqrt(2)", "gaussian(mean=1, var=0.3)",
                                 &f->problem);
}

static int tear_down(void **state)
{
    fixture *f = *state;
    hb_problem_destroy(f->problem);
    hb_context_destroy(f->context);
    free(f);
    return 0;
}

static void exact(double x, double t, double *v, double *score)
{
    const double mean = exp(-t), var = 1 + (VAR - 1) * exp(-2 * t);
    *v = -0.5 * ((x - mean) * (x - mean) / var + log(2 * M_PI * var));
    *score = -(x - mean) / var;
}

static void assert_claimed(double found, double value, double claimed)
{
    if (!(fabs(found - value) <= 4 * claimed + 1e-12))
        fail_msg("%.17g is not %.17g; the claimed error is %g", found, value, claimed);
}

static void assert_exact(const hb_solution *s)
{
    const double *v = hb_solution_values(s, HB_COLUMN_LOG_DENSITY);
    const double *v_se = hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR);
    const double *score = hb_solution_values(s, HB_COLUMN_SCORE);
    const double *score_se = hb_solution_values(s, HB_COLUMN_SCORE_ERROR);
    assert_int_equal(hb_solution_size(s), N_POINTS);
    assert_int_equal(hb_solution_n_times(s), N_TIMES);
    for (size_t row = 0; row < (size_t)N_TIMES * N_POINTS; row++) {
        double right, slope;
        exact(POINTS[row % N_POINTS], TIMES[row / N_POINTS], &right, &slope);
        assert_claimed(v[row], right, v_se[row]);
        assert_claimed(score[row], slope, score_se[row]);
        assert_true(isfinite(v_se[row]) && v_se[row] < 0.1);
    }
}

static void every_method_answers_all_times(void **state)
{
    static const int methods[] = {HB_METHOD_AUTO, HB_METHOD_GRID, HB_METHOD_WALK,
                                  HB_METHOD_PARTICLES, HB_METHOD_MEANVALUE};
    static const char *const names[] = {"grid", "grid", "walk", "particles", "meanvalue"};
    fixture *f = *state;
    for (int k = 0; k < 5; k++) {
        hb_solution *s;
        f->settings.method = methods[k];
        f->sampling.samples = methods[k] == HB_METHOD_GRID ? 0 : 20000;
        assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
        assert_exact(s);
        assert_string_equal(hb_solution_method(s), names[k]);
        assert_string_equal(hb_solution_point_method(s, 0), names[k]);
        assert_string_equal(hb_solution_point_method(s, 2 * N_POINTS), "initial");
        assert_non_null(strstr(hb_solution_note(s), "at time 0 the initial density"));
        if (k < 2) { /* one grid serves all times, each with small errors */
            assert_non_null(strstr(hb_solution_note(s), "integrated once for 4 times"));
            assert_null(strstr(hb_solution_note(s), "more grid"));
            for (size_t row = 0; row < (size_t)N_TIMES * N_POINTS; row++)
                assert_true(hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR)[row] < 1e-6);
        }
        for (size_t i = 0; i < N_TIMES; i++) {
            assert_true(hb_solution_time(s, i) == TIMES[i]);
            assert_relative(hb_solution_time_tau(s, i) + 1, TIMES[i] + 1, 1e-14);
        }
        assert_true(hb_solution_tau(s) == hb_solution_time_tau(s, N_TIMES - 1));
        assert_true(isnan(hb_solution_time(s, N_TIMES)));
        hb_solution_destroy(s);
    }
}

/* Samples of a time have the same bits whether it is asked for alone or with others. */
static void a_time_is_alone(void **state)
{
    fixture *f = *state;
    hb_problem *problem;
    hb_solution *all, *one;
    hb_solve_settings alone;
    assert_ok(f->context,
              hb_problem_parse(f->context, "x - x^3", "1", "gaussian(mean=0, var=0.3)", &problem));
    f->sampling.samples = 4000;
    f->settings.method = HB_METHOD_WALK;
    assert_ok(f->context, hb_solve(f->context, problem, &f->settings, N_POINTS, POINTS, &all));
    alone = f->settings;
    alone.times = NULL;
    alone.time = 0.1;
    assert_ok(f->context, hb_solve(f->context, problem, &alone, N_POINTS, POINTS, &one));
    for (size_t i = 0; i < N_POINTS; i++) {
        const double found = hb_solution_values(all, HB_COLUMN_DENSITY)[N_POINTS + i];
        assert_true(found == hb_solution_values(one, HB_COLUMN_DENSITY)[i]);
        assert_true(found == hb_solution_values(all, HB_COLUMN_DENSITY)[4 * N_POINTS + i]);
        assert_int_equal(hb_solution_samples(all, N_POINTS + i), hb_solution_samples(one, i));
    }
    assert_int_equal(hb_solution_n_times(one), 1);
    assert_true(hb_solution_time(one, 0) == 0.1);
    hb_solution_destroy(all);
    hb_solution_destroy(one);
    hb_problem_destroy(problem);
}

static void the_grid_behind_it_answers_elsewhere(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    const double x[] = {0.1, 0.9};
    double v[2], v_se[2], score[2], low, high, right, slope;
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
    for (size_t k = 0; k < N_TIMES; k++) {
        const hb_status status = hb_solution_evaluate(f->context, s, k, 2, x, v, v_se, score, NULL);
        if (TIMES[k] == 0) {
            assert_fails(f->context, status, HB_ERROR_ARGUMENT, "no field");
            assert_int_equal(hb_solution_box(s, k, &low, &high), HB_ERROR_ARGUMENT);
            continue;
        }
        assert_ok(f->context, status);
        assert_ok(f->context, hb_solution_box(s, k, &low, &high));
        assert_true(low < -3 && high > 3);
        for (int i = 0; i < 2; i++) {
            exact(x[i], TIMES[k], &right, &slope);
            assert_claimed(v[i], right, v_se[i]);
            assert_claimed(score[i], slope, 1e-6);
        }
    }
    assert_fails(f->context,
                 hb_solution_evaluate(f->context, s, N_TIMES, 2, x, v, NULL, NULL, NULL),
                 HB_ERROR_ARGUMENT, "no field");
    hb_solution_destroy(s);
}

/* From a deviation of 0.1 to one of 4.5: the mesh that holds the end does not resolve the beginning. */
static void early_times_get_a_grid_of_their_own(void **state)
{
    fixture *f = *state;
    hb_problem *problem;
    hb_solution *s;
    const double times[] = {0.001, 10}, points[] = {0.02, 2};
    hb_grid_settings grid;
    hb_grid_settings_default(sizeof grid, &grid);
    grid.points[0] = 1024;
    assert_ok(f->context, hb_problem_parse(f->context, "0*x", "sqrt(2)",
                                           "gaussian(mean=0, var=0.01)", &problem));
    f->settings.times = times;
    f->settings.n_times = 2;
    f->settings.method = HB_METHOD_GRID;
    f->settings.grid = &grid;
    assert_ok(f->context, hb_solve(f->context, problem, &f->settings, 2, points, &s));
    for (size_t row = 0; row < 4; row++) {
        const double var = 0.01 + 2 * times[row / 2], x = points[row % 2];
        const double right = -x * x / (2 * var) - 0.5 * log(2 * M_PI * var);
        const double se = hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR)[row];
        assert_claimed(hb_solution_values(s, HB_COLUMN_LOG_DENSITY)[row], right, se);
        if (row != 1) assert_true(se < 1e-4); /* that one is at 18 deviations */
    }
    assert_non_null(strstr(hb_solution_note(s), "1 more grid"));
    hb_solution_destroy(s);
    hb_problem_destroy(problem);
}

static void times_are_read_from_text(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        double last;
    } good[] = {{"0.5", 1, 0.5},     {" 0.1, 0.5 ,1", 3, 1},    {"0:2:0.1", 21, 2},
                {"0:1:0.3", 4, 0.9}, {"0.1, 1:2:0.5, 7", 5, 7}, {"inf", 1, INFINITY},
                {"3:3:1", 1, 3},     {"0:999:1", 1000, 999}};
    static const char *const bad[] = {"",        "-1",      "1,",      "1;2",     "0:1",
                                      "0:1:0",   "0:1:-1",  "1:0:1",   "a",       "0x10",
                                      "0:1e9:1", "nan",     "1e999",   "0:inf:1", "1,,2",
                                      "1 2",     "0:1:inf", "2:3:inf", "0:0:inf", "0:1:nan"};
    fixture *f = *state;
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        size_t n;
        double *times;
        assert_ok(f->context, hb_problem_times_read(f->context, good[k].text, &n, &times));
        assert_int_equal(n, good[k].n);
        if (isinf(good[k].last))
            assert_true(isinf(times[n - 1]));
        else
            assert_true(fabs(times[n - 1] - good[k].last) <= 1e-15);
        hb_context_release(f->context, times);
    }
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        size_t n;
        double *times;
        assert_fails(f->context, hb_problem_times_read(f->context, bad[k], &n, &times),
                     HB_ERROR_ARGUMENT, "it must be a number of at least 0");
        assert_null(times);
    }
}

static void problem_files_have_several_times(void **state)
{
    fixture *f = *state;
    hb_problem *problem;
    const double *times;
    char path[] = "/tmp/heatball_times_XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *file = fdopen(descriptor, "w");
    fprintf(file, "[problem]\ndrift = -x\nnoise = sqrt(2)\ninitial = gaussian(mean=1, var=0.3)\n"
                  "time = 0, 0.5:1:0.25,\n  2\n");
    fclose(file);
    assert_ok(f->context, hb_problem_load(f->context, NULL, path, &problem));
    assert_int_equal(hb_problem_times(problem, &times), 5);
    assert_true(times[0] == 0 && times[2] == 0.75 && times[4] == 2);
    assert_true(hb_problem_time(problem) == 2);
    hb_solution *s;
    assert_ok(f->context, hb_solve(f->context, problem, NULL, N_POINTS, POINTS, &s));
    assert_int_equal(hb_solution_n_times(s), 5);
    hb_solution_destroy(s);
    hb_problem_destroy(problem);
    hb_problem_settings over;
    hb_problem_settings_default(sizeof over, &over);
    over.time = 4;
    assert_ok(f->context, hb_problem_load(f->context, &over, path, &problem));
    assert_int_equal(hb_problem_times(problem, &times), 1);
    assert_true(times[0] == 4);
    hb_problem_destroy(problem);
    remove(path);
    assert_int_equal(hb_problem_times(NULL, &times), 0);
}

static void what_is_for_one_time_is_refused(void **state)
{
    static const double wrong[] = {0.5, -1}, endless[] = {0.5, INFINITY};
    fixture *f = *state;
    hb_context *c = f->context;
    hb_solution *s;
    const double paths[] = {0, 1}, path_times[] = {0.1};
#define REFUSED(words)                                                                             \
    assert_fails(c, hb_solve(c, f->problem, &f->settings, N_POINTS, POINTS, &s),                   \
                 HB_ERROR_ARGUMENT, words)
    f->settings.time = 1;
    REFUSED("time and times are both given");
    f->settings.time = NAN;
    f->sampling.state = "x.state";
    REFUSED("a state file keeps the sampling of one time");
    f->sampling.state = NULL;
    f->sampling.paths = paths;
    f->sampling.path_times = path_times;
    f->sampling.n_paths = 2;
    f->sampling.n_times = 1;
    REFUSED("paths end at one time");
    f->sampling.paths = NULL;
    f->settings.n_times = 2;
    f->settings.times = wrong;
    REFUSED("time 2 is -1");
    f->settings.times = endless;
    REFUSED("time 2 is inf; it must be the only time");
    f->settings.times = TIMES;
    f->settings.n_times = HB_MOST_TIMES + 1;
    REFUSED("at most 1000");
    f->settings.n_times = (size_t)1 << 40; /* so many are not there to be read */
    REFUSED("at most 1000");
    const double none[] = {NAN, NAN};
    f->settings.times = none;
    for (f->settings.n_times = 1; f->settings.n_times <= 2; f->settings.n_times++)
        REFUSED("it must be a number of at least 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_method_answers_all_times),
        TEST(a_time_is_alone),
        TEST(the_grid_behind_it_answers_elsewhere),
        TEST(early_times_get_a_grid_of_their_own),
        TEST(times_are_read_from_text),
        TEST(problem_files_have_several_times),
        TEST(what_is_for_one_time_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
