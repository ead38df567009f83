/* The training loop: learns, repeats itself to the bit on any threads and resumed, and refuses in
 * words. */
#include "support.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum { ROWS = 512 };

static double data[ROWS * 2];

static void fill_data(hb_context *context)
{
    hb_mixture *mixture;
    assert_ok(context, hb_mixture_named(context, "asymmetric_gmm", &mixture));
    assert_ok(context, hb_mixture_sample(context, mixture, 4, 0, ROWS, data, NULL));
    hb_mixture_destroy(mixture);
}

static hb_train_settings short_settings(int loss)
{
    hb_train_settings s;
    hb_train_settings_default(sizeof s, &s);
    s.standardise = HB_STANDARDISE_NO;
    s.loss = loss;
    s.width = 24;
    s.depth = 2;
    s.batch = 300; /* three micro-batches; the last batch of an epoch goes on at its beginning */
    s.anchors = 20;
    s.steps = 30;
    s.ramp = 0.2;
    return s;
}

static hb_model *train(hb_context *context, const hb_train_settings *settings)
{
    hb_model *model;
    fill_data(context);
    assert_ok(context, hb_train(context, settings, 2, 0, ROWS, data, NULL, &model));
    return model;
}

/* The bytes of a file. */
static size_t slurp(const char *path, char **bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct stat about;
    assert_int_equal(fstat(fileno(file), &about), 0);
    *bytes = malloc((size_t)about.st_size);
    assert_int_equal(fread(*bytes, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return (size_t)about.st_size;
}

static void assert_same_model(hb_context *context, const hb_model *a, const hb_model *b)
{
    const char *paths[] = {"test_train_a.safetensors", "test_train_b.safetensors"};
    char *bytes[2];
    assert_ok(context, hb_model_save(context, a, paths[0]));
    assert_ok(context, hb_model_save(context, b, paths[1]));
    const size_t n = slurp(paths[0], &bytes[0]);
    assert_int_equal(slurp(paths[1], &bytes[1]), n);
    assert_memory_equal(bytes[0], bytes[1], n);
    for (int i = 0; i < 2; i++) {
        free(bytes[i]);
        unlink(paths[i]);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (int loss = HB_LOSS_DSM; loss <= HB_LOSS_HB_PAPER; loss++) {
        const hb_train_settings s = short_settings(loss);
        hb_context *contexts[2] = {make_context(HB_ISA_AUTO, 1), make_context(HB_ISA_AUTO, 3)};
        hb_model *models[2];
        for (int i = 0; i < 2; i++) models[i] = train(contexts[i], &s);
        assert_same_model(contexts[0], models[0], models[1]);
        for (int i = 0; i < 2; i++) {
            hb_model_destroy(models[i]);
            hb_context_destroy(contexts[i]);
        }
    }
}

/* Asks to stop after so many steps. */
static int stop_after(void *user, const char *what, double done, double total)
{
    (void)total;
    return strcmp(what, "train") == 0 && done >= *(double *)user;
}

static hb_context *stopping_context(double *steps)
{
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 2;
    settings.progress = stop_after;
    settings.progress_user = steps;
    hb_context *context;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    return context;
}

static void a_run_that_was_stopped_goes_on(void **state)
{
    (void)state;
    const char *checkpoint = "test_train.ckpt";
    double steps = 11, never = 1e9;
    hb_context *context = stopping_context(&steps), *patient = stopping_context(&never);
    hb_train_settings s = short_settings(HB_LOSS_HB);
    hb_model *whole = train(patient, &s), *model;
    s.checkpoint = checkpoint;
    s.resume = 1;
    unlink(checkpoint);
    assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model),
                 HB_ERROR_INTERRUPTED, "stopped by request");
    assert_null(model);
    steps = 23; /* killed again */
    assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model),
                 HB_ERROR_INTERRUPTED, "stopped by request");
    assert_ok(patient, hb_train(patient, &s, 2, 0, ROWS, data, NULL, &model));
    assert_same_model(patient, whole, model);
    hb_model_destroy(model);
    /* a finished run is read, not trained again */
    steps = 0;
    assert_ok(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model));
    assert_same_model(patient, whole, model);
    hb_model_destroy(model);
    s.rate = 1e-3;
    assert_fails(patient, hb_train(patient, &s, 2, 0, ROWS, data, NULL, &model), HB_ERROR_ARGUMENT,
                 "of another run: it has rate=0.002");
    s.rate = 2e-3;
    data[17] += 1e-9;
    assert_fails(patient, hb_train(patient, &s, 2, 0, ROWS, data, NULL, &model), HB_ERROR_ARGUMENT,
                 "of another run: it has data=");
    unlink(checkpoint);
    hb_model_destroy(whole);
    hb_context_destroy(context);
    hb_context_destroy(patient);
}

