/* The mean-value hierarchy against closed-form fields: Gaussians and mixtures carried by linear drifts
 * (exact_fields.h), in 1 to 16 dimensions, by Monte Carlo and by cubature. */
#define SHARED_THREADS 2
#include "shared_context.h"

#include "ball/ball_nodes.h"
#include "exact_fields.h"
#include "mean/moments.h"
#include "mean/sources.h"

#include <heatball/estimate.h>

/* A problem with the field's drift; noise sqrt(2) makes tau = t and F = f. */
static hb_problem *problem_of(hb_context *context, const exact_field *f)
{
    char text[4096];
    hb_problem *problem;
    exact_drift_text(f, "1", sizeof text, text);
    assert_ok(context, hb_problem_parse(context, text, "1.4142135623730951", NULL, &problem));
    return problem;
}

static hb_mean_settings settings_of(double radius, int lift, uint64_t samples, int degree)
{
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.radius = radius;
    settings.lift = lift;
    settings.samples = samples;
    settings.degree = degree;
    settings.seed = 2385;
    return settings;
}

/* All outputs at up to 4 points. */
typedef struct outputs {
    double u[4], u_se[4], v[4], v_se[4], w[4], w_se[4];
    double score[4 * EXACT_DIM], score_se[4 * EXACT_DIM], radius[4];
} outputs;

static hb_mean_values all_of(outputs *o)
{
    return (hb_mean_values){sizeof(hb_mean_values),
                            o->u,
                            o->u_se,
                            o->v,
                            o->v_se,
                            o->w,
                            o->w_se,
                            o->score,
                            o->score_se,
                            o->radius};
}

static void estimate(hb_context *context, exact_field *f, const hb_mean_settings *settings,
                     double tau0, size_t n, const double *x, outputs *o)
{
    hb_problem *problem = problem_of(context, f);
    const hb_field field = exact_as_field(f);
    hb_mean_values out = all_of(o);
    assert_ok(context, hb_mean_value(context, problem, &field, settings, n, x, tau0, &out));
    hb_problem_destroy(problem);
}

static const double POINT[EXACT_DIM] = {0.731, -0.52, 0.385, 0.9,  -0.11, 0.27, 0.64, -0.83,
                                        0.05,  0.48,  -0.3,  0.17, 0.59,  -0.7, 0.21, 0.333};

/* ---- exactness -------------------------------------------------------------------------------- */

/* |value - exact| within `widths` errors; the error itself is positive and below `largest`. */
static void assert_within(const char *what, double value, double error, double exact, double widths,
                          double largest)
{
    if (!(fabs(value - exact) <= widths * error) || !(error > 0) || !(error < largest))
        fail_msg("%s is %.10g +- %.2e; exact %.10g: %.2f errors away, error below %.1e", what,
                 value, error, exact, (value - exact) / error, largest);
}

static void assert_exact(exact_field *f, const hb_mean_settings *settings, double tau0,
                         double widths, double largest)
{
    outputs o;
    double gradient[EXACT_DIM];
    const double v = exact_point(f, POINT, tau0, gradient), u = exp(v);
    estimate(CTX, f, settings, tau0, 1, POINT, &o);
    assert_within("v", o.v[0], o.v_se[0], v, widths, largest);
    assert_within("u", o.u[0], o.u_se[0], u, widths, largest * u);
    assert_within("w", o.w[0], o.w_se[0], u * v, widths, largest * u * (1 + fabs(v)));
    for (int i = 0; i < f->dim; i++)
        assert_within("score", o.score[i], o.score_se[i], gradient[i], widths, largest);
}

static void exact_by_draws(void **state)
{
    (void)state;
    static const int dims[] = {1, 2, 3, 16}, lifts[] = {0, 1, 4};
    static const double radii[] = {0.385, 1.1, 2.3}, tau0 = 0.61;
    for (int k = 0; k < 3; k++) // isotropic, anisotropic, rotating
        for (int i = k == 2; i < 4; i++)
            for (int j = 0; j < 9; j++) {
                exact_field f = exact_gaussian(dims[i], 0.9, k == 1 ? 0.15 : 0, k == 2 ? 1.3 : 0);
                const hb_mean_settings s = settings_of(radii[j % 3], lifts[j / 3], 3000, 0);
                assert_exact(&f, &s, tau0, 5, 0.2);
            }
}

static void exact_for_mixtures(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int j = 0; j < 3; j++) {
            exact_field f = exact_mixture(dim, 0.8, dim > 1 ? -0.7 : 0);
            const hb_mean_settings s = settings_of(1.2, 2 * j, 20000, 0);
            assert_exact(&f, &s, 0.47, 5, 0.02);
        }
}

static void exact_by_cubature(void **state)
{
    (void)state;
    for (int dim = 1; dim <= 3; dim++)
        for (int lift = 0; lift <= 4; lift += 2) {
            exact_field f = exact_gaussian(dim, 0.9, dim == 3 ? 0.15 : 0, dim == 2 ? 1.3 : 0);
            hb_mean_settings s = settings_of(0.8, lift, 2, 8);
            assert_exact(&f, &s, 0.61, 1, 2e-5);
            s.degree = 4;
            assert_exact(&f, &s, 0.61, 1, 2e-3);
        }
    exact_field mixture = exact_mixture(2, 0.8, -0.7);
    const hb_mean_settings s = settings_of(0.6, 0, 2, 12);
    assert_exact(&mixture, &s, 0.47, 1, 1e-6);
}

