/* SiLU's digits and limits, the same bits on any number of threads and within a class of
 * instruction sets, the block of parameters and its start, and what the network refuses. */
#include "base/parallel.h"
#include "net_bench.h"

#include <omp.h>

/* ---- SiLU: one unit with weight 1 ---- */

/* silu and three derivatives of z, as the network gives them: value, first, pair channel, and the
 * bias's gradient of the pair channel. */
static void network_silu(hb_isa isa, float z, float out[4])
{
    const hb_net_shape shape = {1, 1, 1, 1, 0};
    const hb_net_jets jets = {1, 1, pair_list, 0};
    bench b = open_bench(isa, &shape, &jets, 1);
    const float parameters[] = {1, 0, 1, 0}, input[] = {z, 1, 0}, cotangent[] = {0, 0, 1};
    memcpy(b.p, parameters, sizeof parameters);
    memcpy(b.x, input, sizeof input);
    memcpy(b.y_bar, cotangent, sizeof cotangent);
    run_float(&b, 0);
    memcpy(out, b.y, 3 * sizeof *out);
    out[3] = b.gradient[1];
    close_bench(&b);
}

/* Long double; q = 1 - s from its own exponential, so that no digits are lost. */
static void exact_silu(long double z, long double f[4])
{
    const long double s = 1 / (1 + expl(-z)), q = 1 / (1 + expl(z)), t = q - s;
    f[0] = z * s;
    f[1] = s + z * s * q;
    f[2] = 2 * s * q + z * s * q * t;
    f[3] = 3 * s * q * t + z * s * q * (t * t - 2 * s * q);
}

/* The third derivative of the exact function by differences, to check the line above. */
static void exact_silu_is_its_own_derivative(void **state)
{
    (void)state;
    for (long double z = -9.385L; z < 9; z += 0.7L) {
        long double low[4], high[4], middle[4];
        const long double h = 1e-5L;
        exact_silu(z - h, low), exact_silu(z + h, high), exact_silu(z, middle);
        for (int k = 0; k < 3; k++)
            assert_near((double)middle[k + 1], (double)((high[k] - low[k]) / (2 * h)), 1e-9);
    }
    long double f[4];
    exact_silu(0.7L, f);
    const double known[4] = {0.4677314405, 0.8233867835, 0.3912205947, -0.2749950664}; /* mpmath */
    for (int k = 0; k < 4; k++) assert_near((double)f[k], known[k], 1e-10);
}

static void silu_keeps_its_digits(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++) {
        hb_context *context = make_context(isas[isa], 1);
        if (!context) continue;
        hb_context_destroy(context);
        for (float z = -80.03f; z < 80; z += 0.38f) {
            float f[4];
            long double exact[4];
            network_silu(isas[isa], z, f);
            exact_silu((long double)z, exact);
            /* The derivatives have zeros: the error is relative to the terms that cancel there. */
            const double s = 1 / (1 + exp(-(double)z)), sq = s / (1 + exp((double)z));
            const double size[4] = {fabs(z) * s, s + fabs(z) * sq, (2 + fabs(z)) * sq,
                                    (3 + fabs(z)) * sq};
            for (int k = 0; k < 4; k++) assert_near((double)f[k], (double)exact[k], 6e-7 * size[k]);
        }
    }
}

static void extreme_arguments_give_limits(void **state)
{
    (void)state;
    for (int isa = 0; isa < ISAS; isa++) {
        hb_context *context = make_context(isas[isa], 1);
        if (!context) continue;
        hb_context_destroy(context);
        const float sizes[] = {88.4f, 103.97f, 2385, 1e10f, 3e38f};
        for (int i = 0; i < 5; i++) {
            float f[4];
            network_silu(isas[isa], sizes[i], f);
            assert_true(f[0] == sizes[i] && f[1] == 1 && f[2] == 0 && f[3] == 0);
            network_silu(isas[isa], -sizes[i], f);
            assert_true(fabsf(f[0]) < 1e-35f && fabsf(f[1]) < 1e-35f && f[2] == 0 && f[3] == 0);
        }
        float f[4];
        network_silu(isas[isa], NAN, f);
        assert_true(isnan(f[0]) && isnan(f[1]) && isnan(f[2]));
    }
}

