/* What is run: seven processes, six methods, seeds.
 *
 * Recipes are those of `heatball train --drift`: energy head, width 64, 3 hidden layers, batches of 256,
 * 3000 rows of the start; tau up to 1.5, since paths beyond the last tau that is judged cost much and say
 * nothing. dsm as it is by default has the target of each row's own path; all others have the mean over 512
 * paths, so that dsm-targets, fp and hb differ in the constraint alone.
 *
 * Equal time is a number of steps, so that every byte can be repeated: a run of `dsm-time` or `fp-time`
 * has steps * cost(hb)/cost(its own). The costs of hb_drift_processes are processor time of a step on one
 * thread, measured by this study itself (the printed table, column "ms/step"). */
#include "drift.h"

#include <heatball/train.h>

#include <math.h>
#include <stdlib.h>

const double hb_drift_taus[DRIFT_TAUS] = {0.1, 0.3, 1};
const char *const hb_drift_regions[DRIFT_REGIONS] = {"all", "low"};

enum { TARGETS = 512 };
const hb_drift_recipe hb_drift_recipes[DRIFT_METHODS] = {
    {"dsm", "DSM", HB_LOSS_DSM, 0, -1},
    {"dsm-targets", "DSM, same targets", HB_LOSS_DSM, TARGETS, -1},
    {"fp", "FP", HB_LOSS_FP, TARGETS, -1},
    {"hb", "HB", HB_LOSS_HB, TARGETS, -1},
    {"dsm-time", "DSM, same targets and time", HB_LOSS_DSM, TARGETS, DRIFT_HB},
    {"fp-time", "FP, same time", HB_LOSS_FP, TARGETS, DRIFT_HB}};

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

static uint64_t steps_of(const hb_drift_size *size, int problem, int method)
{
    const int as = hb_drift_recipes[method].as_long_as;
    const double *cost = hb_drift_processes[problem].cost;
    if (as < 0) return size->steps;
    return (uint64_t)llround((double)size->steps * cost[as] / cost[method]);
}

hb_status hb_drift_plan(hb_context *context, const hb_drift_size *size, size_t *n,
                        hb_drift_run **runs)
{
    void *memory;
    HB_TRY(hb_study_allocate(context, (size_t)size->seeds * DRIFT_PROBLEMS * DRIFT_METHODS,
                             sizeof(hb_drift_run), &memory));
    *runs = memory;
    *n = 0;
    for (int s = 0; s < size->seeds; s++)
        for (int problem = 0; problem < DRIFT_PROBLEMS; problem++)
            for (int method = 0; method < DRIFT_METHODS && size->problems >> problem & 1; method++)
                (*runs)[(*n)++] = (hb_drift_run){.problem = problem,
                                                 .method = method,
                                                 .seed_index = s,
                                                 .seed = size->seed + (uint64_t)s,
                                                 .steps = steps_of(size, problem, method)};
    return HB_OK;
}

void hb_drift_run_name(const hb_drift_run *run, char name[64])
{
    snprintf(name, 64, "%s-%s-%llu", hb_drift_processes[run->problem].name,
             hb_drift_recipes[run->method].name, (unsigned long long)run->seed);
}