/* Asks to stop at call `at` of whatever part of the work, and counts the steps that were told. */
typedef struct hb_caller {
    int calls, at;
    double steps;
} hb_caller;

static int stop_at_call(void *user, const char *what, double done, double total)
{
    hb_caller *caller = user;
    (void)total;
    if (strcmp(what, "train") == 0) caller->steps = done;
    return ++caller->calls >= caller->at;
}

/* A stop inside the first step of an epoch, where rows are put in order, lost all steps before it. */
static void a_stop_anywhere_keeps_the_steps_that_are_done(void **state)
{
    (void)state;
    const char *checkpoint = "test_train_stop.ckpt";
    double never = 1e9;
    hb_context *patient = stopping_context(&never), *context;
    hb_caller caller;
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = 1;
    settings.progress = stop_at_call;
    settings.progress_user = &caller;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    hb_train_settings s = short_settings(HB_LOSS_DSM);
    hb_model *whole = train(patient, &s), *model;
    s.checkpoint = checkpoint;
    s.resume = 1;
    int early = 0, late = 0;
    for (int at = 1; at < 30; at++) {
        unlink(checkpoint);
        caller = (hb_caller){.at = at};
        assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model),
                     HB_ERROR_INTERRUPTED, "stopped by request");
        const int written = access(checkpoint, F_OK) == 0;
        assert_int_equal(written, caller.steps > 0);
        written ? late++ : early++;
        assert_ok(patient, hb_train(patient, &s, 2, 0, ROWS, data, NULL, &model));
        assert_same_model(patient, whole, model);
        hb_model_destroy(model);
    }
    assert_true(early > 0 && late > 0);
    unlink(checkpoint);
    hb_model_destroy(whole);
    hb_context_destroy(context);
    hb_context_destroy(patient);
}

/* What a watch saw. */
typedef struct hb_seen {
    hb_context *context;
    uint64_t steps[8], stop_at;
    int count;
    double loss[8];
    double score[2]; /* of the last model shown, at one point */
} hb_seen;

static void score_at_a_point(hb_context *context, const hb_model *model, double *score)
{
    const double x[2] = {0.385, -1.27}, tau = 0.31;
    assert_ok(context, hb_model_score(context, model, 1, x, &tau, NULL, score));
}

static int look(void *user, const hb_model *model, uint64_t step, double loss)
{
    hb_seen *seen = user;
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    assert_int_equal(info.steps, step);
    assert_true(seen->count < 8);
    seen->loss[seen->count] = loss;
    seen->steps[seen->count++] = step;
    score_at_a_point(seen->context, model, seen->score);
    return step == seen->stop_at;
}

/* The loss that a watch is told: that of the log, faded by 2 % a step. */
static void check_losses_seen(hb_context *context, const char *log, const hb_seen *seen)
{
    int axes, k = 0;
    uint64_t shape[4];
    double *rows, sum = 0, weight = 0;
    assert_ok(context, hb_table_read(context, log, &axes, shape, &rows));
    for (uint64_t i = 0; i < shape[0] && k < seen->count; i++) {
        assert_true(rows[i * shape[1]] == (double)(i + 1)); /* a row for each step */
        sum = 0.98 * sum + rows[i * shape[1] + 1];
        weight = 0.98 * weight + 1;
        if (seen->steps[k] == i + 1) assert_true(fabs(sum / weight / seen->loss[k++] - 1) < 1e-12);
    }
    assert_int_equal(k, seen->count);
    hb_context_release(context, rows);
    unlink(log);
}

/* A watch sees the averaged weights, on its steps and after the last, and changes none; asked to, it
 * stops the run, which goes on from its checkpoint. */
static void a_watch_sees_and_changes_nothing(void **state)
{
    (void)state;
    const char *checkpoint = "test_train_watch.ckpt";
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    hb_train_settings s = short_settings(HB_LOSS_HB);
    hb_model *plain = train(context, &s), *model;
    hb_seen seen = {.context = context};
    s.watch = look;
    s.watch_user = &seen;
    s.watch_every = 13;
    s.log = "test_train_watch.csv";
    model = train(context, &s);
    assert_same_model(context, plain, model);
    check_losses_seen(context, s.log, &seen);
    s.log = NULL;
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.steps[0], 13);
    assert_int_equal(seen.steps[1], 26);
    assert_int_equal(seen.steps[2], 30);
    double score[2];
    score_at_a_point(context, model, score);
    assert_memory_equal(score, seen.score, sizeof score);
    hb_model_destroy(model);
    seen = (hb_seen){.context = context, .stop_at = 26};
    s.checkpoint = checkpoint;
    s.resume = 1;
    unlink(checkpoint);
    assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model),
                 HB_ERROR_INTERRUPTED, "stopped by its watch at step 26");
    assert_int_equal(seen.count, 2);
    s.watch_every = 0; /* after the last step only */
    model = train(context, &s);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.steps[2], 30);
    assert_same_model(context, plain, model);
    unlink(checkpoint);
    hb_model_destroy(model);
    hb_model_destroy(plain);
    hb_context_destroy(context);
}

