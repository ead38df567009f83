/* Short lags under a noise that is a matrix: the frame of Kolmogorov's equation in closed form, a linear drift without a
 * correction, gradients against differences, Dynkin's formula over lags of any length, moments of the trajectories, the
 * estimator against a closed form, the same bits on any number of threads, and what must be refused. */
#include "base/memory.h"
#include "lag/lag_estimator.h"
#include "lag/lag_frame.h"
#include "particle_support.h"
#include "path/trajectories.h"
#include "problem/noise.h"

static hb_sampling_settings settings_of(uint64_t samples, uint64_t seed)
{
    hb_sampling_settings settings;
    hb_sampling_settings_default(sizeof settings, &settings);
    settings.samples = samples;
    settings.seed = seed;
    return settings;
}

/* ---- frames ---- */

/* S = root root' at the whole lag. */
static void spread_of(const hb_lag_frame *f, double *S)
{
    for (size_t i = 0; i < f->d; i++)
        for (size_t j = 0; j < f->d; j++) {
            S[i * f->d + j] = 0;
            for (size_t k = 0; k <= (i < j ? i : j); k++)
                S[i * f->d + j] += f->root[i * f->d + k] * f->root[j * f->d + k];
        }
}

static void kolmogorov_has_its_covariance(void **state)
{
    (void)state;
    static const double lags[] = {1e-7, 0.37, 20};
    hb_problem *problem = parse("y, 0", "0; 1.3", "gaussian(mean=0, var=1)");
    const double x[2] = {0.4, -0.7}, q = 1.69;
    for (size_t k = 0; k < 3; k++) {
        const double r = lags[k];
        hb_lag_frame frame;
        int found, singular;
        double S[4];
        assert_ok(context,
                  hb_lag_frame_create(context, problem, x, 25, r, 0, &frame, &found, &singular));
        assert_true(found);
        spread_of(&frame, S);
        assert_relative(S[0], q * r * r * r / 3, 1e-12);
        assert_relative(S[1], q * r * r / 2, 1e-12);
        assert_relative(S[3], q * r, 1e-12);
        assert_near(frame.place[0], 0.4 + 0.7 * r, 1e-13 * (1 + r));
        hb_lag_frame_destroy(&frame);
    }
    hb_problem_destroy(problem);
}

/* y at the lags, and f there, for a path that wiggles around the frame's own. */
static void fill_path(const hb_problem *problem, const hb_lag_frame *frame, double end,
                      double *places, double *drifts, const double **y, const double **f)
{
    const size_t d = frame->d;
    for (size_t j = 0; j < HB_LAG_NODES; j++) {
        for (size_t k = 0; k < d; k++)
            places[j * d + k] =
                frame->place[j * d + k] + 0.05 * sin(3.0 * (double)j + 2.1 * (double)k);
        const double t = end - frame->lag * hb_lag_parts[j];
        assert_ok(context, hb_problem_drift_each(context, problem, 1, places + j * d, &t,
                                                 drifts + j * d, NULL, NULL, NULL));
        y[j] = places + j * d;
        f[j] = drifts + j * d;
    }
}

static hb_lag_value value_at(const hb_problem *problem, const double *x, double end, double lag,
                             double *b)
{
    hb_lag_frame frame;
    int found, singular;
    double places[HB_LAG_NODES * 2], drifts[HB_LAG_NODES * 2], work[8];
    const double *y[HB_LAG_NODES], *f[HB_LAG_NODES];
    hb_lag_value value = {.b = b};
    assert_ok(context,
              hb_lag_frame_create(context, problem, x, end, lag, 0, &frame, &found, &singular));
    assert_true(found);
    assert_true(hb_lag_work(2) <= 8);
    fill_path(problem, &frame, end, places, drifts, y, f);
    hb_lag_value_of(&frame, y, f, 0, &value, work);
    hb_lag_frame_destroy(&frame);
    return value;
}

static void a_linear_drift_needs_no_correction(void **state)
{
    (void)state;
    hb_problem *problem = parse("y + t, -2*x - 0.3*t*y", "0; 1 + t", "gaussian(mean=0, var=1)");
    const double x[2] = {0.4, -0.7};
    double b[2 * HB_LAG_RULES];
    const hb_lag_value v = value_at(problem, x, 1.5, 0.8, b);
    assert_true(v.a[0] > 0);
    assert_relative(v.a[0], v.a[1], 1e-10);
    assert_relative(v.a[0], v.a[2], 1e-10);
    assert_relative(b[0], b[4], 1e-9);
    hb_problem_destroy(problem);
}

