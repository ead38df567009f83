/* The classifier: its loss against finite differences, its errors against Bayes', moved images, bits,
 * files, refusals. */
#include "net/optimiser.h"
#include "support.h"
#include "train/classifier.h"

#include <unistd.h>

static const hb_status bad = HB_ERROR_ARGUMENT;

/* ---- the loss ---- */

static void test_softmax(void **state)
{
    (void)state;
    double p[10];
    float equal[10];
    for (int c = 0; c < 10; c++) equal[c] = 2.385f;
    assert_near(hb_softmax(10, equal, p), (double)2.385f + log(10), 1e-14);
    for (int c = 0; c < 10; c++) assert_near(p[c], 0.1, 1e-15);
    const float large[3] = {3e38f, 3e38f, -3e38f}; /* exp would overflow */
    assert_true(isfinite(hb_softmax(3, large, p)));
    assert_near(p[0], 0.5, 1e-15);
    assert_near(p[2], 0, 0);
    const float three[3] = {0, 1, 2.5f};
    const double sum = 1 + exp(1) + exp(2.5);
    hb_softmax(3, three, p);
    assert_relative(p[1], exp(1) / sum, 1e-15);
}

enum { ROWS = 13, DIM = 6, CLASSES = 4, WIDTH = 9 };

typedef struct problem {
    hb_classifier *classifier;
    hb_net_tape *tape;
    float input[ROWS * DIM], logits[ROWS * CLASSES], cotangent[ROWS * CLASSES];
    int labels[ROWS];
} problem;

static void open_problem(hb_context *context, problem *p)
{
    const hb_net_shape shape = {DIM, CLASSES, WIDTH, 2, 0};
    const hb_net_jets jets = {0};
    assert_ok(context, hb_classifier_create(context, &shape, &p->classifier));
    assert_ok(context,
              hb_net_initialise(context, p->classifier->net, 2385, 1.5, p->classifier->parameters));
    assert_ok(context, hb_net_tape_create(context, p->classifier->net, &jets, ROWS, &p->tape));
    assert_ok(context, hb_random_normal_f32(context, 2385, 1, 0, ROWS * DIM, p->input));
    for (int i = 0; i < ROWS; i++) p->labels[i] = i * 7 % CLASSES;
}

static double loss_of(problem *p, const float *parameters)
{
    double scratch[CLASSES];
    assert_int_equal(hb_net_forward(p->tape, parameters, ROWS, p->input, p->logits), HB_OK);
    return hb_cross_entropy(ROWS, CLASSES, p->logits, p->labels, 0.385, scratch, p->cotangent);
}

static void test_cross_entropy_gradient_by_logits(void **state)
{
    hb_context *context = *state;
    problem p;
    double scratch[CLASSES], exact = 0;
    float ignored[ROWS * CLASSES];
    open_problem(context, &p);
    const double loss = loss_of(&p, p.classifier->parameters);
    for (int i = 0; i < ROWS; i++) { /* -ln p[label], written out */
        double sum = 0;
        for (int c = 0; c < CLASSES; c++) sum += exp((double)p.logits[i * CLASSES + c]);
        exact += log(sum) - (double)p.logits[i * CLASSES + p.labels[i]];
    }
    assert_relative(loss, exact, 1e-13);
    for (int k = 0; k < ROWS * CLASSES; k++) {
        const float kept = p.logits[k], up = kept + 1e-3f, down = kept - 1e-3f;
        p.logits[k] = up;
        double slope = hb_cross_entropy(ROWS, CLASSES, p.logits, p.labels, 1, scratch, ignored);
        p.logits[k] = down;
        slope -= hb_cross_entropy(ROWS, CLASSES, p.logits, p.labels, 1, scratch, ignored);
        p.logits[k] = kept;
        slope /= (double)up - (double)down;
        assert_near((double)p.cotangent[k], 0.385 * slope, 1e-7);
    }
    hb_net_tape_destroy(p.tape);
    hb_classifier_destroy(p.classifier);
}

