/* The chain of a tensor: integer directions add up to it, a density without currents is kept to rounding, and that of a
 * turning drift is reached with the second order of the mesh. */
#include "../grid/grid_support.h"

#include "chain/chain_rates.h"
#include "chain/null_vector.h"

/* The sum of the squares of the directions is M again, all weights above 0. */
static void check_sum(int dim, const double *M, const hb_selling *s)
{
    for (int a = 0; a < dim; a++)
        for (int b = 0; b < dim; b++) {
            double sum = 0;
            for (int k = 0; k < s->count; k++) {
                assert_true(s->weight[k] > 0);
                sum += s->weight[k] * s->offset[k][a] * s->offset[k][b];
            }
            assert_near(sum, M[a * dim + b], 1e-8 * (M[0] + M[dim * dim - 1]));
        }
}

/* M = A A' of random A[dim][dim]. */
static void random_square(int dim, int seed, double *M)
{
    double A[9];
    for (int k = 0; k < dim * dim; k++) A[k] = jitter(17 * seed + k) + (k % (dim + 1) == 0);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++) {
            M[i * dim + j] = 0;
            for (int k = 0; k < dim; k++) M[i * dim + j] += A[i * dim + k] * A[j * dim + k];
        }
}

static void directions_add_up(void **state)
{
    (void)state;
    const double share[9] = {0, 0.4, 0.3, 0, 0, 0.7, 0, 0, 0};
    int pairs = 0;
    hb_selling s;
    for (int dim = 1; dim <= 3; dim++)
        for (int seed = 0; seed < 200; seed++) {
            double M[9];
            random_square(dim, seed, M);
            assert_true(hb_selling_reduce(dim, M, &s));
            assert_true(s.count <= dim * (dim + 1) / 2);
            check_sum(dim, M, &s);
            if (!hb_selling_pairs(dim, M, share, &s)) continue;
            check_sum(dim, M, &s);
            pairs++;
        }
    assert_true(pairs > 200);
    const double M[4] = {2, 1, 1, 2};
    assert_true(hb_selling_reduce(2, M, &s));
    assert_int_equal(s.count, 3);
    for (int k = 0; k < 3; k++) assert_near(s.weight[k], 1, 1e-15);
}

#define NOISE "1 + 0.3*sin(x), 0.4*cos(y); 0.2, 1 + 0.2*sin(x + y)"
/* div D of this noise, D = G G'/2. */
#define DIV_1                                                                                      \
    "(0.3*cos(x)*(1 + 0.3*sin(x)) + 0.5*(-0.4*sin(y)*(1 + 0.2*sin(x + y)) + "                      \
    "0.4*cos(y)*0.2*cos(x + y)))"
#define DIV_2                                                                                      \
    "(0.5*(0.2*0.3*cos(x) + 0.4*cos(y)*0.2*cos(x + y)) + 0.2*cos(x + y)*(1 + 0.2*sin(x + y)))"
#define D_11 "0.5*((1 + 0.3*sin(x))^2 + 0.16*cos(y)^2)"
#define D_12 "0.5*(0.2*(1 + 0.3*sin(x)) + 0.4*cos(y)*(1 + 0.2*sin(x + y)))"
#define D_22 "0.5*(0.04 + (1 + 0.2*sin(x + y))^2)"

/* The largest |v - ln p| where p is not small, for p = exp(-V)/Z, V = x^2 + y^2 + x y/2, and a turning part of this size. */
static double error_of(const char *turn, int cells)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    char drift[1200];
    const double low[2] = {-4, -4.2}, high[2] = {4.1, 4}, bulk[2] = {0, 0};
    const int n[2] = {cells, cells};
    hb_mesh mesh;
    hb_chain_rates rates;
    hb_chain_hints hints = {.raised = INFINITY};
    snprintf(drift, sizeof drift,
             "-(%s)*(2*x + y/2) - (%s + %s)*(2*y + x/2) + %s, "
             "-(%s - %s)*(2*x + y/2) - (%s)*(2*y + x/2) + %s",
             D_11, D_12, turn, DIV_1, D_12, turn, D_22, DIV_2);
    hb_problem *problem = make_problem(context, drift, NOISE, NULL);
    hb_mesh_set(&mesh, 2, n, low, high);
    double *v = malloc(mesh.size * sizeof *v), relaxation, most = 0;
    assert_ok(context, hb_chain_rates_create(context, problem, &mesh, 0, &hints, &rates));
    assert_ok(context, hb_null_vector(&mesh, &rates, bulk, v, &relaxation));
    assert_true(hints.raised == INFINITY && relaxation > 0.1 && relaxation < 3);
    assert_near(hb_mesh_log_mass(&mesh, v), 0, 1e-12);
    const double top =
        -log(2 * M_PI / sqrt(4 - 0.25)); /* of the Gaussian with precision (2, 1/2; 1/2, 2) */
    for (size_t i = 0; i < mesh.size; i++) {
        double x[2];
        hb_mesh_point(&mesh, i, x);
        const double V = x[0] * x[0] + x[1] * x[1] + 0.5 * x[0] * x[1];
        if (V < 3) most = fmax(most, fabs(v[i] - (top - V)));
    }
    free(v);
    hb_chain_rates_destroy(&rates);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
    return most;
}

static void a_density_without_currents_is_kept(void **state)
{
    (void)state;
    assert_true(error_of("0", 24) < 1e-6); /* what the Gauss points leave */
}

static void turning_drifts_have_second_order(void **state)
{
    (void)state;
    const double coarse = error_of("0.3", 32), fine = error_of("0.3", 64);
    assert_true(fine < 0.05 && fine > 1e-5);
    assert_true(coarse / fine > 3.3 && coarse / fine < 5);
}

/* In space: from a poor guess. */
static void cycles_come_to_the_null_vector(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const int cells[3] = {15, 18, 16};
    const double low[3] = {-3, -3.2, -2.8}, high[3] = {3.1, 3, 3}, bulk[3] = {0, 0, 0};
    hb_problem *problem = make_problem(context, "-x + y - x*z^2, -y - x, -z + 0.3*x - z^3",
                                       "1, 0.3*sin(y), 0; 0, 1, 0.2; 0.2*cos(x), 0, 0.8", NULL);
    hb_mesh mesh;
    hb_chain_rates rates;
    hb_chain_hints hints = {.raised = INFINITY};
    double left;
    hb_mesh_set(&mesh, 3, cells, low, high);
    double *v = malloc(mesh.size * sizeof *v), *w = malloc(mesh.size * sizeof *w);
    assert_ok(context, hb_chain_rates_create(context, problem, &mesh, 0, &hints, &rates));
    assert_ok(context, hb_null_vector(&mesh, &rates, bulk, v, NULL));
    for (size_t i = 0; i < mesh.size; i++) w[i] = 0.5 * v[i] + 0.1 * jitter((int)i);
    assert_ok(context, hb_chain_levels(&mesh, &rates, w, &left));
    assert_true(left <= 1e-7);
    for (size_t i = 0; i < mesh.size; i++)
        if (v[i] > -14) assert_near(w[i], v[i], 10 * left);
    free(v);
    free(w);
    hb_chain_rates_destroy(&rates);
    hb_problem_destroy(problem);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_add_up),
        cmocka_unit_test(a_density_without_currents_is_kept),
        cmocka_unit_test(turning_drifts_have_second_order),
        cmocka_unit_test(cycles_come_to_the_null_vector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
