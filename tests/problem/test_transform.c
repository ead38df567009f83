/* Noise as typed: what kind it is, the transform that it gets, and that the drift in the transform is Ito's.
 *
 * The drift is checked by Ito's formula with derivatives of the map by differences: for y = Y(x,t),
 *     dy_i = [dY_i/dt + sum_j f_j dY_i/dx_j + 1/2 sum_jk (G G')_jk d2Y_i/dx_j dx_k] dt + ...,
 * where f and G are evaluated here, by functions in C, and not by the library. */
#include "problem/noise.h"
#include "problem/transform/transform.h"
#include "problem_support.h"

#include <heatball/heatball.h>
#include <math.h>

typedef struct kind_case {
    int dim;
    const char *drift, *noise;
    hb_noise_kind kind;
    int transformed, linear, autonomous;
} kind_case;

static const kind_case KINDS[] = {
    {1, "0.1*x", "0.3*x", HB_NOISE_SCALAR, 1, 1, 1},
    {1, "x*(1 - log(x))", "0.3*x", HB_NOISE_SCALAR, 1, 1, 1},
    {1, "x - x^3", "0.3*x*exp(-t)", HB_NOISE_SCALAR, 1, 0, 0},
    {1, "x", "x^2 + 1", HB_NOISE_FIELD, 0, 1, 1},
    {1, "x", "1 + 0.3*sin(x)", HB_NOISE_SCALAR, 1, 0, 1},
    {1, "x", "1 + 9*exp(-(x - 3)^2*1e8)", HB_NOISE_FIELD, 0, 1, 1},
    {1, "x", "1.5 + 0.5*sign(x)", HB_NOISE_FIELD, 0, 1, 1},
    {1, "x", "1 + 0.3*abs(x)/(1 + abs(x))", HB_NOISE_FIELD, 0, 1, 1},
    {2, "-x, -y", "0.5, 0.5", HB_NOISE_SCALAR, 0, 1, 1},
    {2, "-x, -y", "0.6, 0.8; -0.8, 0.6", HB_NOISE_SCALAR, 0, 1, 1},
    {2, "-x, -y", "0.5, 2", HB_NOISE_SCALAR, 1, 1, 1},
    {2, "-x, -y", "0.5*exp(-t), 2*exp(-t)", HB_NOISE_SCALAR, 1, 1, 0},
    {2, "-x, -y", "1 + t, 0.3; 0, 1", HB_NOISE_SCALAR, 1, 1, 0},
    {2, "-x, -y", "1 - t, 0.3; 0, 1", HB_NOISE_MATRIX, 0, 1, 1},
    {2, "y, -x", "0, 0.7", HB_NOISE_MATRIX, 0, 1, 1},
    {2, "y, -x^3", "0; 0.7", HB_NOISE_MATRIX, 0, 0, 1},
    {2, "-x, -2*y", "0.5*x; y", HB_NOISE_MATRIX, 1, 1, 1},
    {2, "-x, -y", "y, 1", HB_NOISE_FIELD, 0, 1, 1},
    {2, "-x, -y", "x, 1; 1, 1", HB_NOISE_FIELD, 0, 1, 1},
    {2, "-x, -y", "x, 2*x; 1, 1", HB_NOISE_SCALAR, 1, 1, 1},
    {3, "-x1, -x2, -x3", "0.2*x[i]", HB_NOISE_SCALAR, 1, 1, 1},
    {3, "-x1, -x2, -x3", "0.2*x[i];", HB_NOISE_MATRIX, 1, 1, 1},
};