/* A mixture, a drift and n points from uniform numbers; tau0 and the radius in settings[0 .. 1]. */
static exact_field random_problem(uint64_t seed, int dim, size_t n, double *x, double *settings)
{
    double uniform[32];
    assert_ok(CTX, hb_random_uniform(CTX, seed, 0, 0, 32, uniform));
    assert_ok(CTX, hb_random_uniform(CTX, seed, 1, 0, n * (size_t)dim, x));
    exact_field f = exact_mixture(dim, 0.2 + 1.4 * uniform[0],
                                  dim > 1 && uniform[1] < 0.5 ? 8 * uniform[1] - 2 : 0);
    f.terms = 1 + (int)(3 * uniform[2]);
    for (int k = 0; k < f.terms; k++)
        for (int i = 0; i < dim; i++) {
            f.mean[k][i] = 3 * uniform[3 + 3 * k + i] - 1.5;
            f.variance[k][i] = 0.25 + 0.95 * uniform[12 + k];
        }
    for (size_t i = 0; i < n * (size_t)dim; i++) x[i] = 3.6 * x[i] - 1.8;
    settings[0] = 0.4 + 1.1 * uniform[15];
    settings[1] = sqrt(4 * M_PI * 0.95 * settings[0]) * (0.2 + 0.8 * uniform[16]);
    return f;
}

/* Reported errors of cubature on problems drawn at random. Of 8640 numbers some three are beyond 3
 * errors, the farthest at 4. With the difference to degree p-2 alone, which is small by chance now
 * and then, it is a hundred, and the farthest at 150. */
static void errors_of_cubature_hold(void **state)
{
    (void)state;
    enum { CALLS = 36, N = 48 };
    static double x[3 * N], v[N], v_se[N], u[N], u_se[N], w[N], w_se[N], s[3 * N], s_se[3 * N];
    hb_mean_values out = {sizeof out, u, u_se, v, v_se, w, w_se, s, s_se, NULL};
    double worst = 0;
    int far = 0, count = 0;
    for (int call = 0; call < CALLS; call++) {
        const int dim = 1 + call % 3, degree = 4 + 2 * (call / 3 % 3);
        double where[2];
        exact_field f = random_problem(500 + (uint64_t)call, dim, N, x, where);
        const hb_mean_settings settings = settings_of(where[1], call / 9 % 2, 2, degree);
        hb_problem *problem = problem_of(CTX, &f);
        const hb_field field = exact_as_field(&f);
        assert_ok(CTX, hb_mean_value(CTX, problem, &field, &settings, N, x, where[0], &out));
        hb_problem_destroy(problem);
        for (int i = 0; i < N; i++) {
            double g[EXACT_DIM], ratio[3 + EXACT_DIM];
            const double exact = exact_point(&f, x + i * dim, where[0], g);
            ratio[0] = fabs(v[i] - exact) / v_se[i];
            ratio[1] = fabs(u[i] - exp(exact)) / u_se[i];
            ratio[2] = fabs(w[i] - exact * exp(exact)) / w_se[i];
            for (int c = 0; c < dim; c++)
                ratio[3 + c] = fabs(s[i * dim + c] - g[c]) / s_se[i * dim + c];
            for (int c = 0; c < 3 + dim; c++, count++) {
                worst = fmax(worst, ratio[c]);
                far += !(ratio[c] <= 3);
            }
        }
    }
    if (far > 8 || !(worst < 10))
        fail_msg("%d of %d beyond 3 errors, the farthest at %.1f", far, count, worst);
}

/* The reported error is the spread over seeds. */
static void errors_are_the_real_spread(void **state)
{
    (void)state;
    enum { SEEDS = 100 };
    exact_field f = exact_mixture(2, 0.8, 0.4);
    for (int lift = 0; lift <= 3; lift += 3) {
        double mean[5] = {0}, squares[5] = {0}, claimed[5] = {0};
        hb_moments spread = {0, 5, mean, squares};
        for (int k = 0; k < SEEDS; k++) {
            outputs o;
            hb_mean_settings s = settings_of(1.3, lift, 1500, 0);
            s.seed = 1000 + (uint64_t)k;
            estimate(CTX, &f, &s, 0.47, 1, POINT, &o);
            const double row[5] = {o.v[0], o.u[0], o.w[0], o.score[0], o.score[1]};
            const double se[5] = {o.v_se[0], o.u_se[0], o.w_se[0], o.score_se[0], o.score_se[1]};
            hb_moments_add(&spread, 1, row);
            for (int c = 0; c < 5; c++) claimed[c] += se[c] * se[c] / SEEDS;
        }
        for (size_t c = 0; c < 5; c++) {
            const double ratio = sqrt(claimed[c] * (SEEDS - 1) / squares[c]);
            if (!(ratio > 0.8 && ratio < 1.25)) fail_msg("column %zu: ratio %.3f", c, ratio);
        }
    }
}

