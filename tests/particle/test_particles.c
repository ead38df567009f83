/* Forward particles against closed forms of linear SDEs, and against the grid for nonlinear ones: values
 * within 5 of the reported errors, reported errors against the spread over repetitions, against kernel
 * density estimation from the same trajectories, the same bits on any number of threads, trajectories of the
 * user, and what must be refused or flagged. */
#include "base/memory.h"
#include "exact_fields.h"
#include "particle/particle_estimator.h"
#include "particle/particle_kernel.h"
#include "particle_support.h"
#include "path/trajectories.h"

#include <heatball/random.h>

static hb_sampling_settings settings_of(uint64_t samples, uint64_t seed)
{
    hb_sampling_settings settings;
    hb_sampling_settings_default(sizeof settings, &settings);
    settings.samples = samples;
    settings.seed = seed;
    return settings;
}

enum { MOST_POINTS = 8, MOST_DIM = 20 };

typedef struct answers {
    hb_answer at[MOST_POINTS];
    double score[MOST_POINTS][MOST_DIM], score_se[MOST_POINTS][MOST_DIM];
    char note[512];
} answers;

static void solve(hb_context *with, const hb_problem *problem, double tau,
                  const hb_sampling_settings *settings, size_t n, const double *points,
                  answers *out)
{
    const int dim = hb_problem_dim(problem);
    const size_t size = hb_accumulator_size(dim);
    hb_estimator e;
    assert_ok(with, hb_particle_estimator(with, problem, tau, settings, n, points, &e));
    double *accumulators = calloc(n, size * sizeof *accumulators);
    const unsigned char wanted[MOST_POINTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (uint64_t k = 0; k < e.rounds && k * e.samples_per_round < settings->samples; k++)
        assert_ok(with, e.round(e.self, k, wanted, accumulators));
    for (size_t i = 0; i < n; i++)
        hb_accumulator_answer(dim, accumulators + i * size, e.log_scale[i], out->at + i,
                              out->score[i], out->score_se[i]);
    memcpy(out->note, e.note, sizeof out->note);
    free(accumulators);
    e.destroy(e.self);
}

/* ln u and score within 5 errors, which are at most `most`. */
static void assert_answer(const answers *s, size_t i, int dim, double v, const double *score,
                          double slack, double most)
{
    const hb_answer *a = s->at + i;
    if (a->flag != HB_FLAG_NONE) fail_msg("point %zu is in doubt %d: %s", i, a->flag, s->note);
    if (!(fabs(a->log_density - v) <= 5 * a->log_density_se + slack) || !(a->log_density_se < most))
        fail_msg("ln u at point %zu is %.6f +- %.1e, not %.6f: %s", i, a->log_density,
                 a->log_density_se, v, s->note);
    for (int k = 0; k < dim; k++)
        if (!(fabs(s->score[i][k] - score[k]) <= 5 * s->score_se[i][k] + slack))
            fail_msg("score %d at point %zu is %.5f +- %.1e, not %.5f: %s", k, i, s->score[i][k],
                     s->score_se[i][k], score[k], s->note);
}

/* As many units as a round has, of a quarter as many trajectories: other ones, with the same mean and four times the
 * variance; and a round after it is what it was. */
static void the_watch_is_a_small_round(void **state)
{
    (void)state;
    hb_problem *problem = parse("-x", "sqrt(2)", "gaussian(mean=0,var=0.5)");
    const hb_sampling_settings settings = settings_of(8192, 3);
    const double x = 0.4;
    const unsigned char wanted = 1;
    enum { MOST = 400 };
    double sums[3][MOST], score, se[2];
    hb_answer at[2];
    hb_estimator e;
    assert_true(hb_accumulator_size(1) <= MOST);
    assert_ok(context, hb_particle_estimator(context, problem, 0.5, &settings, 1, &x, &e));
    for (int k = 0; k < 3; k++) {
        hb_accumulator_clear(1, sums[k]);
        assert_ok(context, (k == 1 ? e.diagnostic : e.round)(e.self, 0, &wanted, sums[k]));
    }
    assert_memory_equal(sums[0], sums[2], hb_accumulator_size(1) * sizeof(double));
    assert_true(hb_accumulator_units(sums[0]) == hb_accumulator_units(sums[1]) &&
                e.diagnostic_parts == 4);
    for (int k = 0; k < 2; k++)
        hb_accumulator_answer(1, sums[k], e.log_scale[0], at + k, &score, se + k);
    assert_near(at[1].log_density, at[0].log_density, 5 * at[1].log_density_se);
    assert_true(at[1].log_density != at[0].log_density);
    assert_near(at[1].log_density_se, 2 * at[0].log_density_se, 0.6 * at[0].log_density_se);
    e.destroy(e.self);
    hb_problem_destroy(problem);
}

/* ---- rules in time ---- */

static void rules_are_exact_for_polynomials(void **state)
{
    (void)state;
    static const hb_rule_kind kinds[] = {HB_RULE_ROOT, HB_RULE_ROOT_LIMIT, HB_RULE_PLAIN_LIMIT};
    hb_particle_rule rule;
    for (int kind = 0; kind < 3; kind++)
        for (int fine = 2; fine <= 12; fine++)
            for (int which = 0; which < 2; which++) { // the rule, and the coarser one
                const int m[2] = {fine, fine - 1}, limit = kinds[kind] != HB_RULE_ROOT;
                const double step = kinds[kind] == HB_RULE_PLAIN_LIMIT ? 1 : 0.5;
                assert_ok(context, hb_rule_lag(context, 2.385, m, kinds[kind], &rule));
                for (int p = 0; p <= 2 * m[which] - 1 + limit; p++) { // s^(p/2), with the node at 0
                    double sum = p == 0 ? rule.at_zero[which] : 0;
                    for (int j = 1; j < rule.n; j++)
                        sum += (which ? rule.coarse[j] : rule.weight[j]) *
                               pow(rule.s[j] / 2.385, step * p);
                    assert_relative(sum, 2.385 / (step * p + 1), 1e-12);
                }
            }
    const double lags[] = {0.1, 0.23, 0.31, 0.5, 0.62, 0.8, 0.9, 1.1};
    const int few[2] = {5, 3};
    assert_ok(context, hb_rule_lag_given(context, lags, 6, few, &rule));
    for (int which = 0; which < 2; which++)
        for (int p = 0; p <= 3 - which; p++) {
            double sum = p == 0 ? rule.at_zero[which] : 0;
            for (int j = 1; j < rule.n; j++)
                sum += (which ? rule.coarse[j] : rule.weight[j]) * pow(rule.s[j], 0.5 * p);
            assert_relative(sum, pow(0.9, 0.5 * p + 1) / (0.5 * p + 1), 1e-10);
        }
    assert_true(rule.n >= 5 && rule.s[0] == 0.9);
}

/* Of the ball: kappa's part of t has the moments (D/(D+2p))^(D/2+2). */
static void the_balls_rule_has_the_moments_of_kappa(void **state)
{
    (void)state;
    const double half = 5.5, factor = pow(half, half + 2) / tgamma(half + 2);
    hb_particle_rule rule;
    const int m[2] = {6, 4};
    assert_ok(context, hb_rule_ball(context, 3, 8, 0.7, m, &rule));
    for (int p = 0; p <= 11; p++) {
        double sum = 0;
        for (int j = 0; j < rule.n_main; j++) {
            const double t = rule.s[j] / 0.7;
            const double rho = factor * pow(-log(t), half + 1) * pow(t, half - 1);
            sum += rule.weight[j] / 0.7 * rho * pow(t, p);
        }
        assert_relative(sum, pow(half / (half + p), half + 2), 1e-10);
    }
}

/* ---- kernels on stationary densities: the particles are quantiles, so there is no noise ---- */

/* The kernel of a rule at x0 on one set of particles for all times: u and grad u there. */
static void sum_kernel(const hb_problem *problem, const hb_particle_rule *rule, size_t n,
                       const double *x, const double *x0, double *a, double *b)
{
    const size_t d = (size_t)hb_problem_dim(problem), snapshots[HB_RULE_NODES] = {0};
    double *F = malloc(n * d * sizeof *F), *work = malloc(hb_kernel_work(d) * sizeof *work);
    uint32_t *scratch = malloc(n * sizeof *scratch);
    void *memory;
    hb_cell_list list;
    hb_particle_kernel kernel;
    int fits;
    assert_ok(context, hb_problem_drift(context, problem, n, x, 0.9, F, NULL, NULL, NULL));
    make_cell_list(n, d, &list, &memory);
    hb_cell_list_build(n, d, x, F, n, scratch, &list);
    assert_ok(context, hb_kernel_create(context, problem, 0.9, d, x0, rule, 1, snapshots, work,
                                        &kernel, &fits));
    assert_true(fits);
    hb_kernel_tune(&kernel, &list, work);
    const hb_kernel_means means[2] = {{a, b}, {NULL, NULL}};
    hb_kernel_sum(&kernel, &list, 1, n, means, NULL, work);
    *a *= exp(kernel.log_scale);
    for (size_t k = 0; k < d; k++) b[k] *= exp(kernel.log_scale);
    hb_kernel_destroy(context, &kernel);
    hb_release(context, memory);
    free(F);
    free(work);
    free(scratch);
}

/* n quantiles of exp(v) on [-half, half], and its total. */
static double quantiles(double (*v)(double), double half, size_t n, double *x)
{
    enum { CELLS = 400000 };
    double total = 0, sum = 0;
    for (int k = 0; k < CELLS; k++) total += exp(v(half * (2 * (k + 0.5) / CELLS - 1)));
    size_t next = 0;
    for (int k = 0; k < CELLS && next < n; k++) {
        const double y = half * (2 * (k + 0.5) / CELLS - 1), p = exp(v(y)) / total;
        while (next < n && sum + p >= ((double)next + 0.5) / (double)n) {
            const double inside = (((double)next + 0.5) / (double)n - sum) / p - 0.5;
            x[next++] = y + inside * 2 * half / CELLS;
        }
        sum += p;
    }
    return total * 2 * half / CELLS;
}

static double double_well(double x)
{
    return x * x - 0.5 * x * x * x * x;
}

static double wide(double x)
{
    return -0.2 * x * x;
}

static double narrow(double x)
{
    return -0.85 * x * x;
}

static void kernels_are_exact_on_the_double_well(void **state)
{
    (void)state;
    enum { N = 160000 };
    hb_problem *problem = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=0,var=1)");
    double *x = malloc(N * sizeof *x);
    const double total = quantiles(double_well, 5, N, x), places[] = {0.15, -0.8, 1.25};
    for (int ball = 0; ball < 2; ball++)
        for (int k = 0; k < 3; k++) {
            const double x0 = places[k], u = exp(double_well(x0)) / total;
            double a, b;
            const int m[2] = {ball ? 11 : 12, 6};
            hb_particle_rule rule;
            if (ball)
                assert_ok(context, hb_rule_ball(context, 1, 8, 0.1, m, &rule));
            else
                assert_ok(context, hb_rule_lag(context, 0.25, m, HB_RULE_ROOT, &rule));
            sum_kernel(problem, &rule, N, x, &x0, &a, &b);
            assert_relative(a, u, ball ? 1e-4 : 2e-6);
            assert_near(b / u, 2 * x0 - 2 * x0 * x0 * x0, ball ? 2e-4 : 4e-5);
        }
    free(x);
    hb_problem_destroy(problem);
}

