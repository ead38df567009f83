/* Backward walks on linear drifts, where all is known; the last step's averages; potentials by
 * lines. */
#include "exact_fields.h"
#include "problem/potential_rise.h"
#include "walk_support.h"

/* ---- averages of initial densities ---------------------------------------------------------- */

/* E[u(x,0)], x ~ N(mean, variance), by the trapezoidal rule over 9 standard deviations. */
static double average_by_sum(const hb_problem *problem, double mean, double variance)
{
    enum { N = 20001 };
    static double x[N], v[N];
    const double sd = sqrt(variance), h = 18 * sd / (N - 1);
    double sum = 0;
    for (int i = 0; i < N; i++) x[i] = mean - 9 * sd + h * i;
    assert_ok(CTX, hb_problem_initial(CTX, problem, N, x, v, NULL));
    for (int i = 0; i < N; i++) {
        const double z = (x[i] - mean) / sd;
        sum += h * exp(v[i] - 0.5 * z * z) / sqrt(2 * M_PI * variance);
    }
    return sum;
}

static void test_average_on_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *initial;
        double tolerance;
    } cases[] = {{"gaussian(mean=0.4,var=0.37)", 1e-12}, {"uniform(-0.7 1.9)", 1e-3}};
    for (int k = 0; k < 2; k++) {
        hb_problem *problem = walk_problem_of(1, "-x", "1", cases[k].initial);
        assert_true(hb_initial_average_is_closed(problem, 1));
        for (int i = 0; i < 3; i++) {
            const double mean = -1.3 + 1.45 * i, variance = 0.21 + 0.3 * i, step = 1e-4;
            double work[8], v, slope, up, down, unused, moved;
            const hb_gaussian gaussian = {.mean = &mean, .variance = &variance};
            const hb_gaussian shifted = {.mean = &moved, .variance = &variance};
            hb_initial_average(problem, &gaussian, work, &v, &slope);
            assert_relative(exp(v), average_by_sum(problem, mean, variance), cases[k].tolerance);
            moved = mean + step;
            hb_initial_average(problem, &shifted, work, &up, &unused);
            moved = mean - step;
            hb_initial_average(problem, &shifted, work, &down, &unused);
            assert_near(slope, (up - down) / (2 * step), 1e-6);
        }
        hb_problem_destroy(problem);
    }
}

/* Far on either side of a box the logarithm keeps its digits: Mills' ratio. */
static void test_average_far_from_a_box(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "-x", "1", "uniform(-0.5 0.5)");
    for (int side = -1; side <= 1; side += 2) {
        const double mean = side * 12.5, variance = 1;
        double work[8], v, slope;
        hb_initial_average(problem, &(hb_gaussian){.mean = &mean, .variance = &variance}, work, &v,
                           &slope);
        // ln[P(13) - P(12)] = ln P(-12) + log1p(-P(-13)/P(-12)); P(-12) = 1.776482112077679e-33
        assert_near(
            v, log(1.776482112077679e-33) + log1p(-6.117164399549880e-39 / 1.776482112077679e-33),
            1e-11);
        assert_near(slope, -side * 12.0817, 1e-3);
    }
    hb_problem_destroy(problem);
}

/* A full covariance against a sum over the plane. */
static void test_average_in_the_plane(void **state)
{
    (void)state;
    enum { N = 241 };
    static double x[N * N * 2], v[N * N];
    hb_problem *problem =
        walk_problem_of(2, "-x, -y", "1", "gaussian(mean=1 0.5, var=0.3 0.1 0.1 0.2)");
    const double mean[2] = {0.3, 0.9}, C[4] = {0.5, -0.2, -0.2, 0.4}, det = 0.5 * 0.4 - 0.04;
    double sum = 0, work[16], value, slope[2], first[2] = {0, 0};
    const double h = 12. / (N - 1);
    for (int i = 0; i < N * N; i++) {
        x[2 * i] = mean[0] - 6 + h * (i / N);
        x[2 * i + 1] = mean[1] - 6 + h * (i % N);
    }
    assert_ok(CTX, hb_problem_initial(CTX, problem, N * N, x, v, NULL));
    for (int i = 0; i < N * N; i++) {
        const double a = x[2 * i] - mean[0], b = x[2 * i + 1] - mean[1];
        const double ia = (C[3] * a - C[1] * b) / det, ib = (C[0] * b - C[1] * a) / det;
        const double term = h * h * exp(v[i] - 0.5 * (a * ia + b * ib)) / (2 * M_PI * sqrt(det));
        sum += term;
        first[0] += ia * term; // the derivative by the mean
        first[1] += ib * term;
    }
    hb_initial_average(problem, &(hb_gaussian){.mean = mean, .covariance = C}, work, &value, slope);
    assert_relative(exp(value), sum, 1e-10);
    for (int k = 0; k < 2; k++) assert_near(slope[k], first[k] / sum, 1e-9);
    hb_problem_destroy(problem);
}

