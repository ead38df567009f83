/* Adam against its formulas in double, the rate's schedule, clipping, the average of the weights,
 * and the guard against gradients that are not finite. tests/python/test_net_torch.py compares with
 * PyTorch's Adam. */
#include "net/optimiser.h"
#include "support.h"

enum { N = 83, STEPS = 300 };

typedef struct run {
    float gradient[N], parameters[N], first[N], second[N], average[N];
    hb_adam_state state;
} run;

static void start(hb_context *context, run *r)
{
    memset(r, 0, sizeof *r);
    assert_ok(context, hb_random_normal_f32(context, 2385, 1, 0, N, r->parameters));
    r->state = (hb_adam_state){0, r->first, r->second, r->average};
    for (int i = 0; i < N; i++) r->first[i] = r->second[i] = r->average[i] = NAN; /* not read */
}

/* Gradients of sizes that differ by ten decades, with noise; a few are exactly 0. */
static void draw_gradient(hb_context *context, uint64_t step, run *r)
{
    assert_ok(context, hb_random_normal_f32(context, 2385, 2, step * N, N, r->gradient));
    for (int i = 0; i < N; i++)
        r->gradient[i] *= i % 7 == 3 ? 0.0f : (float)pow(10, -8 + 10.0 * i / N);
}

static hb_adam_settings test_settings(void)
{
    hb_adam_settings s;
    hb_adam_settings_default(&s);
    s.rate = 2.385e-2;
    s.warmup = 17;
    s.steps = STEPS;
    s.last_rate = 0.03;
    s.clip = 140;
    s.ema = 0.95;
    return s;
}

static void steps_follow_the_formulas(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_adam_settings s = test_settings();
    static run r;
    start(context, &r);
    double p[N], m[N] = {0}, v[N] = {0}, average[N] = {0};
    int clipped = 0;
    for (int i = 0; i < N; i++) p[i] = (double)r.parameters[i];
    for (int t = 1; t <= STEPS; t++) {
        draw_gradient(context, (uint64_t)t, &r);
        double squares = 0, norm;
        for (int i = 0; i < N; i++) squares += pow((double)r.gradient[i], 2);
        const double scale = sqrt(squares) > s.clip ? s.clip / sqrt(squares) : 1;
        const double rate = hb_adam_rate(&s, (uint64_t)t - 1);
        const double decay = t == 1 ? 0 : fmin(s.ema, t / (9.0 + t));
        clipped += scale < 1;
        for (int i = 0; i < N; i++) {
            const double g = scale * (double)r.gradient[i];
            m[i] = s.beta1 * m[i] + (1 - s.beta1) * g;
            v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
            p[i] -= rate * (m[i] / (1 - pow(s.beta1, t))) /
                    (sqrt(v[i] / (1 - pow(s.beta2, t))) + s.epsilon);
            average[i] = decay * average[i] + (1 - decay) * p[i];
        }
        assert_ok(context, hb_adam_step(context, &s, N, r.gradient, r.parameters, &r.state, &norm));
        assert_relative(norm, sqrt(squares), 1e-12);
    }
    assert_in_range(clipped, 20, STEPS - 20);
    assert_int_equal(r.state.step, STEPS);
    for (int i = 0; i < N; i++) {
        assert_near(r.parameters[i], p[i], 3e-6);
        assert_near(r.average[i], average[i], 3e-6);
    }
    hb_context_destroy(context);
}

/* Unclipped, the first step moves by rate/(1 + epsilon/|g|), and the average is the result. */
static void first_step_has_the_size_of_the_rate(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_adam_settings s = test_settings();
    s.clip = 0;
    s.warmup = 0;
    static run r, before;
    start(context, &r);
    draw_gradient(context, 5, &r);
    before = r;
    assert_ok(context, hb_adam_step(context, &s, N, r.gradient, r.parameters, &r.state, NULL));
    for (int i = 0; i < N; i++) {
        const double g = (double)r.gradient[i];
        const double move = g == 0 ? 0 : -s.rate * g / (fabs(g) + s.epsilon);
        assert_near((double)r.parameters[i] - (double)before.parameters[i], move, 4e-7);
        assert_true(r.average[i] == r.parameters[i]);
    }
    hb_context_destroy(context);
}

static void rate_rises_and_follows_a_cosine(void **state)
{
    (void)state;
    hb_adam_settings s;
    hb_adam_settings_default(&s);
    s.steps = 1100;
    assert_relative(hb_adam_rate(&s, 0), 2e-5, 1e-14);
    assert_relative(hb_adam_rate(&s, 49), 1e-3, 1e-14);
    assert_relative(hb_adam_rate(&s, 99), 2e-3, 1e-14);
    assert_relative(hb_adam_rate(&s, 100), 2e-3, 1e-14);
    assert_relative(hb_adam_rate(&s, 350), 2e-3 * (2 + sqrt(2)) / 4, 1e-13); /* a quarter */
    assert_relative(hb_adam_rate(&s, 600), 1e-3, 1e-13);                     /* half */
    assert_near(hb_adam_rate(&s, 1100), 0, 1e-18);
    assert_near(hb_adam_rate(&s, 99999), 0, 1e-18);
    for (uint64_t t = 101; t < 1100; t++)
        assert_true(hb_adam_rate(&s, t) < hb_adam_rate(&s, t - 1));
    s.last_rate = 0.1;
    assert_relative(hb_adam_rate(&s, 1100), 2e-4, 1e-13);
    s.steps = 0; /* unknown length: no cosine */
    assert_relative(hb_adam_rate(&s, 5000), 2e-3, 1e-14);
    s.warmup = 0;
    assert_relative(hb_adam_rate(&s, 0), 2e-3, 1e-14);
}

