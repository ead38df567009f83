/* Samples and likelihoods of a model. A network that gives 0 leaves the Gaussian of the data, so the
 * moments of samples and the likelihood have closed forms; a network of random weights is not
 * Gaussian, and its samples must not depend on pieces, threads or the labels of other rows. */
#include "generate_support.h"
#include "net/model_parts.h"

enum { DIM = 3, DATA = 500 };

/* Rows far from 0 and of unequal widths, in units of 20 or so. */
static void fill_rows(hb_context *context, double *x)
{
    assert_ok(context, hb_random_normal(context, 4, 1, 0, DATA * DIM, x));
    for (size_t i = 0; i < DATA; i++) {
        double *row = x + i * DIM;
        row[2] = 130.7 + 23.85 * row[2] + 9 * row[0];
        row[1] = -4.1 + 7.3 * row[1] - 3 * row[0];
        row[0] = 12 * row[0];
    }
}

/* Mean and covariance of the rows, as the model takes them: over DATA, not DATA - 1. */
static void moments(size_t n, const double *x, double *mean, double *C)
{
    for (size_t j = 0; j < DIM; j++) {
        mean[j] = 0;
        for (size_t i = 0; i < n; i++) mean[j] += x[i * DIM + j] / (double)n;
    }
    for (size_t j = 0; j < DIM; j++)
        for (size_t k = 0; k < DIM; k++) {
            C[j * DIM + k] = 0;
            for (size_t i = 0; i < n; i++)
                C[j * DIM + k] +=
                    (x[i * DIM + j] - mean[j]) * (x[i * DIM + k] - mean[k]) / (double)n;
        }
}

typedef struct kind {
    int head, process, standardise;
    double last_scale; /* 0: the network gives 0 */
} kind;

static hb_model *make_model(hb_context *context, kind k)
{
    const hb_model_info info = {.dim = DIM,
                                .classes = 3,
                                .head = k.head,
                                .process = k.process,
                                .width = 40,
                                .depth = 2,
                                .time_features = 5,
                                .tau_min = 2e-3,
                                .tau_max = k.process == HB_PROCESS_OU ? 3.2 : 90,
                                .loss = "dsm"};
    double x[DATA * DIM];
    hb_model *model;
    fill_rows(context, x);
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_ok(context, hb_model_set_reference(context, model, k.standardise, DATA, x));
    assert_ok(context, hb_net_initialise(context, model->net, 8, k.last_scale, model->parameters));
    return model;
}

static hb_generate_settings model_settings(int solver)
{
    hb_generate_settings s;
    hb_generate_settings_default(sizeof s, &s);
    s.solver = solver;
    s.n_steps = solver == HB_SOLVER_HEUN ? 60 : 120;
    s.denoise = HB_DENOISE_FLOW;
    return s;
}

/* ---- the Gaussian of a network that gives 0 ---- */

/* Mean and covariance of n rows within 5 standard errors: those of x_j are sqrt(C_jj/n), of a
 * covariance sqrt((C_jj C_kk + C_jk^2)/n). */
static void assert_gaussian(size_t n, const double *x, const double *mean, const double *C)
{
    double m[DIM], found[DIM * DIM];
    moments(n, x, m, found);
    for (size_t j = 0; j < DIM; j++) {
        assert_near(m[j], mean[j], 5 * sqrt(C[j * DIM + j] / (double)n));
        for (size_t k = 0; k < DIM; k++) {
            const double jk = C[j * DIM + k];
            assert_near(found[j * DIM + k], jk,
                        5 * sqrt((C[j * DIM + j] * C[k * DIM + k] + jk * jk) / (double)n));
        }
    }
}