static void test_potential_by_lines(void **state)
{
    (void)state;
    hb_problem *line = walk_problem_of(1, "2*(x - x^3)", "sqrt(2)", "gaussian(mean=0,var=1)");
    hb_problem *plane =
        walk_problem_of(2, "-cos(x)*exp(y), -sin(x)*exp(y)", "sqrt(2)", "gaussian(mean=0,var=1)");
    double from[2] = {0, 0.3}, to[2] = {1.6, 1.7}, rise;
    assert_ok(CTX, hb_potential_rise(CTX, line, NULL, 1, from, to, &rise));
    assert_near(rise, 0.7168, 1e-13);
    assert_true(hb_problem_is_gradient(plane));
    assert_ok(CTX, hb_potential_rise(CTX, plane, NULL, 1, from, to, &rise));
    assert_near(rise, sin(1.6) * exp(1.7), 1e-11);
    hb_problem_destroy(line);
    hb_problem_destroy(plane);
}

/* From -559.7 to 0.3 all nodes of two sums miss the turn at 0.2. */
static void test_potential_across_a_narrow_turn(void **state)
{
    (void)state;
    hb_problem *line = walk_problem_of(1, "10*tanh(5*x - 1)", "sqrt(2)", "gaussian(mean=0,var=1)");
    hb_problem *plane = walk_problem_of(2, "10*tanh(5*x - 1), -300*exp(-(y-0.6)^2/1e-6)", "sqrt(2)",
                                        "gaussian(mean=0,var=1)");
    const double from[2] = {-559.7, -40}, to[2] = {0.3, 30};
    hb_potential_cells *cells;
    double rise;
    assert_ok(CTX, hb_potential_cells_create(CTX, line, &cells));
    assert_ok(CTX, hb_potential_rise(CTX, line, cells, 1, from, to, &rise));
    assert_near(rise, 5597.3734766249640, 1e-9);
    assert_ok(CTX, hb_potential_rise(CTX, line, cells, 1, to, from, &rise));
    assert_near(rise, -5597.3734766249640, 1e-9);
    hb_potential_cells_destroy(cells);
    assert_ok(CTX, hb_potential_cells_create(CTX, plane, &cells));
    assert_ok(CTX, hb_potential_rise(CTX, plane, cells, 1, from, to, &rise));
    assert_near(rise, 5597.3734766249640 + 0.3 * sqrt(M_PI), 1e-9);
    hb_potential_cells_destroy(cells);
    hb_problem_destroy(line);
    hb_problem_destroy(plane);
}

/* ---- linear drifts are exact in one step ---------------------------------------------------- */

