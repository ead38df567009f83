/* The files of the runs, and the long table.
 *
 * runs/SET-METHOD-SEED.json holds all numbers of a run and a fingerprint: every setting that they
 * depend on, in one line. --resume takes a run over only when the fingerprint is that of the run it
 * would do and the model lies beside it. planar.csv has one row per number: set, method, seed, step,
 * quantity, value. */
#include "planar.h"

#include <heatball/file.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "planar-2" /* to be raised when the same settings mean other numbers */

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

static json_t *fingerprint(const hb_context *context, const hb_planar_size *size,
                           const hb_planar_run *run)
{
    const hb_planar_set *set = &hb_planar_sets[run->set];
    const hb_planar_recipe *recipe = &hb_planar_recipes[run->method];
    return hb_study_text(
        "%s %s %s set=%s method=%s seed=%llu loss=%d head=%d target_rows=%d batch=%d "
        "sigma_max=%.17g steps=%llu rows=%d width=%d judge=%zu watch=%zu samples=%zu "
        "generate_steps=%d anchors=%zu watch_anchors=%zu",
        FORMAT, hb_version(), hb_context_isa(context), set->name, recipe->name,
        (unsigned long long)run->seed, recipe->loss, recipe->head, recipe->target_rows, set->batch,
        set->sigma_max, (unsigned long long)run->steps, size->rows, size->width, size->judge,
        size->watch, size->samples, size->generate_steps, size->anchors, size->watch_anchors);
}

/* ---- written ---- */

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

hb_status hb_planar_write_run(hb_context *context, const hb_planar_size *size,
                              const char *directory, const hb_planar_run *run)
{
    char name[64], file[80], buffer[32];
    json_t *root = json_object(), *values = json_object(), *curve = json_array();
    json_object_set_new(root, "fingerprint", fingerprint(context, size, run));
    for (int i = 0; i < PLANAR_VALUES; i++)
        json_object_set_new(values, hb_planar_value_name(i, buffer),
                            hb_study_number(run->value[i]));
    for (int k = 0; k < PLANAR_MOMENTS; k++)
        if (run->curve[k].step) json_array_append_new(curve, moment_json(&run->curve[k]));
    json_object_set_new(root, "values", values);
    json_object_set_new(root, "curve", curve);
    hb_planar_run_name(run, name);
    snprintf(file, sizeof file, "%s.json", name);
    return hb_study_write_json(context, directory, file, root);
}

/* ---- read ---- */

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void read_values(const json_t *root, hb_planar_run *run)
{
    char buffer[32];
    const json_t *values = json_object_get(root, "values"), *curve = json_object_get(root, "curve");
    for (int i = 0; i < PLANAR_VALUES; i++)
        run->value[i] = number_of(json_object_get(values, hb_planar_value_name(i, buffer)));
    for (size_t m = 0; m < json_array_size(curve) && m < PLANAR_MOMENTS; m++) {
        const json_t *entry = json_array_get(curve, m), *errors = json_object_get(entry, "errors");
        hb_planar_moment *moment = &run->curve[m];
        moment->step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
        moment->residual = number_of(json_object_get(entry, "residual"));
        for (size_t k = 0; k < PLANAR_CURVE_TAUS; k++)
            for (size_t region = 0; region < 3; region++)
                moment->error[k][region] =
                    number_of(json_array_get(json_array_get(errors, k), region));
    }
}

hb_status hb_planar_read_run(hb_context *context, const hb_planar_size *size, const char *directory,
                             hb_planar_run *run)
{
    char name[64], file[80], *path, *model;
    hb_planar_run_name(run, name);
    snprintf(file, sizeof file, "%s.json", name);
    HB_TRY(hb_study_path(context, directory, file, &path));
    json_t *root = json_load_file(path, 0, NULL), *wanted = fingerprint(context, size, run);
    free(path);
    snprintf(file, sizeof file, "%s.safetensors", name);
    const hb_status status = hb_study_path(context, directory, file, &model);
    if (status == HB_OK && json_equal(json_object_get(root, "fingerprint"), wanted) &&
        access(model, R_OK) == 0) {
        read_values(root, run);
        run->done = 1;
    }
    free(model);
    json_decref(wanted);
    json_decref(root);
    return status;
}

/* ---- the long table ---- */

static hb_status write_number(hb_writer *writer, const hb_planar_run *run, uint64_t step,
                              const char *quantity, double value)
{
    if (isnan(value)) return HB_OK;
    return hb_writer_printf(writer, "%s,%s,%llu,%llu,%s,%.17g\n", hb_planar_sets[run->set].name,
                            hb_planar_recipes[run->method].name, (unsigned long long)run->seed,
                            (unsigned long long)step, quantity, value);
}

static hb_status write_moment(hb_writer *writer, const hb_planar_run *run,
                              const hb_planar_moment *moment)
{
    char quantity[48];
    for (int k = 0; k < PLANAR_CURVE_TAUS; k++)
        for (int region = 0; region < 3; region++) {
            snprintf(quantity, sizeof quantity, "curve_mse_%s_tau%g", hb_planar_regions[region],
                     hb_planar_curve_taus[k]);
            HB_TRY(write_number(writer, run, moment->step, quantity, moment->error[k][region]));
        }
    return write_number(writer, run, moment->step, "curve_residual_tau0.3", moment->residual);
}

static hb_status write_run_rows(hb_writer *writer, const hb_planar_run *run)
{
    char buffer[32];
    for (int i = 0; i < PLANAR_VALUES; i++)
        HB_TRY(
            write_number(writer, run, run->steps, hb_planar_value_name(i, buffer), run->value[i]));
    for (int k = 0; k < PLANAR_MOMENTS; k++)
        if (run->curve[k].step) HB_TRY(write_moment(writer, run, &run->curve[k]));
    return HB_OK;
}

hb_status hb_planar_write_table(hb_context *context, const char *directory, size_t n,
                                const hb_planar_run *runs)
{
    static const char *const names[] = {"set", "method", "seed", "step", "quantity", "value"};
    char *path;
    HB_TRY(hb_study_path(context, directory, "planar.csv", &path));
    hb_writer *writer;
    hb_status status = hb_writer_create(context, path, &writer);
    free(path);
    if (status == HB_OK) status = hb_writer_csv_header(writer, sizeof names / sizeof *names, names);
    for (size_t i = 0; i < n && status == HB_OK; i++) status = write_run_rows(writer, &runs[i]);
    if (status == HB_OK) return hb_writer_commit(writer);
    hb_writer_abort(writer);
    return status;
}