static void kinds_are_read_off_formulas(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t k = 0; k < sizeof KINDS / sizeof *KINDS; k++) {
        const kind_case *c = &KINDS[k];
        hb_problem *problem = problem_of(context, c->dim, c->drift, c->noise, NULL);
        if (hb_problem_noise_kind(problem) != c->kind ||
            (hb_problem_frame(problem) != NULL) != c->transformed ||
            hb_problem_is_linear(problem) != c->linear ||
            hb_problem_is_autonomous(problem) != c->autonomous)
            fail_msg("%s: kind %d transform '%s' linear %d autonomous %d", c->noise,
                     (int)hb_problem_noise_kind(problem),
                     hb_problem_frame(problem) ? hb_problem_frame(problem) : "none",
                     hb_problem_is_linear(problem), hb_problem_is_autonomous(problem));
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* ---- Ito's formula ---- */

typedef struct ito_case {
    const char *drift, *noise;
    double x[2], t;
    void (*f)(const double *x, double t, double *f);
    void (*G)(const double *x, double t, double *G); /* 2 x 2 */
} ito_case;

static void f_cubic(const double *x, double t, double *f)
{
    f[0] = x[0] - x[0] * x[0] * x[0] + t * x[1];
    f[1] = sin(x[0]) - x[1];
}

static void G_turning(const double *x, double t, double *G)
{
    (void)x;
    G[0] = 1 + t, G[1] = 0.3, G[2] = 0.2 * t, G[3] = 1;
}

static void G_mixed(const double *x, double t, double *G)
{
    G[0] = 0.4 * x[0] * exp(-t), G[1] = 0.2 * x[0];
    G[2] = 0.01 * sqrt(4 + x[1] * x[1]), G[3] = 0.5 * sqrt(4 + x[1] * x[1]);
}

static void G_table(const double *x, double t, double *G)
{
    (void)t;
    G[0] = 1 + 0.3 * sin(x[0]), G[1] = 0;
    G[2] = 0.2 * (2 + tanh(x[1])), G[3] = 2 + tanh(x[1]);
}

static void G_bounded(const double *x, double t, double *G)
{
    (void)t;
    G[0] = 0.7 * x[0] * (3 - x[0]), G[1] = 0;
    G[2] = 0.1 * (x[1] - 5), G[3] = 0.6 * (x[1] - 5);
}

static const ito_case ITO[] = {
    {"x - x^3 + t*y, sin(x) - y", "1 + t, 0.3; 0.2*t, 1", {0.7, -0.4}, 0.6, f_cubic, G_turning},
    {"x - x^3 + t*y, sin(x) - y",
     "0.4*x*exp(-t), 0.2*x; 0.01*sqrt(4 + y^2), 0.5*sqrt(4 + y^2)",
     {0.7, -0.4},
     0.6,
     f_cubic,
     G_mixed},
    {"x - x^3 + t*y, sin(x) - y",
     "0.7*x*(3 - x), 0; 0.1*(y - 5), 0.6*(y - 5)",
     {1.7, 5.8},
     0.6,
     f_cubic,
     G_bounded},
    {"x - x^3 + t*y, sin(x) - y",
     "1 + 0.3*sin(x), 0; 0.2*(2 + tanh(y)), 2 + tanh(y)",
     {1.7, -0.8},
     0.6,
     f_cubic,
     G_table},
};

static double y_at(hb_context *context, const hb_problem *problem, const double *x, double t, int i)
{
    double y[2];
    assert_ok(context, hb_problem_to_frame(context, problem, 1, x, t, y));
    return y[i];
}

/* The map's derivative by x_j and x_k (or t: -1, none: -2), by central differences. */
static double slope(hb_context *context, const hb_problem *problem, const ito_case *c, int i, int j,
                    int k)
{
    const double h = 2e-3;
    double sum = 0;
    for (int a = -1; a <= 1; a += 2)
        for (int b = -1; b <= (k >= 0 ? 1 : -1); b += 2) {
            double x[2] = {c->x[0], c->x[1]}, t = c->t;
            if (j >= 0) x[j] += a * h;
            if (j == -1) t += a * h;
            if (k >= 0) x[k] += b * h;
            sum += a * (k >= 0 ? b : 1) * y_at(context, problem, x, t, i);
        }
    return sum / (k >= 0 ? 4 * h * h : 2 * h);
}

static void the_drift_is_that_of_ito(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (size_t n = 0; n < sizeof ITO / sizeof *ITO; n++) {
        const ito_case *c = &ITO[n];
        hb_problem *problem =
            problem_of(context, 2, c->drift, c->noise, n == 2 ? "uniform(1 2, 5.5 6)" : NULL);
        assert_int_equal(hb_problem_noise_kind(problem), HB_NOISE_SCALAR);
        double f[2], G[4], y[2], back[2], tau, F[2], noise[4], rate;
        assert_non_null(hb_problem_frame(problem));
        c->f(c->x, c->t, f);
        c->G(c->x, c->t, G);
        assert_ok(context, hb_problem_to_frame(context, problem, 1, c->x, c->t, y));
        assert_ok(context, hb_problem_from_frame(context, problem, 1, y, c->t, back));
        assert_near(back[0], c->x[0], 1e-12);
        assert_near(back[1], c->x[1], 1e-12);
        assert_ok(context, hb_problem_tau_of_t(context, problem, c->t, &tau));
        assert_ok(context, hb_problem_drift(context, problem, 1, y, tau, F, NULL, NULL, NULL));
        assert_ok(context, hb_problem_noise_factor(context, problem, 1, NULL, c->t, noise));
        rate = 0.5 * noise[0] * noise[0];
        for (int i = 0; i < 2; i++) {
            double wanted = slope(context, problem, c, i, -1, -2), squares[2] = {0};
            for (int j = 0; j < 2; j++) {
                const double first = slope(context, problem, c, i, j, -2);
                wanted += f[j] * first;
                for (int k = 0; k < 2; k++)
                    wanted += 0.5 * (G[2 * j] * G[2 * k] + G[2 * j + 1] * G[2 * k + 1]) *
                              slope(context, problem, c, i, j, k);
                squares[0] += first * G[2 * j];
                squares[1] += first * G[2 * j + 1];
            }
            assert_near(F[i] * rate, wanted, 2e-5 * (1 + fabs(wanted)));
            /* and the noise of y_i has the rate of all */
            assert_near(squares[0] * squares[0] + squares[1] * squares[1], 2 * rate, 1e-4 * rate);
        }
        hb_problem_destroy(problem);
    }
    hb_context_destroy(context);
}

/* ---- densities ---- */

static void volumes_and_scores_are_those_of_the_map(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const ito_case *c = &ITO[1];
    hb_problem *problem = problem_of(context, 2, c->drift, c->noise, NULL);
    const hb_transform *transform = hb_problem_transform_of(problem);
    double J[4], volume, y[2], score[2] = {0.3, -1.1}, again[2];
    for (int k = 0; k < 4; k++) J[k] = slope(context, problem, c, k / 2, k % 2, -2);
    assert_ok(context, hb_problem_to_frame(context, problem, 1, c->x, c->t, y));
    assert_ok(context, hb_transform_volume(context, transform, c->t, 1, y, &volume));
    assert_near(volume, -log(fabs(J[0] * J[3] - J[1] * J[2])), 1e-5);
    memcpy(again, score, sizeof score);
    assert_ok(context, hb_transform_score(context, transform, c->t, 1, c->x, again, NULL));
    assert_ok(context, hb_transform_score_to_y(context, transform, c->t, 1, c->x, again));
    assert_near(again[0], score[0], 1e-12);
    assert_near(again[1], score[1], 1e-12);
    double outside[2] = {-0.1, 0};
    assert_ok(context, hb_problem_to_frame(context, problem, 1, outside, c->t, y));
    assert_true(isnan(y[0]) && isnan(y[1]));
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void fields_have_their_divergence(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_of(context, 2, "-x, -y", "x*y, 1; sin(x), y + t", NULL);
    const double h = 1e-4, x[2] = {0.7, -0.4};
    double D[4], high[4], low[4], divergence[2], wanted[2] = {0};
    assert_ok(context, hb_problem_diffusion(context, problem, 1, x, 0.3, D, divergence));
    assert_near(D[1], 0.5 * (x[0] * x[1] * sin(x[0]) + x[1] + 0.3), 1e-14);
    for (int j = 0; j < 2; j++) {
        double up[2] = {x[0], x[1]}, down[2] = {x[0], x[1]};
        up[j] += h, down[j] -= h;
        assert_ok(context, hb_problem_diffusion(context, problem, 1, up, 0.3, high, NULL));
        assert_ok(context, hb_problem_diffusion(context, problem, 1, down, 0.3, low, NULL));
        for (int i = 0; i < 2; i++) wanted[i] += (high[2 * i + j] - low[2 * i + j]) / (2 * h);
    }
    assert_near(divergence[0], wanted[0], 1e-7);
    assert_near(divergence[1], wanted[1], 1e-7);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_are_read_off_formulas),
        cmocka_unit_test(the_drift_is_that_of_ito),
        cmocka_unit_test(volumes_and_scores_are_those_of_the_map),
        cmocka_unit_test(fields_have_their_divergence),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