/* In the plane the ball's frame leaves a linear part of the drift: its correction, and the system for the
 * gradient, are at work. */
static void the_ball_is_exact_in_the_plane(void **state)
{
    (void)state;
    enum { SIDE = 500, N = SIDE * SIDE };
    const double x0[] = {0.7, -0.5};
    hb_problem *problem = parse("-0.4*x, -1.7*y", "sqrt(2)", "gaussian(mean=0,var=1)");
    double side[2][SIDE], *x = malloc((size_t)2 * N * sizeof *x), a, b[2];
    const double total = quantiles(wide, 14, SIDE, side[0]) * quantiles(narrow, 7, SIDE, side[1]);
    for (size_t i = 0; i < N; i++) {
        x[2 * i] = side[0][i / SIDE];
        x[2 * i + 1] = side[1][i % SIDE];
    }
    const double u = exp(wide(x0[0]) + narrow(x0[1])) / total;
    const int m[2] = {11, 6};
    hb_particle_rule rule;
    assert_ok(context, hb_rule_ball(context, 2, 8, 0.6, m, &rule));
    sum_kernel(problem, &rule, N, x, x0, &a, b);
    assert_relative(a, u, 1e-4);
    assert_near(b[0] / u, -0.4 * x0[0], 5e-5);
    assert_near(b[1] / u, -1.7 * x0[1], 1e-4);
    free(x);
    hb_problem_destroy(problem);
}

