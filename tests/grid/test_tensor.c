/* Noise that is a tensor: the scheme conserves mass, keeps its fixed point, and has the Jacobian that it says;
 * the grid agrees with Gaussians in closed form within what it claims. */
#include "grid_support.h"

#include "grid/scheme.h"
#include "grid/tensor_scheme.h"
#include "path/ensemble.h"

/* G = M R(x1) with M = (1 0; 0.5 0.8) and R a rotation: G depends on x, D = M M'/2 does not. */
#define TURNED "cos(x1), -sin(x1); 0.5*cos(x1) + 0.8*sin(x1), -0.5*sin(x1) + 0.8*cos(x1)"

static const double D[2][2] = {{0.5, 0.25}, {0.25, 0.445}};

typedef struct plane {
    hb_context *context;
    hb_problem *problem;
    hb_mesh mesh;
    double *v, *rate;
} plane;

static plane make_plane(const char *drift, const char *noise)
{
    plane p = {.context = make_context(HB_ISA_AUTO, 1)};
    const int cells[2] = {14, 11};
    const double low[2] = {-2, -1.5}, high[2] = {2.2, 1.8};
    p.problem = make_problem(p.context, drift, noise, "gaussian(mean=0, var=1)");
    hb_mesh_set(&p.mesh, 2, cells, low, high);
    p.v = malloc(p.mesh.size * sizeof(double));
    p.rate = malloc(p.mesh.size * sizeof(double));
    return p;
}

static void drop_plane(plane *p)
{
    free(p->v);
    free(p->rate);
    hb_problem_destroy(p->problem);
    hb_context_destroy(p->context);
}

static void mass_is_conserved(void **state)
{
    (void)state;
    plane p = make_plane("x2 - x1^3, -x1", "1 + 0.3*x2^2, 0.2*x1; 0.4, 0.3 + 0.1*x1^2");
    hb_tensor *tensor;
    double sum = 0, size = 0;
    assert_ok(p.context, hb_tensor_create(p.context, p.problem, &p.mesh, &tensor));
    for (size_t i = 0; i < p.mesh.size; i++) p.v[i] = 2 * jitter((int)i);
    p.v[5] = -9; /* steep */
    assert_ok(p.context, hb_tensor_rate(tensor, 0.3, p.v, p.rate));
    for (size_t i = 0; i < p.mesh.size; i++) {
        const double cell = hb_mesh_cell(&p.mesh, 1, (int)(i % (size_t)p.mesh.nodes[1])) *
                            hb_mesh_cell(&p.mesh, 0, (int)(i / (size_t)p.mesh.nodes[1]));
        sum += cell * exp(p.v[i]) * p.rate[i];
        size += cell * exp(p.v[i]) * fabs(p.rate[i]);
    }
    assert_true(fabs(sum) < 1e-12 * size);
    hb_tensor_destroy(tensor);
    drop_plane(&p);
}

/* f = -D P x has the fixed point v = -x'Px/2; P = (1 0.2; 0.2 0.6). */
static void fixed_point_stays(void **state)
{
    (void)state;
    plane p = make_plane("-(0.55*x1 + 0.25*x2), -(0.339*x1 + 0.317*x2)", TURNED);
    hb_tensor *tensor;
    assert_ok(p.context, hb_tensor_create(p.context, p.problem, &p.mesh, &tensor));
    for (size_t i = 0; i < p.mesh.size; i++) {
        double x[2];
        hb_mesh_point(&p.mesh, i, x);
        p.v[i] = -0.5 * (x[0] * x[0] + 0.4 * x[0] * x[1] + 0.6 * x[1] * x[1]);
    }
    assert_ok(p.context, hb_tensor_rate(tensor, 0, p.v, p.rate));
    for (int i = 2; i < 12; i++) /* beside the walls slopes are one-sided */
        for (int j = 2; j < 9; j++) assert_near(p.rate[i * p.mesh.nodes[1] + j], 0, 1e-12);
    hb_tensor_destroy(tensor);
    drop_plane(&p);
}