/* Along single parameters, central differences, Richardson's two steps. */
static void test_cross_entropy_gradient_by_parameters(void **state)
{
    hb_context *context = *state;
    problem p;
    open_problem(context, &p);
    float *parameters = p.classifier->parameters;
    const size_t n = hb_net_parameters(p.classifier->net);
    float *gradient = calloc(n, sizeof *gradient);
    assert_non_null(gradient);
    loss_of(&p, parameters);
    assert_ok(context, hb_net_backward(p.tape, parameters, p.cotangent, 1, gradient, NULL));
    for (size_t k = 0; k < n; k += 3) {
        const float kept = parameters[k];
        double slope[2];
        for (int s = 0; s < 2; s++) {
            const float h = s ? 0.06f : 0.03f;
            parameters[k] = kept + h;
            const double up = loss_of(&p, parameters), x = (double)parameters[k];
            parameters[k] = kept - h;
            slope[s] = (up - loss_of(&p, parameters)) / (x - (double)parameters[k]);
        }
        parameters[k] = kept;
        assert_near((double)gradient[k], 0.385 * (4 * slope[0] - slope[1]) / 3, 1e-4);
    }
    free(gradient);
    hb_net_tape_destroy(p.tape);
    hb_classifier_destroy(p.classifier);
}

/* ---- moved images ---- */

static void test_moved_images(void **state)
{
    (void)state;
    enum { SIDE = 7 };
    double image[SIDE * SIDE], moved[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = sin(3.7 * i);
    hb_move_image(SIDE, image, 0, 0, moved);
    assert_memory_equal(image, moved, sizeof image);
    hb_move_image(SIDE, image, 2, -1, moved); /* down by 2, left by 1 */
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            const int row = i < 2 ? 0 : i - 2, column = j + 1 < SIDE ? j + 1 : SIDE - 1;
            assert_near(moved[i * SIDE + j], image[row * SIDE + column], 1e-15);
        }
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = 2 * (i / SIDE) - 0.5 * (i % SIDE);
    hb_move_image(SIDE, image, 0.385, 0.7, moved); /* a plane stays one */
    for (int i = 1; i < SIDE; i++)
        for (int j = 1; j < SIDE; j++)
            assert_near(moved[i * SIDE + j], 2 * (i - 0.385) - 0.5 * (j - 0.7), 1e-14);
}

/* ---- two normals ---- */

/* Classes N(-a e_1, I) and N(a e_1, I) in three dimensions, shifted and scaled: p = 1/(1 + exp(-2 a x)). */
static void draw_normals(hb_context *context, uint64_t stream, size_t n, double a, double *x,
                         int *labels)
{
    assert_ok(context, hb_random_normal(context, 2385, stream, 0, 3 * n, x));
    for (size_t i = 0; i < n; i++) {
        labels[i] = (int)(i % 2);
        x[3 * i] += labels[i] ? a : -a;
        for (int j = 0; j < 3; j++) x[3 * i + (size_t)j] = 70 + 5 * x[3 * i + (size_t)j];
    }
}

static void test_errors_are_those_of_bayes(void **state)
{
    hb_context *context = *state;
    enum { N = 6000, M = 20000 };
    const double a = 1.1925, least = 0.5 * erfc(a / sqrt(2)); /* 0.1165 */
    static double x[3 * N], y[3 * M], p[2 * M];
    static int labels[N], truth[M];
    hb_classifier *c;
    hb_classifier_settings settings;
    hb_classifier_settings_default(sizeof settings, &settings);
    settings.width = 24;
    settings.epochs = 12;
    settings.batch = 100;
    draw_normals(context, 1, N, a, x, labels);
    draw_normals(context, 2, M, a, y, truth);
    assert_ok(context, hb_classifier_train(context, &settings, 3, 2, N, x, labels, &c));
    assert_ok(context, hb_classifier_predict(context, c, M, y, p));
    double errors = 0, away = 0;
    for (size_t i = 0; i < M; i++) {
        errors += (p[2 * i + 1] > 0.5) != truth[i];
        away += fabs(p[2 * i + 1] - 1 / (1 + exp(-2 * a * (y[3 * i] - 70) / 5)));
        assert_near(p[2 * i] + p[2 * i + 1], 1, 1e-14);
    }
    const double share = errors / M, se = sqrt(least * (1 - least) / M);
    assert_true(share > least - 5 * se && share < least + 5 * se + 0.005);
    assert_true(away / M < 0.025);
    hb_classifier_destroy(c);
}

