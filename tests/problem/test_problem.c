/* Every kind of wrong problem, problem files, and what happens when memory runs out. */
#include "problem_support.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- wrong problems ------------------------------------------------------------------------- */

static void wrong_problems_are_refused(void **state)
{
    (void)state;
    write_text("bad.csv", "1,2,3,4\n");
    write_text("negative.csv", "1,0,0.5\n-2,1,0.5\n");
    write_text("same.csv", "1\n1\n1\n");
    write_text("one.csv", "1\n");
    write_text("nan.csv", "1\nnan\n");
    const struct {
        int dim;
        const char *drift, *potential, *noise, *initial;
        double time;
        const char *text;
    } cases[] = {
        {0, NULL, NULL, "1", NULL, 1, "the drift is missing"},
        {1, "x", "x^2", "1", NULL, 1, "more than once"},
        {0, NULL, "x^2", "1", NULL, 1, "potential needs dim"},
        {-3, "x", NULL, "1", NULL, 1, "dim is -3; it must be 1 to 1000000"},
        {3, "x, y", NULL, "1", NULL, 1, "2 components and dim is 3"},
        {0, "x +", NULL, "1", NULL, 1, "^"},
        {0, "x", NULL, "t*q", NULL, 1, "noise"},
        {0, "x", NULL, "sqrt(x)", NULL, 1, "axis 1 vanishes at the end of a finite distance"},
        {0, "x", NULL, "0.3*sqrt(x*(1 - x))", NULL, 1, "attainable boundary"},
        {0, "x, y", NULL, "1, 2, 3", NULL, 1, "3 entries and dim is 2"},
        {0, "x, y", NULL, "1, 2; 3", NULL, 1,
         "row 2 of the noise has 1 entries and the first one 2"},
        {0, "x, y", NULL, "1; 2; 3", NULL, 1, "3 rows and dim is 2"},
        {0, "x, y", NULL, "1, q; 3, 4", NULL, 1, "noise, row 1, column 2"},
        {0, "x", NULL, "x", "gaussian(mean=1, var=1)", 1, "lives between 0 and inf"},
        {0, "x", NULL, "0", NULL, 1, "g(t) is 0 at t = 0"},
        {0, "x", NULL, "-1", NULL, 1, "g(t) is -1 at t = 0"},
        {0, "x", NULL, "cos(t)", NULL, 2, "the noise g(t) is -"},
        {0, "x", NULL, "(t - 0.5)^2", NULL, 1, "t = 0.5"},
        {0, "x", NULL, "(t - 0.3)^2", NULL, 1, "reaches 0 or infinity near t = 0.3"},
        {0, "x", NULL, "abs(t - 0.3)", NULL, 1, "reaches 0 or infinity near t = 0.3"},
        {0, "x", NULL, "1/(t - 0.3)^2", NULL, 1, "near t = 0.3"},
        {0, "x", NULL, "1.0001 - sin(40*t)^2 - 0.0002", NULL, 1, "g(t)"},
        {0, "x", NULL, "log(t)", NULL, 1, "g(t) is -inf at t = 0"},
        {0, "x", NULL, "1", NULL, -2, "time is -2"},
        {0, "log(x)", NULL, "1", "gaussian(mean=0, var=1)", 1, "the drift is nan at x = ("},
        {0, "1/(x-x)", NULL, "1", "uniform(0 1)", 1, "it must be finite"},
        {0, "x", NULL, "1", "cauchy(1)", 1,
         "'cauchy' is not known; it must be gaussian(...), mixture(FILE), stationary, "
         "samples(FILE)"
         ", uniform(...), product(EXPR), density(EXPR) or point(...)"},
        {0, "x", NULL, "1", "gaussian(mean=0", 1, "does not end with the parenthesis"},
        {0, "x", NULL, "1", "gaussian(0, 1)", 1, "'0' is not known; write mean="},
        {0, "x", NULL, "1", "gaussian(sd=1)", 1, "'sd' is not known"},
        {0, "x", NULL, "1", "gaussian(mean=a)", 1, "mean: 'a' where a finite number"},
        {0, "x", NULL, "1", "gaussian(mean=1 2)", 1,
         "mean has 2 numbers; it must have 1 or dim = 1"},
        {0, "x, y", NULL, "1", "gaussian(var=1 2 3)", 1, "var has 3 numbers"},
        {0, "x, y", NULL, "1", "gaussian(var=1 -2)", 1, "var is -2 on axis 2; it must be positive"},
        {0, "x, y", NULL, "1", "gaussian(var=1 0.5 0.4 1)", 1, "not symmetric"},
        {0, "x, y", NULL, "1", "gaussian(var=1 2 2 1)", 1, "not positive definite"},
        {0, "x", NULL, "1", "mixture(none.csv)", 1, "none.csv: No such file"},
        {0, "x", NULL, "1", "mixture(bad.csv)", 1, "has 4 columns; for dim = 1 it must have 3"},
        {0, "x", NULL, "1", "mixture(negative.csv)", 1, "has -2 in row 2, column 1"},
        {0, "x", NULL, "1", "mixture", 1, "mixture needs a file"},
        {0, "x", NULL, "1", "samples(same.csv)", 1, "column 1 of same.csv is constant"},
        {0, "x", NULL, "1", "samples(one.csv)", 1, "1 rows and 1 columns"},
        {0, "x, y", NULL, "1", "samples(same.csv)", 1, "3 rows and 1 columns"},
        {0, "x", NULL, "1", "samples(nan.csv)", 1, "has nan in row 2"},
        {0, "x", NULL, "1", "uniform(1)", 1, "pair 1 has 1 numbers"},
        {0, "x", NULL, "1", "uniform(2 1)", 1, "low must be less than high"},
        {0, "x", NULL, "1", "uniform(0 1, 0 1)", 1, "there are 2 pairs"},
        {3, "x[i]", NULL, "1", "uniform(0 1, 0 1)", 1, "there are 2 pairs; give one, or dim = 3"},
        {0, "x", NULL, "1", "stationary(1)", 1, "takes no arguments"},
        {0, "y, -x", NULL, "1", "stationary", 1, "not known to be a gradient"},
        {0, "-x", NULL, "1 + t", "stationary", 1, "the noise depends on t"},
        {0, "-x*(1 + t)", NULL, "1", "stationary", 1, "the drift depends on t"},
        {4, "-x[i]", NULL, "1", "stationary", 1, "dim 1 to 3"},
        {0, "2*x", NULL, "1", "stationary", 1, "stationary density does not normalise"},
        {1, NULL, "-x^2", "1", "stationary", 1, "stationary density does not normalise"},
        {1, NULL, "0", "1", "stationary", 1, "stationary density does not normalise"},
        {2, NULL, "x^2", "1", "stationary", 1, "stationary density does not normalise"},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem_settings settings;
        hb_problem_settings_default(sizeof settings, &settings);
        settings.dim = cases[k].dim;
        settings.drift = cases[k].drift;
        settings.potential = cases[k].potential;
        settings.noise = cases[k].noise;
        settings.initial = cases[k].initial;
        settings.time = cases[k].time;
        settings.directory = directory;
        hb_problem *problem = (hb_problem *)&settings;
        const hb_status status = hb_problem_create(context, &settings, &problem);
        if (status != HB_ERROR_ARGUMENT && status != HB_ERROR_PATH)
            fail_msg("case %zu ('%s'): status %s", k, cases[k].text, hb_status_name(status));
        assert_fails(context, status, status, cases[k].text);
        assert_null(problem);
    }
    hb_problem *problem;
    assert_ok(context, hb_problem_parse(context, "-x", "1", NULL, &problem));
    double x = 0, v;
    assert_fails(context, hb_problem_initial(context, problem, 1, &x, &v, NULL), HB_ERROR_ARGUMENT,
                 "has no initial density");
    hb_problem_destroy(problem);
    assert_ok(context, hb_problem_parse(context, "log(x)", "1", NULL, &problem));
    x = -2;
    assert_fails(context, hb_problem_drift(context, problem, 1, &x, 0, &v, NULL, NULL, NULL),
                 HB_ERROR_DOMAIN, "nan at x = (-2)");
    hb_problem_destroy(problem);
    hb_problem_destroy(NULL);
    hb_context_destroy(context);
}

