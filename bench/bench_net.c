/* A training step beside its matrix products alone, on one thread, one JSON line each.
 *
 * Batch 256, width 256, three hidden layers, 18 inputs (2 of space, 16 of log tau), 2 outputs: the
 * score network of the plane under denoising score matching. "products alone" calls dnnl_sgemm with
 * the sizes and the order of a step, weights as they lie, and does nothing else; "step" is copies of the
 * weights, forward, the loss's cotangent, backward and Adam. Then the jets of the other losses, forward and backward, one output: values;
 * two directions (energy head under DSM); two of space, tau and the Laplacian (Fokker-Planck);
 * twelve values for each of 64 anchors (heat ball); and the slope by reverse mode, whose products
 * are twice those of values. `bench_net step` stops after the step. */
#include "net/net.h"
#include "net/optimiser.h"
#include "stopwatch.h"

#include <dnnl.h>
#include <omp.h>
#include <string.h>
#include <time.h>

enum {
    BATCH = 256,
    WIDTH = 256,
    DEPTH = 3,
    INPUTS = 18,
    ROUNDS = 120,
    IN_A_ROW = 10,
    ANCHORS = 64,
    NODES = 12
};

typedef struct network {
    hb_context *context;
    hb_net *net;
    hb_net_tape *tape;
    hb_net_jets jets;
    size_t rows, stacked, parameters;
    int outputs;
    float *p, *gradient, *x, *y, *y_bar;
    hb_adam_settings settings;
    hb_adam_state state;
} network;

/* At a boundary of 64 bytes, as the library's own arrays are. */
static float *floats(size_t n)
{
    float *memory = aligned_alloc(64, (n * sizeof *memory + 63) / 64 * 64);
    if (!memory) exit(1);
    return memory;
}

static float *normals(hb_context *context, uint64_t stream, size_t n)
{
    float *x = bench_array(n, sizeof *x);
    must(context, hb_random_normal_f32(context, 1, stream, 0, n, x));
    return x;
}

static network open_network(hb_context *context, int outputs, hb_net_jets jets, size_t rows)
{
    network n = {.context = context, .jets = jets, .rows = rows, .outputs = outputs};
    const hb_net_shape shape = {INPUTS, outputs, WIDTH, DEPTH, 0};
    must(context, hb_net_create(context, &shape, &n.net));
    must(context, hb_net_tape_create(context, n.net, &jets, rows, &n.tape));
    n.parameters = hb_net_parameters(n.net);
    n.stacked = (size_t)hb_net_channels(&jets) * rows;
    n.p = floats(n.parameters);
    must(context, hb_net_initialise(context, n.net, 1, 1, n.p));
    n.gradient = floats(n.parameters);
    n.x = normals(context, 2, n.stacked * INPUTS);
    n.y = normals(context, 3, n.stacked * (size_t)outputs);
    n.y_bar = normals(context, 4, n.stacked * (size_t)outputs);
    hb_adam_settings_default(&n.settings);
    n.settings.steps = 1000000;
    n.state.first = floats(n.parameters);
    n.state.second = floats(n.parameters);
    n.state.average = floats(n.parameters);
    return n;
}

static void close_network(network *n)
{
    free(n->p), free(n->gradient), free(n->x), free(n->y), free(n->y_bar);
    free(n->state.first), free(n->state.second), free(n->state.average);
    hb_net_tape_destroy(n->tape);
    hb_net_destroy(n->net);
}

static void forward_backward(network *n)
{
    must(n->context, hb_net_prepare(n->context, n->net, n->p));
    must(n->context, hb_net_forward(n->tape, n->p, n->rows, n->x, n->y));
    must(n->context, hb_net_backward(n->tape, n->p, n->y_bar, 1, n->gradient, NULL));
}

/* Targets are the array y_bar was drawn from: |y - target|^2 with its cotangent. */
static void training_step(network *n, const float *target)
{
    const size_t count = n->stacked * (size_t)n->outputs;
    must(n->context, hb_net_prepare(n->context, n->net, n->p));
    must(n->context, hb_net_forward(n->tape, n->p, n->rows, n->x, n->y));
    for (size_t i = 0; i < count; i++) n->y_bar[i] = (n->y[i] - target[i]) * (2.0f / BATCH);
    must(n->context, hb_net_backward(n->tape, n->p, n->y_bar, 0, n->gradient, NULL));
    must(n->context,
         hb_adam_step(n->context, &n->settings, n->parameters, n->gradient, n->p, &n->state, NULL));
}

/* The products of a step: x W^T of every layer, then y^T x of every layer and y W of all but the
 * first. Operands are distinct arrays, as they are in the step. */
