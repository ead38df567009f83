/* net/net_kernels.h: the loops over units of the network and of Adam, once per instruction set.
 *
 * Everything is unit by unit, so a row's result does not depend on its neighbours or on how wide a
 * vector is. Sums over rows go in the order of the rows. AVX2 and AVX-512 give the same bits, SSE2
 * and scalar give the same bits; between the two classes only rounding differs. */
#pragma once

#include "base/cpu.h"
#include "net/net.h"

/* One hidden layer. Every array is (rows, width) per channel, channels one after the other; rows
 * are `pitch` floats apart. */
typedef struct hb_net_layer_arrays {
    size_t rows, width, pitch;
    const hb_net_jets *jets;
    const float *bias;        // (width)
    const float *skip;        // (channels, rows, width), or NULL in a plain layer
    float *z;                 // (channels, rows, width): before SiLU; silu'(z) in channel 0
    float *second, *third;    // (rows, width): silu'' and silu''' of z, or NULL
    float *a;                 // (channels, rows, width): after SiLU
    const float *a_cotangent; // (channels, rows, width)
    float *z_cotangent, *bias_gradient; // (channels, rows, width), (width)
} hb_net_layer_arrays;

/* One layer of the reverse sweep that gives the slope, and of its backward pass; (rows, width),
 * rows `pitch` floats apart. */
typedef struct hb_net_slope_arrays {
    size_t rows, width, pitch;
    const float *first, *second;        // silu'(z), silu''(z)
    const float *above;                 // slope of the value by this layer's a
    float *below;                       // by its z: first * above
    const float *z_tangent;             // this layer's z moved along the slope's cotangent
    int skip;                           // 1: a residual layer
    float *a_tangent;                   // in: the layer's input moved (skip); out: its a moved
    float *bend;                        // second * above * z_tangent
    const float *a_cotangent;           // of the value's own backward pass
    float *z_cotangent, *bias_gradient; // (rows, width), (width)
} hb_net_slope_arrays;

/* The numbers of one step of Adam. */
typedef struct hb_adam_numbers {
    float scale;          /* of the gradient: 1, or less when it is clipped */
    float keep1, keep2;   /* beta1, beta2 */
    float add1, add2;     /* 1 - beta1, 1 - beta2 */
    float rate;           /* rate / (1 - beta1^t) */
    float root, epsilon;  /* the denominator is root sqrt(second) + epsilon */
    float average_weight; /* of the new parameters in their average */
} hb_adam_numbers;

typedef struct hb_net_kernels {
    void (*forward)(const hb_net_layer_arrays *layer);
    void (*backward)(const hb_net_layer_arrays *layer); /* adds to bias_gradient */
    void (*slope_reverse)(const hb_net_slope_arrays *layer);
    void (*slope_tangent)(const hb_net_slope_arrays *layer);
    void (*slope_backward)(const hb_net_slope_arrays *layer); /* adds to bias_gradient */
    double (*squared_norm)(size_t n, const float *x);
    void (*adam)(const hb_adam_numbers *numbers, size_t n, const float *gradient, float *parameters,
                 float *first, float *second, float *average);
    /* x becomes e^x over its sum; n a multiple of HB_SOFTMAX_GROUP, x below infinity, one above
     * minus it */
    void (*softmax)(size_t n, float *x);
    /* turned (columns, rows), its rows turned_pitch apart, of the matrix x (rows, columns) */
    void (*turn)(size_t rows, size_t columns, const float *x, size_t pitch, float *turned,
                 size_t turned_pitch);
    void (*add)(size_t n, const float *x, float *sum); /* sum += x */
} hb_net_kernels;

enum { HB_SOFTMAX_GROUP = 32 };

HB_KERNELS(hb_net_kernels, hb_net_kernels)