/* ---- problem files -------------------------------------------------------------------------- */

static void f_ou(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.8 * x[0];
}

static void f_bistable(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[0] - pow(x[0], 3);
}

static void f_van_der_pol(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[1];
    f[1] = 1.5 * (1 - x[0] * x[0]) * x[1] - x[0];
}

static void f_duffing(const double *x, double t, double *f)
{
    (void)t;
    f[0] = x[1];
    f[1] = -0.3 * x[1] + x[0] - pow(x[0], 3);
}

static void f_rotating(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.6 * x[0] - 2 * x[1];
    f[1] = 2 * x[0] - 0.6 * x[1];
}

static void f_chain(const double *x, double t, double *f)
{
    (void)t;
    for (int i = 0; i < 3; i++) {
        f[i] = x[i] - pow(x[i], 3);
        if (i > 0) f[i] += 0.5 * (x[i - 1] - x[i]);
        if (i < 2) f[i] += 0.5 * (x[i + 1] - x[i]);
    }
}

static void f_schedule(const double *x, double t, double *f)
{
    (void)t;
    f[0] = -0.5 * x[0];
    f[1] = -0.5 * x[1];
}

static void examples_load(void **state)
{
    (void)state;
    const struct {
        const char *name;
        int dim;
        double g, time; /* g at t = 0 */
        void (*f)(const double *, double, double *);
    } cases[] = {
        {"ornstein_uhlenbeck", 1, 0.7, 1, f_ou},   {"bistable", 1, 1, 1, f_bistable},
        {"van_der_pol", 2, 0.5, 2, f_van_der_pol}, {"duffing", 2, 0.4, 1.5, f_duffing},
        {"rotating", 2, 1, 1, f_rotating},         {"double_well_chain", 3, 0.8, 1, f_chain},
        {"noise_schedule", 2, 0.1, 1, f_schedule}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char path[1024];
        const int root = (int)(sizeof __FILE__ - sizeof "tests/problem/test_problem.c");
        snprintf(path, sizeof path, "%.*sexamples/problems/%s.ini", root, __FILE__, cases[k].name);
        hb_problem *problem;
        assert_ok(context, hb_problem_load(context, NULL, path, &problem));
        assert_int_equal(hb_problem_dim(problem), cases[k].dim);
        assert_true(hb_problem_time(problem) == cases[k].time);
        assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_GAUSSIAN);
        const double x[3] = {1.3, -0.6, 2.385};
        double F[3], f[3];
        assert_ok(context, hb_problem_drift(context, problem, 1, x, 0, F, NULL, NULL, NULL));
        cases[k].f(x, 0, f);
        for (int i = 0; i < cases[k].dim; i++)
            assert_relative(F[i], f[i] / (0.5 * cases[k].g * cases[k].g), 1e-13);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

static void files_and_overrides(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    write_text("s1.csv", "0.1\n0.4\n-0.7\n1.9\n2.2\n");
    const char *path =
        write_text("p.ini", "[problem]\ndrift = a*x\n   + b\nnoise = 2\n"
                            "initial = samples(s1.csv)\n[parameters]\na = 3\nb=0.5\n");
    char own[256];
    strcpy(own, path);
    hb_problem *problem;
    const double x = 2;
    double F;
    assert_ok(context, hb_problem_load(context, NULL, own, &problem));
    assert_ok(context, hb_problem_drift(context, problem, 1, &x, 0, &F, NULL, NULL, NULL));
    assert_relative(F, 6.5 / 2, 1e-15);
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_SAMPLES);
    hb_problem_destroy(problem);
    hb_problem_settings over;
    hb_problem_settings_default(sizeof over, &over);
    const char *const names[] = {"b", "c"};
    const double values[] = {-1, 4};
    over.n_parameters = 2;
    over.parameter_names = names;
    over.parameter_values = values;
    over.noise = "c";
    over.time = 2.5;
    over.initial = "gaussian(var=0.1)";
    assert_ok(context, hb_problem_load(context, &over, own, &problem));
    assert_ok(context, hb_problem_drift(context, problem, 1, &x, 0, &F, NULL, NULL, NULL));
    assert_relative(F, 5.0 / 8, 1e-15);
    assert_true(hb_problem_time(problem) == 2.5);
    assert_int_equal(hb_problem_initial_kind(problem), HB_INITIAL_KIND_GAUSSIAN);
    hb_problem_destroy(problem);
    hb_problem_settings_default(sizeof over, &over);
    over.dim = 2;
    over.potential = "x^2 + y^2";
    over.initial = "stationary";
    assert_ok(context, hb_problem_load(context, &over, own, &problem));
    assert_int_equal(hb_problem_dim(problem), 2);
    assert_true(hb_problem_is_gradient(problem));
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void wrong_files_name_the_line(void **state)
{
    (void)state;
    char longest[400] = "[problem]\ndrift = x";
    for (int i = 0; i < 100; i++) strcat(longest, "+1*");
    const struct {
        const char *text, *message;
    } cases[] = {
        {"[problem]\ndrift = x\n\ncolour = red\n", "line 4: key 'colour' is not known"},
        {"[problem]\ndrift = x\n[weather]\n", "line 3: section [weather] is not known"},
        {"drift = x\n", "line 1: 'drift' stands before the first section"},
        {"[problem]\ndrift\n", "line 2: 'key = value' or [section] was expected"},
        {"[problem]\ndrift = x\ndrift = 2*x\n", "line 3: drift is given twice"},
        {"[problem]\ndim = 2.5\n", "line 2: dim is 2.5; it must be 1 to 1000000"},
        {"[problem]\ntime = soon\n", "line 2: time is soon; it must be a number"},
        {"[problem]\ndrift =\n", "line 2: drift has no value"},
        {"[parameters]\na = 2*3\n", "line 2: a is '2*3'; it must be a number"},
        {"[parameters]\na = 1\na = 2\n", "line 3: parameter a is given twice"},
        {longest, "line 2: the line is longer than"},
    };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        assert_fails(context,
                     hb_problem_load(context, NULL, write_text("w.ini", cases[k].text), &problem),
                     HB_ERROR_FORMAT, cases[k].message);
    assert_fails(context, hb_problem_load(context, NULL, "/nonexistent.ini", &problem),
                 HB_ERROR_PATH, "cannot open /nonexistent.ini");
    assert_fails(
        context,
        hb_problem_load(context, NULL, write_text("w.ini", "[problem]\nnoise = 1\n"), &problem),
        HB_ERROR_ARGUMENT, "the drift is missing");
    hb_context_destroy(context);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Whatever allocation fails, the creation says so, and nothing stays allocated. */
static void no_memory_leaks_nothing(void **state)
{
    (void)state;
    write_text("mix1.csv", "weight,mean,var\n1,-1.5,0.2\n3,0.7,0.5\n");
    const char *path = write_text("m.ini", "[problem]\ndrift = a*x - x^3\nnoise = 1\n"
                                           "initial = mixture(mix1.csv)\n[parameters]\na = 3\n");
    char own[256];
    strcpy(own, path);
    const char *initials[] = {NULL,           "stationary",     "gaussian(mean=1, var=2)",
                              "uniform(0 1)", "uniform(0.5 1)", "gaussian(mean=9, var=1)"};
    for (size_t k = 0; k < sizeof initials / sizeof *initials; k++) {
        int finished = 0;
        for (int allowance = 1; allowance < 5000 && !finished; allowance += 1 + allowance / 50) {
            memory_count c = {0, allowance};
            hb_context *context = counting_context(&c);
            assert_non_null(context);
            hb_problem_settings over;
            hb_problem_settings_default(sizeof over, &over);
            over.initial = initials[k];
            if (k == 2) over.noise = "exp(-t)";
            if (k >= 4) over.noise = k == 4 ? "0.3*x" : "1 + t, 0.2;";
            hb_problem *problem;
            const hb_status status = hb_problem_load(context, &over, own, &problem);
            if (status != HB_OK) assert_int_equal(status, HB_ERROR_MEMORY);
            finished = status == HB_OK;
            hb_problem_destroy(problem);
            assert_int_equal(c.live, 1);
            hb_context_destroy(context);
            assert_int_equal(c.live, 0);
        }
        assert_true(finished);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_problems_are_refused), cmocka_unit_test(examples_load),
        cmocka_unit_test(files_and_overrides),        cmocka_unit_test(wrong_files_name_the_line),
        cmocka_unit_test(no_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