static void test_ornstein_uhlenbeck_is_exact(void **state)
{
    (void)state;
    static const int dims[] = {1, 3, 6, 10};
    for (int k = 0; k < 4; k++) {
        const int d = dims[k];
        exact_field exact = {.dim = d, .terms = 1, .spoil = 1, .weight = {1}};
        double x[EXACT_DIM], gradient[EXACT_DIM];
        char note[512];
        for (int i = 0; i < d; i++) {
            exact.a[i] = 0.3 + 0.17 * (i + 1);
            exact.mean[0][i] = 0.4;
            exact.variance[0][i] = 0.7;
            x[i] = 0.9 - 0.31 * i;
        }
        hb_problem *problem =
            walk_problem_of(d, "-(0.3 + 0.17*i)*x[i]", "sqrt(2)", "gaussian(mean=0.4,var=0.7)");
        walk_answer answer;
        estimate_walks(CTX, problem, 0.5, 1, 1, 1, x, &answer, note);
        const double v = exact_point(&exact, x, 0.5, gradient);
        assert_near(answer.at.log_density, v, 1e-12);
        for (int i = 0; i < d; i++) assert_near(answer.score[i], gradient[i], 1e-11);
        assert_true(answer.at.relative <= 1e-12);
        assert_non_null(strstr(note, "linear"));
        hb_problem_destroy(problem);
    }
}

static const exact_field ROTATING = {.dim = 2,
                                     .terms = 1,
                                     .a = {0.6, 0.6},
                                     .omega = 1.7,
                                     .spoil = 1,
                                     .weight = {1},
                                     .mean = {{0.7, -0.4}},
                                     .variance = {{0.5, 0.5}}};
static const char *const ROTATING_TEXT = "-0.6*x - 1.7*y, 1.7*x - 0.6*y";

static void test_rotation_is_exact(void **state)
{
    (void)state;
    hb_problem *problem =
        walk_problem_of(2, ROTATING_TEXT, "sqrt(2)", "gaussian(mean=0.7 -0.4,var=0.5)");
    const double x[2] = {0.35, 1.2};
    double gradient[2];
    walk_answer answer;
    estimate_walks(CTX, problem, 0.8, 1, 1, 1, x, &answer, NULL);
    assert_near(answer.at.log_density, exact_point(&ROTATING, x, 0.8, gradient), 1e-12);
    for (int i = 0; i < 2; i++) assert_near(answer.score[i], gradient[i], 1e-11);
    hb_problem_destroy(problem);
}

/* A noise schedule, f = -x/2 with g = 0.1 20^t: variance v' = -v + g^2 in closed form. */
static void test_noise_schedule_is_exact(void **state)
{
    (void)state;
    const double rate = 2 * log(20.), start = 0.3, x[2] = {1.1, -0.4};
    hb_problem *problem =
        walk_problem_of(2, "0.4 - 0.5*x, -0.5*y", "0.1*20^t", "gaussian(mean=0.5 -0.5, var=0.3)");
    const double variance = start * exp(-1) + 0.01 * (exp(rate) - exp(-1)) / (rate + 1); // at t = 1
    double tau, v = 0;
    walk_answer answer;
    assert_ok(CTX, hb_problem_tau_of_t(CTX, problem, 1, &tau));
    estimate_walks(CTX, problem, tau, 1, 1, 1, x, &answer, NULL);
    for (int i = 0; i < 2; i++) {
        const double rest = i ? 0 : 0.8; // where the drift is 0
        const double gap = x[i] - rest - ((i ? -0.5 : 0.5) - rest) * exp(-0.5);
        v -= 0.5 * (gap * gap / variance + log(2 * M_PI * variance));
        assert_near(answer.score[i], -gap / variance, 1e-9);
    }
    assert_near(answer.at.log_density, v, 1e-9);
    assert_true(answer.at.relative <= 1e-12);
    hb_problem_destroy(problem);
}

/* A rotation whose speed depends on time keeps the distance to the origin: an isotropic start at
 * the origin spreads as without it. */
static void test_turning_rotation_is_exact(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(2, "-3*cos(2*t)*y, 3*cos(2*t)*x", "sqrt(2)",
                                          "gaussian(mean=0.6 0, var=0.4)");
    const double tau = 0.7, angle = 1.5 * sin(2 * tau), variance = 0.4 + 2 * tau;
    const double x[2] = {0.2, 0.9}, mean[2] = {0.6 * cos(angle), 0.6 * sin(angle)};
    double v = 0;
    walk_answer answer;
    estimate_walks(CTX, problem, tau, 1, 1, 1, x, &answer, NULL);
    for (int i = 0; i < 2; i++) {
        const double gap = x[i] - mean[i];
        v -= 0.5 * (gap * gap / variance + log(2 * M_PI * variance));
        assert_near(answer.score[i], -gap / variance, 1e-9);
    }
    assert_near(answer.at.log_density, v, 1e-9);
    hb_problem_destroy(problem);
}

