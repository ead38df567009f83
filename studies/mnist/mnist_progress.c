/* One progress for a study of many parts: the work runs on a context of its own, whose reports are
 * turned into shares of the whole.
 *
 *     reported = units of finished parts + units of this part * (done/total of the call under way)
 * and never goes back. Of the calls of a part only the long one counts: the random numbers that a
 * training starts with would end its share at once. A request to stop reaches the work as the
 * return of any report. */
#include "mnist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hb_mnist_progress {
    hb_context *caller;
    double finished, part, reported, total; /* units */
};

static int is_long(const char *what)
{
    static const char *const names[] = {"train", "classifier", "generating", "floor"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], what)) return 1;
    return 0;
}

static int on_progress(void *user, const char *what, double done, double total)
{
    hb_mnist_progress *p = user;
    const double share = total > 0 && is_long(what) ? fmin(1, done / total) : 0;
    p->reported = fmin(p->total, fmax(p->reported, p->finished + p->part * share));
    return hb_context_progress(p->caller, "mnist", p->reported / p->total, 1) != HB_OK;
}

hb_status hb_mnist_progress_create(hb_context *caller, hb_mnist_progress **out,
                                   hb_context **context)
{
    hb_context_settings settings;
    HB_TRY(HB_STUDY_NEW(caller, *out, 1));
    **out = (hb_mnist_progress){.caller = caller, .total = 1};
    hb_context_settings_default(sizeof settings, &settings);
    settings.threads = hb_context_threads(caller);
    settings.progress = on_progress;
    settings.progress_user = *out;
    const hb_status status = hb_context_create(&settings, context);
    if (status == HB_OK) return HB_OK;
    free(*out);
    *out = NULL;
    return hb_study_fail(caller, status, "no memory for the study");
}

void hb_mnist_progress_total(hb_mnist_progress *progress, double total)
{
    progress->total = total;
}

void hb_mnist_progress_step(hb_mnist_progress *progress, double cost)
{
    progress->finished += progress->part;
    progress->part = cost;
}

void hb_mnist_progress_destroy(hb_mnist_progress *progress, hb_context *context)
{
    hb_context_destroy(context);
    free(progress);
}
