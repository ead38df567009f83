/* hb_solve: columns against the closed form of Ornstein-Uhlenbeck, the methods against each other, time 0,
 * underflow, residuals, and every refusal.
 *
 * dx = -k x dt + g dW from N(m, s): at t Gaussian with mean m e^-kt and variance s e^-2kt + g^2/(2k) (1 -
 * e^-2kt). */
#include "support.h"

static const double K = 1.3, G = 1.1, MEAN = 0.7, VAR = 0.35, TIME = 0.8;

typedef struct fixture {
    hb_context *context;
    hb_problem *problem;
    hb_solve_settings settings;
    hb_mean_settings mean;
    hb_sampling_settings sampling;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (hb_context_create(NULL, &f->context) != HB_OK) return -1;
    hb_solve_settings_default(sizeof f->settings, &f->settings);
    hb_mean_settings_default(sizeof f->mean, &f->mean);
    hb_sampling_settings_default(sizeof f->sampling, &f->sampling);
    f->settings.mean = &f->mean;
    f->settings.sampling = &f->sampling;
    f->settings.time = TIME;
    return (int)hb_problem_parse(f->context, "-1.3*x", "1.1", "gaussian(mean=0.7, var=0.35)",
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
    const double decay = exp(-K * t), mean = MEAN * decay;
    const double var = VAR * decay * decay + G * G / (2 * K) * (1 - decay * decay);
    *v = -0.5 * ((x - mean) * (x - mean) / var + log(2 * M_PI * var));
    *score = -(x - mean) / var;
}

static void assert_within(const hb_solution *s, hb_column column, size_t i, double value,
                          double factor)
{
    const double found = hb_solution_values(s, column)[i];
    const double claimed = hb_solution_values(s, (hb_column)(column + 1))[i];
    if (!(fabs(found - value) <= factor * claimed + 1e-9))
        fail_msg("column %d of point %zu is %.17g, not %.17g; the claimed error is %g", column, i,
                 found, value, claimed);
}

/* All columns within factor claimed errors of the closed form. */
static void assert_exact(const hb_solution *s, size_t n, const double *x, double t, double factor)
{
    assert_int_equal(hb_solution_size(s), n);
    assert_int_equal(hb_solution_dim(s), 1);
    for (size_t i = 0; i < n; i++) {
        double v, score;
        exact(x[i], t, &v, &score);
        assert_within(s, HB_COLUMN_LOG_DENSITY, i, v, factor);
        assert_within(s, HB_COLUMN_DENSITY, i, exp(v), factor);
        assert_within(s, HB_COLUMN_SCORE, i, score, factor);
        assert_within(s, HB_COLUMN_ENTROPY_DENSITY, i, exp(v) * v, factor);
    }
}

static const double POINTS[] = {-0.6, 0.25, 1.4};
enum { N_POINTS = 3 };

static void the_grid_is_right_within_its_errors(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    for (int method = HB_METHOD_AUTO; method <= HB_METHOD_GRID; method++) {
        f->settings.method = method;
        assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
        assert_exact(s, N_POINTS, POINTS, TIME, 2);
        assert_string_equal(hb_solution_method(s), "grid");
        assert_true(fabs(hb_solution_tau(s) - TIME * G * G / 2) < 1e-12);
        const int chosen = strstr(hb_solution_note(s), "chosen because dim is at most 3") != NULL;
        assert_int_equal(chosen, method == HB_METHOD_AUTO);
        assert_null(hb_solution_values(s, (hb_column)77));
        /* errors to first order: e_u = u e_v, e_w = |1 + v| u e_v */
        for (int i = 0; i < N_POINTS; i++) {
            const double v = hb_solution_values(s, HB_COLUMN_LOG_DENSITY)[i];
            const double e = hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR)[i];
            const double e_w = hb_solution_values(s, HB_COLUMN_ENTROPY_DENSITY_ERROR)[i];
            assert_true(e > 0 && e < 1e-4);
            assert_true(fabs(hb_solution_values(s, HB_COLUMN_DENSITY_ERROR)[i] - exp(v) * e) <
                        1e-13 * e);
            assert_true(fabs(e_w - fabs(1 + v) * exp(v) * e) < 1e-13 * e);
        }
        hb_solution_destroy(s);
    }
}

