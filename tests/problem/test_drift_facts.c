/* Facts of a drift that are read off its formula: linear, autonomous, gradient, separable, where it breaks,
 * and what values it takes on a box. The drifts with a narrow part are those that values at a few points
 * cannot tell from linear ones. */
#include "problem/drift_facts.h"
#include "problem_support.h"

#include <heatball/heatball.h>
#include <math.h>

typedef struct facts_case {
    int dim;
    const char *drift, *noise;
    int autonomous, linear, gradient, separable, breaks;
} facts_case;

static const facts_case CASES[] = {
    {1, "-x", "1", 1, 1, 1, 1, 0},
    {1, "-x + 1500*max(0,0.03-abs(x-0.6))", "1", 1, 0, 1, 1, 2},
    {1, "-x + t*1500*max(0,0.03-abs(x-0.6))", "1", 0, 0, 1, 1, 2},
    {1, "-x + 150*exp(-(x-0.6)^2/0.0005)", "1", 1, 0, 1, 1, 0},
    {1, "-x + 1e-9*exp(-(x-777.123)^2*1e12)", "1", 1, 0, 1, 1, 0},
    {1, "-x*(1 + t)/(2 - cos(t)) + sin(t)", "1", 0, 1, 1, 1, 0},
    {1, "-x", "1 + 0.2*t", 0, 1, 1, 1, 0},
    {1, "-sign(x-0.3)", "1", 1, 0, 1, 1, 1},
    {1, "-x/(1+x^2)", "1", 1, 0, 1, 1, 0},
    {1, "-x/sqrt(1+x^2)", "1", 1, 0, 1, 1, 0},
    {1, "-x*sqrt(x^2)", "1", 1, 0, 1, 1, 1},
    {1, "-x + sign(t - 0.5)", "1", 0, 1, 1, 1, 0},
    {2, "-x*y^2, -x^2*y", "1", 1, 0, 1, 0, 0},
    {2, "-x + 2*y, -3*y + 2*x", "1", 1, 1, 1, 0, 0},
    {2, "-x + 2*y, -3*y - 2*x", "1", 1, 1, 0, 0, 0},
    {2, "0.1*3*y, 0.3*x", "1", 1, 1, 1, 0, 0},
    {2, "-x^3, -tanh(y)", "1", 1, 0, 1, 1, 0},
    {2, "-2*x*sin(y)*cos(y), -x^2*(1 - 2*sin(y)^2)", "1", 1, 0, 1, 0, 0},
    {2, "-tanh(x+y), -tanh(x+y) - y", "1", 1, 0, 1, 0, 0},
    {2, "-max(0,x+y), -max(x+y,0)", "1", 1, 0, 1, 0, 1},
    {2, "sign(x-y), sign(x-y)", "1", 1, 0, 0, 0, 1},
    {2, "sign(x) + y, x", "1", 1, 0, 1, 0, 1},
    {2, "sign(y), 0", "1", 1, 0, 0, 0, 1},
    {2, "-y/(x^2+y^2), x/(x^2+y^2)", "1", 1, 0, 0, 0, 1},
    {2, "y + exp(-(x-3.7)^2*1e8), x + exp(-(x-3.7)^2*1e8)*y", "1", 1, 0, 0, 0, 0},
    {70, "-x[i]*(1 + x[i]^2) + 0.1*(x[i+1] - 2*x[i] + x[i-1])", "1", 1, 0, 1, 0, 0},
    {70, "-x[i] + 0.1*x[i+1]", "1", 1, 1, 0, 0, 0},
};