/* ---- small images, for what follows ---- */

enum { IMAGES = 300, SIDE = 8, SIZE = 64 };

/* Class c of 3 has a bright bar at row 2 + 2c, with noise. */
static void draw_bars(hb_context *context, double *x, int *labels)
{
    assert_ok(context, hb_random_normal(context, 2385, 3, 0, IMAGES * SIZE, x));
    for (size_t i = 0; i < IMAGES; i++) {
        labels[i] = (int)(i % 3);
        for (size_t k = 0; k < SIZE; k++)
            x[i * SIZE + k] =
                0.2 * x[i * SIZE + k] + ((int)(k / SIDE) == 2 + 2 * labels[i] ? 1 : 0);
    }
}

static hb_classifier_settings small_settings(void)
{
    hb_classifier_settings s;
    hb_classifier_settings_default(sizeof s, &s);
    s.width = 20;
    s.epochs = 8;
    s.batch = 300; /* three micro-batches, the last short */
    s.rate = 0.02;
    s.shift = 0.4;
    return s;
}

static hb_classifier *train_bars(hb_context *context, const hb_classifier_settings *settings,
                                 double *p)
{
    static double x[IMAGES * SIZE];
    static int labels[IMAGES];
    hb_classifier *c;
    draw_bars(context, x, labels);
    assert_ok(context, hb_classifier_train(context, settings, SIZE, 3, IMAGES, x, labels, &c));
    assert_ok(context, hb_classifier_predict(context, c, IMAGES, x, p));
    return c;
}

static void test_same_bits(void **state)
{
    static double one[IMAGES * 3], more[IMAGES * 3], x[IMAGES * SIZE];
    static int labels[IMAGES];
    hb_classifier_settings settings = small_settings();
    hb_classifier *c = train_bars(*state, &settings, one);
    for (int threads = 2; threads <= 3; threads++) {
        hb_context *context = make_context(HB_ISA_AUTO, threads);
        hb_classifier_destroy(train_bars(context, &settings, more));
        assert_memory_equal(one, more, sizeof one);
        hb_context_destroy(context);
    }
    draw_bars(*state, x, labels); /* a row alone, and rows cut elsewhere */
    assert_ok(*state, hb_classifier_predict(*state, c, 1, x + 7 * SIZE, more));
    assert_memory_equal(more, one + 7 * 3, 3 * sizeof *one);
    assert_ok(*state, hb_classifier_predict(*state, c, 271, x + 29 * SIZE, more));
    assert_memory_equal(more, one + 29 * 3, 271 * 3 * sizeof *one);
    assert_ok(*state, hb_classifier_predict(*state, c, 0, NULL, NULL));
    hb_classifier_destroy(c);
    int right = 0;
    for (int i = 0; i < IMAGES; i++) right += one[3 * i + labels[i]] > 0.5;
    assert_true(right > 0.9 * IMAGES);
    settings.seed++;
    hb_classifier_destroy(train_bars(*state, &settings, more));
    assert_memory_not_equal(one, more, sizeof one);
    settings = small_settings();
    settings.shift = 0;
    hb_classifier_destroy(train_bars(*state, &settings, more));
    assert_memory_not_equal(one, more, sizeof one);
}

