/* Initial densities typed as formulas, and points: closed forms of their logarithms, laws of their draws, what is
 * refused, and the formula that a frame asks for. */
#include "graph_support.h"
#include "problem_support.h"

#include "base/linear_algebra.h"
#include "problem/initial/initial_average.h"
#include "problem/initial/initial_ops.h"

static hb_context *context;

/* ln u and its slope at x against closed forms. */
static void check_at(const char *initial, double x, double log_density, double slope)
{
    hb_problem *problem = problem_of(context, 1, "-x", "1", initial);
    double v, s;
    assert_ok(context, hb_problem_initial(context, problem, 1, &x, &v, &s));
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_DENSITY);
    if (isinf(log_density))
        assert_true(v == -INFINITY && s == 0);
    else {
        assert_near(v, log_density, (fabs(x) < 999 ? 1e-12 : 1e-10) * (1 + fabs(log_density)));
        assert_near(s, slope, 1e-12 * (1 + fabs(slope)));
    }
    hb_problem_destroy(problem);
}

static void test_closed_forms(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    check_at("product(1/(1+x^2))", 3, -log(M_PI * 10), -0.6);
    check_at("product(1/(1+x^2))", 1e8, -log(M_PI) - 2 * log(1e8), -2e-8);
    check_at("product(exp(-abs(x)))", -700, -log(2) - 700, 1);
    check_at("product(7*exp(-x^2/2))", 60, -1800 - 0.5 * log(2 * M_PI), -60); /* u underflows */
    check_at("product(exp(-log(x)^2/2)/x)", 2,
             -0.5 * log(2) * log(2) - log(2) - 0.5 * log(2 * M_PI), -(log(2) + 1) / 2);
    check_at("product(exp(-log(x)^2/2)/x)", -2, -INFINITY, 0);
    check_at("product(exp(-x)*max(0,sign(x)))", 3, -3, -1);
    check_at("product(exp(-x)*max(0,sign(x)))", -1e-9, -INFINITY, 0);
    check_at("product(exp(-x)/sqrt(x))", 2, -2 - 0.5 * log(2 * M_PI), -1.25);
    check_at("product(1/sqrt(1-x^2))", 0.5, -log(M_PI) - 0.5 * log(0.75), 0.5 / 0.75);
    check_at("product(max(0,1-abs(x-1000)))", 1000.25, log(0.75), -1 / 0.75);
    check_at("product(1/cosh(x))", 800, -log(M_PI) + log(2) - 800, -1);
    check_at("density(1/((1+x^2)*2))", 3, -log(M_PI * 10), -0.6);
    hb_context_destroy(context);
}

/* Several axes: one formula for each, one with its index, and factors that are taken apart. */
static void test_axes(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    static const char *const same[] = {"product(exp(-abs(x)), exp(-2*abs(x)))",
                                       "product(exp(-i*abs(x)))", "density(exp(-abs(x)-2*abs(y)))",
                                       "density(exp(-abs(x))/exp(2*abs(y)))"};
    const double at[2] = {0.7, -1.1};
    for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
        hb_problem *problem = problem_of(context, 2, "-x, -y", "1", same[k]);
        double v, s[2];
        assert_ok(context, hb_problem_initial(context, problem, 1, at, &v, s));
        assert_near(v, -log(2) - 0.7 - 2.2, 1e-12);
        assert_near(s[0], -1, 1e-12);
        assert_near(s[1], 2, 1e-12);
        hb_problem_destroy(problem);
    }
    hb_problem *problem = problem_of(context, 2, "-x, -y", "1", "density(exp(-x^2-x*y-y^2))");
    double v, s[2];
    assert_ok(context, hb_problem_initial(context, problem, 1, at, &v, s));
    assert_near(v, log(sqrt(3) / (2 * M_PI)) - 0.49 + 0.77 - 1.21, 1e-11);
    assert_near(s[0], -1.4 + 1.1, 1e-12);
    assert_true(hb_problem_initial_facts(problem)->smooth);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* Draws of a Cauchy density: the largest distance of their law from atan, Kolmogorov's bound at 1e-6. */