/* All chunks count: 64 times the pairs, an eighth of the error. */
static void errors_shrink_with_the_pairs(void **state)
{
    (void)state;
    exact_field f = exact_mixture(2, 0.8, 0.4);
    outputs few, many;
    hb_mean_settings s = settings_of(1.3, 0, 1500, 0);
    estimate(CTX, &f, &s, 0.47, 1, POINT, &few);
    s.samples *= 64;
    estimate(CTX, &f, &s, 0.47, 1, POINT, &many);
    assert_relative(few.v_se[0] / many.v_se[0], 8, 0.15);
    assert_relative(few.score_se[1] / many.score_se[1], 8, 0.15);
}

static void tiny_densities_keep_their_digits(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(2, 0.9, 0, 0);
    double x[2] = {38.2, -1.2};
    outputs o;
    const hb_mean_settings s = settings_of(0.05, 0, 4000, 0);
    estimate(CTX, &f, &s, 1.385, 1, x, &o);
    const double v = exact_point(&f, x, 1.385, NULL);
    assert_true(v < -670 && v > -700);
    assert_true(fabs(o.u[0] / exp(v) - 1) < 5 * o.u_se[0] / exp(v) && o.u_se[0] / exp(v) < 0.01);
    assert_true(fabs(o.w[0] / (v * exp(v)) - 1) < 5 * o.w_se[0] / fabs(v * exp(v)));
    x[0] = 60; // u is 0 in double, ln u and the score are not
    estimate(CTX, &f, &s, 1.385, 1, x, &o);
    assert_true(o.u[0] == 0 && o.v[0] < -1500 && isfinite(o.v_se[0]));
}

/* u = E_kappa[u] - c_g r E_gradient[(F.ghat) u], rho = r U: no derivative of u or F. */
static void derivative_free_line_agrees(void **state)
{
    (void)state;
    enum { N = 40000 };
    exact_field f = exact_gaussian(2, 0.9, 0, 1.3);
    hb_problem *problem = problem_of(CTX, &f);
    hb_ball_constants constants;
    assert_ok(CTX, hb_ball_constants_get(CTX, 2, 0, sizeof constants, &constants));
    static double z[2 * N], sigma[N], y[2 * N], s[N], uniform[N];
    const double r = 1.1, tau0 = 0.61;
    assert_ok(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, 2, 0, 11, 0, N, r, z, sigma));
    assert_ok(CTX, hb_ball_sample(CTX, HB_MEASURE_GRADIENT, 2, 0, 12, 0, N, r, y, s));
    assert_ok(CTX, hb_random_uniform(CTX, 13, 0, 0, N, uniform));
    double mean = 0, squares = 0;
    hb_moments moments = {0, 1, &mean, &squares};
    for (int k = 0; k < N; k++) {
        const double a[2] = {POINT[0] + z[2 * k], POINT[1] + z[2 * k + 1]}, U = uniform[k];
        const double b[2] = {POINT[0] + U * y[2 * k], POINT[1] + U * y[2 * k + 1]};
        double F[2];
        assert_ok(CTX, hb_problem_drift(CTX, problem, 1, b, 0.3, F, NULL, NULL, NULL));
        const double flow = (F[0] * y[2 * k] + F[1] * y[2 * k + 1]) / hypot(y[2 * k], y[2 * k + 1]);
        const double row =
            exp(exact_point(&f, a, tau0 - sigma[k], NULL)) -
            constants.c_g * r * flow * exp(exact_point(&f, b, tau0 - U * U * s[k], NULL));
        hb_moments_add(&moments, 1, &row);
    }
    outputs o;
    const hb_mean_settings settings = settings_of(r, 0, N, 0);
    estimate(CTX, &f, &settings, tau0, 1, POINT, &o);
    assert_near(mean, o.u[0], 5 * hypot(hb_moments_error(&moments, 0), o.u_se[0]));
    hb_problem_destroy(problem);
}

/* Time-dependent f and g that make the same F: every pair needs its own time. */
static void drifts_that_depend_on_time(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(2, 0.9, 0, 1.3);
    char text[1024];
    hb_problem *moving, *resting = problem_of(CTX, &f);
    exact_drift_text(&f, "(1+t)", sizeof text, text);
    assert_ok(CTX, hb_problem_parse(CTX, text, "sqrt(2*(1+t))", NULL, &moving));
    assert_true(hb_problem_is_autonomous(resting) && !hb_problem_is_autonomous(moving));
    const hb_field field = exact_as_field(&f);
    for (int degree = 0; degree <= 6; degree += 6) {
        const hb_mean_settings s = settings_of(1.1, 0, 600, degree);
        outputs a, b;
        hb_mean_values out_a = all_of(&a), out_b = all_of(&b);
        assert_ok(CTX, hb_mean_value(CTX, resting, &field, &s, 1, POINT, 0.61, &out_a));
        assert_ok(CTX, hb_mean_value(CTX, moving, &field, &s, 1, POINT, 0.61, &out_b));
        assert_relative(b.v[0], a.v[0], 1e-9);
        assert_relative(b.w[0], a.w[0], 1e-9);
        assert_relative(b.score[1], a.score[1], 1e-9);
    }
    hb_problem_destroy(moving);
    hb_problem_destroy(resting);
}