/* Three steps on all rows at once, written out: standardised, moved, one tape, Adam. */
static void test_training_follows_the_formulas(void **state)
{
    hb_context *context = *state;
    static double x[IMAGES * SIZE], moved[IMAGES * SIZE], u[2 * IMAGES], scratch[3];
    static float input[IMAGES * SIZE], logits[IMAGES * 3], cotangent[IMAGES * 3];
    static int labels[IMAGES], chosen[IMAGES];
    static size_t order[IMAGES];
    hb_classifier_settings settings = small_settings();
    settings.epochs = 3;
    settings.batch = IMAGES;
    hb_classifier *trained, *own;
    draw_bars(context, x, labels);
    assert_ok(context,
              hb_classifier_train(context, &settings, SIZE, 3, IMAGES, x, labels, &trained));
    const hb_net_shape shape = {SIZE, 3, settings.width, settings.depth, 0};
    const hb_net_jets jets = {0};
    hb_net_tape *tape;
    assert_ok(context, hb_classifier_create(context, &shape, &own));
    assert_ok(context, hb_net_tape_create(context, own->net, &jets, IMAGES, &tape));
    assert_ok(context, hb_net_initialise(context, own->net, settings.seed, 0, own->parameters));
    double squares = 0;
    for (size_t i = 0; i < IMAGES * SIZE; i++) own->shift[i % SIZE] += x[i] / IMAGES;
    for (size_t i = 0; i < IMAGES * SIZE; i++) squares += pow(x[i] - own->shift[i % SIZE], 2);
    own->scale = sqrt(squares / (IMAGES * SIZE));
    const size_t n = hb_net_parameters(own->net);
    float *block = calloc(4 * n, sizeof *block);
    assert_non_null(block);
    hb_adam_state adam = {0, block, block + n, block + 2 * n};
    hb_adam_settings rates;
    hb_adam_settings_default(&rates);
    rates.rate = settings.rate;
    rates.ema = settings.ema;
    rates.warmup = 0;
    rates.steps = 3;
    for (uint64_t t = 0; t < 3; t++) {
        const uint64_t stream = UINT64_C(15) << 60 | UINT64_C(0x636c6173) << 8;
        const uint64_t seed = settings.seed ^ UINT64_C(0x9e3779b97f4a7c15) * (t + 1);
        assert_ok(context, hb_data_split(context, seed, IMAGES, order));
        assert_ok(context,
                  hb_random_uniform(context, settings.seed, stream, 2 * t * IMAGES, 2 * IMAGES, u));
        for (size_t i = 0; i < IMAGES; i++) {
            hb_move_image(SIDE, x + order[i] * SIZE, 0.4 * (2 * u[2 * i] - 1),
                          0.4 * (2 * u[2 * i + 1] - 1), moved + i * SIZE);
            chosen[i] = labels[order[i]];
        }
        hb_classifier_standardise(own, IMAGES, moved, input);
        memset(block + 3 * n, 0, n * sizeof *block);
        assert_ok(context, hb_net_forward(tape, own->parameters, IMAGES, input, logits));
        hb_cross_entropy(IMAGES, 3, logits, chosen, 1.0 / IMAGES, scratch, cotangent);
        assert_ok(context,
                  hb_net_backward(tape, own->parameters, cotangent, 1, block + 3 * n, NULL));
        assert_ok(context,
                  hb_adam_step(context, &rates, n, block + 3 * n, own->parameters, &adam, NULL));
    }
    assert_relative(trained->scale, own->scale, 1e-12);
    double away = 0, size = 0;
    for (size_t k = 0; k < n; k++) {
        away += pow((double)trained->parameters[k] - (double)adam.average[k], 2);
        size += pow((double)adam.average[k], 2);
    }
    /* micro-batches add in another order, and Adam makes much of gradients that are nearly 0 */
    assert_near(sqrt(away / size), 0, 3e-3);
    free(block);
    hb_net_tape_destroy(tape);
    hb_classifier_destroy(own);
    hb_classifier_destroy(trained);
}

/* The default moves square images of 64 pixels and more, by one pixel. */
static void test_default_shift(void **state)
{
    static double chosen[IMAGES * 3], given[IMAGES * 3];
    hb_classifier_settings settings = small_settings();
    settings.shift = NAN;
    hb_classifier_destroy(train_bars(*state, &settings, chosen));
    settings.shift = 1;
    hb_classifier_destroy(train_bars(*state, &settings, given));
    assert_memory_equal(chosen, given, sizeof chosen);
}

