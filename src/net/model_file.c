/* Models in .safetensors files.
 *
 * Arrays: layer0.weight, layer0.bias, ... (F32, PyTorch's order; with `half` the weights are F16),
 * reference.axes (F32), reference.mean, reference.variance, shift and scale (F64); with mapped
 * columns also columns.maps (F64: kind, center, width, shift, scale of each); with a user's
 * drift also drift.numbers and drift.moments (F64), drift.ends (F32), drift.range (F64) and its
 * text. Texts of __metadata__: format = "heatball model 2" and one text for each member of
 * hb_model_info, numbers by %.17g, and the names of the columns where the data had them, so that a
 * file read and written again is the same. Reading trusts nothing: every number is checked as
 * hb_model_create checks it, every array's length against the network's, every value must be
 * finite, the axes must be orthonormal. */
#include "net/model_file.h"
#include "base/context.h"
#include "file/half.h"
#include "file/writer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "heatball model 2";
static const char *const head_names[] = {"score", "energy", "helmholtz", NULL};
static const char *const process_names[] = {"ou", "ve", "drift", NULL};

const char *const *hb_head_names(void)
{
    return head_names;
}

const char *const *hb_process_names(void)
{
    return process_names;
}

/* ---- the texts ---- */

typedef enum field_kind { FIELD_INT, FIELD_DOUBLE, FIELD_COUNT } field_kind;

/* The numbers of hb_model_info by name; the two enums and the loss are texts of their own. */
static const struct {
    const char *name;
    field_kind kind;
    size_t offset;
} fields[] = {
    {"dim", FIELD_INT, offsetof(hb_model_info, dim)},
    {"classes", FIELD_INT, offsetof(hb_model_info, classes)},
    {"width", FIELD_INT, offsetof(hb_model_info, width)},
    {"depth", FIELD_INT, offsetof(hb_model_info, depth)},
    {"residual", FIELD_INT, offsetof(hb_model_info, skip)},
    {"time_features", FIELD_INT, offsetof(hb_model_info, time_features)},
    {"scale", FIELD_DOUBLE, offsetof(hb_model_info, scale)},
    {"tau_min", FIELD_DOUBLE, offsetof(hb_model_info, tau_min)},
    {"tau_max", FIELD_DOUBLE, offsetof(hb_model_info, tau_max)},
    {"seed", FIELD_COUNT, offsetof(hb_model_info, seed)},
    {"steps", FIELD_COUNT, offsetof(hb_model_info, steps)},
    /* from here on only in models of images */
    {"image_height", FIELD_INT, offsetof(hb_model_info, image_height)},
    {"image_width", FIELD_INT, offsetof(hb_model_info, image_width)},
    {"pixel_low", FIELD_DOUBLE, offsetof(hb_model_info, pixel_low)},
    {"pixel_high", FIELD_DOUBLE, offsetof(hb_model_info, pixel_high)},
    /* not in files of before 0.3 */
    {"samples", FIELD_COUNT, offsetof(hb_model_info, samples)},
};

enum {
    N_FIELDS = sizeof fields / sizeof *fields,
    SAMPLES_FIELD = N_FIELDS - 1,
    IMAGE_FIELDS = 4,
    ROW_FIELDS = SAMPLES_FIELD - IMAGE_FIELDS,
    OTHER_TEXTS = 4,
    COLUMN_TEXTS = 1,
    TEXT = 40
};

static void file_print_field(const hb_model_info *info, size_t i, char *text)
{
    const char *member = (const char *)info + fields[i].offset;
    const locale_t locale = hb_locale_enter();
    if (fields[i].kind == FIELD_INT) snprintf(text, TEXT, "%d", *(const int *)(const void *)member);
    if (fields[i].kind == FIELD_DOUBLE)
        snprintf(text, TEXT, "%.17g", *(const double *)(const void *)member);
    if (fields[i].kind == FIELD_COUNT)
        snprintf(text, TEXT, "%llu", (unsigned long long)*(const uint64_t *)(const void *)member);
    hb_locale_leave(locale);
}

static hb_status file_parse_field(hb_context *context, const hb_safetensors *file, size_t i,
                                  hb_model_info *info)
{
    char *member = (char *)info + fields[i].offset, *end;
    const char *text = hb_safetensors_text(file, fields[i].name);
    HB_CHECK(context, text, HB_ERROR_FORMAT, "%s has no metadata %s", hb_safetensors_path(file),
             fields[i].name);
    const locale_t locale = hb_locale_enter();
    errno = 0;
    if (fields[i].kind == FIELD_DOUBLE) {
        *(double *)(void *)member = strtod(text, &end);
    } else if (fields[i].kind == FIELD_COUNT) {
        *(uint64_t *)(void *)member = strtoull(text, &end, 10);
    } else {
        const long value = strtol(text, &end, 10);
        *(int *)(void *)member = (int)value;
        if (value != (int)value) errno = ERANGE;
    }
    hb_locale_leave(locale);
    HB_CHECK(context, end != text && *end == '\0' && errno == 0, HB_ERROR_FORMAT,
             "%s: its metadata %s is '%.40s', which is no number", hb_safetensors_path(file),
             fields[i].name, text);
    return HB_OK;
}

