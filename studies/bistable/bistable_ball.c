/* The Fokker-Planck solution, the exact score at t = 1, and the heat-ball estimates of it.
 *
 * With tau = t/2 and F = 2(x - x^3) the grid room solves for v = ln u. Two solutions are made for
 * each start: the field that the heat-ball averages see, on [-6, 6], and the reference, on a wider
 * box with other cells. The exact score at t = 1 is 2x - 2x^3 for the stationary start (closed
 * form) and the reference's gradient for the Gaussian start.
 *
 * A heat ball of radius r in D dimensions reaches r sqrt(2D/(4 pi e)) to each side: 0.073 for r =
 * 0.3, 0.87 for the largest of the sweep. So no ball around [-3, 3] leaves the box, and nothing is
 * extrapolated; v is smooth up to the walls, where ln u is -612 or less.
 *
 * Must reproduce: MSE below 1e-3 on [-3, 3] and 1e-6 for |x| < 1, Monte Carlo with r = 0.3. */
#include "bistable.h"

#include <heatball/estimate.h>

#include <math.h>
#include <string.h>

const double hb_bistable_radii[BISTABLE_RADII] = {0.05, 0.1, 0.2, BISTABLE_RADIUS, 0.5, 0.8, 1.2};
const int hb_bistable_lifts[BISTABLE_LIFTS] = {0, 2, 8};

/* Backward time that the largest ball of the sweep spans, r^2/(4 pi), and a little more. */
#define KEEP_SPAN 0.12

typedef struct ball_work {
    const hb_problem *problem;
    const hb_grid *grid;
    hb_field field;
    const hb_bistable_size *size;
} ball_work;

static hb_status solve(hb_context *context, const hb_problem *problem, double box, int cells,
                       double keep_from, hb_grid **out)
{
    hb_grid_settings settings;
    hb_grid_settings_default(sizeof settings, &settings);
    settings.low[0] = -box;
    settings.high[0] = box;
    settings.points[0] = cells;
    settings.keep_from = keep_from;
    return hb_grid_solve(context, problem, &settings, 0, NULL, BISTABLE_TIME, out);
}

static void exponentiate(double *v)
{
    for (int i = 0; i < BISTABLE_POINTS; i++) v[i] = exp(v[i]);
}

static hb_status read_reference(hb_context *context, const hb_problem *problem,
                                hb_bistable_start start, const hb_grid *reference,
                                hb_bistable_density *density, hb_bistable_result *result)
{
    hb_bistable_case *c = &result->cases[start];
    const double *x = result->x;
    hb_grid_info_get(reference, sizeof c->reference, &c->reference);
    HB_TRY(hb_problem_initial(context, problem, BISTABLE_POINTS, x, c->start_density, NULL));
    exponentiate(c->start_density);
    HB_TRY(hb_grid_evaluate(context, reference, BISTABLE_POINTS, x, BISTABLE_TAU, c->density, NULL,
                            c->exact, c->exact_error));
    exponentiate(c->density);
    if (start == BISTABLE_STATIONARY) {
        memcpy(c->exact, result->stationary, sizeof c->exact);
        memset(c->exact_error, 0, sizeof c->exact_error);
    }
    return hb_grid_evaluate(context, reference, density->n, density->x, BISTABLE_TAU,
                            density->log_density, NULL, NULL, NULL);
}

/* One heat-ball estimate at n points: score and claimed error, which joins the error of the average
 * and that of the grid beneath it. degree > 0: cubature. */
static hb_status estimate(hb_context *context, const ball_work *work,
                          const hb_mean_settings *settings, int n, const double *x, double *score,
                          double *claimed)
{
    double grid_error[BISTABLE_POINTS];
    hb_mean_values values = {.size = sizeof values, .score = score, .score_se = claimed};
    HB_TRY(hb_mean_value(context, work->problem, &work->field, settings, (size_t)n, x, BISTABLE_TAU,
                         &values));
    HB_TRY(hb_grid_evaluate(context, work->grid, (size_t)n, x, BISTABLE_TAU, NULL, NULL, NULL,
                            grid_error));
    for (int i = 0; i < n; i++) claimed[i] = hypot(claimed[i], grid_error[i]);
    return HB_OK;
}

static hb_mean_settings ball_settings(const hb_bistable_size *size, double radius, int lift,
                                      uint64_t pairs)
{
    hb_mean_settings settings;
    hb_mean_settings_default(sizeof settings, &settings);
    settings.radius = radius;
    settings.lift = lift;
    settings.samples = pairs;
    settings.seed = size->seed;
    return settings;
}