static void facts_are_read_off_formulas(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        const facts_case *c = &CASES[k];
        hb_problem *problem = problem_of(context, c->dim, c->drift, c->noise, NULL);
        const hb_drift_facts *facts = hb_problem_facts(problem);
        if (hb_problem_is_autonomous(problem) != c->autonomous ||
            hb_problem_is_linear(problem) != c->linear ||
            hb_problem_is_gradient(problem) != c->gradient || facts->separable != c->separable ||
            facts->n_breaks != c->breaks)
            fail_msg("%s: autonomous %d linear %d gradient %d separable %d breaks %d", c->drift,
                     hb_problem_is_autonomous(problem), hb_problem_is_linear(problem),
                     hb_problem_is_gradient(problem), facts->separable, facts->n_breaks);
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

static void a_potential_is_a_gradient(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 2;
    settings.potential = "abs(x - y) + x^2";
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    assert_true(hb_problem_is_gradient(problem));
    const hb_drift_facts *facts = hb_problem_facts(problem);
    assert_int_equal(facts->n_breaks, 1);
    assert_int_equal(facts->breaks[0].kind, HB_BREAK_JUMP);
    assert_int_equal(facts->breaks[0].axis, 0);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* 64 boxes each: all values at scattered points are inside, and narrow features are seen. */
static void ranges_hold_all_values(void **state)
{
    (void)state;
    static const char *const drifts[] = {
        "x - x^3 + sin(3*x*y), cos(x)*tanh(y) - 1/(1.5 + y^2)",
        "abs(x)^1.5*sign(y), min(x, max(y, -0.3)) - sqrt(abs(x*y))",
        "exp(-x^2)/cosh(y) + atan(x - y), log(2 + x^2)*tan(0.2*y) - asin(0.1*x) + x^-2",
        "sinh(x)*y^2 - t, acos(0.1*y)*cos(7*x + t) - x^5"};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double u[64 * 6];
    assert_ok(context, hb_random_uniform(context, 7, 1, 0, 64 * 6, u));
    for (size_t k = 0; k < sizeof drifts / sizeof *drifts; k++) {
        hb_problem *problem = problem_of(context, 2, drifts[k], "1 + 0.3*t", NULL);
        for (int b = 0; b < 64; b++) {
            const double *r = u + 6 * b, size = pow(0.1, b % 4);
            const hb_interval x[2] = {{0.1 + 3 * r[0], 0.1 + 3 * r[0] + size * r[1]},
                                      {6 * r[2] - 3, 6 * r[2] - 3 + size * r[3]}};
            const hb_interval tau = {0.3 * r[4], 0.3 * r[4] + 0.2 * size * r[5]};
            hb_interval F[2];
            assert_ok(context, hb_problem_ranges(context, problem, x, tau, F, NULL));
            for (int p = 0; p < 27; p++) {
                const double at[2] = {x[0].low + (p % 3) / 2.0 * (x[0].high - x[0].low),
                                      x[1].low + (p / 3 % 3) / 2.0 * (x[1].high - x[1].low)};
                const double then = tau.low + (p / 9) / 2.0 * (tau.high - tau.low);
                double f[2];
                assert_ok(context,
                          hb_problem_drift(context, problem, 1, at, then, f, NULL, NULL, NULL));
                for (int i = 0; i < 2; i++)
                    if (!(f[i] >= F[i].low - 1e-13 * fabs(f[i]) &&
                          f[i] <= F[i].high + 1e-13 * fabs(f[i])))
                        fail_msg("%s: %.17g is not in [%.17g, %.17g]", drifts[k], f[i], F[i].low,
                                 F[i].high);
            }
        }
        hb_problem_destroy(problem);
    }
    hb_problem *narrow = problem_of(context, 1, "150*exp(-(x-0.6)^2/1e-6)", "1", NULL);
    hb_interval F;
    const hb_interval near = {0, 1}, far = {0.7, 1}, now = {0, 0};
    assert_ok(context, hb_problem_ranges(context, narrow, &near, now, &F, NULL));
    assert_true(F.high >= 300 && F.high < 301);
    assert_ok(context, hb_problem_ranges(context, narrow, &far, now, &F, NULL));
    assert_true(F.high < 1e-100);
    hb_problem_destroy(narrow);
    hb_context_destroy(context);
}

/* ---- callbacks: nothing is known but what is declared ---- */

static int rotation(void *user, size_t n, const double *x, const double *t, double *f, double *J)
{
    const double twist = *(const double *)user;
    (void)J;
    for (size_t i = 0; i < n; i++) {
        f[2 * i] = -x[2 * i] + twist * (1 + t[i]) * x[2 * i + 1];
        f[2 * i + 1] = -x[2 * i + 1] + x[2 * i] - twist * x[2 * i] * x[2 * i];
    }
    return 0;
}

static hb_status declare(hb_context *context, double *twist, int facts, hb_problem **out)
{
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.dim = 2;
    settings.drift_callback = rotation;
    settings.drift_user = twist;
    settings.drift_facts = facts;
    settings.initial = "gaussian(mean=0,var=1)";
    return hb_problem_create(context, &settings, out);
}

static void declared_facts_are_checked(void **state)
{
    (void)state;
    static const struct {
        int fact;
        const char *word;
    } facts[] = {{HB_DRIFT_FACT_AUTONOMOUS, "declared autonomous"},
                 {HB_DRIFT_FACT_LINEAR, "declared linear"},
                 {HB_DRIFT_FACT_GRADIENT, "declared a gradient"},
                 {16, "drift_facts is 16"}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem;
    double none = 0, twist = 0.5;
    assert_ok(context, declare(context, &none, 0, &problem));
    assert_false(hb_problem_is_autonomous(problem) || hb_problem_is_linear(problem) ||
                 hb_problem_is_gradient(problem));
    hb_problem_destroy(problem);
    assert_ok(context,
              declare(context, &none, HB_DRIFT_FACT_AUTONOMOUS | HB_DRIFT_FACT_LINEAR, &problem));
    assert_true(hb_problem_is_autonomous(problem) && hb_problem_is_linear(problem));
    hb_problem_destroy(problem);
    for (size_t k = 0; k < sizeof facts / sizeof *facts; k++) {
        assert_int_equal(declare(context, &twist, facts[k].fact, &problem), HB_ERROR_ARGUMENT);
        assert_non_null(strstr(hb_context_message(context), facts[k].word));
    }
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = "-x";
    settings.drift_facts = HB_DRIFT_FACT_LINEAR;
    assert_int_equal(hb_problem_create(context, &settings, &problem), HB_ERROR_ARGUMENT);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_read_off_formulas),
        cmocka_unit_test(a_potential_is_a_gradient),
        cmocka_unit_test(ranges_hold_all_values),
        cmocka_unit_test(declared_facts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
