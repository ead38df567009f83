/* ln p from one pass of an energy network: against the Gaussian that a network of 0 leaves, against
 * the ODE where the network does not solve its equation, and its refusals. */
#include "generate_support.h"
#include "net/model_parts.h"

enum { DIM = 3, DATA = 400, ROWS = 200 };

/* A model of Gaussian rows x; last_scale 0: its network gives 0. */
static hb_model *make_model(hb_context *context, int head, double last_scale, double *x)
{
    const hb_model_info info = {.dim = DIM,
                                .head = head,
                                .process = HB_PROCESS_OU,
                                .width = 16,
                                .depth = 2,
                                .time_features = 5,
                                .tau_min = 2e-3,
                                .tau_max = 3.2,
                                .loss = "dsm"};
    hb_model *model;
    assert_ok(context, hb_random_normal(context, 4, 1, 0, DATA * DIM, x));
    for (size_t i = 0; i < DATA * DIM; i++) x[i] = 7 + (double)(1 + i % DIM) * x[i];
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_ok(context, hb_model_set_reference(context, model, HB_STANDARDISE_AXIS, DATA, x));
    assert_ok(context, hb_net_initialise(context, model->net, 8, last_scale, model->parameters));
    return model;
}

static double z[ROWS * DIM], off[ROWS]; /* of the last check */

static hb_density_check check_of(hb_context *context, const hb_model *model)
{
    hb_generate_settings s;
    hb_density_check check;
    hb_generate_settings_default(sizeof s, &s);
    assert_ok(context,
              hb_model_density_check(context, model, &s, ROWS, -1, sizeof check, &check, z, off));
    assert_true(check.rows == ROWS && check.tau_min == 2e-3);
    return check;
}

/* v = ln p: nothing to normalise, errors as small as the steps of the ODE. */
static void a_gaussian_needs_no_normaliser(void **state)
{
    double x[DATA * DIM], found[DATA], error[DATA], exact[DATA], tau[DATA];
    hb_model *model = make_model(*state, HB_HEAD_ENERGY, 0, x);
    const hb_density_check check = check_of(*state, model);
    assert_near(check.log_normaliser, 0, 1e-3);
    assert_true(check.effective > 0.999 && check.error_all < 1e-3 && check.spread < 1e-3);
    assert_ok(*state, hb_model_direct_likelihood(*state, model, DATA, &check, z, off, x, NULL,
                                                 found, error));
    size_t known = 0;
    for (size_t i = 0; i < DATA; i++) tau[i] = 2e-3;
    assert_ok(*state, hb_model_log_density(*state, model, DATA, x, tau, NULL, exact, NULL));
    for (size_t i = 0; i < DATA; i++) {
        assert_true(found[i] == exact[i] - check.offset);
        known += isfinite(error[i]);
        assert_true(error[i] < 1e-3 || isinf(error[i]));
    }
    assert_true(known > 0.8 * DATA);
    hb_model_destroy(model);
}

/* A network that does not solve its equation: other samples of its flow lie within 1.96 errors of the
 * ODE's values in 95 %, and weighted by e^(v - ln p) they have the same normaliser. */
static void errors_cover_the_difference_to_the_ode(void **state)
{
    enum { N = 400 };
    double x[DATA * DIM], y[N * DIM], found[N], error[N], ode[N], sum = 0, squares = 0;
    hb_model *model = make_model(*state, HB_HEAD_ENERGY, 1.3, x);
    const hb_density_check check = check_of(*state, model);
    hb_generate_settings s;
    hb_generate_settings_default(sizeof s, &s);
    s.solver = HB_SOLVER_ODE;
    s.denoise = HB_DENOISE_NONE;
    s.seed = 100;
    assert_true(check.spread > 0.01 && check.effective < 0.9999);
    assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, NULL, y));
    assert_ok(*state,
              hb_model_direct_likelihood(*state, model, N, &check, z, off, y, NULL, found, error));
    assert_ok(*state, hb_model_likelihood(*state, model, &s, 0, N, y, NULL, ode, NULL));
    int inside = 0, known = 0;
    for (int i = 0; i < N; i++) {
        const double w = exp(found[i] - ode[i]);
        inside += fabs(found[i] - ode[i]) < 1.96 * error[i];
        known += isfinite(error[i]);
        sum += w / N;
        squares += w * w / N;
    }
    assert_true(inside > 0.90 * N && known > 0.8 * N);
    const double se = sqrt((squares - sum * sum) / N);
    assert_near(sum, 1, 4 * hypot(se, check.log_normaliser_se));
    hb_model_destroy(model);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where few samples make up the normaliser, it is not taken off: the median of the difference to the
 * ODE at other samples is 0 to 4 standard errors, 1.25 spread/sqrt(N) (1.25: of a median). */
