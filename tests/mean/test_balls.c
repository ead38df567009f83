/* Balls behind anchors (heatball/balls.h) against closed-form densities: mixtures of Gaussians under OU and under a
 * linear drift with a rotation (exact_fields.h), in 1 to 8 dimensions; moments of the nodes in 100. */
#define SHARED_THREADS 2
#include "shared_context.h"

#include "exact_fields.h"

enum { ANCHORS = 6, MOST_DIM = 8, MOST_NODES = 1200, BEYOND = 100 };

static hb_balls_settings settings_of(int kind, int degree, double share)
{
    hb_balls_settings s;
    hb_balls_settings_default(sizeof s, &s);
    s.kind = kind;
    s.degree = degree;
    s.time_fraction = share;
    s.seed = 2385;
    return s;
}

/* Two bells, so that nothing is symmetric; OU when omega is 0. */
static exact_field field_of(int dim, double omega, double spoil)
{
    exact_field f = {.dim = dim, .terms = 2, .omega = omega, .spoil = spoil, .weight = {0.6, 0.4}};
    for (int i = 0; i < dim; i++) {
        f.a[i] = omega == 0 ? 1 : i < 2 ? 0.7 : 1.3;
        f.mean[0][i] = 0.8 - 0.3 * i;
        f.mean[1][i] = -0.9 + 0.2 * i;
        f.variance[0][i] = 0.5 + 0.05 * i;
        f.variance[1][i] = 0.3;
    }
    return f;
}

static hb_problem *drift_of(const exact_field *f)
{
    char text[4096];
    hb_problem *problem;
    exact_drift_text(f, "1", sizeof text, text);
    assert_ok(CTX, hb_problem_parse(CTX, text, "1.4142135623730951", NULL, &problem));
    return problem;
}

static void make_anchors(int dim, double *x, double *tau)
{
    assert_ok(CTX, hb_random_normal(CTX, 7, 1, 0, (size_t)(ANCHORS * dim), x));
    for (int i = 0; i < ANCHORS; i++) tau[i] = 0.15 + 0.13 * i;
}

static double node_x[ANCHORS * MOST_NODES * MOST_DIM], node_tau[ANCHORS * MOST_NODES];
static double weight[ANCHORS * MOST_NODES], shift[ANCHORS * MOST_NODES];
static double arm[ANCHORS * MOST_NODES * MOST_DIM], arm_weight[ANCHORS * MOST_NODES];
static double factor[ANCHORS * MOST_NODES], factor0[ANCHORS];
static double turn[ANCHORS * MOST_NODES * MOST_DIM], rate[ANCHORS * MOST_NODES];
static double scale[ANCHORS], radius[ANCHORS], noise[ANCHORS];

static hb_balls_values all_values(int kind)
{
    const int score = kind == HB_BALLS_KIND_SCORE;
    return (hb_balls_values){.size = sizeof(hb_balls_values),
                             .x = node_x,
                             .tau = node_tau,
                             .weight = weight,
                             .shift = shift,
                             .arm = score ? arm : NULL,
                             .arm_weight = score ? arm_weight : NULL,
                             .factor = score ? factor : NULL,
                             .factor0 = score ? factor0 : NULL,
                             .drift = score ? turn : NULL,
                             .rate = score ? rate : NULL,
                             .scale = scale,
                             .radius = radius,
                             .noise = noise};
}

/* scale R of anchor i, the formulas of the header; of a score its largest coordinate. */
static double residual_of_density(const exact_field *f, size_t i, size_t m, const double *x0,
                                  double tau0)
{
    double gradient[MOST_DIM], sum = 0;
    const double v0 = exact_point(f, x0, tau0, gradient);
    for (size_t j = i * m; j < (i + 1) * m; j++)
        sum +=
            weight[j] *
            exp(shift[j] + exact_point(f, node_x + j * (size_t)f->dim, node_tau[j], gradient) - v0);
    return -scale[i] * log(sum);
}

static double residual_of_score(const exact_field *f, size_t i, size_t m, const double *x0,
                                double tau0)
{
    const size_t d = (size_t)f->dim;
    double R[MOST_DIM] = {0}, S[MOST_DIM], most = 0;
    exact_point(f, x0, tau0, R);
    for (size_t k = 0; k < d; k++) R[k] *= factor0[i];
    for (size_t j = i * m; j < (i + 1) * m; j++) {
        double source = -rate[j];
        exact_point(f, node_x + j * d, node_tau[j], S);
        for (size_t k = 0; k < d; k++) {
            S[k] *= factor[j];
            source += S[k] * S[k] - turn[j * d + k] * S[k];
        }
        for (size_t k = 0; k < d; k++)
            R[k] -= weight[j] * S[k] + arm_weight[j] * arm[j * d + k] * source;
    }
    for (size_t k = 0; k < d; k++) most = fmax(most, fabs(R[k]));
    return scale[i] * most;
}

