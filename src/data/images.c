/* Sets of images: bytes of a file become numbers to learn from.
 *
 *     v = resized byte / 255 in [0, 1]         images_resize.c
 *     v = 1 or 0 by threshold or by a draw     P(1) = v for HB_BINARIZE_STOCHASTIC
 *     x = low + (high - low) v
 * Image i is made from its own bytes and from draws i*size .. i*size+size-1 of one stream, size its
 * number of pixels: the same numbers on any number of threads, and for any limit. The uniform draws
 * are never 0 or 1, so that black stays 0 and white stays 1. A number to reproduce: the mean of the
 * 60000 training images of MNIST is 0.1306604762738429. */
#define SETTINGS hb_images_settings
#include "base/context.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "base/setting_rows.h"
#include "data/images_parts.h"
#include "file/idx.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>

enum { BLOCK = 256, LARGEST_SIDE = 4096 };

static const hb_setting settings_table[] = {
    NUMBER(limit, RESULT, 0, 0, 0, "images at most; 0: all"),
    TOLD(resize, RESULT, 0, 0, LARGEST_SIDE, "1 to 4096 pixels, or 0 for the size of the file",
         "side of the images"),
    TOLD(resample, RESULT, HB_RESAMPLE_AREA, HB_RESAMPLE_AREA, HB_RESAMPLE_BILINEAR,
         "HB_RESAMPLE_AREA or HB_RESAMPLE_BILINEAR", "how they are made smaller or larger"),
    TOLD(binarize, RESULT, HB_BINARIZE_NONE, HB_BINARIZE_NONE, HB_BINARIZE_STOCHASTIC,
         "HB_BINARIZE_NONE, _THRESHOLD or _STOCHASTIC", "how pixels become black or white"),
    NUMBER(seed, RESULT, 42, 0, 0, "seed of the random numbers"),
    NUMBER(low, RESULT, 0, 0, 0, "the value of black"),
    NUMBER(high, RESULT, 1, 0, 0, "the value of white"),
    {0}};
SETTING_FUNCTIONS(images, settings_table)

void hb_images_destroy(hb_context *context, hb_images *images)
{
    if (!context || !images) return;
    hb_release(context, images->pixels);
    hb_release(context, images->labels);
    images->pixels = NULL;
    images->labels = NULL;
    images->count = 0;
}

/* ---- checks ---- */

static hb_status check_settings(hb_context *context, const hb_images_settings *s)
{
    HB_TRY(hb_setting_rows_check(context, settings_table, s));
    HB_CHECK(context, isfinite(s->low) && isfinite(s->high) && s->low < s->high, HB_ERROR_ARGUMENT,
             "low is %g and high is %g; they must be finite, low below high", s->low, s->high);
    return HB_OK;
}

static hb_status check_images(hb_context *context, const char *path, const hb_idx *bytes)
{
    HB_CHECK(context, bytes->axes == 3, HB_ERROR_FORMAT,
             "%.200s has %d %s; a file of images must have 3: images, rows, columns", path,
             bytes->axes, bytes->axes == 1 ? "axis" : "axes");
    HB_CHECK(context, bytes->shape[0] >= 1, HB_ERROR_FORMAT,
             "%.200s has 0 images; it must have at least 1", path);
    HB_CHECK(context,
             bytes->shape[1] >= 1 && bytes->shape[1] <= LARGEST_SIDE && bytes->shape[2] >= 1 &&
                 bytes->shape[2] <= LARGEST_SIDE,
             HB_ERROR_FORMAT, "%.200s has images of %llu by %llu pixels; each side must be 1 to %d",
             path, (unsigned long long)bytes->shape[1], (unsigned long long)bytes->shape[2],
             LARGEST_SIDE);
    return HB_OK;
}

/* ---- labels ---- */

static hb_status take_labels(hb_context *context, const char *path, uint64_t n_images,
                             const hb_idx *bytes, hb_images *out)
{
    HB_CHECK(context, bytes->axes == 1, HB_ERROR_FORMAT,
             "%.200s has %d axes; a file of labels must have 1", path, bytes->axes);
    HB_CHECK(context, bytes->shape[0] == n_images, HB_ERROR_FORMAT,
             "%.200s has %llu labels for %llu images; there must be one for each", path,
             (unsigned long long)bytes->shape[0], (unsigned long long)n_images);
    HB_TRY(HB_NEW(context, out->labels, out->count));
    for (size_t i = 0; i < bytes->count; i++)
        if (bytes->values[i] >= out->classes) out->classes = bytes->values[i] + 1;
    for (size_t i = 0; i < out->count; i++) out->labels[i] = bytes->values[i];
    return HB_OK;
}

static hb_status read_labels(hb_context *context, const char *path, uint64_t n_images,
                             hb_images *out)
{
    hb_idx bytes;
    if (!path[0]) return HB_OK;
    HB_TRY(hb_idx_read(context, path, &bytes));
    const hb_status status = take_labels(context, path, n_images, &bytes, out);
    hb_idx_release(context, &bytes);
    return status;
}

/* ---- pixels ---- */

typedef struct conversion {
    hb_context *context;
    const hb_images_settings *settings;
    const hb_resizer *resizer;
    const unsigned char *bytes; // (count, in_size)
    size_t in_size, size;       /* pixels of one image, before and after */
    double *scratch;            // (threads, scratch_size)
    size_t scratch_size;
    hb_images *out;
} conversion;

