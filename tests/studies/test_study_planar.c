/* The runs of the planar study, in a tiny version: 40 steps of networks of width 16 on one set.
 *
 * Compared: the files of 1 and of 2 workers, and of a study that lost some of its runs and was resumed,
 * byte for byte; the kept numbers with the judge's, asked again about the kept models. */
#include "planar/planar.h"
#include "study_files.h"

#include <heatball/train.h>

#include <math.h>
#include <string.h>

enum { RING = 4, SINGLE = PLANAR_METHODS - PLANAR_MAIN, RUNS = 2 * PLANAR_MAIN + SINGLE };

static hb_planar_size tiny(void)
{
    const hb_study_settings settings = {.seed = 2385, .quick = 1, .seeds = 2};
    hb_planar_size size = hb_planar_choose_size(&settings);
    size.sets = 1 << RING;
    size.rows = 200;
    size.epoch_rows = 200;
    size.epochs = 40;
    size.width = 16;
    size.judge = 200;
    size.watch = 100;
    size.samples = 100;
    size.generate_steps = 8;
    size.anchors = 20;
    size.watch_anchors = 8;
    return size;
}

/* The comparison with what the directory has of it; released by hb_compare_release. */
static hb_comparison plan(hb_context *context, const hb_planar_size *size, const char *directory)
{
    hb_comparison result = {&hb_planar_compared, size,        NULL,
                            size->seed,          size->seeds, .directory = strdup(directory)};
    assert_int_equal(hb_compare_plan(context, &result), HB_OK);
    assert_int_equal(hb_compare_read(context, &result), HB_OK);
    return result;
}

static int count_done(const hb_comparison *result)
{
    int done = 0;
    for (size_t i = 0; i < result->n; i++) done += result->trials[i].done;
    return done;
}

/* Runs what is missing in the directory; returns how many runs were there. */
static int study(int threads, const char *directory)
{
    const hb_planar_size size = tiny();
    hb_context *context = make_context(HB_ISA_AUTO, threads);
    hb_comparison result = plan(context, &size, directory);
    const int found = count_done(&result);
    assert_int_equal(result.n, RUNS);
    if (hb_compare_do(context, &result) != HB_OK) fail_msg("%s", hb_context_message(context));
    assert_int_equal(hb_compare_write_table(context, directory, &result), HB_OK);
    hb_compare_release(&result);
    hb_context_destroy(context);
    return found;
}

static void test_workers_and_resuming_change_no_byte(void **state)
{
    (void)state;
    assert_int_equal(study(1, ONE), 0);
    assert_int_equal(study(2, TWO), 0);
    assert_int_equal(same_files(ONE, TWO), 2 * RUNS + 1);
    remove_file(TWO, "ring-hb-2386.json");
    remove_file(TWO, "ring-fp-time-2385.safetensors");
    remove_file(TWO, "planar.csv");
    assert_int_equal(study(2, TWO), RUNS - 2);
    assert_int_equal(same_files(ONE, TWO), 2 * RUNS + 1);
}

/* A run of other settings is not taken for this one. */
static void test_a_run_of_other_settings_is_done_again(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_planar_size size = tiny();
    size.anchors++;
    hb_comparison result = plan(context, &size, ONE);
    assert_int_equal(count_done(&result), 0);
    hb_compare_release(&result);
    hb_context_destroy(context);
}

static hb_model *load(hb_context *context, const hb_comparison *result, const hb_trial *run)
{
    char *path;
    hb_model *model;
    assert_int_equal(hb_planar_model_path(context, result, run, &path), HB_OK);
    assert_int_equal(hb_model_load(context, path, &model), HB_OK);
    free(path);
    return model;
}

static void test_numbers_are_the_judges_about_the_kept_models(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    const hb_planar_size size = tiny();
    hb_comparison result = plan(context, &size, ONE);
    assert_int_equal(count_done(&result), RUNS);
    hb_mixture *ring;
    assert_int_equal(hb_mixture_named(context, "ring", &ring), HB_OK);
    for (int i = 0; i < RUNS; i++) {
        const hb_trial *run = &result.trials[i];
        hb_model *model = load(context, &result, run);
        hb_model_info info;
        hb_model_info_get(model, sizeof info, &info);
        hb_model_view view = {context, model, -1};
        hb_score_error error;
        assert_int_equal(hb_judge_score(context, ring, HB_PROCESS_OU, run->seed, size.judge, 0.3,
                                        hb_model_view_score, &view, sizeof error, &error),
                         HB_OK);
        const double *kept = &run->value[PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE];
        assert_true(kept[0] == error.all && kept[1] == error.low && kept[2] == error.high &&
                    kept[3] == error.grid);
        assert_int_equal(info.steps, run->steps);
        assert_int_equal(info.head, hb_planar_recipes[run->method].head);
        double x[200];
        size_t outliers;
        int modes;
        assert_int_equal(hb_planar_generate(context, &size, model, run->seed, 100, x), HB_OK);
        assert_int_equal(hb_judge_modes(context, ring, 100, x, NULL, &outliers, &modes), HB_OK);
        assert_true(run->value[PLANAR_OUTLIERS] == (double)outliers / 100);
        assert_true(run->value[PLANAR_TANGENTIAL_EXACT] < 1e-6); /* the ring's score is radial */
        hb_model_destroy(model);
    }
    hb_compare_release(&result);
    hb_mixture_destroy(ring);
    hb_context_destroy(context);
}

