/* The time change tau(t) = int_0^t g(s)^2/2 ds, in which every noise g(t) becomes the constant sqrt(2).
 *
 * A constant g has tau = (g^2/2) t. Any other g is laid on panels over [0, time] (panels.c), cut until
 * g^2/2 varies by at most a factor RATIO on each: then a g that touches 0, or leaves the doubles, cannot
 * hide between the samples, and tau keeps 1e-13 relative accuracy for small t too. Beyond `time` the
 * same panels are made on the fly. docs/time-change.md.
 * A number to reproduce: g = sqrt(1+t) gives tau(2) = (2 + 2)/2 = 2, and t(2) = 2. */
#include "problem/time_change.h"
#include "base/context.h"
#include "base/memory.h"
#include "problem/panels.h"

#include <math.h>
#include <string.h>

static const double RATIO = 8;
static const double LEAST = 1e-140, MOST = 1e140; /* of g: its square keeps all its digits */

struct hb_time_change {
    hb_context *context; /* of the creation; messages of g only */
    hb_noise_function noise;
    void *user;
    double constant;   /* g^2/2, 0 when g depends on t */
    hb_panels *panels; /* NULL when it is constant */
};

static hb_status rate_at(hb_context *context, const hb_time_change *change, double t, double *rate)
{
    double g = NAN;
    HB_TRY(change->noise(change->user, t, &g));
    HB_CHECK(context, g >= LEAST && g <= MOST, HB_ERROR_ARGUMENT,
             "the noise g(t) is %g at t = %.10g; it must be positive, from %g to %g",
             hb_printable(g), t, LEAST, MOST);
    *rate = 0.5 * g * g;
    return HB_OK;
}

static hb_status rates(void *user, size_t n, const double *t, double *rate)
{
    const hb_time_change *change = user;
    for (size_t i = 0; i < n; i++) HB_TRY(rate_at(change->context, change, t[i], rate + i));
    return HB_OK;
}

hb_status hb_time_change_create(hb_context *context, hb_noise_function noise, void *user,
                                int is_constant, double time, hb_time_change **out)
{
    *out = NULL;
    HB_CHECK(context, time > 0 && isfinite(time), HB_ERROR_ARGUMENT,
             "time is %g; it must be positive and finite", time);
    void *memory;
    HB_TRY(hb_allocate(context, 1, sizeof(hb_time_change), &memory));
    hb_time_change *change = memset(memory, 0, sizeof *change);
    *change = (hb_time_change){.context = context, .noise = noise, .user = user};
    const hb_panels_settings settings = {.function = rates,
                                         .user = change,
                                         .ratio = RATIO,
                                         .name = "the noise g(t)",
                                         .variable = "t"};
    const hb_status status = is_constant
                                 ? rate_at(context, change, 0, &change->constant)
                                 : hb_panels_create(context, &settings, 0, time, &change->panels);
    if (status != HB_OK) {
        hb_time_change_destroy(context, change);
        return status;
    }
    *out = change;
    return HB_OK;
}

void hb_time_change_destroy(hb_context *context, hb_time_change *change)
{
    if (!change) return;
    hb_panels_destroy(context, change->panels);
    hb_release(context, change);
}

int hb_time_change_is_constant(const hb_time_change *change)
{
    return change->panels == NULL;
}

hb_status hb_time_change_tau(hb_context *context, const hb_time_change *change, double t,
                             double *tau)
{
    HB_CHECK(context, t >= 0 && isfinite(t), HB_ERROR_ARGUMENT,
             "t is %g; it must be at least 0 and finite", t);
    if (change->panels) return hb_panels_integral(context, change->panels, t, tau);
    *tau = change->constant * t;
    return HB_OK;
}

hb_status hb_time_change_t(hb_context *context, const hb_time_change *change, double tau, double *t)
{
    HB_CHECK(context, tau >= 0 && isfinite(tau), HB_ERROR_ARGUMENT,
             "tau is %g; it must be at least 0 and finite", tau);
    if (change->panels) return hb_panels_inverse(context, change->panels, tau, t);
    *t = tau / change->constant;
    return HB_OK;
}

hb_status hb_time_change_rate(hb_context *context, const hb_time_change *change, double t,
                              double *rate)
{
    if (change->panels) return rate_at(context, change, t, rate);
    *rate = change->constant;
    return HB_OK;
}
