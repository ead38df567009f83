/* net/net.h: a multilayer perceptron with exact derivatives.
 *
 * N : R^inputs -> R^outputs, `depth` hidden layers of `width` SiLU units, optionally as residual
 * layers. Rows are carried in channels ("jets"): channel 0 holds values, channel 1 + k first
 * derivatives along direction k, then second derivatives, all as linear maps of the same rows. One
 * matrix product per layer serves all channels: rows are stacked [channel][row][unit].
 *
 * The caller says what a direction is by giving the derivative of the inputs along it; so space,
 * tau and any features of them are the caller's (see net/model_parts.h). docs/explanation/networks.md.
 *
 *     hb_net_create(ctx, &shape, &net);              p = hb_net_parameters(net) floats
 *     hb_net_initialise(ctx, net, seed, 1, p);
 *     hb_net_tape_create(ctx, net, &jets, rows, &tape);
 *     hb_net_forward(tape, p, rows, input, output);
 *     ... output_cotangent = derivative of a loss by output ...
 *     hb_net_backward(tape, p, output_cotangent, 1, gradient, NULL);
 *
 * A pass runs on the calling thread alone and its bits do not depend on how many threads the
 * process has; those of a row (outputs, cotangents of inputs) not on the other rows either.
 * Different tapes of one net may be used from different threads at once. */
#pragma once

#include <heatball/base.h>

typedef struct hb_net hb_net;

typedef struct hb_net_shape {
    int inputs, outputs; /* 1 to 65536 */
    int width;           /* units of a hidden layer, 1 to 65536 */
    int depth;           /* hidden layers, 1 to 1000 */
    int residual;        /* 1: a_{l+1} = a_l + silu(W a_l + b) from the second hidden layer on */
} hb_net_shape;

/* Which derivatives are carried: 1 + first + pairs + (laplacian ? 1 : 0) channels, in order. */
typedef struct hb_net_jets {
    int first; /* directions */
    int pairs; /* second derivatives along directions pair[i][0], pair[i][1]; they may be equal */
    const int (*pair)[2];
    int laplacian; /* > 0: one channel with the sum of second derivatives along directions
                      0 .. laplacian-1, at most `first` */
} hb_net_jets;

int hb_net_channels(const hb_net_jets *jets);

/* Parameters are one block of floats; hb_net holds its shape only. Tapes must be destroyed before
 * their net. */
hb_status hb_net_create(hb_context *context, const hb_net_shape *shape, hb_net **out);
void hb_net_destroy(hb_net *net);
const hb_net_shape *hb_net_shape_of(const hb_net *net);
size_t hb_net_parameters(const hb_net *net);
/* Names and places for model files: tensor k of hb_net_tensors: "layer0.weight", "layer0.bias", ...
 * A weight is (rows = outputs of the layer, columns = its inputs), row by row, as in PyTorch. */
typedef struct hb_net_tensor {
    char name[32];
    int rows, columns; /* columns 1 for a bias */
    size_t offset;
} hb_net_tensor;
int hb_net_tensors(const hb_net *net);
void hb_net_tensor_get(const hb_net *net, int k, hb_net_tensor *out);
/* Weights N(0, 1/fan_in), times SiLU's gain 1.6765 behind a SiLU, and a tenth of it in residual
 * layers; biases 0; the last weight scaled by last_scale. Inputs of variance 1 then give outputs of
 * variance about last_scale^2 (plain layers). */
hb_status hb_net_initialise(hb_context *context, const hb_net *net, uint64_t seed,
                            double last_scale, float *parameters);

/* Copies of the weights for faster products (net_copies.c), on the context's threads: passes with
 * these parameters use them from now on. Whoever changes parameters that were prepared calls it
 * again before the next pass; NULL: no copies any more. Without it passes are slower, and may
 * differ in last bits. Not while passes of this net run. */
hb_status hb_net_prepare(hb_context *context, hb_net *net, const float *parameters);

/* Everything that a forward pass keeps for its backward pass, for at most `rows` rows of these
 * jets. A tape belongs to one thread at a time; passes allocate nothing. */
typedef struct hb_net_tape hb_net_tape;
hb_status hb_net_tape_create(hb_context *context, const hb_net *net, const hb_net_jets *jets,
                             size_t rows, hb_net_tape **out);
void hb_net_tape_destroy(hb_net_tape *tape);

/* input[channels][rows][inputs] -> output[channels][rows][outputs]. In the input, channel 1 + k is
 * the derivative of the inputs along direction k, a pair's channel their own second derivative and
 * the Laplacian's channel their own Laplacian (both 0 for inputs that are linear in the
 * directions). The input is copied. Always one thread: the caller spreads micro-batches over
 * threads, in a number that does not depend on them. */
hb_status hb_net_forward(hb_net_tape *tape, const float *parameters, size_t rows,
                         const float *input, float *output);
/* From cotangents of the outputs (same shape) to gradient[parameters], added when `add` is 1;
 * input_cotangent (same shape as input, overwritten) may be NULL. Uses the last forward pass on
 * this tape, which must have had the same parameters, and may be called again for other
 * cotangents. */
hb_status hb_net_backward(hb_net_tape *tape, const float *parameters, const float *output_cotangent,
                          int add, float *gradient, float *input_cotangent);

/* Large dimensions: value[rows] of a net with one output, and its gradient by the inputs,
 * slope[rows][inputs], by reverse mode; then from cotangents of both the gradient by the parameters
 * (reverse over reverse), added to gradient. value_cotangent NULL means 0. The tape is made with
 * hb_net_slope_tape_create. */
hb_status hb_net_slope_tape_create(hb_context *context, const hb_net *net, size_t rows,
                                   hb_net_tape **out);
hb_status hb_net_slope(hb_net_tape *tape, const float *parameters, size_t rows, const float *input,
                       float *value, float *slope);
hb_status hb_net_slope_backward(hb_net_tape *tape, const float *parameters,
                                const float *value_cotangent, const float *slope_cotangent,
                                float *gradient);
