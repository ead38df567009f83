/* A planar set by its name, or the list of names with the nearest one: `rng` is at distance 1 from
 * ring. */
#include "named_set.h"

hb_status hb_named_set_open(hb_session *session, const char *name, hb_mixture **out)
{
    hb_context *context = hb_session_context(session);
    const hb_status status = hb_mixture_named(context, name, out);
    if (status != HB_ERROR_ARGUMENT) return status;
    size_t n = 0;
    while (hb_data_names()[n]) n++;
    const char *nearest = hb_options_nearest(name, n, hb_data_names());
    if (!nearest) return status;
    return hb_session_fail(session, status, "%s (did you mean %s?)", hb_context_message(context),
                           nearest);
}
