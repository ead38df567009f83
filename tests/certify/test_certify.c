/* Certificates: tails against published values, Holm's rule, levels against closed forms, the lines at a Gaussian whose
 * score is damaged by known amounts, bits on threads, refusals. */
#define SHARED_THREADS 2
#include "base/context.h"
#include "certify/certify_run.h"
#include "shared_context.h"

#include <unistd.h>

enum { N = 400 };
static const double VARIANCE = 2.385;

/* ---- a Gaussian N(0, VARIANCE) in the plane under OU ---- */

typedef struct damage {
    double scale, turn, push, rate; /* of s; rate: of a log-density that drifts with ln tau */
    int fails_after;
} damage;

static double variance_at(double tau)
{
    return exp(-2 * tau) * VARIANCE + 1 - exp(-2 * tau);
}

static int score(void *user, size_t n, const double *x, const double *tau, double *out)
{
    damage *d = user;
    if (d->fails_after && --d->fails_after == 0) return 1;
    for (size_t i = 0; i < n; i++) {
        const double v = variance_at(tau[i]), s0 = -x[2 * i] / v, s1 = -x[2 * i + 1] / v;
        out[2 * i] = (1 + d->scale) * s0 - d->turn * s1 + d->push;
        out[2 * i + 1] = (1 + d->scale) * s1 + d->turn * s0;
    }
    return 0;
}

static int log_density(void *user, size_t n, const double *x, const double *tau, double *out)
{
    const damage *d = user;
    for (size_t i = 0; i < n; i++) {
        const double v = variance_at(tau[i]);
        out[i] = -(x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1]) / (2 * v) -
                 log(2 * M_PI * v) + d->rate * log(tau[i]);
    }
    return 0;
}

static const double *rows(void)
{
    static double x[2 * N];
    assert_int_equal(hb_random_normal(CTX, 17, 3, 0, 2 * N, x), HB_OK);
    for (int i = 0; i < 2 * N; i++) x[i] *= sqrt(VARIANCE);
    return x;
}

static hb_certify_settings small(void)
{
    static const double tau[] = {0.1, 0.7};
    hb_certify_settings s;
    hb_certify_settings_default(sizeof s, &s);
    s.tau = tau;
    s.n_tau = 2;
    s.pairs = 8;
    s.flow_samples = 0;
    return s;
}

static hb_certificate *certify(const hb_certify_settings *s, damage d)
{
    hb_certificate *c = NULL;
    assert_int_equal(hb_certify(CTX, s, 2, N, rows(), score, &d, &c), HB_OK);
    return c;
}

/* The line of this name, the first at tau 0.1, the second at 0.7. */
static hb_certificate_line line_of(const hb_certificate *c, const char *name, int which)
{
    hb_certificate_line line;
    for (size_t i = 0; i < hb_certificate_size(c); i++) {
        assert_int_equal(hb_certificate_line_get(CTX, c, i, sizeof line, &line), HB_OK);
        if (strcmp(line.name, name) == 0 && which-- == 0) return line;
    }
    fail_msg("no line %s", name);
    return line;
}

static void assert_within(double value, double expected, double errors, double error)
{
    if (fabs(value - expected) > errors * error)
        fail_msg("%g is %g errors of %g from %g", value, fabs(value - expected) / error, error,
                 expected);
}

/* ---- statistics ---- */

static void tails_are_those_of_tables(void **state)
{
    (void)state;
    assert_true(fabs(hb_normal_tail(1.959963984540054) - 0.025) < 1e-12);
    assert_true(fabs(hb_chi2_tail(3, 7.814727903251178) - 0.05) < 1e-12);
    assert_true(fabs(hb_chi2_tail(100, 124.34211340400407) - 0.05) < 1e-12);
    assert_true(fabs(hb_gamma_tail(0.5, 1e-3) - erfc(sqrt(1e-3))) < 1e-12);
    assert_true(fabs(hb_student_tail(30, 2.042272456301238) / 0.025 - 1) < 0.01);
}