/* ---- files ---- */

static void test_files(void **state)
{
    hb_context *context = *state;
    static double before[IMAGES * 3], after[IMAGES * 3], x[IMAGES * SIZE];
    static int labels[IMAGES];
    static unsigned char bytes[1 << 16];
    const hb_classifier_settings settings = small_settings();
    char path[] = "/tmp/heatball-classifier-XXXXXX";
    const int place = mkstemp(path);
    assert_true(place >= 0);
    close(place);
    hb_classifier *c = train_bars(context, &settings, before), *again;
    hb_classifier_info info;
    assert_ok(context, hb_classifier_save(context, c, path));
    assert_ok(context, hb_classifier_load(context, path, &again));
    hb_classifier_info_get(again, sizeof info, &info);
    assert_int_equal(info.dim, SIZE);
    assert_int_equal(info.classes, 3);
    assert_int_equal(info.width, 20);
    assert_int_equal(info.depth, 2);
    assert_int_equal(info.parameters, 65 * 20 + 21 * 20 + 21 * 3);
    draw_bars(context, x, labels);
    assert_ok(context, hb_classifier_predict(context, again, IMAGES, x, after));
    assert_memory_equal(before, after, sizeof before);
    hb_classifier_destroy(again);
    hb_classifier_destroy(c);
    /* cut short, and changed: refused, or other weights of the same shape, never a crash */
    FILE *file = fopen(path, "rb");
    const size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t cut = 0; cut < size; cut += size / 23) {
        file = fopen(path, "wb");
        fwrite(bytes, 1, cut, file);
        fclose(file);
        assert_int_equal(hb_classifier_load(context, path, &again), HB_ERROR_FORMAT);
        assert_null(again);
    }
    for (size_t k = 0; k < size; k += k < 900 ? 3 : 199) {
        file = fopen(path, "wb");
        bytes[k] ^= 0x15;
        fwrite(bytes, 1, size, file);
        fclose(file);
        bytes[k] ^= 0x15;
        const hb_status status = hb_classifier_load(context, path, &again);
        assert_true(status == HB_OK || status == HB_ERROR_FORMAT);
        hb_classifier_destroy(again);
    }
    unlink(path);
    assert_fails(context, hb_classifier_load(context, "/nowhere/c", &again), HB_ERROR_PATH,
                 "/nowhere/c");
}

static void test_a_model_is_no_classifier(void **state)
{
    hb_context *context = *state;
    char path[] = "/tmp/heatball-classifier-XXXXXX";
    const int place = mkstemp(path);
    assert_true(place >= 0);
    close(place);
    hb_train_settings settings;
    hb_train_settings_default(sizeof settings, &settings);
    settings.loss = HB_LOSS_DSM;
    settings.steps = 1;
    settings.width = 8;
    const double x[8] = {1, 2, 3, 5, 8, 13, 21, 34};
    hb_model *model;
    hb_classifier *c;
    assert_ok(context, hb_train(context, &settings, 2, 0, 4, x, NULL, &model));
    assert_ok(context, hb_model_save(context, model, path));
    hb_model_destroy(model);
    assert_fails(context, hb_classifier_load(context, path, &c), HB_ERROR_FORMAT,
                 "is not a classifier of heatball: its metadata format is 'heatball model");
    unlink(path);
}

/* ---- refusals ---- */

static int stop_at_3(void *user, const char *what, double done, double total)
{
    (void)user, (void)total;
    return !strcmp(what, "classifier") && done >= 3;
}

