/* A new initial density is one file and one name in a list: here the hyperbolic secant is added that way.
 *
 *     u(x,0) = prod_j 1/(pi cosh x_j),   grad ln u = -tanh x_j,   draws x_j = ln tan(pi U/2)
 * This file stands for initial_sech.c, and the table below for the one of initial_list.c, which the linker leaves
 * in the library. Every method then solves from it: under dx = -x dt + dW the answer is the integral of
 * u(y,0) N(x; e^-t y, (1 - e^-2t)/2), here by the trapezoidal rule, which is exact to rounding. */
#include "support.h"

#include "problem/initial/initial_ops.h"

#include "base/context.h"

#include <heatball/random.h>
#include <heatball/solve.h>

/* ---- the file ---- */

static hb_status create(const hb_initial_text *text, hb_problem *problem)
{
    (void)problem;
    HB_CHECK(text->context, !text->arguments, HB_ERROR_ARGUMENT, "sech takes no arguments");
    return HB_OK;
}

static void at(const hb_problem *problem, const double *x, double *log_density, double *gradient)
{
    *log_density = 0;
    for (int j = 0; j < problem->dim; j++) {
        *log_density -= log(M_PI * cosh(x[j]));
        gradient[j] = -tanh(x[j]);
    }
}

static void box(const hb_problem *problem, double *low, double *high)
{
    for (int j = 0; j < problem->dim; j++) low[j] = -(high[j] = 30);
}

static hb_status draw(hb_context *context, const hb_problem *problem, uint64_t seed, uint64_t first,
                      size_t n, double *x)
{
    const size_t d = (size_t)problem->dim;
    HB_TRY(hb_random_uniform(context, seed, HB_STREAM_START_VALUES, first * d, n * d, x));
    for (size_t k = 0; k < n * d; k++) x[k] = log(tan(M_PI / 2 * x[k]));
    return HB_OK;
}

static const hb_initial_ops hb_initial_sech = {.name = "sech",
                                               .form = "sech",
                                               .facts = {.smooth = 1},
                                               .create = create,
                                               .at = at,
                                               .box = box,
                                               .draw = draw};

/* ---- the table, with one name more ---- */

extern const hb_initial_ops hb_initial_gaussian;
const hb_initial_ops *const hb_initial_list[] = {&hb_initial_gaussian, &hb_initial_sech, NULL};

/* ---- it serves ---- */

static hb_problem *make_problem(hb_context *context, const char *initial)
{
    hb_problem *problem = NULL;
    assert_ok(context, hb_problem_parse(context, "-x", "1", initial, &problem));
    return problem;
}

static double exact(double x, double t)
{
    const double variance = (1 - exp(-2 * t)) / 2;
    double sum = 0;
    for (int k = -4000; k <= 4000; k++) {
        const double y = 0.01 * k, gap = x - exp(-t) * y;
        sum += 0.01 / (M_PI * cosh(y)) * exp(-gap * gap / (2 * variance));
    }
    return sum / sqrt(2 * M_PI * variance);
}

static void every_method_starts_from_it(void **state)
{
    (void)state;
    static const hb_method methods[] = {HB_METHOD_GRID, HB_METHOD_WALK, HB_METHOD_PARTICLES};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "sech");
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_OTHER);
    const double x[] = {-0.7, 0, 1.385};
    for (int m = 0; m < 3; m++) {
        hb_solve_settings settings;
        hb_sampling_settings sampling;
        hb_sampling_settings_default(sizeof sampling, &sampling);
        hb_solve_settings_default(sizeof settings, &settings);
        settings.method = methods[m];
        settings.time = 0.6;
        settings.ignore_unread = 1;
        sampling.samples = 20000;
        settings.sampling = &sampling;
        hb_solution *solution;
        assert_ok(context, hb_solve(context, problem, &settings, 3, x, &solution));
        const double *value = hb_solution_values(solution, HB_COLUMN_DENSITY);
        const double *error = hb_solution_values(solution, HB_COLUMN_DENSITY_ERROR);
        for (size_t i = 0; i < 3; i++)
            assert_true(error[i] < 0.02 && fabs(value[i] - exact(x[i], 0.6)) <= 5 * error[i]);
        hb_solution_destroy(solution);
    }
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void the_list_is_what_is_known(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = NULL;
    assert_fails(context, hb_problem_parse(context, "-x", "1", "uniform(-1 1)", &problem),
                 HB_ERROR_ARGUMENT, "'uniform' is not known; it must be gaussian(...) or sech");
    assert_fails(context, hb_problem_parse(context, "-x", "1", "sech(2)", &problem),
                 HB_ERROR_ARGUMENT, "sech takes no arguments");
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_starts_from_it),
        cmocka_unit_test(the_list_is_what_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