/* dsm's steps against hb's time; curves that end with the last step. */
static void test_steps_and_moments(void **state)
{
    (void)state;
    const hb_study_settings settings = {.seed = 42};
    const hb_planar_size size = hb_planar_choose_size(&settings);
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_comparison result = plan(context, &size, ONE);
    assert_int_equal(result.n, 8 * (5 * PLANAR_MAIN + SINGLE));
    for (size_t i = 0; i < result.n; i++) {
        const hb_trial *run = &result.trials[i];
        const uint64_t steps = run->steps, wide = run->set == 1 ? 6600 : 4800;
        const int method = run->method;
        if (method <= PLANAR_HB_PAPER) assert_int_equal(steps, wide);
        if (method == PLANAR_DSM_TIME)
            assert_true(fabs((double)steps - (double)wide * 1.75 / 1.17) <= 10);
        if (method == PLANAR_FP_TIME)
            assert_true(fabs((double)steps - (double)wide * 1.75 / 1.74) <= 10);
        assert_int_equal(hb_planar_moment_step(steps, PLANAR_MOMENTS - 1), steps);
        for (int k = 1; k < PLANAR_MOMENTS; k++)
            assert_true(hb_planar_moment_step(steps, k) > hb_planar_moment_step(steps, k - 1));
    }
    hb_compare_release(&result);
    hb_context_destroy(context);
}

/* What is compared as fair is: hb's targets, its head and number of steps, or its time. */
static void test_fair_methods_have_the_same_targets(void **state)
{
    static const int fair[] = {PLANAR_DSM_TARGETS, PLANAR_FP_TARGETS, PLANAR_DSM_TIME,
                               PLANAR_FP_TIME};
    const hb_recipe *recipes = hb_planar_recipes, *hb = &recipes[PLANAR_HB];
    (void)state;
    assert_true(hb->target_rows > 0);
    for (int i = 0; i < 4; i++) {
        const hb_recipe *recipe = &recipes[fair[i]];
        assert_int_equal(recipe->target_rows, hb->target_rows);
        assert_int_equal(recipe->head, hb->head);
        assert_true(recipe->share == hb->share);
        assert_int_equal(recipe->as_long_as, i < 2 ? -1 : PLANAR_HB);
    }
    assert_true(recipes[PLANAR_DSM_TIME].cost == recipes[PLANAR_DSM_TARGETS].cost);
    assert_true(recipes[PLANAR_FP_TIME].cost == recipes[PLANAR_FP_TARGETS].cost);
    for (int method = 0; method < PLANAR_METHODS; method++)
        assert_int_equal(recipes[method].seeds == 0, method < PLANAR_MAIN);
}

/* dsm-targets is hb with weight 0: the same bytes. */
static void test_dsm_with_targets_is_hb_without_the_constraint(void **state)
{
    enum { N = 64 };
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double data[2 * N], x[2 * N], tau[N], score[2][2 * N];
    hb_mixture *ring;
    (void)state;
    assert_int_equal(hb_mixture_named(context, "ring", &ring), HB_OK);
    assert_int_equal(hb_mixture_sample(context, ring, 2385, 0, N, data, NULL), HB_OK);
    assert_int_equal(hb_mixture_sample(context, ring, 2385, N, N, x, NULL), HB_OK);
    for (int i = 0; i < N; i++) tau[i] = 0.3;
    for (int k = 0; k < 2; k++) {
        hb_train_settings settings;
        hb_train_settings_default(sizeof settings, &settings);
        settings.loss = k ? HB_LOSS_HB : HB_LOSS_DSM;
        settings.weight = 0;
        settings.target_rows = 32;
        settings.width = 16;
        settings.batch = 32;
        settings.steps = 40;
        settings.seed = 2385;
        hb_model *model;
        assert_int_equal(hb_train(context, &settings, 2, 0, N, data, NULL, &model), HB_OK);
        assert_int_equal(hb_model_score(context, model, N, x, tau, NULL, score[k]), HB_OK);
        hb_model_destroy(model);
    }
    assert_memory_equal(score[0], score[1], sizeof score[0]);
    hb_mixture_destroy(ring);
    hb_context_destroy(context);
}

