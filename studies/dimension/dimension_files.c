/* The cells as those of study_cells.h, and the long table.
 *
 * cells/dD-ROWS-FAMILY-METHOD-SEED.json holds the numbers of a cell. dimension.csv has one row per number:
 * dim, rows, family, method, seed, steps, quantity, value. What the losses' recipes are is not part of a
 * cell's settings: after a change of src/train raise FORMAT, or start anew. */
#include "dimension.h"

#include <math.h>

#define FORMAT "dimension-4" /* to be raised when the same settings mean other numbers */

const char *hb_dimension_value_name(int index, char buffer[32])
{
    if (index < DIMENSION_LIKELIHOOD)
        snprintf(buffer, 32, "mse_%s_tau%g", index % 2 ? "low" : "all",
                 hb_dimension_taus[index / 2]);
    else
        snprintf(buffer, 32, "log_likelihood%s",
                 index == DIMENSION_LIKELIHOOD_EXACT ? "_exact" : "");
    return buffer;
}

static void describe(const void *user, size_t i, hb_cell *out)
{
    const hb_dimension_result *result = user;
    const hb_dimension_size *size = &result->size;
    const hb_dimension_cell *cell = &result->cells[i];
    const hb_dimension_recipe *recipe = &hb_dimension_recipes[cell->method];
    hb_dimension_cell_name(size, cell, out->name);
    snprintf(out->settings, sizeof out->settings,
             "dim=%d rows=%d family=%s method=%s seed=%llu loss=%d target_rows=%d steps=%llu "
             "width=%d judge=%zu test=%zu",
             size->dim[cell->d], size->rows[cell->r], hb_dimension_families[cell->family],
             recipe->name, (unsigned long long)cell->seed, recipe->loss, recipe->target_rows,
             (unsigned long long)cell->steps, size->width, size->judge, size->test);
    out->cost = cell->cost;
    out->done = cell->done;
}

static hb_status run(hb_context *context, void *user, size_t i, json_t *root)
{
    const hb_dimension_result *result = user;
    HB_TRY(hb_dimension_do(context, &result->size, &result->cells[i]));
    hb_cells_put_values(root, DIMENSION_VALUES, hb_dimension_value_name, result->cells[i].value);
    return HB_OK;
}

static void take(void *user, size_t i, const json_t *root)
{
    const hb_dimension_result *result = user;
    hb_cells_get_values(root, DIMENSION_VALUES, hb_dimension_value_name, result->cells[i].value);
    result->cells[i].done = 1;
}

hb_status hb_dimension_do_all(hb_context *context, const char *directory, int resume,
                              hb_dimension_result *result)
{
    const hb_cells cells = {.study = "dimension",
                            .format = FORMAT,
                            .directory = directory,
                            .n = result->n,
                            .in_order = 1,
                            .user = result,
                            .describe = describe,
                            .run = run,
                            .take = take};
    if (resume) HB_TRY(hb_cells_read(context, &cells));
    return hb_cells_do(context, &cells);
}

/* ---- the long table ---- */

static hb_status write_cell(hb_writer *writer, const void *user, size_t i_cell)
{
    const hb_dimension_result *result = user;
    const hb_dimension_size *size = &result->size;
    const hb_dimension_cell *cell = &result->cells[i_cell];
    char buffer[32];
    for (int i = 0; i < DIMENSION_VALUES; i++) {
        if (isnan(cell->value[i])) continue;
        HB_TRY(hb_writer_printf(writer, "%d,%d,%s,%s,%llu,%llu,%s,%.17g\n", size->dim[cell->d],
                                size->rows[cell->r], hb_dimension_families[cell->family],
                                hb_dimension_recipes[cell->method].name,
                                (unsigned long long)cell->seed, (unsigned long long)cell->steps,
                                hb_dimension_value_name(i, buffer), cell->value[i]));
    }
    return HB_OK;
}

hb_status hb_dimension_write_table(hb_context *context, const char *directory,
                                   const hb_dimension_result *result)
{
    static const char *const names[] = {"dim",  "rows",  "family",   "method",
                                        "seed", "steps", "quantity", "value"};
    return hb_study_write_csv(context, directory, "dimension.csv", sizeof names / sizeof *names,
                              names, result->n, write_cell, result);
}
