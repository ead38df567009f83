/* A row is alone: products, networks, models, classifiers and samplers give a row the same bits
 * whatever the rows beside it are, how many they are, and where it stands among them.
 *
 * The oracle is the row asked alone. Numbers of rows are random from 1 to 400, and 7, 8, 20 and 32,
 * which the AVX2 kernels of oneDNN 2.6.3 sum differently row by row; widths are random from 3 to
 * 1024. tests/run.py runs this under every ONEDNN_MAX_CPU_ISA that the machine has. */
#include "net/model_parts.h"
#include "net/net_tape.h"
#include "support.h"
#include "train/classifier.h"

#include <heatball/generate.h>

/* ---- random choices ---- */

static uint64_t state_of_choices;

static void choose_from(uint64_t seed)
{
    state_of_choices = seed;
}

/* 0 .. n-1, by a linear congruence. */
static size_t choice(size_t n)
{
    state_of_choices = state_of_choices * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (size_t)(state_of_choices >> 33) % n;
}

static size_t choose_rows(void)
{
    static const size_t known[] = {7, 8, 20, 32, 2, 3, 64, 128, 256, 65, 63, 49};
    return choice(2) ? known[choice(sizeof known / sizeof *known)] : 1 + choice(400);
}

static size_t choose_width(void)
{
    static const size_t known[] = {3, 8, 64, 256, 1024};
    switch (choice(6)) {
    case 0: return known[choice(sizeof known / sizeof *known)];
    case 1: return 3 + choice(1022);
    default: return 3 + choice(200);
    }
}

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count + 64, size);
    assert_non_null(memory);
    return memory;
}

/* n normals. */
static float *draw(hb_context *context, uint64_t stream, size_t n)
{
    float *x = take(n, sizeof *x);
    assert_ok(context, hb_random_normal_f32(context, 2385, stream, 0, n, x));
    return x;
}

static void assert_bits(size_t count, const void *x, const void *y, size_t size, const char *what,
                        size_t row, size_t n, size_t width)
{
    if (memcmp(x, y, count * size))
        fail_msg("%s: row %zu of %zu differs from the row alone (width %zu)", what, row, n, width);
}

/* ---- products ---- */

typedef struct product {
    hb_net_layer layer;
    size_t n;
    float *weight, *x, *y, *to, *back, *row, *row_back;
} product;

static product open_product(hb_context *context, uint64_t stream, size_t in, size_t out, size_t n)
{
    product p = {.layer = {.in = in, .out = out}, .n = n};
    p.weight = draw(context, 4 * stream, in * out);
    p.x = draw(context, 4 * stream + 1, n * in);
    p.y = draw(context, 4 * stream + 2, n * out);
    p.to = take(n * out, sizeof(float)), p.back = take(n * in, sizeof(float));
    p.row = take(out, sizeof(float)), p.row_back = take(in, sizeof(float));
    return p;
}

static void close_product(product *p)
{
    free(p->weight), free(p->x), free(p->y), free(p->to), free(p->back);
    free(p->row), free(p->row_back);
}

/* The row is computed at another address, `shift` floats off a boundary of 64 bytes. */
static void check_product_row(hb_context *context, const product *p, size_t i, int add)
{
    const size_t in = p->layer.in, out = p->layer.out, shift = choice(16);
    float *x = take(in + shift, sizeof *x), *y = take(out + shift, sizeof *y);
    memcpy(x + shift, p->x + i * in, in * sizeof *x);
    memcpy(y + shift, p->y + i * out, out * sizeof *y);
    memcpy(p->row_back, p->x + i * in, in * sizeof *x);
    assert_ok(context, hb_net_to_outputs(context, &p->layer, 1, p->weight, x + shift, p->row));
    assert_ok(context,
              hb_net_to_inputs(context, &p->layer, 1, p->weight, y + shift, add, p->row_back));
    assert_bits(out, p->row, p->to + i * out, sizeof(float), "to outputs", i, p->n, in);
    assert_bits(in, p->row_back, p->back + i * in, sizeof(float), "to inputs", i, p->n, in);
    free(x), free(y);
}

static void products_keep_rows_alone(void **state)
{
    choose_from(1);
    for (uint64_t trial = 0; trial < 90; trial++) {
        const size_t in = choice(5) ? choose_width() : 1 + choice(4);
        const size_t out = choice(4) ? choose_width() : 1 + choice(4);
        const int add = (int)choice(2);
        product p = open_product(*state, trial, in, out, choose_rows());
        memcpy(p.back, p.x, p.n * in * sizeof(float)); /* what is added to */
        assert_ok(*state, hb_net_to_outputs(*state, &p.layer, p.n, p.weight, p.x, p.to));
        assert_ok(*state, hb_net_to_inputs(*state, &p.layer, p.n, p.weight, p.y, add, p.back));
        check_product_row(*state, &p, 0, add);
        check_product_row(*state, &p, p.n - 1, add);
        for (int k = 0; k < 4; k++) check_product_row(*state, &p, choice(p.n), add);
        close_product(&p);
    }
}