/* Rows with their own times, equal ones in runs. */
static void drift_is_taken_at_its_own_time(void **state)
{
    (void)state;
    hb_problem *problem;
    assert_ok(CTX, hb_problem_parse(CTX, "-(1+t)*x1", "1.4142135623730951", NULL, &problem));
    exact_field f = exact_gaussian(1, 0.9, 0, 0);
    const hb_field field = exact_as_field(&f);
    hb_equation equation;
    assert_ok(CTX, hb_equation_create(CTX, problem, &field, &equation));
    const double x[5] = {0.5, -1.2, 2.385, 0.7, 1.1}, tau[5] = {0.1, 0.1, 0.4, 0.4, 0.25};
    double drift[5], divergence[5];
    assert_ok(CTX, hb_drift_values(CTX, &equation, 5, x, tau, drift, divergence));
    for (int i = 0; i < 5; i++) {
        assert_relative(drift[i], -(1 + tau[i]) * x[i], 1e-11);
        assert_relative(divergence[i], -(1 + tau[i]), 1e-11);
    }
    hb_problem_destroy(problem);
}

/* ---- the loss without source, the functional J ------------------------------------------------ */

/* Stationary F = -x: h_v = d everywhere, so v - E_kappa[v] = d C1 r^2/4, not 0. */
static void loss_without_source_is_not_zero(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const int dims[] = {2, 16};
    static const double off[] = {0.0198944, 0.3920};
    static double z[N * EXACT_DIM], sigma[N];
    for (int k = 0; k < 2; k++) {
        exact_field f = exact_gaussian(dims[k], 1, 0, 0);
        for (int i = 0; i < dims[k]; i++) f.mean[0][i] = 0, f.variance[0][i] = 1;
        assert_ok(CTX, hb_ball_sample(CTX, HB_MEASURE_KAPPA, dims[k], 0, 5, 0, N, 1, z, sigma));
        double mean = 0, squares = 0;
        hb_moments loss = {0, 1, &mean, &squares};
        for (int j = 0; j < N; j++) {
            double a[EXACT_DIM], b[EXACT_DIM];
            for (int i = 0; i < dims[k]; i++) {
                a[i] = POINT[i] + z[j * dims[k] + i];
                b[i] = POINT[i] - z[j * dims[k] + i];
            }
            const double row = exact_point(&f, POINT, 0.5, NULL) -
                               0.5 * (exact_point(&f, a, 0.5 - sigma[j], NULL) +
                                      exact_point(&f, b, 0.5 - sigma[j], NULL));
            hb_moments_add(&loss, 1, &row);
        }
        assert_near(mean, off[k], 5 * hb_moments_error(&loss, 0));
        assert_true(mean > 20 * hb_moments_error(&loss, 0));
        const hb_mean_settings s = settings_of(1, 0, 4000, 0);
        assert_exact(&f, &s, 0.5, 5, 0.02); // with the source it holds
    }
}

static void functional_is_constant_in_r(void **state)
{
    (void)state;
    exact_field f = exact_mixture(2, 0.8, -0.7);
    hb_problem *problem = problem_of(CTX, &f);
    hb_field field = exact_as_field(&f);
    const double radii[5] = {0.1, 0.4, 0.9, 1.6, 2.2};
    const double exact = 4 * exp(exact_point(&f, POINT, 0.47, NULL));
    double J[5], J_se[5];
    hb_mean_settings s = settings_of(0, 0, 40000, 0);
    assert_ok(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, 5, POINT, 0.47, radii, J, J_se));
    for (int j = 0; j < 5; j++) assert_within("J", J[j], J_se[j], exact, 5, 0.01 * exact);
    s.degree = 8;
    assert_ok(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, 3, POINT, 0.47, radii, J, J_se));
    for (int j = 0; j < 3; j++) assert_within("J", J[j], J_se[j], exact, 1, 1e-3 * exact);
    f.spoil = 1.2; // no solution: J moves with r
    const double mode[2] = {1.1, 0.4};
    assert_ok(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, 3, mode, 0.47, radii, J, J_se));
    assert_true(fabs(J[2] - J[0]) > 20 * J_se[2]);
    hb_problem_destroy(problem);
}

/* ---- residuals -------------------------------------------------------------------------------- */

/* (k-1) (Lap v + |grad v|^2) for a spoiled Gaussian, times 1, u, u (1+v). */
static double pointwise_residual(const exact_field *f, hb_quantity quantity, double tau)
{
    double gradient[EXACT_DIM], sum = 0;
    const double v = exact_point(f, POINT, tau, gradient);
    for (int i = 0; i < f->dim; i++)
        sum += gradient[i] * gradient[i] - 1 / exact_variance(f, 0, i, tau);
    const double factor[] = {exp(v), 1, exp(v) * (1 + v)};
    return (f->spoil - 1) * sum * factor[quantity];
}