/* The flow of the double well over a time, by many steps of Runge and Kutta. */
static void flow(double time, const double *from, double *to)
{
    enum { STEPS = 4000 };
    const double h = time / STEPS;
    double q = from[0], p = from[1];
    for (int k = 0; k < STEPS; k++) {
        double dq[4], dp[4], a = q, b = p;
        for (int s = 0; s < 4; s++) {
            dq[s] = b;
            dp[s] = a - a * a * a - b / 2;
            const double part = s < 2 ? 0.5 * h : h;
            a = q + part * dq[s];
            b = p + part * dp[s];
        }
        q += h / 6 * (dq[0] + 2 * dq[1] + 2 * dq[2] + dq[3]);
        p += h / 6 * (dp[0] + 2 * dp[1] + 2 * dp[2] + dp[3]);
    }
    to[0] = q;
    to[1] = p;
}

/* phi is the flow backward, and Phi = L W the derivative of the flow that comes back. */
static void the_frame_follows_the_flow(void **state)
{
    (void)state;
    static const double points[3][2] = {{0.6, 0.2}, {-1.3, 0.9}, {2, 0.3}};
    hb_problem *problem = parse("y, x - x^3 - y/2", "0, 0.7", "gaussian(mean=0, var=1)");
    for (size_t k = 0; k < 3; k++) {
        hb_lag_frame frame;
        int found, singular;
        double back[2];
        assert_ok(context, hb_lag_frame_create(context, problem, points[k], 1, 1, 0, &frame, &found,
                                               &singular));
        assert_true(found);
        flow(-1, points[k], back);
        for (size_t i = 0; i < 2; i++) assert_relative(frame.place[i], back[i], 1e-10);
        for (size_t j = 0; j < 2; j++) {
            const double step = 1e-4;
            double ahead[2][2], from[2];
            for (int side = 0; side < 2; side++) {
                memcpy(from, back, sizeof from);
                from[j] += side ? step : -step;
                flow(1, from, ahead[side]);
            }
            for (size_t i = 0; i < 2; i++) {
                const double *L = frame.root, *W = frame.white;
                const double Phi = L[2 * i] * W[j] + (i ? L[3] * W[2 + j] : 0);
                assert_near(Phi, (ahead[1][i] - ahead[0][i]) / (2 * step), 1e-6);
            }
        }
        hb_lag_frame_destroy(&frame);
    }
    hb_problem_destroy(problem);
}

/* E over paths is the density for every lag: without noise in the start's path, the mean over many paths. Here one
 * path suffices to see the parts agree with their formula: the value by a frame whose model is exact equals that of
 * the kernel alone, and a drift with a cubic force has a correction that the coarser rules see too. */
static void rules_agree_on_a_smooth_path(void **state)
{
    (void)state;
    hb_problem *problem = parse("y, x - x^3 - y/2", "0, 0.7", "gaussian(mean=0, var=1)");
    const double x[2] = {0.6, 0.2};
    double b[2 * HB_LAG_RULES];
    const hb_lag_value v = value_at(problem, x, 1, 0.5, b);
    assert_true(v.a[0] > 0);
    assert_true(fabs(v.a[0] - v.a[1]) < 0.2 * v.a[0]);
    assert_true(v.a[0] != v.a[1]);
    hb_problem_destroy(problem);
}