/* Against double sums: blocks, zeros and copied panels lose nothing. */
static void products_are_right(void **state)
{
    static const size_t shapes[][3] = {{1024, 5, 17}, {1024, 33, 70}, {2048, 3, 1}, {31, 1, 113},
                                       {1, 40, 50},   {77, 130, 48},  {5, 1024, 3}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int add = 0; add < 2; add++) {
            const size_t in = shapes[s][0], out = shapes[s][1], n = shapes[s][2];
            product p = open_product(*state, 1000 + s, in, out, n);
            memcpy(p.back, p.x, n * in * sizeof(float));
            assert_ok(*state, hb_net_to_outputs(*state, &p.layer, n, p.weight, p.x, p.to));
            assert_ok(*state, hb_net_to_inputs(*state, &p.layer, n, p.weight, p.y, add, p.back));
            for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < out; j++) {
                    double sum = 0;
                    for (size_t k = 0; k < in; k++)
                        sum += (double)p.x[i * in + k] * (double)p.weight[j * in + k];
                    assert_near(p.to[i * out + j], sum, 2e-6 * (double)in);
                }
                for (size_t k = 0; k < in; k++) {
                    double sum = add ? (double)p.x[i * in + k] : 0;
                    for (size_t j = 0; j < out; j++)
                        sum += (double)p.y[i * out + j] * (double)p.weight[j * in + k];
                    assert_near(p.back[i * in + k], sum, 2e-6 * (double)(out + 4));
                }
            }
            close_product(&p);
        }
}

/* A sum over rows is the sum over its first 384, plus that over the next 384, and so on; at any
 * address. */
static void sums_over_rows_are_cut_where_they_say(void **state)
{
    enum { CUT = 384 };
    choose_from(2);
    for (uint64_t trial = 0; trial < 12; trial++) {
        const size_t in = 1 + choice(300), out = 1 + choice(trial % 3 ? 120 : 2);
        const size_t n = 1 + choice(1500), shift = choice(16);
        product p = open_product(*state, 2000 + trial, in, out, n);
        float *whole = draw(*state, 3000, in * out), *pieces = take(in * out + shift, 4);
        memcpy(pieces + shift, whole, in * out * sizeof *whole);
        assert_ok(*state, hb_net_to_weights(*state, &p.layer, n, p.y, p.x, 1, whole));
        for (size_t first = 0, m; first < n; first += m) {
            m = CUT * (1 + choice(2));
            if (m > n - first) m = n - first;
            assert_ok(*state, hb_net_to_weights(*state, &p.layer, m, p.y + first * out,
                                                p.x + first * in, 1, pieces + shift));
        }
        assert_memory_equal(whole, pieces + shift, in * out * sizeof *whole);
        free(whole), free(pieces);
        close_product(&p);
    }
}

/* ---- networks ---- */

static const int pair_list[][2] = {{0, 0}, {0, 1}, {1, 1}};

/* Row i of all channels. */
static void pick(size_t channels, size_t n, size_t width, size_t i, const float *from, float *to)
{
    for (size_t c = 0; c < channels; c++)
        memcpy(to + c * width, from + (c * n + i) * width, width * sizeof *to);
}

