/* Maps of the columns of a model's data: z_j = (g_j(x_j) - shift_j)/scale_j.
 *
 * g is the identity, ln x, a logit or arsinh((x - center)/width): the coordinates of an axis map
 * (problem/transform/axis_map.h), which give densities, scores and divergences of x from those of z
 * as they do for an SDE as typed. Shift and scale are in the transform: model->shift is 0 and
 * model->scale 1. A number to reproduce: g = ln x with shift 0 and scale 1 takes x = 2 to 0.6931472
 * and ln p(x) to ln p(z) - 0.6931472. */
#include "base/context.h"
#include "net/model_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void maps_describe(const hb_model *model, hb_transform *maps)
{
    size_t at = 0;
    for (int j = 0; j < maps->dim && at < sizeof maps->text; j++) {
        const char *own = hb_model_column_name(model, j);
        char name[24], text[64];
        if (maps->axes[j].kind == HB_AXIS_SAME) continue;
        snprintf(name, sizeof name, "x%d", j + 1);
        if (own) snprintf(name, sizeof name, "%.20s", own);
        hb_axis_text(&maps->axes[j], name, sizeof text, text);
        at +=
            (size_t)snprintf(maps->text + at, sizeof maps->text - at, "%s%s", at ? ", " : "", text);
    }
}

static void maps_domain(hb_axis_map *axis)
{
    axis->low = axis->kind == HB_AXIS_RISE   ? axis->center
                : axis->kind == HB_AXIS_TANH ? axis->center - axis->width
                                             : -INFINITY;
    axis->high = axis->kind == HB_AXIS_FALL   ? axis->center
                 : axis->kind == HB_AXIS_TANH ? axis->center + axis->width
                                              : INFINITY;
}

hb_status hb_model_set_maps(hb_context *context, hb_model *model, const hb_axis_map *axes)
{
    const size_t d = (size_t)model->info.dim;
    hb_transform *maps;
    HB_TRY(HB_NEW_CLEARED(context, maps, 1));
    model->maps = maps;
    maps->dim = model->info.dim;
    maps->bends = maps->scales = 1;
    HB_TRY(HB_NEW_CLEARED(context, maps->axes, d));
    HB_TRY(HB_NEW_CLEARED(context, maps->L, d * d));
    for (size_t j = 0; j < d; j++) {
        maps->axes[j] = axes[j];
        maps->axes[j].table = NULL;
        maps->axes[j].shift += model->shift[j];
        maps_domain(&maps->axes[j]);
        maps->L[j * (d + 1)] = model->scale[j];
        model->shift[j] = 0;
        model->scale[j] = 1;
    }
    hb_model_set_scales(model);
    maps_describe(model, maps);
    return HB_OK;
}

const char *hb_model_maps(const hb_model *model)
{
    return model && model->maps ? model->maps->text : "";
}

/* ---- in files ---- */

void hb_model_map_numbers(const hb_model *model, double *numbers)
{
    const size_t d = (size_t)model->info.dim;
    for (size_t j = 0; j < d; j++) {
        const hb_axis_map *axis = &model->maps->axes[j];
        const double row[HB_MODEL_MAP_NUMBERS] = {axis->kind, axis->center, axis->width,
                                                  axis->shift, model->maps->L[j * (d + 1)]};
        memcpy(numbers + j * HB_MODEL_MAP_NUMBERS, row, sizeof row);
    }
}

static hb_status maps_of_numbers(hb_context *context, const hb_safetensors *file, hb_model *model,
                                 const double *numbers, hb_axis_map *axes)
{
    for (size_t j = 0; j < (size_t)model->info.dim; j++) {
        const double *row = numbers + j * HB_MODEL_MAP_NUMBERS;
        int good = row[0] >= HB_AXIS_SAME && row[0] < HB_AXIS_TABLE && row[0] == floor(row[0]);
        for (int k = 0; k < HB_MODEL_MAP_NUMBERS; k++) good &= isfinite(row[k]);
        good &= row[4] > 0 && (row[2] > 0 || row[0] < HB_AXIS_TANH);
        HB_CHECK(context, good && model->shift[j] == 0 && model->scale[j] == 1, HB_ERROR_FORMAT,
                 "%s: the map of column %zu is (%g, %g, %g, %g, %g), which is none",
                 hb_safetensors_path(file), j + 1, row[0], row[1], row[2], row[3], row[4]);
        axes[j] = (hb_axis_map){
            .kind = (hb_axis_kind)row[0], .center = row[1], .width = row[2], .shift = row[3]};
        model->scale[j] = row[4];
    }
    return hb_model_set_maps(context, model, axes);
}

hb_status hb_model_maps_read(hb_context *context, const hb_safetensors *file, hb_model *model)
{
    const size_t d = (size_t)model->info.dim;
    hb_workspace work;
    double *numbers;
    hb_axis_map *axes;
    if (!hb_safetensors_count(file, "columns.maps")) return HB_OK;
    HB_CHECK(context, !model->flow.drift, HB_ERROR_FORMAT,
             "%s has maps of columns and a drift; it must have one of them",
             hb_safetensors_path(file));
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(numbers, d * HB_MODEL_MAP_NUMBERS),
                        HB_ARRAY(axes, d)));
    hb_status status = hb_safetensors_copy(context, file, "columns.maps", HB_DTYPE_F64,
                                           d * HB_MODEL_MAP_NUMBERS, numbers);
    if (status == HB_OK) status = maps_of_numbers(context, file, model, numbers, axes);
    hb_workspace_destroy(&work);
    return status;
}
