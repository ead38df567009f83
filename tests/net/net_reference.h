/* The network in plain double loops, one row at a time: the oracle of the float engine.
 *
 * Channels follow the chain rule as it stands in docs/explanation/networks.md; test_net.c checks them against
 * central differences of the value, and parameter gradients are differences of these channels, so
 * no backward pass is trusted here. */
#ifndef HB_TESTS_NET_REFERENCE_H
#define HB_TESTS_NET_REFERENCE_H

#include "net/net.h"
#include "support.h"

enum { REFERENCE_UNITS = 128, REFERENCE_CHANNELS = 16 };

typedef struct reference_channels {
    double x[REFERENCE_CHANNELS][REFERENCE_UNITS];
} reference_channels;

/* silu and its first two derivatives by the hyperbolic tangent: s = (1 + tanh(z/2))/2. */
static inline void reference_silu(double z, double f[3])
{
    const double t = tanh(z / 2), s = (1 + t) / 2, ds = (1 - t * t) / 4, dds = -t * ds;
    f[0] = z * s;
    f[1] = s + z * ds;
    f[2] = 2 * ds + z * dds;
}

static inline void reference_affine(const double *weight, const double *bias, int in, int out,
                                    int channels, const reference_channels *a,
                                    reference_channels *z)
{
    for (int c = 0; c < channels; c++)
        for (int o = 0; o < out; o++) {
            z->x[c][o] = c == 0 ? bias[o] : 0;
            for (int i = 0; i < in; i++) z->x[c][o] += weight[o * in + i] * a->x[c][i];
        }
}

/* Unit u of the channels z through SiLU, into a (which may hold what a residual layer adds). */
static inline void reference_unit(const hb_net_jets *jets, int u, int add,
                                  const reference_channels *z, reference_channels *a)
{
    double f[3], out[REFERENCE_CHANNELS];
    reference_silu(z->x[0][u], f);
    int c = 0;
    out[c++] = f[0];
    for (int k = 0; k < jets->first; k++, c++) out[c] = f[1] * z->x[c][u];
    for (int p = 0; p < jets->pairs; p++, c++)
        out[c] = f[1] * z->x[c][u] +
                 f[2] * z->x[1 + jets->pair[p][0]][u] * z->x[1 + jets->pair[p][1]][u];
    if (jets->laplacian) {
        out[c] = f[1] * z->x[c][u];
        for (int k = 1; k <= jets->laplacian; k++) out[c] += f[2] * z->x[k][u] * z->x[k][u];
        c++;
    }
    for (int i = 0; i < c; i++) a->x[i][u] = out[i] + (add ? a->x[i][u] : 0);
}

/* One row: a holds the input's channels, then the output's. parameters in the block's order. */
static inline void reference_row(const hb_net_shape *shape, const hb_net_jets *jets,
                                 const double *parameters, reference_channels *a)
{
    const int channels = hb_net_channels(jets);
    reference_channels z;
    int in = shape->inputs;
    for (int l = 0; l < shape->depth; l++) {
        const double *bias = parameters + in * shape->width;
        reference_affine(parameters, bias, in, shape->width, channels, a, &z);
        for (int u = 0; u < shape->width; u++)
            reference_unit(jets, u, shape->residual && l > 0, &z, a);
        parameters = bias + shape->width;
        in = shape->width;
    }
    reference_affine(parameters, parameters + in * shape->outputs, in, shape->outputs, channels, a,
                     &z);
    *a = z;
}

/* All rows; input (channels, rows, inputs) -> output (channels, rows, outputs). */
static inline void reference_forward(const hb_net_shape *shape, const hb_net_jets *jets,
                                     const double *parameters, int rows, const double *input,
                                     double *output)
{
    const int channels = hb_net_channels(jets), in = shape->inputs, out = shape->outputs;
    static reference_channels a;
    assert_true(channels <= REFERENCE_CHANNELS && shape->width <= REFERENCE_UNITS);
    assert_true(in <= REFERENCE_UNITS && out <= REFERENCE_UNITS);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < in; i++) a.x[c][i] = input[(c * rows + r) * in + i];
        reference_row(shape, jets, parameters, &a);
        for (int c = 0; c < channels; c++)
            for (int o = 0; o < out; o++) output[(c * rows + r) * out + o] = a.x[c][o];
    }
}

/* <cotangent, output>, a function of the parameters and of the input. */
static inline double reference_loss(const hb_net_shape *shape, const hb_net_jets *jets,
                                    const double *parameters, int rows, const double *input,
                                    const double *cotangent)
{
    static double output[65536];
    const int count = hb_net_channels(jets) * rows * shape->outputs;
    assert_true(count <= 65536);
    reference_forward(shape, jets, parameters, rows, input, output);
    double sum = 0;
    for (int i = 0; i < count; i++) sum += cotangent[i] * output[i];
    return sum;
}

#endif