/* exp(-700): the density is below double with its square, the logarithm is not. */
static void test_density_of_1e_300(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "-x", "sqrt(2)", "gaussian(mean=0,var=1)");
    const double x[1] = {37.3};
    walk_answer answer;
    estimate_walks(CTX, problem, 0.5, 1, 1, 1, x, &answer, NULL);
    assert_near(answer.at.log_density, -0.5 * 37.3 * 37.3 - 0.5 * log(2 * M_PI), 1e-9);
    assert_near(answer.score[0], -37.3, 1e-10);
    hb_problem_destroy(problem);
}

/* ---- the same drifts by steps that are drawn ------------------------------------------------ */

/* By name: how each of them walks. */
enum { PARAMETRIX, DRAWN_END, GAUGE, BALLS, REVERSED, MOSTLY_REVERSED, WAYS };
static const hb_walk_plan STEPS[WAYS] = {
    [PARAMETRIX] = {.rate_multiplier = 2},
    [DRAWN_END] = {.rate_multiplier = 2},
    [GAUGE] = {.kind = HB_WALK_GAUGE, .rate_multiplier = 4},
    [BALLS] = {.kind = HB_WALK_BALL, .rate_multiplier = 4},
    [REVERSED] = {.kind = HB_WALK_REVERSED, .part = 1, .rate_multiplier = 4, .finish = 1},
    [MOSTLY_REVERSED] = {.kind = HB_WALK_REVERSED, .part = 0.7, .rate_multiplier = 4, .finish = 1}};

/* 10^6 walks at d = 1 by every kind of step: unbiased within 4 errors, density and score. */
static void test_steps_are_unbiased(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "-2.3*x", "sqrt(2)", "gaussian(mean=0.7,var=0.5)");
    const exact_field exact = {.dim = 1,
                               .terms = 1,
                               .a = {2.3},
                               .spoil = 1,
                               .weight = {1},
                               .mean = {{0.7}},
                               .variance = {{0.5}}};
    const double x[1] = {-1.3};
    double gradient[1];
    const double v = exact_point(&exact, x, 0.9, gradient);
    for (int way = 0; way < WAYS; way++) {
        const hb_walk_problem shared = {.problem = problem,
                                        .d = 1,
                                        .tau = 0.9,
                                        .gradient = way >= GAUGE,
                                        .closed_form = way != DRAWN_END};
        const walk_answer answer =
            forced_walks(&shared, STEPS + way, x, 5, way >= GAUGE ? 1 << 18 : 1 << 20);
        if (way >= GAUGE) assert_true(answer.steps > 2);
        assert_true(answer.at.relative < 0.01);
        assert_true(answer.at.relative > 1e-5); // there is something to cover
        assert_covers(&answer, 1, v, gradient, 4, 0);
    }
    hb_problem_destroy(problem);
}

/* A clock so fast that the first steps play roulette: survivors count double each time. */
static void test_roulette_keeps_the_mean(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "-2.3*x", "sqrt(2)", "gaussian(mean=0.7,var=0.5)");
    const double x[1] = {-0.45}, shrink = exp(-2.3 * 0.9);
    const double variance = 0.5 * shrink * shrink + (1 - shrink * shrink) / 2.3;
    const double gap = x[0] - 0.7 * shrink, slope = -gap / variance;
    const hb_walk_problem shared = {.problem = problem, .d = 1, .tau = 0.9, .closed_form = 1};
    const hb_walk_plan plan = {.rate_multiplier =
                                   63}; // rate tau = 63 * 0.5 * 2.3 * 0.9 = 65.2 > 64
    const walk_answer answer = forced_walks(&shared, &plan, x, 5, 1 << 16);
    assert_true(answer.at.relative < 0.05);
    assert_covers(&answer, 1, -0.5 * (gap * gap / variance + log(2 * M_PI * variance)), &slope, 4,
                  0);
    hb_problem_destroy(problem);
}