static void residual_vanishes_for_solutions(void **state)
{
    (void)state;
    const double radii[3] = {0.3, 0.8, 1.7};
    double R[3], se[3], scaled[3], scaled_se[3];
    for (int dim = 1; dim <= 16; dim += dim < 3 ? 1 : 13)
        for (int quantity = 0; quantity < 3; quantity++)
            for (int degree = -1; degree <= 0; degree++) {
                exact_field f = exact_gaussian(dim, 0.9, 0, dim > 1 ? 0.6 : 0);
                hb_problem *problem = problem_of(CTX, &f);
                const hb_field field = exact_as_field(&f);
                hb_mean_settings s = settings_of(0, dim == 1, 4000, degree);
                s.quantity = quantity;
                assert_ok(CTX, hb_mean_residual(CTX, problem, &field, &s, 1, 3, POINT, 0.61, radii,
                                                &(hb_residual_values){sizeof(hb_residual_values), R,
                                                                      se, scaled, scaled_se}));
                hb_problem_destroy(problem);
                hb_ball_constants constants;
                assert_ok(CTX,
                          hb_ball_constants_get(CTX, dim, s.lift, sizeof constants, &constants));
                for (int j = 0; j < 3; j++) {
                    assert_true(fabs(R[j]) <= 5 * se[j] && se[j] > 0);
                    assert_relative(scaled[j], 4 * R[j] / (constants.C1 * radii[j] * radii[j]),
                                    1e-12);
                    assert_relative(
                        scaled_se[j] * se[0],
                        scaled_se[0] * se[j] * radii[0] * radii[0] / (radii[j] * radii[j]), 1e-12);
                }
            }
}

static void residual_catches_wrong_fields(void **state)
{
    (void)state;
    const double radius = 0.6;
    for (int dim = 1; dim <= 16; dim += dim < 3 ? 1 : 13)
        for (int quantity = 0; quantity < 3; quantity++) {
            exact_field f = exact_gaussian(dim, 0.9, 0, 0);
            f.spoil = 1.3;
            hb_problem *problem = problem_of(CTX, &f);
            const hb_field field = exact_as_field(&f);
            double R, se;
            hb_mean_settings s = settings_of(0, 0, 20000, 0);
            s.quantity = quantity;
            assert_ok(CTX, hb_mean_residual(CTX, problem, &field, &s, 1, 1, POINT, 0.61, &radius,
                                            &(hb_residual_values){sizeof(hb_residual_values), &R,
                                                                  &se, NULL, NULL}));
            if (!(fabs(R) > 20 * se))
                fail_msg("dim %d, quantity %d: z = %.1f", dim, quantity, R / se);
            hb_problem_destroy(problem);
        }
}

