/* Samples and likelihoods of models of a drift: networks that give 0, whose density is a Gaussian; random ones;
 * and one that has learnt the linear process of linear_process.h. */
#include "linear_process.h"
#include "net/model_parts.h"
#include "train/trainer.h"

enum { ROWS = 600 };

static const char *const TEXT[] = {NULL,
                                   "x - x^3",
                                   "x - x^3 - y, x - y",
                                   "x - x^3 - y, x - y, -2*z",
                                   NULL,
                                   "-x1, -x2, x1 - 2*x3, -x4, -2*x5"};

static hb_train_settings settings_of_training(const hb_problem *drift, int head)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.process = HB_PROCESS_DRIFT;
    s.drift = drift;
    s.head = head;
    if (head != HB_HEAD_ENERGY) s.loss = HB_LOSS_DSM;
    s.width = 24;
    s.depth = 2;
    s.batch = 64;
    s.steps = 1;
    s.tau_min = 0.01;
    s.tau_max = 1.2;
    return s;
}

/* A model before its first step, its last layer of size last_scale. */
static hb_model *make_model_of(hb_context *context, int dim, const char *text, int head,
                               double last_scale)
{
    double data[5 * ROWS];
    hb_problem *drift = make_problem(context, dim, text);
    hb_trainer t = {.context = context, .settings = settings_of_training(drift, head), .n = ROWS};
    assert_ok(context, hb_random_normal(context, 5, 1, 0, (size_t)dim * ROWS, data));
    assert_ok(context, hb_trainer_create(&t, dim, 0, data, NULL));
    hb_model *model = t.model;
    t.model = NULL;
    hb_trainer_destroy(&t);
    assert_ok(context, hb_net_initialise(context, model->net, 3, last_scale, model->parameters));
    hb_problem_destroy(drift);
    return model;
}

static hb_model *make_model(hb_context *context, int dim, int head, double last_scale)
{
    return make_model_of(context, dim, TEXT[dim], head, last_scale);
}

static hb_generate_settings settings_of_samples(int solver)
{
    hb_generate_settings s;
    hb_generate_settings_default(sizeof s, &s);
    s.solver = solver;
    s.n_steps = 40;
    return s;
}

/* ---- the constant ---- */

static void a_network_that_gives_0_is_normalised(void **state)
{
    for (int dim = 1; dim <= 5; dim++) {
        double found, error;
        if (!TEXT[dim]) continue;
        hb_model *model = make_model(*state, dim, HB_HEAD_ENERGY, 0);
        assert_ok(*state, hb_model_log_normaliser(*state, model, 1, &found, &error));
        assert_true(error < (dim <= 2 ? 1e-5 : 0.02));
        assert_near(found, 0, 5 * error + 1e-5);
        hb_model_destroy(model);
    }
}

/* Z by plain importance sampling: the mean of e^v/q over draws of a wide Gaussian q. */
static double plain_normaliser(hb_context *context, const hb_model *model, double *error)
{
    enum { N = 100000 };
    const size_t d = (size_t)model->info.dim;
    double *x = take(N * d, sizeof *x), *v = take(N, sizeof *v), *tau = take(N, sizeof *tau);
    double sum = 0, squares = 0;
    assert_ok(context, hb_random_normal(context, 77, 1, 0, N * d, x));
    for (size_t i = 0; i < N * d; i++) x[i] *= 1.7;
    for (size_t i = 0; i < N; i++) tau[i] = model->info.tau_max;
    assert_ok(context, hb_model_log_density(context, model, N, x, tau, NULL, v, NULL));
    for (size_t i = 0; i < N; i++) {
        double log_q = -(double)d * log(1.7 * sqrt(2 * M_PI));
        for (size_t j = 0; j < d; j++) log_q -= pow(x[i * d + j] / 1.7, 2) / 2;
        const double weight = exp(v[i] - log_q);
        sum += weight / N;
        squares += weight * weight / N;
    }
    *error = sqrt((squares / (sum * sum) - 1) / N);
    free(x);
    free(v);
    free(tau);
    return log(sum);
}