/* The largest |scale R| over the anchors. */
static double worst_residual(const exact_field *f, const hb_balls_settings *settings)
{
    double x[ANCHORS * MOST_DIM], tau[ANCHORS], worst = 0;
    hb_balls *balls;
    hb_balls_values values = all_values(settings->kind);
    make_anchors(f->dim, x, tau);
    assert_ok(CTX, hb_balls_create(CTX, settings, f->dim, &balls));
    const size_t m = hb_balls_nodes(balls);
    assert_true(m <= MOST_NODES);
    assert_ok(CTX, hb_balls_place(CTX, balls, 0, ANCHORS, x, tau, NULL, NULL, &values));
    for (size_t i = 0; i < ANCHORS; i++) {
        const double *x0 = x + i * (size_t)f->dim;
        for (size_t j = i * m; j < (i + 1) * m; j++) assert_true(node_tau[j] < tau[i]);
        worst = fmax(worst, settings->kind == HB_BALLS_KIND_SCORE
                                ? residual_of_score(f, i, m, x0, tau[i])
                                : fabs(residual_of_density(f, i, m, x0, tau[i])));
    }
    hb_balls_destroy(balls);
    return worst;
}

static void residuals_vanish_at_solutions(void **state)
{
    (void)state;
    const int dims[] = {1, 2, 8};
    for (int kind = HB_BALLS_KIND_LOG_DENSITY; kind <= HB_BALLS_KIND_SCORE; kind++)
        for (int k = 0; k < 3; k++)
            for (int drift = 0; drift <= (dims[k] > 1); drift++) {
                const exact_field f = field_of(dims[k], drift ? 0.9 : 0, 1);
                hb_problem *problem = drift ? drift_of(&f) : NULL;
                hb_balls_settings s = settings_of(kind, 3, NAN);
                s.process = drift ? HB_PROCESS_DRIFT : HB_PROCESS_OU;
                s.drift = problem;
                assert_true(worst_residual(&f, &s) < 0.05);
                s.time_fraction = dims[k] > 2 ? 0.002 : 0.1; /* small balls, or good nodes */
                s.degree = dims[k] > 2 ? 3 : 10;
                assert_true(worst_residual(&f, &s) < (dims[k] > 2 ? 0.005 : 1e-5));
                hb_problem_destroy(problem);
            }
}

/* What solves du/dtau = k Lap u - div(F u) has the residual (k-1)(Lap v + |grad v|^2), and b/2 times it is what
 * small balls tend to; by OU and by its drift as text. */
static void small_balls_see_the_equation(void **state)
{
    (void)state;
    const exact_field f = field_of(2, 0, 1.2);
    hb_problem *problem = drift_of(&f);
    double x[ANCHORS * 2], tau[ANCHORS], gradient[2], there[2], back[2];
    make_anchors(2, x, tau);
    for (int drift = 0; drift < 2; drift++) {
        hb_balls_settings s = settings_of(HB_BALLS_KIND_LOG_DENSITY, 3, 1e-5);
        s.process = drift ? HB_PROCESS_DRIFT : HB_PROCESS_OU;
        s.drift = drift ? problem : NULL;
        hb_balls_values values = all_values(s.kind);
        hb_balls *balls;
        assert_ok(CTX, hb_balls_create(CTX, &s, 2, &balls));
        assert_ok(CTX, hb_balls_place(CTX, balls, 0, ANCHORS, x, tau, NULL, NULL, &values));
        for (size_t i = 0; i < ANCHORS; i++) {
            const double h = 1e-4, b = -expm1(-2 * tau[i]);
            double laplacian = 0;
            exact_point(&f, x + 2 * i, tau[i], gradient);
            for (int k = 0; k < 2; k++) {
                double y[2] = {x[2 * i], x[2 * i + 1]};
                y[k] += h;
                exact_point(&f, y, tau[i], there);
                y[k] -= 2 * h;
                exact_point(&f, y, tau[i], back);
                laplacian += (there[k] - back[k]) / (2 * h) + gradient[k] * gradient[k];
            }
            assert_near(residual_of_density(&f, i, 4, x + 2 * i, tau[i]), b / 2 * 0.2 * laplacian,
                        2e-4 * (1 + fabs(laplacian)));
            assert_relative(noise[i], b, 1e-12);
        }
        hb_balls_destroy(balls);
    }
    hb_problem_destroy(problem);
}

