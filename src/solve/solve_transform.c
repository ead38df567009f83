/* From x into the coordinates of a transform and back (problem/transform/transform.h): methods work
 * in y and do not know.
 *
 *     v_x = v_y - J,   u_x = u_y e^-J,   w_x = u_x v_x,     J = ln |dx/dy|
 *     e(v_x) = e(v_y),   e(u_x) = e(u_y) e^-J,   e(w_x) = |1 + v_x| e(u_x) to first order
 * Where the process cannot be, the density is 0 exactly: ln u = -inf, and there is no score.
 * A number to reproduce: dX = X dW from a lognormal start: ln u_x(1) = ln u_y(0). */
#include "solve/solve_transform.h"
#include "base/context.h"
#include "problem/transform/transform.h"
#include "solve/solve_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LATTICE = 61 };
static const double BULK = 14; /* of ln u below its maximum, where a box of x ends */

/* Points that are not in the domain are replaced by one that is: the first, or y = 0. */
static void replace_outside(size_t n, size_t d, double *y, unsigned char *outside)
{
    size_t good = 0;
    while (good < n && isnan(y[good * d])) good++;
    for (size_t i = 0; i < n; i++) {
        outside[i] = isnan(y[i * d]) != 0;
        for (size_t a = 0; outside[i] && a < d; a++) y[i * d + a] = good < n ? y[good * d + a] : 0;
    }
}

/* Far out a table of coordinates is only good enough for the tails of a start. */
static hb_status check_reach(hb_context *context, const hb_transform *transform, size_t n,
                             const double *x)
{
    const size_t d = (size_t)transform->dim;
    for (size_t k = 0; k < n * d; k++) {
        const hb_axis_table *table = transform->axes[k % d].table;
        HB_CHECK(context, !table || hb_axis_table_reaches(table, x[k]), HB_ERROR_ARGUMENT,
                 "point %zu: x%zu = %.6g is too far out for a noise whose Lamperti coordinate is a "
                 "table; shift x%zu so that the points are near 0",
                 k / d + 1, k % d + 1, x[k], k % d + 1);
    }
    return HB_OK;
}

hb_status hb_solve_enter_transform(hb_context *context, const hb_problem *problem, size_t n_times,
                                   const double *times, size_t n, const double *points,
                                   hb_transformed_points *out)
{
    const hb_transform *transform = hb_problem_transform_of(problem);
    const size_t d = (size_t)hb_problem_dim(problem);
    *out = (hb_transformed_points){.y = points};
    if (!transform) return HB_OK;
    HB_TRY(check_reach(context, transform, n, points));
    const size_t sets = transform->moves ? n_times : 1;
    double *y;
    unsigned char *outside;
    HB_TRY(
        HB_WORKSPACE(context, &out->work, HB_ARRAY(y, sets * n * d), HB_ARRAY(outside, sets * n)));
    out->y = y;
    out->outside = outside;
    out->stride = transform->moves && n_times > 1 ? n * d : 0;
    hb_status status = HB_OK;
    for (size_t k = 0; k < sets && status == HB_OK; k++) {
        status = hb_transform_to_y(context, transform, times[k], n, points, y + k * n * d);
        if (status == HB_OK) replace_outside(n, d, y + k * n * d, outside + k * n);
    }
    if (status != HB_OK) hb_transformed_points_destroy(out);
    return status;
}

void hb_transformed_points_destroy(hb_transformed_points *points)
{
    hb_workspace_destroy(&points->work);
    *points = (hb_transformed_points){0};
}

/* ---- answers ---- */

static hb_status fill_outside(hb_solution *s, size_t i)
{
    const size_t d = (size_t)s->dim;
    hb_solution_set_row(s, i, 0, 0);
    s->columns[HB_COLUMN_LOG_DENSITY][i] = -INFINITY;
    for (size_t k = 0; k < d; k++) {
        s->columns[HB_COLUMN_SCORE][i * d + k] = NAN;
        s->columns[HB_COLUMN_SCORE_ERROR][i * d + k] = INFINITY;
    }
    return hb_solution_warn(s, i,
                            "the point is outside of the domain of the process, where the noise "
                            "vanishes: the density is 0");
}

static void carry_density(hb_solution *s, size_t i, double volume)
{
    const double shrink = exp(-volume);
    double *v = s->columns[HB_COLUMN_LOG_DENSITY] + i, *u = s->columns[HB_COLUMN_DENSITY] + i,
           *e = s->columns[HB_COLUMN_DENSITY_ERROR] + i;
    *v -= volume;
    *u = *u > 0 && shrink < INFINITY ? *u * shrink : exp(*v);
    *e = isinf(*e) || *e == 0 ? *e : *e * shrink;
    s->columns[HB_COLUMN_ENTROPY_DENSITY][i] = *u > 0 ? *u * *v : 0;
    s->columns[HB_COLUMN_ENTROPY_DENSITY_ERROR][i] = isinf(*e) ? *e : fabs(1 + *v) * *e;
    if (!(*u > 0)) s->columns[HB_COLUMN_ENTROPY_DENSITY_ERROR][i] = isinf(*e) ? *e : 0;
}

