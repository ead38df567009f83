/* The time change tau(t) = int_0^t g(s)^2/2 ds, in which every noise g(t) becomes sqrt(2).
 *
 * A constant g has tau = (g^2/2) t. Any other g is laid on panels over [0, time] (panels.c), cut
 * until g^2/2 varies by at most a factor RATIO on each and at the cuts of time_cuts.c: a g that
 * touches 0 cannot hide between samples, and tau keeps 1e-13 relative accuracy. The inverse t(tau)
 * = int_0^tau 1/(g(t(s))^2/2) ds is on panels too. Beyond `time` panels are made on the fly, and
 * t(tau) is Newton's. docs/explanation/time-change.md.
 * A number to reproduce: g = sqrt(1+t) gives tau(2) = (2 + 2)/2 = 2, and t(2) = 2. */
#include "problem/time_change.h"
#include "base/context.h"
#include "base/memory.h"
#include "formula/features.h"
#include "formula/panels.h"

#include <math.h>
#include <string.h>

static const double RATIO = 8;
static const double LEAST = 1e-140, MOST = 1e140; /* of g: its square keeps all its digits */

struct hb_time_change {
    hb_context *context; /* of the creation; messages of g only */
    hb_noise_function noise;
    void *user;
    double constant;    /* g^2/2, 0 when g depends on t */
    hb_panels *panels;  /* NULL when it is constant */
    hb_features cells;  /* between cuts, in t */
    hb_panels *inverse; /* t(tau) on [0, tau(time)]; NULL: constant, with cuts, or too rough */
};

static hb_status rates_at(hb_context *context, const hb_time_change *change, size_t n,
                          const double *t, double *rate)
{
    HB_TRY(change->noise(change->user, n, t, rate));
    for (size_t i = 0; i < n; i++) {
        const double g = rate[i];
        HB_CHECK(context, g >= LEAST && g <= MOST, HB_ERROR_ARGUMENT,
                 "the noise g(t) is %g at t = %.10g; it must be positive, from %g to %g",
                 hb_printable(g), t[i], LEAST, MOST);
        rate[i] = 0.5 * g * g;
    }
    return HB_OK;
}

static hb_status change_rates(void *user, size_t n, const double *t, double *rate)
{
    const hb_time_change *change = user;
    return rates_at(change->context, change, n, t, rate);
}

/* dt/dtau */
static hb_status change_slopes(void *user, size_t n, const double *tau, double *slope)
{
    const hb_time_change *change = user;
    for (size_t i = 0; i < n; i++) {
        double t, rate;
        HB_TRY(hb_panels_inverse(change->context, change->panels, tau[i], &t));
        HB_TRY(rates_at(change->context, change, 1, &t, &rate));
        slope[i] = 1 / rate;
    }
    return HB_OK;
}

static hb_status create_panels(hb_context *context, double time, int n, const double *cuts,
                               hb_time_change *change)
{
    hb_panels_settings settings = {.function = change_rates,
                                   .user = change,
                                   .ratio = RATIO,
                                   .name = "the noise g(t)",
                                   .variable = "t",
                                   .features = n > 0 ? &change->cells : NULL};
    change->cells = (hb_features){.n = n - 1, .complete = 1};
    HB_TRY(HB_NEW(context, change->cells.borders, (size_t)n + 1));
    if (n > 0) memcpy(change->cells.borders, cuts, (size_t)n * sizeof(double));
    HB_TRY(hb_panels_create(context, &settings, 0, time, &change->panels));
    if (n > 0) return HB_OK; /* what is narrow in t may be too narrow in tau */
    settings.function = change_slopes;
    settings.variable = "tau";
    const hb_status status =
        hb_panels_create(context, &settings, 0, hb_panels_total(change->panels), &change->inverse);
    return status == HB_ERROR_MEMORY ? status : HB_OK;
}

hb_status hb_time_change_create(hb_context *context, hb_noise_function noise, void *user,
                                int is_constant, double time, int n, const double *cuts,
                                hb_time_change **out)
{
    *out = NULL;
    HB_CHECK(context, time > 0 && isfinite(time), HB_ERROR_ARGUMENT,
             "time is %g; it must be positive and finite", time);
    hb_time_change *change;
    HB_TRY(HB_NEW_CLEARED(context, change, 1));
    *change = (hb_time_change){.context = context, .noise = noise, .user = user};
    const hb_status status = is_constant
                                 ? rates_at(context, change, 1, &(double){0}, &change->constant)
                                 : create_panels(context, time, n, cuts, change);
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
    hb_panels_destroy(context, change->inverse);
    hb_features_destroy(context, &change->cells);
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

static hb_status check_tau(hb_context *context, double tau)
{
    HB_CHECK(context, tau >= 0 && isfinite(tau), HB_ERROR_ARGUMENT,
             "tau is %g; it must be at least 0 and finite", hb_printable(tau));
    return HB_OK;
}

hb_status hb_time_change_t(hb_context *context, const hb_time_change *change, double tau, double *t)
{
    HB_TRY(check_tau(context, tau));
    if (change->inverse && tau <= hb_panels_total(change->panels))
        return hb_panels_integral(context, change->inverse, tau, t);
    if (change->panels) return hb_panels_inverse(context, change->panels, tau, t);
    *t = tau / change->constant;
    return HB_OK;
}

hb_status hb_time_change_rate(hb_context *context, const hb_time_change *change, double t,
                              double *rate)
{
    if (change->panels) return rates_at(context, change, 1, &t, rate);
    *rate = change->constant;
    return HB_OK;
}

hb_status hb_time_change_times(hb_context *context, const hb_time_change *change, size_t n,
                               const double *tau, double *t, double *rate)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && tau[i] == tau[i - 1])
            t[i] = t[i - 1];
        else
            HB_TRY(hb_time_change_t(context, change, tau[i], t + i));
    }
    if (change->panels) return rates_at(context, change, n, t, rate);
    for (size_t i = 0; i < n; i++) rate[i] = change->constant;
    return HB_OK;
}