static void scaled_residual_tends_at_second_order(void **state)
{
    (void)state;
    const double radii[3] = {0.4, 0.2, 0.1};
    double scaled[3], error[3];
    for (int dim = 1; dim <= 3; dim++)
        for (int quantity = 0; quantity < 3; quantity++) {
            exact_field f = exact_gaussian(dim, 0.9, 0, dim > 1 ? 0.6 : 0);
            f.spoil = 1.3;
            hb_problem *problem = problem_of(CTX, &f);
            const hb_field field = exact_as_field(&f);
            const double limit = pointwise_residual(&f, (hb_quantity)quantity, 0.61);
            hb_mean_settings s;
            hb_mean_settings_default(sizeof s, &s);
            s.quantity = quantity;
            assert_ok(CTX, hb_mean_residual(CTX, problem, &field, &s, 1, 3, POINT, 0.61, radii,
                                            &(hb_residual_values){sizeof(hb_residual_values), NULL,
                                                                  NULL, scaled, NULL}));
            for (int j = 0; j < 3; j++) error[j] = fabs(scaled[j] - limit);
            assert_true(error[2] < 0.01 * fabs(limit));
            for (int j = 0; j < 2; j++)
                if (!(log2(error[j] / error[j + 1]) >= 1.8))
                    fail_msg("dim %d, quantity %d: order %.2f", dim, quantity,
                             log2(error[j] / error[j + 1]));
            hb_problem_destroy(problem);
        }
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* E[z_i^2] = C1/2 and E[sigma] of the slope measure, which a lifted ball is drawn from. */
static void slope_measure_has_its_moments(void **state)
{
    (void)state;
    enum { PAIRS = 50000 };
    static double z[3 * PAIRS], sigma[PAIRS], uniform[PAIRS], y[6 * PAIRS], s[2 * PAIRS],
        arm[6 * PAIRS];
    for (int lift = 1; lift <= 4; lift++) {
        hb_ball_constants constants;
        assert_ok(CTX, hb_ball_constants_get(CTX, 3, lift, sizeof constants, &constants));
        hb_ball_nodes_draw draw = {3, lift, constants.c_g, {21, 22}, z, sigma, uniform};
        hb_ball_nodes unit = {0, y, s, NULL, arm};
        assert_ok(CTX, hb_ball_nodes_random(CTX, &draw, HB_BALL_NODES_SCORE, 0, PAIRS, &unit));
        double mean[3] = {0}, squares[3] = {0};
        hb_moments moments = {0, 3, mean, squares};
        const double D = 3 + lift;
        for (int k = 0; k < PAIRS; k++) {
            const double *a = arm + 6 * k;
            const double L = -log(4 * M_PI * sigma[k]);
            const double row[3] = {a[0] * a[0] + a[1] * a[1] + a[2] * a[2], L, L * L};
            hb_moments_add(&moments, 1, row);
        }
        const double shape = D / 2 + 1, rate = D / 2;
        assert_near(mean[0], 1.5 * constants.C1, 5 * hb_moments_error(&moments, 0));
        assert_near(mean[1], shape / rate, 5 * hb_moments_error(&moments, 1));
        assert_near(mean[2], shape * (shape + 1) / (rate * rate),
                    5 * hb_moments_error(&moments, 2));
    }
}

static void moments_match_numpy(void **state)
{
    (void)state;
    const double values[6] = {1, 1e9, 2, 2e9, 4, 4e9};
    double mean[2] = {0}, squares[2] = {0}, mean_b[2] = {0}, squares_b[2] = {0};
    hb_moments all = {0, 2, mean, squares}, rest = {0, 2, mean_b, squares_b};
    hb_moments_add(&all, 1, values);
    hb_moments_add(&rest, 2, values + 2);
    hb_moments_merge(&all, &rest);
    assert_relative(mean[0], 7.0 / 3, 1e-15);
    assert_relative(hb_moments_error(&all, 0), 0.88191710368819698, 1e-14);
    assert_relative(hb_moments_error(&all, 1), 0.88191710368819698e9, 1e-14);
}

/* ---- threads, points, the default radius ------------------------------------------------------- */

static void same_bits_on_any_threads(void **state)
{
    (void)state;
    exact_field f = exact_mixture(3, 0.8, 0.5);
    const double x[9] = {0.3, 0.1, -0.2, 1.1, -0.4, 0.7, -0.9, 0.6, 0.2};
    for (int degree = 0; degree <= 4; degree += 4) {
        outputs a, b, c;
        memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
        const hb_mean_settings s = settings_of(0.9, 2, 7000, degree);
        hb_context *one = make_context(HB_ISA_AUTO, 1), *many = make_context(HB_ISA_AUTO, 5);
        estimate(one, &f, &s, 0.47, 3, x, &a);
        estimate(many, &f, &s, 0.47, 3, x, &b);
        assert_memory_equal(&a, &b, sizeof a);
        estimate(many, &f, &s, 0.47, 1, x, &c); // without the other points
        assert_true(c.v[0] == a.v[0] && c.w_se[0] == a.w_se[0] && c.score[2] == a.score[2]);
        assert_true(a.v[0] != a.v[1] && a.score_se[8] > 0);
        hb_context_destroy(one);
        hb_context_destroy(many);
    }
    outputs same; // one point twice: independent draws
    const double twice[6] = {0.3, 0.1, -0.2, 0.3, 0.1, -0.2};
    const hb_mean_settings s = settings_of(0.9, 0, 500, 0);
    estimate(CTX, &f, &s, 0.47, 2, twice, &same);
    assert_true(same.v[0] != same.v[1]);
}

static void outputs_are_optional(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(2, 0.9, 0, 0);
    hb_problem *problem = problem_of(CTX, &f);
    const hb_field field = exact_as_field(&f);
    const hb_mean_settings s = settings_of(0.8, 1, 1000, 0);
    outputs all, some;
    estimate(CTX, &f, &s, 0.61, 1, POINT, &all);
    hb_mean_values only_score = {.size = sizeof only_score, .score = some.score},
                   only_w = {.size = sizeof only_w, .w_se = some.w_se},
                   none = {.size = sizeof none};
    assert_ok(CTX, hb_mean_value(CTX, problem, &field, &s, 1, POINT, 0.61, &only_score));
    assert_ok(CTX, hb_mean_value(CTX, problem, &field, &s, 1, POINT, 0.61, &only_w));
    assert_ok(CTX, hb_mean_value(CTX, problem, &field, &s, 1, POINT, 0.61, &none));
    assert_ok(CTX, hb_mean_value(CTX, problem, &field, &s, 0, NULL, 0.61, &only_w));
    assert_true(some.score[0] == all.score[0] && some.score[1] == all.score[1]);
    assert_true(some.w_se[0] == all.w_se[0]);
    hb_problem_destroy(problem);
}

static void default_radius_follows_the_rule(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(2, 0.9, 0, 0);
    const double x[4] = {0.3, -0.2, 7, 5};
    const hb_mean_settings s = settings_of(0, 0, 100, 0);
    for (int k = 0; k < 2; k++) { // deep time: the source limits r; shallow: the time does
        outputs o;
        const double tau0 = k ? 0.02 : 3.1;
        estimate(CTX, &f, &s, tau0, 2, x, &o);
        for (int i = 0; i < 2; i++) {
            double g[EXACT_DIM] = {0}, C1 = 0.0397887357729738;
            exact_point(&f, x + 2 * i, tau0, g);
            const double slope2 = g[0] * g[0] + g[1] * g[1];
            const double along = 0.9 * fabs(x[2 * i] * g[0] + x[2 * i + 1] * g[1]);
            const double widest = 4 * 0.25 / (C1 * (slope2 + along + 1.8));
            assert_relative(o.radius[i], sqrt(fmin(widest, 4 * M_PI * 0.9 * tau0)), 1e-12);
        }
        assert_true(k ? o.radius[0] == o.radius[1] || o.radius[1] < o.radius[0]
                      : o.radius[1] < 0.7);
    }
}

/* ---- errors ----------------------------------------------------------------------------------- */

static int failing_field(void *user, size_t n, const double *x, const double *tau, double *v,
                         double *gradient)
{
    (void)n, (void)x, (void)tau, (void)v, (void)gradient;
    return *(int *)user;
}

/* v = -|x|, but nan in the left half. */
static int broken_field(void *user, size_t n, const double *x, const double *tau, double *v,
                        double *gradient)
{
    (void)user, (void)tau;
    for (size_t i = 0; i < n; i++) {
        v[i] = x[i] < 0 ? NAN : -x[i];
        if (gradient) gradient[i] = -1;
    }
    return 0;
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(1, 0.9, 0, 0), g = exact_gaussian(2, 0.9, 0, 0);
    hb_problem *problem = problem_of(CTX, &f);
    hb_field field = exact_as_field(&f), plane = exact_as_field(&g), no_callback = field;
    no_callback.evaluate = NULL;
    const double x = 0.3, bad = NAN;
    double v;
    hb_mean_values out = {.size = sizeof out, .v = &v};
    hb_mean_settings s = settings_of(0.5, 0, 100, 0);
#define REFUSED(text, ...)                                                                         \
    assert_fails(CTX, hb_mean_value(CTX, __VA_ARGS__), HB_ERROR_ARGUMENT, text)
    REFUSED("the problem is NULL", NULL, &field, &s, 1, &x, 0.5, &out);
    REFUSED("the field is NULL", problem, NULL, &s, 1, &x, 0.5, &out);
    REFUSED("callback is NULL", problem, &no_callback, &s, 1, &x, 0.5, &out);
    REFUSED("dim 2 and the problem 1", problem, &plane, &s, 1, &x, 0.5, &out);
    REFUSED("output of the mean values is NULL", problem, &field, &s, 1, &x, 0.5, NULL);
    REFUSED("x is NULL with 3 points", problem, &field, &s, 3, NULL, 0.5, &out);
    REFUSED("coordinate 1 of point 0 is nan", problem, &field, &s, 1, &bad, 0.5, &out);
    REFUSED("tau0 is 0; the field is known from tau 0 to 5", problem, &field, &s, 1, &x, 0, &out);
    REFUSED("tau0 is 7;", problem, &field, &s, 1, &x, 7, &out);
    REFUSED("tau0 is nan;", problem, &field, &s, 1, &x, NAN, &out);
    s.radius = 2.6; // 4 pi 0.5 = 6.283, its root 2.50663
    REFUSED("radius is 2.6; at tau0 = 0.5 it must be positive and below 2.50663", problem, &field,
            &s, 1, &x, 0.5, &out);
    s.radius = -1;
    REFUSED("radius is -1", problem, &field, &s, 1, &x, 0.5, &out);
    s = settings_of(0.5, -1, 100, 0);
    REFUSED("lift is -1", problem, &field, &s, 1, &x, 0.5, &out);
    s = settings_of(0.5, 0, 1, 0);
    REFUSED("samples is 1; it must be 2", problem, &field, &s, 1, &x, 0.5, &out);
    s = settings_of(0.5, 0, 100, 1);
    REFUSED("degree is 1; it must be 2 to 20", problem, &field, &s, 1, &x, 0.5, &out);
    s.degree = 21;
    REFUSED("degree is 21;", problem, &field, &s, 1, &x, 0.5, &out);
    const double radii[2] = {0.3, 2.6};
    s = settings_of(0, 0, 100, 0);
    assert_fails(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, 2, &x, 0.5, radii, &v, NULL),
                 HB_ERROR_ARGUMENT, "below 2.50663");
    assert_fails(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, 2, &x, 0.5, NULL, &v, NULL),
                 HB_ERROR_ARGUMENT, "radii is NULL");
    assert_fails(CTX, hb_mean_monotonicity(CTX, problem, &field, &s, -2, &x, 0.5, radii, &v, NULL),
                 HB_ERROR_ARGUMENT, "n_radii is -2");
    hb_residual_values none = {.size = sizeof none};
