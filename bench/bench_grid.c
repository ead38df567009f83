/* Seconds of the grid, one JSON line each: f = x - x^3, g = 1, N(0, 1), to t = 1.
 *
 * First at 2000 points on the box of the peer (peer_grid.py) with a tolerance that leaves the peer's
 * error far behind; then the growth with the number of points at that tolerance, and the default
 * settings, in one dimension and in two (f = (x - x^3 + y/2, -y - x)). items is the number of points. */
#include "stopwatch.h"

#include <heatball/grid.h>

enum { ROUNDS = 3 };

static const double TOLERANCE = 1e-5;

static void solve_once(hb_context *ctx, const hb_problem *problem, const hb_grid_settings *settings,
                       double *items)
{
    hb_grid *grid;
    hb_grid_info info;
    must(ctx, hb_grid_solve(ctx, problem, 1, settings, 0, NULL, &grid));
    hb_grid_info_get(grid, &info);
    *items = info.points[0];
    if (info.dim > 1) *items *= info.points[1];
    hb_grid_destroy(grid);
}

static void bench_solve(hb_context *ctx, const hb_problem *problem, const char *name,
                        const hb_grid_settings *settings)
{
    double best, items = 0;
    BEST_OF(ROUNDS, best, solve_once(ctx, problem, settings, &items));
    report(name, hb_context_threads(ctx), items, best);
}

int main(void)
{
    hb_context *ctx = bench_context(1);
    hb_problem *line, *plane;
    hb_grid_settings settings;
    must(ctx, hb_problem_parse(ctx, "x - x^3", "1", "gaussian(mean=0,var=1)", &line));
    must(ctx,
         hb_problem_parse(ctx, "x - x^3 + y/2, -y - x", "1", "gaussian(mean=0 0,var=0.5)", &plane));
    for (int points = 500; points <= 16000; points *= 2) {
        char name[64];
        hb_grid_settings_default(&settings);
        settings.points[0] = points;
        settings.tolerance = TOLERANCE;
        settings.low[0] = -5.5;
        settings.high[0] = 5.5;
        snprintf(name, sizeof name, "grid d=1, %d points", points);
        bench_solve(ctx, line, name, &settings);
    }
    hb_grid_settings_default(&settings);
    bench_solve(ctx, line, "grid d=1, default", &settings);
    bench_solve(ctx, plane, "grid d=2, default", &settings);
    hb_problem_destroy(line);
    hb_problem_destroy(plane);
    hb_context_destroy(ctx);
    return 0;
}
