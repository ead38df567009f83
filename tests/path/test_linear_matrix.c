/* Linear drifts under a noise that is a matrix: Kolmogorov's covariance at any time, forward and backward, with a noise
 * that depends on time, roots of singular matrices, the time of rest. */
#include "base/linear_algebra.h"
#include "path/linear_path.h"
#include "shared_context.h"

static hb_problem *problem_of(const char *drift, const char *noise)
{
    hb_problem *problem;
    assert_ok(CTX, hb_problem_parse(CTX, drift, noise, "gaussian(mean=0,var=1)", &problem));
    return problem;
}

/* C of the whole way. */
static void spread_over(const char *drift, const char *noise, double T, double flow, double *C)
{
    double fine[11], rough[11];
    int found;
    hb_problem *problem = problem_of(drift, noise);
    assert_int_equal(hb_linear_path_size(2), 11);
    assert_ok(CTX, hb_linear_path(CTX, problem, T, flow, fine, rough, &found));
    assert_true(found);
    memcpy(C, fine + 4, 4 * sizeof *C);
    for (int k = 0; k < 4; k++) assert_relative(fine[4 + k], rough[4 + k], 1e-12);
    hb_problem_destroy(problem);
}

static void kolmogorov_has_no_cancellation(void **state)
{
    (void)state;
    static const double times[] = {1e-9, 1e-4, 0.7, 300};
    for (size_t k = 0; k < 4; k++) {
        const double T = times[k];
        double C[4];
        spread_over("y, 0", "0; 1.5", T, -1, C);
        assert_relative(C[0], 2.25 * T * T * T / 3, 1e-13);
        assert_relative(C[1], 2.25 * T * T / 2, 1e-13);
        assert_relative(C[3], 2.25 * T, 1e-13);
        spread_over("y, 0", "0; 1.5", T, 1, C); // backward: q falls with p
        assert_relative(C[0], 2.25 * T * T * T / 3, 1e-13);
        assert_relative(C[1], -2.25 * T * T / 2, 1e-13);
    }
}

/* Noise t on p: int (T-t)^2 t^2 = T^5/30, int (T-t) t^2 = T^4/12, T^3/3. */
static void a_noise_that_grows_has_polynomials(void **state)
{
    (void)state;
    static const double times[] = {1e-6, 0.9};
    for (size_t k = 0; k < 2; k++) {
        const double T = times[k];
        double C[4];
        spread_over("y, 0", "0; t", T, -1, C);
        assert_relative(C[0], pow(T, 5) / 30, 1e-12);
        assert_relative(C[1], pow(T, 4) / 12, 1e-12);
        assert_relative(C[3], pow(T, 3) / 3, 1e-12);
    }
}

static void singular_matrices_have_roots(void **state)
{
    (void)state;
    const double b[3] = {0.3, -1.7, 0.8};
    double C[9], L[9];
    for (int i = 0; i < 9; i++) C[i] = L[i] = b[i / 3] * b[i % 3];
    assert_true(hb_cholesky_semidefinite(3, L));
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++) sum += L[i * 3 + k] * L[j * 3 + k];
            assert_near(sum, C[i * 3 + j], 1e-14);
        }
    double none[4] = {1, 0, 2, 1}; // lower triangle of a matrix with a negative eigenvalue
    assert_false(hb_cholesky_semidefinite(2, none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kolmogorov_has_no_cancellation),
        cmocka_unit_test(a_noise_that_grows_has_polynomials),
        cmocka_unit_test(singular_matrices_have_roots),
    };
    return cmocka_run_group_tests_name("linear_matrix", tests, create_shared, destroy_shared);
}