#define RESIDUAL_REFUSED(text, ...)                                                                \
    assert_fails(CTX, hb_mean_residual(CTX, problem, &field, __VA_ARGS__), HB_ERROR_ARGUMENT, text)
    RESIDUAL_REFUSED("below 2.50663", &s, 1, 2, &x, 0.5, radii, &none);
    RESIDUAL_REFUSED("radii is NULL", &s, 1, 2, &x, 0.5, NULL, &none);
    RESIDUAL_REFUSED("n_radii is -1", &s, 1, -1, &x, 0.5, radii, &none);
    RESIDUAL_REFUSED("output of the residuals is NULL", &s, 1, 2, &x, 0.5, radii, NULL);
    s.quantity = 3;
    RESIDUAL_REFUSED("quantity is 3", &s, 1, 2, &x, 0.5, radii, &none);
    none.size = 0;
    RESIDUAL_REFUSED("size of hb_residual_values is 0", &s, 1, 2, &x, 0.5, radii, &none);
    hb_problem_destroy(problem);
}

static void failing_fields_are_reported(void **state)
{
    (void)state;
    exact_field f = exact_gaussian(1, 0.9, 0, 0);
    hb_problem *problem = problem_of(CTX, &f);
    int code = 17;
    const hb_field failing = {1, 0, 5, failing_field, &code},
                   broken = {1, 0, 5, broken_field, NULL};
    const double x = 0.05, radius = 0.9;
    double v;
    hb_mean_values out = {.size = sizeof out, .v = &v};
    hb_mean_settings s = settings_of(radius, 0, 100, 0);
    s.quantity = HB_QUANTITY_U;
    assert_fails(CTX, hb_mean_value(CTX, problem, &failing, &s, 1, &x, 0.5, &out),
                 HB_ERROR_CALLBACK, "callback returned 17");
    assert_fails(CTX, hb_mean_value(CTX, problem, &broken, &s, 1, &x, 0.5, &out),
                 HB_ERROR_NUMERICAL, "the field's v is nan at tau = 0.");
    assert_fails(
        CTX,
        hb_mean_residual(CTX, problem, &broken, &s, 1, 1, &x, 0.5, &radius,
                         &(hb_residual_values){sizeof(hb_residual_values), &v, NULL, NULL, NULL}),
        HB_ERROR_NUMERICAL, "the field's v is nan");
    hb_problem_destroy(problem);
}