/* ---- closed forms ---- */

static void gaussians_of_linear_drifts_come_out(void **state)
{
    (void)state;
    static const exact_field fields[] = {
        {1, 1, {1}, 0, 1, {1}, {{0.7}}, {{0.3}}},
        {2, 1, {0.3, 2}, 0, 1, {1}, {{0.7, -0.4}}, {{0.3, 0.5}}},
        {2, 1, {0.8, 0.8}, 2.5, 1, {1}, {{1.1, 0.2}}, {{0.3, 0.6}}},
        {1, 2, {1.2}, 0, 1, {0.3, 0.7}, {{-1.5}, {1}}, {{0.1}, {0.2}}},
    };
    static const char *drifts[] = {"-x", "-0.3*x, -2*y", "-0.8*x - 2.5*y, 2.5*x - 0.8*y", "-1.2*x"};
    static const char *starts[] = {"gaussian(mean=0.7,var=0.3)",
                                   "gaussian(mean=0.7 -0.4,var=0.3 0.5)",
                                   "gaussian(mean=1.1 0.2,var=0.3 0.6)", "mixture(%s)"};
    static const double points[] = {0.3, -0.6, 1.2, 0.9, -0.5, 1.1};
    FILE *file = fopen("/tmp/hb_test_particles_mixture.csv", "w");
    fprintf(file, "weight,mean_1,var_1\n0.3,-1.5,0.1\n0.7,1,0.2\n");
    fclose(file);
    for (int ball = 0; ball < 2; ball++)
        for (int k = 0; k < 4; k++) {
            char start[100];
            snprintf(start, sizeof start, starts[k], "/tmp/hb_test_particles_mixture.csv");
            hb_problem *problem = parse(drifts[k], "sqrt(2)", start);
            hb_sampling_settings settings = settings_of(16384, 11);
            if (ball) settings.lift = 7 + k % 2;
            answers s;
            const int dim = fields[k].dim;
            solve(context, problem, 0.5, &settings, 3, points, &s);
            assert_non_null(strstr(s.note, ball ? "heat ball" : "fixed lag 1 tau"));
            assert_non_null(strstr(s.note, "exact transitions"));
            for (size_t i = 0; i < 3; i++) {
                double score[2];
                const double v = exact_point(fields + k, points + i * (size_t)dim, 0.5, score);
                assert_answer(&s, i, dim, v, score, 0, ball ? 0.06 : 0.03);
            }
            hb_problem_destroy(problem);
        }
    remove("/tmp/hb_test_particles_mixture.csv");
}