/* The rotation as a difference to a diagonal frame, and in the full frame with a drawn end. */
static void test_rotation_by_rings(void **state)
{
    (void)state;
    hb_problem *problem =
        walk_problem_of(2, ROTATING_TEXT, "sqrt(2)", "gaussian(mean=0.7 -0.4,var=0.5)");
    const double x[2] = {0.35, 1.2};
    double gradient[2];
    const double v = exact_point(&ROTATING, x, 0.3, gradient);
    for (int full = 0; full < 2; full++) {
        const hb_walk_problem shared = {
            .problem = problem, .d = 2, .tau = 0.3, .full_frame = full, .closed_form = !full};
        const hb_walk_plan plan = {.rate_multiplier = 2};
        const walk_answer answer = forced_walks(&shared, &plan, x, 11, 1 << 18);
        assert_true(answer.at.relative > 1e-5 && answer.at.relative < 0.01);
        assert_covers(&answer, 2, v, gradient, 4.5, 0);
    }
    hb_problem_destroy(problem);
}

/* A gradient in six dimensions through the gauge: d > 3, no lift. */
static void test_gauge_in_six_dimensions(void **state)
{
    (void)state;
    exact_field exact = {.dim = 6, .terms = 1, .spoil = 1, .weight = {1}};
    double x[6], gradient[EXACT_DIM];
    for (int i = 0; i < 6; i++) {
        exact.a[i] = 1.9 + 0.1 * (i + 1);
        exact.mean[0][i] = 0.2;
        exact.variance[0][i] = 0.9;
        x[i] = 0.5 - 0.2 * i;
    }
    hb_problem *problem =
        walk_problem_of(6, "-(1.9 + 0.1*i)*x[i]", "sqrt(2)", "gaussian(mean=0.2,var=0.9)");
    const double v = exact_point(&exact, x, 0.5, gradient);
    for (int balls = 0; balls < 2; balls++) {
        const hb_walk_problem shared = {.problem = problem,
                                        .d = 6,
                                        .tau = 0.5,
                                        .full_frame = 1,
                                        .gradient = 1,
                                        .closed_form = 1};
        const hb_walk_plan plan = {.kind = balls ? HB_WALK_BALL : HB_WALK_GAUGE,
                                   .rate_multiplier = 8};
        const walk_answer answer = forced_walks(&shared, &plan, x, 3, 1 << 15);
        assert_true(answer.steps > 1.5);
        assert_true(answer.at.relative < 0.03);
        assert_covers(&answer, 6, v, gradient, 4.5, 0);
    }
    hb_problem_destroy(problem);
}

/* u(x,0) uniform on a box under F = -a x: a difference of two normal laws. */
static void test_uniform_start(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "-0.8*x", "sqrt(2)", "uniform(-0.7 1.9)");
    const double tau = 0.4, shrink = exp(-0.8 * tau), variance = (1 - shrink * shrink) / 0.8;
    const double x[1] = {1.1}, sd = sqrt(variance);
    const double low = (x[0] + 0.7 * shrink) / sd, high = (x[0] - 1.9 * shrink) / sd;
    const double share = 0.5 * (erf(low / sqrt(2)) - erf(high / sqrt(2)));
    const double slope =
        (exp(-0.5 * low * low) - exp(-0.5 * high * high)) / (sqrt(2 * M_PI) * sd * share);
    walk_answer answer;
    estimate_walks(CTX, problem, tau, 1, 1, 1, x, &answer, NULL);
    assert_near(answer.at.density, share / (2.6 * shrink), 1e-12);
    assert_near(answer.score[0], slope, 1e-11);
    hb_problem_destroy(problem);
}

/* ---- what must hold whatever the drift ------------------------------------------------------ */

