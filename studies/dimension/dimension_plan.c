/* What is run: dimensions x rows x families x methods x seeds.
 *
 * All have the energy head, OU, batches of 256, the same steps, and each loss its own defaults. fp,
 * hb and dsm-targets have the same averaged targets, so that hb : dsm-targets is what the
 * constraint brings, and dsm-targets : dsm what the targets bring.
 *
 * Equal seconds means a constant number of steps, so that every byte of the results can be
 * repeated: dsm-time takes steps * cost(hb)/cost(dsm-targets) of them, with the costs of the table
 * below. They are compared at the largest number of rows alone; the other numbers of rows have
 * fewer seeds. */
#include "dimension.h"

#include <math.h>

enum { TARGET_ROWS = 512 };

const hb_recipe hb_dimension_recipes[DIMENSION_METHODS] = {
    {"dsm", "DSM, targets of one row", 4, HB_LOSS_DSM, HB_HEAD_ENERGY, 0, -1, 0, 0, 1},
    {"dsm-targets", "DSM, averaged targets", 1, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0,
     1},
    {"fp", "FP, averaged targets", 3, HB_LOSS_FP, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0, 1},
    {"hb", "HB, averaged targets", 0, HB_LOSS_HB, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0, 1},
    {"dsm-time", "DSM, equal seconds", 1, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGET_ROWS, DIMENSION_HB, 0,
     0, 1},
    {"fp-time", "FP, equal seconds", 3, HB_LOSS_FP, HB_HEAD_ENERGY, TARGET_ROWS, DIMENSION_HB, 0, 0,
     1}};

const double hb_dimension_taus[DIMENSION_TAUS] = {0.03, 0.1, 0.3, 0.8};

/* Milliseconds of processor time of a step, the mean over a training of 1200: one thread, width 64,
 * batch 256, 8000 rows, the least of three, Zen 4. To be renewed when a loss gets cheaper; cells of
 * the methods *-time are then done again, since their steps are part of their settings. */
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
    const double costs[DIMENSION_METHODS] = {STEP_COSTS[k].dsm,         STEP_COSTS[k].dsm_targets,
                                             STEP_COSTS[k].fp,          STEP_COSTS[k].hb,
                                             STEP_COSTS[k].dsm_targets, STEP_COSTS[k].fp};
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

static void dimension_add(hb_comparison *result, int d, int set, int method, int s)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    const int dim = size->dim[d], as = hb_dimension_recipes[method].as_long_as;
    const double cost = hb_dimension_step_cost(dim, method);
    const double more = as < 0 ? 1 : hb_dimension_step_cost(dim, as) / cost;
    const double steps = fmax(1, round(size->steps * more));
    hb_compare_add(result, set, method, s, steps,
                   steps * cost + 0.05 * (double)size->judge +
                       0.07 * (double)size->test * dim); /* judging */
}

void hb_dimension_plan(hb_comparison *result)
{
    const hb_dimension_size *size = hb_dimension_size_of(result);
    const int largest = hb_dimension_largest(size);
    for (int s = 0; s < size->seeds; s++)
        for (int r = largest; r >= (s < size->few_seeds ? 0 : largest); r--)
            for (int i = 0; i < size->n_dims * DIMENSION_FAMILIES * DIMENSION_METHODS; i++) {
                const int d = i / DIMENSION_METHODS / DIMENSION_FAMILIES,
                          family = i / DIMENSION_METHODS % DIMENSION_FAMILIES,
                          method = i % DIMENSION_METHODS;
                if (hb_dimension_recipes[method].as_long_as < 0 || r == largest)
                    dimension_add(result, d, hb_dimension_set(d, r, family), method, s);
            }
}
