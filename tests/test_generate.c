/* The generate room against closed forms. Gaussian data: the ODE's map is linear and known, every
 * step of the SDE, the corrector and the denoising is a linear map plus noise, so the law that
 * comes out is known for any settings. Mixtures with exact scores: discrepancy, modes,
 * likelihoods. */
#include "generate/reverse.h"
#include "support.h"

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    assert_non_null(memory);
    return memory;
}

static hb_generate_settings defaults(void)
{
    hb_generate_settings s;
    hb_generate_settings_default(&s);
    return s;
}

/* ---- a Gaussian in the plane, by its axes ---- */

static const double ANGLE = 0.7, MEAN[2] = {0.8, -1.3}, LAMBDA[2] = {2.385, 0.03};

static void gaussian_covariance(double C[4])
{
    const double c = cos(ANGLE), s = sin(ANGLE);
    C[0] = c * c * LAMBDA[0] + s * s * LAMBDA[1];
    C[3] = s * s * LAMBDA[0] + c * c * LAMBDA[1];
    C[1] = C[2] = c * s * (LAMBDA[0] - LAMBDA[1]);
}

/* Coordinates along the axes, and back. */
static void turn(const double *x, double sign, double *out)
{
    const double c = cos(ANGLE), s = sign * sin(ANGLE), first = c * x[0] + s * x[1];
    out[1] = -s * x[0] + c * x[1];
    out[0] = first;
}

static double a_of(int process, double tau)
{
    return process == HB_PROCESS_OU ? exp(-tau) : 1;
}

static double b_of(int process, double tau)
{
    return process == HB_PROCESS_OU ? 1 - exp(-2 * tau) : 2 * tau;
}

/* Score and divergence of the Gaussian at tau; user: the process. */
static int gaussian_divergence(void *user, size_t n, const double *x, double tau, double *score,
                               double *divergence)
{
    const int process = *(const int *)user;
    const double a = a_of(process, tau), b = b_of(process, tau);
    for (size_t i = 0; i < n; i++) {
        double away[2] = {x[2 * i] - a * MEAN[0], x[2 * i + 1] - a * MEAN[1]}, along[2];
        turn(away, 1, along);
        for (int j = 0; j < 2; j++) along[j] /= -(a * a * LAMBDA[j] + b);
        turn(along, -1, score + 2 * i);
        if (divergence) divergence[i] = -1 / (a * a * LAMBDA[0] + b) - 1 / (a * a * LAMBDA[1] + b);
    }
    return 0;
}

static int gaussian_score(void *user, size_t n, const double *x, double tau, double *score)
{
    return gaussian_divergence(user, n, x, tau, score, NULL);
}

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
    hb_prior_destroy(&prior);
}