static void signs_find_what_is_there(void **state)
{
    (void)state;
    enum { M = 60 };
    static double K[M * M], g[M];
    hb_signs found;
    for (int i = 0; i < M * M; i++) K[i] = 1;
    assert_int_equal(hb_signs_test(CTX, 0, 1, 7, M, K, 0, &found), HB_OK);
    assert_true(found.U == M * (M - 1.0) && found.p_value < 1e-6);
    /* a permutation test of equal laws: p is uniform, so its mean over 200 kernels is 1/2 within 5 errors of 0.0204 */
    double sum = 0;
    for (uint64_t k = 0; k < 200; k++) {
        assert_int_equal(hb_random_normal(CTX, k, 5, 0, M, g), HB_OK);
        for (int i = 0; i < M; i++)
            for (int j = 0; j < M; j++) K[i * M + j] = exp(-(g[i] - g[j]) * (g[i] - g[j]));
        assert_int_equal(hb_signs_test(CTX, 1, k, 7, M, K, 0, &found), HB_OK);
        sum += found.p_value / 200;
    }
    assert_within(sum, 0.5, 5, 0.0204);
}

static void holm_rejects_in_order(void **state)
{
    (void)state;
    const double p[2][3] = {{0.04, 0.01, 0.02}, {0.04, 0.01, 0.03}};
    for (int k = 0; k < 2; k++) {
        hb_certificate c = {.level = 0.95};
        for (int i = 0; i < 3; i++) hb_certificate_add(&c, "line", 1, 1, NAN, p[k][i]);
        hb_certificate_skip(&c, "line", 1, "not measured");
        hb_certificate_conclude(&c);
        int fails = 0;
        for (size_t i = 0; i < c.n_lines; i++) fails += c.lines[i].verdict == HB_VERDICT_FAILS;
        assert_int_equal(fails, k == 0 ? 3 : 1);
        assert_false(hb_certificate_passed(&c));
    }
}

/* ---- rows carried to tau ---- */

static void linear_drifts_carry_as_ou(void **state)
{
    (void)state;
    hb_problem *problem = NULL;
    hb_problem_settings p;
    hb_problem_settings_default(sizeof p, &p);
    p.dim = 2;
    p.drift = "-x[i]";
    p.noise = "sqrt(2)";
    assert_int_equal(hb_problem_create(CTX, &p, &problem), HB_OK);
    hb_certify_run run = {.context = CTX, .dim = 2, .n = N, .settings = small()};
    hb_certify_level ou, drift;
    static double x[2][2 * N], t[2][2 * N];
    assert_int_equal(hb_certify_level_create(&run, 0, 0.5, &ou), HB_OK);
    run.settings.process = HB_PROCESS_DRIFT;
    run.settings.drift = problem;
    assert_int_equal(hb_certify_level_create(&run, 0, 0.5, &drift), HB_OK);
    assert_true(ou.gaussian && drift.gaussian && fabs(ou.E[0] - 0.6065306597126334) < 1e-15);
    hb_certify_carry(&run, &ou, HB_USE_NOISE, 3, N, rows(), x[0], t[0]);
    hb_certify_carry(&run, &drift, HB_USE_NOISE, 3, N, rows(), x[1], t[1]);
    for (int i = 0; i < 2 * N; i++)
        assert_true(fabs(x[0][i] - x[1][i]) < 1e-12 && fabs(t[0][i] - t[1][i]) < 1e-11);
    hb_workspace_destroy(&ou.work);
    hb_workspace_destroy(&drift.work);
    hb_problem_destroy(problem);
}

/* ---- lines ---- */

static void the_true_score_passes(void **state)
{
    (void)state;
    hb_certify_settings s = small();
    s.flow_samples = 150;
    hb_certificate *c = certify(&s, (damage){0});
    assert_true(hb_certificate_passed(c));
    const hb_certificate_line line = line_of(c, "likelihood", 0);
    assert_true(line.verdict == HB_VERDICT_HOLDS && fabs(line.value) < 4 * line.error);
    assert_int_equal(line_of(c, "memorisation", 0).verdict, HB_VERDICT_SKIPPED);
    hb_certificate_destroy(c);
}