/* dx = -x dt + g dW in d = 20 with variances from the closed form; lag tau needs no simulation. */
static void twenty_dimensions_come_out(void **state)
{
    (void)state;
    double point[2 * MOST_DIM], score[MOST_DIM];
    const double T = 0.8, fall = exp(-T), var = 0.6 * fall * fall + 0.5 * (1 - fall * fall);
    hb_problem_settings given;
    hb_problem_settings_default(sizeof given, &given);
    given.dim = 20;
    given.drift = "-x[i]";
    given.initial = "gaussian(mean=0.3,var=0.6)";
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &given, &problem));
    for (int k = 0; k < 40; k++) point[k] = 0.3 * fall + (k < 20 ? 0.1 : 0.35 * sin(k));
    hb_sampling_settings settings = settings_of(32768, 5);
    answers s;
    solve(context, problem, T / 2, &settings, 2, point, &s);
    for (size_t i = 0; i < 2; i++) {
        double v = -10 * log(2 * M_PI * var);
        for (int k = 0; k < 20; k++) {
            const double y = point[20 * i + (size_t)k] - 0.3 * fall;
            v -= 0.5 * y * y / var;
            score[k] = -y / var;
        }
        assert_answer(&s, i, 20, v, score, 0, 0.05);
    }
    hb_problem_destroy(problem);
}

/* g = 1 + t/2 makes F depend on tau. Var = v e^-2T + int_0^T e^-2(T-t) g^2 dt, by Simpson's rule. */
static void drifts_that_depend_on_time_come_out(void **state)
{
    (void)state;
    const double T = 0.9, points[] = {0.2, 0.9};
    hb_problem *problem = parse("-1.3*x", "1 + t/2", "gaussian(mean=0.7,var=0.2)");
    double var = 0.2 * exp(-2.6 * T), tau;
    for (int k = 0; k <= 200; k++) {
        const double t = T * k / 200, g = 1 + t / 2;
        var += (k % 200 == 0 ? 1 : k % 2 ? 4 : 2) * T / 600 * exp(-2.6 * (T - t)) * g * g;
    }
    assert_ok(context, hb_problem_tau_of_t(context, problem, T, &tau));
    hb_sampling_settings settings = settings_of(16384, 5);
    answers s;
    solve(context, problem, tau, &settings, 2, points, &s);
    for (size_t i = 0; i < 2; i++) {
        const double y = points[i] - 0.7 * exp(-1.3 * T), score = -y / var;
        assert_answer(&s, i, 1, -0.5 * (y * y / var + log(2 * M_PI * var)), &score, 0, 0.05);
    }
    assert_non_null(strstr(s.note, "Heun"));
    hb_problem_destroy(problem);
}

