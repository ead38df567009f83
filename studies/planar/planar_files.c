/* The files of the runs, and the long table.
 *
 * runs/SET-METHOD-SEED.json holds all numbers of a run and a fingerprint: every setting that they
 * depend on, in one line. --resume takes a run over only when the fingerprint is that of the run it
 * would do and the model lies beside it. planar.csv has one row per number: set, method, seed, step,
 * quantity, value. */
#include "planar.h"

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

/* ---- the cells ---- */

typedef struct plan {
    const hb_planar_size *size;
    const char *directory;
    hb_planar_run *runs;
} plan;

static void describe(const void *user, size_t i, hb_cell *cell)
{
    const plan *p = user;
    const hb_planar_run *run = &p->runs[i];
    const hb_planar_size *size = p->size;
    const hb_planar_set *set = &hb_planar_sets[run->set];
    const hb_planar_recipe *recipe = &hb_planar_recipes[run->method];
    hb_planar_run_name(run, cell->name);
    snprintf(cell->settings, sizeof cell->settings,
             "set=%s method=%s seed=%llu loss=%d head=%d target_rows=%d batch=%d "
             "sigma_max=%.17g steps=%llu rows=%d width=%d judge=%zu watch=%zu samples=%zu "
             "generate_steps=%d anchors=%zu watch_anchors=%zu",
             set->name, recipe->name, (unsigned long long)run->seed, recipe->loss, recipe->head,
             recipe->target_rows, set->batch, set->sigma_max, (unsigned long long)run->steps,
             size->rows, size->width, size->judge, size->watch, size->samples, size->generate_steps,
             size->anchors, size->watch_anchors);
    cell->cost = run->cost;
    cell->done = run->done;
}

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

static hb_status run_cell(hb_context *context, void *user, size_t i, json_t *root)
{
    const plan *p = user;
    hb_planar_run *run = &p->runs[i];
    HB_TRY(hb_planar_do(context, p->size, p->directory, run));
    json_t *curve = json_array();
    hb_cells_put_values(root, PLANAR_VALUES, hb_planar_value_name, run->value);
    for (int k = 0; k < PLANAR_MOMENTS; k++)
        if (run->curve[k].step) json_array_append_new(curve, moment_json(&run->curve[k]));
    json_object_set_new(root, "curve", curve);
    return HB_OK;
}

static void read_curve(const json_t *curve, hb_planar_run *run)
{
    for (size_t m = 0; m < json_array_size(curve) && m < PLANAR_MOMENTS; m++) {
        const json_t *entry = json_array_get(curve, m), *errors = json_object_get(entry, "errors");
        hb_planar_moment *moment = &run->curve[m];
        moment->step = (uint64_t)json_integer_value(json_object_get(entry, "step"));
        moment->residual = hb_cells_number(json_object_get(entry, "residual"));
        for (size_t k = 0; k < PLANAR_CURVE_TAUS; k++)
            for (size_t region = 0; region < 3; region++)
                moment->error[k][region] =
                    hb_cells_number(json_array_get(json_array_get(errors, k), region));
    }
}

/* Without its model a run is done again: the figures need it. */
static void take(void *user, size_t i, const json_t *root)
{
    const plan *p = user;
    hb_planar_run *run = &p->runs[i];
    char name[64], *model;
    hb_planar_run_name(run, name);
    if (asprintf(&model, "%s/%s.safetensors", p->directory, name) < 0) return;
    if (access(model, R_OK) == 0) {
        hb_cells_get_values(root, PLANAR_VALUES, hb_planar_value_name, run->value);
        read_curve(json_object_get(root, "curve"), run);
        run->done = 1;
    }
    free(model);
}

static hb_cells cells_of(size_t n, plan *user)
{
    return (hb_cells){.study = "planar",
                      .format = FORMAT,
                      .directory = user->directory,
                      .n = n,
                      .user = user,
                      .describe = describe,
                      .run = run_cell,
                      .take = take};
}

hb_status hb_planar_read_all(hb_context *context, const hb_planar_size *size, const char *directory,
                             size_t n, hb_planar_run *runs)
{
    plan p = {size, directory, runs};
    const hb_cells cells = cells_of(n, &p);
    return hb_cells_read(context, &cells);
}

hb_status hb_planar_do_all(hb_context *context, const hb_planar_size *size, const char *directory,
                           size_t n, hb_planar_run *runs)
{
    plan p = {size, directory, runs};
    const hb_cells cells = cells_of(n, &p);
    return hb_cells_do(context, &cells);
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

static hb_status write_run_rows(hb_writer *writer, const void *user, size_t i_run)
{
    const hb_planar_run *run = (const hb_planar_run *)user + i_run;
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
    return hb_study_write_csv(context, directory, "planar.csv", sizeof names / sizeof *names, names,
                              n, write_run_rows, runs);
}
