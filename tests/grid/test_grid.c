/* The grid against closed forms: linear drifts in one to three dimensions, a uniform start, a stationary
 * one, and the bistable drift against Chebyshev collocation in SciPy. */
#include "grid_support.h"

#include "grid/grid_start.h"

/* ---- linear drifts ---------------------------------------------------------------------------- */

static void one_dimension_is_exact(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 1.2, 0, 0, NAN);
    hb_grid_info info;
    hb_grid_info_get(grid, sizeof info, &info);
    assert_card(compare(context, grid, &ou_1, 1.2, info.tau, 200, 5), 1e-7, 1e-7);
    assert_near(info.mass_error, 0, 1e-8);
    assert_true(info.boundary_log < -45);
    hb_grid_destroy(grid);
    /* What is left is the time integration: a tighter tolerance makes it as small as one likes. */
    grid = solve(context, problem, 1.2, 512, 1e-10, NAN);
    hb_grid_info_get(grid, sizeof info, &info);
    assert_near(info.mass_error, 0, 1e-9);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ln u near -40 to 1e-3 relative is asked for; this is 1e-6. */
static void far_tails_are_exact(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 1.2, 0, 0, NAN);
    double y[2], L[3][3], S[1], exact_S[1], v;
    moments(&ou_1, 1.2, y);
    for (int side = -1; side <= 1; side += 2) {
        const double x = y[0] + side * 8.9 * sqrt(y[1]);
        assert_ok(context, hb_grid_evaluate(context, grid, 1, &x, end_of(grid), &v, NULL, S, NULL));
        assert_true(v < -39);
        assert_relative(v, gaussian(1, y, &x, exact_S, L), 1e-6);
        assert_relative(S[0], exact_S[0], 1e-5);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void rotation_in_two_dimensions(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_2(context);
    hb_grid *grid = solve(context, problem, 0.9, 0, 0, NAN);
    assert_card(compare(context, grid, &rotating, 0.9, end_of(grid), 200, 3), 1e-4, 1e-4);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void three_dimensions(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-x + 0.4*y, -0.4*x - 0.8*y + 0.2*z, -1.2*z", "1.2",
                                       "gaussian(mean=0.3 -0.2 0.1,var=0.5)");
    hb_grid *grid = solve(context, problem, 0.7, 56, 1e-5, NAN);
    assert_card(compare(context, grid, &ou_3, 0.7, end_of(grid), 100, 2.5), 5e-3, 5e-3);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void noise_and_drift_change_in_time(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-0.8*(1 + 0.5*sin(t))*x", "1 + 0.3*t",
                                       "gaussian(mean=-0.5,var=0.4)");
    hb_grid *grid = solve(context, problem, 1.4, 512, 0, NAN);
    assert_card(compare(context, grid, &forced, 1.4, end_of(grid), 100, 4), 1e-6, 1e-6);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* Any tau between keep_from and the end, as values and as a field. */
static void solution_is_kept(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 1.2, 512, 0, 0.01);
    hb_field field;
    hb_grid_field(grid, &field);
    assert_int_equal(field.dim, 1);
    assert_true(field.tau_min == 0.01 && field.tau_max == end_of(grid));
    for (int k = 0; k <= 20; k++) {
        const double tau = k == 20 ? field.tau_max : 0.01 + (field.tau_max - 0.01) * k / 20.0;
        const double x = 0.377;
        double v, S, field_v, field_S;
        assert_card(compare(context, grid, &ou_1, 2 * tau / 0.81, tau, 40, 4), 1e-6, 1e-6);
        assert_ok(context, hb_grid_evaluate(context, grid, 1, &x, tau, &v, NULL, &S, NULL));
        assert_int_equal(field.evaluate(field.user, 1, &x, &tau, &field_v, &field_S), 0);
        assert_true(v == field_v && S == field_S);
    }
    const double x = 0.1, early = 0.009;
    double v;
    assert_int_equal(field.evaluate(field.user, 1, &x, &early, &v, NULL), 1);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* Doubling the points must gain a factor of 2^4 at least. */
static void order_is_four_or_more(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    double worst[2], claim[2], slope[2];
    for (int k = 0; k < 2; k++) {
        hb_grid *grid = solve(context, problem, 1.2, 96 << k, 1e-12, NAN);
        const score_card card = compare(context, grid, &ou_1, 1.2, end_of(grid), 60, 4);
        worst[k] = card.v_worst;
        claim[k] = card.claim_worst;
        slope[k] = card.slope_worst;
        hb_grid_destroy(grid);
    }
    assert_true(worst[0] >= 16 * worst[1]);
    assert_true(slope[0] >= 16 * slope[1]);
    assert_true(claim[0] >= 8 * claim[1] && claim[1] < 1e-3);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- not Gaussian ----------------------------------------------------------------------------- */

/* u and its score at t = 1 by Chebyshev collocation of du/dtau = u'' - (F u)' on [-7, 7], 200 and 260
 * points agreeing to the digits shown, u = expm(A/2) u0 with scipy.linalg.expm:
 *     D, x = cheb(N); A = (D @ D - D @ diag(2*(x - x**3)))[1:-1, 1:-1]; u = expm(0.5*A) @ u0 */
static void bistable_against_collocation(void **state)
{
    (void)state;
    static const double x[] = {-2.5, -1, 0, 0.5, 2.5};
    static const double u[] = {3.950286e-07, 0.39203167156, 0.24749995699, 0.30336692653,
                               3.950286e-07};
    static const double score[] = {26.25537, 0.0418173251, 0, 0.6990200213, -26.25537};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "x1 - x1^3", "1", "gaussian(mean=0,var=1)");
    double v[5], v_error[5], S[5], S_error[5];
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, NULL, 5, x, 1, &grid));
    assert_ok(context, hb_grid_evaluate(context, grid, 5, x, 0.5, v, v_error, S, S_error));
    for (int i = 1; i < 4; i++) {
        assert_relative(exp(v[i]), u[i], 1e-7);
        assert_near(S[i], score[i], 1e-7);
        assert_true(v_error[i] < 1e-6 && S_error[i] < 1e-5);
    }
    for (int i = 0; i < 5; i += 4) {
        assert_relative(exp(v[i]), u[i], 1e-5);
        assert_relative(S[i], score[i], 1e-6);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* exp(x^2 - x^4/2) normalised stays; differences of v are those of the exponent, to rounding of the
 * integration. */
static void stationary_start_stays(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "x - x^3", "1", "stationary");
    hb_grid *grid = solve(context, problem, 2.3, 0, 0, NAN);
    for (int k = -10; k <= 10; k++) {
        const double x = 0.237 * k;
        double v, start, S;
        assert_ok(context,
                  hb_grid_evaluate(context, grid, 1, &x, end_of(grid), &v, NULL, &S, NULL));
        assert_ok(context, hb_problem_initial(context, problem, 1, &x, &start, NULL));
        assert_near(v, start, 1e-7);
        assert_near(S, 2 * x - 2 * x * x * x, 1e-6);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* A uniform start on [a, b] under f = -k x: x = e^(-k t) U + N(0, c). */
static double uniform_exact(double x, double *score)
{
    const double k = 0.7, t = 1.1, e = exp(-k * t), c = (1 - e * e) / (2 * k);
    const double a = -0.8 * e, b = 1.3 * e, s = sqrt(c);
    const double p = (x - a) / s, q = (x - b) / s, norm = 1 / sqrt(2 * M_PI);
    const double u = 0.5 * (erfc(q / M_SQRT2) - erfc(p / M_SQRT2)) / (b - a);
    *score = norm * (exp(-p * p / 2) - exp(-q * q / 2)) / s / (b - a) / u;
    return log(u);
}

static void uniform_start(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-0.7*x", "1", "uniform(-0.8 1.3)");
    hb_grid *grid = solve(context, problem, 1.1, 0, 0, NAN);
    int honest = 0;
    for (int k = -20; k <= 20; k++) {
        const double x = 0.131 * k;
        double v, v_error, S, S_error, exact_S;
        const double exact = uniform_exact(x, &exact_S);
        assert_ok(context,
                  hb_grid_evaluate(context, grid, 1, &x, end_of(grid), &v, &v_error, &S, &S_error));
        assert_near(v, exact, 1e-5);
        assert_near(S, exact_S, 1e-5);
        assert_true(v_error < 1e-3);
        honest += fabs(v - exact) <= v_error && fabs(S - exact_S) <= S_error;
    }
    assert_true(honest >= 39);
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* After the short heat flow the density at the edge of the box is half of that inside, and the clock
 * shows the time that the flow took. */
static void rough_start_is_the_heat_flow(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-0.7*x", "1", "uniform(-0.75 1.25)");
    const int cells = 160;
    const double low = -5, high = 5, h = 0.0625;
    hb_mesh mesh;
    const hb_start_plan plan = {.rough = 1};
    double v[161], tau, log_mass = NAN;
    hb_mesh_set(&mesh, 1, &cells, &low, &high);
    assert_ok(context, hb_grid_start(context, problem, &mesh, &plan, &log_mass, v, &tau));
    assert_near(tau, 8 * h * h, 1e-15);
    for (int i = 0; i <= cells; i++) {
        const double x = low + i * h, width = 2 * sqrt(tau);
        if (x < -2 || x > 2.5) continue;
        const double u = (erf((x + 0.75) / width) - erf((x - 1.25) / width)) / 4;
        assert_relative(exp(v[i]), u, 1e-8);
    }
    assert_near(exp(v[68]), 0.25, 1e-8); /* x = -0.75 */
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* Tails steeper than asked are replaced by the least function above that is not: -inf too. */
static void far_slopes_are_limited(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-0.7*x", "1", "gaussian(mean=0.25,var=0.31)");
    const int cells = 160;
    const double low = -10, high = 10, h = 0.125, steepest = 13.7;
    const hb_start_plan plan = {.steepest = {13.7}};
    hb_mesh mesh;
    double v[161], tau, log_mass = NAN;
    hb_mesh_set(&mesh, 1, &cells, &low, &high);
    assert_ok(context, hb_grid_start(context, problem, &mesh, &plan, &log_mass, v, &tau));
    assert_true(tau == 0);
    for (int i = 0; i <= cells; i++) {
        /* Slopes between nodes reach the limit at |y| = 34 h + h/2 from the mean. */
        const double y = fabs(low + i * h - 0.25), edge = 34 * h;
        const double inside = fmin(y, edge), top = -0.5 * log(2 * M_PI * 0.31);
        assert_near(v[i], top - inside * inside / 0.62 - steepest * (y - inside), 1e-9);
    }
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static int box_density(void *user, size_t n, const double *x, double *log_density, double *gradient)
{
    (void)user;
    for (size_t i = 0; i < n; i++) {
        log_density[i] = x[i] >= -0.8 && x[i] <= 1.3 ? 0 : -INFINITY;
        if (gradient) gradient[i] = 0;
    }
    return 0;
}

/* The same box, but as a callback that says nothing of its edges: cell averages and sums. */
static void rough_callback_start(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem_settings settings;
    hb_problem_settings_default(sizeof settings, &settings);
    settings.drift = "-0.7*x";
    settings.initial_callback = box_density;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    hb_grid *grid = solve(context, problem, 1.1, 512, 1e-7, NAN);
    for (int k = -15; k <= 15; k++) {
        const double x = 0.131 * k;
        double v, exact_S;
        assert_ok(context,
                  hb_grid_evaluate(context, grid, 1, &x, end_of(grid), &v, NULL, NULL, NULL));
        assert_near(v, uniform_exact(x, &exact_S), 2e-3);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- threads ---------------------------------------------------------------------------------- */

enum { THREAD_POINTS = 40 };

/* v, its error, the slopes and theirs at some points, on so many threads. */
static void solve_with_threads(int threads, int dim, const char *drift, const char *noise,
                               int points, double *out)
{
    static const char *start[] = {"gaussian(mean=0.3,var=0.6)", "gaussian(mean=0.3 0,var=0.6)",
                                  "gaussian(mean=0.3 0 -0.2,var=0.6)"};
    hb_context *context = make_context(HB_ISA_AUTO, threads);
    hb_problem *problem = make_problem(context, drift, noise, start[dim - 1]);
    hb_grid_settings settings;
    hb_grid_info info;
    hb_grid *grid;
    double x[3 * THREAD_POINTS];
    hb_grid_settings_default(sizeof settings, &settings);
    settings.tolerance = 1e-4;
    for (int a = 0; a < dim; a++) {
        settings.points[a] = points + 4 * a;
        settings.low[a] = -4.5;
        settings.high[a] = 4.7;
    }
    for (int i = 0; i < dim * THREAD_POINTS; i++) x[i] = 2.5 * jitter(i);
    assert_ok(context, hb_grid_solve(context, problem, &settings, 0, NULL, 0.4, &grid));
    assert_ok(context, hb_grid_info_get(grid, sizeof info, &info));
    double *slopes = out + 2 * (ptrdiff_t)THREAD_POINTS;
    assert_ok(context,
              hb_grid_evaluate(context, grid, THREAD_POINTS, x, info.tau, out, out + THREAD_POINTS,
                               slopes, slopes + (ptrdiff_t)dim * THREAD_POINTS));
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    static const struct {
        int dim, points;
        const char *drift, *noise;
    } cases[] = {{1, 1024, "x - x^3 + sin(3*t)", "1.2"},
                 {2, 96, "x - x^3 + y/2, -y - x", "1.1"},
                 {3, 32, "x - x^3 + y/2, -y - x + z/3, -z - y/2", "1.1"},
                 {3, 32, "-x + y/2, -y - x, -z", "1+0.1*sin(x),0.2,0; 0.1,1,0; 0,0,1"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double one[8 * THREAD_POINTS] = {0}, more[8 * THREAD_POINTS] = {0};
        solve_with_threads(1, cases[c].dim, cases[c].drift, cases[c].noise, cases[c].points, one);
        for (int threads = 2; threads <= 3; threads++) {
            solve_with_threads(threads, cases[c].dim, cases[c].drift, cases[c].noise,
                               cases[c].points, more);
            assert_memory_equal(one, more, sizeof one);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dimension_is_exact),
        cmocka_unit_test(far_tails_are_exact),
        cmocka_unit_test(rotation_in_two_dimensions),
        cmocka_unit_test(three_dimensions),
        cmocka_unit_test(noise_and_drift_change_in_time),
        cmocka_unit_test(solution_is_kept),
        cmocka_unit_test(order_is_four_or_more),
        cmocka_unit_test(bistable_against_collocation),
        cmocka_unit_test(stationary_start_stays),
        cmocka_unit_test(uniform_start),
        cmocka_unit_test(rough_start_is_the_heat_flow),
        cmocka_unit_test(far_slopes_are_limited),
        cmocka_unit_test(rough_callback_start),
        cmocka_unit_test(threads_do_not_change_a_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
