/* The loops over units: SiLU with its derivatives, the jets through it, and Adam. Plain C that the
 * compiler turns into vectors; compiled once per instruction set.
 *
 * With s = 1/(1 + e^-z) and q = 1 - s, so that s' = s q,
 *     silu    = z s                      silu''  = s q (2 + z (q - s))
 *     silu'   = s + z s q                silu''' = s q (3 (q - s) + z (1 - 6 s q)).
 * s and q both come from e = exp(-|z|) <= 1, the larger as 1/(1 + e), the smaller as e/(1 + e):
 * nothing overflows and neither loses its digits by a subtraction; beyond |z| = 88 e is 0, the
 * limits of all four. Only s itself asks which is which: s q is their product, and z (q - s) is
 * -|z| times their difference. docs/explanation/networks.md has the formulas of
 * the channels. A number to reproduce: silu'''(0.7) = -0.2749950664. */
#include "net/net_kernels.h"
#include "random/vector.h"

/* a b + c: one rounding where the instruction set has it, as everywhere in this library. */
#if defined(__FMA__)
#define MULTIPLY_ADD(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif

/* e^x for x <= 0: x = k ln 2 + r with an integer k, |r| <= ln 2/2, and for e^r the polynomial of
 * degree 6 whose largest relative error is least, 4e-9, among those that begin with 1 + r. Adding
 * 1.5 2^23 rounds to an integer and leaves it in the low bits, from where it moves into the
 * exponent. From x = -87.7 down k is -127: the exponent's bits, and so the result, are 0. */
