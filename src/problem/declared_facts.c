/* What the author of a callback declares is believed, unless a few values contradict it.
 *
 * The check is no proof: a drift that is linear but for a narrow bump passes it. It catches a wrong
 * word.
 *     autonomous   the same values at three times
 *     linear       F(x) - F(0) - A x = 0 to 1e-9 of its parts, at scales 1, 30 and 1000
 *     gradient     |J - J'| below 1e-6 |J| by differences, at scale 1
 * A number to reproduce: f = x^2, declared linear, at 1 has f(1) - f(0) = 1 and A = 0. */
#include "base/context.h"
#include "base/memory.h"
#include "problem/problem_parts.h"
#include "random/streams.h"

#include <heatball/random.h>
#include <math.h>
#include <string.h>

enum { PROBES = 12, NEAR = 5, TIMES = 3 };

typedef struct check {
    hb_context *context;
    const hb_drift *drift;
    size_t d;
    hb_workspace work;
    double *x, *f, *first, *jacobian; // (PROBES, d) each; (d, d)
} check;

static hb_status facts_values(const check *c, double t, size_t n, const double *x, double *f,
                              double *jacobian)
{
    const hb_drift_values out = {.f = f, .jacobian = jacobian};
    return hb_drift_callback_evaluate(c->context, c->drift, &t, 0, n, x, &out);
}

static hb_status facts_refuse(const check *c, const char *fact, const double *x, double t)
{
    char text[HB_POINT_TEXT];
    return hb_fail(c->context, HB_ERROR_ARGUMENT,
                   "the drift is declared %s, but it is not at x = %s, t = %.6g", fact,
                   hb_point_text((int)c->d, x, text), t);
}

/* f is compared with `first`, the values at t = 0. */
static hb_status check_autonomous(const check *c, double t)
{
    for (size_t k = 0; k < PROBES * c->d; k++)
        if (fabs(c->f[k] - c->first[k]) > 1e-9 * (fabs(c->f[k]) + fabs(c->first[k])))
            return facts_refuse(c, "autonomous", c->x + k / c->d * c->d, t);
    return HB_OK;
}

static hb_status check_linear(const check *c, double t)
{
    const size_t d = c->d;
    HB_TRY(facts_values(c, t, 1, c->x, c->first, c->jacobian));
    for (size_t k = 0; k < PROBES * d; k++) {
        const double *x = c->x + k / d * d, *row = c->jacobian + k % d * d;
        double sum = c->f[k % d], size = fabs(sum);
        for (size_t j = 0; j < d; j++) {
            sum += row[j] * x[j];
            size += fabs(row[j] * x[j]);
        }
        if (fabs(c->f[k] - sum) > 1e-9 * (size + fabs(c->f[k])))
            return facts_refuse(c, "linear", x, t);
    }
    return HB_OK;
}

static hb_status check_gradient(const check *c, double t)
{
    const size_t d = c->d;
    for (size_t i = 0; i < NEAR; i++) {
        const double *x = c->x + i * d, *J = c->jacobian;
        double size = 0, gap = 0;
        HB_TRY(facts_values(c, t, 1, x, NULL, c->jacobian));
        for (size_t k = 0; k < d * d; k++) {
            size = fmax(size, fabs(J[k]));
            gap = fmax(gap, fabs(J[k] - J[k % d * d + k / d]));
        }
        if (gap > 1e-6 * size) return facts_refuse(c, "a gradient", x, t);
    }
    return HB_OK;
}

static hb_status check_at(check *c, double t)
{
    const hb_drift_facts *facts = &c->drift->facts;
    HB_TRY(facts_values(c, t, PROBES, c->x, t > 0 ? c->f : c->first, NULL));
    if (t == 0) memcpy(c->f, c->first, PROBES * c->d * sizeof(double));
    if (facts->autonomous) HB_TRY(check_autonomous(c, t));
    if (facts->gradient && c->d > 1) HB_TRY(check_gradient(c, t));
    return HB_OK;
}

static hb_status facts_check_all(check *c, double time)
{
    static const double part[TIMES] = {0, 0.37, 1};
    HB_TRY(hb_random_normal(c->context, 1, HB_STREAM_FACTS, 0, PROBES * c->d, c->x));
    for (size_t k = 0; k < PROBES * c->d; k++)
        c->x[k] *= k < c->d ? 0 : k < NEAR * c->d ? 1 : k < 9 * c->d ? 30 : 1000;
    for (int i = 0; i < TIMES; i++) HB_TRY(check_at(c, part[i] * time));
    for (int i = 0; i < TIMES && c->drift->facts.affine; i++) {
        HB_TRY(facts_values(c, part[i] * time, PROBES, c->x, c->f, NULL));
        HB_TRY(check_linear(c, part[i] * time));
    }
    return HB_OK;
}

hb_status hb_drift_check_facts(hb_context *context, const hb_drift *drift, double time)
{
    const hb_drift_facts *facts = &drift->facts;
    if (!facts->autonomous && !facts->affine && (!facts->gradient || drift->dim == 1)) return HB_OK;
    check c = {.context = context, .drift = drift, .d = (size_t)drift->dim};
    HB_TRY(HB_WORKSPACE(context, &c.work, HB_ARRAY(c.x, PROBES * c.d), HB_ARRAY(c.f, PROBES * c.d),
                        HB_ARRAY(c.first, PROBES * c.d), HB_ARRAY(c.jacobian, c.d * c.d)));
    const hb_status status = facts_check_all(&c, time);
    hb_workspace_destroy(&c.work);
    return status;
}
