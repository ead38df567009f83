/* Copies of the weights: passes with them are those without, up to the order of sums; they follow the
 * parameters that they were asked for and no others; threads change no bit; no memory is said.
 *
 * The oracle is the pass without copies, which tests/net/test_net.c compares with plain double loops. */
#include "net/net_tape.h"
#include "net_bench.h"

/* Layers that are turned, spaced, both and neither: widths on both sides of 16 and of multiples of 128. */
static const hb_net_shape shapes[] = {
    {1, 1, 1, 1, 0},     {2, 1, 15, 2, 0},     {18, 2, 256, 3, 0}, {128, 16, 17, 1, 0},
    {7, 130, 128, 3, 1}, {256, 256, 40, 2, 1}, {3, 1, 384, 2, 1},  {20, 33, 131, 4, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static const hb_net_jets all_jets = {3, 5, pair_list, 3}, values = {0, 0, NULL, 0};

static double *doubles(size_t n, const float *x)
{
    double *y = array(n, sizeof *y);
    for (size_t i = 0; i < n; i++) y[i] = (double)x[i];
    return y;
}

/* Outputs, gradient and cotangents of the inputs beside those of `plain`. */
static void assert_like(const bench *b, const bench *plain)
{
    double *y = doubles(b->outputs, plain->y), *g = doubles(b->parameters, plain->gradient);
    double *x_bar = doubles(b->inputs, plain->x_bar);
    assert_close(b->outputs, b->y, y, 1e-5, "outputs");
    assert_close(b->parameters, b->gradient, g, 1e-5, "gradient");
    assert_close(b->inputs, b->x_bar, x_bar, 1e-5, "cotangents of the inputs");
    free(y), free(g), free(x_bar);
}

static void assert_same(const bench *b, const bench *plain)
{
    assert_memory_equal(b->y, plain->y, b->outputs * sizeof(float));
    assert_memory_equal(b->gradient, plain->gradient, b->parameters * sizeof(float));
    assert_memory_equal(b->x_bar, plain->x_bar, b->inputs * sizeof(float));
}

static void passes_with_copies_are_those_without(void **state)
{
    (void)state;
    for (int k = 0; k < 2 * SHAPES; k++) {
        const hb_net_jets *jets = k % 2 ? &all_jets : &values;
        const int rows = 1 + 23 * (k % 5);
        bench plain = open_bench(HB_ISA_AUTO, &shapes[k / 2], jets, rows);
        bench b = open_bench(HB_ISA_AUTO, &shapes[k / 2], jets, rows);
        assert_ok(b.context, hb_net_prepare(b.context, b.net, b.p));
        run_float(&plain, 0.25f), run_float(&b, 0.25f);
        assert_like(&b, &plain);
        close_bench(&plain), close_bench(&b);
    }
}

static void run_slope(bench *b, float *value, float *slope)
{
    hb_net_tape *tape;
    const size_t rows = (size_t)b->rows;
    assert_ok(b->context, hb_net_slope_tape_create(b->context, b->net, rows, &tape));
    assert_ok(b->context, hb_net_slope(tape, b->p, rows, b->x, value, slope));
    memset(b->gradient, 0, b->parameters * sizeof(float));
    assert_ok(b->context, hb_net_slope_backward(tape, b->p, b->y_bar, b->x, b->gradient));
    hb_net_tape_destroy(tape);
}

static void slopes_with_copies_are_those_without(void **state)
{
    (void)state;
    for (int k = 0; k < SHAPES; k++) {
        if (shapes[k].outputs != 1) continue;
        bench b = open_bench(HB_ISA_AUTO, &shapes[k], &values, 50);
        float *value[2], *slope[2], *gradient = array(b.parameters, sizeof(float));
        for (int c = 0; c < 2; c++) {
            value[c] = array(b.outputs, sizeof(float)), slope[c] = array(b.inputs, sizeof(float));
            run_slope(&b, value[c], slope[c]);
            if (c == 0) memcpy(gradient, b.gradient, b.parameters * sizeof(float));
            assert_ok(b.context, hb_net_prepare(b.context, b.net, b.p));
        }
        double *v = doubles(b.outputs, value[0]), *s = doubles(b.inputs, slope[0]);
        double *g = doubles(b.parameters, gradient);
        assert_close(b.outputs, value[1], v, 1e-5, "values");
        assert_close(b.inputs, slope[1], s, 1e-5, "slopes");
        assert_close(b.parameters, b.gradient, g, 1e-5, "gradient");
        for (int c = 0; c < 2; c++) free(value[c]), free(slope[c]);
        free(v), free(s), free(g), free(gradient);
        close_bench(&b);
    }
}

/* Prepared anew they are of the new weights; other parameters, and none, leave them out. */
static void copies_follow_their_parameters(void **state)
{
    (void)state;
    bench plain = open_bench(HB_ISA_AUTO, &shapes[2], &values, 40);
    bench b = open_bench(HB_ISA_AUTO, &shapes[2], &values, 40);
    float *own = b.p, *other = array(b.parameters, sizeof(float));
    run_float(&plain, 0);
    assert_ok(b.context, hb_net_prepare(b.context, b.net, own));
    b.p = memcpy(other, own, b.parameters * sizeof(float));
    run_float(&b, 0);
    assert_same(&b, &plain);
    b.p = own;
    for (size_t i = 0; i < b.parameters; i++) b.p[i] = plain.p[i] *= -0.7f;
    assert_ok(b.context, hb_net_prepare(b.context, b.net, b.p));
    run_float(&plain, 0), run_float(&b, 0);
    assert_like(&b, &plain);
    assert_ok(b.context, hb_net_prepare(b.context, b.net, NULL));
    run_float(&b, 0);
    assert_same(&b, &plain);
    free(other);
    close_bench(&plain), close_bench(&b);
}

/* A network of many pieces. */
static void threads_do_not_change_copies(void **state)
{
    (void)state;
    const hb_net_shape large = {40, 20, 512, 5, 1};
    bench one = open_bench(HB_ISA_AUTO, &large, &values, 20);
    bench b = open_bench(HB_ISA_AUTO, &large, &values, 20);
    hb_context *threads = make_context(HB_ISA_AUTO, 3);
    assert_ok(one.context, hb_net_prepare(one.context, one.net, one.p));
    assert_ok(threads, hb_net_prepare(threads, b.net, b.p));
    run_float(&one, 0), run_float(&b, 0);
    assert_same(&b, &one);
    close_bench(&one), close_bench(&b);
    hb_context_destroy(threads);
}

static void turning_is_exact(void **state)
{
    (void)state;
    enum { MOST = 45, GAP = 3 };
    float x[MOST * (MOST + GAP)], turned[MOST * (MOST + GAP)];
    for (int i = 0; i < ISAS; i++) {
        hb_context *context = make_context(isas[i], 1);
        if (!context) continue;
        for (int rows = 1; rows <= MOST; rows += 1 + rows % 3)
            for (int columns = 1; columns <= MOST; columns += 1 + columns % 4) {
                const size_t pitch = (size_t)columns + GAP, turned_pitch = (size_t)rows + GAP;
                for (int k = 0; k < MOST * (MOST + GAP); k++) x[k] = (float)k, turned[k] = -1;
                hb_net_kernels_of(isas[i])->turn((size_t)rows, (size_t)columns, x, pitch, turned,
                                                 turned_pitch);
                for (size_t k = 0; k < (size_t)columns * turned_pitch; k++) {
                    const size_t row = k % turned_pitch, column = k / turned_pitch;
                    const float expected =
                        row < (size_t)rows ? x[row * pitch + column] : -1; /* gaps are left alone */
                    if (turned[k] != expected) fail_msg("%d x %d at %zu", rows, columns, k);
                }
            }
        hb_context_destroy(context);
    }
}

/* Where copies cannot be had, passes go on without. */
static void no_memory_is_said(void **state)
{
    (void)state;
    if (!hb_net_product_wishes().turned) skip();
    memory_count count = {0, 3};
    hb_context *context = counting_context(&count);
    hb_net *net;
    assert_ok(context, hb_net_create(context, &shapes[2], &net));
    float *p = array(hb_net_parameters(net), sizeof(float));
    atomic_store(&count.allowance, 0);
    assert_fails(context, hb_net_prepare(context, net, p), HB_ERROR_MEMORY, "no memory");
    assert_null(net->prepared);
    atomic_store(&count.allowance, 1);
    assert_ok(context, hb_net_prepare(context, net, p));
    assert_ptr_equal(net->prepared, p);
    hb_net_destroy(net);
    assert_int_equal(atomic_load(&count.live), 1);
    hb_context_destroy(context);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_with_copies_are_those_without),
        cmocka_unit_test(slopes_with_copies_are_those_without),
        cmocka_unit_test(copies_follow_their_parameters),
        cmocka_unit_test(threads_do_not_change_copies),
        cmocka_unit_test(turning_is_exact),
        cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