static hb_status images_binarize(const conversion *c, size_t image, double *scratch, double *pixels)
{
    const int random = c->settings->binarize == HB_BINARIZE_STOCHASTIC;
    if (random)
        HB_TRY(hb_random_uniform(c->context, c->settings->seed, HB_STREAM_BINARIZE,
                                 (uint64_t)image * c->size, c->size, scratch));
    for (size_t i = 0; i < c->size; i++)
        pixels[i] = random ? scratch[i] < pixels[i] : pixels[i] >= 0.5;
    return HB_OK;
}

/* Images BLOCK*index and following. */
static hb_status convert_block(void *user, size_t index, int thread)
{
    const conversion *c = user;
    const size_t first = index * BLOCK;
    const size_t last = first + BLOCK < c->out->count ? first + BLOCK : c->out->count;
    const double low = c->settings->low, range = c->settings->high - low;
    double *scratch = c->scratch + (size_t)thread * c->scratch_size;
    for (size_t i = first; i < last; i++) {
        double *pixels = c->out->pixels + i * c->size;
        hb_resizer_apply(c->resizer, c->bytes + i * c->in_size, scratch, pixels);
        if (c->settings->binarize != HB_BINARIZE_NONE)
            HB_TRY(images_binarize(c, i, scratch, pixels));
        if (low != 0 || range != 1)
            for (size_t k = 0; k < c->size; k++) pixels[k] = low + range * pixels[k];
    }
    return HB_OK;
}

static hb_status images_convert_all(conversion *c)
{
    const size_t line = hb_resizer_scratch(c->resizer);
    c->scratch_size = line > c->size ? line : c->size;
    HB_CHECK(c->context, c->out->count <= SIZE_MAX / sizeof(double) / c->size, HB_ERROR_MEMORY,
             "%zu images of %zu pixels do not fit in memory", c->out->count, c->size);
    HB_TRY(HB_NEW(c->context, c->out->pixels, c->out->count * c->size));
    const size_t threads = (size_t)hb_context_threads(c->context);
    HB_TRY(HB_NEW(c->context, c->scratch, threads * c->scratch_size));
    const hb_status status = hb_parallel_for(c->context, "reading images",
                                             (c->out->count + BLOCK - 1) / BLOCK, convert_block, c);
    hb_release(c->context, c->scratch);
    return status;
}

static hb_status images_convert(hb_context *context, const hb_images_settings *settings,
                                const hb_idx *bytes, hb_images *out)
{
    const int in_height = (int)bytes->shape[1], in_width = (int)bytes->shape[2];
    hb_resizer *resizer;
    HB_TRY(hb_resizer_create(context, (hb_resample)settings->resample, in_height, in_width,
                             out->height, out->width, &resizer));
    conversion c = {.context = context,
                    .settings = settings,
                    .resizer = resizer,
                    .bytes = bytes->values,
                    .in_size = (size_t)in_height * (size_t)in_width,
                    .size = (size_t)out->height * (size_t)out->width,
                    .out = out};
    const hb_status status = images_convert_all(&c);
    hb_resizer_destroy(resizer);
    return status;
}

/* ---- the whole ---- */

static hb_status images_convert_file(hb_context *context, const char *images, const char *labels,
                                     const hb_images_settings *s, const hb_idx *bytes,
                                     hb_images *out)
{
    HB_TRY(check_images(context, images, bytes));
    const size_t n = (size_t)bytes->shape[0];
    out->count = s->limit > 0 && s->limit < n ? s->limit : n;
    out->height = s->resize > 0 ? s->resize : (int)bytes->shape[1];
    out->width = s->resize > 0 ? s->resize : (int)bytes->shape[2];
    out->low = s->low;
    out->high = s->high;
    HB_TRY(read_labels(context, labels, n, out));
    return images_convert(context, s, bytes, out);
}

hb_status hb_images_load(hb_context *context, const hb_images_settings *settings, hb_part part,
                         const char *name_or_path, size_t size, hb_images *out)
{
    hb_images_settings s;
    hb_images found = {0};
    HB_SIZED_READ(context, hb_images_settings, settings, &s);
    HB_SIZED_CHECK(context, hb_images, size, out);
    HB_SIZED_WRITE(found, size, out);
    HB_CHECK(context, name_or_path, HB_ERROR_ARGUMENT, "the name of a set of images is NULL");
    HB_TRY(check_settings(context, &s));
    char images[HB_IMAGES_PATH], labels[HB_IMAGES_PATH];
    hb_idx bytes;
    HB_TRY(hb_images_locate(context, name_or_path, part, images, labels));
    HB_TRY(hb_idx_read(context, images, &bytes));
    const hb_status status = images_convert_file(context, images, labels, &s, &bytes, &found);
    hb_idx_release(context, &bytes);
    if (status != HB_OK) hb_images_destroy(context, &found);
    HB_SIZED_WRITE(found, size, out);
    return status;
}

hb_status hb_images_dequantise(hb_context *context, uint64_t seed, uint64_t first, size_t n,
                               double *pixels)
{
    double draws[BLOCK];
    HB_CHECK(context, pixels || n == 0, HB_ERROR_ARGUMENT, "pixels is NULL");
    for (size_t done = 0; done < n; done += BLOCK) {
        const size_t m = n - done < BLOCK ? n - done : BLOCK;
        HB_TRY(hb_random_uniform(context, seed, HB_STREAM_DEQUANTISE, first + done, m, draws));
        for (size_t i = 0; i < m; i++) pixels[done + i] = (255 * pixels[done + i] + draws[i]) / 256;
    }
    return HB_OK;
}
