/* Trajectories of dX = (X - X^3) dt + dW from the initial density to t = 1.
 *
 * Strang splitting: half a step of the drift, a step of the noise, half a step of the drift. The
 * drift's flow is known, x' = x - x^3 gives
 *
 *     x(h) = x e^h / sqrt(1 + x^2 (e^{2h} - 1)),
 *
 * so the only error is that of the splitting: second order in the step (weakly), and no trajectory
 * can run away, as with Euler steps of a cubic drift. 200 steps of 1/200.
 *
 * Must reproduce: E[X^2] = 0.89346 for the stationary start. */
#include "bistable.h"

#include <heatball/random.h>

#include <math.h>
#include <stdlib.h>

/* One stream per start; draw (run BISTABLE_STEPS + step) BISTABLE_PATHS + i. */
#define PATH_STREAM(start) ((uint64_t)(start) << 8 | 11)

static double flow(double x, double growth, double spread)
{
    return x * growth / sqrt(1 + x * x * spread);
}

hb_status hb_bistable_paths(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                            uint64_t seed, int run, double *x)
{
    const double step = BISTABLE_TIME / BISTABLE_STEPS, root = sqrt(step);
    const double growth = exp(step / 2), spread = expm1(step);
    double *noise; // (BISTABLE_PATHS)
    HB_TRY(HB_STUDY_NEW(context, noise, BISTABLE_PATHS));
    hb_status status = hb_problem_initial_sample(context, problem, seed,
                                                 (uint64_t)run * BISTABLE_PATHS, BISTABLE_PATHS, x);
    for (int k = 0; k < BISTABLE_STEPS && status == HB_OK; k++) {
        const uint64_t first = ((uint64_t)run * BISTABLE_STEPS + (uint64_t)k) * BISTABLE_PATHS;
        status = hb_random_normal(context, seed, PATH_STREAM(start), first, BISTABLE_PATHS, noise);
        for (int i = 0; i < BISTABLE_PATHS && status == HB_OK; i++)
            x[i] = flow(flow(x[i], growth, spread) + root * noise[i], growth, spread);
    }
    free(noise);
    return status;
}
