/* heatball/compat.h: what 0.3 has renamed, under its names of 0.2, for this release only.
 * Second tier: for bindings and tools.
 *
 * A program for 0.2 includes this header behind heatball.h, or in place of heatball/guide.h, and
 * compiles as it is. docs/dev/renaming-0.3.md has the table. New programs write
 *     settings.method = HB_METHOD_NETWORK;    hb_solve(ctx, problem, &settings, n, points, &s); */
#ifndef HEATBALL_COMPAT_H
#define HEATBALL_COMPAT_H

#include <heatball/heatball.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0.3: the columns of errors, which are standard errors of some methods only */
#define HB_COLUMN_DENSITY_SE HB_COLUMN_DENSITY_ERROR
#define HB_COLUMN_LOG_DENSITY_SE HB_COLUMN_LOG_DENSITY_ERROR
#define HB_COLUMN_SCORE_SE HB_COLUMN_SCORE_ERROR
#define HB_COLUMN_ENTROPY_DENSITY_SE HB_COLUMN_ENTROPY_DENSITY_ERROR

/* 0.3: fields of hb_train_settings, and of hb_budget_settings where a program asks for it, since
 * many have variables `at` and `tau` side by side */
#define ball_share time_fraction
#define clip clip_gradient
#ifdef HB_COMPAT_AT
#define at tau
#endif

/* 0.3: the default; AUTO now names what ScoreDensity(maps="auto") does */
#define HB_STANDARDISE_AUTO HB_STANDARDISE_BY_KIND

/* 0.3: hb_network_settings, hb_solve_settings.time, hb_sampling_settings.samples and .seed */
typedef struct hb_guide_settings {
    size_t size;
    double time;
    uint64_t training_steps;
    int width;
    uint64_t walks;
    int walk_steps;
    int probes;
    uint64_t seed;
} hb_guide_settings;

/* 0.3: hb_network_settings_default */
static inline void hb_guide_settings_default(size_t size, hb_guide_settings *settings)
{
    hb_network_settings network;
    hb_solve_settings solve;
    hb_network_settings_default(sizeof network, &network);
    hb_solve_settings_default(sizeof solve, &solve);
    settings->size = size;
    settings->time = solve.time;
    settings->training_steps = network.training_steps;
    settings->width = network.width;
    settings->walks = 256;
    settings->walk_steps = network.walk_steps;
    settings->probes = network.probes;
    settings->seed = 1;
}

/* 0.3: hb_solve with HB_METHOD_NETWORK */
static inline hb_status hb_solve_guided(hb_context *context, const hb_problem *problem,
                                        const hb_guide_settings *settings, size_t n,
                                        const double *points, hb_solution **out)
{
    hb_guide_settings own;
    hb_network_settings network;
    hb_sampling_settings sampling;
    hb_solve_settings solve;
    hb_guide_settings_default(sizeof own, &own);
    if (settings) own = *settings;
    hb_network_settings_default(sizeof network, &network);
    hb_sampling_settings_default(sizeof sampling, &sampling);
    hb_solve_settings_default(sizeof solve, &solve);
    network.training_steps = own.training_steps;
    network.width = own.width;
    network.walk_steps = own.walk_steps;
    network.probes = own.probes;
    sampling.samples = own.walks;
    sampling.seed = own.seed;
    solve.method = HB_METHOD_NETWORK;
    solve.time = own.time;
    solve.sampling = &sampling;
    solve.network = &network;
    return hb_solve(context, problem, &solve, n, points, out);
}

#ifdef __cplusplus
}
#endif
#endif