static int score_of_model(void *user, size_t n, const double *x, double tau, double *score)
{
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double *taus = malloc(n * sizeof *taus);
    for (size_t i = 0; i < n; i++) taus[i] = tau;
    const hb_status status = hb_model_score(context, user, n, x, taus, NULL, score);
    free(taus);
    hb_context_destroy(context);
    return status != HB_OK;
}

/* A few hundred steps must beat the Gaussian reference by far, with every head. */
static void it_learns(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    hb_mixture *truth;
    assert_ok(context, hb_mixture_named(context, "asymmetric_gmm", &truth));
    for (int k = 0; k < 5; k++) {
        hb_train_settings s = short_settings(k < 3    ? HB_LOSS_DSM
                                             : k == 3 ? HB_LOSS_FP
                                                      : HB_LOSS_HB);
        s.head = k < 3 ? k : HB_HEAD_ENERGY;
        s.steps = 1;
        hb_score_error before, after;
        hb_model *model = train(context, &s);
        assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 8, 1000, 0.3,
                                          score_of_model, model, sizeof before, &before));
        hb_model_destroy(model);
        s.steps = 600;
        s.width = 48;
        s.rate = 5e-3;
        s.batch = 128;
        s.ema = 0.98;
        model = train(context, &s);
        assert_ok(context, hb_judge_score(context, truth, HB_PROCESS_OU, 8, 1000, 0.3,
                                          score_of_model, model, sizeof after, &after));
        hb_model_destroy(model);
        if (!(after.all < 0.4 * before.all))
            fail_msg("run %d: %g after %g", k, after.all, before.all);
    }
    hb_mixture_destroy(truth);
    hb_context_destroy(context);
}

static void the_log_has_every_step(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_train_settings s = short_settings(HB_LOSS_HB);
    s.log = "test_train_log.csv";
    hb_model_destroy(train(context, &s));
    int axes;
    uint64_t shape[4];
    double *rows;
    assert_ok(context, hb_table_read(context, s.log, &axes, shape, &rows));
    assert_int_equal(shape[0], 30);
    assert_int_equal(shape[1], 8);
    for (int i = 0; i < 30; i++) {
        const double *row = rows + 8 * i;
        assert_near(row[0], i + 1, 0);
        assert_near(row[1], row[2] + row[3], 1e-12);
        assert_true(row[2] > 0.05 && row[2] < 3); /* dsm */
        assert_true(i > 3 ? row[3] > 0 : row[3] == 0);
        assert_true(row[5] > 0);
    }
    assert_near(rows[6], 2e-3 / 3, 1e-12); /* warm-up of 3 steps */
    hb_context_release(context, rows);
    unlink(s.log);
    hb_context_destroy(context);
}

/* The constraint in every K-th step: K = 1 is each of them; beyond the last step (the first is in the warm-up) there is
 * denoising alone; rows of the log go over multiples of K steps, each with a residual. */
static void a_constraint_may_rest(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_train_settings s = short_settings(HB_LOSS_HB), dsm = short_settings(HB_LOSS_DSM);
    dsm.target_rows = s.target_rows = 100;
    for (int k = 0; k < 2; k++) {
        hb_model *other = train(context, k ? &dsm : &s);
        s.constraint_every = k ? 1000 : 1;
        hb_model *model = train(context, &s);
        double score[2][2]; /* the file has the name of the loss */
        score_at_a_point(context, model, score[0]);
        score_at_a_point(context, other, score[1]);
        assert_memory_equal(score[0], score[1], sizeof score[0]);
        hb_model_destroy(model);
        hb_model_destroy(other);
    }
    s.constraint_every = 4;
    s.log = "test_train_rest.csv";
    hb_model_destroy(train(context, &s));
    int axes;
    uint64_t shape[4];
    double *rows;
    assert_ok(context, hb_table_read(context, s.log, &axes, shape, &rows));
    assert_int_equal(shape[0], 8); /* 4, 8, .. 28, 30 */
    for (int i = 0; i < 7; i++) assert_near(rows[8 * i], 4 * i + 4, 0);
    for (int i = 2; i < 7; i++) assert_true(rows[8 * i + 4] > 0);
    hb_context_release(context, rows);
    unlink(s.log);
    hb_context_destroy(context);
}

/* A signal that arrives while a matrix product has the stack pointer in a buffer of the heap would have
 * its frame written there. */
