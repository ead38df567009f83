/* Initial densities by quadrature, by their draws, and against SciPy. */
#include "problem_support.h"

/* ---- initial densities ---------------------------------------------------------------------- */

/* int, mean and variance on the box by the midpoint rule; returns the mean of axis 0. */
static void moments(hb_context *context, const hb_problem *problem, double *mass, double *mean,
                    double *variance)
{
    enum { LINE = 4000, PLANE = 400 };
    const int d = hb_problem_dim(problem);
    double low[2] = {0}, high[2] = {0}, sums[3] = {0};
    assert_ok(context, hb_problem_initial_box(context, problem, low, high));
    const int m = d == 1 ? LINE : PLANE, rows = d == 1 ? 1 : m;
    double cell = 1;
    for (int j = 0; j < d; j++) cell *= (high[j] - low[j]) / m;
    for (int r = 0; r < rows; r++) {
        double x[2 * LINE], v[LINE];
        for (int k = 0; k < m; k++) {
            x[k * d] = low[0] + (high[0] - low[0]) * (k + 0.5) / m;
            if (d == 2) x[k * 2 + 1] = low[1] + (high[1] - low[1]) * (r + 0.5) / m;
        }
        assert_ok(context, hb_problem_initial(context, problem, (size_t)m, x, v, NULL));
        for (int k = 0; k < m; k++)
            for (int power = 0; power < 3; power++) sums[power] += exp(v[k]) * pow(x[k * d], power);
    }
    *mass = sums[0] * cell;
    *mean = sums[1] * cell;
    *variance = sums[2] * cell - *mean * *mean;
}

/* Draws: moments of axis 0 within 5 standard errors, and the same bits in pieces. */
static void check_draws(hb_context *context, const hb_problem *problem, double mean,
                        double variance)
{
    enum { N = 20000 };
    const size_t d = (size_t)hb_problem_dim(problem);
    double *x = malloc(N * d * sizeof *x), *piece = malloc(100 * d * sizeof *x);
    assert_ok(context, hb_problem_initial_sample(context, problem, 5, 0, N, x));
    double sum = 0, squares = 0, fourth = 0;
    for (size_t i = 0; i < N; i++) sum += x[i * d];
    const double average = sum / N;
    for (size_t i = 0; i < N; i++) {
        const double s = pow(x[i * d] - average, 2);
        squares += s;
        fourth += s * s;
    }
    const double spread = squares / N;
    assert_near(average, mean, 5 * sqrt(variance / N));
    assert_near(spread, variance, 5 * sqrt((fourth / N - spread * spread) / N));
    assert_ok(context, hb_problem_initial_sample(context, problem, 5, 777, 100, piece));
    assert_memory_equal(piece, x + 777 * d, 100 * d * sizeof *x);
    assert_ok(context, hb_problem_initial_sample(context, problem, 6, 777, 100, piece));
    assert_true(memcmp(piece, x + 777 * d, 100 * d * sizeof *x) != 0);
    free(x);
    free(piece);
}

/* The gradient against differences of the log-density. */
static void check_gradient(hb_context *context, const hb_problem *problem, const double *x)
{
    const int d = hb_problem_dim(problem);
    double v, gradient[3], there[3], up, down;
    const double h = 1e-5;
    assert_ok(context, hb_problem_initial(context, problem, 1, x, &v, gradient));
    for (int j = 0; j < d; j++) {
        memcpy(there, x, (size_t)d * sizeof *x);
        there[j] = x[j] + h;
        assert_ok(context, hb_problem_initial(context, problem, 1, there, &up, NULL));
        there[j] = x[j] - h;
        assert_ok(context, hb_problem_initial(context, problem, 1, there, &down, NULL));
        assert_near(gradient[j], (up - down) / (2 * h), 1e-7 * (1 + fabs(gradient[j])));
    }
}