static hb_status estimate_curves(hb_context *context, const ball_work *work,
                                 hb_bistable_result *result, hb_bistable_case *c)
{
    const hb_bistable_size *size = work->size;
    hb_bistable_curves *mc = &c->curves[BISTABLE_BALL], *rule = &c->curves[BISTABLE_CUBATURE];
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_BALL, size->runs, 1));
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_CUBATURE, 1, 1));
    hb_mean_settings settings = ball_settings(size, BISTABLE_RADIUS, 0, size->pairs);
    for (int run = 0; run < size->runs; run++) {
        settings.seed = size->seed + (uint64_t)run;
        HB_TRY(estimate(context, work, &settings, BISTABLE_POINTS, result->x,
                        mc->score + (size_t)run * BISTABLE_POINTS, mc->claimed));
        HB_TRY(hb_bistable_progress(context, result, BISTABLE_POINTS));
    }
    settings.degree = size->degree;
    return estimate(context, work, &settings, BISTABLE_POINTS, result->x, rule->score,
                    rule->claimed);
}

/* One radius and lift: the mean over runs, and over a coarser set of points. */
static hb_status sweep_point(hb_context *context, const ball_work *work, const double *x,
                             const double *exact, hb_bistable_radius_point *out)
{
    const int n = BISTABLE_SWEEP_POINTS;
    double score[BISTABLE_SWEEP_POINTS], claimed[BISTABLE_SWEEP_POINTS];
    hb_bistable_tally tally = {0};
    const int runs = work->size->runs;
    hb_mean_settings settings =
        ball_settings(work->size, out->radius, out->lift, work->size->sweep_pairs);
    for (int run = 0; run < runs; run++) {
        settings.seed = work->size->seed + (uint64_t)run;
        HB_TRY(estimate(context, work, &settings, n, x, score, claimed));
        hb_bistable_add(&tally, hb_bistable_mse(BISTABLE_OVERALL, n, x, score, exact));
        out->claimed += hb_bistable_mean_square(claimed, n) / runs;
    }
    out->mse = tally.mean;
    out->mse_se = hb_bistable_standard_error(&tally);
    settings.degree = work->size->degree;
    HB_TRY(estimate(context, work, &settings, n, x, score, claimed));
    out->cubature = hb_bistable_mse(BISTABLE_OVERALL, n, x, score, exact);
    out->cubature_claimed = hb_bistable_mean_square(claimed, n);
    return HB_OK;
}

static hb_status sweep(hb_context *context, const ball_work *work, hb_bistable_result *result,
                       hb_bistable_case *c)
{
    enum { STRIDE = (BISTABLE_POINTS - 1) / (BISTABLE_SWEEP_POINTS - 1) };
    double x[BISTABLE_SWEEP_POINTS], exact[BISTABLE_SWEEP_POINTS];
    for (int i = 0; i < BISTABLE_SWEEP_POINTS; i++) {
        x[i] = result->x[i * STRIDE];
        exact[i] = c->exact[i * STRIDE];
    }
    for (int lift = 0; lift < BISTABLE_LIFTS; lift++)
        for (int i = 0; i < BISTABLE_RADII; i++) {
            hb_bistable_radius_point *point = &c->radius[lift][i];
            *point = (hb_bistable_radius_point){.radius = hb_bistable_radii[i],
                                                .lift = hb_bistable_lifts[lift]};
            HB_TRY(sweep_point(context, work, x, exact, point));
            HB_TRY(hb_bistable_progress(context, result, work->size->runs * BISTABLE_SWEEP_POINTS));
        }
    return HB_OK;
}

static hb_status use_field(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                           hb_bistable_result *result, hb_bistable_case *c)
{
    ball_work work = {.problem = problem, .grid = grid, .size = &result->size};
    hb_grid_field(grid, &work.field);
    hb_grid_info_get(grid, sizeof c->field, &c->field);
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_GRID, 1, 1));
    HB_TRY(hb_bistable_allocate_curves(context, c, BISTABLE_LONG_TIME, 1, 0));
    HB_TRY(hb_grid_evaluate(context, grid, BISTABLE_POINTS, result->x, BISTABLE_TAU, NULL, NULL,
                            c->curves[BISTABLE_GRID].score, c->curves[BISTABLE_GRID].claimed));
    memcpy(c->curves[BISTABLE_LONG_TIME].score, result->stationary, sizeof result->stationary);
    HB_TRY(estimate_curves(context, &work, result, c));
    const int swept = c == &result->cases[BISTABLE_GAUSSIAN];
    return swept ? sweep(context, &work, result, c) : HB_OK;
}

hb_status hb_bistable_ball(hb_context *context, const hb_problem *problem, hb_bistable_start start,
                           hb_bistable_density *density, hb_bistable_result *result)
{
    const hb_bistable_size *size = &result->size;
    hb_grid *reference = NULL, *grid = NULL;
    hb_status status =
        solve(context, problem, BISTABLE_WIDE_BOX, size->wide_cells, NAN, &reference);
    if (status == HB_OK)
        status = read_reference(context, problem, start, reference, density, result);
    if (status == HB_OK)
        status =
            solve(context, problem, BISTABLE_BOX, size->cells, BISTABLE_TAU - KEEP_SPAN, &grid);
    if (status == HB_OK) status = use_field(context, problem, grid, result, &result->cases[start]);
    hb_grid_destroy(grid);
    hb_grid_destroy(reference);
    return status;
}
