/* Samples and likelihoods of the generate room. Mixtures with exact scores: discrepancy, modes,
 * likelihoods; then bits, words and progress. */
#include "generate_support.h"

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
    return hb_mixture_score(e->context, e->mixture, e->process, n, x, tau, NULL, score) != HB_OK;
}

static double discrepancy(hb_context *context, size_t n, const double *x, const double *y)
{
    hb_mmd d;
    assert_ok(context, hb_judge_mmd(context, 2, 0, n, n, x, y, sizeof d, &d));
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
            assert_ok(context, hb_generate(context, &s, 2, 0, N, exact_score, &e, x));
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
        if (hb_mixture_score(e->context, e->mixture, e->process, 1, x + 2 * i, tau, &log_p, NULL))
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
            s.ode_tolerance = 1e-7;
            assert_ok(context, hb_mixture_sample_at(context, e.mixture, e.process, 3, 0, N,
                                                    s.tau_min, x, NULL));
            for (size_t i = 0; i < 10; i++) x[2 * i] += 0.7; // off the data too
            assert_ok(context, hb_mixture_score(context, e.mixture, e.process, N, x, s.tau_min,
                                                truth, NULL));
            assert_ok(context, hb_generate_likelihood(context, &s, 2, 0, N, x, NULL,
                                                      exact_divergence, &e, found, NULL));
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
    s.ode_tolerance = 1e-8;
    assert_ok(context, hb_random_normal(context, 1, 1, 0, 2 * N, x));
    assert_ok(context, hb_generate_likelihood(context, &s, 2, 0, N, x, NULL, gaussian_divergence,
                                              &process, found, NULL));
    for (size_t i = 0; i < N; i++) {
        double away[2] = {x[2 * i] - MEAN[0], x[2 * i + 1] - MEAN[1]}, exact_value = -log(2 * M_PI);
        turn(away, 1, away);
        for (int j = 0; j < 2; j++) {
            const double v = variance_in_frame(process, s.tau_min, j);
            exact_value -= 0.5 * (away[j] * away[j] / v + log(v));
        }
        assert_near(found[i], exact_value, 2e-5);
    }
    assert_ok(context, hb_generate_likelihood(context, &s, 2, 0, 100, x, NULL, gaussian_divergence,
                                              &process, pieces, NULL));
    assert_ok(context, hb_generate_likelihood(context, &s, 2, 0, N - 100, x + 200, NULL,
                                              gaussian_divergence, &process, pieces + 100, NULL));
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
            assert_ok(context, hb_generate(context, &s, 2, FIRST, N, exact_score, &e, out));
            assert_memory_equal(out, whole, sizeof whole);
            const size_t cuts[] = {0, 1, 126, 127, 400, N};
            for (int k = 0; k < 5; k++)
                assert_ok(context,
                          hb_generate(context, &s, 2, FIRST + cuts[k], cuts[k + 1] - cuts[k],
                                      exact_score, &e, pieces + 2 * cuts[k]));
            assert_memory_equal(pieces, whole, sizeof whole);
            hb_mixture_destroy(e.mixture);
            hb_context_destroy(context);
        }
        s.seed = 2;
        hb_context *context = make_context(HB_ISA_AUTO, 1);
        line_data data = {0, 1, HB_PROCESS_OU};
        double x[2];
        assert_ok(context, hb_generate(context, &s, 1, 0, 1, line_score, &data, x));
        s.seed = 3;
        assert_ok(context, hb_generate(context, &s, 1, 0, 1, line_score, &data, x + 1));
        assert_true(x[0] != x[1]);
        hb_context_destroy(context);
    }
}

/* A range of tau that is left open is 1e-3 to 3, for each end by itself. */
static void test_open_range(void **state)
{
    line_data data = {0.4, 0.6, HB_PROCESS_OU};
    hb_generate_settings s = defaults();
    double closed[3], found[3];
    s.n_steps = 4;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 3, line_score, &data, closed));
    hb_generate_settings_default(sizeof s, &s);
    assert_true(isnan(s.tau_min) && isnan(s.tau_max));
    s.n_steps = 4;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 3, line_score, &data, found));
    assert_memory_equal(found, closed, sizeof closed);
    s.tau_max = 3;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 3, line_score, &data, found));
    assert_memory_equal(found, closed, sizeof closed);
    s.tau_min = 2e-3;
    assert_ok(*state, hb_generate(*state, &s, 1, 0, 3, line_score, &data, found));
    assert_true(found[0] != closed[0]);
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
    assert_ok(context, hb_generate(context, &s, 2, 0, N, exact_score, &e, x));
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
        assert_fails(context, hb_generate(context, &s, 2, 0, 10, failing_score, NULL, x),
                     HB_ERROR_CALLBACK, "the score reported an error at tau = 3");
        assert_fails(context, hb_generate(context, &s, 2, 0, 10, failing_score, context, x),
                     HB_ERROR_CALLBACK, "at tau = 3: the lamp is out");
        assert_fails(context, hb_generate(context, &s, 2, 0, 10, nan_score, NULL, x),
                     HB_ERROR_NUMERICAL, "component 2 of the score is nan");
    }
    hb_generate_settings s = defaults();
    assert_fails(
        context,
        hb_generate_likelihood(context, &s, 2, 0, 10, x, NULL, nan_divergence, NULL, out, NULL),
        HB_ERROR_NUMERICAL, "the divergence of the score is inf");
}

/* Away from 0 with a force that grows: nothing holds these samples but the range of the data. */
static int repelling_score(void *user, size_t n, const double *x, double tau, double *score)
{
    (void)user, (void)tau;
    for (size_t i = 0; i < 2 * n; i++) score[i] = 40 * x[i];
    return 0;
}

