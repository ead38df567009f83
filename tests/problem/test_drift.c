/* The time change against closed forms; drifts and their derivatives, at one tau and at a tau for each
 * point. */
#include "problem_support.h"

#include <unistd.h>

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
            const double scratch = t > 3 && k == 1 ? 1e-10 : 1e-12;
            assert_relative(back, t, scratch);
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
              hb_problem_drift(context, problem, 2, x, tau, F, divergence, gradient, jacobian));
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
    assert_ok(context, hb_problem_drift(context, problem, 2, x, tau, only, NULL, NULL, NULL));
    assert_memory_equal(only, F, sizeof F);
    assert_ok(context, hb_problem_drift(context, problem, 2, x, tau, NULL, only, NULL, NULL));
    assert_memory_equal(only, divergence, sizeof divergence);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* f = (sin x + x y^2, cos(x y) e^(-t)) and its derivatives by hand. */
static int smooth_drift(void *user, size_t n, const double *x, const double *t, double *f,
                        double *jacobian)
{
    if (user && *(int *)user) return 17;
    for (size_t i = 0; i < n; i++) {
        const double a = x[2 * i], b = x[2 * i + 1], e = exp(-t[i]);
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
        hb_problem_settings_default(sizeof settings, &settings);
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
                  hb_problem_drift(context, problem, 2, x, t, F, divergence, gradient, jacobian));
        double f[4];
        smooth_drift(&fails, 2, x, (double[]){t, t}, f, J);
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
        assert_fails(context, hb_problem_drift(context, problem, 2, x, t, F, NULL, NULL, NULL),
                     HB_ERROR_CALLBACK, "returned 17");
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* f = -grad V, V = cos x e^(y/2), and how often it was asked. */
static int gradient_drift(void *user, size_t n, const double *x, const double *t, double *f,
                          double *jacobian)
{
    size_t *count = user;
    (void)t;
    (void)jacobian;
    count[0]++;
    count[1] += n;
    for (size_t i = 0; i < n; i++) {
        f[2 * i] = sin(x[2 * i]) * exp(x[2 * i + 1] / 2);
        f[2 * i + 1] = -cos(x[2 * i]) * exp(x[2 * i + 1] / 2) / 2;
    }
    return 0;
}

/* All derivatives of a gradient come from 1 + 6 d values a point, in one call: it was a call a point, of 144 values. */
static void derivatives_of_a_gradient_take_few_calls(void **state)
{
    (void)state;
    enum { N = 100 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    size_t count[2] = {0};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 2;
    settings.drift_callback = gradient_drift;
    settings.drift_user = count;
    settings.drift_facts = HB_DRIFT_FACT_AUTONOMOUS | HB_DRIFT_FACT_GRADIENT;
    settings.noise = "sqrt(2)"; // F = f
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    double x[2 * N], F[2 * N], divergence[N], gradient[2 * N], J[4 * N];
    for (int k = 0; k < 2 * N; k++) x[k] = 3 * sin(2.385 * k);
    count[0] = count[1] = 0;
    assert_ok(context, hb_problem_drift(context, problem, N, x, 0, F, divergence, gradient, J));
    assert_int_equal(count[0], 1);
    assert_int_equal(count[1], 13 * N);
    for (int i = 0; i < N; i++) {
        const double s = sin(x[2 * i]), c = cos(x[2 * i]), e = exp(x[2 * i + 1] / 2);
        assert_near(F[2 * i + 1], -c * e / 2, 1e-14);
        assert_near(J[4 * i + 1], s * e / 2, 1e-11);
        assert_near(divergence[i], 0.75 * c * e, 1e-11);
        assert_near(gradient[2 * i], -0.75 * s * e, 1e-9);
        assert_near(gradient[2 * i + 1], 0.375 * c * e, 1e-9);
    }
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void gradients_are_recognised(void **state)
{
    (void)state;
    const struct {
        const char *drift;
        int gradient;
    } cases[] = {
        {"x - x^3", 1},
        {"-x*y^2, -x^2*y", 1},
        {"y, x", 1},
        {"y, -x", 0},
        {"-2*x*sin(y)*cos(y), -x^2*(cos(y)^2 - sin(y)^2)", 1},
        {"-x + 0.001*y, -y", 0},
        {"-x, -y, -z + x", 0},
        {"y*z, x*z, x*y", 1},
        {"0.6*(-1.829*tanh(1.591*(0.6*x + 0.8*y) + 0.3)) + 0.8*(3.837*cos(1.899*(0.8*x - 0.6*y))), "
         "0.8*(-1.829*tanh(1.591*(0.6*x + 0.8*y) + 0.3)) - 0.6*(3.837*cos(1.899*(0.8*x - 0.6*y)))",
         1},
        {"0.6*(-1.829*tanh(1.591*(0.6*x + 0.8*y) + 0.3)) + 0.8*(3.837*cos(1.899*(0.8*x - 0.6*y))), "
         "0.80000001*(-1.829*tanh(1.591*(0.6*x + 0.8*y) + 0.3)) - 0.6*(3.837*cos(1.899*(0.8*x - "
         "0.6*y)))",
         0}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = problem_of(context, 0, cases[k].drift, "1", NULL);
        assert_int_equal(hb_problem_is_gradient(problem), cases[k].gradient);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* ---- a tau for each point ------------------------------------------------------------------- */

/* A drift by a callback that says how often, and for how many points, it was called. */
typedef struct call_log {
    int calls;
    size_t points;
} call_log;

static int logged_drift(void *user, size_t n, const double *x, const double *t, double *f,
                        double *jacobian)
{
    call_log *log = user;
    log->calls++;
    log->points += n;
    return smooth_drift(NULL, n, x, t, f, jacobian);
}

enum { EACH = 4500 }; /* more than a block of results, and no multiple of anything */

static void scatter_points(double x[EACH][2], double tau[EACH], double last)
{
    uint64_t state = 12345;
    for (int i = 0; i < EACH; i++)
        for (int k = 0; k < 3; k++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            const double u = (double)(state >> 11) * 0x1p-53;
            *(k < 2 ? &x[i][k] : &tau[i]) = k < 2 ? 4 * u - 1.7 : last * u;
        }
    for (int i = 2; i < EACH; i += 7) tau[i] = tau[i - 1];
    tau[0] = 0;
}

/* hb_problem_drift_each must be hb_problem_drift point by point, bit by bit. */
static void check_each(hb_context *context, const hb_problem *problem, double last)
{
    static double x[EACH][2], tau[EACH], F[EACH][2], divergence[EACH], gradient[EACH][2],
        jacobian[EACH][4], only[EACH][2];
    scatter_points(x, tau, last);
    assert_ok(context, hb_problem_drift_each(context, problem, EACH, x[0], tau, F[0], divergence,
                                             gradient[0], jacobian[0]));
    for (int i = 0; i < EACH; i += 5) { // every fifth point is compared, first and last blocks too
        double one[9];
        assert_ok(context, hb_problem_drift(context, problem, 1, x[i], tau[i], one, one + 2,
                                            one + 3, one + 5));
        assert_memory_equal(F[i], one, sizeof F[i]);
        assert_true(divergence[i] == one[2]);
        assert_memory_equal(gradient[i], one + 3, sizeof gradient[i]);
        assert_memory_equal(jacobian[i], one + 5, sizeof jacobian[i]);
    }
    assert_ok(context,
              hb_problem_drift_each(context, problem, EACH, x[0], tau, only[0], NULL, NULL, NULL));
    assert_memory_equal(only, F, sizeof F);
    assert_ok(context,
              hb_problem_drift_each(context, problem, 0, NULL, NULL, NULL, NULL, NULL, NULL));
}

static void each_point_has_its_tau(void **state)
{
    (void)state;
    const char *drifts[] = {"x*y - sin(x), y^3 + 2.385*x",
                            "x*y*cos(3*t) - sin(x*t), y^3*exp(-t) + sqrt(1 + t)*x"};
    const char *noises[] = {"0.8", "0.3*5^t", "1 + 0.3*abs(t - 0.7)"};
    for (hb_isa isa = HB_ISA_AUTO; isa <= HB_ISA_AVX512; isa++) {
        hb_context *context = make_context(isa, 1);
        for (int k = 0; k < 6 && context; k++) {
            hb_problem *problem = problem_of(context, 0, drifts[k % 2], noises[k / 2], NULL);
            assert_int_equal(hb_problem_is_autonomous(problem), k == 0);
            double last;
            assert_ok(context,
                      hb_problem_tau_of_t(context, problem, 3.4, &last)); // beyond time = 3
            check_each(context, problem, last);
            hb_problem_destroy(problem);
        }
        hb_context_destroy(context);
    }
}

/* One value by hand: f = x t, g = sqrt(1+t), so t = sqrt(1 + 4 tau) - 1 and F = x t/((1+t)/2). */
static void each_drift_is_that_of_its_time(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 1, "x*t", "sqrt(1 + t)", NULL);
    const double x[] = {1.7, -0.6, 2.385}, tau[] = {0.31, 1.9, 1e-7};
    double F[3], divergence[3];
    assert_ok(context,
              hb_problem_drift_each(context, problem, 3, x, tau, F, divergence, NULL, NULL));
    for (int i = 0; i < 3; i++) {
        const double t = 4 * tau[i] / (1 + sqrt(1 + 4 * tau[i]));
        assert_relative(divergence[i], 2 * t / (1 + t), 1e-12);
        assert_relative(F[i], x[i] * 2 * t / (1 + t), 1e-12);
    }
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void callbacks_get_a_time_for_each_point(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int k = 0; k < 4; k++) {
        call_log log = {0};
        hb_problem_settings settings;
        hb_problem_settings_default(sizeof settings, &settings);
        settings.dim = 2;
        settings.drift_callback = logged_drift;
        settings.drift_has_jacobian = k % 2;
        settings.drift_user = &log;
        settings.noise = k / 2 ? "0.3*5^t" : "0.8";
        hb_problem *problem;
        assert_ok(context, hb_problem_create(context, &settings, &problem));
        check_each(context, problem, 0.7);
        static double x[EACH][2], tau[EACH], F[EACH][2];
        scatter_points(x, tau, 0.7);
        log = (call_log){0};
        assert_ok(context,
                  hb_problem_drift_each(context, problem, EACH, x[0], tau, F[0], NULL, NULL, NULL));
        assert_int_equal(log.calls, 1); // all points at once
        assert_int_equal(log.points, EACH);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

static void each_value_is_handed_out_as_it_is(void **state)
{
    (void)state;
    const char *drifts[] = {"log(x)", "log(x) + 0*t", "log(x) + t"};
    const char *noises[] = {"1", "1", "sqrt(1 + t)"};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int k = 0; k < 3; k++) {
        hb_problem *problem = problem_of(context, 1, drifts[k], noises[k], NULL);
        const double x[] = {2.385, -1, 0}, wrong[] = {0.2, -0.1, 0.3};
        double tau[] = {0.2, 0.2, 0.2}, F[3], divergence[3];
        assert_ok(context,
                  hb_problem_drift_each(context, problem, 3, x, tau, F, divergence, NULL, NULL));
        assert_true(isfinite(F[0]) && isnan(F[1]) && F[2] == -INFINITY);
        assert_true(isfinite(divergence[0]) && divergence[2] == INFINITY);
        assert_fails(context,
                     hb_problem_drift(context, problem, 3, x, 0.2, F, divergence, NULL, NULL),
                     HB_ERROR_DOMAIN, "the drift is nan at x = (-1)");
        assert_fails(context,
                     hb_problem_drift_each(context, problem, 3, x, wrong, F, NULL, NULL, NULL),
                     HB_ERROR_ARGUMENT, "tau is -0.1");
        tau[2] = NAN;
        assert_fails(context,
                     hb_problem_drift_each(context, problem, 3, x, tau, F, NULL, NULL, NULL),
                     HB_ERROR_ARGUMENT, "tau is nan");
        tau[2] = INFINITY;
        assert_fails(context,
                     hb_problem_drift_each(context, problem, 3, x, tau, F, NULL, NULL, NULL),
                     HB_ERROR_ARGUMENT, "tau is inf");
        assert_fails(context,
                     hb_problem_drift_each(context, problem, 3, x, NULL, F, NULL, NULL, NULL),
                     HB_ERROR_ARGUMENT, "NULL");
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

typedef struct crossing {
    atomic_int inside, worst;
    int waits; /* for another, up to a second */
} crossing;

static int crossing_drift(void *user, size_t n, const double *x, const double *t, double *f,
                          double *jacobian)
{
    (void)t;
    (void)jacobian;
    crossing *c = user;
    const int inside = atomic_fetch_add(&c->inside, 1) + 1;
    if (inside > c->worst) c->worst = inside;
    for (int k = 0; k < 1000 && c->waits && c->worst < 2; k++) usleep(1000);
    for (size_t i = 0; i < n; i++) f[i] = -x[i];
    atomic_fetch_sub(&c->inside, 1);
    return 0;
}

/* Threads may ask for a callback's drift at once; the callback is never entered twice. */
static void a_callback_is_entered_by_one_thread(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 4);
    crossing crossings = {0};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 1;
    settings.drift_callback = crossing_drift;
    settings.drift_user = &crossings;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    static double x[EACH], tau[EACH], F[4][EACH];
    for (int i = 0; i < EACH; i++) x[i] = 0.01 * i, tau[i] = 0.001 * i;
    int failures = 0;
#pragma omp parallel for num_threads(4) reduction(+ : failures)
    for (int k = 0; k < 4; k++)
        for (int repeat = 0; repeat < 200; repeat++)
            failures += hb_problem_drift_each(context, problem, EACH, x, tau, F[k], NULL, NULL,
                                              NULL) != HB_OK;
    assert_int_equal(failures, 0);
    assert_int_equal(crossings.worst, 1);
    for (int i = 0; i < EACH; i++) assert_true(F[3][i] == -2 * x[i]);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* A reentrant one is entered by several; the wait ends as soon as there are two. */
static void a_reentrant_callback_is_entered_by_several(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    crossing crossings = {0};
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 1;
    settings.drift_callback = crossing_drift;
    settings.drift_user = &crossings;
    settings.drift_facts = HB_DRIFT_FACT_REENTRANT;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    crossings.waits = 1;
    int failures = 0;
#pragma omp parallel for num_threads(2) reduction(+ : failures)
    for (int k = 0; k < 2; k++) {
        const double x = 0.1 * k, tau = 0.2;
        double F;
        failures +=
            hb_problem_drift_each(context, problem, 1, &x, &tau, &F, NULL, NULL, NULL) != HB_OK;
    }
    assert_int_equal(failures, 0);
    assert_int_equal(crossings.worst, 2);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_change_is_exact),
        cmocka_unit_test(rough_noise_is_integrated),
        cmocka_unit_test(text_drift_and_derivatives),
        cmocka_unit_test(callback_derivatives),
        cmocka_unit_test(derivatives_of_a_gradient_take_few_calls),
        cmocka_unit_test(gradients_are_recognised),
        cmocka_unit_test(each_point_has_its_tau),
        cmocka_unit_test(each_drift_is_that_of_its_time),
        cmocka_unit_test(callbacks_get_a_time_for_each_point),
        cmocka_unit_test(each_value_is_handed_out_as_it_is),
        cmocka_unit_test(a_callback_is_entered_by_one_thread),
        cmocka_unit_test(a_reentrant_callback_is_entered_by_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