static void few_samples_do_not_move_all_rows(void **state)
{
    enum { N = 400 };
    static double x[DATA * DIM], y[N * DIM], found[N], ode[N];
    hb_model *model = make_model(*state, HB_HEAD_ENERGY, 8, x);
    const hb_density_check check = check_of(*state, model);
    hb_generate_settings s;
    hb_generate_settings_default(sizeof s, &s);
    s.solver = HB_SOLVER_ODE;
    s.denoise = HB_DENOISE_NONE;
    s.tau_min = 2e-3;
    s.seed = 100;
    assert_true(check.effective < 0.5 && check.log_normaliser > check.offset + 0.2);
    assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, NULL, y));
    assert_ok(*state, hb_model_direct_likelihood(*state, model, N, &check, NULL, NULL, y, NULL,
                                                 found, NULL));
    assert_ok(*state, hb_model_likelihood(*state, model, &s, 0, N, y, NULL, ode, NULL));
    for (int i = 0; i < N; i++) found[i] -= ode[i];
    qsort(found, N, sizeof *found, by_value);
    assert_near(found[N / 2], 0, 4 * 1.25 * check.spread * sqrt(1.0 / N + 1.0 / ROWS));
    hb_model_destroy(model);
}

static void a_row_is_alone_and_far_rows_have_no_error(void **state)
{
    double x[DATA * DIM], whole[DATA], piece[DATA], error[DATA], far[DIM] = {90, -90, 90};
    hb_model *model = make_model(*state, HB_HEAD_ENERGY, 1.3, x);
    const hb_density_check check = check_of(*state, model), again = check_of(*state, model);
    assert_memory_equal(&check, &again, sizeof check);
    assert_ok(*state, hb_model_direct_likelihood(*state, model, DATA, &check, z, off, x, NULL,
                                                 whole, error));
    assert_ok(*state, hb_model_direct_likelihood(*state, model, 7, &check, NULL, NULL, x + 9 * DIM,
                                                 NULL, piece, NULL));
    assert_memory_equal(piece, whole + 9, 7 * sizeof *piece);
    assert_ok(*state, hb_model_direct_likelihood(*state, model, 1, &check, z, off, far, NULL, whole,
                                                 error));
    assert_true(isfinite(whole[0]) && isinf(error[0]));
    hb_model_destroy(model);
}

static void refusals(void **state)
{
    double x[DATA * DIM], found[DATA];
    hb_density_check check = {0};
    hb_model *score = make_model(*state, HB_HEAD_SCORE, 0, x);
    hb_model *energy = make_model(*state, HB_HEAD_ENERGY, 0, x);
    assert_fails(
        *state,
        hb_model_density_check(*state, score, NULL, 0, -1, sizeof check, &check, NULL, NULL),
        HB_ERROR_ARGUMENT, "only a model with the energy head has a log-density");
    assert_fails(
        *state,
        hb_model_density_check(*state, energy, NULL, 10, -1, sizeof check, &check, NULL, NULL),
        HB_ERROR_ARGUMENT, "samples is 10; it must be 0 (256) or 80 to 1048576");
    assert_fails(
        *state,
        hb_model_direct_likelihood(*state, energy, 1, NULL, NULL, NULL, x, NULL, found, NULL),
        HB_ERROR_ARGUMENT, "check is NULL or empty; hb_model_density_check fills it");
    check.size = sizeof check;
    check.rows = 100;
    assert_fails(
        *state,
        hb_model_direct_likelihood(*state, energy, 1, &check, NULL, NULL, x, NULL, found, found),
        HB_ERROR_ARGUMENT, "errors need z and off of hb_model_density_check");
    hb_model_destroy(score);
    hb_model_destroy(energy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gaussian_needs_no_normaliser),
        cmocka_unit_test(errors_cover_the_difference_to_the_ode),
        cmocka_unit_test(few_samples_do_not_move_all_rows),
        cmocka_unit_test(a_row_is_alone_and_far_rows_have_no_error),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
