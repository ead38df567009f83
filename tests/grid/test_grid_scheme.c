/* The parts of the grid: the spline on polynomials, strands, and the scheme: conservation, its fixed
 * point, its Jacobian by differences, the solves along lines. */
#include "grid_support.h"

#include "grid/fitted_scheme.h"
#include "grid/quintic_spline.h"

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

/* In one dimension the elimination along the line is the inverse of I - gamma J. */
static void line_solve_is_exact(void **state)
{
    (void)state;
    for (int isa = HB_ISA_AUTO; isa <= HB_ISA_AVX512; isa++) {
        hb_context *context = make_context((hb_isa)isa, 1);
        if (!context) continue;
        small_scheme s = make_scheme(context, 1, scheme_drifts[0]);
        const double gamma = 0.37;
        int finite;
        double x[32], y[32], Jx[32];
        for (size_t i = 0; i < s.mesh.size; i++) x[i] = jitter((int)i + 77);
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        hb_scheme_factor(s.scheme, gamma);
        hb_scheme_apply(s.scheme, x, Jx);
        for (size_t i = 0; i < s.mesh.size; i++) Jx[i] = x[i] - gamma * Jx[i];
        hb_scheme_solve(s.scheme, 0, Jx, y);
        for (size_t i = 0; i < s.mesh.size; i++) assert_near(y[i], x[i], 1e-12);
        free_scheme(&s);
        hb_context_destroy(context);
    }
}

/* hb_scheme_change against its definition: s = L^-1 y, then (I - gamma J) s by products, then P^-1. */
static void change_is_what_the_splitting_leaves(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 2; dim <= 3; dim++) {
        small_scheme s = make_scheme(context, dim, scheme_drifts[dim - 1]);
        const size_t n = s.mesh.size;
        const double gamma = 0.023;
        double *y = malloc(n * sizeof *y), *solved = malloc(n * sizeof *y);
        double *change = malloc(n * sizeof *y), largest = 0;
        int finite;
        for (size_t i = 0; i < n; i++) y[i] = jitter((int)i + 1000);
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        hb_scheme_factor(s.scheme, gamma);
        hb_scheme_change(s.scheme, y, solved, change);
        hb_scheme_solve(s.scheme, dim - 1, y, s.other);
        for (size_t i = 0; i < n; i++) assert_true(s.other[i] == solved[i]);
        hb_scheme_apply(s.scheme, solved, s.other);
        for (size_t i = 0; i < n; i++) s.other[i] = solved[i] - gamma * s.other[i];
        for (int a = 0; a + 1 < dim; a++) hb_scheme_solve(s.scheme, a, s.other, s.other);
        for (size_t i = 0; i < n; i++) {
            assert_near(change[i], s.other[i] - y[i], 1e-13);
            largest = fmax(largest, fabs(change[i]));
        }
        assert_true(largest > 0.01);
        free(y);
        free(solved);
        free(change);
        free_scheme(&s);
    }
    hb_context_destroy(context);
}

/* ---- strands ---------------------------------------------------------------------------------- */

/* Every node is in one strand of an axis, beside its neighbours along the axis, and comes back. */
static void strands_hold_every_node_once(void **state)
{
    (void)state;
    const int cells[3] = {6, 40, 36};
    const double low[3] = {0}, high[3] = {1, 1, 1};
    for (int dim = 1; dim <= 3; dim++) {
        hb_mesh mesh;
        hb_mesh_set(&mesh, dim, cells, low, high);
        double *nodes = malloc(mesh.size * sizeof *nodes), *back = malloc(mesh.size * sizeof *back);
        double *entries = malloc(hb_mesh_strand_most(&mesh) * sizeof *entries);
        for (size_t i = 0; i < mesh.size; i++) nodes[i] = (double)i;
        for (int a = 0; a < dim; a++) {
            size_t count = 0, offset = 0;
            memset(back, 0xff, mesh.size * sizeof *back);
            for (size_t k = 0; k < hb_mesh_strands(&mesh, a); k++) {
                const hb_strand s = hb_mesh_strand(&mesh, a, k);
                hb_strand_gather(&s, nodes, entries);
                for (size_t i = 0; i + 1 < s.n; i++)
                    for (size_t r = 0; r < s.width; r++)
                        assert_true(entries[(i + 1) * s.pad + r] - entries[i * s.pad + r] ==
                                    (double)hb_mesh_stride(&mesh, a));
                hb_strand_scatter(&s, entries, back);
                assert_int_equal(s.offset, offset);
                offset += s.n * s.pad;
                count += s.n * s.width;
            }
            assert_int_equal(count, mesh.size);
            assert_true(offset <= hb_mesh_strand_entries(&mesh, a));
            assert_memory_equal(nodes, back, mesh.size * sizeof *back);
        }
        free(nodes);
        free(back);
        free(entries);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spline_reproduces_quintics),
        cmocka_unit_test(scheme_conserves_mass),
        cmocka_unit_test(scheme_keeps_the_gaussian),
        cmocka_unit_test(scheme_jacobian_by_differences),
        cmocka_unit_test(line_solve_is_exact),
        cmocka_unit_test(change_is_what_the_splitting_leaves),
        cmocka_unit_test(strands_hold_every_node_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