static double variance_in_frame(int process, double tau, int axis)
{
    const double a = a_of(process, tau);
    return LAMBDA[axis] + b_of(process, tau) / (a * a);
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
    assert_ok(context, hb_generate(context, s, 2, gaussian_score, &process, 0, N, x));
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

static hb_generate_settings gaussian_settings(int solver, int process, double *C)
{
    hb_generate_settings s = defaults();
    gaussian_covariance(C);
    s.solver = solver;
    s.process = process;
    s.denoise = HB_DENOISE_NONE;
    s.mean = MEAN;
    s.covariance = C;
    s.seed = 2385;
    return s;
}

static void test_ode_is_the_exact_map(void **state)
{
    double C[4];
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
        hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
        const double coarse = flow_error(*state, &s);
        assert_true(coarse < 1e-3);
        s.tolerance = 1e-9;
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

/* A row that moves has the same steps alone and among 255 rows at rest: errors are not averaged. */
static void test_ode_heeds_the_worst_row(void **state)
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
    assert_ok(*state, hb_flow_integrate(&run, from, to, 1, &alone, NULL));
    assert_ok(*state, hb_flow_integrate(&run, from, to, 256, block, NULL));
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

typedef struct line_data {
    double mean, variance;
    int process;
} line_data;

static int line_score(void *user, size_t n, const double *x, double tau, double *score)
{
    const line_data *data = user;
    const double a = a_of(data->process, tau), b = b_of(data->process, tau);
    for (size_t i = 0; i < n; i++)
        score[i] = -(x[i] - a * data->mean) / (a * a * data->variance + b);
    return 0;
}

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
    assert_ok(context, hb_generate(context, s, 1, line_score, data, 5, n, x));
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
    assert_ok(context, hb_generate(context, &s, 1, line_score, &data, ROW, 1, &found));
    assert_ok(context, hb_random_normal(context, 99, HB_GENERATE_STREAM, ROW, 1, &x));
    for (int i = 1; i <= STEPS + 1; i++) {
        const double next = s.tau_max * pow(s.tau_min / s.tau_max, (double)i / STEPS);
        const double a = exp(-tau), b = 1 - a * a, a1 = exp(-next), b1 = 1 - a1 * a1;
        const uint64_t stream = HB_GENERATE_STREAM | (uint64_t)i << HB_GENERATE_USES;
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

/* ---- mixtures ---- */

typedef struct exact {
    hb_context *context;
    hb_mixture *mixture;
    hb_process process;
    size_t calls, most;
} exact;

static int exact_score(void *user, size_t n, const double *x, double tau, double *score)
{
    exact *e = user;
    e->calls++;
    e->most = n > e->most ? n : e->most;
    return hb_mixture_score(e->context, e->mixture, e->process, tau, n, x, NULL, score) != HB_OK;
}

static double discrepancy(hb_context *context, size_t n, const double *x, const double *y)
{
    hb_mmd d;
    assert_ok(context, hb_judge_mmd(context, 2, n, x, n, y, 0, &d));
    return d.mmd;
}

/* Real against real, mean of four pairs. */
static double discrepancy_floor(hb_context *context, const hb_mixture *mixture, size_t n, double *x,
                                double *y)
{
    double sum = 0;
    for (uint64_t k = 0; k < 4; k++) {
        assert_ok(context, hb_mixture_sample(context, mixture, 10 + k, 0, n, x, NULL));
        assert_ok(context, hb_mixture_sample(context, mixture, 20 + k, 0, n, y, NULL));
        sum += discrepancy(context, n, x, y) / 4;
    }
    return sum;
}

/* Every part is found, with its share to 5 standard errors. */
static void check_modes(hb_context *context, const hb_mixture *mixture, size_t n, const double *x)
{
    const size_t count = hb_mixture_count(mixture);
    int *mode_of = take(count, sizeof(int)), found;
    const int modes = hb_mixture_modes(mixture, mode_of);
    size_t *counts = take((size_t)modes, sizeof(size_t)), outliers;
    double *share = take((size_t)modes, sizeof(double)), weight;
    for (size_t k = 0; k < count; k++) {
        assert_ok(context, hb_mixture_component(context, mixture, k, &weight, NULL, NULL));
        share[mode_of[k]] += weight;
    }
    assert_ok(context, hb_judge_modes(context, mixture, n, x, counts, &outliers, &found));
    assert_int_equal(found, modes);
    assert_true(outliers <= 3);
    for (int m = 0; m < modes; m++) {
        const double p = share[m], got = (double)counts[m] / (double)n;
        assert_near(got, p, 5 * sqrt(p * (1 - p) / (double)n) + 1.0 / (double)n);
    }
    free(mode_of);
    free(counts);
    free(share);
}

static void data_moments(const hb_mixture *mixture, double *mean, double *covariance,
                         hb_generate_settings *s)
{
    hb_mixture_moments(mixture, mean, covariance);
    s->mean = mean;
    s->covariance = covariance;
}

static void test_samples_of_all_sets(void **state)
{
    hb_context *context = *state;
    enum { N = 2000 };
    static double x[2 * N], y[2 * N];
    for (int set = 0; hb_data_names()[set]; set++) {
        exact e = {.context = context, .process = set % 2 ? HB_PROCESS_VE : HB_PROCESS_OU};
        hb_generate_settings s = defaults();
        double mean[2], C[4];
        assert_ok(context, hb_mixture_named(context, hb_data_names()[set], &e.mixture));
        data_moments(e.mixture, mean, C, &s);
        const double floor = discrepancy_floor(context, e.mixture, N, x, y);
        s.process = e.process;
        if (e.process == HB_PROCESS_VE) s.tau_max = 50;
        const int all = hb_mixture_count(e.mixture) < 10; // cheap scores
        for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
            if (!all && solver != set % 3) continue;
            s.solver = solver;
            s.n_steps = solver == HB_SOLVER_SDE ? 100 : 40;
            assert_ok(context, hb_generate(context, &s, 2, exact_score, &e, 0, N, x));
            assert_ok(context, hb_mixture_sample(context, e.mixture, 77, 0, N, y, NULL));
            const double found = discrepancy(context, N, x, y);
            if (!(found < 2 * floor))
                fail_msg("%s, solver %d: discrepancy %.4f, floor %.4f", hb_data_names()[set],
                         solver, found, floor);
            check_modes(context, e.mixture, N, x);
        }
        hb_mixture_destroy(e.mixture);
    }
}

/* Score and divergence of a planar mixture: div s = sum_k r_k (|g_k|^2 - tr C_k^-1) - |s|^2, g_k
 * the score of component k and r_k its share. */
static int exact_divergence(void *user, size_t n, const double *x, double tau, double *score,
                            double *divergence)
{
    exact *e = user;
    const double a = a_of(e->process, tau), b = b_of(e->process, tau);
    memset(score, 0, 2 * n * sizeof *score);
    for (size_t i = 0; i < n; i++) {
        double log_p, second = 0;
        if (hb_mixture_score(e->context, e->mixture, e->process, tau, 1, x + 2 * i, &log_p, NULL))
            return 1;
        for (size_t k = 0; k < hb_mixture_count(e->mixture); k++) {
            double w, m[2], C[4];
            if (hb_mixture_component(e->context, e->mixture, k, &w, m, C)) return 1;
            const double p = a * a * C[0] + b, q = a * a * C[1], r = a * a * C[3] + b;
            const double det = p * r - q * q, u = x[2 * i] - a * m[0], v = x[2 * i + 1] - a * m[1];
            const double g[2] = {-(r * u - q * v) / det, -(p * v - q * u) / det};
            const double share =
                w * exp(0.5 * (g[0] * u + g[1] * v) - log_p) / (2 * M_PI * sqrt(det));
            score[2 * i] += share * g[0];
            score[2 * i + 1] += share * g[1];
            second += share * (g[0] * g[0] + g[1] * g[1] - (p + r) / det);
        }
        divergence[i] = second - score[2 * i] * score[2 * i] - score[2 * i + 1] * score[2 * i + 1];
    }
    return 0;
}

static void test_likelihood_of_mixtures(void **state)
{
    hb_context *context = *state;
    enum { N = 40 };
    const char *const names[] = {"asymmetric_gmm", "elongated_gmm", "sparse_dense_gmm"};
    for (int set = 0; set < 3; set++)
        for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++) {
            exact e = {.context = context, .process = (hb_process)process};
            hb_generate_settings s = defaults();
            double mean[2], C[4], x[2 * N], found[N], truth[N];
            assert_ok(context, hb_mixture_named(context, names[set], &e.mixture));
            data_moments(e.mixture, mean, C, &s);
            s.process = process;
            s.tau_max = process == HB_PROCESS_OU ? 6 : 1e5; // the law there is Gaussian to 1e-5
            s.tolerance = 1e-7;
            assert_ok(context, hb_mixture_sample_at(context, e.mixture, e.process, s.tau_min, 3, 0,
                                                    N, x, NULL));
            for (size_t i = 0; i < 10; i++) x[2 * i] += 0.7; // off the data too
            assert_ok(context, hb_mixture_score(context, e.mixture, e.process, s.tau_min, N, x,
                                                truth, NULL));
            assert_ok(context, hb_likelihood(context, &s, 2, exact_divergence, &e, N, x, found));
            for (int i = 0; i < N; i++) assert_near(found[i], truth[i], 1e-5);
            hb_mixture_destroy(e.mixture);
        }
}

static void test_likelihood_of_a_gaussian(void **state)
{
    hb_context *context = *state;
    enum { N = 600 }; // three blocks
    double C[4], found[N], pieces[N];
    static double x[2 * N];
    int process = HB_PROCESS_VE;
    hb_generate_settings s = gaussian_settings(HB_SOLVER_ODE, process, C);
    s.tolerance = 1e-8;
    assert_ok(context, hb_random_normal(context, 1, 1, 0, 2 * N, x));
    assert_ok(context, hb_likelihood(context, &s, 2, gaussian_divergence, &process, N, x, found));
    for (size_t i = 0; i < N; i++) {
        double away[2] = {x[2 * i] - MEAN[0], x[2 * i + 1] - MEAN[1]}, exact_value = -log(2 * M_PI);
        turn(away, 1, away);
        for (int j = 0; j < 2; j++) {
            const double v = variance_in_frame(process, s.tau_min, j);
            exact_value -= 0.5 * (away[j] * away[j] / v + log(v));
        }
        assert_near(found[i], exact_value, 2e-5);
    }
    assert_ok(context,
              hb_likelihood(context, &s, 2, gaussian_divergence, &process, 256, x, pieces));
    assert_ok(context, hb_likelihood(context, &s, 2, gaussian_divergence, &process, N - 256,
                                     x + 512, pieces + 256));
    assert_memory_equal(found, pieces, sizeof found);
}

/* ---- bits, words, progress ---- */

static void test_bits_in_pieces_and_on_threads(void **state)
{
    (void)state;
    enum { N = 700, FIRST = 130 };
    static double whole[2 * N], pieces[2 * N];
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        hb_generate_settings s = defaults();
        s.solver = solver;
        s.n_steps = 30;
        for (int threads = 1; threads <= 2; threads++) {
            hb_context *context = make_context(HB_ISA_AUTO, threads);
            exact e = {.context = context};
            assert_ok(context, hb_mixture_named(context, "elongated_gmm", &e.mixture));
            double *out = threads == 1 ? whole : pieces;
            assert_ok(context, hb_generate(context, &s, 2, exact_score, &e, FIRST, N, out));
            assert_memory_equal(out, whole, sizeof whole);
            const size_t cuts[] = {0, 1, 126, 127, 400, N};
            for (int k = 0; k < 5; k++)
                assert_ok(context, hb_generate(context, &s, 2, exact_score, &e, FIRST + cuts[k],
                                               cuts[k + 1] - cuts[k], pieces + 2 * cuts[k]));
            assert_memory_equal(pieces, whole, sizeof whole);
            hb_mixture_destroy(e.mixture);
            hb_context_destroy(context);
        }
        s.seed = 2;
        hb_context *context = make_context(HB_ISA_AUTO, 1);
        line_data data = {0, 1, HB_PROCESS_OU};
        double x[2];
        assert_ok(context, hb_generate(context, &s, 1, line_score, &data, 0, 1, x));
        s.seed = 3;
        assert_ok(context, hb_generate(context, &s, 1, line_score, &data, 0, 1, x + 1));
        assert_true(x[0] != x[1]);
        hb_context_destroy(context);
    }
}