/* Which of the names the text of this key is. */
static hb_status file_parse_name(hb_context *context, const hb_safetensors *file, const char *key,
                                 int count, const char *const *names, int *out)
{
    const char *text = hb_safetensors_text(file, key);
    HB_CHECK(context, text, HB_ERROR_FORMAT, "%s has no metadata %s", hb_safetensors_path(file),
             key);
    for (*out = 0; *out < count; ++*out)
        if (!strcmp(names[*out], text)) return HB_OK;
    return hb_fail(context, HB_ERROR_FORMAT, "%s: its metadata %s is '%.40s', which is not known",
                   hb_safetensors_path(file), key, text);
}

static hb_status file_parse_info(hb_context *context, const hb_safetensors *file,
                                 hb_model_info *info)
{
    int head, process;
    HB_TRY(hb_safetensors_format(context, file, "model"));
    HB_TRY(file_parse_name(context, file, "head", 3, head_names, &head));
    HB_TRY(file_parse_name(context, file, "process", 3, process_names, &process));
    info->head = head;
    info->process = process;
    const int images = hb_safetensors_text(file, "image_height") != NULL;
    const size_t n_fields = images ? SAMPLES_FIELD : ROW_FIELDS;
    for (size_t i = 0; i < n_fields; i++) HB_TRY(file_parse_field(context, file, i, info));
    if (hb_safetensors_text(file, fields[SAMPLES_FIELD].name))
        HB_TRY(file_parse_field(context, file, SAMPLES_FIELD, info));
    const char *loss = hb_safetensors_text(file, "loss");
    if (!loss) loss = hb_safetensors_text(file, "method"); /* files of before 0.3 */
    HB_CHECK(context, loss && strlen(loss) < sizeof info->loss, HB_ERROR_FORMAT,
             "%s has no metadata loss", hb_safetensors_path(file));
    snprintf(info->loss, sizeof info->loss, "%s", loss);
    HB_CHECK(context, info->scale > 0 && isfinite(info->scale), HB_ERROR_FORMAT,
             "%s: its scale is %g; it must be positive", hb_safetensors_path(file), info->scale);
    return HB_OK;
}

/* ---- writing ---- */

enum { REFERENCE_TENSORS = 5, MAP_TENSORS = 1 };

static int file_is_weight(const hb_net_tensor *tensor)
{
    return strstr(tensor->name, "weight") != NULL;
}

void hb_net_list(const hb_net *net, const float *parameters, int half, hb_net_tensor *named,
                 hb_tensor *out)
{
    for (int k = 0; k < hb_net_tensors(net); k++) {
        hb_net_tensor_get(net, k, &named[k]);
        out[k] = (hb_tensor){named[k].name,
                             HB_DTYPE_F32,
                             file_is_weight(&named[k]) ? 2 : 1,
                             {(uint64_t)named[k].rows, (uint64_t)named[k].columns},
                             parameters + named[k].offset,
                             half && file_is_weight(&named[k])};
    }
}

static size_t file_list_tensors(const hb_model *model, hb_net_tensor *named, hb_tensor *out)
{
    const uint64_t d = (uint64_t)model->info.dim;
    const hb_tensor reference[REFERENCE_TENSORS] = {
        {"shift", HB_DTYPE_F64, 1, {d}, model->shift, 0},
        {"scale", HB_DTYPE_F64, 1, {d}, model->scale, 0},
        {"reference.mean", HB_DTYPE_F64, 1, {d}, model->mean, 0},
        {"reference.variance", HB_DTYPE_F64, 1, {d}, model->variance, 0},
        {"reference.axes", HB_DTYPE_F32, 2, {d, d}, model->axes, 0},
    };
    memcpy(out, reference, sizeof reference);
    hb_net_list(model->net, model->parameters, model->info.half, named, out + REFERENCE_TENSORS);
    return (size_t)hb_net_tensors(model->net) + REFERENCE_TENSORS;
}

