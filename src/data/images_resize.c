/* Images of bytes made smaller or larger: exact averages (area) or interpolation (bilinear).
 *
 * Along one axis, n pixels become N. Pixel y of the file covers [y, y+1), pixel i of the result
 * [i n/N, (i+1) n/N).
 *     area       the mean over that interval: weight |[i n, (i+1) n) with [y N, (y+1) N)| / n
 *     bilinear   linear between the centres of the two pixels around (i+1/2) n/N - 1/2, the first
 *                and last pixel continued beyond the edge
 * All weights are integers over D = n (area) or D = 2N (bilinear), and both axes together give
 *     v = sum_y sum_x a_y b_x byte / (255 D_y D_x) :
 * integers below 2^53 until the one division, so that v is rounded once, a white image is
 * exactly 1, and any program that computes the same formula agrees to the last bit or two. At n = N
 * both are byte/255. A number to reproduce: at 28 -> 16, area weights of pixel 0 are 16/28,
 * 12/28. */
#include "base/context.h"
#include "base/memory.h"
#include "data/images_parts.h"

/* The pixels of the file that one pixel of the result takes: first .. first+count-1. */
typedef struct taps {
    int first, count;
    const double *weight; /* integers; their sum is the denominator */
} taps;

typedef struct axis {
    int in, out;
    double denominator;
    taps *taps;      // (out)
    double *weights; // (out, widest)
} axis;

struct hb_resizer {
    hb_context *context;
    axis y, x;
    hb_workspace work;
};

static int widest(hb_resample resample, int in, int out)
{
    return resample == HB_RESAMPLE_AREA ? in / out + 2 : 2;
}

static void area_taps(int in, int out, int i, taps *t, double *weight)
{
    const int64_t n = in, N = out, from = i * n, to = from + n; /* in units of 1/N pixel */
    t->first = (int)(from / N);
    t->count = (int)((to + N - 1) / N) - t->first;
    for (int k = 0; k < t->count; k++) {
        const int64_t left = (t->first + k) * N, right = left + N;
        weight[k] = (double)((right < to ? right : to) - (left > from ? left : from));
    }
}

static void bilinear_taps(int in, int out, int i, taps *t, double *weight)
{
    const int64_t n = in, N = out, unit = 2 * N, centre = (2 * (int64_t)i + 1) * n - N;
    t->first = 0;
    t->count = 1;
    weight[0] = (double)unit;
    if (centre <= 0) return;
    t->first = (int)(centre / unit);
    if (t->first >= n - 1) {
        t->first = in - 1;
        return;
    }
    t->count = 2;
    weight[1] = (double)(centre - t->first * unit);
    weight[0] = (double)unit - weight[1];
}

static void fill_axis(hb_resample resample, int in, int out, axis *a)
{
    const int wide = widest(resample, in, out);
    a->in = in;
    a->out = out;
    a->denominator = resample == HB_RESAMPLE_AREA ? in : 2.0 * out;
    for (int i = 0; i < out; i++) {
        double *weight = a->weights + (size_t)i * (size_t)wide;
        if (resample == HB_RESAMPLE_AREA)
            area_taps(in, out, i, &a->taps[i], weight);
        else
            bilinear_taps(in, out, i, &a->taps[i], weight);
        a->taps[i].weight = weight;
    }
}

hb_status hb_resizer_create(hb_context *context, hb_resample resample, int in_height, int in_width,
                            int height, int width, hb_resizer **out)
{
    void *memory;
    *out = NULL;
    HB_TRY(hb_allocate(context, 1, sizeof **out, &memory));
    hb_resizer *r = memory;
    *r = (hb_resizer){.context = context};
    const size_t rows = (size_t)height, columns = (size_t)width;
    const hb_status status =
        HB_WORKSPACE(context, &r->work, HB_ARRAY(r->y.taps, rows),
                     HB_ARRAY(r->y.weights, rows * (size_t)widest(resample, in_height, height)),
                     HB_ARRAY(r->x.taps, columns),
                     HB_ARRAY(r->x.weights, columns * (size_t)widest(resample, in_width, width)));
    if (status != HB_OK) {
        hb_release(context, r);
        return status;
    }
    fill_axis(resample, in_height, height, &r->y);
    fill_axis(resample, in_width, width, &r->x);
    *out = r;
    return HB_OK;
}

void hb_resizer_destroy(hb_resizer *resizer)
{
    if (!resizer) return;
    hb_workspace_destroy(&resizer->work);
    hb_release(resizer->context, resizer);
}

size_t hb_resizer_scratch(const hb_resizer *resizer)
{
    return (size_t)resizer->x.in;
}

void hb_resizer_apply(const hb_resizer *r, const unsigned char *in, double *scratch, double *out)
{
    const size_t wide = (size_t)r->x.in, out_wide = (size_t)r->x.out;
    const double scale = 255 * r->y.denominator * r->x.denominator;
    for (size_t i = 0; i < (size_t)r->y.out; i++) {
        const taps ty = r->y.taps[i];
        for (size_t x = 0; x < wide; x++) scratch[x] = 0; // (in_width): the rows, added up
        for (int k = 0; k < ty.count; k++) {
            const unsigned char *row = in + (size_t)(ty.first + k) * wide;
            for (size_t x = 0; x < wide; x++) scratch[x] += ty.weight[k] * row[x];
        }
        for (size_t j = 0; j < out_wide; j++) {
            const taps tx = r->x.taps[j];
            double sum = 0;
            for (int k = 0; k < tx.count; k++) sum += tx.weight[k] * scratch[tx.first + k];
            out[i * out_wide + j] = sum / scale;
        }
    }
}