static void samples_have_the_datas_moments(void **state)
{
    enum { N = 4000 };
    static double x[N * DIM];
    double data[DATA * DIM], mean[DIM], C[DIM * DIM];
    fill_rows(*state, data);
    moments(DATA, data, mean, C);
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++)
        for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
            const int standardise = solver == HB_SOLVER_HEUN ? 1 : 2;
            hb_model *model = make_model(*state, (kind){HB_HEAD_ENERGY, process, standardise, 0});
            const hb_generate_settings s = model_settings(solver);
            assert_true(model->info.scale > 10);
            assert_true((model->scale[0] == model->scale[1]) == (standardise == 1));
            assert_ok(*state, hb_model_generate(*state, model, &s, 11, N, NULL, x));
            assert_gaussian(N, x, mean, C);
            hb_model_destroy(model);
        }
}

/* ln p(x, tau_min) of the data's Gaussian with noise, by hb_mixture in the units of z. */
static void likelihood_is_the_gaussians(void **state)
{
    enum { N = 300 };
    double data[DATA * DIM], mean[DIM], C[DIM * DIM], exact[N], found[N], by_probes[N];
    const double one = 1;
    fill_rows(*state, data);
    for (int process = HB_PROCESS_OU; process <= HB_PROCESS_VE; process++)
        for (int standardise = HB_STANDARDISE_NO; standardise <= HB_STANDARDISE_AXIS;
             standardise++) {
            const int head = standardise == HB_STANDARDISE_COMMON ? HB_HEAD_ENERGY : HB_HEAD_SCORE;
            hb_model *model = make_model(*state, (kind){head, process, standardise, 0});
            hb_generate_settings s = model_settings(HB_SOLVER_ODE);
            hb_mixture *gaussian;
            double z[DATA * DIM];
            hb_model_standardise(model, DATA, data, z);
            moments(DATA, z, mean, C);
            assert_ok(*state, hb_mixture_create(*state, DIM, 1, &one, mean, C, &gaussian));
            assert_ok(*state, hb_mixture_score(*state, gaussian, (hb_process)process, N, z, 2e-3,
                                               exact, NULL));
            s.ode_tolerance = 1e-7;
            assert_ok(*state,
                      hb_model_likelihood(*state, model, &s, 0, N, data, NULL, found, NULL));
            assert_ok(*state,
                      hb_model_likelihood(*state, model, &s, 2, N, data, NULL, by_probes, NULL));
            for (int i = 0; i < N; i++) {
                double truth = exact[i];
                for (int j = 0; j < DIM; j++) truth -= log(model->scale[j]);
                assert_near(found[i], truth, 1e-5 * fabs(truth));
                assert_near(by_probes[i], truth, 1e-5 * fabs(truth)); // the network adds nothing
            }
            hb_mixture_destroy(gaussian);
            hb_model_destroy(model);
        }
}

/* With a network, in the energy's own words: hb_generate_likelihood's density is the model's when the model
 * solves its equation; a random network does not, but probes and the exact trace agree. */
static void probes_average_to_the_exact_likelihood(void **state)
{
    enum { N = 256 };
    double data[DATA * DIM], exact[N], found[N], bias = 0, spread = 0;
    fill_rows(*state, data);
    hb_model *model = make_model(*state, (kind){HB_HEAD_SCORE, HB_PROCESS_OU, 1, 0.7});
    hb_generate_settings s = model_settings(HB_SOLVER_ODE);
    assert_ok(*state, hb_model_likelihood(*state, model, &s, 0, N, data, NULL, exact, NULL));
    assert_ok(*state, hb_model_likelihood(*state, model, &s, 1, N, data, NULL, found, NULL));
    for (int i = 0; i < N; i++) bias += (found[i] - exact[i]) / N;
    for (int i = 0; i < N; i++) spread += pow(found[i] - exact[i] - bias, 2) / (N - 1);
    assert_true(spread > 1e-6);
    assert_near(bias, 0, 5 * sqrt(spread / N));
    hb_model_destroy(model);
}

/* ---- labels, pieces, threads ---- */