/* The gradient by x with the model held: by differences of the kernel's formula in the end alone. */
static void slopes_are_those_of_the_kernel(void **state)
{
    (void)state;
    hb_problem *problem = parse("y, x - x^3 - y/2", "0, 0.7", "gaussian(mean=0, var=1)");
    const double x[2] = {0.6, 0.2}, lag = 0.5;
    hb_lag_frame frame;
    int found, singular;
    assert_ok(context,
              hb_lag_frame_create(context, problem, x, 1, lag, 0, &frame, &found, &singular));
    double places[HB_LAG_NODES * 2], drifts[HB_LAG_NODES * 2], work[8], b[2 * HB_LAG_RULES];
    const double *y[HB_LAG_NODES], *f[HB_LAG_NODES];
    fill_path(problem, &frame, 1, places, drifts, y, f);
    hb_lag_value value = {.b = b};
    hb_lag_value_of(&frame, y, f, 0, &value, work);
    for (size_t k = 0; k < 2; k++) {
        /* w = W (phi - y) + L^-1 (x' - x): moving the end by e moves phi by Phi^-1 e = W^-1 L^-1 e */
        double a[2];
        const double step = 1e-5;
        for (int side = 0; side < 2; side++) {
            double moved[HB_LAG_NODES * 2], sum = 0;
            const double e[2] = {k == 0 ? (side ? step : -step) : 0,
                                 k == 1 ? (side ? step : -step) : 0};
            for (size_t j = 0; j < HB_LAG_NODES; j++) {
                const double *L = frame.root + 4 * j, *W = frame.white + 4 * j;
                const double u0 = e[0] / L[0], u1 = (e[1] - L[2] * u0) / L[3];
                const double det = W[0] * W[3] - W[1] * W[2];
                const double shift[2] = {(W[3] * u0 - W[1] * u1) / det,
                                         (W[0] * u1 - W[2] * u0) / det};
                double w[2], q[2], g[2];
                for (size_t i = 0; i < 2; i++) {
                    const double gap = y[j][i] - frame.place[2 * j + i];
                    moved[2 * j + i] = shift[i] - gap;
                    g[i] = f[j][i] - frame.drift[2 * j + i];
                    for (size_t l = 0; l < 2; l++)
                        g[i] -=
                            frame.jacobian[4 * j + 2 * i + l] * (y[j][l] - frame.place[2 * j + l]);
                }
                for (size_t i = 0; i < 2; i++) {
                    w[i] = W[2 * i] * moved[2 * j] + W[2 * i + 1] * moved[2 * j + 1];
                    q[i] = W[2 * i] * g[0] + W[2 * i + 1] * g[1];
                }
                const double h = exp(frame.log_top[j] - 0.5 * (w[0] * w[0] + w[1] * w[1]));
                const double weight[7] = {0.052328113013233633, 0.13424404493416672,
                                          0.20069870738798111,  0.22545826932923707,
                                          0.20069870738798111,  0.13424404493416672,
                                          0.052328113013233633};
                sum +=
                    j == 0 ? h : 0.5 * lag * weight[(j - 1) % 7] * h * (q[0] * w[0] + q[1] * w[1]);
            }
            a[side] = sum;
        }
        assert_relative(0.5 * (a[0] + a[1]), value.a[0], 1e-6);
        assert_relative((a[1] - a[0]) / (2 * step), b[k], 1e-6);
    }
    hb_lag_frame_destroy(&frame);
    hb_problem_destroy(problem);
}

/* ---- trajectories ---- */

static void paths_have_the_noise_of_the_matrix(void **state)
{
    (void)state;
    enum { N = 20000 };
    hb_problem *problem = parse("y, 0", "0, 1; t, 0", "gaussian(mean=0, var=1e-12)");
    const double times[1] = {1.5};
    hb_path_plan plan = {.problem = problem, .seed = 4, .dim = 2, .n_times = 1, .times = times};
    plan.step = 0.05;
    void *memory;
    assert_ok(context, hb_allocate(context, 4 * N, sizeof(double), &memory));
    double *x = memory, *coarse = x + 2 * N, C[3] = {0, 0, 0};
    assert_ok(context, hb_paths_simulate(context, &plan, 0, N, N, x, coarse));
    for (size_t i = 0; i < N; i++) {
        C[0] += x[2 * i] * x[2 * i] / N;
        C[1] += x[2 * i] * x[2 * i + 1] / N;
        C[2] += x[2 * i + 1] * x[2 * i + 1] / N;
    }
    /* p = int t dW_1: T^3/3; q = W_2 + int (T - t) t dW_1: T + T^5/30; both: int (T - t) t^2 = T^4/12 */
    const double T = 1.5;
    assert_relative(C[2], T * T * T / 3, 5 * sqrt(2.0 / N));
    assert_relative(C[0], T + pow(T, 5) / 30, 5 * sqrt(2.0 / N));
    assert_near(C[1], pow(T, 4) / 12, 5 * sqrt(2.0 / N));
    hb_release(context, memory);
    hb_problem_destroy(problem);
}

/* ---- the estimator ---- */