static void jacobian_is_that_of_the_rate(void **state)
{
    (void)state;
    plane p = make_plane("x2 - x1^3, -x1", "1 + 0.3*x2^2, 0.2*x1; 0.4, 0.3 + 0.1*x1^2");
    const double step = 1e-6;
    hb_scheme *scheme;
    hb_tensor *tensor;
    int finite;
    assert_ok(p.context, hb_scheme_create(p.context, p.problem, &p.mesh, 0, &scheme));
    assert_ok(p.context, hb_tensor_create(p.context, p.problem, &p.mesh, &tensor));
    double *x = malloc(p.mesh.size * sizeof *x), *product = malloc(p.mesh.size * sizeof *x);
    double *other = malloc(p.mesh.size * sizeof *x);
    for (size_t i = 0; i < p.mesh.size; i++) {
        p.v[i] = 1.2 * jitter((int)i);
        x[i] = jitter((int)(3 * i + 1));
    }
    p.v[40] = -7;
    for (size_t i = p.mesh.size / 2; i < p.mesh.size; i++) p.v[i] -= 46; /* near the floor */
    for (size_t i = 0; i < p.mesh.size; i++) other[i] = p.v[i] + step * x[i];
    assert_ok(p.context, hb_tensor_rate(tensor, 0, p.v, p.rate)); /* the floor is that of v */
    assert_ok(p.context, hb_tensor_rate(tensor, 0, other, product));
    for (size_t i = 0; i < p.mesh.size; i++) p.rate[i] = (product[i] - p.rate[i]) / step;
    assert_ok(p.context, hb_scheme_rate(scheme, 0, p.v, other, &finite));
    assert_ok(p.context, hb_tensor_rate(tensor, 0, p.v, other));
    memset(product, 0, p.mesh.size * sizeof *product);
    for (int a = 0; a < p.mesh.dim; a++) hb_scheme_add_product(scheme, a, x, product);
    hb_tensor_add_coupling(tensor, x, product);
    for (size_t i = 0; i < p.mesh.size; i++)
        assert_near(product[i], p.rate[i], 1e-4 * (1 + fabs(p.rate[i])));
    free(other);
    free(product);
    free(x);
    hb_tensor_destroy(tensor);
    hb_scheme_destroy(scheme);
    drop_plane(&p);
}

static void correlated_clouds_are_thin(void **state)
{
    (void)state;
    enum { N = 4096 };
    double *x = malloc(2 * N * sizeof *x), lengths[2];
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    assert_ok(context, hb_random_normal(context, 1, 0, 0, 2 * N, x));
    for (int i = 0; i < N; i++) x[2 * i + 1] = 0.6 * x[2 * i] + 0.8 * x[2 * i + 1];
    hb_ensemble_lengths(N, 2, x, lengths);
    assert_near(lengths[0], 0.8, 0.03);
    assert_near(lengths[1], 0.8, 0.03);
    hb_context_destroy(context);
    free(x);
}

/* dX = A X dt + G dW: mean and covariance by small steps of order 4. */
static void linear_law(const double A[2][2], const double Q[2][2], double t, double *y)
{
    const int steps = 2000;
    const double h = t / steps;
    for (int k = 0; k < steps; k++) {
        double r[4][6], z[6];
        for (int s = 0; s < 4; s++) {
            const double part = s == 0 ? 0 : s == 3 ? h : h / 2;
            for (int i = 0; i < 6; i++) z[i] = y[i] + (s ? part * r[s - 1][i] : 0);
            for (int a = 0; a < 2; a++) {
                r[s][a] = A[a][0] * z[0] + A[a][1] * z[1];
                for (int b = 0; b < 2; b++)
                    r[s][2 + 2 * a + b] = 2 * Q[a][b] + A[a][0] * z[2 + b] + A[a][1] * z[4 + b] +
                                          A[b][0] * z[2 + 2 * a] + A[b][1] * z[3 + 2 * a];
            }
        }
        for (int i = 0; i < 6; i++) y[i] += h / 6 * (r[0][i] + 2 * r[1][i] + 2 * r[2][i] + r[3][i]);
    }
}

