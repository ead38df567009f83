/* Samples and likelihoods under a drift of the user, with exact scores: a linear drift in the plane
 * (linear_process.h), and one on a line. */
#include "linear_process.h"

static hb_generate_settings drift_settings(const hb_problem *problem, int solver)
{
    hb_generate_settings s = defaults();
    s.process = HB_PROCESS_DRIFT;
    s.drift = problem;
    s.solver = solver;
    s.n_steps = 60;
    s.n_correct = 0;
    s.denoise = HB_DENOISE_NONE;
    s.tau_min = 0.01;
    s.tau_max = T;
    return s;
}

/* ---- closed forms ---- */

static void test_the_exact_process(void **state)
{
    double P[3], E[4], half[4], q[4];
    (void)state;
    stationary_covariance(P);
    assert_near(2 * (A[0] * P[0] + A[1] * P[1]), 2, 1e-14);
    assert_near(A[2] * P[0] + A[3] * P[1] + A[0] * P[1] + A[1] * P[2], 0, 1e-14);
    propagator(0.7, E);
    propagator(0.35, half);
    for (int i = 0; i < 4; i++) {
        q[i] = half[i / 2 * 2] * half[i % 2] + half[i / 2 * 2 + 1] * half[2 + i % 2];
        assert_near(q[i], E[i], 1e-14);
    }
}

static void test_likelihood_is_exact(void **state)
{
    enum { N = 300 };
    double x[2 * N], found[N], worst = 0;
    part parts[PARTS];
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    hb_generate_settings s = drift_settings(problem, HB_SOLVER_ODE);
    s.ode_tolerance = 1e-7;
    s.end_density = exact_end;
    exact_draws(*state, s.tau_min, 2, N, x);
    parts_at(s.tau_min, parts);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, NULL, exact_divergence, NULL,
                                             found, NULL));
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(found[i] - mixture_at(parts, x + 2 * i, NULL, NULL)));
    assert_true(worst < 1e-6);
    hb_problem_destroy(problem);
}

/* At large tau_max the law is Gaussian, N(0, P). */
static void test_likelihood_from_a_gaussian(void **state)
{
    enum { N = 50 };
    double x[2 * N], found[N], P[3];
    part parts[PARTS];
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    hb_generate_settings s = drift_settings(problem, HB_SOLVER_ODE);
    stationary_covariance(P);
    const double C[4] = {P[0], P[1], P[1], P[2]}, zero[2] = {0};
    s.tau_max = 12;
    s.ode_tolerance = 1e-7;
    s.mean = zero;
    s.covariance = C;
    exact_draws(*state, s.tau_min, 2, N, x);
    parts_at(s.tau_min, parts);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, 0, N, x, NULL, exact_divergence, NULL,
                                             found, NULL));
    for (size_t i = 0; i < N; i++)
        assert_near(found[i], mixture_at(parts, x + 2 * i, NULL, NULL), 1e-4);
    hb_problem_destroy(problem);
}

static void test_samples_have_the_exact_moments(void **state)
{
    enum { N = 20000 };
    double *ends = take(2 * N, sizeof *ends), *x = take(2 * N, sizeof *x);
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    exact_draws(*state, T, 1, N, ends);
    assert_moments(N, ends, T, 0);
    for (int way = 0; way < 5; way++) {
        hb_generate_settings s =
            drift_settings(problem, way > 1 ? way - 2 : HB_SOLVER_SDE); /* sde, ode, heun */
        s.ends = ends;
        s.n_ends = N;
        if (way == 0) s.det_tau = 0;
        if (way == 1) s.n_correct = 1, s.det_tau = 0;
        assert_ok(*state, hb_generate(*state, &s, 2, 0, N, exact_score, NULL, x));
        assert_moments(N, x, s.tau_min, way == 1 ? 0.03 : 0.004); /* the corrector's bias: snr^2 */
    }
    free(ends);
    free(x);
    hb_problem_destroy(problem);
}

/* ---- orders: a line, F = -k x, N(0, c) at the start ---- */

static const double RATE = 1.385, FIRST = 0.3;

static double line_variance(double tau)
{
    return 1 / RATE + (FIRST - 1 / RATE) * exp(-2 * RATE * tau);
}

static int line_of_drift(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user;
    for (size_t i = 0; i < n; i++) score[i] = -x[i] / line_variance(tau);
    return 0;
}

/* ln N(0, V) up to a constant. */
static int line_density(void *user, size_t n, const double *x, double *log_density)
{
    for (size_t i = 0; i < n; i++) log_density[i] = -x[i] * x[i] / (2 * *(const double *)user);
    return 0;
}