/* The accumulator of one point after the rounds that the settings ask for. */
static void run(hb_context *with, const hb_problem *problem, double T, uint64_t samples,
                const double *x, hb_answer *out, double *score, double *score_se)
{
    const hb_sampling_settings settings = settings_of(samples, 3);
    const int dim = hb_problem_dim(problem);
    const unsigned char wanted = 1;
    hb_estimator e;
    assert_ok(with, hb_lag_estimator(with, problem, T, &settings, 1, x, &e));
    double *sums = calloc(1, hb_accumulator_size(dim) * sizeof *sums);
    for (uint64_t k = 0; k * e.samples_per_round < samples; k++)
        assert_ok(with, e.round(e.self, k, &wanted, sums));
    hb_accumulator_answer(dim, sums, e.log_scale[0], out, score, score_se);
    free(sums);
    e.destroy(e.self);
}

static void a_linear_oscillator_has_its_gaussian(void **state)
{
    (void)state;
    hb_problem *problem = parse("y, 0", "0; 1", "gaussian(mean=0.2 -0.1, var=1)");
    const double x[2] = {0.5, 0.4}, m[2] = {0.1, -0.1}, S[3] = {7.0 / 3, 1.5, 2};
    const double det = S[0] * S[2] - S[1] * S[1], a = x[0] - m[0], b = x[1] - m[1];
    const double s[2] = {-(S[2] * a - S[1] * b) / det, -(S[0] * b - S[1] * a) / det};
    const double v = 0.5 * (a * s[0] + b * s[1]) - 0.5 * log(det) - log(2 * M_PI);
    hb_answer at;
    double score[2], score_se[2];
    run(context, problem, 1, 8192, x, &at, score, score_se);
    assert_int_equal(at.flag, HB_FLAG_NONE);
    assert_near(at.log_density, v, 5 * at.log_density_se);
    assert_true(at.log_density_se < 0.03);
    for (int k = 0; k < 2; k++) assert_near(score[k], s[k], 5 * score_se[k]);
    hb_problem_destroy(problem);
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    hb_answer at[2];
    double score[2][2], score_se[2][2];
    const double x[2] = {0.5, 0.4};
    for (int k = 0; k < 2; k++) {
        hb_context_settings settings;
        hb_context *own;
        hb_context_settings_default(sizeof settings, &settings);
        settings.threads = k ? 3 : 1;
        assert_int_equal(hb_context_create(&settings, &own), HB_OK);
        hb_problem *problem;
        assert_ok(own, hb_problem_parse(own, "y, x - x^3 - y/2", "0, 0.7",
                                        "gaussian(mean=0, var=0.5)", &problem));
        run(own, problem, 0.6, 1024, x, at + k, score[k], score_se[k]);
        hb_problem_destroy(problem);
        hb_context_destroy(own);
    }
    assert_memory_equal(&at[0].density, &at[1].density, sizeof(double));
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    assert_memory_equal(score_se[0], score_se[1], sizeof score_se[0]);
}

static void what_has_no_density_is_refused(void **state)
{
    (void)state;
    const hb_sampling_settings settings = settings_of(1024, 1);
    const double x[2] = {0.5, 0.4};
    hb_estimator e;
    hb_problem *problem = parse("-x, y - y^3", "0, 0.7", "gaussian(mean=0, var=1)");
    assert_int_equal(hb_lag_estimator(context, problem, 1, &settings, 1, x, &e), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(context), "every direction"));
    hb_problem_destroy(problem);
    problem = parse("y, x - x^3 - y/2 + t", "0, 0.7", "gaussian(mean=0, var=1)");
    assert_int_equal(hb_lag_stationary(context, problem, &settings, 1, x, &e), HB_ERROR_ARGUMENT);
    hb_problem_destroy(problem);
    problem = parse("y, x + 0.01*x^3", "0, 0.7", "gaussian(mean=0, var=1)");
    assert_int_not_equal(hb_lag_stationary(context, problem, &settings, 1, x, &e), HB_OK);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kolmogorov_has_its_covariance),
        cmocka_unit_test(a_linear_drift_needs_no_correction),
        cmocka_unit_test(the_frame_follows_the_flow),
        cmocka_unit_test(rules_agree_on_a_smooth_path),
        cmocka_unit_test(slopes_are_those_of_the_kernel),
        cmocka_unit_test(paths_have_the_noise_of_the_matrix),
        cmocka_unit_test(a_linear_oscillator_has_its_gaussian),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(what_has_no_density_is_refused),
    };
    return cmocka_run_group_tests_name("lag", tests, set_up, tear_down);
}
