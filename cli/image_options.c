/* Images as data of a training.
 *
 * Pixels are 0 black .. 1 white. Dequantised, a grey value k/255 becomes (k + U)/256: black is then 1/512 on
 * average and white 511/512, and these two numbers are what a model has to keep to draw its samples. */
#include "image_options.h"
#include "points.h"

#include <string.h>

int hb_image_options_is(const char *data)
{
    return !hb_points_has_extension(data, ".npy") && !hb_points_has_extension(data, ".csv") &&
           hb_data_images_is(data);
}

hb_status hb_image_options_refuse(hb_session *session, const hb_image_values *v, const char *data)
{
    const char *given = v->part >= 0       ? "--part"
                        : v->resize        ? "--resize"
                        : v->resample >= 0 ? "--resample"
                        : v->binarize >= 0 ? "--binarize"
                        : v->dequantise    ? "--dequantise"
                        : v->limit         ? "--limit"
                                           : NULL;
    if (!given) return HB_OK;
    return hb_session_refuse(session, "%s is for images; --data is %.200s", given, data);
}

hb_status hb_image_options_load(hb_session *session, const hb_image_values *v, const char *data,
                                uint64_t seed, hb_images *out)
{
    hb_context *context = hb_session_context(session);
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    settings.limit = (size_t)v->limit;
    settings.resize = v->resize;
    settings.seed = seed;
    if (v->resample >= 0) settings.resample = v->resample;
    if (v->binarize >= 0) settings.binarize = v->binarize;
    if (v->dequantise && settings.binarize != HB_BINARIZE_NONE)
        return hb_session_refuse(session,
                                 "--dequantise and --binarize are both given; give one of them");
    const hb_part part = v->part == 1 ? HB_PART_TEST : HB_PART_TRAIN;
    const hb_status status = hb_images_load(context, &settings, part, data, sizeof *out, out);
    if (status != HB_OK || !v->dequantise) return status;
    out->low = 0.5 / 256;
    out->high = 255.5 / 256;
    return hb_images_dequantise(context, seed, 0,
                                out->count * (size_t)out->height * (size_t)out->width, out->pixels);
}
