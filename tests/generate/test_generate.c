/* The steps of the generate room against closed forms. Gaussian data: the ODE's map is linear and
 * known, every step of the SDE, the corrector and the denoising is a linear map plus noise, so the
 * law that comes out is known for any settings. */
#include "generate_support.h"

/* Starts of samples 0 .. n-1, along the axes and without the mean, in the frame x/a. */
static void starts(hb_context *context, const hb_generate_settings *s, size_t n, double *y)
{
    hb_prior prior;
    const double a = a_of(s->process, s->tau_max);
    assert_ok(context, hb_prior_create(context, s, 2, &prior));
    assert_ok(context, hb_prior_draw(&prior, context, s->seed, 0, n, y));
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j < 2; j++) y[2 * i + (size_t)j] = y[2 * i + (size_t)j] / a - MEAN[j];
        turn(y + 2 * i, 1, y + 2 * i);
    }
    hb_workspace_destroy(&prior.work);
}

/* Largest error of a deterministic solver against the ODE's exact map, samples 0 .. 99. */
static double flow_error(hb_context *context, const hb_generate_settings *s)
{
    enum { N = 100 };
    static double x[2 * N], y[2 * N];
    int process = s->process;
    const double a = a_of(process, s->tau_min);
    double worst = 0;
    starts(context, s, N, y);
    assert_ok(context, hb_generate(context, s, 2, 0, N, gaussian_score, &process, x));
    for (size_t i = 0; i < N; i++) {
        double exact[2];
        for (int j = 0; j < 2; j++)
            exact[j] = y[2 * i + (size_t)j] * sqrt(variance_in_frame(process, s->tau_min, j) /
                                                   variance_in_frame(process, s->tau_max, j));
        turn(exact, -1, exact);
        for (size_t j = 0; j < 2; j++)
            worst = fmax(worst, fabs(x[2 * i + j] - a * (exact[j] + MEAN[j])));
    }
    return worst;
}

static void test_ode_is_the_exact_map(void **state)
{
    double C[4];
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
        hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
        const double coarse = flow_error(*state, &s);
        assert_true(coarse < 1e-3);
        s.ode_tolerance = 1e-9;
        assert_near(flow_error(*state, &s), 0, 1e-7);
        assert_true(coarse > 1e-7); // the tolerance is heard
    }
}

/* Nothing moves below 5, and a lot above. */
static int patchy_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user, (void)tau;
    for (size_t i = 0; i < n; i++) score[i] = x[i] > 5 ? 3 * sin(8 * x[i]) + 1 : 0;
    return 0;
}

/* A row that moves has the same bits alone and among 255 rows at rest. */
static void test_ode_steps_of_a_row_are_its_own(void **state)
{
    hb_generate_settings s = defaults();
    s.process = HB_PROCESS_VE;
    hb_reverse run = {.context = *state,
                      .quiet = *state,
                      .settings = &s,
                      .what = "generating",
                      .dim = 1,
                      .n = 256,
                      .wanted = 256,
                      .score = patchy_score};
    const hb_level from = hb_level_at(HB_PROCESS_VE, 3), to = hb_level_at(HB_PROCESS_VE, 0.1);
    double alone = 6.385, block[256] = {0};
    block[17] = alone;
    assert_ok(*state, hb_flow_integrate(&run, from, to, 1, &alone, NULL, NULL));
    assert_ok(*state, hb_flow_integrate(&run, from, to, 256, block, NULL, NULL));
    assert_true(alone != 6.385);
    assert_near(block[17], alone, 0);
}

static void test_heun_and_two_step_are_of_order_two(void **state)
{
    double C[4];
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++)
        for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver += 2) {
            hb_generate_settings s = gaussian_settings(solver, process, C);
            s.det_tau = 10; // no noise: the two-step method all the way
            s.n_steps = 200;
            const double coarse = flow_error(*state, &s);
            s.n_steps = 400;
            const double fine = flow_error(*state, &s);
            assert_true(fine < 2e-3);
            assert_near(coarse / fine, 4, 0.4);
        }
}

