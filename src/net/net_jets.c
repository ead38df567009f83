/* Forward and backward passes of all channels.
 *
 * A channel is a derivative of every unit: the value, z_k along direction k, z_ij along two, z_L
 * the Laplacian. An affine layer maps each channel by the same W (the bias joins the value only),
 * so the rows of all channels are stacked into one product. SiLU mixes channels unit by unit,
 *     a = f(z),  a_k = f' z_k,  a_ij = f'' z_i z_j + f' z_ij,  a_L = f'' sum_k z_k^2 + f' z_L,
 * and net_kernels.c has these and their transposes. Backward, with Z the cotangent of z, over all
 * stacked rows:  dW += Z^T a,  db += sum of Z's value channel,  A = Z W (+ A of a residual layer).
 * docs/explanation/networks.md. A number to reproduce: for one unit N(x) = silu(x), the channels of x = 0.7
 * with direction 1 are 0.46773, 0.82339 and pair (0, 0) 0.39122 (tests/net/test_net.c). */
#include "net/net_tape.h"

#include <string.h>

int hb_net_layer_skips(const hb_net *net, int l)
{
    return net->shape.residual && l > 0;
}

const float *hb_net_layer_input(const hb_net_tape *tape, int l)
{
    return l == 0 ? tape->input : tape->a + (size_t)(l - 1) * tape->layer_stride;
}

/* The arrays of hidden layer l for the kernels. */
static hb_net_layer_arrays jets_arrays(const hb_net_tape *tape, int l, const float *parameters)
{
    const hb_net *net = tape->net;
    const size_t layer = (size_t)l * tape->layer_stride, unit = (size_t)l * tape->unit_stride;
    return (hb_net_layer_arrays){
        .rows = tape->rows,
        .width = (size_t)net->shape.width,
        .pitch = tape->pitch,
        .jets = &tape->jets,
        .bias = parameters + hb_net_layer_of(net, l).bias,
        .skip = hb_net_layer_skips(net, l) ? hb_net_layer_input(tape, l) : NULL,
        .z = tape->z + layer,
        .second = tape->second ? tape->second + unit : NULL,
        .third = tape->third ? tape->third + unit : NULL,
        .a = tape->a + layer,
        .a_cotangent = tape->a_cotangent,
        .z_cotangent = tape->z_cotangent,
    };
}

hb_status hb_net_hidden_forward(hb_net_tape *tape, const float *parameters)
{
    const hb_net *net = tape->net;
    const size_t n = (size_t)tape->channels * tape->rows;
    for (int l = 0; l < net->shape.depth; l++) {
        const hb_net_layer layer = hb_net_tape_layer(tape, l, parameters);
        const hb_net_layer_arrays arrays = jets_arrays(tape, l, parameters);
        HB_TRY(hb_net_to_outputs(tape->context, &layer, n, parameters + layer.weight,
                                 hb_net_layer_input(tape, l), arrays.z));
        net->kernels->forward(&arrays);
    }
    return HB_OK;
}

hb_status hb_net_forward(hb_net_tape *tape, const float *parameters, size_t rows,
                         const float *input, float *output)
{
    HB_TRY(hb_net_tape_start(tape, 0, rows));
    const hb_net *net = tape->net;
    const size_t n = (size_t)tape->channels * rows;
    hb_net_tape_read(tape, n, input);
    HB_TRY(hb_net_hidden_forward(tape, parameters));
    const hb_net_layer last = hb_net_tape_layer(tape, net->shape.depth, parameters);
    HB_TRY(hb_net_to_outputs(tape->context, &last, n, parameters + last.weight,
                             hb_net_layer_input(tape, net->shape.depth), output));
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < last.out; j++) output[r * last.out + j] += parameters[last.bias + j];
    return HB_OK;
}

/* The output layer: gradient of its weight and bias, and the cotangent of the last hidden a. */
static hb_status jets_output_backward(hb_net_tape *tape, const float *parameters,
                                      const float *output_cotangent, int add, float *gradient)
{
    const hb_net *net = tape->net;
    const size_t n = (size_t)tape->channels * tape->rows;
    const hb_net_layer last = hb_net_tape_layer(tape, net->shape.depth, parameters);
    if (!add) memset(gradient + last.bias, 0, last.out * sizeof *gradient);
    for (size_t r = 0; r < tape->rows; r++)
        for (size_t j = 0; j < last.out; j++)
            gradient[last.bias + j] += output_cotangent[r * last.out + j];
    HB_TRY(hb_net_to_weights(tape->context, &last, n, output_cotangent,
                             hb_net_layer_input(tape, net->shape.depth), add,
                             gradient + last.weight));
    return hb_net_to_inputs(tape->context, &last, n, parameters + last.weight, output_cotangent, 0,
                            tape->a_cotangent);
}

hb_status hb_net_backward(hb_net_tape *tape, const float *parameters, const float *output_cotangent,
                          int add, float *gradient, float *input_cotangent)
{
    HB_TRY(hb_net_tape_finished(tape, 0));
    const hb_net *net = tape->net;
    const size_t n = (size_t)tape->channels * tape->rows;
    HB_TRY(jets_output_backward(tape, parameters, output_cotangent, add, gradient));
    for (int l = net->shape.depth - 1; l >= 0; l--) {
        hb_net_layer layer = hb_net_tape_layer(tape, l, parameters);
        hb_net_layer_arrays arrays = jets_arrays(tape, l, parameters);
        arrays.bias_gradient = gradient + layer.bias;
        if (!add) memset(gradient + layer.bias, 0, layer.out * sizeof *gradient);
        net->kernels->backward(&arrays);
        HB_TRY(hb_net_to_weights(tape->context, &layer, n, tape->z_cotangent,
                                 hb_net_layer_input(tape, l), add, gradient + layer.weight));
        float *below = l > 0 ? tape->a_cotangent : input_cotangent;
        if (l == 0) layer.x_pitch = 0; /* of the caller's array */
        if (below)
            HB_TRY(hb_net_to_inputs(tape->context, &layer, n, parameters + layer.weight,
                                    tape->z_cotangent, hb_net_layer_skips(net, l), below));
    }
    return HB_OK;
}
