/* The grid against closed forms: linear drifts in one to three dimensions (the mean and covariance
 * equations solved here by Runge-Kutta), a uniform start, a stationary one, and the bistable drift
 * against Chebyshev collocation in SciPy; errors are compared with what the grid claims. The parts: the
 * spline on polynomials, the scheme's conservation, its fixed point, its Jacobian by differences. */
#include "support.h"

#include "grid/fitted_scheme.h"
#include "grid/grid_start.h"
#include "grid/quintic_spline.h"

static hb_problem *make_problem(hb_context *context, const char *drift, const char *noise,
                                const char *initial)
{
    hb_problem_settings settings;
    hb_problem_settings_default(&settings);
    settings.drift = drift;
    settings.noise = noise;
    settings.initial = initial;
    settings.time = 3;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    return problem;
}

/* Awkward numbers in [-1, 1]. */
static double jitter(int k)
{
    return sin(2.385 * k + 0.71 * k * k);
}

/* ---- the spline ------------------------------------------------------------------------------- */

/* A polynomial of degree 5 in each variable. */
static double quintic(int dim, const double *x, int by)
{
    double product = 1;
    for (int a = 0; a < dim; a++) {
        const double c[6] = {0.3, -1.1 + a, 0.7, 0.2 - 0.3 * a, -0.45, 0.13};
        double value = 0, slope = 0;
        for (int k = 5; k >= 0; k--) {
            slope = slope * x[a] + value;
            value = value * x[a] + c[k];
        }
        product *= a == by ? slope : value;
    }
    return product;
}

static void spline_reproduces_quintics(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 1; dim <= 3; dim++) {
        const int cells[3] = {11, 9, 8};
        const double low[3] = {-1.3, -0.9, -1.1}, high[3] = {1.2, 1.4, 0.8};
        hb_mesh mesh;
        hb_mesh_set(&mesh, dim, cells, low, high);
        double *values = malloc(mesh.size * sizeof *values), x[3], gradient[3];
        for (size_t i = 0; i < mesh.size; i++) {
            hb_mesh_point(&mesh, i, x);
            values[i] = quintic(dim, x, -1);
        }
        assert_ok(context, hb_spline_fit(context, &mesh, values));
        for (int k = 0; k < 50; k++) {
            for (int a = 0; a < dim; a++)
                x[a] = low[a] + (high[a] - low[a]) * 0.5 * (1 + jitter(3 * k + a));
            hb_spline_place place;
            hb_spline_locate(&mesh, x, &place);
            assert_near(hb_spline_value(&mesh, values, &place, gradient), quintic(dim, x, -1),
                        1e-11);
            for (int a = 0; a < dim; a++) assert_near(gradient[a], quintic(dim, x, a), 1e-10);
        }
        free(values);
    }
    hb_context_destroy(context);
}

/* ---- the scheme ------------------------------------------------------------------------------- */

typedef struct small_scheme {
    hb_problem *problem;
    hb_mesh mesh;
    hb_scheme *scheme;
    double *v, *rate, *other;
} small_scheme;

static small_scheme make_scheme(hb_context *context, int dim, const char *drift)
{
    static const char *initial[] = {"gaussian(mean=0,var=1)", "gaussian(mean=0 0,var=1)",
                                    "gaussian(mean=0 0 0,var=1)"};
    const int cells[3] = {12, 10, 9};
    const double low[3] = {-2.1, -1.7, -1.9}, high[3] = {1.8, 2.2, 1.6};
    small_scheme s = {.problem = make_problem(context, drift, "1.3", initial[dim - 1])};
    hb_mesh_set(&s.mesh, dim, cells, low, high);
    assert_ok(context, hb_scheme_create(context, s.problem, &s.mesh, &s.scheme));
    s.v = malloc(s.mesh.size * sizeof(double));
    s.rate = malloc(s.mesh.size * sizeof(double));
    s.other = malloc(s.mesh.size * sizeof(double));
    for (size_t i = 0; i < s.mesh.size; i++) s.v[i] = 0.8 * jitter((int)i);
    return s;
}

static void free_scheme(small_scheme *s)
{
    hb_scheme_destroy(s->scheme);
    hb_problem_destroy(s->problem);
    free(s->v);
    free(s->rate);
    free(s->other);
}

static const char *const scheme_drifts[] = {"x - x^3 + sin(t)", "y*x - x^3, cos(x) - y",
                                            "y - x, z*x - y, sin(x*y) - 2*z"};