static void averages_are_right_within_their_errors(void **state)
{
    fixture *f = *state;
    const double radii[] = {0, 0.4, 1.1};
    f->settings.method = HB_METHOD_MEANVALUE;
    f->mean.samples = 4000;
    for (int k = 0; k < 3; k++) {
        hb_solution *s;
        f->mean.radius = radii[k];
        f->mean.lift = k;
        assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
        assert_exact(s, N_POINTS, POINTS, TIME, 5);
        assert_string_equal(hb_solution_method(s), "meanvalue");
        assert_non_null(strstr(hb_solution_note(s), "4000 antithetic pairs"));
        hb_solution_destroy(s);
    }
}

/* A ball that reaches almost to tau = 0 is allowed; one that touches it is not. */
static void the_ball_stays_above_zero(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    const double limit = sqrt(4 * M_PI * TIME * G * G / 2);
    f->settings.method = HB_METHOD_MEANVALUE;
    f->mean.degree = 5;
    f->mean.radius = 0.97 * limit;
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, 1, POINTS, &s));
    hb_solution_destroy(s);
    f->mean.radius = 1.0001 * limit;
    assert_fails(f->context, hb_solve(f->context, f->problem, &f->settings, 1, POINTS, &s),
                 HB_ERROR_ARGUMENT, "below sqrt(4 pi tau)");
    assert_null(s);
}

static void time_zero_is_the_initial_density(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    f->settings.time = 0;
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
    assert_exact(s, N_POINTS, POINTS, 0, 0);
    assert_string_equal(hb_solution_method(s), "initial");
    assert_true(hb_solution_values(s, HB_COLUMN_SCORE_ERROR)[0] == 0);
    hb_solution_destroy(s);
}

static void a_density_below_double_is_zero(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    const double far = -28;
    double v, score;
    exact(far, TIME, &v, &score);
    assert_true(v < -760);
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, 1, &far, &s));
    assert_true(fabs(hb_solution_values(s, HB_COLUMN_LOG_DENSITY)[0] / v - 1) < 1e-3);
    assert_true(hb_solution_values(s, HB_COLUMN_DENSITY)[0] == 0);
    assert_true(hb_solution_values(s, HB_COLUMN_DENSITY_ERROR)[0] == 0);
    assert_true(hb_solution_values(s, HB_COLUMN_ENTROPY_DENSITY)[0] == 0);
    hb_solution_destroy(s);
}

static void residuals_of_a_solution_vanish(void **state)
{
    fixture *f = *state;
    const double radii[] = {0.2, 0.5};
    double residual[2 * N_POINTS], error[2 * N_POINTS], scaled[2 * N_POINTS];
    f->mean.degree = 9;
    for (int quantity = HB_QUANTITY_U; quantity <= HB_QUANTITY_W; quantity++) {
        f->mean.quantity = quantity;
        assert_ok(f->context, hb_solve_residual(
                                  f->context, f->problem, &f->settings, N_POINTS, 2, POINTS, radii,
                                  &(hb_residual_values){sizeof(hb_residual_values), residual, error,
                                                        scaled, NULL}));
        for (int i = 0; i < 2 * N_POINTS; i++) assert_true(fabs(residual[i]) < 5 * error[i] + 1e-7);
    }
}

/* Each method against the closed form; auto in one dimension is the grid. */
static void sampling_is_right_within_its_errors(void **state)
{
    fixture *f = *state;
    const int methods[] = {HB_METHOD_PARTICLES, HB_METHOD_WALK};
    const char *const names[] = {"particles", "walk"};
    for (int k = 0; k < 2; k++) {
        hb_solution *s;
        f->settings.method = methods[k];
        assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
        assert_exact(s, N_POINTS, POINTS, TIME, 5);
        assert_string_equal(hb_solution_method(s), names[k]);
        assert_null(hb_solution_grid(s));
        for (size_t i = 0; i < N_POINTS; i++) {
            assert_string_equal(hb_solution_point_method(s, i), names[k]);
            assert_null(hb_solution_warning(s, i));
            assert_true(k == 0 ? hb_solution_samples(s, i) >= 32768
                               : hb_solution_samples(s, i) == 1); // nothing is drawn
            assert_true(hb_solution_values(s, HB_COLUMN_LOG_DENSITY_ERROR)[i] < 0.05);
        }
        assert_null(hb_solution_point_method(s, N_POINTS));
        assert_null(hb_solution_warning(s, N_POINTS));
        assert_true(hb_solution_samples(s, N_POINTS) == 0);
        hb_solution_destroy(s);
    }
}