/* The ODE multiplies x by sqrt(V(tau_min)/V(tau_max)). */
static double map_error(hb_context *context, hb_generate_settings s)
{
    const double start = 1;
    double x;
    s.ends = &start;
    s.n_ends = 1;
    s.detail = 0.5;
    assert_ok(context, hb_generate(context, &s, 1, 0, 1, line_of_drift, NULL, &x));
    return fabs(x - sqrt(line_variance(s.tau_min) / line_variance(s.tau_max)));
}

static void test_ode_steps_are_of_order_two(void **state)
{
    hb_problem *problem = make_problem(*state, 1, "-1.385*x");
    for (int way = 0; way < 3; way++) {
        hb_generate_settings s = drift_settings(problem, way < 2 ? HB_SOLVER_HEUN : HB_SOLVER_ODE);
        if (way == 1) s.solver = HB_SOLVER_SDE, s.det_tau = 100;
        s.n_steps = 40;
        s.ode_tolerance = 1e-9;
        const double coarse = map_error(*state, s);
        s.n_steps = 80;
        const double fine = map_error(*state, s);
        if (way == 2) assert_true(fine < 1e-8);
        if (way < 2) assert_true(coarse < 5e-4 && fine < 0.3 * coarse);
    }
    hb_problem_destroy(problem);
}

/* At tau_min = h: to 0 along the ODE, x sqrt(V(0)/V(h)), and the posterior mean, x e^{-k h} V(0)/V(h), both up to
 * h^2; without F they would be off by k h x = 0.014 x. */
static void test_the_last_step(void **state)
{
    const double h = 0.01, start = 1;
    hb_problem *problem = make_problem(*state, 1, "-1.385*x");
    hb_generate_settings s = drift_settings(problem, HB_SOLVER_ODE);
    double x, flow, mean;
    s.ends = &start;
    s.n_ends = 1;
    s.detail = 0.5;
    s.tau_min = h;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 1, line_of_drift, NULL, &x));
    s.denoise = HB_DENOISE_FLOW;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 1, line_of_drift, NULL, &flow));
    s.denoise = HB_DENOISE_MEAN;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 1, line_of_drift, NULL, &mean));
    assert_near(flow, x * sqrt(FIRST / line_variance(h)), 10 * h * h * x);
    assert_near(mean, x * exp(-RATE * h) * FIRST / line_variance(h), 10 * h * h * x);
    hb_problem_destroy(problem);
}

/* Variance of many samples; its standard error is sqrt(2/n) of it. */
static void test_sde_bias_is_small(void **state)
{
    enum { N = 200000 };
    double *ends = take(N, sizeof *ends), *x = take(N, sizeof *x);
    hb_problem *problem = make_problem(*state, 1, "-1.385*x");
    hb_generate_settings s = drift_settings(problem, HB_SOLVER_SDE);
    assert_ok(*state, hb_random_normal(*state, 3, 1, 0, N, ends));
    for (size_t i = 0; i < N; i++) ends[i] *= sqrt(line_variance(T));
    s.ends = ends;
    s.n_ends = N;
    s.n_steps = 25;
    s.det_tau = 0;
    double squares = 0;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, N, line_of_drift, NULL, x));
    for (size_t i = 0; i < N; i++) squares += x[i] * x[i] / N;
    /* 0.9 % too small; without the late term 11 % */
    assert_near(squares / line_variance(s.tau_min), 1, 0.012 + 5 * sqrt(2.0 / N));
    free(ends);
    free(x);
    hb_problem_destroy(problem);
}

/* ---- starts ---- */

/* From one draw, the copies spread to the whole law of a Gaussian, accepted or not; the first sample stays
 * at the draw itself. */
static void test_copies_move_on(void **state)
{
    enum { N = 20000 };
    double *x = take(N, sizeof *x);
    const double end = 0.2;
    hb_problem *problem = make_problem(*state, 1, "-1.385*x");
    hb_prior prior = {0};
    for (int adjusted = 0; adjusted < 2; adjusted++) {
        hb_generate_settings s = drift_settings(problem, HB_SOLVER_ODE);
        s.tau_max = 5;
        s.detail = line_variance(5);
        s.ends = &end;
        s.n_ends = 1;
        hb_reverse run = {.context = *state, .settings = &s, .dim = 1, .score = line_of_drift};
        double law = line_variance(5);
        s.end_user = &law;
        s.end_density = adjusted ? line_density : NULL;
        double squares = 0;
        assert_ok(*state, hb_ends_draw(&run, &prior, 0, N, x));
        assert_true(x[0] == end);
        for (size_t i = 1; i < N; i++) squares += x[i] * x[i] / (N - 1);
        assert_near(squares / line_variance(5), 1, 5 * sqrt(2.0 / N) + (adjusted ? 0 : 0.03));
    }
    free(x);
    hb_problem_destroy(problem);
}