/* One pair for each of many anchors at one place: their mean is the average of the measures, to 5 standard errors. */
static void pairs_average_to_the_measures(void **state)
{
    (void)state;
    enum { N = 20000, D = 2 };
    static double x[N * D], tau[N], y[N * 4 * D], t[N * 4], w[N * 4], sh[N * 4], a[N * 4 * D];
    static double aw[N * 4], c[N * 4], c0[N], F[N * 4 * D], r[N * 4];
    for (int kind = HB_BALLS_KIND_LOG_DENSITY; kind <= HB_BALLS_KIND_SCORE; kind++)
        for (int drift = 0; drift < 2; drift++) {
            const exact_field f = field_of(D, drift ? 0.9 : 0, 1);
            hb_problem *problem = drift ? drift_of(&f) : NULL;
            hb_balls_settings s = settings_of(kind, 0, 0.3);
            s.pairs = 1;
            s.process = drift ? HB_PROCESS_DRIFT : HB_PROCESS_OU;
            s.drift = problem;
            const int score = kind == HB_BALLS_KIND_SCORE;
            hb_balls_values values = {.size = sizeof values,
                                      .x = y,
                                      .tau = t,
                                      .weight = w,
                                      .shift = sh,
                                      .arm = a,
                                      .arm_weight = aw,
                                      .factor = c,
                                      .factor0 = c0,
                                      .drift = F,
                                      .rate = r};
            hb_balls *balls;
            for (int i = 0; i < N; i++) x[2 * i] = 0.4, x[2 * i + 1] = -0.3, tau[i] = 0.5;
            assert_ok(CTX, hb_balls_create(CTX, &s, D, &balls));
            const size_t m = hb_balls_nodes(balls);
            assert_int_equal(m, score || drift ? 4 : 2);
            assert_ok(CTX, hb_balls_place(CTX, balls, 0, N, x, tau, NULL, NULL, &values));
            double gradient[D], mean = 0, square = 0;
            const double v0 = exact_point(&f, x, 0.5, gradient);
            for (size_t i = 0; i < N; i++) {
                double R = score ? c0[i] * gradient[0] : 1, S[D];
                for (size_t j = i * m; j < (i + 1) * m; j++) {
                    const double v = exact_point(&f, y + j * D, t[j], S);
                    double source = -r[j];
                    for (int k = 0; k < D; k++) {
                        S[k] *= c[j];
                        source += S[k] * S[k] - F[j * D + (size_t)k] * S[k];
                    }
                    R -= score ? w[j] * S[0] + aw[j] * a[j * D] * source
                               : w[j] * exp(sh[j] + v - v0);
                }
                mean += R / N;
                square += R * R / N;
            }
            const double error = sqrt((square - mean * mean) / N);
            assert_true(error < 0.01 && error > 1e-6);
            assert_near(mean, 0, 5 * error);
            hb_balls_destroy(balls);
            hb_problem_destroy(problem);
        }
}

/* One bell is its own reference: v_ref is its closed form, and R of w = 0 is 0, under all processes. */
static void references_are_carried_along(void **state)
{
    (void)state;
    enum { D = 3 };
    static double v_ref[ANCHORS * MOST_NODES], v_ref0[ANCHORS];
    exact_field f = field_of(D, 0, 1);
    f.terms = 1;
    f.weight[0] = 1;
    for (int drift = 0; drift < 2; drift++) {
        f.omega = drift ? 0.9 : 0;
        double x[ANCHORS * D], tau[ANCHORS], covariance[D * D] = {0}, gradient[D];
        for (int i = 0; i < D; i++) covariance[i * D + i] = f.variance[0][i];
        if (drift) f.variance[0][1] = covariance[D + 1] = f.variance[0][0];
        hb_problem *problem = drift ? drift_of(&f) : NULL;
        hb_balls_settings s = settings_of(HB_BALLS_KIND_LOG_DENSITY, 3, 0.3);
        s.process = drift ? HB_PROCESS_DRIFT : HB_PROCESS_OU;
        s.drift = problem;
        s.mean = f.mean[0];
        s.covariance = covariance;
        hb_balls_values values = all_values(s.kind);
        values.reference = v_ref;
        values.reference0 = v_ref0;
        hb_balls *balls;
        make_anchors(D, x, tau);
        assert_ok(CTX, hb_balls_create(CTX, &s, D, &balls));
        assert_ok(CTX, hb_balls_place(CTX, balls, 0, ANCHORS, x, tau, NULL, NULL, &values));
        for (size_t i = 0; i < ANCHORS; i++) {
            double sum = 0;
            assert_near(v_ref0[i], exact_point(&f, x + i * D, tau[i], gradient), 1e-12);
            for (size_t j = i * 2 * D; j < (i + 1) * 2 * D; j++) {
                assert_near(v_ref[j], exact_point(&f, node_x + j * D, node_tau[j], gradient),
                            1e-11);
                sum += weight[j] * exp(shift[j]);
            }
            assert_near(sum, 1, 1e-14);
        }
        hb_balls_destroy(balls);
        hb_problem_destroy(problem);
    }
}