/* ---- the same bits ---- */

/* One output and many rows: a product that oneDNN cuts along its sums when it has threads. */
static const hb_net_shape wide_shape = {19, 1, 200, 3, 0};
static const hb_net_jets all_jets = {3, 5, pair_list, 3};

static void assert_same_bits(const bench *a, const bench *b)
{
    assert_memory_equal(a->y, b->y, a->outputs * sizeof(float));
    assert_memory_equal(a->gradient, b->gradient, a->parameters * sizeof(float));
    assert_memory_equal(a->x_bar, b->x_bar, a->inputs * sizeof(float));
}

static void classes_of_instruction_sets_agree(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k += 2) {
        bench a = open_bench(isas[k], &wide_shape, &all_jets, 7);
        bench b = open_bench(isas[k + 1], &wide_shape, &all_jets, 7);
        if (a.context && b.context) {
            run_float(&a, 0);
            run_float(&b, 0);
            assert_same_bits(&a, &b);
        }
        if (a.context) close_bench(&a);
        if (b.context) close_bench(&b);
    }
}

static hb_status run_as_task(void *user, size_t index, int thread)
{
    (void)thread;
    run_float((bench *)user + index, 0);
    return HB_OK;
}

/* Outside parallel regions with 1, 2 and 3 threads to be had, and as tasks. */
static void threads_do_not_change_bits(void **state)
{
    (void)state;
    enum { TASKS = 4 };
    const int before = omp_get_max_threads();
    bench one = open_bench(HB_ISA_AUTO, &wide_shape, &all_jets, 61);
    omp_set_num_threads(1);
    run_float(&one, 0);
    for (int threads = 2; threads <= 3; threads++) {
        bench more = open_bench(HB_ISA_AUTO, &wide_shape, &all_jets, 61);
        omp_set_num_threads(threads);
        run_float(&more, 0);
        assert_int_equal(omp_get_max_threads(), threads);
        assert_same_bits(&one, &more);
        close_bench(&more);
    }
    bench tasks[TASKS];
    for (int i = 0; i < TASKS; i++) tasks[i] = open_bench(HB_ISA_AUTO, &wide_shape, &all_jets, 61);
    hb_context *context = make_context(HB_ISA_AUTO, 2);
    assert_ok(context, hb_parallel_for(context, "networks", TASKS, run_as_task, tasks));
    for (int i = 0; i < TASKS; i++) {
        assert_same_bits(&one, tasks + i);
        close_bench(tasks + i);
    }
    hb_context_destroy(context);
    close_bench(&one);
    omp_set_num_threads(before);
}

/* A tape used again, and for fewer rows than it holds, gives what a fresh one gives. */
static void tapes_keep_nothing(void **state)
{
    (void)state;
    bench fresh = open_bench(HB_ISA_AUTO, &wide_shape, &all_jets, 6);
    bench again = open_bench(HB_ISA_AUTO, &wide_shape, &all_jets, 6);
    run_float(&fresh, 0);
    hb_net_tape *tape;
    assert_ok(again.context, hb_net_tape_create(again.context, again.net, &all_jets, 6, &tape));
    for (size_t rows = 2; rows <= 6; rows += 4) {
        memset(again.gradient, 0, again.parameters * sizeof(float));
        assert_ok(again.context, hb_net_forward(tape, again.p, rows, again.x, again.y));
        assert_ok(again.context,
                  hb_net_backward(tape, again.p, again.y_bar, 1, again.gradient, again.x_bar));
    }
    assert_same_bits(&fresh, &again);
    assert_ok(again.context, hb_net_backward(tape, again.p, again.y_bar, 1, again.gradient, NULL));
    for (size_t i = 0; i < again.parameters; i++)
        assert_near(again.gradient[i], 2 * (double)fresh.gradient[i],
                    1e-5 * (1 + fabs(fresh.gradient[i])));
    hb_net_tape_destroy(tape);
    close_bench(&fresh);
    close_bench(&again);
}

/* ---- the block of parameters ---- */