/* d/dtau of the mass is the sum over cells of weight u v', which must vanish whatever v is. Taken as the
 * derivative of hb_mesh_log_mass along the rate. */
static void scheme_conserves_mass(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 1; dim <= 3; dim++) {
        small_scheme s = make_scheme(context, dim, scheme_drifts[dim - 1]);
        int finite;
        double largest = 0;
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        assert_true(finite);
        for (size_t i = 0; i < s.mesh.size; i++) largest = fmax(largest, fabs(s.rate[i]));
        const double step = 1e-6 / largest;
        for (size_t i = 0; i < s.mesh.size; i++) s.other[i] = s.v[i] + step * s.rate[i];
        double up = hb_mesh_log_mass(&s.mesh, s.other);
        for (size_t i = 0; i < s.mesh.size; i++) s.other[i] = s.v[i] - step * s.rate[i];
        assert_near((up - hb_mesh_log_mass(&s.mesh, s.other)) / (2 * step * largest), 0, 1e-8);
        free_scheme(&s);
    }
    hb_context_destroy(context);
}

/* F = -x/(g^2/2): exp(-x^2/g^2) is a fixed point to rounding. */
static void scheme_keeps_the_gaussian(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    small_scheme s = make_scheme(context, 2, "-x, -y");
    int finite;
    for (size_t i = 0; i < s.mesh.size; i++) {
        double x[2];
        hb_mesh_point(&s.mesh, i, x);
        s.v[i] = -(x[0] * x[0] + x[1] * x[1]) / 1.69;
    }
    assert_ok(context, hb_scheme_rate(s.scheme, 0.2, s.v, s.rate, &finite));
    for (size_t i = 0; i < s.mesh.size; i++) assert_near(s.rate[i], 0, 1e-12);
    free_scheme(&s);
    hb_context_destroy(context);
}

/* J x by central differences of the rate. */
static void scheme_jacobian_by_differences(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 1; dim <= 3; dim++) {
        small_scheme s = make_scheme(context, dim, scheme_drifts[dim - 1]);
        const size_t n = s.mesh.size;
        const double step = 1e-5;
        double *x = malloc(n * sizeof *x), *Jx = malloc(n * sizeof *Jx);
        int finite;
        for (size_t i = 0; i < n; i++) x[i] = jitter((int)i + 1000);
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        hb_scheme_apply(s.scheme, x, Jx);
        for (size_t i = 0; i < n; i++) s.v[i] += step * x[i];
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        for (size_t i = 0; i < n; i++) s.v[i] -= 2 * step * x[i];
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.other, &finite));
        for (size_t i = 0; i < n; i++)
            assert_near(Jx[i], (s.rate[i] - s.other[i]) / (2 * step), 1e-5);
        free(x);
        free(Jx);
        free_scheme(&s);
    }
    hb_context_destroy(context);
}

/* In one dimension the preconditioner is the inverse of I - gamma J. */
static void preconditioner_is_exact_in_one_dimension(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    small_scheme s = make_scheme(context, 1, scheme_drifts[0]);
    const double gamma = 0.37;
    int finite;
    double x[32], y[32], Jx[32];
    for (size_t i = 0; i < s.mesh.size; i++) x[i] = jitter((int)i + 77);
    assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
    hb_scheme_factor(s.scheme, gamma);
    hb_scheme_apply(s.scheme, x, Jx);
    for (size_t i = 0; i < s.mesh.size; i++) Jx[i] = x[i] - gamma * Jx[i];
    hb_scheme_precondition(s.scheme, Jx, y);
    for (size_t i = 0; i < s.mesh.size; i++) assert_near(y[i], x[i], 1e-12);
    free_scheme(&s);
    hb_context_destroy(context);
}

/* ---- linear drifts: the exact Gaussian -------------------------------------------------------- */

/* f = s(t) A x, g(t) = g0 + g1 t, start N(m0, c0 I). */
typedef struct linear {
    int dim;
    double A[3][3], wobble; /* s(t) = 1 + wobble sin(t) */
    double g0, g1;
    double m0[3], c0;
} linear;

/* y = (mean (dim), covariance (dim x dim)); its rate. */
static void moment_rate(const linear *l, double t, const double *y, double *rate)
{
    const int d = l->dim;
    const double s = 1 + l->wobble * sin(t), g = l->g0 + l->g1 * t;
    const double *C = y + d;
    for (int a = 0; a < d; a++) {
        rate[a] = 0;
        for (int b = 0; b < d; b++) rate[a] += s * l->A[a][b] * y[b];
        for (int b = 0; b < d; b++) {
            double sum = a == b ? g * g : 0;
            for (int k = 0; k < d; k++)
                sum += s * (l->A[a][k] * C[k * d + b] + l->A[b][k] * C[a * d + k]);
            rate[d + a * d + b] = sum;
        }
    }
}