static void gradients_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_adam_settings s = test_settings();
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int k = 0; k < 3; k++)
        for (int place = 0; place < N; place += N - 1) {
            static run r, before;
            start(context, &r);
            for (uint64_t t = 0; t < 41; t++) {
                draw_gradient(context, t, &r);
                assert_ok(context,
                          hb_adam_step(context, &s, N, r.gradient, r.parameters, &r.state, NULL));
            }
            r.gradient[place] = bad[k];
            before = r;
            char text[64];
            snprintf(text, sizeof text, "gradient of step 42 is not finite (parameter %d", place);
            assert_fails(context,
                         hb_adam_step(context, &s, N, r.gradient, r.parameters, &r.state, NULL),
                         HB_ERROR_NUMERICAL, text);
            assert_memory_equal(&r, &before, sizeof r);
        }
    hb_context_destroy(context);
}

/* The largest finite gradients are no reason to refuse: the norm is a double. */
static void huge_gradients_are_clipped(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_adam_settings s = test_settings();
    static run r;
    start(context, &r);
    for (int i = 0; i < N; i++) r.gradient[i] = i % 2 ? 3e38f : -3e38f;
    double norm;
    assert_ok(context, hb_adam_step(context, &s, N, r.gradient, r.parameters, &r.state, &norm));
    assert_relative(norm, (double)3e38f * sqrt(N), 1e-12);
    for (int i = 0; i < N; i++) assert_true(isfinite(r.parameters[i]));
    hb_context_destroy(context);
}

static void classes_of_instruction_sets_agree(void **state)
{
    (void)state;
    static run runs[2];
    const hb_adam_settings s = test_settings();
    const hb_isa isas[] = {HB_ISA_SCALAR, HB_ISA_SSE2, HB_ISA_AVX2, HB_ISA_AVX512};
    for (int class = 0; class < 2; class ++) {
        int had = 0;
        for (int k = 0; k < 2; k++) {
            hb_context *context = make_context(isas[2 * class + k], 1);
            if (!context) continue;
            had++;
            start(context, runs + k);
            for (uint64_t t = 0; t < 20; t++) {
                draw_gradient(context, t, runs + k);
                assert_ok(context, hb_adam_step(context, &s, N, runs[k].gradient,
                                                runs[k].parameters, &runs[k].state, NULL));
            }
            hb_context_destroy(context);
        }
        if (had == 2) assert_memory_equal(runs, runs + 1, offsetof(run, state));
    }
}

/* More parameters than one task takes: the norm is that of all, a parameter moves as it does alone
 * (nothing is clipped), and threads change no bit. */
static void large_steps_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { LARGE = 200003, TIMES = 3, FIRST = 131070, SOME = 5 }; /* over the border of two tasks */
    const size_t bytes = 4 * (size_t)LARGE * sizeof(float);
    hb_adam_settings s = test_settings();
    s.clip = 0;
    float *gradient = malloc(LARGE * sizeof *gradient), *block[2];
    float alone[4][SOME] = {{0}};
    for (int k = 0; k < 2; k++) {
        hb_context *context = make_context(HB_ISA_AUTO, k ? 3 : 1);
        float *p = block[k] = malloc(bytes);
        memset(p, 0, LARGE * sizeof *p);
        hb_adam_state large = {0, p + LARGE, p + 2 * LARGE, p + 3 * LARGE};
        hb_adam_state small = {0, alone[1], alone[2], alone[3]};
        memset(alone[0], 0, sizeof alone[0]);
        for (uint64_t t = 0; t < TIMES; t++) {
            double norm, squares = 0;
            assert_ok(context, hb_random_normal_f32(context, 9, t, 0, LARGE, gradient));
            for (int i = 0; i < LARGE; i++) squares += (double)gradient[i] * (double)gradient[i];
            assert_ok(context, hb_adam_step(context, &s, LARGE, gradient, p, &large, &norm));
            assert_relative(norm, sqrt(squares), 1e-12);
            assert_ok(context,
                      hb_adam_step(context, &s, SOME, gradient + FIRST, alone[0], &small, NULL));
        }
        for (int part = 0; part < 4; part++)
            assert_memory_equal(p + part * LARGE + FIRST, alone[part], sizeof alone[part]);
        hb_context_destroy(context);
    }
    assert_memory_equal(block[0], block[1], bytes);
    free(gradient), free(block[0]), free(block[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_follow_the_formulas),
        cmocka_unit_test(first_step_has_the_size_of_the_rate),
        cmocka_unit_test(rate_rises_and_follows_a_cosine),
        cmocka_unit_test(gradients_that_are_not_finite_are_refused),
        cmocka_unit_test(huge_gradients_are_clipped),
        cmocka_unit_test(classes_of_instruction_sets_agree),
        cmocka_unit_test(large_steps_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