static void a_random_network_is_normalised(void **state)
{
    for (int dim = 2; dim <= 3; dim++) {
        hb_model *model = make_model(*state, dim, HB_HEAD_ENERGY, 4);
        double found, error, plain_error;
        const double plain = plain_normaliser(*state, model, &plain_error);
        assert_ok(*state, hb_model_log_normaliser(*state, model, 1, &found, &error));
        assert_true(fabs(plain) > 0.05 && plain_error < 0.02 && error < 0.02);
        assert_near(found, plain, 5 * hypot(error, plain_error));
        hb_model_destroy(model);
    }
}

/* Whatever the network: the flow carries a density of mass 1, summed on a lattice at tau_min, if no point of it flies
 * away on the way back (of -x^3 without a score that has learnt to hold it, some do). */
static void likelihoods_have_mass_1(void **state)
{
    enum { N = 601 };
    const double h = 0.02;
    double x[N], value[N], mass = 0;
    hb_model *model = make_model_of(*state, 1, "sin(2*x) - 1.4*x", HB_HEAD_ENERGY, 0.3);
    for (int i = 0; i < N; i++) x[i] = h * (i - (N - 1) / 2);
    assert_ok(*state, hb_model_likelihood(*state, model, NULL, 0, N, x, NULL, value, NULL));
    for (int i = 0; i < N; i++) mass += exp(value[i]) * h;
    assert_near(mass, 1, 2e-4);
    hb_model_destroy(model);
}

/* ---- learnt ---- */

static hb_model *learn(hb_context *context)
{
    enum { N = 4000 };
    double *data = take(2 * N, sizeof *data);
    hb_problem *drift = make_problem(context, 2, DRIFT);
    hb_train_settings s = settings_of_training(drift, HB_HEAD_ENERGY);
    hb_model *model;
    s.tau_max = T;
    s.width = 64;
    s.batch = 256;
    s.steps = 500;
    s.rate = 3e-3;
    exact_draws(context, 0, 9, N, data);
    assert_ok(context, hb_train(context, &s, 2, 0, N, data, NULL, &model));
    hb_problem_destroy(drift);
    free(data);
    return model;
}

static void a_learnt_model_has_the_law_of_its_data(void **state)
{
    enum { N = 4000, FEW = 300 };
    double x[2 * FEW], found[FEW], mean = 0, spread = 0, *made = take(2 * N, sizeof *made);
    part parts[PARTS];
    hb_model *model = learn(*state);
    hb_generate_settings s = settings_of_samples(HB_SOLVER_SDE);
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        s = settings_of_samples(solver);
        assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, NULL, made));
        assert_moments(N, made, 0, 0.05); /* what it has learnt */
    }
    exact_draws(*state, model->info.tau_min, 2, FEW, x);
    parts_at(model->info.tau_min, parts);
    assert_ok(*state, hb_model_likelihood(*state, model, NULL, 0, FEW, x, NULL, found, NULL));
    for (size_t i = 0; i < FEW; i++) {
        const double off = found[i] - mixture_at(parts, x + 2 * i, NULL, NULL);
        mean += off / FEW;
        spread += fabs(off) / FEW;
    }
    assert_true(fabs(mean) < 0.3 && spread < 0.5);
    free(made);
    hb_model_destroy(model);
}

/* ---- files, rows, refusals ---- */

/* A file from before ranges were kept loads, and its samples are finite. */
static void a_file_without_ranges_works(void **state)
{
    enum { N = 200 };
    const char *path = "test_drift_model.safetensors";
    double x[2 * N], low[2], high[2], wide_low[2], wide_high[2];
    hb_model *model = make_model(*state, 2, HB_HEAD_ENERGY, 0.3), *old;
    assert_ok(*state, hb_model_save(*state, model, path));
    assert_ok(*state, hb_model_load(*state, path, &old));
    hb_model_range(model, 0.3, low, high);
    hb_model_range(old, 0.3, wide_low, wide_high);
    assert_memory_equal(low, wide_low, sizeof low);
    assert_memory_equal(high, wide_high, sizeof high);
    hb_model_destroy(old);
    hb_release(model->context, model->flow.range);
    model->flow.range = NULL;
    assert_ok(*state, hb_model_save(*state, model, path));
    assert_ok(*state, hb_model_load(*state, path, &old));
    assert_null(old->flow.range);
    hb_model_range(old, 0.3, wide_low, wide_high);
    for (int j = 0; j < 2; j++) assert_true(wide_low[j] < low[j] && wide_high[j] > high[j]);
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        const hb_generate_settings s = settings_of_samples(solver);
        assert_ok(*state, hb_model_generate(*state, old, &s, 0, N, NULL, x));
        for (int i = 0; i < 2 * N; i++) assert_true(isfinite(x[i]));
    }
    remove(path);
    hb_model_destroy(old);
    hb_model_destroy(model);
}