/* Made-up runs: hb 0.5 of dsm-targets, which has 0.4 of dsm, for every seed, with a known spread. */
static void test_ratios_over_seeds(void **state)
{
    const hb_study_settings settings = {.seed = 42, .seeds = 2};
    const hb_planar_size size = hb_planar_choose_size(&settings);
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_comparison result = plan(context, &size, ONE);
    const int low = PLANAR_ERROR + PLANAR_REGIONS * PLANAR_TAU_TABLE + 1;
    (void)state;
    for (size_t i = 0; i < result.n; i++) {
        const hb_trial *run = &result.trials[i];
        const double seed = run->seed_index ? 3 : 1, spread = run->seed_index ? 1.25 : 0.8;
        const int method = run->method;
        run->value[low] = seed * (method == PLANAR_HB            ? 0.2 * spread
                                  : method == PLANAR_DSM_TARGETS ? 0.4
                                                                 : 1);
    }
    hb_mean ratio = hb_compare_logs(&result, RING, 1, PLANAR_DSM_TARGETS, PLANAR_DSM, low);
    assert_near(ratio.mean, log(0.4), 1e-12);
    assert_near(ratio.se, 0, 1e-7);
    ratio = hb_compare_logs(&result, RING, 1, PLANAR_HB, PLANAR_DSM_TARGETS, low);
    assert_near(ratio.mean, log(0.5), 1e-12);
    assert_near(ratio.se, log(1.25), 1e-7); /* deviations ±ln 1.25: sqrt(2/1/2) of it */
    ratio = hb_compare_logs(&result, RING, 1, PLANAR_HB, PLANAR_DSM_TIME, low);
    assert_true(isnan(ratio.se)); /* one seed in common */
    hb_compare_release(&result);
    hb_context_destroy(context);
}

static int stop_at_once(void *user, const char *what, double done, double total)
{
    (void)done;
    (void)total;
    *(int *)user += strcmp(what, "planar") == 0;
    return 1;
}

static void test_interrupts_and_errors(void **state)
{
    (void)state;
    int reports = 0;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 2;
    settings.progress = stop_at_once;
    settings.progress_user = &reports;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_planar_size size = tiny();
    size.epochs = 100000;
    hb_comparison result = plan(context, &size, TWO);
    assert_int_equal(hb_compare_do(context, &result), HB_ERROR_INTERRUPTED);
    assert_int_equal(reports, 1);
    hb_compare_release(&result);
    hb_context_destroy(context);
    context = make_context(HB_ISA_AUTO, 2);
    size = tiny();
    result = plan(context, &size, "/tmp/no/such/place");
    assert_int_equal(hb_compare_do(context, &result), HB_ERROR_PATH);
    assert_non_null(strstr(hb_context_message(context), "planar, ring-"));
    assert_non_null(strstr(hb_context_message(context), "/tmp/no/such/place"));
    hb_compare_release(&result);
    hb_context_destroy(context);
}

/* One row: the score at x is (a row - x)/b everywhere. Two rows in mirror image: 0 between them. */
static void test_the_floor_of_few_rows(void **state)
{
    (void)state;
    const double tau = 0.2385, a = exp(-tau), b = 1 - exp(-2 * tau);
    const double rows[] = {0.7, -1.3, -0.7, 1.3}, x[] = {0, 0, 0.4, 2.1};
    const double exact[] = {0.25, -0.5, 0, 0};
    const char low[] = {0, 1};
    double all, fifth;
    hb_planar_floor(1, rows, tau, 2, x, exact, low, &all, &fifth);
    const double first = pow(a * 0.7 / b - 0.25, 2) + pow(-a * 1.3 / b + 0.5, 2);
    const double second = pow((a * 0.7 - 0.4) / b, 2) + pow((-a * 1.3 - 2.1) / b, 2);
    assert_relative(all, (first + second) / 2, 1e-12);
    assert_relative(fifth, second, 1e-12);
    hb_planar_floor(2, rows, tau, 1, x, exact, low + 1, &all, &fifth);
    assert_near(all, 0.25 * 0.25 + 0.5 * 0.5, 1e-14);
    assert_true(fifth == all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_and_resuming_change_no_byte),
        cmocka_unit_test(test_a_run_of_other_settings_is_done_again),
        cmocka_unit_test(test_numbers_are_the_judges_about_the_kept_models),
        cmocka_unit_test(test_steps_and_moments),
        cmocka_unit_test(test_fair_methods_have_the_same_targets),
        cmocka_unit_test(test_dsm_with_targets_is_hb_without_the_constraint),
        cmocka_unit_test(test_ratios_over_seeds),
        cmocka_unit_test(test_interrupts_and_errors),
        cmocka_unit_test(test_the_floor_of_few_rows),
    };
    return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
