/* From x into the coordinates of a frame and back (problem/frame.h): methods work in y and do not know.
 *
 *     v_x = v_y - J,   u_x = u_y e^-J,   w_x = u_x v_x,     J = ln |dx/dy|
 *     e(v_x) = e(v_y),   e(u_x) = e(u_y) e^-J,   e(w_x) = |1 + v_x| e(u_x) to first order
 * Where the process cannot be, the density is 0 exactly: ln u = -inf, and there is no score.
 * A number to reproduce: dX = X dW from a lognormal start: ln u_x(1) = ln u_y(0). */
#include "solve/solve_frame.h"
#include "base/context.h"
#include "problem/frame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

hb_status hb_solve_enter_frame(hb_context *context, const hb_problem *problem, double t, size_t n,
                               const double *points, hb_framed_points *out)
{
    const hb_frame *frame = hb_problem_frame_of(problem);
    const size_t d = (size_t)hb_problem_dim(problem);
    *out = (hb_framed_points){.y = points};
    if (!frame) return HB_OK;
    double *y;
    unsigned char *outside;
    HB_TRY(HB_WORKSPACE(context, &out->work, HB_ARRAY(y, n * d), HB_ARRAY(outside, n)));
    out->y = y;
    out->outside = outside;
    const hb_status status = hb_frame_to_y(context, frame, t, n, points, y);
    if (status == HB_OK)
        replace_outside(n, d, y, outside);
    else
        hb_framed_points_destroy(out);
    return status;
}

void hb_framed_points_destroy(hb_framed_points *points)
{
    hb_workspace_destroy(&points->work);
    *points = (hb_framed_points){0};
}

/* ---- answers ---- */

static hb_status fill_outside(hb_solution *s, size_t i)
{
    const size_t d = (size_t)s->dim;
    for (int column = HB_COLUMN_DENSITY; column <= HB_COLUMN_ENTROPY_DENSITY_SE; column++) {
        const int wide = column == HB_COLUMN_SCORE || column == HB_COLUMN_SCORE_SE;
        for (size_t k = 0; k < (wide ? d : 1); k++) s->columns[column][wide ? i * d + k : i] = 0;
    }
    s->columns[HB_COLUMN_LOG_DENSITY][i] = -INFINITY;
    for (size_t k = 0; k < d; k++) {
        s->columns[HB_COLUMN_SCORE][i * d + k] = NAN;
        s->columns[HB_COLUMN_SCORE_SE][i * d + k] = INFINITY;
    }
    return hb_solution_warn(s, i,
                            "the point is outside of the domain of the process, where the noise "
                            "vanishes: the density is 0");
}

static void carry_density(hb_solution *s, size_t i, double volume)
{
    const double shrink = exp(-volume);
    double *v = s->columns[HB_COLUMN_LOG_DENSITY] + i, *u = s->columns[HB_COLUMN_DENSITY] + i,
           *e = s->columns[HB_COLUMN_DENSITY_SE] + i;
    *v -= volume;
    *u = *u > 0 && shrink < INFINITY ? *u * shrink : exp(*v);
    *e = isinf(*e) || *e == 0 ? *e : *e * shrink;
    s->columns[HB_COLUMN_ENTROPY_DENSITY][i] = *u > 0 ? *u * *v : 0;
    s->columns[HB_COLUMN_ENTROPY_DENSITY_SE][i] = isinf(*e) ? *e : fabs(1 + *v) * *e;
    if (!(*u > 0)) s->columns[HB_COLUMN_ENTROPY_DENSITY_SE][i] = isinf(*e) ? *e : 0;
}

hb_status hb_solve_leave_frame(hb_context *context, const hb_problem *problem, double t, size_t n,
                               const double *points, const hb_framed_points *framed, size_t first,
                               hb_solution *out)
{
    const hb_frame *frame = hb_problem_frame_of(problem);
    const size_t d = (size_t)out->dim;
    void *memory;
    if (!frame) return HB_OK;
    HB_TRY(hb_allocate(context, n, sizeof(double), &memory));
    const double *volume = memory; // (n)
    hb_status status = hb_frame_volume(context, frame, t, n, framed->y, memory);
    for (size_t i = 0; i < n && status == HB_OK; i++) carry_density(out, first + i, volume[i]);
    hb_release(context, memory);
    if (status == HB_OK)
        status =
            hb_frame_score(context, frame, t, n, points, out->columns[HB_COLUMN_SCORE] + first * d,
                           out->columns[HB_COLUMN_SCORE_SE] + first * d);
    for (size_t i = 0; i < n && status == HB_OK; i++)
        if (framed->outside[i]) status = fill_outside(out, first + i);
    return status;
}

void hb_solve_note_frame(const hb_problem *problem, hb_solution *out)
{
    const hb_frame *frame = hb_problem_frame_of(problem);
    if (!frame) return;
    char rest[HB_NOTE];
    memcpy(rest, out->note, sizeof rest);
    const int used = snprintf(out->note, sizeof out->note, "%s; ", frame->text);
    snprintf(out->note + used, sizeof out->note - (size_t)used, "%.*s", HB_NOTE - used - 1, rest);
}

/* ---- settings ---- */

static hb_status box_to_y(hb_context *context, const hb_frame *frame, hb_solve_plan *plan)
{
    hb_grid_settings *grid = &plan->grid;
    double low[3], high[3];
    if (frame->dim > 3 || isnan(grid->low[0])) return HB_OK;
    HB_TRY(hb_frame_box_to_y(context, frame, plan->time, grid->low, grid->high, low, high));
    for (int a = 0; a < frame->dim; a++) {
        HB_CHECK(context, isfinite(low[a]) && isfinite(high[a]), HB_ERROR_ARGUMENT,
                 "the box ends at %g and %g on axis %d; the process lives strictly between %g and "
                 "%g there",
                 grid->low[a], grid->high[a], a + 1, frame->axes[a].low, frame->axes[a].high);
        grid->low[a] = low[a];
        grid->high[a] = high[a];
    }
    return HB_OK;
}

/* y[n_paths][n_times][dim], each row at its own time. */
static hb_status paths_to_y(hb_context *context, const hb_frame *frame,
                            const hb_sampling_settings *s, double *y)
{
    const size_t d = (size_t)frame->dim;
    for (size_t i = 0; i < s->n_paths; i++)
        for (size_t k = 0; k < s->n_times; k++) {
            const size_t row = (i * s->n_times + k) * d;
            HB_TRY(hb_frame_to_y(context, frame, s->path_times[k], 1, s->paths + row, y + row));
            HB_CHECK(context, !isnan(y[row]), HB_ERROR_ARGUMENT,
                     "path %zu is outside of the domain of the process at its time %zu, where the "
                     "noise vanishes",
                     i + 1, k + 1);
        }
    return HB_OK;
}

hb_status hb_solve_plan_frame(hb_context *context, const hb_problem *problem, hb_solve_plan *plan,
                              hb_workspace *work)
{
    const hb_frame *frame = hb_problem_frame_of(problem);
    hb_sampling_settings *s = &plan->sampling;
    *work = (hb_workspace){0};
    if (!frame) return HB_OK;
    HB_TRY(box_to_y(context, frame, plan));
    if (!s->paths) return HB_OK;
    double *y;
    const size_t count = s->n_paths * s->n_times * (size_t)frame->dim;
    HB_TRY(HB_WORKSPACE(context, work, HB_ARRAY(y, count)));
    const hb_status status = paths_to_y(context, frame, s, y);
    s->paths = y;
    if (status != HB_OK) hb_workspace_destroy(work);
    return status;
}
