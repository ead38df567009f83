/* 256 colours for all frames of an animation, by median cut, on colours of 7 bits per channel.
 *
 * The box of all colours that occur is cut, again and again the box whose colours vary the most, at
 * the mean of its longest side; sum of squares = n (E c^2 - (E c)^2). Each box becomes the mean of
 * its colours, and a colour goes to the nearest of these. P. Heckbert, Color image quantization for
 * frame buffer display, SIGGRAPH 1982. A picture of at most 256 such colours loses nothing beyond
 * the 7 bits; white stays white, 255. */
#include "plot/animation.h"

#include <math.h>
#include <string.h>

enum { SIDE = 1 << HB_ANIMATION_BITS };

typedef struct color_box {
    int low[3], high[3]; /* both inclusive */
    double weight, mean[3], spread[3];
} color_box;

static int bin_of(const unsigned char *rgb)
{
    const int cut = 8 - HB_ANIMATION_BITS;
    return ((rgb[0] >> cut) << HB_ANIMATION_BITS | rgb[1] >> cut) << HB_ANIMATION_BITS |
           rgb[2] >> cut;
}

void hb_animation_count(size_t n_pixels, const unsigned char *rgb, uint32_t *count)
{
    for (size_t i = 0; i < n_pixels; i++) {
        uint32_t *bin = &count[bin_of(rgb + 3 * i)];
        *bin += *bin < UINT32_MAX;
    }
}

/* Common colours count less than they are many: lines are thin, and the background is not. */
static double weight_of(uint32_t count)
{
    return count ? pow(count, 0.7) : 0;
}

static void measure(const uint32_t *count, color_box *box)
{
    double sum[3] = {0}, square[3] = {0};
    box->weight = 0;
    for (int r = box->low[0]; r <= box->high[0]; r++)
        for (int g = box->low[1]; g <= box->high[1]; g++)
            for (int b = box->low[2]; b <= box->high[2]; b++) {
                const double w =
                    weight_of(count[(r << HB_ANIMATION_BITS | g) << HB_ANIMATION_BITS | b]);
                const int c[3] = {r, g, b};
                box->weight += w;
                for (int k = 0; k < 3; k++) {
                    sum[k] += w * c[k];
                    square[k] += w * c[k] * c[k];
                }
            }
    for (int k = 0; k < 3; k++) {
        box->mean[k] = box->weight > 0 ? sum[k] / box->weight : box->low[k];
        box->spread[k] = fmax(square[k] - sum[k] * box->mean[k], 0);
    }
}

/* The axis along which the box varies the most. */
static int widest(const color_box *box)
{
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (box->spread[k] > box->spread[axis]) axis = k;
    return axis;
}

static void cut(const uint32_t *count, color_box *box, color_box *other)
{
    const int axis = widest(box);
    int at = (int)floor(box->mean[axis]);
    if (at >= box->high[axis]) at = box->high[axis] - 1;
    *other = *box;
    box->high[axis] = at;
    other->low[axis] = at + 1;
    measure(count, box);
    measure(count, other);
}

/* 7 bits as 8: 127 is 255. */
static double as_byte(double value)
{
    return value * 255 / (SIDE - 1);
}

static int nearest_color(int n, unsigned char colors[HB_ANIMATION_COLORS][3], const double *c)
{
    int best = 0;
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
        double distance = 0;
        for (int a = 0; a < 3; a++) distance += (colors[k][a] - c[a]) * (colors[k][a] - c[a]);
        if (distance < least) least = distance, best = k;
    }
    return best;
}

void hb_animation_choose(const uint32_t *count, unsigned char colors[HB_ANIMATION_COLORS][3],
                         unsigned char *nearest)
{
    color_box boxes[HB_ANIMATION_COLORS] = {{.low = {0}, .high = {SIDE - 1, SIDE - 1, SIDE - 1}}};
    int n = 1;
    measure(count, &boxes[0]);
    while (n < HB_ANIMATION_COLORS) {
        int most = 0;
        for (int k = 1; k < n; k++)
            if (boxes[k].spread[widest(&boxes[k])] > boxes[most].spread[widest(&boxes[most])])
                most = k;
        if (!(boxes[most].spread[widest(&boxes[most])] > 1e-9)) break;
        cut(count, &boxes[most], &boxes[n++]);
    }
    memset(colors, 0, HB_ANIMATION_COLORS * 3);
    for (int k = 0; k < n; k++)
        for (int a = 0; a < 3; a++) colors[k][a] = (unsigned char)lround(as_byte(boxes[k].mean[a]));
    for (int i = 0; i < HB_ANIMATION_BINS; i++) {
        const double c[3] = {as_byte(i >> 2 * HB_ANIMATION_BITS),
                             as_byte(i >> HB_ANIMATION_BITS & (SIDE - 1)), as_byte(i & (SIDE - 1))};
        if (count[i]) nearest[i] = (unsigned char)nearest_color(n, colors, c);
    }
}

void hb_animation_index(size_t n_pixels, const unsigned char *rgb, const unsigned char *nearest,
                        unsigned char *out)
{
    for (size_t i = 0; i < n_pixels; i++) out[i] = nearest[bin_of(rgb + 3 * i)];
}