static void every_kind_normalises_and_draws(void **state)
{
    (void)state;
    write_text("mix1.csv", "weight,mean,var\n1,-1.5,0.2\n3,0.7,0.5\n");
    write_text("mix2.csv", "2,-1.5,0,0.2,0.1\n2,0.7,1,0.5,0.3\n");
    write_text("mix2one.csv", "2 -1.5 0 0.2\n2 0.7 1 0.5\n");
    write_text("s1.csv", "0.1\n0.4\n-0.7\n1.9\n2.2\n");
    write_text("s2.csv", "0.1,3\n0.4,2\n-0.7,1\n1.9,1.5\n2.2,0\n");
    const struct {
        const char *drift, *initial;
        hb_initial_kind kind;
        double smooth;         /* tolerance of the midpoint rule */
        double mean, variance; /* of the first axis; NaN: not known in closed form */
    } cases[] = {
        {"-x", "gaussian(mean=0.4, var=0.7)", HB_INITIAL_KIND_GAUSSIAN, 1e-11, 0.4, 0.7},
        {"-x, -y", "gaussian(mean=0.4 -1, var=0.7 0.2)", HB_INITIAL_KIND_GAUSSIAN, 1e-11, 0.4, 0.7},
        {"-x, -y", "gaussian(mean=0.4 -1, var=0.7 0.2 0.2 0.3)", HB_INITIAL_KIND_GAUSSIAN, 1e-11,
         0.4, 0.7},
        {"-x", "mixture(mix1.csv)", HB_INITIAL_KIND_MIXTURE, 1e-11, 0.15, 1.3325},
        {"-x, -y", "mixture(mix2.csv)", HB_INITIAL_KIND_MIXTURE, 1e-11, -0.4, 1.56},
        {"-x, -y", "mixture(mix2one.csv)", HB_INITIAL_KIND_MIXTURE, 1e-11, -0.4, 1.56},
        {"x - x^3 + 0.2", "stationary", HB_INITIAL_KIND_STATIONARY, 1e-11, NAN, NAN},
        {"x - x^3 + 0.1*y, y - y^3 + 0.1*x", "stationary", HB_INITIAL_KIND_STATIONARY, 1e-11, 0,
         NAN},
        {"-30*(x - 70)", "stationary", HB_INITIAL_KIND_STATIONARY, 1e-11, 70, 1.0 / 60},
        {"-x", "uniform(-1 2.385)", HB_INITIAL_KIND_UNIFORM, 1e-6, 0.6925, 3.385 * 3.385 / 12},
        {"-x, -y", "uniform(-1 2, 0.5 3)", HB_INITIAL_KIND_UNIFORM, 1e-4, 0.5, 0.75},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = problem_of(context, 0, cases[k].drift, "1", cases[k].initial);
        double mass, mean, variance;
        assert_int_equal(hb_problem_initial_kind(problem), cases[k].kind);
        moments(context, problem, &mass, &mean, &variance);
        assert_near(mass, 1, cases[k].smooth);
        if (!isnan(cases[k].mean)) assert_near(mean, cases[k].mean, 10 * cases[k].smooth);
        if (!isnan(cases[k].variance))
            assert_near(variance, cases[k].variance, 100 * cases[k].smooth);
        check_draws(context, problem, mean, variance);
        double draw[2];
        assert_ok(context, hb_problem_initial_sample(context, problem, 9, 3, 1, draw));
        check_gradient(context, problem, draw);
        hb_problem_destroy(problem);
    }
    /* samples: the density is the kernels' and the draws are the samples themselves */
    const double x[] = {0.1, 0.4, -0.7, 1.9, 2.2};
    double mean = 0, variance = 0;
    for (int i = 0; i < 5; i++) mean += x[i] / 5;
    for (int i = 0; i < 5; i++) variance += pow(x[i] - mean, 2) / 5;
    for (int d = 1; d <= 2; d++) {
        hb_problem *problem = problem_of(context, 0, d == 1 ? "-x" : "-x, -y", "1",
                                         d == 1 ? "samples(s1.csv)" : "samples(s2.csv)");
        double mass, kernel_mean, kernel_variance;
        moments(context, problem, &mass, &kernel_mean, &kernel_variance);
        assert_near(mass, 1, 1e-11);
        assert_near(kernel_mean, mean, 1e-10);
        assert_relative(kernel_variance, variance * (1 + 1.25 * pow(5, -2.0 / (d + 4))), 1e-9);
        check_draws(context, problem, mean, variance);
        check_gradient(context, problem, (const double[]){0.3, 0.8});
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* Values by SciPy 1.10: python3 -c "from scipy.stats import *; import numpy as np;
 * p = multivariate_normal([1,-.5,.2], [[.7,.2,-.1],[.2,.3,.05],[-.1,.05,.9]]);
 * print(repr(p.logpdf([.3,.4,-1.1])), repr(p.logpdf([30,-20,9])));
 * k = gaussian_kde([.1,.4,-.7,1.9,2.2]); print(repr(k.logpdf([.9,12])))" */
static void densities_agree_with_scipy(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 3, "-x[i]", "1",
                                     "gaussian(mean=1 -0.5 0.2, var=0.7 0.2 -0.1  0.2 0.3 0.05 "
                                     " -0.1 0.05 0.9)");
    const double x[] = {0.3, 0.4, -1.1, 30, -20, 9};
    double v[2];
    assert_ok(context, hb_problem_initial(context, problem, 2, x, v, NULL));
    assert_relative(v[0], -6.428673626255856, 1e-13);
    assert_relative(v[1], -2471.5880753356582, 1e-13);
    hb_problem_destroy(problem);
    write_text("s1.csv", "0.1\n0.4\n-0.7\n1.9\n2.2\n");
    problem = problem_of(context, 0, "-x", "1", "samples(s1.csv)");
    assert_ok(context, hb_problem_initial(context, problem, 2, (const double[]){0.9, 12}, v, NULL));
    assert_relative(v[0], -1.4574159425646676, 1e-13);
    assert_relative(v[1], -62.650883058585784, 1e-13);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* exp(2 x^2 - x^4... ) and Gaussians: the stationary density in closed form, d = 1, 2, 3. */
static void stationary_densities_are_exact(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int d = 1; d <= 3; d++)
        for (int potential = 0; potential < 2; potential++) {
            hb_problem_settings settings;
            hb_problem_settings_default(sizeof settings, &settings);
            settings.dim = d;
            if (potential)
                settings.potential = "sum(j, 1, d, 0.85*(x[j] - 0.3*j)^2)";
            else
                settings.drift = "-1.7*(x[i] - 0.3*i)";
            settings.noise = "0.9";
            settings.initial = "stationary";
            hb_problem *problem;
            assert_ok(context, hb_problem_create(context, &settings, &problem));
            assert_true(hb_problem_is_gradient(problem));
            const double variance = 0.81 / 3.4, x[3] = {0.7, -1.1, 2.385};
            double v, gradient[3], exact = -0.5 * d * log(2 * M_PI * variance);
            assert_ok(context, hb_problem_initial(context, problem, 1, x, &v, gradient));
            for (int j = 0; j < d; j++) {
                const double y = x[j] - 0.3 * (j + 1);
                exact -= 0.5 * y * y / variance;
                assert_relative(gradient[j], -y / variance, 1e-13);
            }
            assert_relative(v, exact, 1e-12);
            check_draws(context, problem, 0.3, variance);
            hb_problem_destroy(problem);
        }
    hb_context_destroy(context);
}

/* ln of a Student-like bump times 7: callbacks need not be normalised. */
static int bump(void *user, size_t n, const double *x, double *log_density, double *gradient)
{
    const int d = *(const int *)user;
    for (size_t i = 0; i < n; i++) {
        log_density[i] = log(7.0);
        for (int j = 0; j < d; j++) {
            const double y = x[i * (size_t)d + (size_t)j] - 40;
            log_density[i] -= 0.5 * y * y / 0.09;
            if (gradient) gradient[i * (size_t)d + (size_t)j] = -y / 0.09;
        }
    }
    return 0;
}

static int flat(void *user, size_t n, const double *x, double *log_density, double *gradient)
{
    (void)x;
    (void)gradient;
    for (size_t i = 0; i < n; i++) log_density[i] = user ? NAN : 0;
    return 0;
}

static void density_callbacks_are_normalised(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem_settings settings;
    hb_problem *problem;
    for (int d = 1; d <= 4; d++) {
        hb_problem_settings_default(sizeof settings, &settings);
        settings.dim = d;
        settings.drift = "-x[i]";
        settings.initial_callback = bump;
        settings.initial_user = &d;
        assert_ok(context, hb_problem_create(context, &settings, &problem));
        const double x[4] = {40.1, 39.8, 40.4, 40};
        double v, exact = -0.5 * d * log(2 * M_PI * 0.09);
        if (d == 4) exact = log(7.0); // taken as it is
        for (int j = 0; j < d; j++) exact -= 0.5 * pow(x[j] - 40, 2) / 0.09;
        assert_ok(context, hb_problem_initial(context, problem, 1, x, &v, NULL));
        assert_near(v, exact, 1e-11);
        double low[4], high[4], draw[4];
        if (d < 4) {
            check_draws(context, problem, 40, 0.09);
            check_gradient(context, problem, x);
        } else {
            assert_fails(context, hb_problem_initial_sample(context, problem, 1, 0, 1, draw),
                         HB_ERROR_ARGUMENT, "dim up to 3");
            assert_fails(context, hb_problem_initial_box(context, problem, low, high),
                         HB_ERROR_ARGUMENT, "dim up to 3");
        }
        hb_problem_destroy(problem);
    }
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = "-x";
    settings.initial_callback = flat;
    assert_fails(context, hb_problem_create(context, &settings, &problem), HB_ERROR_ARGUMENT,
                 "initial density does not normalise");
    settings.initial_user = context;
    assert_fails(context, hb_problem_create(context, &settings, &problem), HB_ERROR_NUMERICAL,
                 "log-density is nan at x = (-1)");
    hb_context_destroy(context);
}

static void uniform_is_minus_infinity_outside(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 2, "-x, -y", "1", "uniform(-1 2)");
    const double x[] = {0, 0, 0, 2.1};
    double v[2], gradient[4];
    assert_ok(context, hb_problem_initial(context, problem, 2, x, v, gradient));
    assert_near(v[0], -log(9), 1e-15);
    assert_true(isinf(v[1]) && v[1] < 0 && gradient[2] == 0);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_normalises_and_draws),
        cmocka_unit_test(densities_agree_with_scipy),
        cmocka_unit_test(stationary_densities_are_exact),
        cmocka_unit_test(density_callbacks_are_normalised),
        cmocka_unit_test(uniform_is_minus_infinity_outside),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