static pthread_t this_thread; /* others, of earlier tests, have stacks of their own */
static volatile uintptr_t stack_here;
static volatile sig_atomic_t signals, astray;

static void note_place(int number)
{
    const uintptr_t here = (uintptr_t)&number;
    if (!pthread_equal(pthread_self(), this_thread)) return;
    signals++;
    if ((here > stack_here ? here - stack_here : stack_here - here) > 8000000) astray++;
}

static void signals_find_the_stack_in_its_place(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_train_settings s = short_settings(HB_LOSS_HB);
    s.steps = 400;
    s.width = 48;
    const struct sigaction action = {.sa_handler = note_place, .sa_flags = SA_RESTART};
    struct sigaction before;
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    this_thread = pthread_self();
    stack_here = (uintptr_t)&before;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
    hb_model *model = train(context, &s);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    assert_true(signals > 10);
    assert_int_equal(astray, 0);
    hb_model_destroy(model);
    hb_context_destroy(context);
}

static void time_ends_a_run(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_train_settings s = short_settings(HB_LOSS_DSM);
    s.steps = 100000000;
    s.max_time = 0.05;
    hb_model *model = train(context, &s);
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    assert_true(info.steps > 0 && info.steps < 1000000);
    assert_string_equal(info.loss, "dsm");
    hb_model_destroy(model);
    hb_context_destroy(context);
}

static void a_run_that_explodes_names_its_step(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_train_settings s = short_settings(HB_LOSS_DSM);
    hb_model *model;
    fill_data(context);
    for (int i = 0; i < 2 * ROWS; i++) data[i] *= 1e39; /* beyond float */
    assert_fails(context, hb_train(context, &s, 2, 0, ROWS, data, NULL, &model), HB_ERROR_NUMERICAL,
                 "step 1 is not finite");
    assert_null(model);
    hb_context_destroy(context);
}

#define REFUSED(change, says)                                                                      \
    do {                                                                                           \
        hb_train_settings s = short_settings(HB_LOSS_HB);                                          \
        int dim = 2, classes = 0;                                                                  \
        size_t n = ROWS;                                                                           \
        int labels[ROWS] = {0};                                                                    \
        fill_data(context);                                                                        \
        change;                                                                                    \
        assert_fails(context, hb_train(context, &s, dim, classes, n, data, labels, &model),        \
                     HB_ERROR_ARGUMENT, says);                                                     \
        assert_null(model);                                                                        \
    } while (0)

static void wrong_input_is_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    hb_model *model;
    REFUSED(data[5] = NAN, "row 3, column 2 of the data is nan");
    REFUSED(n = 1, "at least 2 are needed");
    REFUSED(for (int i = 0; i < 2 * ROWS; i++) data[i] = 2.5, "largest variance is 0");
    REFUSED((s.head = HB_HEAD_HELMHOLTZ, s.loss = HB_LOSS_DSM, dim = 4, n = 100),
            "the helmholtz head needs data in 2 dimensions; these have 4");
    REFUSED(s.loss = 9, "loss is 9");
    REFUSED(s.head = 7, "head is 7");
    REFUSED(s.process = HB_PROCESS_DRIFT, "there is no drift");
    REFUSED(s.process = 3, "process is 3");
    REFUSED(s.width = 0, "width is 0");
    REFUSED(s.batch = 0, "batch is 0; it must be 1 to");
    REFUSED(s.rate = NAN, "rate is nan");
    REFUSED(s.ema = 1, "ema is 1");
    REFUSED(s.weight = -1, "weight is -1");
    REFUSED(s.time_fraction = 1, "time_fraction is 1");
    REFUSED(s.sigma_max = 0.1, "sigma_max is 0.1");
    REFUSED((s.tau_min = 2, s.tau_max = 1), "tau_min is 2 and tau_max is 1");
    REFUSED(s.tau_focus = 0.95, "tau_focus is 0.95; it must be 0 to 0.9");
    REFUSED(s.constraint_every = -1, "constraint_every is -1");
    REFUSED(s.resume = 1, "resume needs the name of a checkpoint");
    REFUSED((classes = 3, labels[7] = 3), "the label of row 8 is 3; it must be 0 to 2");
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(a_run_that_was_stopped_goes_on),
        cmocka_unit_test(a_stop_anywhere_keeps_the_steps_that_are_done),
        cmocka_unit_test(a_watch_sees_and_changes_nothing),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(the_log_has_every_step),
        cmocka_unit_test(a_constraint_may_rest),
        cmocka_unit_test(signals_find_the_stack_in_its_place),
        cmocka_unit_test(time_ends_a_run),
        cmocka_unit_test(a_run_that_explodes_names_its_step),
        cmocka_unit_test(wrong_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
