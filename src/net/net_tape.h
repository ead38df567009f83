/* net/net_tape.h: what the files of this room share: places in the parameter block, the arrays of a
 * tape, and the matrix product. */
#pragma once

#include "base/memory.h"
#include "net/net_kernels.h"

struct hb_net {
    hb_context *context;
    hb_net_shape shape;
    const hb_net_kernels *kernels;
    const float *prepared; /* the parameters that `copies` are of; NULL: none (net_copies.c) */
    float *copies;
};

/* Layer l of 0 .. depth: z = W a + b; W (out, in) is at `weight` of the block, b at `bias`. For the
 * products: rows of x (n, in) and y (n, out) are x_pitch, y_pitch floats apart (0: in, out); copies
 * of W, or NULL: `turned` (in, out) with rows turned_pitch apart, `spaced` (out, in) with rows
 * spaced_pitch apart. */
typedef struct hb_net_layer {
    size_t in, out, weight, bias;
    size_t x_pitch, y_pitch, turned_pitch, spaced_pitch;
    const float *turned, *spaced;
} hb_net_layer;

hb_net_layer hb_net_layer_of(const hb_net *net, int l);
/* Where rows of n floats are fast: n, or more if such rows would meet in a few lines of the
 * cache. */
size_t hb_net_pitch(size_t n);
/* The places of the copies of layer l, when they are of these parameters. */
void hb_net_copies_of(const hb_net *net, int l, const float *parameters, hb_net_layer *layer);

/* What the processor's products want, by the instructions that oneDNN uses: forward products with W
 * turned, and backward ones with W at a good pitch or turned; all 0 below AVX2. */
typedef struct hb_net_wishes {
    int turned, spaced;
} hb_net_wishes;
hb_net_wishes hb_net_product_wishes(void);

/* Arrays of a hidden layer follow each other, `layer_stride` floats apart in all channels and
 * `unit_stride` in one. Rows of the channels are stacked without gaps for the rows in use, `pitch`
 * floats apart, those of the input input_pitch. */
struct hb_net_tape {
    hb_context *context;
    const hb_net *net;
    hb_net_jets jets; /* its pairs are a copy */
    int channels, slope;
    size_t capacity, rows; /* rows that fit, and of the last forward pass */
    size_t layer_stride, unit_stride, pitch, input_pitch;
    hb_workspace work;
    float *input;                     // (channels, rows, inputs)
    float *z, *a;                     // (depth, channels, rows, width)
    float *second, *third;            // (depth, rows, width), or NULL
    float *a_cotangent, *z_cotangent; // (channels, rows, width)
    float *above, *below, *bend;      // (depth, rows, width), of a slope tape
};

/* rows of the next forward pass, checked. */
hb_status hb_net_tape_start(hb_net_tape *tape, int slope, size_t rows);
/* The tape must hold a forward pass of this kind. */
hb_status hb_net_tape_finished(const hb_net_tape *tape, int slope);

/* The hidden layers from tape->input on: z, a and SiLU's derivatives. */
hb_status hb_net_hidden_forward(hb_net_tape *tape, const float *parameters);
/* Layer l for products of this tape: with its pitches, and its copies if they are of these
 * parameters. */
hb_net_layer hb_net_tape_layer(const hb_net_tape *tape, int l, const float *parameters);
/* The caller's rows (n, inputs) become tape->input. */
void hb_net_tape_read(hb_net_tape *tape, size_t n, const float *input);
/* What hidden layer l reads, its `in` floats a row: the tape's input, or the layer below. */
const float *hb_net_layer_input(const hb_net_tape *tape, int l);
int hb_net_layer_skips(const hb_net *net, int l); /* 1: hidden layer l adds its input */

/* The three products with a layer's weight W (out, in), for n rows:
 *     to_outputs   y (n, out) = x W^T
 *     to_inputs    x (n, in)  = y W, added to x when `add` is 1
 *     to_weights   W (out, in) = y^T x, added to W when `add` is 1
 * Each runs on the calling thread alone: its bits do not depend on the threads there are. A row of
 * the first two is alone: its bits do not depend on the other rows, on their number or on its
 * place. The third sums 384 rows at a time, in order: n rows at once are the same as the first 384
 * k and then the others, added. A little memory is taken and given back when n is no multiple of
 * 16. */
hb_status hb_net_to_outputs(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *weight, const float *x, float *y);
hb_status hb_net_to_inputs(hb_context *context, const hb_net_layer *layer, size_t n,
                           const float *weight, const float *y, int add, float *x);
hb_status hb_net_to_weights(hb_context *context, const hb_net_layer *layer, size_t n,
                            const float *y, const float *x, int add, float *weight);
