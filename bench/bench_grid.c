/* Seconds of the grid, one JSON line each, one thread; in d = 3 also two.
 *
 *     d = 1   f = x - x^3, g = 1, N(0, 1), to t = 1, on the box of the peer (peer_grid.py) with a
 *             tolerance at which the error is below the peer's: 2000 points, and the growth
 *     d = 2   f = (x - x^3 + y/2, -y - x), N(0, 1/2), to t = 1, on [-5, 5]^2 at the same tolerance
 *
 *     d = 3   a chain of three double wells (examples/problems/double_well_chain.ini) at the default tolerance, 32^3 and
 *             64^3, once each on one thread and on two; with the argument 128 also 128^3, which takes minutes and 1 GB
 *
 * and the first two with the default settings. items is 1, so that seconds per item are seconds of a solution. */
#include "stopwatch.h"

#include <heatball/grid.h>

enum { ROUNDS = 2 };

static const double TOLERANCE = 1e-5;

static void solve_once(hb_context *ctx, const hb_problem *problem, const hb_grid_settings *settings)
{
    hb_grid *grid;
    must(ctx, hb_grid_solve(ctx, problem, settings, 0, NULL, 1, &grid));
    hb_grid_destroy(grid);
}

static void bench_solve(hb_context *ctx, const hb_problem *problem, const char *name,
                        const hb_grid_settings *settings)
{
    double best;
    BEST_OF(ROUNDS, best, solve_once(ctx, problem, settings));
    report(name, hb_context_threads(ctx), 1, best);
}

/* `points` cells per axis of the box [-half, half]^dim. */
static void bench_points(hb_context *ctx, const hb_problem *problem, int points, double half)
{
    hb_grid_settings settings;
    char name[64];
    const int dim = hb_problem_dim(problem);
    hb_grid_settings_default(sizeof settings, &settings);
    settings.tolerance = TOLERANCE;
    for (int a = 0; a < dim; a++) {
        settings.points[a] = points;
        settings.low[a] = -half;
        settings.high[a] = half;
    }
    snprintf(name, sizeof name, "grid d=%d, %d points", dim, points);
    bench_solve(ctx, problem, name, &settings);
}

/* Once: a solution takes long enough. */
static void bench_chain(int threads, int points)
{
    hb_context *ctx = bench_context(threads);
    hb_grid_settings settings;
    hb_problem *chain;
    char name[64];
    must(ctx, hb_problem_parse(
                  ctx, "x - x^3 + (y - x)/2, y - y^3 + (x - 2*y + z)/2, z - z^3 + (y - z)/2", "0.8",
                  "gaussian(mean=0 0 0,var=0.5)", &chain));
    hb_grid_settings_default(sizeof settings, &settings);
    for (int a = 0; a < 3; a++) settings.points[a] = points;
    const double wall = now(), before = processor();
    solve_once(ctx, chain, &settings);
    snprintf(name, sizeof name, "grid d=3, %d points", points);
    report(name, threads, 1, now() - wall);
    snprintf(name, sizeof name, "grid d=3, %d points, processor", points);
    report(name, threads, 1, processor() - before);
    hb_problem_destroy(chain);
    hb_context_destroy(ctx);
}

int main(int n_arguments, char **arguments)
{
    const int most = n_arguments > 1 ? atoi(arguments[1]) : 64;
    hb_context *ctx = bench_context(1);
    hb_problem *line, *plane;
    must(ctx, hb_problem_parse(ctx, "x - x^3", "1", "gaussian(mean=0,var=1)", &line));
    must(ctx,
         hb_problem_parse(ctx, "x - x^3 + y/2, -y - x", "1", "gaussian(mean=0 0,var=0.5)", &plane));
    for (int points = 500; points <= 8000; points *= 2) bench_points(ctx, line, points, 5.5);
    for (int points = 64; points <= 256; points *= 2) bench_points(ctx, plane, points, 5);
    bench_solve(ctx, line, "grid d=1, default", NULL);
    bench_solve(ctx, plane, "grid d=2, default", NULL);
    hb_problem_destroy(line);
    hb_problem_destroy(plane);
    hb_context_destroy(ctx);
    for (int points = 32; points <= most; points *= 2)
        for (int threads = 1; threads <= 2; threads++) bench_chain(threads, points);
    return 0;
}