static void test_callback_sees_large_batches(void **state)
{
    hb_context *context = *state;
    enum { N = 20000 };
    exact e = {.context = context};
    hb_generate_settings s = defaults();
    double *x = take(2 * N, sizeof *x);
    s.n_steps = 3;
    s.det_tau = 0;
    assert_ok(context, hb_mixture_named(context, "asymmetric_gmm", &e.mixture));
    assert_ok(context, hb_generate(context, &s, 2, exact_score, &e, 0, N, x));
    assert_int_equal(e.most, 16384);
    assert_int_equal(
        e.calls, 2 * (3 + 2 + 1 + 1)); // two batches: predictor, corrector, late term, denoising
    hb_mixture_destroy(e.mixture);
    free(x);
}

static int failing_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)n, (void)x, (void)tau, (void)score;
    if (user) hb_context_fail(user, HB_ERROR_ARGUMENT, "the lamp is out");
    return 1;
}

static int nan_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user, (void)x;
    for (size_t i = 0; i < 2 * n; i++) score[i] = tau < 0.5 && i == 3 ? NAN : 0;
    return 0;
}

static int nan_divergence(void *user, size_t n, const double *x, double tau, double *score,
                          double *divergence)
{
    (void)user, (void)x, (void)tau;
    for (size_t i = 0; i < n; i++) divergence[i] = INFINITY;
    memset(score, 0, 2 * n * sizeof *score);
    return 0;
}

