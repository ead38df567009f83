/* A new method is one file and one line in a list: here Ornstein-Uhlenbeck in closed form is added that way.
 *
 * This file stands for method_ou.c, and the table below for the one of methods.c, which the linker leaves in the library.
 * hb_solve then answers by it when it is asked for by name and takes it in auto; it is described by hb_method_info,
 * refuses the settings that it does not read, and refuses other problems with the methods that serve them.
 *     dx = -x dt + sqrt(2) dW from N(m, s):   N(m e^-t, 1 + (s - 1) e^-2t) */
#include "support.h"

#include "solve/method.h"
#include "solve/solve_parts.h"

#include <heatball/solve.h>

#include <math.h>
#include <string.h>

/* ---- the file ---- */

enum { METHOD_OU = 20 };

static const char *ou_serves(const hb_solve_facts *facts)
{
    if (!facts->linear || facts->dim != 1) return "the drift is not -x";
    return facts->noise == HB_NOISE_SCALAR ? NULL : HB_REASON_FIELD;
}

static hb_status ou_run(const hb_solve_task *task, hb_solution *out)
{
    const double decay = exp(-task->time), mean = 0.5 * decay,
                 variance = 1 + (0.4 - 1) * decay * decay;
    for (size_t i = 0; i < out->n; i++) {
        const double z = task->points[i] - mean;
        out->columns[HB_COLUMN_LOG_DENSITY][i] =
            -0.5 * (z * z / variance + log(2 * M_PI * variance));
        out->columns[HB_COLUMN_SCORE][i] = -z / variance;
    }
    hb_solve_fill_from_log(out);
    out->method = "ou";
    return HB_OK;
}

static const hb_method_ops hb_method_ou = {.info = {.name = "ou",
                                                    .summary = "a toy: one closed form",
                                                    .method = METHOD_OU,
                                                    .reads = HB_SOLVE_SETTING_MAX_TIME},
                                           .times = HB_TIME_FINITE,
                                           .serves = ou_serves,
                                           .rank = 1,
                                           .run = ou_run};

/* ---- the table, with one line more ---- */

extern const hb_method_ops hb_method_initial, hb_method_grid, hb_method_walk;
const hb_method_ops *const hb_methods[] = {&hb_method_initial, &hb_method_grid, &hb_method_walk,
                                           &hb_method_ou, NULL};

/* ---- it solves ---- */

static hb_problem *problem_of(hb_context *context, const char *drift)
{
    hb_problem_settings settings;
    hb_problem *problem;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = drift;
    settings.noise = "sqrt(2)";
    settings.initial = "gaussian(mean=0.5, var=0.4)";
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

static void it_is_described(void **state)
{
    const char *const *names = hb_method_names();
    (void)state;
    assert_string_equal(names[0], "auto");
    assert_string_equal(names[3], "ou");
    assert_null(names[4]);
    assert_true(hb_method_info(3)->method == METHOD_OU && !hb_method_info(3)->on_grid);
    assert_false(hb_method_info(4) || hb_method_info(-1));
    assert_string_equal(hb_method_of(METHOD_OU)->name, "ou");
    assert_null(hb_method_of(21));
}

/* By name, by auto, and against a method that nobody here wrote a closed form for. */
static void it_solves(void **state)
{
    static const double x[] = {-0.3, 1.1};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    (void)state;
    hb_problem *problem = problem_of(context, "-x");
    hb_solve_settings settings;
    hb_solution *s[3];
    static const int methods[] = {METHOD_OU, HB_METHOD_AUTO, HB_METHOD_GRID};
    hb_solve_settings_default(sizeof settings, &settings);
    settings.time = 0.7;
    for (int k = 0; k < 3; k++) {
        settings.method = methods[k];
        assert_ok(context, hb_solve(context, problem, &settings, 2, x, &s[k]));
        assert_string_equal(hb_solution_method(s[k]), k < 2 ? "ou" : "grid");
        for (int i = 0; i < 2; i++)
            assert_relative(hb_solution_values(s[k], HB_COLUMN_LOG_DENSITY)[i],
                            hb_solution_values(s[0], HB_COLUMN_LOG_DENSITY)[i], 1e-6);
    }
    for (int k = 0; k < 3; k++) hb_solution_destroy(s[k]);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void it_refuses(void **state)
{
    static const double x[] = {0.2};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    (void)state;
    hb_problem *linear = problem_of(context, "-x"), *other = problem_of(context, "x - x^3");
    hb_solve_settings settings;
    hb_sampling_settings sampling;
    hb_solution *s;
    hb_solve_settings_default(sizeof settings, &settings);
    hb_sampling_settings_default(sizeof sampling, &sampling);
    settings.time = 0.7;
    settings.method = METHOD_OU;
    assert_fails(context, hb_solve(context, other, &settings, 1, x, &s), HB_ERROR_ARGUMENT,
                 "the method ou does not serve this problem: the drift is not -x; take grid, walk "
                 "or auto");
    settings.sampling = &sampling;
    sampling.samples = 77;
    assert_fails(context, hb_solve(context, linear, &settings, 1, x, &s), HB_ERROR_ARGUMENT,
                 "samples has no effect on the method ou; leave it out, or take walk");
    settings.ignore_unread = 1;
    assert_ok(context, hb_solve(context, linear, &settings, 1, x, &s));
    hb_solution_destroy(s);
    settings.method = HB_METHOD_AUTO;
    assert_ok(context, hb_solve(context, linear, &settings, 1, x, &s));
    assert_string_equal(hb_solution_unread(s), "samples"); /* auto takes it and says so */
    hb_solution_destroy(s);
    settings.method = 21;
    assert_fails(context, hb_solve(context, linear, &settings, 1, x, &s), HB_ERROR_ARGUMENT,
                 "method is 21");
    hb_problem_destroy(linear);
    hb_problem_destroy(other);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_described),
                                       cmocka_unit_test(it_solves), cmocka_unit_test(it_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