/* The same bits on one thread and on two, alone and beside another point. */
static void test_bits(void **state)
{
    (void)state;
    hb_problem *problem = walk_problem_of(1, "2*(x - x^3)", "sqrt(2)", "gaussian(mean=0,var=1)");
    hb_context *two = make_context(HB_ISA_AUTO, 2);
    const double x[2] = {0.3, 1.1};
    walk_answer both[2], alone, threads[2];
    estimate_walks(CTX, problem, 0.1, 7, 2, 2, x, both, NULL);
    estimate_walks(CTX, problem, 0.1, 7, 2, 1, x + 1, &alone, NULL);
    estimate_walks(two, problem, 0.1, 7, 2, 2, x, threads, NULL);
    assert_memory_equal(&both[1].at.density, &alone.at.density, sizeof(double));
    assert_memory_equal(&both[1].score[0], &alone.score[0], sizeof(double));
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(&both[i].at.density, &threads[i].at.density, sizeof(double));
        assert_memory_equal(&both[i].score_se[0], &threads[i].score_se[0], sizeof(double));
    }
    estimate_walks(CTX, problem, 0.1, 8, 2, 1, x, &alone, NULL);
    assert_true(alone.at.density != both[0].at.density);
    hb_context_destroy(two);
    hb_problem_destroy(problem);
}

/* Other walks than a round's, as many; and a round after it is what it was. */
static void test_watch(void **state)
{
    (void)state;
    enum { MOST = 400 };
    hb_problem *problem = walk_problem_of(1, "x-x^3", "1", "gaussian(mean=0,var=0.5)");
    const hb_sampling_settings settings = {.seed = 5};
    const double x = 0.4;
    const unsigned char wanted = 1;
    double sums[3][MOST], score, se;
    hb_answer at[2];
    hb_estimator e;
    assert_true(hb_accumulator_size(1) <= MOST);
    assert_ok(CTX, hb_walk_estimator(CTX, problem, 0.25, &settings, 1, &x, &e));
    for (int k = 0; k < 3; k++) {
        hb_accumulator_clear(1, sums[k]);
        assert_ok(CTX, (k == 1 ? e.diagnostic : e.round)(e.self, 0, &wanted, sums[k]));
    }
    assert_memory_equal(sums[0], sums[2], hb_accumulator_size(1) * sizeof(double));
    assert_true(hb_accumulator_units(sums[1]) == (double)e.samples_per_round);
    for (int k = 0; k < 2; k++)
        hb_accumulator_answer(1, sums[k], e.log_scale[0], at + k, &score, &se);
    assert_near(at[1].log_density, at[0].log_density, 5 * at[1].log_density_se);
    assert_near(at[1].log_density_se, at[0].log_density_se, 0.3 * at[0].log_density_se);
    assert_true(at[1].log_density != at[0].log_density);
    e.destroy(e.self);
    hb_problem_destroy(problem);
}

static void test_refusals(void **state)
{
    (void)state;
    hb_problem *fine = walk_problem_of(1, "-x", "1", "gaussian(mean=0,var=1)");
    const hb_sampling_settings settings = {.seed = 1};
    const double x[1] = {0.3};
    hb_estimator out;
    assert_fails(CTX, hb_walk_estimator(CTX, fine, 0, &settings, 1, x, &out), HB_ERROR_ARGUMENT,
                 "tau");
    hb_problem_destroy(fine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_average_on_the_line),
        cmocka_unit_test(test_average_far_from_a_box),
        cmocka_unit_test(test_average_in_the_plane),
        cmocka_unit_test(test_potential_by_lines),
        cmocka_unit_test(test_potential_across_a_narrow_turn),
        cmocka_unit_test(test_ornstein_uhlenbeck_is_exact),
        cmocka_unit_test(test_rotation_is_exact),
        cmocka_unit_test(test_noise_schedule_is_exact),
        cmocka_unit_test(test_turning_rotation_is_exact),
        cmocka_unit_test(test_density_of_1e_300),
        cmocka_unit_test(test_steps_are_unbiased),
        cmocka_unit_test(test_roulette_keeps_the_mean),
        cmocka_unit_test(test_rotation_by_rings),
        cmocka_unit_test(test_gauge_in_six_dimensions),
        cmocka_unit_test(test_uniform_start),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_watch),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
