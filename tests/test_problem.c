/* Problems: time change against closed forms, drifts and their derivatives, initial densities by
 * quadrature and by their draws, every kind of wrong problem, problem files. */
#include "support.h"

#include <heatball/problem.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/heatball-problem-XXXXXX";

static const char *file_in(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *write_text(const char *name, const char *text)
{
    FILE *file = fopen(file_in(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return file_in(name);
}

static hb_problem *problem_of(hb_context *context, int dim, const char *drift, const char *noise,
                              const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(&settings);
    settings.dim = dim;
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    settings.directory = directory;
    settings.time = 3;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

/* ---- time change ---------------------------------------------------------------------------- */

static double tau_one(double t)
{
    return 0.5 * t;
}

static double tau_exponential(double t)
{
    return -0.25 * expm1(-2 * t);
}

static double tau_root(double t)
{
    return 0.5 * t + 0.25 * t * t;
}

/* int (1 + 0.9 sin 20 s)^2 / 2 */
static double tau_wave(double t)
{
    const double a = 0.9, w = 20;
    const double half = sin(0.5 * w * t); // 1 - cos(w t) = 2 half^2, without cancellation
    return 0.5 * (t + 4 * a * half * half / w + a * a * (0.5 * t - sin(2 * w * t) / (4 * w)));
}

/* int (1 + 0.3 tanh(30 (s - 1)))^2 / 2: smooth, but steep at s = 1 */
static double tau_step_from_0(double t)
{
    const double a = 0.3, w = 30, y = w * (t - 1);
    const double log_cosh = fabs(y) + log1p(exp(-2 * fabs(y)));
    return 0.5 * (t + 2 * a * log_cosh / w + a * a * (t - tanh(y) / w));
}

static double tau_step(double t)
{
    return tau_step_from_0(t) - tau_step_from_0(0);
}

static double tau_power(double t) // g = 0.1*20^t
{
    return 0.01 * expm1(2 * t * log(20.0)) / (4 * log(20.0));
}

static void time_change_is_exact(void **state)
{
    (void)state;
    const struct {
        const char *noise;
        double (*tau)(double);
        double low; /* smallest t: below it the closed form itself cancels */
    } cases[] = {{"1", tau_one, 1e-9},
                 {"exp(-t)", tau_exponential, 1e-9},
                 {"sqrt(1+t)", tau_root, 1e-9},
                 {"1 + 0.9*sin(20*t)", tau_wave, 1e-3},
                 {"1 + 0.3*tanh(30*(t - 1))", tau_step, 1e-2},
                 {"0.1*20^t", tau_power, 1e-9}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = problem_of(context, 0, "-x", cases[k].noise, NULL);
        for (double t = cases[k].low; t < 4.7; t = t < 0.1 ? 3.7 * t : t + 0.0713) {
            double tau, back; // beyond t = 3 the integral is made on the fly
            assert_ok(context, hb_problem_tau_of_t(context, problem, t, &tau));
            assert_relative(tau, cases[k].tau(t), 1e-12);
            assert_ok(context, hb_problem_t_of_tau(context, problem, tau, &back));
            /* where g is small, a rounding of tau is worth more than one of t */
            const double room = t > 3 && k == 1 ? 1e-10 : 1e-12;
            assert_relative(back, t, room);
        }
        double t, tau;
        assert_ok(context, hb_problem_tau_of_t(context, problem, 0, &tau));
        assert_ok(context, hb_problem_t_of_tau(context, problem, 0, &t));
        assert_true(tau == 0 && t == 0);
        assert_fails(context, hb_problem_tau_of_t(context, problem, -1, &tau), HB_ERROR_ARGUMENT,
                     "t is -1");
        assert_fails(context, hb_problem_t_of_tau(context, problem, NAN, &tau), HB_ERROR_ARGUMENT,
                     "tau is nan");
        hb_problem_destroy(problem);
    }
    hb_problem *problem = problem_of(context, 0, "-x", "exp(-t)", NULL);
    double t;
    assert_fails(context, hb_problem_t_of_tau(context, problem, 0.3, &t), HB_ERROR_ARGUMENT,
                 "noise");
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* A kink and a jump of g are allowed. */
static void rough_noise_is_integrated(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 0, "-x", "1 + abs(t - 0.7)", NULL);
    double tau;
    assert_ok(context, hb_problem_tau_of_t(context, problem, 2, &tau));
    assert_relative(tau, (pow(1.7, 3) - 1 + pow(2.3, 3) - 1) / 6, 1e-12);
    hb_problem_destroy(problem);
    problem = problem_of(context, 0, "-x", "2 + sign(t - 0.7)", NULL);
    assert_ok(context, hb_problem_tau_of_t(context, problem, 2, &tau));
    assert_relative(tau, 0.5 * (0.7 + 9 * 1.3), 1e-12);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- drift ---------------------------------------------------------------------------------- */

static void text_drift_and_derivatives(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 0, "y*sin(t) + 0.3*x^3, 2.5*(1 - x^2)*y - x", "0.8",
                                     "gaussian(var=0.3)");
    const double x[] = {1.2, 0.7, -0.4, 2.385}, t = 0.9, rate = 0.32, tau = rate * t;
    double F[4], divergence[2], gradient[4], jacobian[8];
    assert_int_equal(hb_problem_dim(problem), 2);
    assert_true(hb_problem_time(problem) == 3);
    assert_false(hb_problem_is_gradient(problem));
    assert_ok(context,
              hb_problem_drift(context, problem, tau, 2, x, F, divergence, gradient, jacobian));
    for (int i = 0; i < 2; i++) {
        const double a = x[2 * i], b = x[2 * i + 1];
        assert_relative(F[2 * i] * rate, b * sin(t) + 0.3 * a * a * a, 1e-14);
        assert_relative(F[2 * i + 1] * rate, 2.5 * (1 - a * a) * b - a, 1e-14);
        assert_relative(divergence[i] * rate, 0.9 * a * a + 2.5 * (1 - a * a), 1e-14);
        assert_relative(gradient[2 * i] * rate, -3.2 * a, 1e-14);
        assert_true(gradient[2 * i + 1] == 0);
        assert_relative(jacobian[4 * i] * rate, 0.9 * a * a, 1e-14);
        assert_relative(jacobian[4 * i + 1] * rate, sin(t), 1e-14);
        assert_relative(jacobian[4 * i + 2] * rate, -5 * a * b - 1, 1e-14);
        assert_relative(jacobian[4 * i + 3] * rate, 2.5 * (1 - a * a), 1e-14);
    }
    double only[4];
    assert_ok(context, hb_problem_drift(context, problem, tau, 2, x, only, NULL, NULL, NULL));
    assert_memory_equal(only, F, sizeof F);
    assert_ok(context, hb_problem_drift(context, problem, tau, 2, x, NULL, only, NULL, NULL));
    assert_memory_equal(only, divergence, sizeof divergence);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* f = (sin x + x y^2, cos(x y) e^(-t)) and its derivatives by hand. */
static int smooth_drift(void *user, size_t n, const double *x, double t, double *f,
                        double *jacobian)
{
    if (user && *(int *)user) return 17;
    for (size_t i = 0; i < n; i++) {
        const double a = x[2 * i], b = x[2 * i + 1], e = exp(-t);
        f[2 * i] = sin(a) + a * b * b;
        f[2 * i + 1] = cos(a * b) * e;
        if (!jacobian) continue;
        const double J[4] = {cos(a) + b * b, 2 * a * b, -b * sin(a * b) * e, -a * sin(a * b) * e};
        memcpy(jacobian + 4 * i, J, sizeof J);
    }
    return 0;
}

static void callback_derivatives(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int given = 0; given < 2; given++) {
        int fails = 0;
        hb_problem_settings settings;
        hb_problem_settings_default(&settings);
        settings.dim = 2;
        settings.drift_callback = smooth_drift;
        settings.drift_has_jacobian = given;
        settings.drift_user = &fails;
        settings.noise = "sqrt(2)"; // F = f, t = tau
        hb_problem *problem;
        assert_ok(context, hb_problem_create(context, &settings, &problem));
        const double x[] = {0.8, -1.3, 2.385, 0.4}, t = 0.6, e = exp(-t);
        double F[4], divergence[2], gradient[4], jacobian[8], J[8];
        assert_ok(context,
                  hb_problem_drift(context, problem, t, 2, x, F, divergence, gradient, jacobian));
        double f[4];
        smooth_drift(&fails, 2, x, t, f, J);
        for (int k = 0; k < 4; k++) assert_near(F[k], f[k], 1e-14);
        for (int k = 0; k < 8; k++) assert_near(jacobian[k], J[k], given ? 1e-14 : 1e-11);
        for (int i = 0; i < 2; i++) {
            const double a = x[2 * i], b = x[2 * i + 1];
            assert_near(divergence[i], J[4 * i] + J[4 * i + 3], given ? 1e-14 : 1e-11);
            assert_near(gradient[2 * i], -sin(a) - e * (sin(a * b) + a * b * cos(a * b)), 1e-10);
            assert_near(gradient[2 * i + 1], 2 * b - e * a * a * cos(a * b), 1e-10);
        }
        assert_false(hb_problem_is_gradient(problem));
        fails = 1;
        assert_fails(context, hb_problem_drift(context, problem, t, 2, x, F, NULL, NULL, NULL),
                     HB_ERROR_CALLBACK, "returned 17");
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

static void gradients_are_recognised(void **state)
{
    (void)state;
    const struct {
        const char *drift;
        int gradient;
    } cases[] = {{"x - x^3", 1},
                 {"-x*y^2, -x^2*y", 1},
                 {"y, x", 1},
                 {"y, -x", 0},
                 {"-2*x*sin(y)*cos(y), -x^2*(cos(y)^2 - sin(y)^2)", 1},
                 {"-x + 0.001*y, -y", 0},
                 {"-x, -y, -z + x", 0},
                 {"y*z, x*z, x*y", 1}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = problem_of(context, 0, cases[k].drift, "1", NULL);
        assert_int_equal(hb_problem_is_gradient(problem), cases[k].gradient);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

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
        {"-x", "gaussian(mean=0.4, var=0.7)", HB_INITIAL_GAUSSIAN, 1e-11, 0.4, 0.7},
        {"-x, -y", "gaussian(mean=0.4 -1, var=0.7 0.2)", HB_INITIAL_GAUSSIAN, 1e-11, 0.4, 0.7},
        {"-x, -y", "gaussian(mean=0.4 -1, var=0.7 0.2 0.2 0.3)", HB_INITIAL_GAUSSIAN, 1e-11, 0.4,
         0.7},
        {"-x", "mixture(mix1.csv)", HB_INITIAL_MIXTURE, 1e-11, 0.15, 1.3325},
        {"-x, -y", "mixture(mix2.csv)", HB_INITIAL_MIXTURE, 1e-11, -0.4, 1.56},
        {"-x, -y", "mixture(mix2one.csv)", HB_INITIAL_MIXTURE, 1e-11, -0.4, 1.56},
        {"x - x^3 + 0.2", "stationary", HB_INITIAL_STATIONARY, 1e-11, NAN, NAN},
        {"x - x^3 + 0.1*y, y - y^3 + 0.1*x", "stationary", HB_INITIAL_STATIONARY, 1e-11, 0, NAN},
        {"-30*(x - 70)", "stationary", HB_INITIAL_STATIONARY, 1e-11, 70, 1.0 / 60},
        {"-x", "uniform(-1 2.385)", HB_INITIAL_UNIFORM, 1e-6, 0.6925, 3.385 * 3.385 / 12},
        {"-x, -y", "uniform(-1 2, 0.5 3)", HB_INITIAL_UNIFORM, 1e-4, 0.5, 0.75},
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
            hb_problem_settings_default(&settings);
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
        hb_problem_settings_default(&settings);
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
    hb_problem_settings_default(&settings);
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

/* ---- wrong problems ------------------------------------------------------------------------- */

static void wrong_problems_are_refused(void **state)
{
    (void)state;
    write_text("bad.csv", "1,2,3,4\n");
    write_text("negative.csv", "1,0,0.5\n-2,1,0.5\n");
    write_text("same.csv", "1\n1\n1\n");
    write_text("one.csv", "1\n");
    write_text("nan.csv", "1\nnan\n");
    const struct {
        int dim;
        const char *drift, *potential, *noise, *initial;
        double time;
        const char *text;
    } cases[] = {
        {0, NULL, NULL, "1", NULL, 1, "the drift is missing"},
        {1, "x", "x^2", "1", NULL, 1, "more than once"},
        {0, NULL, "x^2", "1", NULL, 1, "potential needs dim"},
        {-3, "x", NULL, "1", NULL, 1, "dim is -3; it must be 1 to 1000000"},
        {3, "x, y", NULL, "1", NULL, 1, "2 components and dim is 3"},
        {0, "x +", NULL, "1", NULL, 1, "^"},
        {0, "x", NULL, "t*q", NULL, 1, "noise"},
        {0, "x", NULL, "1 + x", NULL, 1, "depends on x"},
        {0, "x", NULL, "0", NULL, 1, "g(t) is 0 at t = 0"},
        {0, "x", NULL, "-1", NULL, 1, "g(t) is -1 at t = 0"},
        {0, "x", NULL, "cos(t)", NULL, 2, "the noise g(t) is -"},
        {0, "x", NULL, "(t - 0.5)^2", NULL, 1, "t = 0.5"},
        {0, "x", NULL, "(t - 0.3)^2", NULL, 1, "reaches 0 or infinity near t = 0.3"},
        {0, "x", NULL, "1/(t - 0.3)^2", NULL, 1, "near t = 0.3"},
        {0, "x", NULL, "1.0001 - sin(40*t)^2 - 0.0002", NULL, 1, "g(t)"},
        {0, "x", NULL, "log(t)", NULL, 1, "g(t) is -inf at t = 0"},
        {0, "x", NULL, "1", NULL, -2, "time is -2"},
        {0, "log(x)", NULL, "1", "gaussian(mean=0, var=1)", 1, "the drift is nan at x = ("},
        {0, "1/(x-x)", NULL, "1", "uniform(0 1)", 1, "it must be finite"},
        {0, "x", NULL, "1", "cauchy(1)", 1,
         "'cauchy' is not known; it must be gaussian(...), mixture(FILE), stationary, "
         "samples(FILE) "
         "or uniform(...)"},
        {0, "x", NULL, "1", "gaussian(mean=0", 1, "does not end with the parenthesis"},
        {0, "x", NULL, "1", "gaussian(0, 1)", 1, "'0' is not known; write mean="},
        {0, "x", NULL, "1", "gaussian(sd=1)", 1, "'sd' is not known"},
        {0, "x", NULL, "1", "gaussian(mean=a)", 1, "mean: 'a' where a finite number"},
        {0, "x", NULL, "1", "gaussian(mean=1 2)", 1,
         "mean has 2 numbers; it must have 1 or dim = 1"},
        {0, "x, y", NULL, "1", "gaussian(var=1 2 3)", 1, "var has 3 numbers"},
        {0, "x, y", NULL, "1", "gaussian(var=1 -2)", 1, "var is -2 on axis 2; it must be positive"},
        {0, "x, y", NULL, "1", "gaussian(var=1 0.5 0.4 1)", 1, "not symmetric"},
        {0, "x, y", NULL, "1", "gaussian(var=1 2 2 1)", 1, "not positive definite"},
        {0, "x", NULL, "1", "mixture(none.csv)", 1, "none.csv: No such file"},
        {0, "x", NULL, "1", "mixture(bad.csv)", 1, "has 4 columns; for dim = 1 it must have 3"},
        {0, "x", NULL, "1", "mixture(negative.csv)", 1, "has -2 in row 2, column 1"},
        {0, "x", NULL, "1", "mixture", 1, "mixture needs a file"},
        {0, "x", NULL, "1", "samples(same.csv)", 1, "column 1 of same.csv is constant"},
        {0, "x", NULL, "1", "samples(one.csv)", 1, "1 rows and 1 columns"},
        {0, "x, y", NULL, "1", "samples(same.csv)", 1, "3 rows and 1 columns"},
        {0, "x", NULL, "1", "samples(nan.csv)", 1, "has nan in row 2"},
        {0, "x", NULL, "1", "uniform(1)", 1, "pair 1 has 1 numbers"},
        {0, "x", NULL, "1", "uniform(2 1)", 1, "low must be less than high"},
        {0, "x", NULL, "1", "uniform(0 1, 0 1)", 1, "there are 2 pairs"},
        {3, "x[i]", NULL, "1", "uniform(0 1, 0 1)", 1, "there are 2 pairs; give one, or dim = 3"},
        {0, "x", NULL, "1", "stationary(1)", 1, "takes no arguments"},
        {0, "y, -x", NULL, "1", "stationary", 1, "not known to be a gradient"},
        {0, "-x", NULL, "1 + t", "stationary", 1, "the noise depends on t"},
        {0, "-x*(1 + t)", NULL, "1", "stationary", 1, "the drift depends on t"},
        {4, "-x[i]", NULL, "1", "stationary", 1, "dim 1 to 3"},
        {0, "2*x", NULL, "1", "stationary", 1, "stationary density does not normalise"},
        {1, NULL, "-x^2", "1", "stationary", 1, "stationary density does not normalise"},
        {1, NULL, "0", "1", "stationary", 1, "stationary density does not normalise"},
        {2, NULL, "x^2", "1", "stationary", 1, "stationary density does not normalise"},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem_settings settings;
        hb_problem_settings_default(&settings);
        settings.dim = cases[k].dim;
        settings.drift = cases[k].drift;
        settings.potential = cases[k].potential;
        settings.noise = cases[k].noise;
        settings.initial = cases[k].initial;
        settings.time = cases[k].time;
        settings.directory = directory;
        hb_problem *problem = (hb_problem *)&settings;
        const hb_status status = hb_problem_create(context, &settings, &problem);
        if (status != HB_ERROR_ARGUMENT && status != HB_ERROR_PATH)
            fail_msg("case %zu ('%s'): status %s", k, cases[k].text, hb_status_name(status));
        assert_fails(context, status, status, cases[k].text);
        assert_null(problem);
    }
    hb_problem *problem;
    assert_ok(context, hb_problem_parse(context, "-x", "1", NULL, &problem));
    double x = 0, v;
    assert_fails(context, hb_problem_initial(context, problem, 1, &x, &v, NULL), HB_ERROR_ARGUMENT,
                 "has no initial density");
    hb_problem_destroy(problem);
    assert_ok(context, hb_problem_parse(context, "log(x)", "1", NULL, &problem));
    x = -2;
    assert_fails(context, hb_problem_drift(context, problem, 0, 1, &x, &v, NULL, NULL, NULL),
                 HB_ERROR_NUMERICAL, "nan at x = (-2)");
    hb_problem_destroy(problem);
    hb_problem_destroy(NULL);
    hb_context_destroy(context);
}

/* ---- problem files -------------------------------------------------------------------------- */

static void f_ou(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.8 * x[0];
}

static void f_bistable(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[0] - pow(x[0], 3);
}

static void f_van_der_pol(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[1];
    f[1] = 1.5 * (1 - x[0] * x[0]) * x[1] - x[0];
}

static void f_duffing(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[1];
    f[1] = -0.3 * x[1] + x[0] - pow(x[0], 3);
}

static void f_rotating(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.6 * x[0] - 2 * x[1];
    f[1] = 2 * x[0] - 0.6 * x[1];
}

static void f_chain(const double *x, double t, double *f)
{
    (void)t;
    for (int i = 0; i < 3; i++) {
        f[i] = x[i] - pow(x[i], 3);
        if (i > 0) f[i] += 0.5 * (x[i - 1] - x[i]);
        if (i < 2) f[i] += 0.5 * (x[i + 1] - x[i]);
    }
}

static void f_schedule(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.5 * x[0];
    f[1] = -0.5 * x[1];
}

static void examples_load(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int dim;
        double g, time; /* g at t = 0 */
        void (*f)(const double *, double, double *);
    } cases[] = {
        {"ornstein_uhlenbeck", 1, 0.7, 1, f_ou},   {"bistable", 1, 1, 1, f_bistable},
        {"van_der_pol", 2, 0.5, 2, f_van_der_pol}, {"duffing", 2, 0.4, 1.5, f_duffing},
        {"rotating", 2, 1, 1, f_rotating},         {"double_well_chain", 3, 0.8, 1, f_chain},
        {"noise_schedule", 2, 0.1, 1, f_schedule}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char path[1024];
        const int root = (int)(sizeof __FILE__ - sizeof "tests/test_problem.c");
        snprintf(path, sizeof path, "%.*sexamples/problems/%s.ini", root, __FILE__, cases[k].name);
        hb_problem *problem;
        assert_ok(context, hb_problem_load(context, path, NULL, &problem));
        assert_int_equal(hb_problem_dim(problem), cases[k].dim);
        assert_true(hb_problem_time(problem) == cases[k].time);
        assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_GAUSSIAN);
        const double x[3] = {1.3, -0.6, 2.385};
        double F[3], f[3];
        assert_ok(context, hb_problem_drift(context, problem, 0, 1, x, F, NULL, NULL, NULL));
        cases[k].f(x, 0, f);
        for (int i = 0; i < cases[k].dim; i++)
            assert_relative(F[i], f[i] / (0.5 * cases[k].g * cases[k].g), 1e-13);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

static void files_and_overrides(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    write_text("s1.csv", "0.1\n0.4\n-0.7\n1.9\n2.2\n");
    const char *path =
        write_text("p.ini", "[problem]\ndrift = a*x\n   + b\nnoise = 2\n"
                            "initial = samples(s1.csv)\n[parameters]\na = 3\nb=0.5\n");
    char own[256];
    strcpy(own, path);
    hb_problem *problem;
    const double x = 2;
    double F;
    assert_ok(context, hb_problem_load(context, own, NULL, &problem));
    assert_ok(context, hb_problem_drift(context, problem, 0, 1, &x, &F, NULL, NULL, NULL));
    assert_relative(F, 6.5 / 2, 1e-15);
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_SAMPLES);
    hb_problem_destroy(problem);
    hb_problem_settings over;
    hb_problem_settings_default(&over);
    const char *const names[] = {"b", "c"};
    const double values[] = {-1, 4};
    over.n_parameters = 2;
    over.parameter_names = names;
    over.parameter_values = values;
    over.noise = "c";
    over.time = 2.5;
    over.initial = "gaussian(var=0.1)";
    assert_ok(context, hb_problem_load(context, own, &over, &problem));
    assert_ok(context, hb_problem_drift(context, problem, 0, 1, &x, &F, NULL, NULL, NULL));
    assert_relative(F, 5.0 / 8, 1e-15);
    assert_true(hb_problem_time(problem) == 2.5);
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_GAUSSIAN);
    hb_problem_destroy(problem);
    hb_problem_settings_default(&over);
    over.dim = 2;
    over.potential = "x^2 + y^2";
    over.initial = "stationary";
    assert_ok(context, hb_problem_load(context, own, &over, &problem));
    assert_int_equal(hb_problem_dim(problem), 2);
    assert_true(hb_problem_is_gradient(problem));
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void wrong_files_name_the_line(void **state)
{
    (void)state;
    char longest[400] = "[problem]\ndrift = x";
    for (int i = 0; i < 100; i++) strcat(longest, "+1*");
    const struct {
        const char *text, *message;
    } cases[] = {
        {"[problem]\ndrift = x\n\ncolour = red\n", "line 4: key 'colour' is not known"},
        {"[problem]\ndrift = x\n[weather]\n", "line 3: section [weather] is not known"},
        {"drift = x\n", "line 1: 'drift' stands before the first section"},
        {"[problem]\ndrift\n", "line 2: 'key = value' or [section] was expected"},
        {"[problem]\ndrift = x\ndrift = 2*x\n", "line 3: drift is given twice"},
        {"[problem]\ndim = 2.5\n", "line 2: dim is 2.5; it must be 1 to 1000000"},
        {"[problem]\ntime = soon\n", "line 2: time is 'soon'; it must be a number"},
        {"[problem]\ndrift =\n", "line 2: drift has no value"},
        {"[parameters]\na = 2*3\n", "line 2: a is '2*3'; it must be a number"},
        {"[parameters]\na = 1\na = 2\n", "line 3: parameter a is given twice"},
        {longest, "line 2: the line is longer than"},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_fails(context,
                     hb_problem_load(context, write_text("w.ini", cases[k].text), NULL, &problem),
                     HB_ERROR_FORMAT, cases[k].message);
    assert_fails(context, hb_problem_load(context, "/nonexistent.ini", NULL, &problem),
                 HB_ERROR_PATH, "cannot open /nonexistent.ini");
    assert_fails(
        context,
        hb_problem_load(context, write_text("w.ini", "[problem]\nnoise = 1\n"), NULL, &problem),
        HB_ERROR_ARGUMENT, "the drift is missing");
    hb_context_destroy(context);
}

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct counter {
    int live, allowance;
} counter;

static void *counting_allocate(void *user, size_t bytes)
{
    counter *c = user;
    if (c->allowance == 0) return NULL;
    c->allowance--;
    c->live++;
    return malloc(bytes);
}

static void counting_release(void *user, void *memory)
{
    ((counter *)user)->live--;
    free(memory);
}

/* Whatever allocation fails, the creation says so, and nothing stays allocated. */
static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    write_text("mix1.csv", "weight,mean,var\n1,-1.5,0.2\n3,0.7,0.5\n");
    const char *path = write_text("m.ini", "[problem]\ndrift = a*x - x^3\nnoise = 1\n"
                                           "initial = mixture(mix1.csv)\n[parameters]\na = 3\n");
    char own[256];
    strcpy(own, path);
    const char *initials[] = {NULL, "stationary", "gaussian(mean=1, var=2)", "uniform(0 1)"};
    for (size_t k = 0; k < sizeof initials / sizeof *initials; k++) {
        int finished = 0;
        for (int allowance = 1; allowance < 5000 && !finished; allowance += 1 + allowance / 50) {
            counter c = {0, allowance};
            hb_settings settings;
            hb_settings_default(&settings);
            settings.allocate = counting_allocate;
            settings.release = counting_release;
            settings.allocator_user = &c;
            hb_context *context;
            assert_int_equal(hb_context_create(&context, &settings), HB_OK);
            hb_problem_settings over;
            hb_problem_settings_default(&over);
            over.initial = initials[k];
            if (k == 2) over.noise = "exp(-t)";
            hb_problem *problem;
            const hb_status status = hb_problem_load(context, own, &over, &problem);
            if (status != HB_OK) assert_int_equal(status, HB_ERROR_MEMORY);
            finished = status == HB_OK;
            hb_problem_destroy(problem);
            assert_int_equal(c.live, 1);
            hb_context_destroy(context);
            assert_int_equal(c.live, 0);
        }
        assert_true(finished);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_change_is_exact),
        cmocka_unit_test(rough_noise_is_integrated),
        cmocka_unit_test(text_drift_and_derivatives),
        cmocka_unit_test(callback_derivatives),
        cmocka_unit_test(gradients_are_recognised),
        cmocka_unit_test(every_kind_normalises_and_draws),
        cmocka_unit_test(densities_agree_with_scipy),
        cmocka_unit_test(stationary_densities_are_exact),
        cmocka_unit_test(density_callbacks_are_normalised),
        cmocka_unit_test(uniform_is_minus_infinity_outside),
        cmocka_unit_test(wrong_problems_are_refused),
        cmocka_unit_test(examples_load),
        cmocka_unit_test(files_and_overrides),
        cmocka_unit_test(wrong_files_name_the_line),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    if (!mkdtemp(directory)) return 1;
    const int failures = cmocka_run_group_tests_name("problem", tests, NULL, NULL);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command) ? 1 : failures;
}