static void products(const network *n, float *const *units)
{
    const dnnl_dim_t rows = (dnnl_dim_t)n->stacked, out = n->outputs;
    const float *w = n->p;
    for (int l = 0; l <= DEPTH; l++) {
        const dnnl_dim_t in = l ? WIDTH : INPUTS, to = l == DEPTH ? out : WIDTH;
        dnnl_sgemm('N', 'T', rows, to, in, 1, units[l], in, w, in, 0, units[l + 1], to);
        w += to * in + to;
    }
    float *g = n->gradient + n->parameters;
    for (int l = DEPTH; l >= 0; l--) {
        const dnnl_dim_t in = l ? WIDTH : INPUTS, to = l == DEPTH ? out : WIDTH;
        w -= to * in + to;
        g -= to * in + to;
        dnnl_sgemm('T', 'N', to, in, rows, 1, units[l + 1], to, units[l], in, 1, g, in);
        float *down = units[DEPTH + 2 + l % 2];
        if (l) dnnl_sgemm('N', 'N', rows, in, to, 1, units[l + 1], to, w, in, 0, down, in);
    }
}

/* ---- timing: processor time of this thread, because the machine may be shared ---- */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct workload {
    network n;
    float *units[DEPTH + 4], *target;
    hb_net_tape *slopes; /* or NULL */
    float *slope, *slope_bar;
} workload;

static void run_products(workload *w)
{
    products(&w->n, w->units);
}

static void run_step(workload *w)
{
    training_step(&w->n, w->target);
}

static void run_passes(workload *w)
{
    forward_backward(&w->n);
}

/* Value and slope by reverse mode with the backward pass of the slope. */
static void run_slope(workload *w)
{
    network *n = &w->n;
    must(n->context, hb_net_prepare(n->context, n->net, n->p));
    must(n->context, hb_net_slope(w->slopes, n->p, n->rows, n->x, n->y, w->slope));
    must(n->context, hb_net_slope_backward(w->slopes, n->p, NULL, w->slope_bar, n->gradient));
}

/* Alternating rounds of both, several of one kind in a row as steps of a training are; the best of each. */
static void best_of(int rounds, workload *w, void (*run[2])(workload *), double best[2])
{
    best[0] = best[1] = 1e300;
    for (int k = 0; k < 2 * rounds; k++) {
        const int which = k / IN_A_ROW % 2;
        const double start = processor_seconds();
        run[which](w);
        const double taken = processor_seconds() - start;
        if (taken < best[which]) best[which] = taken;
    }
}

static workload open_workload(hb_context *context, int outputs, hb_net_jets jets, size_t rows)
{
    workload w = {.n = open_network(context, outputs, jets, rows)};
    w.target = normals(context, 5, w.n.stacked * (size_t)outputs);
    for (int i = 0; i < DEPTH + 4; i++) w.units[i] = normals(context, 6, w.n.stacked * WIDTH);
    w.slope = normals(context, 7, rows * INPUTS);
    w.slope_bar = normals(context, 8, rows * INPUTS);
    if (outputs == 1) must(context, hb_net_slope_tape_create(context, w.n.net, rows, &w.slopes));
    return w;
}

static void close_workload(workload *w)
{
    for (int i = 0; i < DEPTH + 4; i++) free(w->units[i]);
    free(w->target), free(w->slope), free(w->slope_bar);
    hb_net_tape_destroy(w->slopes);
    close_network(&w->n);
}

/* One line for the products and one for what contains them. */
static void bench(hb_context *context, const char *name, int outputs, hb_net_jets jets, size_t rows,
                  void (*whole)(workload *))
{
    workload w = open_workload(context, outputs, jets, rows);
    void (*run[2])(workload *) = {run_products, whole};
    double best[2];
    best_of(ROUNDS, &w, run, best);
    char line[96];
    snprintf(line, sizeof line, "net %s, products alone", name);
    report(line, 1, (double)rows, best[0]);
    snprintf(line, sizeof line, "net %s", name);
    report(line, 1, (double)rows, best[1]);
    printf("{\"name\": \"net %s : products\", \"ratio\": %.4f}\n", name, best[1] / best[0]);
    close_workload(&w);
}

int main(int count, char **words)
{
    const int step_only = count > 1 && strcmp(words[1], "step") == 0;
    const hb_net_jets values = {0, 0, NULL, 0}, planar = {2, 0, NULL, 0}, full = {3, 0, NULL, 2};
    hb_context *context = bench_context(1);
    omp_set_num_threads(1); /* for the products alone; the library sees to its own */
    bench(context, "dsm score step", 2, values, BATCH, run_step);
    if (!step_only) {
        bench(context, "values", 1, values, BATCH, run_passes);
        bench(context, "2 first", 1, planar, BATCH, run_passes);
        bench(context, "2 first, tau, laplacian", 1, full, BATCH, run_passes);
        bench(context, "12 values for 64 anchors", 1, values, ANCHORS * NODES, run_passes);
        bench(context, "slope by reverse mode", 1, values, BATCH, run_slope);
    }
    hb_context_destroy(context);
    return 0;
}