static void moments(const linear *l, double t_end, double *y)
{
    const int d = l->dim, n = d + d * d, steps = 2000;
    memset(y, 0, (size_t)n * sizeof *y);
    for (int a = 0; a < d; a++) {
        y[a] = l->m0[a];
        y[d + a * d + a] = l->c0;
    }
    const double h = t_end / steps;
    for (int k = 0; k < steps; k++) {
        double r[4][12], z[12];
        moment_rate(l, k * h, y, r[0]);
        for (int i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * r[0][i];
        moment_rate(l, (k + 0.5) * h, z, r[1]);
        for (int i = 0; i < n; i++) z[i] = y[i] + 0.5 * h * r[1][i];
        moment_rate(l, (k + 0.5) * h, z, r[2]);
        for (int i = 0; i < n; i++) z[i] = y[i] + h * r[2][i];
        moment_rate(l, (k + 1) * h, z, r[3]);
        for (int i = 0; i < n; i++) y[i] += h / 6 * (r[0][i] + 2 * r[1][i] + 2 * r[2][i] + r[3][i]);
    }
}

/* ln N(x; m, C), its gradient, and the factor L of C = L L^T (d <= 3). */
static double gaussian(int d, const double *y, const double *x, double *gradient, double L[3][3])
{
    const double *C = y + d;
    double z[3], v = -0.5 * d * log(2 * M_PI);
    for (int a = 0; a < d; a++)
        for (int b = 0; b <= a; b++) {
            double sum = C[a * d + b];
            for (int k = 0; k < b; k++) sum -= L[a][k] * L[b][k];
            L[a][b] = a == b ? sqrt(sum) : sum / L[b][b];
        }
    for (int a = 0; a < d; a++) {
        z[a] = x[a] - y[a];
        for (int k = 0; k < a; k++) z[a] -= L[a][k] * z[k];
        z[a] /= L[a][a];
        v -= 0.5 * z[a] * z[a] + log(L[a][a]);
    }
    for (int a = d - 1; a >= 0; a--) {
        gradient[a] = -z[a];
        for (int k = a + 1; k < d; k++) gradient[a] -= L[k][a] * gradient[k];
        gradient[a] /= L[a][a];
    }
    return v;
}

typedef struct score_card {
    int points, v_covered, slope_covered, slopes;
    double v_worst, slope_worst,
        claim_worst; /* in the bulk, of v; relative to 1 + |S| for slopes */
} score_card;

/* Compares at n points x = m + r L e, with e awkward directions and r up to `reach` deviations. */
static score_card compare(hb_context *context, const hb_grid *grid, const linear *l, double t,
                          double tau, int n, double reach)
{
    score_card card = {0};
    double y[12], L[3][3];
    const int d = l->dim;
    moments(l, t, y);
    for (int k = 0; k < n; k++) {
        double x[3], e[3], v, v_error, S[3], S_error[3], exact_S[3], norm = 0;
        gaussian(d, y, y, exact_S, L);
        for (int a = 0; a < d; a++) e[a] = jitter(7 * k + a + 1), norm += e[a] * e[a];
        for (int a = 0; a < d; a++) {
            x[a] = y[a];
            for (int b = 0; b <= a; b++)
                x[a] += L[a][b] * e[b] / sqrt(norm) * reach * (k + 0.5) / n;
        }
        const double exact = gaussian(d, y, x, exact_S, L);
        assert_ok(context, hb_grid_evaluate(context, grid, tau, 1, x, &v, &v_error, S, S_error));
        card.points++;
        card.v_covered += fabs(v - exact) <= v_error;
        card.v_worst = fmax(card.v_worst, fabs(v - exact));
        card.claim_worst = fmax(card.claim_worst, v_error);
        for (int a = 0; a < d; a++) {
            card.slopes++;
            card.slope_covered += fabs(S[a] - exact_S[a]) <= S_error[a];
            card.slope_worst =
                fmax(card.slope_worst, fabs(S[a] - exact_S[a]) / (1 + fabs(exact_S[a])));
        }
    }
    return card;
}

static hb_grid *solve(hb_context *context, const hb_problem *problem, double t, int points,
                      double tolerance, double keep_from)
{
    hb_grid_settings settings;
    hb_grid_settings_default(&settings);
    for (int a = 0; a < 3; a++) settings.points[a] = points;
    settings.tolerance = tolerance;
    settings.keep_from = keep_from;
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, t, &settings, 0, NULL, &grid));
    return grid;
}