/* The 2 dim nodes of an anchor in 100 dimensions, where signs turn few rotations, against the moments of degree 3: E
 * sigma = C1/4, and |z|^2 + 2 dim tau being a solution, E z_i z_j = (C1/2) delta_ij; odd ones vanish. */
static void nodes_in_many_dimensions(void **state)
{
    (void)state;
    enum { D = BEYOND, N = 2 };
    static double x[N * D], y[N][2 * D * D], t[N][2 * D], w[N][2 * D], u[3][D];
    const double share = 0.01, tau0 = 1 / (4 * M_PI * share), tau[N] = {tau0, tau0}; /* r = 1 */
    hb_balls_settings s = settings_of(HB_BALLS_KIND_SCORE, 3, share);
    s.process = HB_PROCESS_VE;
    hb_ball_constants constants;
    hb_balls *balls;
    hb_balls_values values = {.size = sizeof values, .x = y[0], .tau = t[0], .weight = w[0]};
    assert_ok(CTX, hb_ball_constants_get(CTX, D, 0, sizeof constants, &constants));
    assert_ok(CTX, hb_random_normal(CTX, 3, 1, 0, 3 * D, u[0]));
    assert_ok(CTX, hb_balls_create(CTX, &s, D, &balls));
    assert_int_equal(hb_balls_nodes(balls), 2 * D);
    assert_ok(CTX, hb_balls_place(CTX, balls, 17, N, x, tau, NULL, NULL, &values));
    for (size_t anchor = 0; anchor < N; anchor++) {
        double total = 0, sigma = 0, second = 0, product = 0, odd[4] = {0};
        for (size_t j = 0; j < 2 * D; j++) {
            double along[3] = {0};
            for (size_t k = 0; k < 3 * D; k++)
                along[k / D] += u[k / D][k % D] * y[anchor][j * D + k % D];
            const double p = w[anchor][j], at = tau0 - t[anchor][j];
            total += p;
            sigma += p * at;
            second += p * along[0] * along[0];
            product += p * along[0] * along[1];
            odd[0] += p * along[0];
            odd[1] += p * along[0] * at;
            odd[2] += p * pow(along[0], 3);
            odd[3] += p * along[0] * along[1] * along[2];
        }
        double square = 0, mixed = 0;
        for (size_t k = 0; k < D; k++) square += u[0][k] * u[0][k], mixed += u[0][k] * u[1][k];
        assert_near(total, 1, 1e-12);
        assert_near(sigma, constants.C1 / 4, 1e-12);
        assert_near(second, constants.C1 / 2 * square, 1e-10);
        assert_near(product, constants.C1 / 2 * mixed, 1e-10);
        for (int k = 0; k < 4; k++) assert_near(odd[k], 0, 1e-10);
    }
    assert_memory_not_equal(y[0], y[1], sizeof y[0]);
    hb_balls_destroy(balls);
}

/* Few directions: weights of sum 1 around y_0 + 2 h grad v~_ref; the square along the slope is that of the diffusion,
 * 2 h, for every anchor, along any other direction in the mean (5 standard errors); without a slope along all. */
