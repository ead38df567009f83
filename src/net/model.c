/* A model: made and destroyed, and its map to the coordinates of its network.
 *
 * z_j = (x_j - shift_j)/scale_j. Everything else is in z: the process, balls, the reference. In the
 * units of x the noise of the process is then scale_j times larger in column j, a score
 * s_j/scale_j, a log-density less by sum ln scale_j. A model of an SDE as typed has z = y of its
 * frame (problem/transform/transform.h), and is not scaled. A number to reproduce: two layers of
 * width 256 after 2 + 8 inputs, and one output: 68865 parameters. */
#include "base/context.h"
#include "base/sized.h"
#include "net/model_parts.h"

#include <string.h>

enum { MAX_FEATURES = 256, MAX_CLASSES = 4096, MAX_MODEL_DIM = 16384 };
static const double MOST_TIME = 1e6; /* of a process whose unit of time is the user's */

static hb_status model_check_info(hb_context *context, const hb_model_info *info)
{
    HB_CHECK(context, info->dim >= 1 && info->dim <= MAX_MODEL_DIM, HB_ERROR_ARGUMENT,
             "dim is %d; it must be 1 to %d", info->dim, MAX_MODEL_DIM);
    HB_CHECK(context, info->classes >= 0 && info->classes <= MAX_CLASSES, HB_ERROR_ARGUMENT,
             "classes is %d; it must be 0 to %d", info->classes, MAX_CLASSES);
    HB_CHECK(context,
             info->head == HB_HEAD_SCORE || info->head == HB_HEAD_ENERGY ||
                 info->head == HB_HEAD_HELMHOLTZ,
             HB_ERROR_ARGUMENT, "head is %d; it must be one of hb_head", info->head);
    HB_CHECK(context, info->head != HB_HEAD_HELMHOLTZ || info->dim == 2, HB_ERROR_ARGUMENT,
             "the helmholtz head needs data in 2 dimensions; these have %d", info->dim);
    HB_CHECK(context, info->process >= HB_PROCESS_OU && info->process <= HB_PROCESS_DRIFT,
             HB_ERROR_ARGUMENT, "process is %d; it must be one of hb_process", info->process);
    HB_CHECK(context, info->time_features >= 1 && info->time_features <= MAX_FEATURES,
             HB_ERROR_ARGUMENT, "time_features is %d; it must be 1 to %d", info->time_features,
             MAX_FEATURES);
    const double most = info->process == HB_PROCESS_DRIFT ? MOST_TIME : 100;
    HB_CHECK(context, info->tau_min > 0 && info->tau_max > info->tau_min && info->tau_max <= most,
             HB_ERROR_ARGUMENT,
             "tau_min is %g and tau_max is %g; they must be 0 < tau_min < tau_max <= %g",
             info->tau_min, info->tau_max, most);
    return HB_OK;
}

/* All four are 0 for rows that are not images. */
static hb_status model_check_image(hb_context *context, const hb_model_info *info)
{
    const int h = info->image_height, w = info->image_width;
    if (h == 0 && w == 0 && info->pixel_low == 0 && info->pixel_high == 0) return HB_OK;
    HB_CHECK(context, h >= 1 && w >= 1 && (int64_t)h * w == info->dim, HB_ERROR_ARGUMENT,
             "image_height is %d and image_width is %d; they must be positive, with %d pixels, the "
             "numbers of a row",
             h, w, info->dim);
    HB_CHECK(context,
             isfinite(info->pixel_low) && isfinite(info->pixel_high) &&
                 info->pixel_low < info->pixel_high,
             HB_ERROR_ARGUMENT,
             "pixel_low is %g and pixel_high is %g; they must be finite, low below high",
             info->pixel_low, info->pixel_high);
    return HB_OK;
}

static hb_status model_create_parts(hb_model *model)
{
    const hb_model_info *info = &model->info;
    const size_t d = (size_t)info->dim;
    const hb_net_shape shape = {.inputs = hb_model_inputs_count(model),
                                .outputs = info->head == HB_HEAD_ENERGY  ? 1
                                           : info->head == HB_HEAD_SCORE ? info->dim
                                                                         : 2,
                                .width = info->width,
                                .depth = info->depth,
                                .residual = info->skip};
    HB_TRY(hb_net_create(model->context, &shape, &model->net));
    model->info.parameters = hb_net_parameters(model->net);
    HB_TRY(HB_WORKSPACE(model->context, &model->work, HB_ARRAY(model->shift, d),
                        HB_ARRAY(model->scale, d), HB_ARRAY(model->mean, d),
                        HB_ARRAY(model->variance, d), HB_ARRAY(model->axes, d * d),
                        HB_ARRAY(model->parameters, model->info.parameters)));
    for (size_t j = 0; j < d; j++) model->scale[j] = 1;
    return HB_OK;
}