static void test_draws(void **state)
{
    enum { N = 20000 };
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 1, "-x", "1", "product(1/(1+x^2))");
    double *x = malloc(N * sizeof *x), low, high, largest = 0;
    assert_ok(context, hb_problem_initial_sample(context, problem, 3, 0, N, x));
    hb_sort(N, x);
    for (int i = 0; i < N; i++)
        largest = fmax(largest, fabs(0.5 + atan(x[i]) / M_PI - (i + 0.5) / N));
    assert_true(largest * sqrt(N) < 2.7 && largest * sqrt(N) > 0.2);
    assert_ok(context, hb_problem_initial_box(context, problem, &low, &high));
    assert_near(high, 2e12 / M_PI, 1e10); /* 5e-13 of the mass is beyond */
    assert_near(low, -high, 1e10);
    free(x);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void test_masses(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    const struct {
        const char *initial;
        double low, high, mass;
    } cases[] = {{"product(exp(-abs(x)))", -1, 2, 1 - 0.5 * exp(-1) - 0.5 * exp(-2)},
                 {"product(exp(-abs(x)))", 300, 301, 0.5 * exp(-300) * (1 - exp(-1))},
                 {"product(exp(-x)/sqrt(x))", -1, 1e-6, 0},
                 {"product(1/(1+x^2))", 1, 1e6, 0.25}};
    for (size_t k = 0; k < 4; k++) {
        hb_problem *problem = problem_of(context, 1, "-x", "1", cases[k].initial);
        double found, wanted = cases[k].mass > 0 ? log(cases[k].mass) : log(erf(1e-3));
        if (k == 3) wanted = log((atan(1e6) - atan(1)) / M_PI);
        int known;
        assert_ok(context, hb_problem_initial_axis_mass(context, problem, 0, cases[k].low,
                                                        cases[k].high, &known, &found));
        assert_true(known);
        assert_near(found, wanted, 1e-10);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* ln u as a node of another graph, where the axis has another number. */
static void test_formula(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem =
        problem_of(context, 2, "-x, -y", "1", "product(exp(-log(x)^2/2)/x, exp(-abs(x)))");
    hb_graph *graph = make_graph(context, 2);
    hb_node node;
    const double x[2] = {1e-200, -900}; /* u itself is far below double */
    assert_ok(context, problem->initial.ops->formula(problem, graph, &node));
    const double l = log(1e-200);
    assert_near(value_at(graph, node, x, 0), -0.5 * l * l - l - 0.5 * log(2 * M_PI) - log(2) - 900,
                1e-6);
    hb_graph_destroy(graph);
    hb_problem_destroy(problem);
    problem = problem_of(context, 1, "-x", "1", "gaussian(var=1)");
    assert_null(problem->initial.ops->formula);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void test_point(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 3, "-x, -y, -z", "1", "point(1 -0.5 2)");
    double x[6] = {0}, low[3], high[3], v;
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_POINT);
    assert_true(hb_problem_initial_facts(problem)->point);
    assert_near(hb_problem_initial_place(problem)[1], -0.5, 0);
    assert_ok(context, hb_problem_initial_sample(context, problem, 1, 5, 2, x));
    assert_ok(context, hb_problem_initial_box(context, problem, low, high));
    assert_true(x[0] == 1 && x[4] == -0.5 && low[2] == 2 && high[2] == 2);
    assert_int_equal(hb_problem_initial(context, problem, 1, x, &v, NULL), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(context), "no density at time 0"));
    hb_problem_destroy(problem);
    problem = problem_of(context, 2, "-x, -y", "1", "point(0.25)");
    assert_near(hb_problem_initial_place(problem)[1], 0.25, 0);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void test_refusals(void **state)
{
    (void)state;
    context = make_context(HB_ISA_AUTO, 1);
    static const struct {
        const char *initial, *words;
    } cases[] = {{"product(1)", "cannot be normalised"},
                 {"product(1/(1+abs(x)))", "cannot be normalised"},
                 {"product(exp(-x^2)/abs(x))", "no finite mass near x = 0"},
                 {"product(exp(x))", "cannot be normalised"},
                 {"product(1-x^2)", "must not be negative"},
                 {"product(0*x)", "needs a mass"},
                 {"product(exp(-t*x^2))", "depends on t"},
                 {"product(exp(-d*x^2))", "has d in it"},
                 {"product()", "needs a density"},
                 {"product(exp(-x^2), 1/(1+x^2))", "there are 2 densities"},
                 {"product(exp(-y^2))", "no variable"},
                 {"density(exp(-t-x^2))", "depends on t"},
                 {"point()", "needs its coordinates"},
                 {"point(1 2)", "there are 2 numbers"},
                 {"point(a)", "finite number"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = NULL;
        assert_int_equal(hb_problem_parse(context, "-x", "1", cases[k].initial, &problem),
                         HB_ERROR_ARGUMENT);
        assert_null(problem);
        if (!strstr(hb_context_message(context), cases[k].words))
            fail_msg("%s: %s", cases[k].initial, hb_context_message(context));
    }
    hb_problem *problem = NULL;
    assert_true(hb_problem_parse(context, "-x, -y", "1", "density(exp(-abs(x-y)-x^2))", &problem) !=
                HB_OK);
    assert_non_null(strstr(hb_context_message(context), "must be smooth"));
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms), cmocka_unit_test(test_axes),
        cmocka_unit_test(test_draws),        cmocka_unit_test(test_masses),
        cmocka_unit_test(test_formula),      cmocka_unit_test(test_point),
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