/* An allocator that fails at its k-th call and counts what is not given back. */
typedef struct faulty {
    long calls, fail_at, held;
} faulty;

static void *faulty_allocate(void *user, size_t bytes)
{
    faulty *state = user;
    if (++state->calls == state->fail_at) return NULL;
    void *memory = malloc(bytes);
    if (memory) state->held++;
    return memory;
}

static void faulty_release(void *user, void *memory)
{
    ((faulty *)user)->held--;
    free(memory);
}

static void memory_failures_leak_nothing(void **state)
{
    (void)state;
    for (int degree = 0; degree <= 2; degree += 2) {
        hb_status status = HB_ERROR_MEMORY;
        long failures = 0;
        for (long fail_at = 1; status != HB_OK && fail_at < 100000; fail_at++) {
            faulty memory = {0, -1, 0};
            hb_context_settings settings;
            hb_context_settings_default(sizeof settings, &settings);
            settings.threads = 1;
            settings.allocate = faulty_allocate;
            settings.release = faulty_release;
            settings.allocator_user = &memory;
            hb_context *context;
            assert_int_equal(hb_context_create(&settings, &context), HB_OK);
            exact_field f = exact_gaussian(2, 0.9, 0, 0.4);
            hb_problem *problem = problem_of(context, &f);
            const hb_field field = exact_as_field(&f);
            outputs o;
            hb_mean_values out = all_of(&o);
            const double radius = 0.5;
            double R;
            const hb_mean_settings s = settings_of(0.7, 1, 20, degree);
            const long held = memory.held;
            memory.calls = 0;
            memory.fail_at = fail_at;
            status = hb_mean_value(context, problem, &field, &s, 1, POINT, 0.61, &out);
            if (status == HB_OK)
                status = hb_mean_residual(
                    context, problem, &field, &s, 1, 1, POINT, 0.61, &radius,
                    &(hb_residual_values){sizeof(hb_residual_values), &R, NULL, NULL, NULL});
            memory.fail_at = -1;
            if (status != HB_OK) assert_int_equal(status, HB_ERROR_MEMORY), failures++;
            assert_int_equal(memory.held, held);
            hb_problem_destroy(problem);
            hb_context_destroy(context);
            assert_int_equal(memory.held, 0);
        }
        assert_int_equal(status, HB_OK);
        assert_true(failures > 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_by_draws),
        cmocka_unit_test(exact_for_mixtures),
        cmocka_unit_test(exact_by_cubature),
        cmocka_unit_test(errors_of_cubature_hold),
        cmocka_unit_test(errors_are_the_real_spread),
        cmocka_unit_test(errors_shrink_with_the_pairs),
        cmocka_unit_test(tiny_densities_keep_their_digits),
        cmocka_unit_test(derivative_free_line_agrees),
        cmocka_unit_test(drifts_that_depend_on_time),
        cmocka_unit_test(drift_is_taken_at_its_own_time),
        cmocka_unit_test(loss_without_source_is_not_zero),
        cmocka_unit_test(functional_is_constant_in_r),
        cmocka_unit_test(residual_vanishes_for_solutions),
        cmocka_unit_test(residual_catches_wrong_fields),
        cmocka_unit_test(scaled_residual_tends_at_second_order),
        cmocka_unit_test(slope_measure_has_its_moments),
        cmocka_unit_test(moments_match_numpy),
        cmocka_unit_test(same_bits_on_any_threads),
        cmocka_unit_test(outputs_are_optional),
        cmocka_unit_test(default_radius_follows_the_rule),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(failing_fields_are_reported),
        cmocka_unit_test(memory_failures_leak_nothing),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