static void test_failures_of_the_score(void **state)
{
    hb_context *context = *state;
    double x[20], out[10];
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        hb_generate_settings s = defaults();
        s.solver = solver;
        assert_fails(context, hb_generate(context, &s, 2, failing_score, NULL, 0, 10, x),
                     HB_ERROR_CALLBACK, "the score reported an error at tau = 3");
        assert_fails(context, hb_generate(context, &s, 2, failing_score, context, 0, 10, x),
                     HB_ERROR_CALLBACK, "at tau = 3: the lamp is out");
        assert_fails(context, hb_generate(context, &s, 2, nan_score, NULL, 0, 10, x),
                     HB_ERROR_NUMERICAL, "component 2 of the score is nan");
    }
    hb_generate_settings s = defaults();
    assert_fails(context, hb_likelihood(context, &s, 2, nan_divergence, NULL, 10, x, out),
                 HB_ERROR_NUMERICAL, "the divergence of the score is inf");
}

/* One setting at a time, and the words that refuse it. */
static void refuse(hb_context *context, hb_generate_settings s, int dim, const char *words)
{
    double x[4], out[2];
    int process = 0;
    assert_fails(context, hb_generate(context, &s, dim, gaussian_score, &process, 0, 2, x),
                 HB_ERROR_ARGUMENT, words);
    assert_fails(context, hb_likelihood(context, &s, dim, gaussian_divergence, &process, 2, x, out),
                 HB_ERROR_ARGUMENT, words);
}