/* Where no trajectory comes, the errors are infinite and a sentence says why. */
static void errors_that_cannot_be_trusted_are_infinite(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    const double far[] = {0.4, 60};
    f->settings.method = HB_METHOD_PARTICLES;
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, 2, far, &s));
    assert_null(hb_solution_warning(s, 0));
    assert_non_null(hb_solution_warning(s, 1));
    for (int c = HB_COLUMN_DENSITY_ERROR; c <= HB_COLUMN_ENTROPY_DENSITY_ERROR; c += 2) {
        assert_true(isfinite(hb_solution_values(s, (hb_column)c)[0]));
        assert_true(isinf(hb_solution_values(s, (hb_column)c)[1]));
    }
    hb_solution_destroy(s);
}

/* The grid behind a solution can be asked elsewhere. */
static void the_grid_is_handed_out(void **state)
{
    fixture *f = *state;
    hb_solution *s;
    double v, gradient, exact_v, exact_score;
    const double x = 0.123;
    assert_ok(f->context, hb_solve(f->context, f->problem, &f->settings, N_POINTS, POINTS, &s));
    assert_non_null(hb_solution_grid(s));
    assert_ok(f->context, hb_grid_evaluate(f->context, hb_solution_grid(s), 1, &x,
                                           hb_solution_tau(s), &v, NULL, &gradient, NULL));
    exact(x, TIME, &exact_v, &exact_score);
    assert_near(v, exact_v, 1e-5);
    assert_near(gradient, exact_score, 1e-4);
    hb_solution_destroy(s);
}

static void wrong_sampling_is_refused(void **state)
{
    fixture *f = *state;
    hb_context *c = f->context;
    hb_solution *s;
    hb_sampling_settings *sampling = &f->sampling;
    const hb_sampling_settings good = *sampling;
    const hb_status bad = HB_ERROR_ARGUMENT;
    const double paths[] = {0.1, 0.2, 0.3, NAN}, times[] = {0, TIME}, wrong[] = {0, 2 * TIME},
                 falling[] = {2 * TIME, TIME};
    f->settings.method = HB_METHOD_PARTICLES;
    sampling->density_error = -0.1;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad,
                 "density_error is -0.1");
    *sampling = good;
    sampling->score_error = NAN;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad,
                 "score_error is nan");
    *sampling = good;
    sampling->max_time = -1;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "max_time is -1");
    *sampling = good;
    sampling->lift = -2;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "lift is -2");
    *sampling = good;
    sampling->radius = -1;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "radius is -1");
    *sampling = good;
    sampling->resume = 1;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "without a state");
    *sampling = good;
    sampling->paths = paths;
    sampling->path_times = times;
    sampling->n_times = 2;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "0 trajectories");
    sampling->n_paths = 2;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad,
                 "path 2 is nan at its time 2");
    sampling->path_times = wrong;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "the last time of");
    sampling->path_times = falling;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "times must rise");
    f->settings.method = HB_METHOD_WALK;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad,
                 "paths has no effect on the method walk; leave it out, or take particles");
}