hb_status hb_model_create(hb_context *context, const hb_model_info *info, hb_model **out)
{
    *out = NULL;
    HB_TRY(model_check_info(context, info));
    HB_TRY(model_check_image(context, info));
    hb_model *model;
    HB_TRY(HB_NEW(context, model, 1));
    *model = (hb_model){.context = context, .info = *info, .spread = 1};
    model->info.scale = 1;
    const hb_status status = model_create_parts(model);
    if (status != HB_OK) hb_model_destroy(model);
    *out = status == HB_OK ? model : NULL;
    return status;
}

void hb_model_destroy(hb_model *model)
{
    if (!model) return;
    hb_model_flow_destroy(model);
    hb_net_destroy(model->net);
    hb_transform_destroy(model->context, model->maps);
    hb_release(model->context, model->columns);
    hb_workspace_destroy(&model->work);
    hb_release(model->context, model);
}

hb_status hb_model_info_get(const hb_model *model, size_t size, hb_model_info *out)
{
    if (!model && out && size <= sizeof *out) memset(out, 0, size);
    if (!model) return HB_ERROR_ARGUMENT;
    HB_SIZED_CHECK(model->context, hb_model_info, size, out);
    HB_SIZED_WRITE(model->info, size, out);
    return HB_OK;
}

/* One scale for all columns is its own mean, to the bit. */
void hb_model_set_scales(hb_model *model)
{
    const size_t d = (size_t)model->info.dim;
    int common = 1;
    double sum = 0;
    for (size_t j = 0; j < d; j++) {
        common &= model->scale[j] == model->scale[0];
        sum += log(model->scale[j]);
    }
    model->log_scale = common ? (double)d * log(model->scale[0]) : sum;
    model->info.scale = common ? model->scale[0] : exp(sum / (double)d);
}

void hb_model_scales(const hb_model *model, double *shift, double *scale)
{
    if (!model) return;
    const size_t bytes = (size_t)model->info.dim * sizeof(double);
    if (shift) memcpy(shift, model->shift, bytes);
    if (scale) memcpy(scale, model->scale, bytes);
}

void hb_model_standardise(const hb_model *model, size_t n, const double *x, double *z)
{
    if (!model || !x || !z) return;
    const size_t d = (size_t)model->info.dim;
    const hb_transform *frame = hb_model_transform(model);
    if (frame) { /* it does not move, and cannot fail */
        hb_transform_to_y(model->context, frame, 0, n, x, z);
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            z[i * d + j] = (x[i * d + j] - model->shift[j]) / model->scale[j];
}

void hb_model_to_data(const hb_model *model, size_t n, const double *z, double *x)
{
    if (!model || !z || !x) return;
    const size_t d = (size_t)model->info.dim;
    const hb_transform *frame = hb_model_transform(model);
    if (frame) {
        hb_transform_to_x(model->context, frame, 0, n, z, x);
        return;
    }
    for (size_t i = 0; i < n * d; i++) x[i] = model->shift[i % d] + model->scale[i % d] * z[i];
}

const hb_transform *hb_model_transform(const hb_model *model)
{
    return model->flow.drift ? hb_problem_transform_of(model->flow.drift) : model->maps;
}

int hb_model_is_outside(const hb_model *model, const double *x)
{
    const hb_transform *frame = hb_model_transform(model);
    int outside = 0;
    for (int a = 0; frame && a < frame->dim; a++) {
        if (isnan(x[a])) return 0;
        outside |= !hb_axis_holds(&frame->axes[a], x[a]);
    }
    return outside;
}

void hb_model_volume(const hb_model *model, size_t n, const double *z, double *volume)
{
    const hb_transform *frame = hb_model_transform(model);
    if (frame) {
        hb_transform_volume(model->context, frame, 0, n, z, volume);
        return;
    }
    for (size_t i = 0; i < n; i++) volume[i] = model->log_scale;
}

const hb_problem *hb_model_problem(const hb_model *model)
{
    return model ? model->flow.drift : NULL;
}