static void tensors_tile_the_block(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_net_shape shape = {19, 2, 24, 3, 1};
    hb_net *net;
    assert_ok(context, hb_net_create(context, &shape, &net));
    assert_memory_equal(hb_net_shape_of(net), &shape, sizeof shape);
    size_t next = 0;
    for (int k = 0; k < hb_net_tensors(net); k++) {
        hb_net_tensor tensor;
        hb_net_tensor_get(net, k, &tensor);
        char name[32];
        snprintf(name, sizeof name, "layer%d.%s", k / 2, k % 2 ? "bias" : "weight");
        assert_string_equal(tensor.name, name);
        assert_int_equal(tensor.offset, next);
        assert_int_equal(tensor.rows, k / 2 == 3 ? 2 : 24);
        assert_int_equal(tensor.columns, k % 2 ? 1 : k == 0 ? 19 : 24);
        next += (size_t)tensor.rows * (size_t)tensor.columns;
    }
    assert_int_equal(next, hb_net_parameters(net));
    hb_net_destroy(net);
    hb_context_destroy(context);
}

/* Outputs of a wide net under unit inputs have variance last_scale^2; seeds differ. */
static void start_keeps_the_variance(void **state)
{
    (void)state;
    const hb_net_shape shape = {64, 100, 512, 4, 0};
    const hb_net_jets values = {0, 0, NULL, 0};
    bench b = open_bench(HB_ISA_AUTO, &shape, &values, 64);
    float *other = array(b.parameters, sizeof *other);
    draw(b.context, 5, b.inputs, 1, b.x, b.dx);
    assert_ok(b.context, hb_net_initialise(b.context, b.net, 7, 0.5, b.p));
    assert_ok(b.context, hb_net_initialise(b.context, b.net, 8, 0.5, other));
    assert_true(memcmp(b.p, other, b.parameters * sizeof(float)) != 0);
    run_float(&b, 0);
    double squares = 0;
    for (size_t i = 0; i < b.outputs; i++) squares += (double)b.y[i] * (double)b.y[i];
    assert_relative(squares / (double)b.outputs, 0.25, 0.2);
    hb_net_tensor bias, second, third;
    hb_net_tensor_get(b.net, 2, &second);
    hb_net_tensor_get(b.net, 4, &third);
    assert_memory_not_equal(b.p + second.offset, b.p + third.offset, 512 * sizeof(float));
    hb_net_tensor_get(b.net, 3, &bias);
    for (int i = 0; i < bias.rows; i++) assert_true(b.p[bias.offset + (size_t)i] == 0);
    assert_ok(b.context, hb_net_initialise(b.context, b.net, 7, 0, b.p));
    run_float(&b, 0);
    for (size_t i = 0; i < b.outputs; i++) assert_true(b.y[i] == 0);
    free(other);
    close_bench(&b);
}

/* A residual layer starts near the identity: a tenth of the gain of a plain one. */
static void residual_layers_start_small(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    double size[2][4];
    for (int residual = 0; residual < 2; residual++) {
        const hb_net_shape shape = {64, 100, 512, 3, residual};
        hb_net *net;
        assert_ok(context, hb_net_create(context, &shape, &net));
        float *p = array(hb_net_parameters(net), sizeof *p);
        assert_ok(context, hb_net_initialise(context, net, 7, 0.5, p));
        for (int l = 0; l < 4; l++) {
            hb_net_tensor weight;
            hb_net_tensor_get(net, 2 * l, &weight);
            const size_t n = (size_t)weight.rows * (size_t)weight.columns;
            double squares = 0;
            for (size_t i = 0; i < n; i++)
                squares += (double)p[weight.offset + i] * (double)p[weight.offset + i];
            size[residual][l] = sqrt(squares / (double)n);
        }
        free(p);
        hb_net_destroy(net);
    }
    assert_relative(size[0][1], 1.6765 / sqrt(512), 0.02);
    for (int l = 0; l < 4; l++)
        assert_relative(size[1][l] / size[0][l], l == 1 || l == 2 ? 0.1 : 1, 1e-5);
    hb_context_destroy(context);
}