static void test_refusals(void **state)
{
    hb_context *context = *state;
    static double x[IMAGES * SIZE], p[9];
    static int labels[IMAGES];
    draw_bars(context, x, labels);
    hb_classifier *c;
#define REFUSED(member, value, text)                                                               \
    do {                                                                                           \
        hb_classifier_settings s = small_settings();                                               \
        s.member = value;                                                                          \
        assert_fails(context, hb_classifier_train(context, &s, SIZE, 3, IMAGES, x, labels, &c),    \
                     bad, text);                                                                   \
        assert_null(c);                                                                            \
    } while (0)
    REFUSED(epochs, 0, "epochs is 0; it must be 1 to 1000000");
    REFUSED(batch, 0, "batch is 0; it must be 1 to 65536");
    REFUSED(rate, 0, "rate is 0");
    REFUSED(ema, 1, "ema is 1");
    REFUSED(shift, -1, "shift is -1; it must be 0 to 1000");
    REFUSED(width, 0, "width is 0");
    REFUSED(depth, -2, "depth is -2");
#undef REFUSED
    const hb_classifier_settings s = small_settings();
    assert_fails(context, hb_classifier_train(context, &s, 32, 3, IMAGES, x, labels, &c), bad,
                 "shift is 0.4, but 32 columns are no square image");
    assert_fails(context, hb_classifier_train(context, &s, SIZE, 2, IMAGES, x, labels, &c), bad,
                 "the label of row 3 is 2; it must be 0 to 1");
    assert_fails(context, hb_classifier_train(context, &s, SIZE, 1, IMAGES, x, labels, &c), bad,
                 "classes is 1; it must be 2 to 65536");
    assert_fails(context, hb_classifier_train(context, &s, SIZE, 3, 1, x, labels, &c), bad,
                 "x has 1 rows; it must have at least 2");
    assert_fails(context, hb_classifier_train(context, &s, 0, 3, 9, x, labels, &c), bad,
                 "dim is 0");
    x[3 * SIZE + 4] = NAN;
    assert_fails(context, hb_classifier_train(context, &s, SIZE, 3, IMAGES, x, labels, &c), bad,
                 "nan in row 4, column 5");
    assert_fails(context, hb_classifier_predict(context, NULL, 1, x, p), bad, "NULL");
}

static void test_interrupted(void **state)
{
    (void)state;
    static double x[IMAGES * SIZE];
    static int labels[IMAGES];
    hb_context_settings settings;
    hb_context_settings_default(sizeof settings, &settings);
    settings.progress = stop_at_3;
    hb_context *context;
    hb_classifier *c;
    assert_int_equal(hb_context_create(&settings, &context), HB_OK);
    draw_bars(context, x, labels);
    const hb_classifier_settings s = small_settings();
    assert_int_equal(hb_classifier_train(context, &s, SIZE, 3, IMAGES, x, labels, &c),
                     HB_ERROR_INTERRUPTED);
    assert_null(c);
    hb_context_destroy(context);
}

static void test_no_memory(void **state)
{
    static double x[IMAGES * SIZE], p[IMAGES * 3];
    static int labels[IMAGES];
    draw_bars(*state, x, labels);
    hb_classifier_settings s = small_settings();
    s.epochs = 1;
    int allowance = 1;
    for (hb_status status = HB_ERROR_MEMORY; status != HB_OK; allowance++) {
        memory_count count = {.allowance = allowance};
        hb_context *context = counting_context(&count);
        if (!context) continue;
        hb_classifier *c = NULL;
        status = hb_classifier_train(context, &s, SIZE, 3, IMAGES, x, labels, &c);
        if (status == HB_OK) status = hb_classifier_predict(context, c, IMAGES, x, p);
        assert_true(status == HB_OK || status == HB_ERROR_MEMORY);
        hb_classifier_destroy(c);
        hb_context_destroy(context);
        assert_int_equal(count.live, 0);
    }
    assert_true(allowance > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_cross_entropy_gradient_by_logits),
        cmocka_unit_test(test_cross_entropy_gradient_by_parameters),
        cmocka_unit_test(test_moved_images),
        cmocka_unit_test(test_errors_are_those_of_bayes),
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_training_follows_the_formulas),
        cmocka_unit_test(test_default_shift),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_a_model_is_no_classifier),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