#define REFUSE(field, value, words)                                                                \
    do {                                                                                           \
        hb_generate_settings wrong = defaults();                                                   \
        wrong.field = (value);                                                                     \
        refuse(*state, wrong, 2, words);                                                           \
    } while (0)

static void test_bad_settings_are_refused(void **state)
{
    const double indefinite[4] = {1, 2, 2, -500}, lopsided[4] = {1, 2, 3, 9}, bad[2] = {0, NAN};
    REFUSE(solver, 3, "solver is 3");
    REFUSE(process, HB_PROCESS_DRIFT, "process is 2");
    REFUSE(n_steps, 0, "n_steps is 0; it must be 1 to 1000000");
    REFUSE(n_correct, -1, "n_correct is -1");
    REFUSE(n_correct, 4001, "n_correct is 4001");
    REFUSE(snr, 1, "snr is 1");
    REFUSE(snr, NAN, "snr is nan");
    REFUSE(det_tau, -0.1, "det_tau is -0.1");
    REFUSE(tau_min, 0, "tau_min is 0");
    REFUSE(tau_min, 3, "tau_min is 3; it must be 1e-12 or more and below tau_max = 3");
    REFUSE(tau_max, 11, "tau_max is 11; it must be at most 10 for this process");
    REFUSE(tau_max, INFINITY, "tau_max is inf");
    REFUSE(rho, 0.5, "rho is 0.5");
    REFUSE(denoise, 3, "denoise is 3");
    REFUSE(tolerance, 0, "tolerance is 0");
    REFUSE(covariance, indefinite, "negative eigenvalue");
    REFUSE(covariance, lopsided, "symmetric");
    REFUSE(mean, bad, "component 2 of the mean of the data is nan");
    refuse(*state, defaults(), 0, "dim is 0");
    double x[4];
    hb_generate_settings s = defaults();
    int process = 0;
    assert_fails(*state, hb_generate(*state, NULL, 2, gaussian_score, &process, 0, 2, x),
                 HB_ERROR_ARGUMENT, "settings is NULL");
    assert_fails(*state, hb_generate(*state, &s, 2, NULL, NULL, 0, 2, x), HB_ERROR_ARGUMENT,
                 "score or x is NULL");
    assert_fails(*state, hb_generate(*state, &s, 2, gaussian_score, &process, UINT64_MAX / 2, 2, x),
                 HB_ERROR_ARGUMENT, "(first + n) times dim must be below 2^64");
    assert_ok(*state, hb_generate(*state, &s, 2, gaussian_score, &process, 0, 0, NULL));
}