static void few_directions_have_the_squares_of_all(void **state)
{
    (void)state;
    enum { D = BEYOND, N = 400, NODES = 3 + 2 * 3 };
    static double x[N * D], tau[N], slope[N * D], reference[N * D];
    static double y[N * NODES * D], t[N * NODES], w[N * NODES], r[N];
    hb_balls_settings s = settings_of(HB_BALLS_KIND_LOG_DENSITY, 0, NAN);
    s.directions = 3;
    hb_ball_constants constants;
    hb_balls *balls;
    double u[D], exact = 0;
    assert_ok(CTX, hb_ball_constants_get(CTX, D, 0, sizeof constants, &constants));
    assert_ok(CTX, hb_random_normal(CTX, 3, 1, 0, D, u));
    assert_ok(CTX, hb_random_normal(CTX, 3, 2, 0, N * D, x));
    assert_ok(CTX, hb_random_normal(CTX, 3, 3, 0, N * D, slope));
    assert_ok(CTX, hb_random_normal(CTX, 3, 4, 0, N * D, reference));
    for (size_t i = 0; i < N; i++) tau[i] = 0.01 + 0.003 * (double)i;
    for (size_t k = 0; k < D; k++) exact += u[k] * u[k];
    assert_ok(CTX, hb_balls_create(CTX, &s, D, &balls));
    assert_int_equal(hb_balls_nodes(balls), NODES);
    for (int known = 0; known < 2; known++) {
        hb_balls_values values = {
            .size = sizeof values, .x = y, .tau = t, .weight = w, .radius = r};
        double sum = 0, squares = 0;
        assert_ok(CTX, hb_balls_place(CTX, balls, 0, N, x, tau, known ? slope : NULL, reference,
                                      &values));
        for (size_t i = 0; i < N; i++) {
            const double h = r[i] * r[i] * constants.C1 / 4, a0 = exp(-tau[i]);
            double total = 0, first = 0, along = 0, other = 0, norm = 0, trace = 0;
            for (size_t k = 0; k < D; k++) norm += slope[i * D + k] * slope[i * D + k];
            for (size_t j = i * NODES; j < (i + 1) * NODES; j++) {
                double by_slope = 0, by_u = 0;
                for (size_t k = 0; k < D; k++) {
                    const double xi = y[j * D + k] / exp(-t[j]) - x[i * D + k] / a0 -
                                      2 * h * a0 * reference[i * D + k];
                    by_slope += xi * slope[i * D + k] / sqrt(norm);
                    by_u += xi * u[k];
                    trace += w[j] * xi * xi / (2 * h);
                }
                total += w[j];
                first += w[j] * by_u;
                along += w[j] * by_slope * by_slope / (2 * h);
                other += w[j] * by_u * by_u / (2 * h);
            }
            assert_near(total, 1, 1e-12);
            assert_near(first, 0, 1e-10);
            assert_near(trace, D, 1e-8);
            if (known) assert_near(along, 1, 1e-9);
            sum += other / N;
            squares += other * other / N;
        }
        assert_near(sum, exact, 5 * sqrt((squares - sum * sum) / N));
        assert_true(sqrt((squares - sum * sum) / N) < 0.05 * exact);
    }
    hb_balls_destroy(balls);
}

/* Anchor i of a call is anchor first + i of the seed, on any number of threads, whatever is beside it. */
static void an_anchor_is_alone(void **state)
{
    (void)state;
    enum { D = 3, N = 900, M = 8 };
    static double x[N * D], tau[N], y[N * M * D], one[M * D];
    hb_context *single = make_context(HB_ISA_AUTO, 1);
    for (int rule = 0; rule < 2; rule++) {
        hb_balls_settings s = settings_of(HB_BALLS_KIND_LOG_DENSITY, rule ? 3 : 0, NAN);
        s.pairs = rule ? 0 : 4;
        hb_balls *balls, *again;
        hb_balls_values values = {.size = sizeof values, .x = y};
        assert_ok(CTX, hb_random_normal(CTX, 5, 1, 0, N * D, x));
        for (int i = 0; i < N; i++) tau[i] = 0.1 + 0.001 * i;
        assert_ok(CTX, hb_balls_create(CTX, &s, D, &balls));
        assert_ok(single, hb_balls_create(single, &s, D, &again));
        const size_t bytes = hb_balls_nodes(balls) * D * sizeof(double);
        assert_ok(CTX, hb_balls_place(CTX, balls, 40, N, x, tau, NULL, NULL, &values));
        for (size_t i = 0; i < N; i += 13) {
            values.x = one;
            assert_ok(single, hb_balls_place(single, again, 40 + i, 1, x + i * D, tau + i, NULL,
                                             NULL, &values));
            assert_memory_equal(one, (char *)y + i * bytes, bytes);
        }
        hb_balls_destroy(balls);
        hb_balls_destroy(again);
    }
    hb_context_destroy(single);
}