/* Values, first and second derivatives, and the cotangent of the inputs. */
static void jets_keep_rows_alone(void **state)
{
    choose_from(3);
    for (uint64_t trial = 0; trial < 16; trial++) {
        const hb_net_shape shape = {1 + (int)choice(20), 1 + (int)choice(4), (int)choose_width(),
                                    1 + (int)choice(3), (int)choice(2)};
        const hb_net_jets jets = {2 * (int)choice(2), 0, pair_list, 0};
        hb_net_jets more = jets;
        if (jets.first) more.pairs = (int)choice(4), more.laplacian = 2 * (int)choice(2);
        const size_t c = (size_t)hb_net_channels(&more), n = 1 + choose_rows() % 150;
        const size_t in = (size_t)shape.inputs, out = (size_t)shape.outputs;
        hb_net *net;
        hb_net_tape *tape;
        assert_ok(*state, hb_net_create(*state, &shape, &net));
        assert_ok(*state, hb_net_tape_create(*state, net, &more, n, &tape));
        float *p = take(hb_net_parameters(net), 4), *gradient = take(hb_net_parameters(net), 4);
        float *x = draw(*state, trial, c * n * in), *y_bar = draw(*state, 99 + trial, c * n * out);
        float *y = take(c * n * out, 4), *x_bar = take(c * n * in, 4);
        float *one[6];
        for (int k = 0; k < 6; k++) one[k] = take(c * (in + out), 4);
        assert_ok(*state, hb_net_initialise(*state, net, trial, 1, p));
        if (trial % 2) assert_ok(*state, hb_net_prepare(*state, net, p));
        assert_ok(*state, hb_net_forward(tape, p, n, x, y));
        assert_ok(*state, hb_net_backward(tape, p, y_bar, 1, gradient, x_bar));
        for (int k = 0; k < 4; k++) {
            const size_t i = k ? choice(n) : n - 1;
            pick(c, n, in, i, x, one[0]), pick(c, n, out, i, y_bar, one[1]);
            pick(c, n, out, i, y, one[2]), pick(c, n, in, i, x_bar, one[3]);
            assert_ok(*state, hb_net_forward(tape, p, 1, one[0], one[4]));
            assert_ok(*state, hb_net_backward(tape, p, one[1], 1, gradient, one[5]));
            assert_bits(c * out, one[2], one[4], 4, "jets", i, n, (size_t)shape.width);
            assert_bits(c * in, one[3], one[5], 4, "cotangents", i, n, (size_t)shape.width);
        }
        for (int k = 0; k < 6; k++) free(one[k]);
        free(p), free(gradient), free(x), free(y), free(y_bar), free(x_bar);
        hb_net_tape_destroy(tape);
        hb_net_destroy(net);
    }
}

/* ---- models ---- */

typedef struct answers {
    double *score, *value, *slope, *divergence, *trace; // (n, dim), (n), (n, dim), (n), (n, dim)
} answers;

static answers open_answers(size_t n, size_t d)
{
    return (answers){take(n * d, 8), take(n, 8), take(n * d, 8), take(n, 8), take(n * d, 8)};
}

static void close_answers(answers *a)
{
    free(a->score), free(a->value), free(a->slope), free(a->divergence), free(a->trace);
}

static hb_model *make_model(hb_context *context, int dim, int head, int process, int width)
{
    enum { ROWS = 100 };
    const hb_model_info info = {.dim = dim,
                                .classes = (int)choice(2) * 3,
                                .head = head,
                                .process = process,
                                .width = width,
                                .depth = 1 + (int)choice(4),
                                .skip = (int)choice(2),
                                .time_features = 5,
                                .tau_min = 0.01,
                                .tau_max = 3,
                                .loss = "dsm"};
    double *x = take(ROWS * (size_t)dim, sizeof *x);
    hb_model *model;
    assert_ok(context, hb_random_normal(context, 3, 1, 0, ROWS * (size_t)dim, x));
    assert_ok(context, hb_model_create(context, &info, &model));
    assert_ok(context, hb_model_set_reference(context, model, 1, ROWS, x));
    assert_ok(context, hb_net_initialise(context, model->net, 8, 1.2, model->parameters));
    free(x);
    return model;
}

static void ask(hb_context *context, const hb_model *model, size_t n, const double *x,
                const double *tau, const int *labels, answers *a)
{
    assert_ok(context, hb_model_score(context, model, n, x, tau, labels, a->score));
    if (model->info.head == HB_HEAD_ENERGY)
        assert_ok(context,
                  hb_model_log_density(context, model, n, x, tau, labels, a->value, a->slope));
    assert_ok(context, hb_model_divergence(context, model, 0, 1, n, x, tau, labels, a->trace,
                                           a->divergence));
}

static void check_model(hb_context *context, const hb_model *model, size_t n)
{
    const size_t d = (size_t)model->info.dim, width = (size_t)model->info.width;
    double *x = take(n * d, 8), *tau = take(n, 8);
    int *labels = take(n, sizeof *labels);
    answers all = open_answers(n, d), one = open_answers(1, d);
    assert_ok(context, hb_random_normal(context, 7, n, 0, n * d, x));
    for (size_t i = 0; i < n; i++) {
        tau[i] = 0.02 + 0.01 * (double)choice(200);
        labels[i] = (int)choice((size_t)model->info.classes + 1) - 1;
    }
    ask(context, model, n, x, tau, labels, &all);
    for (int k = 0; k < 4; k++) {
        const size_t i = k ? choice(n) : n - 1;
        ask(context, model, 1, x + i * d, tau + i, labels + i, &one);
        assert_bits(d, one.score, all.score + i * d, 8, "score", i, n, width);
        assert_bits(1, one.value, all.value + i, 8, "log-density", i, n, width);
        assert_bits(d, one.slope, all.slope + i * d, 8, "its gradient", i, n, width);
        assert_bits(1, one.divergence, all.divergence + i, 8, "divergence", i, n, width);
        assert_bits(d, one.trace, all.trace + i * d, 8, "score of divergence", i, n, width);
    }
    close_answers(&all), close_answers(&one);
    free(x), free(tau), free(labels);
}

