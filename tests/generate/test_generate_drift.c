/* Samples and likelihoods under a drift of the user.
 *
 * With F = -A x, A not symmetric, a mixture of Gaussians stays one: part k goes to
 *     m_k(tau) = E m_k,   C_k(tau) = E C_k E^T + P - E P E^T,      E = e^{-A tau},  A P + P A^T = 2 I,
 * and in the plane, with A = t/2 + B, B^2 = -w^2,
 *     E = e^{-t tau/2} (cos(w tau) - sin(w tau) B/w),
 *     P = (det(A) + (A - t)(A - t)^T)/(t det A)                   (C. W. Gardiner, Handbook, 4.4.6).
 * So score, divergence, density and moments are known at every tau. */
#include "generate_support.h"

enum { PARTS = 2 };
static const double A[4] = {1.2, 0.9, -0.7, 0.5};
static const double SHARE[PARTS] = {0.615, 0.385};
static const double START[PARTS][2] = {{1.7, -0.6}, {-1.1, 0.9}};
static const double WIDTH[PARTS][3] = {{0.11, 0.03, 0.2}, {0.09, -0.02, 0.05}}; /* xx, xy, yy */
static const char *const DRIFT = "-1.2*x - 0.9*y, 0.7*x - 0.5*y";
static const double T = 0.9;

static hb_problem *make_problem(hb_context *context, int dim, const char *text)
{
    hb_problem_settings settings;
    hb_problem *problem;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = dim;
    settings.drift = text;
    settings.noise = "sqrt(2)";
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

/* ---- the mixture at tau ---- */

typedef struct part {
    double mean[2], C[3], inverse[3], log_weight;
} part;

/* M C M^T of a symmetric C = {xx, xy, yy}. */
static void sandwich(const double M[4], const double C[3], double out[3])
{
    const double r[4] = {M[0] * C[0] + M[1] * C[1], M[0] * C[1] + M[1] * C[2],
                         M[2] * C[0] + M[3] * C[1], M[2] * C[1] + M[3] * C[2]};
    out[0] = r[0] * M[0] + r[1] * M[1];
    out[1] = r[0] * M[2] + r[1] * M[3];
    out[2] = r[2] * M[2] + r[3] * M[3];
}

static void stationary_covariance(double P[3])
{
    const double t = A[0] + A[3], det = A[0] * A[3] - A[1] * A[2], one[3] = {1, 0, 1};
    const double B[4] = {A[0] - t, A[1], A[2], A[3] - t};
    sandwich(B, one, P);
    for (int i = 0; i < 3; i++) P[i] = (det * one[i] + P[i]) / (t * det);
}

static void propagator(double tau, double E[4])
{
    const double t = A[0] + A[3], B[4] = {A[0] - t / 2, A[1], A[2], A[3] - t / 2};
    const double w = sqrt(B[0] * B[3] - B[1] * B[2]), c = cos(w * tau), s = sin(w * tau) / w;
    for (int i = 0; i < 4; i++) E[i] = exp(-t * tau / 2) * (c * (i % 3 == 0) - s * B[i]);
}

static void parts_at(double tau, part out[PARTS])
{
    double E[4], P[3], gone[3];
    propagator(tau, E);
    stationary_covariance(P);
    sandwich(E, P, gone);
    for (int k = 0; k < PARTS; k++) {
        part *p = &out[k];
        sandwich(E, WIDTH[k], p->C);
        for (int i = 0; i < 3; i++) p->C[i] += P[i] - gone[i];
        for (int i = 0; i < 2; i++)
            p->mean[i] = E[2 * i] * START[k][0] + E[2 * i + 1] * START[k][1];
        const double det = p->C[0] * p->C[2] - p->C[1] * p->C[1];
        p->inverse[0] = p->C[2] / det;
        p->inverse[1] = -p->C[1] / det;
        p->inverse[2] = p->C[0] / det;
        p->log_weight = log(SHARE[k] / (2 * M_PI * sqrt(det)));
    }
}

/* ln u, its gradient and Laplacian at x. */
static double mixture_at(const part parts[PARTS], const double *x, double *gradient,
                         double *laplacian)
{
    double sum = 0, g[2] = {0}, trace = 0;
    for (int k = 0; k < PARTS; k++) {
        const part *p = &parts[k];
        const double a = x[0] - p->mean[0], b = x[1] - p->mean[1];
        const double u = -(p->inverse[0] * a + p->inverse[1] * b);
        const double v = -(p->inverse[1] * a + p->inverse[2] * b);
        const double weight = exp(p->log_weight + (u * a + v * b) / 2);
        sum += weight;
        g[0] += weight * u;
        g[1] += weight * v;
        trace += weight * (u * u + v * v - p->inverse[0] - p->inverse[2]);
    }
    for (int j = 0; j < 2 && gradient; j++) gradient[j] = g[j] / sum;
    if (laplacian) *laplacian = trace / sum - (g[0] * g[0] + g[1] * g[1]) / (sum * sum);
    return log(sum);
}

static int exact_divergence(void *user, size_t n, const double *x, double tau, double *score,
                            double *divergence)
{
    part parts[PARTS];
    (void)user;
    parts_at(tau, parts);
    for (size_t i = 0; i < n; i++)
        mixture_at(parts, x + 2 * i, score + 2 * i, divergence ? divergence + i : NULL);
    return 0;
}

static int exact_score(void *user, size_t n, const double *x, double tau, double *score)
{
    return exact_divergence(user, n, x, tau, score, NULL);
}

static int exact_end(void *user, size_t n, const double *x, double *log_density)
{
    part parts[PARTS];
    (void)user;
    parts_at(T, parts);
    for (size_t i = 0; i < n; i++) log_density[i] = mixture_at(parts, x + 2 * i, NULL, NULL);
    return 0;
}

/* Draws of the mixture at tau: the part by its share of the index, so that shares are exact. */
static void exact_draws(hb_context *context, double tau, uint64_t stream, size_t n, double *x)
{
    part parts[PARTS];
    parts_at(tau, parts);
    assert_ok(context, hb_random_normal(context, 3, stream, 0, 2 * n, x));
    for (size_t i = 0; i < n; i++) {
        const part *p = &parts[(double)(i * 7 % n) >= SHARE[0] * (double)n];
        const double l = sqrt(p->C[0]), m = p->C[1] / l, z = x[2 * i];
        x[2 * i + 1] = p->mean[1] + m * z + sqrt(p->C[2] - m * m) * x[2 * i + 1];
        x[2 * i] = p->mean[0] + l * z;
    }
}

/* Mean and covariance of the mixture at tau: x, y, xx, xy, yy. */
static void exact_moments(double tau, double out[5])
{
    part parts[PARTS];
    parts_at(tau, parts);
    memset(out, 0, 5 * sizeof *out);
    for (int k = 0; k < PARTS; k++)
        for (int j = 0; j < 2; j++) out[j] += SHARE[k] * parts[k].mean[j];
    for (int k = 0; k < PARTS; k++) {
        const double a = parts[k].mean[0] - out[0], b = parts[k].mean[1] - out[1];
        out[2] += SHARE[k] * (parts[k].C[0] + a * a);
        out[3] += SHARE[k] * (parts[k].C[1] + a * b);
        out[4] += SHARE[k] * (parts[k].C[2] + b * b);
    }
}

/* Moments of rows against the exact ones: 5 standard errors, and a part of the method's own error. */
static void assert_moments(size_t n, const double *x, double tau, double own)
{
    double exact[5], sum[5] = {0}, squares[5] = {0};
    exact_moments(tau, exact);
    for (size_t i = 0; i < n; i++) {
        const double a = x[2 * i] - exact[0], b = x[2 * i + 1] - exact[1];
        const double value[5] = {x[2 * i], x[2 * i + 1], a * a, a * b, b * b};
        for (int k = 0; k < 5; k++) {
            sum[k] += value[k] / (double)n;
            squares[k] += value[k] * value[k] / (double)n;
        }
    }
    for (int k = 0; k < 5; k++) {
        const double error = sqrt((squares[k] - sum[k] * sum[k]) / (double)n);
        assert_near(sum[k], exact[k], 5 * error + own * fabs(exact[k]));
    }
}

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
    s.tolerance = 1e-7;
    s.end_density = exact_end;
    exact_draws(*state, s.tau_min, 2, N, x);
    parts_at(s.tau_min, parts);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, N, x, exact_divergence, NULL, found));
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
    s.tolerance = 1e-7;
    s.mean = zero;
    s.covariance = C;
    exact_draws(*state, s.tau_min, 2, N, x);
    parts_at(s.tau_min, parts);
    assert_ok(*state, hb_generate_likelihood(*state, &s, 2, N, x, exact_divergence, NULL, found));
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