/* ---- what is refused ---- */

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_net_shape good = {3, 2, 5, 2, 0};
    hb_net *net;
    hb_net_shape bad = good;
    bad.inputs = 0;
    assert_fails(context, hb_net_create(context, &bad, &net), HB_ERROR_ARGUMENT,
                 "number of inputs is 0; it must be 1 to 65536");
    bad = good, bad.outputs = 65537;
    assert_fails(context, hb_net_create(context, &bad, &net), HB_ERROR_ARGUMENT,
                 "outputs is 65537");
    bad = good, bad.width = -3;
    assert_fails(context, hb_net_create(context, &bad, &net), HB_ERROR_ARGUMENT, "width is -3");
    bad = good, bad.depth = 0;
    assert_fails(context, hb_net_create(context, &bad, &net), HB_ERROR_ARGUMENT, "depth is 0");
    assert_null(net);
    hb_net_destroy(NULL);
    hb_net_tape_destroy(NULL);
    hb_context_destroy(context);
}

static void bad_tapes_are_refused(void **state)
{
    (void)state;
    const hb_net_shape shape = {3, 2, 5, 2, 0};
    const int outside[][2] = {{0, 3}};
    const hb_net_jets jets = {3, 1, pair_list, 2}, far = {3, 1, outside, 0},
                      broad = {1, 0, NULL, 2};
    const hb_net_jets none = {-1, 0, NULL, 0}, few = {0, -1, NULL, 0};
    bench b = open_bench(HB_ISA_AUTO, &shape, &jets, 4);
    hb_context *c = b.context;
    hb_net_tape *tape;
    assert_fails(c, hb_net_tape_create(c, b.net, &far, 4, &tape), HB_ERROR_ARGUMENT,
                 "pair 0 has direction 3; it must be 0 to 2");
    assert_fails(c, hb_net_tape_create(c, b.net, &broad, 4, &tape), HB_ERROR_ARGUMENT,
                 "over 2 directions; it must be over 0 to 1");
    assert_fails(c, hb_net_tape_create(c, b.net, &none, 4, &tape), HB_ERROR_ARGUMENT, "is -1");
    assert_fails(c, hb_net_tape_create(c, b.net, &few, 4, &tape), HB_ERROR_ARGUMENT, "is -1");
    assert_fails(c, hb_net_tape_create(c, b.net, &jets, 0, &tape), HB_ERROR_ARGUMENT, "0 rows");
    assert_fails(c, hb_net_slope_tape_create(c, b.net, 4, &tape), HB_ERROR_ARGUMENT,
                 "with 2 outputs; it must have 1");
    const hb_net_shape vast = {3, 1, 65536, 1000, 0};
    hb_net *large;
    assert_ok(c, hb_net_create(c, &vast, &large));
    assert_fails(c, hb_net_tape_create(c, large, &(hb_net_jets){60000, 0, NULL, 0}, 1 << 24, &tape),
                 HB_ERROR_MEMORY, "take fewer rows");
    hb_net_destroy(large);
    assert_ok(c, hb_net_tape_create(c, b.net, &jets, 4, &tape));
    assert_fails(c, hb_net_backward(tape, b.p, b.y_bar, 1, b.gradient, NULL), HB_ERROR_ARGUMENT,
                 "without a forward pass");
    assert_fails(c, hb_net_forward(tape, b.p, 5, b.x, b.y), HB_ERROR_ARGUMENT,
                 "5 rows are given to a tape; it holds 1 to 4");
    assert_fails(c, hb_net_slope(tape, b.p, 4, b.x, b.y, b.y), HB_ERROR_ARGUMENT,
                 "a tape for jets");
    hb_net_tape_destroy(tape);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_silu_is_its_own_derivative),
        cmocka_unit_test(silu_keeps_its_digits),
        cmocka_unit_test(extreme_arguments_give_limits),
        cmocka_unit_test(classes_of_instruction_sets_agree),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(tapes_keep_nothing),
        cmocka_unit_test(tensors_tile_the_block),
        cmocka_unit_test(start_keeps_the_variance),
        cmocka_unit_test(residual_layers_start_small),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_tapes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