/* A sample is a function of its number: pieces, threads, copies. */
static void test_bits_in_pieces_and_on_threads(void **state)
{
    enum { N = 500, FEW = 90 };
    double ends[2 * FEW], whole[2 * N], pieces[2 * N];
    hb_context *threads = make_context(HB_ISA_AUTO, 2);
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    exact_draws(*state, T, 1, FEW, ends);
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++)
        for (int dense = 0; dense < 2; dense++) {
            hb_generate_settings s = drift_settings(problem, solver);
            s.ends = ends;
            s.n_ends = FEW;
            s.n_correct = 1;
            s.end_density = dense ? exact_end : NULL;
            s.denoise = HB_DENOISE_MEAN;
            assert_ok(*state, hb_generate(*state, &s, 2, 0, N, exact_score, NULL, whole));
            for (size_t first = 0; first < N; first += 137) {
                const size_t n = N - first < 137 ? N - first : 137;
                assert_ok(threads, hb_generate(threads, &s, 2, first, n, exact_score, NULL,
                                               pieces + 2 * first));
            }
            assert_memory_equal(whole, pieces, sizeof whole);
            assert_true(whole[0] != whole[2 * (size_t)FEW]);
        }
    hb_problem_destroy(problem);
    hb_context_destroy(threads);
}

/* ---- refused ---- */

static void test_refusals(void **state)
{
    double x[4] = {0}, out[2], bad[2] = {0, NAN};
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    hb_problem *line = make_problem(*state, 1, "-x"), *late = make_problem(*state, 2, "-x*t, -y");
    const hb_generate_settings good = drift_settings(problem, HB_SOLVER_SDE);
    hb_generate_settings s = good;
#define REFUSED(words)                                                                             \
    assert_fails(*state, hb_generate(*state, &s, 2, 0, 2, exact_score, NULL, x),                   \
                 HB_ERROR_ARGUMENT, words)
    REFUSED("samples start at draws of the distribution at tau_max; give some (ends)");
    assert_fails(
        *state,
        hb_generate_likelihood(*state, &s, 2, 0, 2, x, NULL, exact_divergence, NULL, out, NULL),
        HB_ERROR_ARGUMENT, "a likelihood needs the density of the distribution at tau_max");
    s.ends = x;
    REFUSED("n_ends is 0, but ends is given");
    s.n_ends = 2;
    assert_fails(
        *state,
        hb_generate_likelihood(*state, &s, 2, 0, 2, x, NULL, exact_divergence, NULL, out, NULL),
        HB_ERROR_ARGUMENT, "a likelihood needs the density of the distribution at tau_max");
    s.drift = line;
    REFUSED("the drift has 1 components, but dim is 2");
    s.drift = late;
    REFUSED("must not depend on t");
    s.drift = NULL;
    REFUSED("the process is HB_PROCESS_DRIFT, but there is no drift");
    s.drift = problem;
    s.process = HB_PROCESS_VE;
    REFUSED("the process is not HB_PROCESS_DRIFT");
    s.process = HB_PROCESS_DRIFT;
    s.low = 0;
    REFUSED("low and high are for the processes ou and ve");
    s.low = NAN;
    s.detail = 0.01;
    REFUSED("n_steps is 60; this drift changes its distribution within tau = 0.01, and from tau = "
            "0.9 to "
            "0.01 needs at least 94 steps");
    s.detail = 0;
    REFUSED("detail is 0");
    s.detail = NAN;
    s.ends = bad;
    s.n_ends = 1;
    REFUSED("row 1, column 2 of ends is nan");
    hb_problem_destroy(problem);
    hb_problem_destroy(line);
    hb_problem_destroy(late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_exact_process),
        cmocka_unit_test(test_likelihood_is_exact),
        cmocka_unit_test(test_likelihood_from_a_gaussian),
        cmocka_unit_test(test_samples_have_the_exact_moments),
        cmocka_unit_test(test_ode_steps_are_of_order_two),
        cmocka_unit_test(test_the_last_step),
        cmocka_unit_test(test_sde_bias_is_small),
        cmocka_unit_test(test_copies_move_on),
        cmocka_unit_test(test_bits_in_pieces_and_on_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
