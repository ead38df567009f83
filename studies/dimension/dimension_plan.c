/* What is run: dimensions x rows x families x methods x seeds.
 *
 * All have the energy head, OU, batches of 256, the same steps, and each loss its own defaults. fp, hb and
 * dsm-targets have the same averaged targets, so that hb : dsm-targets is what the constraint brings, and
 * dsm-targets : dsm what the targets bring.
 *
 * Equal seconds means a constant number of steps, so that every byte of the results can be repeated:
 * dsm-time takes steps * cost(hb)/cost(dsm-targets) of them, with the costs of the table below. They are
 * compared at the largest number of rows alone; the other numbers of rows have fewer seeds. */
#include "dimension.h"

#include <heatball/train.h>

#include <math.h>
#include <stdlib.h>

enum { TARGET_ROWS = 512 };

const hb_dimension_recipe hb_dimension_recipes[DIMENSION_METHODS] = {
    {"dsm", HB_LOSS_DSM, 0, DIMENSION_DSM, 0},
    {"dsm-targets", HB_LOSS_DSM, TARGET_ROWS, DIMENSION_DSM_TARGETS, 0},
    {"fp", HB_LOSS_FP, TARGET_ROWS, DIMENSION_FP, 0},
    {"hb", HB_LOSS_HB, TARGET_ROWS, DIMENSION_HB, 0},
    {"dsm-time", HB_LOSS_DSM, TARGET_ROWS, DIMENSION_DSM_TARGETS, 1},
    {"fp-time", HB_LOSS_FP, TARGET_ROWS, DIMENSION_FP, 1}};

const double hb_dimension_taus[DIMENSION_TAUS] = {0.03, 0.1, 0.3, 0.8};

/* Milliseconds of processor time of a step, the mean over a training of 1200: one thread, width 64, batch 256,
 * 8000 rows, the least of three, Zen 4. To be renewed when a loss gets cheaper;
 * cells of the methods *-time are then done again, since their steps are part of their settings. */
static const struct {
    int dim;
    double dsm, dsm_targets, fp, hb;
} STEP_COSTS[DIMENSION_DIMS] = {{2, 0.48, 0.66, 0.93, 0.99},  {4, 0.49, 0.67, 1.42, 1.23},
                                {8, 0.49, 0.67, 1.39, 1.16},  {16, 0.54, 0.73, 1.53, 1.28},
                                {32, 0.63, 0.94, 1.18, 1.20}, {64, 0.84, 1.31, 1.59, 1.75}};

double hb_dimension_step_cost(int dim, int method)
{
    int k = 0;
    while (k < DIMENSION_DIMS - 1 && STEP_COSTS[k].dim < dim) k++;
    const double costs[] = {STEP_COSTS[k].dsm, STEP_COSTS[k].dsm_targets, STEP_COSTS[k].fp,
                            STEP_COSTS[k].hb};
    return costs[method];
}

hb_dimension_size hb_dimension_choose_size(const hb_study_settings *settings)
{
    hb_dimension_size size = {.seed = settings->seed,
                              .n_dims = 6,
                              .dim = {2, 4, 8, 16, 32, 64},
                              .n_rows = 3,
                              .rows = {500, 2000, 8000},
                              .seeds = 5,
                              .few_seeds = 2,
                              .steps = 3000,
                              .width = 64,
                              .judge = 4000,
                              .test = 128};
    if (settings->quick) {
        size.n_dims = 2;
        size.dim[1] = 8;
        size.n_rows = 2;
        size.seeds = 1;
        size.steps = 400;
        size.width = 32;
        size.judge = 1000;
        size.test = 64;
    }
    if (settings->seeds > 0) size.seeds = settings->seeds;
    if (size.few_seeds > size.seeds) size.few_seeds = size.seeds;
    return size;
}

int hb_dimension_largest(const hb_dimension_size *size)
{
    return size->n_rows - 1;
}

static uint64_t steps_of(const hb_dimension_size *size, int dim, int method)
{
    const hb_dimension_recipe *recipe = &hb_dimension_recipes[method];
    double steps = size->steps;
    if (recipe->equal_time)
        steps *=
            hb_dimension_step_cost(dim, DIMENSION_HB) / hb_dimension_step_cost(dim, recipe->step);
    return (uint64_t)fmax(1, round(steps));
}

static size_t place_of(const hb_dimension_size *size, int d, int r, int family, int method, int s)
{
    size_t at = (size_t)d * (size_t)size->n_rows + (size_t)r;
    at = (at * DIMENSION_FAMILIES + (size_t)family) * DIMENSION_METHODS + (size_t)method;
    return at * (size_t)size->seeds + (size_t)s;
}

const hb_dimension_cell *hb_dimension_at(const hb_dimension_result *result, int d, int r,
                                         int family, int method, int s)
{
    const int at = result->place[place_of(&result->size, d, r, family, method, s)];
    return at < 0 ? NULL : &result->cells[at];
}

void hb_dimension_cell_name(const hb_dimension_size *size, const hb_dimension_cell *cell,
                            char name[64])
{
    snprintf(name, 64, "d%d-%d-%s-%s-%llu", size->dim[cell->d], size->rows[cell->r],
             hb_dimension_families[cell->family], hb_dimension_recipes[cell->method].name,
             (unsigned long long)cell->seed);
}

static void add_cell(hb_dimension_result *result, int d, int r, int family, int method, int s)
{
    const hb_dimension_size *size = &result->size;
    const int dim = size->dim[d];
    hb_dimension_cell *cell = &result->cells[result->n];
    cell->d = d;
    cell->r = r;
    cell->family = family;
    cell->method = method;
    cell->s = s;
    cell->seed = size->seed + (uint64_t)s;
    cell->steps = steps_of(size, dim, method);
    cell->cost =
        (double)cell->steps * hb_dimension_step_cost(dim, hb_dimension_recipes[method].step) +
        0.05 * (double)size->judge + 0.07 * (double)size->test * dim; /* judging */
    result->place[place_of(size, d, r, family, method, s)] = (int)result->n++;
}

hb_status hb_dimension_plan(hb_context *context, hb_dimension_result *result)
{
    const hb_dimension_size *size = &result->size;
    const size_t most = place_of(size, size->n_dims, 0, 0, 0, 0);
    void *cells, *place;
    HB_TRY(hb_study_allocate(context, most, sizeof(hb_dimension_cell), &cells));
    result->cells = cells;
    HB_TRY(hb_study_allocate(context, most, sizeof(int), &place));
    result->place = place;
    for (size_t i = 0; i < most; i++) result->place[i] = -1;
    for (int s = 0; s < size->seeds; s++)
        for (int r = hb_dimension_largest(size);
             r >= (s < size->few_seeds ? 0 : hb_dimension_largest(size)); r--)
            for (int d = 0; d < size->n_dims; d++)
                for (int family = 0; family < DIMENSION_FAMILIES; family++)
                    for (int method = 0; method < DIMENSION_METHODS; method++)
                        if (!hb_dimension_recipes[method].equal_time ||
                            r == hb_dimension_largest(size))
                            add_cell(result, d, r, family, method, s);
    return HB_OK;
}

void hb_dimension_release(hb_dimension_result *result)
{
    free(result->cells);
    free(result->place);
}