static void rows_are_alone(void **state)
{
    enum { N = 40, FIRST_ROW = 4080 }; /* around the last kept draw */
    double whole[2 * N], pieces[2 * N], all[N], one;
    hb_context *threads = make_context(HB_ISA_AUTO, 2);
    for (int head = HB_HEAD_SCORE; head <= HB_HEAD_ENERGY; head++) {
        hb_model *model = make_model(*state, 2, head, 0.3);
        for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
            const hb_generate_settings s = settings_of_samples(solver);
            assert_ok(*state, hb_model_generate(*state, model, &s, FIRST_ROW, N, NULL, whole));
            for (size_t first = 0; first < N; first += 13)
                assert_ok(threads, hb_model_generate(threads, model, &s, FIRST_ROW + first,
                                                     N - first < 13 ? N - first : 13, NULL,
                                                     pieces + 2 * first));
            assert_memory_equal(whole, pieces, sizeof whole);
        }
        if (head == HB_HEAD_ENERGY) {
            assert_ok(*state,
                      hb_model_likelihood(*state, model, NULL, 0, N, whole, NULL, all, NULL));
            assert_ok(threads, hb_model_likelihood(threads, model, NULL, 0, 1, whole + 14, NULL,
                                                   &one, NULL));
            assert_true(one == all[7]);
        }
        hb_model_destroy(model);
    }
    hb_context_destroy(threads);
}

static void what_is_not_known_is_refused(void **state)
{
    double x[4] = {0}, out[2];
    hb_model *energy = make_model(*state, 2, HB_HEAD_ENERGY, 0);
    hb_model *score = make_model(*state, 2, HB_HEAD_SCORE, 0);
    hb_generate_settings s = settings_of_samples(HB_SOLVER_ODE);
    assert_fails(*state, hb_model_likelihood(*state, score, &s, 0, 2, x, NULL, out, NULL),
                 HB_ERROR_ARGUMENT,
                 "needs the density at tau_max, which only the energy head knows");
    assert_fails(*state, hb_model_log_normaliser(*state, score, 1, out, NULL), HB_ERROR_ARGUMENT,
                 "only the energy head has a density to normalise");
    s.tau_max = 1;
    assert_fails(*state, hb_model_generate(*state, energy, &s, 0, 2, NULL, x), HB_ERROR_ARGUMENT,
                 "tau_max is 1; a model of a drift knows the distribution at tau = 1.2 only");
    s.tau_max = NAN;
    energy->info.classes = 2;
    const int labels[2] = {-1, 1};
    assert_fails(
        *state, hb_model_generate(*state, energy, &s, 0, 2, labels, x), HB_ERROR_ARGUMENT,
        "the label of row 2 is 1; a model of a drift keeps draws at tau_max of all classes");
    energy->info.classes = 0;
    s.solver = HB_SOLVER_SDE;
    s.n_steps = 5;
    assert_fails(*state, hb_model_generate(*state, energy, &s, 0, 2, NULL, x), HB_ERROR_ARGUMENT,
                 "n_steps is 5; this drift changes its distribution within");
    hb_model_destroy(energy);
    hb_model_destroy(score);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_that_gives_0_is_normalised),
        cmocka_unit_test(a_random_network_is_normalised),
        cmocka_unit_test(likelihoods_have_mass_1),
        cmocka_unit_test(a_learnt_model_has_the_law_of_its_data),
        cmocka_unit_test(a_file_without_ranges_works),
        cmocka_unit_test(rows_are_alone),
        cmocka_unit_test(what_is_not_known_is_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