INLINE float decay(float x)
{
    const float round = 12582912.0f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    const float bounded = -88.0f > x ? -88.0f : x;
    const float shifted = MULTIPLY_ADD(bounded, 1.44269504f, round);
    const float k = shifted - round;
    const float r = MULTIPLY_ADD(k, -ln2_low, MULTIPLY_ADD(k, -ln2_high, bounded));
    float p = 1.38145988e-3f;
    p = MULTIPLY_ADD(p, r, 8.36871658e-3f);
    p = MULTIPLY_ADD(p, r, 4.16683890e-2f);
    p = MULTIPLY_ADD(p, r, 0.166665211f);
    p = MULTIPLY_ADD(p, r, 0.499999940f);
    p = MULTIPLY_ADD(p, r, 1.0f);
    p = MULTIPLY_ADD(p, r, 1.0f);
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* The larger and the smaller of s and q = 1 - s at z. */
INLINE void sigmoid(float z, float *large, float *small)
{
    const float e = decay(-__builtin_fabsf(z));
    *large = 1.0f / (1.0f + e);
    *small = e * *large;
}

INLINE float silu_first(float z, float s, float large, float small)
{
    return MULTIPLY_ADD(z * small, large, s);
}

INLINE float silu_second(float z, float large, float small)
{
    return large * small * MULTIPLY_ADD(__builtin_fabsf(z), small - large, 2.0f);
}

INLINE float silu_third(float z, float large, float small)
{
    const float sq = large * small;
    return sq * MULTIPLY_ADD(z, MULTIPLY_ADD(-6.0f, sq, 1.0f),
                             __builtin_copysignf(3.0f * (large - small), -z));
}

/* A row of channel 0: z becomes silu'(z); of more derivatives also silu'' and the third. */
INLINE void value_row(size_t width, int derivatives, const float *restrict bias, float *restrict z,
                      float *restrict second, float *restrict third, float *restrict a)
{
    for (size_t j = 0; j < width; j++) {
        const float x = z[j] + bias[j];
        float large, small;
        sigmoid(x, &large, &small);
        const float s = x < 0 ? small : large;
        a[j] = x * s;
        z[j] = silu_first(x, s, large, small);
        if (derivatives > 1) second[j] = silu_second(x, large, small);
        if (derivatives > 2) third[j] = silu_third(x, large, small);
    }
}

/* ---- loops that the channels share; n units ---- */

INLINE void product(size_t n, const float *restrict x, const float *restrict y, float *restrict out)
{
    for (size_t j = 0; j < n; j++) out[j] = x[j] * y[j];
}

static void add_to(size_t n, const float *restrict x, float *restrict out)
{
    for (size_t j = 0; j < n; j++) out[j] += x[j];
}

/* out += weight x y w */
INLINE void add_product(size_t n, float weight, const float *restrict x, const float *restrict y,
                        const float *restrict w, float *restrict out)
{
    for (size_t j = 0; j < n; j++) out[j] = MULTIPLY_ADD(weight * x[j] * y[j], w[j], out[j]);
}

/* out += x y w u */
INLINE void add_product_4(size_t n, const float *restrict x, const float *restrict y,
                          const float *restrict w, const float *restrict u, float *restrict out)
{
    for (size_t j = 0; j < n; j++) out[j] = MULTIPLY_ADD(x[j] * y[j] * w[j], u[j], out[j]);
}

/* The start of row r of channel c. */
#define ROW(base, c) ((base) + ((size_t)(c)*layer->rows + r) * layer->pitch)

/* ---- forward ---- */

static void forward_value(const hb_net_layer_arrays *layer, size_t r)
{
    const size_t n = layer->width;
    float *z = ROW(layer->z, 0), *a = ROW(layer->a, 0);
    if (layer->third)
        value_row(n, 3, layer->bias, z, ROW(layer->second, 0), ROW(layer->third, 0), a);
    else if (layer->second)
        value_row(n, 2, layer->bias, z, ROW(layer->second, 0), NULL, a);
    else
        value_row(n, 1, layer->bias, z, NULL, NULL, a);
}

/* a_ij = silu'' z_i z_j + silu' z_ij; the Laplacian's is the sum over i = j. */
static void forward_second(const hb_net_layer_arrays *layer, size_t r)
{
    const size_t n = layer->width;
    const hb_net_jets *jets = layer->jets;
    const float *first = ROW(layer->z, 0), *second = ROW(layer->second, 0);
    int c = 1 + jets->first;
    for (int p = 0; p < jets->pairs; p++, c++) {
        const int i = 1 + jets->pair[p][0], j = 1 + jets->pair[p][1];
        product(n, first, ROW(layer->z, c), ROW(layer->a, c));
        add_product(n, 1, ROW(layer->z, i), ROW(layer->z, j), second, ROW(layer->a, c));
    }
    if (!jets->laplacian) return;
    product(n, first, ROW(layer->z, c), ROW(layer->a, c));
    for (int k = 1; k <= jets->laplacian; k++)
        add_product(n, 1, ROW(layer->z, k), ROW(layer->z, k), second, ROW(layer->a, c));
}

static void forward(const hb_net_layer_arrays *layer)
{
    const size_t n = layer->width;
    const hb_net_jets *jets = layer->jets;
    const int channels = hb_net_channels(jets);
    for (size_t r = 0; r < layer->rows; r++) {
        forward_value(layer, r);
        for (int c = 1; c <= jets->first; c++)
            product(n, ROW(layer->z, 0), ROW(layer->z, c), ROW(layer->a, c));
        if (channels > 1 + jets->first) forward_second(layer, r);
        if (!layer->skip) continue;
        for (int c = 0; c < channels; c++) add_to(n, ROW(layer->skip, c), ROW(layer->a, c));
    }
}

/* ---- backward; A is a's cotangent, Z that of z ---- */

/* Z = silu' A and the bias's gradient, when there is nothing but values. */
static void backward_value_row(size_t n, const float *restrict first, const float *restrict a_bar,
                               float *restrict z_bar, float *restrict bias)
{
    for (size_t j = 0; j < n; j++) {
        const float g = first[j] * a_bar[j];
        z_bar[j] = g;
        bias[j] += g;
    }
}

/* Z_0 += silu'' z_k A_k,  Z_k = silu' A_k */
static void backward_first_row(size_t n, const float *restrict first, const float *restrict second,
                               const float *restrict z, const float *restrict a_bar,
                               float *restrict z_bar, float *restrict value_bar)
{
    for (size_t j = 0; j < n; j++) {
        z_bar[j] = first[j] * a_bar[j];
        value_bar[j] = MULTIPLY_ADD(second[j] * z[j], a_bar[j], value_bar[j]);
    }
}

/* a_ij: Z_i += silu'' z_j A_ij, Z_j += silu'' z_i A_ij, Z_0 += silu''' z_i z_j A_ij. */
static void backward_pair(const hb_net_layer_arrays *layer, size_t r, int i, int j, int c)
{
    const size_t n = layer->width;
    const float *second = ROW(layer->second, 0), *third = ROW(layer->third, 0);
    const float *zi = ROW(layer->z, i), *zj = ROW(layer->z, j);
    const float *a_bar = ROW(layer->a_cotangent, c);
    const float times = i == j ? 2 : 1;
    add_product_4(n, zi, zj, third, a_bar, ROW(layer->z_cotangent, 0));
    add_product(n, times, second, zj, a_bar, ROW(layer->z_cotangent, i));
    if (i != j) add_product(n, 1, second, zi, a_bar, ROW(layer->z_cotangent, j));
}

static void backward_second(const hb_net_layer_arrays *layer, size_t r)
{
    const size_t n = layer->width;
    const hb_net_jets *jets = layer->jets;
    const int channels = hb_net_channels(jets);
    for (int c = 1 + jets->first; c < channels; c++) {
        backward_first_row(n, ROW(layer->z, 0), ROW(layer->second, 0), ROW(layer->z, c),
                           ROW(layer->a_cotangent, c), ROW(layer->z_cotangent, c),
                           ROW(layer->z_cotangent, 0));
        const int p = c - 1 - jets->first;
        if (p < jets->pairs) {
            backward_pair(layer, r, 1 + jets->pair[p][0], 1 + jets->pair[p][1], c);
            continue;
        }
        for (int k = 1; k <= jets->laplacian; k++) backward_pair(layer, r, k, k, c);
    }
}

static void backward(const hb_net_layer_arrays *layer)
{
    const size_t n = layer->width;
    const hb_net_jets *jets = layer->jets;
    const int channels = hb_net_channels(jets);
    for (size_t r = 0; r < layer->rows; r++) {
        const float *first = ROW(layer->z, 0);
        if (channels == 1) {
            backward_value_row(n, first, ROW(layer->a_cotangent, 0), ROW(layer->z_cotangent, 0),
                               layer->bias_gradient);
            continue;
        }
        product(n, first, ROW(layer->a_cotangent, 0), ROW(layer->z_cotangent, 0));
        for (int c = 1; c <= jets->first; c++)
            backward_first_row(n, first, ROW(layer->second, 0), ROW(layer->z, c),
                               ROW(layer->a_cotangent, c), ROW(layer->z_cotangent, c),
                               ROW(layer->z_cotangent, 0));
        if (channels > 1 + jets->first) backward_second(layer, r);
        add_to(n, ROW(layer->z_cotangent, 0), layer->bias_gradient);
    }
}

/* ---- the slope by reverse mode ---- */

static void slope_reverse(const hb_net_slope_arrays *layer)
{
    for (size_t r = 0; r < layer->rows; r++)
        product(layer->width, ROW(layer->first, 0), ROW(layer->above, 0), ROW(layer->below, 0));
}

static void bend_row(size_t n, const float *restrict second, const float *restrict above,
                     const float *restrict moved, float *restrict bend)
{
    for (size_t j = 0; j < n; j++) bend[j] = second[j] * above[j] * moved[j];
}

static void tangent_row(size_t n, const float *restrict first, const float *restrict moved,
                        float *restrict tangent)
{
    for (size_t j = 0; j < n; j++) tangent[j] = MULTIPLY_ADD(first[j], moved[j], tangent[j]);
}

/* The input's tangent is in a_tangent when a residual layer hands it on. */
static void slope_tangent(const hb_net_slope_arrays *layer)
{
    const size_t n = layer->width;
    for (size_t r = 0; r < layer->rows; r++) {
        const float *first = ROW(layer->first, 0), *moved = ROW(layer->z_tangent, 0);
        bend_row(n, ROW(layer->second, 0), ROW(layer->above, 0), moved, ROW(layer->bend, 0));
        if (layer->skip)
            tangent_row(n, first, moved, ROW(layer->a_tangent, 0));
        else
            product(n, first, moved, ROW(layer->a_tangent, 0));
    }
}

static void slope_backward_row(size_t n, const float *restrict first, const float *restrict bend,
                               const float *restrict a_bar, float *restrict z_bar,
                               float *restrict bias)
{
    for (size_t j = 0; j < n; j++) {
        const float g = MULTIPLY_ADD(first[j], a_bar[j], bend[j]);
        z_bar[j] = g;
        bias[j] += g;
    }
}

static void slope_backward(const hb_net_slope_arrays *layer)
{
    for (size_t r = 0; r < layer->rows; r++)
        slope_backward_row(layer->width, ROW(layer->first, 0), ROW(layer->bend, 0),
                           ROW(layer->a_cotangent, 0), ROW(layer->z_cotangent, 0),
                           layer->bias_gradient);
}

/* ---- Adam ---- */

enum { PARTIAL = 16 };

/* In 16 partial sums of doubles, element i into sum i mod 16: the same bits for all vectors. */
static double squared_norm(size_t n, const float *restrict x)
{
    double partial[PARTIAL] = {0};
    const size_t whole = n - n % PARTIAL;
    for (size_t i = 0; i < whole; i += PARTIAL)
        for (size_t k = 0; k < PARTIAL; k++) {
            const double value = (double)x[i + k];
            partial[k] += value * value;
        }
    for (size_t i = whole; i < n; i++) partial[i - whole] += (double)x[i] * (double)x[i];
    for (size_t half = PARTIAL / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++) partial[k] += partial[k + half];
    return partial[0];
}

static void adam(const hb_adam_numbers *numbers, size_t n, const float *restrict gradient,
                 float *restrict parameters, float *restrict first, float *restrict second,
                 float *restrict average)
{
    const hb_adam_numbers c = *numbers;
    for (size_t i = 0; i < n; i++) {
        const float g = c.scale * gradient[i];
        const float m = MULTIPLY_ADD(c.keep1, first[i], c.add1 * g);
        const float v = MULTIPLY_ADD(c.keep2, second[i], c.add2 * g * g);
        const float p = parameters[i] - c.rate * m / MULTIPLY_ADD(c.root, sqrtf(v), c.epsilon);
        first[i] = m;
        second[i] = v;
        parameters[i] = p;
        average[i] = MULTIPLY_ADD(c.average_weight, p - average[i], average[i]);
    }
}

/* The largest of x, in PARTIAL parts and then over them; n a multiple of PARTIAL. */
INLINE float largest_of(size_t n, const float *restrict x)
{
    float partial[PARTIAL];
    for (size_t k = 0; k < PARTIAL; k++) partial[k] = x[k];
    for (size_t i = 0; i < n; i += PARTIAL)
        for (size_t k = 0; k < PARTIAL; k++)
            partial[k] = x[i + k] > partial[k] ? x[i + k] : partial[k];
    for (size_t k = 1; k < PARTIAL; k++)
        partial[0] = partial[k] > partial[0] ? partial[k] : partial[0];
    return partial[0];
}

static void softmax(size_t n, float *restrict x)
{
    const float largest = largest_of(n, x);
    float partial[PARTIAL] = {0};
    for (size_t i = 0; i < n; i += PARTIAL)
        for (size_t k = 0; k < PARTIAL; k++) {
            x[i + k] = decay(x[i + k] - largest);
            partial[k] += x[i + k];
        }
    for (size_t half = PARTIAL / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++) partial[k] += partial[k + half];
    const float share = 1.0f / partial[0];
    for (size_t i = 0; i < n; i++) x[i] *= share;
}

/* ---- a matrix turned ---- */

enum { TILE = 8 };

#if LANES >= 4
/* A whole tile: neighbours of rows, then of pairs of rows, then halves change places. */
INLINE void turn_tile(const float *x, size_t pitch, float *turned, size_t turned_pitch)
{
    __m256 row[TILE], pair[TILE];
    for (size_t k = 0; k < TILE; k++) row[k] = _mm256_loadu_ps(x + k * pitch);
    for (size_t k = 0; k < TILE; k += 2) {
        pair[k] = _mm256_unpacklo_ps(row[k], row[k + 1]);
        pair[k + 1] = _mm256_unpackhi_ps(row[k], row[k + 1]);
    }
    for (size_t k = 0; k < TILE; k += 4)
        for (size_t h = 0; h < 2; h++) {
            row[k + 2 * h] = _mm256_shuffle_ps(pair[k + h], pair[k + h + 2], 0x44);
            row[k + 2 * h + 1] = _mm256_shuffle_ps(pair[k + h], pair[k + h + 2], 0xee);
        }
    for (size_t k = 0; k < 4; k++) {
        const __m256 low = _mm256_permute2f128_ps(row[k], row[k + 4], 0x20);
        const __m256 high = _mm256_permute2f128_ps(row[k], row[k + 4], 0x31);
        _mm256_storeu_ps(turned + k * turned_pitch, low);
        _mm256_storeu_ps(turned + (k + 4) * turned_pitch, high);
    }
}
#else
INLINE void turn_tile(const float *x, size_t pitch, float *turned, size_t turned_pitch)
{
    for (size_t k = 0; k < TILE; k++)
        for (size_t i = 0; i < TILE; i++) turned[k * turned_pitch + i] = x[i * pitch + k];
}
#endif

/* Eight rows at a time from their beginning to their end, as memory is read ahead. */
static void turn(size_t rows, size_t columns, const float *x, size_t pitch, float *turned,
                 size_t turned_pitch)
{
    const size_t high = rows - rows % TILE, wide = columns - columns % TILE;
    for (size_t i = 0; i < high; i += TILE)
        for (size_t j = 0; j < wide; j += TILE)
            turn_tile(x + i * pitch + j, pitch, turned + j * turned_pitch + i, turned_pitch);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = i < high ? wide : 0; j < columns; j++)
            turned[j * turned_pitch + i] = x[i * pitch + j];
}

const hb_net_kernels ISA_NAME(hb_net_kernels) = {
    forward,      backward, slope_reverse, slope_tangent, slope_backward,
    squared_norm, adam,     softmax,       turn,          add_to,
};
