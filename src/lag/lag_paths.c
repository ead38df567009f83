/* Trajectories for kernels of short lags, and the row of numbers that each gives to a point.
 *
 * Each trajectory has a twin with steps twice as long and the same noise (trajectories.c). With V
 * the value of lag_frame.c by the rule in use, V' by the next coarser rule, V_2 that of the twin,
 * and the error of the step falling by gain + 1 when it is halved (4 for Heun's scheme and a smooth
 * drift),
 *     a = V + (V - V_2)/gain,       da = (V - V_2)/gain + V - V',
 * so the leading error of the step is removed, and what was removed counts as a flag
 * (sampling/spread.c) like the difference of the rules.
 * A number to reproduce: a lag of 1 before the end 1 looks at the time 0 first. */
#include "lag/lag_paths.h"
#include "base/context.h"
#include "base/linear_algebra.h"

#include <string.h>

static const double SAME = 1e-12; /* times that differ by so little are one */

/* ---- times ---- */

static double time_of(double end, double lag, size_t node)
{
    const double r = lag * hb_lag_parts[node];
    return r < end ? end - r : 0;
}

hb_status hb_lag_times_create(hb_context *context, size_t n_lags, const double *lag, size_t n_ends,
                              const double *end, hb_lag_times *out)
{
    const size_t all = n_lags * n_ends * HB_LAG_NODES;
    const double slack = SAME * end[n_ends - 1];
    *out = (hb_lag_times){.n_lags = n_lags, .n_ends = n_ends};
    memcpy(out->lag, lag, n_lags * sizeof *lag);
    HB_TRY(HB_WORKSPACE(context, &out->work, HB_ARRAY(out->end, n_ends), HB_ARRAY(out->times, all),
                        HB_ARRAY(out->column, all)));
    memcpy(out->end, end, n_ends * sizeof *end);
    for (size_t k = 0; k < all; k++)
        out->times[k] = time_of(end[k / HB_LAG_NODES % n_ends], lag[k / HB_LAG_NODES / n_ends],
                                k % HB_LAG_NODES);
    hb_sort(all, out->times);
    for (size_t k = 0; k < all; k++)
        if (k == 0 || out->times[k] > out->times[out->n_times - 1] + slack)
            out->times[out->n_times++] = out->times[k];
    for (size_t k = 0; k < all; k++) {
        const double t = time_of(end[k / HB_LAG_NODES % n_ends], lag[k / HB_LAG_NODES / n_ends],
                                 k % HB_LAG_NODES);
        out->column[k] = 0;
        while (out->times[out->column[k]] < t - slack) out->column[k]++;
    }
    return HB_OK;
}

void hb_lag_times_destroy(hb_lag_times *times)
{
    hb_workspace_destroy(&times->work);
    *times = (hb_lag_times){0};
}

/* ---- trajectories ---- */

hb_status hb_lag_paths_make(hb_context *context, const hb_path_plan *plan, uint64_t first, size_t n,
                            const hb_lag_paths *paths, double *tau)
{
    HB_TRY(hb_paths_simulate(context, plan, first, n, paths->stride, paths->x[0], paths->x[1]));
    for (size_t k = 0; k < plan->n_times; k++) {
        const size_t at = k * paths->stride * plan->dim;
        for (size_t i = 0; i < n; i++) tau[i] = plan->times[k];
        for (int twin = 0; twin < 2; twin++)
            HB_TRY(hb_problem_drift_each(context, plan->problem, n, paths->x[twin] + at, tau,
                                         paths->f[twin] + at, NULL, NULL, NULL));
    }
    return HB_OK;
}

int hb_lag_path_is_lost(const hb_lag_paths *p, size_t n_times, size_t path)
{
    int finite = 1;
    for (size_t k = 0; k < n_times && finite; k++)
        for (int twin = 0; twin < 2; twin++) {
            const size_t at = (k * p->stride + path) * p->d;
            finite &= hb_all_finite(p->d, p->x[twin] + at) && hb_all_finite(p->d, p->f[twin] + at);
        }
    return !finite;
}

/* ---- rows ---- */

size_t hb_lag_row(size_t d)
{
    return 2 * (1 + d) + 1;
}

size_t hb_lag_row_work(size_t d)
{
    return hb_lag_work(d) + 2 * HB_LAG_RULES * d;
}

/* The value of one path and end, twin 0 or 1; its gradients are in b (HB_LAG_RULES, d). */
static hb_lag_value lag_paths_look(const hb_lag_frame *frame, const hb_lag_times *times, size_t lag,
                                   size_t end, const hb_lag_paths *paths, size_t path, int twin,
                                   double log_scale, double *b, double *work)
{
    const size_t *column = times->column + (lag * times->n_ends + end) * HB_LAG_NODES;
    const double *y[HB_LAG_NODES], *f[HB_LAG_NODES];
    hb_lag_value value = {.b = b};
    for (size_t j = 0; j < HB_LAG_NODES; j++) {
        const size_t at = (column[j] * paths->stride + path) * paths->d;
        y[j] = paths->x[twin] + at;
        f[j] = paths->f[twin] + at;
    }
    hb_lag_value_of(frame, y, f, log_scale, &value, work);
    return value;
}

/* One rule's part of a row, from the values of a path and of its twin. */
static void lag_paths_add_rule(size_t d, const hb_lag_value *v, const hb_lag_value *twin,
                               size_t rule, double gain, double fraction, double *row)
{
    const double step = (v->a[rule] - twin->a[rule]) / gain;
    row[0] += fraction * (v->a[rule] + step);
    row[1 + d] += fraction * (step + v->a[rule] - v->a[rule + 1]);
    row[2 + 2 * d] += fraction * step;
    for (size_t k = 0; k < d; k++) {
        const double fine = v->b[rule * d + k], coarse = v->b[(rule + 1) * d + k];
        const double slope = (fine - twin->b[rule * d + k]) / gain;
        row[1 + k] += fraction * (fine + slope);
        row[2 + d + k] += fraction * (slope + fine - coarse);
    }
}

void hb_lag_add_row(const hb_lag_frame *frame, const hb_lag_times *times, size_t lag, size_t from,
                    size_t to, const hb_lag_paths *paths, size_t path, int rule, double gain,
                    double log_scale, double *row, double *work)
{
    const size_t d = paths->d;
    const double fraction = 1 / (double)(to - from);
    double *b = work, *b2 = b + HB_LAG_RULES * d, *rest = b2 + HB_LAG_RULES * d;
    for (size_t end = from; end < to; end++) {
        const hb_lag_value v =
            lag_paths_look(frame, times, lag, end, paths, path, 0, log_scale, b, rest);
        const hb_lag_value twin =
            lag_paths_look(frame, times, lag, end, paths, path, 1, log_scale, b2, rest);
        if (rule >= 0) lag_paths_add_rule(d, &v, &twin, (size_t)rule, gain, fraction, row);
        for (size_t k = 0; rule < 0 && k + 1 < HB_LAG_RULES; k++)
            lag_paths_add_rule(d, &v, &twin, k, gain, fraction, row + k * hb_lag_row(d));
    }
}
