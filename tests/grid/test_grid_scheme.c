/* The parts of the grid: the spline on polynomials, strands, and the scheme: conservation, its fixed
 * point, its Jacobian by differences, the solves along lines. */
#include "grid_support.h"

#include "grid/krylov_solver.h"
#include "grid/quintic_spline.h"
#include "grid/scheme.h"

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
    assert_ok(context, hb_scheme_create(context, s.problem, &s.mesh, 0, &s.scheme));
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

/* out = J x */
static void multiply(small_scheme *s, const double *x, double *out)
{
    memset(out, 0, s->mesh.size * sizeof *out);
    for (int a = 0; a < s->mesh.dim; a++) hb_scheme_add_product(s->scheme, a, x, out);
}

/* J x by central differences of the rate. In d = 2, 3 the Jacobian is kept in float. */
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
        multiply(&s, x, Jx);
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

/* A mesh that threads share, a drift that is asked anew at each time and has breaks between nodes. */
static void rates_on_threads(void **state)
{
    (void)state;
    const int cells[3] = {31, 24, 26};
    const double low[3] = {-2.1, -1.7, -1.9}, high[3] = {1.8, 2.2, 1.6};
    hb_mesh mesh;
    double *rate[4], *v;
    int finite;
    hb_mesh_set(&mesh, 3, cells, low, high);
    v = malloc(mesh.size * sizeof *v);
    for (size_t i = 0; i < mesh.size; i++) v[i] = 0.8 * jitter((int)i);
    for (int threads = 1; threads <= 3; threads++) {
        hb_context *context = make_context(HB_ISA_AUTO, threads);
        hb_problem *problem = make_problem(context, "-x*(1+t) + abs(y-0.21*x)/2, x - y, -z - y/2",
                                           "1.3", "gaussian(mean=0 0 0,var=1)");
        hb_scheme *scheme;
        assert_ok(context, hb_scheme_create(context, problem, &mesh, 1, &scheme));
        assert_int_equal(hb_crew_threads(hb_scheme_crew(scheme)), threads);
        rate[threads] = malloc(mesh.size * sizeof(double));
        for (int k = 0; k < 3; k++)
            assert_ok(context, hb_scheme_rate(scheme, 0.1 * k, v, rate[threads], &finite));
        assert_true(finite);
        assert_memory_equal(rate[threads], rate[1], mesh.size * sizeof(double));
        v[5000] = 900; /* beyond the range of exp from its neighbours */
        assert_ok(context, hb_scheme_rate(scheme, 0.2, v, rate[threads], &finite));
        assert_false(finite);
        v[5000] = NAN;
        assert_ok(context, hb_scheme_rate(scheme, 0.2, v, rate[threads], &finite));
        assert_false(finite);
        v[5000] = 0.8 * jitter(5000);
        assert_ok(context, hb_scheme_rate(scheme, 0.2, v, rate[threads], &finite));
        hb_scheme_destroy(scheme);
        hb_problem_destroy(problem);
        hb_context_destroy(context);
    }
    for (int threads = 1; threads <= 3; threads++) free(rate[threads]);
    free(v);
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
        hb_scheme_set_gamma(s.scheme, gamma);
        multiply(&s, x, Jx);
        for (size_t i = 0; i < s.mesh.size; i++) Jx[i] = x[i] - gamma * Jx[i];
        hb_scheme_solve_line(s.scheme, Jx, y);
        for (size_t i = 0; i < s.mesh.size; i++) assert_near(y[i], x[i], 1e-12);
        free_scheme(&s);
        hb_context_destroy(context);
    }
}

/* x - gamma J_axis x, in place. */
static void multiply_axis(small_scheme *s, int axis, double gamma, double *x)
{
    memset(s->other, 0, s->mesh.size * sizeof *s->other);
    hb_scheme_add_product(s->scheme, axis, x, s->other);
    for (size_t i = 0; i < s->mesh.size; i++) x[i] -= gamma * s->other[i];
}

static void widen(size_t n, const float *from, double *to)
{
    for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
}

typedef struct few_directions {
    double *weights, *w;
    float *y[3], *s[2];
    double products[3];
} few_directions;

static few_directions make_directions(size_t n)
{
    few_directions f = {.weights = malloc(n * sizeof(double)), .w = malloc(n * sizeof(double))};
    for (int k = 0; k < 3; k++) f.y[k] = malloc(n * sizeof(float));
    for (int k = 0; k < 2; k++) f.s[k] = malloc(n * sizeof(float));
    for (size_t i = 0; i < n; i++) f.weights[i] = 1.5 + jitter((int)i + 500);
    return f;
}