typedef struct heard {
    int calls, others, stop_at;
    double last, total;
} heard;

static int listen_to(void *user, const char *what, double done, double total)
{
    heard *h = user;
    if (strcmp(what, "generating") != 0 && strcmp(what, "likelihood") != 0) h->others++;
    if (done < h->last) h->others++; // never backward
    h->last = done;
    h->total = total;
    return ++h->calls == h->stop_at;
}

static void test_progress(void **state)
{
    (void)state;
    enum { N = 300 };
    static double x[2 * N];
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        heard h = {0};
        hb_settings settings;
        hb_settings_default(&settings);
        settings.threads = 2;
        settings.progress = listen_to;
        settings.progress_user = &h;
        exact e = {0};
        assert_int_equal(hb_context_create(&e.context, &settings), HB_OK);
        assert_ok(e.context, hb_mixture_named(e.context, "asymmetric_gmm", &e.mixture));
        hb_generate_settings s = defaults();
        s.solver = solver;
        s.n_steps = 20;
        assert_ok(e.context, hb_generate(e.context, &s, 2, exact_score, &e, 0, N, x));
        assert_true(h.calls >= (solver == HB_SOLVER_ODE ? 2 : 20));
        assert_int_equal(h.others, 0);
        assert_near(h.last, N, 0);
        assert_near(h.total, N, 0);
        h = (heard){.stop_at = 2};
        assert_fails(e.context, hb_generate(e.context, &s, 2, exact_score, &e, 0, N, x),
                     HB_ERROR_INTERRUPTED, "stopped by request");
        hb_mixture_destroy(e.mixture);
        hb_context_destroy(e.context);
    }
}

static int make_state(void **state)
{
    *state = make_context(HB_ISA_AUTO, 1); // two threads where it matters: bits, progress
    return 0;
}

static int drop_state(void **state)
{
    hb_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_ode_is_the_exact_map),
        cmocka_unit_test(test_ode_heeds_the_worst_row),
        cmocka_unit_test(test_heun_and_two_step_are_of_order_two),
        cmocka_unit_test(test_sde_has_the_law_of_its_recursion),
        cmocka_unit_test(test_sde_bias_falls_at_order_two),
        cmocka_unit_test(test_corrector_keeps_the_law),
        cmocka_unit_test(test_noise_is_a_function_of_step_and_row),
        cmocka_unit_test(test_samples_of_all_sets),
        cmocka_unit_test(test_likelihood_of_mixtures),
        cmocka_unit_test(test_likelihood_of_a_gaussian),
        cmocka_unit_test(test_bits_in_pieces_and_on_threads),
        cmocka_unit_test(test_callback_sees_large_batches),
        cmocka_unit_test(test_failures_of_the_score),
        cmocka_unit_test(test_bad_settings_are_refused),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, make_state, drop_state);
}