static void models_keep_rows_alone(void **state)
{
    static const int dims[] = {1, 2, 3, 5, 18};
    choose_from(4);
    for (int trial = 0; trial < 40; trial++) {
        const int head = trial % 3;
        const int dim = head == HB_HEAD_HELMHOLTZ ? 2 : dims[choice(5)];
        const int process = choice(2) ? HB_PROCESS_OU : HB_PROCESS_VE;
        hb_model *model = make_model(*state, dim, head, process, (int)choose_width());
        if (trial % 2) assert_ok(*state, hb_net_prepare(*state, model->net, model->parameters));
        check_model(*state, model, choose_rows());
        hb_model_destroy(model);
    }
}

/* Sample i of 1, of 37 and of 100 samples. */
static void samples_are_alone(void **state)
{
    enum { N = 100, DIM = 5 };
    double all[N * DIM], some[N * DIM];
    choose_from(5);
    for (int trial = 0; trial < 6; trial++) {
        hb_model *model = make_model(*state, DIM, trial % 2 ? HB_HEAD_ENERGY : HB_HEAD_SCORE,
                                     HB_PROCESS_OU, (int)choose_width());
        hb_generate_settings settings;
        hb_generate_settings_default(sizeof settings, &settings);
        settings.solver = trial % 3;
        settings.n_steps = 6;
        settings.ode_tolerance = 1e-2;
        assert_ok(*state, hb_model_generate(*state, model, &settings, 0, N, NULL, all));
        assert_ok(*state, hb_model_generate(*state, model, &settings, 0, 37, NULL, some));
        assert_bits(37 * DIM, some, all, sizeof *all, "samples", 0, N, 37);
        for (int k = 0; k < 3; k++) {
            const size_t i = choice(N);
            assert_ok(*state, hb_model_generate(*state, model, &settings, i, 1, NULL, some));
            assert_bits(DIM, some, all + i * DIM, sizeof *all, "sample", i, N, 1);
        }
        hb_model_destroy(model);
    }
}

/* ---- classifiers ---- */

static void classifiers_keep_rows_alone(void **state)
{
    choose_from(6);
    for (int trial = 0; trial < 12; trial++) {
        const hb_net_shape shape = {2 + (int)choice(300), 2 + (int)choice(9), (int)choose_width(),
                                    1 + (int)choice(3), 0};
        const size_t n = choose_rows(), d = (size_t)shape.inputs, classes = (size_t)shape.outputs;
        hb_classifier *c;
        double *x = take(n * d, 8), *p = take(n * classes, 8), *one = take(classes, 8);
        assert_ok(*state, hb_classifier_create(*state, &shape, &c));
        assert_ok(*state, hb_net_initialise(*state, c->net, 5, 1.5, c->parameters));
        assert_ok(*state, hb_random_normal(*state, 7, n, 0, n * d, x));
        assert_ok(*state, hb_classifier_predict(*state, c, n, x, p));
        for (int k = 0; k < 4; k++) {
            const size_t i = k ? choice(n) : n - 1;
            assert_ok(*state, hb_classifier_predict(*state, c, 1, x + i * d, one));
            assert_bits(classes, one, p + i * classes, 8, "classes", i, n, (size_t)shape.width);
        }
        free(x), free(p), free(one);
        hb_classifier_destroy(c);
    }
}

/* ---- memory ---- */

/* The scratch of a block that is not whole may fail to be had. */
static void no_memory_is_said(void **state)
{
    (void)state;
    memory_count count = {0, 1};
    hb_context *context = counting_context(&count);
    float x[3] = {1, 2, 3}, w[6] = {0}, y[2];
    const hb_net_layer layer = {.in = 3, .out = 2};
    assert_fails(context, hb_net_to_outputs(context, &layer, 1, w, x, y), HB_ERROR_MEMORY,
                 "no memory");
    atomic_store(&count.allowance, 1);
    assert_ok(context, hb_net_to_outputs(context, &layer, 1, w, x, y));
    assert_int_equal(atomic_load(&count.live), 1);
    hb_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_keep_rows_alone),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(sums_over_rows_are_cut_where_they_say),
        cmocka_unit_test(jets_keep_rows_alone),
        cmocka_unit_test(models_keep_rows_alone),
        cmocka_unit_test(samples_are_alone),
        cmocka_unit_test(classifiers_keep_rows_alone),
        cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, open_threads, close_context);
}