static void wrong_calls_are_refused(void **state)
{
    fixture *f = *state;
    hb_context *c = f->context;
    hb_solution *s;
    hb_problem *other;
    const hb_status bad = HB_ERROR_ARGUMENT;
    const double wrong[] = {0.3, NAN}, radii[] = {0.3, -2}, zeros[5] = {0};
    double out[2];
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 2, wrong, &s), bad,
                 "coordinate 1 of point 2 is nan");
    assert_null(s);
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 0, NULL, &s), bad, "no point");
    f->settings.method = 9;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "method is 9");
    f->settings.method = HB_METHOD_AUTO;
    f->settings.time = -0.5;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, POINTS, &s), bad, "time is -0.5");
    f->settings.time = TIME;
    assert_fails(
        c,
        hb_solve_residual(c, f->problem, &f->settings, 1, 2, POINTS, radii,
                          &(hb_residual_values){sizeof(hb_residual_values), out, NULL, NULL, NULL}),
        bad, "radius 2 is -2");
    assert_fails(
        c,
        hb_solve_residual(c, f->problem, &f->settings, 1, 0, POINTS, radii,
                          &(hb_residual_values){sizeof(hb_residual_values), out, NULL, NULL, NULL}),
        bad, "no radius");
    f->settings.time = 0;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 2, wrong, &s), bad,
                 "coordinate 1 of point 2 is nan");
    assert_fails(
        c,
        hb_solve_residual(c, f->problem, &f->settings, 1, 1, POINTS, radii,
                          &(hb_residual_values){sizeof(hb_residual_values), out, NULL, NULL, NULL}),
        bad, "time is 0");
    f->settings.time = TIME;
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 5;
    settings.drift = "-x[i]";
    settings.initial = "gaussian(mean=0, var=1)";
    assert_ok(c, hb_problem_create(c, &settings, &other));
    f->settings.method = HB_METHOD_GRID;
    assert_fails(c, hb_solve(c, other, &f->settings, 1, zeros, &s), bad,
                 "above 3, where grids end; take particles");
    f->settings.method = HB_METHOD_MEANVALUE;
    assert_fails(c, hb_solve(c, other, &f->settings, 1, zeros, &s), bad,
                 "above 3, where grids end; take particles");
    f->settings.method = HB_METHOD_AUTO;
    hb_problem_destroy(other);
    settings.dim = 1;
    settings.initial = NULL;
    assert_ok(c, hb_problem_create(c, &settings, &other));
    assert_fails(c, hb_solve(c, other, &f->settings, 1, zeros, &s), bad, "no initial density");
    hb_problem_destroy(other);
    hb_solution_destroy(NULL);
}

static void null_is_refused(void **state)
{
    fixture *f = *state;
    hb_context *c = f->context;
    const double x = 0.3, radius = 0.1;
    double out;
    hb_solution *s;
    const hb_status bad = HB_ERROR_ARGUMENT;
    assert_fails(c, hb_solve(c, NULL, &f->settings, 1, &x, &s), bad, "problem of hb_solve is NULL");
    assert_ok(c, hb_solve(c, f->problem, NULL, 1, &x, &s)); /* the defaults */
    assert_string_equal(hb_solution_method(s), "grid");
    hb_solution_destroy(s);
    f->mean.size--;
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, &x, &s), bad,
                 "the size of hb_mean_settings");
    assert_fails(c, hb_solve(c, f->problem, &f->settings, 1, &x, NULL), bad, "output");
    assert_fails(c,
                 hb_solve_residual(
                     c, NULL, &f->settings, 1, 1, &x, &radius,
                     &(hb_residual_values){sizeof(hb_residual_values), &out, NULL, NULL, NULL}),
                 bad, "NULL");
    assert_ok(c, hb_solve_residual(
                     c, f->problem, NULL, 1, 1, &x, &radius,
                     &(hb_residual_values){sizeof(hb_residual_values), &out, NULL, NULL, NULL}));
    assert_int_equal(hb_problem_dim(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_grid_is_right_within_its_errors),
        TEST(averages_are_right_within_their_errors),
        TEST(the_ball_stays_above_zero),
        TEST(time_zero_is_the_initial_density),
        TEST(a_density_below_double_is_zero),
        TEST(residuals_of_a_solution_vanish),
        TEST(sampling_is_right_within_its_errors),
        TEST(errors_that_cannot_be_trusted_are_infinite),
        TEST(the_grid_is_handed_out),
        TEST(wrong_sampling_is_refused),
        TEST(wrong_calls_are_refused),
        TEST(null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