/* ---- nonlinear drifts, against the grid ---- */

static void assert_like_grid(const hb_problem *problem, double tau, const answers *s, size_t n,
                             const double *points, double most)
{
    const int dim = hb_problem_dim(problem);
    hb_grid_settings settings;
    hb_grid *grid;
    double v[MOST_POINTS], v_se[MOST_POINTS], score[2 * MOST_POINTS], score_se[2 * MOST_POINTS], t;
    hb_grid_settings_default(sizeof settings, &settings);
    assert_ok(context, hb_problem_t_of_tau(context, problem, tau, &t));
    assert_ok(context, hb_grid_solve(context, problem, &settings, n, points, t, &grid));
    assert_ok(context, hb_grid_evaluate(context, grid, n, points, tau, v, v_se, score, score_se));
    for (size_t i = 0; i < n; i++) {
        double slack = v_se[i];
        for (int k = 0; k < dim; k++) slack = fmax(slack, score_se[i * (size_t)dim + (size_t)k]);
        assert_answer(s, i, dim, v[i], score + i * (size_t)dim, slack, most);
    }
    hb_grid_destroy(grid);
}

static void the_bistable_problem_agrees_with_the_grid(void **state)
{
    (void)state;
    const double points[] = {0, 1, 1.6, -1.2};
    hb_problem *problem = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=0.3,var=0.5)");
    for (int ball = 0; ball < 2; ball++) {
        hb_sampling_settings settings = settings_of(16384, 3);
        if (ball) settings.radius = 1.1;
        answers s;
        solve(context, problem, 0.5, &settings, 4, points, &s);
        assert_like_grid(problem, 0.5, &s, 4, points, ball ? 0.04 : 0.015);
        assert_non_null(strstr(s.note, ball ? "heat ball of radius 1.1" : "fixed lag"));
        assert_non_null(strstr(s.note, "Heun steps"));
    }
    hb_problem_destroy(problem);
}

static void van_der_pol_agrees_with_the_grid(void **state)
{
    (void)state;
    const double points[] = {-1.5, 0.5, 1, -0.5};
    hb_problem *problem = parse("y, 1.5*(1 - x^2)*y - x", "0.7", "gaussian(mean=1 0,var=0.3)");
    double tau;
    assert_ok(context, hb_problem_tau_of_t(context, problem, 1, &tau));
    hb_sampling_settings settings = settings_of(16384, 3);
    answers s;
    solve(context, problem, tau, &settings, 2, points, &s);
    assert_like_grid(problem, tau, &s, 2, points, 0.08);
    hb_problem_destroy(problem);
}

/* ---- errors are honest, and smaller than those of kernel density estimation ---- */

/* Scott's rule: bandwidth sd_k n^(-1/(d+4)) on each axis; density and score at x. */
static void scott(size_t n, size_t d, const double *samples, const double *x, double *u,
                  double *score)
{
    double h[4];
    *u = 0;
    for (size_t k = 0; k < d; k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++) mean += samples[i * d + k] / (double)n;
        for (size_t i = 0; i < n; i++) squares += pow(samples[i * d + k] - mean, 2);
        h[k] = sqrt(squares / ((double)n - 1)) * pow((double)n, -1.0 / ((double)d + 4));
        score[k] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        double q = 1.0 / (double)n;
        for (size_t k = 0; k < d; k++) {
            const double y = (samples[i * d + k] - x[k]) / h[k];
            q *= exp(-0.5 * y * y) / (sqrt(2 * M_PI) * h[k]);
        }
        *u += q;
        for (size_t k = 0; k < d; k++) score[k] += q * (samples[i * d + k] - x[k]) / (h[k] * h[k]);
    }
    for (size_t k = 0; k < d; k++) score[k] /= *u;
}

/* Sums over repetitions at one point: squares of errors of both, and of z. */
typedef struct contest {
    double ours, ours_score, theirs, theirs_score, z2, bias, error2;
    int covered;
} contest;