static void a_scale_is_measured(void **state)
{
    (void)state;
    const hb_certify_settings s = small();
    hb_certificate *c = certify(&s, (damage){.scale = 0.1});
    for (int k = 0; k < 2; k++) {
        const hb_certificate_line scale = line_of(c, "stein scale", k);
        const hb_certificate_line width = line_of(c, "stein width", k);
        assert_within(scale.value, 0.1, 5, scale.error);
        assert_within(width.value, -0.1, 5, width.error);
    }
    /* -(1 + e) x/v under F = -x: |s|^2 is too large by e/(1 + e) of itself, whatever the ball is */
    const hb_certificate_line residual = line_of(c, "residual", 1);
    assert_within(residual.value, 0.1 / 1.1, 5, residual.error);
    assert_true(residual.error < 0.02 && line_of(c, "stein scale", 1).verdict == HB_VERDICT_FAILS);
    assert_non_null(strstr(line_of(c, "stein scale", 1).text, "too large"));
    hb_certificate_destroy(c);
}

static void a_rotation_is_measured(void **state)
{
    (void)state;
    const hb_certify_settings s = small();
    hb_certificate *c = certify(&s, (damage){.turn = 0.05});
    const hb_certificate_line curl = line_of(c, "curl", 0);
    assert_true(fabs(curl.value - 0.05 / sqrt(1.0025)) < 1e-6);
    assert_int_equal(curl.verdict, HB_VERDICT_FAILS);
    hb_certificate_destroy(c);
}

static void a_push_is_measured(void **state)
{
    (void)state;
    const hb_certify_settings s = small();
    hb_certificate *c = certify(&s, (damage){.push = 0.3});
    const hb_certificate_line mean = line_of(c, "stein mean", 1);
    assert_within(mean.value, 0.3 / sqrt(2 / variance_at(0.7) + 0.09), 5, mean.error);
    assert_int_equal(mean.verdict, HB_VERDICT_FAILS);
    hb_certificate_destroy(c);
}

static void a_normalisation_is_measured(void **state)
{
    (void)state;
    hb_certify_settings s = small();
    s.log_density = log_density;
    damage d = {.rate = 0.2};
    hb_certificate *c = NULL;
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), score, &d, &c), HB_OK);
    const hb_certificate_line line = line_of(c, "residual of ln u", 0);
    /* the mean of tau0/tau over the ball's source is above 1, and its depth 0.3 of the time */
    assert_true(line.value > 0.2 && line.value < 0.2 * 1.3);
    assert_int_equal(line.verdict, HB_VERDICT_FAILS);
    hb_certificate_destroy(c);
    /* without a score: its gradient by differences */
    d.rate = 0;
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), NULL, &d, &c), HB_OK);
    assert_true(hb_certificate_passed(c));
    hb_certificate_destroy(c);
}

static void the_truth_is_exact(void **state)
{
    (void)state;
    const double weight = 1, mean[2] = {0}, covariance[4] = {VARIANCE, 0, 0, VARIANCE};
    hb_mixture *truth = NULL;
    hb_certify_settings s = small();
    assert_int_equal(hb_mixture_create(CTX, 2, 1, &weight, mean, covariance, &truth), HB_OK);
    s.truth = truth;
    hb_certificate *c = certify(&s, (damage){.scale = 0.05});
    assert_true(fabs(line_of(c, "truth", 0).value - 0.05) < 1e-9);
    hb_certificate_destroy(c);
    s.tolerance = 0.1;
    c = certify(&s, (damage){.scale = 0.05});
    assert_true(hb_certificate_passed(c));
    hb_certificate_destroy(c);
    hb_mixture_destroy(truth);
}

static void a_score_of_zero_is_not_praised(void **state)
{
    (void)state;
    const hb_certify_settings s = small();
    hb_certificate *c = certify(&s, (damage){.scale = -1});
    assert_int_equal(line_of(c, "residual", 0).verdict, HB_VERDICT_SKIPPED);
    assert_int_equal(line_of(c, "stein scale", 0).verdict, HB_VERDICT_SKIPPED);
    assert_int_equal(line_of(c, "stein width", 0).verdict, HB_VERDICT_FAILS);
    assert_false(hb_certificate_passed(c));
    hb_certificate_destroy(c);
}