static size_t file_list_texts(const hb_model *model, const hb_model_info *info, char (*texts)[TEXT],
                              hb_metadata *out)
{
    out[0] = (hb_metadata){"format", FORMAT};
    out[1] = (hb_metadata){"head", head_names[info->head]};
    out[2] = (hb_metadata){"process", process_names[info->process]};
    out[3] = (hb_metadata){"loss", model->info.loss};
    size_t n = OTHER_TEXTS;
    for (size_t i = 0; i < N_FIELDS; i++) {
        const int there =
            i < ROW_FIELDS || (i == SAMPLES_FIELD ? info->samples > 0 : info->image_height > 0);
        if (!there) continue;
        file_print_field(info, i, texts[i]);
        out[n++] = (hb_metadata){fields[i].name, texts[i]};
    }
    if (model->columns) out[n++] = (hb_metadata){"columns", model->columns_text};
    if (model->flow.drift) out[n++] = (hb_metadata){"drift", hb_problem_text(model->flow.drift)};
    return n;
}

hb_status hb_model_write(hb_context *context, const hb_model *model, const char *path,
                         size_t n_more_metadata, const hb_metadata *more_metadata,
                         size_t n_more_tensors, const hb_tensor *more_tensors)
{
    const size_t layers = (size_t)hb_net_tensors(model->net);
    const size_t most_texts =
        OTHER_TEXTS + N_FIELDS + COLUMN_TEXTS + HB_FLOW_TEXTS + n_more_metadata;
    const size_t d = (size_t)model->info.dim, maps = model->maps ? d * HB_MODEL_MAP_NUMBERS : 0;
    const size_t most_tensors =
        REFERENCE_TENSORS + MAP_TENSORS + HB_FLOW_TENSORS + layers + n_more_tensors;
    char texts[N_FIELDS][TEXT];
    hb_workspace work;
    hb_metadata *metadata;
    hb_tensor *tensors;
    hb_net_tensor *named;
    double *map;
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(metadata, most_texts),
                        HB_ARRAY(tensors, most_tensors), HB_ARRAY(named, layers),
                        HB_ARRAY(map, maps)));
    hb_model_info info;
    hb_model_info_get(model, sizeof info, &info);
    size_t n_texts = file_list_texts(model, &info, texts, metadata);
    double numbers[3];
    size_t n_tensors = file_list_tensors(model, named, tensors);
    n_tensors += hb_model_flow_tensors(model, numbers, tensors + n_tensors);
    if (model->maps) {
        hb_model_map_numbers(model, map);
        tensors[n_tensors++] =
            (hb_tensor){"columns.maps", HB_DTYPE_F64, 2, {d, HB_MODEL_MAP_NUMBERS}, map, 0};
    }
    for (size_t i = 0; i < n_more_metadata; i++) metadata[n_texts++] = more_metadata[i];
    for (size_t i = 0; i < n_more_tensors; i++) tensors[n_tensors++] = more_tensors[i];
    const hb_status status =
        hb_safetensors_write(context, path, n_texts, metadata, n_tensors, tensors);
    hb_workspace_destroy(&work);
    return status;
}

hb_status hb_model_halve(hb_context *context, hb_model *model)
{
    for (int k = 0; k < hb_net_tensors(model->net); k++) {
        hb_net_tensor tensor;
        hb_net_tensor_get(model->net, k, &tensor);
        float *weight = model->parameters + tensor.offset;
        const size_t n = file_is_weight(&tensor) ? (size_t)tensor.rows * (size_t)tensor.columns : 0;
        for (size_t i = 0; i < n; i++) {
            const float rounded = hb_half_value(hb_half_of(weight[i]));
            HB_CHECK(context, isfinite(rounded), HB_ERROR_NUMERICAL,
                     "a weight of %s is %g; 16 bits hold at most 65504", tensor.name,
                     (double)weight[i]);
            weight[i] = rounded;
        }
    }
    model->info.half = 1;
    return HB_OK;
}

hb_status hb_model_save(hb_context *context, const hb_model *model, const char *path)
{
    HB_CHECK(context, model && path, HB_ERROR_ARGUMENT, "the model or the path is NULL");
    return hb_model_write(context, model, path, 0, NULL, 0, NULL);
}

/* ---- reading ---- */

static hb_status file_check_reference(hb_context *context, const hb_safetensors *file,
                                      hb_model *model)
{
    const size_t d = (size_t)model->info.dim;
    model->spread = 0;
    for (size_t r = 0; r < d; r++) {
        double length = 0;
        for (size_t j = 0; j < d; j++)
            length += (double)model->axes[r * d + j] * (double)model->axes[r * d + j];
        HB_CHECK(
            context, model->variance[r] > 0 && fabs(length - 1) < 1e-4, HB_ERROR_FORMAT,
            "%s: axis %zu of its reference has length^2 %g and variance %g; they must be 1 and "
            "positive",
            hb_safetensors_path(file), r + 1, length, model->variance[r]);
        model->spread += model->variance[r] / (double)d;
    }
    return HB_OK;
}