static double end_of(const hb_grid *grid)
{
    hb_grid_info info;
    hb_grid_info_get(grid, &info);
    return info.tau;
}

static void assert_card(score_card card, double v, double slope)
{
    if (!(card.v_worst <= v && card.slope_worst <= slope && card.claim_worst <= 200 * v &&
          card.v_covered >= 0.95 * card.points && card.slope_covered >= 0.95 * card.slopes))
        fail_msg("v off by %.2e (claimed %.2e, %d of %d honest), slopes by %.2e (%d of %d honest)",
                 card.v_worst, card.claim_worst, card.v_covered, card.points, card.slope_worst,
                 card.slope_covered, card.slopes);
}

static const linear ou_1 = {.dim = 1, .A = {{-1.13}}, .g0 = 0.9, .m0 = {0.7}, .c0 = 0.31};
static const linear rotating = {
    .dim = 2, .A = {{-1.0, 2.3}, {-1.7, -0.6}}, .g0 = 1.1, .m0 = {0.6, -0.4}, .c0 = 0.43};
static const linear ou_3 = {.dim = 3,
                            .A = {{-1.0, 0.4, 0}, {-0.4, -0.8, 0.2}, {0, 0, -1.2}},
                            .g0 = 1.2,
                            .m0 = {0.3, -0.2, 0.1},
                            .c0 = 0.5};
static const linear forced = {
    .dim = 1, .A = {{-0.8}}, .wobble = 0.5, .g0 = 1, .g1 = 0.3, .m0 = {-0.5}, .c0 = 0.4};

static hb_problem *problem_1(hb_context *context)
{
    return make_problem(context, "-1.13*x", "0.9", "gaussian(mean=0.7,var=0.31)");
}

static hb_problem *problem_2(hb_context *context)
{
    return make_problem(context, "-x + 2.3*y, -1.7*x - 0.6*y", "1.1",
                        "gaussian(mean=0.6 -0.4,var=0.43)");
}