/* The score of the rows themselves, as points: it has memorised them all. */
static int own_rows(void *user, size_t n, const double *x, const double *tau, double *out)
{
    const double *t = user; // (N, 2)
    for (size_t i = 0; i < n; i++) {
        const double a = exp(-tau[i]), b = 1 - a * a;
        double most = -INFINITY, sum = 0, mean[2] = {0};
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < N; j++) {
                const double u = x[2 * i] - a * t[2 * j], v = x[2 * i + 1] - a * t[2 * j + 1];
                const double e = -(u * u + v * v) / (2 * b);
                if (pass == 0) {
                    most = fmax(most, e);
                    continue;
                }
                const double w = exp(e - most);
                sum += w;
                mean[0] += w * u;
                mean[1] += w * v;
            }
        out[2 * i] = -mean[0] / (sum * b);
        out[2 * i + 1] = -mean[1] / (sum * b);
    }
    return 0;
}

static void memory_is_found(void **state)
{
    (void)state;
    static double training[2 * N];
    hb_certify_settings s = small();
    assert_int_equal(hb_random_normal(CTX, 99, 3, 0, 2 * N, training), HB_OK);
    for (int i = 0; i < 2 * N; i++) training[i] *= sqrt(VARIANCE);
    s.training = training;
    s.n_training = N;
    s.n_tau = 1;
    hb_certificate *c = NULL;
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), own_rows, training, &c), HB_OK);
    assert_true(line_of(c, "memorisation", 0).value == 1);
    assert_int_equal(line_of(c, "memorisation", 0).verdict, HB_VERDICT_FAILS);
    hb_certificate_destroy(c);
    c = certify(&s, (damage){0});
    assert_int_equal(line_of(c, "memorisation", 0).verdict, HB_VERDICT_HOLDS);
    hb_certificate_destroy(c);
}

/* ---- bits, refusals ---- */

static void threads_change_no_bit(void **state)
{
    (void)state;
    hb_context *one = make_context(HB_ISA_AUTO, 1);
    hb_certify_settings s = small();
    s.flow_samples = 100;
    damage d = {.scale = 0.03};
    hb_certificate *a = certify(&s, d), *b = NULL;
    char *texts[2];
    assert_int_equal(hb_certify(one, &s, 2, N, rows(), score, &d, &b), HB_OK);
    assert_int_equal(hb_certificate_json(CTX, a, &texts[0]), HB_OK);
    assert_int_equal(hb_certificate_json(one, b, &texts[1]), HB_OK);
    assert_string_equal(texts[0], texts[1]);
    hb_context_release(CTX, texts[0]);
    hb_context_release(one, texts[1]);
    hb_certificate_destroy(a);
    hb_certificate_destroy(b);
    hb_context_destroy(one);
}

static void refuses(const hb_certify_settings *s, size_t n, const double *x, hb_certify_callback f,
                    damage d, hb_status status, const char *words)
{
    hb_certificate *c = NULL;
    assert_int_equal(hb_certify(CTX, s, 2, n, x, f, &d, &c), status);
    assert_null(c);
    if (!strstr(hb_context_message(CTX), words))
        fail_msg("%s has not %s", hb_context_message(CTX), words);
}

static void wrong_input_is_named(void **state)
{
    (void)state;
    static double x[2 * N];
    memcpy(x, rows(), sizeof x);
    hb_certify_settings s = small();
    refuses(&s, 99, x, score, (damage){0}, HB_ERROR_ARGUMENT, "99 rows");
    refuses(&s, N, x, NULL, (damage){0}, HB_ERROR_ARGUMENT, "neither a score");
    refuses(&s, N, x, score, (damage){.fails_after = 3}, HB_ERROR_CALLBACK, "reported");
    refuses(&s, N, x, score, (damage){.push = NAN}, HB_ERROR_NUMERICAL, "nan at x");
    x[7] = INFINITY;
    refuses(&s, N, x, score, (damage){0}, HB_ERROR_ARGUMENT, "row 4, column 2");
    x[7] = 0;
    s.tau_max = 0.5;
    refuses(&s, N, x, score, (damage){0}, HB_ERROR_ARGUMENT, "tau has 0.7");
    s = small();
    s.process = HB_PROCESS_DRIFT;
    refuses(&s, N, x, score, (damage){0}, HB_ERROR_ARGUMENT, "no drift");
    s = small();
    s.level = 1;
    refuses(&s, N, x, score, (damage){0}, HB_ERROR_ARGUMENT, "level");
}

/* ---- time and stops ---- */

