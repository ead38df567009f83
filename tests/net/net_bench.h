/* A network with random numbers in float and in double, as the tests of the net room use it. */
#ifndef HB_TESTS_NET_BENCH_H
#define HB_TESTS_NET_BENCH_H

#include "net_reference.h"

static const hb_isa isas[] = {HB_ISA_SCALAR, HB_ISA_SSE2, HB_ISA_AVX2, HB_ISA_AVX512};
enum { ISAS = sizeof isas / sizeof *isas };

static const int pair_list[][2] = {{0, 0}, {0, 1}, {2, 1}, {1, 1}, {2, 2}};

/* A network with its arrays in float and, with the same numbers, in double. */
typedef struct bench {
    hb_context *context;
    hb_net *net;
    hb_net_shape shape;
    hb_net_jets jets;
    int rows;
    size_t parameters, inputs, outputs; /* numbers in the block and in all channels of all rows */
    float *p, *x, *y, *y_bar, *gradient, *x_bar;
    double *dp, *dx, *dy, *dy_bar;
} bench;

static inline void *array(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    assert_non_null(memory);
    return memory;
}

/* The same random numbers in float and double. */
static inline void draw(hb_context *context, uint64_t stream, size_t n, double scale, float *f,
                        double *d)
{
    assert_ok(context, hb_random_normal_f32(context, 2385, stream, 0, n, f));
    for (size_t i = 0; i < n; i++) {
        f[i] *= (float)scale;
        d[i] = (double)f[i];
    }
}

static inline bench open_bench(hb_isa isa, const hb_net_shape *shape, const hb_net_jets *jets,
                               int rows)
{
    bench b = {.context = make_context(isa, 1), .shape = *shape, .jets = *jets, .rows = rows};
    if (!b.context) return b;
    const size_t stacked = (size_t)(hb_net_channels(jets) * rows);
    assert_ok(b.context, hb_net_create(b.context, shape, &b.net));
    b.parameters = hb_net_parameters(b.net);
    b.inputs = stacked * (size_t)shape->inputs;
    b.outputs = stacked * (size_t)shape->outputs;
    b.p = array(b.parameters, sizeof(float)), b.dp = array(b.parameters, sizeof(double));
    b.x = array(b.inputs, sizeof(float)), b.dx = array(b.inputs, sizeof(double));
    b.y = array(b.outputs, sizeof(float)), b.dy = array(b.outputs, sizeof(double));
    b.y_bar = array(b.outputs, sizeof(float)), b.dy_bar = array(b.outputs, sizeof(double));
    b.gradient = array(b.parameters, sizeof(float)), b.x_bar = array(b.inputs, sizeof(float));
    draw(b.context, 1, b.parameters, 1.2 / sqrt(shape->width), b.p, b.dp);
    draw(b.context, 2, b.inputs, 0.9, b.x, b.dx);
    draw(b.context, 3, b.outputs, 1.1, b.y_bar, b.dy_bar);
    return b;
}

static inline void close_bench(bench *b)
{
    free(b->p), free(b->x), free(b->y), free(b->y_bar), free(b->gradient), free(b->x_bar);
    free(b->dp), free(b->dx), free(b->dy), free(b->dy_bar);
    hb_net_destroy(b->net);
    hb_context_destroy(b->context);
}

/* Forward and backward in float; the gradient starts at `start` everywhere. */
static inline void run_float(bench *b, float start)
{
    hb_net_tape *tape;
    for (size_t i = 0; i < b->parameters; i++) b->gradient[i] = start;
    assert_ok(b->context,
              hb_net_tape_create(b->context, b->net, &b->jets, (size_t)b->rows + 2, &tape));
    assert_ok(b->context, hb_net_forward(tape, b->p, (size_t)b->rows, b->x, b->y));
    assert_ok(b->context, hb_net_backward(tape, b->p, b->y_bar, 1, b->gradient, b->x_bar));
    hb_net_tape_destroy(tape);
}

/* Largest difference relative to the largest reference. */
static inline void assert_close(size_t n, const float *x, const double *exact, double tolerance,
                                const char *what)
{
    double scale = 0, error = 0;
    for (size_t i = 0; i < n; i++) {
        scale = fmax(scale, fabs(exact[i]));
        error = isfinite(x[i]) ? fmax(error, fabs((double)x[i] - exact[i])) : INFINITY;
        if (isinf(error)) break;
    }
    if (!(error <= tolerance * scale))
        fail_msg("%s: error %.2e of a size of %.2e", what, error, scale);
}

#endif