static void compete(const hb_problem *problem, double tau, size_t n, const double *points,
                    const double *v, const double *score, int repetitions, contest *out)
{
    enum { N = 8000 };
    const size_t d = (size_t)hb_problem_dim(problem);
    double *samples = malloc(N * d * sizeof *samples), u, slope[4];
    memset(out, 0, n * sizeof *out);
    for (int r = 0; r < repetitions; r++) {
        hb_sampling_settings settings = settings_of(N, 100 + (uint64_t)r);
        hb_path_plan plan = {.problem = problem, .seed = settings.seed, .dim = d, .n_times = 1};
        plan.times = &tau;
        plan.step = tau / 64;
        answers s;
        solve(context, problem, tau, &settings, n, points, &s);
        assert_ok(context, hb_paths_simulate(context, &plan, 0, N, N, samples, NULL));
        for (size_t i = 0; i < n; i++) {
            const hb_answer *a = s.at + i;
            const double ratio = a->density / exp(v[i]) - 1;
            scott(N, d, samples, points + i * d, &u, slope);
            out[i].ours += ratio * ratio;
            out[i].bias += ratio;
            out[i].theirs += pow(u / exp(v[i]) - 1, 2);
            out[i].z2 += pow((a->log_density - v[i]) / a->log_density_se, 2);
            out[i].covered += fabs(a->log_density - v[i]) < 1.96 * a->log_density_se;
            for (size_t k = 0; k < d; k++) {
                out[i].ours_score += pow(s.score[i][k] - score[i * d + k], 2);
                out[i].theirs_score += pow(slope[k] - score[i * d + k], 2);
            }
        }
    }
    free(samples);
}

/* Over all points: density errors 3 times, score errors 2 times below; z^2 has mean 1. */
static void assert_won(size_t n, const contest *c, int repetitions)
{
    contest sum = {0};
    for (size_t i = 0; i < n; i++) {
        sum.ours += c[i].ours, sum.theirs += c[i].theirs, sum.z2 += c[i].z2;
        sum.ours_score += c[i].ours_score, sum.theirs_score += c[i].theirs_score;
    }
    const double count = (double)n * repetitions, z2 = sum.z2 / count;
    if (getenv("HB_SHOW"))
        printf("density %.4f against %.4f, score %.4f against %.4f, z^2 %.3f\n",
               sqrt(sum.ours / count), sqrt(sum.theirs / count), sqrt(sum.ours_score / count),
               sqrt(sum.theirs_score / count), z2);
    assert_true(9 * sum.ours < sum.theirs);
    assert_true(4 * sum.ours_score < sum.theirs_score);
    assert_near(z2, 1, 5 * sqrt(2 / count) + 0.15);
}

static void errors_are_far_below_those_of_kernel_density_estimation(void **state)
{
    (void)state;
    enum { REPETITIONS = 8, N = 2 };
    static const exact_field fields[] = {{2, 1, {0.3, 2}, 0, 1, {1}, {{0.5, 0.5}}, {{0.4, 0.4}}},
                                         {4,
                                          1,
                                          {0.3, 0.8666666666666667, 1.4333333333333333, 2},
                                          0,
                                          1,
                                          {1},
                                          {{0.5, 0.5, 0.5, 0.5}},
                                          {{0.4, 0.4, 0.4, 0.4}}}};
    static const char *drifts[] = {
        "-0.3*x, -2*y", "-0.3*x1, -0.8666666666666667*x2, -1.4333333333333333*x3, -2*x4"};
    static const double points[] = {0.3, -0.4, 0.8, 0.5, 0.9, 0.1, -0.2, 0.6};
    for (int k = 0; k < 2; k++) {
        const size_t d = (size_t)fields[k].dim;
        hb_problem *problem = parse(drifts[k], "sqrt(2)", "gaussian(mean=0.5,var=0.4)");
        double v[N], score[4 * N];
        contest c[N];
        for (size_t i = 0; i < N; i++)
            v[i] = exact_point(fields + k, points + i * d, 0.5, score + i * d);
        compete(problem, 0.5, N, points, v, score, REPETITIONS, c);
        assert_won(N, c, REPETITIONS);
        hb_problem_destroy(problem);
    }
}

/* Values of the grid (errors below 1e-7), which the test above compares with the grid itself. */
static void so_they_are_on_the_bistable_problem(void **state)
{
    (void)state;
    enum { REPETITIONS = 6, N = 3 };
    const double points[N] = {0, 1, 1.6};
    const double v[N] = {-1.34325943, -0.73035048, -1.95833419};
    const double score[N] = {0.3234, -0.0113, -5.0103};
    hb_problem *problem = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=0.3,var=0.5)");
    contest c[N];
    compete(problem, 0.5, N, points, v, score, REPETITIONS, c);
    assert_won(N, c, REPETITIONS);
    hb_problem_destroy(problem);
}