typedef struct sleeper {
    damage damage;
    double from, until; /* calls at tau >= from last until this moment */
} sleeper;

static int sleepy(void *user, size_t n, const double *x, const double *tau, double *out)
{
    sleeper *s = user;
    while (tau[0] >= s->from && hb_seconds() < s->until) usleep(1000);
    return score(&s->damage, n, x, tau, out);
}

/* The score sleeps at the second tau until the time is over: the lines of the first are as without a limit. */
static void time_ends_a_certificate(void **state)
{
    (void)state;
    hb_certify_settings s = small();
    hb_certificate *whole = certify(&s, (damage){.scale = 0.2}), *c;
    s.max_time = 3;
    sleeper user = {{.scale = 0.2}, 0.6, hb_seconds() + 3.2};
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), sleepy, &user, &c), HB_OK);
    assert_false(hb_certificate_passed(c));
    assert_non_null(strstr(hb_certificate_summary(c), "residual at tau 0.1"));
    assert_int_equal(hb_certificate_size(c), hb_certificate_size(whole));
    static const char *const names[] = {"residual",   "residual size", "stein scale", "stein width",
                                        "stein mean", "stein local",   "curl"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const hb_certificate_line done = line_of(c, names[k], 0), cut = line_of(c, names[k], 1);
        assert_true(done.value == line_of(whole, names[k], 0).value && done.tau == 0.1);
        assert_int_equal(cut.verdict, HB_VERDICT_SKIPPED);
        assert_true(isnan(cut.value) && cut.tau == 0.7);
        assert_string_equal(cut.text, "not measured: max_time was over");
    }
    hb_certificate_destroy(c);
    hb_certificate_destroy(whole);
    user = (sleeper){{0}, 0.6, hb_seconds() + 3.2};
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), sleepy, &user, &c), HB_OK);
    assert_false(hb_certificate_passed(c)); /* no line fails, but some are missing */
    assert_non_null(strstr(hb_certificate_summary(c), "not finished: none of 7 lines fails"));
    hb_certificate_destroy(c);
    s.max_time = 0.05;
    user = (sleeper){{0}, 0, hb_seconds() + 0.1};
    assert_int_equal(hb_certify(CTX, &s, 2, N, rows(), sleepy, &user, &c), HB_ERROR_NUMERICAL);
    assert_non_null(strstr(hb_context_message(CTX), "no line was measured"));
    s.max_time = 0; /* the limit is gone */
    hb_certificate_destroy(certify(&s, (damage){0}));
}

/* Stops at the number-th call that is between rows. */
static int stop_between(void *user, const char *what, double done, double total)
{
    int *number = user;
    (void)done, (void)total;
    return strcmp(what, "certificate lines") == 0 && --*number <= 0;
}

static void a_stop_is_heard_between_rows(void **state)
{
    (void)state;
    static const int numbers[] = {1, N + 1, 8 * N + 1, 9 * N + 1, 9 * N + 60};
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    const hb_certify_settings s = small();
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        int number = numbers[k];
        hb_context *context;
        hb_certificate *c;
        damage none = {0};
        settings.threads = 1;
        settings.progress = stop_between;
        settings.progress_user = &number;
        assert_int_equal(hb_context_create(&settings, &context), HB_OK);
        assert_int_equal(hb_certify(context, &s, 2, N, rows(), score, &none, &c),
                         HB_ERROR_INTERRUPTED);
        assert_null(c);
        assert_int_equal(number, 0); /* at once */
        hb_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_those_of_tables),
        cmocka_unit_test(signs_find_what_is_there),
        cmocka_unit_test(holm_rejects_in_order),
        cmocka_unit_test(linear_drifts_carry_as_ou),
        cmocka_unit_test(the_true_score_passes),
        cmocka_unit_test(a_scale_is_measured),
        cmocka_unit_test(a_rotation_is_measured),
        cmocka_unit_test(a_push_is_measured),
        cmocka_unit_test(a_normalisation_is_measured),
        cmocka_unit_test(the_truth_is_exact),
        cmocka_unit_test(a_score_of_zero_is_not_praised),
        cmocka_unit_test(memory_is_found),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(wrong_input_is_named),
        cmocka_unit_test(time_ends_a_certificate),
        cmocka_unit_test(a_stop_is_heard_between_rows),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