/* ---- the law of the SDE for Gaussian data on a line ---- */

typedef struct line_law {
    double m, v;
} line_law;

/* Mean and covariance of (x, D, D before) on their way. */
typedef struct line_state {
    double m[3], C[3][3];
} line_state;

/* Every step is linear: u -> T u + shift, and noise on x. */
static void map(line_state *u, double T[3][3], const double shift[3], double noise)
{
    line_state out = {{0}, {{0}}};
    for (int i = 0; i < 3; i++) {
        out.m[i] = shift[i];
        for (int k = 0; k < 3; k++) out.m[i] += T[i][k] * u->m[k];
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++) out.C[i][j] += T[i][k] * u->C[k][l] * T[j][l];
    }
    out.C[0][0] += noise;
    *u = out;
}

/* D = (x + b s)/a at tau, then x += a late (D - D before). */
static void evaluate_line(line_state *u, const line_data *data, double tau, double late)
{
    const double a = a_of(data->process, tau), b = b_of(data->process, tau);
    const double V = a * a * data->variance + b;
    const double g = a * data->variance / V, o = b * data->mean / V; // D = g x + o
    double see[3][3] = {{1, 0, 0}, {g, 0, 0}, {0, 1, 0}};
    double shift[3][3] = {{1, a * late, -a * late}, {0, 1, 0}, {0, 0, 1}};
    map(u, see, (double[]){0, o, 0}, 0);
    map(u, shift, (double[]){0, 0, 0}, 0);
}

/* The posterior of x' given x and x_0 = D, as textbooks have it. */
static void bridge(line_state *u, int process, double tau, double next)
{
    const double a = a_of(process, tau), b = b_of(process, tau);
    const double a1 = a_of(process, next), b1 = b_of(process, next);
    const double between = a / a1, noise = b - between * between * b1; // from next to tau
    double T[3][3] = {{between * b1 / b, a1 * noise / b, 0}, {0, 1, 0}, {0, 0, 1}};
    map(u, T, (double[]){0, 0, 0}, noise * b1 / b);
}

/* x += push s with s = (a D - x_seen)/b, x_seen = (D - o)/g the point where D was seen. */
static void push_line(line_state *u, const line_data *data, double tau, double push, double noise)
{
    const double a = a_of(data->process, tau), b = b_of(data->process, tau);
    const double V = a * a * data->variance + b;
    const double g = a * data->variance / V, o = b * data->mean / V;
    double T[3][3] = {{1, push * (a - 1 / g) / b, 0}, {0, 1, 0}, {0, 0, 1}};
    map(u, T, (double[]){push * o / (g * b), 0, 0}, noise);
}

static line_law sde_law(const hb_generate_settings *s, const line_data *data)
{
    const int p = s->process;
    const double a = a_of(p, s->tau_max), b = b_of(p, s->tau_max);
    line_state u = {{a * (s->mean ? s->mean[0] : 0)},
                    {{a * a * (s->covariance ? s->covariance[0] : 1) + b}}};
    double tau = s->tau_max, late = 0;
    for (int i = 1; i <= s->n_steps; i++) {
        const double next = s->tau_max * pow(s->tau_min / s->tau_max, (double)i / s->n_steps);
        const double e = 2 * s->snr * s->snr * b_of(p, next);
        evaluate_line(&u, data, tau, late);
        bridge(&u, p, tau, next);
        const double rho = b_of(p, next) * pow(a_of(p, tau) / a_of(p, next), 2) / b_of(p, tau);
        late = (1 - rho) / (1 + rho);
        for (int k = 0; k < s->n_correct && i < s->n_steps; k++, late = 0) {
            evaluate_line(&u, data, next, late);
            push_line(&u, data, next, e, 2 * e);
        }
        tau = next;
    }
    evaluate_line(&u, data, tau, late);
    if (s->denoise == HB_DENOISE_NONE) return (line_law){u.m[0], u.C[0][0]};
    evaluate_line(&u, data, tau, 0);
    push_line(&u, data, tau, (s->denoise == HB_DENOISE_MEAN ? 1 : 0.5) * b_of(p, tau), 0);
    const double scale = 1 / a_of(p, tau);
    return (line_law){scale * u.m[0], scale * scale * u.C[0][0]};
}