/* ---- bits ---- */

static void threads_change_no_bit(void **state)
{
    (void)state;
    const double points[] = {0.2, 0.1, 1, -0.5, -1.2, 0.4};
    hb_problem *problem = parse("y, 1.5*(1 - x^2)*y - x", "0.7", "gaussian(mean=1 0,var=0.3)");
    hb_sampling_settings settings = settings_of(2000, 9);
    answers s[2];
    memset(s, 0, sizeof s);
    for (int k = 0; k < 2; k++) {
        hb_context *own = make_context(HB_ISA_AUTO, k ? 3 : 1);
        solve(own, problem, 0.2, &settings, 3, points, s + k);
        hb_context_destroy(own);
    }
    assert_memory_equal(s, s + 1, sizeof *s);
    hb_problem_destroy(problem);
}

/* ---- callbacks, samples, trajectories of the user ---- */

static void a_callback_serves_as_well(void **state)
{
    (void)state;
    const double point = 0.4;
    hb_problem_settings given;
    hb_problem_settings_default(sizeof given, &given);
    given.dim = 1;
    given.drift_callback = bistable_callback;
    given.drift_has_jacobian = 1;
    given.noise = "sqrt(2)";
    given.initial = "gaussian(mean=0.3,var=0.5)";
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &given, &problem));
    hb_sampling_settings settings = settings_of(8192, 3);
    answers s;
    solve(context, problem, 0.5, &settings, 1, &point, &s);
    assert_like_grid(problem, 0.5, &s, 1, &point, 0.02);
    hb_problem_destroy(problem);
}

/* From samples: Brownian motion from three points is a sum of three Gaussians, nothing smoothed. */
static void samples_are_not_smoothed(void **state)
{
    (void)state;
    const double at[] = {-1.5, 0.2, 1.4}, points[] = {0, 1.3}, tau = 0.04;
    const char *path = "/tmp/hb_test_particles_samples.csv";
    FILE *file = fopen(path, "w");
    for (int k = 0; k < 3; k++) fprintf(file, "%.17g\n", at[k]);
    fclose(file);
    hb_problem *problem = parse("0", "sqrt(2)", "samples(/tmp/hb_test_particles_samples.csv)");
    hb_sampling_settings settings = settings_of(16384, 3);
    answers s;
    solve(context, problem, tau, &settings, 2, points, &s);
    for (size_t i = 0; i < 2; i++) {
        double u = 0, slope = 0;
        for (int k = 0; k < 3; k++) {
            const double y = points[i] - at[k],
                         q = exp(-y * y / (4 * tau)) / sqrt(4 * M_PI * tau) / 3;
            u += q;
            slope -= q * y / (2 * tau);
        }
        const double score = slope / u;
        assert_answer(&s, i, 1, log(u), &score, 1e-9, 0.03);
    }
    remove(path);
    hb_problem_destroy(problem);
}

/* Trajectories from the library's own simulation, handed over as a user's: 40 times in t. */
static void trajectories_of_the_user_serve(void **state)
{
    (void)state;
    enum { N = 12000, TIMES = 41 };
    const double points[] = {0, 1}, step = 0.0125;
    hb_problem *start = parse("2*(x - x^3)", "sqrt(2)", "gaussian(mean=0.3,var=0.5)");
    double times[TIMES], *x = malloc((size_t)N * TIMES * sizeof *x);
    double *paths = malloc((size_t)N * TIMES * sizeof *paths);
    for (int k = 0; k < TIMES; k++) times[k] = step * k;
    hb_path_plan plan = {.problem = start, .seed = 8, .dim = 1, .n_times = TIMES, .times = times};
    plan.step = step / 4;
    assert_ok(context, hb_paths_simulate(context, &plan, 0, N, N, x, NULL));
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < TIMES; k++) paths[i * TIMES + k] = x[k * N + i];
    hb_problem_settings given;
    hb_problem_settings_default(sizeof given, &given);
    given.drift = "2*(x - x^3)";
    given.noise = "sqrt(2)";
    hb_problem *problem; // without an initial density
    assert_ok(context, hb_problem_create(context, &given, &problem));
    hb_sampling_settings settings = settings_of(N, 3);
    settings.paths = paths, settings.path_times = times;
    settings.n_paths = N, settings.n_times = TIMES;
    answers s;
    solve(context, problem, times[TIMES - 1], &settings, 2, points, &s);
    assert_non_null(strstr(s.note, "trajectories of the user"));
    assert_like_grid(start, times[TIMES - 1], &s, 2, points, 0.03);

    hb_estimator e;
    settings.n_times = 1;
    assert_fails(context, hb_particle_estimator(context, problem, 0.5, &settings, 2, points, &e),
                 HB_ERROR_ARGUMENT, "at least 2 times");
    settings.n_times = TIMES;
    settings.lift = 8;
    assert_fails(context, hb_particle_estimator(context, problem, 0.5, &settings, 2, points, &e),
                 HB_ERROR_ARGUMENT, "cannot be chosen with trajectories");
    free(x);
    free(paths);
    hb_problem_destroy(problem);
    hb_problem_destroy(start);
}

