/* heatball/guide.h: solutions above the grid's three dimensions by walks that a trained network guides.
 *
 * A network learns the score s of the problem at hand from draws of its initial density (train.h). Walks go back
 * from a point along it; their weights make good for whatever the network gets wrong, so it decides about the
 * variance and not about the mean. docs/guided-walks.md has the formulas and what was measured.
 *
 *     hb_solution *solution;
 *     hb_solve_guided(ctx, problem, NULL, n, points, &solution); */
#ifndef HEATBALL_GUIDE_H
#define HEATBALL_GUIDE_H

#include <heatball/solve.h>
#include <heatball/train.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_guide_settings {
    size_t size;             /* set by hb_guide_settings_default */
    double time;             /* t at which to solve; NaN (default): the problem's own */
    uint64_t training_steps; /* of the network; default 3000 */
    int width;               /* of its layers; default 128 */
    uint64_t walks;          /* from a point; default 256, at least 64; whole 256s above */
    int walk_steps;          /* Euler steps of a walk, even, at least 8; default 64 */
    int probes;              /* points that are walked from, when there are more; default 32, at
                                least 20 */
    uint64_t seed;           /* default 1 */
} hb_guide_settings;

HB_API void hb_guide_settings_default(size_t size, hb_guide_settings *settings);
/* points is [n][dim]; the drift must be text without t, the noise constant, the initial density one that can
 * be drawn from. Where walks start, values are their means and `_se` their standard errors together with what a chain
 * of half as many steps differs by. At the other points values are the network's, ln u with a constant added, and
 * `_se` is a bound that covers 94 % of such points (the 31st of 32 misses of the network at the probes), whatever
 * the network is worth. What cannot be told is infinite, with a warning. hb_solution_samples is 0 at the latter. */
HB_API hb_status hb_solve_guided(hb_context *context, const hb_problem *problem,
                                 const hb_guide_settings *settings, size_t n, const double *points,
                                 hb_solution **out);

#ifdef __cplusplus
}
#endif
#endif