static void free_directions(few_directions *f)
{
    free(f->weights);
    free(f->w);
    for (int k = 0; k < 3; k++) free(f->y[k]);
    for (int k = 0; k < 2; k++) free(f->s[k]);
}

static double inner(size_t n, const double *w, const float *x, const float *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += w[i] * w[i] * (double)x[i] * (double)y[i];
    return sum;
}

/* What the passes leave against their definitions, multiplied back: P y_0 = b, L s_k = y_k and
 * P (y_{k+1} + y_k) = (I - gamma J) s_k, in float; the inner products; the sum of a combination. */
static void directions_of_gmres(void **state)
{
    (void)state;
    for (int isa = HB_ISA_AUTO; isa <= HB_ISA_AVX512; isa++) {
        hb_context *context = make_context((hb_isa)isa, 1);
        if (!context) continue;
        for (int dim = 2; dim <= 3; dim++) {
            small_scheme s = make_scheme(context, dim, scheme_drifts[dim - 1]);
            const size_t n = s.mesh.size;
            const double gamma = 0.023, factors[2] = {0.37, -1.3};
            few_directions f = make_directions(n);
            const hb_directions all = {f.weights, f.y, f.s, f.products};
            double *b = malloc(n * sizeof *b), *Js = malloc(n * sizeof *b), largest = 0;
            int finite;
            for (size_t i = 0; i < n; i++) b[i] = jitter((int)i + 1000);
            assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
            hb_scheme_set_gamma(s.scheme, gamma);
            hb_scheme_begin(s.scheme, b, &all);
            assert_near(f.products[0], inner(n, f.weights, f.y[0], f.y[0]), 1e-10 * f.products[0]);
            widen(n, f.y[0], f.w);
            for (int a = 1; a < dim; a++) multiply_axis(&s, a, gamma, f.w);
            for (size_t i = 0; i < n; i++) assert_near(f.w[i], b[i], 3e-6);
            for (int k = 0; k < 2; k++) {
                double before = k ? (double)f.y[1][7] - factors[0] * (double)f.y[0][7] : 0;
                hb_scheme_extend(s.scheme, k, factors, &all);
                if (k) assert_near((double)f.y[1][7], before, 1e-6);
                widen(n, f.s[k], f.w);
                multiply(&s, f.w, Js);
                for (size_t i = 0; i < n; i++) Js[i] = f.w[i] - gamma * Js[i];
                multiply_axis(&s, 0, gamma, f.w);
                for (size_t i = 0; i < n; i++) assert_near(f.w[i], (double)f.y[k][i], 3e-6);
                for (size_t i = 0; i < n; i++) f.w[i] = (double)f.y[k + 1][i] + (double)f.y[k][i];
                for (int a = 1; a < dim; a++) multiply_axis(&s, a, gamma, f.w);
                for (size_t i = 0; i < n; i++) assert_near(f.w[i], Js[i], 1e-5);
                for (int j = 0; j <= k + 1; j++)
                    assert_near(f.products[j], inner(n, f.weights, f.y[k + 1], f.y[j]), 1e-8);
                for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs((double)f.y[1][i]));
            }
            assert_true(largest > 0.01);
            hb_scheme_combine(s.scheme, 2, factors, &all, f.w);
            for (size_t i = 0; i < n; i++)
                assert_near(f.w[i], factors[0] * (double)f.s[0][i] + factors[1] * (double)f.s[1][i],
                            1e-14);
            free(b);
            free(Js);
            free_directions(&f);
            free_scheme(&s);
        }
        hb_context_destroy(context);
    }
}

/* ---- strands ---------------------------------------------------------------------------------- */

/* Every node is in one strand of an axis, beside its neighbours along the axis. */
static void strands_hold_every_node_once(void **state)
{
    (void)state;
    const int cells[3] = {6, 40, 36};
    const double low[3] = {0}, high[3] = {1, 1, 1};
    for (int dim = 1; dim <= 3; dim++) {
        hb_mesh mesh;
        hb_mesh_set(&mesh, dim, cells, low, high);
        int *times = malloc(mesh.size * sizeof *times);
        for (int a = 0; a < dim; a++) {
            memset(times, 0, mesh.size * sizeof *times);
            for (size_t k = 0; k < hb_mesh_strands(&mesh, a); k++) {
                const hb_strand s = hb_mesh_strand(&mesh, a, k);
                assert_int_equal(s.step, hb_mesh_stride(&mesh, a));
                for (size_t i = 0; i < s.n; i++)
                    for (size_t r = 0; r < s.width; r++) times[s.node + i * s.step + r * s.apart]++;
            }
            for (size_t i = 0; i < mesh.size; i++) assert_int_equal(times[i], 1);
        }
        free(times);
    }
}