static void assert_same_rows(size_t n, const double *x, const double *y)
{
    for (size_t i = 0; i < n * DIM; i++)
        if (x[i] != y[i]) fail_msg("row %zu differs: %.17g and %.17g", i / DIM, x[i], y[i]);
}

/* Samples FIRST .. of all solvers on 1 and 2 threads, whole and in pieces, each row with a label. */
static void bits_do_not_depend_on_pieces_or_threads(void **state)
{
    (void)state;
    enum { N = 330, FIRST = 200 };
    static double whole[N * DIM], found[N * DIM];
    int labels[N];
    const size_t cuts[] = {0, 1, 56, 59, 187, N};
    for (int i = 0; i < N; i++) labels[i] = (i * i + i / 7) % 4 - 1;
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++)
        for (int threads = 1; threads <= 2; threads++) {
            hb_context *context = make_context(HB_ISA_AUTO, threads);
            hb_model *model = make_model(context, (kind){HB_HEAD_ENERGY, HB_PROCESS_OU, 1, 1.5});
            hb_generate_settings s = model_settings(solver);
            s.n_steps = 20;
            s.ode_tolerance = 1e-3;
            assert_ok(context, hb_model_generate(context, model, &s, FIRST, N, labels, found));
            if (threads == 1) memcpy(whole, found, sizeof whole);
            assert_same_rows(N, found, whole);
            for (int k = 0; k < 5; k++)
                assert_ok(context, hb_model_generate(context, model, &s, FIRST + cuts[k],
                                                     cuts[k + 1] - cuts[k], labels + cuts[k],
                                                     found + cuts[k] * DIM));
            assert_same_rows(N, found, whole);
            hb_model_destroy(model);
            hb_context_destroy(context);
        }
}

/* A row's label is its own: rows of one label among others are the rows of that label alone. */
static void a_row_has_its_own_label(void **state)
{
    enum { N = 40 };
    double mixed[N * DIM], alone[N * DIM], none[N * DIM];
    int labels[N], one[N];
    for (int i = 0; i < N; i++) labels[i] = i % 3;
    hb_model *model = make_model(*state, (kind){HB_HEAD_SCORE, HB_PROCESS_OU, 0, 1.5});
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        hb_generate_settings s = model_settings(solver);
        s.n_steps = 20;
        s.ode_tolerance = 1e-3;
        assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, labels, mixed));
        assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, NULL, none));
        for (int label = 0; label < 3; label++) {
            for (int i = 0; i < N; i++) one[i] = label;
            assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, one, alone));
            for (int i = 0; i < N; i++) {
                const size_t at = (size_t)i * DIM;
                assert_true((labels[i] == label) ==
                            !memcmp(mixed + at, alone + at, DIM * sizeof *mixed));
                assert_true(memcmp(none + at, alone + at, DIM * sizeof *none) != 0);
            }
        }
    }
    hb_model_destroy(model);
}

/* More samples than one batch has: labels go on where they were. */
static void labels_follow_the_batches(void **state)
{
    enum { N = 16384 + 40, LAST = 37 };
    double *x = take(N * DIM, sizeof *x), piece[LAST * DIM];
    int *labels = take(N, sizeof *labels);
    for (int i = 0; i < N; i++) labels[i] = i % 3;
    hb_model *model = make_model(*state, (kind){HB_HEAD_SCORE, HB_PROCESS_OU, 0, 1.5});
    hb_generate_settings s = model_settings(HB_SOLVER_SDE);
    s.n_steps = 1;
    assert_ok(*state, hb_model_generate(*state, model, &s, 0, N, labels, x));
    assert_ok(*state,
              hb_model_generate(*state, model, &s, N - LAST, LAST, labels + N - LAST, piece));
    assert_same_rows(LAST, piece, x + (N - LAST) * DIM);
    hb_model_destroy(model);
    free(labels);
    free(x);
}