/* A file of before has one scale for all columns, among its texts. */
static hb_status file_read_scales(hb_context *context, const hb_safetensors *file, double common,
                                  hb_model *model)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t j = 0; j < d; j++) model->scale[j] = common;
    if (hb_safetensors_count(file, "scale") > 0)
        HB_TRY(hb_safetensors_copy(context, file, "scale", HB_DTYPE_F64, d, model->scale));
    for (size_t j = 0; j < d; j++)
        HB_CHECK(context, isnormal(model->scale[j]) && model->scale[j] > 0, HB_ERROR_FORMAT,
                 "%s: the scale of column %zu is %g; it must be positive",
                 hb_safetensors_path(file), j + 1, model->scale[j]);
    hb_model_set_scales(model);
    return HB_OK;
}

hb_status hb_net_read(hb_context *context, const hb_safetensors *file, const hb_net *net,
                      float *parameters)
{
    for (int k = 0; k < hb_net_tensors(net); k++) {
        hb_net_tensor tensor;
        hb_net_tensor_get(net, k, &tensor);
        HB_TRY(hb_safetensors_copy(context, file, tensor.name, HB_DTYPE_F32,
                                   (uint64_t)tensor.rows * (uint64_t)tensor.columns,
                                   parameters + tensor.offset));
    }
    return HB_OK;
}

static hb_status file_read_arrays(hb_context *context, const hb_safetensors *file, hb_model *model)
{
    const uint64_t d = (uint64_t)model->info.dim;
    HB_TRY(hb_safetensors_copy(context, file, "shift", HB_DTYPE_F64, d, model->shift));
    HB_TRY(hb_safetensors_copy(context, file, "reference.mean", HB_DTYPE_F64, d, model->mean));
    HB_TRY(
        hb_safetensors_copy(context, file, "reference.variance", HB_DTYPE_F64, d, model->variance));
    HB_TRY(hb_safetensors_copy(context, file, "reference.axes", HB_DTYPE_F32, d * d, model->axes));
    HB_TRY(hb_net_read(context, file, model->net, model->parameters));
    HB_TRY(hb_net_prepare(context, model->net, model->parameters));
    if (model->info.process == HB_PROCESS_DRIFT) HB_TRY(hb_model_flow_read(context, file, model));
    return file_check_reference(context, file, model);
}

/* Before memory is asked for: the file must be large enough for the numbers that its texts promise.
 */
static hb_status check_size(hb_context *context, const hb_safetensors *file,
                            const hb_model_info *info)
{
    const uint64_t axes = hb_safetensors_count(file, "reference.axes");
    const uint64_t weight =
        hb_safetensors_count(file, info->depth > 1 ? "layer1.weight" : "layer0.weight");
    HB_CHECK(context, info->dim > 0 && axes == (uint64_t)info->dim * (uint64_t)info->dim,
             HB_ERROR_FORMAT, "%s: its dim is %d, but its reference has %llu values of axes",
             hb_safetensors_path(file), info->dim, (unsigned long long)axes);
    HB_CHECK(context, info->width > 0 && weight >= (uint64_t)info->width, HB_ERROR_FORMAT,
             "%s: its width is %d, but its layers have %llu weights", hb_safetensors_path(file),
             info->width, (unsigned long long)weight);
    return HB_OK;
}

hb_status hb_model_read(hb_context *context, const hb_safetensors *file, hb_model **out)
{
    hb_model_info info = {0};
    hb_model *model = NULL;
    *out = NULL;
    HB_TRY(file_parse_info(context, file, &info));
    HB_TRY(check_size(context, file, &info));
    if (hb_model_create(context, &info, &model) != HB_OK) {
        char reason[400];
        snprintf(reason, sizeof reason, "%s", hb_context_message(context));
        return hb_fail(context, HB_ERROR_FORMAT, "%s: %s", hb_safetensors_path(file), reason);
    }
    model->info.half = hb_safetensors_half(file, "layer0.weight");
    hb_status status = file_read_scales(context, file, info.scale, model);
    if (status == HB_OK) status = file_read_arrays(context, file, model);
    if (status == HB_OK) status = hb_model_columns_read(context, file, model);
    if (status == HB_OK) status = hb_model_maps_read(context, file, model);
    if (status != HB_OK) hb_model_destroy(model);
    *out = status == HB_OK ? model : NULL;
    return status;
}

hb_status hb_model_load(hb_context *context, const char *path, hb_model **out)
{
    hb_safetensors *file = NULL;
    HB_CHECK(context, path && out, HB_ERROR_ARGUMENT, "the path or the output is NULL");
    *out = NULL;
    hb_status status = hb_safetensors_read(context, path, &file);
    if (status == HB_OK) status = hb_model_read(context, file, out);
    hb_safetensors_destroy(file);
    return status;
}
