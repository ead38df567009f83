/* Marches: bridges in the gauge, against closed forms and the grid. */
#include "walk_support.h"

static const hb_walk_plan FEW = {.way = HB_WALK_MARCH, .points = 2, .again = 0.2};
static const hb_walk_plan MORE = {.way = HB_WALK_MARCH, .points = 5, .again = 0.15};

/* OU from a Gaussian: ln u and its slope at x. */
static void ou_answer(double x, double tau, double mean, double var, double *v, double *slope)
{
    const double m = mean * exp(-tau), s = var * exp(-2 * tau) + 1 - exp(-2 * tau);
    *v = -0.5 * ((x - m) * (x - m) / s + log(2 * M_PI * s));
    *slope = (m - x) / s;
}

static walk_answer march(const hb_problem *problem, const hb_walk_plan *plan, double tau,
                         const double *x, size_t walks)
{
    hb_gauge_formula *gauge;
    assert_ok(CTX, hb_gauge_formula_create(CTX, problem, &gauge));
    assert_non_null(gauge);
    const hb_walk_problem shared = {.problem = problem,
                                    .d = (size_t)hb_problem_dim(problem),
                                    .tau = tau,
                                    .gradient = 1,
                                    .place = hb_problem_initial_place(problem),
                                    .gauge = gauge};
    const walk_answer answer = forced_walks(&shared, plan, x, 21, walks);
    hb_gauge_formula_destroy(gauge);
    return answer;
}

/* The potential typed and found along a line, ends of a free walk and fitted ones. */
static void test_ou(void **state)
{
    (void)state;
    const double tau = 0.5, x[1] = {0.7}, end[2] = {0.8, 0.35};
    double v, slope;
    ou_answer(x[0], tau, 1, 0.5, &v, &slope);
    for (int k = 0; k < 8; k++) {
        hb_problem *problem = walk_problem_of(1, "-x", "sqrt(2)", "gaussian(mean=1,var=0.5)");
        hb_walk_plan plan = k % 2 ? MORE : FEW;
        if (k / 2 % 2) plan.end = end;
        const walk_answer answer = march(problem, &plan, tau, x, 1 << 18);
        print_message("relative %g, score %g +- %g of %g, ln u off by %g +- %g\n",
                      answer.at.relative * 512, answer.score[0], answer.score_se[0], slope,
                      answer.at.log_density - v, answer.at.log_density_se);
        assert_covers(&answer, 1, v, &slope, 4, 1e-9);
        hb_problem_destroy(problem);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ou)};
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