/* ---- flags and refusals ---- */

static void what_cannot_be_known_is_in_doubt(void **state)
{
    (void)state;
    static const struct {
        const char *drift, *start;
        double tau, point;
    } cases[] = {{"x^3", "gaussian(mean=0,var=1)", 0.5, 0.3},        // paths explode
                 {"x - x^3", "gaussian(mean=0,var=1)", 0.5, 6},      // far in the tail
                 {"x - x^3", "gaussian(mean=0,var=1)", 0.5, 30},     // a frame beyond all lags
                 {"-x", "gaussian(mean=0,var=1)", 0.5, 37},          // density 1e-300
                 {"log(x)", "gaussian(mean=2,var=0.02)", 0.5, 1.5}}; // paths leave the domain
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hb_problem *problem = parse(cases[k].drift, "1", cases[k].start);
        hb_sampling_settings settings = settings_of(4096, 3);
        answers s;
        solve(context, problem, cases[k].tau, &settings, 1, &cases[k].point, &s);
        if (s.at[0].flag == HB_FLAG_NONE || isfinite(s.at[0].density_se))
            fail_msg("case %zu has no doubt: ln u = %g +- %g; %s", k, s.at[0].log_density,
                     s.at[0].log_density_se, s.note);
        hb_problem_destroy(problem);
    }
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    const double point = 0.3, outside = -1;
    hb_problem *problem = parse("-x", "1", "gaussian(mean=0,var=1)");
    hb_sampling_settings settings = settings_of(100, 1);
    hb_estimator e;
    settings.lift = 2;
    assert_fails(context, hb_particle_estimator(context, problem, 0.5, &settings, 1, &point, &e),
                 HB_ERROR_ARGUMENT, "it must be 3 to 64");
    settings.lift = -1;
    settings.radius = 2.6;
    assert_fails(context, hb_particle_estimator(context, problem, 0.5, &settings, 1, &point, &e),
                 HB_ERROR_ARGUMENT, "below sqrt(4 pi tau)");
    settings.radius = 0;
    assert_fails(context, hb_particle_estimator(context, problem, 0, &settings, 1, &point, &e),
                 HB_ERROR_ARGUMENT, "tau is 0");
    hb_problem_destroy(problem);
    problem = parse("log(x)", "1", "gaussian(mean=2,var=0.02)");
    assert_true(hb_particle_estimator(context, problem, 0.5, &settings, 1, &outside, &e) != HB_OK);
    hb_problem_destroy(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_watch_is_a_small_round),
        cmocka_unit_test(rules_are_exact_for_polynomials),
        cmocka_unit_test(the_balls_rule_has_the_moments_of_kappa),
        cmocka_unit_test(kernels_are_exact_on_the_double_well),
        cmocka_unit_test(the_ball_is_exact_in_the_plane),
        cmocka_unit_test(gaussians_of_linear_drifts_come_out),
        cmocka_unit_test(twenty_dimensions_come_out),
        cmocka_unit_test(drifts_that_depend_on_time_come_out),
        cmocka_unit_test(the_bistable_problem_agrees_with_the_grid),
        cmocka_unit_test(van_der_pol_agrees_with_the_grid),
        cmocka_unit_test(errors_are_far_below_those_of_kernel_density_estimation),
        cmocka_unit_test(so_they_are_on_the_bistable_problem),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_callback_serves_as_well),
        cmocka_unit_test(samples_are_not_smoothed),
        cmocka_unit_test(trajectories_of_the_user_serve),
        cmocka_unit_test(what_cannot_be_known_is_in_doubt),
        cmocka_unit_test(wrong_settings_are_refused),
    };
    return cmocka_run_group_tests_name("particles", tests, set_up, tear_down);
}