/* Means outside the range of the data go to its border; inside it not a bit changes. */
static void test_range_of_the_data(void **state)
{
    (void)state;
    enum { N = 300 };
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    static const hb_solver solvers[] = {HB_SOLVER_SDE, HB_SOLVER_HEUN};
    int process = HB_PROCESS_OU;
    double free_x[2 * N], x[2 * N];
    for (int k = 0; k < 2; k++) {
        hb_generate_settings s = defaults();
        s.solver = solvers[k];
        s.n_steps = 60;
        s.denoise = HB_DENOISE_MEAN;
        assert_ok(context, hb_generate(context, &s, 2, 0, N, gaussian_score, &process, free_x));
        s.low = -50;
        s.high = 50;
        assert_ok(context, hb_generate(context, &s, 2, 0, N, gaussian_score, &process, x));
        assert_memory_equal(x, free_x, sizeof x);
        s.low = -0.7;
        s.high = 2.385;
        assert_ok(context, hb_generate(context, &s, 2, 0, N, repelling_score, NULL, x));
        int low = 0, high = 0;
        for (int i = 0; i < 2 * N; i++) {
            assert_true(x[i] > s.low - 1e-9 && x[i] < s.high + 1e-9);
            low += x[i] < s.low + 1e-9;
            high += x[i] > s.high - 1e-9;
        }
        assert_true(low > 50 && high > 50);
        s.low = -INFINITY;
        s.high = INFINITY;
        assert_ok(context, hb_generate(context, &s, 2, 0, N, repelling_score, NULL, x));
        assert_true(fabs(x[0]) > 1e6);
    }
    hb_context_destroy(context);
}

/* One setting at a time, and the words that refuse it. */
static void refuse(hb_context *context, hb_generate_settings s, int dim, const char *words)
{
    double x[4], out[2];
    int process = 0;
    assert_fails(context, hb_generate(context, &s, dim, 0, 2, gaussian_score, &process, x),
                 HB_ERROR_ARGUMENT, words);
    assert_fails(context,
                 hb_generate_likelihood(context, &s, dim, 0, 2, x, NULL, gaussian_divergence,
                                        &process, out, NULL),
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
    REFUSE(low, INFINITY, "low is inf and high is inf");
    REFUSE(process, 3, "process is 3");
    REFUSE(process, HB_PROCESS_DRIFT, "but there is no drift");
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
    REFUSE(ode_tolerance, 0, "ode_tolerance is 0");
    REFUSE(covariance, indefinite, "negative eigenvalue");
    REFUSE(covariance, lopsided, "symmetric");
    REFUSE(mean, bad, "component 2 of the mean of the data is nan");
    refuse(*state, defaults(), 0, "dim is 0");
    double x[4];
    hb_generate_settings s = defaults();
    int process = 0;
    assert_ok(*state,
              hb_generate(*state, NULL, 2, 0, 2, gaussian_score, &process, x)); /* defaults */
    s.size++;
    assert_fails(*state, hb_generate(*state, &s, 2, 0, 2, gaussian_score, &process, x),
                 HB_ERROR_ARGUMENT, "needs a newer library");
    s.size = offsetof(hb_generate_settings, drift); /* a program of before there were drifts */
    assert_ok(*state, hb_generate(*state, &s, 2, 0, 2, gaussian_score, &process, x));
    s.size = sizeof s;
    assert_fails(*state, hb_generate(*state, &s, 2, 0, 2, NULL, NULL, x), HB_ERROR_ARGUMENT,
                 "score or x is NULL");
    assert_fails(*state, hb_generate(*state, &s, 2, UINT64_MAX / 2, 2, gaussian_score, &process, x),
                 HB_ERROR_ARGUMENT, "(first + n) times dim must be below 2^64");
    assert_ok(*state, hb_generate(*state, &s, 2, 0, 0, gaussian_score, &process, NULL));
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
        hb_context_settings settings;
        hb_context_settings_default(sizeof settings, &settings);
        settings.threads = 2;
        settings.progress = listen_to;
        settings.progress_user = &h;
        exact e = {0};
        assert_int_equal(hb_context_create(&settings, &e.context), HB_OK);
        assert_ok(e.context, hb_mixture_named(e.context, "asymmetric_gmm", &e.mixture));
        hb_generate_settings s = defaults();
        s.solver = solver;
        s.n_steps = 20;
        assert_ok(e.context, hb_generate(e.context, &s, 2, 0, N, exact_score, &e, x));
        assert_true(h.calls >= (solver == HB_SOLVER_ODE ? 2 : 20));
        assert_int_equal(h.others, 0);
        assert_near(h.last, N, 0);
        assert_near(h.total, N, 0);
        h = (heard){.stop_at = 2};
        assert_fails(e.context, hb_generate(e.context, &s, 2, 0, N, exact_score, &e, x),
                     HB_ERROR_INTERRUPTED, "stopped by request");
        hb_mixture_destroy(e.mixture);
        hb_context_destroy(e.context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_of_all_sets),
        cmocka_unit_test(test_likelihood_of_mixtures),
        cmocka_unit_test(test_likelihood_of_a_gaussian),
        cmocka_unit_test(test_bits_in_pieces_and_on_threads),
        cmocka_unit_test(test_open_range),
        cmocka_unit_test(test_callback_sees_large_batches),
        cmocka_unit_test(test_failures_of_the_score),
        cmocka_unit_test(test_range_of_the_data),
        cmocka_unit_test(test_bad_settings_are_refused),
        cmocka_unit_test(test_progress),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
