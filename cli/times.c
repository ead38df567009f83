/* The times that a command is asked for, typed or from the problem file. */
#include "times.h"

#include <math.h>

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