/* Before what the method says. */
static void note_transform(const hb_transform *transform, hb_solution *out)
{
    char rest[HB_NOTE];
    memcpy(rest, out->note, sizeof rest);
    const int used = snprintf(out->note, sizeof out->note, "%s; ", transform->text);
    snprintf(out->note + used, sizeof out->note - (size_t)used, "%.*s", HB_NOTE - used - 1, rest);
}

/* One time: its rows begin at `first`. */
static hb_status leave_at(hb_context *context, const hb_transform *transform, double t,
                          const double *points, const double *y, const unsigned char *outside,
                          size_t first, hb_solution *out)
{
    const size_t d = (size_t)out->dim, n = out->n;
    double *volume; // (n)
    HB_TRY(HB_NEW(context, volume, n));
    hb_status status = hb_transform_volume(context, transform, t, n, y, volume);
    for (size_t i = 0; i < n && status == HB_OK; i++) carry_density(out, first + i, volume[i]);
    hb_release(context, volume);
    if (status == HB_OK)
        status = hb_transform_score(context, transform, t, n, points,
                                    out->columns[HB_COLUMN_SCORE] + first * d,
                                    out->columns[HB_COLUMN_SCORE_ERROR] + first * d);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        if (outside[i]) status = fill_outside(out, first + i);
    return status;
}

hb_status hb_solve_leave_transform(hb_context *context, const hb_problem *problem,
                                   const double *points, const hb_transformed_points *transformed,
                                   hb_solution *out)
{
    const hb_transform *transform = hb_problem_transform_of(problem);
    if (!transform) return HB_OK;
    out->problem = problem;
    for (size_t k = 0; k < out->n_times; k++) {
        const size_t set = transformed->stride ? k : 0;
        HB_TRY(leave_at(context, transform, out->times[k], points,
                        transformed->y + set * transformed->stride,
                        transformed->outside + set * out->n, k * out->n, out));
    }
    note_transform(transform, out);
    return HB_OK;
}

/* ---- settings ---- */

static hb_status box_to_y(hb_context *context, const hb_transform *transform, hb_solve_plan *plan)
{
    hb_grid_settings *grid = &plan->grid;
    double low[3], high[3];
    if (transform->dim > 3 || isnan(grid->low[0])) return HB_OK;
    HB_TRY(hb_transform_box_to_y(context, transform, plan->time, grid->low, grid->high, low, high));
    for (int a = 0; a < transform->dim; a++) {
        HB_CHECK(context, isfinite(low[a]) && isfinite(high[a]), HB_ERROR_ARGUMENT,
                 "the box ends at %g and %g on axis %d; the process lives strictly between %g and "
                 "%g there",
                 grid->low[a], grid->high[a], a + 1, transform->axes[a].low,
                 transform->axes[a].high);
        grid->low[a] = low[a];
        grid->high[a] = high[a];
    }
    return HB_OK;
}

/* y[n_paths][n_times][dim], each row at its own time. */
static hb_status paths_to_y(hb_context *context, const hb_transform *transform,
                            const hb_sampling_settings *s, double *y)
{
    const size_t d = (size_t)transform->dim;
    for (size_t i = 0; i < s->n_paths; i++)
        for (size_t k = 0; k < s->n_times; k++) {
            const size_t row = (i * s->n_times + k) * d;
            HB_TRY(hb_transform_to_y(context, transform, s->path_times[k], 1, s->paths + row,
                                     y + row));
            HB_CHECK(context, !isnan(y[row]), HB_ERROR_ARGUMENT,
                     "path %zu is outside of the domain of the process at its time %zu, where the "
                     "noise vanishes",
                     i + 1, k + 1);
        }
    return HB_OK;
}

hb_status hb_solve_plan_transform(hb_context *context, const hb_problem *problem,
                                  hb_solve_plan *plan, hb_workspace *work)
{
    const hb_transform *transform = hb_problem_transform_of(problem);
    hb_sampling_settings *s = &plan->sampling;
    *work = (hb_workspace){0};
    if (!transform) return HB_OK;
    HB_TRY(box_to_y(context, transform, plan));
    if (!s->paths) return HB_OK;
    double *y;
    const size_t count = s->n_paths * s->n_times * (size_t)transform->dim;
    HB_TRY(HB_WORKSPACE(context, work, HB_ARRAY(y, count)));
    const hb_status status = paths_to_y(context, transform, s, y);
    s->paths = y;
    if (status != HB_OK) hb_workspace_destroy(work);
    return status;
}

