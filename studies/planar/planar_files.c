/* The files of the runs: what settings their numbers depend on, the curves, and whether the model
 * is there.
 *
 * planar.csv has one row per number: set, method, seed, step, quantity, value. */
#include "planar.h"

#include <stdlib.h>
#include <unistd.h>

const char *hb_planar_value_name(int index, char buffer[32])
{
    static const char *const names[] = {"residual_raw",   "mmd",         "mmd_floor",
                                        "modes",          "modes_found", "poorest_mode",
                                        "outliers",       "curl",        "rotation",
                                        "rotation_exact", "tangential",  "tangential_exact",
                                        "floor",          "floor_low"};
    if (index < PLANAR_RESIDUAL)
        snprintf(buffer, 32, "mse_%s_tau%g", hb_planar_regions[index % PLANAR_REGIONS],
                 hb_planar_taus[index / PLANAR_REGIONS]);
    else if (index < PLANAR_RESIDUAL_RAW)
        snprintf(buffer, 32, "residual_tau%g", hb_planar_taus[index - PLANAR_RESIDUAL]);
    else
        snprintf(buffer, 32, "%s", names[index - PLANAR_RESIDUAL_RAW]);
    return buffer;
}

void hb_planar_describe(const hb_comparison *result, const hb_trial *run, size_t n, char *text)
{
    const hb_planar_size *size = hb_planar_size_of(result);
    const hb_planar_set *set = &hb_planar_sets[run->set];
    const hb_recipe *recipe = &hb_planar_recipes[run->method];
    snprintf(text, n,
             "set=%s method=%s seed=%llu loss=%d head=%d target_rows=%d batch=%d "
             "sigma_max=%.17g steps=%llu rows=%d width=%d judge=%zu watch=%zu samples=%zu "
             "generate_steps=%d anchors=%zu watch_anchors=%zu",
             set->name, recipe->name, (unsigned long long)run->seed, recipe->loss, recipe->head,
             recipe->target_rows, set->batch, set->sigma_max, (unsigned long long)run->steps,
             size->rows, size->width, size->judge, size->watch, size->samples, size->generate_steps,
             size->anchors, size->watch_anchors);
}

/* ---- curves ---- */

static json_t *moment_json(const hb_planar_moment *moment)
{
    json_t *object = json_object(), *errors = json_array();
    json_object_set_new(object, "step", json_integer((json_int_t)moment->step));
    for (int k = 0; k < PLANAR_CURVE_TAUS; k++)
        json_array_append_new(errors, json_pack("[o,o,o]", hb_study_number(moment->error[k][0]),
                                                hb_study_number(moment->error[k][1]),
                                                hb_study_number(moment->error[k][2])));
    json_object_set_new(object, "errors", errors);
    json_object_set_new(object, "residual", hb_study_number(moment->residual));
    return object;
}

void hb_planar_put(json_t *root, const hb_trial *run)
{
    json_t *curve = json_array();
    for (int k = 0; k < PLANAR_MOMENTS; k++)
        if (hb_planar_curve(run)[k].step > 0)
            json_array_append_new(curve, moment_json(&hb_planar_curve(run)[k]));
    json_object_set_new(root, "curve", curve);
}

/* Without its model a run is done again: the figures need it. */
int hb_planar_take(const hb_comparison *result, const json_t *root, hb_trial *run)
{
    const json_t *curve = json_object_get(root, "curve");
    char *model;
    if (hb_planar_model_path(NULL, result, run, &model) != HB_OK) return 0;
    const int there = access(model, R_OK) == 0;
    free(model);
    if (!there) return 0;
    for (size_t m = 0; m < json_array_size(curve) && m < PLANAR_MOMENTS; m++) {
        const json_t *entry = json_array_get(curve, m), *errors = json_object_get(entry, "errors");
        hb_planar_moment *moment = &hb_planar_curve(run)[m];
        moment->step = hb_cells_number(json_object_get(entry, "step"));
        moment->residual = hb_cells_number(json_object_get(entry, "residual"));
        for (size_t k = 0; k < PLANAR_CURVE_TAUS; k++)
            for (size_t region = 0; region < 3; region++)
                moment->error[k][region] =
                    hb_cells_number(json_array_get(json_array_get(errors, k), region));
    }
    return 1;
}

hb_status hb_planar_model_path(hb_context *context, const hb_comparison *result,
                               const hb_trial *run, char **path)
{
    char name[64], file[80];
    hb_compare_name(result, run, name);
    snprintf(file, sizeof file, "%s.safetensors", name);
    return hb_study_path(context, result->directory, file, path);
}

hb_status hb_planar_write_curve(hb_writer *writer, const hb_comparison *result, const hb_trial *run)
{
    char quantity[48];
    for (const hb_planar_moment *m = hb_planar_curve(run);
         m < hb_planar_curve(run) + PLANAR_MOMENTS; m++) {
        if (!(m->step > 0)) continue;
        for (int i = 0; i < PLANAR_CURVE_TAUS * 3; i++) {
            snprintf(quantity, sizeof quantity, "curve_mse_%s_tau%g", hb_planar_regions[i % 3],
                     hb_planar_curve_taus[i / 3]);
            HB_TRY(hb_compare_write_number(writer, result, run, (uint64_t)m->step, quantity,
                                           m->error[i / 3][i % 3]));
        }
        HB_TRY(hb_compare_write_number(writer, result, run, (uint64_t)m->step,
                                       "curve_residual_tau0.3", m->residual));
    }
    return HB_OK;
}
