/* The gradient of a scalar network by its inputs, by reverse mode, and its backward pass.
 *
 * Slope: g_D = w (the last weight, in every row); downwards h_l = f'(z_l) g_{l+1},
 * g_l = h_l W_l (+ g_{l+1} in a residual layer); slope = g_0. One backward sweep whatever the
 * number of inputs, where jets would carry one channel for each.
 *
 * Its parameter gradient, for a cotangent S of the slope: <S, slope> is the derivative of the value
 * as the input moves along S. So a tangent t_0 = S goes up, y_l = t_l W_l^T,
 * t_{l+1} = f' y_l (+ t_l), with dW_l += h_l^T t_l and dw += sum of t_D's rows; and z_l has the
 * extra cotangent f''(z_l) g_{l+1} y_l, which joins the ordinary backward pass of the value's
 * cotangent. In code: g is `above`, h `below`, t a_tangent, y z_tangent, the extra cotangent
 * `bend`. docs/explanation/networks.md. A number to reproduce: N(x) = silu(x) has slope 0.82339 at 0.7. */
#include "net/net_tape.h"

#include <string.h>

static hb_net_slope_arrays slope_arrays(const hb_net_tape *tape, int l)
{
    const size_t unit = (size_t)l * tape->unit_stride;
    return (hb_net_slope_arrays){
        .rows = tape->rows,
        .width = (size_t)tape->net->shape.width,
        .pitch = tape->pitch,
        .first = tape->z + unit,
        .second = tape->second + unit,
        .above = tape->above + unit,
        .below = tape->below + unit,
        .z_tangent = tape->z_cotangent,
        .skip = hb_net_layer_skips(tape->net, l),
        .a_tangent = tape->a_cotangent,
        .bend = tape->bend + unit,
        .a_cotangent = tape->a_cotangent,
        .z_cotangent = tape->z_cotangent,
    };
}

static hb_status slope_value_forward(hb_net_tape *tape, const float *parameters, float *value)
{
    const hb_net *net = tape->net;
    const hb_net_layer last = hb_net_tape_layer(tape, net->shape.depth, parameters);
    HB_TRY(hb_net_hidden_forward(tape, parameters));
    HB_TRY(hb_net_to_outputs(tape->context, &last, tape->rows, parameters + last.weight,
                             hb_net_layer_input(tape, net->shape.depth), value));
    for (size_t r = 0; r < tape->rows; r++) value[r] += parameters[last.bias];
    return HB_OK;
}

hb_status hb_net_slope(hb_net_tape *tape, const float *parameters, size_t rows, const float *input,
                       float *value, float *slope)
{
    HB_TRY(hb_net_tape_start(tape, 1, rows));
    const hb_net *net = tape->net;
    const int depth = net->shape.depth;
    const size_t width = (size_t)net->shape.width, pitch = tape->pitch;
    hb_net_tape_read(tape, rows, input);
    HB_TRY(slope_value_forward(tape, parameters, value));
    const float *w = parameters + hb_net_layer_of(net, depth).weight;
    float *top = tape->above + (size_t)(depth - 1) * tape->unit_stride;
    for (size_t r = 0; r < rows; r++) memcpy(top + r * pitch, w, width * sizeof *w);
    for (int l = depth - 1; l >= 0; l--) {
        hb_net_layer layer = hb_net_tape_layer(tape, l, parameters);
        const hb_net_slope_arrays arrays = slope_arrays(tape, l);
        if (l == 0) layer.x_pitch = 0; /* of the caller's array */
        net->kernels->slope_reverse(&arrays);
        float *down = l > 0 ? tape->above + (size_t)(l - 1) * tape->unit_stride : slope;
        for (size_t r = 0; arrays.skip && r < rows; r++)
            memcpy(down + r * pitch, arrays.above + r * pitch, width * sizeof *down);
        HB_TRY(hb_net_to_inputs(tape->context, &layer, rows, parameters + layer.weight,
                                arrays.below, arrays.skip, down));
    }
    return HB_OK;
}

/* The tangent along the slope's cotangent, upwards: `bend` of every layer, and the part of the
 * gradient that comes from the reverse sweep's own products. */
static hb_status slope_tangent_forward(hb_net_tape *tape, const float *parameters,
                                       const float *slope_cotangent, float *gradient)
{
    const hb_net *net = tape->net;
    const size_t rows = tape->rows, width = (size_t)net->shape.width;
    for (int l = 0; l < net->shape.depth; l++) {
        hb_net_layer layer = hb_net_tape_layer(tape, l, parameters);
        const hb_net_slope_arrays arrays = slope_arrays(tape, l);
        if (l == 0) layer.x_pitch = 0; /* of the caller's array */
        const float *moved = l == 0 ? slope_cotangent : tape->a_cotangent;
        HB_TRY(hb_net_to_outputs(tape->context, &layer, rows, parameters + layer.weight, moved,
                                 tape->z_cotangent));
        HB_TRY(hb_net_to_weights(tape->context, &layer, rows, arrays.below, moved, 1,
                                 gradient + layer.weight));
        net->kernels->slope_tangent(&arrays);
    }
    float *last = gradient + hb_net_layer_of(net, net->shape.depth).weight;
    for (size_t r = 0; r < rows; r++)
        for (size_t j = 0; j < width; j++) last[j] += tape->a_cotangent[r * tape->pitch + j];
    return HB_OK;
}

/* The output layer under the value's cotangent, as for jets; without one its cotangent is 0. */
static hb_status slope_value_backward(hb_net_tape *tape, const float *parameters,
                                      const float *value_cotangent, float *gradient)
{
    const hb_net *net = tape->net;
    const size_t rows = tape->rows;
    const hb_net_layer last = hb_net_tape_layer(tape, net->shape.depth, parameters);
    if (!value_cotangent) {
        memset(tape->a_cotangent, 0, rows * tape->pitch * sizeof *tape->a_cotangent);
        return HB_OK;
    }
    for (size_t r = 0; r < rows; r++) gradient[last.bias] += value_cotangent[r];
    HB_TRY(hb_net_to_weights(tape->context, &last, rows, value_cotangent,
                             hb_net_layer_input(tape, net->shape.depth), 1,
                             gradient + last.weight));
    return hb_net_to_inputs(tape->context, &last, rows, parameters + last.weight, value_cotangent,
                            0, tape->a_cotangent);
}

hb_status hb_net_slope_backward(hb_net_tape *tape, const float *parameters,
                                const float *value_cotangent, const float *slope_cotangent,
                                float *gradient)
{
    HB_TRY(hb_net_tape_finished(tape, 1));
    const hb_net *net = tape->net;
    HB_TRY(slope_tangent_forward(tape, parameters, slope_cotangent, gradient));
    HB_TRY(slope_value_backward(tape, parameters, value_cotangent, gradient));
    for (int l = net->shape.depth - 1; l >= 0; l--) {
        const hb_net_layer layer = hb_net_tape_layer(tape, l, parameters);
        hb_net_slope_arrays arrays = slope_arrays(tape, l);
        arrays.bias_gradient = gradient + layer.bias;
        net->kernels->slope_backward(&arrays);
        HB_TRY(hb_net_to_weights(tape->context, &layer, tape->rows, tape->z_cotangent,
                                 hb_net_layer_input(tape, l), 1, gradient + layer.weight));
        if (l > 0)
            HB_TRY(hb_net_to_inputs(tape->context, &layer, tape->rows, parameters + layer.weight,
                                    tape->z_cotangent, arrays.skip, tape->a_cotangent));
    }
    return HB_OK;
}
