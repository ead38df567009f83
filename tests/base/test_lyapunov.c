/* The Lyapunov equation: a solution by hand, residuals of random stable matrices, singular noise, and what is
 * refused. */
#include "support.h"

#include "base/lyapunov.h"

static void by_hand(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double A[4] = {-1, 2, 0, -3}, D[4] = {1, 0, 0, 1};
    const double exact[4] = {4.0 / 3, 1.0 / 6, 1.0 / 6, 1.0 / 3};
    double C[4], error, rate;
    assert_ok(context, hb_lyapunov(context, 2, A, D, C, &error, &rate));
    for (int k = 0; k < 4; k++) assert_near(C[k], exact[k], error + 1e-15);
    assert_true(error < 1e-14);
    assert_near(rate, 1, 1e-14);
    /* Langevin with inertia: dq = p, dp = -q - p + noise of D = 1/2: C = I/2 */
    const double L[4] = {0, 1, -1, -1}, N[4] = {0, 0, 0, 0.5};
    assert_ok(context, hb_lyapunov(context, 2, L, N, C, &error, &rate));
    assert_near(C[0], 0.5, 1e-14);
    assert_near(C[1], 0, 1e-14);
    assert_near(C[3], 0.5, 1e-14);
    assert_near(rate, 0.5, 1e-14); /* of -1/2 +- i sqrt(3)/2 */
    hb_context_destroy(context);
}

static void residuals_are_rounding(void **state)
{
    (void)state;
    enum { D = 151 }; /* four blocks, pairs of complex eigenvalues at their ends */
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static double A[D * D], N[D * D], C[D * D];
    double error, rate;
    for (int i = 0; i < D * D; i++) A[i] = 0.1 * sin(2.385 * i + 0.71 * i * i);
    for (int i = 0; i < D; i++) {
        A[i * D + i] -= 3;
        N[i * D + i] = 1 + 0.1 * i;
    }
    assert_ok(context, hb_lyapunov(context, D, A, N, C, &error, &rate));
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++) {
            double sum = 2 * N[i * D + j];
            for (int k = 0; k < D; k++)
                sum += A[i * D + k] * C[k * D + j] + C[i * D + k] * A[j * D + k];
            assert_near(sum, 0, 1e-13);
            assert_true(C[i * D + j] == C[j * D + i]);
        }
    hb_context_destroy(context);
}

/* Stops at the number-th call; the least number that lets it end is how often it listens. */
static int stop_at(void *user, const char *what, double done, double total)
{
    (void)what, (void)done, (void)total;
    return --*(int *)user == 0;
}

static void it_listens_between_blocks(void **state)
{
    (void)state;
    enum { D = 100 };
    static double A[D * D], N[D * D], C[D * D], other[D * D];
    double error, rate;
    int number = -1;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = stop_at;
    settings.progress_user = &number;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    for (int i = 0; i < D; i++) {
        A[i * D + i] = -1;
        A[i * D + (i + 1) % D] = 0.5;
        N[i * D + i] = 1;
    }
    assert_ok(context, hb_lyapunov(context, D, A, N, C, &error, &rate));
    const int calls = -1 - number;
    assert_true(calls > 20); /* 2 x 9 blocks, 9 products, 3 parts of the Schur form */
    for (int at = 1; at <= calls; at += 3) {
        number = at;
        assert_int_equal(hb_lyapunov(context, D, A, N, other, &error, &rate), HB_ERROR_INTERRUPTED);
    }
    number = -1;
    assert_ok(context, hb_lyapunov(context, D, A, N, other, &error, &rate));
    assert_memory_equal(C, other, sizeof C);
    hb_context_destroy(context);
}

/* A chain of Jordan's form, downward: without the order of dgebal its eigenvalue -1 is lost in rounding. */
static void chains_keep_their_eigenvalues(void **state)
{
    (void)state;
    enum { D = 200 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    static double A[D * D], N[D * D], C[D * D];
    double error, rate;
    for (int i = 0; i < D; i++) {
        A[i * D + i] = -1;
        if (i > 0) A[i * D + i - 1] = 1;
        N[i * D + i] = 1;
    }
    assert_ok(context, hb_lyapunov(context, D, A, N, C, &error, &rate));
    assert_near(rate, 1, 1e-12);
    assert_near(C[0], 1, 1e-12);
    assert_near(C[1], 0.5, 1e-12); /* -2 C01 + C00 = 0 */
    hb_context_destroy(context);
}

static void what_is_not_stable_is_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const double turning[4] = {0, 2, -2, 0}, growing[4] = {-1, 0, 0, 0.25}, D[4] = {1, 0, 0, 1};
    double C[4], error, rate;
    assert_int_equal(hb_lyapunov(context, 2, turning, D, C, &error, &rate), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(context), "2 i"));
    assert_int_equal(hb_lyapunov(context, 2, growing, D, C, &error, &rate), HB_ERROR_ARGUMENT);
    assert_non_null(strstr(hb_context_message(context), "eigenvalue 0.25"));
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(residuals_are_rounding),
        cmocka_unit_test(it_listens_between_blocks),
        cmocka_unit_test(chains_keep_their_eigenvalues),
        cmocka_unit_test(what_is_not_stable_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
