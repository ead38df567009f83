/* What is run: seven processes, six methods, seeds.
 *
 * Recipes are those of `heatball train --drift`: energy head, width 64, 3 hidden layers, batches of
 * 256, 3000 rows of the start; tau up to 1.5, since paths beyond the last tau that is judged cost
 * much and say nothing. dsm as it is by default has the target of each row's own path; all others
 * have the mean over 512 paths, so that dsm-targets, fp and hb differ in the constraint alone.
 *
 * Equal time is a number of steps, so that every byte can be repeated: a run of `dsm-time` or
 * `fp-time` has steps * cost(hb)/cost(its own). The costs of hb_drift_processes are processor time
 * of a step on one thread, measured by this study itself (the printed table, column "ms/step"). */
#include "drift.h"

#include <math.h>

const double hb_drift_taus[DRIFT_TAUS] = {0.1, 0.3, 1};
const char *const hb_drift_regions[DRIFT_REGIONS] = {"all", "low"};

enum { TARGETS = 512 };
const hb_recipe hb_drift_recipes[DRIFT_METHODS] = {
    {"dsm", "DSM", 1, HB_LOSS_DSM, HB_HEAD_ENERGY, 0, -1, 0, 0, 1},
    {"dsm-targets", "DSM, same targets", 4, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGETS, -1, 0, 0, 1},
    {"fp", "FP", 2, HB_LOSS_FP, HB_HEAD_ENERGY, TARGETS, -1, 0, 0, 1},
    {"hb", "HB", 0, HB_LOSS_HB, HB_HEAD_ENERGY, TARGETS, -1, 0, 0, 1},
    {"dsm-time", "DSM, same targets and time", 5, HB_LOSS_DSM, HB_HEAD_ENERGY, TARGETS, DRIFT_HB, 0,
     0, 1},
    {"fp-time", "FP, same time", 6, HB_LOSS_FP, HB_HEAD_ENERGY, TARGETS, DRIFT_HB, 0, 0, 1}};

hb_drift_size hb_drift_choose_size(const hb_study_settings *settings)
{
    hb_drift_size size = {.seed = settings->seed,
                          .problems = (1 << DRIFT_PROBLEMS) - 1,
                          .seeds = 5,
                          .rows = 3000,
                          .width = 64,
                          .steps = 2000,
                          .tau_max = 1.5,
                          .judge = 3000,
                          .anchors = 64,
                          .pairs = 400,
                          .lattice = 121};
    if (settings->quick) {
        size.problems = 1 << 1 | 1 << DRIFT_PLANAR; /* rotating, wells4 */
        size.seeds = 1;
        size.rows = 2000;
        size.steps = 600;
        size.judge = 1000;
        size.anchors = 24;
        size.pairs = 100;
        size.lattice = 81;
    }
    if (settings->seeds > 0) size.seeds = settings->seeds;
    return size;
}

static void drift_add(hb_comparison *result, int problem, int method, int s)
{
    const hb_drift_process *process = &hb_drift_processes[problem];
    const int as = hb_drift_recipes[method].as_long_as;
    const double most = (double)hb_drift_size_of(result)->steps, cost = process->cost[method];
    const double steps = as < 0 ? most : round(most * process->cost[as] / cost);
    hb_compare_add(result, problem, method, s, steps, steps * cost * (1 + 0.15 * process->dim));
}

void hb_drift_plan(hb_comparison *result)
{
    for (int s = 0; s < result->seeds; s++)
        for (int problem = 0; problem < DRIFT_PROBLEMS; problem++)
            for (int method = 0; method < DRIFT_METHODS && hb_drift_has(result, problem); method++)
                drift_add(result, problem, method, s);
}
