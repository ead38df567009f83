/* heatball evaluate of a model of images: the set's own parts are the truth.
 *
 * The training part is what the model has seen, the test part what it has not. Images are brought to the
 * sides and the pixel range that the model keeps; a model that was trained on rows of a file keeps none, and
 * then has square images of pixels from 0 to 1. The exact score of images is not known, so scores, curl
 * and residuals are not measured here. */
#include "data.h"
#include "evaluate.h"
#include "rows.h"
#include "train.h"

#include <heatball/generate.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int hb_evaluate_image_set_is(const char *name)
{
    return !hb_train_data_is_file(name) && hb_data_images_is(name);
}

/* ---- images as the model has them ---- */

typedef struct image_shape {
    int height, width;
    double low, high;
} image_shape;

static hb_status find_shape(hb_session *session, const char *path, const hb_model_info *info,
                            image_shape *out)
{
    const int side = (int)(sqrt(info->dim) + 0.5);
    *out = (image_shape){info->image_height, info->image_width, info->pixel_low, info->pixel_high};
    if (info->image_height == 0) *out = (image_shape){side, side, 0, 1};
    HB_REFUSE_IF(session, out->height != out->width || out->height * out->width != info->dim,
                 "%.200s has rows of %d numbers; a set of images needs a model of square images",
                 path, info->dim);
    return HB_OK;
}

static hb_status load_part(hb_session *session, const char *name, hb_part part,
                           const image_shape *shape, hb_images *out)
{
    hb_images_settings settings;
    hb_images_settings_default(sizeof settings, &settings);
    settings.resize = shape->height;
    settings.low = shape->low;
    settings.high = shape->high;
    return hb_images_load(hb_session_context(session), &settings, part, name, sizeof *out, out);
}

static hb_image_rows rows_of(const hb_images *images)
{
    return (hb_image_rows){images->count, images->pixels, images->labels};
}

/* ---- judged and printed ---- */

typedef struct image_run {
    const char *path, *name;
    const hb_model *model;
    hb_model_info info;
    size_t samples;
    uint64_t seed;
    int json;
    hb_images trained, real;
} image_run;

static hb_status print(hb_session *session, const image_run *run, const hb_image_judgement *j)
{
    hb_session_clear(session);
    if (!run->json) {
        if (!hb_session_quiet(session))
            printf("# %s: %s, %" PRIu64 " steps, against the images of %s, seed %" PRIu64 "\n",
                   run->path, run->info.method, run->info.steps, run->name, run->seed);
        hb_image_judgement_print(j);
        return HB_OK;
    }
    json_t *object = json_object();
    json_object_set_new(object, "model", json_string(run->path));
    json_object_set_new(object, "data", json_string(run->name));
    json_object_set_new(object, "method", json_string(run->info.method));
    json_object_set_new(object, "dim", json_integer(run->info.dim));
    hb_rows_put_seed(object, run->seed);
    hb_image_judgement_put(j, object);
    return hb_rows_print_json(object, stdout);
}

static hb_status judge(hb_session *session, const image_run *run, double *made)
{
    const hb_image_plan plan = {.height = run->trained.height,
                                .width = run->trained.width,
                                .classes = run->trained.classes,
                                .made = {run->samples, made, NULL},
                                .real = rows_of(&run->real),
                                .trained = rows_of(&run->trained),
                                .seed = run->seed};
    hb_image_judgement judgement = {0};
    hb_generate_settings settings;
    hb_generate_settings_default(sizeof settings, &settings);
    settings.seed = run->seed;
    hb_status status = hb_model_generate(hb_session_context(session), run->model, &settings, 0,
                                         run->samples, NULL, made);
    if (status == HB_OK) status = hb_evaluate_images(session, &plan, &judgement);
    if (status == HB_OK) status = print(session, run, &judgement);
    hb_image_judgement_destroy(&judgement);
    return status;
}

hb_status hb_evaluate_image_set(hb_session *session, const char *path, const hb_model *model,
                                const char *name, size_t samples, uint64_t seed, int json)
{
    image_run run = {
        .path = path, .name = name, .model = model, .samples = samples, .seed = seed, .json = json};
    hb_context *context = hb_session_context(session);
    image_shape shape;
    hb_model_info_get(model, sizeof run.info, &run.info);
    hb_status status = find_shape(session, path, &run.info, &shape);
    if (status == HB_OK) status = load_part(session, name, HB_PART_TRAIN, &shape, &run.trained);
    if (status == HB_OK) status = load_part(session, name, HB_PART_TEST, &shape, &run.real);
    double *made = malloc((samples + 1) * (size_t)run.info.dim * sizeof *made); // (samples, dim)
    if (status == HB_OK && !made) status = HB_ERROR_MEMORY;
    if (status == HB_OK) status = judge(session, &run, made);
    free(made);
    hb_images_destroy(context, &run.trained);
    hb_images_destroy(context, &run.real);
    return status;
}