static line_law measured(hb_context *context, const hb_generate_settings *s, line_data *data,
                         size_t n)
{
    double *x = take(n, sizeof *x), squares = 0;
    line_law law = {0, 0};
    assert_ok(context, hb_generate(context, s, 1, 5, n, line_score, data, x));
    for (size_t i = 0; i < n; i++) law.m += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (x[i] - law.m) * (x[i] - law.m);
    law.v = squares / (double)(n - 1);
    free(x);
    return law;
}

static void assert_law(line_law found, line_law exact, size_t n)
{
    assert_near(found.m, exact.m, 5 * sqrt(exact.v / (double)n));
    assert_near(found.v, exact.v, 5 * exact.v * sqrt(2 / (double)n));
}

static void test_sde_has_the_law_of_its_recursion(void **state)
{
    enum { N = 60000 };
    const double mean = 1.7, variance = 0.385;
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++)
        for (int n_correct = 0; n_correct <= 2; n_correct += 2)
            for (int way = HB_DENOISE_NONE; way <= HB_DENOISE_FLOW; way++) {
                line_data data = {mean, variance, process};
                hb_generate_settings s = defaults();
                s.process = process;
                s.n_steps = 12;
                s.n_correct = n_correct;
                s.snr = 0.4;
                s.det_tau = 0;
                s.tau_min = 0.05;
                s.denoise = way;
                assert_law(measured(*state, &s, &data, N), sde_law(&s, &data), N);
                s.mean = &mean;
                s.covariance = &variance;
                assert_law(measured(*state, &s, &data, N), sde_law(&s, &data), N);
            }
}

/* The bias of the variance is of order 2 in the step: by the recursion, which the samples obey. */
static void test_sde_bias_falls_at_order_two(void **state)
{
    enum { N = 400000 };
    const double variance = 0.385;
    line_data data = {0, variance, HB_PROCESS_OU};
    hb_generate_settings s = defaults();
    s.n_correct = 0;
    s.det_tau = 0;
    s.covariance = &variance;
    s.denoise = HB_DENOISE_NONE;
    const double truth = a_of(0, 2 * s.tau_min) * variance + b_of(0, s.tau_min);
    double bias[5];
    for (int k = 0; k < 5; k++) {
        s.n_steps = 10 << k;
        bias[k] = sde_law(&s, &data).v / truth - 1;
        if (k > 0) assert_near(bias[k - 1] / bias[k], 4, 0.5);
    }
    for (int k = 0; k < 2; k++) {
        s.n_steps = 10 << k;
        const double found = measured(*state, &s, &data, N).v / truth - 1;
        assert_near(found, bias[k], 5 * sqrt(2.0 / N));
        assert_true(fabs(found) > 10 * sqrt(2.0 / N)); // there is something to see
    }
    assert_near(bias[2], -0.0071, 0.0001); // the number of predictor_corrector.c
}

/* Many corrector steps at one level: N(0, v) becomes N(0, v/(1 - e/2v)), near v for small snr. */
static void test_corrector_keeps_the_law(void **state)
{
    enum { N = 60000 };
    const double variance = 0.2;
    line_data data = {0, variance, HB_PROCESS_OU};
    hb_generate_settings s = defaults();
    s.n_steps = 2;
    s.tau_max = 0.3;
    s.tau_min = 0.3 * (1 - 1e-9);
    s.det_tau = 0;
    s.covariance = &variance;
    s.denoise = HB_DENOISE_NONE;
    const double b = b_of(0, 0.3), v = exp(-0.6) * variance + b;
    for (int k = 0; k < 3; k++) {
        s.snr = 0.8 / (1 << k);
        s.n_correct = k == 2 ? 100 : 50;
        const double e = 2 * s.snr * s.snr * b;
        assert_law(measured(*state, &s, &data, N), (line_law){0, v / (1 - e / (2 * v))}, N);
    }
    s.snr = 0.01;
    s.n_correct = 20;
    assert_law(measured(*state, &s, &data, N), (line_law){0, v}, N);
}