/* Rows that are divided by S, the rates having been told gamma: S^-1 J of each axis against J, S between 1 and what the
 * second largest weight gives, and the passes for S^-1 (I - gamma J) x = S^-1 b, multiplied back. */
static void rows_of_stiff_nodes(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    for (int dim = 2; dim <= 3; dim++) {
        small_scheme plain = make_scheme(context, dim, scheme_drifts[dim - 1]);
        small_scheme s = make_scheme(context, dim, scheme_drifts[dim - 1]);
        const size_t n = s.mesh.size;
        const double gamma = 0.9;
        few_directions f = make_directions(n);
        const hb_directions all = {f.weights, f.y, f.s, f.products};
        double *x = malloc(n * sizeof *x), *Jx = malloc(n * sizeof *x),
               *scale = malloc(n * sizeof *x);
        size_t scaled = 0;
        int finite;
        assert_ok(context, hb_scheme_rate(plain.scheme, 0.31, s.v, s.rate, &finite));
        hb_scheme_set_gamma(s.scheme, gamma);
        assert_ok(context, hb_scheme_rate(s.scheme, 0.31, s.v, s.rate, &finite));
        for (size_t i = 0; i < n; i++) x[i] = jitter((int)i + 1000);
        for (int a = 0; a < dim; a++) {
            memset(Jx, 0, n * sizeof *Jx);
            memset(f.w, 0, n * sizeof *f.w);
            hb_scheme_add_product(plain.scheme, a, x, Jx);
            hb_scheme_add_product(s.scheme, a, x, f.w);
            for (size_t i = 0; i < n; i++) {
                if (a == 0) scale[i] = f.w[i] / Jx[i];
                assert_near(f.w[i], scale[i] * Jx[i], 1e-4 * fabs(f.w[i]) + 1e-4);
                assert_true(scale[i] > 0 && scale[i] < 1 + 1e-4);
                scaled += a == 0 && scale[i] < 0.99;
            }
        }
        assert_true(scaled > n / 4);
        hb_scheme_begin(s.scheme, x, &all);
        widen(n, f.y[0], f.w);
        for (int a = 1; a < dim; a++) multiply_axis(&s, a, gamma, f.w);
        for (size_t i = 0; i < n; i++) assert_near(f.w[i], scale[i] * x[i], 1e-4);
        hb_scheme_extend(s.scheme, 0, NULL, &all);
        widen(n, f.s[0], x);
        multiply(&plain, x, Jx);
        for (size_t i = 0; i < n; i++) Jx[i] = scale[i] * (x[i] - gamma * Jx[i]);
        for (size_t i = 0; i < n; i++) f.w[i] = (double)f.y[1][i] + (double)f.y[0][i];
        for (int a = 1; a < dim; a++) multiply_axis(&s, a, gamma, f.w);
        for (size_t i = 0; i < n; i++) assert_near(f.w[i], Jx[i], 1e-4);
        free(x);
        free(Jx);
        free(scale);
        free_directions(&f);
        free_scheme(&s);
        free_scheme(&plain);
    }
    hb_context_destroy(context);
}

/* The norm of CVODE: a mean, and a hundredth of a single entry where that is more; NaN is not lost. */
static void norm_sees_single_nodes(void **state)
{
    (void)state;
    const size_t n = 1000000;
    SUNContext sun;
    assert_int_equal(SUNContext_Create(NULL, &sun), 0);
    N_Vector x = hb_grid_vector_create(NULL, n, sun), w = N_VClone(x);
    double *values = N_VGetArrayPointer(x);
    N_VConst(0.25, x);
    N_VConst(2, w);
    assert_near(N_VWrmsNorm(x, w), 0.5, 1e-14);
    values[n - 3] = -3000;
    assert_near(N_VWrmsNorm(x, w), 60, 1e-12);
    values[17] = NAN;
    assert_true(isnan(N_VWrmsNorm(x, w)));
    N_VDestroy(x);
    N_VDestroy(w);
    SUNContext_Free(&sun);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spline_reproduces_quintics),
        cmocka_unit_test(scheme_conserves_mass),
        cmocka_unit_test(scheme_keeps_the_gaussian),
        cmocka_unit_test(scheme_jacobian_by_differences),
        cmocka_unit_test(rates_on_threads),
        cmocka_unit_test(line_solve_is_exact),
        cmocka_unit_test(directions_of_gmres),
        cmocka_unit_test(rows_of_stiff_nodes),
        cmocka_unit_test(norm_sees_single_nodes),
        cmocka_unit_test(strands_hold_every_node_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
