/* Gauss rules against SciPy's nodes and closed-form moments, and sphere rules against the means of all
 * monomials. */
#include "shared_context.h"

#include "ball/quadrature.h"
#include "ball/sphere_rule.h"
#include "monomials.h"

/* ---- Gauss rules ---------------------------------------------------------------------------- */

typedef struct gauss_case {
    int beta; // 1: Beta(p, q), 0: Gamma(shape p, rate q)
    int n;
    double p, q;
    double node[5], weight[5];
} gauss_case;

/* scipy 1.10: roots_genlaguerre(n, shape-1) with x/rate, and roots_jacobi(n, q-1, p-1) with
 * (1+x)/2; weights divided by their sum. */
static const gauss_case GAUSS[] = {
    {0,
     5,
     2.5,
     1,
     {0.81763176297506068, 2.4723339257285213, 5.11600612296718, 9.044146511367595,
      15.049881676961641},
     {0.29791548523692518, 0.52258093907260372, 0.16792358229180637, 0.011481584149848206,
      9.840924881652832e-05}},
    {0,
     4,
     8.75,
     3.25,
     {1.4298030512268407, 2.5936008039192133, 4.1271178609821444, 6.3110167454102628},
     {0.20115764871857822, 0.59151943443099153, 0.20050919543687457, 0.006813721413555577}},
    {1,
     5,
     2.5,
     0.75,
     {0.1290123327725386, 0.34863301500201649, 0.60526375435787394, 0.83291087246978157,
      0.9730689142866783},
     {0.013566800943502745, 0.089244189849336797, 0.23528889834096287, 0.35759097338601126,
      0.30430913748018645}},
    {1,
     4,
     1,
     2,
     {0.057104196114517725, 0.2768430136381238, 0.58359043236891683, 0.86024013565621948},
     {0.27101382686297704, 0.4069291360205422, 0.25969509521646467, 0.06236194190001617}},
};

static hb_status gauss_rule(const gauss_case *c, int n, double *nodes, double *weights)
{
    return c->beta ? hb_quadrature_beta(CTX, c->p, c->q, n, nodes, weights)
                   : hb_quadrature_gamma(CTX, c->p, c->q, n, nodes, weights);
}

static void gauss_rules_match_scipy(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof GAUSS / sizeof *GAUSS; i++) {
        double nodes[5], weights[5];
        assert_ok(CTX, gauss_rule(&GAUSS[i], GAUSS[i].n, nodes, weights));
        for (int j = 0; j < GAUSS[i].n; j++) {
            assert_near(nodes[j], GAUSS[i].node[j], 1e-13 * GAUSS[i].node[j]);
            assert_near(weights[j], GAUSS[i].weight[j], 1e-13);
        }
    }
}

/* E[x^k] of the law, k = 0 .. 2n-1, by the recurrences of its moments */
static void assert_gauss_moments(const gauss_case *c, int n, double tolerance)
{
    double nodes[40], weights[40], exact = 1;
    assert_ok(CTX, gauss_rule(c, n, nodes, weights));
    for (int k = 0; k < 2 * n; k++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += weights[j] * pow(nodes[j], k);
        assert_near(sum / exact, 1, tolerance);
        exact *= c->beta ? (c->p + k) / (c->p + c->q + k) : (c->p + k) / c->q;
    }
}

static void gauss_rules_are_exact(void **state)
{
    (void)state;
    const gauss_case cases[] = {{0, 0, 2.5, 0.5, {0}, {0}},   {0, 0, 1e6 + 2, 1e6, {0}, {0}},
                                {1, 0, 0.5, 0.5, {0}, {0}},   {1, 0, 1, 1e6, {0}, {0}},
                                {1, 0, 1e6 + 1, 1, {0}, {0}}, {1, 0, 0.5, 1.5, {0}, {0}},
                                {1, 0, 3.385, 0.25, {0}, {0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 1; n <= 9; n++) assert_gauss_moments(&cases[i], n, 1e-12);
}

static void gauss_rules_refuse_bad_counts(void **state)
{
    (void)state;
    double x, w;
    assert_fails(CTX, hb_quadrature_gamma(CTX, 2, 1, 0, &x, &w), HB_ERROR_ARGUMENT,
                 "a Gauss rule of 0 nodes is wanted; it must be 1 to 512");
    assert_fails(CTX, hb_quadrature_beta(CTX, 2, 1, 513, &x, &w), HB_ERROR_ARGUMENT, "513");
}

/* ---- sphere rules --------------------------------------------------------------------------- */

static void assert_sphere_rule(int d, int degree)
{
    size_t size;
    assert_ok(CTX, hb_sphere_rule_size(CTX, d, degree, &size));
    double *nodes = malloc(size * (size_t)d * sizeof *nodes),
           *weights = malloc(size * sizeof *weights);
    assert_ok(CTX, hb_sphere_rule_fill(CTX, d, degree, nodes, weights));
    for (size_t i = 0; i < size; i++) {
        double norm = 0;
        for (int c = 0; c < d; c++) norm += pow(nodes[i * (size_t)d + (size_t)c], 2);
        assert_near(norm, 1, 1e-14);
        assert_true(weights[i] > 0);
    }
    int alpha[8] = {0};
    do {
        double sum = 0;
        for (size_t i = 0; i < size; i++)
            sum += weights[i] * monomial(d, alpha, nodes + i * (size_t)d);
        assert_near(sum, sphere_moment(d, alpha), 2e-14);
    } while (next_index(d, degree, alpha));
    free(nodes);
    free(weights);
}

static void sphere_rules_are_exact(void **state)
{
    (void)state;
    for (int degree = 0; degree <= 9; degree++) {
        for (int d = 1; d <= 4; d++) assert_sphere_rule(d, degree);
        if (degree <= 5) assert_sphere_rule(6, degree);
    }
}

static void sphere_rules_are_small(void **state)
{
    (void)state;
    const int expected[][3] = {{1, 7, 2}, {2, 4, 5}, {3, 3, 6}, {3, 4, 15}, {9, 2, 18}, {4, 5, 54}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t size;
        assert_ok(CTX, hb_sphere_rule_size(CTX, expected[i][0], expected[i][1], &size));
        assert_int_equal(size, expected[i][2]);
    }
    size_t size;
    assert_fails(
        CTX, hb_sphere_rule_size(CTX, 20, 4, &size), HB_ERROR_ARGUMENT,
        "the sphere rule of degree 4 in 20 dimensions has 1.937e+09 nodes; at most 10000000");
    assert_fails(CTX, hb_sphere_rule_size(CTX, 3, -1, &size), HB_ERROR_ARGUMENT, "is -1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gauss_rules_match_scipy),       cmocka_unit_test(gauss_rules_are_exact),
        cmocka_unit_test(gauss_rules_refuse_bad_counts), cmocka_unit_test(sphere_rules_are_exact),
        cmocka_unit_test(sphere_rules_are_small),
    };
    return cmocka_run_group_tests(tests, create_shared, destroy_shared);
}