/* One row by the formulas, with its normals by hand. */
static void test_noise_is_a_function_of_step_and_row(void **state)
{
    hb_context *context = *state;
    enum { ROW = 7, STEPS = 5, CORRECT = 2 };
    line_data data = {0.4, 0.6, HB_PROCESS_OU};
    hb_generate_settings s = defaults();
    s.n_steps = STEPS;
    s.n_correct = CORRECT;
    s.det_tau = 0;
    s.denoise = HB_DENOISE_NONE;
    s.seed = 99;
    double found, x, z, score, before = 0, late = 0, tau = s.tau_max;
    assert_ok(context, hb_generate(context, &s, 1, ROW, 1, line_score, &data, &found));
    assert_ok(context, hb_random_normal(context, 99, HB_STREAM_GENERATE, ROW, 1, &x));
    for (int i = 1; i <= STEPS + 1; i++) {
        const double next = s.tau_max * pow(s.tau_min / s.tau_max, (double)i / STEPS);
        const double a = exp(-tau), b = 1 - a * a, a1 = exp(-next), b1 = 1 - a1 * a1;
        const uint64_t stream = HB_STREAM_GENERATE | (uint64_t)i << HB_GENERATE_USES;
        for (uint64_t k = 1; k <= CORRECT && i > 1 && i <= STEPS; k++, late = 0) {
            const double e = 2 * s.snr * s.snr * b, seen = x;
            line_score(&data, 1, &seen, tau, &score);
            x += a * late * ((seen + b * score) / a - before);
            assert_ok(context, hb_random_normal(context, 99, (stream - (1 << HB_GENERATE_USES)) | k,
                                                ROW, 1, &z));
            x += e * score + sqrt(2 * e) * z;
        }
        line_score(&data, 1, &x, tau, &score);
        const double D = (x + b * score) / a, between = a / a1, noise = b - between * between * b1;
        x += a * late * (D - before);
        if (i > STEPS) break;
        assert_ok(context, hb_random_normal(context, 99, stream, ROW, 1, &z));
        x = between * b1 / b * x + a1 * noise / b * D + sqrt(noise * b1 / b) * z;
        late = noise / (b + between * between * b1);
        before = D;
        tau = next;
    }
    assert_near(found, x, 1e-12);
}

static void test_levels(void **state)
{
    (void)state;
    hb_generate_settings s = defaults();
    hb_level levels[6];
    s.n_steps = 5;
    hb_levels_geometric(&s, levels);
    assert_near(levels[0].tau, 3, 0);
    assert_near(levels[5].tau, 1e-3, 0);
    for (int i = 0; i < 5; i++)
        assert_relative(levels[i].tau / levels[i + 1].tau, pow(3000, 0.2), 1e-12);
    hb_levels_edm(&s, levels);
    const double high = pow(exp(6) - 1, 1 / 14.), low = pow(exp(2e-3) - 1, 1 / 14.);
    for (int i = 0; i <= 5; i++)
        assert_relative(levels[i].sigma, pow(high + (low - high) * i / 5, 7), 1e-10);
    const hb_level half = hb_level_at(HB_PROCESS_OU, log(2));
    assert_relative(half.a, 0.5, 1e-15);
    assert_relative(half.b, 0.75, 1e-15);
    assert_relative(half.sigma, sqrt(3), 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_ode_is_the_exact_map),
        cmocka_unit_test(test_ode_steps_of_a_row_are_its_own),
        cmocka_unit_test(test_heun_and_two_step_are_of_order_two),
        cmocka_unit_test(test_sde_has_the_law_of_its_recursion),
        cmocka_unit_test(test_sde_bias_falls_at_order_two),
        cmocka_unit_test(test_corrector_keeps_the_law),
        cmocka_unit_test(test_noise_is_a_function_of_step_and_row),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