/* ---- the grid elsewhere ---- */

/* One point in y; beyond the box ln u goes on from the wall, and nothing is claimed. */
static hb_status evaluate_point(hb_context *context, const hb_grid *grid, double tau,
                                const double *y, double *v, double *v_se, double *s, double *s_se)
{
    hb_grid_info info;
    HB_TRY(hb_grid_info_get(grid, sizeof info, &info));
    if (hb_solve_is_inside(&info, y))
        return hb_grid_evaluate(context, grid, 1, y, tau, v, v_se, s, s_se);
    hb_field field;
    hb_grid_field(grid, &field);
    field.evaluate(field.user, 1, y, &tau, v, s);
    *v_se = INFINITY;
    for (int a = 0; a < info.dim; a++) s_se[a] = INFINITY;
    return HB_OK;
}

hb_status hb_transform_evaluate_grid(hb_context *context, const hb_problem *problem,
                                     const hb_grid *grid, double t, double tau, size_t n,
                                     const double *points, double *log_density,
                                     double *log_density_se, double *score, double *score_se)
{
    const hb_transform *transform = hb_problem_transform_of(problem);
    const size_t d = (size_t)hb_problem_dim(problem);
    for (size_t i = 0; i < n; i++) {
        const double *x = points + i * d;
        double y[3], v = -INFINITY, v_se = 0, s[3] = {NAN, NAN, NAN}, volume,
                     s_se[3] = {INFINITY, INFINITY, INFINITY};
        HB_TRY(hb_transform_to_y(context, transform, t, 1, x, y));
        if (!isnan(y[0])) {
            HB_TRY(evaluate_point(context, grid, tau, y, &v, &v_se, s, s_se));
            HB_TRY(hb_transform_volume(context, transform, t, 1, y, &volume));
            HB_TRY(hb_transform_score(context, transform, t, 1, x, s, s_se));
            v -= volume;
        }
        if (log_density) log_density[i] = v;
        if (log_density_se) log_density_se[i] = v_se;
        if (score) memcpy(score + i * d, s, d * sizeof *s);
        if (score_se) memcpy(score_se + i * d, s_se, d * sizeof *s);
    }
    return HB_OK;
}

/* Point k of a lattice of LATTICE points per axis in the box; the last one on the wall exactly. */
static void lattice_point(const hb_grid_info *info, size_t k, double *y)
{
    for (int a = 0; a < info->dim; a++, k /= LATTICE) {
        const double share = (double)(k % LATTICE) / (LATTICE - 1);
        y[a] = fmin(info->low[a] + (info->high[a] - info->low[a]) * share, info->high[a]);
    }
}

/* ln u_x over the lattice, v[count], and its x[count][dim]. */
static hb_status look_over(hb_context *context, const hb_transform *transform, const hb_grid *grid,
                           const hb_grid_info *info, double t, double tau, size_t count, double *x,
                           double *v)
{
    const size_t d = (size_t)info->dim;
    for (size_t k = 0; k < count; k++) {
        double volume, *y = x + k * d;
        lattice_point(info, k, y);
        HB_TRY(hb_grid_evaluate(context, grid, 1, y, tau, v + k, NULL, NULL, NULL));
        HB_TRY(hb_transform_volume(context, transform, t, 1, y, &volume));
        v[k] -= volume;
    }
    return hb_transform_to_x(context, transform, t, count, x, x);
}

hb_status hb_transform_grid_box(hb_context *context, const hb_problem *problem, const hb_grid *grid,
                                double t, double tau, double *low, double *high)
{
    const hb_transform *transform = hb_problem_transform_of(problem);
    hb_grid_info info;
    hb_workspace work;
    double *x, *v, top = -INFINITY;
    HB_TRY(hb_grid_info_get(grid, sizeof info, &info));
    const size_t d = (size_t)info.dim, count = (size_t)lround(pow(LATTICE, info.dim));
    HB_TRY(HB_WORKSPACE(context, &work, HB_ARRAY(x, count * d), HB_ARRAY(v, count)));
    const hb_status status = look_over(context, transform, grid, &info, t, tau, count, x, v);
    for (size_t k = 0; k < count && status == HB_OK; k++) top = fmax(top, v[k]);
    for (size_t a = 0; a < d; a++) low[a] = INFINITY, high[a] = -INFINITY;
    for (size_t k = 0; k < count * d && status == HB_OK; k++) {
        if (!(v[k / d] > top - BULK)) continue;
        low[k % d] = fmin(low[k % d], x[k]);
        high[k % d] = fmax(high[k % d], x[k]);
    }
    hb_workspace_destroy(&work);
    return status;
}