static void one_dimension_is_exact(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 1.2, 0, 0, NAN);
    hb_grid_info info;
    hb_grid_info_get(grid, &info);
    assert_card(compare(context, grid, &ou_1, 1.2, info.tau, 200, 5), 1e-7, 1e-7);
    assert_near(info.mass_error, 0, 1e-8);
    assert_true(info.boundary_log < -45);
    hb_grid_destroy(grid);
    /* What is left is the time integration: a tighter tolerance makes it as small as one likes. */
    grid = solve(context, problem, 1.2, 512, 1e-10, NAN);
    hb_grid_info_get(grid, &info);
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
        assert_ok(context, hb_grid_evaluate(context, grid, end_of(grid), 1, &x, &v, NULL, S, NULL));
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
        assert_ok(context, hb_grid_evaluate(context, grid, tau, 1, &x, &v, NULL, &S, NULL));
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
    assert_ok(context, hb_grid_solve(context, problem, 1, NULL, 5, x, &grid));
    assert_ok(context, hb_grid_evaluate(context, grid, 0.5, 5, x, v, v_error, S, S_error));
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
                  hb_grid_evaluate(context, grid, end_of(grid), 1, &x, &v, NULL, &S, NULL));
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
                  hb_grid_evaluate(context, grid, end_of(grid), 1, &x, &v, &v_error, &S, &S_error));
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
    double v[161], tau, log_mass = NAN;
    hb_mesh_set(&mesh, 1, &cells, &low, &high);
    assert_ok(context, hb_grid_start(context, problem, &mesh, 1, &log_mass, v, &tau));
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
    hb_problem_settings_default(&settings);
    settings.drift = "-0.7*x";
    settings.initial_callback = box_density;
    hb_problem *problem;
    assert_ok(context, hb_problem_create(context, &settings, &problem));
    hb_grid *grid = solve(context, problem, 1.1, 512, 1e-7, NAN);
    for (int k = -15; k <= 15; k++) {
        const double x = 0.131 * k;
        double v, exact_S;
        assert_ok(context,
                  hb_grid_evaluate(context, grid, end_of(grid), 1, &x, &v, NULL, NULL, NULL));
        assert_near(v, uniform_exact(x, &exact_S), 2e-3);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

/* ---- what does not depend on threads, and what is refused -------------------------------------- */

static void same_bits_on_two_threads(void **state)
{
    (void)state;
    double v[2], S[2][2], errors[2];
    for (int k = 0; k < 2; k++) {
        hb_context *context = make_context(HB_ISA_AUTO, k + 1);
        hb_problem *problem = problem_2(context);
        hb_grid *grid = solve(context, problem, 0.9, 72, 1e-5, NAN);
        const double x[2] = {0.31, -0.77};
        assert_ok(context, hb_grid_evaluate(context, grid, end_of(grid), 1, x, &v[k], &errors[k],
                                            S[k], NULL));
        hb_grid_destroy(grid);
        hb_problem_destroy(problem);
        hb_context_destroy(context);
    }
    assert_true(v[0] == v[1] && errors[0] == errors[1]);
    assert_memory_equal(S[0], S[1], sizeof S[0]);
}

static hb_status try_settings(hb_context *context, const hb_problem *problem, double time,
                              void (*change)(hb_grid_settings *), size_t n_at, const double *at)
{
    hb_grid_settings settings;
    hb_grid_settings_default(&settings);
    settings.points[0] = 64;
    if (change) change(&settings);
    hb_grid *grid;
    hb_status status = hb_grid_solve(context, problem, time, &settings, n_at, at, &grid);
    if (status != HB_OK) assert_null(grid);
    hb_grid_destroy(grid);
    return status;
}

static void few_points(hb_grid_settings *s)
{
    s->points[0] = 31;
}

static void late_keep(hb_grid_settings *s)
{
    s->keep_from = 7;
}

static void bad_tolerance(hb_grid_settings *s)
{
    s->tolerance = -1;
}

static void reversed_box(hb_grid_settings *s)
{
    s->low[0] = 2;
    s->high[0] = -2;
}

static void narrow_box(hb_grid_settings *s)
{
    s->low[0] = -0.5;
    s->high[0] = 1.5;
}

static void huge_box(hb_grid_settings *s)
{
    s->low[0] = -3000;
    s->high[0] = 3000;
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    const double inside = 0.3, outside = 2.5, broken = NAN;
    assert_fails(context, try_settings(context, problem, 0, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "time is 0");
    assert_fails(context, try_settings(context, problem, 1, few_points, 0, NULL), HB_ERROR_ARGUMENT,
                 "points of axis 1 is 31; it must be 32 to");
    assert_fails(context, try_settings(context, problem, 1, late_keep, 0, NULL), HB_ERROR_ARGUMENT,
                 "keep_from is tau = 7");
    assert_fails(context, try_settings(context, problem, 1, bad_tolerance, 0, NULL),
                 HB_ERROR_ARGUMENT, "tolerance is -1");
    assert_fails(context, try_settings(context, problem, 1, reversed_box, 0, NULL),
                 HB_ERROR_ARGUMENT, "low below high");
    assert_fails(context, try_settings(context, problem, 1, NULL, 1, &broken), HB_ERROR_ARGUMENT,
                 "coordinate 1 of point 1 is nan");
    assert_fails(context, try_settings(context, problem, 1, narrow_box, 1, &outside),
                 HB_ERROR_ARGUMENT, "point 1 has coordinate 1 = 2.5 outside the box [-0.5, 1.5]");
    assert_fails(context, try_settings(context, problem, 1, narrow_box, 1, &inside),
                 HB_ERROR_ARGUMENT, "of the initial mass");
    assert_fails(context, try_settings(context, problem, 1, huge_box, 0, NULL), HB_ERROR_NUMERICAL,
                 "cannot resolve the initial density");
    hb_problem_destroy(problem);
    hb_problem *four = make_problem(context, "-x1, -x2, -x3, -x4", "1", "gaussian(mean=0,var=1)");
    assert_fails(context, try_settings(context, four, 1, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "4 dimensions; a grid takes 1 to 3");
    hb_problem_destroy(four);
    hb_problem *bare = make_problem(context, "-x1", "1", NULL);
    assert_fails(context, try_settings(context, bare, 1, NULL, 0, NULL), HB_ERROR_ARGUMENT,
                 "no initial density");
    hb_problem_destroy(bare);
    hb_context_destroy(context);
}

static void wrong_evaluations_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = problem_1(context);
    hb_grid *grid = solve(context, problem, 0.6, 64, 1e-5, NAN);
    const double far = 1e3, x = 0.1;
    double v;
    assert_fails(context,
                 hb_grid_evaluate(context, grid, end_of(grid), 1, &far, &v, NULL, NULL, NULL),
                 HB_ERROR_ARGUMENT, "outside the grid's box");
    assert_fails(context, hb_grid_evaluate(context, grid, 0.01, 1, &x, &v, NULL, NULL, NULL),
                 HB_ERROR_ARGUMENT, "the grid is kept on");
    hb_grid_destroy(grid);
    hb_grid_destroy(NULL);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void memory_is_estimated_first(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-x, -y, -z", "1", "gaussian(mean=0 0 0,var=1)");
    hb_grid_settings settings;
    hb_grid_settings_default(&settings);
    for (int a = 0; a < 3; a++) settings.points[a] = 4000;
    hb_grid *grid;
    assert_fails(context, hb_grid_solve(context, problem, 1, &settings, 0, NULL, &grid),
                 HB_ERROR_MEMORY, "give fewer points");
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

typedef struct allowance {
    long left, live;
} allowance;

static void *counted_allocate(void *user, size_t bytes)
{
    allowance *a = user;
    if (a->left-- <= 0) return NULL;
    a->live++;
    return malloc(bytes);
}

static void counted_release(void *user, void *memory)
{
    ((allowance *)user)->live--;
    free(memory);
}

/* Whatever allocation fails, the solver says so, and nothing stays allocated. */
static void memory_failures_are_clean(void **state)
{
    (void)state;
    allowance a = {.left = 1000000};
    hb_settings settings;
    hb_settings_default(&settings);
    settings.threads = 1;
    settings.allocate = counted_allocate;
    settings.release = counted_release;
    settings.allocator_user = &a;
    hb_context *context;
    assert_int_equal(hb_context_create(&context, &settings), HB_OK);
    hb_problem *problem = problem_1(context);
    hb_grid_settings coarse;
    hb_grid_settings_default(&coarse);
    coarse.points[0] = 64;
    coarse.tolerance = 1e-3;
    const long before = a.live;
    a.left = 1000000;
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, 0.4, &coarse, 0, NULL, &grid));
    const long needed = 1000000 - a.left;
    hb_grid_destroy(grid);
    assert_int_equal(a.live, before);
    /* Early allocations one by one, later ones (of the time steps) with growing strides. */
    for (long k = 0; k < needed; k += 1 + k / 20) {
        a.left = k;
        assert_int_equal(hb_grid_solve(context, problem, 0.4, &coarse, 0, NULL, &grid),
                         HB_ERROR_MEMORY);
        assert_null(grid);
        assert_int_equal(a.live, before);
    }
    a.left = 1000000;
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

typedef struct watch {
    int calls, stop_at;
    double last;
} watch;

static int watch_progress(void *user, const char *what, double done, double total)
{
    watch *w = user;
    if (strcmp(what, "Fokker-Planck grid") != 0) return 0;
    assert_true(done >= 0 && done <= total);
    w->calls++;
    w->last = done / total;
    return w->calls == w->stop_at;
}

static void progress_can_stop_it(void **state)
{
    (void)state;
    watch w = {.stop_at = 4};
    hb_settings settings;
    hb_settings_default(&settings);
    settings.threads = 1;
    settings.progress = watch_progress;
    settings.progress_user = &w;
    hb_context *context;
    assert_int_equal(hb_context_create(&context, &settings), HB_OK);
    hb_problem *problem = problem_1(context);
    assert_int_equal(try_settings(context, problem, 1, NULL, 0, NULL), HB_ERROR_INTERRUPTED);
    assert_int_equal(w.calls, 4);
    w.stop_at = 0;
    assert_int_equal(try_settings(context, problem, 1, NULL, 0, NULL), HB_OK);
    assert_true(w.calls > 8 && w.last > 0.5);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spline_reproduces_quintics),
        cmocka_unit_test(scheme_conserves_mass),
        cmocka_unit_test(scheme_keeps_the_gaussian),
        cmocka_unit_test(scheme_jacobian_by_differences),
        cmocka_unit_test(preconditioner_is_exact_in_one_dimension),
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
        cmocka_unit_test(rough_callback_start),
        cmocka_unit_test(same_bits_on_two_threads),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(wrong_evaluations_are_refused),
        cmocka_unit_test(memory_is_estimated_first),
        cmocka_unit_test(memory_failures_are_clean),
        cmocka_unit_test(progress_can_stop_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