/* A row has the same bits alone, in any piece and among any others, with the exact divergence and with probes. */
static void likelihood_of_a_row_alone_and_by_label(void **state)
{
    enum { N = 300, CUT = 123 };
    double data[DATA * DIM], whole[N], found[N];
    int labels[N];
    for (int i = 0; i < N; i++) labels[i] = i % 3 - 1;
    fill_rows(*state, data);
    hb_model *model = make_model(*state, (kind){HB_HEAD_SCORE, HB_PROCESS_OU, 1, 1.5});
    hb_generate_settings s = model_settings(HB_SOLVER_ODE);
    for (int probes = 0; probes <= 1; probes++) {
        assert_ok(*state,
                  hb_model_likelihood(*state, model, &s, probes, N, data, labels, whole, NULL));
        assert_ok(*state,
                  hb_model_likelihood(*state, model, &s, probes, CUT, data, labels, found, NULL));
        assert_ok(*state, hb_model_likelihood(*state, model, &s, probes, N - CUT, data + CUT * DIM,
                                              labels + CUT, found + CUT, NULL));
        assert_memory_equal(found, whole, sizeof whole);
        for (int i = 0; i < N; i += 37) {
            assert_ok(*state, hb_model_likelihood(*state, model, &s, probes, 1, data + i * DIM,
                                                  labels + i, found, NULL));
            assert_memory_equal(found, whole + i, sizeof *whole);
        }
        assert_ok(*state,
                  hb_model_likelihood(*state, model, &s, probes, N, data, NULL, found, NULL));
        for (int i = 0; i < N; i++) assert_true((found[i] == whole[i]) == (labels[i] == -1));
    }
    hb_model_destroy(model);
}

/* ---- the view, the field, words ---- */

static void the_view_is_the_score_and_the_field_is_of_z(void **state)
{
    enum { N = 5 };
    double data[DATA * DIM], z[N * DIM], tau[N], seen[N * DIM], score[N * DIM], v[N], v_z[N];
    int labels[N];
    hb_field field;
    fill_rows(*state, data);
    for (int i = 0; i < N; i++) tau[i] = 0.385, labels[i] = 2;
    hb_model *model = make_model(*state, (kind){HB_HEAD_ENERGY, HB_PROCESS_OU, 2, 1.3});
    for (int label = -1; label <= 2; label += 3) {
        hb_model_view view = {*state, model, label};
        assert_int_equal(hb_model_view_score(&view, N, data, 0.385, seen), 0);
        assert_ok(*state,
                  hb_model_score(*state, model, N, data, tau, label < 0 ? NULL : labels, score));
        assert_memory_equal(seen, score, sizeof score);
    }
    hb_model_view wrong = {*state, model, 3};
    assert_int_not_equal(hb_model_view_score(&wrong, N, data, 0.385, seen), 0);
    assert_non_null(strstr(hb_context_message(*state), "the label of point 1 is 3"));
    assert_ok(*state, hb_model_field(*state, model, &field));
    assert_ok(*state, hb_model_log_density(*state, model, N, data, tau, NULL, v, score));
    hb_model_standardise(model, N, data, z);
    for (int j = 0; j < DIM; j++)
        assert_relative(z[j], (data[j] - model->shift[j]) / model->scale[j], 1e-15);
    assert_int_equal(field.evaluate(field.user, N, z, tau, v_z, seen), 0);
    for (int i = 0; i < N; i++) assert_relative(v_z[i], v[i] + model->log_scale, 1e-12);
    for (int i = 0; i < N * DIM; i++)
        assert_relative(seen[i], score[i] * model->scale[i % DIM], 1e-12);
    hb_model_destroy(model);
}