static void refused(hb_balls_settings s, int dim, const char *part)
{
    hb_balls *balls = (hb_balls *)&s;
    assert_int_equal(hb_balls_create(CTX, &s, dim, &balls), HB_ERROR_ARGUMENT);
    assert_null(balls);
    assert_non_null(strstr(hb_context_message(CTX), part));
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const hb_balls_settings fine = settings_of(HB_BALLS_KIND_LOG_DENSITY, 3, NAN);
    const double mean[2] = {0, 0}, bad[4] = {1, 0.5, 0.1, 1}, negative[4] = {1, 0, 0, -1};
    hb_balls_settings s = fine;
    s.degree = 2;
    refused(s, 2, "degree is 2");
    s.degree = 4;
    refused(s, 65, "at most 64 dimensions");
    s.degree = 3;
    refused(s, 2049, "at most 2048");
    s.pairs = 4;
    refused(s, 2, "one of them, and one only");
    s = fine, s.time_fraction = 1;
    refused(s, 2, "time_fraction is 1");
    s = fine, s.process = HB_PROCESS_DRIFT;
    refused(s, 2, "drift is NULL");
    s = fine, s.kind = 5;
    refused(s, 2, "kind is 5");
    s = fine, s.mean = mean;
    refused(s, 2, "no covariance");
    s.covariance = bad;
    refused(s, 2, "symmetric");
    s.covariance = negative;
    refused(s, 2, "eigenvalue -1");
    s = fine, s.degree = 0, s.directions = 2;
    refused(s, 2, "must be 1 to 1");
    s.kind = HB_BALLS_KIND_SCORE;
    refused(s, 9, "few directions are for log-densities");
    hb_balls *balls;
    double x[2] = {0, NAN}, tau = 0.3;
    hb_balls_values values = {.size = sizeof values};
    assert_ok(CTX, hb_balls_create(CTX, NULL, 2, &balls));
    assert_int_equal(hb_balls_place(CTX, balls, 0, 1, x, &tau, NULL, NULL, &values),
                     HB_ERROR_ARGUMENT);
    x[1] = 0, tau = 0;
    assert_int_equal(hb_balls_place(CTX, balls, 0, 1, x, &tau, NULL, NULL, &values),
                     HB_ERROR_ARGUMENT);
    tau = 301;
    assert_int_equal(hb_balls_place(CTX, balls, 0, 1, x, &tau, NULL, NULL, &values),
                     HB_ERROR_ARGUMENT);
    tau = 0.1;
    assert_ok(CTX, hb_balls_place(CTX, balls, 0, 1, x, &tau, NULL, NULL, &values));
    hb_balls_destroy(balls);
}

/* Whichever allocation fails, nothing is left behind. */
static void memory_that_fails(void **state)
{
    (void)state;
    const double x[3] = {0.1, 0.2, 0.3}, tau = 0.4;
    const double mean[3] = {0}, covariance[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    hb_balls_settings s = settings_of(HB_BALLS_KIND_SCORE, 4, NAN);
    s.mean = mean;
    s.covariance = covariance;
    hb_balls_values values = {.size = sizeof values};
    int done = 0;
    for (int allowance = 1; !done && allowance < 2000; allowance += allowance < 60 ? 1 : 37) {
        memory_count count = {0, allowance};
        hb_context *context = counting_context(&count);
        if (!context) continue;
        hb_balls *balls = NULL;
        hb_status status = hb_balls_create(context, &s, 3, &balls);
        if (status == HB_OK)
            status = hb_balls_place(context, balls, 0, 1, x, &tau, NULL, NULL, &values);
        assert_true(status == HB_OK || status == HB_ERROR_MEMORY);
        done = status == HB_OK;
        hb_balls_destroy(balls);
        hb_context_destroy(context);
        assert_int_equal(atomic_load(&count.live), 0);
    }
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_vanish_at_solutions),
        cmocka_unit_test(small_balls_see_the_equation),
        cmocka_unit_test(pairs_average_to_the_measures),
        cmocka_unit_test(references_are_carried_along),
        cmocka_unit_test(nodes_in_many_dimensions),
        cmocka_unit_test(few_directions_have_the_squares_of_all),
        cmocka_unit_test(an_anchor_is_alone),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(memory_that_fails),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
