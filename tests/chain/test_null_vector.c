/* The null vector of the scheme: it has rate 0, keeps its digits in tails and between wells that never meet,
 * does not depend on where the elimination ends, and the relaxation times are those of Ornstein-Uhlenbeck. */
#include "../grid/grid_support.h"

#include "chain/null_vector.h"
#include "grid/scheme.h"

typedef struct run {
    hb_problem *problem;
    hb_mesh mesh;
    hb_scheme *scheme;
    hb_chain_rates rates;
    double *v, *rate;
} run;

static run start(hb_context *context, const char *drift, int dim, const int *cells,
                 const double *low, const double *high)
{
    run r = {.problem = make_problem(context, drift, "sqrt(2)", NULL)};
    hb_mesh_set(&r.mesh, dim, cells, low, high);
    assert_ok(context, hb_scheme_create(context, r.problem, &r.mesh, 0, &r.scheme));
    assert_ok(context, hb_chain_rates_create(context, r.problem, &r.mesh, 0, NULL, &r.rates));
    r.v = malloc(r.mesh.size * sizeof(double));
    r.rate = malloc(r.mesh.size * sizeof(double));
    return r;
}

static void end(run *r)
{
    hb_scheme_destroy(r->scheme);
    hb_chain_rates_destroy(&r->rates);
    hb_problem_destroy(r->problem);
    free(r->v);
    free(r->rate);
}

static void rates_are_zero_wherever_the_elimination_ends(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const int cells[3] = {10, 13, 9};
    const double low[3] = {-3, -3.5, -2.6}, high[3] = {3.2, 3.1, 2.9};
    const double bulk[3][3] = {{0, 0, 0}, {-3, -3.5, -2.6}, {1, 3.1, 2.9}};
    const char *drifts[] = {"-x + 0.3", "-x + y - x*y^2, -2*x - y",
                            "-x + y, -x - y + z, -z - 0.5*y + 0.2*x"};
    for (int dim = 1; dim <= 3; dim++) {
        run r = start(context, drifts[dim - 1], dim, cells, low, high);
        double *first = malloc(r.mesh.size * sizeof *first);
        for (int k = 0; k < 3; k++) {
            double most = 0;
            int finite;
            assert_ok(context, hb_null_vector(&r.mesh, &r.rates, bulk[k], r.v, NULL));
            assert_ok(context, hb_scheme_rate(r.scheme, 0, r.v, r.rate, &finite));
            for (size_t i = 0; i < r.mesh.size; i++) most = fmax(most, fabs(r.rate[i]));
            assert_true(most < 1e-10);
            assert_near(hb_mesh_log_mass(&r.mesh, r.v), 0, 1e-12);
            if (k == 0) memcpy(first, r.v, r.mesh.size * sizeof *first);
            for (size_t i = 0; i < r.mesh.size; i++) assert_near(r.v[i], first[i], 1e-10);
        }
        free(first);
        end(&r);
    }
    hb_context_destroy(context);
}

/* F = 400 (x - x^3): the scheme integrates a cubic exactly, so v is -V up to a constant; 100 between wells and top,
 * hundreds at the boundary. */
static void tails_and_wells_keep_their_digits(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const int cells[1] = {300};
    const double low[1] = {-2.2}, high[1] = {2.2}, bulk[1] = {1};
    run r = start(context, "400*(x - x^3)", 1, cells, low, high);
    double relaxation;
    assert_ok(context, hb_null_vector(&r.mesh, &r.rates, bulk, r.v, &relaxation));
    for (size_t i = 0; i < r.mesh.size; i++) {
        double x;
        hb_mesh_point(&r.mesh, i, &x);
        const double V = 400 * (pow(x, 4) / 4 - x * x / 2 + 0.25);
        assert_near(r.v[i] - r.v[150] - 100, -V, 1e-9);
    }
    assert_true(relaxation > 1e5); /* e^100 and more; beyond what is told from 0 */
    end(&r);
    hb_context_destroy(context);
}

static void relaxation_times_are_those_of_linear_drifts(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const int cells[3] = {60, 40, 12};
    const double low[3] = {-6, -6, -5}, high[3] = {6, 6, 5}, bulk[3] = {0};
    const char *drifts[] = {"-x", "-0.5*x + 2*y, -2*x - 0.5*y", "-x, -0.7*y, -0.4*z"};
    const double exact[] = {1, 2, 2.5};
    for (int dim = 1; dim <= 3; dim++) {
        double relaxation;
        run r = start(context, drifts[dim - 1], dim, cells, low, high);
        assert_ok(context, hb_null_vector(&r.mesh, &r.rates, bulk, r.v, &relaxation));
        assert_near(relaxation / exact[dim - 1], 1, 0.15);
        end(&r);
    }
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_zero_wherever_the_elimination_ends),
        cmocka_unit_test(tails_and_wells_keep_their_digits),
        cmocka_unit_test(relaxation_times_are_those_of_linear_drifts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
