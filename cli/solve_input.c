/* What `heatball solve` is asked for beside the problem: times and trajectories of the user.
 *
 * Times are typed or those of the problem file. Trajectories are an array and its times; without
 * --path-times the n times are evenly from 0 to T: t_k = T k/(n-1), and T alone for n = 1. */
#include "command_solve.h"

#include <heatball/file.h>
#include <math.h>
#include <stdlib.h>

/* ---- times ---- */

hb_status hb_times_option(hb_session *session, const char *text, hb_times_given *out)
{
    hb_context *context = hb_session_context(session);
    *out = (hb_times_given){.span = NAN};
    if (!text) return HB_OK;
    const hb_status status = hb_problem_times_read(context, text, &out->n, &out->own);
    if (status == HB_ERROR_ARGUMENT)
        return hb_session_fail(session, status, "--%s", hb_context_message(context));
    if (status != HB_OK) return status;
    out->values = out->own;
    for (size_t k = 0; k < out->n; k++)
        if (isfinite(out->own[k]))
            out->span = isnan(out->span) ? out->own[k] : fmax(out->span, out->own[k]);
    if (isnan(out->span)) out->span = INFINITY;
    return HB_OK;
}

void hb_times_of_problem(const hb_problem *problem, hb_times_given *times)
{
    if (!times->own) times->n = hb_problem_times(problem, &times->values);
}

void hb_times_settings(const hb_times_given *times, hb_solve_settings *settings)
{
    settings->time = times->n == 1 ? times->values[0] : NAN;
    settings->n_times = times->n > 1 ? times->n : 0;
    settings->times = times->n > 1 ? times->values : NULL;
}

void hb_times_release(hb_session *session, hb_times_given *times)
{
    hb_context_release(hb_session_context(session), times->own);
    *times = (hb_times_given){0};
}

/* ---- trajectories ---- */

static hb_status paths_check_shape(hb_session *session, const char *path, int n_axes,
                                   const uint64_t *shape, int dim)
{
    const uint64_t width = n_axes == 3 ? shape[2] : 1;
    if ((n_axes == 3 || (n_axes == 2 && dim == 1)) && width == (uint64_t)dim && shape[0] > 0 &&
        shape[1] > 0)
        return HB_OK;
    return hb_session_refuse(session,
                             "--paths: %.200s has %d axes and %llu coordinates per place; it must "
                             "be an array [path][time][%d] with at least one path and one time",
                             path, n_axes, (unsigned long long)width, dim);
}

static hb_status paths_even_times(size_t n, double time, hb_points *out)
{
    *out = (hb_points){.n = n, .dim = 1, .x = malloc(n * sizeof(double))};
    if (!out->x) return HB_ERROR_MEMORY;
    for (size_t k = 0; k < n; k++)
        out->x[k] = k + 1 == n ? time : time * (double)k / (double)(n - 1);
    return HB_OK;
}

hb_status hb_user_paths_read(hb_session *session, const char *path, const char *times, int dim,
                             double time, hb_sampling_settings *settings, hb_user_paths *out)
{
    int n_axes;
    uint64_t shape[4];
    *out = (hb_user_paths){0};
    HB_REFUSE_IF(session, !path && times, "--path-times is given without --paths; give both");
    if (!path) return HB_OK;
    hb_status status =
        hb_table_read(hb_session_context(session), path, &n_axes, shape, &out->values);
    if (status == HB_OK) status = paths_check_shape(session, path, n_axes, shape, dim);
    if (status != HB_OK) return status;
    const size_t n_times = (size_t)shape[1];
    HB_TRY(times ? hb_points_list(session, "--path-times", times, &out->times)
                 : paths_even_times(n_times, time, &out->times));
    HB_REFUSE_IF(session, out->times.n != n_times,
                 "--path-times has %zu times; %.200s has %zu places on each path", out->times.n,
                 path, n_times);
    settings->n_paths = (size_t)shape[0];
    settings->n_times = n_times;
    settings->paths = out->values;
    settings->path_times = out->times.x;
    return HB_OK;
}

void hb_user_paths_destroy(hb_session *session, hb_user_paths *paths)
{
    if (paths->values) hb_context_release(hb_session_context(session), paths->values);
    hb_points_destroy(&paths->times);
    *paths = (hb_user_paths){0};
}