static void wrong_questions_are_refused(void **state)
{
    double x[2 * DIM] = {0}, out[2];
    const int labels[2] = {0, 3};
    hb_model *model = make_model(*state, (kind){HB_HEAD_ENERGY, HB_PROCESS_OU, 0, 0});
    hb_generate_settings s = model_settings(HB_SOLVER_SDE);
    assert_fails(*state, hb_model_generate(*state, NULL, &s, 0, 2, NULL, x), HB_ERROR_ARGUMENT,
                 "the model is NULL");
    assert_fails(*state, hb_model_generate(*state, model, &s, 0, 2, labels, x), HB_ERROR_ARGUMENT,
                 "the label of point 2 is 3; it must be -1 to 2");
    assert_fails(*state, hb_model_likelihood(*state, model, &s, 0, 2, x, labels, out, NULL),
                 HB_ERROR_ARGUMENT, "the label of point 2 is 3; it must be -1 to 2");
    assert_fails(*state, hb_model_likelihood(*state, model, &s, -1, 2, x, NULL, out, NULL),
                 HB_ERROR_ARGUMENT, "probes is -1");
    assert_fails(*state, hb_model_generate(*state, model, &s, UINT64_MAX, 2, NULL, x),
                 HB_ERROR_ARGUMENT, "(first + n) times dim must be below 2^64");
    s.tau_min = 1e-3;
    assert_fails(*state, hb_model_generate(*state, model, &s, 0, 2, NULL, x), HB_ERROR_ARGUMENT,
                 "the model was trained from tau = 0.002 to 3.2");
    s.tau_min = 0.01;
    s.tau_max = 4;
    assert_fails(*state, hb_model_generate(*state, model, &s, 0, 2, NULL, x), HB_ERROR_ARGUMENT,
                 "the model was trained from tau = 0.002 to 3.2");
    s.tau_max = NAN;
    assert_ok(*state, hb_model_generate(*state, model, &s, 0, 0, NULL, NULL));
    hb_model_destroy(model);
}

typedef struct heard {
    int calls, wrong, stop_at;
    double last;
} heard;

static int listen_to(void *user, const char *what, double done, double total)
{
    heard *h = user;
    h->wrong += strcmp(what, "generating") != 0 || done < h->last || total != 300;
    h->last = done;
    return ++h->calls == h->stop_at;
}

static void progress_counts_samples_and_stops(void **state)
{
    (void)state;
    enum { N = 300 };
    static double x[N * DIM];
    int labels[N];
    heard h = {0};
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 2;
    settings.progress = listen_to;
    settings.progress_user = &h;
    hb_context *context;
    for (int i = 0; i < N; i++) labels[i] = i % 3;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_model *model = make_model(context, (kind){HB_HEAD_ENERGY, HB_PROCESS_OU, 1, 1});
    for (int solver = HB_SOLVER_SDE; solver <= HB_SOLVER_HEUN; solver++) {
        hb_generate_settings s = model_settings(solver);
        s.n_steps = 10;
        s.ode_tolerance = 1e-3;
        h = (heard){0};
        assert_ok(context, hb_model_generate(context, model, &s, 0, N, labels, x));
        assert_int_equal(h.wrong, 0);
        assert_near(h.last, N, 1e-9);
        assert_true(h.calls >= 10);
        h = (heard){.stop_at = 3};
        assert_fails(context, hb_model_generate(context, model, &s, 0, N, labels, x),
                     HB_ERROR_INTERRUPTED, "stopped by request");
        assert_int_equal(h.calls, 3);
    }
    hb_model_destroy(model);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_the_datas_moments),
        cmocka_unit_test(likelihood_is_the_gaussians),
        cmocka_unit_test(probes_average_to_the_exact_likelihood),
        cmocka_unit_test(bits_do_not_depend_on_pieces_or_threads),
        cmocka_unit_test(a_row_has_its_own_label),
        cmocka_unit_test(labels_follow_the_batches),
        cmocka_unit_test(likelihood_of_a_row_alone_and_by_label),
        cmocka_unit_test(the_view_is_the_score_and_the_field_is_of_z),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(progress_counts_samples_and_stops),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