/* To tau 0 by a last step: its error is of the order tau_min^2. */
static void test_the_last_step(void **state)
{
    enum { N = 20000 };
    double *ends = take(2 * N, sizeof *ends), *x = take(2 * N, sizeof *x);
    hb_problem *problem = make_problem(*state, 2, DRIFT);
    hb_generate_settings s = drift_settings(problem, HB_SOLVER_HEUN);
    exact_draws(*state, T, 1, N, ends);
    s.ends = ends;
    s.n_ends = N;
    s.tau_min = 0.002;
    s.denoise = HB_DENOISE_FLOW;
    assert_ok(*state, hb_generate(*state, &s, 2, 0, N, exact_score, NULL, x));
    assert_moments(N, x, 0, 0.004);
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
        s.tolerance = 1e-9;
        const double coarse = map_error(*state, s);
        s.n_steps = 80;
        const double fine = map_error(*state, s);
        if (way == 2) assert_true(fine < 1e-8);
        if (way < 2) assert_true(coarse < 5e-4 && fine < 0.3 * coarse);
    }
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
    /* 0.9 % too small; steps of order 1 would be 6 % off */
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
    REFUSED("samples start at draws of the law at tau_max; give some (ends)");
    assert_fails(*state, hb_generate_likelihood(*state, &s, 2, 2, x, exact_divergence, NULL, out),
                 HB_ERROR_ARGUMENT, "a likelihood needs the density of the law at tau_max");
    s.ends = x;
    REFUSED("n_ends is 0, but ends is given");
    s.n_ends = 2;
    assert_fails(*state, hb_generate_likelihood(*state, &s, 2, 2, x, exact_divergence, NULL, out),
                 HB_ERROR_ARGUMENT, "a likelihood needs the density of the law at tau_max");
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
    REFUSED("n_steps is 60; this drift changes its law within tau = 0.01, and from tau = 0.9 to "
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
        cmocka_unit_test(test_the_last_step),
        cmocka_unit_test(test_ode_steps_are_of_order_two),
        cmocka_unit_test(test_sde_bias_is_small),
        cmocka_unit_test(test_copies_move_on),
        cmocka_unit_test(test_bits_in_pieces_and_on_threads),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
