/* The network and Adam for tests/python/test_net_torch.py: raw floats from standard input, raw
 * floats to standard output.
 *
 *   net_driver jets INPUTS OUTPUTS WIDTH DEPTH RESIDUAL ROWS FIRST LAPLACIAN [I J]...
 *       in:  parameters, input (channels, rows, inputs), output's cotangent (same channels)
 *       out: output, gradient, input's cotangent
 *   net_driver slope INPUTS 1 WIDTH DEPTH RESIDUAL ROWS
 *       in:  parameters, input (rows, inputs), cotangents of value (rows) and slope (rows, inputs)
 *       out: value, slope, gradient
 *   net_driver adam N STEPS RATE
 *       in:  parameters (n), gradients (steps, n)
 *       out: parameters after each step (steps, n); no clipping, no warm-up, no cosine */
#include "net/net.h"
#include "net/optimiser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 16 };

static float *take(size_t n, int read)
{
    float *x = calloc(n, sizeof *x);
    if (!x || (read && fread(x, sizeof *x, n, stdin) != n)) exit(3);
    return x;
}

static void give(size_t n, float *x)
{
    if (fwrite(x, sizeof *x, n, stdout) != n) exit(3);
    free(x);
}

static void must(hb_context *context, hb_status status)
{
    if (status == HB_OK) return;
    fprintf(stderr, "%s\n", hb_context_message(context));
    exit(1);
}

static void run_jets(hb_context *context, hb_net *net, size_t rows, const hb_net_jets *jets)
{
    const hb_net_shape *shape = hb_net_shape_of(net);
    const size_t stacked = (size_t)hb_net_channels(jets) * rows, n = hb_net_parameters(net);
    const size_t n_in = stacked * (size_t)shape->inputs, n_out = stacked * (size_t)shape->outputs;
    float *p = take(n, 1), *x = take(n_in, 1), *y_bar = take(n_out, 1);
    float *y = take(n_out, 0), *gradient = take(n, 0), *x_bar = take(n_in, 0);
    hb_net_tape *tape;
    must(context, hb_net_tape_create(context, net, jets, rows, &tape));
    must(context, hb_net_forward(tape, p, rows, x, y));
    must(context, hb_net_backward(tape, p, y_bar, 1, gradient, x_bar));
    give(n_out, y), give(n, gradient), give(n_in, x_bar);
    hb_net_tape_destroy(tape);
    free(p), free(x), free(y_bar);
}

static void run_slope(hb_context *context, hb_net *net, size_t rows)
{
    const size_t n = hb_net_parameters(net), n_in = rows * (size_t)hb_net_shape_of(net)->inputs;
    float *p = take(n, 1), *x = take(n_in, 1), *value_bar = take(rows, 1), *bar = take(n_in, 1);
    float *value = take(rows, 0), *slope = take(n_in, 0), *gradient = take(n, 0);
    hb_net_tape *tape;
    must(context, hb_net_slope_tape_create(context, net, rows, &tape));
    must(context, hb_net_slope(tape, p, rows, x, value, slope));
    must(context, hb_net_slope_backward(tape, p, value_bar, bar, gradient));
    give(rows, value), give(n_in, slope), give(n, gradient);
    hb_net_tape_destroy(tape);
    free(p), free(x), free(value_bar), free(bar);
}

static void run_adam(hb_context *context, size_t n, size_t steps, double rate)
{
    hb_adam_settings settings;
    hb_adam_settings_default(&settings);
    settings.rate = rate;
    settings.warmup = 0;
    settings.clip = 0;
    float *p = take(n, 1), *gradients = take(n * steps, 1), *path = take(n * steps, 0);
    hb_adam_state state = {0, take(n, 0), take(n, 0), take(n, 0)};
    for (size_t t = 0; t < steps; t++) {
        must(context, hb_adam_step(context, &settings, n, gradients + t * n, p, &state, NULL));
        memcpy(path + t * n, p, n * sizeof *p);
    }
    give(n * steps, path);
    free(p), free(gradients), free(state.first), free(state.second), free(state.average);
}

static void run_network(hb_context *context, int count, char **words)
{
    const hb_net_shape shape = {atoi(words[2]), atoi(words[3]), atoi(words[4]), atoi(words[5]),
                                atoi(words[6])};
    const size_t rows = (size_t)atoi(words[7]);
    hb_net *net;
    must(context, hb_net_create(context, &shape, &net));
    if (strcmp(words[1], "slope") == 0) {
        run_slope(context, net, rows);
    } else {
        int pair[MOST_PAIRS][2];
        hb_net_jets jets = {atoi(words[8]), 0, (const int(*)[2])pair, atoi(words[9])};
        for (int i = 10; i + 1 < count && jets.pairs < MOST_PAIRS; i += 2, jets.pairs++) {
            pair[jets.pairs][0] = atoi(words[i]);
            pair[jets.pairs][1] = atoi(words[i + 1]);
        }
        run_jets(context, net, rows, &jets);
    }
    hb_net_destroy(net);
}

int main(int count, char **words)
{
    hb_context *context;
    if (hb_context_create(NULL, &context) != HB_OK) return 1;
    if (count == 5 && strcmp(words[1], "adam") == 0)
        run_adam(context, (size_t)atoi(words[2]), (size_t)atoi(words[3]), atof(words[4]));
    else if ((count == 8 && strcmp(words[1], "slope") == 0) ||
             (count >= 10 && strcmp(words[1], "jets") == 0))
        run_network(context, count, words);
    else
        return 2;
    hb_context_destroy(context);
    return 0;
}
