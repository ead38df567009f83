/* What is run: data sets x methods x seeds, seed by seed.
 *
 * All networks have the energy head, OU, batches of 256 and tau from 0.001 on. dsm-targets, fp and
 * hb have the same averaged targets, so that hb : dsm-targets is what the constraint brings; the
 * constraint is taken down to tau_min. dsm-time is dsm-targets with steps * cost(hb)/cost(
 * dsm-targets) steps, a constant of the table below, so that every byte can be repeated. */
#include "density.h"

#include <math.h>

enum { TARGET_ROWS = 512, ROWS = 20000 };

const double hb_density_taus[DENSITY_TAUS] = {DENSITY_TAU_MIN, 0.005, 0.02, 0.05, 0.2};

const hb_recipe hb_density_recipes[DENSITY_METHODS] = {
    {"dsm", "DSM, targets of one row", 4, HB_LOSS_DSM, HB_HEAD_ENERGY, 0, -1, 0, 0, 1},
    {"dsm-targets", "DSM, averaged targets", 1, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0,
     1},
    {"fp", "FP, averaged targets", 3, HB_LOSS_FP, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0, 1},
    {"hb", "HB, averaged targets", 0, HB_LOSS_HB, HB_HEAD_ENERGY, TARGET_ROWS, -1, 0, 0, 1},
    {"dsm-time", "DSM, equal seconds", 5, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGET_ROWS, DENSITY_HB, 0,
     0, 1},
    {"em", "Gaussian mixture by EM", 2, -1, -1, 0, -1, 0, 0, 1},
    {"kde", "kernel estimate", 7, -1, -1, 0, -1, 0, 0, 1}};

static const double THREE[] = {0.15, 0.6, 0.25}, UNEQUAL[] = {0.02, 0.28, 0.7},
                    WIDTHS[] = {0.5, 1, 1.5}, TWO[] = {0.2, 0.8};

// clang-format off
const hb_density_set hb_density_sets[DENSITY_SETS] = {
    {"apart", 2, ROWS, 3, 4.3, THREE, NULL},    {"apart", 4, ROWS, 3, 6.2, THREE, NULL},
    {"apart", 8, ROWS, 3, 8.8, THREE, NULL},    {"apart", 16, ROWS, 3, 11.5, THREE, NULL},
    {"apart", 32, ROWS, 3, 15, THREE, NULL},    {"apart", 64, ROWS, 3, 21, THREE, NULL},
    {"overlap", 2, ROWS, 3, 2.5, THREE, NULL},  {"overlap", 8, ROWS, 3, 2.5, THREE, NULL},
    {"overlap", 32, ROWS, 3, 2.5, THREE, NULL}, {"unequal", 2, ROWS, 3, 5, UNEQUAL, WIDTHS},
    {"unequal", 8, ROWS, 3, 8.8, UNEQUAL, WIDTHS}, {"unequal", 32, ROWS, 3, 15, UNEQUAL, WIDTHS},
    {"ten", 8, ROWS, 10, 8.8, NULL, NULL},      {"ten", 32, ROWS, 10, 15, NULL, NULL},
    {"fifty", 2, ROWS, 50, 20, NULL, NULL},     {"fifty", 16, ROWS, 50, 11.5, NULL, NULL},
    {"outliers", 8, ROWS, 0, 0, NULL, NULL},    {"two_moon", 2, 8000, 0, 0, NULL, NULL},
    {"ring", 2, 8000, 0, 0, NULL, NULL},        {"two_spiral", 2, 8000, 0, 0, NULL, NULL},
    {"pinwheel", 2, 8000, 0, 0, NULL, NULL},    {"two", 2, ROWS, 2, 14.142135623730951, TWO, NULL},
    {"muller", 2, 100000, 0, 0, NULL, NULL}};
// clang-format on

/* Milliseconds of processor time of a step, the mean over a training of 500: one thread, width 96,
 * batch 256, 20000 rows, the lesser of two, Zen 4. To be renewed when a loss gets cheaper; the trials of dsm-time are then done
 * again, since their steps are part of their settings. */
static const double STEP_COSTS[][1 + DENSITY_METHODS] = { // d, then a number for each method
    {2, 0.83, 1.09, 1.53, 1.66, 1.09},  {4, 0.87, 1.01, 2.34, 2.05, 1.01},
    {8, 0.88, 1.16, 2.32, 2.14, 1.16},  {16, 1.03, 1.49, 2.61, 2.12, 1.49},
    {32, 0.99, 1.43, 1.72, 2.09, 1.43}, {64, 1.29, 1.87, 2.34, 2.47, 1.87}};

double hb_density_step_cost(int dim, int method)
{
    size_t k = 0;
    while (k + 1 < HB_COUNT(STEP_COSTS) && STEP_COSTS[k][0] < dim) k++;
    return STEP_COSTS[k][1 + method];
}

// clang-format off
hb_density_size hb_density_choose_size(const hb_study_settings *settings)
{
    hb_density_size size = {.seed = settings->seed, .sets = (1 << DENSITY_SETS) - 1,
        .seeds = 5, .steps = 4000, .width = 96, .rows = 100000, .judge = 1000, .test = 256,
        .check = 256, .lattice = 201, .chains = 1000, .moves = 400};
    if (settings->quick) /* apart in 2 and 8 dimensions, two, muller */
        size = (hb_density_size){.seed = settings->seed, .sets = 1 | 1 << 2 | 3 << DENSITY_TWO,
            .seeds = 1, .steps = 250, .width = 32, .rows = 2000, .judge = 500, .test = 32,
            .check = 80, .lattice = 81, .chains = 100, .moves = 100};
    if (settings->seeds > 0) size.seeds = settings->seeds;
    return size;
}

// clang-format on
static void density_add(hb_comparison *result, int set, int method, int s)
{
    const hb_density_size *size = hb_density_size_of(result);
    const int dim = hb_density_sets[set].dim, as = hb_density_recipes[method].as_long_as;
    const double cost = hb_density_step_cost(dim, method), fit = method >= DENSITY_EM;
    const double more = as < 0 ? 1 : hb_density_step_cost(dim, as) / cost;
    const double steps = fit ? 1 : round(size->steps * more);
    hb_compare_add(result, set, method, s, steps, /* milliseconds, with those of judging */
                   fit ? 3000 : steps * cost + 4.0 * (double)size->test * (1 + 0.05 * dim));
}

void hb_density_plan(hb_comparison *result)
{
    for (int s = 0; s < result->seeds; s++)
        for (int set = 0; set < DENSITY_SETS; set++)
            for (int method = 0; method < DENSITY_METHODS && hb_density_has(result, set); method++)
                density_add(result, set, method, s);
}