static void check_linear(const char *drift, const char *noise, const double A[2][2],
                         const double Q[2][2], double bulk)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, drift, noise, "gaussian(mean=0.3 0, var=0.3)");
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.points[0] = settings.points[1] = 128;
    settings.tolerance = 1e-6;
    hb_grid *grid;
    double y[12] = {0.3, 0, 0.3, 0, 0, 0.3}, L[3][3], exact_S[3];
    assert_ok(context, hb_grid_solve(context, problem, &settings, 0, NULL, 0.7, &grid));
    linear_law(A, Q, 0.7, y);
    for (int k = 0; k < 60; k++) {
        const double reach = 4.5 * (k + 0.5) / 60, angle = 2.4 * k;
        double x[2], v, v_error, S[2], S_error[2];
        gaussian(2, y, y, exact_S, L);
        x[0] = y[0] + reach * L[0][0] * cos(angle);
        x[1] = y[1] + reach * (L[1][0] * cos(angle) + L[1][1] * sin(angle));
        const double exact = gaussian(2, y, x, exact_S, L);
        assert_ok(context, hb_grid_evaluate(context, grid, 1, x, 0.7, &v, &v_error, S, S_error));
        assert_true(fabs(v - exact) <= v_error);
        assert_true(fabs(S[0] - exact_S[0]) <= S_error[0]);
        assert_true(fabs(S[1] - exact_S[1]) <= S_error[1]);
        if (reach < 2) assert_true(fabs(v - exact) < bulk && v_error < 100 * bulk);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

static void gaussians_under_a_field(void **state)
{
    (void)state;
    const double A[2][2] = {{-1, 0.5}, {-0.5, -1}};
    check_linear("-x1 + 0.5*x2, -0.5*x1 - x2", TURNED, A, D, 3e-5);
}

/* The noise reaches the second axis only. */
static void gaussians_under_degenerate_noise(void **state)
{
    (void)state;
    const double A[2][2] = {{0, 1}, {-1, -0.5}}, Q[2][2] = {{0, 0}, {0, 0.245}};
    check_linear("x2, -x1 - 0.5*x2", "0, 0.7", A, Q, 3e-4);
}

/* Between the start and the end, from the levels that are kept. */
static void kept_times(void **state)
{
    (void)state;
    const double A[2][2] = {{-1, 0.5}, {-0.5, -1}};
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_problem *problem = make_problem(context, "-x1 + 0.5*x2, -0.5*x1 - x2", TURNED,
                                       "gaussian(mean=0.3 0, var=0.3)");
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.points[0] = settings.points[1] = 96;
    settings.tolerance = 1e-6;
    settings.keep_from = 0.2;
    hb_grid *grid;
    assert_ok(context, hb_grid_solve(context, problem, &settings, 0, NULL, 0.7, &grid));
    for (int k = 0; k < 20; k++) {
        const double t = 0.21 + 0.48 * k / 19;
        double y[12] = {0.3, 0, 0.3, 0, 0, 0.3}, L[3][3], S[3], v, v_error;
        const double x[2] = {0.8 * jitter(k), 0.8 * jitter(k + 31)};
        linear_law(A, D, t, y);
        const double exact = gaussian(2, y, x, S, L);
        assert_ok(context, hb_grid_evaluate(context, grid, 1, x, t, &v, &v_error, NULL, NULL));
        assert_true(fabs(v - exact) <= v_error && v_error < 0.01);
    }
    hb_grid_destroy(grid);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mass_is_conserved),
        cmocka_unit_test(fixed_point_stays),
        cmocka_unit_test(jacobian_is_that_of_the_rate),
        cmocka_unit_test(correlated_clouds_are_thin),
        cmocka_unit_test(gaussians_under_a_field),
        cmocka_unit_test(gaussians_under_degenerate_noise),
        cmocka_unit_test(kept_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
